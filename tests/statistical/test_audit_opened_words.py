"""Audits see the words that a selection opens beside its index, and accuse masks that hide less than all of them.

Bytes are seeded (`conftest.py`), so tests pass always or never. With fresh ones sound words, audited twice if accused,
would be accused with probability 10^-6.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import copublish as cp
from copublish.engines.ideal import IdealEngine
from copublish.kernel.noise.geometric import SystemCoins
from copublish.tools.auditing import audit as auditing
from copublish.tools.auditing.audit import RUNS_OF_WORDS
from copublish.tools.auditing.opened_words import audit_words, nibbles_of, words_of_selections
from copublish.tools.auditing.tables import valid_pairs
from support.audits import not_accused
from support.broken_mechanisms import CHOICE, CHOSEN, SMALL, part_of

LEVEL = 0.001


def masks(own: Callable[[Any, tuple[int, ...]], np.ndarray]) -> Callable[..., Any]:
    """Masks to which every party puts in what a function of it says."""
    return lambda self, shape: self.share(own(self, shape))


def words(shape: tuple[int, ...]) -> np.ndarray:
    return SystemCoins().words(shape)


FAULTS: dict[str, Callable[..., Any]] = {
    "of one node only": masks(lambda self, shape: words(shape) * (self.party == self.parties[0])),
    "of 40 bits": masks(lambda self, shape: words(shape) & (2**40 - 1)),
    "with a byte that never changes": masks(lambda self, shape: words(shape) & ~np.int64(0xFF0000)),
    "of the first place for all": masks(lambda self, shape: np.repeat(words((1,)), shape[0])),
    "none": masks(lambda self, shape: np.zeros(shape, dtype=np.int64)),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_masks_that_hide_too_little_are_accused(fault: str) -> None:
    with patch.object(IdealEngine, "blinds", FAULTS[fault]):
        assert audit_words(CHOSEN, RUNS_OF_WORDS).p_value < LEVEL / 1000


def test_sound_masks_are_not_accused_and_show_nothing() -> None:
    tested = not_accused(partial(audit_words, CHOSEN, RUNS_OF_WORDS))
    assert tested.found == 0


def test_the_words_are_those_that_the_gate_opens_but_for_the_winners() -> None:
    opened = words_of_selections(CHOSEN, 50)
    assert opened.shape == (50, 2)
    masked = 2**62 - 1  # places are told by two bits, and all others are masked
    assert (opened & masked != 0).all()
    assert len(np.unique(opened)) == opened.size
    one_place = part_of(replace(CHOICE, candidates=1), [3], [4])
    assert audit_words(one_place, 10) is None


def test_words_that_were_not_masked_are_the_places_in_their_highest_bits() -> None:
    with patch.object(IdealEngine, "blinds", FAULTS["none"]):
        opened = words_of_selections(CHOSEN, 20).view(np.uint64)
    assert set((opened >> np.uint64(62)).ravel().tolist()) <= {0, 1, 2} and not (opened << np.uint64(2)).any()


def test_nibbles_spell_a_word() -> None:
    (told,) = nibbles_of(np.array([[0x0123456789ABCDEF, -1]]))
    assert told.tolist() == [*range(15, -1, -1), *[15] * 16]


def test_a_whole_audit_has_the_words_and_refutes_masks_of_one_node(monkeypatch: pytest.MonkeyPatch) -> None:
    agreement = cp.agreement_from_mapping(SMALL)
    few = [pair for pair in valid_pairs(agreement, "add-remove", SystemCoins()) if pair.base == "two points"][:1]
    for module in ("audit", "pair_choice"):
        monkeypatch.setattr(f"copublish.tools.auditing.{module}.valid_pairs", lambda *given: iter(few))
    monkeypatch.setattr(auditing, "_symbols", lambda *given: iter(()))
    monkeypatch.setattr(auditing, "FEWEST_RUNS", 300)

    def audited() -> Any:
        return cp.audit(agreement, runs=100, minutes=0.01, workers=0, secure_runs=0, views=["public"])

    found = audited()
    own = [made for made in found.disclosures if made.name.startswith("words that are opened beside the index")]
    assert len(own) == 1 and own[0].claim.epsilon == own[0].tested.found == 0
    with patch.object(IdealEngine, "blinds", FAULTS["of one node only"]):
        accused = audited()
    refuted = [made.name for made in accused.disclosures if made.verdict == "refuted"]
    assert len(refuted) == 1 and refuted[0].startswith("words that are opened beside the index")
    assert accused.verdict == "refuted"
