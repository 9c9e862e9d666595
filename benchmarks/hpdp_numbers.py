"""What releases of made-up tables keep of numbers: amounts with long tails, zeros, counts, bills of several months.

    make benchmark-hpdp_numbers

A row for every table and way to release it, mean and standard error over the runs: the area under the ROC curve
of a decision tree and of logistic regression, trained on the release and tested on a third that was not released; the
total variation of tables of one and of two columns, where numbers are cut at octiles of what was released, not at the
agreed grid; and how far means are off, in standard deviations. Releases are simulated on the ideal engine.
`made_up_tables.py` has the tables; nothing real is read.
"""

from __future__ import annotations

import argparse
import sys
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import copublish as cp
from made_up_tables import TABLES, MadeUp
from measuring import Measuring, Row, run, with_error

WAYS: dict[str, dict[str, Any]] = {
    "hpdp": {"name": "hpdp"},
    "copula": {"name": "copula"},
}
OCTILES = np.linspace(0, 1, 9)[1:-1]
SMALLEST_LEAF = 0.005
SHORT = ("--runs", "1", "--epsilon", "1", "--records", "300")
OPTIONAL = ("TV1", "TV2", "means")
"""Real records have no distance to themselves."""


def divided(made_up: MadeUp) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return two thirds to release and one to test on."""
    order = np.random.default_rng(0).permutation(len(made_up.table))
    cut = len(order) * 2 // 3
    return made_up.table.iloc[order[:cut]], made_up.table.iloc[order[cut:]]


def released(made_up: MadeUp, train: pd.DataFrame, way: str, grid: dict[str, int], epsilon: str) -> pd.DataFrame:
    """Return the synthetic records of one release of two owners."""
    attributes: dict[str, Any] = {}
    for name in train.columns[:-1]:
        if name in made_up.bounds:
            bounds = [str(bound) for bound in made_up.bounds[name]]
            attributes[name] = {"kind": "numerical", "bounds": bounds, "grid": grid}
            if "round" in grid:
                attributes[name]["decimals"] = made_up.decimals[name]
        else:
            attributes[name] = {"kind": "categorical", "values": made_up.values[name]}
    agreement = cp.agreement_from_mapping(
        {
            "format": 1,
            "name": "numbers",
            "dataset": "numbers",
            "partition": "horizontal",
            "parties": {"p0": {}, "p1": {}},
            "records": {"expected": len(train)},
            "class": {"name": made_up.label, "values": ["no", "yes"]},
            "attributes": attributes,
            "privacy": {"epsilon": epsilon},
            "mechanism": WAYS[way],
        }
    )
    half = len(train) // 2
    return cp.simulate(agreement, {"p0": train.iloc[:half], "p1": train.iloc[half:]}).to_pandas()


def scores(made_up: MadeUp, train: pd.DataFrame, test: pd.DataFrame, drawn: pd.DataFrame) -> dict[str, float]:
    """Return what a release is worth."""
    filled = drawn.copy()
    for name, bounds in made_up.bounds.items():
        # Noise makes some numbers missing, on few records all of them: a middle one takes their place.
        numbers = drawn[name].astype(float)
        filled[name] = numbers.fillna(numbers.median()).fillna(float(np.mean([float(bound) for bound in bounds])))
    codes = [_codes(made_up, train, frame) for frame in (train, filled)]
    one = [_distance([frame[name] for frame in codes]) for name in train.columns]
    two = [_distance([frame[a] * 1000 + frame[b] for frame in codes]) for a, b in combinations(train.columns, 2)]
    off = [abs(filled[name].mean() - train[name].mean()) / train[name].std() for name in made_up.bounds]
    return {**_areas(made_up, filled, test), "TV1": np.mean(one), "TV2": np.mean(two), "means": np.mean(off)}


def _codes(made_up: MadeUp, train: pd.DataFrame, frame: pd.DataFrame) -> dict[str, np.ndarray]:
    found = {}
    for name in train.columns:
        if name in made_up.bounds:
            ends = np.unique(np.quantile(train[name], OCTILES))
            found[name] = np.searchsorted(ends, frame[name].astype(float).to_numpy(), side="right")
        else:
            codes = {value: code for code, value in enumerate(made_up.values[name], 1)}
            found[name] = frame[name].astype(str).map(lambda value, codes=codes: codes.get(value, 0)).to_numpy(int)
    return found


def _distance(cells: list[np.ndarray]) -> float:
    size = max(int(part.max()) for part in cells) + 1
    one, other = (np.bincount(part, minlength=size) / len(part) for part in cells)
    return float(np.abs(one - other).sum() / 2)


def _areas(made_up: MadeUp, drawn: pd.DataFrame, test: pd.DataFrame) -> dict[str, float]:
    numbers = list(made_up.bounds)
    others = [name for name in test.columns[:-1] if name not in made_up.bounds]
    unknown = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    tree = DecisionTreeClassifier(min_samples_leaf=SMALLEST_LEAF, random_state=0)
    line = LogisticRegression(max_iter=300)
    models = {
        "tree": make_pipeline(ColumnTransformer([("n", "passthrough", numbers), ("c", unknown, others)]), tree),
        "logistic": make_pipeline(
            ColumnTransformer(
                [("n", StandardScaler(), numbers), ("c", OneHotEncoder(handle_unknown="ignore"), others)]
            ),
            line,
        ),
    }
    said, true = (frame[made_up.label].astype(str) == "yes" for frame in (drawn, test))
    features = [frame[numbers + others].astype(dict.fromkeys(others, str)) for frame in (drawn, test)]
    if said.nunique() < 2:
        return dict.fromkeys(models, 0.5)
    return {
        name: float(roc_auc_score(true, model.fit(features[0], said).predict_proba(features[1])[:, 1]))
        for name, model in models.items()
    }


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--epsilon", nargs="+", default=["0.5", "1", "2"])
    parser.add_argument("--table", nargs="+", choices=list(TABLES), default=list(TABLES))
    parser.add_argument("--records", type=int, help="fewer than a table usually has, to try this out")


def measure(given: argparse.Namespace) -> Measuring:
    for table in given.table:
        made_up = TABLES[table](given.records) if given.records else TABLES[table]()
        train, test = divided(made_up)

        def row(what: str, epsilon: str, rows: list[dict[str, float]]) -> Row:
            cells: Row = {"released": what, "epsilon": epsilon}
            for name in rows[0]:
                cells |= with_error(name, [one[name] for one in rows])
            return cells

        title = f"{table}, mean of {given.runs} runs"
        yield title, row("real records", "all", [scores(made_up, train, test, train)])
        for epsilon in given.epsilon:
            for way, grid in [*((way, {"round": 20}) for way in WAYS), ("copula", {"count": 10})]:
                found = [
                    scores(made_up, train, test, released(made_up, train, way, grid, epsilon))
                    for _ in range(given.runs)
                ]
                (kind, cells), *_ = grid.items()
                yield title, row(f"{way}, grid {kind} {cells}", epsilon, found)


if __name__ == "__main__":
    run(sys.modules[__name__])
