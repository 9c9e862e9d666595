"""What owners that collude learn from masked sums, the aggregator among them: epsilon holds for t and not for t + 1.

Exact: worst log-ratio of the law of the noise that is left, for neighbors that differ by one in one count.
Sampled: 3 * 10^4 entries opened by real engines, every view computed from the messages that a coalition gets and sends.
Test: chi-square against the closed form, on seeded coins. Error rate: 10^-4 for each of the 9 views that must fit.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import signal, stats
from test_shared_noise import ALPHA, discrete_laplace_law, p_value

from copublish.agreement.protocol.table import MASK_KEY
from copublish.engines.masked_sums import WORD, MaskedSumEngine, key_stream, pair_key
from copublish.kernel.noise.shared_laplace import NoiseShares, SharedLaplace
from copublish.kernel.programs.packing import Packing
from copublish.kernel.secrets.secret import SecretCounts
from support import SeededCoins
from support.messages import Post, all_of

SIZES = [(2, 1), (3, 1), (3, 2), (5, 2)]
"""Owners, and how many of them may collude. The first owner is the aggregator."""

ENTRIES = 30_000


def coalitions(owners: int, members: int) -> list[tuple[str, ...]]:
    """Every coalition of so many owners that the aggregator is in."""
    others = [f"p{number}" for number in range(1, owners)]
    return [("p0", *some) for some in itertools.combinations(others, members - 1)]


def loss(shape: float, rate: float) -> float:
    """Worst log-ratio of NB(shape) - NB(shape) and the same shifted by one; it is largest at 0 or far out."""
    reach = math.ceil(60 / rate)
    one = stats.nbinom(shape, 1 - math.exp(-rate)).pmf(np.arange(reach))
    law = signal.fftconvolve(one, one[::-1])
    seen = law[law > 1e-7 * law.max()]  # beyond, the transform's error is seen
    return float(np.abs(np.diff(np.log(seen))).max())


@pytest.mark.parametrize(("owners", "colluders"), SIZES)
@pytest.mark.parametrize("rate", [Fraction(1), Fraction(1, 10)])
def test_epsilon_holds_against_t_owners_with_the_aggregator_among_them_and_not_against_one_more(
    owners, colluders, rate
):
    noise = SharedLaplace(rate, NoiseShares(tuple(f"p{number}" for number in range(owners)), colluders))
    for coalition in coalitions(owners, colluders):
        left = owners - len(coalition)
        assert loss(left * float(noise.shape), float(rate)) == pytest.approx(float(rate), rel=1e-4)  # and never more
    for coalition in coalitions(owners, colluders + 1):
        left = owners - len(coalition)
        assert left == 0 or loss(left * float(noise.shape), float(rate)) > 1.2 * float(rate)


def test_what_one_colluder_too_many_costs_three_owners_is_as_the_decision_says():
    """An aggregator that owns data and one other owner, where t = 1."""
    assert loss(1 / 2, 1.0) == pytest.approx(1.7, abs=0.05)
    assert loss(1 / 2, 0.1) / 0.1 == pytest.approx(6, abs=0.3)


def opened(names: tuple[str, ...], noise: SharedLaplace) -> Post:
    """Open zeros by masked sums between all owners, the first of whom adds up; return every message."""
    post = Post(names)

    def job(messenger):
        coins = SeededCoins(1000 * len(names) + 10 * noise.shares.colluders + names.index(messenger.party))
        engine = MaskedSumEngine(messenger, names, names[0], coins)
        counts = SecretCounts(engine.share(np.zeros((ENTRIES, 1), dtype=np.int64)), Packing(1))
        return engine._open(engine.add_noise(counts, noise, offset=0))

    all_of(post.run(job))
    return post


def view(post: Post, coalition: tuple[str, ...]) -> np.ndarray:
    """Sum of what all others sent, without the masks that the coalition knows: those of others cancel in it."""
    parts = {(sender, to): content for sender, to, topic, content in post.sent if topic == MASK_KEY.topic}
    sums = {sender: content for sender, to, topic, content in post.sent if topic.startswith("masked") and to == "p0"}
    total = np.zeros(ENTRIES, dtype=np.uint64)
    for other in (party for party in post.parties if party not in coalition):
        total += np.frombuffer(sums[other], dtype=WORD).astype(np.uint64)
        for member in coalition:
            key = pair_key(other, parts[other, member], member, parts[member, other], post.parties)
            mask = key_stream(key, 1, ENTRIES)
            total = total - mask if post.parties.index(other) < post.parties.index(member) else total + mask
    return total.view(np.int64)


@pytest.mark.parametrize(("owners", "colluders"), SIZES)
def test_a_coalition_with_the_aggregator_sees_the_full_noise_of_the_others_and_one_more_owner_sees_less(
    owners, colluders
):
    names, rate = tuple(f"p{number}" for number in range(owners)), Fraction(1, 4)
    post = opened(names, SharedLaplace(rate, NoiseShares(names, colluders)))
    law = discrete_laplace_law(float(rate))
    for coalition in coalitions(owners, colluders):
        assert p_value(view(post, coalition), law, 200) > ALPHA, coalition
    for coalition in coalitions(owners, colluders + 1):
        assert p_value(view(post, coalition), law, 200) < ALPHA, coalition


def test_one_other_owner_s_sums_stay_hidden_from_a_coalition_that_leaves_two_out():
    """The masks of pairs of others are unknown to it: what a single one of them sent looks uniform."""
    names = ("p0", "p1", "p2")
    post = opened(names, SharedLaplace(Fraction(1), NoiseShares(names, 1)))
    both = Post(names)
    both.sent = [message for message in post.sent if message[0] != "p2" or not message[2].startswith("masked")]
    both.sent += [("p2", "p0", "masked", bytes(8 * ENTRIES))]
    alone = view(both, ("p0",)).view(np.uint64)
    high = np.bincount((alone >> np.uint64(60)).astype(np.int64), minlength=16)
    assert stats.chisquare(high).pvalue > ALPHA
