"""HPDP-DP on the real Adult table, where a copy of the data lies beside the project.

Expected numbers were computed by a separate script from formulas, not by this package. Seeds are fixed.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from copublish_reproduction.datasets import load_dataset
from copublish_reproduction.hpdp import Hpdp, principal_components, scatter_matrix, split_at_random
from copublish_reproduction.hpdp_attacks import lost_scatter, share_traced, share_traced_when_drawn_anew
from copublish_reproduction.hpdp_sets import adult_records

DATA = Path(__file__).parents[4] / "shared" / "data"
pytestmark = pytest.mark.skipif(not (DATA / "adult.data").exists(), reason="needs the user's own copy of the data")


@pytest.fixture(scope="module")
def dataset():
    return load_dataset("adult", DATA)


@pytest.fixture(scope="module")
def values(dataset):
    return adult_records(dataset.train, dataset.taxonomies(), "salary", "one-hot").values


def test_adult_has_52_columns_in_bits_and_48_one_hot(dataset, values):
    assert adult_records(dataset.train, dataset.taxonomies(), "salary", "bits").values.shape == (30_162, 52)
    assert values.shape == (30_162, 48)


def test_the_generative_model_shrinks_the_variances(values):
    model = principal_components(scatter_matrix(values) / len(values), 0.95)
    synthetic = model.generate(values, np.random.default_rng(0))
    assert model.eigenvalues.sum() == pytest.approx(3.55, abs=0.005)
    assert np.trace(scatter_matrix(synthetic)) / len(values) == pytest.approx(1.37, abs=0.01)


def test_owners_of_one_marital_status_lose_the_scatter_between_them(dataset, values):
    married = (dataset.train["marital-status"] == "Married-civ-spouse").to_numpy()
    lost = lost_scatter([values[married], values[~married]])
    assert (lost.share, lost.top_eigenvalue, lost.cosine) == pytest.approx((0.21, 0.36, 0.12), abs=0.005)
    at_random = lost_scatter(split_at_random(values, 2, np.random.default_rng(0)))
    assert at_random.share < 0.001
    assert at_random.cosine > 0.999


def test_with_the_noise_that_the_proof_needs_half_of_the_eigenvalues_are_negative(values):
    generator = np.random.default_rng(45)
    mechanism = Hpdp(0.5, 0.95, "theorem")
    model = mechanism.fit(split_at_random(values, 3, generator), generator)
    assert 20 <= (model.eigenvalues < 0).sum() <= 26
    exact = Hpdp(math.inf, 0.95).fit(split_at_random(values, 3, generator), generator)
    assert (exact.eigenvalues > -1e-9).all()


def test_one_synthetic_record_in_ten_is_traced_among_30162(values):
    """Of 150 records 10 % is 15, with a standard deviation of 3.7; by chance none would be."""
    generator = np.random.default_rng(41)
    model = principal_components(scatter_matrix(values) / len(values), 0.95)
    assert 0.03 < share_traced(model, [values], 150, generator) < 0.2
    assert share_traced_when_drawn_anew(model, [values], 150, generator) == 0
