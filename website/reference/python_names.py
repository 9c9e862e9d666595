"""Every public name of the package, documented by mkdocstrings from its docstring."""

from __future__ import annotations

import inspect

import copublish

HEAD = """# Python: every public name

Made from docstrings. [Python](python.md) tells the same as a story, with examples.
"""

DIRECTIVE = """::: {home}
    options:
      heading: copublish.{name}
      toc_label: {name}"""
"""Where a name is defined may change; it is shown as it is imported."""

KINDS = (
    ("Functions", inspect.isfunction),
    ("Errors", lambda found: inspect.isclass(found) and issubclass(found, Exception)),
)


def page_of_python_names() -> str:
    """The page: a directive for each name, by kind. Names are loaded on demand, so the source does not list them."""
    homes: dict[str, list[str]] = {"Functions": [], "Classes": [], "Errors": []}
    for name in copublish.__all__:
        found = getattr(copublish, name)
        if not isinstance(found, str):  # the version
            kind = next((kind for kind, holds in KINDS if holds(found)), "Classes")
            homes[kind].append(DIRECTIVE.format(home=f"{found.__module__}.{found.__qualname__}", name=name))
    parts = [HEAD]
    for kind, names in homes.items():
        parts.append(f"## {kind}")
        parts += names
    return "\n\n".join(parts) + "\n"
