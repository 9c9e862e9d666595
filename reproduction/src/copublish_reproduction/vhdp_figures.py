"""Figures 5 to 12 of the VHDP paper: which scores they show, and their data regenerated attribute by attribute."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from copublish_reproduction.figures import Tell
from copublish_reproduction.labeled_table import LabeledName, LabeledTable, load_labeled
from copublish_reproduction.plain_table import Floats
from copublish_reproduction.vhdp import IgrSlip, Vhdp, gain_ratios, privacy_weights
from copublish_reproduction.vhdp_beside import OwnReleases

Quantity = Literal["igr", "bias", "ilpg"]
"""`bias`: how far a score is from that of the data, either way; the paper's "bias error" has no formula."""
Method = Literal["N/A", "VHDP", "DP", "protect-informative", "use-informative"]
"""The paper's names: the data without noise, VHDP, and VHDP with all weights 1. Then copublish's own allocations."""

EPSILONS = (0.1, 0.2, 0.3, 0.4)
TITLES: dict[LabeledName, str] = {"statlog": "Statlog heart", "adult": "Adult"}


@dataclass(frozen=True)
class Curve:
    """One score of every attribute.

    Attributes:
        method: How the data were perturbed.
        epsilon: None without noise.
        slip: How the information gain ratio is read.
    """

    method: Method
    epsilon: float | None = None
    slip: IgrSlip = "none"


@dataclass(frozen=True)
class VhdpFigure:
    """One figure.

    Attributes:
        name: Its name on the command line.
        title: What it shows.
        datasets: Its tables.
        quantity: What it shows of every attribute.
        curves: For which perturbations, as published.
        beside: For which releases of copublish, which are differentially private.
    """

    name: str
    title: str
    datasets: tuple[LabeledName, ...]
    quantity: Quantity
    curves: tuple[Curve, ...]
    beside: tuple[Curve, ...] = ()


@dataclass(frozen=True)
class ScoreTable:
    """The data of one figure on one table.

    Attributes:
        dataset: Which one.
        n_records: Its records.
        names: Its attributes.
        weights: That VHDP gives them.
        runs: Number of runs.
        means: For every curve, shape (n_attributes,).
        standard_errors: Of the means; none for a single run.
        epsilons: For every curve with noise, what each attribute's budget was: the mean over runs.
    """

    dataset: LabeledName
    n_records: int
    names: tuple[str, ...]
    weights: Floats
    runs: int
    means: dict[Curve, Floats] = field(repr=False)
    standard_errors: dict[Curve, Floats] | None = field(repr=False)
    epsilons: dict[Curve, Floats] = field(repr=False)


def run_vhdp_figure(figure: VhdpFigure, folder: Path, runs: int, progress: Tell) -> list[ScoreTable]:
    """Regenerate the data of a figure.

    Args:
        figure: Which one.
        folder: Where the data sets are.
        runs: How often noise is drawn.
        progress: Told about every curve.

    Raises:
        SourceError: If the folder lacks a file.
    """
    tables = {name: load_labeled(name, folder) for name in figure.datasets}  # say what is missing before anything runs
    found = []
    for name, table in tables.items():
        own = OwnReleases.of(name, folder) if figure.beside else None
        trial, curves = _Trial.of(figure.quantity, table, own), (*figure.curves, *figure.beside)
        measured = {}
        for done, curve in enumerate(curves):
            progress(f"{figure.name}, {name}", done, len(curves))
            measured[curve] = np.array([trial.measure(curve, run) for run in range(runs)])
        progress(f"{figure.name}, {name}", len(curves), len(curves))
        found.append(_score_table(name, trial, measured))
    return found


@dataclass(frozen=True)
class _Trial:
    """One table with what is the same in every run."""

    quantity: Quantity
    table: LabeledTable
    scores: dict[IgrSlip, Floats]
    weights: Floats
    own: OwnReleases | None

    @staticmethod
    def of(quantity: Quantity, table: LabeledTable, own: OwnReleases | None) -> _Trial:
        slips: tuple[IgrSlip, ...] = ("none", "joint")
        scores = {slip: gain_ratios(table.values, table.labels, slip) for slip in slips}
        return _Trial(quantity, table, scores, privacy_weights(scores["none"]), own)

    def measure(self, curve: Curve, run: int) -> Floats:
        """What the figure shows of every attribute, and its budget: shape (2, n_attributes)."""
        scores = self.scores[curve.slip]
        if curve.epsilon is None:
            return np.stack([scores, np.full(len(scores), np.nan)])
        if self.own is not None and (curve.method == "protect-informative" or curve.method == "use-informative"):
            released = self.own.scores(curve.method, curve.epsilon, curve.slip)
            ours = [released[name] for name in self.table.names]
            shown = {
                "igr": [score.after for score in ours],
                "bias": [score.bias for score in ours],
                "ilpg": [score.ilpg for score in ours],
            }[self.quantity]
            return np.array([shown, [score.epsilon for score in ours]])
        weights = self.weights if curve.method == "VHDP" else np.ones(len(self.weights))
        mechanism = Vhdp(curve.epsilon, tuple(weights.tolist()))
        # The same noise for one method and epsilon in every figure, other noise for all others.
        generator = np.random.default_rng([run, zlib.crc32(f"{curve.method} {curve.epsilon}".encode())])
        noisy = gain_ratios(mechanism.perturb(self.table.values, generator), self.table.labels, curve.slip)
        values = {"igr": noisy, "bias": np.abs(noisy - scores), "ilpg": mechanism.ilpg(scores, noisy)}[self.quantity]
        return np.stack([values, mechanism.budgets])


def _score_table(name: LabeledName, trial: _Trial, measured: dict[Curve, NDArray[np.float64]]) -> ScoreTable:
    runs = len(next(iter(measured.values())))
    means = {curve: values[:, 0].mean(axis=0) for curve, values in measured.items()}
    budgets = {curve: values[:, 1].mean(axis=0) for curve, values in measured.items() if curve.epsilon is not None}
    errors = None
    if runs > 1:
        errors = {curve: values[:, 0].std(axis=0, ddof=1) / np.sqrt(runs) for curve, values in measured.items()}
    return ScoreTable(name, len(trial.table.labels), trial.table.names, trial.weights, runs, means, errors, budgets)


def vhdp_figures() -> dict[str, VhdpFigure]:
    """Every figure by its name on the command line."""
    both: tuple[LabeledName, ...] = ("statlog", "adult")
    figures = [
        VhdpFigure(
            "vhdp-fig5",
            "VHDP, Fig. 5: information gain ratio of every attribute",
            both,
            "igr",
            (Curve("N/A", slip="none"), Curve("N/A", slip="joint")),
        )
    ]
    for number, name in ((6, both[0]), (7, both[1])):
        # The paper's scores are negative, which only the slip makes them.
        curves = (Curve("N/A", slip="joint"), *_noisy("VHDP", "joint"), *_noisy("DP", "joint"))
        title = f"VHDP, Fig. {number}: information gain ratio before and after noise"
        figures.append(VhdpFigure(f"vhdp-fig{number}", title, (name,), "igr", curves, _own("joint")))
    for number, name in ((8, both[0]), (9, both[1])):
        title = f"VHDP, Fig. {number}: bias error of the information gain ratio"
        figures.append(
            VhdpFigure(f"vhdp-fig{number}", title, (name,), "bias", (*_noisy("VHDP"), *_noisy("DP")), _own()),
        )
    figures.append(VhdpFigure("vhdp-fig10", "VHDP, Fig. 10: ILPG of VHDP", both, "ilpg", _noisy("VHDP"), _own()))
    for number, name in ((11, both[0]), (12, both[1])):
        title = f"VHDP, Fig. {number}: ILPG of VHDP and DP"
        curves = (*_noisy("VHDP"), *_noisy("DP"))
        figures.append(VhdpFigure(f"vhdp-fig{number}", title, (name,), "ilpg", curves, _own()))
    return {figure.name: figure for figure in figures}


def _noisy(method: Method, slip: IgrSlip = "none") -> tuple[Curve, ...]:
    return tuple(Curve(method, epsilon, slip) for epsilon in EPSILONS)


def _own(slip: IgrSlip = "none") -> tuple[Curve, ...]:
    return (*_noisy("protect-informative", slip), *_noisy("use-informative", slip))


COLUMNS = (
    *("figure", "dataset", "private", "attribute", "weight", "quantity", "igr_slip", "method", "epsilon"),
    *("epsilon_of_attribute", "mean", "standard_error", "runs"),
)


def score_records(figure: VhdpFigure, tables: Sequence[ScoreTable]) -> list[dict[str, object]]:
    """One plain record per attribute and curve, for CSV and JSON."""
    records: list[dict[str, object]] = []
    for table in tables:
        for curve in (*figure.curves, *figure.beside):
            for place, name in enumerate(table.names):
                is_own = curve in figure.beside
                part = float(table.epsilons[curve][place]) if curve in table.epsilons else None
                slip = curve.slip if figure.quantity == "igr" else "either"  # differences do not depend on it
                error = None if table.standard_errors is None else float(table.standard_errors[curve][place])
                weight = None if is_own else float(table.weights[place])
                values = (
                    *(figure.name, table.dataset, "yes" if is_own else "no", name, weight, figure.quantity),
                    *(slip, curve.method, curve.epsilon, part, float(table.means[curve][place]), error, table.runs),
                )
                records.append(dict(zip(COLUMNS, values, strict=True)))
    return records
