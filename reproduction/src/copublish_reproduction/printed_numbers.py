"""Every number that the five papers print, beside ours as published and of a sound release; made from stored tables."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from copublish.errors import CopublishError
from copublish_reproduction.datasets import load_dataset, read_table
from copublish_reproduction.hpdp_sets import NLTCS_COUNTS, NLTCS_RECORDS, load_records
from copublish_reproduction.labeled_table import load_labeled
from copublish_reproduction.plain_table import Ints
from copublish_reproduction.printed import HPDP_CONTRIBUTION, PRINTED, Printed
from copublish_reproduction.printed_costs import section_7_2
from copublish_reproduction.selection import floored, log_weights
from copublish_reproduction.stored_claims import (
    AUTO,
    Claim,
    StoredFigure,
    arbdistdp_claims,
    distdiffgen_claims,
    shown,
)

PAPER_OF = {"distdiffgen": "DistDiffGen", "arbdistdp": "ArbDistDP", "hpdp": "HPDP-DP"}
SOUND_OF = {"distdiffgen": AUTO, "arbdistdp": AUTO, "hpdp": "copublish, hpdp"}
"""The line of copublish that stands beside a paper's."""

MADE_BY_TEXT = "printed-numbers"
PAPERS = ("DistDiffGen", "ArbDistDP", "iDP-IR", "HPDP-DP", "VHDP")

NURSERY_PRINTED = {
    "not_recom": "4,320",
    "priority": "4,266",
    "spec_prior": "4,044",
    "very_recom": "328",
    "recommend": "2",
}
IDP_IR_OWNERS = {"Adult": (11_100, 15_000, 12_000, 7_122), "Wine": (500, 1_000, 4_997)}
"""Records of each owner in the paper's own set-up."""


@dataclass(frozen=True)
class PrintedNumber:
    """One number.

    Attributes:
        paper: Who prints it.
        where: Figure, table, section or example.
        what: What it is.
        printed: As printed.
        published: Ours, by the published algorithm or recomputed.
        sound: Ours, of a sound release; empty where there is nothing to release.
        command: What re-makes our numbers, after `copublish reproduce`.
    """

    paper: str
    where: str
    what: str
    printed: str
    published: str
    sound: str
    command: str


HEADER = ["paper", "where", "what", "printed", "ours, as published", "ours, sound", "re-made by"]


def printed_numbers(data: Path, stored: Path) -> list[PrintedNumber]:
    """Every printed number, in the order of the papers.

    Args:
        data: Folder with the data sets.
        stored: Folder with the tables of the figures.

    Raises:
        SourceError: If a data set is missing.
        CopublishError: If the table of a figure is missing.
    """
    numbers = [
        *_of_sets(data),
        *(_of_figure(*key, number, stored) for key, number in PRINTED.items()),
        *_of_claims(stored),
        *(PrintedNumber("DistDiffGen", "Section 7.2", *row, "", "costs") for row in section_7_2()),
        *_of_examples(),
        *_of_grids(stored),
    ]
    return sorted(numbers, key=lambda number: PAPERS.index(number.paper))


def rows_of(numbers: list[PrintedNumber]) -> list[list[str]]:
    """The cells of a table."""
    return [[*vars(number).values()] for number in numbers]


def _of_figure(figure: str, dataset: str, series: str, x: str, number: Printed, stored: Path) -> PrintedNumber:
    name, _, place = figure.partition("-")
    table = StoredFigure.read(stored, figure, dataset)
    point = table.at(series, x)
    sound_x = x if x in table.xs(SOUND_OF[name]) else ""
    is_algorithm = not point.series.startswith((HPDP_CONTRIBUTION, "raw", "majority"))
    has_sound = is_algorithm and sound_x in table.xs(SOUND_OF[name])
    sound = f"{shown(table.at(SOUND_OF[name], sound_x))} ({SOUND_OF[name]})" if has_sound else ""
    what = f"{dataset}, {series}" + (f", {point_name(figure)} {x}" if x else "")
    return PrintedNumber(
        PAPER_OF[name], f"Fig. {place[3:]}", what, f"{number.percent:.1f}", shown(point), sound, figure
    )


def point_name(figure: str) -> str:
    """What the horizontal axis of a figure is."""
    return "k" if figure == "hpdp-fig3" else "epsilon"


def _of_claims(stored: Path) -> Iterator[PrintedNumber]:
    papers: list[tuple[str, str, list[Claim]]] = [
        ("DistDiffGen", "distdiffgen-claims", distdiffgen_claims(stored)),
        ("ArbDistDP", "arbdistdp-claims", arbdistdp_claims(stored)),
    ]
    for paper, command, claims in papers:
        for said, found in claims:
            if any(letter.isdigit() for letter in said.replace("epsilon 1 and more", "")):
                yield PrintedNumber(paper, "text on figures", "claim", said, found, "", command)


def _known(paper: str, where: str, what: str, text: str, ours: object) -> PrintedNumber:
    """A number that is computed here and now, from data sets or by hand."""
    return PrintedNumber(paper, where, what, text, f"{ours}", "", MADE_BY_TEXT)


def _of_sets(data: Path) -> Iterator[PrintedNumber]:
    adult, nursery = load_dataset("adult", data), read_table(data / "nursery.data", "nursery")
    train, test = len(adult.train), len(adult.test)
    both, whole = [*adult.train[adult.class_name], *adult.test[adult.class_name]], f"{train + test:,}"
    kinds = f"{len(adult.numerical)}, {len(adult.attributes) - len(adult.numerical)}"
    yield _known("DistDiffGen", "Section 7", "Adult: records", "45,222", whole)
    yield _known("DistDiffGen", "Section 7", "Adult: numerical and categorical attributes", "6, 8", kinds)
    yield _known("DistDiffGen", "Section 7.1", "training and test records", "30,162, 15,060", f"{train:,}, {test:,}")
    yield _known("ArbDistDP", "Table 4", "Adult: records", "45,222", whole)
    yield _known("ArbDistDP", "Table 4", "Adult: <=50K", "34,014", f"{both.count('<=50K'):,}")
    yield _known("ArbDistDP", "Table 4", "Adult: >50K", "11,208", f"{both.count('>50K'):,}")
    yield _known("ArbDistDP", "Table 4", "Nursery: records", "12,960", f"{len(nursery):,}")
    for label, text in NURSERY_PRINTED.items():
        yield _known("ArbDistDP", "Table 4", f"Nursery: {label}", text, f"{(nursery['class'] == label).sum():,}")
    wine = sum(len((data / f"winequality-{color}.csv").read_text().splitlines()) - 1 for color in ("red", "white"))
    yield _known("iDP-IR", "Section 5.1", "Adult: records", "45,222", whole)
    yield _known("iDP-IR", "Section 5.1", "Wine Quality: records", "6,497", f"{wine:,}")
    for name, owners in IDP_IR_OWNERS.items():
        printed = " + ".join(f"{n:,}" for n in owners)
        yield _known("iDP-IR", "Section 5.1.2", f"{name}: records of all owners", printed, f"{sum(owners):,}")
    bits = load_records("adult, salary", data, "bits").values
    made_up = f"{NLTCS_RECORDS:,}, {len(NLTCS_COUNTS)} (made up)"
    yield _known("HPDP-DP", "Section 5", "NLTCS: individuals and attributes", "21,574, 16", made_up)
    yield _known("HPDP-DP", "Section 5", "Adult: individuals", "45,222", f"{len(bits):,}")
    yield _known("HPDP-DP", "Section 5", "Adult: columns", "52", bits.shape[1])
    for name, label, text in (("statlog", "Statlog", "270, 13"), ("adult", "Adult", "30,162, 14")):
        n, k = load_labeled("statlog" if name == "statlog" else "adult", data).values.shape
        yield _known("VHDP", "Table 1", f"{label}: instances and attributes", text, f"{n:,}, {k}")


def _of_examples() -> Iterator[PrintedNumber]:
    scaled = [np.exp(floored(np.array([1.0]), digits))[0] for digits in (1, 2, 3, 4)]
    e = ", ".join(f"{number:.0f}" for number in scaled)
    yield _known("DistDiffGen", "Table 3", "floor of e x 10^l, l = 1 to 4", "27, 271, 2718, 27182", e)
    for digits, text in ((1, "545, 4034, 73; 4652"), (2, "5459, 40342, 738; 46539")):
        weights = np.rint(np.exp(log_weights(np.array([8, 12, 4]), 1.0, digits))).astype(int)
        found = f"{', '.join(map(str, weights))}; {weights.sum()}"
        yield _known("DistDiffGen", "Example 2", f"weights and their sum, l = {digits}", text, found)
    scores = np.array([[4, 1], [2, 3]]).max(axis=1), np.array([[0, 3], [6, 1]]).max(axis=1)
    yield _known("ArbDistDP", "Example 3", "score of ANY_JOB", "7 = 4 + 3", _sum(scores[0]))
    yield _known("ArbDistDP", "Example 3", "score of [1, 99), with class labels swapped", "9 = 3 + 6", _sum(scores[1]))
    parts = [float(np.exp(0.5 * part / 2)) for part in (3, 4, 7, 2)]
    listed = ", ".join(f"{part:.4f}" for part in parts)
    yield _known("ArbDistDP", "Example 5", "weights of parts", "2.1170, 2.7183, 5.7546, 1.6487", listed)
    first, second, third, fourth = (int(10 * part) for part in parts)
    products = f"{first * second}, {third * fourth}; {first * second + third * fourth}"
    yield _known("ArbDistDP", "Example 5", "products and their sum", "567, 912; 1479", products)
    yield _known("iDP-IR", "Section 3.3", "clusters of 102 records with k = 5", "20", 102 // 5)
    yield _known("iDP-IR", "Section 5.1", "average place of 1, 1 and 2", "1.33", f"{(1 + 1 + 2) / 3:.2f}")


def _sum(parts: Ints) -> str:
    return f"{parts.sum()} = {' + '.join(map(str, parts))}"


Cell = dict[str, str]


def _of_grids(stored: Path) -> Iterator[PrintedNumber]:
    def corrected(figure: str, keep: Callable[[Cell], bool]) -> list[float]:
        file = stored / f"{figure}.csv"
        if not file.is_file():
            raise CopublishError(f"'{file}' is not there. Regenerate '{figure}' first, or name its folder with --out.")
        with file.open(encoding="utf-8", newline="") as lines:
            rows = [row for row in csv.DictReader(lines) if row["metric"] == "corrected" and keep(row)]
        return [float(row["mean"]) for row in rows]

    def columns_elsewhere(row: Cell) -> bool:
        return "columns" in row["panel"]

    def small(row: Cell) -> bool:
        return row["epsilon"] in ("0.01", "0.1") and row["k"] != "1"

    adult = corrected("idp-ir-fig5", columns_elsewhere)
    wine = corrected("idp-ir-fig6", small)
    base = corrected("idp-ir-fig3", lambda row: small(row) and "published" in row["panel"])
    yield PrintedNumber(
        *("iDP-IR", "Section 5.1.4", "Adult, owners of columns: largest difference", "around 0.04"),
        *(f"{max(adult):.2f}", "", "idp-ir-fig5"),
    )
    yield PrintedNumber(
        *("iDP-IR", "Section 5.1.4", "Wine, epsilon 0.01 and 0.1: differences", "below 300"),
        *(f"up to {max(wine):,.0f}", "", "idp-ir-fig6"),
    )
    yield PrintedNumber(
        *("iDP-IR", "Section 5.1.4", "Wine, epsilon 0.01 and 0.1: MeanSSE of one owner", "thousands"),
        *(f"{min(base):,.0f} to {max(base):,.0f}" if base else "", "", "idp-ir-fig3"),
    )
