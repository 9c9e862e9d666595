"""Costs that are measured beside the printed ones: shapes of published runs, secure releases, and growth of time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from copublish.agreement.model import Agreement
from copublish.engines.choice import has_secure_engine
from copublish.engines.spu.products import records_of_products
from copublish.party.local.processes import simulate_in_processes
from copublish.progress import no_progress
from copublish.release.folder import Release, generalization_of
from copublish.tools.planning.tuning import Work
from copublish.tools.planning.tunings import tuning_of
from copublish_reproduction.bench import Bench
from copublish_reproduction.datasets import Dataset, DatasetName, Partition, agreement_for, scatter_cells, split_columns
from copublish_reproduction.distdiffgen import draw_split_point
from copublish_reproduction.labeled_table import LabeledTable
from copublish_reproduction.plain_table import Ints, Piece, PlainTable
from copublish_reproduction.printed_costs import growth
from copublish_reproduction.selection import draw, log_weights
from copublish_reproduction.top_down import specialize, step_epsilon
from copublish_reproduction.vhdp import Vhdp, gain_ratios

DIGITS, ROUNDS = 10, 10
MIB = 2**20


@dataclass(frozen=True)
class RunShape:
    """Quantities of one run of DistDiffGen that section 7.2 bounds.

    Attributes:
        candidates: Largest number of candidates of a selection.
        sum_of_scores: Largest sum of their scores.
        weight_bits: Largest length of the sum of their weights, exactly.
        leaves: Number of leaves at the end.
    """

    candidates: int
    sum_of_scores: int
    weight_bits: int
    leaves: int


def distdiffgen_shape(table: PlainTable, epsilon: float, generator: np.random.Generator) -> RunShape:
    """Run DistDiffGen's first phase and note what each selection had to compare."""
    step, every = step_epsilon(table, epsilon, ROUNDS), []

    def choose_split(piece: Piece) -> tuple[Piece, Piece] | None:
        return draw_split_point(table, piece, step, generator)

    def choose_cut(scores: Ints) -> int:
        every.append(scores)
        return draw(log_weights(scores, step, DIGITS), generator)

    cut = specialize(table, ROUNDS, choose_split, choose_cut)
    bits = [bits_of_sum(log_weights(scores, step, DIGITS).tolist()) for scores in every]
    sums = [int(scores.sum()) for scores in every]
    return RunShape(max(map(len, every)), max(sums), max(bits), cut.n_leaves)


def bits_of_sum(logarithms: list[float]) -> int:
    """Length of the sum of numbers that are given as natural logarithms."""
    largest = max(logarithms)
    total = largest + math.log(sum(math.exp(number - largest) for number in logarithms))
    return math.floor(total / math.log(2)) + 1


@dataclass(frozen=True)
class MeasuredRelease:
    """A release of `specialization` between processes on this machine, on the secure engine.

    Attributes:
        name: Which data, divided how.
        records: Number of records.
        seconds: From start-up to the release, compilation included.
        sent_bytes: Sent by both parties.
        thousand_coins: Biased bits drawn jointly for all noise, in thousands.
        million_encrypted: Entries of encrypted matrices for joining counts, in millions.
        million_ands: ANDs of shared marks, in millions, where more than one party may hold a cell.
        leaves: Leaves of the published table.
    """

    name: str
    records: int
    seconds: float
    sent_bytes: int
    thousand_coins: float
    million_encrypted: float
    million_ands: float
    leaves: int


def measured_release(dataset: Dataset, partition: Partition, epsilon: str = "1") -> MeasuredRelease | None:
    """Publish the training records on the secure engine; none where it is not installed."""
    if not has_secure_engine():
        return None
    agreement = agreement_for(dataset.name, dataset.folder, epsilon, partition=partition)
    return measure_secure(dataset.name, agreement, fragments_of(dataset.name, dataset.train, partition))


def fragments_of(name: DatasetName, records: pd.DataFrame, partition: Partition) -> dict[str, pd.DataFrame]:
    """What each party holds."""
    return split_columns(name, records) if partition == "vertical" else scatter_cells(name, records)


def measure_secure(name: str, agreement: Agreement, fragments: dict[str, pd.DataFrame]) -> MeasuredRelease:
    """Run both parties in processes of their own and measure them."""
    sent: dict[str, int] = {}
    start = time.perf_counter()
    release = simulate_in_processes(agreement, fragments, progress=no_progress, bytes_sent=sent)
    seconds = time.perf_counter() - start
    n = len(next(iter(fragments.values())))
    work = work_of(agreement, release, n)
    cut = generalization_of(release, "it has no leaves")
    leaves = math.prod(len(values) for values in cut.values.values())
    return MeasuredRelease(
        f"{name.capitalize()}, {agreement.partition}",
        n,
        seconds,
        sum(sent.values()),
        work.biased_bits,
        work.product_columns,
        work.marks,
        leaves,
    )


def work_of(agreement: Agreement, release: Release, n_records: int) -> Work:
    """The quantities of a secure run, from its public shapes."""
    tuning = tuning_of(agreement)
    if tuning is None:
        raise ValueError("the mechanism has no work to count")
    return tuning.work(agreement, release, n_records, records_of_products)


def seconds_of(work: Callable[[], object], times: int = 3) -> float:
    """Shortest processor time of some work."""
    found = []
    for _ in range(times):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return max(min(found), 1e-9)


def vhdp_growth(table: LabeledTable) -> dict[str, tuple[float, float]]:
    """Seconds of VHDP's first two algorithms on all records, and the exponent of growth from a quarter of them."""
    n = len(table.labels)
    weights = (1.0,) * table.values.shape[1]

    def scores(rows: int) -> float:
        return seconds_of(lambda: gain_ratios(table.values[:rows], table.labels[:rows]))

    def noise(rows: int) -> float:
        generator = np.random.default_rng(0)
        return seconds_of(lambda: Vhdp(0.4, weights).perturb(table.values[:rows], generator))

    found = {}
    for name, seconds in (("Algorithm 1", scores), ("Algorithm 2", noise)):
        found[name] = (seconds(n), growth(seconds, (n // 4, n)))
    return found


def adult_shapes(folder: Path, runs: int) -> list[RunShape]:
    """The shape of DistDiffGen's runs on Adult at epsilon 1.

    Raises:
        SourceError: If the folder lacks a file.
    """
    bench = Bench.load("adult", folder, 0)
    return [distdiffgen_shape(bench.plain, 1.0, np.random.default_rng(run)) for run in range(runs)]
