"""The noisy maximum: tournaments of any width find the maximum, ties go to the lowest index, only the index is left.

Statistical check: chi-square at 10^-6 of the bits of 6,000 words, which fails falsely in one of a million runs.
"""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from copublish.kernel.noise.geometric import Geometric
from copublish.kernel.programs import noise as programs
from copublish.kernel.programs.noise import blinds_of, handicaps, noisy_argmax, opened_index, tournament_maximum
from support import SeededCoins
from support.profiles import examples

WIDTHS = [1, 7, 40, 8192]


@pytest.fixture(params=WIDTHS)
def width(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many comparisons go into a round; groups follow from it."""
    monkeypatch.setattr(programs, "COMPARISONS_PER_ROUND", request.param)
    return request.param


@pytest.mark.parametrize(
    "shape", [(1,), (2,), (3,), (64,), (65,), (1, 100), (4, 3), (3, 5, 2), (3, 5, 7), (2, 1)], ids=str
)
def test_a_tournament_finds_the_maximum_of_every_row(width: int, shape: tuple[int, ...]) -> None:
    generator = np.random.default_rng(len(shape) * 1000 + shape[-1])
    for low, high in ((0, 3), (-(2**61), 2**61), (5, 6)):  # many ties, all that engines compare, all the same
        values = generator.integers(low, high, shape)
        rows = [max(row) for row in values.reshape(-1, shape[-1]).tolist()]
        assert tournament_maximum(np, values).ravel().tolist() == rows


@pytest.mark.parametrize("size", [2, 3, 4, 5])
@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_groups_of_any_size_find_every_order_of_values(n: int, size: int) -> None:
    for values in itertools.product(range(3), repeat=n):
        groups = [max(values[start : start + size]) for start in range(0, n, size)]
        assert programs._group_maxima(np, np.array(values), size).tolist() == groups


@given(st.lists(st.integers(0, 6), min_size=1, max_size=200), st.integers(0, 2**32), st.sampled_from(WIDTHS))
@examples(60)
def test_the_first_of_the_largest_noisy_scores_wins(scores: list[int], seed: int, width: int) -> None:
    noise, places = Geometric(Fraction(1, 2)), len(scores)
    words = np.random.default_rng(seed).integers(-(2**63), 2**63, size=noise.coin_shape(places), dtype=np.int64)
    drawn = programs.geometric(np, words, noise.threshold_planes).tolist()
    noisy = [score + drawn[place] for place, score in enumerate(scores)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(programs, "COMPARISONS_PER_ROUND", width)
        handicap = handicaps(np, words, planes=noise.threshold_planes, places=places)[0]
        opened = noisy_argmax(np, np.array(scores), handicap, SeededCoins(1).words((blinds_of(places),)))
    assert opened_index(opened, places) == noisy.index(max(noisy))


def test_selections_whose_noise_is_drawn_together_get_the_noise_they_would_get_alone() -> None:
    noise = Geometric(Fraction(1, 7))
    words = np.random.default_rng(3).integers(-(2**63), 2**63, size=(5, *noise.coin_shape(70)), dtype=np.int64)
    together = handicaps(np, *words, planes=noise.threshold_planes, places=70)
    alone = [handicaps(np, part, planes=noise.threshold_planes, places=70)[0] for part in words]
    assert np.array_equal(together, np.stack(alone))
    assert len(np.unique(together, axis=0)) == 5


@pytest.mark.parametrize("places", [1, 2, 3, 64, 65, 128, 129])
def test_what_is_opened_holds_the_index_and_nothing_of_the_score(places: int) -> None:
    """The same winner with any score and noise opens the same word, and all other words are sums of blinds."""
    for winner in {0, places // 2, places - 1}:
        opened = set()
        for score in (1, 77, 2**40):
            scores, handicap = np.zeros(places, dtype=np.int64), places - 1 - np.arange(places)
            scores[winner] = score
            words = noisy_argmax(np, scores, handicap + 1000 * 2**10, SeededCoins(1).words((blinds_of(places),)))
            assert opened_index(words, places) == winner
            bits = 64 - max(1, (places - 1).bit_length())
            opened.add(next(int(word) for word in words if int(word) % 2**bits == 0))
        assert len(opened) == 1


def losers_words(values: list[int], blinds: np.ndarray) -> np.ndarray:
    """What is opened of all values but the first, which is the largest."""
    return noisy_argmax(np, np.array(values), np.zeros(len(values), dtype=np.int64), blinds)[1:]


def test_words_of_losers_are_uniform_and_share_no_blind() -> None:
    """Whoever lost to one, to some or to all: bits come as often as coins do, and so do bits of two words together."""
    values, coins = [9, 3, 7, 1], SeededCoins(1)
    words = np.concatenate([losers_words(values, coins.words((6,)))[None] for _ in range(2000)])
    seen = [words, words[:, :1] ^ words[:, 1:], words[:, 1:2] + words[:, 2:]]
    ones = np.concatenate([(each[..., None] >> np.arange(64) & 1).sum(axis=0).ravel() for each in seen])
    statistic = ((ones - 1000) ** 2 / 500).sum()
    assert stats.chi2.sf(statistic, len(ones)) > 1e-6
    # Every blind goes to one word alone: to that of whoever lost the meeting.
    nothing = losers_words(values, np.zeros(6, dtype=np.int64))
    moved = np.array([losers_words(values, blind) != nothing for blind in np.eye(6, dtype=np.int64)])
    assert moved.sum(axis=1).tolist() == [1] * 6
    assert moved.sum(axis=0).tolist() == [2, 1, 3]


def test_a_second_word_that_looks_like_the_winners_is_not_read() -> None:
    words = noisy_argmax(np, np.array([5, 9]), np.array([1, 0]), np.zeros(1, dtype=np.int64))
    assert opened_index(words, 2) is None


def test_two_coins_and_their_thresholds_are_compared_by_one_and() -> None:
    """All pairs of bits against all pairs of threshold bits, against whole numbers."""
    for coins, threshold in itertools.product(range(4), repeat=2):
        words = np.array([[-(coins >> 1)], [-(coins & 1)]], dtype=np.int64)
        planes = np.array([[-(threshold >> 1)], [-(threshold & 1)]], dtype=np.int64)
        below, equal = programs._pairs_below(words, planes)
        assert (below.item(), equal.item()) == (-(coins < threshold), -(coins == threshold))
