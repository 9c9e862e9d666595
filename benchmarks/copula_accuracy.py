"""How near copula releases of Adult and Wine come to the real tables.

    make benchmark-copula_accuracy ADULT=folder-with-adult.data-and-winequality-red.csv

One row per data set and epsilon: the mean over numerical attributes of the first Wasserstein distance in
standard deviations, and the mean absolute error of Spearman's rank correlation over their pairs; mean and standard
error over the runs, beside the error of independent columns. Adult has its six numerical attributes and the class
income, Wine its eleven and whether quality is at least 6; the class is one more column that takes its part of the
budget. Bounds and grids come from what the attributes mean. Releases are simulated on the ideal engine, which gives the
same ones as the secure one.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import copublish as cp
from copublish.kernel.noise.geometric import Coins
from copublish.party.local.simulation import read_fragments, simulate_fragments
from copublish.tools.evaluation.distances import rank_correlation_error, wasserstein_errors
from copublish_reproduction import datasets
from copublish_reproduction.copula_schemas import ATTRIBUTES
from copublish_reproduction.first_values import with_first_values
from measuring import NOT_THERE, Measuring, Row, needed, run, with_error

SHORT = ("--data", "made-up", "--runs", "2", "--epsilon", "1")

TARGETS = {("adult", "0.5"): (0.06, 0.015), ("wine", "1"): (0.32, 0.10)}
"""Largest mean Wasserstein distance and rank correlation error, mean of 10 runs."""

CLASSES = {"adult": (datasets.COLUMNS["adult"][-1], ["<=50K", ">50K"]), "wine": ("good", ["no", "yes"])}


def read(name: str, folder: Path) -> pd.DataFrame:
    """Return a whole data set: Adult without rows that have missing values (45,222), Wine red and white (6,497)."""
    if name == "adult":
        found = datasets.load_dataset("adult", folder)
        table = pd.concat([found.train, found.test], ignore_index=True)
    else:
        files = [folder / f"winequality-{color}.csv" for color in ("red", "white")]
        table = pd.concat([pd.read_csv(file, sep=";") for file in files], ignore_index=True)
        table["good"] = np.where(table["quality"] >= 6, "yes", "no")
    return table[[*ATTRIBUTES[name], CLASSES[name][0]]]


def agreement_for(name: str, n: int, epsilon: str, partition: str = "horizontal") -> cp.Agreement:
    """Return the agreement: two parties, public number of records, calibrated to replace."""
    class_name, values = CLASSES[name]
    mapping: dict[str, Any] = {
        "format": 1,
        "name": name,
        "dataset": name,
        "partition": partition,
        "parties": {"p0": {}, "p1": {}},
        "records": {"expected": n, "public": True},
        "class": {"name": class_name, "values": values},
        "attributes": with_first_values(ATTRIBUTES[name]),
        "privacy": {"epsilon": epsilon, "neighbors": "replace"},
        "mechanism": {"name": "copula"},
    }
    return cp.agreement_from_mapping(mapping)


def release_of(table: pd.DataFrame, agreement: cp.Agreement, coins: Mapping[str, Coins] | None = None) -> cp.Release:
    """Release once, each party with half of the rows."""
    halves = {"p0": table.iloc[::2], "p1": table.iloc[1::2]}
    return simulate_fragments(agreement, read_fragments(agreement, halves), coins)


def errors(table: pd.DataFrame, release: cp.Release) -> tuple[float, float]:
    """Return the mean Wasserstein distance in standard deviations and the mean rank correlation error."""
    drawn, columns = release.to_pandas(), list(table.columns[:-1])
    distances = wasserstein_errors(drawn, table, columns)
    return float(np.mean(list(distances.values()))), float(rank_correlation_error(drawn, table, columns) or 0)


def row_of(name: str, folder: Path, epsilon: str, runs: int) -> Row:
    """Means and standard errors over some releases."""
    table = read(name, folder)
    agreement = agreement_for(name, len(table), epsilon)
    distances, ranks = zip(*(errors(table, release_of(table, agreement)) for _ in range(runs)), strict=True)
    generator = np.random.default_rng(0)
    shuffled = table.apply(lambda column: generator.permutation(column.to_numpy()))
    most_distance, most_error = TARGETS.get((name, epsilon), (NOT_THERE, NOT_THERE))
    return {
        "data set": name,
        "records": len(table),
        "epsilon": epsilon,
        **with_error("Wasserstein, in deviations", distances),
        "at most": most_distance,
        **with_error("rank correlation error", ranks),
        "that at most": most_error,
        "of independent columns": float(rank_correlation_error(shuffled, table, list(table.columns[:-1])) or 0),
    }


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--epsilon", nargs="+", default=["0.1", "0.5", "1", "2"])
    parser.add_argument("--data-sets", nargs="+", choices=list(ATTRIBUTES), default=list(ATTRIBUTES))


def measure(given: argparse.Namespace) -> Measuring:
    for name in given.data_sets:
        for epsilon in given.epsilon:
            yield f"Mean of {given.runs} runs", row_of(name, needed(given), epsilon, given.runs)


if __name__ == "__main__":
    run(sys.modules[__name__])
