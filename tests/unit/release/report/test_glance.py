"""Pictures of columns: areas are shares, widths are those of the cells, and what is no interval stands apart."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from copublish.release.questions.estimate import CellSummary, ColumnSummary, Estimate
from copublish.release.report.glance import AREA, WIDTH, cards


def share(value: float, unit: str = "share", within: float = 0.01) -> Estimate:
    return Estimate(
        value=value,
        standard_error=within / 2,
        within=within,
        low=max(value - within, 0.0),
        high=value + within,
        confidence=0.95,
        how="",
        unit=unit,  # type: ignore[arg-type]
    )


def column(shares: dict[str, float], axis: tuple[float, ...] = (), **more) -> ColumnSummary:
    cells = tuple(CellSummary(label=name, share=share(part), people=share(part)) for name, part in shares.items())
    return ColumnSummary(name="x", is_number=True, cells=cells, axis=axis, **more)


def drawn(summary: ColumnSummary) -> tuple[list[dict[str, float]], list[str]]:
    """The bars of the only card with where they are, and all texts."""
    (card,) = cards([summary])
    root = ET.fromstring(str(card.figure))
    bars = [{key: float(bar.get(key, 0)) for key in ("x", "y", "width", "height")} for bar in root.iter("rect")]
    return bars, [text.text or "" for text in root.iter("text")]


def test_a_bar_is_as_wide_as_its_cell_and_its_area_is_its_share() -> None:
    shares = {"[0, 10)": 0.2, "[10, 30)": 0.2, "[30, 100]": 0.6}
    bars, texts = drawn(column(shares, (0.0, 10.0, 30.0, 100.0)))
    assert [bar["x"] for bar in bars] == pytest.approx([0, WIDTH / 10, WIDTH * 3 / 10])
    assert [bar["width"] + 1 for bar in bars] == pytest.approx([WIDTH / 10, WIDTH / 5, WIDTH * 7 / 10])  # with the gap
    areas = [(bar["width"] + 1) * bar["height"] for bar in bars]
    assert [area / sum(areas) for area in areas] == pytest.approx(list(shares.values()), abs=1e-3)
    assert AREA in texts and {"0", "10", "30", "100"} <= set(texts)


def test_the_bars_as_they_were_once_would_not_pass() -> None:
    """Each as wide as the others: two shares that are alike in cells of width 10 and 20 looked alike."""
    once = [(WIDTH / 3, height) for height in (0.2, 0.2, 0.6)]
    now, _ = drawn(column({"[0, 10)": 0.2, "[10, 30)": 0.2, "[30, 100]": 0.6}, (0.0, 10.0, 30.0, 100.0)))
    assert once[0][1] == once[1][1]
    assert now[0]["height"] == pytest.approx(2 * now[1]["height"], abs=0.02), "half as wide, twice as dense"


def test_whiskers_are_shares_on_the_same_scale_and_no_narrow_bar_has_one() -> None:
    summary = column({"[0, 1)": 0.01, "[1, 40)": 0.39, "[40, 100]": 0.6}, (0.0, 1.0, 40.0, 100.0))
    (card,) = cards([summary])
    root = ET.fromstring(str(card.figure))
    bars, _ = drawn(summary)
    whiskers = [line for line in root.iter("line") if line.get("class") == "error"]
    assert [float(line.get("x1", 0)) for line in whiskers] == pytest.approx([3 + 39 * 1.5, 120 + 90])  # not at 1.5
    base = bars[0]["y"] + bars[0]["height"]
    for line, bar, part in zip(whiskers, bars[1:], (0.39, 0.6), strict=True):
        for end, share_ in (("y1", part - 0.01), ("y2", part + 0.01)):
            assert (base - float(line.get(end, 0))) / bar["height"] == pytest.approx(share_ / part, abs=2e-3)


def test_missing_ones_and_the_upper_bound_alone_stand_apart_with_areas_on_one_scale() -> None:
    bars, texts = drawn(column({"[0, 5)": 0.4, "[5, 10)": 0.3, "[10, 10]": 0.1, "(missing)": 0.2}, (0.0, 5, 10, 10)))
    assert bars[1]["x"] + bars[1]["width"] < bars[2]["x"] - 10 < bars[3]["x"] - 20, "with room between them"
    assert bars[3]["x"] + bars[3]["width"] <= WIDTH
    assert bars[2]["width"] == bars[3]["width"] > 10
    areas = [(bar["width"] + 1) * bar["height"] for bar in bars]
    assert [area / sum(areas) for area in areas] == pytest.approx([0.4, 0.3, 0.1, 0.2], abs=5e-3)
    assert texts.index("10") < texts.index("[10, 10]") < texts.index("(missing)")


def test_where_cells_tell_no_numbers_values_are_drawn_like_categories_with_words_above_each_bar() -> None:
    bars, texts = drawn(column({"[0, 9]": 0.6185, "(missing)": 0.3815}))
    assert [bar["x"] for bar in bars] == [0, 0] and {bar["height"] for bar in bars} == {8.0}
    assert texts == ["[0, 9]", "61.9 % ± 1.0", "(missing)", "38.1 % ± 1.0"]
    assert AREA not in texts
    longest, other = (bar["width"] for bar in bars)
    assert other / longest == pytest.approx(0.3815 / 0.6185, abs=1e-3)


def test_a_number_that_was_published_record_by_record_says_that_areas_are_shares_of_records() -> None:
    summary = ColumnSummary(name="x", is_number=True, drawn=(0.25, 0.75), axis=(0.0, 2.0, 4.0), mean=share(2.5, "own"))
    bars, texts = drawn(summary)
    assert bars[1]["height"] == pytest.approx(3 * bars[0]["height"], abs=0.02)
    assert texts == ["area of a bar: share of records", "0", "2", "4", "mean"]
