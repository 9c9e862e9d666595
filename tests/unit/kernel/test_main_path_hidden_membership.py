"""Runs of owners that hide membership: what is charged when, who takes part, and that nothing told depends on others.

On the ideal engine, where every message and every ledger can be watched.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import copublish as cp
from copublish.agreement.protocol.table import CAN_PAY, HEADS, HEADS_BEFORE, LISTS, RESERVED
from copublish.engines.ideal import IdealEngine, Room
from copublish.errors import BudgetExceededError, EngineError
from copublish.kernel import main_path
from copublish.kernel.accounting.cost import NOTHING
from copublish.kernel.accounting.membership import costs_of_run
from copublish.kernel.ledger.cells import ENDED_EARLY, SPENT_ON_SIZE
from copublish.kernel.ledger.ledger import Ledger, Limit
from copublish.kernel.records import comparison
from copublish.kernel.records.comparison import within_agreed_length
from copublish.mechanisms.registry import plan_of
from copublish.party.check import check
from copublish.party.local.processes import throwaway_ledger
from copublish.party.local.simulation import read_fragments, run_room
from support import no_noise, seeded
from support.not_common import frames_with_others, hidden_agreement

PLACE = "people are put into rows"
MECHANISMS: dict[str, dict[str, Any]] = {
    "specialization": {"name": "specialization", "specializations": 6},
    "marginals": {"name": "marginals"},
    "copula": {"name": "copula"},
}


class Watched:
    """Runs whose messages, comparisons and ledgers are watched; a party may leave or fail at a topic."""

    def __init__(self, agreement: cp.Agreement, *, stop: tuple[str, str] | None = None) -> None:
        self.agreement, self.plan, self.stop = agreement, plan_of(agreement), stop
        self.ledgers = {party: throwaway_ledger(self.plan) for party in agreement.party_names}
        self.told: dict[str, list[tuple[str, Any]]] = {party: [] for party in agreement.party_names}
        self.placed: dict[str, list[str] | None] = {}
        self.charged_when_placed: list[list[tuple[str, int]]] = []
        self.told_when_placed: list[int] = []

    def run(self, frames: dict[str, pd.DataFrame], *, coins: Any = None) -> cp.Release:
        seen, names = self, self.agreement.party_names

        class Engine(IdealEngine):
            def exchange(self, message: Any, public: Any) -> Any:
                if (self.party, message.topic) == seen.stop:
                    raise KeyboardInterrupt
                seen.told[self.party].append((message.topic, public))
                return super().exchange(message, public)

            def place(self, identifiers: Sequence[str] | None, *others: Any) -> Any:
                seen.placed[self.party] = None if identifiers is None else list(identifiers)
                seen.charged_when_placed += [seen.charges(party) for party in names]
                seen.told_when_placed += [
                    sum(topic == HEADS_BEFORE.topic for topic, _ in told) for told in seen.told.values()
                ]
                if (self.party, PLACE) == seen.stop:
                    raise EngineError("It fails.")
                return super().place(identifiers, *others)

        room = Room(names, coins or seeded(names, 3), engine=Engine)
        return run_room(self.plan, read_fragments(self.agreement, frames), room, self.ledgers)

    def charges(self, party: str) -> list[tuple[str, int]]:
        return [(entry.state, entry.disclosures) for entry in self.ledgers[party].entries()]


SIZE = (SPENT_ON_SIZE, 1)


def test_nobody_compares_before_every_ledger_has_the_charge_and_every_head_was_told() -> None:
    watched = Watched(hidden_agreement())
    watched.run(frames_with_others(watched.agreement, {"bank": 7}))
    assert watched.charged_when_placed == 4 * [[SIZE]]
    assert watched.told_when_placed == 4 * [1]
    for party, ledger in watched.ledgers.items():
        size, release = ledger.entries()
        assert (size.state, size.disclosures, release.state) == (SPENT_ON_SIZE, 1, "complete")
        assert (size.cost, release.cost) == costs_of_run(watched.agreement, watched.plan.cost())
        assert size.peers == release.peers and party not in size.peers
        (alignment,) = ledger.alignments()
        assert alignment.of_peers == {}
    topics = [topic for topic, _ in watched.told["bank"]]
    assert topics.index(HEADS_BEFORE.topic) < topics.index(RESERVED.topic) < topics.index(HEADS.topic)
    assert LISTS.topic not in topics


def test_a_simulation_without_ledgers_has_room_for_both_charges() -> None:
    agreement = hidden_agreement()
    release = cp.simulate(agreement, frames_with_others(agreement, {"bank": 7, "loans": 2}))
    epsilon = release.certificate.epsilon
    assert (epsilon.agreed, epsilon.insiders["add-remove"]) == ("1", "1.5")


@pytest.mark.parametrize(
    "topic, charges",
    [
        (CAN_PAY.topic, []),
        (HEADS_BEFORE.topic, [SIZE]),
        (PLACE, [SIZE]),
        (RESERVED.topic, [SIZE, (ENDED_EARLY, 0)]),
        (HEADS.topic, [SIZE, (ENDED_EARLY, 1)]),
    ],
)
@pytest.mark.parametrize("who", ["bank", "loans"])
def test_a_party_that_is_lost_costs_the_other_one_exactly_what_was_charged_by_then(who, topic, charges) -> None:
    watched = Watched(hidden_agreement(), stop=(who, topic))
    with pytest.raises((KeyboardInterrupt, EngineError)):
        watched.run(frames_with_others(watched.agreement, {"loans": 5}))
    costs = costs_of_run(watched.agreement, watched.plan.cost())
    for party, ledger in watched.ledgers.items():
        if (who, party) == ("bank", "loans"):  # the room has the bank go first, and it left before loans came so far
            assert watched.charges(party) in (charges, charges[:-1], [*charges[:-1], (ENDED_EARLY, 0)])
            continue
        assert watched.charges(party) == charges
        assert ledger.spent("people") == sum(costs[: len(charges)], NOTHING)


def test_with_a_helper_nothing_is_charged_for_the_number_of_common_people() -> None:
    agreement = hidden_agreement(
        **{
            "parties": {"bank": {}, "loans": {}, "helper": {"data": False}},
            "records.compared_by": "helper",
            "privacy.membership_epsilon": None,
        }
    )
    watched = Watched(agreement)
    watched.run(frames_with_others(agreement, {"bank": 7}))
    for party in agreement.party_names:
        assert [state for state, _ in watched.charges(party)] == ["complete"]
        assert HEADS_BEFORE.topic not in {topic for topic, _ in watched.told[party]}
    assert watched.placed["helper"] is None


def test_every_hidden_comparison_counts_and_one_too_many_spends_nothing() -> None:
    watched = Watched(hidden_agreement())
    for ledger in watched.ledgers.values():
        ledger.set_limit("people", Limit(Fraction(50), "add-remove", Fraction(1, 10**6)))
        ledger.limit_alignments("people", 2)
    frames = frames_with_others(watched.agreement, {})
    for _ in range(2):
        watched.run(frames)
    spent = watched.ledgers["bank"].spent("people")
    with pytest.raises(BudgetExceededError, match="compared with other parties' 2 times"):
        watched.run(frames)
    assert watched.ledgers["bank"].spent("people") == spent


def test_a_run_that_could_pay_for_the_release_only_ends_before_anything_is_charged_or_sent() -> None:
    watched = Watched(hidden_agreement())
    cost = watched.plan.cost()
    watched.ledgers["loans"].set_limit("people", Limit(cost.add_remove, "add-remove", Fraction(1, 10**6)))
    with pytest.raises(BudgetExceededError, match=r"short by epsilon 0\.5"):
        watched.run(frames_with_others(watched.agreement, {}))
    assert watched.placed == {}
    assert all(ledger.entries() == [] and ledger.alignments() == [] for ledger in watched.ledgers.values())


# Lists that are longer than agreed.


def test_of_a_list_that_is_too_long_the_same_people_take_part_whatever_the_order_of_its_rows() -> None:
    agreement = hidden_agreement(**{"records.at_most": {"bank": 50, "loans": 120}})
    frames = frames_with_others(agreement, {"bank": 9})
    taken = []
    for seed in (1, 2):
        watched = Watched(agreement)
        for ledger in watched.ledgers.values():
            with ledger._transaction():  # one key, as in one ledger over several runs
                ledger._insert("list_keys", dataset="people", key="5a" * 32)
        watched.run({**frames, "bank": frames["bank"].sample(frac=1, random_state=seed)})
        taken.append(watched.placed["bank"])
        assert len(watched.placed["loans"] or []) == 80
    first, second = map(set, taken)
    assert first == second and len(first) == 50 and first < set(frames["bank"]["id"].astype(str))


def kept_of(people: Sequence[str], length: int, ledger: Ledger) -> set[str]:
    agreement = hidden_agreement(**{"records.at_most": {"bank": length, "loans": 120}})
    frames = frames_with_others(agreement, {}, common=len(people))
    frames["bank"] = frames["bank"].assign(id=list(people))
    fragment = read_fragments(agreement, frames)["bank"]
    return set(within_agreed_length(agreement, fragment, ledger).identifiers or ())


def test_one_person_more_takes_at_most_one_others_place_and_nobody_can_choose_whose() -> None:
    """Sensitivity of a list that is too long: that of exchanging one person for another."""
    people = [f"person {number}" for number in range(60)]
    with closing(Ledger(":memory:")) as ledger, closing(Ledger(":memory:")) as another:
        kept = kept_of(people, 25, ledger)
        assert len(kept) == 25 and kept == kept_of(people[::-1], 25, ledger)
        replaced = 0
        for newcomer in (f"newcomer {number}" for number in range(12)):
            more = kept_of([*people, newcomer], 25, ledger)
            assert len(more) == 25 and len(kept - more) == len(more - kept) <= 1
            replaced += kept != more
        assert 0 < replaced < 12
        assert kept_of(people, 60, ledger) == set(people)
        assert kept_of(people, 25, another) != kept  # another key


def test_check_tells_the_owner_how_many_stay_out_and_nobody_else_is_told() -> None:
    agreement = hidden_agreement(**{"records.at_most": {"bank": 75, "loans": 120}})
    frames = frames_with_others(agreement, {"bank": 9})
    (said,) = (rule for rule in check(agreement, "bank", frames["bank"]).rules if rule.rule == "not compared")
    assert said.rows == 80 + 9 - 75
    assert "records.at_most of 'bank'" in str(said) and "leaves so many people out" in str(said)
    within = hidden_agreement(**{"records.at_most": {"bank": 89, "loans": 120}})
    assert not [rule for rule in check(within, "bank", frames["bank"]).rules if rule.rule == "not compared"]


def test_what_takes_longer_for_a_longer_list_is_done_before_a_party_says_anything(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Between two messages the other owner could time it, and how many people are on a list is hidden."""
    agreement = hidden_agreement(**{"records.at_most": {"bank": 50, "loans": 120}})
    watched = Watched(agreement)
    told: list[int] = []

    def noting(original: Any) -> Any:
        def noted(*given: Any) -> Any:
            told.append(sum(map(len, watched.told.values())))
            return original(*given)

        return noted

    for module, name in ((main_path, "within_agreed_length"), (comparison, "commitment_to")):
        monkeypatch.setattr(module, name, noting(getattr(module, name)))
    watched.run(frames_with_others(agreement, {"bank": 9}))
    # The room has the bank go first: when it is the turn of loans, which has said nothing, the bank has said one thing.
    assert told == [0, 0, 1, 1]


# What is published and told does not depend on who is not common.

OTHERS = [{}, {"bank": 70}, {"bank": 31, "loans": 40}]


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("coins", [None, no_noise])
def test_the_published_folder_and_every_message_are_the_same_whoever_is_not_common(mechanism: str, coins) -> None:
    agreement = hidden_agreement(mechanism=MECHANISMS[mechanism], **{"privacy.class_disagreement": 0.1})
    folders, told = [], []
    for others in OTHERS:
        watched = Watched(agreement)
        names = agreement.party_names
        release = watched.run(frames_with_others(agreement, others), coins=None if coins is None else coins(names))
        folders.append(release.files())
        told.append(watched.told)
    assert folders[0] == folders[1] == folders[2] and len(folders[0]) > 5
    assert told[0] == told[1] == told[2]


def test_another_common_person_shows_without_noise() -> None:
    """So the comparison of folders above can fail."""
    agreement = hidden_agreement()
    names = agreement.party_names
    files = [
        Watched(agreement).run(frames_with_others(agreement, {}, common=common), coins=no_noise(names)).files()
        for common in (80, 81)
    ]
    assert files[0] != files[1]


def test_an_owner_hears_the_same_whether_the_other_one_lists_nobody_or_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """No error, notice or message says so: an empty intersection ends as any other run."""
    agreement = hidden_agreement()
    common = frames_with_others(agreement, {})
    nobody = {**common, "loans": common["loans"].iloc[:0]}
    strangers = {**common, "loans": common["loans"].assign(id=np.arange(80) + 10**6)}
    topics = []
    for frames in (common, nobody, strangers):
        watched = Watched(agreement)
        watched.run(frames)
        topics.append([[topic for topic, _ in watched.told[party]] for party in agreement.party_names])
        assert watched.charges("bank")[0] == SIZE
    short = [sorted(set(told[0])) for told in topics]
    assert short[0] == short[1] == short[2]
