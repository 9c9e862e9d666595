"""The source of all noise and masks itself: fresh words of full width, none of them given out twice.

Two of n words of a sound generator are equal with probability below n^2 / 2^65. At most 2^20 words are compared here,
so a test fails falsely with probability below 2^-25. Bits are counted at 8 deviations, 64 of them: 10^-13.
"""

from __future__ import annotations

import math
import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from copublish.engines.ideal import Room
from copublish.kernel.noise.geometric import SystemCoins
from support import SeededCoins
from support.broken_generators import (
    biased_bit,
    constant,
    counter,
    draws_repeat,
    halves_repeat,
    narrow,
    rows_repeat,
    stuck_bit,
    system_words_by,
)

SHAPES: list[tuple[int, ...]] = [
    (),
    (0,),
    (1,),
    (7,),
    (64,),
    (62, 9, 1),
    (62, 9, 2),
    (62, 13, 40),
    (3, 0, 2),
    (2,) * 10,
]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_word_is_the_next_eight_bytes_of_the_operating_system(shape, monkeypatch) -> None:
    """Whatever the shape is: as many bytes as it takes, each used once, in order."""
    given = bytearray()

    def urandom(n: int) -> bytes:
        given.extend(made := np.random.default_rng(len(given)).bytes(n))
        return made

    monkeypatch.setattr(os, "urandom", urandom)
    drawn = [SystemCoins().words(shape) for _ in range(3)]
    assert all(words.shape == shape and words.dtype == np.int64 for words in drawn)
    assert len(given) == 3 * 8 * math.prod(shape)
    assert b"".join(words.tobytes() for words in drawn) == bytes(given)


def all_different(drawn: list[np.ndarray]) -> bool:
    words = np.concatenate([np.ravel(words) for words in drawn])
    return len(np.unique(words)) == len(words)


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if math.prod(shape)], ids=str)
def test_no_word_comes_twice_within_a_call_or_in_another_one(shape) -> None:
    one, other = SystemCoins(), SystemCoins()
    assert all_different([source.words(shape) for source in (one, one, other, one, other)])


def test_every_bit_of_a_word_is_fair_and_so_is_every_pair_of_bits() -> None:
    n = 20_000
    words = SystemCoins().words((n,)).view(np.uint8)
    bits = np.unpackbits(words).reshape(n, 64).astype(np.int64) * 2 - 1
    together = np.abs(bits.T @ bits) / math.sqrt(n)  # the diagonal is n, and what is beside it has deviation 1
    assert np.abs(bits.sum(axis=0)).max() < 8 * math.sqrt(n)
    assert together[~np.eye(64, dtype=bool)].max() < 8
    assert np.abs((bits[1:] * bits[:-1]).sum(axis=0)).max() < 8 * math.sqrt(n)


def test_a_process_that_was_forked_draws_other_words_than_its_parent() -> None:
    source = SystemCoins()
    before = source.words((100,))
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, source.words((100,)).tobytes())
        os._exit(0)
    os.close(writing)
    after = source.words((100,))
    with os.fdopen(reading, "rb") as pipe:
        in_child = np.frombuffer(pipe.read(), np.int64)
    assert os.waitpid(child, 0)[1] == 0 and len(in_child) == 100
    assert all_different([before, after, in_child])


def test_threads_that_draw_at_once_draw_other_words() -> None:
    source = SystemCoins()
    with ThreadPoolExecutor(4) as pool:
        assert all_different(list(pool.map(source.words, [(1000,)] * 16)))


def test_parties_of_a_run_have_other_words_unless_coins_are_given() -> None:
    def words(coins: Any) -> list[np.ndarray]:
        room = Room(("p0", "p1", "p2"), coins)
        return list(room.run(lambda engine: engine.own_coins.words((50,))).values())

    assert all_different(words(None))
    assert not all_different(words({party: SeededCoins(1) for party in ("p0", "p1", "p2")}))


@pytest.mark.parametrize("fault", [rows_repeat, halves_repeat, draws_repeat, constant, counter])
def test_words_that_repeat_are_noticed(fault) -> None:
    with system_words_by(fault), pytest.raises(AssertionError):
        test_no_word_comes_twice_within_a_call_or_in_another_one((62, 9, 2))


@pytest.mark.parametrize("fault", [narrow, stuck_bit, biased_bit, constant, counter])
def test_bits_that_are_not_fair_are_noticed(fault) -> None:
    with system_words_by(fault), pytest.raises(AssertionError):
        test_every_bit_of_a_word_is_fair_and_so_is_every_pair_of_bits()
