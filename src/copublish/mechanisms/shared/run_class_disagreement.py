"""Opening on how many records two parties' class columns differ. Sees rows and secrets."""

from __future__ import annotations

from functools import partial

import numpy as np

from copublish.kernel.accounting.disclosures import Measure
from copublish.kernel.programs.packing import Packing, add_chosen, in_agreed_order
from copublish.kernel.records.joint_table import JointTable
from copublish.kernel.secrets.computer import NO_CELL, Computer, JoinComputer, MarkComputer, Marks, computer_as
from copublish.kernel.secrets.gate import Gate
from copublish.kernel.secrets.secret import Secret, SecretCounts
from copublish.progress import Progress
from copublish.types import IntArray


def run_class_disagreement(
    disclosure: Measure, table: JointTable, computer: Computer, gate: Gate, progress: Progress
) -> int:
    """Open the number of records whose two classes differ, plus noise.

    Args:
        disclosure: What it costs.
        table: This party's aligned cells.
        computer: Its end of the computation.
        gate: Where the number is opened.
        progress: Told about every step.

    Privacy:
        Protects: one person, with all their cells, at every party.
        Guarantee: the disclosure's budget, under both relations.
        Assumes: every record is in one cell of the two classes, so it adds 0 or 1.
        Reveals: the noisy number, to all parties. The table of the two classes stays secret.
    """
    progress("class disagreement", 0, 1)
    secret_number = SecretCounts(_count_differing(table, computer_as(MarkComputer, computer)), Packing(1))
    # Opens the number of records with two different classes plus noise, to all parties; covered by its own budget.
    noisy = gate.reveal_measurement(secret_number, disclosure)
    progress("class disagreement", 1, 1)
    return int(noisy[0])


def _count_differing(table: JointTable, computer: MarkComputer) -> Secret:
    """The secret number of records whose two classes differ, shape (1, 1).

    Where membership is hidden, a row in which some owner is not present counts nowhere, and not as one that differs.

    Leakage: none, the cost depends on shapes alone. The result is secret and NOT safe to open.
    """
    # Where a record has no listed class, that is one more class: whoever holds it lists the code past the domain.
    n_classes = table.agreement.class_domain.size + 1
    count = _count_pairs if table.is_multiplied(computer) else _count_matches
    step = computer.rows_per_product(n_classes**2, Packing(1))
    n_records = table.fragment.n_records
    counts = computer.sum_over_records(partial(count, table, n_classes), n_records, size=step, shape=(n_classes**2, 1))
    differs = (1 - np.eye(n_classes, dtype=np.int64)).reshape(-1, 1)
    return computer.compute(add_chosen, counts, chosen=differs)


def _count_pairs(table: JointTable, n_classes: int, computer: JoinComputer, rows: slice) -> Secret:
    """The table of the two classes from two parties' products."""
    agreement, name = table.agreement, table.fragment.party
    holders = agreement.holders(agreement.required_class.name)
    cells = nowhere = np.zeros(rows.stop - rows.start, dtype=np.int64)
    if name in agreement.owners:
        cells = np.where(table.presence(rows), _classes(table, rows) if name in holders else nowhere, NO_CELL)
    places = nowhere if name == agreement.party_names[-1] else None
    sizes = tuple(n_classes if party in holders else 1 for party in agreement.parties)
    return computer.joint_histogram(cells, places, sizes, Packing(1))


def _count_matches(table: JointTable, n_classes: int, computer: MarkComputer, rows: slice) -> Secret:
    """The same from the marks of all who hold a class or, where membership is hidden, of all owners."""
    agreement = table.agreement
    marks = []
    for holder in agreement.holders(agreement.required_class.name):
        fits = np.ones((n_classes, 1), dtype=np.bool_)
        if table.fragment.party == holder:
            fits = _classes(table, rows) == np.arange(n_classes)[:, None]
        holders = agreement.owners if agreement.hides_membership else (holder,)
        numbers = tuple(agreement.party_names.index(party) for party in holders)
        marks.append(Marks(fits & table.presence(rows), numbers))
    down, across = marks
    counts = computer.joint_matches(down, across, Packing(n_classes))
    return computer.compute(in_agreed_order, counts, place_of_cell=None, shape=(n_classes**2, 1))


def _classes(table: JointTable, rows: slice) -> IntArray:
    return table.fragment.private_codes[table.agreement.required_class.name][rows].astype(np.int64)
