"""The secure engine itself: what it opens, what it refuses, and that messages do not depend on data.

Statistical checks: chi-square at 10^-4, with fresh coins from the operating system. On 4,096 noise values it fails
falsely in one of 10,000 runs, and rejects a scale that is 30 % off. On 75 selections, where some winners are expected 7
times, it fails falsely in two of 10,000 runs (of a million simulated ones), and misses a scale that is 3 times too
small in fewer than one of 100,000.
"""

from __future__ import annotations

import re
from fractions import Fraction

import jax
import numpy as np
import pytest
import spu.utils.frontend as frontend
from scipy import stats
from spu import libspu

from copublish.agreement.protocol.table import CAN_PAY
from copublish.engines.spu.compiling import _as_jax
from copublish.engines.spu.one_hot import half_of_square
from copublish.engines.spu.requests import (
    Call,
    ComputeSteps,
    FirstUses,
    LinkSettings,
    OwnedMatrix,
    Xored,
    first_product,
    first_programs,
    refuse_unvetted,
)
from copublish.engines.spu.shares import kept_step, steps_of
from copublish.engines.spu.worker import Worker
from copublish.kernel.accounting.cost import Cost
from copublish.kernel.accounting.disclosures import Measure, Select
from copublish.kernel.ledger.ledger import Ledger, Limit
from copublish.kernel.noise.geometric import geometric_noise
from copublish.kernel.programs.noise import blinds_of, handicaps, noisy_argmax
from copublish.kernel.programs.packing import Packing, add
from copublish.kernel.secrets.computer import NO_CELL
from copublish.kernel.secrets.gate import RevealGate
from copublish.kernel.secrets.secret import SecretCounts
from support.spu import PARTIES, Pair, run_parties

SELECTIONS = 75
BOTH = {"add-remove": 1, "replace": 2}


def open_gate(engine):
    ledger = Ledger(":memory:")
    ledger.set_limit("data", Limit(Fraction(10**6), "add-remove", delta=Fraction(1)))
    reservation = ledger.reserve(
        "data", "test", "hash", Cost(add_remove=Fraction(10**5), replace=Fraction(10**6), delta=Fraction(1))
    )
    return RevealGate(engine, engine.opener, reservation.__enter__(), False), reservation


@pytest.fixture(scope="module")
def pair():
    """Two parties for all jobs: starting them takes longer than most."""
    with Pair() as both:
        yield both


def measure_and_select(engine, argument):
    """Open noisy zeros for every epsilon, then many selections; return what the gate of this party received."""
    epsilons, scores, selections = argument
    gate, reservation = open_gate(engine)
    measured = {}
    for epsilon in epsilons:
        zeros = engine.share(np.zeros((4096 // 3 + 1, 1), dtype=np.int64))
        counts = SecretCounts(zeros, Packing(3, 3))
        disclosure = Measure(
            label="zeros",
            budget=epsilon,
            calibrated_to="add-remove",
            l1_sensitivity=BOTH,
            changed_entries=BOTH,
            entries=counts.n_cells,
        )
        measured[epsilon] = gate.reveal_measurement(counts, disclosure)
    # Each party holds a part of every score, so neither knows any.
    part = np.array(scores, dtype=np.int64) + (1000 if engine.party == PARTIES[0] else -1000)
    part = part if engine.party == PARTIES[0] else part - np.array(scores, dtype=np.int64)
    select = Select(
        label="winner", budget=Fraction(1, 2), calibrated_to="add-remove", score_range=BOTH, candidates=len(scores)
    )
    winners = []
    for number in range(selections):
        if number % 25 == 0:
            gate.draw_selection_noise(select, len(scores), times=25)  # as a mechanism does
        winners.append(gate.reveal_selection(engine.share(part), select))
    opened = len(gate.opened)
    reservation.__exit__(None, None, None)
    return measured, winners, opened


def laplace_p_value(noise, rate: float) -> float:
    p = np.exp(-rate)
    edge = 1
    while 2 * p ** (edge + 1) / (1 + p) * len(noise) > 40:
        edge += 1
    inner = np.arange(-edge + 1, edge)
    law = (1 - p) / (1 + p) * p ** np.abs(inner)
    expected = np.concatenate([[(1 - law.sum()) / 2], law, [(1 - law.sum()) / 2]]) * len(noise)
    found = [np.sum(noise <= -edge), *(np.sum(noise == x) for x in inner), np.sum(noise >= edge)]
    return float(stats.chisquare(found, expected).pvalue)


def winner_law(scores, p: float) -> np.ndarray:
    """Exact probabilities of the noisy maximum with geometric noise, ties to the lowest index, by summation."""
    top = 400
    law = np.zeros(len(scores))
    for i, score in enumerate(scores):
        for z in range(top):
            others = 1.0
            for j, other in enumerate(scores):
                if j != i:
                    reach = score + z - other - (1 if j < i else 0)
                    others *= 0.0 if reach < 0 else 1 - p ** (reach + 1)
            law[i] += (1 - p) * p**z * others
    return law


def test_noise_and_selections_drawn_inside_the_engine_have_their_law(pair):
    epsilons, scores = [Fraction(1), Fraction(1, 10)], [6, 5, 5, 4]
    (measured, winners, opened), other = pair.do(measure_and_select, *[(epsilons, scores, SELECTIONS)] * 2)
    for epsilon in epsilons:
        noise = measured[epsilon]
        assert laplace_p_value(noise, float(epsilon)) > 1e-4
        assert laplace_p_value(noise, float(epsilon) * 1.3) < 1e-4
        assert laplace_p_value(noise, float(epsilon) / 1.3) < 1e-4
    law = winner_law(scores, float(np.exp(-0.5)))
    found = np.bincount(winners, minlength=4)
    assert stats.chisquare(found, law * SELECTIONS).pvalue > 1e-4
    assert stats.chisquare(found, winner_law(scores, float(np.exp(-1.5))) * SELECTIONS).pvalue < 1e-4
    # Both gates received the same, and nothing but the disclosures: no noise, no score, no count.
    assert opened == other[2] == len(epsilons) + SELECTIONS
    assert winners == other[1]
    assert all(np.array_equal(measured[epsilon], other[0][epsilon]) for epsilon in epsilons)


def sent_by(engine):
    """Return how many bytes a party has sent, its last message included: the other one has had it and answers."""
    engine.exchange(CAN_PAY, "can pay")
    return engine.bytes_sent


def trace_of_a_run(engine, seed):
    """Return how many bytes were sent after every step of a small computation on data that depend on the seed."""
    generator, trace = np.random.default_rng(seed), []
    gate, reservation = open_gate(engine)
    for _ in range(3):
        scores = engine.share(generator.integers(0, 1000, 20))
        gate.reveal_selection(
            scores,
            Select(label="winner", budget=Fraction(1), calibrated_to="add-remove", score_range=BOTH, candidates=20),
        )
        trace.append(sent_by(engine))
    cells, places = generator.integers(0, 8, 500), generator.integers(0, 6, 500)
    packing = Packing(6, 3)
    table = engine.joint_histogram(cells, places if engine.party == PARTIES[1] else None, (8, 1), packing)
    disclosure = Measure(
        label="cells",
        budget=Fraction(1),
        calibrated_to="add-remove",
        l1_sensitivity=BOTH,
        changed_entries=BOTH,
        entries=48,
    )
    gate.reveal_measurement(SecretCounts(table, packing), disclosure)
    trace.append(sent_by(engine))
    reservation.__exit__(None, None, None)
    return trace


def test_message_sizes_do_not_depend_on_the_data(pair):
    """The engine's own framing (acknowledgements, pipe messages) varies by a few bytes; data would by thousands."""
    # The first run also sets things up.
    _, *traces = [pair.do(trace_of_a_run, seed, seed) for seed in (0, 1, 2)]
    for party in range(2):
        one, other = np.diff(traces[0][party]), np.diff(traces[1][party])
        assert np.all(np.abs(one - other) <= np.maximum(4096, 0.01 * one)), (one, other)


def mib_of_products(engine):
    """Return what a party sends for the product of the set-up, and for one that is packed in another way after it."""
    (first,) = first_programs(FirstUses(products=True))
    ones = np.arange(24), np.arange(24), np.ones(24, dtype=np.int64)
    x, y = (ones if engine.party == party else None for party in PARTIES)
    factors = OwnedMatrix(0, (32, 30720), x), OwnedMatrix(1, (30720, 24), y)
    sent = [engine.bytes_sent]
    for name, steps in ("first", first), ("later", (*factors, Call(first_product, (0, 1), {}))):
        engine._ask(ComputeSteps(steps, keep_as=(name,)))
        sent.append(engine.bytes_sent)
    return np.diff(sent) / 2**20


def test_the_product_of_the_set_up_makes_the_keys_of_later_ones():
    """Keys are 9 MiB. The later product needs 90 ciphertexts, 16 MiB, of one party, and one of the other."""
    (one, one_later), (other, other_later) = run_parties(mib_of_products)
    assert 9 < one < 10 and 9 < other < 10
    assert min(one_later, other_later) < 1 and 15 < max(one_later, other_later) < 17


def open_what_was_begun_on_a_forgotten_secret(engine, numbers):
    """Begin something that takes its time, then a sum of kept secrets, and forget those before it gets to them."""
    words = engine.coins((4, 8, 512))
    engine.rows(engine.compute(comparisons, words))
    (kept,) = engine._keep_parts(steps_of(engine.share(numbers)._handle), [numbers.shape])
    engine.rows(engine.compute(comparisons, words))
    doubled = engine.rows(engine.compute(add, kept, kept))
    engine._forget(kept_step(kept))
    return [engine._open(row).tolist() for row in doubled]


def comparisons(xp, words):
    return words[1:] & words[:-1]


def test_what_was_begun_has_its_inputs_even_if_they_are_forgotten_before(pair):
    numbers = np.arange(6).reshape(2, 3)
    found = pair.do(open_what_was_begun_on_a_forgotten_secret, numbers, 10 * numbers)
    assert found == [(22 * numbers).tolist()] * 2


def test_only_what_has_no_names_is_opened_and_is_waited_for():
    """A request to keep nothing is no request to open."""
    for wrong in ({"keep_as": ()}, {"begins": True}):
        with pytest.raises(ValueError, match="kept under a name"):
            ComputeSteps((Xored(np.zeros(1, np.int64)),), **wrong)


def counts_of_nobody(engine, empty):
    """Return small tables of 50 records of which none of some parties' is in any cell, and what was sent for them."""
    found, sent = [], [sent_by(engine)]
    for shape in (5, 4), (24, 32):
        cells = np.full(50, NO_CELL if engine.party in empty else 1)
        table = engine.joint_histogram(cells, np.zeros(50, np.int64), shape, Packing(1))
        found.append(engine._open(table)[:, 0].reshape(shape))
        sent.append(sent_by(engine))
    return found, np.diff(sent)


def test_cells_without_records_end_no_run_and_change_no_message(pair):
    """SPU refuses to multiply by nothing but zeros, which would tell others that a party's records are in no cell."""
    pair.do(counts_of_nobody, (), ())  # keys of products are made once
    _, full = pair.do(counts_of_nobody, (), ())[0]
    for empty in PARTIES[:1], PARTIES[1:], PARTIES:
        (small, large), sent = pair.do(counts_of_nobody, empty, empty)[0]
        assert not small.any() and not large.any()
        assert np.all(np.abs(sent - full) <= np.maximum(4096, 0.01 * full))  # as in the test of all messages
    (small, _), _ = pair.do(counts_of_nobody, (), ())[1]
    assert small[1, 1] == small.sum() == 50


def open_rows(engine, _):
    table = engine.share(np.arange(6, dtype=np.int64).reshape(3, 2))
    rows = engine.rows(table)
    return [engine._open(rows[number]).tolist() for number in (2, 0, 2, 1)]


def test_rows_are_kept_as_secrets_and_can_be_used_again(pair):
    doubled = [[8, 10], [0, 2], [8, 10], [4, 6]]
    assert pair.do(open_rows, None, None) == [doubled, doubled]


def messages_of(program, *shapes, **public):
    """Return how many ANDs and comparisons of secrets a compiled program holds: each is a wait for the other party."""
    steps = (*(Xored(np.zeros(shape, np.int64)) for shape in shapes), Call(program, tuple(range(len(shapes))), public))
    jax.config.update("jax_enable_x64", True)
    options = libspu.CompilerOptions()
    options.disallow_mix_types_opts = True
    secret = libspu.Visibility.VIS_SECRET
    names = [f"input{number}" for number in range(len(shapes))]
    zeros = [np.zeros(shape, np.int64) for shape in shapes]
    executable, _ = frontend.compile(
        frontend.Kind.JAX,
        _as_jax(ComputeSteps(steps), 2),
        zeros,
        {},
        names,
        [secret] * len(shapes),
        lambda _: ["result"],
        copts=options,
    )
    code = executable.code.decode()
    refuse_unvetted(code, opens=True)
    ands = [line for line in code.splitlines() if "pphlo.and" in line and not re.search(r"tensor<[\dx]*i\d+>", line)]
    return len(ands), code.count("pphlo.less")


def test_a_selection_waits_for_few_messages():
    """A comparison and a product, about eleven waits: a change that adds some should be on purpose."""
    noise = geometric_noise(Fraction(1, 25))
    words = [noise.coin_shape(87)] * 10
    assert messages_of(handicaps, *words, planes=noise.threshold_planes, places=87) == (6, 0)
    assert messages_of(noisy_argmax, (87,), (87,), (blinds_of(87),)) == (0, 1)
    # In groups of 17, whose winners take ANDs to find, then all 59 winners.
    assert messages_of(noisy_argmax, (1000,), (1000,), (blinds_of(1000),)) == (5, 2)


def different_programs(engine):
    ones = engine.share(np.ones((2, 2), dtype=np.int64))
    doubled = engine.compute(half_of_square, ones, ones) if engine.party == PARTIES[0] else ones
    return engine._open(doubled)


def test_parties_with_different_programs_are_refused_before_anything_runs():
    for answer in run_parties(different_programs, timeout_seconds=8):
        assert "Error" in answer
        assert "Nothing is published" in answer


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("  %0 = pphlo.exponential %1 : tensor<4x!pphlo.secret<i64>>", "exponential"),
        ("  %0 = pphlo.add %1, %2 : tensor<4x!pphlo.secret<f64>>", "floating"),
        ("  %0 = pphlo.maximum %1, %2 : tensor<4x!pphlo.secret<i64>>", "maximum"),
        ("  %0 = pphlo.reduce(%1 init: %2) applies pphlo.maximum across dimensions = [0]", "tournament"),
        ("  %0 = pphlo.custom_call @spu.argmax(%1)", "opens"),
        ("  %0 = pphlo.rng %1", "rng"),
        ("  %0 = pphlo.custom_call @spu.reveal(%1)\n  %2 = pphlo.custom_call @spu.reveal(%3)", "opens"),
    ],
)
def test_programs_with_operations_that_are_not_vetted_are_refused(code, reason):
    with pytest.raises(ValueError, match=reason):
        refuse_unvetted(code, opens=False)


def test_protocols_with_a_dealer_among_the_parties_are_not_offered():
    with pytest.raises(ValueError, match="SEMI2K is not offered"):
        Worker(LinkSettings(0, ("a", "b"), 5, "nowhere", protocol="SEMI2K"))
