"""Statistics with a cut inside a cell: the cell is named, and the interval holds every table with these cells."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from copublish.errors import ReleaseError
from copublish.mechanisms.published import Cells
from copublish.release.questions.cells import ColumnCells
from copublish.release.questions.estimate import Estimate
from copublish.release.questions.inside_cells import dependences, with_insides
from support.published import category, gaussian, numbers, published, reading, summed

AGE = numbers("age", 20, 30, 40, 60, decimals=0)
COLUMNS = {"age": ColumnCells.of(AGE), "sex": ColumnCells.of(category("sex", "f", "m"))}
RECORDS = pd.DataFrame({"age": [21, 25, 31, 33, 35, 38, 50, 60], "sex": list("fmfmfmfm")})


def test_a_cut_inside_a_cell_is_named_with_all_that_the_cell_hides() -> None:
    found = list(dependences(RECORDS, COLUMNS, lambda frame: (frame["age"] < 33).mean()))
    # Of four people in [30, 40) one is below 33; all of them might be, or none.
    assert [(inside.column, inside.cell) for inside in found] == [("age", "[30, 40)")]
    assert (found[0].less, found[0].more) == pytest.approx((-1 / 8, 3 / 8))


@pytest.mark.parametrize(
    "statistic",
    [
        lambda frame: (frame["age"] < 30).mean(),
        lambda frame: (frame["age"] >= 40).mean(),
        lambda frame: (frame["sex"] == "f").mean(),
        lambda frame: float(len(frame)),
    ],
)
def test_a_cut_at_an_edge_or_none_at_all_names_nothing(statistic) -> None:  # type: ignore[no-untyped-def]
    assert not list(dependences(RECORDS, COLUMNS, statistic))


def test_two_cuts_in_one_cell_are_found_though_both_of_its_ends_lie_outside() -> None:
    (inside,) = dependences(RECORDS, COLUMNS, lambda frame: frame["age"].between(32, 36).mean())
    assert (inside.cell, inside.less, inside.more) == ("[30, 40)", -2 / 8, 2 / 8)


def test_a_mean_depends_on_every_cell_by_as_much_as_its_numbers_can_move() -> None:
    found = list(dependences(RECORDS, COLUMNS, lambda frame: frame["age"].mean()))
    low, high = np.array([20, 30, 40])[[0, 0, 1, 1, 1, 1, 2, 2]], np.array([29, 39, 60])[[0, 0, 1, 1, 1, 1, 2, 2]]
    own = RECORDS["age"].mean()
    assert sum(inside.less for inside in found) == pytest.approx(low.mean() - own)
    assert sum(inside.more for inside in found) == pytest.approx(high.mean() - own)


def test_a_cell_of_one_whole_number_hides_nothing_if_numbers_are_agreed_to_be_whole() -> None:
    records = pd.DataFrame({"n": [0, 1, 1, 2]})
    for decimals, hides in ((0, False), (None, True)):
        cells = {"n": ColumnCells.of(numbers("n", 0, 1, 2, 2, decimals=decimals))}
        assert bool(list(dependences(records, cells, lambda frame: (frame["n"] == 1).mean()))) is hides


def test_a_statistic_that_might_not_exist_has_no_ends() -> None:
    def ratio(frame: pd.DataFrame) -> float:
        below = (frame["age"] < 33).sum() - 2
        return float(1 / below) if below else math.nan

    (inside,) = dependences(RECORDS, COLUMNS, ratio)
    assert (inside.less, inside.more) == (-math.inf, math.inf)


def test_an_estimate_says_which_cells_were_cut_and_its_interval_holds_them() -> None:
    alone = Estimate(value=0.5, standard_error=0.1, within=0.2, low=0.3, high=0.7, confidence=0.95, how="by noise")
    found = list(dependences(RECORDS, COLUMNS, lambda frame: (frame["age"] < 33).mean()))
    said = with_insides(alone, found)
    assert (said.value, said.within) == (0.5, 0.2) and (said.low, said.high) == pytest.approx((0.175, 1.075))
    assert said.to_dict()["inside"] == ["age [30, 40)"] and "a cut goes through [30, 40)" in said.how
    assert "spread evenly" in said.how and with_insides(alone, []) == alone


PEOPLE = [{"age": n % 3} for n in range(300)]


@pytest.mark.parametrize(
    ("condition", "value", "low", "high"),
    [
        ("< 33", (10 + 3) / 30, 10 / 30, 20 / 30),
        ("<= 33", (10 + 4) / 30, 10 / 30, 20 / 30),
        (">= 33", (10 + 7) / 30, 10 / 30, 20 / 30),
        ("> 38", (10 + 1) / 30, 10 / 30, 20 / 30),
    ],
)
def test_a_share_below_a_number_inside_a_cell_holds_what_the_cell_hides(
    condition: str, value: float, low: float, high: float
) -> None:
    release = published([AGE], [summed([Cells(column="age")], {"age": AGE}, PEOPLE, noise=gaussian(0.0))])
    said = reading(release).share("age", condition, {}, 0.95)
    assert (said.value, said.low, said.high) == pytest.approx((value, low, high))
    assert said.inside == ("age [30, 40)",) and "spread evenly" in said.how


def test_a_condition_at_an_edge_is_a_share_of_cells() -> None:
    release = published([AGE], [summed([Cells(column="age")], {"age": AGE}, PEOPLE, noise=gaussian(0.0))])
    ask = reading(release)
    for condition in ("< 30", "<= 29", "< 29.5"):
        said = ask.share("age", condition, {}, 0.95)
        assert (said.value, said.inside) == (pytest.approx(1 / 3), ())
    assert ask.share("age", "> 39", {}, 0.95) == ask.share("age", "[40, 60]", {}, 0.95)
    with pytest.raises(ReleaseError, match="no published value 'below 30'"):
        ask.share("age", "below 30", {}, 0.95)


def test_people_are_chosen_by_a_condition_that_ends_where_a_cell_does() -> None:
    release = published([AGE], [summed([Cells(column="age")], {"age": AGE}, PEOPLE, noise=gaussian(0.0))])
    ask = reading(release)
    assert ask.count({"age": "< 30"}, 0.95) == ask.count({"age": "[20, 30)"}, 0.95)
    assert ask.count({"age": ">= 30"}, 0.95) == ask.count({"age": ["[30, 40)", "[40, 60]"]}, 0.95)
    with pytest.raises(ReleaseError, match=r"'age < 33' ends inside the cell \[30, 40\)"):
        ask.count({"age": "< 33"}, 0.95)


def test_without_agreed_decimals_a_number_may_lie_between_two_whole_ones() -> None:
    cells = ColumnCells.of(numbers("age", 20, 30, 40, 60))
    assert cells.part("<= 29").cut == ("[20, 30)",) and cells.part("< 30").cut == ()
    assert cells.part("< 60").cut == ("[40, 60]",) and cells.part("<= 60").cut == ()
    assert cells.part("> 60").likely.tolist() == [0, 0, 0] and cells.part(">= 60").cut == ("[40, 60]",)
