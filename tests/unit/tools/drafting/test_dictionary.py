"""Data dictionaries: what was written is what is read, in every way to write it, and nonsense is named."""

from __future__ import annotations

import csv
import io
import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from copublish.errors import AgreementError
from copublish.tools.drafting.answers import bounds_from, epsilon_from, kind_from, values_from
from copublish.tools.drafting.dictionary import ColumnEntry, dictionary_from_csv, dictionary_from_json, read_dictionary
from copublish.tools.drafting.draft import Essentials, PartyColumns, draft_agreement
from support.profiles import examples

SOME = examples(60)

words = st.text(st.characters(categories=["L", "N", "P", "Zs"]), min_size=1, max_size=8).map(str.strip).filter(bool)
numbers = st.decimals(-(10**6), 10**6, places=2)
kinds: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.lists(words, min_size=1, max_size=4, unique=True).map(lambda values: {"values": tuple(values)}),
    st.lists(numbers, min_size=2, max_size=2, unique=True).map(lambda pair: {"bounds": tuple(sorted(pair))}),
    st.just({}),
)


@st.composite
def dictionaries(draw: st.DrawFn) -> dict[str, ColumnEntry]:
    names = draw(st.lists(words, min_size=1, max_size=5, unique=True))
    found = {}
    for name in names:
        said = draw(kinds)
        kind = "categorical" if "values" in said else "numerical" if "bounds" in said else None
        unit, is_complete = draw(st.sampled_from(["", "euro"])), draw(st.booleans())
        found[name] = ColumnEntry(name=name, kind=kind, unit=unit, is_complete=is_complete, **said)
    return found


def as_csv(dictionary: dict[str, ColumnEntry]) -> str:
    """Write it by the standard library; values as a JSON list, which may hold any mark."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["variable", "unit", "values", "min", "max", "Not null"])
    for entry in dictionary.values():
        values = "" if entry.values is None else json.dumps(entry.values)
        writer.writerow(
            [entry.name, entry.unit, values, *(entry.bounds or ("", "")), "yes" if entry.is_complete else ""]
        )
    return text.getvalue()


def as_json(dictionary: dict[str, ColumnEntry]) -> str:
    fields = []
    for entry in dictionary.values():
        said: dict[str, Any] = {"name": entry.name, "unit": entry.unit, "nullable": not entry.is_complete}
        if entry.values is not None:
            said["values"] = list(entry.values)
        if entry.bounds is not None:
            said["bounds"] = [float(bound) for bound in entry.bounds]
        fields.append(said)
    return json.dumps(fields)


@SOME
@given(dictionaries())
def test_what_was_written_is_read_from_csv_and_from_json(dictionary):
    assert dictionary_from_csv(as_csv(dictionary)) == dictionary
    assert dictionary_from_json(as_json(dictionary)) == dictionary


@SOME
@given(st.text(max_size=60), st.sampled_from(["", "name,values,bounds\n", "name;kind\n", "[", '{"a": ']))
@example('"', "name,values\n")
@example("x,[1,,2]\n", "name,values,bounds\n")
@example("1e9999999999}", '{"a": ')
@example('[{"name": "a", "min": NaN, "max": 1}]', "")
def test_whatever_a_file_holds_it_is_read_or_named(text, beginning):
    for read in (dictionary_from_csv, dictionary_from_json):
        try:
            found = read(beginning + text)
        except AgreementError as exc:
            assert exc.problems
        else:
            assert all(entry.name == name for name, entry in found.items())


def test_words_of_code_books_are_understood(tmp_path):
    (tmp_path / "book.csv").write_text(
        "Variable;Type;Role;Codes;Range;Unit;Meaning\n"
        "id;;identifier;;;;\n"
        "region;integer;;1=North|2=South;;;Where they live\n"
        "age;;;;18 to 99;years;\n"
        "income;float;;;;;\n"
        "visits;int;;;;;\n"
        "ill;;target;no, yes;;;\n"
    )
    book = read_dictionary(tmp_path / "book.csv")
    assert (book["id"].kind, book["ill"].kind, book["ill"].values) == ("identifier", "class", ("no", "yes"))
    assert (book["region"].kind, book["region"].values) == ("categorical", ("1", "2"))
    assert book["region"].words == ("Where they live. 1 is North, 2 is South",)
    assert (book["age"].kind, book["age"].bounds) == ("numerical", (Decimal(18), Decimal(99)))
    assert (book["income"].kind, book["visits"].kind, book["visits"].is_whole) == ("numerical", None, True)


def test_a_table_schema_is_a_dictionary():
    schema = {
        "fields": [
            {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 120}},
            {"name": "sex", "type": "string", "constraints": {"enum": ["f", "m"]}},
            {"name": "vote", "values": {"1": "yes", "2": "no"}},
        ]
    }
    book = dictionary_from_json(json.dumps(schema))
    assert (book["age"].kind, book["age"].bounds) == ("numerical", (Decimal(0), Decimal(120)))
    assert (book["sex"].values, book["vote"].values) == (("f", "m"), ("1", "2"))
    assert book["vote"].description == "1 is yes, 2 is no"


def drafted(dictionary: str, types: dict[str, str]) -> dict[str, Any]:
    """What a draft says of columns of these types."""
    parts = [PartyColumns("a", types)]  # type: ignore[arg-type]
    content = draft_agreement(Essentials(parties=("a",)), parts, dictionary_from_json(dictionary)).content
    return dict(content["attributes"])


def test_a_column_that_a_dictionary_calls_complete_has_no_category_for_missing_and_other_values():
    """Of another one nothing is concluded, whatever its data have: only a dictionary is public."""
    said = {
        "sex": {"enum": ["f", "m"], "required": True},
        "job": {"enum": ["cook", "vet"]},
        "age": {"type": "integer", "min": 18, "max": 99, "required": "yes"},
        "pay": {"type": "number", "min": 0, "max": 500, "nullable": True},
        "zip": {"type": "string", "required": True},
    }
    types = {"sex": "text", "job": "text", "age": "whole number", "pay": "number", "zip": "text"}
    found = drafted(json.dumps(said), types)
    assert (found["sex"]["missing"], found["sex"]["unlisted"]) == ("f", "f")
    assert (found["job"]["missing"], "unlisted" in found["job"]) == ("category", False)
    assert (found["age"]["missing"], found["age"]["decimals"]) == (18, 0)
    assert (found["pay"]["missing"], "decimals" in found["pay"]) == ("category", False)
    assert (found["zip"]["missing"], found["zip"]["values"]) == ("category", "FILL IN")  # no list to be complete


def test_a_dictionary_that_contradicts_itself_about_missing_values_is_refused():
    with pytest.raises(AgreementError, match="required, and that its values may be missing"):
        dictionary_from_csv("name,required,nullable\nage,yes,yes\n")
    with pytest.raises(AgreementError, match="required is 'perhaps'"):
        dictionary_from_csv("name,required\nage,perhaps\n")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("age,numerical,a|b,,", "it has a list of values"),
        ("age,categorical,,0..9,", "it has bounds"),
        ("age,,a|b,0..9,", "values and bounds"),
        ("age,,,9..0,", "below the upper one"),
        ("age,,,0-9,", "like 18..99"),
        ("age,,a|a,,", "listed twice"),
        ("age,colour,,,", "'colour' is not known"),
        (",,a|b,,", "has no name"),
        ("age,,,,\nage,,,,", "was there before"),
        ("age,,,,,,surplus", "more cells"),
        ("a,class,,,\nb,class,,,", "a table has one"),
    ],
)
def test_every_problem_is_named_with_its_line(line, problem):
    with pytest.raises(AgreementError, match=problem) as caught:
        dictionary_from_csv(f"name,kind,values,bounds,unit\n{line}\nzip,,,nonsense,\n")
    assert any(f"line {2 + line.count(chr(10)) + 1} ('zip')" in told for told in caught.value.problems)


@pytest.mark.parametrize("text", ["no,yes", "", "0", "-1", "11", "nan", "1,5", "1_0"])
def test_an_epsilon_is_a_number_that_an_agreement_may_have(text):
    with pytest.raises(ValueError, match=r"epsilon|number"):
        epsilon_from(text)
    assert epsilon_from(" 0.5 ") == Decimal("0.5")


def test_other_answers_are_read_as_people_write_them():
    assert bounds_from("-5 .. 10") == bounds_from("[-5, 10]") == bounds_from("-5 to 10") == (-5, 10)
    assert values_from("a, b;c") == ("a, b", "c")
    assert values_from('["a|b", 7, true]') == ("a|b", "7", "true")
    assert (kind_from("Category"), kind_from("number")) == ("categorical", "numerical")
    with pytest.raises(ValueError, match="codes"):
        kind_from("integer")


def test_bounds_among_codes_are_bounds_and_codes_that_are_no_numbers_are_missing():
    """As the dictionary of NIST's excerpts of the American Community Survey writes them."""
    said = {
        "AGEP": {"values": {"min": 0, "max": 99}},
        "PINCP": {"values": {"N": "N/A (less than 15 years old)", "min": -9000, "max": 1341000}},
        "POVPIP": {"values": {"N": "N/A", "min": 0, "max": 500, "501": "income above 5 x poverty line"}},
        "DENSITY": {"values": {"min": 16.3, "max": 52864.7}},
        "SEX": {"values": {"1": "Male", "2": "Female"}},
        "PAY": {"values": {"min": "lowest wage", "max": "highest wage"}},
    }
    found = dictionary_from_json(json.dumps(said))
    ranges = {name: (entry.kind, entry.bounds, entry.codes) for name, entry in found.items()}
    assert ranges == {
        "AGEP": ("numerical", (0, 99), ()),
        "PINCP": ("numerical", (-9000, 1341000), ("N",)),
        "POVPIP": ("numerical", (0, 501), ("N",)),
        "DENSITY": ("numerical", (Decimal("16.3"), Decimal("52864.7")), ()),
        "SEX": ("categorical", None, ()),
        "PAY": ("categorical", None, ()),
    }
    assert found["PAY"].values == ("min", "max")
    assert found["POVPIP"].description == "N is N/A, 501 is income above 5 x poverty line"
    parts = [PartyColumns("census", dict.fromkeys(found, "text"))]
    drafted = draft_agreement(Essentials(has_class=False), parts, found).content["attributes"]
    assert drafted["PINCP"]["missing_spellings"] == ["?", "NA", "N"] and "missing_spellings" not in drafted["AGEP"]


@pytest.mark.parametrize("values", ['{"min": 0}', '{"max": 9, "N": "no"}', '{"min": 5, "max": 5}'])
def test_half_a_range_among_codes_is_named(values):
    with pytest.raises(AgreementError, match="bound"):
        dictionary_from_json(f'{{"age": {{"values": {values}}}}}')
