"""Audits play the operating system's own words, as a release does, so they accuse a generator that is broken.

Bytes are seeded (`conftest.py`), so tests pass always or never. With fresh ones a sound part, audited twice if accused,
would be accused with probability 10^-6, and each broken one is missed far more rarely.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from support.audits import not_accused
from support.broken_generators import constant, draws_repeat, rows_repeat, system_words_by
from support.broken_mechanisms import CHOSEN, COUNTS, SUMS, part_of

LEVEL = 0.001
"""Of a verdict."""

CHOSEN_TABLE = part_of(replace(COUNTS, entries=64), [5] * 64, [6] + [5] * 63)
"""Counts as `marginals` measures a chosen table: with places that pad it to 64."""


@pytest.mark.parametrize(
    ("part", "fault", "runs"),
    [
        (CHOSEN_TABLE, rows_repeat, 20),
        (CHOSEN_TABLE, draws_repeat, 20),
        (CHOSEN_TABLE, constant, 20),
        (CHOSEN, draws_repeat, 500),
        (SUMS, draws_repeat, 200),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_disclosure_with_the_words_of_a_broken_generator_is_accused(part, fault, runs) -> None:
    assert not_accused(partial(part.audit, runs)).p_value > LEVEL
    with system_words_by(fault):
        assert part.audit(runs).p_value < LEVEL / 10


def test_words_that_repeat_in_halves_take_all_noise_of_a_chosen_table() -> None:
    """Why it matters: a table is opened as it is."""
    with system_words_by(rows_repeat):
        assert CHOSEN_TABLE.opened([CHOSEN_TABLE.measured[1]])[0].tolist() == [6] + [5] * 63
