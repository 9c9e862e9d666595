"""An agreement's hash covers its meaning and nothing else, its numbers are exact, and all mistakes come at once."""

from __future__ import annotations

import copy
import json
import random
import re
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from copublish import AgreementError, agreement_from_mapping, load_agreement
from copublish.release.describe import describe
from copublish.tools.drafting.demo import example_agreement
from support import mapping_by_default, repartition
from support.profiles import examples

JOBS = {"ANY": {"Worker": {"cook": {}, "clerk": {}, "driver": {}}, "Doctor": {"surgeon": {}, "vet": {}}}}


UNHURRIED = examples(unchecked=[HealthCheck.data_too_large])
"""A busy machine is no failure."""


def hash_of(mapping: dict[str, Any], **options: Any) -> str:
    return agreement_from_mapping(mapping, **options).hash


def problems_of(mapping: dict[str, Any], **options: Any) -> tuple[str, ...]:
    with pytest.raises(AgreementError) as caught:
        agreement_from_mapping(mapping, **options)
    return caught.value.problems


# --- One meaning, one hash -------------------------------------------------------------------------------------------


class Writer:
    """Writes a mapping as TOML the way many different people would."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def document(self, mapping: dict[str, Any]) -> str:
        tables = [self.table(key, value) for key, value in self.shuffled(mapping.items()) if isinstance(value, dict)]
        top = [self.line(key, value) for key, value in self.shuffled(mapping.items()) if not isinstance(value, dict)]
        return "\n".join(["# who wrote this?", *top, *tables])

    def table(self, path: str, table: dict[str, Any]) -> str:
        if path in ("parties", "attributes"):  # their order is part of the agreement
            return "\n".join(self.table(f"{path}.{name}", entry) for name, entry in table.items())
        lines = [self.line(key, value) for key, value in self.shuffled(table.items())]
        return "\n".join([self.blank() + f"[{path}]", *lines])

    def line(self, key: str, value: Any) -> str:
        equals = self.random.choice(["=", " = ", "   =  "])
        return f"{self.blank()}{key}{equals}{self.value(value)}{self.random.choice(['', '  # a remark'])}"

    def value(self, value: Any) -> str:
        if isinstance(value, dict):  # the labels of a taxonomy keep their order
            return "{" + ", ".join(f"{key} = {self.value(item)}" for key, item in value.items()) + "}"
        if isinstance(value, list):
            return "[" + self.random.choice([", ", ",", ",\n    "]).join(map(self.value, value)) + "]"
        if isinstance(value, bool) or not isinstance(value, int | float):
            return json.dumps(value)
        return str(value)

    def blank(self) -> str:
        return self.random.choice(["", "  ", "\n", "\n# next\n"])

    def shuffled(self, items: Any) -> list[Any]:
        items = list(items)
        return self.random.sample(items, len(items))


@pytest.mark.slow
@UNHURRIED
@given(st.integers(min_value=0, max_value=10**6))
def test_hash_does_not_depend_on_comments_blanks_or_the_order_of_keys_inside_tables(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    path = tmp_path_factory.mktemp("agreement") / "agreement.toml"
    path.write_text(Writer(seed).document(mapping_by_default()))
    assert load_agreement(path).hash == hash_of(mapping_by_default())


@pytest.mark.parametrize("epsilon", ["1", "1.0", "1.00", "+1.0", "10e-1", "0.1e1", "1_0e-1"])
def test_hash_does_not_depend_on_the_spelling_of_a_number(tmp_path: Path, epsilon: str) -> None:
    text = Writer(1).document(mapping_by_default(privacy={"epsilon": "EPSILON"}))
    (tmp_path / "agreement.toml").write_text(text.replace('"EPSILON"', epsilon))
    assert load_agreement(tmp_path / "agreement.toml").hash == hash_of(mapping_by_default())


@pytest.mark.parametrize(
    ("place", "spellings"),
    [
        ("attributes.age.bounds", [[18, 99], [18.0, 99], (Decimal("18.000"), Decimal("9.9e1"))]),
        ("attributes.age.grid", [{"step": 10}, {"step": 10.0}, {"step": Decimal("1E+1")}]),
        ("attributes.income.grid", [{"edges": [1, 10, 50]}, {"edges": (1.0, Decimal("10.00"), 50)}]),
        ("attributes.age.held_by", ["loans", ["loans"], ("loans",)]),
        ("mechanism.selection_share", [0.4, Decimal("0.40"), None]),
        ("mechanism.score", ["max", None]),
        ("privacy.neighbors", ["add-remove", None]),
        ("records.alignment", ["identifier", None]),
        ("records.identifier_rules", [[], None]),
        ("records.identifier_rules", [["ignore-case", "ignore-spaces"], ("ignore-spaces", "ignore-case")]),
        ("records.missing_spellings", [["", "?", "NA"], None]),
        ("attributes.age.missing", ["category", None]),
    ],
)
def test_hash_does_not_depend_on_how_the_same_thing_is_written(place: str, spellings: list[Any]) -> None:
    assert len({hash_of(mapping_by_default(**{place: spelling})) for spelling in spellings}) == 1


def test_hash_does_not_depend_on_whether_a_taxonomy_is_inline_or_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "trees.json").write_text(json.dumps({"job": JOBS, "other": {}}, indent=7))
    in_file = mapping_by_default(**{"attributes.job.taxonomy": "trees.json"})
    assert hash_of(in_file, folder=tmp_path) == hash_of(mapping_by_default(**{"attributes.job.taxonomy": JOBS}))


def test_hash_is_a_sha256_that_stays_the_same_from_run_to_run() -> None:
    first, second = (
        agreement_from_mapping(mapping_by_default()),
        agreement_from_mapping(copy.deepcopy(mapping_by_default())),
    )
    assert first.hash == second.hash
    assert len(first.hash) == 64
    assert set(first.hash) <= set("0123456789abcdef")


# --- Another meaning, another hash -----------------------------------------------------------------------------------


def reordered(table: dict[str, Any]) -> dict[str, Any]:
    return dict(reversed(table.items()))


CHANGES: dict[str, dict[str, Any]] = {
    "name": {"name": "small2"},
    "dataset": {"dataset": "people2"},
    "description": {"description": "For the yearly report"},
    "party description": {"parties.bank": {"description": "A bank"}},
    "party order": {"parties": reordered(mapping_by_default()["parties"])},
    "party added": {"parties.third": {}, "attributes.age.held_by": "third"},
    "identifier": {"records.identifier": "customer"},
    "identifier rules": {"records.identifier_rules": ["ignore-case"]},
    "other identifier rules": {"records.identifier_rules": ["ignore-case", "ignore-spaces"]},
    "expected": {"records.expected": 2001},
    "alignment": {"records.alignment": "row-order", "records.identifier": None},
    "public number": {"records.public": True, "privacy.neighbors": "replace"},
    "missing spellings": {"records.missing_spellings": ["", "?"]},
    "order of missing spellings": {"records.missing_spellings": ["?", "", "NA"]},
    "class name": {"class.name": "fault"},
    "class values": {"class.values": ["no", "maybe"]},
    "class value order": {"class.values": ["yes", "no"]},
    "class holder": {"class.held_by": "bank"},
    "attribute order": {"attributes": reordered(mapping_by_default()["attributes"])},
    "attribute holder": {"attributes.age.held_by": "bank"},
    "attribute missing": {"attributes.age.missing": 40},
    "taxonomy label": {
        "attributes.job.taxonomy": {"ANY": {"Labour": JOBS["ANY"]["Worker"], "Doctor": JOBS["ANY"]["Doctor"]}}
    },
    "taxonomy leaf": {"attributes.job.taxonomy": {"ANY": {**JOBS["ANY"], "Doctor": {"surgeon": {}, "GP": {}}}}},
    "taxonomy root": {"attributes.job.taxonomy": {"any job": JOBS["ANY"]}},
    "taxonomy order": {"attributes.job.taxonomy": {"ANY": reordered(JOBS["ANY"])}},
    "taxonomy order of leaves": {
        "attributes.job.taxonomy": {"ANY": {**JOBS["ANY"], "Doctor": {"vet": {}, "surgeon": {}}}}
    },
    "taxonomy level": {"attributes.job.taxonomy": {"ANY": {**JOBS["ANY"], "Doctor": {"MD": JOBS["ANY"]["Doctor"]}}}},
    "values": {"attributes.region.values": ["north", "south", "west"]},
    "value order": {"attributes.region.values": ["south", "north", "east"]},
    "value added": {"attributes.region.values": ["north", "south", "east", "west"]},
    "lower bound": {"attributes.age.bounds": [17, 99]},
    "upper bound": {"attributes.age.bounds": [18, Decimal("99.001")]},
    "grid step": {"attributes.age.grid": {"step": 9}},
    "grid kind": {"attributes.age.grid": {"count": 9}},
    "grid edge": {"attributes.income.grid": {"edges": [1, 10, 51]}},
    "epsilon": {"privacy.epsilon": Decimal("1.000000000000000000000000001")},
    "neighbors": {"privacy.neighbors": "replace"},
    "mechanism": {"mechanism.name": "distdiffgen"},
    "specializations": {"mechanism.specializations": 7},
    "selection share": {"mechanism.selection_share": Decimal("0.41")},
    "max cells": {"mechanism.max_cells": 1000},
    "score": {"mechanism.score": "auto"},
}


@pytest.mark.parametrize("change", CHANGES)
def test_hash_changes_with_every_meaningful_change(change: str) -> None:
    assert hash_of(mapping_by_default(**CHANGES[change])) != hash_of(mapping_by_default())


def test_no_two_changes_share_a_hash() -> None:
    hashes = [hash_of(mapping_by_default(**change)) for change in CHANGES.values()]
    hashes += [hash_of(repartition(mapping_by_default(), how)) for how in ("horizontal", "vertical", "arbitrary")]
    assert len(set(hashes)) == len(CHANGES) + 3


def places_in(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of all texts and numbers of a nested mapping."""
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places_in(item, (*path, key))
    else:
        yield path


OTHER_TEXTS = ["bank", "loans", "horizontal", "arbitrary", "other", "yes", "categorical", "distdiffgen", "default"]


@UNHURRIED
@given(st.data())
def test_hash_changes_with_any_single_text_or_number(data: st.DataObject) -> None:
    mapping = mapping_by_default()
    *path, last = data.draw(st.sampled_from(list(places_in(mapping))))
    table: Any = mapping
    for step in path:
        table = table[step]
    old = table[last]
    table[last] = data.draw(st.integers(2, 60) if isinstance(old, int) else st.sampled_from(OTHER_TEXTS))
    try:
        changed = agreement_from_mapping(mapping)
    except AgreementError:
        return  # not every change gives an agreement
    assert (changed.hash == hash_of(mapping_by_default())) == (table[last] == old)


# --- Exact numbers ---------------------------------------------------------------------------------------------------


def test_epsilon_of_one_tenth_is_exactly_one_tenth(tmp_path: Path) -> None:
    text = Writer(2).document(mapping_by_default(privacy={"epsilon": 0.1}))
    (tmp_path / "agreement.toml").write_text(text)
    assert load_agreement(tmp_path / "agreement.toml").epsilon == Fraction(1, 10)
    assert agreement_from_mapping(mapping_by_default(privacy={"epsilon": 0.1})).epsilon == Fraction(1, 10)


@UNHURRIED
@given(st.decimals(min_value="0.000001", max_value=10, places=12))
def test_epsilon_is_the_number_written(epsilon: Decimal) -> None:
    assert agreement_from_mapping(mapping_by_default(privacy={"epsilon": epsilon})).epsilon == Fraction(str(epsilon))


@pytest.mark.parametrize("epsilon", ["0", "-1", "0.0000009", "10.0000001", "1e99"])
def test_epsilon_outside_one_millionth_to_ten_is_refused(epsilon: str) -> None:
    (problem,) = problems_of(mapping_by_default(privacy={"epsilon": Decimal(epsilon)}))
    assert problem.startswith("privacy.epsilon: ")


@pytest.mark.parametrize("epsilon", ["0.000001", "10", "10.000"])
def test_epsilon_may_be_at_either_limit(epsilon: str) -> None:
    assert agreement_from_mapping(mapping_by_default(privacy={"epsilon": Decimal(epsilon)})).epsilon == Fraction(
        epsilon
    )


# --- What is wrong, all at once --------------------------------------------------------------------------------------


def test_mistakes_in_different_sections_are_reported_at_once(tmp_path: Path) -> None:
    mapping = mapping_by_default(
        **{
            "partition": "diagonal",
            "privacy": {"epsilon": 0},
            "class.values": ["yes"],
            "attributes.age.bounds": [99, 18],
            "attributes.income.grid": {"edges": [1], "count": 3},
            "attributes.region.values": [1, 2],
            "attributes.job.taxonomy": "nowhere.json",
            "mechanism.speed": "fast",
        }
    )
    problems = problems_of(mapping, folder=tmp_path)
    places = sorted(problem.split(":")[0] for problem in problems)
    assert places == sorted(
        [
            "partition",
            "privacy.epsilon",
            "class.values",
            "attributes.age",
            "attributes.income.grid",
            "attributes.region.values.0",
            "attributes.region.values.1",
            "attributes.job.taxonomy",
            "mechanism.speed",
        ]
    )


def test_rules_that_concern_several_sections_are_reported_at_once() -> None:
    mapping = mapping_by_default(
        **{
            "parties.third": {},
            "records": {"expected": 10, "public": True},
            "attributes.age.held_by": "lones",
            "attributes.job.held_by": ["bank", "loans"],
            "attributes.region.values": ["north", "NA"],
        }
    )
    problems = problems_of(mapping)
    assert sorted(problem.split(":")[0] for problem in problems) == [
        "attributes.age.held_by",
        "attributes.job.held_by",
        "attributes.region",
        "parties.third",
        "records.identifier",
        "records.public",
    ]


def test_error_says_how_many_problems_there_are_and_lists_each_once() -> None:
    mapping = mapping_by_default(**{"privacy": {"epsilon": 0}, "class.values": ["yes"]})
    with pytest.raises(AgreementError, match=r"agreement has 2 problems:\n  - .*\n  - ") as caught:
        agreement_from_mapping(mapping)
    assert len(set(caught.value.problems)) == 2


JUNK = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.decimals(allow_nan=True, allow_infinity=True)
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["bank", "vertical", "step", "count", "edges", "categorical", "taxonomy"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.parametrize("number", ["sNaN", "NaN", "Infinity", "3"])
def test_a_format_that_is_no_known_number_is_a_problem_like_any_other(number: str) -> None:
    with pytest.raises(AgreementError) as caught:
        agreement_from_mapping({**mapping_by_default(), "format": Decimal(number)})
    assert any(problem.startswith("format: ") for problem in caught.value.problems)


@UNHURRIED
@given(st.data())
def test_whatever_is_written_gives_an_agreement_or_a_list_of_problems(data: st.DataObject) -> None:
    mapping = mapping_by_default()
    for _ in range(data.draw(st.integers(1, 3))):
        table: Any = mapping
        while True:
            key = data.draw(st.sampled_from(sorted(table)))
            if not isinstance(table[key], dict) or not table[key] or data.draw(st.booleans()):
                break
            table = table[key]
        table[key] = data.draw(JUNK)
    try:
        agreement = agreement_from_mapping(mapping)
    except AgreementError as error:
        assert error.problems
        assert all(problem.strip() for problem in error.problems)
    else:
        assert len(agreement.hash) == 64


@UNHURRIED
@given(st.data())
def test_a_file_with_changed_bytes_gives_an_agreement_or_a_list_of_problems(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("changed") / "agreement.toml"
    pin = f'host = "bank.example:7700"\ncertificate = "sha256:{"ab" * 32}"\n'
    content = bytearray(example_agreement().replace("[parties.bank]\n", f"[parties.bank]\n{pin}").encode())
    for _ in range(data.draw(st.integers(1, 5))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content[: data.draw(st.integers(0, len(content)) | st.just(len(content)))])
    try:
        assert len(load_agreement(path).parts()) > 10
    except AgreementError as error:
        assert error.problems


def test_parts_name_what_differs() -> None:
    def different(**changes: Any) -> set[str]:
        here, there = (agreement_from_mapping(mapping_by_default(**c)).parts() for c in ({}, changes))
        return {key for key in here.keys() | there.keys() if here.get(key) != there.get(key)}

    assert different() == set()
    assert different(**{"privacy.epsilon": 2}) == {"privacy"}
    assert different(**{"attributes.age.bounds": [0, 99]}) == {"attributes.age"}
    assert different(**{"parties.bank": {"host": "bank.example:1"}}) == {"parties.bank"}
    assert different(parties={"loans": {}, "bank": {}}) == {"order of parties"}


@pytest.mark.parametrize("step", ["1e-999999", "1e999999"])
def test_numbers_too_small_or_large_to_compute_with_are_refused_in_words(step: str) -> None:
    mapping = mapping_by_default(**{"attributes.age.grid": {"step": Decimal(step)}})
    with pytest.raises(AgreementError, match=r"attributes\.age"):
        assert agreement_from_mapping(mapping).hash


@pytest.mark.parametrize("name", ["age", "class", "records", "grid", "categorical", "numerical"])
def test_the_place_of_a_mistake_is_right_whatever_the_attribute_is_called(name: str) -> None:
    mapping = mapping_by_default()
    mapping["attributes"][name] = {**mapping["attributes"].pop("age"), "bonds": [0, 1]}
    assert problems_of(mapping) == (f"attributes.{name}.bonds: there is no such key; did you mean 'bounds'?",)


# --- Files that cannot be read ---------------------------------------------------------------------------------------


def test_file_that_is_not_there_gives_the_command_that_writes_one(tmp_path: Path) -> None:
    with pytest.raises(AgreementError, match=r"no such file\. 'copublish init agreement\.toml' writes one"):
        load_agreement(tmp_path / "agreement.toml")


def test_folder_or_other_encoding_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AgreementError, match="cannot be read"):
        load_agreement(tmp_path)
    (tmp_path / "agreement.toml").write_bytes('name = "café"'.encode("utf-16"))
    with pytest.raises(AgreementError, match="UTF-8"):
        load_agreement(tmp_path / "agreement.toml")


def test_file_from_an_editor_that_writes_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    (tmp_path / "agreement.toml").write_text(Writer(3).document(mapping_by_default()), encoding="utf-8-sig")
    assert load_agreement(tmp_path / "agreement.toml").hash == hash_of(mapping_by_default())


# --- Who holds what --------------------------------------------------------------------------------------------------


def test_vertical_parties_hold_their_own_columns_and_all_hold_the_class() -> None:
    agreement = agreement_from_mapping(mapping_by_default())
    assert agreement.columns_of("bank") == ("job", "income", "default")
    assert agreement.columns_of("loans") == ("region", "age", "default")
    assert agreement.class_is_shared


def test_class_held_by_one_party_is_not_shared() -> None:
    agreement = agreement_from_mapping(mapping_by_default(**{"class.held_by": "bank"}))
    assert agreement.columns_of("loans") == ("region", "age")
    assert not agreement.class_is_shared


def test_horizontal_and_arbitrary_parties_hold_every_column() -> None:
    for partition in ("horizontal", "arbitrary"):
        agreement = agreement_from_mapping(repartition(mapping_by_default(), partition, parties=3))
        for party in ("p0", "p1", "p2"):
            assert agreement.columns_of(party) == ("job", "region", "age", "income", "default")
        assert agreement.class_is_shared == (partition == "arbitrary")


# --- Which ledgers count these people ---


def test_partners_compare_which_ledgers_count_these_people_and_everybody_reads_it() -> None:
    plain = repartition(mapping_by_default(), "vertical")
    owners = list(plain["parties"])

    def noted(*names: str) -> dict[str, Any]:
        mapping = copy.deepcopy(plain)
        mapping["privacy"]["ledgers"] = list(names)
        return mapping

    agreement = agreement_from_mapping(noted(*owners, "shop"))
    assert hash_of(noted("shop", *owners[::-1])) == agreement.hash, "the order means nothing"
    before = agreement_from_mapping(plain)
    for other in (before, agreement_from_mapping(noted(*owners, "store"))):
        differing = {part for part, known in agreement.parts().items() if other.parts()[part] != known}
        assert differing == {"privacy"}, "partners who know of other ledgers are told where they differ"
    (said,) = set(describe(agreement).not_protected) - set(describe(before).not_protected)
    assert f"counted in the ledgers of {', '.join(sorted([*owners, 'shop']))}" in said and "none the sum" in said


@pytest.mark.parametrize(
    "names, words",
    [
        (["p0"], r"privacy\.ledgers: .* so name 'p1', too"),
        (["p0", "p1", "p1"], "listed twice: 'p1'"),
        (["p0", "p1", "a b"], "privacy.ledgers"),
        ([], "so name 'p0', 'p1', too"),
    ],
)
def test_a_note_without_an_owner_or_with_a_name_twice_is_a_problem(names: list[str], words: str) -> None:
    mapping = repartition(mapping_by_default(), "vertical")
    mapping["privacy"]["ledgers"] = names
    assert any(re.search(words, problem) for problem in problems_of(mapping))
