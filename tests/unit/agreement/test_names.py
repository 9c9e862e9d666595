"""Names that people take for each other are one name: of parties, of columns and of persons who approve."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import copublish as cp
from copublish.agreement.names import as_seen, look_alikes
from copublish.release.evidence.approvals import is_same_person
from support import small_mapping

ALIKE = [
    ("bank", "Bank"),
    ("bank", "bank\u200b"),
    ("bank", "b\u0430nk"),  # Cyrillic a
    ("SCOPE", "\u0405\u0421\u041e\u0420\u0415"),  # all Cyrillic
    ("AB", "\u0391\u0392"),  # Greek
    ("bank", "\uff42ank"),  # full width
    ("a b", "a  b "),
    ("office", "o\ufb03ce"),  # a ligature
]
OTHER = [("bank", "banks"), ("bank", "b4nk"), ("\u0411\u0430\u043d\u043a", "\u0422\u0430\u043d\u043a"), ("a-b", "a_b")]


@pytest.mark.parametrize(("one", "other"), ALIKE)
def test_names_that_look_the_same_are_one_name(one, other):
    assert list(look_alikes([one, "else", other])) == [(one, other)]
    assert is_same_person(one, other)


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_names_that_look_different_are_two(one, other):
    assert list(look_alikes([one, other])) == []
    assert not is_same_person(one, other)


@given(st.text(max_size=20))
def test_how_a_name_looks_looks_the_same(name):
    assert as_seen(as_seen(name)) == as_seen(name)


def test_parties_that_look_the_same_are_refused():
    mapping = small_mapping()
    first, second = mapping["parties"]
    mapping["parties"][first.upper()] = mapping["parties"].pop(second)
    with pytest.raises(cp.AgreementError, match=f"parties.{first.upper()}: it looks like '{first}'"):
        cp.agreement_from_mapping(mapping)


@pytest.mark.parametrize("change", ["cyrillic", "nothing seen"])
def test_columns_that_look_the_same_are_refused_and_named_so_that_they_can_be_told_apart(change):
    mapping = small_mapping()
    name = next(name for name in mapping["attributes"] if "a" in name)
    other = {"cyrillic": name.replace("a", "\u0430"), "nothing seen": f"{name}\u2060"}[change]
    mapping["attributes"][other] = dict(mapping["attributes"][name])
    with pytest.raises(cp.AgreementError) as refused:
        cp.agreement_from_mapping(mapping)
    (problem,) = [line for line in refused.value.problems if "looks like" in line]
    assert problem.startswith(f"attributes.{ascii(other)[1:-1]}: it looks like '{name}'")
