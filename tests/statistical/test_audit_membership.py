"""Audits of hidden membership: what another owner sees shows most of what is stated, and missing noise is accused.

Coins of the tables are seeded (`conftest.py`); noise on the number of common people comes from the operating system, as
in a release. Something sound is accused with probability 10^-6 (`not_accused`). The least that is asked of what is
found is missed far more rarely: it is about half of what so many runs show.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

import copublish as cp
from copublish.kernel.accounting.membership import SIZE_LABEL
from copublish.kernel.noise.geometric import SystemCoins
from copublish.kernel.noise.hidden_size import HiddenSize
from copublish.mechanisms.registry import plan_of
from copublish.tools.auditing import audit as auditing
from copublish.tools.auditing import game as playing
from copublish.tools.auditing import odd_records
from copublish.tools.auditing import pair_choice as choosing
from copublish.tools.auditing.common_people import NoisySize, claim_of_size, membership_pairs
from copublish.tools.auditing.game import Game, fair_coins
from copublish.tools.auditing.odd_records import symbols_of
from copublish.tools.auditing.statistics import Tested, claim_of, judged
from copublish.tools.auditing.tables import Pair, invalid_pairs, valid_pairs
from copublish.tools.auditing.workers import play_runs
from support.audits import not_accused
from support.not_common import hidden_agreement

LEVEL = 0.001

TWO_COLUMNS: dict[str, Any] = {
    "class": None,
    "attributes": {
        "x": {"kind": "categorical", "values": ["a", "b"], "held_by": "bank"},
        "y": {"kind": "categorical", "values": ["a", "b"], "held_by": "loans"},
    },
    "mechanism": {"name": "marginals", "tables": [["x", "y"]]},
}


def agreed(**changes: Any) -> cp.Agreement:
    return hidden_agreement(**{**TWO_COLUMNS, **changes})


def pair_of(agreement: cp.Agreement, *, is_listed: bool = True, base: str = "no records", people: int = 1) -> Pair:
    pairs = membership_pairs(agreement, "bank", SystemCoins(), is_listed=is_listed)
    found = next(pair for pair in pairs if pair.base == base)
    return found if people == 1 else found.of_people(people)


def size_audit(agreement: cp.Agreement, runs: int, *, people: int = 1) -> Tested:
    pair = pair_of(agreement, people=people)
    size, coins = NoisySize.of(agreement, pair), fair_coins(runs)
    assert size is not None and size.common == (0, people)
    seen = size.seen(coins)
    others = {"size": size.beyond_the_middle(seen)}
    return judged(coins, size.evidence(seen), claim_of_size(agreement, pair), others)


@pytest.mark.parametrize("epsilon, runs, people", [(0.5, 4000, 1), (2, 2000, 1), (0.1, 4000, 4)])
def test_the_size_alone_shows_more_than_half_of_its_epsilon_and_no_more(epsilon: float, runs: int, people: int) -> None:
    agreement = agreed(**{"privacy.membership_epsilon": epsilon})
    tested = not_accused(partial(size_audit, agreement, runs, people=people))
    assert epsilon / 2 < tested.found < 1.3 * epsilon


@pytest.mark.parametrize(
    "broken",
    [
        lambda law, draw: law.pool // 2,  # none
        lambda law, draw: law.pool // 2 + (draw(1)[0] & 1),  # of one coin
        lambda law, draw: HiddenSize(4 * law.epsilon, law.delta).draw(draw) + law.pool // 2 - _half(4 * law.epsilon),
    ],
    ids=["no noise", "one coin", "a quarter of the noise"],
)
def test_a_size_with_too_little_noise_is_accused(monkeypatch: pytest.MonkeyPatch, broken) -> None:
    real = HiddenSize.draw
    monkeypatch.setattr(
        HiddenSize, "draw", lambda law, draw: real(law, draw) if law.epsilon > Fraction(1, 2) else broken(law, draw)
    )
    assert size_audit(agreed(), 1500).p_value < LEVEL / 10


def _half(epsilon: Fraction) -> int:
    return HiddenSize(epsilon, Fraction(1, 10**10)).pool // 2


def view(agreement: cp.Agreement, pair: Pair, runs: int) -> Tested:
    found = play_runs(agreement, pair, runs)
    return judged(found.coins, found.law, claim_of(plan_of(agreement), pair), found.others)


def test_size_and_release_together_show_more_than_half_of_the_sum_and_no_more() -> None:
    agreement, runs = agreed(), 6000
    pair = pair_of(agreement)
    claim = claim_of(plan_of(agreement), pair)
    assert claim.epsilon == 1.5
    tested = not_accused(lambda: view(agreement, pair, runs))
    assert 0.75 < tested.found < 1.7
    assert tested.found > 1  # more than the release alone may show


def test_people_whom_only_the_other_owner_lists_are_covered_by_epsilon_where_an_owner_claims_all_rows() -> None:
    """The attack works: without it such a person changes nothing. What it shows is within epsilon, not beyond."""
    agreement = agreed()
    pair = pair_of(agreement, is_listed=False)
    size = NoisySize.of(agreement, pair)
    assert size is not None and size.common == (0, 0)
    assert claim_of(plan_of(agreement), pair).epsilon == 1
    tested = not_accused(lambda: view(agreement, pair, 6000))
    assert 0.5 < tested.found < 1.2


@pytest.mark.parametrize("is_listed, claims, moves", [(True, True, 1), (False, True, 1), (False, False, 0)])
def test_a_person_moves_what_is_measured_if_both_list_it_or_one_claims_every_row(
    monkeypatch: pytest.MonkeyPatch, is_listed: bool, claims: bool, moves: int
) -> None:
    """Of an owner that lists somebody else and claims its own rows only, nothing moves: the attack is what tells."""
    if not claims:
        monkeypatch.setattr(playing, "present_everywhere", lambda fragment: fragment)
    agreement = agreed()
    game = Game(agreement, pair_of(agreement, is_listed=is_listed, base="30 copies of one point"))
    first, second = (np.concatenate(game.play(table).measured) for table in (0, 1))
    assert np.abs(second - first).sum() == moves and first.sum() >= 30


@pytest.mark.slow
def test_a_whole_audit_plays_membership_and_the_size(monkeypatch: pytest.MonkeyPatch) -> None:
    agreement = agreed()

    def few(pairs: Any) -> Any:
        return lambda *given, **named: iter([p for p in pairs(*given, **named) if p.base == "no records"][:2])

    monkeypatch.setattr(auditing, "valid_pairs", few(valid_pairs))
    monkeypatch.setattr(auditing, "membership_pairs", few(membership_pairs))
    monkeypatch.setattr(auditing, "invalid_pairs", lambda *given: list(invalid_pairs(*given))[:2])
    monkeypatch.setattr(choosing, "valid_pairs", few(valid_pairs))
    monkeypatch.setattr(choosing, "SECOND_LOOK", 10)
    monkeypatch.setattr(auditing, "VERDICT_LEVEL", 1e-7)
    found = cp.audit(agreement, runs=300, minutes=0.05, workers=0, secure_runs=0)
    assert found.verdict == "consistent"
    names = {number.name: number.claim.epsilon for number in (*found.views, *found.disclosures)}
    assert names["party 'bank', membership"] == names["party 'loans', membership"] == 1.5
    assert names["party 'bank', membership of people whom it does not list"] == 1
    assert names[SIZE_LABEL] == 0.5
    assert not any("who is in the table" in skipped for skipped in found.skipped)


@pytest.mark.parametrize("is_listed", [True, False])
def test_how_a_run_ends_and_what_it_tells_another_owner_do_not_say_that_a_person_is_listed(is_listed: bool) -> None:
    """Nothing but the noisy number, which is charged; a message that depends on lists is noticed."""
    agreement = agreed()
    pairs = [replace(pair, seen_by="bank", is_listed=is_listed) for pair in invalid_pairs(agreement, "add-remove")][:2]
    for pair in pairs:
        (symbol,) = symbols_of(agreement, pair, ["bank"])
        assert (symbol.differs, symbol.outcomes) == (None, ("released", "released"))


def test_a_message_that_depends_on_who_is_listed_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    agreement = agreed()
    monkeypatch.setattr(odd_records, "RUNS", 2)
    monkeypatch.setattr(odd_records, "ROWS_OF_THE_TABLE", "something else")
    pair = replace(next(iter(invalid_pairs(agreement, "add-remove"))), seen_by="bank")
    monkeypatch.setattr(HiddenSize, "draw", lambda law, draw: 0)  # so that it is the lists that differ
    (symbol,) = symbols_of(agreement, pair, ["bank"])
    assert symbol.differs == "what it is told: rows of the table" and symbol.right == symbol.runs == 2
