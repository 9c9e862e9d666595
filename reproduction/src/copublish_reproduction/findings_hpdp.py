"""Every finding about the HPDP-DP paper that a number shows, computed anew."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from copublish_reproduction.datasets import load_dataset
from copublish_reproduction.figures import Tell
from copublish_reproduction.findings import Finding, find_each
from copublish_reproduction.hpdp import (
    Hpdp,
    Model,
    gamma_scale,
    noise_share,
    principal_components,
    scatter_matrix,
    split_at_random,
)
from copublish_reproduction.hpdp_attacks import (
    loss_between_records,
    lost_scatter,
    share_traced,
    share_traced_when_drawn_anew,
)
from copublish_reproduction.hpdp_noise import (
    measured_scale,
    residual_delta,
    residual_epsilon,
    scatter_change,
    structured_sensitivity,
)
from copublish_reproduction.hpdp_paillier import deal, strip_factor
from copublish_reproduction.hpdp_sets import CONTRIBUTION, ONE_HOT, adult_records
from copublish_reproduction.plain_table import Bools, Floats

EPSILON, C = 0.5, CONTRIBUTION["adult"]
SAMPLES, DRAWS, TRACED, PAIRS = 100_000, 5, 500, 200
KEY_BITS = 512
"""Short, to be quick: the attack does not depend on the length."""
PROMISES = (0.1, 0.5, 1.0)


@dataclass(frozen=True)
class Adult:
    """Adult's training records, one-hot, 48 columns.

    Attributes:
        values: Shape (n, p).
        by_status: Records of every marital status.
        married: Records of married couples who live together.
    """

    values: Floats
    by_status: list[Bools]
    married: Bools

    @property
    def exact(self) -> Model:
        """The components without noise, of one owner."""
        return principal_components(scatter_matrix(self.values) / len(self.values), C)


def compute_hpdp_findings(folder: Path, progress: Tell) -> list[Finding]:
    """Compute all findings, those that need data on Adult.

    Raises:
        SourceError: If the folder lacks a file.
        CopublishError: If the Paillier library is not installed.
    """
    deal(2, KEY_BITS)  # say that the library is missing before anything runs for long
    dataset = load_dataset("adult", folder)
    status = dataset.train["marital-status"]
    adult = Adult(
        adult_records(dataset.train, dataset.taxonomies(), "salary", "one-hot").values,
        [(status == value).to_numpy() for value in sorted(status.unique())],
        (status == "Married-civ-spouse").to_numpy(),
    )
    steps = (_scale, _sensitivity, _tracing, _means, _factor, _shares, _components, _generation)
    return find_each("hpdp-findings", [partial(step, adult) for step in steps], progress)


def _scale(adult: Adult) -> Finding:
    del adult
    generator = np.random.default_rng(39)
    shares = ", ".join(f"{measured_scale(m, 'printed', SAMPLES, generator):.3f} (M = {m})" for m in (2, 3, 10))
    return Finding(
        "E39",
        "owners add differences of Gamma(1/M, (p + p^2) / (M epsilon)) variables; together Lap((p + p^2) / epsilon)",
        f"together they have this share of that scale: {shares}, so M owners spend M epsilon. More owners, less noise: "
        "that is how accuracy grows with their number (Fig. 5)",
        "one measurement with noise of one stated scale, whatever the number of owners",
    )


def _sensitivity(adult: Adult) -> Finding:
    del adult
    p, n = 52, 1000
    attained = scatter_change(np.zeros((n - 1, p)), np.ones(p), np.zeros(p))
    one_hot = structured_sensitivity(9, len(ONE_HOT))
    return Finding(
        "E40",
        f"a scatter matrix has sensitivity p(p + 1): {p * (p + 1):,} for p = {p}",
        f"valid, and twice too large: p(p + 1)/2 bounds it. All ones against all zeros among {n:,} records change it "
        f"by {attained:,.0f}. Centered at the middle of public bounds it is p(p + 1)/8 = {p * (p + 1) / 8:.1f}; Adult "
        f"one-hot, with sums and N, has {one_hot:.2f} instead of {48 * 49:,}",
        "public bounds, centered; one-hot groups counted as such",
    )


def _noisy(adult: Adult, n_owners: int, mechanism: Hpdp, generator: np.random.Generator) -> tuple[Floats, list[Floats]]:
    owners = split_at_random(adult.values, n_owners, generator)
    matrix = np.sum([mechanism.noisy_matrix(values, n_owners, generator) for values in owners], axis=0)
    return matrix / len(adult.values), owners


def _tracing(adult: Adult) -> Finding:
    generator = np.random.default_rng(41)
    exact = share_traced(adult.exact, [adult.values], TRACED, generator)
    control = share_traced_when_drawn_anew(adult.exact, [adult.values], TRACED, generator)
    printed: list[float] = []
    proof: dict[float, list[float]] = {1e-6: [], 1e-9: []}
    for _ in range(DRAWS):
        noisy, owners = _noisy(adult, 10, Hpdp(EPSILON, C, "printed"), generator)
        printed.append(share_traced(principal_components(noisy, C), owners, TRACED, generator))
        noisy, owners = _noisy(adult, 10, Hpdp(EPSILON, C, "theorem"), generator)
        for floor, shares in proof.items():
            shares.append(share_traced(principal_components(noisy, C, floor=floor), owners, TRACED, generator))
    losses = loss_between_records(adult.exact, adult.values, PAIRS, 1e-5, generator)
    low, high = np.quantile(losses, (0.25, 0.75))
    spans = {floor: f"{min(shares):.0%} to {max(shares):.0%}" for floor, shares in proof.items()}
    return Finding(
        "E41",
        "S = X U: synthetic records come from the raw records' own coordinates; Theorem 5 covers the matrix",
        f"a synthetic record is traced to its raw one among {len(adult.values):,} in {exact:.0%} of cases (exact "
        f"matrix), {min(printed):.0%} to {max(printed):.0%} (epsilon {EPSILON}, printed scale, ten owners, {DRAWS} "
        f"draws), and with the scale of the proof, where sigma^2 is often not positive, {spans[1e-6]} if it becomes "
        f"1e-6, {spans[1e-9]} if 1e-9. Half of the pairs of records are {low:.0f} to {high:.0f} apart in epsilon at "
        f"delta 1e-5. With coordinates drawn anew, {control:.0%}",
        "coordinates drawn from N(0, I)",
    )


def _means(adult: Adult) -> Finding:
    two = lost_scatter([adult.values[adult.married], adult.values[~adult.married]])
    seven = lost_scatter([adult.values[has] for has in adult.by_status])
    return Finding(
        "E42",
        "each owner centers at its own mean, which also enters every synthetic record",
        "exact means are published, and scatter between owners is lost. One owner of the married who live together and "
        f"one of the others: {two.share:.0%} of it, the top eigenvalue falls to {two.top_eigenvalue:.2f} and its "
        f"direction turns (cosine {two.cosine:.2f}); one owner for each marital status: {seven.share:.0%}, "
        f"{seven.top_eigenvalue:.2f}, {seven.cosine:.2f}",
        "first and second moments of all records together, noisy",
    )


def _factor(adult: Adult) -> Finding:
    generator = np.random.default_rng(43)
    n_owners = 10
    mine = split_at_random(adult.values, n_owners, generator)[0]
    p = mine.shape[1]
    share = noise_share(p, n_owners, gamma_scale(p, n_owners, EPSILON, "theorem"), generator)
    sent = scatter_matrix(mine) + share
    owners, curator = deal(n_owners, KEY_BITS)
    found = strip_factor(curator, owners[0].encrypt(sent))
    error = np.abs(found - (sent - sent.flat[0])).max()
    exact = float(np.mean(np.abs(share) < 1))
    return Finding(
        "E43",
        "a secret factor for each owner hides its ciphertexts from the curator, who has the key",
        "one factor multiplies all p^2 ciphertexts of an owner, so the ratio of two is a ciphertext of their "
        f"difference. The curator finds all {p * p:,} differences of one owner's matrix, to {error:.0e} "
        f"({KEY_BITS}-bit key). One share of the noise is left on it, below 1 in {exact:.0%} of the entries "
        f"(ten owners, epsilon {EPSILON}, scale of the proof)",
        "secret shares between compute nodes",
    )


def _shares(adult: Adult) -> Finding:
    del adult
    rows = "; ".join(
        f"M = {m}: " + " / ".join(f"{residual_epsilon(m, epsilon):.2f}" for epsilon in PROMISES) for m in (3, 5, 10, 50)
    )
    deltas = [residual_delta(1 / m, 1.0) for m in (2, 10)]
    return Finding(
        "E44",
        "every owner adds one share of the noise",
        "an owner subtracts its own. Epsilon against it where 0.1 / 0.5 / 1 is promised: M = 2: infinite; "
        f"{rows}. The curator with all other owners: infinite, or delta {deltas[0]:.2f} (M = 2) to {deltas[1]:.2f} "
        "(M = 10) at epsilon 1",
        "noise inside the engine, which nobody knows a part of, or shares sized for colluding owners",
    )


def _components(adult: Adult) -> Finding:
    generator = np.random.default_rng(45)
    top = adult.exact.eigenvalues[0]
    negative, norms, floored = [], [], 0
    for _ in range(DRAWS):
        noisy, owners = _noisy(adult, 3, Hpdp(EPSILON, C, "theorem"), generator)
        model = principal_components(noisy, C)
        negative.append(int((model.eigenvalues < 0).sum()))
        clean = np.sum([scatter_matrix(values) for values in owners], axis=0) / len(adult.values)
        norms.append(float(np.linalg.norm(noisy - clean, 2) / top))
        floored += model.is_floored
    return Finding(
        "E45",
        "eigenvalues are at least 0; a loop over k returns the first k that reaches c",
        "the loop has no break: it returns k = p, and sigma^2 is 0/0. With noise of the proof's scale (Adult, epsilon "
        f"{EPSILON}, three owners, {DRAWS} draws) {min(negative)} to {max(negative)} of {len(adult.exact.eigenvalues)} "
        f"eigenvalues are negative, the noise is {min(norms):.1f} to {max(norms):.1f} times the top eigenvalue, and "
        f"sigma^2 is not positive in {floored} of {DRAWS}",
        "eigenvalues below the noise are dropped, by a public rule",
    )


def _generation(adult: Adult) -> Finding:
    model, generator = adult.exact, np.random.default_rng(47)
    synthetic = model.generate(adult.values, generator)
    traces = [float(np.trace(scatter_matrix(values))) / len(values) for values in (adult.values, synthetic)]
    mean = adult.values.mean(axis=0)
    shift = float(np.linalg.norm(synthetic.mean(axis=0) - mean) / np.linalg.norm(mean))
    k = model.directions.shape[1]
    kept = model.eigenvalues[:k]
    predicted = float((kept * (kept - model.variance)).sum()) + model.variance * len(model.eigenvalues)
    return Finding(
        "E47",
        "records come from the generative model of probabilistic PCA",
        "that model wants coordinates with variance 1; U'x has the eigenvalues instead, so they become lambda (lambda "
        f"- sigma^2) + sigma^2: the variances sum to {traces[1]:.2f} (closed form {predicted:.2f}) instead of "
        f"{traces[0]:.2f}. X is not centered, so means move by {shift:.0%} of their length. How a real-valued label "
        "becomes a class is not said",
        "coordinates with variance 1 around one noisy mean",
    )
