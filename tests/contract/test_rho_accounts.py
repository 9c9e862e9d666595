"""Limits with an account in rho: nothing that is let in exceeds epsilon and delta, by a computation of another kind.

The other computation: each release is taken to be the worst of its kind, randomized response for pure epsilon and a
Gaussian mechanism for rho, and the delta of all of them together at the limit's epsilon is computed exactly, as the
mean of the Gaussian mechanism's delta over the privacy losses of all randomized responses.
"""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm
from typer.testing import CliRunner

import copublish as cp
from copublish.cli import app, run_command
from copublish.engines.ideal import Room
from copublish.errors import BudgetExceededError, LedgerError
from copublish.kernel.accounting.accounts import SAMPLERS_PART, Accounts
from copublish.kernel.accounting.cost import Cost, GaussianPart, RhoPrice, cost_of
from copublish.kernel.accounting.zcdp import epsilon_for
from copublish.kernel.ledger.ledger import Ledger, Limit
from copublish.mechanisms.registry import plan_of
from copublish.party.local.simulation import read_fragments, run_room
from support import fragment_frames, random_table, repartition, small_mapping
from support.examples import write_specialization_demo
from support.profiles import examples

MILLIONTH = Fraction(1, 10**6)
LIMIT = Limit.with_rho(Fraction(3), "add-remove", 10 * MILLIONTH, Fraction(1, 2))


def pure(epsilon: Fraction | int | str, delta: Fraction | int = 0) -> Cost:
    return Cost(add_remove=Fraction(epsilon), replace=2 * Fraction(epsilon), delta=Fraction(delta))


def gaussian(rho: Fraction | int | str, distance: Fraction | int = 0, delta: Fraction = MILLIONTH) -> Cost:
    """A release with Gaussian noise and nothing else; replacing a record costs it four times the rho."""
    rho = Fraction(rho)
    epsilon = {1: epsilon_for(rho, delta), 4: epsilon_for(4 * rho, delta)}
    price = RhoPrice(add_remove=rho, replace=4 * rho, distance=Fraction(distance))
    part = GaussianPart(rho=price, add_remove=epsilon[1], replace=epsilon[4], delta=delta)
    return Cost(add_remove=epsilon[1], replace=epsilon[4], delta=delta, gaussian=part)


def spend(ledger: Ledger, cost: Cost, dataset: str = "people") -> str:
    """Make a release; return what it was paid from."""
    with ledger.reserve(dataset, "release", "hash", cost):
        pass
    return ledger.entries()[-1].account


def ledger_with(limit: Limit) -> Ledger:
    ledger = Ledger(":memory:")
    ledger.set_limit("people", limit)
    return ledger


# --- nothing exceeds the limit ---


def exact_delta(epsilon: float, responses: list[float], rho: float) -> float:
    """Delta at an epsilon of randomized responses and Gaussian mechanisms together, exactly but for rounding."""
    total = 0.0
    for signs in itertools.product((1, -1), repeat=len(responses)):
        loss = sum(sign * e for sign, e in zip(signs, responses, strict=True))
        likely = math.prod(1 / (1 + math.exp(-sign * e)) for sign, e in zip(signs, responses, strict=True))
        total += likely * gaussian_delta(epsilon - loss, rho)
    return total


def gaussian_delta(epsilon: float, rho: float) -> float:
    """Delta of the Gaussian mechanism with sensitivity mu and deviation 1, rho = mu^2 / 2 (arXiv:1805.06530v2, 8)."""
    if rho == 0:
        return max(0.0, 1 - math.exp(epsilon)) if epsilon < 700 else 0.0
    mu = math.sqrt(2 * rho)
    return float(norm.cdf(mu / 2 - epsilon / mu) - np.exp(min(epsilon, 700)) * norm.cdf(-mu / 2 - epsilon / mu))


def test_the_other_computation_knows_both_kinds_alone() -> None:
    assert exact_delta(1.0, [1.0], 0.0) == pytest.approx(0, abs=1e-15)
    assert exact_delta(0.0, [1.0], 0.0) == pytest.approx(math.tanh(0.5))  # total variation of randomized response
    assert exact_delta(0.0, [], 0.5) == pytest.approx(2 * norm.cdf(0.5) - 1)  # of two normals at distance 1


SHARES = st.fractions(Fraction(1, 30), Fraction(2, 3), max_denominator=60)
DELTAS = st.fractions(0, Fraction(1, 10**7), max_denominator=10**9)
RELEASES = st.lists(st.tuples(st.sampled_from(["pure", "gaussian"]), SHARES, DELTAS), min_size=1, max_size=14)
"""Kind, share of an account, and a delta or distance: so that accounts are filled whatever the limit is."""

LIMITS = st.builds(
    Limit.with_rho,
    st.sampled_from([Fraction(1, 2), Fraction(1), Fraction(3), Fraction(6)]),
    st.sampled_from(["add-remove", "replace"]),
    st.sampled_from([Fraction(1, 10**4), 10 * MILLIONTH, MILLIONTH]),
    st.sampled_from([Fraction(1, 10), Fraction(1, 2), Fraction(9, 10), Fraction(1)]),
)


def priced(kind: str, share: Fraction, aside: Fraction, limit: Limit) -> Cost:
    """A release that costs a share of one of the limit's accounts; of epsilon less where there is no such account."""
    if kind == "pure":
        return pure(share * (limit.accounts.pure_epsilon or limit.epsilon / 5), aside)
    return gaussian(share * limit.accounts.rho, aside / 1000)


@given(LIMITS, RELEASES)
@examples(60)
def test_whatever_is_let_in_is_within_epsilon_and_delta(limit: Limit, releases: list[tuple]) -> None:
    ledger = ledger_with(limit)
    accounts, relation = limit.accounts, limit.neighbors
    wanted = [priced(*release, limit) for release in releases]
    paid: dict[str, list[Cost]] = {"epsilon": [], "rho": []}

    def fits(cost: Cost, account: str) -> bool:
        """The rule, written down once more."""
        now = {name: [*there, *([cost] if name == account else [])] for name, there in paid.items()}
        rhos = [rho_of(one, relation) for one in now["rho"]]
        rest = sum(one.delta for one in now["epsilon"])
        rest += sum(one.delta - one.gaussian.delta for one in now["rho"])
        distances = sum(one.gaussian.rho.distance for one in now["rho"])
        return (
            sum(one.under(relation) for one in now["epsilon"]) <= accounts.pure_epsilon
            and sum(rhos) <= accounts.rho
            and float(rest) + (1 + math.exp(limit.epsilon)) * float(distances) <= float(accounts.delta_for_rest)
        )

    for cost in wanted:
        first, second = ("rho", "epsilon") if cost.gaussian.has_noise else ("epsilon", "rho")
        expected = first if fits(cost, first) else second if fits(cost, second) else None
        try:
            account = spend(ledger, cost)
        except BudgetExceededError:
            assert expected is None
            continue
        assert account == expected
        paid[account].append(cost)
    made = [*paid["epsilon"], *paid["rho"]]
    responses = [float(one.under(relation)) for one in made if not one.gaussian.has_noise]
    rho = sum(float(one.gaussian.rho.under(relation)) for one in made)
    aside = sum(float(one.delta) for one in made if not one.gaussian.has_noise)
    aside += (1 + math.exp(limit.epsilon)) * sum(float(one.gaussian.rho.distance) for one in made)
    assert exact_delta(float(limit.epsilon), responses, rho) + aside <= float(limit.delta) * (1 + 1e-9)
    ledger.close()


def rho_of(cost: Cost, relation: str) -> Fraction:
    if cost.gaussian.has_noise:
        return cost.gaussian.rho.under(relation)
    return cost.under(relation) ** 2 / 2


def test_accounts_that_are_too_large_would_be_noticed() -> None:
    """Twice the rho, or the whole epsilon in either account: then the other computation is above delta."""
    accounts = LIMIT.accounts
    full = exact_delta(3.0, [1.5], float(accounts.rho))
    assert full <= 1e-5
    assert exact_delta(3.0, [1.5], 2 * float(accounts.rho)) > 1e-5
    assert exact_delta(3.0, [3.0], float(accounts.rho)) > 1e-5
    for wrong in (
        {"rho": 2 * accounts.rho},
        {"pure_epsilon": 2 * accounts.pure_epsilon},
        {"delta_for_rest": accounts.delta_for_rho},
        {"rho": -accounts.rho},
    ):
        with pytest.raises(ValueError, match="do not keep to"):
            Limit(Fraction(3), "add-remove", 10 * MILLIONTH, Accounts(**{**vars(accounts), **wrong}))


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1.0, 4.0])
def test_half_of_epsilon_squared_bounds_randomized_response_at_every_order_and_no_less_would(epsilon: float) -> None:
    """Renyi divergences of the two-point laws themselves; at small orders and epsilons the bound is nearly reached."""
    p, q = 1 / (1 + math.exp(-epsilon)), 1 / (1 + math.exp(epsilon))
    for order in (1.001, 1.5, 2, 5, 30, 200):
        divergence = np.logaddexp(
            order * math.log(p) + (1 - order) * math.log(q), order * math.log(q) + (1 - order) * math.log(p)
        ) / (order - 1)
        assert divergence <= order * epsilon**2 / 2 * (1 + 1e-9)
        assert divergence <= epsilon * (1 + 1e-9)
    assert pure(Fraction(epsilon)).in_rho().add_remove == Fraction(epsilon) ** 2 / 2
    if epsilon == 0.01:
        assert divergence > 0.1 * 200 * epsilon**2 / 2
        order = 1.001
        close = math.log(p**order * q ** (1 - order) + q**order * p ** (1 - order)) / (order - 1)
        assert close > 0.99 * order * epsilon**2 / 2


def test_the_sum_is_spent_to_the_last_fraction_and_no_further() -> None:
    ledger = ledger_with(LIMIT)
    rho = LIMIT.accounts.rho
    for _ in range(7):
        assert spend(ledger, gaussian(rho / 7)) == "rho"
    with pytest.raises(BudgetExceededError):
        spend(ledger, gaussian(Fraction(1, 10**40)))
    assert spend(ledger, pure("3/2")) == "epsilon"
    with pytest.raises(BudgetExceededError) as refused:
        spend(ledger, pure(Fraction(1, 10**40)))
    assert "epsilon 0, rho 0 and delta 1.5625e-07 are left" in str(refused.value)
    assert "copublish ledger limit people=EPSILON,DELTA --rho-share SHARE" in str(refused.value)


def test_pure_releases_pay_in_rho_when_epsilon_is_used_up_and_gaussian_ones_the_other_way_round() -> None:
    ledger = ledger_with(LIMIT)
    assert spend(ledger, pure("3/2")) == "epsilon"
    assert spend(ledger, pure("1/10")) == "rho"
    assert ledger.spent_by_account("people").in_rho.add_remove == Fraction(1, 200)
    ledger = ledger_with(LIMIT)
    assert spend(ledger, gaussian(LIMIT.accounts.rho)) == "rho"
    small = Fraction(1, 10**8)
    assert spend(ledger, gaussian("1/10000", delta=small)) == "epsilon"  # as epsilon and delta, which it has as well


def test_a_sampler_costs_delta_by_the_epsilon_of_the_limit() -> None:
    ledger = ledger_with(LIMIT)
    most = float(LIMIT.accounts.delta_for_rest) / (1 + math.exp(3))
    assert spend(ledger, gaussian("1/1000", Fraction(most * 0.999))) == "rho"
    with pytest.raises(BudgetExceededError):
        spend(ledger, gaussian("1/1000", Fraction(most * 0.002)))


def test_a_relation_has_an_account_of_its_own() -> None:
    limit = Limit.with_rho(Fraction(3), "replace", 10 * MILLIONTH, Fraction(1))
    ledger = ledger_with(limit)
    spend(ledger, gaussian(limit.accounts.rho / 4))  # four times as much under replace
    with pytest.raises(BudgetExceededError):
        spend(ledger, gaussian(Fraction(1, 10**6)))
    ledger.set_limit("people", Limit.with_rho(Fraction(3), "add-remove", 10 * MILLIONTH, Fraction(1)))
    spend(ledger, gaussian(limit.accounts.rho * Fraction(3, 4)))


def test_what_has_no_finite_epsilon_has_no_finite_rho() -> None:
    public = Cost(add_remove=None, replace=Fraction(1, 10))
    assert public.in_rho() == RhoPrice(add_remove=None, replace=Fraction(1, 200))
    with pytest.raises(BudgetExceededError, match="No finite epsilon holds"):
        spend(ledger_with(LIMIT), public)
    assert spend(ledger_with(Limit.with_rho(Fraction(3), "replace", 10 * MILLIONTH, Fraction(1))), public) == "rho"


@pytest.mark.parametrize("share", ["0", "-1/2", "3/2"])
def test_what_is_no_share_is_refused(share: str) -> None:
    with pytest.raises(ValueError, match="above 0 and at most 1"):
        Limit.with_rho(Fraction(3), "add-remove", MILLIONTH, Fraction(share))
    with pytest.raises(ValueError, match="with a delta"):
        Limit.with_rho(Fraction(3), "add-remove", Fraction(0), Fraction(1, 2))


# --- releases ---


def agreed(epsilon: str, delta: str) -> cp.Agreement:
    privacy = {"epsilon": epsilon, "delta": delta}
    mechanism = {"name": "hpdp", "noise": "gaussian"}
    return cp.agreement_from_mapping(repartition(small_mapping(mechanism=mechanism, privacy=privacy), "horizontal"))


@pytest.mark.parametrize("epsilon, delta", [("1", "1e-6"), ("3", "1e-5"), ("0.1", "1e-9")])
def test_a_release_that_takes_a_whole_limit_fits_one_that_is_all_for_rho(epsilon: str, delta: str) -> None:
    ledger = ledger_with(Limit.with_rho(Fraction(epsilon), "add-remove", Fraction(delta), Fraction(1)))
    cost = plan_of(agreed(epsilon, delta)).cost()
    assert cost.in_rho().distance > 0
    assert spend(ledger, cost) == "rho"
    with pytest.raises(BudgetExceededError):
        spend(ledger, cost)


def test_many_gaussian_releases_fit_where_their_epsilons_would_not() -> None:
    cost = plan_of(agreed("0.5", "1e-6")).cost()

    def fits(limit: Limit) -> int:
        ledger = ledger_with(limit)
        with pytest.raises(BudgetExceededError):
            for _ in range(100):
                spend(ledger, cost)
        return len(ledger.entries())

    assert fits(Limit(Fraction(3), "add-remove", 10 * MILLIONTH)) == 6
    assert fits(Limit.with_rho(Fraction(3), "add-remove", 10 * MILLIONTH, Fraction(1))) > 30


def test_a_charge_carries_the_rho_of_its_disclosures() -> None:
    plan = plan_of(agreed("1", "1e-6"))
    (disclosure,) = plan.disclosures()
    price = plan.cost().in_rho()
    assert (price.add_remove, price.replace) == (disclosure.rho("add-remove"), disclosure.rho("replace"))
    assert price.distance == disclosure.samplers_distance
    assert price.delta == 0
    both = plan.cost() + pure("1/5", Fraction(1, 2**60))
    assert both.in_rho().add_remove == disclosure.rho("add-remove") + Fraction(1, 50)
    assert both.in_rho().delta == Fraction(1, 2**60)
    ledger = ledger_with(Limit.with_rho(Fraction(3), "add-remove", 10 * MILLIONTH, Fraction(1)))
    with ledger.reserve("people", "r", "h", plan.cost()) as charge:
        charge.disclose(disclosure.label, cost_of([disclosure], number_of_records_is_public=False))
        with pytest.raises(BudgetExceededError, match="more than was reserved"):
            charge.disclose("again", cost_of([disclosure], number_of_records_is_public=False))
    assert ledger.entries()[0].in_rho == price


def test_a_budget_of_rho_that_many_parts_share_is_paid_in_rho_once_and_pure_parts_beside_it() -> None:
    privacy = {"epsilon": 1, "delta": "1e-6", "class_disagreement": "0.1"}
    mapping = small_mapping(mechanism={"name": "marginals"}, privacy=privacy)
    agreement = cp.agreement_from_mapping(repartition(mapping, "vertical"))
    plan = plan_of(agreement)
    whole, price = plan.rest.whole, plan.cost().in_rho()
    for relation in ("add-remove", "replace"):
        assert price.under(relation) == whole.rho(relation) + Fraction(1, 10) ** 2 / 2
    assert price.distance == whole.samplers_distance
    assert 0 < price.delta < Fraction(1, 10**12)  # of the pure part's sampler alone
    ledgers = {party: ledger_with(LIMIT) for party in agreement.parties}
    generator = np.random.default_rng(3)
    frames = fragment_frames(agreement, random_table(agreement, 200, generator), generator)
    run_room(plan, read_fragments(agreement, frames), Room(agreement.party_names), ledgers)
    for ledger in ledgers.values():
        (entry,) = ledger.entries()
        assert (entry.account, entry.in_rho, entry.state) == ("rho", price, "complete")
        assert ledger.spent_by_account("people").in_rho == price


@pytest.mark.parametrize(
    "disclosed",
    [
        gaussian("1/50"),  # more rho than reserved
        gaussian("1/100", Fraction(1, 10**9)),  # noise that is sampled less exactly
    ],
)
def test_a_disclosure_beyond_what_was_reserved_in_rho_is_refused(disclosed: Cost) -> None:
    reserved = gaussian("1/100", Fraction(1, 10**10))
    roomy = Cost(add_remove=Fraction(5), replace=Fraction(9), delta=reserved.delta, gaussian=reserved.gaussian)
    assert gaussian("1/100", Fraction(1, 10**10)).fits_in(roomy)
    assert not disclosed.fits_in(Cost(**{**vars(reserved), "add_remove": reserved.add_remove, "replace": Fraction(9)}))


def test_without_accounts_again_everything_counts_in_epsilon_and_delta() -> None:
    ledger = ledger_with(LIMIT)
    cost = gaussian("1/100")
    spend(ledger, cost)
    ledger.set_limit("people", Limit(cost.add_remove, "add-remove", cost.delta))
    with pytest.raises(BudgetExceededError, match="short by"):
        spend(ledger, pure("1/1000"))


@pytest.mark.parametrize(
    "change, column",
    [
        ("UPDATE limits SET rho = '1'", "limits.rho"),
        ("UPDATE limits SET pure_epsilon = '3'", "limits.rho"),
        ("UPDATE limits SET rho = NULL", "limits.rho"),
        ("UPDATE limits SET delta_for_rho = 'x'", "limits.delta_for_rho"),
        ("UPDATE charges SET account = 'nobody'", "charges.account"),
        ("UPDATE charges SET rho_add_remove = '-1'", "charges.rho_add_remove"),
        ("UPDATE charges SET rho_distance = ''", "charges.rho_distance"),
    ],
)
def test_edited_accounts_stop_every_release(change: str, column: str) -> None:
    ledger = ledger_with(LIMIT)
    spend(ledger, gaussian("1/100"))
    ledger._database.execute(change)
    with pytest.raises(LedgerError, match=column.replace(".", r"\.")):
        spend(ledger, pure("1/1000"))


# --- the command ---


@pytest.fixture
def cli(tmp_path: Path):
    runner = CliRunner(env={"COLUMNS": "200", "NO_COLOR": "1", "COPUBLISH_HOME": str(tmp_path)})
    file = str(tmp_path / "party.db")

    def invoke(command: str = "show", *arguments: object):
        return runner.invoke(
            app, ["ledger", command, *map(str, arguments), *([] if command == "show" else ["--ledger"]), file]
        )

    return invoke


def test_a_share_is_set_kept_shown_and_taken_back(cli, tmp_path: Path) -> None:
    def limit() -> Limit:
        return Ledger(tmp_path / "party.db").limit("people")

    assert cli("limit", "people=3,1e-5").exit_code == 0
    assert limit().accounts is None  # without a word everything adds up as ever
    assert cli("limit", "people=3,1e-5", "--rho-share", "0.5").exit_code == 0
    assert limit() == LIMIT
    assert cli("limit", "people=6").exit_code == 0
    assert (limit().rho_share, limit().accounts.pure_epsilon) == (Fraction(1, 2), 3)
    assert cli("limit", "people=3").exit_code == 0
    spend(Ledger(tmp_path / "party.db"), gaussian("1/100"))
    told = json.loads(cli("show", "--format", "json").stdout)
    epsilon, rho, delta = told["accounts"]["people"]
    assert (epsilon["limit"], epsilon["left"]) == ("1.5", "1.5")
    assert (rho["spent"], rho["is"]) == ("1.0e-02", "at most epsilon 1.5 at delta 9.9e-06")
    assert Fraction(delta["limit"]) <= 10 * MILLIONTH * SAMPLERS_PART
    assert told["charges"][0]["paid_from"] == "rho"
    assert "rho 1.0e-02" in cli().stdout
    assert cli("limit", "people=3", "--rho-share", "0").exit_code == 0
    assert limit().accounts is None
    assert json.loads(cli("show", "--format", "json").stdout)["accounts"] == {}


@pytest.mark.parametrize("written", ["-0.1", "1.1", "half", "nan"])
def test_what_is_no_share_on_the_command_line_changes_nothing(cli, tmp_path: Path, written: str) -> None:
    assert cli("limit", "people=3,1e-5").exit_code == 0
    assert cli("limit", "people=4", "--rho-share", written).exit_code == 2
    assert Ledger(tmp_path / "party.db").limit("people").epsilon == 3
    assert cli("limit", "people=4,0", "--rho-share", "0.5").exit_code == 2


def test_consent_says_what_is_paid_in_rho_and_what_is_left_before_and_after(tmp_path: Path, capsys) -> None:
    agreement = agreed("1", "1e-6")
    book = Ledger(tmp_path / "consent.db")
    book.set_limit("people", LIMIT)
    run_command._ask_consent(plan_of(agreement), book, party="bank", file=Path("agreement.toml"), yes=True)
    said = " ".join(capsys.readouterr().err.split())
    assert "Spending rho 2.5e-02 of the epsilon 1.5, rho 6.4e-02 and delta 1.5e-07 that are left" in said
    assert "epsilon 1.5, rho 3.9e-02 and delta 1.5e-07 are left after it" in said
    write_specialization_demo(tmp_path, 100)
    plan = plan_of(cp.load_agreement(tmp_path / "agreement.toml"))
    book.set_limit(plan.agreement.dataset, Limit(Fraction(3), "add-remove", MILLIONTH))
    run_command._ask_consent(plan, book, party="bank", file=Path("agreement.toml"), yes=True)
    said = " ".join(capsys.readouterr().err.split())
    assert "Spending epsilon 1 and delta" in said
    assert "; epsilon 2 and delta 9.9e-07 are left after it" in said
