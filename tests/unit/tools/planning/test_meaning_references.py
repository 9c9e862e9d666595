"""What papers print stands beside a plan: as accuracies of the data it is about, as what was kept of other data."""

from __future__ import annotations

import pytest

from copublish import agreement_from_mapping
from copublish.agreement.model import Agreement
from copublish.cli.plan_text import printed_lines
from copublish.tools.evaluation.values import CLASSES, COLUMNS, benchmark_of
from copublish.tools.planning.meaning import kept, references_for
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
    return {
        "raw": {"accuracy": 0.96},
        "largest_class": {"accuracy": 0.33},
        "recommendation": None if is_made_up else {"epsilon": "1", "accuracy": 0.7},
        "printed": references_for(agreement, is_made_up=is_made_up),
    }


def test_accuracies_are_told_for_the_planned_data_set():
    told = list(printed_lines(plan_about(about(NURSERY, CLASSES["nursery"]), is_made_up=False)))
    assert told[0] == "Accuracies that papers print for these data, by epsilon (here 1: 0.700):"
    assert told[1] == "  printed for Nursery in the ArbDistDP paper: 0.1: 0.815 to 0.846, 0.75: 0.902, 3: 0.915"
    assert "not private" in told[2]


def test_of_other_data_it_is_told_what_was_kept():
    told = list(printed_lines(plan_about(agreement_from_mapping(small_mapping()), is_made_up=False)))
    assert told[0].endswith("(here 1: 59%):"), "0.7 is 0.37 of 0.63 above the largest class"
    assert told[1] == "  printed for Adult in the DistDiffGen paper: 0.1: 35%, 0.5: 57% to 63%, 1: 68%"
    assert len(told) == 5
    made_up = plan_about(agreement_from_mapping(small_mapping()), is_made_up=True)
    assert "here" not in next(printed_lines(made_up)), "the level of made-up accuracies means nothing"
