"""Processor time, traffic, memory and waiting of a secure run, predicted from public shapes that fix its messages.

The model is linear in the quantities of `Work`. `benchmarks/cost_model.py` measures runs of different shapes, fits what
one unit of each costs, and writes that into `coefficients.json` beside this file, with date and machine, for each
mechanism and engine that was measured. Plans, links and `docs/scale.md` have their numbers from there; what is said of
rows that are counted where they lie is here.

`how_much_slower` compares a core of this machine by a fixed loop of Python. It is no more than a guess: other versions
of Python take longer or shorter, and no two programs gain alike from a newer processor. Without it predictions are off
by as much as machines differ, which is twice and more.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from pydantic.dataclasses import dataclass as typed

from copublish.agreement.model import Agreement
from copublish.engines.comparing.curve import POINT_BYTES
from copublish.tools.planning.hidden_membership import (
    BUSY_CORES,
    BYTES_OF_A_POINT,
    MILLION,
    MULTIPLICATIONS_PER_SECOND,
    ROUND_TRIPS,
    HidingCost,
    rows_of,
)
from copublish.tools.planning.tuning import Work
from copublish.types import TypedJson

LOOP = 2_000_000
TRIES = 5


def loop_seconds() -> float:
    """What the fixed loop takes on this machine, the best of a few tries; not how long it waits for a core."""
    return min(_one_loop() for _ in range(TRIES))


def _one_loop() -> float:
    start, total = time.thread_time(), 0
    for number in range(LOOP):
        total += number * number
    return time.thread_time() - start


MIB = 2**20
COEFFICIENTS = "coefficients.json"

CountedBy = Literal["duckdb", "spark"]

COUNTING: dict[CountedBy, tuple[float, float]] = {"duckdb": (0.0185, 0.58), "spark": (0.058, 0.65)}
"""For rows that are counted where they lie: processor seconds of a million comparisons, and seconds of one of those on
two cores, which both use. Between what `benchmarks/where_they_lie.py` takes with 100 million rows and what files of
whole numbers take, on the machine of `coefficients.json`; Spark in local mode."""

WRITING_SECONDS = 0.0085
"""For a million cells of published records, from the same runs."""


@dataclass(frozen=True, kw_only=True)
class Coefficients:
    """What one unit of each kind of work costs.

    Attributes:
        cpu_seconds: Processor time of all processes of all parties.
        mib_sent: MiB that all parties together send.
        round_trips: How often parties wait for each other.
        fixed_ratio: Seconds for a processor second of what does not go with records, with two parties on one quiet
            machine with two cores, which mostly work at the same time.
        record_ratio: The same of what goes with records: parties take turns with products, and read.
        worker_mib: The largest worker of the engine: chunks of records have a fixed size, so it does not grow.
        party_mib: The process of a party with hardly any records.
        mib_per_million_cells: What it has more for every million records and column of that party.
        measured: When and on what: date, processor, what a fixed loop took there, cores, load, versions.
        largest: The most of each quantity that a run had which this was fitted to; none if that was not kept.
        assumed: What was not measured, as a sentence.
    """

    cpu_seconds: Work
    mib_sent: Work
    round_trips: Work
    fixed_ratio: float
    record_ratio: float
    worker_mib: float
    party_mib: float
    mib_per_million_cells: float
    measured: dict[str, Any]
    largest: Work | None = None
    assumed: str = ""


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """Where a run takes place.

    Attributes:
        workers: Sessions that count shards at the same time, each on a core of its own at every node: the smaller
            number of two parties, and no more than there are shards.
        round_trip_seconds: How long a message and its answer take; none on one machine.
        bytes_per_second: What the slower direction of the link carries.
        counted_by: What counts rows that stay where they lie.
        slower: How many times as long computing takes as on the machine that was measured.
    """

    workers: int = 1
    round_trip_seconds: float = 0.0
    bytes_per_second: float | None = None
    counted_by: CountedBy = "duckdb"
    slower: float = 1.0


@dataclass(frozen=True, kw_only=True)
class RunCost:
    """What a secure run costs.

    Attributes:
        cpu_seconds: Of all processes of all parties.
        seconds: From the first process to the release.
        waiting_seconds: For messages, a part of them.
        transfer_seconds: For bytes on the link, a part of them.
        mib_sent: By all parties.
        largest_process_mib: Memory.
    """

    cpu_seconds: float
    seconds: float
    waiting_seconds: float
    transfer_seconds: float
    mib_sent: float
    largest_process_mib: float


@typed(frozen=True, kw_only=True)
class PredictedCost(TypedJson):
    """The predicted cost of a secure run, rounded; with the reason in `why`, None if there is no prediction.

    Attributes:
        seconds: From the first process to the release.
        seconds_if_spark_counts: The same with rows that stay in Spark.
        cpu_seconds: Of all processes of all parties.
        mib_sent: By all parties.
        largest_process_mib: Memory.
        waiting_seconds: For messages, a part of the seconds.
        transfer_seconds: For bytes on the link, a part of the seconds.
        why: Where the prediction comes from, or why there is none.
        round_trips: How often parties wait for each other, where it was asked for.
        rounds: How many rounds this is for, of a mechanism that chooses tables in rounds.
        most_rounds: How many there are at most.
        most_seconds: The same seconds with so many.
        most_mib_sent: The same traffic.
        hiding: What hiding whom owners share adds; none where they learn it.
    """

    seconds: float | None
    seconds_if_spark_counts: float | None = None
    cpu_seconds: float | None
    mib_sent: float | None
    largest_process_mib: int | None
    waiting_seconds: float | None = None
    transfer_seconds: float | None = None
    why: str
    round_trips: float | None = None
    rounds: int | None = None
    most_rounds: int | None = None
    most_seconds: float | None = None
    most_mib_sent: float | None = None
    hiding: HidingCost | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values. A prediction says so where rows cannot be counted by Spark."""
        own = super().to_json()
        if self.seconds is None:
            return own
        return {"seconds": own.pop("seconds"), "seconds_if_spark_counts": self.seconds_if_spark_counts, **own}


def cost_words(cost: Mapping[str, Any]) -> str:
    """A predicted cost in a sentence: seconds, traffic and memory; the reason where there are none.

    Args:
        cost: The JSON values of a `PredictedCost`.
    """
    if cost.get("seconds") is None:
        return str(cost["why"])
    rounds = ""
    if cost.get("rounds") is not None:
        most = f"{_seconds(cost['most_seconds'])} and {_mib(cost['most_mib_sent'])}"
        rounds = f" in {cost['rounds']} rounds ({most} in {cost['most_rounds']}, the most there can be)"
    return (
        f"about {_seconds(cost['seconds'])} and {_mib(cost['mib_sent'])} between the parties{rounds}; the largest "
        f"process has up to about {cost['largest_process_mib'] / 1024:.1f} GiB"
    )


def _seconds(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def _mib(mib: float) -> str:
    return f"{mib:.2g} MiB" if mib < 1 else f"{mib:.0f} MiB"


@cache
def all_coefficients() -> dict[str, Coefficients]:
    """The coefficients that were measured last, by mechanism and engine."""
    content = json.loads((files("copublish.tools.planning") / COEFFICIENTS).read_text(encoding="utf-8"))
    return {way: _coefficients(known) for way, known in content.items()}


def _coefficients(known: dict[str, Any]) -> Coefficients:
    works = {key: Work(**known[key]) for key in ("cpu_seconds", "mib_sent", "round_trips", "largest") if known.get(key)}
    return Coefficients(**{**known, **works})


def measured_coefficients(way: str | None = None) -> Coefficients:
    """The coefficients that were measured last, of a mechanism on an engine; the first ones if none is named."""
    return all_coefficients()[way or next(iter(all_coefficients()))]


def coefficients_for(agreement: Agreement) -> Coefficients | None:
    """The coefficients of an agreement's mechanism on its engine; none if they were not measured."""
    engine = agreement.engine
    on = engine.agreed_protocol if engine.name == "spu" else engine.name
    return all_coefficients().get(f"{agreement.mechanism.name} on {on}")


def cost_of(
    work: Work, *, cells: float = 0.0, surroundings: Surroundings | None = None, by: Coefficients | None = None
) -> RunCost:
    """What some work costs.

    Args:
        work: From public shapes.
        cells: Records times columns of the party that holds most, in millions; for memory.
        surroundings: By default both parties on one quiet machine with two cores.
        by: Coefficients; by default those that were measured last.
    """
    known, around = by or measured_coefficients(), surroundings or Surroundings()
    work = with_sessions(work, around.workers)
    cpu, mib = dot(known.cpu_seconds, work), dot(known.mib_sent, work) + POINT_BYTES * MILLION / MIB * work.points
    counting_cpu, counting_ratio = COUNTING[around.counted_by]
    counting, writing = counting_cpu * work.counted, WRITING_SECONDS * work.published
    sharded = dot(known.cpu_seconds, sharded_part(work))
    computing = known.fixed_ratio * (cpu - sharded) + known.record_ratio * sharded / max(1.0, work.products)
    multiplying = MILLION * work.multiplied / MULTIPLICATIONS_PER_SECOND
    waiting = round_trips_of(work, known) * around.round_trip_seconds
    # While one sends the other mostly waits for it; on one machine that takes no time.
    transfer = 0.0 if around.bytes_per_second is None else mib * MIB / around.bytes_per_second
    return RunCost(
        cpu_seconds=around.slower * (cpu + counting + writing + multiplying),
        seconds=around.slower * (computing + counting_ratio * counting + writing + multiplying / BUSY_CORES)
        + waiting
        + transfer,
        waiting_seconds=waiting,
        transfer_seconds=transfer,
        mib_sent=mib,
        largest_process_mib=max(
            known.worker_mib,
            known.party_mib + known.mib_per_million_cells * cells + BYTES_OF_A_POINT * MILLION / MIB * work.points,
        ),
    )


def round_trips_of(work: Work, by: Coefficients) -> float:
    """How often parties wait for each other."""
    return dot(by.round_trips, work) + (ROUND_TRIPS if work.points else 0)


def with_sessions(work: Work, sessions: int) -> Work:
    """The same work by so many sessions, if there is anything to divide among them."""
    return replace(work, starts=float(sessions), products=float(sessions)) if work.products else work


def sharded_part(work: Work) -> Work:
    """The part of some work that sessions do at the same time: what goes with records, and starting further ones."""
    return Work(
        products=work.products,
        product_columns=work.product_columns,
        marks=work.marks,
        starts=max(0.0, work.starts - 1.0),
        calls=work.calls,
        product_cells=work.product_cells,
        first_marks=work.first_marks,
    )


@cache
def how_much_slower() -> float:
    """How many times as long a core of this machine takes as one of those that the model was measured on."""
    return loop_seconds() / float(measured_coefficients().measured["loop_seconds"])


def unknown_cost(agreement: Agreement) -> PredictedCost:
    """No prediction: for a mechanism that the model was not measured with, and what to do instead."""
    return _nothing(
        f"The cost model was not measured with the mechanism '{agreement.mechanism.name}' and says nothing about "
        f"it. 'copublish simulate --engine {agreement.engine.name}' on public or made-up data measures a run."
    )


def predict(agreement: Agreement, work: Work, surroundings: Surroundings | None = None) -> PredictedCost:
    """The seconds and MiB of a secure run with this work, or why there is no prediction."""
    by = coefficients_for(agreement)
    if by is None:
        return _nothing(
            "The cost model was measured with two compute nodes of the secure engine, and this agreement has others."
        )
    cells = (
        rows_of(agreement, agreement.records.expected)
        / 1e6
        * max(len(agreement.columns_of(party)) for party in agreement.owners)
    )
    around = surroundings or Surroundings()
    # How much slower this machine is than the one that these coefficients were measured on, by the same loop.
    of_these = measured_coefficients().measured["loop_seconds"] / by.measured["loop_seconds"]
    slower = around.slower * how_much_slower() * of_these
    around = replace(around, workers=min(around.workers, agreement.engine.agreed_shards), slower=slower)
    found = cost_of(work, cells=cells, surroundings=around, by=by)
    in_spark = cost_of(work, cells=cells, surroundings=replace(around, counted_by="spark"), by=by)
    why = (
        "A linear model of public shapes, measured with all parties on one machine with two cores. For a fixed "
        f"loop this machine takes {slower:.2f} times as long, and is taken to do so for everything."
    )
    return PredictedCost(
        seconds=round(found.seconds, 1),
        seconds_if_spark_counts=round(in_spark.seconds, 1) if work.counted else None,
        cpu_seconds=round(found.cpu_seconds, 1),
        mib_sent=round(found.mib_sent, 1 if found.mib_sent >= 1 else 4),
        largest_process_mib=round(found.largest_process_mib),
        waiting_seconds=round(found.waiting_seconds, 1),
        transfer_seconds=round(found.transfer_seconds, 1),
        why=" ".join(part for part in (why, by.assumed, _beyond(work, by)) if part),
    )


BEYOND = 3.0
"""How many times as large as in any measured run a quantity may be before a prediction says so."""

QUANTITIES = {
    "guests": "parties without an engine",
    "rounds": "rounds",
    "product_cells": "records times cells of joined tables",
    "first_marks": "records times cells that several parties mark",
    "compared": "cells that are compared in all rounds",
    "met": "comparisons of candidates",
    "drawn_noise": "noise",
    "biased_bits": "noise",
    "fitted": "cells of the model",
    "drawn_cells": "cells of records",
    "people": "people who are compared",
    "summed": "masked counts",
}
"""Words for the quantities that a prediction may be beyond."""


def _beyond(work: Work, by: Coefficients) -> str:
    """What a prediction says where a run is larger than all that were measured."""
    if by.largest is None:
        return ""
    names = [field.name for field in fields(Work) if field.name in QUANTITIES]
    beyond = [name for name in names if getattr(work, name) > BEYOND * getattr(by.largest, name)]
    if not beyond:
        return ""
    words = ", ".join(dict.fromkeys(QUANTITIES[name] for name in beyond))
    return f"It is far from all that was measured in: {words}. Take it for the right order of magnitude."


def _nothing(why: str) -> PredictedCost:
    return PredictedCost(seconds=None, cpu_seconds=None, mib_sent=None, largest_process_mib=None, why=why)


def dot(coefficients: Work, work: Work) -> float:
    """The cost of some work."""
    pairs = zip(vars(coefficients).values(), vars(work).values(), strict=True)
    return float(sum(coefficient * amount for coefficient, amount in pairs))
