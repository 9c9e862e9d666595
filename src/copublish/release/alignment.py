"""Bringing the parties' records into one order, and checking together what no party can check alone.

Everything exchanged here is public between the parties and listed in the certificate: which records are common and
how many, who holds which cell (arbitrary partition), and that shared classes agree.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from copublish.agreement.model import Agreement
from copublish.engine.interface import AligningEngine, SumEngine, engine_as
from copublish.errors import FragmentError, ProgramMismatchError
from copublish.fragments.fragment import Fragment
from copublish.mechanisms.shared.joint_table import JointTable

MAX_RECORDS = 2**40
"""More than anybody has."""


def align_records(agreement: Agreement, fragment: Fragment, engine: SumEngine) -> JointTable:
    """Fix the common records and their order.

    Raises:
        FragmentError: If the fragments do not make up one table: a person at two parties, a cell with two
            holders or none, classes that differ, different numbers of rows in row order.

    Privacy:
        Reveals: to the parties, which of their records are common (vertical, arbitrary), who holds which cell
            (arbitrary), or which of their people are at another party too (horizontal).
    """
    if agreement.partition == "horizontal":
        return _horizontal(agreement, fragment, engine)
    if agreement.records.alignment == "identifier":
        own: Sequence[str] | None = (fragment.identifiers or []) if fragment.party in agreement.owners else None
        fragment = fragment.take(engine_as(AligningEngine, engine).align(own))
    elif len(_rows_of_owners(agreement, fragment, engine)) > 1:
        raise FragmentError(
            fragment.party,
            ['The parties have different numbers of rows, so alignment = "row-order" cannot hold.'],
        )
    _check_holders(agreement, fragment, engine)
    if agreement.class_is_shared:
        _check_classes(agreement, fragment, engine)
    total = None
    if agreement.records.public:
        # A party without data has no rows to count; which number is public, owners tell it.
        helped = len(agreement.owners) < len(agreement.parties)
        (total,) = _rows_of_owners(agreement, fragment, engine) if helped else {fragment.n_records}
    return JointTable(agreement, fragment, total)


def _rows_of_owners(agreement: Agreement, fragment: Fragment, engine: SumEngine) -> set[int]:
    """The different numbers of rows that the owners of data have."""
    told = zip(agreement.parties, _exchange_rows(fragment, engine), strict=True)
    return {rows for party, rows in told if party in agreement.owners}


def _exchange_rows(fragment: Fragment, engine: SumEngine) -> tuple[int, ...]:
    """Tell every party this one's number of rows; return all of them."""
    told = engine.exchange(fragment.n_records, topic="rows")
    if any(type(rows) is not int or not 0 <= rows <= MAX_RECORDS for rows in told):
        raise ProgramMismatchError("A party told something else than a number of rows. Nothing is published.")
    return told


def _horizontal(agreement: Agreement, fragment: Fragment, engine: SumEngine) -> JointTable:
    public_length = 2 * agreement.records.expected
    if fragment.identifiers is not None and fragment.n_records > public_length:
        rule = (
            "more rows than twice records.expected, the public estimate that hides their number. Agree on a larger one"
        )
        raise FragmentError(fragment.party, [f"The data have {rule}."])
    if fragment.identifiers is not None and engine_as(AligningEngine, engine).have_common(
        fragment.identifiers, padded_to=public_length
    ):
        raise FragmentError(
            fragment.party,
            [
                f"Column '{agreement.records.identifier}': some person is listed by two parties. In a horizontal "
                "release every person is at one party alone."
            ],
        )
    total = sum(_exchange_rows(fragment, engine)) if agreement.records.public else None
    return JointTable(agreement, fragment, total)


def _check_holders(agreement: Agreement, fragment: Fragment, engine: SumEngine) -> None:
    """Check that every spread cell has one holder. Who holds what is public between the parties by agreement."""
    problems = []
    for column in agreement.attributes:
        if len(agreement.holders(column)) == 1:
            continue
        bits = engine.exchange(np.packbits(fragment.holds(column)), topic=f"holders of {column}")
        if any(not isinstance(packed, np.ndarray) or packed.shape != bits[0].shape for packed in bits):
            raise ProgramMismatchError("A party told something else than which cells it holds. Nothing is published.")
        held = [np.unpackbits(packed, count=fragment.n_records) for packed in bits]
        holders = np.sum(held, axis=0)
        if (holders > 1).any():
            problems.append(f"Column '{column}' has cells that two parties hold. A cell has one holder.")
        if (holders == 0).any():
            problems.append(
                f"Column '{column}' has cells that no party holds. If the value is missing, its holder writes one of "
                'records.missing_spellings and the agreement says missing = "category".'
            )
    if problems:
        raise FragmentError(fragment.party, problems)


def _check_classes(agreement: Agreement, fragment: Fragment, engine: SumEngine) -> None:
    codes = fragment.private_codes[agreement.class_.name]
    digests = engine.exchange(hashlib.sha256(codes.tobytes()).hexdigest(), topic="class")
    if len(set(digests)) > 1:
        raise FragmentError(
            fragment.party,
            [f"Column '{agreement.class_.name}': the parties' class labels differ for some record. They must agree."],
        )
