"""Central AIM and MST beside the mechanism `marginals`: the same cells, the same scores.

    make central-comparators ADULT=folder-with-the-data-sets    # hours

One curator has all training records and runs AIM (McKenna and others 2022; model limited to 1 MB) or MST (McKenna and
others 2021) with delta 1e-6. Both come from dpmm, in a throwaway environment: it wants other versions than copublish.
They get the cells that `marginals_accuracy.py` agrees on, and the numbers of their synthetic cells become records as
those of `marginals` do, so that all are scored by the same code. `--methods marginals` runs without that environment.
Mean and standard error over the runs.
"""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pyarrow as pa

import copublish as cp
from copublish.mechanisms.marginals.publish import _column
from copublish.party.local.simulation import read_fragments, simulate_fragments
from copublish.tools.evaluation.distances import marginal_errors
from divisions import EXPECTED, TABLES, Division, agreement_for, halves
from marginals_accuracy import DELTAS, best_area, codes_of
from measuring import Measuring, Row, needed, run, with_error

SHORT = ("--data", "made-up", "--methods", "marginals", "--runs", "1", "--epsilon", "1")
METHODS = {"aim": "AIM, central", "mst": "MST, central", "marginals": "copublish, marginals"}
SCRIPT = Path(__file__).with_name("central_synthesis.py")


def write_cells(folder: Path, division: Division, agreement: cp.Agreement) -> None:
    """Write the training records as numbers of cells, and how many cells every column has."""
    codes_of(division.train, agreement).to_csv(folder / "cells.csv", index=False)
    sizes = {name: domain.size for name, domain in agreement.columns.items()}
    (folder / "sizes.json").write_text(json.dumps(sizes))


def records_of(codes: pd.DataFrame, agreement: cp.Agreement) -> pd.DataFrame:
    """Return records with these cells, numbers spread evenly over each cell as `marginals` spreads them."""
    key = bytes(32)  # which record of a cell has which place in it; any will do
    columns = {
        name: _column(domain, codes[name].to_numpy(dtype=np.int64), key + number.to_bytes(8, "big"))
        for number, (name, domain) in enumerate(agreement.columns.items())
    }
    return pa.table(columns).to_pandas()


def scores_of(records: pd.DataFrame, division: Division, agreement: cp.Agreement) -> tuple[float, float]:
    """Return the best area under the ROC curve and the mean two-way distance."""
    sizes = {name: domain.size for name, domain in agreement.columns.items()}
    errors = marginal_errors(codes_of(records, agreement), codes_of(division.train, agreement), sizes, 2)
    return best_area(records, division.test, division.label[0]), errors.mean if errors else np.nan


def synthesized(method: str, division: Division, agreement: cp.Agreement, epsilon: str, python: Path) -> pd.DataFrame:
    """Return the records of one run of a central method."""
    n_records = EXPECTED[agreement.dataset]
    with TemporaryDirectory() as name:
        folder = Path(name)
        write_cells(folder, division, agreement)
        options = ["--folder", folder, "--method", method, "--epsilon", epsilon, "--records", str(n_records)]
        subprocess.run([python, SCRIPT, *options, "--out", folder / "out.csv"], check=True)
        return records_of(pd.read_csv(folder / "out.csv"), agreement)


def released(division: Division, agreement: cp.Agreement) -> pd.DataFrame:
    """Return the records of one release of `marginals` between two owners of whole rows."""
    return simulate_fragments(agreement, read_fragments(agreement, halves(division.train))).to_pandas()


def row_of(table: str, epsilon: str, method: str, found: list[tuple[float, float, float]]) -> Row:
    """Means and standard errors of areas, distances and seconds."""
    areas, distances, seconds = zip(*found, strict=True)
    return {
        "table": table,
        "epsilon": epsilon,
        "method": METHODS[method],
        "runs": len(found),
        **with_error("best AUC", areas),
        **with_error("2-way distance", distances),
        "seconds": float(np.mean(seconds)),
    }


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--python", type=Path, help="interpreter of the environment that has dpmm")
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--epsilon", nargs="+", default=["0.1", "0.5", "1"])
    parser.add_argument("--table", nargs="+", choices=list(TABLES), default=["adult"])
    parser.add_argument("--log", type=Path, help="also append every run's scores to this file, a line of JSON each")


def measure(given: argparse.Namespace) -> Measuring:
    if given.python is None and set(given.methods) - {"marginals"}:
        raise SystemExit("AIM and MST need --python, or run 'make central-comparators'")
    for table, epsilon, method in itertools.product(given.table, given.epsilon, given.methods):
        found = []
        for number in range(given.runs):
            division = TABLES[table](needed(given), number)
            agreement = agreement_for(division, table, epsilon, DELTAS["gaussian"], records=EXPECTED[table])
            start = time.perf_counter()
            if method == "marginals":
                records = released(division, agreement)
            else:
                records = synthesized(method, division, agreement, epsilon, given.python)
            seconds = time.perf_counter() - start
            found.append((*scores_of(records, division, agreement), seconds))
            if given.log:
                line = dict(zip(("area", "distance", "seconds"), found[-1], strict=True))
                setting = {"table": table, "epsilon": epsilon, "method": method, "run": number}
                with given.log.open("a") as log:
                    log.write(json.dumps(setting | line) + "\n")
        yield "One curator, and two owners", row_of(table, epsilon, method, found)


if __name__ == "__main__":
    run(sys.modules[__name__])
