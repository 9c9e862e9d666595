"""What a secure run would take over a link that was measured, by the cost model and by how often parties wait."""

from __future__ import annotations

from typing import Any

import numpy as np

from copublish.agreement.model import Agreement
from copublish.local.simulation import simulate_fragments
from copublish.mechanisms.registry import mechanism_of
from copublish.mechanisms.shared.work import Work
from copublish.planning.costs import MIB, dot, predict, unknown_cost
from copublish.planning.tables import as_fragments, made_up_table

RECORDS = 1000
"""Of made-up data, whose release stands for the shapes of a real one."""

ROUND_TRIPS = Work(starts=118.0, rounds=20.3, biased_bits=0.0, products=52.0, product_columns=0.0, marks=0.0)
"""How often parties wait for each other, as decision 14 counted it for Adult by columns, alignment included."""


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
    here = predict(agreement, work)
    if here["seconds"] is None:
        return here
    waits = dot(ROUND_TRIPS, work) * round_trip_seconds
    # Each sends about as much as the other, at the same time; on one machine that took no time.
    transfers = here["mib_sent"] * MIB / bytes_per_second
    return {
        "seconds": round(here["seconds"] + waits + transfers, 1),
        "mib_sent": here["mib_sent"],
        "why": (
            f"{here['seconds']:g} s of computing as measured on one machine, {waits:.1f} s of waiting for messages and "
            f"{transfers:.1f} s of transfers."
        ),
    }
