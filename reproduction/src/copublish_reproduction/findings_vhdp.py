"""Every finding about the VHDP paper that a number shows, computed anew."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path

import numpy as np

from copublish_reproduction.figures import Tell
from copublish_reproduction.findings import Finding, find_each
from copublish_reproduction.labeled_table import LabeledTable, load_labeled
from copublish_reproduction.plain_table import Floats
from copublish_reproduction.vhdp import WEIGHTS, Vhdp, entropies, gain_ratios, laplace_noise, privacy_weights
from copublish_reproduction.vhdp_attacks import (
    guess_copied_bit,
    ratio_after_one_change,
    read_off,
    records_that_move_weights,
    success_allowed,
)
from copublish_reproduction.vhdp_figures import EPSILONS

TRIALS = 100_000
BUDGET = 0.1
"""Epsilon of one attribute: the smallest of the paper, and capital-gain's share at 0.4."""


def compute_vhdp_findings(folder: Path, progress: Tell) -> list[Finding]:
    """Compute all findings on Statlog heart and Adult.

    Raises:
        SourceError: If the folder lacks a file.
    """
    statlog, adult = load_labeled("statlog", folder), load_labeled("adult", folder)
    steps = (_composition, _sensitivity, _public_scores, _formulas, _groups, _tradeoff, _noise)
    return find_each("vhdp-findings", [partial(step, statlog, adult) for step in steps], progress)


def _composition(statlog: LabeledTable, adult: LabeledTable) -> Finding:
    generator = np.random.default_rng(50)
    copies = Vhdp.homogeneous(1.0, 14)
    right, largest = guess_copied_bit(copies, TRIALS, generator)
    published = Vhdp.heterogeneous(EPSILONS[-1], adult)
    right_published, _ = guess_copied_bit(published, TRIALS, generator)
    smaller = Vhdp.heterogeneous(EPSILONS[-1], statlog)
    return Finding(
        "E50",
        "Theorem 2: mechanisms on different attributes of the same people compose to the largest epsilon",
        f"14 attributes that carry the same bit, epsilon {copies.claimed_epsilon:g} each: a likelihood test is "
        f"right in {right:.1%}, where {copies.claimed_epsilon:g} allows {success_allowed(copies.claimed_epsilon):.1%}; "
        f"largest log ratio {largest:.3f}. With the paper's weights on Adult at {published.claimed_epsilon:g} the "
        f"true epsilon is {published.epsilon_of_bits:.1f}, were all attributes bits (Statlog "
        f"{smaller.epsilon_of_bits:.1f}); copies of a bit are then guessed in {right_published:.1%}, where "
        f"{success_allowed(published.claimed_epsilon):.1%} is allowed",
        "budgets of attributes add up",
    )


def _sensitivity(statlog: LabeledTable, adult: LabeledTable) -> Finding:
    del statlog
    spans = {name: float(np.ptp(adult.column(name))) for name in ("age", "capital-gain", "fnlwgt")}
    losses = ", ".join(f"{BUDGET * span:,.1f} ({name})" for name, span in spans.items())
    gains = read_off(adult.column("capital-gain"), BUDGET, np.random.default_rng(51))
    return Finding(
        "E51",
        "the sensitivity of a count, 1, scales the noise of attribute values",
        f"true epsilon is the range times epsilon: {losses} at epsilon {BUDGET:g}. From the released capital-gain at "
        f"{BUDGET:g} (its share of {EPSILONS[-1]:g}) the nearest amount that occurs tells whether somebody has any in "
        f"{gains.is_positive:.1%} (always 'no': {gains.always_zero:.1%}), and finds {gains.exact:.0%} of the amounts "
        "above 0 exactly",
        "noise scaled to public ranges",
    )


def _public_scores(statlog: LabeledTable, adult: LabeledTable) -> Finding:
    del adult
    ratio = ratio_after_one_change(statlog, label=int(np.argmin(np.bincount(statlog.labels))))
    return Finding(
        "E52",
        "scores and weights are computed from raw data; 'we do not need to hide the weight vector'",
        f"a constant attribute has no score (0/0), and {ratio:.3f} after one record changes. Each of "
        f"{records_that_move_weights(statlog)} of Statlog's {len(statlog.labels)} records changes the weights when it "
        "alone is left out",
        "scores from noisy counts, at a price, or weights that people choose",
    )


def _formulas(statlog: LabeledTable, adult: LabeledTable) -> Finding:
    del adult
    parts = [entropies(column, statlog.labels) for column in statlog.values.T]
    plain = np.array([part.gain_ratio() for part in parts])
    joint = np.array([part.gain_ratio("joint") for part in parts])
    signed = np.array([(part.label + part.conditional) / part.intrinsic for part in parts])
    mixed = np.array([(part.label - math.log(2) * part.conditional) / part.intrinsic for part in parts])
    return Finding(
        "E53",
        "Definition 2 has one minus too many in the conditional entropy, Algorithm 1 mixes log_2 and log, information "
        "gain cannot be negative, all reported scores are",
        f"Statlog as defined in Section 4: {_span(plain)}; with Definition 2's minus {_span(signed)}; natural "
        f"logarithm in the conditional entropy {_span(mixed)}: none negative. With the joint for the conditional "
        f"entropy {_span(joint)}, in the same order; with a lost minus in the intrinsic value {_span(-plain)}, in "
        "reverse order, so the weakest attribute would be protected most",
        "information gain by its usual formula, tested against loops",
    )


def _span(values: Floats) -> str:
    low, high = (round(float(end), 2) + 0.0 for end in (values.min(), values.max()))  # no minus zero
    return f"{low:.2f} to {high:.2f}"


def _groups(statlog: LabeledTable, adult: LabeledTable) -> Finding:
    del statlog
    scores = gain_ratios(adult.values, adult.labels)
    by_section_5, by_section_4 = privacy_weights(scores), privacy_weights(-scores)
    opposite = [f"{name} {a:g} or {b:g}" for name, a, b in zip(adult.names, by_section_5, by_section_4, strict=True)]
    ends = [opposite[int(np.argmax(scores))], opposite[int(np.argmin(scores))]]
    return Finding(
        "E54",
        "weights in [0, 1] and up to 2^q; a lower score gets a smaller weight (Section 4.3), a larger one does "
        "(Section 5); groups by 'intervals' that are not given",
        f"the readings are opposite: Adult's weights by Section 5 or 4.3 are {ends[0]} for the highest score, "
        f"{ends[1]} for the lowest. Here: Section 5, three groups of equal size, "
        f"{', '.join(f'{weight:g}' for weight in WEIGHTS)}",
        "both sides by name (`protect-informative` is Section 5, `use-informative` Section 4.3), or weights in the "
        "agreement; groups of equal size by noisy scores",
    )


def _tradeoff(statlog: LabeledTable, adult: LabeledTable) -> Finding:
    del adult
    generator = np.random.default_rng(55)
    mechanisms = [Vhdp.homogeneous(epsilon, len(statlog.names)) for epsilon in (0.025, *EPSILONS, 1.0, 40.0)]
    noisy = np.array([gain_ratios(m.perturb(statlog.values, generator), statlog.labels) for m in mechanisms])
    closed_form = entropies(statlog.values[:, 0], statlog.labels).label / math.log2(len(statlog.labels))
    unrelated = gain_ratios(generator.random((len(statlog.labels), 1)), statlog.labels)[0]
    ratio = ilpg_ratio(EPSILONS[0], WEIGHTS[0])
    return Finding(
        "E55",
        "ILPG measures the trade-off of privacy and utility; a smaller epsilon and VHDP are better",
        f"with noise every value is unique, so every score is H(label) / log2 n = {closed_form:.4f}: on Statlog for "
        f"epsilon 0.025 to 40 it is {noisy.min():.4f} to {noisy.max():.4f}, and {unrelated:.4f} for random numbers "
        "that have nothing to do with the data. ILPG depends on epsilon through 1 / (1 + 1 / epsilon) alone, so where "
        f"it is positive a smaller epsilon always 'wins': weight {WEIGHTS[0]:g} at {EPSILONS[0]:g} multiplies it by "
        f"{ratio:.2f}",
        "information about the label that released values keep",
    )


def ilpg_ratio(epsilon: float, weight: float) -> float:
    """Factor of ILPG for a weight when scores stay the same."""
    one = np.ones(1)
    with_weight, without = (Vhdp(epsilon, (w,)).ilpg(0 * one, one)[0] for w in (weight, 1.0))
    return float(with_weight / without)


def _noise(statlog: LabeledTable, adult: LabeledTable) -> Finding:
    del statlog
    drawn = laplace_noise(1 / BUDGET, TRIALS, np.random.default_rng(56))
    codes = adult.column("sex")
    noisy = Vhdp(BUDGET, (1.0,)).perturb(codes[:, np.newaxis], np.random.default_rng(56))[:, 0]
    outside = float(((noisy < -0.5) | (noisy > codes.max() + 0.5)).mean())
    return Finding(
        "E56",
        "Laplace noise on category codes; b 'is the standard deviation'; rand(0, 1) includes 0; the label has no noise",
        f"at epsilon {BUDGET:g} {outside:.0%} of the released codes of sex lie outside -0.5 to {codes.max() + 0.5:g}; "
        f"the standard deviation is {BUDGET * drawn.std():.2f} b; a draw of 0 gives log 0; every label is released "
        "exactly",
        "randomized response on categories, integer noise, and the label is an attribute",
    )
