"""Pictures are well-formed, named for people who cannot see them, and show texts as they are."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from copublish.release.render.svg import CHARACTER, Figure, shortened

HOSTILE = ["</svg><script>alert(1)</script>", 'a" onload="x', "a & b", "<!--", "]]>", "&lt;", "{{ 1 }}", "ü 漢"]


def parsed(figure: Figure) -> ET.Element:
    return ET.fromstring(str(figure.markup()))  # the test's own text


def test_a_figure_has_a_size_a_title_and_a_description() -> None:
    root = parsed(Figure("tree", 120.0, 40.5, "What was split", "age: young, old"))
    assert root.tag == "svg" and root.get("viewBox") == "0 0 120 40.5" and root.get("role") == "img"
    named = {child.get("id"): child.text for child in root}
    assert [named[each] for each in root.get("aria-labelledby", "").split()] == ["What was split", "age: young, old"]


def test_attributes_are_spelled_for_svg_and_numbers_are_rounded() -> None:
    figure = Figure("tree", 1.0, 1.0, "", "")
    figure.add("text", "a", class_="value", x=1.0, y=2.345, text_anchor="end", r=3)
    assert parsed(figure)[-1].attrib == {"class": "value", "x": "1", "y": "2.35", "text-anchor": "end", "r": "3"}


@pytest.mark.parametrize("text", HOSTILE)
def test_texts_come_back_as_they_went_in_and_bring_no_elements(text: str) -> None:
    figure = Figure("tree", 1.0, 1.0, text, text)
    figure.add("text", text, tooltip=text, class_=text)
    root = parsed(figure)
    assert [element.tag for element in root.iter()] == ["svg", "title", "desc", "text", "title"]
    assert [element.text for element in root.iter()][1:] == [text] * 4
    assert root[-1].get("class") == text
    assert "<script" not in str(figure.markup())


@pytest.mark.parametrize(
    ("text", "shown"), [("a\x1b[2J", "a<U+001B>[2J"), ("\u202ea", "<U+202E>a"), ("\x00", "<U+0000>")]
)
def test_control_characters_are_spelled_out(text: str, shown: str) -> None:
    """XML has no place for most of them: a page with one would end there."""
    figure = Figure("tree", 1.0, 1.0, text, text)
    figure.add("text", text, tooltip=text)
    assert [element.text for element in parsed(figure).iter()][1:] == [shown] * 4
    raw = ET.Element("text")
    raw.text = "a\x1b"
    with pytest.raises(ET.ParseError):
        ET.fromstring(ET.tostring(raw))


def test_a_text_is_shortened_to_the_room_that_there_is() -> None:
    room = 10 * CHARACTER
    assert shortened("0123456789", room) == "0123456789"
    assert shortened("0123456789a", room) == "012345678…" and len(shortened("x" * 99, room)) == 10
    assert shortened("abcdef", 0.0) == "abc…"  # never less than four
