"""What `copula` gives at the epsilons of the iDP-IR paper's figures 2 to 6, beside what iDP-IR gives there.

MeanSSE compares a published record with the person's own. Records of a copula belong to nobody, so what can be compared
is compared: how each column is spread, how columns depend on each other, and MeanSSE after both tables were sorted
column by column. A copula's release does not depend on who holds what, so one row stands for all divisions of a table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from copublish.agreement.loading import agreement_from_mapping
from copublish.agreement.model import Agreement
from copublish.kernel.records.fragment import Fragment
from copublish.party.local.simulation import read_fragments, simulate_fragments
from copublish.tools.evaluation.distances import rank_correlation_error, wasserstein_errors
from copublish_reproduction.copula_schemas import ATTRIBUTES
from copublish_reproduction.figures import Tell
from copublish_reproduction.first_values import with_first_values
from copublish_reproduction.grid_figures import EPSILONS, KS, number
from copublish_reproduction.idp_ir import release_central, release_horizontal, release_vertical
from copublish_reproduction.information_loss import LossMeter
from copublish_reproduction.loss_grids import Setting
from copublish_reproduction.microdata import Microdata
from copublish_reproduction.microdata_sets import Bounds, MicrodataName, Owners, load_microdata
from copublish_reproduction.plain_table import Floats
from copublish_reproduction.table_text import markdown_table

NAME = "idp-ir-copula"
TITLE = "copula at the epsilons of the iDP-IR paper's figures 2 to 6"
MEASURES = ("Wasserstein distance / sd", "error of rank correlations", "MeanSSE of sorted columns, corrected")
LABELS: dict[MicrodataName, str] = {"adult": "Adult (Fig. 2, 4, 5)", "wine": "Wine Quality (Fig. 3, 4, 6)"}

CONSTANT_CLASS = ("kind", ["wine", "other"])
"""An agreement has a class; Wine's eleven numbers get one that tells nothing and takes its part of the budget."""


@dataclass(frozen=True)
class Row:
    """What one algorithm gets at one epsilon.

    Attributes:
        dataset: Which table.
        algorithm: Which algorithm, with its k and its owners.
        private: Whether it is differentially private.
        epsilon: Budget.
        means: Of every measure.
        standard_errors: Of the means; none for a single run.
    """

    dataset: MicrodataName
    algorithm: str
    private: bool
    epsilon: float
    means: tuple[float, ...]
    standard_errors: tuple[float, ...] | None
    runs: int


@dataclass(frozen=True)
class Yardstick:
    """Real records that published ones are compared with."""

    real: Microdata

    def measure(self, published: Floats) -> tuple[float, float, float]:
        """Every measure for published records in any order."""
        names = list(self.real.names)
        ours, theirs = pd.DataFrame(self.real.values, columns=names), pd.DataFrame(published, columns=names)
        distance = float(np.mean(list(wasserstein_errors(theirs, ours, names).values())))
        loss = LossMeter.of(self.real).measure(np.sort(self.real.values, axis=0), np.sort(published, axis=0))
        return distance, rank_correlation_error(theirs, ours, names) or 0.0, loss.corrected


def run_beside(
    folder: Path,
    runs: int,
    progress: Tell,
    *,
    epsilons: Sequence[float] = EPSILONS,
    ks: Mapping[MicrodataName, tuple[int, ...]] = KS,
) -> list[Row]:
    """Release both tables with every algorithm.

    Raises:
        SourceError: If the folder lacks a file.
    """
    bounds: tuple[Bounds, Bounds] = ("published", "public")
    tables = {name: tuple(load_microdata(name, folder, kind) for kind in bounds) for name in LABELS}
    rows, steps = [], len(LABELS) * len(epsilons)
    for number_of_table, (name, (data, with_public_bounds)) in enumerate(tables.items()):
        yardstick, copulas = Yardstick(data), CopulaReleases.of(name, data)
        for place, epsilon in enumerate(epsilons):
            progress(NAME, number_of_table * len(epsilons) + place, steps)
            found: dict[tuple[str, bool], list[tuple[float, ...]]] = {}
            for run in range(runs):
                generator = np.random.default_rng([run, place, number_of_table])
                found.setdefault(("copula, any owners", True), []).append(yardstick.measure(copulas.draw(epsilon)))
                for label, published in _idp_ir(name, data, with_public_bounds, epsilon, ks[name], generator):
                    found.setdefault((label, False), []).append(yardstick.measure(published.values))
            rows += [_row(name, label, private, epsilon, measured) for (label, private), measured in found.items()]
    progress(NAME, steps, steps)
    return rows


def _idp_ir(
    name: MicrodataName,
    data: Microdata,
    with_public_bounds: Microdata,
    epsilon: float,
    ks: Sequence[int],
    generator: np.random.Generator,
) -> Iterator[tuple[str, Microdata]]:
    """Yield releases as published: the smallest and the largest clusters of the figures, and other owners."""
    setting, sound = Setting(name), Setting(name, local_sensitivity="global")
    small, large = ks[1], ks[-1]
    exact = Setting(name, "central", "vector", "schema", "public").mechanism(large, epsilon)
    for k in (small, large):
        yield f"iDP-IR, one owner, k = {k}", release_central(setting.mechanism(k, epsilon), data, generator)
    label = f"iDP-IR, one owner, k = {large}, exact sensitivity, schema order, public bounds"
    yield label, release_central(exact, with_public_bounds, generator)
    yield f"DP-IR, one owner, k = {large}", release_central(sound.mechanism(large, epsilon), data, generator)
    owners, mechanism = Owners(name, data), setting.mechanism(large, epsilon)
    # Owners of records get other ones in every run. No measure depends on the order of records.
    yield (
        f"iDP-IR, other records at every owner, k = {large}",
        release_horizontal(mechanism, owners.horizontal(generator), generator),
    )
    yield (
        f"iDP-IR, other columns at every owner, k = {large}",
        release_vertical(mechanism, owners.vertical(), generator),
    )


def _row(name: MicrodataName, label: str, private: bool, epsilon: float, measured: Sequence[tuple[float, ...]]) -> Row:
    values = np.array(measured)
    errors = tuple(values.std(axis=0, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else None
    return Row(name, label, private, epsilon, tuple(values.mean(axis=0)), errors, len(values))


@dataclass(frozen=True)
class CopulaReleases:
    """Copula releases of one table on the ideal engine, with fresh coins each time; its fragments are read once."""

    data: Microdata
    mapping: dict[str, Any]
    fragments: Mapping[str, Fragment]

    @staticmethod
    def of(name: MicrodataName, data: Microdata) -> CopulaReleases:
        """Prepare for releases of some records; two parties have half of them each."""
        mapping = copula_mapping(name, data)
        table = _frame(name, data, mapping)
        halves = {"p0": table.iloc[::2], "p1": table.iloc[1::2]}
        return CopulaReleases(data, mapping, read_fragments(_agreement(mapping, 1.0), halves))

    def draw(self, epsilon: float) -> Floats:
        """Release once; return the synthetic records as a matrix like that of the real ones."""
        records, columns = simulate_fragments(_agreement(self.mapping, epsilon), self.fragments).records, []
        for attribute in self.data.attributes:
            column = records.column(attribute.name).combine_chunks()
            column = column if attribute.categories is None else column.indices
            columns.append(column.to_numpy(zero_copy_only=False).astype(np.float64))
        return np.column_stack(columns)


def copula_mapping(name: MicrodataName, data: Microdata) -> dict[str, Any]:
    """The agreement of a copula release of the same columns, as a mapping; its epsilon is filled in later."""
    schema = {
        attribute.name: ATTRIBUTES[name][attribute.name]
        if attribute.categories is None
        else {"kind": "categorical", "values": list(attribute.categories)}
        for attribute in data.attributes
    }
    last = data.attributes[-1]
    label, values = CONSTANT_CLASS if last.categories is None else (last.name, list(last.categories))
    schema.pop(label, None)  # the class is one more column
    return {
        "format": 1,
        "name": name,
        "dataset": name,
        "partition": "horizontal",
        "parties": {"p0": {}, "p1": {}},
        "records": {"expected": len(data.values), "public": True},
        "class": {"name": label, "values": values},
        "attributes": with_first_values(schema),
        "mechanism": {"name": "copula"},
    }


def _agreement(mapping: dict[str, Any], epsilon: float) -> Agreement:
    return agreement_from_mapping({**mapping, "privacy": {"epsilon": f"{epsilon:g}", "neighbors": "replace"}})


def _frame(name: MicrodataName, data: Microdata, mapping: dict[str, Any]) -> pd.DataFrame:
    columns: dict[str, Any] = {}
    for place, attribute in enumerate(data.attributes):
        values = data.values[:, place]
        if attribute.categories is None:
            low, high = (float(end) for end in ATTRIBUTES[name][attribute.name]["bounds"])
            columns[attribute.name] = np.clip(values, low, high)
        else:
            columns[attribute.name] = np.array(attribute.categories, dtype=object)[values.astype(np.int64)]
    columns.setdefault(mapping["class"]["name"], mapping["class"]["values"][0])
    return pd.DataFrame(columns)


def beside_tables(rows: Sequence[Row]) -> Iterator[tuple[str, list[str], list[list[str]]]]:
    """Yield a title, a header and lines for every table and measure."""
    for name, label in LABELS.items():
        here = [row for row in rows if row.dataset == name]
        epsilons = list(dict.fromkeys(row.epsilon for row in here))
        for place, measure in enumerate(MEASURES):
            header = ["algorithm", "private", *(f"epsilon {epsilon:g}" for epsilon in epsilons)]
            lines: dict[str, list[str]] = {}
            for row in here:
                line = lines.setdefault(row.algorithm, [row.algorithm, "yes" if row.private else "no"])
                error = "" if row.standard_errors is None else f" ± {number(row.standard_errors[place])}"
                line.append(number(row.means[place]) + error)
            yield f"{label}; {measure}; mean and standard error of {here[0].runs} runs", header, list(lines.values())


def beside_markdown(rows: Sequence[Row]) -> str:
    """All tables for a Markdown page."""
    parts: list[str] = []
    for title, header, lines in beside_tables(rows):
        parts += [f"{title}:\n", *markdown_table(header, lines)]
    return "\n".join(parts)


def beside_records(rows: Sequence[Row]) -> list[dict[str, object]]:
    """One plain record per row and measure, for CSV and JSON."""
    return [
        {
            "figure": NAME,
            "panel": LABELS[row.dataset],
            "algorithm": row.algorithm,
            "private": "yes" if row.private else "no",
            "metric": measure,
            "epsilon": row.epsilon,
            "mean": row.means[place],
            "standard_error": None if row.standard_errors is None else row.standard_errors[place],
            "runs": row.runs,
        }
        for row in rows
        for place, measure in enumerate(MEASURES)
    ]
