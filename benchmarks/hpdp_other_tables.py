"""The accuracy of hpdp releases of tables, and of a class, that its recipe was not chosen on.

    make benchmark-hpdp_other_tables ADULT=folder-with-the-data-sets

The recipe was chosen on Adult's test records and their income, the class's weight on its training records; while the
latter was done Nursery and Wine were looked at. Here nothing is chosen: the recipe runs as it is on Nursery, Wine
Quality (is the quality 6 or better?) and Statlog heart, divided at random into 2/3 and 1/3 in every run, and on Adult
for another class, post-secondary education, without the two columns that say it. The accuracy of logistic
regression trained on synthetic records of two owners and tested on real ones, mean and standard error over the runs,
beside the most frequent class and training on the real records. Public bounds are round numbers from what the columns
mean. Calibrated to add/remove; releases are simulated on the ideal engine.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

import copublish as cp
from copublish.tools.evaluation.classification import accuracy, majority_accuracy
from copublish_reproduction import datasets
from copublish_reproduction.hpdp_sets import FIRST_POST_SECONDARY
from divisions import Division, heart, nursery, wine
from hpdp_accuracy import CLASS, agreement_for, attributes_of, spread
from hpdp_accuracy import read as read_adult
from measuring import NOT_THERE, Measuring, mean_and_error, needed, run, with_error

CLASSIFIER = "logistic-regression"
SHORT = ("--data", "made-up", "--runs", "1", "--epsilon", "1")


def adult_education(folder: Path, run: int) -> Division:
    """Return Adult's official division, the same in every run."""
    train, test = read_adult(folder)
    attributes = attributes_of(folder)
    del attributes["education-num"]
    attributes[CLASS] = {"kind": "categorical", "values": list(datasets.CLASSES["adult"])}
    for frame in (train, test):
        frame["post-secondary"] = np.where(frame.pop("education-num") >= FIRST_POST_SECONDARY, "yes", "no")
    return Division(train, test, attributes, ("post-secondary", ("no", "yes")))


TABLES: dict[str, Callable[[Path, int], Division]] = {
    "adult, post-secondary": adult_education,
    "nursery": nursery,
    "wine, quality": wine,
    "statlog heart": heart,
}


def released(division: Division, noise: str, epsilon: str, run: int) -> float:
    """Return the accuracy after one release of two owners."""
    data = spread(division.train, 2, seed=run)
    agreement = agreement_for(division.attributes, len(division.train), epsilon, noise, 2, division.label)
    published = cp.simulate(agreement, data).to_pandas()
    if published.empty:  # noise can leave no record at all; then one class is as good a guess as another
        return float(np.mean(division.test[division.label[0]] == division.label[1][0]))
    return accuracy(published, division.test, division.label[0], CLASSIFIER)


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--epsilon", nargs="+", default=["0.1", "0.5", "1"])
    parser.add_argument("--noise", nargs="+", default=["laplace", "gaussian"])
    parser.add_argument("--table", nargs="+", choices=list(TABLES), default=list(TABLES))


def measure(given: argparse.Namespace) -> Measuring:
    for table in given.table:
        divisions = [TABLES[table](needed(given), number) for number in range(given.runs)]
        beside = {
            "the most frequent class": [majority_accuracy(d.train, d.test, d.label[0]) for d in divisions],
            "real records": [accuracy(d.train, d.test, d.label[0], CLASSIFIER) for d in divisions],
        }
        title = f"Mean of {given.runs} runs"
        for trained_on, found in beside.items():
            mean, error = mean_and_error(found)
            # Of the official division of Adult there is one alone.
            known = {"accuracy": mean, "accuracy, ±": error or NOT_THERE}
            yield title, {"table": table, "trained on": trained_on, "epsilon": NOT_THERE, **known}
        for noise in given.noise:
            for epsilon in given.epsilon:
                found = [released(division, noise, epsilon, number) for number, division in enumerate(divisions)]
                words = f"hpdp, {noise} noise"
                yield title, {"table": table, "trained on": words, "epsilon": epsilon, **with_error("accuracy", found)}


if __name__ == "__main__":
    run(sys.modules[__name__])
