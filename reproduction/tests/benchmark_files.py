"""Made-up files in the format of the benchmark data sets: the real ones are never part of the project."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd

from copublish_reproduction.datasets import CLASSES, COLUMNS, NUMERICAL
from copublish_reproduction.labeled_table import STATLOG_COLUMNS
from copublish_reproduction.microdata_sets import WINE_BOUNDS

TREE = {"ANY": {"low": {"a": {}, "b": {}}, "high": {"c": {}, "d": {}}}}
COUNTRIES = ["a", "b", "c", "United-States"]
COUNTRY_TREE = {"ANY": {"low": {"a": {}, "b": {}}, "high": {"c": {}, "United-States": {}}}}
STATLOG_VALUES = dict(
    zip(
        STATLOG_COLUMNS[:-1],
        (
            *(range(30, 78), (0, 1), (1, 2, 3, 4), range(94, 201), range(126, 565), (0, 1), (0, 1, 2), range(71, 203)),
            *((0, 1), range(7), (1, 2, 3), (0, 1, 2, 3), (3, 6, 7)),
        ),
        strict=True,
    )
)
"""Values that each column may have."""


def write_benchmark_files(folder: Path, n: int = 400) -> Path:
    """Write adult.data, adult.test, nursery.data and taxonomies with classes that depend on the attributes."""
    (folder / "taxonomies").mkdir(parents=True, exist_ok=True)
    generator = np.random.default_rng(7)
    for name, file, rows in (
        ("adult", "adult.data", n),
        ("adult", "adult.test", n // 2),
        ("nursery", "nursery.data", n),
    ):
        columns = COLUMNS[name]
        strength = generator.random(rows)
        table = {}
        for column in columns[:-1]:
            if column in NUMERICAL[name]:
                low, high = NUMERICAL[name][column]["bounds"]
                table[column] = (low + (high - low) * (strength + generator.random(rows)) / 2).astype(int)
            else:
                places = np.minimum((4 * (strength + generator.random(rows)) / 2).astype(int), 3)
                values = COUNTRIES if column == "native-country" else list("abcd")
                table[column] = np.array(values)[places]
        classes = np.array(CLASSES[name])
        table[columns[-1]] = classes[np.minimum((len(classes) * strength).astype(int), len(classes) - 1)]
        frame = pd.DataFrame(table)
        if file == "adult.test":
            frame[columns[-1]] += "."
        text = frame.to_csv(header=False, index=False).replace(",", ", " if name == "adult" else ",")
        (folder / file).write_text(("|1x3 Cross validator\n" if file == "adult.test" else "") + text + "\n")
        trees = {column: TREE for column in columns[:-1] if column not in NUMERICAL[name]}
        if name == "adult":
            trees["native-country"] = COUNTRY_TREE
        (folder / "taxonomies" / f"{name}.json").write_text(json.dumps(trees))
    return folder


def write_wine_files(folder: Path, sizes: tuple[int, int] = (1_599, 4_898)) -> Path:
    """Write winequality-red.csv and winequality-white.csv with values in the middle of the public bounds."""
    generator = np.random.default_rng(8)
    for color, n in zip(("red", "white"), sizes, strict=True):
        table = {
            name: np.round(low + (high - low) * generator.beta(4, 6, n), 3) for name, (low, high) in WINE_BOUNDS.items()
        }
        frame = pd.DataFrame({**table, "quality": generator.integers(3, 10, n)})
        frame.to_csv(folder / f"winequality-{color}.csv", sep=";", index=False)
    return folder


def write_statlog_file(folder: Path) -> Path:
    """Write heart.dat with the real file's 150 and 120 records of the classes, which some attributes depend on."""
    generator = np.random.default_rng(9)
    classes = generator.permutation(np.repeat([1.0, 2.0], [150, 120]))
    columns = []
    for number, values in enumerate(STATLOG_VALUES.values()):
        place = generator.random(270)
        place = place if number % 2 == 0 else (place + classes - 1) / 2
        columns.append(np.array(values)[(place * len(values)).astype(int)])
    np.savetxt(folder / "heart.dat", np.column_stack([*columns, classes]), fmt="%.1f")
    return folder
