"""What papers print stands beside a plan: drawn for the data it is about, told as what was kept for other data."""

from __future__ import annotations

import numpy as np
import pytest

from copublish import agreement_from_mapping
from copublish.agreement.model import Agreement
from copublish.cli.plan_text import printed_lines
from copublish.evaluation.benchmark_tables import CLASSES, COLUMNS, benchmark_of
from copublish.planning.curves import printed_points, ticks_of
from copublish.planning.plots import draw_plan, text_plot
from copublish.planning.references import kept, references_for
from support import small_mapping

NURSERY = [*COLUMNS["nursery"][:-1]]


def about(attributes: list[str], classes: tuple[str, ...], class_name: str = "class") -> Agreement:
    values = {"kind": "categorical", "values": ["a", "b"]}
    columns = {name: {**values, "held_by": "bank" if number % 2 else "loans"} for number, name in enumerate(attributes)}
    named = {"name": class_name, "values": list(classes)}
    return agreement_from_mapping(small_mapping(attributes=columns, **{"class": named}))


def test_an_agreement_on_a_benchmark_table_is_told_by_its_columns_and_classes():
    assert benchmark_of(about(NURSERY, CLASSES["nursery"])) == "nursery"
    assert benchmark_of(about([*COLUMNS["adult"][:-1]], CLASSES["adult"], "salary")) == "adult"
    spelled = ["Age", "marital.status", "native_country", "Capital Gain"]
    assert benchmark_of(about(spelled, (">50K", "<=50K"))) == "adult", "some columns, spelled as other copies do"
    assert benchmark_of(about([*spelled, "postcode"], CLASSES["adult"])) is None, "a column of its own"
    assert benchmark_of(about(spelled, ("no", "yes"))) is None, "another class"
    assert benchmark_of(about(NURSERY, CLASSES["nursery"][:-1])) is None


def test_printed_accuracies_are_those_of_the_papers_texts():
    """DistDiffGen, Section 6: CA-LA 6.7 with LA 75.5 at epsilon 1. ArbDistDP: BA-CA 7.2 with BA 84.2 at 0.1."""
    found = {
        (row["algorithm"], row["data_set"], row["epsilon"], row["figure"]): row
        for row in references_for(about(NURSERY, CLASSES["nursery"]), is_made_up=False)
    }
    one, other = found["DistDiffGen", "Adult", "1", "3"], found["ArbDistDP", "Adult", "0.1", "7"]
    assert one["accuracy"] == pytest.approx(0.755 + 0.067) and one["kept"] == pytest.approx(
        6.7 / (85.3 - 75.5), abs=1e-3
    )
    assert other["accuracy"] == pytest.approx(0.842 - 0.072)
    assert other["kept"] == pytest.approx(1.8 / (84.2 - 75.2), abs=1e-3)
    assert one["label"] == "printed for Adult in the DistDiffGen paper" and "2014" in one["citation"]
    assert {row["data_set"] for row in found.values() if row["is_planned_data"]} == {"Nursery"}
    assert all(row["algorithm"] in ("DistDiffGen", "ArbDistDP") for row in found.values())
    assert found["ArbDistDP", "Nursery", "0.1", "8"]["note"] == "81.5 in Fig. 7 for the same setting"


def test_made_up_data_are_no_benchmark_whatever_their_columns_are_called():
    assert not any(
        row["is_planned_data"] for row in references_for(about(NURSERY, CLASSES["nursery"]), is_made_up=True)
    )


def test_what_is_kept_lies_between_the_largest_class_and_raw_data():
    assert kept(0.8, 0.9, 0.7) == pytest.approx(0.5)
    assert (kept(0.7, 0.9, 0.7), kept(0.9, 0.9, 0.7)) == (0, 1)
    assert kept(0.7, 0.7, 0.7) is None


def plan_about(agreement: Agreement, *, is_made_up: bool) -> dict:
    scores = {"accuracy": 0.7, "standard_error": None, "marginal_error": 0.2}
    trials = [{"mechanism": "copula", "epsilon": epsilon, **scores} for epsilon in ("0.5", "1")]
    return {
        "release": "r",
        "data": "made up" if is_made_up else "like",
        "runs": 1,
        "mechanisms": ["copula"],
        "agreed": {"mechanism": "copula", "epsilon": "1"},
        "BA": 0.96,
        "LA": 0.33,
        "trials": trials,
        "recommendation": trials[-1],
        "printed": references_for(agreement, is_made_up=is_made_up),
    }


def test_points_are_drawn_for_the_planned_data_set(tmp_path):
    plan = plan_about(about(NURSERY, CLASSES["nursery"]), is_made_up=False)
    assert [row["epsilon"] for row in printed_points(plan)["ArbDistDP"]] == ["0.1", "0.1", "0.75", "3"]
    assert ticks_of(plan) == [0.1, 0.5, 1.0, 3.0], "the axis has room for them"
    lines = text_plot(plan, width=50)
    assert lines[-1].strip() == "x printed for Nursery in the ArbDistDP paper"
    columns = {column - 7 for line in lines[:12] for column, character in enumerate(line) if character == "x"}
    assert columns == {round(49 * np.log(epsilon / 0.1) / np.log(30)) for epsilon in (0.1, 0.75, 3)}
    draw_plan(plan, tmp_path / "plan.svg")
    assert "printed for Nursery in the ArbDistDP paper" in (tmp_path / "plan.svg").read_text()
    told = list(printed_lines(plan))
    assert told[0] == "  printed for Nursery in the ArbDistDP paper: 0.1: 0.815 to 0.846, 0.75: 0.902, 3: 0.915"
    assert "not private" in told[1]


def test_other_data_get_no_points_and_are_told_what_was_kept(tmp_path):
    plan = plan_about(agreement_from_mapping(small_mapping()), is_made_up=False)
    assert printed_points(plan) == {} and ticks_of(plan) == [0.5, 1]
    assert not any("printed" in line for line in text_plot(plan))
    draw_plan(plan, tmp_path / "plan.svg")
    assert "printed" not in (tmp_path / "plan.svg").read_text()
    told = list(printed_lines(plan))
    assert told[0].endswith("(here 1: 59%):"), "0.7 is 0.37 of 0.63 above the largest class"
    assert told[1] == "  printed for Adult in the DistDiffGen paper: 0.1: 35%, 0.5: 57% to 63%, 1: 68%"
    assert len(told) == 5
    made_up = plan_about(agreement_from_mapping(small_mapping()), is_made_up=True)
    assert "here" not in next(printed_lines(made_up)), "the level of made-up accuracies means nothing"
