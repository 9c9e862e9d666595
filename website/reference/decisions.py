"""The list of decisions, by number."""

from __future__ import annotations

from website.places import DOCS

HEAD = """# Decisions

Choices that somebody may question, with the reasons and what was set aside. In the order in which they were made.
"""


def page_of_decisions() -> str:
    """The page."""
    lines = [HEAD]
    for path in sorted((DOCS / "decisions").glob("*.md")):
        title = path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
        number, _, name = title.partition(". ")
        lines.append(f"- {number}: [{name}]({path.name})")
    return "\n".join(lines) + "\n"
