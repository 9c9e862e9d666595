"""The ledger limits delta as it limits epsilon: never more than either, also in files from before it did."""

from __future__ import annotations

import sqlite3
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import copublish as cp
from copublish.agreement.loading import agreement_from_mapping
from copublish.engines.ideal import Room
from copublish.errors import BudgetExceededError, LedgerError
from copublish.kernel.accounting.cost import UNLIMITED, Cost
from copublish.kernel.ledger.ledger import Ledger, Limit
from copublish.kernel.ledger.limits import DEFAULT_DELTA
from copublish.mechanisms.registry import plan_of
from copublish.party.local.simulation import read_fragments, run_room
from support import fragment_frames, random_table, repartition, seeded, small_mapping
from support.profiles import examples

MILLIONTH = Fraction(1, 10**6)


def cost(epsilon: Fraction | int | str, delta: Fraction | int | str = 0) -> Cost:
    return Cost(add_remove=Fraction(epsilon), replace=2 * Fraction(epsilon), delta=Fraction(delta))


def spend(ledger: Ledger, price: Cost, dataset: str = "people") -> None:
    with ledger.reserve(dataset, "release", "hash", price):
        pass


# --- never more than either ---

EPSILONS, DELTAS = st.fractions(0, 2, max_denominator=30), st.fractions(0, MILLIONTH, max_denominator=10**8)
COSTS = st.one_of(
    st.builds(lambda epsilon, delta: Cost(add_remove=epsilon, replace=2 * epsilon, delta=delta), EPSILONS, DELTAS),
    st.builds(lambda epsilon, delta: Cost(add_remove=None, replace=epsilon, delta=delta), EPSILONS, DELTAS),
    st.just(UNLIMITED),
)
LIMITS = st.builds(
    Limit,
    st.one_of(st.none(), st.fractions(0, 5, max_denominator=30)),
    st.sampled_from(["add-remove", "replace"]),
    st.fractions(0, 4 * MILLIONTH, max_denominator=10**8),
)
STEPS = st.lists(st.one_of(LIMITS, st.tuples(COSTS, st.booleans())), min_size=1, max_size=15)


@given(STEPS)
@examples(100)
def test_no_sequence_of_limits_and_reservations_exceeds_either_limit(steps) -> None:
    ledger, limit = Ledger(":memory:"), None
    spent: list[Cost] = []
    for step in steps:
        if isinstance(step, Limit):
            limit = step
            ledger.set_limit("people", limit)
            assert ledger.limit("people") == limit
            continue
        wanted, fails = step
        # Infinity stands for what has no bound; sums are made anew each time, apart from the ledger's own.
        epsilons = [
            float("inf") if price is None else price
            for price in (one.under(limit.neighbors if limit else "replace") for one in (*spent, wanted))
        ]
        deltas = sum((one.delta for one in (*spent, wanted)), Fraction(0))
        allowed = limit is not None and (
            limit.epsilon is None or (sum(epsilons) <= limit.epsilon and deltas <= limit.delta)
        )
        try:
            with ledger.reserve("people", "release", "hash", wanted):
                if fails:
                    raise RuntimeError("on the way")
        except BudgetExceededError:
            assert not allowed
            continue
        except RuntimeError:
            pass
        assert allowed
        spent.append(wanted)
        found = ledger.spent("people")
        assert found.delta == deltas
        assert limit.epsilon is None or (found.under(limit.neighbors) <= limit.epsilon and found.delta <= limit.delta)
    ledger.close()


def test_delta_can_be_spent_to_the_last_fraction_and_no_further() -> None:
    ledger = Ledger(":memory:")
    ledger.set_limit("people", Limit(Fraction(100), "add-remove", Fraction(1, 10**5)))
    for _ in range(10):
        spend(ledger, cost(1, MILLIONTH))  # in floating point ten millionths are not a hundred-thousandth
    with pytest.raises(BudgetExceededError, match=r"short by delta 1e-60\)"):
        spend(ledger, cost(1, Fraction(1, 10**60)))
    spend(ledger, cost(1))  # what needs no delta is still let in
    assert ledger.spent("people") == cost(11, Fraction(1, 10**5))


def test_a_delta_limit_of_zero_takes_what_needs_none_alone() -> None:
    ledger = Ledger(":memory:")
    ledger.set_limit("people", Limit(Fraction(1), "add-remove", Fraction(0)))
    spend(ledger, cost("1/2"))
    with pytest.raises(BudgetExceededError):
        spend(ledger, cost("1/2", Fraction(1, 2**80)))


@pytest.mark.parametrize("epsilon, delta", [(1, Fraction(-1, 10**9)), (-1, 0)])
def test_a_limit_below_zero_cannot_be_stated(epsilon: int, delta: Fraction) -> None:
    with pytest.raises(ValueError, match="never below 0"):
        Limit(Fraction(epsilon), "add-remove", Fraction(delta))


@pytest.mark.parametrize(
    "price, short",
    [
        (cost(2, "1/10000000"), "(short by epsilon 0.5)"),
        (cost(1, "5/1000000"), "(short by delta 2e-06)"),
        (cost(2, "5/1000000"), "(short by epsilon 0.5 and delta 2e-06)"),
    ],
)
def test_a_refusal_names_what_is_left_of_both_and_what_is_short(tmp_path: Path, price: Cost, short: str) -> None:
    path = tmp_path / "party.db"
    ledger = Ledger(path)
    ledger.set_limit("people", Limit(Fraction(2), "add-remove", 4 * MILLIONTH))
    spend(ledger, cost("1/2", MILLIONTH))
    with pytest.raises(BudgetExceededError) as refused:
        spend(ledger, price)
    needs = f"Release needs epsilon {float(price.add_remove):g} and delta {float(price.delta):g}, "
    assert str(refused.value).startswith(
        f"{needs}but epsilon 1.5 and delta 3e-06 are left for data set 'people' {short}"
    )
    assert "Nothing was measured." in str(refused.value)
    how = f"copublish ledger limit people=EPSILON,DELTA --ledger {path}"
    assert (how in str(refused.value)) == ("delta 2e-06)" in short)


# --- the default ---


def agreed(mechanism: dict[str, str], **privacy: object) -> cp.Agreement:
    mapping = repartition(small_mapping(mechanism=mechanism, privacy={"epsilon": 2, **privacy}), "horizontal")
    mapping["records"]["public"] = mechanism["name"] == "vhdp"
    return agreement_from_mapping(mapping)


@pytest.mark.parametrize("name", ["specialization", "marginals", "copula", "hpdp", "vhdp"])
def test_without_a_delta_limit_pure_epsilon_is_let_in_many_times(name: str) -> None:
    agreement = agreed({"name": name}, neighbors="replace")
    price = plan_of(agreement).cost()
    assert 0 < 1000 * price.delta <= DEFAULT_DELTA
    ledger = Ledger(":memory:")
    ledger.set_limit("people", Limit(Fraction(4), "replace"))
    for _ in range(2):
        spend(ledger, price)


def test_without_a_delta_limit_gaussian_noise_is_refused_and_the_message_says_how_to_allow_it() -> None:
    agreement = agreed({"name": "hpdp", "noise": "gaussian"}, delta="1e-6")
    price = plan_of(agreement).cost()
    assert price.delta == MILLIONTH
    ledger = Ledger(":memory:")
    ledger.set_limit("people", Limit(Fraction(4), "add-remove"))
    with pytest.raises(BudgetExceededError) as refused:
        spend(ledger, price)
    assert "Unless a limit says otherwise, it is 1e-09. To allow more delta" in str(refused.value)
    ledger.set_limit("people", Limit(Fraction(4), "add-remove", MILLIONTH))
    spend(ledger, price)
    with pytest.raises(BudgetExceededError) as refused:
        spend(ledger, price)
    assert "Unless a limit says otherwise" not in str(refused.value)


@pytest.mark.parametrize("second_can_pay", [False, True])
def test_a_party_without_enough_delta_stops_everyone_before_anybody_is_charged(second_can_pay: bool) -> None:
    agreement = agreed({"name": "hpdp", "noise": "gaussian"}, delta="1e-6")
    generator = np.random.default_rng(3)
    frames = fragment_frames(agreement, random_table(agreement, 200, generator), generator)
    ledgers = {party: Ledger(":memory:") for party in agreement.parties}
    first, second = ledgers.values()
    first.set_limit("people", Limit(Fraction(2), "add-remove", MILLIONTH))
    second.set_limit("people", Limit(Fraction(2), "add-remove", MILLIONTH if second_can_pay else MILLIONTH / 2))

    def publish() -> None:
        room = Room(agreement.party_names, seeded(agreement.party_names, 1))
        run_room(plan_of(agreement), read_fragments(agreement, frames), room, ledgers)

    if second_can_pay:
        publish()
    else:
        with pytest.raises(BudgetExceededError, match=r"epsilon 2 and delta 5e-07 are left"):
            publish()
    assert [len(ledger.entries()) for ledger in ledgers.values()] == [second_can_pay] * 2


# --- files ---


@pytest.mark.parametrize("text", ["lots", "-1/1000000", "1/0", ""])
def test_a_delta_that_cannot_be_one_is_a_ledger_error_and_nothing_is_spent(tmp_path: Path, text: str) -> None:
    path = tmp_path / "party.db"
    ledger = Ledger(path)
    ledger.set_limit("people", Limit(Fraction(3), "add-remove"))
    with sqlite3.connect(path) as database:
        database.execute("UPDATE limits SET delta = ?", (text,))
    database.close()
    with pytest.raises(LedgerError):
        spend(ledger, cost("1/10"))
    assert ledger.entries() == []
    ledger.close()
