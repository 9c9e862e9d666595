"""The start-up test of the random generator: what is broken is refused before a run does anything, and no sound one."""

from __future__ import annotations

from contextlib import closing
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

import copublish as cp
from copublish.errors import GeneratorError
from copublish.kernel.ledger.ledger import Ledger, Limit
from copublish.kernel.noise.health import CALLS, LARGEST_COUNT, SHAPE, fault_of, refuse_broken_generator
from support import SeededCoins, fragment_frames, random_table, repartition, small_mapping
from support.broken_generators import FAULTS, biased_bit, narrow, stuck_bit, system_words_by

WORDS = CALLS * int(np.prod(SHAPE))


def test_at_least_as_many_samples_are_looked_at_as_the_standard_asks_for() -> None:
    assert WORDS == 1024 and CALLS > 1


def test_a_sound_generator_is_refused_less_than_once_in_two_to_the_43() -> None:
    some_two_are_equal = WORDS * (WORDS - 1) / 2 / 2.0**64
    some_bit_is_too_often_alike = 64 * 2 * binom.sf(LARGEST_COUNT - 1, WORDS, 0.5)  # ones, or zeros
    assert some_two_are_equal + some_bit_is_too_often_alike < 2.0**-43


def test_the_cutoff_is_that_of_the_standard_for_a_false_alarm_of_two_to_the_minus_50() -> None:
    """Section 4.4.2: 1 + critbinom(W, 2^-H, 1 - alpha), with W = 1,024 and H = 1; the first sample counts as well."""
    assert binom.sf(LARGEST_COUNT - 2, WORDS - 1, 0.5) <= 2.0**-50 < binom.sf(LARGEST_COUNT - 3, WORDS - 1, 0.5)


def test_a_sound_generator_passes() -> None:
    refuse_broken_generator()
    for seed in range(200):
        refuse_broken_generator(SeededCoins(seed))


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_a_broken_generator_is_refused_with_what_is_wrong(fault) -> None:
    said = "a bit had one value at least 640 times" if fault in (narrow, stuck_bit, biased_bit) else "a word came twice"
    with system_words_by(fault), pytest.raises(GeneratorError, match=said) as refused:
        refuse_broken_generator()
    assert "Nothing was compared, reserved or opened" in str(refused.value) and refused.value.exit_code == 8


def test_words_that_pass_one_by_one_and_come_in_a_later_draw_again_are_refused() -> None:
    words = SeededCoins(1).words((WORDS - 1,))
    assert fault_of([words]) is None
    assert fault_of([words, words[700:701]]) == f"a word came twice among {WORDS}"


def test_a_run_with_a_broken_generator_compares_reserves_and_opens_nothing(tmp_path: Path) -> None:
    agreement = cp.agreement_from_mapping(repartition(small_mapping(), "vertical"))
    generator = np.random.default_rng(1)
    frames = fragment_frames(agreement, random_table(agreement, 50, generator), generator)
    files = {party: tmp_path / f"{party}.db" for party in agreement.parties}
    heads = {}
    for party, file in files.items():
        with closing(Ledger(file)) as ledger:
            ledger.set_limit(agreement.dataset, Limit(Fraction(2), agreement.privacy.neighbors))
            heads[party] = ledger.head()

    def looked(party: str) -> tuple[bool, int, int]:
        with closing(Ledger(files[party])) as ledger:
            return ledger.head() == heads[party], len(ledger.entries()), len(ledger.alignments())

    with system_words_by(FAULTS[0]), pytest.raises(GeneratorError):
        cp.simulate(agreement, frames, ledger_files=files)
    assert {looked(party) for party in files} == {(True, 0, 0)}
    cp.simulate(agreement, frames, ledger_files=files)  # and with a sound one it would have
    assert {looked(party) for party in files} == {(False, 1, 1)}
