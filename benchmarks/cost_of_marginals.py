"""The part of `cost_model.py` that is about marginals: coefficients for every engine, and predictions beside runs."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

from copublish.mechanisms.marginals.plan import MarginalsPlan
from copublish.tools.planning.costs import Coefficients, all_coefficients, cost_of, measured_coefficients
from copublish.tools.planning.marginals_cost import planned_rounds, rounds_made, work_of
from copublish.tools.planning.tuning import Work
from fitting import fitted, memory, ratios
from machine import described_machine
from marginals_shapes import (
    CHECKED,
    FITTED,
    LINKED,
    SMALLEST,
    Chosen,
    Shape,
    ShapeRun,
    agreement_of,
    measure_link,
    measure_shape,
)
from measuring import NOT_THERE, Measuring, Row

WAITS = ("starts", "rounds", "calls", "product_columns")
"""Parties wait for each other once for some, in every round, and for every product and part of one."""

RIDGE = 0.01
"""There are about as many quantities as runs. Traffic is nearly exact and takes less."""

RUNS_OF_MARGINALS = "Marginals: runs that coefficients are fitted to"
CHECKS_OF_MARGINALS = "Marginals: predictions held against other runs"

NOT_LINKED = "How often these parties wait for each other was not measured: as often as two nodes is assumed."
"""Said of engines that no run between two hosts was made with."""

Known = Callable[[str, Callable[[], Any]], Any]
"""What was measured under a name, or is now."""


def way_of(shape: Shape) -> str:
    """The name of a shape's coefficients."""
    return f"marginals on {shape.engine}"


def shape_run(known: Known, shape: Shape, times: int) -> ShapeRun:
    """A run, measured now or before: of several the one that took least, as others only add."""
    found = known(
        f"{shape.engine}: {shape.name}",
        lambda: asdict(min((measure_shape(shape) for _ in range(times)), key=lambda run: run.cpu_seconds)),
    )
    return ShapeRun(**{**found, "shape": Shape(**found["shape"])})


def work_done(run: ShapeRun) -> Work:
    """The work of a run, with the rounds that it made."""
    return work_with(run.shape, run.chosen)


def work_with(shape: Shape, chosen: Chosen) -> Work:
    """The work of a run that chose these tables."""
    agreement = agreement_of(shape)
    plan, number = MarginalsPlan.of(agreement), {name: place for place, name in enumerate(agreement.columns)}
    tables = [tuple(number[name] for name in table) or None for table in chosen]
    return work_of(agreement, rounds_made(plan, tables))


def fit(
    runs: Sequence[ShapeRun], links: Sequence[tuple[Work, float]], usual: Coefficients, *, busy: bool
) -> Coefficients:
    """The coefficients of one engine.

    Args:
        runs: What processor time, traffic and seconds are fitted to.
        links: Work and round trips of runs between two hosts.
        usual: Where round trips come from without such runs, and memory without an engine.
        busy: Whether seconds say nothing, since others use the machine: what they usually are to CPU seconds is taken.
    """
    works, computing = [work_done(found) for found in runs], [found for found in runs if found.worker_mib]
    cpu = fitted(works, [found.cpu_seconds for found in runs], ridge=RIDGE)
    fixed, record = usual.fixed_ratio, usual.record_ratio
    if not busy:
        fixed, record = ratios(cpu, ((work, found.seconds) for work, found in zip(works, runs, strict=True)))
    # Without an engine the process of a party is all there is.
    alone = {"party_mib": usual.party_mib, "mib_per_million_cells": usual.mib_per_million_cells}
    return Coefficients(
        cpu_seconds=cpu,
        mib_sent=fitted(works, [found.mib_sent for found in runs], ridge=RIDGE / 10),
        round_trips=fitted(*zip(*links, strict=True), WAITS) if links else usual.round_trips,
        fixed_ratio=fixed,
        record_ratio=record,
        measured=described_machine(),
        largest=Work(**{field.name: max(getattr(work, field.name) for work in works) for field in fields(Work)}),
        assumed="" if links else NOT_LINKED,
        **(memory(computing) if computing else {"worker_mib": usual.party_mib, **alone}),
    )


def row_of(found: ShapeRun, by: Coefficients) -> Row:
    """What was measured, beside what is predicted from the agreement alone."""
    agreement = agreement_of(found.shape)
    cost = cost_of(work_of(agreement), cells=found.million_cells, by=by)
    return {
        "run": found.shape.name,
        "engine": found.shape.engine,
        "rounds": len(found.chosen) or NOT_THERE,
        "predicted, rounds": len(planned_rounds(MarginalsPlan.of(agreement))) or NOT_THERE,
        "CPU s": found.cpu_seconds,
        "predicted, CPU s": cost.cpu_seconds,
        "CPU s / predicted": found.cpu_seconds / cost.cpu_seconds,
        "MiB sent": found.mib_sent,
        "predicted, MiB": cost.mib_sent,
        "MiB / predicted": found.mib_sent / cost.mib_sent,
        "largest process, MiB": max(found.worker_mib, found.party_mib) or NOT_THERE,
        "predicted, largest, MiB": cost.largest_process_mib,
        "seconds": found.seconds,
        "predicted on quiet cores, s": cost.seconds,
    }


def link_of(known: Known, shape: Shape) -> tuple[Work, float]:
    """The work and round trips of a run between two hosts, measured now or before."""
    chosen, trips = known(f"linked, {shape.engine}: {shape.name}", lambda: list(measure_link(shape)))
    return work_with(shape, chosen), trips


def measure_marginals(
    known: Known, given: argparse.Namespace, write: Callable[[Mapping[str, Coefficients]], None]
) -> Measuring:
    """Runs of all shapes, coefficients of every engine, and predictions beside runs that nothing was fitted to."""
    before = all_coefficients()
    usual = before.get(way_of(FITTED[0]), measured_coefficients())
    if given.smallest:
        first, second = (shape_run(known, shape, given.times) for shape in SMALLEST)
        yield RUNS_OF_MARGINALS, row_of(first, fit([first], [], usual, busy=True))
        yield CHECKS_OF_MARGINALS, row_of(second, usual)
        return
    runs, checks = ([shape_run(known, one, given.times) for one in shapes] for shapes in (FITTED, CHECKED))
    links = {shape: link_of(known, shape) for shape in (LINKED if os.geteuid() == 0 else ())}
    found: dict[str, Coefficients] = {}
    for way in dict.fromkeys(way_of(shape) for shape in FITTED):
        of_way = [run for run in runs if way_of(run.shape) == way]
        linked = [taken for shape, taken in links.items() if way_of(shape) == way]
        found[way] = fit(of_way, linked, found.get(way_of(FITTED[0]), usual), busy=given.busy)
    if given.write:
        write(found)
    for shape, (work, trips) in links.items():
        yield "Marginals: round trips", {"run": shape.name, "rounds": work.rounds or NOT_THERE, "round trips": trips}
    for run in runs:
        yield RUNS_OF_MARGINALS, row_of(run, found[way_of(run.shape)])
    for run in checks:
        yield CHECKS_OF_MARGINALS, row_of(run, found[way_of(run.shape)])
