"""Which reading of iDP-IR's sensitivity fits which sentence of the paper: every sentence tried with every reading.

The paper does not say what the local sensitivity of a centroid is. All grids of figures 2 to 6 are made once for each
reading, everything else as published, and each sentence is tested on them. Nothing here is differentially private.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from copublish.mechanisms.idp_ir.plan import Sensitivity
from copublish_reproduction.figures import Tell
from copublish_reproduction.grid_figures import EPSILONS, KS, number
from copublish_reproduction.loss_grids import METRICS, Experiment, Metric, Scenario, Setting
from copublish_reproduction.microdata_sets import MicrodataName
from copublish_reproduction.table_text import markdown_table

NAME = "idp-ir-readings"
TITLE = "iDP-IR: which reading of the sensitivity fits which sentence of the paper"

READINGS: tuple[Sensitivity, ...] = ("fixed", "vector", "gap", "global")
SCENARIOS: tuple[Scenario, ...] = ("central", "horizontal", "vertical")

MINIMAL = 0.1
"""The largest share of the loss that may go where the paper calls the decrease minimal."""


@dataclass(frozen=True)
class Losses:
    """The losses of one table with one reading.

    Attributes:
        ks: Columns.
        epsilons: Rows.
        central, horizontal, vertical, dp_ir: Shape (metrics, runs, epsilons, ks); `dp_ir` with the global sensitivity.
    """

    ks: tuple[int, ...]
    epsilons: tuple[float, ...]
    central: NDArray[np.float64]
    horizontal: NDArray[np.float64]
    vertical: NDArray[np.float64]
    dp_ir: NDArray[np.float64]

    def means(self, losses: NDArray[np.float64], metric: Metric = "corrected") -> Means:
        """Means over runs, with their standard errors."""
        values = losses[METRICS.index(metric)]
        spread = values.std(axis=0, ddof=1) if len(values) > 1 else np.zeros(values.shape[1:])
        return Means(values.mean(axis=0), spread / np.sqrt(len(values)))

    def cells(self, epsilons: Sequence[float], ks: Callable[[int], bool]) -> tuple[NDArray[np.intp], ...]:
        """The cells of some epsilons and cluster sizes."""
        rows = [place for place, epsilon in enumerate(self.epsilons) if epsilon in epsilons]
        return np.ix_(rows, [place for place, k in enumerate(self.ks) if ks(k)])


@dataclass(frozen=True)
class Means:
    """Means over runs, and their standard errors; shape (epsilons, ks)."""

    values: NDArray[np.float64]
    errors: NDArray[np.float64]

    def __getitem__(self, cells: tuple[NDArray[np.intp], ...]) -> Means:
        return Means(self.values[cells], self.errors[cells])

    def largest(self) -> tuple[float, float]:
        """The largest mean, with its standard error."""
        place = np.unravel_index(int(self.values.argmax()), self.values.shape)
        return float(self.values[place]), float(self.errors[place])

    def rises(self, axis: int) -> int:
        """How many neighboring cells rise beyond two standard errors of their difference."""
        squares = np.square(self.errors)
        first, second = (squares[:-1], squares[1:]) if axis == 0 else (squares[:, :-1], squares[:, 1:])
        return int((np.diff(self.values, axis=axis) > 2 * np.sqrt(first + second)).sum())


Verdict = tuple[bool, str]
"""Whether a sentence fits, and the numbers that say so."""


@dataclass(frozen=True)
class Sentence:
    """One sentence of the paper, and how it is tested.

    Attributes:
        text: What the paper says.
        figure: Of which figure.
        dataset: On which table.
        test: The verdict on some losses.
    """

    text: str
    figure: str
    dataset: MicrodataName
    test: Callable[[Losses], Verdict]


@dataclass(frozen=True)
class Row:
    """A sentence with its verdict for every reading."""

    sentence: Sentence
    verdicts: Mapping[Sensitivity, Verdict]


def _plain(losses: Losses) -> Verdict:
    means = losses.means(losses.central).values[:, losses.ks.index(1)]
    return bool(means[-1] >= (1 - MINIMAL) * means[0]), f"{number(means[0])} to {number(means[-1])}"


def _falls(axis: int) -> Callable[[Losses], Verdict]:
    def test(losses: Losses) -> Verdict:
        rises = losses.means(losses.central).rises(axis)
        return rises == 0, f"rises in {rises} steps"

    return test


def _beats_dp_ir(losses: Losses) -> Verdict:
    difference = losses.means(losses.central - losses.dp_ir)
    lower = int((difference.values < 0).sum())
    higher = int((difference.values > 2 * difference.errors).sum())
    return lower > 0 and not higher, f"lower in {lower} of {difference.values.size} cells, clearly higher in {higher}"


def _in_thousands(metric: Metric) -> Callable[[Losses], Verdict]:
    def test(losses: Losses) -> Verdict:
        found = losses.means(losses.central, metric)[losses.cells((0.01, 0.1), lambda k: k > 1)].values
        fits = bool((found >= 1_000).all() and (found < 100_000).all())
        return fits, f"{number(float(found.min()))} to {number(float(found.max()))}"

    return test


def _least_for_small_k(losses: Losses) -> Verdict:
    difference = losses.means(losses.horizontal - losses.central)
    every = losses.epsilons
    small, _ = difference[losses.cells(every, lambda k: 1 < k <= 250)].largest()
    large, _ = difference[losses.cells(every, lambda k: k > 250)].largest()
    return small < large, f"at most {number(small)}, then {number(large)}"


def _at_most(bound: float, owners: Scenario, epsilons: tuple[float, ...]) -> Callable[[Losses], Verdict]:
    def test(losses: Losses) -> Verdict:
        several = losses.horizontal if owners == "horizontal" else losses.vertical
        difference = losses.means(several - losses.central)[losses.cells(epsilons, lambda k: k > 1)]
        largest, error = difference.largest()
        return largest - 2 * error <= bound, f"at most {number(largest)} ± {number(error)}"

    return test


_ON_BOTH: tuple[tuple[str, str, MicrodataName], ...] = (
    ("Fig. 2, Adult", "Fig. 4, Adult", "adult"),
    ("Fig. 3, Wine", "Fig. 4, Wine", "wine"),
)

SENTENCES = (
    *(
        sentence
        for figure, _, dataset in _ON_BOTH
        for sentence in (
            Sentence("plain iDP: with epsilon from 0.01 to 1 'the decrease is minimal'", figure, dataset, _plain),
            Sentence("'for larger epsilon ... a decrease in SSE', 'exactly observed'", figure, dataset, _falls(0)),
            Sentence("'for larger k ... a decrease in SSE', 'exactly observed'", figure, dataset, _falls(1)),
        )
    ),
    *(
        Sentence("'for all pairs (epsilon, k)' better than DP-IR", figure, dataset, _beats_dp_ir)
        for _, figure, dataset in _ON_BOTH
    ),
    Sentence(
        "epsilon 0.01 and 0.1: 'in the thousands' (corrected)", "Fig. 3, Wine", "wine", _in_thousands("corrected")
    ),
    Sentence("the same with the formula as printed", "Fig. 3, Wine", "wine", _in_thousands("printed")),
    Sentence("other records: minimal up to k = 250, then larger", "Fig. 5, Adult", "adult", _least_for_small_k),
    Sentence("other columns: 'around 0.04' at most", "Fig. 5, Adult", "adult", _at_most(0.04, "vertical", EPSILONS)),
    Sentence(
        "other records, epsilon 0.01 and 0.1: 'below 300'",
        "Fig. 6, Wine",
        "wine",
        _at_most(300, "horizontal", (0.01, 0.1)),
    ),
    Sentence(
        "other columns, epsilon 0.01 and 0.1: 'below 300'",
        "Fig. 6, Wine",
        "wine",
        _at_most(300, "vertical", (0.01, 0.1)),
    ),
)


def run_readings(
    folder: Path,
    runs: int,
    progress: Tell,
    *,
    epsilons: tuple[float, ...] = EPSILONS,
    ks: Mapping[MicrodataName, tuple[int, ...]] = KS,
) -> list[Row]:
    """Test every sentence with every reading.

    Raises:
        SourceError: If the folder lacks a file.
        FragmentError: If an owner has fewer records than the largest k.
    """
    losses: dict[tuple[Sensitivity, MicrodataName], Losses] = {}
    datasets: tuple[MicrodataName, ...] = ("adult", "wine")
    steps = len(datasets) * len(READINGS)
    for dataset in datasets:
        released: dict[tuple[Sensitivity, Scenario], NDArray[np.float64]] = {}
        for number_of_reading, reading in enumerate(READINGS):
            progress(NAME, len(losses) + number_of_reading, steps)
            for scenario in SCENARIOS:
                setting = Setting(dataset, scenario, reading)
                released[reading, scenario] = Experiment.load(setting, folder).run(runs, ks[dataset], epsilons)
        for reading in READINGS:
            central, horizontal, vertical = (released[reading, scenario] for scenario in SCENARIOS)
            dp_ir = released["global", "central"]
            losses[reading, dataset] = Losses(ks[dataset], epsilons, central, horizontal, vertical, dp_ir)
    progress(NAME, steps, steps)
    return [
        Row(sentence, {reading: sentence.test(losses[reading, sentence.dataset]) for reading in READINGS})
        for sentence in SENTENCES
    ]


HEADER = ["what the paper says", "of", *READINGS]


def readings_table(rows: Sequence[Row]) -> tuple[list[str], list[list[str]]]:
    """The table, with how many sentences fit each reading in the last row."""
    shown = [
        [row.sentence.text, row.sentence.figure, *(_shown(row.verdicts[reading]) for reading in READINGS)]
        for row in rows
    ]
    fitting = [f"{sum(row.verdicts[reading][0] for row in rows)} of {len(rows)}" for reading in READINGS]
    return HEADER, [*shown, ["sentences that fit", "", *fitting]]


def _shown(verdict: Verdict) -> str:
    fits, numbers = verdict
    return f"{'yes' if fits else 'NO'}: {numbers}"


def readings_records(rows: Sequence[Row]) -> list[dict[str, object]]:
    """One plain record for every sentence and reading, for CSV and JSON."""
    return [
        {
            "sentence": row.sentence.text,
            "figure": row.sentence.figure,
            "reading": reading,
            "fits": "yes" if fits else "no",
            "numbers": numbers,
        }
        for row in rows
        for reading, (fits, numbers) in row.verdicts.items()
    ]


def readings_markdown(rows: Sequence[Row], runs: int) -> str:
    """The part of the results page."""
    header, cells = readings_table(rows)
    best = max(sum(row.verdicts[reading][0] for row in rows) for reading in READINGS)
    none = "No reading fits all sentences" if best < len(rows) else "Some reading fits all sentences"
    return (
        f"As published but for the sensitivity, not differentially private. Means of {runs} runs; MeanSSE corrected, "
        f"unless said otherwise. What a sentence says is taken as met within two standard errors. {none}.\n\n"
        + "\n".join(markdown_table(header, cells))
    )
