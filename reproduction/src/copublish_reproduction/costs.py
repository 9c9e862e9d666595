"""Exhibits about cost: what the papers print, recomputed, beside what is measured here."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from copublish.engines.choice import has_secure_engine
from copublish_reproduction.bench import Bench
from copublish_reproduction.datasets import agreement_for, load_dataset
from copublish_reproduction.figures import Tell
from copublish_reproduction.hpdp import Hpdp, split_at_random
from copublish_reproduction.hpdp_bench import HpdpBench
from copublish_reproduction.hpdp_network import COMPONENTS, MATRICES, RECORDS, run_between_processes
from copublish_reproduction.labeled_table import load_labeled
from copublish_reproduction.measured_costs import (
    MIB,
    MeasuredRelease,
    RunShape,
    adult_shapes,
    fragments_of,
    measure_secure,
    measured_release,
    vhdp_growth,
)
from copublish_reproduction.printed_costs import DistDiffGenCosts, complexities, section_7_2
from copublish_reproduction.protocol_costs import OPERAND_BITS, UnitCosts, count_operations, measure_unit_costs
from copublish_reproduction.table_text import markdown_table

SIZES = (100_000, 200_000, 300_000, 400_000, 500_000)
"""Records of ArbDistDP's Figure 9."""
SECURE_SIZES = (100_000, 500_000)
"""Where a release on the secure engine stands beside the protocol: each takes minutes."""

NUMBER_BYTES = 8
PAPER_TERMS = {MATRICES: "Mp^2", COMPONENTS: "MpK^2", RECORDS: "np"}

NOT_INSTALLED = "not measured: the secure engine is not installed"


@dataclass(frozen=True)
class CostTable:
    """A table about cost.

    Attributes:
        title: What it shows.
        header: Names of its columns.
        rows: Its cells as text.
        notes: Sentences below it.
    """

    title: str
    header: list[str]
    rows: list[list[str]]
    notes: tuple[str, ...] = ()


def cost_markdown(tables: list[CostTable]) -> str:
    """Tables and notes for a Markdown page."""
    lines: list[str] = []
    for table in tables:
        lines += [f"{table.title}:\n", *markdown_table(table.header, table.rows)]
        lines += [f"- {note}" for note in table.notes] + ([""] if table.notes else [])
    return "\n".join(lines)


def cost_records(tables: list[CostTable]) -> list[dict[str, object]]:
    """A record for each row, in the columns of a CSV file."""
    return [
        {"table": table.title, "row": row[0], "column": name, "value": cell}
        for table in tables
        for row in table.rows
        for name, cell in zip(table.header[1:], row[1:], strict=True)
    ]


def printed_cost_tables(data: Path, runs: int, progress: Tell) -> list[CostTable]:
    """DistDiffGen's section 7.2 and every stated complexity, beside runs on Adult and a secure release of it.

    Raises:
        SourceError: If the folder lacks a file.
    """
    progress("costs", 0, 4)
    shapes = adult_shapes(data, runs)
    progress("costs", 1, 4)
    growths = vhdp_growth(load_labeled("adult", data))
    progress("costs", 2, 4)
    adult = load_dataset("adult", data)
    releases = [measured_release(adult, "vertical"), measured_release(adult, "arbitrary")]
    progress("costs", 4, 4)
    return [
        CostTable(
            "DistDiffGen, section 7.2, with the paper's own quantities",
            ["", "printed", "recomputed"],
            [list(row) for row in section_7_2()],
        ),
        _shape_table(shapes),
        _complexity_table(),
        CostTable(
            "VHDP on Adult, processor time here",
            ["", "seconds", "grows with the number of records like n to the"],
            [[name, f"{seconds:.3f}", f"{exponent:.2f}"] for name, (seconds, exponent) in growths.items()],
        ),
        _release_table([release for release in releases if release]),
    ]


SOCKET_OWNERS = (2, 3, 5)


def socket_tables(
    data: Path, progress: Tell, owners: tuple[int, ...] = SOCKET_OWNERS, key_bits: int = 2048
) -> list[CostTable]:
    """Traffic of HPDP-DP's curator and owners between processes on Adult, beside the paper's formulas.

    Raises:
        SourceError: If the folder lacks a file.
    """
    bench = HpdpBench.load("adult, salary", data, 0)
    n, p = bench.train.shape
    rows = []
    for number, n_owners in enumerate(owners):
        progress("HPDP-DP over sockets", number, len(owners))
        parts = split_at_random(bench.train, n_owners, np.random.default_rng(n_owners))
        start = time.perf_counter()
        run = run_between_processes(Hpdp(0.5, bench.contribution), parts, key_bits=key_bits)
        seconds = time.perf_counter() - start
        k = run.n_components
        formulas = {MATRICES: n_owners * p * p, COMPONENTS: n_owners * p * k * k, RECORDS: n * p}
        for stage, printed in formulas.items():
            item = run.item_bytes if stage == MATRICES else NUMBER_BYTES
            sent = run.payload_bytes[stage]
            name = f"{n_owners} owners, {stage}"
            rows.append([name, PAPER_TERMS[stage], f"{printed:,}", f"{sent // item:,}", f"{item}", f"{sent:,}"])
        rows.append([f"{n_owners} owners, seconds with all processes", "", "", "", "", f"{seconds:.1f}"])
    progress("HPDP-DP over sockets", len(owners), len(owners))
    return [
        CostTable(
            f"HPDP-DP's curator and owners as processes over loopback sockets: Adult, n = {n:,}, p = {p}, "
            f"key of {key_bits:,} bits, epsilon 0.5",
            ["", "the paper's formula", "its value", "numbers sent", "bytes of a number", "bytes sent"],
            rows,
            (
                "Components are printed as MpK^2. What has to be sent is K eigenvalues and K vectors of p entries to "
                "each of M owners, here with K and sigma^2: M(K(p + 1) + 2) numbers.",
            ),
        )
    ]


def _shape_table(shapes: list[RunShape]) -> CostTable:
    printed, exact = DistDiffGenCosts(), DistDiffGenCosts(step_epsilon=1 / 52)
    whole = DistDiffGenCosts(sum_of_scores=printed.candidates * printed.records)
    leaves = [shape.leaves for shape in shapes]
    most = max(leaves)
    counting = DistDiffGenCosts(leaves=2 * most)
    return CostTable(
        f"The same quantities in {len(shapes)} runs of DistDiffGen on Adult (epsilon 1, l = 10, h = 10)",
        ["", "paper", "largest of the runs"],
        [
            ["candidates of a selection", "24", f"{max(shape.candidates for shape in shapes)}"],
            [
                "sum of their scores",
                "at most 30,162",
                f"{max(shape.sum_of_scores for shape in shapes):,}",
            ],
            ["bits of the sum of their weights", "469", f"{max(shape.weight_bits for shape in shapes)}"],
            ["leaves", "1,024", f"{most:,} (median {int(np.median(leaves)):,})"],
        ],
        (
            "The sum of the scores is not bounded by the number of records: each candidate's score can reach it. "
            f"With 24 candidates the paper's line would give {whole.weight_bits:,} bits. What holds is the length of "
            f"24 weights of the largest score, {printed.bound_bits} bits, so the printed 469 is nearly right.",
            f"epsilon' is 1/52 = 0.0192 and not 0.02, which alone gives {exact.weight_bits} bits by the paper's line.",
            "2^h leaves are the most only if every split is binary and each of another attribute. Taxonomies split "
            "into more children, and splits of one attribute add up. Privacy needs noise on every class of a leaf: "
            f"{2 * most:,} counts instead of 1,024 would take {counting.counting_seconds / 3600:.0f} hours and "
            f"{counting.counting_bits:.3g} bits by the paper's unit costs.",
        ),
    )


def _complexity_table() -> CostTable:
    rows = [[c.paper, c.where, c.stated, f"{c.value:,.0f}", c.setting, c.remark] for c in complexities()]
    return CostTable(
        "Every complexity that the papers state, and its value in the paper's setting (terms without their constants)",
        ["paper", "where", "stated", "value", "setting", "remark"],
        [*rows, ["iDP-IR", "Section 1.1", "'low computational cost', no formula", "", "", ""]],
    )


def _release_table(releases: list[MeasuredRelease]) -> CostTable:
    rows = [
        [
            release.name,
            f"{release.records:,}",
            f"{release.seconds:.1f}",
            f"{release.sent_bytes:,}",
            f"{8 * release.sent_bytes:.3g}",
            f"{release.thousand_coins:,.1f}",
            f"{release.million_encrypted:,.2f}",
            f"{release.million_ands:,.2f}",
            f"{release.leaves:,}",
        ]
        for release in releases
    ]
    return CostTable(
        "A release of `specialization` between two processes on this machine, secure engine, epsilon 1",
        [
            *("release", "records", "seconds", "bytes sent", "bits sent", "thousand biased coins"),
            *("million encrypted entries", "million ANDs of marks", "leaves"),
        ],
        rows,
        () if rows else (f"{NOT_INSTALLED}.",),
    )


def figure_9_tables(
    data: Path,
    progress: Tell,
    sizes: tuple[int, ...] = SIZES,
    key_bits: int = 2048,
    secure_sizes: tuple[int, ...] = SECURE_SIZES,
) -> list[CostTable]:
    """Counted operations of ArbDistDP's protocol at every size, their cost, and a secure release of as many records.

    Raises:
        SourceError: If the folder lacks a file.
    """
    units = measure_unit_costs(key_bits)
    tables = []
    for name in ("adult", "nursery"):
        bench = Bench.load("adult" if name == "adult" else "nursery", data, 0)
        rows = []
        for number, n in enumerate(sizes):
            progress(f"Figure 9, {name}", number, len(sizes))
            rows.append(list(_figure_9_row(bench, n, units, is_secure=n in secure_sizes)))
        progress(f"Figure 9, {name}", len(sizes), len(sizes))
        tables.append(
            CostTable(
                f"{name.capitalize()}: operations of one run at epsilon 1, and hours on one processor",
                [
                    *("records", "comparisons", "products", "joint random numbers", "encryptions"),
                    *("hours, comparisons", "hours, products and random numbers", "hours, counts of leaves"),
                    *("copublish, seconds", "copublish, MiB"),
                ],
                rows,
            )
        )
    note = (
        f"Unit costs, measured with a modulus of {key_bits:,} bits: modular exponentiation "
        f"{1000 * units.exponentiation:.2f} ms, encryption {1000 * units.encryption:.2f} ms, decryption "
        f"{1000 * units.decryption:.2f} ms. A comparison of {OPERAND_BITS} bits takes {OPERAND_BITS} exponentiations."
    )
    last = tables[-1]
    tables[-1] = CostTable(last.title, last.header, last.rows, (note,))
    return tables


def _figure_9_row(bench: Bench, n: int, units: UnitCosts, *, is_secure: bool) -> Iterator[str]:
    enlarged = bench.enlarged(n)
    operations = count_operations(enlarged.plain, enlarged.generator)
    yield from (f"{n:,}", f"{operations.comparisons:,}", f"{operations.products:,}")
    yield from (f"{operations.random_numbers:,}", f"{operations.encryptions:,}")
    yield from (f"{seconds / 3600:,.1f}" for seconds in units.seconds(operations).values())
    if not (is_secure and has_secure_engine()):
        yield from ("", "")
        return
    dataset = enlarged.dataset
    agreement = agreement_for(dataset.name, dataset.folder, "1", partition="arbitrary")
    release = measure_secure(dataset.name, agreement, fragments_of(dataset.name, dataset.train, "arbitrary"))
    yield from (f"{release.seconds:.1f}", f"{release.sent_bytes / MIB:.0f}")
