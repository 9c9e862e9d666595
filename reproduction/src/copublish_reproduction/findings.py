"""Every finding about the two papers that a number shows, computed anew."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from copublish_reproduction.arbdistdp import ArbDistDP
from copublish_reproduction.bench import Bench
from copublish_reproduction.figures import Tell
from copublish_reproduction.findings_noise import scale_if_variance, share_ruled_out
from copublish_reproduction.findings_selections import (
    TABLE_1_AGES,
    TABLE_1_CLASSES,
    example_5,
    first_round,
    split_point_law,
    worst_loss_of_flooring,
)
from copublish_reproduction.findings_views import delta_of_half_noise, epsilon_of_half_noise, share_learned
from copublish_reproduction.leaks import LeakLog, random_holders

SAMPLES = 100_000


@dataclass(frozen=True)
class Finding:
    """One finding.

    Attributes:
        number: What the findings are called elsewhere.
        printed: What the paper prints or claims.
        found: What comes out.
        sound: What copublish does instead.
    """

    number: str
    printed: str
    found: str
    sound: str


def compute_findings(folder: Path, runs: int, progress: Tell) -> list[Finding]:
    """Compute all findings on Adult and Nursery.

    Raises:
        SourceError: If the folder lacks a file.
    """
    adult = Bench.load("adult", folder, 0)
    nursery = [Bench.load("nursery", folder, run) for run in range(runs)]
    steps = (_winner, _majorities, _merging, _split_points, _scale, _half_noise, _floating_point, _flooring)
    every = [*(partial(step, adult) for step in steps), partial(_classes, nursery)]
    return sorted(find_each("findings", every, progress), key=lambda finding: int(finding.number[1:]))


def find_each(name: str, steps: Sequence[Callable[[], Finding]], progress: Tell) -> list[Finding]:
    """Compute findings one by one and tell how far that is."""
    found = []
    for number, step in enumerate(steps):
        progress(name, number, len(steps))
        found.append(step())
    progress(name, len(steps), len(steps))
    return found


def _winner(adult: Bench) -> Finding:
    printed, segments = example_5()
    law = first_round(adult.plain, 0.1, adult.generator)
    return Finding(
        "E1",
        "ArbDistDP, Algorithm 3: the first cut whose own weight is above R wins",
        f"Example 5: {printed[0]:.3f}, {printed[1]:.3f}, nobody {1 - printed.sum():.3f} (by running sums "
        f"{segments[0]:.3f}, {segments[1]:.3f}). First selection on Adult, epsilon 0.1: "
        f"nobody wins in {1 - law.sum():.0%} of draws, {int((law == 0).sum())} of {len(law)} cuts never win; "
        "one record can give such a cut a chance, so no epsilon holds",
        "noisy maximum of integer scores",
    )


def _majorities(adult: Bench) -> Finding:
    leaks = LeakLog(adult.plain, random_holders(adult.plain, adult.generator))
    ArbDistDP(1.0).specialize(adult.plain, adult.generator, leaks)
    return Finding(
        "E5",
        "ArbDistDP, Algorithm 2: both parties learn which class has the majority in every child of every cut",
        f"one run on Adult opens {leaks.majority_bits:,} majorities and {leaks.order_bits:,} comparisons of values, "
        "all exact; one record flips a majority with certainty",
        "maxima stay secret",
    )


def _merging(adult: Bench) -> Finding:
    table = adult.plain
    holders = random_holders(table, adult.generator)
    shares = ", ".join(
        f"{table.columns[place].name} {share_learned(table, place, holders[:, place]):.2%}" for place in table.numerical
    )
    return Finding(
        "E7",
        "ArbDistDP, Algorithm 4: sorted lists are merged by comparisons that both parties see",
        "with the cells of Adult split at random, the first party learns these shares of the other's values exactly: "
        + shares,
        "public grid of split points; no comparison is opened",
    )


def _split_points(adult: Bench) -> Finding:
    del adult
    ages, classes = list(TABLE_1_AGES), list(TABLE_1_CLASSES)
    before = split_point_law(ages, classes, 0.5).get(30, 0.0)
    after = [
        split_point_law([*ages, 30], [*classes, label], epsilon)[30] for label in (0, 1) for epsilon in (0.02, 0.5)
    ]
    return Finding(
        "E8",
        "ArbDistDP, Algorithm 4: a split point is one of the values that occur",
        f"Table 1, split at age 30: probability {before:.0f}; with one more person aged 30: {min(after):.2f} "
        f"to {max(after):.2f}",
        "public grid of split points",
    )


def _classes(nursery: list[Bench]) -> Finding:
    means = {}
    for class_in_leaf in (False, True):
        values = [bench.arbdistdp("0.1", 2, class_in_leaf=class_in_leaf) for bench in nursery]
        means[class_in_leaf] = 100 * float(np.mean(values))
    return Finding(
        "E15",
        "ArbDistDP, Algorithm 5: leaves and their noisy counts carry no class; 81.5 % (Fig. 7) and 84.6 % (Fig. 8) on "
        "Nursery at epsilon 0.1",
        f"{means[False]:.1f} % if classes get no noise, {means[True]:.1f} % if every leaf and class does: neither "
        f"gives the printed numbers, which are {means[False] - 84.6:.1f} to {means[False] - 81.5:.1f} points below the "
        f"first and {81.5 - means[True]:.1f} to {84.6 - means[True]:.1f} above the second; noise on classes cannot "
        "explain them here",
        "noise on every leaf and class",
    )


def _scale(adult: Bench) -> Finding:
    scale = scale_if_variance(0.1)
    squares = adult.generator.normal(0, math.sqrt(10), (4, SAMPLES)) ** 2
    measured = float(np.abs(squares[0] + squares[1] - squares[2] - squares[3]).mean())
    return Finding(
        "E16",
        "noise from four squares of N(0, sqrt(1/epsilon)); DistDiffGen calls sqrt(1/epsilon) the variance",
        f"epsilon 0.1: as standard deviation it gives Lap(20) (measured {measured:.1f}), as variance Lap({scale:.1f}), "
        f"which costs {1 / scale:.3f} where 0.05 is charged",
        "integer noise with one stated scale",
    )


def _half_noise(adult: Bench) -> Finding:
    del adult
    rows = [
        f"epsilon {epsilon}: delta {delta_of_half_noise(epsilon, epsilon / 2):.3f} at the promised {epsilon / 2:g}, "
        f"or epsilon {epsilon_of_half_noise(epsilon, 1e-5):.2f} at delta 1e-5"
        for epsilon in (0.1, 0.5, 1.0)
    ]
    return Finding(
        "E17",
        "each party adds two of the four squares and sends the sum",
        "a party subtracts its own squares; what is left hides the count this badly: " + "; ".join(rows),
        "noise inside the engine, which nobody knows a part of",
    )


def _floating_point(adult: Bench) -> Finding:
    shares = [share_ruled_out(scale, SAMPLES, adult.generator) for scale in (10.0, 1.0)]
    return Finding(
        "E19",
        "noise in floating point",
        f"textbook Laplace sampler: one output rules out the neighboring count in {shares[0]:.0%} (scale 10) and "
        f"{shares[1]:.0%} (scale 1) of draws",
        "integers alone",
    )


def _flooring(adult: Bench) -> Finding:
    del adult
    epsilon = 1 / 52
    losses = ", ".join(f"{worst_loss_of_flooring(epsilon, digits):.4f} (l={digits})" for digits in (1, 2, 4))
    return Finding(
        "E23",
        "flooring weights to l digits has hardly any effect",
        f"true for accuracy; the worst loss of a selection is {losses} where epsilon' = {epsilon:.4f}",
        "no weights at all",
    )


def markdown_findings(findings: list[Finding]) -> str:
    """The findings as a Markdown table."""
    rows = [f"| {f.number} | {f.printed} | {f.found} | {f.sound} |" for f in findings]
    return "\n".join(["| | as published | what comes out | copublish |", "| --- | --- | --- | --- |", *rows])
