"""What an owner is told whose data are another party's, or spelled otherwise: the reason, and no value."""

from __future__ import annotations

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import copublish as cp
from copublish.errors import SourceError
from copublish.rows.agreed_columns import looks_like_data_of
from copublish.rows.reading import read_fragment
from copublish.rows.sources import open_source
from support import fragment_frames, mapping_by_default, random_table


def agreed(**changes):
    return cp.agreement_from_mapping(mapping_by_default(**changes))


@pytest.fixture(scope="module")
def frames():
    agreement = agreed()
    generator = np.random.default_rng(1)
    return agreement, fragment_frames(agreement, random_table(agreement, 200, generator), generator)


def test_the_other_partys_file_is_called_so(frames):
    agreement, data = frames
    for party, other in (("bank", "loans"), ("loans", "bank")):
        checked = cp.check(agreement, party, data[other])
        assert checked.problems[0].startswith(f"This looks like the data of '{other}'")
        assert cp.check(agreement, party, data[party]).ok


def test_what_could_be_anybodys_is_not_called_anybodys(frames):
    agreement, data = frames
    both = list(dict.fromkeys([*data["bank"].columns, *data["loans"].columns]))
    assert looks_like_data_of(agreement, both) is None
    assert looks_like_data_of(agreement, ["id", "default"]) is None
    missing = cp.check(agreement, "bank", data["bank"][["id", "default"]]).problems
    assert missing and not any("looks like" in problem for problem in missing)
    horizontal = agreed(
        partition="horizontal", attributes={"age": {"kind": "numerical", "bounds": [0, 9], "grid": {"step": 1}}}
    )
    assert looks_like_data_of(horizontal, ["age"]) is None


TRUTH = [True, False, None]
SOURCES = {
    "pandas": lambda: pd.DataFrame({"id": list("abc"), "vet": pd.array(TRUTH, "boolean"), "default": ["no"] * 3}),
    "arrow": lambda: pa.table({"id": list("abc"), "vet": pa.array(TRUTH), "default": ["no"] * 3}),
    "duckdb": lambda: duckdb.sql(
        "SELECT * FROM (VALUES ('a', true, 'no'), ('b', false, 'no'), ('c', NULL, 'no')) people(id, vet, \"default\")"
    ),
}


def with_truth(values):
    attributes = {
        "vet": {"kind": "categorical", "values": values, "held_by": "bank"},
        "age": {"kind": "numerical", "bounds": [0, 9], "grid": {"step": 1}, "held_by": "loans"},
    }
    return agreed(attributes=attributes)


@pytest.mark.parametrize("source", SOURCES)
def test_truth_values_are_said_to_be_read_as_true_and_false(source):
    (rule,) = cp.check(with_truth(["yes", "no"]), "bank", SOURCES[source]()).rules
    assert (rule.rule, rule.rows) == ("unlisted", 2)
    assert "read as 'true' and 'false'" in str(rule) and 'values = ["false", "true"]' in str(rule)
    assert cp.check(with_truth(["false", "true"]), "bank", SOURCES[source]()).rules == ()


def test_text_that_is_spelled_otherwise_is_told_from_text_that_is_not_agreed(tmp_path):
    (tmp_path / "bank.csv").write_text("id,vet,default\na,TRUE,no\nb,FALSE,no\nc,Yes,no\nd,Mr. Secret,no\n")
    agreement = with_truth(["yes", "no"])
    rules = cp.check(agreement, "bank", tmp_path / "bank.csv", rows=True).rules
    told = {rule.row_numbers: rule.broken for rule in rules}
    assert "read as 'TRUE' and 'FALSE'" in told[1, 2]
    assert "upper and lower case alone" in told[(3,)]
    assert "not in the agreed list" in told[(4,)]
    assert "Secret" not in str(rules)
    # A run makes the same codes and looks for no reasons.
    assert read_fragment(agreement, "bank", tmp_path / "bank.csv").private_codes["vet"].tolist() == [2, 2, 2, 2]


def test_a_query_that_a_person_stopped_is_no_problem_of_the_data():
    """DuckDB raises an error of its own, with what was pressed as its cause."""
    with pytest.raises(KeyboardInterrupt), open_source(SOURCES["arrow"]()):
        raise RuntimeError("Query interrupted") from KeyboardInterrupt()
    with pytest.raises(SourceError), open_source(SOURCES["arrow"]()):
        raise RuntimeError("Query failed")
