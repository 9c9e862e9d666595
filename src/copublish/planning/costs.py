"""Time and traffic of a secure run, predicted from public shapes: the same that fix the engine's messages.

The model is linear in a few quantities. `benchmarks/cost_model.py` measures runs of different shapes and prints
coefficients that fit them; put them into `MEASURED` to recalibrate, for another machine or version of the engine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from copublish.agreement.model import Agreement
from copublish.mechanisms.shared.work import Work

MIB = 2**20


@dataclass(frozen=True)
class Coefficients:
    """Seconds and MiB for one unit of each kind of work."""

    seconds: Work
    mib_sent: Work


MEASURED = Coefficients(
    seconds=Work(starts=9.0, rounds=0.1, biased_bits=0.12, products=0.0, product_columns=4.3, marks=1.8, counted=0.015),
    mib_sent=Work(starts=4.0, rounds=0.08, biased_bits=0.066, products=18.8, product_columns=21.5, marks=8.5),
)
"""Two parties on one machine with two cores, over unix sockets. Measured there, and predicted with these: Adult by
columns 19 to 26 s, 51 MiB (21 s, 50 MiB), cell by cell 32 s, 109 MiB (33 s, 108 MiB); 100,000 made-up records 15 s,
41 MiB (17 s, 42 MiB), 500,000 of them 26 s, 94 MiB (27 s, 93 MiB). Counting rows in Parquet files through DuckDB takes
0.03 s of a core for a million comparisons: a hundred million rows of five columns 27 s
(28 s), ten million of them 2.7 s (2.8 s), with a grid of 82 cells 4.6 s (3.7 s)."""


def unknown_cost(agreement: Agreement) -> dict[str, Any]:
    """No prediction: for a mechanism that the model was not measured with, and what to do instead."""
    return {
        "seconds": None,
        "mib_sent": None,
        "why": (
            f"The cost model was not measured with the mechanism '{agreement.mechanism.name}' and says nothing about "
            f"it. 'copublish simulate --engine {agreement.engine.name}' on public or made-up "
            "data measures a run."
        ),
    }


def predict(agreement: Agreement, work: Work) -> dict[str, Any]:
    """The seconds and MiB of a secure run with this work, or why there is no prediction."""
    if len(agreement.parties) != 2:
        return {
            "seconds": None,
            "mib_sent": None,
            "why": f"The cost model is for two parties, and the agreement has {len(agreement.parties)}.",
        }
    return {
        "seconds": round(dot(MEASURED.seconds, work), 1),
        "mib_sent": round(dot(MEASURED.mib_sent, work), 1),
        "why": "A linear model of public shapes, measured with both parties on one machine with two cores.",
    }


def dot(coefficients: Work, work: Work) -> float:
    """The cost of some work."""
    pairs = zip(vars(coefficients).values(), vars(work).values(), strict=True)
    return float(sum(coefficient * amount for coefficient, amount in pairs))
