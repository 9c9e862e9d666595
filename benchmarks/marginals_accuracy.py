"""How good synthetic records from chosen tables are: to predict the class, and in all two-way tables.

    make benchmark-marginals_accuracy ADULT=folder-with-the-data-sets

For each table and epsilon, with delta 1e-6 and without: the best area under the ROC curve, on test records, of a
decision tree, logistic regression and boosting that were trained on the published records; and the total variation
distance between published and training records' two-way tables, mean over all pairs of columns, on the agreed cells.
Mean and standard error over the runs. Beside the mechanism stand its first tables alone (`rounds = 0`).

Adult has its official division without records that miss values, without `education`, and country as United-States or
other; Nursery, Wine (is the quality 6 or better?) and Statlog heart are divided at random into 2/3 and 1/3 in every
run. Constants were chosen on Adult and Nursery; Wine and heart are for checking. Releases of two owners of whole rows
are simulated on the ideal engine, which gives the same ones as the secure one; calibrated to add/remove.
`--page FILE` puts the tables between the markers of a page.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import copublish as cp
from comparison_page import TITLES
from copublish.agreement.domain import NumericalDomain
from copublish.party.local.simulation import read_fragments, simulate_fragments
from copublish.tools.evaluation.classification import ClassifierName
from copublish.tools.evaluation.distances import marginal_errors
from copublish.tools.evaluation.prediction import RANKED_CLASSIFIERS, prediction_scores
from divisions import TABLES, agreement_for, halves
from measuring import ERROR, Measuring, Row, needed, public_guess, run, with_error, write_between

MARKERS = "<!-- tables -->", "<!-- end of tables -->"
ALONE, FIRST_ALONE = "rounds = 0", "first tables alone"
DELTAS = {"gaussian": "1e-6", "laplace": None}
SHORT = ("--data", "made-up", "--runs", "1", "--epsilon", "1")
TARGETS = {
    ("gaussian", "0.1"): (0.868, 0.058),
    ("gaussian", "0.5"): (0.895, 0.031),
    ("gaussian", "1"): (0.900, 0.021),
    ("laplace", "0.1"): (0.845, 0.075),
    ("laplace", "0.5"): (0.888, 0.033),
    ("laplace", "1"): (0.896, 0.024),
}
"""For Adult: the least area under the curve and the largest distance, mean of 5 runs."""


def codes_of(frame: pd.DataFrame, agreement: cp.Agreement) -> pd.DataFrame:
    """Return the cell of every value."""
    found = {}
    for name, domain in agreement.columns.items():
        if isinstance(domain, NumericalDomain):
            edges = [float(edge) for edge in domain.thresholds]
            found[name] = np.searchsorted(edges, frame[name].to_numpy(dtype=float), side="right")
        else:
            number = {value: code for code, value in enumerate(domain.values)}
            found[name] = frame[name].astype(str).map(number).to_numpy(dtype=np.int64)
    return pd.DataFrame(found)


def best_area(train: pd.DataFrame, test: pd.DataFrame, label: str) -> float:
    """Return the largest area under the ROC curve; of several classes the mean of each against the rest."""
    return max(area(train, test, label, classifier) for classifier in RANKED_CLASSIFIERS)


def area(train: pd.DataFrame, test: pd.DataFrame, label: str, classifier: ClassifierName) -> float:
    """Return the area under the ROC curve on test records, as plans and evaluations have it."""
    return prediction_scores(train, test, label, classifier).area.value


@dataclass
class Found:
    """What was found of some releases."""

    areas: list[float] = field(default_factory=list)
    distances: list[float] = field(default_factory=list)
    tables: list[float] = field(default_factory=list)
    cpu_seconds: list[float] = field(default_factory=list)


def measure_releases(table: str, folder: Path, epsilon: str, noise: str, runs: int, **keys: Any) -> Found:
    """Release a table some times and score what was published."""
    found = Found()
    for number in range(runs):
        division = TABLES[table](folder, number)
        n_records = public_guess(len(division.train))
        agreement = agreement_for(
            division, table, epsilon, DELTAS[noise], expected=n_records, records=n_records, **keys
        )
        fragments = read_fragments(agreement, halves(division.train))
        start = time.process_time()
        release = simulate_fragments(agreement, fragments)
        found.cpu_seconds.append(time.process_time() - start)
        records = release.to_pandas()
        sizes = {name: domain.size for name, domain in agreement.columns.items()}
        errors = marginal_errors(codes_of(records, agreement), codes_of(division.train, agreement), sizes, 2)
        found.distances.append(errors.mean if errors else np.nan)
        found.areas.append(best_area(records, division.test, division.label[0]))
        found.tables.append(release.sizes["measured tables"])
    return found


def row_of(table: str, epsilon: str, noise: str, keys: Mapping[str, Any], found: Found) -> Row:
    return {
        "table": table,
        "noise": noise,
        "epsilon": epsilon,
        "settings": ", ".join(f"{key} = {value}" for key, value in keys.items()) or "as it is",
        **with_error("best AUC", found.areas),
        **with_error("2-way distance", found.distances),
        "tables": float(np.mean(found.tables)),
        "CPU s": float(np.mean(found.cpu_seconds)),
    }


NOISES = {"gaussian": "Gaussian", "laplace": "Laplace"}


def page_tables(rows: Sequence[Row]) -> str:
    """One table for each data set, as the page has them; '=' where the mechanism has no rounds either."""
    known = {(row["table"], row["noise"], row["epsilon"], row["settings"]): row for row in rows}
    epsilons = list(dict.fromkeys(str(row["epsilon"]) for row in rows))
    found = []
    for table in dict.fromkeys(row["table"] for row in rows):
        heading = [TITLES[str(table)], "noise"]
        for what in ("area", "distance"):
            heading += [f"{what}, epsilon {epsilons[0]}", *epsilons[1:]]
        lines = [heading, ["---"] * len(heading)]
        noises = dict.fromkeys(str(row["noise"]) for row in rows)
        for noise, (settings, words) in itertools.product(noises, (("as it is", "`marginals`"), (ALONE, FIRST_ALONE))):
            beside = [
                (known[table, noise, epsilon, settings], known[table, noise, epsilon, ALONE]) for epsilon in epsilons
            ]
            cells = [
                cell_of(row, what) + (" =" if is_same(row, alone) else "")
                for what in ("best AUC", "2-way distance")
                for row, alone in beside
            ]
            lines.append([words, NOISES[noise], *cells])
        found.append("\n".join(f"| {' | '.join(line)} |" for line in lines))
    return "\n\n".join(found)


def cell_of(row: Row, what: str) -> str:
    """A number with its standard error in brackets, which one run does not have."""
    error = row[f"{what}{ERROR}"]
    return f"{row[what]:.3f}" + (f" ({error:.3f})" if isinstance(error, float) else "")


def is_same(row: Row, alone: Row) -> bool:
    """Whether releases have as many tables as without rounds: then they are of the same kind."""
    return row is not alone and row["tables"] == alone["tables"]


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--page", type=Path, help="a page with places for these tables")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--epsilon", nargs="+", default=["0.1", "0.5", "1"])
    parser.add_argument("--noise", nargs="+", choices=list(DELTAS), default=list(DELTAS))
    parser.add_argument("--table", nargs="+", choices=list(TABLES), default=list(TABLES))


def measure(given: argparse.Namespace) -> Measuring:
    cases = itertools.product(given.table, given.noise, given.epsilon, ({}, {"rounds": 0}))
    rows = []
    for table, noise, epsilon, keys in cases:
        found = measure_releases(table, needed(given), epsilon, noise, given.runs, **keys)
        rows.append(row_of(table, epsilon, noise, keys, found))
        yield f"Mean of {given.runs} runs", rows[-1]
    if given.page is not None:
        write_between(given.page, MARKERS, page_tables(rows))


if __name__ == "__main__":
    run(sys.modules[__name__])
