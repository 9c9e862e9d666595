"""Does dividing the budget by information gain keep more about income in copula releases of Adult?

    make benchmark-allocation ADULT=folder-with-adult.data

For every way of dividing the columns' budget, mean and standard error over the runs of: the information that all 14
attributes hold about income in the synthetic records, added up, as a share of what they hold in the real ones; the
mean absolute error of the 14 amounts, in bits; and how often logistic regression, trained on the synthetic records, is
right on the official test records. `oracle` divides by the real gain ratios, which no release may look at: the most
that gains could give. Releases of the 30,162 training records are simulated on the ideal engine, which gives the same
ones as the secure one.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import copublish as cp
from copublish.agreement.domain import Domain
from copublish.mechanisms.shared.allocation import weights_to_use
from copublish.mechanisms.shared.information import entropy, information_kept, mutual_information
from copublish.party.local.simulation import read_fragments, simulate_fragments
from copublish.tools.evaluation.classification import accuracy
from copublish.types import IntArray
from copublish_reproduction import datasets
from copublish_reproduction.first_values import with_first_values
from measuring import Measuring, Row, needed, run, with_error

LABEL = datasets.COLUMNS["adult"][-1]
SHORT = ("--data", "made-up", "--runs", "1", "--epsilon", "1")
OPTIONAL = ("information kept",)
"""Noise may leave nothing of it in one release of a small table."""


def agreement_for(folder: Path, n: int, epsilon: str, budget: dict[str, Any]) -> cp.Agreement:
    """Return the agreement: two parties, each with half of the rows, public number of records."""
    categorical = {"kind": "categorical", "taxonomy": "adult.json"}
    attributes = {
        name: {"kind": "numerical", **datasets.NUMERICAL["adult"][name]}
        if name in datasets.NUMERICAL["adult"]
        else categorical
        for name in datasets.COLUMNS["adult"][:-1]
    }
    taxonomies = json.loads((folder / "taxonomies" / "adult.json").read_text())
    mapping = {
        "format": 1,
        "name": "adult",
        "dataset": "adult",
        "partition": "horizontal",
        "parties": {"p0": {}, "p1": {}},
        "records": {"expected": n, "public": True},
        "class": {"name": LABEL, "values": list(datasets.CLASSES["adult"])},
        "attributes": with_first_values(attributes, taxonomies),
        "privacy": {"epsilon": epsilon, "neighbors": "replace"},
        "mechanism": {"name": "copula"},
        "budget": budget,
    }
    return cp.agreement_from_mapping(mapping, folder=folder / "taxonomies")


def cells_of(table: pd.DataFrame, columns: dict[str, Domain]) -> dict[str, IntArray]:
    """Return records as codes of their domains, with plain pandas."""
    found = {}
    for name, domain in columns.items():
        if hasattr(domain, "values"):
            codes = {value: code for code, value in enumerate(domain.values)}
            found[name] = table[name].astype(str).map(codes).to_numpy(np.int64)
        else:
            edges = [-np.inf, *map(float, domain.thresholds), np.inf]
            found[name] = pd.cut(table[name], edges, right=False, labels=False).to_numpy(np.int64)
    return found


def bits_of(table: pd.DataFrame, columns: dict[str, Domain]) -> np.ndarray:
    """Return how many bits each attribute tells about income."""
    sizes = {name: domain.size for name, domain in columns.items()}
    return np.array([float(bits) for bits in information_kept(cells_of(table, columns), sizes, LABEL).values()])


def oracle_weights(table: pd.DataFrame, columns: dict[str, Domain]) -> dict[str, str]:
    """Return weights by the real gain ratios."""
    cells, ratios = cells_of(table, columns), {}
    for name, domain in columns.items():
        if name != LABEL:
            counts = np.zeros((domain.size, columns[LABEL].size), dtype=np.int64)
            np.add.at(counts, (cells[name], cells[LABEL]), 1)
            ratios[name] = mutual_information(counts) / entropy(counts.sum(axis=1))
    return {name: str(int(weight)) for name, weight in weights_to_use(ratios, list(columns)).items()}


def measure_releases(data: datasets.Dataset, epsilon: str, budget: dict[str, Any], runs: int) -> Row:
    """Return means and standard errors over some releases."""
    agreement = agreement_for(data.folder, len(data.train), epsilon, budget)
    truth, found = bits_of(data.train, agreement.columns), []
    halves = {"p0": data.train.iloc[::2], "p1": data.train.iloc[1::2]}
    fragments = read_fragments(agreement, halves)
    for _ in range(runs):
        records = simulate_fragments(agreement, fragments).to_pandas()
        kept = bits_of(records, agreement.columns)
        right = accuracy(records, data.test, LABEL, "logistic-regression")
        found.append((kept.sum() / truth.sum(), np.abs(kept - truth).mean(), right))
    kept_part, error, right = zip(*found, strict=True)
    return {
        **with_error("information kept", kept_part),
        **with_error("error, bits", error),
        **with_error("accuracy", right),
    }


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--epsilon", nargs="+", default=["1", "0.3", "0.1"])


def measure(given: argparse.Namespace) -> Measuring:
    data = datasets.load_dataset("adult", needed(given))
    columns = agreement_for(given.data, len(data.train), "1", {}).columns
    rules: dict[str, dict[str, Any]] = {
        "uniform": {},
        "use-informative": {"allocation": "use-informative"},
        "oracle": {"allocation": "weights", "weights": oracle_weights(data.train, columns)},
    }
    for epsilon in given.epsilon:
        for name, budget in rules.items():
            found = measure_releases(data, epsilon, budget, given.runs)
            yield f"Mean of {given.runs} runs", {"epsilon": epsilon, "allocation": name, **found}


if __name__ == "__main__":
    run(sys.modules[__name__])
