"""Tables of people whom no owner knows to be common: a release is that of the common people, whoever else is listed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import copublish as cp
from copublish.agreement.axis import Axis
from copublish.engines.ideal import IdealEngine, in_the_clear
from copublish.errors import EngineError
from copublish.kernel.records.fragment import Fragment
from copublish.kernel.records.joint_table import JointTable
from copublish.kernel.secrets.gate import RevealGate
from copublish.mechanisms.registry import SHIPPED
from copublish.mechanisms.shared import run_pairs
from support import no_noise, seeded, simulate_with
from support.hidden_membership import MECHANISMS, both, lists

HAS_CLASS = [name for name, changes in MECHANISMS.items() if "class" not in changes]

ONE_OF_EACH = ["specialization by gain", "copula", "marginals, Gaussian, triples"]

OVERLAPS = {
    "none": (0, {"p0": 30, "p1": 40}),
    "one of a hundred": (1, {"p0": 99, "p1": 60}),
    "half": (40, {"p0": 40, "p1": 30}),
    "all": (60, {}),
    "the first list is empty": (0, {"p1": 50}),
    "the last list is empty": (0, {"p0": 50}),
    "the first list is inside the last": (40, {"p1": 35}),
}
"""How many people are common, and how many each owner lists alone."""


def test_every_mechanism_that_may_hide_membership_is_among_those_that_are_tested() -> None:
    tested = {changes["mechanism"]["name"] for changes in MECHANISMS.values()}
    may_hide = {one.name for one in SHIPPED if "vertical" in one.settings.partitions}
    assert tested == may_hide - {"vhdp", "idp-ir"}  # they publish a row for each common person
    for name in ("vhdp", "idp-ir"):
        with pytest.raises(cp.AgreementError, match="publishes a row for each common person"):
            both({"mechanism": {"name": name}})


def is_the_same(
    agreements: tuple[cp.Agreement, cp.Agreement], frames: dict[str, pd.DataFrame], seed: int = 5
) -> cp.Release:
    """Release under both agreements with the same coins, and compare every file of the release byte by byte."""
    hidden, shared = (simulate_with(one, frames, seeded(one.party_names, seed)) for one in agreements)
    names = shared.data_files()
    assert names.keys() == hidden.data_files().keys()
    assert {name for name in names if hidden.files()[name] != shared.files()[name]} == set()
    return hidden


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "overlap"), [*((name, "half") for name in MECHANISMS), *((n, o) for n in ONE_OF_EACH for o in OVERLAPS)]
)
def test_two_owners_release_the_same_as_when_they_know_who_is_common(name: str, overlap: str) -> None:
    agreements = both(MECHANISMS[name])
    is_the_same(agreements, lists(agreements[0], *OVERLAPS[overlap]))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "holder"), [*((name, None) for name in HAS_CLASS), *((n, h) for n in ONE_OF_EACH for h in ("p0", "p1"))]
)
def test_the_release_is_the_same_whoever_holds_the_class_and_where_owners_disagree_about_it(
    name: str, holder: str | None
) -> None:
    agreements = both(MECHANISMS[name], class_holder=holder)
    frames = lists(agreements[0], 50, {"p0": 20, "p1": 30}, classes_differ=True)
    assert any((frame["default"] == "?").any() for frame in frames.values() if "default" in frame)
    is_the_same(agreements, frames)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "owners", "overlap"),
    [
        *((name, 3, "half") for name in MECHANISMS),
        *((name, owners, "half") for name in ONE_OF_EACH for owners in (2, 5)),
        *((name, 3, overlap) for name in ONE_OF_EACH for overlap in ("none", "the last list is empty")),
    ],
)
def test_owners_with_a_helper_release_the_same_as_when_they_know_who_is_common(
    name: str, owners: int, overlap: str
) -> None:
    agreements = both(with_columns_for(MECHANISMS[name], owners), owners, helped=True)
    is_the_same(agreements, lists(agreements[0], *OVERLAPS[overlap], classes_differ=True))


def with_columns_for(changes: dict[str, Any], owners: int) -> dict[str, Any]:
    """The same agreement with a fifth column, so that each of five owners holds one."""
    if owners < 5:
        return changes
    fifth = {"kind": "categorical", "values": ["a", "b"], "missing": "a", "unlisted": "a"}
    return {**changes, "attributes.fifth": fifth}


@pytest.mark.parametrize("helped", [False, True])
def test_the_same_coins_with_one_more_common_person_give_another_release(helped: bool) -> None:
    agreements = both(MECHANISMS["copula"], helped=helped)
    frames = lists(agreements[0], 40, {"p0": 20, "p1": 20})
    alone = (set(frames["p0"]["id"]) - set(frames["p1"]["id"])).pop()
    moved = {**frames, "p1": frames["p1"].replace({"id": {frames["p1"]["id"].iloc[0]: alone}})}
    assert is_the_same(agreements, frames).files() != is_the_same(agreements, moved).files()


DISAGREEMENT = {"mechanism": {"name": "copula"}, "privacy.class_disagreement": "0.1"}


def differing(frames: dict[str, pd.DataFrame]) -> int:
    """On how many common people two columns differ, by pandas; everything that is not listed is one class."""
    together = frames["p0"].merge(frames["p1"], on="id", suffixes=("", " there"))
    here, there = (together[name].where(together[name] != "?", "none") for name in ("default", "default there"))
    return int((here != there).sum())


@pytest.mark.parametrize("overlap", OVERLAPS)
@pytest.mark.parametrize("helped", [False, True])
def test_a_person_that_one_owner_lists_is_none_whose_classes_differ(helped: bool, overlap: str) -> None:
    agreements = both(DISAGREEMENT, helped=helped)
    frames = lists(agreements[0], *OVERLAPS[overlap], classes_differ=True)
    for agreement in agreements:
        release = simulate_with(agreement, frames, no_noise(agreement.party_names))
        assert release.certificate.class_disagreement.noisy_count == differing(frames)


def test_some_classes_differ_in_what_was_counted() -> None:
    hidden, _ = both(DISAGREEMENT)
    assert differing(lists(hidden, *OVERLAPS["half"], classes_differ=True)) > 5


def secrets_at_the_gate(
    agreement: cp.Agreement, frames: dict[str, pd.DataFrame], monkeypatch: pytest.MonkeyPatch
) -> list[list[int]]:
    """Return everything that is handed to the gate, exact, in a run whose coins are fixed."""
    found: list[list[int]] = []

    def noting(door: str) -> Callable[..., Any]:
        reveal = getattr(RevealGate, door)

        def noted(gate: RevealGate, secret: Any, *given: Any, **keys: Any) -> Any:
            if gate.computer.party == agreement.party_names[0]:
                found.append(in_the_clear(secret).ravel().tolist())
            return reveal(gate, secret, *given, **keys)

        return noted

    with monkeypatch.context() as patched:
        for door in ("reveal_measurement", "reveal_gaussian_measurement", "reveal_selection"):
            patched.setattr(RevealGate, door, noting(door))
        simulate_with(agreement, frames, seeded(agreement.party_names, 9))
    return found


CASES = [
    *((name, 2, False, None) for name in MECHANISMS),
    *((name, 2, False, holder) for name in ONE_OF_EACH for holder in ("p0", "p1")),
    *((name, 3, True, None) for name in ONE_OF_EACH),
    ("copula", 2, True, "p0"),
]
"""Mechanism, number of owners, whether a party without data helps, and who holds the class if not all do."""


def neighbors(agreement: cp.Agreement) -> list[dict[str, pd.DataFrame]]:
    """Return tables in whose place another one may stand that differs in a person whom only one owner lists."""
    n_alone = {owner: 6 - number for number, owner in enumerate(agreement.owners)}
    frames = lists(agreement, 30, n_alone, classes_differ=True)
    found = [frames]
    for party in n_alone:
        others = set().union(*(set(frame["id"]) for name, frame in frames.items() if name != party))
        is_alone = ~frames[party]["id"].isin(others)
        if "default" in frames[party]:
            is_alone &= frames[party]["default"] != "?"  # a null row counts nowhere anyway
        (place, *_) = np.flatnonzero(is_alone)
        found.append({**frames, party: frames[party].drop(index=place)})
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("name", "owners", "helped", "holder"), CASES)
def test_a_person_whom_one_owner_lists_changes_no_secret(
    name: str, owners: int, helped: bool, holder: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    agreement, _ = both(MECHANISMS[name], owners, helped=helped, class_holder=holder)
    if holder is None and "class" not in MECHANISMS[name] and owners == 2:
        agreement, _ = both({**MECHANISMS[name], "privacy.class_disagreement": "0.1"}, owners, helped=helped)
    with_person, *without = [secrets_at_the_gate(agreement, frames, monkeypatch) for frames in neighbors(agreement)]
    assert any(map(any, with_person))
    assert all(secrets == with_person for secrets in without)


def counts_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the short cut back: an owner's own tables are counted by it, of all its people."""
    monkeypatch.setattr(JointTable, "is_additive", lambda table, axes: table.owner_of(axes) is not None)
    monkeypatch.setattr("copublish.kernel.records.fragment._refuse_if_hidden", lambda fragment: None)


def own_products_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the short cut back: sums of products of an owner's own columns are of all its people."""

    def alone(table: JointTable, groups: Any, columns: Any, holders: Any, computer: IdealEngine, progress: Any) -> Any:
        return computer.share(run_pairs.own_pairs(table, groups, columns.scores))

    monkeypatch.setattr(run_pairs, "_own_products", alone)
    monkeypatch.setattr("copublish.kernel.records.fragment._refuse_if_hidden", lambda fragment: None)


def everybody_present(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out a factor: an owner without a column of a table says nothing of where it is present."""
    everywhere = lambda table, rows: np.ones(rows.stop - rows.start, dtype=np.bool_)  # noqa: E731
    monkeypatch.setattr(JointTable, "presence", everywhere)


MISTAKES = [
    *((counts_alone, name, 2) for name in MECHANISMS),
    (own_products_alone, "copula", 2),
    *((everybody_present, name, owners) for name in ONE_OF_EACH for owners in (2, 3)),
]


@pytest.mark.slow
@pytest.mark.parametrize(("mistake", "name", "owners"), MISTAKES)
def test_every_short_cut_that_is_put_back_is_noticed(
    mistake: Callable[..., None], name: str, owners: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    agreement, _ = both(MECHANISMS[name], owners, helped=owners > 2)
    mistake(monkeypatch)
    secrets = [secrets_at_the_gate(agreement, frames, monkeypatch) for frames in neighbors(agreement)]
    assert any(other != secrets[0] for other in secrets[1:])


@pytest.mark.parametrize("helped", [False, True])
def test_counting_rows_without_a_person_as_classes_that_differ_is_noticed(
    helped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    agreement, _ = both(DISAGREEMENT, helped=helped)
    everybody_present(monkeypatch)
    one, *others = [secrets_at_the_gate(agreement, frames, monkeypatch)[0] for frames in neighbors(agreement)]
    assert any(other != one for other in others)


def hidden_table() -> JointTable:
    agreement, _ = both({})
    codes = {"job": np.array([0, 1, 5], np.uint8)}
    present = np.array([True, True, False])
    return JointTable(agreement, Fragment("p0", 3, codes, {"job": 5}, present=present))


def test_no_party_counts_alone_where_membership_is_hidden() -> None:
    table = hidden_table()
    axes = [Axis.of(table.agreement.domains["job"])]
    with pytest.raises(EngineError, match="Nothing is counted"):
        table.count_locally(axes)
    with pytest.raises(EngineError, match="no party counts its records alone"):
        table.fragment.histogram(axes)
    with pytest.raises(EngineError, match="no party counts its records alone"):
        run_pairs.own_pairs(table, [])


def test_a_table_knows_who_is_present_where_membership_is_hidden_and_nowhere_else() -> None:
    hidden, shared = both({})
    fragment = hidden_table().fragment
    without = Fragment("p0", 3, fragment.private_codes, fragment.sizes)
    for agreement, wrong in ((hidden, without), (shared, fragment)):
        with pytest.raises(EngineError, match="knows who is present"):
            JointTable(agreement, wrong)
    assert JointTable(shared, without).fragment is without
