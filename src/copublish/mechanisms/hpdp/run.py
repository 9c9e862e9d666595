"""Sums of products of the owners' records as points, opened with noise once: the run of hpdp.

Every record is a point within public bounds (`coordinates.py`). Its products of two coordinates, its coordinates and
the number 1 are summed over all owners' records; one measurement opens these sums with noise. Owners' own means never
matter, so it makes no difference how the records are spread over them.

Leakage: none, sums are local. They are secret and NOT safe to open: exact moments would show.
"""

from __future__ import annotations

from typing import cast

import numpy as np

from copublish.agreement.domain import NumericalDomain
from copublish.kernel.accounting.disclosures import GaussianMeasure
from copublish.kernel.programs.packing import Packing
from copublish.kernel.records.fragment import Fragment
from copublish.kernel.records.joint_table import JointTable
from copublish.kernel.secrets.computer import Computer
from copublish.kernel.secrets.gate import Gate
from copublish.kernel.secrets.secret import SecretCounts
from copublish.mechanisms.hpdp.coordinates import UNIT, Coordinates, quantized
from copublish.mechanisms.hpdp.model import HpdpResult, fit_moments
from copublish.mechanisms.hpdp.plan import HpdpPlan
from copublish.progress import Progress
from copublish.types import IntArray


def local_sums(coordinates: Coordinates, fragment: Fragment, *, total_is_public: bool) -> IntArray:
    """This party's part of all sums, by their weights, chunk by chunk: shape (n_sums, 1)."""
    products = np.zeros((coordinates.size, coordinates.size), dtype=np.int64)
    centered = np.zeros(coordinates.n_centered, dtype=np.int64)
    for rows in fragment.chunks():
        found = points(coordinates, fragment, rows)
        # Floating-point products of whole numbers are exact: a chunk's sums stay below 2^16 * 2^16 of 2^53.
        products += (found.T.astype(np.float64) @ found.astype(np.float64)).astype(np.int64)
        centered += found[:, : coordinates.n_centered].sum(axis=0) * UNIT
    total = [] if total_is_public else [int(fragment.counts().sum()) * UNIT**2]
    weighted = products[coordinates.pairs] * coordinates.weights[coordinates.pairs]
    parts = [weighted, centered * coordinates.centered_weights, np.array(total, dtype=np.int64)]
    return cast(IntArray, np.concatenate(parts).reshape(-1, 1))


def points(coordinates: Coordinates, fragment: Fragment, rows: slice) -> IntArray:
    """The records' points, in steps of 1/UNIT, 0 everywhere for null rows: shape (n_records, size)."""
    found = np.zeros((rows.stop - rows.start, coordinates.size), dtype=np.int64)
    for name, domain in coordinates.columns.items():
        codes = fragment.private_codes[name][rows].astype(np.int64)
        if isinstance(domain, NumericalDomain):
            is_there = codes < domain.number_codes
            found[np.arange(len(codes)), coordinates.cells[name].start + codes] = UNIT
            places = quantized(np.where(is_there, codes, 0), domain.number_codes - 1)
            found[:, coordinates.centered[name]] = np.where(is_there, places, 0)
        elif name in coordinates.centered:
            found[:, coordinates.centered[name]] = (2 * codes - 1) * (UNIT // 2)
        else:
            places = coordinates.groups[name].start + np.minimum(codes, domain.size - 1)  # null rows have no class
            found[np.arange(len(codes)), places] = UNIT
    return cast(IntArray, found * fragment.counts(rows)[:, None])


def run_hpdp(plan: HpdpPlan, table: JointTable, computer: Computer, gate: Gate, progress: Progress) -> HpdpResult:
    """Run the mechanism at one party.

    Args:
        plan: What is opened, at which price.
        table: This party's rows.
        computer: Its end of the computation.
        gate: Where sums are opened.
        progress: Told about every step.

    Privacy:
        Protects: one person, with all their cells.
        Guarantee: the whole budget goes to one measurement, see `Coordinates.l1_sensitivity` and, for Gaussian noise,
            `Coordinates.squared_l2_sensitivity`.
        Reveals: the noisy sums over all owners' records, to all parties. Nothing of a
            single owner, but for what follows from them and from what its own coalition knows.
    """
    progress("moments", 0, 2)
    local = local_sums(plan.coordinates, table.fragment, total_is_public=plan.agreement.records.public)
    secret_sums = computer.share(local)
    progress("moments", 1, 2)
    # Opens every sum plus noise, to all parties; covered by the whole budget.
    if isinstance(plan.moments, GaussianMeasure):
        noisy_sums = gate.reveal_gaussian_measurement(secret_sums, plan.moments)
    else:
        noisy_sums = gate.reveal_measurement(SecretCounts(secret_sums, Packing(1)), plan.moments)
    progress("moments", 2, 2)
    model = fit_moments(plan.coordinates, noisy_sums, deviation=plan.deviation, public_total=table.public_total)
    return HpdpResult(
        coordinates=plan.coordinates,
        noisy_sums=noisy_sums,
        total_is_public=plan.agreement.records.public,
        deviation=plan.deviation,
        model=model,
        n_records=plan.records_to_draw(model.total),
    )
