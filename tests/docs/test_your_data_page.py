"""The page about people's own data says what becomes of them today: several rows, dates, spreadsheets, commas."""

from __future__ import annotations

import datetime
from pathlib import Path

import pandas as pd
import pytest

import copublish as cp
from copublish.errors import CopublishError
from copublish.party.local.simulation import read_fragments
from support import mapping_by_default

AGREED = cp.agreement_from_mapping(
    {
        **mapping_by_default(**{"class": None, "mechanism": {"name": "marginals"}, "partition": "horizontal"}),
        "attributes": {
            "stage": {"kind": "categorical", "values": ["I", "II", "III"]},
            "cost": {"kind": "numerical", "bounds": [0, 1000]},
        },
    }
)
VISITS = pd.DataFrame({"id": ["a", "a", "a", "b"], "stage": ["III", "II", "II", "I"], "cost": [5, 90, 40, 7]})


def read(frame: pd.DataFrame, **changes) -> cp.Checked:
    return cp.check(AGREED, "bank", frame.assign(**changes), accept=True)


def rules(checked: cp.Checked) -> dict[str, int]:
    return {f"{rule.column}: {rule.rule}": rule.rows for rule in checked.rules}


def test_of_several_rows_of_a_person_the_smallest_by_agreed_values_stays():
    kept = read_fragments(AGREED, {"bank": VISITS, "loans": VISITS[:0]})["bank"]
    stages, costs = (kept.private_codes[column] for column in ("stage", "cost"))
    alone = read_fragments(AGREED, {"bank": VISITS.iloc[[2, 3]], "loans": VISITS[:0]})["bank"]  # II and 40; I and 7
    assert stages.tolist() == alone.private_codes["stage"].tolist()
    assert costs.tolist() == alone.private_codes["cost"].tolist()
    assert [line for line in read(VISITS).overview.lines if "several rows per person" in line]
    assert cp.check(AGREED, "bank", VISITS).doubts, "more than a tenth is left out"


def test_dates_are_no_numbers_and_count_as_missing(tmp_path):
    with_dates = VISITS.assign(cost=[datetime.date(2026, 1, day) for day in (1, 2, 3, 4)])
    with_dates.to_parquet(tmp_path / "dates.parquet")
    with_dates.to_csv(tmp_path / "dates.csv", index=False)
    for source in (tmp_path / "dates.parquet", tmp_path / "dates.csv", with_dates):
        found = cp.check(AGREED, "bank", source, accept=True)
        assert [number for rule, number in rules(found).items() if rule.startswith("cost")] == [len(VISITS)]
        assert not cp.check(AGREED, "bank", source).ok


@pytest.mark.parametrize("name", ["people.xls", "people.ods"])
def test_files_of_other_spreadsheets_are_refused_with_a_message(tmp_path, name):
    (tmp_path / name).write_bytes(b"PK")
    with pytest.raises(CopublishError, match="of no known kind"):
        cp.check(AGREED, "bank", tmp_path / name)


def test_decimal_commas_are_missing_and_semicolons_are_understood(tmp_path):
    (tmp_path / "german.csv").write_text("id;stage;cost\na;I;1,5\nb;II;2\n")
    found = cp.check(AGREED, "bank", tmp_path / "german.csv", accept=True)
    assert [number for rule, number in rules(found).items() if rule.startswith("cost")] == [1]
    assert not any(rule.startswith("stage") for rule in rules(found))


def test_what_excel_writes_for_nothing_is_a_value_like_any_other():
    assert rules(read(VISITS[2:], stage=["#N/A", "I"]))
    assert not rules(read(VISITS[2:]))


def test_the_page_says_that_these_are_not_built_yet():
    page = (Path(__file__).parents[2] / "docs" / "your-data.md").read_text()
    for said in ("Dates are not read as dates yet.", "`.xls` and `.ods` files are not read", "is not built yet."):
        assert said in page
