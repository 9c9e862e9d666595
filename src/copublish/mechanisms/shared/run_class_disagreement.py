"""Opening on how many records two parties' class columns differ. Sees rows and secrets."""

from __future__ import annotations

import numpy as np

from copublish.kernel.accounting.disclosures import Measure
from copublish.kernel.programs.packing import Packing, add_chosen
from copublish.kernel.records.joint_table import JointTable
from copublish.kernel.secrets.computer import Computer, JoinComputer, computer_as
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
    secret_number = SecretCounts(_count_differing(table, computer_as(JoinComputer, computer)), Packing(1))
    # Opens the number of records with two different classes plus noise, to all parties; covered by its own budget.
    noisy = gate.reveal_measurement(secret_number, disclosure)
    progress("class disagreement", 1, 1)
    return int(noisy[0])


def _count_differing(table: JointTable, computer: JoinComputer) -> Secret:
    """The secret number of records whose two classes differ, shape (1, 1).

    Leakage: none, the cost depends on shapes alone. The result is secret and NOT safe to open.
    """
    agreement, fragment = table.agreement, table.fragment
    # Where a record has no listed class, that is one more class: whoever holds it lists the code past the domain.
    n_classes, holders = agreement.class_domain.size + 1, agreement.holders(agreement.required_class.name)
    sizes = tuple(n_classes if party in holders else 1 for party in agreement.parties)

    def count(session: JoinComputer, rows: slice) -> Secret:
        nowhere = np.zeros(rows.stop - rows.start, dtype=np.int64)
        cells: IntArray = nowhere
        if fragment.party in holders:
            cells = fragment.private_codes[agreement.required_class.name][rows].astype(np.int64)
        places = nowhere if fragment.party == agreement.party_names[-1] else None
        return session.joint_histogram(cells, places, sizes, Packing(1))

    step = computer.rows_per_product(n_classes**2, Packing(1))
    counts = computer.sum_over_records(count, fragment.n_records, size=step, shape=(n_classes**2, 1))
    differs = (1 - np.eye(n_classes, dtype=np.int64)).reshape(-1, 1)
    return computer.compute(add_chosen, counts, chosen=differs)
