"""How often intervals that are read from a release hold the joint table's own values.

    make benchmark-interval_coverage ADULT=folder-with-heart.dat-and-others
    python benchmarks/interval_coverage.py --processes 2 --keep counted.jsonl --out docs/results/coverage.md

For every mechanism with several settings, and for each table, releases are simulated on the ideal engine, which gives
the same ones as the secure one. Every release is asked everything that it answers, with 95 % confidence, and each
interval is compared with the value that the real records give. Noise comes from seeds, so every release can be made
again. With --keep, a run that was stopped goes on where it was. Writes docs/results/coverage.md with --out; --short
asks one release of made-up people for each setting.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import sys
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, replace
from functools import cache, partial
from itertools import combinations, product
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import copublish as cp
from copublish.agreement.domain import CategoricalDomain, Domain, NumericalDomain
from copublish.mechanisms.published import Position, Scores
from copublish.party.local.simulation import read_fragments, simulate_fragments
from copublish.release.questions.estimate import ColumnSummary
from copublish_reproduction.first_values import with_first_values
from measuring import NOT_THERE, Measuring, run
from support import seeded

SHORT = ("--runs", "1", "--people", "300", "--epsilon", "2", "--processes", "1", "--tables", "made-up")
OPTIONAL = ("refused", "wrong", "told", "coverage", "coverage of all")
"""What is known or refused altogether is never wrong; one release of few people may tell nothing, or hold nothing."""

PUBLIC: dict[str, dict[str, Any]] = {"records": {"public": True}, "privacy": {"neighbors": "replace"}}

SETTINGS: dict[str, dict[str, dict[str, Any]]] = {
    "specialization": {"mechanism": {"specializations": 6}},
    "specialization, auto": {"mechanism": {"specializations": 6, "score": "auto"}},
    "marginals": {},
    "marginals, delta": {"privacy": {"delta": "1e-6"}},
    "marginals, listed tables": {},
    "marginals, public total": PUBLIC,
    "copula": {},
    "copula, public total": PUBLIC,
    "copula, use-informative": {"budget": {"allocation": "use-informative"}},
    "hpdp": {},
    "hpdp, delta": {"mechanism": {"noise": "gaussian"}, "privacy": {"delta": "1e-6"}},
    "hpdp, public total": PUBLIC,
    "vhdp": PUBLIC,
    "vhdp, protect-informative": {**PUBLIC, "budget": {"allocation": "protect-informative"}},
}
"""Mechanisms that state their noise, with the sections of an agreement in which a release differs from the default."""

MECHANISMS = tuple(name for name in SETTINGS if "," not in name)

EPSILONS = {"vhdp": ("5", "10")}
"""Where noise on every value would leave nothing to say at 1."""

BAR = (0.935, 0.965)
"""What has to be found of a nominal 95 %."""

FEW = 100
"""Of fewer intervals no share is shown."""

OF_PUBLIC_TABLES = 12
"""A public table gets one release for so many of made-up people."""

MANY = 20_000
"""Of a table with more people there are a fifth of these."""

PART = 25
"""Releases that are counted and kept together."""


def mechanism_of(setting: str) -> str:
    """The mechanism of a setting."""
    return setting.partition(",")[0]


@dataclass(frozen=True)
class Table:
    """Real or made-up records, and how an agreement describes them."""

    name: str
    records: pd.DataFrame
    attributes: Mapping[str, Any]
    class_name: str

    def agreement(self, setting: str, epsilon: str) -> cp.Agreement:
        """The agreement on one mechanism with its settings: two owners of whole rows."""
        mechanism, sections = mechanism_of(setting), SETTINGS[setting]
        values = sorted(map(str, self.records[self.class_name].unique()))
        listed = {"tables": [list(self.attributes)[:2]]} if setting.endswith("listed tables") else {}
        return cp.agreement_from_mapping(
            {
                "format": 1,
                "name": self.name,
                "dataset": self.name,
                "partition": "horizontal",
                "parties": {"p0": {}, "p1": {}},
                "records": {"expected": len(self.records), **sections.get("records", {})},
                "class": {"name": self.class_name, "values": values},
                "attributes": with_first_values(self.attributes),
                "privacy": {"epsilon": epsilon, **sections.get("privacy", {})},
                "mechanism": {"name": mechanism, **sections.get("mechanism", {}), **listed},
                **({"budget": sections["budget"]} if "budget" in sections else {}),
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


def whole_numbers(n: int = 3000) -> Table:
    """Whole numbers: visits with a cell for each, days of stay with a cell for each and one for the long tail."""
    generator = np.random.default_rng(12)
    visits = np.minimum(generator.poisson(2.15, n), 12)
    stay = np.minimum(generator.geometric(1 / (2 + visits)), 60)
    label = np.where(generator.random(n) < 1 / (1 + np.exp(2 - visits / 2)), "yes", "no")
    records = pd.DataFrame({"visits": visits, "stay": stay, "again": label})
    attributes = {
        "visits": {"kind": "numerical", "bounds": [0, 12], "grid": {"step": 1}, "decimals": 0},
        "stay": {"kind": "numerical", "bounds": [1, 60], "grid": {"edges": [2, 3, 4, 6, 10, 20]}, "decimals": 0},
    }
    return Table("whole-numbers", records, attributes, "again")


MADE_UP = {"made-up": made_up, "whole-numbers": whole_numbers}


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


READ: dict[str, Callable[[Path], Table]] = {"heart": heart, "wine": wine, "nursery": nursery, "adult": adult}

INTRODUCTION = """\
# How often intervals hold the joint table's own value

Written by `make coverage`. Releases of every mechanism that states its noise were made on the ideal engine, and each
was asked for everything that
[`count`, `share`, `mean`, `median` and `correlation`](../reference/python.md#numbers-with-their-error)
answer, with 95 % confidence. An interval *holds* if the value that the real records give is in it.

| question | what is asked for |
| --- | --- |
| total | the number of people, where it is not public |
| count, share | every published value of every column |
| joint count, share among | for every two columns the values that the first two people have |
| mean, median | every column of numbers, of everybody and among the people with the first value of a category |
| correlation | every two columns that have an order |

Correlations are of published numbers (`vhdp`), of scores or places that were multiplied (`copula`, `hpdp`), else of
middles of published cells. A release refuses what was not measured, and tells no value where noise leaves nothing to
say. All shares are of intervals with a value, and "-" stands where they are fewer than {few:,}.
[coverage.csv](coverage.csv) has them by epsilon, and of all intervals.

## Intervals of noise

{releases:,} releases or more in each row: {people:,} made-up people, epsilon {epsilons}. Of intervals of 95 %,
{least:.1f} to {most:.1f} % have to hold; what lies outside is bold. Standard errors are {error:.1f} points at most,
between releases, since answers of one release depend on each other.
"""

ABOUT_NOISE = """\
*Mean, by noise* is about a mean's interval without what cells hide: does it hold the mean of the low ends of all
people's cells, and that of the high ends? *Median, by noise* is the share of the people below each border of a cell:
whether it is more than a half is what a median is read from.

More hold where intervals are wider on purpose:

- Where noise nearly hides how many people a mean or a share is of, it decides whether a value is told. Intervals then
  have half of the errors: *mean among* of `copula, use-informative` and of `hpdp, public total`, where fewest are told.
- In `vhdp` no cells hide anything, so *mean, by noise* is the mean itself. *Median, by noise* is the mean of the real
  numbers minus or plus their standard deviation, as far as a median can be; that interval adds the errors of two.
- Correlations of `vhdp` are computed as if people had been sampled as well, which makes them a little too wide.
"""

ABOUT_CELLS = """\
## Intervals of means and medians

These are wider than noise makes them, so more of them hold. A mean's interval begins where all numbers were at the low
ends of their cells, and ends where all were at the high ends. A median's begins and ends at borders of cells: it misses
the median only if noise errs at one of the two borders around it. In `vhdp` the means are about noise alone, and a
median is at most a standard deviation from the mean.
"""

ABOUT_TOLD = """\
## How often a value is told

In % of the questions that were not refused.
"""

ABOUT_WHOLE = """\
## Whole numbers

As many releases of other made-up people: visits, from 0 to 12, with a cell for each, and days of stay with a cell for
each up to 3. A cell of one number hides nothing, so the mean of the visits is about noise alone.
"""

ABOUT_OTHERS = """\
## Public tables

With fewer releases at each epsilon: {tables}. Nobody has some of the values; their counts and shares are cut off at 0,
so more of these hold.
"""

Truth = Callable[[], float]
Question = tuple[str, Callable[[], cp.Estimate], Truth]
"""What kind of question it is, how a release answers it, and what the real records say."""

BY_NOISE = (
    "total",
    "count",
    "joint count",
    "share",
    "share among",
    "mean, by noise",
    "mean among, by noise",
    "median, by noise",
    "correlation",
)
"""Kinds of questions with answers that are about noise alone."""

WITH_CELLS = ("mean", "mean among", "median")
"""Those with answers that are also about what cells hide."""


def codes_of(domain: Domain, values: pd.Series) -> np.ndarray:
    """For every record the number of its agreed value."""
    if isinstance(domain, CategoricalDomain):
        place = {value: code for code, value in enumerate(domain.values)}
        return values.astype(str).map(place).to_numpy()
    thresholds = np.array([float(edge) for edge in domain.thresholds])
    return np.searchsorted(thresholds, values.to_numpy(dtype=float), side="right")


class Real:
    """What real records say, in the values that a release published."""

    def __init__(self, release: cp.Release, records: pd.DataFrame) -> None:
        self.release, self.records = release, records
        self.domains, self.runs = release.published.columns.domains, release.published.generalized
        self.codes = {name: codes_of(domain, records[name]) for name, domain in self.domains.items()}
        self.cells = {name: self._cells(name) for name in self.domains}

    def _cells(self, column: str) -> np.ndarray:
        """For every record the number of its published cell."""
        if column not in self.runs:
            return self.codes[column]
        return np.searchsorted([start for start, _ in self.runs[column]], self.codes[column], side="right") - 1

    def runs_of(self, column: str) -> Sequence[tuple[int, int]]:
        """The run of codes of each published cell."""
        return self.runs.get(column) or [(code, code + 1) for code in range(self.domains[column].size)]

    def label(self, column: str, cell: int) -> str:
        """How a published cell is named."""
        return self.domains[column].label(self.runs_of(column)[cell])

    def own(self, column: str) -> np.ndarray:
        """The numbers themselves."""
        return self.records[column].to_numpy(dtype=float)

    def ends(self, column: str) -> tuple[np.ndarray, np.ndarray]:
        """The smallest and the largest number in the published cell of every record; its own, where it is published."""
        domain = self.domains[column]
        if self.release.published.rows is not None:
            return self.own(column), self.own(column)
        edges = np.array([float(domain.lower), *map(float, domain.thresholds), float(domain.upper)])
        borders = edges[[0, *(stop for _, stop in self.runs_of(column))]]
        low, high = borders[:-1], borders[1:].copy()
        high[:-1] -= 10.0 ** -(domain.decimals or 0)  # all of these tables say their decimals
        return low[self.cells[column]], high[self.cells[column]]

    def correlated(self, column: str) -> np.ndarray:
        """What a correlation is of: published numbers, numbers that were multiplied, or middles of cells."""
        published = self.release.published
        is_number = isinstance(self.domains[column], NumericalDomain)
        if published.rows is not None:
            return self.own(column) if is_number else self.codes[column].astype(float)
        multiplied = [measured.axes for measured in published.measured if len(measured.axes) == 2]
        for axis in (axis for axes in multiplied for axis in axes if axis.column == column):
            if isinstance(axis, Scores | Position):
                return axis.entries(self.domains[column])[0].astype(float)[self.codes[column]]
        return sum(self.ends(column)) / 2 if is_number else self.cells[column].astype(float)


def questions(release: cp.Release, records: pd.DataFrame) -> Iterator[Question]:
    """Questions of every kind, with what the real records say."""
    real = Real(release, records)
    if release.certificate.public_facts.number_of_records is None:
        yield "total", release.count, lambda: float(len(records))
    for summary in release.reading.summaries():
        yield from _of_column(release, summary, real)
    ordered = {
        name: real.correlated(name)
        for name, domain in real.domains.items()
        if isinstance(domain, NumericalDomain) or domain.size == 2
    }
    for (one, x), (other, y) in combinations(ordered.items(), 2):
        if x.std() > 0 and y.std() > 0:
            ask = partial(release.correlation, one, other)
            yield "correlation", ask, lambda x=x, y=y: float(np.corrcoef(x, y)[0, 1])
    for one, other in combinations(real.domains, 2):
        yield from _of_two(release, real, one, other)
    numbers = [name for name, domain in real.domains.items() if isinstance(domain, NumericalDomain)]
    for number, other in product(numbers, real.domains):
        if isinstance(real.domains[other], CategoricalDomain):
            yield from _number_among(release, real, number, other)


def noise_of(estimate: cp.Estimate, width: float) -> cp.Estimate:
    """A mean with an interval of noise alone: without half of the mean width of cells on either side.

    It holds the mean of the middles if the whole interval holds the mean of the low ends and that of the high ends.
    """
    return replace(estimate, low=estimate.low + float(width) / 2, high=estimate.high - float(width) / 2)


def _of_column(release: cp.Release, summary: ColumnSummary, real: Real) -> Iterator[Question]:
    cells, name = real.cells[summary.name], summary.name
    for place, cell in enumerate(summary.cells):
        yield "share", lambda cell=cell: cell.share, lambda place=place: float((cells == place).mean())
        yield "count", lambda cell=cell: cell.people, lambda place=place: float((cells == place).sum())
    if summary.mean is None or summary.median is None:
        return
    mean, median, own = summary.mean, summary.median, real.own(name)
    yield "mean", lambda: mean, lambda: float(own.mean())
    yield "median", lambda: median, lambda: float(np.median(own))
    low, high = real.ends(name)
    yield "mean, by noise", lambda: noise_of(mean, (high - low).mean()), lambda: float((low + high).mean() / 2)
    if release.published.rows is not None:
        # A median's interval is of mean and spread. It can be a standard deviation from the mean, and no farther.
        domain = real.domains[name]
        for end in (own.mean() - own.std(), own.mean() + own.std()):
            if float(domain.lower) < end < float(domain.upper):
                yield "median, by noise", lambda: median, lambda end=end: float(end)
        return
    labels = [cell.label for cell in summary.cells]
    for border in range(1, len(labels)):
        # Whether more than half of the people are below a border: the noise of this share is a median's own.
        ask = partial(release.share, name, labels[:border])
        yield "median, by noise", ask, lambda border=border: float((cells < border).mean())


def _of_two(release: cp.Release, real: Real, one: str, other: str) -> Iterator[Question]:
    """Yield counts and shares of the values that the first two people have."""
    x, y = real.cells[one], real.cells[other]
    for a, b in dict.fromkeys(zip(x[:2].tolist(), y[:2].tolist(), strict=True)):
        value, among = real.label(one, a), {other: real.label(other, b)}
        both, here = float(((x == a) & (y == b)).sum()), float((y == b).sum())
        yield "joint count", partial(release.count, {one: value, **among}), lambda both=both: both
        ask = partial(release.share, one, value, among=among)
        yield "share among", ask, lambda both=both, here=here: both / here


def _number_among(release: cp.Release, real: Real, number: str, other: str) -> Iterator[Question]:
    """Yield the mean of a number, and its median, among the people with the first value of a category."""
    here, among = real.cells[other] == 0, {other: real.label(other, 0)}
    mean = partial(release.mean, number, among=among)
    yield "mean among", mean, lambda: float(real.own(number)[here].mean())
    low, high = (end[here] for end in real.ends(number))
    truth = float((low + high).mean() / 2)
    yield "mean among, by noise", lambda: noise_of(mean(), (high - low).mean()), lambda: truth
    ask = partial(release.median, number, among=among)
    yield "median", ask, lambda: float(np.median(real.own(number)[here]))


@dataclass
class Tally:
    """Intervals of some releases, and sums of their numbers by release.

    Attributes:
        releases: How many releases were asked.
        asked: Questions.
        refused: Of them, those that were refused.
        stated: Of the others, those whose interval held the truth, whether or not a value was told.
        told: Those with a value.
        held: Of these, those whose interval held the truth.
        held_squared: Sum over releases of the square of `held`.
        held_told: Of the product.
        told_squared: Of the square of `told`.
    """

    releases: int = 0
    asked: int = 0
    refused: int = 0
    stated: int = 0
    told: int = 0
    held: int = 0
    held_squared: int = 0
    held_told: int = 0
    told_squared: int = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(*(one + another for one, another in zip(astuple(self), astuple(other), strict=True)))

    @property
    def coverage(self) -> float | None:
        """Of the intervals with a value."""
        return self.held / self.told if self.told else None

    @property
    def of_all(self) -> float | None:
        """Of all intervals."""
        answered = self.asked - self.refused
        return self.stated / answered if answered else None

    @property
    def error(self) -> float:
        """Standard error of the coverage: answers of one release depend on each other, releases do not."""
        share = self.coverage or 0.0
        squares = self.held_squared - 2 * share * self.held_told + share**2 * self.told_squared
        return math.sqrt(max(squares, 0.0)) / max(self.told, 1)


def tallies_of(release: cp.Release, records: pd.DataFrame) -> tuple[dict[str, Tally], str]:
    """Ask one release everything. A digest of all answers is beside the tallies."""
    found: dict[str, Tally] = defaultdict(lambda: Tally(releases=1))
    answers = hashlib.sha256()
    for kind, ask, truth in questions(release, records):
        tally = found[kind]
        tally.asked += 1
        try:
            answer = ask()
        except cp.ReleaseError:
            tally.refused += 1
            continue
        true = truth()
        slack = 1e-9 * max(abs(answer.low), abs(answer.high), 1e-6)
        holds = bool(answer.low - slack <= true <= answer.high + slack)
        tally.stated += holds
        tally.told += answer.tells
        tally.held += answer.tells and holds
        answers.update(f"{kind} {answer.tells} {answer.low:.6g} {answer.high:.6g} {true:.6g};".encode())
    for tally in found.values():
        held, told = tally.held, tally.told
        tally.held_squared, tally.held_told, tally.told_squared = held**2, held * told, told**2
    return dict(found), answers.hexdigest()[:16]


Found = Mapping[tuple[str, str, str], Mapping[str, Tally]]
"""Tallies by table, setting and epsilon, then by kind of question."""


@dataclass(frozen=True)
class Job:
    """Some releases of one table with one setting.

    Attributes:
        table: The table's name.
        people: How many people the made-up table has.
        data: The folder of the others.
        setting: Mechanism and settings.
        epsilon: Its epsilon.
        first: The number of the first release.
        runs: How many there are.
    """

    table: str
    people: int
    data: Path | None
    setting: str
    epsilon: str
    first: int
    runs: int

    @property
    def key(self) -> str:
        """What is kept of it."""
        people = f" of {self.people}" if self.data is None else ""
        return f"{self.table}{people}; {self.setting}; {self.epsilon}; {self.first}+{self.runs}"


@cache
def _table(name: str, people: int, data: Path | None) -> Table:
    if name in MADE_UP:
        return MADE_UP[name](people)
    assert data is not None
    return READ[name](data)


@cache
def _fragments(name: str, people: int, data: Path | None, setting: str, epsilon: str) -> tuple[cp.Agreement, Any]:
    table = _table(name, people, data)
    agreement = table.agreement(setting, epsilon)
    return agreement, read_fragments(agreement, {"p0": table.records.iloc[::2], "p1": table.records.iloc[1::2]})


def release_of(job: Job, number: int) -> cp.Release:
    """One release; the same whenever it is made."""
    agreement, fragments = _fragments(job.table, job.people, job.data, job.setting, job.epsilon)
    start = zlib.crc32(f"{job.table} {job.setting} {job.epsilon}".encode())
    return simulate_fragments(agreement, fragments, seeded(agreement.party_names, start + number))


@dataclass(frozen=True)
class Counted:
    """What was found in the releases of a job.

    Attributes:
        job: Its key.
        answers: A digest of the first release's answers.
        tallies: By kind of question.
    """

    job: str
    answers: str
    tallies: Mapping[str, Tally]

    @staticmethod
    def of(line: str) -> Counted:
        """From a line of a file."""
        values = json.loads(line)
        tallies = {kind: Tally(**tally) for kind, tally in values["tallies"].items()}
        return Counted(values["job"], values["answers"], tallies)


def count(task: tuple[Job, Counted | None]) -> tuple[Job, Counted]:
    """Make releases and ask each of them everything; only the first one if it answers as it did before."""
    job, before = task
    records = _table(job.table, job.people, job.data).records
    found: dict[str, Tally] = defaultdict(Tally)
    first = ""
    for number in range(job.first, job.first + job.runs):
        tallies, answers = tallies_of(release_of(job, number), records)
        first = first or answers
        if before is not None and before.answers == first:
            return job, before
        for kind, tally in tallies.items():
            found[kind] += tally
    return job, Counted(job.key, first, dict(found))


def jobs_of(given: argparse.Namespace) -> list[Job]:
    """All releases in parts, a part of every setting before the next ones."""
    names = [*MADE_UP, *(READ if given.data is not None else ())]
    jobs = []
    for first in range(0, given.runs, PART):
        for table, setting in product([name for name in names if name in (given.tables or names)], given.settings):
            data = None if table in MADE_UP else given.data
            runs = given.runs if data is None else max(given.runs // OF_PUBLIC_TABLES, 1)
            if len(_table(table, given.people, data).records) > MANY:
                runs = max(runs // 5, 1)
            for epsilon in EPSILONS.get(mechanism_of(setting), given.epsilon):
                if first < runs:
                    jobs.append(Job(table, given.people, data, setting, epsilon, first, min(PART, runs - first)))
    return jobs


def counted(given: argparse.Namespace) -> Found:
    """Count all releases, by table, setting and epsilon. Each new part is written to the kept file at once."""
    before: dict[str, Counted] = {}
    file: Path | None = given.keep
    if file is not None and file.exists():
        whole = file.read_text(encoding="utf-8").splitlines(keepends=True)
        if whole and not whole[-1].endswith("\n"):  # a run was stopped while it wrote
            file.write_text("".join(whole[:-1]), encoding="utf-8")
        before = {part.job: part for part in map(Counted.of, file.read_text(encoding="utf-8").splitlines())}
    found: dict[tuple[str, str, str], dict[str, Tally]] = {}
    for job, part in _each([(job, before.get(job.key)) for job in jobs_of(given)], given.processes):
        if file is not None and part != before.get(job.key):
            with file.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps(asdict(part)) + "\n")
        sums = found.setdefault((job.table, job.setting, job.epsilon), {})
        for kind, tally in part.tallies.items():
            sums[kind] = sums.get(kind, Tally()) + tally
    return found


def _each(tasks: Sequence[tuple[Job, Counted | None]], processes: int) -> Iterator[tuple[Job, Counted]]:
    """Yield what each task finds."""
    if processes == 1:
        yield from map(count, tasks)
        return
    with get_context("spawn").Pool(processes) as pool:
        yield from pool.imap_unordered(count, tasks)


def rows_of(found: Found) -> Iterator[dict[str, Any]]:
    """Yield one row for each table, setting, epsilon and kind of question."""
    for (table, setting, epsilon), tallies in found.items():
        for kind, tally in tallies.items():
            yield {
                "table": table,
                "mechanism": mechanism_of(setting),
                "settings": setting.partition(", ")[2] or "default",
                "epsilon": epsilon,
                "question": kind,
                "releases": tally.releases,
                "asked": tally.asked,
                "refused": tally.refused,
                "told": tally.told,
                "coverage": tally.coverage,
                "coverage, ±": tally.error,
                "coverage of all": tally.of_all,
                "wrong": (tally.told - tally.held) / tally.asked,
            }


def pooled(found: Found, tables: Sequence[str]) -> dict[str, dict[str, Tally]]:
    """Tallies of some tables, all epsilons together, by setting and kind of question."""
    sums: dict[str, dict[str, Tally]] = {}
    for setting in SETTINGS:
        for (table, other, _), tallies in found.items():
            if table in tables and other == setting:
                own = sums.setdefault(setting, {})
                for kind, tally in tallies.items():
                    own[kind] = own.get(kind, Tally()) + tally
    return sums


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"


def _held(tally: Tally) -> str:
    return "-" if tally.told < FEW or tally.coverage is None else _percent(tally.coverage)


def _held_as_promised(tally: Tally) -> str:
    shown = _held(tally)
    return shown if shown == "-" or BAR[0] <= (tally.coverage or 0.0) <= BAR[1] else f"**{shown}**"


def _told(tally: Tally) -> str:
    answered = tally.asked - tally.refused
    return _percent(tally.told / answered) if answered else "-"


def _grid(sums: Mapping[str, Mapping[str, Tally]], kinds: Sequence[str], cell: Callable[[Tally], str]) -> Iterator[str]:
    """Yield a row for each setting, with a column for each kind of question."""
    yield f"| release | {' | '.join(kinds)} |"
    yield f"| --- |{' ---: |' * len(kinds)}"
    for setting, tallies in sums.items():
        yield f"| {setting} | {' | '.join(cell(tallies[kind]) if kind in tallies else '-' for kind in kinds)} |"
    yield ""


def page(found: Found, people: int) -> str:
    """The page of results."""
    tables = list(dict.fromkeys(table for table, _, _ in found))
    made_up_people, whole = pooled(found, ["made-up"]), pooled(found, ["whole-numbers"])
    others = pooled(found, [name for name in tables if name not in MADE_UP])
    most = {setting: max(tally.releases for tally in own.values()) for setting, own in made_up_people.items()}
    shown = [own[kind] for own in made_up_people.values() for kind in BY_NOISE if kind in own and own[kind].told >= FEW]
    lines = [
        INTRODUCTION.format(
            people=people,
            releases=min(most.values(), default=0),
            epsilons=_epsilons(found),
            few=FEW,
            least=100 * BAR[0],
            most=100 * BAR[1],
            error=100 * max((tally.error for tally in shown), default=0.0),
        )
    ]
    lines += [*_grid(made_up_people, BY_NOISE, _held_as_promised), ABOUT_NOISE, ABOUT_CELLS]
    lines += [*_grid(made_up_people, WITH_CELLS, _held), ABOUT_TOLD]
    lines += [*_grid(made_up_people, [*BY_NOISE, *WITH_CELLS], _told)]
    if whole:
        lines += [ABOUT_WHOLE, *_grid(whole, [*BY_NOISE, *WITH_CELLS], _held)]
    if others:
        lines += [
            ABOUT_OTHERS.format(tables=", ".join(_releases_of(found, name) for name in tables if name not in MADE_UP))
        ]
        lines += _grid(others, [*BY_NOISE, *WITH_CELLS], _held)
    return "\n".join(lines).rstrip() + "\n"


def _epsilons(found: Found) -> str:
    """The epsilons of every mechanism: those that most have, then the others."""
    by_mechanism: dict[str, dict[str, None]] = {}
    for _, setting, epsilon in found:
        by_mechanism.setdefault(mechanism_of(setting), {})[epsilon] = None
    usual = next(iter(by_mechanism.values()))
    special = [f"`{name}` at {' and '.join(own)}" for name, own in by_mechanism.items() if own != usual]
    return " and ".join(usual) + (f" ({', '.join(special)})" if special else "")


def _releases_of(found: Found, table: str) -> str:
    most = max(tally.releases for (name, _, _), own in found.items() if name == table for tally in own.values())
    return f"{table.capitalize()} ({most:,})"


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--runs", type=int, default=600, help="releases of made-up people at each epsilon")
    parser.add_argument("--people", type=int, default=950, help="of the made-up table")
    parser.add_argument("--epsilon", nargs="+", default=["0.5", "2"])
    parser.add_argument("--settings", nargs="+", choices=list(SETTINGS), default=list(SETTINGS))
    parser.add_argument("--tables", nargs="+", help="their names; all unless given")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--keep", type=Path, help="a file for what was counted, from which a stopped run goes on")
    parser.add_argument("--out", type=Path, help="the page to write")


def measure(given: argparse.Namespace) -> Measuring:
    found = counted(given)
    rows = list(rows_of(found))
    for row in rows:
        empty = {name: NOT_THERE for name in ("coverage", "coverage of all") if row[name] is None}
        yield f"{given.runs} releases of each", {**row, **empty}
    if given.out is not None:
        given.out.write_text(page(found, given.people), encoding="utf-8")
        pd.DataFrame(rows).round(4).to_csv(given.out.with_suffix(".csv"), index=False)


if __name__ == "__main__":
    run(sys.modules[__name__])
