"""Laws of merging: order does not matter, a draft with itself is itself, and what is not decided stays open."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copublish.agreement.loading import FILL_IN, agreement_from_mapping, places_to_fill_in
from copublish.errors import AgreementError
from copublish.tools.drafting.dictionary import ColumnEntry
from copublish.tools.drafting.draft import Draft, Essentials, PartyColumns, draft_agreement
from copublish.tools.drafting.files import load_draft
from copublish.tools.drafting.merge import merge_drafts
from copublish.tools.drafting.text import draft_text
from support.profiles import examples

SOME = examples(25)

COLUMNS = {
    "age": ColumnEntry(name="age", kind="numerical", bounds=(18, 99), unit="years"),
    "job": ColumnEntry(name="job", kind="categorical", values=("cook", "clerk")),
    "zip code": ColumnEntry(name="zip code", kind="categorical", values=('1"0', "2\\0")),
    "a.b": ColumnEntry(name="a.b", description="A name with a point"),
    "visits": ColumnEntry(name="visits", is_whole=True),
}
TRUTH = Essentials(
    name="together",
    dataset="people",
    partition="vertical",
    identifier="id",
    class_name="ill",
    epsilon=1,
    expected=1000,
)
CLASS = {"ill": ColumnEntry(name="ill", kind="class", values=("no", "yes"))}
TYPES = ("text", "whole number", "number", "unknown")


@st.composite
def drafts(draw: st.DrawFn, partition: str = "vertical", parties: int = 3) -> list[Draft]:
    """Drafts of parties that know different parts of one truth."""
    names = ["bank", "clinic", "registry"][:parties]
    holder = {column: draw(st.sampled_from(names)) for column in COLUMNS}
    said_by_data = {column: draw(st.sampled_from(TYPES)) for column in COLUMNS}
    found = []
    for party in names:
        # A file without rows says nothing. Two types of one column are left to another test: they leave its kind open,
        # and a third draft that is merged later settles it.
        types = {column: draw(st.sampled_from([kind, "unknown"])) for column, kind in said_by_data.items()}
        own = [column for column in COLUMNS if partition != "vertical" or holder[column] == party]
        has_class = draw(st.booleans()) or partition == "horizontal"
        columns = {"id": "text", **{column: types[column] for column in own}} | ({"ill": "text"} if has_class else {})
        known = draw(st.sets(st.sampled_from([*own, "ill"])))
        dictionary = {name: entry for name, entry in (COLUMNS | CLASS).items() if name in known}
        # Who has the class says so: a column that two have, and nobody calls the class, is a conflict in vertical data.
        always = {"partition", "class_name"} if has_class else {"partition"}
        told = {
            key: value
            for key, value in vars(TRUTH).items()
            if key != "parties" and (key in always or draw(st.booleans()))
        }
        essentials = Essentials(**{**told, "partition": partition})
        found.append(draft_agreement(essentials, [PartyColumns(party, columns)], dictionary))
    return found


def merged(*given_drafts: Draft) -> Draft:
    return merge_drafts({f"{number}.toml": draft for number, draft in enumerate(given_drafts)})


def unordered(value: Any) -> Any:
    """Content whose order is forgotten, but for values in lists of two bounds."""
    if isinstance(value, dict):
        return {key: unordered(item) for key, item in value.items()}
    return sorted(value, key=str) if isinstance(value, list) else value


three = st.sampled_from(["vertical", "horizontal", "arbitrary"]).flatmap(drafts)


@SOME
@given(three)
def test_the_order_of_drafts_does_not_matter_but_for_order(found):
    one, two, three = found
    assert unordered(merged(one, two, three).content) == unordered(merged(three, two, one).content)
    assert unordered(merged(merged(one, two), three).content) == unordered(merged(one, two, three).content)
    assert unordered(merged(one, merged(two, three)).content) == unordered(merged(one, two, three).content)


@SOME
@given(three)
def test_a_draft_merged_with_itself_is_itself(found):
    for draft in (*found, merged(*found)):
        assert merged(draft, draft).content == draft.content
        assert merged(draft, draft).words == draft.words


@SOME
@given(found=three)
def test_what_was_merged_loads_or_names_what_is_to_be_filled_in(found, tmp_path_factory):
    together = merged(*found)
    path = tmp_path_factory.mktemp("merged") / "agreement.toml"
    path.write_text(draft_text(together))
    read = load_draft(path)
    assert read.content == together.content
    assert read.words == together.words
    # Nothing is open that somebody has answered.
    for place in places_to_fill_in(together.content):
        assert {str(_at(draft.content, place)) for draft in found} <= {FILL_IN, "None"}, place
    try:
        agreement_from_mapping(read.content)
    except AgreementError as exc:
        for place in places_to_fill_in(read.content):
            assert any(problem.startswith(f"{place}: still to be filled in") for problem in exc.problems)
    else:
        assert list(places_to_fill_in(read.content)) == []


def _at(content: Any, place: str) -> Any:
    """What a draft says at a place; names with a point in them are tried as a whole."""
    if not place:
        return content
    if not isinstance(content, dict):
        return None
    for key in content:
        if place == key or place.startswith(f"{key}."):
            return _at(content[key], place.removeprefix(key).removeprefix("."))
    return None


LEAVES = [
    ("privacy.epsilon", lambda content: content["privacy"].update(epsilon=2)),
    ("dataset", lambda content: content.update(dataset="others")),
    ("records.public", lambda content: content["records"].update(public=1)),
    ("attributes.age.bounds", lambda content: content["attributes"]["age"].update(bounds=[0, 99])),
    ("attributes.age.grid", lambda content: content["attributes"]["age"].update(grid={"step": 9})),
    ("attributes.job.values", lambda content: content["attributes"]["job"].update(values=["cook", "clerk", "vet"])),
    ("attributes.job.kind", lambda content: content["attributes"]["job"].update(kind="numerical", bounds=[0, 1])),
    ("mechanism.name", lambda content: content["mechanism"].update(name="another", rounds=3)),
]


def whole(partition: str = "arbitrary") -> Draft:
    parts = [PartyColumns(party, {"id": "text", "age": "number", "job": "text", "ill": "text"}) for party in "ab"]
    essentials = Essentials(**{**vars(TRUTH), "partition": partition, "parties": ()})
    return draft_agreement(essentials, parts, COLUMNS | CLASS)


@pytest.mark.parametrize(("place", "change"), LEAVES, ids=[place for place, _ in LEAVES])
def test_every_conflict_is_named_with_both_sides_and_no_other(place, change):
    other = copy.deepcopy(whole().content)
    change(other)
    for sides in ((whole(), Draft(other)), (Draft(other), whole())):
        with pytest.raises(AgreementError) as caught:
            merged(*sides)
        (problem,) = caught.value.problems
        assert problem.startswith(f"{place}: '0.toml' says ")
        assert "'1.toml' says " in problem


def test_values_in_another_order_and_numbers_spelled_otherwise_are_no_conflict():
    other = copy.deepcopy(whole().content)
    other["attributes"]["job"]["values"].reverse()
    other["privacy"]["epsilon"] = 1.0
    assert merged(whole(), Draft(other)).content == whole().content


def test_a_column_of_two_parties_is_a_conflict_in_vertical_data_alone():
    two = [
        draft_agreement(TRUTH, [PartyColumns(party, {"age": "number", f"of {party}": "text"})], COLUMNS)
        for party in ("bank", "clinic")
    ]
    with pytest.raises(AgreementError, match="one party holds a column") as caught:
        merged(*two)
    assert "'0.toml' says [\"bank\"]; '1.toml' says [\"clinic\"]" in str(caught.value)
    for draft in two:
        draft.content["partition"] = "arbitrary"
    assert merged(*two).content["attributes"]["age"]["held_by"] == ["bank", "clinic"]
    assert merged(*two).content["attributes"]["of bank"]["held_by"] == "bank"
    for draft in two:
        draft.content["partition"] = "horizontal"
    with pytest.raises(AgreementError, match="every party has every column"):
        merged(*two)


def test_a_draft_that_left_the_class_open_gives_its_column_to_it():
    knows = draft_agreement(TRUTH, [PartyColumns("bank", {"id": "text", "age": "number"})], COLUMNS)
    does_not = draft_agreement(
        Essentials(), [PartyColumns("clinic", {"id": "text", "job": "text", "ill": "text"})], COLUMNS
    )
    assert "ill" in does_not.content["attributes"]
    for pair in ((knows, does_not), (does_not, knows)):
        content = merged(*pair).content
        assert content["class"] == {"name": "ill", "values": FILL_IN, "held_by": "clinic"}
        assert set(content["attributes"]) == {"age", "job"}


def test_a_draft_without_a_class_answers_one_that_left_it_open():
    decided = Essentials(**{**vars(TRUTH), "parties": (), "class_name": None, "has_class": False})
    knows = draft_agreement(decided, [PartyColumns("bank", {"id": "text", "age": "number"})], COLUMNS)
    does_not = draft_agreement(Essentials(), [PartyColumns("clinic", {"id": "text", "job": "text"})], COLUMNS)
    assert "class" not in knows.content and does_not.content["class"]["name"] == FILL_IN
    for pair in ((knows, does_not), (does_not, knows)):
        assert "class" not in merged(*pair).content
    assert merged(does_not, does_not).content["class"]["name"] == FILL_IN


def test_a_draft_that_left_the_partition_open_says_no_holders_of_whole_rows():
    columns = {"id": "text", "age": "number", "ill": "text"}
    horizontal = Essentials(**{**vars(TRUTH), "partition": "horizontal", "parties": ()})
    knows = draft_agreement(horizontal, [PartyColumns("bank", columns)], COLUMNS | CLASS)
    does_not = draft_agreement(Essentials(), [PartyColumns("clinic", columns)], COLUMNS | CLASS)
    assert does_not.content["attributes"]["age"]["held_by"] == "clinic"
    for pair in ((knows, does_not), (does_not, knows)):
        assert agreement_from_mapping(merged(*pair).content).partition == "horizontal"


def test_a_kind_that_follows_from_a_type_yields_to_one_with_values_and_two_of_them_leave_it_open():
    def of(party, kind, dictionary):
        essentials = Essentials(**{**vars(TRUTH), "partition": "horizontal", "parties": ()})
        return draft_agreement(essentials, [PartyColumns(party, {"age": kind})], dictionary)

    text, number = of("bank", "text", {}), of("clinic", "number", {})
    for pair in ((text, number), (number, text)):
        assert merged(*pair).content["attributes"]["age"] == {"kind": FILL_IN}
    knows = of("registry", "unknown", COLUMNS)
    assert merged(text, number, knows).content["attributes"]["age"] == knows.content["attributes"]["age"]


def test_a_tree_takes_the_place_of_an_open_list_and_contradicts_a_filled_one():
    opened, tree = copy.deepcopy(whole().content), copy.deepcopy(whole().content)
    opened["attributes"]["job"]["values"] = FILL_IN
    del tree["attributes"]["job"]["values"]
    tree["attributes"]["job"]["taxonomy"] = {"ANY": {"cook": {}, "clerk": {}}}
    merged_job = merged(Draft(opened), Draft(tree)).content["attributes"]["job"]
    assert "values" not in merged_job and merged_job["taxonomy"] == tree["attributes"]["job"]["taxonomy"]
    with pytest.raises(AgreementError, match=r"values = .*taxonomy = "):
        merged(whole(), Draft(tree))


@pytest.mark.parametrize(
    ("types", "decimals"), [(("whole number", "whole number"), 0), (("whole number", "unknown"), None)]
)
def test_whole_numbers_of_one_party_do_not_make_those_of_another_whole(types, decimals):
    entry = {"cost": ColumnEntry(name="cost", kind="numerical", bounds=(0, 100))}
    drafted = [
        draft_agreement(Essentials(partition="horizontal"), [PartyColumns(name, {"cost": kind})], entry)
        for name, kind in zip(("a", "b"), types, strict=True)
    ]
    assert merged(*drafted).content["attributes"]["cost"].get("decimals") == decimals


def test_a_file_that_is_no_draft_is_refused(tmp_path):
    (tmp_path / "a.toml").write_text('format = 1\nparties = "bank"\nattributes.age = 1\nwhen = 2026-01-01\n')
    with pytest.raises(AgreementError) as caught:
        load_draft(tmp_path / "a.toml")
    assert len(caught.value.problems) == 3
