"""How often intervals that are read from a release hold the joint table's own values.

    make benchmark-interval_coverage ADULT=folder-with-heart.dat-and-others

For every mechanism and table some releases are simulated on the ideal engine, which gives the same ones as the secure
one. Every release is asked for shares, means, medians and correlations with 95 % confidence, and each interval is
compared with the value computed from the real records. Writes docs/results/coverage.md with --out; --short asks a few
releases of made-up people alone.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import copublish as cp
from copublish.agreement.domain import CategoricalDomain, Domain, NumericalDomain
from copublish.mechanisms.reading.estimate import ColumnSummary
from copublish.party.local.simulation import read_fragments, simulate_fragments
from copublish_reproduction.first_values import with_first_values
from measuring import NOT_THERE, Measuring, run

SHORT = ("--runs", "1", "--people", "300", "--epsilon", "2")
OPTIONAL = ("refused", "wrong", "told", "coverage")
"""What is known or refused altogether is never wrong; one release of few people may tell nothing, or hold nothing."""

MECHANISMS: dict[str, dict[str, Any]] = {
    "specialization": {"name": "specialization", "specializations": 6},
    "marginals": {"name": "marginals"},
    "copula": {"name": "copula"},
    "hpdp": {"name": "hpdp"},
    "vhdp": {"name": "vhdp"},
}

EPSILONS = {"vhdp": "10"}
"""Where noise on every value would leave nothing to say at 1."""

LEAST = 0.92
"""What has to be found of a nominal 95 %."""

MANY = 20_000
"""Of a table with more people there are a fifth of the releases."""

CORRELATED = {
    "specialization": "middles of published intervals",
    "marginals": "middles of agreed cells",
    "copula": "published scores",
    "hpdp": "places in grids",
    "vhdp": "numbers",
}


@dataclass(frozen=True)
class Table:
    """Real or made-up records, and how an agreement describes them."""

    name: str
    records: pd.DataFrame
    attributes: Mapping[str, Any]
    class_name: str

    def agreement(self, mechanism: str, epsilon: str) -> cp.Agreement:
        """The agreement on one mechanism: two owners of whole rows."""
        is_public, writes_numbers = mechanism == "vhdp", mechanism != "specialization"
        values = sorted(map(str, self.records[self.class_name].unique()))
        return cp.agreement_from_mapping(
            {
                "format": 1,
                "name": self.name,
                "dataset": self.name,
                "partition": "horizontal",
                "parties": {"p0": {}, "p1": {}},
                "records": {"expected": len(self.records), **({"public": True} if is_public else {})},
                "class": {"name": self.class_name, "values": values},
                "attributes": with_first_values(
                    {
                        name: {key: value for key, value in about.items() if key != "decimals" or writes_numbers}
                        for name, about in self.attributes.items()
                    }
                ),
                "privacy": {"epsilon": epsilon, "neighbors": "replace" if is_public else "add-remove"},
                "mechanism": MECHANISMS[mechanism],
            }
        )


def made_up(n: int = 3000) -> Table:
    """Skewed, heaped and dependent numbers, a rare value, and a class that depends on them."""
    generator = np.random.default_rng(11)
    age = np.clip(np.rint(generator.normal(42, 14, n)), 18, 90)
    balance = np.clip(np.rint(np.exp(generator.normal(5 + age / 40, 1.1, n)) * (generator.random(n) < 0.7)), 0, 20_000)
    region = generator.choice(["north", "south", "east"], n, p=[0.6, 0.37, 0.03])
    married = np.where(generator.random(n) < (age - 15) / 90, "yes", "no")
    chance = 1 / (1 + np.exp(2.2 - age / 30 - (region == "north")))
    label = np.where(generator.random(n) < chance, "yes", "no")
    records = pd.DataFrame({"age": age, "balance": balance, "region": region, "married": married, "default": label})
    attributes = {
        "age": {"kind": "numerical", "bounds": [18, 90], "grid": {"step": 6}, "decimals": 0},
        "balance": {
            "kind": "numerical",
            "bounds": [0, 20000],
            "grid": {"edges": [1, 100, 300, 1000, 3000, 10000]},
            "decimals": 0,
        },
        "region": {"kind": "categorical", "values": ["north", "south", "east"]},
        "married": {"kind": "categorical", "values": ["no", "yes"]},
    }
    return Table("made-up", records, attributes, "default")


def heart(folder: Path) -> Table:
    """270 patients: few people, where noise is large."""
    raw = pd.read_csv(folder / "heart.dat", sep=r"\s+", header=None)
    columns = {"age": 0, "pressure": 3, "cholesterol": 4, "rate": 7}
    records = pd.DataFrame({name: raw[place] for name, place in columns.items()})
    records["sex"] = np.where(raw[1] > 0, "male", "female")
    records["disease"] = np.where(raw[13] > 1, "yes", "no")
    bounds = {
        "age": ([20, 80], 10),
        "pressure": ([80, 220], 20),
        "cholesterol": ([100, 600], 50),
        "rate": ([60, 220], 20),
    }
    attributes: dict[str, Any] = {
        name: {"kind": "numerical", "bounds": ends, "grid": {"step": step}, "decimals": 0}
        for name, (ends, step) in bounds.items()
    }
    attributes["sex"] = {"kind": "categorical", "values": ["female", "male"]}
    return Table("heart", records, attributes, "disease")


def wine(folder: Path) -> Table:
    """6,497 wines: numbers with many cells."""
    files = [folder / f"winequality-{color}.csv" for color in ("red", "white")]
    raw = pd.concat([pd.read_csv(file, sep=";").assign(color=file.stem[12:]) for file in files], ignore_index=True)
    records = pd.DataFrame({"alcohol": raw["alcohol"].clip(8, 15).round(2), "density": raw["density"].clip(0.98, 1.04)})
    records["density"] = records["density"].round(4)
    records["pH"], records["color"] = raw["pH"], raw["color"]
    records["good"] = np.where(raw["quality"] >= 6, "yes", "no")
    attributes = {
        "alcohol": {"kind": "numerical", "bounds": [8, 15], "grid": {"step": "0.5"}, "decimals": 2},
        "density": {"kind": "numerical", "bounds": ["0.98", "1.04"], "grid": {"step": "0.004"}, "decimals": 4},
        "pH": {"kind": "numerical", "bounds": ["2.5", "4.5"], "grid": {"step": "0.1"}, "decimals": 2},
        "color": {"kind": "categorical", "values": ["red", "white"]},
    }
    return Table("wine", records, attributes, "good")


def nursery(folder: Path) -> Table:
    """12,960 families: categories alone."""
    names = ["parents", "has_nurs", "form", "children", "housing", "finance", "social", "health", "class"]
    raw = pd.read_csv(folder / "nursery.data", header=None, names=names)[
        ["parents", "housing", "finance", "health", "class"]
    ]
    attributes = {
        name: {"kind": "categorical", "values": sorted(raw[name].unique())} for name in raw.columns if name != "class"
    }
    return Table("nursery", raw, attributes, "class")


def adult(folder: Path) -> Table:
    """32,561 adults: many people and numbers that mostly are 0."""
    wanted = {0: "age", 9: "sex", 8: "race", 10: "gain", 12: "hours", 14: "income"}
    raw = pd.read_csv(folder / "adult.data", header=None, skipinitialspace=True)[list(wanted)].rename(columns=wanted)
    attributes = {
        "age": {"kind": "numerical", "bounds": [17, 90], "grid": {"step": 5}, "decimals": 0},
        "gain": {"kind": "numerical", "bounds": [0, 100000], "grid": {"edges": [1, 1000, 5000, 10000]}, "decimals": 0},
        "hours": {"kind": "numerical", "bounds": [1, 99], "grid": {"step": 10}, "decimals": 0},
        "sex": {"kind": "categorical", "values": ["Female", "Male"]},
        "race": {"kind": "categorical", "values": sorted(raw["race"].unique())},
    }
    return Table("adult", raw, attributes, "income")


INTRODUCTION = """\
Written by `make coverage`: {runs} releases of every mechanism, at epsilon 0.5 and 2 (`vhdp` at 10), of 3,000 made-up
people, Heart, Wine, Nursery and, a fifth as many, of Adult, on the ideal engine, each
asked for everything that [`share`, `mean`, `median` and `correlation`](../reference/python.md#numbers-with-their-error)
answer, with 95 % confidence. *Told* is how often there was an answer other than "too few to say" or a refusal, *held*
how many of these intervals had the value that the real records give, and *wrong* how many of all questions got an
interval without it; [coverage.csv](coverage.csv) has the same by table and epsilon. Where few are told, noise has a
part in which: *held* can then be below 95 %, while *wrong* stays about 5 % or below, but for chance: with this many
rows a few are two standard errors off.

More than 95 % is expected where cells hide single numbers, and where a median is bounded by mean and spread alone:
those intervals are about more than noise. *Mean, by noise* leaves out what cells hide: the interval of noise alone, and
a table whose numbers lie in the middle of their cells. Correlations are of {correlated}. Answers of one release depend
on each other, so a share of few releases is known less well than the number of questions suggests.
"""

Truth = Callable[[], float]
Question = tuple[str, Callable[[], cp.Estimate], Truth]
"""What kind of question it is, how a release answers it, and what the real records say."""


def cells_of(release: cp.Release, column: str, domain: Domain, records: pd.DataFrame) -> np.ndarray:
    """For every record the number of its published cell."""
    if isinstance(domain, CategoricalDomain):
        place = {value: code for code, value in enumerate(domain.values)}
        codes = records[column].astype(str).map(place).to_numpy()
    else:
        thresholds = np.array([float(edge) for edge in domain.thresholds])
        codes = np.searchsorted(thresholds, records[column].to_numpy(dtype=float), side="right")
    generalization = release.generalization
    if generalization is None or column not in generalization.attributes:
        return codes
    return generalization.attributes[column].part_of_code()[codes]


def numbers_of(release: cp.Release, column: str, domain: Domain, records: pd.DataFrame) -> np.ndarray:
    """What a correlation is about, as each mechanism's page says."""
    mechanism, cells = release.certificate.mechanism, cells_of(release, column, domain, records)
    if mechanism == "copula":
        return np.array(release.details.columns[column].scores)[cells]
    if isinstance(domain, CategoricalDomain):
        return cells.astype(float)
    if mechanism == "hpdp":
        return cells.astype(float)
    if mechanism == "vhdp":
        return records[column].to_numpy(dtype=float)
    return middles_of(release, domain, cells)


def middles_of(release: cp.Release, domain: NumericalDomain, cells: np.ndarray) -> np.ndarray:
    """The middle of every record's published interval."""
    edges = [float(domain.lower), *map(float, domain.thresholds), float(domain.upper)]
    ends = list(range(domain.number_codes + 1))
    if release.generalization is not None:
        ends = [0, *(value.codes[1] for value in release.generalization.attributes[domain.name].values)]
    borders = np.array([edges[end] for end in ends])
    return ((borders[:-1] + borders[1:]) / 2)[cells]


def questions(release: cp.Release, records: pd.DataFrame) -> Iterator[Question]:
    """Everything that a release can be asked about single columns, and about pairs of them."""
    domains = release.details.public_columns.domains
    for summary in release.reading.summaries():
        yield from _of_column(release, summary, domains[summary.name], records)
    ordered = {
        name: numbers_of(release, name, domain, records)
        for name, domain in domains.items()
        if isinstance(domain, NumericalDomain) or domain.size == 2
    }
    for (one, x), (other, y) in combinations(ordered.items(), 2):
        if x.std() > 0 and y.std() > 0:
            ask = partial(release.correlation, one, other)
            yield "correlation", ask, lambda x=x, y=y: float(np.corrcoef(x, y)[0, 1])
    yield from _among(release, domains, records)


def _of_column(
    release: cp.Release, summary: ColumnSummary, domain: Domain, records: pd.DataFrame
) -> Iterator[Question]:
    cells = cells_of(release, summary.name, domain, records)
    for place, cell in enumerate(summary.cells):
        yield "share", lambda cell=cell: cell.share, lambda place=place: float((cells == place).mean())
    if summary.mean is None or summary.median is None:
        return
    mean, median = summary.mean, summary.median
    own = records[summary.name].to_numpy(dtype=float)
    yield "mean", lambda: mean, lambda: float(own.mean())
    yield "median", lambda: median, lambda: float(np.median(own))
    if summary.cells and mean.value is not None and mean.within is not None:
        # Noise alone: of a table whose numbers all lie in the middle of their cells.
        alone = replace(mean, low=mean.value - mean.within, high=mean.value + mean.within)
        yield "mean, by noise", lambda: alone, lambda: float(middles_of(release, domain, cells).mean())


def _among(release: cp.Release, domains: Mapping[str, Domain], records: pd.DataFrame) -> Iterator[Question]:
    """Yield a mean and a share among the people of the first class."""
    label = list(domains)[-1]
    among = {label: domains[label].values[0]}
    here = records[records[label].astype(str) == domains[label].values[0]]
    numbers = [name for name, domain in domains.items() if isinstance(domain, NumericalDomain)]
    for name in numbers[:1]:
        yield (
            "mean among",
            partial(release.mean, name, among=among),
            lambda name=name: float(here[name].astype(float).mean()),
        )
    others = [name for name, domain in domains.items() if name not in numbers and name != label and domain.size == 2]
    for name in others[:1]:
        value = domains[name].values[1]
        ask = partial(release.share, name, value, among=among)
        yield "share among", ask, lambda told=here[name], value=value: float((told.astype(str) == value).mean())


@dataclass
class Tally:
    """How many intervals there were, how many held the truth, and how wide they were in parts of what is possible."""

    asked: int = 0
    told: int = 0
    held: int = 0
    refused: int = 0
    within: list[float] = field(default_factory=list)

    @property
    def coverage(self) -> float | None:
        """Of the intervals that said something."""
        return self.held / self.told if self.told else None


def ask_releases(table: Table, mechanism: str, epsilon: str, runs: int) -> dict[str, Tally]:
    """Ask some releases of one table everything."""
    agreement = table.agreement(mechanism, epsilon)
    fragments = read_fragments(agreement, {"p0": table.records.iloc[::2], "p1": table.records.iloc[1::2]})
    found: dict[str, Tally] = defaultdict(Tally)
    for _ in range(runs if len(table.records) < MANY else max(runs // 5, 1)):
        release = simulate_fragments(agreement, fragments)
        for kind, ask, truth in questions(release, table.records):
            tally = found[kind]
            tally.asked += 1
            try:
                said = ask()
            except cp.ReleaseError:
                tally.refused += 1
                continue
            if not said.tells:
                continue
            tally.told += 1
            slack = 1e-9 * max(abs(said.low), abs(said.high), 1e-6)
            tally.held += said.low - slack <= truth() <= said.high + slack
            tally.within.append(said.within or 0.0)
    return found


def rows_of(tables: list[Table], mechanisms: list[str], epsilons: list[str], runs: int) -> Iterator[dict[str, Any]]:
    """Yield one row for each table, mechanism, epsilon and kind of question."""
    for table in tables:
        for mechanism in mechanisms:
            for epsilon in [EPSILONS[mechanism]] if mechanism in EPSILONS else epsilons:
                for kind, tally in ask_releases(table, mechanism, epsilon, runs).items():
                    yield {
                        "table": table.name,
                        "mechanism": mechanism,
                        "epsilon": epsilon,
                        "question": kind,
                        "asked": tally.asked,
                        "told": tally.told,
                        "refused": tally.refused,
                        "coverage": tally.coverage,
                        "wrong": (tally.told - tally.held) / tally.asked,
                    }


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def pooled(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of all tables and epsilons together, for every mechanism and kind of question."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows:
        start = {"mechanism": row["mechanism"], "question": row["question"], "asked": 0, "told": 0, "held": 0}
        sums = found.setdefault((row["mechanism"], row["question"]), start)
        held = row["told"] * (row["coverage"] or 0.0)
        for key, value in (("asked", row["asked"]), ("told", row["told"]), ("held", round(held))):
            sums[key] += value
    return sorted(found.values(), key=lambda row: (list(MECHANISMS).index(row["mechanism"]), row["question"]))


def page(rows: list[dict[str, Any]], runs: int) -> str:
    """The page of results."""
    correlated = "; ".join(f"{what} ({name})" for name, what in CORRELATED.items())
    lines = [
        "# How often intervals hold the joint table's own value",
        "",
        INTRODUCTION.format(runs=runs, correlated=correlated),
        "| mechanism | question | asked | told | held | wrong |",
        "| --- | --- | ---: | ---: | ---: | ---: |",
    ]
    for row in pooled(rows):
        held = _percent(row["held"] / row["told"]) if row["told"] else "-"
        wrong = _percent((row["told"] - row["held"]) / row["asked"])
        lines.append(
            f"| {row['mechanism']} | {row['question']} | {row['asked']:,} | {row['told']:,} | {held} | {wrong} |"
        )
    return "\n".join(lines) + "\n"


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--people", type=int, default=3000, help="of the made-up table")
    parser.add_argument("--epsilon", nargs="+", default=["0.5", "2"])
    parser.add_argument("--mechanisms", nargs="+", choices=list(MECHANISMS), default=list(MECHANISMS))
    parser.add_argument("--tables", nargs="+", help="their names; all unless given")
    parser.add_argument("--out", type=Path, help="the page to write")


def measure(given: argparse.Namespace) -> Measuring:
    tables, rows = [made_up(given.people)], []
    if given.data is not None:
        tables += [read(given.data) for read in (heart, wine, nursery, adult)]
    if given.tables is not None:
        tables = [table for table in tables if table.name in given.tables]
    for row in rows_of(tables, given.mechanisms, given.epsilon, given.runs):
        rows.append(row)
        told = NOT_THERE if row["coverage"] is None else row["coverage"]
        yield f"{given.runs} releases of each", {**row, "coverage": told}
    if given.out is not None:
        given.out.write_text(page(rows, given.runs), encoding="utf-8")
        pd.DataFrame(rows).round(4).to_csv(given.out.with_suffix(".csv"), index=False)


if __name__ == "__main__":
    run(sys.modules[__name__])
