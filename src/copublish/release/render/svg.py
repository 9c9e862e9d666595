"""Pictures as inline SVG. Text goes in through ElementTree, which escapes it; controls are spelled out."""

from __future__ import annotations

from xml.etree import ElementTree as ET  # builds XML and parses none

from markupsafe import Markup

from copublish.errors import visible

CHARACTER = 8.0
"""Room for a character of the small text of figures, in their units: more than most letters need in any usual font."""


def shortened(text: str, room: float) -> str:
    """A text as it fits into a width."""
    most = max(int(room / CHARACTER), 4)
    return text if len(text) <= most else text[: most - 1] + "…"


class Figure:
    """An SVG picture with a name for people who cannot see it."""

    def __init__(self, name: str, width: float, height: float, title: str, description: str) -> None:
        ids = f"{name}-title {name}-description"
        self.root = ET.Element(
            "svg",
            {"viewBox": f"0 0 {width:g} {height:g}", "role": "img", "aria-labelledby": ids, "class": f"figure {name}"},
        )
        self.add("title", title, id=f"{name}-title")
        self.add("desc", description, id=f"{name}-description")

    def add(self, tag: str, text: str | None = None, tooltip: str | None = None, **attributes: object) -> None:
        """Add an element; numbers are rounded, underscores in attribute names become hyphens."""
        spelled = {
            name.rstrip("_").replace("_", "-"): f"{value:.2f}".rstrip("0").rstrip(".")
            if isinstance(value, float)
            else str(value)
            for name, value in attributes.items()
        }
        element = ET.SubElement(self.root, tag, spelled)
        element.text = None if text is None else visible(text)
        if tooltip is not None:
            ET.SubElement(element, "title").text = visible(tooltip)

    def markup(self) -> Markup:
        """The picture as text for a page; ElementTree has escaped what came in."""
        return Markup(ET.tostring(self.root, encoding="unicode"))  # noqa: S704
