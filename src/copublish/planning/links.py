"""What a secure run would take over a link that was measured, by the cost model and by how often parties wait."""

from __future__ import annotations

from typing import Any

import numpy as np

from copublish.agreement.model import Agreement
from copublish.local.simulation import simulate_fragments
from copublish.mechanisms.registry import mechanism_of
from copublish.planning.costs import Surroundings, predict, unknown_cost
from copublish.planning.tables import as_fragments, made_up_table

RECORDS = 1000
"""Of made-up data, whose release stands for the shapes of a real one."""


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
        f"{computing:.1f} s of computing as measured on one machine, {found['waiting_seconds']:.1f} s of waiting for "
        f"messages and {found['transfer_seconds']:.1f} s of transfers."
    )
    return {**found, "why": words}
