"""What a secure run would take over a link that was measured, by the cost model and by how often parties wait."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from copublish.agreement.model import Agreement
from copublish.mechanisms.registry import mechanism_of
from copublish.party.local.simulation import simulate_fragments
from copublish.release.folder import Release
from copublish.tools.planning.costs import MIB, Surroundings, dot, measured_coefficients, predict, unknown_cost
from copublish.tools.planning.tables import as_fragments, made_up_table

RECORDS = 1000
"""Of made-up data, whose release stands for the shapes of a real one."""


@dataclass(frozen=True)
class Link:
    """A link between two parties.

    Attributes:
        words: Where they are.
        round_trip_seconds: How long a message and its answer take.
        bytes_per_second: What the slower direction carries.
    """

    words: str
    round_trip_seconds: float
    bytes_per_second: float


def usual_links() -> dict[str, Link]:
    """Links that nobody has measured, by where the parties are."""
    return {
        "building": Link("in the same building", 0.001, 100 * MIB),
        "country": Link("in the same country", 0.02, 12 * MIB),
        "ocean": Link("across an ocean", 0.15, 6 * MIB),
    }


def predict_over_link(agreement: Agreement, *, round_trip_seconds: float, bytes_per_second: float) -> dict[str, Any]:
    """The seconds and MiB of a secure run over a link, or why there is no prediction.

    Args:
        agreement: The agreement; its release is simulated once, on made-up records.
        round_trip_seconds: How long a message and its answer take.
        bytes_per_second: What the slower direction carries.
    """
    if agreement.engine.name != "spu" or (tuning := mechanism_of(agreement).tuning) is None:
        return unknown_cost(agreement)
    generator = np.random.default_rng(0)
    table = made_up_table(agreement, RECORDS, generator)
    fragments = as_fragments(agreement, table, generator, with_numbers=agreement.mechanism.reads_numbers)
    work = tuning.work(agreement, simulate_fragments(agreement, fragments), agreement.records.expected)
    link = Surroundings(round_trip_seconds=round_trip_seconds, bytes_per_second=bytes_per_second)
    found = predict(agreement, work, link)
    if found["seconds"] is None:
        return found
    computing = found["seconds"] - found["waiting_seconds"] - found["transfer_seconds"]
    words = (
        f"{computing:.1f} s of computing on two cores like this machine's, {found['waiting_seconds']:.1f} s of waiting "
        f"for messages and {found['transfer_seconds']:.1f} s of transfers."
    )
    return {**found, "why": words}


def run_cost(agreement: Agreement, release: Release | None, n_records: int) -> dict[str, Any]:
    """What a secure run would take on one machine, and how often parties wait for each other, as plain JSON values.

    Args:
        agreement: The agreement.
        release: One of it, whose shapes stand for those of the run.
        n_records: How many records there would be.
    """
    tuning = mechanism_of(agreement).tuning
    if agreement.engine.name != "spu" or tuning is None or release is None:
        return unknown_cost(agreement)
    work = tuning.work(agreement, release, n_records)
    return {**predict(agreement, work), "round_trips": dot(measured_coefficients().round_trips, work)}


def over_link(cost: Mapping[str, Any], link: Link) -> dict[str, Any]:
    """The same over a link."""
    if cost["seconds"] is None:
        return {key: cost[key] for key in ("seconds", "mib_sent", "why")}
    waits = cost["round_trips"] * link.round_trip_seconds
    # As `cost_of` adds them: while one sends the other mostly waits for it.
    transfers = cost["mib_sent"] * MIB / link.bytes_per_second
    return {
        "seconds": round(cost["seconds"] + waits + transfers, 1),
        "mib_sent": cost["mib_sent"],
        "why": (
            f"{cost['seconds']:g} s of computing on two cores like this machine's, {waits:.1f} s of waiting for "
            f"messages and {transfers:.1f} s of transfers."
        ),
    }
