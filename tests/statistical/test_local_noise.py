"""What owners publish of their own records has the law that the accounting assumes; attackers gain no more from it.

Samples: 40,000 records per law, through a whole run on seeded coins; the attacker guesses 20,000 people with each bit.
Tests: chi-square against the closed form (randomized response; discrete Laplace, clipped to the bounds), ALPHA =
10^-4 for each of the 4 accepted laws; noise 30 % off is rejected in each. The attacker's success is compared with the
exact binomial one within 5 standard errors (6 * 10^-7, two-sided) and with what epsilon allows. Coins are seeded, so
the tests pass always or never.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import copublish as cp
from copublish.kernel.accounting.perturbations import PerturbCategory, PerturbNumber
from copublish.mechanisms.vhdp.run import perturb_categories, perturb_numbers
from support import SeededCoins, seeded, simulate_with, with_first_values

ALPHA, RECORDS, ATTACKED, STANDARD_ERRORS = 1e-4, 40_000, 20_000, 5
SITES = ["a", "b", "c", "d", "e"]


def agreement_with(attributes: dict[str, Any], epsilon: object, weights: dict[str, Any] | None = None) -> cp.Agreement:
    return cp.agreement_from_mapping(
        {
            "format": 1,
            "name": "local",
            "dataset": "people",
            "partition": "horizontal",
            "parties": {"p0": {}, "p1": {}},
            "records": {"expected": RECORDS, "public": True},
            "class": {"name": "bit", "values": ["no", "yes"]},
            "attributes": with_first_values(attributes),
            "privacy": {"epsilon": epsilon, "neighbors": "replace"},
            "mechanism": {"name": "vhdp"},
            "budget": {} if weights is None else {"allocation": "weights", "weights": weights},
        }
    )


def published(agreement: cp.Agreement, record: dict[str, Any], n: int, seed: int) -> pd.DataFrame:
    """Release n people with the same record, half of them at each party."""
    table = pd.DataFrame([record]).loc[np.zeros(n, dtype=int)].reset_index(drop=True)
    frames = {"p0": table[: n // 2], "p1": table[n // 2 :]}
    return simulate_with(agreement, frames, seeded(agreement.party_names, seed)).to_pandas()


def response_law(epsilon: float, n_values: int, true: int) -> np.ndarray:
    shares = np.full(n_values, 1 / (math.exp(epsilon) + n_values - 1))
    shares[true] *= math.exp(epsilon)
    return shares


def clipped_laplace_law(scale: float, steps: int, true: int) -> np.ndarray:
    """Pr[clip(true + X)] for discrete Laplace X: the tails lie on the bounds."""
    p = math.exp(-1 / scale)
    law = (1 - p) / (1 + p) * p ** np.abs(np.arange(steps + 1) - true)
    law[0], law[-1] = p**true / (1 + p), p ** (steps - true) / (1 + p)
    return law


def fits(counts: np.ndarray, law: np.ndarray) -> bool:
    assert law.sum() == pytest.approx(1) and (law * counts.sum() >= 5).all()
    return bool(stats.chisquare(counts, law * counts.sum()).pvalue >= ALPHA)


def test_a_run_publishes_categories_and_numbers_by_their_laws():
    attributes = {
        "site": {"kind": "categorical", "values": SITES},
        "age": {"kind": "numerical", "bounds": [17, 90], "grid": {"step": 10}},
        "dose": {"kind": "numerical", "bounds": [0, 2], "grid": {"count": 4}, "decimals": 1, "missing": "category"},
    }
    agreement = agreement_with(attributes, 3, {"site": 2, "age": 3, "dose": 4, "bit": 1})
    records = published(agreement, {"site": "d", "age": 40, "dose": 1.5, "bit": "yes"}, RECORDS, 2)
    sites = records["site"].value_counts().reindex(SITES).to_numpy()
    assert fits(sites, response_law(0.6, 5, 3))
    assert fits(records["bit"].value_counts().reindex(["no", "yes"]).to_numpy(), response_law(0.3, 2, 1))
    ages = np.bincount(records["age"].to_numpy(np.int64) - 17, minlength=74)
    assert fits(ages, clipped_laplace_law(73 / 0.9, 73, 23))
    doses, is_missing = records["dose"].dropna(), int(records["dose"].isna().sum())
    assert fits(np.array([RECORDS - is_missing, is_missing]), response_law(0.6, 2, 0))
    steps = np.rint(doses.to_numpy() * 10).astype(np.int64)
    assert fits(np.bincount(steps, minlength=21), clipped_laplace_law(20 / 0.6, 20, 15))
    # And the checks can fail: the same counts against laws that are 30 % off.
    for off in (0.7, 1.3):
        assert not fits(sites, response_law(0.6 * off, 5, 3))
        assert not fits(ages, clipped_laplace_law(off * 73 / 0.9, 73, 23))


@pytest.mark.parametrize("off", [Fraction(7, 10), Fraction(13, 10)])
def test_samplers_that_are_30_percent_off_are_rejected(off: Fraction):
    coins = SeededCoins(8)
    category = PerturbCategory(label="site", budget=Fraction(3, 5) * off, n_values=5)
    counts = np.bincount(perturb_categories(np.full(RECORDS, 3), category, coins), minlength=5)
    assert not fits(counts, response_law(0.6, 5, 3))
    number = PerturbNumber(label="age", budget=Fraction(9, 10) * off, steps=73, step=1.0)
    counts = np.bincount(perturb_numbers(np.full(RECORDS, 23), number, coins), minlength=74)
    assert not fits(counts, clipped_laplace_law(73 / 0.9, 73, 23))


def success_of_attack(bits: np.ndarray, kept: np.ndarray, truth: int) -> float:
    """How often the likelihood test on 14 copies names the bit; rows are people, ties are half right."""
    log_ratios = np.log(kept / (1 - kept))
    evidence = (np.where(bits == 1, 1, -1) * log_ratios).sum(axis=1) * (1 if truth else -1)
    return float(np.mean((evidence > 1e-9) + 0.5 * (np.abs(evidence) <= 1e-9)))


def allowed(epsilon: float) -> float:
    """The largest chance of naming the right one of two equally likely values."""
    return math.exp(epsilon) / (1 + math.exp(epsilon))


@pytest.mark.parametrize("is_skewed", [False, True])
def test_fourteen_copies_of_a_bit_tell_an_attacker_no_more_than_epsilon_allows(is_skewed: bool):
    copies = [f"copy{number}" for number in range(13)]
    attributes = {name: {"kind": "categorical", "values": ["no", "yes"]} for name in copies}
    weights = {**dict.fromkeys(copies, "0.001"), "bit": 1000} if is_skewed else None
    agreement = agreement_with(attributes, 1, weights)
    shares = np.array([1e-6] * 13 + [1]) if is_skewed else np.ones(14)
    kept = np.array([allowed(epsilon) for epsilon in shares / shares.sum()])
    found = []
    for truth, value in enumerate(["no", "yes"]):
        records = published(agreement, dict.fromkeys([*copies, "bit"], value), ATTACKED, 3 + truth)
        found.append(success_of_attack((records == "yes").to_numpy().astype(int), kept, truth))
    success, error = np.mean(found), 0.5 / math.sqrt(2 * ATTACKED)
    expected = allowed(1) if is_skewed else 1 - stats.binom.cdf(7, 14, kept[0]) + stats.binom.pmf(7, 14, kept[0]) / 2
    assert abs(success - expected) <= STANDARD_ERRORS * error
    assert success <= allowed(1) + STANDARD_ERRORS * error


def test_with_a_whole_epsilon_for_every_copy_the_attacker_would_succeed_in_96_of_100_cases():
    """As if budgets did not add up: then the bound of a release with epsilon 1, 0.731, is far exceeded."""
    law, coins = PerturbCategory(label="copy", budget=Fraction(1), n_values=2), SeededCoins(9)
    bits = np.stack([perturb_categories(np.ones(ATTACKED, dtype=np.int64), law, coins) for _ in range(14)], axis=1)
    success = success_of_attack(bits, np.full(14, allowed(1)), 1)
    expected = 1 - stats.binom.cdf(7, 14, allowed(1)) + stats.binom.pmf(7, 14, allowed(1)) / 2
    assert success == pytest.approx(expected, abs=0.01) and expected == pytest.approx(0.964, abs=0.001)
    assert success > allowed(1) + STANDARD_ERRORS * 0.5 / math.sqrt(ATTACKED)
