"""Masked sums: masks cancel, the aggregator sees nothing, and who deviates, leaves or asks for more gets an error."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from copublish.agreement.protocol.table import MASK_KEY
from copublish.engines.masked_sums import MaskedSumEngine, key_stream, mask_of, pair_key
from copublish.errors import EngineError, PartyLostError, ProgramMismatchError
from copublish.kernel.noise.geometric import geometric_noise
from copublish.kernel.noise.shared_laplace import NoiseShares, SharedLaplace
from copublish.kernel.programs.packing import Packing
from copublish.kernel.secrets.secret import Secret, SecretCounts
from support import ConstantCoins, SeededCoins
from support.messages import Post, QueueMessenger, all_of
from support.profiles import examples

ALPHA = 1e-8
"""Masks come from the operating system and have no seed: uniform words fail one of the 30 checks with 3 * 10^-7."""

Job = Callable[[MaskedSumEngine], Any]


def names(n: int) -> tuple[str, ...]:
    return tuple(f"p{number}" for number in range(n))


def noise_of(owners: tuple[str, ...], rate: Fraction = Fraction(1, 3)) -> SharedLaplace:
    return SharedLaplace(rate, NoiseShares(owners, 1))


def opened(engine: MaskedSumEngine, local: np.ndarray, owners: tuple[str, ...], offset: int = 0) -> np.ndarray:
    counts = SecretCounts(engine.share(local.reshape(-1, 1)), Packing(1))
    return engine._open(engine.add_noise(counts, noise_of(owners), offset=offset))


def run(post: Post, owners: tuple[str, ...], aggregator: str, job: Job, coins: Any = None) -> dict[str, Any]:
    def one(messenger: QueueMessenger) -> Any:
        return job(MaskedSumEngine(messenger, owners, aggregator, (coins or {}).get(messenger.party, ConstantCoins(1))))

    return post.run(one)


@given(st.integers(2, 9), st.integers(0, 60), st.integers(1, 2**80), st.randoms())
def test_masks_cancel_for_any_owners_and_shapes_and_for_no_part_of_them(n, size, opening, random):
    owners = names(n)
    keys: dict[str, dict[str, bytes]] = {owner: {} for owner in owners}
    for one, other in combinations(owners, 2):
        parts = random.randbytes(32), random.randbytes(32)
        keys[one][other] = pair_key(one, parts[0], other, parts[1], owners)
        keys[other][one] = pair_key(other, parts[1], one, parts[0], owners)
    masks = [mask_of(owner, owners, keys[owner], opening, size) for owner in owners]
    assert not np.sum(masks, axis=0, dtype=np.uint64).any()
    if size > 1:
        assert all(np.sum(masks[:m], axis=0, dtype=np.uint64).any() for m in range(1, n))


def test_every_pair_list_of_owners_and_opening_has_masks_of_its_own():
    a, b = bytes(32), bytes([1]) * 32
    keys = [
        pair_key("x", a, "y", b, ("x", "y")),
        pair_key("x", b, "y", a, ("x", "y")),
        pair_key("x", a, "z", b, ("x", "y")),
        pair_key("x", a, "y", b, ("x", "y", "z")),
        pair_key("x", a, "y", b, ("y", "x")),
    ]
    assert len(set(keys)) == len(keys)
    streams = {key_stream(keys[0], opening, 4).tobytes() for opening in (1, 2, 256, 2**64 + 1)}
    assert len(streams) == 4


@examples(15)
@given(st.sampled_from([2, 3, 5]), st.booleans(), st.lists(st.integers(-(2**61), 2**61), min_size=1, max_size=5))
def test_everyone_gets_the_sum_of_the_owners_parts_with_an_offset_once(n, with_helper, values):
    owners = names(n)
    parties = (*owners, "helper") if with_helper else owners
    local = np.array(values, dtype=np.int64) // n

    def job(engine: MaskedSumEngine) -> np.ndarray:
        first = opened(engine, local if engine.party in owners else np.full_like(local, 10**9), owners, offset=2**20)
        again = opened(engine, local * 0, owners)
        assert not again.any()
        return first

    outcomes = all_of(run(Post(parties), owners, parties[-1], job))
    for sums in outcomes.values():
        assert sums.ravel().tolist() == [n * int(value) + 2**20 for value in local]


@pytest.mark.parametrize("aggregator", ["p2", "helper"])
def test_what_reaches_the_aggregator_is_uniform_and_different_every_time(aggregator):
    """Zeros are sent, twice. Without masks the words would all be 0."""
    owners, parties, n = names(3), (*names(3), "helper"), 4000
    post = Post(parties)

    def job(engine: MaskedSumEngine) -> None:
        for _ in range(2):
            assert not opened(engine, np.zeros(n, dtype=np.int64), owners).any()

    all_of(run(post, owners, aggregator, job))
    seen = [
        np.frombuffer(content, "<u8")
        for _, to, topic, content in post.sent
        if to == aggregator and topic.startswith("masked")
    ]
    assert len(seen) == 2 * len([owner for owner in owners if owner != aggregator])
    for words in seen:
        for shift in (0, 28, 60):
            counts = np.bincount((words >> np.uint64(shift)).astype(np.int64) & 15, minlength=16)
            assert stats.chisquare(counts).pvalue > ALPHA
    for one, other in combinations(seen, 2):
        difference = one - other
        assert len(np.unique(difference)) == n  # neither a mask used twice nor a pair that cancels
    keys = [content for _, _, topic, content in post.sent if topic == MASK_KEY.topic]
    assert len(set(keys)) == len(keys) == 6
    assert not any(to == "helper" for _, to, topic, _ in post.sent if topic == MASK_KEY.topic)


def test_the_coins_of_every_owner_count_and_those_of_a_helper_do_not():
    owners, parties = names(2), (*names(2), "helper")

    def noise(seeds: dict[str, int]) -> list[int]:
        coins = {party: SeededCoins(seed) for party, seed in seeds.items()}
        job = lambda engine: opened(engine, np.zeros(30, dtype=np.int64), owners).ravel().tolist()  # noqa: E731
        return all_of(run(Post(parties), owners, "helper", job, coins))["p0"]

    first = noise({"p0": 1, "p1": 2, "helper": 3})
    assert first == noise({"p0": 1, "p1": 2, "helper": 4})
    assert first != noise({"p0": 1, "p1": 5, "helper": 3})
    assert first != noise({"p0": 6, "p1": 2, "helper": 3})


@pytest.mark.parametrize("noise", [geometric_noise(Fraction(1)), noise_of(("p0", "p2"))], ids=["joint", "of others"])
def test_noise_that_is_not_in_shares_of_the_owners_is_refused_with_what_works_and_nothing_is_sent(noise):
    post = Post(names(2))
    engine = MaskedSumEngine(post.messenger("p0"), names(2), "p0")
    counts = SecretCounts(engine.share(np.zeros((2, 1), dtype=np.int64)), Packing(1))
    with pytest.raises(EngineError, match=r"only sums of what every owner counts alone.*'spu'"):
        engine.add_noise(counts, noise, offset=0)
    assert post.sent == []


def test_sums_without_noise_or_with_noise_twice_are_not_opened():
    owners, post = names(2), Post(names(2))
    engine = MaskedSumEngine(post.messenger("p0"), owners, "p1")
    plain = engine.share(np.zeros((2, 1), dtype=np.int64))
    with pytest.raises(EngineError, match="no noise"):
        engine._open(plain)
    assert post.sent == []

    def job(engine: MaskedSumEngine) -> None:
        secret = engine.share(np.zeros((2, 1), dtype=np.int64))
        noisy = engine.add_noise(SecretCounts(secret, Packing(1)), noise_of(owners), offset=0)
        engine.add_noise(SecretCounts(noisy, Packing(1)), noise_of(owners), offset=0)

    with pytest.raises(EngineError, match="noise already"):
        all_of(run(Post(owners), owners, "p0", job))


def test_counts_that_share_an_element_get_no_shares():
    owners = names(2)

    def job(engine: MaskedSumEngine) -> Secret:
        counts = SecretCounts(engine.share(np.zeros((2, 1), dtype=np.int64)), Packing(3, 3))
        return engine.add_noise(counts, noise_of(owners), offset=0)

    with pytest.raises(EngineError, match="one by one"):
        all_of(run(Post(owners), owners, "p0", job))


@pytest.mark.parametrize("leaver", ["p0", "p1", "helper"])
@pytest.mark.parametrize("openings_before", [0, 1])
def test_whoever_drops_out_is_a_lost_party_to_everyone_else(leaver, openings_before):
    owners, parties = names(2), (*names(2), "helper")

    def job(engine: MaskedSumEngine) -> str:
        for _ in range(openings_before):
            opened(engine, np.ones(3, dtype=np.int64), owners)
        if engine.party == leaver:
            return "left"
        opened(engine, np.ones(3, dtype=np.int64), owners)
        return "opened"

    outcomes = run(Post(parties), owners, "helper", job)
    assert outcomes.pop(leaver) == "left"
    assert all(isinstance(outcome, PartyLostError) for outcome in outcomes.values()), outcomes


def test_parties_that_open_different_shapes_stop():
    owners = names(3)
    job = lambda engine: opened(engine, np.zeros(2 + (engine.party == "p1"), dtype=np.int64), owners)  # noqa: E731
    outcomes = run(Post(owners), owners, "p0", job)
    assert isinstance(outcomes["p0"], ProgramMismatchError)
    assert all(isinstance(outcome, EngineError) for outcome in outcomes.values())


class Tampering(QueueMessenger):
    """Sends other bytes than it should about some topic."""

    def __init__(self, inner: QueueMessenger, topic: str, to: str, content: bytes) -> None:
        super().__init__(inner._post, inner.party)
        self._about = topic, to, content

    def send(self, to: str, message: Any, content: bytes) -> None:
        wrong = message.topic.startswith(self._about[0]) and to == self._about[1]
        super().send(to, message, self._about[2] if wrong else content)


@pytest.mark.parametrize(
    ("liar", "topic", "to", "content", "message"),
    [
        ("p0", "masked sum", "p2", bytes(24), "different sums"),
        ("p0", "masked sum", "p2", bytes(16), "another number of sums"),
        ("p1", "masked sum", "p0", b"", "another number of sums"),
        ("p1", "part of a key", "p2", b"short", "something else as 'part of a key' than 32 bytes"),
    ],
)
def test_an_aggregator_that_tells_different_sums_or_a_malformed_message_ends_the_run(liar, topic, to, content, message):
    owners = names(3)

    def one(messenger: QueueMessenger) -> np.ndarray:
        if messenger.party == liar:
            messenger = Tampering(messenger, topic, to, content)
        engine = MaskedSumEngine(messenger, owners, "p0", ConstantCoins(1))
        return opened(engine, np.ones(3, dtype=np.int64), owners)

    outcomes = Post(owners).run(one)
    assert all(isinstance(outcome, EngineError) for outcome in outcomes.values()), outcomes
    assert message in str(outcomes[to])


def test_an_engine_needs_two_owners_and_an_aggregator_among_the_parties():
    messenger = Post(names(2)).messenger("p0")
    for owners, aggregator in ((("p0",), "p1"), (names(2), "nobody"), (("p0", "x"), "p1")):
        with pytest.raises(EngineError, match="two or more owners"):
            MaskedSumEngine(messenger, owners, aggregator)
