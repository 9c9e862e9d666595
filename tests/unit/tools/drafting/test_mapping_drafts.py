"""Drafts of mappings: columns are found by their names alone, and what is drafted can be read."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import copublish as cp
from copublish.agreement.domain import CategoricalDomain, flat_taxonomy
from copublish.agreement.loading import FILL_IN
from copublish.cli import app
from copublish.rows.mapping import ColumnMapping, mapping_problems
from copublish.tools.drafting.mapping import draft_mapping, matching_names, truth_words
from support import mapping_by_default, small_mapping
from support.profiles import examples

AGREED = cp.agreement_from_mapping(small_mapping())


def drafted(header: list[str], party: str = "bank", agreement: cp.Agreement = AGREED) -> dict[str, Any]:
    return tomllib.loads(draft_mapping(agreement, party, pd.DataFrame({name: ["secret"] for name in header})))[
        "columns"
    ]


def test_names_are_found_without_case_spaces_and_punctuation() -> None:
    found = drafted(["ID", "Job.", "in-come", "De fault", "Region"])
    assert {name: own["column"] for name, own in found.items()} == {
        "id": "ID",
        "job": "Job.",
        "income": "in-come",
        "default": "De fault",
    }


@pytest.mark.parametrize(
    ("wanted", "header", "found"),
    [
        (["age"], ["age", "AGE"], {"age": "age"}),
        (["age"], ["AGE", "a-ge"], {}),
        (["age", "a_ge"], ["AGE"], {}),
        (["age", "a_ge"], ["age", "A ge"], {"age": "age", "a_ge": "A ge"}),
        (["straße", "größe"], ["STRASSE", "GRÖSSE"], {"straße": "STRASSE", "größe": "GRÖSSE"}),
        (["-", "."], ["."], {".": "."}),
        (["age"], ["agee", "ag"], {}),
    ],
)
def test_nothing_is_guessed_where_several_come_into_question(wanted: Any, header: Any, found: dict[str, str]) -> None:
    assert matching_names(wanted, header) == found


def test_what_is_not_found_is_left_open_and_no_value_is_in_the_draft() -> None:
    frame = pd.DataFrame({"customer": ["secret"], "JOB": ["Koch"]})
    text = draft_mapping(AGREED, "bank", frame)
    assert "secret" not in text and "Koch" not in text and '# Your other columns: "customer".' in text
    columns = tomllib.loads(text)["columns"]
    assert [name for name, own in columns.items() if own["column"] == FILL_IN] == ["id", "income", "default"]


def test_a_draft_follows_from_names_and_agreement_alone() -> None:
    one, other = (pd.DataFrame({"id": [n], "income": [n], "job": [str(n)], "default": [n > 1]}) for n in (1, 2))
    assert draft_mapping(AGREED, "bank", one) == draft_mapping(AGREED, "bank", other.head(0))


@pytest.mark.parametrize(
    ("values", "true", "false"),
    [
        (["no", "yes"], "yes", "no"),
        (["ja", "nein"], "ja", "nein"),
        (["0", "1"], "1", "0"),
        (["t", "f", "other"], "t", "f"),
    ],
)
def test_truth_values_in_other_spellings_become_the_agreed_ones(values: list[str], true: str, false: str) -> None:
    words = truth_words(CategoricalDomain("x", flat_taxonomy(tuple(values))))
    agreed = {**words, true: true, false: false}
    for word in ("true", "TRUE", "yes", "t", "ja", "1", "1.0"):
        assert agreed[word] == true
    for word in ("false", "False", "no", "f", "nein", "0", "0.0"):
        assert agreed[word] == false


@pytest.mark.parametrize("values", [["f", "m"], ["yes", "no", "unknown"], ["true"], ["1", "2"], ["yes", "true", "no"]])
def test_other_values_are_left_to_their_owner(values: list[str]) -> None:
    assert truth_words(CategoricalDomain("x", flat_taxonomy(tuple(values)))) == {}


names = st.text(st.characters(exclude_categories=["Cs", "Cc", "Cf", "Zl", "Zp"]), min_size=1, max_size=6).filter(
    str.strip
)


@given(st.lists(names | st.sampled_from(["ID", "job", "Income"]), unique_by=str.lower, max_size=6))
@examples(30)
def test_every_draft_can_be_read_and_fits_once_it_is_filled_in(header: list[str]) -> None:
    columns = drafted(header or ["x"])
    filled = {
        name: {**own, "column": f"column {n}" if own["column"] == FILL_IN else own["column"]}
        for n, (name, own) in enumerate(columns.items())
    }
    assert mapping_problems(AGREED, "bank", ColumnMapping.model_validate({"columns": filled})) == []


def test_a_column_that_is_derived_from_events_is_left_out_and_refused() -> None:
    visits = {"kind": "numerical", "bounds": [0, 9], "held_by": "bank", "derived": {"from": "visits", "as": "count"}}
    agreement = cp.agreement_from_mapping(mapping_by_default(**{"attributes.visits": visits}))
    found = drafted(["id", "job", "income", "default", "visits"], agreement=agreement)
    assert list(found) == ["id", "job", "income", "default"]
    assert mapping_problems(agreement, "bank", ColumnMapping.model_validate({"columns": found})) == []
    found["visits"] = {"column": "visits"}
    problems = mapping_problems(agreement, "bank", ColumnMapping.model_validate({"columns": found}))
    assert problems == ["columns.visits: by the agreement it is derived from an event table. Leave it out."]


def test_a_party_without_data_has_nothing_to_map() -> None:
    helped = cp.agreement_from_mapping(mapping_by_default(parties={"bank": {}, "loans": {}, "helper": {"data": False}}))
    with pytest.raises(cp.CopublishError, match="'helper' holds no data"):
        draft_mapping(helped, "helper", pd.DataFrame({"a": []}))


# --- From the draft to a release -------------------------------------------------------------------------------------


def run(*words: object, code: int = 0) -> str:
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == code, f"{done.output}\n{done.exception}"
    return " ".join(done.output.split())


def test_the_command_drafts_asks_for_the_rest_and_check_finds_what_is_open(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    run("init", "a.toml")
    Path("own.csv").write_text("Customer-ID;Alter;JOB;Balance (EUR);default\n7;33;cook;5;no\n")
    asked = ["--mapping", "a.toml", "--party", "bank", "--data", "own.csv"]
    said = run("init", *asked)
    assert "my-columns.toml" in said and "'age', 'balance'" in said and "It stays here" in said
    assert "exists" in str(CliRunner().invoke(app, ["init", *asked]).exception)
    checked = ["check", "a.toml", "--party", "bank", "--data", "own.csv", "--columns", "my-columns.toml"]
    failed = CliRunner().invoke(app, checked)
    assert failed.exception.exit_code == 4 and "columns.age.column: still to be filled in" in str(failed.exception)
    text = Path("my-columns.toml").read_text()
    Path("my-columns.toml").write_text(text.replace('"FILL IN"', '"Alter"', 1).replace('"FILL IN"', '"Balance (EUR)"'))
    assert "1 record" in run(*checked, "--accept")
    failed = CliRunner().invoke(app, checked[:-2])
    assert "'customer_id' is agreed but not in the data" in str(failed.exception)


@pytest.mark.parametrize("wrong", [[], ["--data", "a.csv", "--data", "b.csv"]])
def test_one_table_is_mapped_at_a_time(tmp_path, monkeypatch, wrong: list[str]) -> None:
    monkeypatch.chdir(tmp_path)
    run("init", "a.toml")
    done = CliRunner().invoke(app, ["init", "m.toml", "--mapping", "a.toml", "--party", "bank", *wrong])
    assert done.exit_code == 2 and not Path("m.toml").exists()
