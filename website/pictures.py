"""Pictures of a run, drawn from tables: what they show is written beside them.

`python -m website.pictures` draws them anew into docs/pictures. Colors follow the reader's system, light or dark; in
the site they follow the page.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from html import escape

from copublish.agreement.protocol.message import Step
from copublish.agreement.protocol.table import TABLE
from website.places import DOCS, PICTURES

STYLE = """
.picture{--picture-ink:#1d2733;--picture-faint:#52606d;--picture-line:#9aa5b1;--picture-box:#f5f7fa;
--picture-open:#0b6bcb;--picture-closed:#9b1c1c;--picture-some:#8a5300}
@media (prefers-color-scheme:dark){.picture{--picture-ink:#e6ebf1;--picture-faint:#aab6c3;--picture-line:#66717e;
--picture-box:#252d38;--picture-open:#7cb8ff;--picture-closed:#ff9d9d;--picture-some:#f0c069}}
.picture text{font:15px system-ui,sans-serif;fill:var(--picture-ink)}
.picture .strong{font-weight:600}
.picture .faint{fill:var(--picture-faint)}
.picture .box{fill:var(--picture-box);stroke:var(--picture-line)}
.picture .line{stroke:var(--picture-line);fill:none}
.picture .open{fill:var(--picture-open)}
.picture .closed{fill:var(--picture-closed)}
.picture .some{fill:var(--picture-some)}
"""
"""Variables with one name everywhere, so that the site can set them by its own switch."""

LINE = 20
"""Height of a line of text."""

NOTHING = "nothing"
"""How a table says that nothing leaves a party."""


def rows_of_table(page: str) -> list[list[str]]:
    """The first table of a page as rows of plain text, the head first."""
    table = re.search(r"(?:^\|.*\|\n)+", (DOCS / page).read_text(encoding="utf-8"), re.M)
    lines = [line[1:-1] for line in table[0].splitlines()] if table else []
    return [[cell.strip() for cell in line.split(" | ")] for line in lines if not re.fullmatch(r"[\s|:-]+", line)]


def drawing(name: str, title: str, description: str, width: int, height: int, parts: Sequence[str]) -> str:
    """A picture with a title and a description for those who do not see it."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="picture" viewBox="0 0 {width} {height}" role="img" '
        f'aria-labelledby="{name}-title {name}-description">'
    )
    told = f'<title id="{name}-title">{escape(title)}</title><desc id="{name}-description">{escape(description)}</desc>'
    return "\n".join([head, told, f"<style>{STYLE}</style>", *parts, "</svg>"]) + "\n"


def text(x: int, y: int, words: str, kind: str = "", anchor: str = "start") -> str:
    """A line of text."""
    return f'<text x="{x}" y="{y}" class="{kind}" text-anchor="{anchor}">{escape(words)}</text>'


def data_flow() -> str:
    """The steps of a run from top to bottom, and beside each what leaves a party."""
    head, *steps = rows_of_table("data-flow.md")
    parts, top = [text(16, 24, "at each party", "faint"), text(424, 24, head[2], "faint")], 40
    for number, (step, what, leaves) in enumerate(steps):
        lines = textwrap.wrap(what, 44)
        height = 34 + LINE * len(lines)
        if number:
            parts.append(f'<path class="line" d="M200 {top - 14}v10m-5 -5l5 5l5 -5"/>')
        parts.append(f'<rect class="box" x="8" y="{top}" width="384" height="{height}" rx="6"/>')
        parts.append(text(20, top + 22, step, "strong"))
        parts += [text(20, top + 22 + LINE * (row + 1), line) for row, line in enumerate(lines)]
        middle = top + height // 2 + 5
        if leaves == NOTHING:
            parts.append(text(424, middle, NOTHING, "faint"))
        else:
            parts.append(f'<path class="line" d="M392 {middle - 5}h22m-6 -5l6 5l-6 5"/>')
            parts.append(text(424, middle, leaves, "open strong"))
        top += height + 16
    described = "; ".join(f"{step}: {what}, what leaves: {leaves}" for step, what, leaves in steps)
    return drawing("data-flow", "Data flow of a run", f"From top to bottom. {described}.", 700, top, parts)


def who_sees_what() -> str:
    """A row for each thing, a column for each who looks; a sign and a word in every cell."""
    head, *rows = rows_of_table("what-the-other-party-sees.md")
    columns = [300, 420, 540, 660]
    parts = [part for x, who in zip(columns, head[1:], strict=True) for part in _heading(x, who)]
    top = 60
    for what, *cells in rows:
        parts.append(f'<path class="line" d="M8 {top}h704"/>')
        parts.append(text(12, top + 27, what, "strong"))
        for x, cell in zip(columns, cells, strict=True):
            parts += [_sign(x, top + 22, cell), text(x, top + 44, cell, _kind(cell), "middle")]
        top += 56
    described = "; ".join(
        f"{what}: " + ", ".join(f"{who} {cell}" for who, cell in zip(head[1:], cells, strict=True))
        for what, *cells in rows
    )
    return drawing("who-sees-what", "Who sees what", f"{described}.", 720, top + 8, parts)


def _heading(x: int, who: str) -> Iterator[str]:
    for row, line in enumerate(textwrap.wrap(who, 12)):
        yield text(x, 24 + LINE * row, line, "strong", "middle")


def _kind(cell: str) -> str:
    return {"sees": "open", "never": "closed"}.get(cell, "some")


def _sign(x: int, y: int, cell: str) -> str:
    """A full circle, an empty one, or half of one: no cell is told by its color alone."""
    kind = _kind(cell)
    ring = f'<circle cx="{x}" cy="{y - 6}" r="7" fill="none" stroke="var(--picture-{kind})" stroke-width="2"/>'
    if kind == "open":
        return f'<circle cx="{x}" cy="{y - 6}" r="8" class="open"/>'
    return ring if kind == "closed" else ring + f'<path class="some" d="M{x} {y - 14}a8 8 0 0 0 0 16z"/>'


def protocol() -> str:
    """The steps of a run from top to bottom, between one party and all others, with the topics of each."""
    one, others, parts, top = 250, 630, [], 64
    for step in Step:
        topics = [entry.topic for entry in TABLE if entry.step is step]
        if step is Step.COMPUTE:
            parts.append(
                text((one + others) // 2, top + 2, "every ledger reserves the whole price", "closed", "middle")
            )
            top += 28
        lines = textwrap.wrap(" · ".join(topics), 42)
        parts.append(
            f'<path class="line" d="M{one} {top + 12}h{others - one}m-8 -5l8 5l-8 5M{one} {top + 12}m8 -5l-8 5l8 5"/>'
        )
        parts += [text(16, top + 17 + LINE * row, line, "strong") for row, line in enumerate(textwrap.wrap(step, 26))]
        parts += [text(one + 16, top + 34 + LINE * row, line, "open") for row, line in enumerate(lines)]
        top += 44 + LINE * max(1, len(lines))
    heads = [text(one, 24, "one party", "strong", "middle"), text(others, 24, "every other party", "strong", "middle")]
    life = [f'<path class="line" d="M{x} 36V{top}"/>' for x in (one, others)]
    described = "; ".join(
        f"{step}: " + ", ".join(entry.topic for entry in TABLE if entry.step is step) for step in Step
    )
    return drawing(
        "protocol", "Messages of a run", f"From top to bottom. {described}.", 720, top + 8, [*heads, *life, *parts]
    )


DRAWN = {"data-flow.svg": data_flow, "who-sees-what.svg": who_sees_what, "protocol.svg": protocol}
"""Every picture, and what draws it."""


def main() -> None:
    """Draw all pictures into their folder."""
    PICTURES.mkdir(exist_ok=True)
    for name, draw in DRAWN.items():
        (PICTURES / name).write_text(draw(), encoding="utf-8")


if __name__ == "__main__":
    main()
