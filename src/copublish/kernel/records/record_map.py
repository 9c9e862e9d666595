"""Which published record stands for which of one party's own rows, where every record is published.

The map is for the owner of the rows alone. It is computed at the owner, from what was opened to all parties and from
which rows the owner put in, so it says nothing that its owner could not work out; nobody is sent it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from copublish.agreement.domain import NumericalDomain
from copublish.kernel.records.joint_table import JointTable
from copublish.types import Codes, IntArray


@dataclass(frozen=True)
class RecordMap:
    """One party's rows with the records that stand for them.

    Attributes:
        party: Whose rows.
        columns: The columns of which this party holds cells.
        decimals: Of those that were read as numbers, the decimals that count.
        rows: Rows of the party's source, from 0, ascending.
        records: For each of them the place of its record in the release, from 0.
        rows_digest: Hash of these rows: other data, or the same in another order, are noticed by it.
    """

    party: str
    columns: tuple[str, ...]
    decimals: Mapping[str, int]
    rows: IntArray = field(repr=False)
    records: IntArray = field(repr=False)
    rows_digest: str = field(repr=False)


def own_record_map(table: JointTable, places: IntArray | None) -> RecordMap | None:
    """The map of this party; none if it holds no rows, or records stand for nobody.

    Args:
        table: This party's aligned cells.
        places: For every joined record its place in the release. It follows from what was opened.

    Privacy:
        Reveals: to this party, which published records are its own. In vertical data that says what the other owners
            published of its people, which it was told in the same order before; the map adds nothing to that.
    """
    fragment = table.fragment
    if places is None or fragment.row_numbers is None or table.first_record is None or not fragment.n_records:
        return None
    by_row = np.argsort(fragment.row_numbers, kind="stable")
    own = places[table.first_record : table.first_record + fragment.n_records]
    columns = tuple(fragment.private_codes)
    values: dict[str, Codes | IntArray] = {**fragment.private_codes, **fragment.private_numbers}
    digest = digest_of_rows({column: values[column][by_row] for column in columns})
    decimals = {
        name: domain.decimals_of_numbers
        for name, domain in table.agreement.columns.items()
        if name in fragment.private_numbers and isinstance(domain, NumericalDomain)
    }
    return RecordMap(fragment.party, columns, decimals, fragment.row_numbers[by_row], own[by_row], digest)


def digest_of_rows(values: Mapping[str, Codes | IntArray]) -> str:
    """A hash of rows, column by column: numbers in steps, categories in codes."""
    digest = hashlib.sha256(b"copublish rows 1")
    for column, whole_numbers in values.items():
        digest.update(column.encode() + b"\0" + whole_numbers.astype("<i8").tobytes())
    return digest.hexdigest()
