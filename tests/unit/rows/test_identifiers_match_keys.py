"""Identifiers of several columns and several keys: which rows are the same person's, as naive loops say it."""

from __future__ import annotations

import datetime as dt
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import copublish as cp
from copublish.agreement.identifiers import DateFormats, FirstCharacters
from copublish.errors import AgreementError
from copublish.rows.identifiers import as_iso, identifiers_of, normalize, normalize_batch
from copublish.rows.mapping import ColumnMapping, mapping_problems
from copublish.rows.reading import check_columns, read_fragment
from copublish.rows.sources import PartyData
from copublish.tools.drafting.mapping import draft_mapping
from support import small_mapping

HASH_OF_SMALL = "d3e9901424eea181cd16c122bb5592ca98222357259d0c900dc1275054b39887"
HASH_WITH_RULES = "102718e2b94582387353f6633cfdfee5be37e750aee8b5a3ea4e7d8086390e13"

KEYS = [["nr"], ["surname", "born", "sex"], ["surname", "street"]]
RULES = {
    "nr": ["digits-only", "ignore-leading-zeros"],
    "surname": ["ignore-case", "expand-umlauts", "fold-accents"],
    "born": [{"date": ["DD.MM.YYYY", "YYYYMMDD"]}],
    "street": [{"first": 3}, "ignore-case"],
}
PARTS = ("nr", "surname", "born", "sex", "street")


def agreed(**records: Any) -> cp.Agreement:
    mapping = small_mapping()
    mapping["records"] = {"expected": 2000, **records}
    return cp.agreement_from_mapping(mapping)


def problems(**records: Any) -> list[str]:
    with pytest.raises(AgreementError) as caught:
        agreed(**records)
    return caught.value.problems


def strings(agreement: cp.Agreement, rows: Sequence[Mapping[str, str | None]]) -> list[str]:
    columns = agreement.records.identifier_columns
    batch = pa.RecordBatch.from_pydict({c: pa.array([row[c] for row in rows], pa.string()) for c in columns})
    return list(identifiers_of(agreement.records, batch).to_pylist())


# --- Which rows have one person -------------------------------------------------------------------------------------


def day(text: str) -> str:
    """A date of the two agreed formats, or of sources, read by the standard library."""
    for form in ("%d.%m.%Y", "%Y%m%d", "%Y-%m-%d"):
        try:
            return dt.datetime.strptime(text, form).date().isoformat()
        except ValueError:
            continue
    return ""


def person(row: Mapping[str, str | None]) -> tuple[Any, ...]:
    """By the words of the reference, cell by cell: the key and its parts, or nobody. Small alphabets keep it short."""
    cells = {name: (text or "").strip() for name, text in row.items()}
    cells = {name: "" if text in ("", "?", "NA") else text for name, text in cells.items()}
    digits = "".join(c for c in cells["nr"] if c in "0123456789")
    cells["nr"] = str(int(digits)) if digits else ""
    surname = cells["surname"].lower()
    for umlaut, letters in (("ä", "ae"), ("ö", "oe"), ("ü", "ue"), ("ß", "ss"), ("é", "e")):
        surname = surname.replace(umlaut, letters)
    cells["surname"] = surname
    cells["born"] = day(cells["born"])
    cells["street"] = cells["street"].lower()[:3].strip()
    for number, key in enumerate(KEYS):
        if all(cells[part] for part in key):
            return (number, *(cells[part] for part in key))
    return ()


def cell(*texts: str) -> st.SearchStrategy[str | None]:
    return st.none() | st.sampled_from(["", "?", "NA", " ", *texts])


rows = st.fixed_dictionaries(
    {
        "nr": cell("7", "007", "7-7", "77", "x", "0", "00"),
        "surname": cell("Müller", "MUELLER", "mueller", "Muller", "René", "rene", "Weiß", "WEISS", "na", "a|1:b", "a"),
        "born": cell("1.2.1980", "01.02.1980", "19800201", "1980-02-01", "31.02.1980", "1980", "02/01/1980"),
        "sex": cell("f", "m", "F", "1:f", "f|1:m"),
        "street": cell("High Street", "HIGH", "hi", "hi ", "Hi gate", "b|"),
    }
)


@given(st.lists(rows, max_size=12))
def test_two_rows_are_one_persons_exactly_if_the_loop_says_so(table: list[dict[str, str | None]]) -> None:
    found = strings(agreed(match_keys=KEYS, identifier_rules=RULES), table)
    people = [person(row) for row in table]
    assert [text == "" for text in found] == [who == () for who in people]
    for one, text in zip(people, found, strict=True):
        for other, of_other in zip(people, found, strict=True):
            assert (text == of_other) == (one == other)


@given(st.lists(rows, min_size=1, max_size=8), rows)
def test_the_text_of_a_row_follows_from_that_row(
    table: list[dict[str, str | None]], more: dict[str, str | None]
) -> None:
    """So one person's rows change one person's record: stability 1, whatever others' rows say."""
    agreement = agreed(match_keys=KEYS, identifier_rules=RULES)
    assert strings(agreement, [more, *table])[1:] == strings(agreement, table)
    assert [strings(agreement, [row])[0] for row in table] == strings(agreement, table)


hostile = st.none() | st.text(max_size=6) | st.text(st.sampled_from("|:0123ab \u0345\u0301\u00df\0\ud7ff"), max_size=5)


@given(st.lists(st.fixed_dictionaries(dict.fromkeys(PARTS, hostile)), max_size=5))
def test_no_value_ends_the_reading(table: list[dict[str, str | None]]) -> None:
    assert len(strings(agreed(match_keys=KEYS, identifier_rules=RULES), table)) == len(table)


plain = st.text(st.sampled_from("|:1234567890ab\u00e9"), min_size=1, max_size=4)


@given(st.lists(plain, min_size=3, max_size=3), st.sampled_from(["", "|", ":", "|1:", "|2:"]), st.data())
def test_no_two_lists_of_parts_have_one_text(one: list[str], sign: str, data: st.DataObject) -> None:
    """Also if the other list is the same characters, cut elsewhere: at signs that stand between parts."""
    agreement = agreed(identifier=["a", "b", "c"], missing_spellings=[""])
    joined = sign.join(one)
    first_cut = data.draw(st.integers(1, len(joined) - 2))
    second_cut = data.draw(st.integers(first_cut + 1, len(joined) - 1))
    pieces = [joined[:first_cut], joined[first_cut:second_cut], joined[second_cut:]]
    other = data.draw(st.just([piece.strip("|") or "|" for piece in pieces]) | st.just(pieces))
    first, second = strings(agreement, [dict(zip("abc", parts, strict=True)) for parts in (one, other)])
    assert (first == second) == (one == other)


@pytest.mark.parametrize("other", [["a", "b|c", "d"], ["a", "b", "c|d"], ["a|b|c", "d", "d"], ["ab", "c", "d"]])
def test_signs_in_cells_are_no_ends_of_parts(other: list[str]) -> None:
    agreement = agreed(identifier=["a", "b", "c"])
    first, second = strings(agreement, [dict(zip("abc", parts, strict=True)) for parts in (["a|b", "c", "d"], other)])
    assert first != second


@given(plain)
def test_no_two_keys_have_one_text(text: str) -> None:
    agreement = agreed(match_keys=[["a"], ["b"], ["c"]], missing_spellings=[""])
    found = strings(agreement, [{"a": None, "b": None, "c": None} | {name: text} for name in "abc"])
    assert len(set(found)) == 3


def test_a_row_is_never_compared_by_a_later_key_than_its_first() -> None:
    agreement = agreed(match_keys=KEYS, identifier_rules=RULES)
    row = {"nr": "7", "surname": "Weiss", "born": "1.2.1980", "sex": "f", "street": "High"}
    without = row | {"nr": None}
    first, second = strings(agreement, [row, without])
    assert first != second
    assert strings(agreement, [row | {"surname": "Schwarz"}])[0] == first


# --- One rule after another ------------------------------------------------------------------------------------------

FIRST, DATE = FirstCharacters(first=3), DateFormats(date=("DD.MM.YYYY",))


@pytest.mark.parametrize(
    ("given_text", "rules", "expected"),
    [
        ("Müller", ["expand-umlauts"], "Mueller"),
        ("Mu\u0308ller", ["expand-umlauts"], "Mueller"),
        ("Müller", ["fold-accents"], "Muller"),
        ("Müller", ["fold-accents", "expand-umlauts"], "Mueller"),
        ("ÄRGER Straße", ["expand-umlauts", "ignore-case"], "aerger strasse"),
        ("Zoë Ångström", ["fold-accents"], "Zoe Angstrom"),
        ("Łódź Øre", ["fold-accents"], "Łodz Øre"),
        ("+49 (0) 351-46", ["digits-only"], "49035146"),
        ("no. 007", ["digits-only", "ignore-leading-zeros"], "7"),
        ("0012", ["ignore-leading-zeros", FIRST], "12"),
        ("de Vries", [FIRST], "de"),
        ("d-e Vries", ["ignore-punctuation", "ignore-spaces", FIRST], "deV"),
        ("1.2.1980", [DATE, FirstCharacters(first=4)], "1980"),
        ("1.2.1980", [DATE, "ignore-punctuation"], "19800201"),
        ("ﬁn", ["fold-accents", FirstCharacters(first=1)], "f"),
    ],
)
def test_rules_apply_in_the_order_of_the_reference(given_text: str, rules: list[Any], expected: str) -> None:
    assert normalize(given_text, rules) == normalize(given_text, rules[::-1]) == expected
    assert normalize_batch(pa.array([given_text, None]), rules).to_pylist()[0] == expected


NEW = ("fold-accents", "expand-umlauts", "digits-only", "ignore-case", "ignore-punctuation", "ignore-leading-zeros")


@given(
    st.lists(
        st.none() | st.text(max_size=8) | st.text(st.sampled_from("aäÄß\u0308é 0.-12980"), max_size=10), max_size=6
    ),
    st.sets(st.sampled_from([*NEW, FIRST, DATE]).map(lambda rule: rule)),
)
def test_a_batch_is_normalized_like_its_members(batch: list[str | None], rules: set[Any]) -> None:
    found = normalize_batch(pa.array(batch, pa.string()), list(rules))
    assert found.to_pylist() == [normalize(text or "", list(rules)) for text in batch]


@given(st.text(max_size=8), st.sets(st.sampled_from(NEW)))
def test_normalizing_twice_is_normalizing_once(text: str, rules: set[Any]) -> None:
    once = normalize(text, list(rules))
    assert normalize(once, list(rules)) == once


@given(st.text(max_size=8))
def test_accents_are_marks_that_combine(text: str) -> None:
    assert not any(map(unicodedata.combining, unicodedata.normalize("NFD", normalize(text, ["fold-accents"]))))


@given(st.dates())
def test_a_date_is_read_in_every_format_that_was_agreed(date: dt.date) -> None:
    written = {
        "DD.MM.YYYY": f"{date.day}.{date.month}.{date.year:04}",
        "MM/DD/YYYY": f"{date.month:02}/{date.day:02}/{date.year:04}",
        "YYYYMMDD": f"{date.year:04}{date.month:02}{date.day:02}",
    }
    for form, text in written.items():
        assert as_iso(f" {text} ", [form]) == date.isoformat()
        assert as_iso(date.isoformat(), [form]) == as_iso(f"{date.isoformat()} 00:00:00", [form]) == date.isoformat()


@pytest.mark.parametrize(
    "text", ["", "31.02.1980", "1.2.80", "1.2.1980 x", "0.1.1980", "\u0660\u0661.02.1980", "1-2-1980", "1.1.0000"]
)
def test_what_is_no_date_is_missing(text: str) -> None:
    assert as_iso(text, ["DD.MM.YYYY"]) == ""


# --- The agreement ---------------------------------------------------------------------------------------------------


def test_an_agreement_with_one_identifier_has_the_hash_it_had() -> None:
    """Digests of before identifiers could have several columns."""
    assert cp.agreement_from_mapping(small_mapping()).hash == HASH_OF_SMALL
    ruled = small_mapping(**{"records.identifier_rules": ["ignore-spaces", "ignore-case"]})
    assert cp.agreement_from_mapping(ruled).hash == HASH_WITH_RULES


def test_rules_for_all_parts_are_those_of_each() -> None:
    both = {"surname": ["ignore-case", "fold-accents"], "born": ["fold-accents", "ignore-case"]}
    identifier = ["surname", "born"]
    for_all = agreed(identifier=identifier, identifier_rules=["ignore-case", "fold-accents"])
    assert for_all.hash == agreed(identifier=identifier, identifier_rules=both).hash
    assert agreed(identifier=identifier).hash == agreed(identifier=identifier, identifier_rules={"born": []}).hash


def test_every_setting_has_a_hash_of_its_own() -> None:
    settings: list[dict[str, Any]] = [
        {"identifier": "surname"},
        {"identifier": ["surname", "born"]},
        {"identifier": ["born", "surname"]},
        {"match_keys": [["surname"], ["born"]]},
        {"match_keys": [["born"], ["surname"]]},
        {"identifier": ["surname", "born"], "identifier_rules": {"born": [{"date": "DD.MM.YYYY"}]}},
        {"identifier": ["surname", "born"], "identifier_rules": {"born": [{"date": "MM.DD.YYYY"}]}},
        {"identifier": ["surname", "born"], "identifier_rules": {"surname": [{"first": 3}]}},
        {"identifier": ["surname", "born"], "identifier_rules": {"surname": [{"first": 4}]}},
    ]
    assert len({agreed(**setting).hash for setting in settings}) == len(settings)


@pytest.mark.parametrize(
    ("records", "words"),
    [
        ({"identifier": ["a", "a"]}, "records.identifier: name each part once"),
        ({"identifier": ["a"]}, "records.identifier: a list has at least two columns"),
        ({"identifier": [1, "a"]}, "records.identifier.0: expected text in quotes, got 1"),
        ({"identifier": ""}, "records.identifier: needs at least 1"),
        ({"identifier": ["job", "a"]}, "attributes.job: this is a part of the identifier; it is never published"),
        ({"identifier": ["default", "a"]}, "class.name: 'default' is a part of the identifier"),
        (
            {"identifier": "a", "match_keys": [["a"], ["b"]]},
            "records.match_keys: the agreement names an identifier, too",
        ),
        ({"match_keys": [["a", "b"]]}, "records.match_keys: several keys are at least two"),
        (
            {"match_keys": [["a"], ["b", "a"]]},
            "records.match_keys.1: a row that has all of it has all of the earlier key",
        ),
        ({"match_keys": [["a"], []]}, "records.match_keys.1: needs at least 1"),
        (
            {"identifier": ["surname", "b"], "identifier_rules": {"surnam": ["ignore-case"]}},
            "records.identifier_rules.surnam: this is no part of the identifier. Did you mean 'surname'?",
        ),
        ({"identifier": "a", "identifier_rules": {"a": ["ignore-case"]}}, "so write a list"),
        (
            {"identifier": ["a", "b"], "identifier_rules": {"a": ["soundex"]}},
            "records.identifier_rules.a.0: 'soundex' is",
        ),
        ({"identifier": "a", "identifier_rules": [{"first": 0}]}, "records.identifier_rules.0: 'first' is a number"),
        ({"identifier": "a", "identifier_rules": [{"first": True}]}, "records.identifier_rules.0: 'first' is a number"),
        ({"identifier": "a", "identifier_rules": [{"first": 2}, {"first": 3}]}, "name each rule once"),
        ({"identifier": "a", "identifier_rules": [{"date": "DD.MM.YY"}]}, "needs YYYY, MM and DD once each"),
        ({"identifier": "a", "identifier_rules": [{"date": []}]}, "'date' is a format"),
        ({"identifier": "a", "identifier_rules": [{"date": ["DD/MM/YYYY", "MM/DD/YYYY"]}]}, "read in two ways"),
        ({"identifier": "a", "identifier_rules": [{"last": 3}]}, "this is not one of"),
    ],
)
def test_what_contradicts_itself_is_refused_in_words(records: dict[str, Any], words: str) -> None:
    assert any(words in line for line in problems(**records)), problems(**records)


# --- Two owners ------------------------------------------------------------------------------------------------------

IDENTIFIER: dict[str, Any] = {
    "identifier": ["surname", "born", "post"],
    "identifier_rules": {
        "surname": ["ignore-case", "expand-umlauts", "ignore-spaces"],
        "born": [{"date": ["DD.MM.YYYY"]}],
        "post": ["digits-only"],
    },
}
BANK = pd.DataFrame(
    {
        "surname": ["Müller", "Weiß", "Özil", "Smith"],
        "born": ["1.2.1980", "03.04.1950", "15.10.1988", "unknown"],
        "post": ["D-01069", "01 187", "45879", "1"],
        "job": ["cook"] * 4,
        "income": [1.0] * 4,
        "default": ["no"] * 4,
    }
)
LOANS = pd.DataFrame(
    {
        "NAME": ["MUELLER", "weiss", "OEZIL ", "Smith"],
        "BIRTH": pd.to_datetime(["1980-02-01", "1950-04-03", "1988-10-15", None]),
        "ZIP": ["01069", "01187", "45 879", "1"],
        "region": ["north"] * 4,
        "age": [30.0] * 4,
        "default": ["no"] * 4,
    }
)
OWN_NAMES = {"surname": "NAME", "born": "BIRTH", "post": "ZIP", "region": "region", "age": "age", "default": "default"}
OWN = ColumnMapping.model_validate({"columns": {agreed: {"column": own} for agreed, own in OWN_NAMES.items()}})


def test_the_same_people_at_two_owners_have_one_identifier_however_they_are_written() -> None:
    agreement = agreed(**IDENTIFIER)
    bank = read_fragment(agreement, "bank", BANK)
    loans = read_fragment(agreement, "loans", PartyData(LOANS, mapping=OWN))
    assert bank.identifiers == loans.identifiers  # Smith has no date, so he is nobody
    assert bank.n_records == loans.n_records == 3


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_files_are_read_like_frames(tmp_path: Any, suffix: str) -> None:
    agreement, path = agreed(**IDENTIFIER), tmp_path / f"loans.{suffix}"
    LOANS.to_csv(path, index=False) if suffix == "csv" else LOANS.to_parquet(path)
    found = read_fragment(agreement, "loans", PartyData(path, mapping=OWN))
    assert found.identifiers == read_fragment(agreement, "loans", PartyData(LOANS, mapping=OWN)).identifiers


def test_of_rows_with_one_key_one_stays() -> None:
    doubled = pd.concat([BANK, BANK.assign(surname="MUELLER", born="01.02.1980", post="01069")])
    assert read_fragment(agreed(**IDENTIFIER), "bank", doubled).n_records == 3


def test_a_part_that_is_not_there_is_named_before_a_row_is_read() -> None:
    with pytest.raises(cp.FragmentError) as caught:
        check_columns(agreed(**IDENTIFIER), "bank", BANK.drop(columns="post"))
    assert caught.value.problems[0].startswith("Column 'post' is agreed but not in the data.")


def test_a_mapping_has_a_name_for_each_part() -> None:
    agreement = agreed(**IDENTIFIER)
    assert mapping_problems(agreement, "loans", OWN) == []
    forgets = ColumnMapping(columns={name: own for name, own in OWN.columns.items() if name != "born"})
    (problem,) = mapping_problems(agreement, "loans", forgets)
    assert problem.startswith("The mapping forgets column 'born'")
    assert '[columns.post]\ncolumn = "post"' in draft_mapping(agreement, "bank", BANK)


def test_a_column_may_name_a_person_and_be_published_under_two_names() -> None:
    agreement = agreed(**(IDENTIFIER | {"identifier": ["surname", "born", "post", "place"]}))
    own = {name: column.model_dump() for name, column in OWN.columns.items()} | {"place": {"column": "region"}}
    mapping = ColumnMapping.model_validate({"columns": own})
    assert mapping_problems(agreement, "loans", mapping) == []
    assert read_fragment(agreement, "loans", PartyData(LOANS, mapping=mapping)).n_records == 3


# --- What is said ----------------------------------------------------------------------------------------------------


def test_people_are_joined_by_the_keys_that_their_rows_have() -> None:
    """And released on the ideal engine: two people agree by number, one by name; one has a number here alone."""
    agreement = agreed(match_keys=[["nr"], ["surname", "born"]], identifier_rules={"surname": ["ignore-case"]})
    bank = BANK.assign(nr=["1", "2", "", "4"], born=["a", "b", "c", "d"])
    loans = pd.DataFrame(
        {
            "nr": ["2", "1", "", ""],
            "surname": ["x", "y", "ÖZIL", "Smith"],
            "born": ["", "", "c", "d"],
            "region": ["north"] * 4,
            "age": [30.0] * 4,
            "default": ["no"] * 4,
        }
    )
    tables = [read_fragment(agreement, "bank", bank), read_fragment(agreement, "loans", loans)]
    one, other = (set(table.identifiers or ()) for table in tables)
    assert len(one & other) == 3
    release = cp.simulate(agreement, {"bank": bank, "loans": loans})
    assert set(release.to_pandas().columns) == set(agreement.columns)  # no part of the identifier


SHARED = "Of people who share a key there is one record"


@pytest.mark.parametrize(
    ("records", "may_be_shared", "words"),
    [
        ({"identifier": "id"}, False, "exactly if they agree by 'id'"),
        ({"identifier": "id", "identifier_rules": [{"first": 3}]}, True, "ignoring all after the first 3 characters"),
        (IDENTIFIER, True, "by all of 'surname' (ignoring upper and lower case, spaces, "),
        ({"match_keys": KEYS}, True, "by the first of these keys of which a row has all parts: 'nr'; or 'surname', "),
        ({"match_keys": [["nr"], ["passport"]]}, False, "'nr'; or 'passport'"),
    ],
)
def test_the_certificate_says_how_people_are_compared_and_what_a_shared_key_costs(
    records: dict[str, Any], may_be_shared: bool, words: str
) -> None:
    said = cp.describe(agreed(**records))
    assert words in said.assumptions[0]
    assert any(line.startswith(SHARED) for line in said.protected) == may_be_shared
