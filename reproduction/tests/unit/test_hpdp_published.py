"""HPDP-DP as published: scatter, components, generation, Paillier with factors, and what they show."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import integrate, stats

from copublish.errors import AgreementError
from copublish_reproduction.findings_views import delta_of_half_noise
from copublish_reproduction.hpdp import (
    SMALLEST_VARIANCE,
    Hpdp,
    Model,
    first_that_reaches,
    gamma_scale,
    label_by_share,
    noise_share,
    principal_components,
    scatter_matrix,
    split_at_random,
)
from copublish_reproduction.hpdp_attacks import (
    gaussian_epsilon,
    loss_between_records,
    lost_scatter,
    share_traced,
    share_traced_when_drawn_anew,
)
from copublish_reproduction.hpdp_noise import (
    residual_delta,
    residual_density,
    residual_epsilon,
    scatter_change,
    structured_sensitivity,
)
from copublish_reproduction.hpdp_paillier import PaillierSum, deal, strip_factor
from paillier_moments import measure_paillier_moments

KEY_BITS = 512


@pytest.fixture(scope="module")
def table():
    """Records whose columns depend on each other, the last one a class."""
    generator = np.random.default_rng(3)
    factor = generator.random((240, 1))
    values = np.clip(0.6 * factor + 0.4 * generator.random((240, 6)), 0, 1)
    values[:, -1] = values[:, -1] > 0.55
    return values


class NoNoise:
    """Stands for a generator that adds nothing."""

    def gamma(self, shape, scale, size):
        return np.zeros(size)

    def normal(self, mean, deviation, size):
        return np.zeros(size)


def test_a_scatter_matrix_is_the_sum_of_products_around_the_mean(table):
    n, p = table.shape
    means = [sum(row[i] for row in table) / n for i in range(p)]
    for i, j in itertools.product(range(p), repeat=2):
        naive = sum((row[i] - means[i]) * (row[j] - means[j]) for row in table)
        assert scatter_matrix(table)[i, j] == pytest.approx(naive)


def test_the_printed_scale_is_that_of_the_proof_divided_by_the_owners():
    assert gamma_scale(52, 4, 0.5, "theorem") == 52 * 53 / 0.5
    assert gamma_scale(52, 4, 0.5, "printed") == 52 * 53 / 2
    assert gamma_scale(52, 4, math.inf, "theorem") == 0


def test_noise_is_symmetric_and_infinite_epsilon_means_none():
    share = noise_share(7, 3, 10.0, np.random.default_rng(0))
    assert (share == share.T).all()
    assert len(np.unique(share)) == 7 * 8 // 2
    assert not noise_share(7, 3, 0.0, np.random.default_rng(0)).any()


def test_the_first_k_that_reaches_c():
    values = np.array([5.0, 3.0, 1.0, 1.0])
    assert [first_that_reaches(values, c) for c in (0.4, 0.5, 0.8, 0.85, 0.9, 1.0)] == [1, 1, 2, 3, 3, 4]
    # Negative eigenvalues count in the sum as printed: 5 of 5 + 3 - 2 - 1 = 5 is all of it.
    assert first_that_reaches(np.array([5.0, 3.0, -2.0, -1.0]), 0.95) == 1
    # A negative sum: only the tail has ratios above 0.
    assert first_that_reaches(np.array([1.0, -2.0, -3.0]), 0.95) == 3


def test_components_are_those_of_a_singular_value_decomposition(table):
    """Of all records, each centered at its owner's mean: another way to the same numbers."""
    owners = [table[:100], table[100:]]
    centered = np.concatenate([values - values.mean(axis=0) for values in owners])
    _, singular, right = np.linalg.svd(centered)
    expected = singular**2 / len(table)
    model = Hpdp(math.inf, 0.9).fit(owners, np.random.default_rng(0))
    assert model.eigenvalues == pytest.approx(expected)
    k = next(k for k in range(1, 7) if expected[:k].sum() >= 0.9 * expected.sum())
    assert model.directions.shape == (6, k)
    assert np.abs(np.diag(right[:k] @ model.directions)) == pytest.approx(np.ones(k))
    assert model.variance == pytest.approx(expected[k:].mean())
    assert not model.is_floored


def test_a_variance_that_is_not_positive_is_floored_and_told():
    model = principal_components(np.diag([4.0, 0.5, -1.0]), 0.95)
    assert (model.directions.shape[1], model.variance, model.is_floored) == (1, SMALLEST_VARIANCE, True)
    whole = principal_components(np.diag([4.0, 0.5]), 1.0)  # k = p: 0/0
    assert (whole.variance, whole.is_floored) == (SMALLEST_VARIANCE, True)
    assert not principal_components(np.diag([4.0, 0.5, 0.1]), 0.9).is_floored


def test_a_synthetic_record_is_its_own_raw_record_sent_through_the_components(table):
    """S = X U, W = U (Lambda - sigma^2)^(1/2), and the owner's exact mean: entry by entry."""
    owners = [table[:100], table[100:]]
    published = Hpdp(1.0, 0.9, n_components=2).publish(owners, NoNoise())
    model = published.model
    for row, raw in enumerate(table):
        owner = owners[row >= 100]
        for column in range(5):
            value = owner[:, column].mean()
            for c in range(2):
                score = sum(raw[i] * model.directions[i, c] for i in range(6))
                weight = math.sqrt(model.eigenvalues[c] - model.eigenvalues[2:].mean())
                value += score * model.directions[column, c] * weight
            assert published.values[row, column] == pytest.approx(value)


def test_every_owner_keeps_its_share_of_the_class(table):
    owners = split_at_random(table, 4, np.random.default_rng(1))
    published = Hpdp(0.5, 0.9).publish(owners, np.random.default_rng(2)).values
    parts = np.split(published[:, -1], np.cumsum([len(values) for values in owners])[:-1])
    assert [part.sum() for part in parts] == [values[:, -1].sum() for values in owners]
    assert label_by_share(np.array([0.3, -2.0, 7.0, 0.2]), 0.5).tolist() == [1, 0, 1, 0]


def test_owners_hold_each_record_once(table):
    owners = split_at_random(table, 7, np.random.default_rng(1))
    assert {len(values) for values in owners} == {34, 35}
    assert sorted(map(tuple, np.concatenate(owners))) == sorted(map(tuple, table))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda t: Hpdp(0.0, 0.9), "epsilon must be positive"),
        (lambda t: Hpdp(1.0, 1.5), r"c must be in \(0, 1\], got c = 1.5"),
        (lambda t: Hpdp(1.0, 0.9, n_components=0), "k must be at least 1"),
        (lambda t: Hpdp(1.0, 0.9).fit([t], NoNoise()), "at least 2 owners, got 1"),
        (lambda t: Hpdp(1.0, 0.9).fit([t, t[:0]], NoNoise()), "every owner needs records"),
        (lambda t: Hpdp(1.0, 0.9).fit([t, t[:, 1:]], NoNoise()), "same columns"),
        (lambda t: Hpdp(1.0, 0.9, n_components=7).fit([t, t], NoNoise()), "at most the number of columns, 6"),
    ],
)
def test_bad_input_is_refused(table, make, message):
    with pytest.raises(AgreementError, match=message):
        make(table)


# Paillier and the factors.


@pytest.fixture(scope="module")
def dealt():
    return deal(3, KEY_BITS)


def matrices(n=3, p=3):
    return list(np.random.default_rng(5).normal(0, 1000, (n, p, p)))


def test_the_curator_decrypts_the_sum_of_signed_numbers(dealt):
    owners, curator = dealt
    sent = [owner.encrypt(matrix) for owner, matrix in zip(owners, matrices(), strict=True)]
    assert np.abs(curator.add(sent) - np.sum(matrices(), axis=0)).max() <= 3 * 2**-21


def test_factors_hide_an_owner_until_they_are_complete(dealt):
    """One owner is left out: without its factor the rest decrypts to nonsense."""
    owners, curator = dealt
    sent = [owner.encrypt(matrix) for owner, matrix in zip(owners, matrices(), strict=True)]
    assert np.abs(curator.add(sent[:2]) - np.sum(matrices()[:2], axis=0)).min() > 1e6
    assert abs(curator.decrypt_number(int(sent[0][0, 0])) - matrices()[0][0, 0]) > 1e6


def test_the_curator_strips_the_factor_from_one_owners_message(dealt):
    owners, curator = dealt
    secret = matrices()[1]
    found = strip_factor(curator, owners[1].encrypt(secret))
    assert found == pytest.approx(secret - secret[0, 0], abs=2**-20)


def test_the_attack_fails_where_every_entry_has_its_own_factor(dealt):
    owners, curator = dealt
    secret = matrices()[1]
    square = owners[0].public_key.nsquare
    sent = owners[1].encrypt(secret)
    for number, place in enumerate(np.ndindex(3, 3)):
        sent[place] = sent[place] * pow(12345 + number, 3, square) % square
    wrong = np.abs(strip_factor(curator, sent) - (secret - secret[0, 0])).flat[1:]
    assert min(wrong) > 1e6


def test_encryption_changes_nothing_but_the_last_digits(table):
    owners = [table[:100, 3:], table[100:, 3:]]
    mechanism = Hpdp(1.0, 0.9)
    clear = mechanism.fit(owners, np.random.default_rng(8))
    encrypted = mechanism.fit(owners, np.random.default_rng(8), PaillierSum(KEY_BITS))
    assert encrypted.eigenvalues == pytest.approx(clear.eigenvalues, abs=1e-6)


def test_the_benchmark_scales_a_slice_up_to_all_entries():
    cost = measure_paillier_moments(columns=30, owners=2, sliced_entries=2, key_bits=KEY_BITS)
    assert cost.owner_mib == 900 * 128 / 2**20  # a number modulo the square of 512 bits has 128 bytes
    assert cost.curator_mib == 2 * cost.owner_mib
    assert cost.owner_seconds == pytest.approx(900 * cost.milliseconds_per_encryption / 1000)
    per_sum = 2 * cost.milliseconds_per_product + cost.milliseconds_per_decryption
    assert cost.curator_seconds == pytest.approx(900 * per_sum / 1000)
    assert cost.processor_seconds == pytest.approx(2 * cost.owner_seconds + cost.curator_seconds)


# Sensitivity and noise that is left.


def test_the_change_of_a_scatter_matrix_has_a_closed_form():
    generator = np.random.default_rng(6)
    for n in (2, 5, 30):
        others, x, y = generator.random((n - 1, 4)), generator.random(4), generator.random(4)
        m = others.mean(axis=0)
        change = (n - 1) / n * (np.outer(x - m, x - m) - np.outer(y - m, y - m))
        assert scatter_change(others, x, y) == pytest.approx(np.abs(np.triu(change)).sum())


def test_half_of_the_printed_sensitivity_bounds_every_change_and_is_reached():
    """All tables of corners of the square with three records."""
    corners = [np.array(corner, dtype=float) for corner in itertools.product((0, 1), repeat=2)]
    changes = [
        scatter_change(np.array([a, b]), x, y) for a, b, x, y in itertools.product(corners, corners, corners, corners)
    ]
    assert max(changes) == pytest.approx(2 / 3 * 2 * 3 / 2)
    generator = np.random.default_rng(7)
    for _ in range(200):
        table = np.rint(generator.random((6, 3))) if generator.random() < 0.5 else generator.random((6, 3))
        assert scatter_change(table[2:], table[0], table[1]) <= 4 / 5 * 3 * 4 / 2 + 1e-9


def test_structured_sensitivity_is_the_worst_corner():
    """Two centered columns and one group of three: what one record adds, for every corner."""
    added = []
    for centered in itertools.product((-0.5, 0.0, 0.5), repeat=2):
        for group in np.eye(3):
            y = np.array([*centered, *group])
            added.append(np.abs(np.triu(np.outer(y, y))).sum() + np.abs(centered).sum() + 1)
    assert structured_sensitivity(2, 1) == pytest.approx(max(added))
    assert structured_sensitivity(9, 5) == 54.25
    assert structured_sensitivity(52, 0) == pytest.approx(52 * 53 / 8 + 52 / 2 + 1)


@pytest.mark.parametrize("shape", [0.6, 0.9])
def test_the_density_of_what_is_left_is_a_convolution(shape):
    for x in (0.3, -5.0):
        naive, _ = integrate.quad(
            lambda t, x=x: stats.gamma.pdf(t + abs(x), shape, scale=2) * stats.gamma.pdf(t, shape, scale=2), 0, np.inf
        )
        assert residual_density(np.array([x]), shape, 2.0)[0] == pytest.approx(naive, rel=1e-5)


@pytest.mark.parametrize(
    ("owners", "found"), [(3, (0.59, 1.32, 1.99)), (5, (0.27, 0.84, 1.44)), (50, (0.11, 0.52, 1.03))]
)
def test_an_owner_that_knows_its_share_faces_more_than_promised(owners, found):
    """The worst ratio over a grid of outcomes; the printed numbers come from another computation."""
    for promise, number in zip((0.1, 0.5, 1.0), found, strict=True):
        assert round(residual_epsilon(owners, promise), 2) == number
        x = np.linspace(-30, 30, 6001)
        shape = (owners - 1) / owners
        ratios = residual_density(x, shape, 1 / promise) / residual_density(x - 1, shape, 1 / promise)
        assert np.log(ratios.max()) == pytest.approx(residual_epsilon(owners, promise), rel=1e-6)
    assert residual_epsilon(2, 0.1) == math.inf


def test_nothing_is_lost_where_all_of_the_noise_is_left():
    """Shape 1 is Laplace: epsilon is kept with delta 0."""
    assert residual_delta(1.0, 0.7) == pytest.approx(0, abs=1e-6)
    assert residual_density(np.array([0.0, 3.0]), 1.0, 2.0) == pytest.approx([0.25, math.exp(-1.5) / 4])


def test_delta_for_a_curator_with_all_other_owners():
    """Of two owners, what a half of four squares leaves, computed elsewhere; of ten, a mean over samples.

    Delta is the mean of max(0, 1 - e^epsilon f(x - 1) / f(x)); within five standard errors of 20,000.
    """
    assert residual_delta(1 / 2, 1.0) == pytest.approx(delta_of_half_noise(2.0, 1.0), abs=1e-4)
    first, second = np.random.default_rng(44).gamma(1 / 10, 1.0, (2, 20_000))
    x = first - second
    ratios = residual_density(x - 1, 1 / 10, 1.0) / residual_density(x, 1 / 10, 1.0)
    gains = np.maximum(0, 1 - math.e * ratios)
    assert residual_delta(1 / 10, 1.0) == pytest.approx(gains.mean(), abs=5 * gains.std() / math.sqrt(20_000))


# What synthetic records show.


def test_gaussian_epsilon_is_that_of_the_densities():
    for shift, epsilon in ((0.5, 1.0), (1.0, 3.0), (3.0, 6.0)):
        delta, _ = integrate.quad(
            lambda x, s=shift, e=epsilon: max(0.0, stats.norm.pdf(x, s) - math.exp(e) * stats.norm.pdf(x)),
            epsilon / shift + shift / 2,  # from where the first one is larger
            40,
        )
        assert gaussian_epsilon(shift, delta) == pytest.approx(epsilon, rel=1e-4)
    assert gaussian_epsilon(1e-9, 1e-5) == 0
    # Without the second term, which is small, epsilon is s^2/2 + s z: no overflow at e^418.
    assert gaussian_epsilon(25.0, 1e-5) == pytest.approx(25**2 / 2 + 25 * stats.norm.isf(1e-5), rel=0.005)


def owners_of(generator):
    values = generator.random((1000, 8))
    return [values[:400], values[400:]]


def test_synthetic_records_are_traced_and_records_drawn_anew_are_not():
    """By chance 1 in 1000 of 300 records: more than 5 has a probability below 10^-5."""
    generator = np.random.default_rng(9)
    owners = owners_of(generator)
    model = Hpdp(math.inf, 0.9, n_components=3).fit(owners, generator)
    quiet = Model(model.eigenvalues, model.directions, 1e-9, is_floored=True)
    assert share_traced(quiet, owners, 300, generator) > 0.99
    assert share_traced(model, owners, 300, generator) < 0.5
    assert share_traced_when_drawn_anew(quiet, owners, 300, generator) <= 5 / 300


def test_two_records_are_as_far_apart_as_their_images():
    generator = np.random.default_rng(10)
    values = np.array([[0.0, 0.0], [1.0, 0.0]])
    model = Model(np.array([1.25, 0.25]), np.array([[1.0], [0.0]]), 0.25, is_floored=False)
    losses = loss_between_records(model, values, 50, 1e-5, generator)
    assert 10 < len(losses) < 40  # a pair of the same record has no loss to tell
    assert losses == pytest.approx(np.full(len(losses), gaussian_epsilon(2.0, 1e-5)))


def test_local_centering_loses_the_scatter_between_owners():
    generator = np.random.default_rng(11)
    owners = [generator.random((n, 3)) + shift for n, shift in ((50, 0.0), (150, 0.4), (20, -0.3))]
    pooled = np.concatenate(owners)
    mean = pooled.mean(axis=0)
    between = sum(len(v) * float(((v.mean(axis=0) - mean) ** 2).sum()) for v in owners)
    total = float(((pooled - mean) ** 2).sum())
    lost = lost_scatter(owners)
    assert lost.share == pytest.approx(between / total)
    assert 0 <= lost.cosine <= 1
    assert 0 < lost.top_eigenvalue < 1
    same = lost_scatter([pooled[:0], pooled])
    assert (same.share, same.top_eigenvalue, same.cosine) == pytest.approx((0, 1, 1))
