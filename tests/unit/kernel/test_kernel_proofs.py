"""What docs/proofs proves, tried on all small cases in whole numbers and fractions: no chance and no rounding.

Laws have a rational p in the place of e^-rate, so that e^epsilon is rational, too, and "at most" means at most. Other
tests show that the samplers have those laws (test_geometric.py, test_discrete_gaussian.py, tests/statistical).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from math import prod
from types import SimpleNamespace

import numpy as np
import pytest

from copublish.agreement.protocol.shapes import MAX_RECORDS
from copublish.kernel.accounting.perturbations import PerturbNumber
from copublish.kernel.noise.discrete_gaussian import MAX_SIZE_BITS, DiscreteGaussian
from copublish.kernel.programs.noise import blinds_of, noisy_argmax, opened_index, selection_fits
from copublish.mechanisms.copula.plan import products_l1
from copublish.mechanisms.marginals import measurements
from copublish.mechanisms.marginals import run_tables as run_scores
from copublish.mechanisms.marginals.measurements import SCORE_RANGE
from copublish.mechanisms.marginals.run_tables import candidate_scores, count_bits, places_of_tables
from copublish.mechanisms.marginals.settings import MAX_COLUMNS, MAX_TABLE_CELLS
from copublish.mechanisms.specialization.run_scores import CandidateScores
from copublish.mechanisms.specialization.score_programs import balanced_gains, max_scores, tv_gains
from copublish.mechanisms.vhdp import run as run_perturbation

Law = dict[int, Fraction]

# --- Selection ---


@cache
def winner_law(scores: tuple[int, ...], p: Fraction) -> tuple[Fraction, ...]:
    """The exact law of the first largest score plus geometric noise.

    Candidate i wins with noise z iff every other j has noise of at most z + d_j, where d_j = u_i - u_j, or one less for
    j < i. That has probability 1 - p^(z + d_j + 1), or 0 below. The product is a sum over subsets of geometric series.
    """
    law = []
    for i, own in enumerate(scores):
        room = [own - other - (j < i) for j, other in enumerate(scores) if j != i]
        least = max(0, *(-d for d in room))
        total = Fraction(0)
        for n in range(len(room) + 1):
            for chosen in itertools.combinations(room, n):
                series = p ** (least * (1 + n)) / (1 - p ** (1 + n))
                total += (-1) ** n * prod((p ** (d + 1) for d in chosen), start=Fraction(1)) * series
        law.append((1 - p) * total)
    return tuple(law)


def worst_ratio(p: Fraction, most: int, score_range: int) -> Fraction:
    """The largest ratio of a winner's probabilities over all scores of three candidates and all neighbors.

    Adding one number to all scores changes nothing, so the smallest change may be taken as 0.
    """
    worst = Fraction(0)
    for scores in itertools.product(range(most + 1), repeat=3):
        for change in itertools.product(range(score_range + 1), repeat=3):
            before, after = winner_law(scores, p), winner_law(tuple(np.add(scores, change).tolist()), p)
            worst = max(worst, *(max(a / b, b / a) for a, b in zip(before, after, strict=True)))
    return worst


@pytest.mark.parametrize("scores", [(0, 0), (2, 0, 1), (0, 3, 3), (1, 1, 1, 1)])
def test_the_exact_law_of_a_winner_is_that_of_enumerated_noise(scores: tuple[int, ...]) -> None:
    p, most = Fraction(1, 3), 9
    found = [Fraction(0)] * len(scores)
    for noise in itertools.product(range(most), repeat=len(scores)):
        noisy = [u + z for u, z in zip(scores, noise, strict=True)]
        found[noisy.index(max(noisy))] += prod((1 - p) * p**z for z in noise)
    left_out = 1 - sum(found)
    assert sum(winner_law(scores, p)) == 1 and 0 < left_out < Fraction(1, 1000)
    assert all(seen <= exact <= seen + left_out for seen, exact in zip(found, winner_law(scores, p), strict=True))


@pytest.mark.parametrize("score_range", [1, 2, 4])
@pytest.mark.parametrize("p", [Fraction(1, 2), Fraction(2, 3)])
def test_no_scores_and_no_neighbor_give_a_winner_more_than_the_range_allows_and_some_attain_it(p, score_range) -> None:
    assert worst_ratio(p, 3, score_range) == p**-score_range


def test_a_range_that_is_one_too_small_is_noticed() -> None:
    p = Fraction(1, 2)
    assert worst_ratio(p, 1, 2) > p**-1


# --- What a sampler's distance costs ---


def sampled_law(p: Fraction, bits: int, coin_bits: int) -> tuple[Law, Fraction]:
    """The law of a geometric variable from rounded coins, exactly, and the bound on its distance by the formula."""
    law: Law = {0: Fraction(1)}
    for i in range(bits):
        exact = p ** (2**i) / (1 + p ** (2**i))
        one = Fraction(round(exact * 2**coin_bits), 2**coin_bits)
        law = {value + bit * 2**i: mass * (one if bit else 1 - one) for value, mass in law.items() for bit in (0, 1)}
    return law, p ** (2**bits) + bits * Fraction(1, 2 ** (coin_bits + 1))


COARSE = [(1, 2), (2, 2), (2, 4), (3, 3)]
"""So few bits and coins that the distance is large enough to be seen."""


def excess(one: Law, other: Law, factor: Fraction) -> Fraction:
    """The smallest delta with which `one` is within a factor of `other`."""
    return sum((max(Fraction(0), mass - factor * other.get(value, 0)) for value, mass in one.items()), Fraction(0))


@pytest.mark.parametrize(("bits", "coin_bits"), COARSE)
def test_a_selection_with_rounded_coins_keeps_the_stated_delta(bits: int, coin_bits: int) -> None:
    p, candidates = Fraction(1, 2), 2
    noise, distance = sampled_law(p, bits, coin_bits)
    assert excess(noise, {z: (1 - p) * p**z for z in noise}, Fraction(1)) <= distance  # the law's own distance

    def law(scores: Sequence[int]) -> Law:
        found: Law = {}
        for drawn in itertools.product(noise, repeat=candidates):
            noisy = [u + z for u, z in zip(scores, drawn, strict=True)]
            winner = noisy.index(max(noisy))
            found[winner] = found.get(winner, Fraction(0)) + prod(noise[z] for z in drawn)
        return found

    worst = Fraction(0)
    for scores in itertools.product(range(4), repeat=candidates):
        for change in itertools.product(range(2), repeat=candidates):
            pair = law(scores), law(np.add(scores, change).tolist())
            worst = max(worst, excess(*pair, 1 / p), excess(*reversed(pair), 1 / p))
    assert 0 < worst <= (1 + 1 / p) * candidates * distance  # without the charge it would not hold


@pytest.mark.parametrize(("bits", "coin_bits"), COARSE)
def test_a_measurement_with_rounded_coins_keeps_the_stated_delta(bits: int, coin_bits: int) -> None:
    """Two entries of which one changes; the noise of the other is the same whatever the sampler."""
    p = Fraction(1, 2)
    one_sided, distance = sampled_law(p, bits, coin_bits)
    noise: Law = {}
    for a, b in itertools.product(one_sided, repeat=2):
        noise[a - b] = noise.get(a - b, Fraction(0)) + one_sided[a] * one_sided[b]

    def law(counts: Sequence[int]) -> Law:
        pairs = itertools.product(noise, repeat=2)
        return {64 * (counts[0] + x) + counts[1] + y: noise[x] * noise[y] for x, y in pairs}

    found = [excess(law(before), law(after), 1 / p) for before, after in (((0, 0), (1, 0)), ((1, 0), (0, 0)))]
    assert 0 < max(found) <= (1 + 1 / p) * 2 * distance


def test_laplace_noise_on_counts_has_a_ratio_of_at_most_the_l1_change_and_attains_it() -> None:
    p, counts = Fraction(2, 3), list(itertools.product(range(3), repeat=2))

    def mass(seen: Sequence[int], true: Sequence[int]) -> Fraction:
        return prod(((1 - p) / (1 + p) * p ** abs(x - c) for x, c in zip(seen, true, strict=True)), start=Fraction(1))

    for before, after in itertools.product(counts, repeat=2):
        l1 = sum(abs(a - b) for a, b in zip(before, after, strict=True))
        ratios = [mass(seen, before) / mass(seen, after) for seen in itertools.product(range(-2, 5), repeat=2)]
        assert max(ratios) == p**-l1


# --- Scores of specialization ---


def nodes(classes: int, most: int) -> np.ndarray:
    return np.array(list(itertools.product(range(most + 1), repeat=classes)), dtype=np.int64)


def pairs_of_children(classes: int, most: int) -> np.ndarray:
    """Every candidate with two children, shape (n, 2, classes)."""
    return np.array(list(itertools.product(nodes(classes, most), repeat=2)))


def wholes(classes: int, total: int) -> Iterator[tuple[int, ...]]:
    """Whole numbers that add up."""
    yield from (part for part in itertools.product(range(total + 1), repeat=classes) if sum(part) == total)


def changes(program, counts: np.ndarray, of_class: int, **public: np.ndarray) -> np.ndarray:
    """What a record of a class adds to the score of every candidate, in whose first child it is."""
    more = counts.copy()
    more[:, 0, of_class] += 1
    return program(np, more, **public) - program(np, counts, **public)


@pytest.mark.parametrize(("classes", "most"), [(2, 4), (3, 2)])
def test_a_record_adds_0_or_1_to_every_max_score(classes: int, most: int) -> None:
    counts = pairs_of_children(classes, most)
    assert {int(c) for k in range(classes) for c in changes(max_scores, counts, k)} == {0, 1}


@pytest.mark.parametrize(("classes", "most", "q"), [(2, 4, 6), (3, 2, 4)])
def test_a_record_moves_a_tv_gain_by_twice_what_its_class_lacks_and_gains_are_not_negative(classes, most, q) -> None:
    counts = pairs_of_children(classes, most)
    for shares in wholes(classes, q):
        public = np.array(shares)
        assert tv_gains(np, counts, public).min() >= 0  # so places without a candidate lose
        for k in range(classes):
            assert np.abs(changes(tv_gains, counts, k, shares=public)).max() <= 2 * (q - shares[k])
    assert np.abs(changes(tv_gains, counts, 0, shares=np.array([1, *[0] * (classes - 2), q - 1]))).max() > q - 1


@pytest.mark.parametrize(("classes", "most", "q"), [(2, 4, 6), (3, 2, 3)])
def test_a_record_moves_a_balanced_gain_by_its_class_weight_and_gains_are_not_negative(classes, most, q) -> None:
    counts, attained = pairs_of_children(classes, most), set()
    for weights in itertools.product(range(1, q + 1), repeat=classes):
        public = np.array(weights)
        assert balanced_gains(np, counts, public).min() >= 0
        for k in range(classes):
            moved = changes(balanced_gains, counts, k, weights=public)
            assert np.abs(moved).max() <= weights[k]
            attained |= {(int(moved.min()), int(moved.max()))}
    assert (-q, q) in attained


@pytest.mark.parametrize(("points", "noise_bits", "index_bits"), [(64, 40, 14), (1, 34, 20)], ids=["gains", "max"])
@pytest.mark.parametrize("parties", [2, 3, 16])
def test_whatever_scores_and_counts_parties_put_in_stay_within_the_room_of_a_selection(
    points: int, noise_bits: int, index_bits: int, parties: int
) -> None:
    """As long as a selection's noise has at most so many bits: a scale of more than 150 million people."""
    scores = SimpleNamespace(
        computer=SimpleNamespace(parties=("party",) * parties),
        score=SimpleNamespace(points_per_person=points),
        never_wins=-(2**noise_bits) - 1,
        _most_children=5,
        table=SimpleNamespace(agreement=SimpleNamespace(class_domain=SimpleNamespace(size=7))),
    )
    own = parties * 2 ** (CandidateScores._score_bits.func(scores) - 1)
    assert own // parties > 2**noise_bits  # it holds the score that never wins
    counts = 5 * 7 * parties * 2 ** (CandidateScores._count_bits.func(scores) - 1)
    gain = 2 * points * counts
    assert gain <= MAX_RECORDS * points // 2
    assert selection_fits(2**index_bits, MAX_RECORDS * points, noise_bits)
    assert (own + gain + 2**noise_bits) * 2**index_bits <= 2**62


@pytest.mark.parametrize("classes", [2, 3])
def test_a_gain_of_any_counts_is_at_most_twice_their_sum_in_size(classes: int) -> None:
    """Counts below 0 are nobody's, but a party may put them in."""
    counts = np.array(list(itertools.product(range(-2, 3), repeat=2 * classes))).reshape(-1, 2, classes)
    size = np.abs(counts).sum(axis=(1, 2))
    for shares in wholes(classes, 4):
        assert (np.abs(tv_gains(np, counts, np.array(shares))) <= 2 * 4 * size).all()
    for weights in itertools.product((1, 2, 4), repeat=classes):
        assert (np.abs(balanced_gains(np, counts, np.array(weights))) <= 2 * 4 * size).all()
    assert (np.abs(max_scores(np, counts)) <= 2 * size).all()


# --- Scores of marginals ---

TABLES = list(itertools.combinations(range(3), 2))
"""All pairs of three columns with two values each."""


def contributions() -> np.ndarray:
    """What one record can add to the tables: 1 to a cell of each, or to some of them only, where it is a null row."""
    found = {}
    for record in itertools.product(range(2), repeat=3):
        for counted in itertools.product((0, 1), repeat=len(TABLES)):
            added = np.zeros((len(TABLES), 4), dtype=np.int64)
            for number, (one, other) in enumerate(TABLES):
                added[number, 2 * record[one] + record[other]] = counted[number]
            found[added.tobytes()] = added.ravel()
    return np.array(list(found.values()))


def distances(counts: np.ndarray, answers: np.ndarray) -> np.ndarray:
    """Scores of the program for many data sets at once: shape (n, 12) to (n, 3)."""
    n, cells = len(counts), [4] * (len(counts) * len(TABLES))
    offsets = np.zeros(len(cells) + 1, dtype=np.int64)
    places = places_of_tables(cells)
    scores = candidate_scores(np, counts.reshape(-1, 1), np.tile(answers, n), offsets, places, first=0)
    return scores[:-1].reshape(n, len(TABLES))


def widest(before: np.ndarray, after: np.ndarray) -> int:
    """How far scores come apart; that of choosing none stays as it is."""
    moved = after - before
    moved = np.concatenate([moved, np.zeros_like(moved[..., :1])], axis=-1)
    return int((moved.max(axis=-1) - moved.min(axis=-1)).max())


def test_scores_of_all_small_tables_come_apart_by_the_stated_range_and_no_more() -> None:
    records, generator, found = contributions(), np.random.default_rng(1), {"add-remove": 0, "replace": 0}
    bases = [np.zeros(12, dtype=np.int64), *records, *(a + b for a, b in itertools.combinations(records[::3], 2))]
    for answers in [np.zeros(12, dtype=np.int64), np.ones(12, dtype=np.int64), *generator.integers(0, 4, (6, 12))]:
        for base in bases:
            with_record, without = distances(base + records, answers), distances(base[None, :], answers)
            found["add-remove"] = max(found["add-remove"], widest(without, with_record))
            found["replace"] = max(found["replace"], widest(with_record[:, None, :], with_record[None, :, :]))
    assert found == SCORE_RANGE


def test_squared_distances_would_come_apart_further() -> None:
    """So the search sees more than ones."""
    records = contributions()
    base, answers = 3 * records[-1], np.zeros(12, dtype=np.int64)
    squares = [(((base + added - answers) ** 2).reshape(3, 4)).sum(axis=1) for added in (records[-1], 0 * records[-1])]
    assert widest(squares[1][None, :], squares[0][None, :]) > SCORE_RANGE["add-remove"]


@pytest.mark.parametrize("parties", [2, 3, 16, 496])
@pytest.mark.parametrize("cells", [1, 64, 1000, MAX_TABLE_CELLS])
def test_whatever_parties_put_in_scores_stay_within_the_room_of_a_selection(parties: int, cells: int) -> None:
    table = cells * parties * 2 ** (count_bits([1, cells], parties) - 1)
    assert table <= run_scores.LARGEST_TABLE
    score = 2 * table + parties * 2 ** (run_scores.OFFSET_BITS - 1)
    assert parties > 16 or score <= run_scores.LARGEST_SCORE
    candidates = MAX_COLUMNS * (MAX_COLUMNS - 1) // 2 + 1
    noise_bits = max(bits for bits in range(62) if selection_fits(candidates, run_scores.LARGEST_SCORE, bits))
    assert (score + 2**noise_bits) * 2 ** (candidates - 1).bit_length() <= 2**62


def test_the_largest_scores_and_noise_are_ranked_as_whole_numbers_of_any_size_are() -> None:
    candidates, noise_bits = 2017, 50
    assert selection_fits(candidates, run_scores.LARGEST_SCORE, noise_bits)
    assert not selection_fits(candidates, run_scores.LARGEST_SCORE, noise_bits + 1)
    largest, most = run_scores.LARGEST_SCORE, 2**noise_bits - 1
    for scores, noise in (
        ([-largest, largest, largest], [most, most, most]),
        ([largest, -largest, largest - 1], [0, most, 1]),
        ([-largest] * 3, [0, 0, 1]),
    ):
        padded, drawn = [*scores, *[-largest] * (candidates - 3)], [*noise, *[0] * (candidates - 3)]
        handicap = [z * 2**11 + candidates - 1 - place for place, z in enumerate(drawn)]
        blinds = np.random.default_rng(7).integers(-(2**63), 2**63, blinds_of(candidates))
        index = opened_index(noisy_argmax(np, np.array(padded), np.array(handicap), blinds), candidates)
        noisy = [u + z for u, z in zip(padded, drawn, strict=True)]
        assert index == noisy.index(max(noisy))


# --- Sums of products ---


@pytest.mark.parametrize("columns", [2, 3, 4])
def test_replacing_moves_products_as_far_as_adding_or_up_to_twice_and_larger_limits_move_them_further(columns) -> None:
    for limits in itertools.product(range(1, 5), repeat=columns):
        moved = products_l1(limits)
        assert moved["add-remove"] <= moved["replace"] <= 2 * moved["add-remove"]
        most = products_l1([4] * columns)
        assert all(moved[relation] <= most[relation] for relation in moved)


# --- Perturbed numbers ---


def published_law(cell: int, steps: int, p: Fraction, keeps: Fraction, monkeypatch: pytest.MonkeyPatch) -> Law:
    """The exact law of what the code publishes of a number; -1 is a missing one.

    Noise beyond the bounds has the same effect as noise that just reaches them, so its tails are two values.
    """
    law, found = PerturbNumber(label="x", budget=Fraction(1), steps=steps, step=1.0, missing=True), {}
    tail = p**steps / (1 + p)
    masses = {z: tail if abs(z) == steps else (1 - p) / (1 + p) * p ** abs(z) for z in range(-steps, steps + 1)}
    assert sum(masses.values()) == 1
    for (noise, mass), flips in itertools.product(masses.items(), (0, 1)):
        monkeypatch.setattr(run_perturbation, "_laplace", lambda *_, noise=noise: np.array([noise]))
        monkeypatch.setattr(run_perturbation, "_respond", lambda codes, *_, flips=flips: codes ^ flips)
        seen = int(run_perturbation.perturb_numbers(np.array([cell]), law, None)[0])
        found[seen] = found.get(seen, Fraction(0)) + mass * (1 - keeps if flips else keeps)
    return found


def test_a_number_that_may_be_missing_keeps_its_budget_whatever_it_is_replaced_by(monkeypatch) -> None:
    """Half of the budget for the flag and half for the noise: e^(epsilon / 2) is p^-steps for both."""
    p, steps = Fraction(1, 2), 4
    half = p**-steps
    laws = {cell: published_law(cell, steps, p, half / (1 + half), monkeypatch) for cell in range(-1, steps + 1)}
    worst = max(one[v] / other[v] for one, other in itertools.permutations(laws.values(), 2) for v in one)
    assert all(law.keys() == set(range(steps + 2)) for law in laws.values())
    assert half < worst <= half**2  # one half alone would not pay for both


# --- Noise in shares ---

DEGREE = 12


def times(a: list[Fraction], b: list[Fraction]) -> list[Fraction]:
    """The product of two power series, up to a degree."""
    return [sum((a[i] * b[n - i] for i in range(n + 1)), Fraction(0)) for n in range(DEGREE)]


def negative_binomial(shape: Fraction, p: Fraction) -> list[Fraction]:
    """Coefficients of (1 - p z)^-shape: the law of NB(shape, p) but for the factor (1 - p)^shape."""
    found = [Fraction(1)]
    for k in range(1, DEGREE):
        found.append(found[-1] * (shape + k - 1) / k * p)
    return found


@pytest.mark.parametrize("owners", [2, 3, 7])
def test_as_many_shares_as_are_honest_make_up_the_geometric_law_exactly_and_one_fewer_does_not(owners: int) -> None:
    p = Fraction(2, 5)
    share, total = negative_binomial(Fraction(1, owners), p), [Fraction(1), *[Fraction(0)] * (DEGREE - 1)]
    for number in range(1, owners + 1):
        total = times(total, share)
        assert (total == [p**k for k in range(DEGREE)]) == (number == owners)


@pytest.mark.parametrize("shape", [Fraction(1), Fraction(1, 2), Fraction(1, 9)])
def test_jumps_that_are_drawn_in_blocks_and_kept_have_the_negative_binomial_law(shape: Fraction) -> None:
    """Jumps of k come at the rate (shape / 2^j) (2^j / k) p^k; exp of their generating function is the law."""
    p = Fraction(2, 5)
    rates = [Fraction(0)]
    for k in range(1, DEGREE):
        block = 2 ** (k.bit_length() - 1)
        rates.append(shape / block * Fraction(block, k) * prod(p ** (2**i) for i in range(8) if k >> i & 1))
    power, total = [Fraction(1), *[Fraction(0)] * (DEGREE - 1)], [Fraction(0)] * DEGREE
    for n in range(DEGREE):  # the series of exp
        total = [a + b for a, b in zip(total, power, strict=True)]
        power = [value / (n + 1) for value in times(power, rates)]
    assert total == negative_binomial(shape, p)


# --- Discrete Gaussian noise ---


@pytest.mark.parametrize("h", [Fraction(1, 2), Fraction(4, 5)])
@pytest.mark.parametrize("d", [2, 3, 5])
def test_a_shifted_sum_of_gaussian_weights_is_never_larger(h: Fraction, d: int) -> None:
    """Weights h^((d x - j)^2) over all whole x, for every shift j / d: the one step that needs more than algebra."""
    reach = 6 * d

    def between(j: int) -> tuple[Fraction, Fraction]:
        """The sum over |d x - j| <= reach, and the same with a bound on what is left out."""
        inside = sum((h ** ((d * x - j) ** 2) for x in range(-20, 21) if abs(d * x - j) <= reach), Fraction(0))
        return inside, inside + 2 * h ** (reach**2) / (1 - h**reach)

    for j in range(1, d):
        assert between(j)[1] < between(0)[0]


def test_the_exponents_of_a_renyi_divergence_are_a_shifted_square_and_a_constant() -> None:
    for alpha in (Fraction(3, 2), Fraction(2), Fraction(7, 3)):
        for x, change in itertools.product(range(-4, 5), range(-2, 3)):
            square = (x - (1 - alpha) * change) ** 2
            assert alpha * x**2 + (1 - alpha) * (x - change) ** 2 == square - alpha * (alpha - 1) * change**2


def test_the_candidates_that_a_budget_of_rho_counts_are_at_least_those_that_are_drawn() -> None:
    small, large = DiscreteGaussian(1, 1), DiscreteGaussian(1000, 1000)
    for entries in range(1, 20_000):
        drawn = max(small.candidates(entries), large.candidates(entries))
        assert drawn <= measurements._candidates_for_noise(entries)
    assert small.candidates(1000) > measurements._candidates_for_noise(900)  # a tenth fewer would not do
    most_bits = MAX_SIZE_BITS + 2 * MAX_SIZE_BITS
    assert Fraction(1, 2**64) + most_bits * Fraction(1, 2**63) < measurements.DISTANCE_OF_A_DRAW / 2
