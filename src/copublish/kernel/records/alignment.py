"""Bringing the parties' records into one order, and checking together what no party can check alone.

Everything exchanged here is public between the parties and listed in the certificate: which records are common and
how many, who holds which cell (arbitrary partition), and that shared classes agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np

from copublish.agreement.encoding_rules import encode_cell_of_nobody
from copublish.agreement.model import Agreement
from copublish.agreement.protocol.table import AT_TWO_PARTIES, HOLDERS, ROWS
from copublish.errors import EngineError, FragmentError, ProgramMismatchError
from copublish.kernel.records.fragment import Fragment
from copublish.kernel.records.joint_table import JointTable
from copublish.kernel.secrets.engine import Engine
from copublish.kernel.secrets.placement import HiddenJoin
from copublish.progress import Progress, no_progress


def align_records(
    agreement: Agreement, fragment: Fragment, engine: Engine, progress: Progress = no_progress
) -> JointTable:
    """Fix the common records and their order.

    Raises:
        InvalidInputsError: If another owner that hides membership has other rows than this one.
        FragmentError: If the fragments do not make up one table: a person at two parties, or different numbers of
            rows in row order. Nothing else about values ends it.

    Privacy:
        Reveals: to the parties, which of their records are common (vertical, arbitrary), who holds which cell
            (arbitrary), or which of their people are at another party too (horizontal).
    """
    if agreement.partition == "horizontal":
        return _horizontal(agreement, fragment, engine)
    if (join := HiddenJoin.of(agreement)) is not None:
        is_owner = fragment.party in agreement.owners
        placement = engine.comparer.place((fragment.identifiers or []) if is_owner else None, join, progress)
        return JointTable(agreement, fragment.placed(placement))
    by_identifier, helped = agreement.records.alignment == "identifier", len(agreement.owners) < len(agreement.parties)
    if by_identifier:
        own: Sequence[str] | None = (fragment.identifiers or []) if fragment.party in agreement.owners else None
        fragment = fragment.take(engine.comparer.align(own))
    if helped or not by_identifier:
        # A party without data has no rows to count, so the owners tell it; those that were aligned have as many.
        rows = _rows_of_owners(agreement, fragment, engine)
        if len(rows) > 1 and by_identifier:
            raise ProgramMismatchError("The parties have different numbers of common records. Nothing is published.")
        if len(rows) > 1:
            raise FragmentError(
                fragment.party,
                ['The parties have different numbers of rows, so alignment = "row-order" cannot hold.'],
            )
        (n_records,) = rows
        fragment = replace(fragment, n_records=n_records)
    fragment = _with_one_holder(agreement, fragment, engine)
    return JointTable(agreement, fragment, fragment.n_records if agreement.records.public else None)


def too_few_common(agreement: Agreement, n_records: int) -> str | None:
    """A sentence for a party's person if the parties have far fewer common records than expected.

    Privacy:
        Reveals: nothing that the party's view has not. The run goes on, so nobody else learns that it was said.
    """
    if not agreement.joins_by_identifier or agreement.hides_membership or 2 * n_records >= agreement.records.expected:
        return None
    return (
        f"The parties have {n_records:,} records in common, and the agreement expects "
        f"{agreement.records.expected:,}. Perhaps one of them writes '{agreement.records.identifier_name}' "
        "differently. The run goes on and costs what was agreed."
    )


def _rows_of_owners(agreement: Agreement, fragment: Fragment, engine: Engine) -> set[int]:
    """The different numbers of rows that the owners of data have."""
    told = zip(agreement.parties, engine.exchange(ROWS, fragment.n_records), strict=True)
    return {rows for party, rows in told if party in agreement.owners}


def _horizontal(agreement: Agreement, fragment: Fragment, engine: Engine) -> JointTable:
    length = agreement.compared_identifiers
    if length is not None and engine.comparer.have_common(compared(fragment, length), padded_to=length):
        # So that nobody leaves before all know why: who hears that another one left could not say what is wrong.
        with suppress(EngineError):
            engine.exchange(AT_TWO_PARTIES, "heard")
        raise FragmentError(fragment.party, [_at_two_parties(agreement)])
    if not agreement.records.public:
        return JointTable(agreement, fragment, first_record=None)
    rows = engine.exchange(ROWS, fragment.n_records)
    return JointTable(agreement, fragment, sum(rows), sum(rows[: agreement.party_names.index(fragment.party)]))


def _at_two_parties(agreement: Agreement) -> str:
    """What happened, what it cost and what to do, without a word on who it is: nobody here knows that."""
    return (
        f"Column '{agreement.records.identifier_name}': some person is listed by two parties. In a horizontal release "
        "every person is at one party only. Nothing was opened and no budget was spent, but each owner's ledger counts "
        "a comparison of its people. No party was told who it is. Agree with the other owners on a rule that each can "
        "apply to its own rows, like 'whoever has their main account elsewhere is left out'; leave those rows out, and "
        "run again. Or leave 'identifier' out of the agreement: such a person then counts at each of these owners, and "
        "is protected as somebody with several records ('copublish describe' states that epsilon for two)."
    )


def compared(fragment: Fragment, length: int) -> Sequence[str]:
    """The identifiers that are compared with other parties': all, or as many as the public length allows.

    No record is left out for it: a table that is cut at a length would make one person more a replacement. Those with
    the smallest digests are compared, so that parties with longer lists compare the same people.

    Privacy:
        Stability: the records of the release do not depend on it. What is compared follows from identifiers alone, and
            how many are sent is public: lists are padded to the length.
    """
    identifiers = fragment.identifiers
    if identifiers is None:
        return []
    return identifiers if len(identifiers) <= length else identifiers.take(np.sort(identifiers.by_digest()[:length]))


def _with_one_holder(agreement: Agreement, fragment: Fragment, engine: Engine) -> Fragment:
    """The fragment with one holder for every spread cell: the lowest-numbered party of those that have it.

    A cell that nobody has is missing, and the first of the column's holders says so.

    Privacy:
        Stability: 1 for adding or removing a person, 1 for replacing one: cells of a record decide about that record.
        Reveals: who holds which cell, which is public between the parties by agreement.
    """
    own = agreement.party_names.index(fragment.party)
    codes, numbers = dict(fragment.private_codes), dict(fragment.private_numbers)
    for number, column in enumerate(agreement.attributes, 1):
        if len(agreement.holders(column)) == 1:
            continue
        message, own_bits = HOLDERS.of(number=number), np.packbits(fragment.holds(column))
        bits = engine.exchange(message, own_bits)
        for party, packed in zip(agreement.parties, bits, strict=True):
            if packed.shape != own_bits.shape:
                raise ProgramMismatchError(
                    f"Party '{party}' sent bits of another number of records as '{message.topic}'. Nothing is "
                    "published."
                )
        if column not in codes:
            continue
        held = np.array([np.unpackbits(packed, count=fragment.n_records) for packed in bits], dtype=np.bool_)
        earlier, nobody = held[:own].any(axis=0), ~held.any(axis=0)
        rule = agreement.encoding[column]
        code, steps = encode_cell_of_nobody(rule)
        if fragment.party != agreement.holders(column)[0]:
            nobody = np.zeros_like(nobody)
        codes[column] = np.where(earlier, rule.domain.size, np.where(nobody, code, codes[column])).astype(
            codes[column].dtype
        )
        if column in numbers:
            numbers[column] = np.where(earlier, -1, np.where(nobody, steps, numbers[column]))
    return replace(fragment, private_codes=codes, private_numbers=numbers)
