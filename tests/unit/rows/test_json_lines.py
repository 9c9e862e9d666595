"""JSON lines: every value is the text that it stands for, and a file that is none is refused without showing it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import copublish as cp
from copublish.rows.agreed_columns import column_types
from copublish.rows.reading import read_fragment
from copublish.rows.sources import open_rows, open_source
from support import small_mapping
from support.profiles import examples


def texts(path: Path, text: str, opening: Any = open_rows) -> dict[str, list[str | None]]:
    path.write_text(text, encoding="utf-8")
    with opening(path) as opened:
        batches = list(opened.batches([opened.expression(name, "text") for name in opened.columns]))
        return {name: [cell for batch in batches for cell in batch[name].to_pylist()] for name in opened.columns}


VALUES = [
    ('"007"', "007"),
    ('" a "', "a"),
    ("7", "7"),
    ("7.25", "7.25"),
    ("-1e3", "-1000.0"),
    ("12345678901234567890123", "12345678901234567890123"),
    ("1e400", "1e400"),
    ("true", "true"),
    ("null", None),
    ('""', ""),
    ('"\\u00e9\\n\\"x"', 'é\n"x'),
    ('{"a": [1]}', '{"a":[1]}'),
]


@pytest.mark.parametrize("opening", [open_rows, open_source])
def test_every_value_is_the_text_that_it_stands_for(tmp_path: Path, opening: Any) -> None:
    lines = [f'{{"n": {n}, "a.b/~\\"c": {value}}}' for n, (value, _) in enumerate(VALUES)]
    found = texts(tmp_path / "a.jsonl", "\n\n".join(lines), opening)
    assert found == {'a.b/~"c': [text for _, text in VALUES], "n": [str(n) for n in range(len(VALUES))]}


def test_columns_are_the_keys_of_all_lines(tmp_path: Path) -> None:
    lines = [{"a": n} for n in range(30_000)] + [{"z": 1, "": 2}]  # past what DuckDB looks at to guess types
    found = texts(tmp_path / "a.ndjson", "\n".join(map(json.dumps, lines)))
    assert found["a"] == [*map(str, range(30_000)), None], "in the order of the file"
    assert found["z"] == [None] * 30_000 + ["1"] and set(found) == {"a", "z"}, "a key without a name is no column"


REFUSED = {
    "empty": ("", "is empty"),
    "no object": ('{"a": 1}\n[1]\n', "every line has to be one JSON object"),
    "one list": ('[{"a": "secret"},\n{"a": 2}]', "every line has to be one JSON object"),
    "broken": ('{"a": 1}\n{"a": "secret\n', "every line has to be one JSON object"),
    "two in a line": ('{"a": 1} {"a": 2}\n', "every line has to be one JSON object"),
    "like CSV": ("a,b\nsecret,2\n", "every line has to be one JSON object"),
    "nearly the same": ('{"a": 1}\n{"A": 2}\n', "two keys that differ"),
}


@pytest.mark.parametrize("opening", [open_rows, open_source])
@pytest.mark.parametrize("what", REFUSED)
def test_files_that_are_no_json_lines_are_refused_in_words(tmp_path: Path, what: str, opening: Any) -> None:
    text, words = REFUSED[what]
    with pytest.raises(cp.SourceError, match=words) as caught:
        texts(tmp_path / "a.jsonl", text, opening)
    assert "secret" not in str(caught.value)


def test_types_for_a_draft_are_those_of_all_lines(tmp_path: Path) -> None:
    lines = [{"n": 1, "x": 1, "t": True, "s": "a", "m": 1}, {"n": 2, "x": 1.5, "t": False, "s": "7", "m": "x"}]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, lines)))
    types = column_types(tmp_path / "a.jsonl")
    assert types == {"m": "text", "n": "whole number", "s": "text", "t": "truth value", "x": "number"}


def test_a_file_gives_the_codes_of_the_same_csv_file(tmp_path: Path) -> None:
    agreement = cp.agreement_from_mapping(small_mapping())
    rows = [("x", "clerk", 60.5, "yes"), (7, " cook", "?", "no"), ("x7", None, "1e1", None)]
    names = ("id", "job", "income", "default")
    (tmp_path / "bank.jsonl").write_text("\n".join(json.dumps(dict(zip(names, row, strict=True))) for row in rows))
    cells = [names, *rows]
    (tmp_path / "bank.csv").write_text("\n".join(",".join(str("" if c is None else c) for c in row) for row in cells))
    found, wanted = (read_fragment(agreement, "bank", tmp_path / f"bank.{kind}") for kind in ("jsonl", "csv"))
    assert {name: codes.tolist() for name, codes in found.private_codes.items()} == {
        name: codes.tolist() for name, codes in wanted.private_codes.items()
    }


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=5,
)


@given(st.lists(json_values, min_size=1, max_size=8))
@examples(30, unchecked=[HealthCheck.function_scoped_fixture])
def test_no_value_ends_a_reading(tmp_path: Path, values: list[Any]) -> None:
    found = texts(tmp_path / "a.jsonl", "\n".join(json.dumps({"a": value}) for value in values))
    assert len(found["a"]) == len(values)
