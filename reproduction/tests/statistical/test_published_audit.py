"""The black-box audit catches the published variants and does not accuse the sound release (E1, E8, E15, E17).

Samples: RUNS = 10^5 runs of each published variant on each of two neighboring tables (half pick an event, half test
it); as many noisy counts of the sound gate; SOUND_RUNS = 800 whole runs of a tiny sound release on each table.
Error rate: the bound of a mechanism that keeps its promise is above it with probability at most ALPHA = 10^-3; all
coins are seeded, so the checks pass always or never.
"""

from __future__ import annotations

import functools
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import copublish as cp
from copublish.engines.ideal import IdealEngine, Room
from copublish.kernel.accounting.disclosures import HISTOGRAM_L1, UNPLACED, Measure
from copublish.kernel.programs.packing import Packing
from copublish.kernel.records.alignment import align_records
from copublish.kernel.secrets.gate import RevealGate
from copublish.kernel.secrets.secret import SecretCounts
from copublish.mechanisms.specialization.plan import SpecializationPlan
from copublish.party.local.simulation import read_fragments
from copublish.progress import no_progress
from copublish.tools.auditing.game import FreeCharge
from copublish_reproduction.arbdistdp import noisy_cells, split_scores
from copublish_reproduction.audit import audit, epsilon_bound
from copublish_reproduction.findings_selections import TABLE_1_AGES, TABLE_1_CLASSES, ages_table
from copublish_reproduction.findings_views import half_noise
from copublish_reproduction.first_values import with_first_values
from copublish_reproduction.selection import literal_law, log_weights, segment_law
from support import seeded

RUNS, SOUND_RUNS, ALPHA = 100_000, 800, 1e-3


def winners(law: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Winners of RUNS selections that redraw while nobody wins."""
    return generator.choice(len(law), size=RUNS, p=law / law.sum())


def test_the_printed_winner_is_caught_and_running_sums_are_not():
    """E1: scores 20, 20 against 20, 21, a step of 0.5; the second cut cannot win on the first table."""
    generator, step = np.random.default_rng(1), 0.5
    bounds = {}
    for law in (literal_law, segment_law):
        tables = [winners(law(log_weights(np.array(scores), step)), generator) for scores in ((20, 20), (20, 21))]
        bounds[law] = audit(*tables, ALPHA)
    assert bounds[literal_law] > 5  # no finite epsilon holds; the bound grows with the number of runs
    assert bounds[segment_law] < step


def test_split_points_from_the_data_are_caught():
    """E8: Table 1 and one more person aged 30, with a step of 0.5 for the whole selection."""
    generator, step = np.random.default_rng(2), 0.5
    tables = []
    for ages, classes in ((TABLE_1_AGES, TABLE_1_CLASSES), ((*TABLE_1_AGES, 30), (*TABLE_1_CLASSES, 1))):
        table = ages_table(ages, classes)
        places, scores = split_scores(table, table.top()[0])
        points = table.columns[0].values[places]
        tables.append(points[winners(segment_law(log_weights(scores, step)), generator)])
    assert audit(*tables, ALPHA) > 5
    grid = np.arange(10, 91, 10)  # the sound choice: public points, the same on both tables
    tables = []
    for ages, classes in ((TABLE_1_AGES, TABLE_1_CLASSES), ((*TABLE_1_AGES, 30), (*TABLE_1_CLASSES, 1))):
        ages, classes = np.array(ages), np.array(classes)
        sides = [(classes[ages < at], classes[ages >= at]) for at in grid]
        scores = np.array([sum(max((side == 0).sum(), (side == 1).sum()) for side in pair) for pair in sides])
        tables.append(grid[winners(segment_law(log_weights(scores, step)), generator)])
    assert audit(*tables, ALPHA) < step


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0])
def test_half_of_the_noise_is_caught_and_all_of_it_is_not(epsilon):
    """E17: a party sees a count of 0 or 1 through what is left of the noise; the promise is epsilon / 2."""
    generator = np.random.default_rng(3)
    # The auditor knows both counts, so it tells outputs apart by how near they are to either.
    near_and_far = np.geomspace(0.01, 50 / epsilon, 8)
    edges = np.unique([count + sign * near_and_far for count in (0, 1) for sign in (-1, 1)])
    views = [np.digitize(count + half_noise(epsilon, (RUNS,), generator), edges) for count in (0, 1)]
    assert audit(*views, ALPHA) > 3 * epsilon / 2
    whole = [np.digitize(count + generator.laplace(0, 2 / epsilon, RUNS), edges) for count in (0, 1)]
    assert audit(*whole, ALPHA) < epsilon / 2
    if epsilon >= 0.5:  # the audit is no toothless one: it proves four fifths of what whole noise spends
        assert audit(*whole, ALPHA) > 0.8 * epsilon / 2


def test_classes_without_noise_are_caught():
    """E15: a leaf of ten people of one class, or one of them of the other: does the release show that class?"""
    generator = np.random.default_rng(4)
    outputs = []
    for counts in ([10, 0], [9, 1]):
        leaves = np.tile(np.array(counts), (RUNS, 1))
        outputs.append((noisy_cells(leaves, 2 / 0.1, generator, class_in_leaf=False)[:, 1] > 0).astype(np.int64))
    assert audit(*outputs, ALPHA) > 5


TINY = {
    "format": 1,
    "name": "tiny",
    "dataset": "tiny",
    "partition": "vertical",
    "parties": {"a": {}, "b": {}},
    "records": {"alignment": "row-order", "expected": 20},
    "class": {"name": "c", "values": ["n", "y"]},
    "attributes": with_first_values(
        {
            "x": {"kind": "categorical", "values": ["p", "q"], "held_by": "a"},
            "z": {"kind": "categorical", "values": ["r", "s"], "held_by": "b"},
        }
    ),
    "privacy": {"epsilon": 1},
    "mechanism": {"name": "specialization", "specializations": 1, "max_cells": 4},
}


@functools.cache
def sound_outputs(n_extra: int, seed: int) -> np.ndarray:
    """Which attribute was split and all noisy counts, as one number, for SOUND_RUNS releases of a tiny table."""
    agreement = cp.agreement_from_mapping(TINY)
    plan = SpecializationPlan.of(agreement)
    # x tells nothing more than z until somebody with x = q and class y joins.
    table = pd.DataFrame({"x": list("pppqqq"), "z": list("rrrsss"), "c": list("nnnyyy")})
    table = pd.concat([table, *[pd.DataFrame({"x": ["q"], "z": ["r"], "c": ["y"]})] * n_extra])
    fragments = read_fragments(agreement, {"a": table[["x", "c"]], "b": table[["z", "c"]]})

    def job(engine: IdealEngine) -> list[tuple[int, np.ndarray]]:
        joint = align_records(agreement, fragments[engine.party], engine)
        gate = RevealGate(engine, engine.opener, FreeCharge(), False)
        results = [plan.run(joint, engine, gate, no_progress) for _ in range(SOUND_RUNS)]
        return [(len(result.cut.parts["x"]), result.noisy_counts.ravel()) for result in results]

    opened = Room(agreement.party_names, seeded(agreement.party_names, seed)).run(job)["a"]
    # The cell of the person who may be there: class y where x = q or z = r, depending on the split.
    splits = np.array([split for split, _ in opened])
    cells = np.array([counts[3 if split == 2 else 1] for split, counts in opened])
    return splits * 1000 + np.clip(cells, -20, 20)


def test_the_sound_release_is_not_accused():
    assert audit(sound_outputs(0, 1), sound_outputs(1, 2), ALPHA) < 1


def test_the_audit_would_accuse_it_if_one_person_counted_as_four():
    """The same releases told to protect one person, where the tables differ by four: up to four times the claim."""
    assert audit(sound_outputs(0, 1), sound_outputs(4, 3), ALPHA) > 1


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(1)])
def test_noisy_counts_of_the_sound_gate_spend_what_they_claim_and_no_more(epsilon):
    """RUNS cells with a count of 0 and RUNS with 1, each opened once through the gate."""

    def job(engine: IdealEngine) -> np.ndarray:
        own = np.repeat([0, 1], RUNS) if engine.party == "a" else np.zeros(2 * RUNS, dtype=np.int64)
        counts = SecretCounts(engine.share(Packing(1).pack(np, own.reshape(-1, 1))), Packing(1), None)
        disclosure = Measure(
            place=UNPLACED,
            label="counts",
            budget=epsilon,
            calibrated_to="add-remove",
            l1_sensitivity=HISTOGRAM_L1,
            changed_entries=HISTOGRAM_L1,
            entries=2 * RUNS,
        )
        return RevealGate(engine, engine.opener, FreeCharge(), False).reveal_measurement(counts, disclosure)

    noisy = Room(("a", "b"), seeded(("a", "b"), 4)).run(job)["a"]
    bound = audit(noisy[:RUNS], noisy[RUNS:], ALPHA)
    assert 0.8 * epsilon < bound < epsilon


def test_the_bound_is_below_the_truth_as_often_as_it_says():
    """Randomized response at epsilon 1, 400 audits at 0.05: more than 35 above it have a probability below 10^-3."""
    generator, truth = np.random.default_rng(5), 1.0
    p = np.exp(truth) / (1 + np.exp(truth))
    above = 0
    for _ in range(400):
        outputs = [(generator.random(2000) < share).astype(np.int64) for share in (p, 1 - p)]
        above += audit(*outputs, 0.05) > truth
    assert above <= 35


def test_the_bound_uses_clopper_and_pearson():
    """In closed form: (alpha / 2)^(1 / n) bounds the probability of an event that always happened from below."""
    assert epsilon_bound(100, 100, 0, 100, 0.1) == pytest.approx(np.log(0.05**0.01 / (1 - 0.05**0.01)))
    assert epsilon_bound(0, 100, 50, 100, 0.1) == 0
    assert epsilon_bound(50, 100, 100, 100, 0.1) == 0
