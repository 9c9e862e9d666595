"""Counting records by cells whose columns several parties hold.

Null rows, records without a listed class, are in no cell: whoever holds the class puts in nothing for them. A table
that has no column of such a party counts them, as its owner does not know better. Without a class no row is null and
every record is in one cell of each table, so that a person moves a table by as much as with one.

Where membership is hidden, a row counts where every owner is present. No owner knows where the others are, so no table
is counted by one of them: each puts in its presence, also for tables of which it holds no column.

Leakage: none beyond who holds which cell, which is public between the parties. The result is secret and NOT safe
to open: exact counts would show.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from copublish.agreement.axis import Axis, evenly_divided, n_cells
from copublish.agreement.model import Agreement
from copublish.errors import EngineError
from copublish.kernel.programs.packing import Packing
from copublish.kernel.records.fragment import Fragment, partial_cells
from copublish.kernel.secrets.computer import NO_CELL, Computer, JoinComputer, MarkComputer, Marks, computer_as
from copublish.kernel.secrets.secret import Secret, SecretCounts
from copublish.types import BoolArray, IntArray


@dataclass(frozen=True)
class JointTable:
    """One party's view of the joined table.

    Attributes:
        agreement: What all parties agreed on.
        fragment: This party's own aligned cells; where owners have whole rows, their counts may be all there is.
        public_total: The number of records, if the agreement makes it public.
        first_record: The place of this party's first record among all joined ones; none where owners have records of
            their own and their numbers are not public.
    """

    agreement: Agreement
    fragment: Fragment
    public_total: int | None = None
    first_record: int | None = 0

    def __post_init__(self) -> None:
        if self.agreement.hides_membership != (self.fragment.present is not None):
            raise EngineError("Where membership is hidden, and nowhere else, a table knows who is present.")

    def is_additive(self, axes: Sequence[Axis]) -> bool:
        """Whether for every record one party holds all these axes, so that local counts add up to joint ones.

        Where membership is hidden none are: a party does not know which of its people are common, so every table needs
        the presence of all owners.
        """
        if self.agreement.partition == "horizontal":
            return True
        if self.agreement.hides_membership:
            return False
        own = [axis for axis in axes if not self._is_shared_class(axis)]
        return len(own) <= 1 or self.owner_of(axes) is not None

    def owner_of(self, axes: Sequence[Axis]) -> int | None:
        """The number of the one party that holds all these columns; none if no party does, or several hold cells.

        Of a class that all hold each has its own, for tables of its columns. Alone it is its owner's, like a table
        without columns.
        """
        own = [axis for axis in axes if not self._is_shared_class(axis)]
        holders = {holder for axis in own for holder in self.agreement.holders(axis.column)}
        if not own:
            holders = {self.agreement.owners[-1] if self.agreement.class_ is None else self.agreement.class_owner}
        return self.agreement.party_names.index(holders.pop()) if len(holders) == 1 else None

    def is_multiplied(self, computer: Computer) -> bool:
        """Whether columns of two parties are joined by a product of what each of them holds, and not by marks.

        Where membership is hidden every owner is a factor, so there have to be two of them and no other party.
        """
        is_between_two = len(self.agreement.parties) == 2 or not self.agreement.hides_membership
        return is_between_two and isinstance(computer, JoinComputer)

    def count_locally(self, axes: Sequence[Axis]) -> IntArray:
        """This party's part of additive counts, shape (n_cells,), last axis fastest.

        Raises:
            EngineError: If counts of these axes do not add up. It is a mistake in code; nothing is counted.
        """
        if not self.is_additive(axes):
            raise EngineError("Counts of one party do not add up to joint ones here. Nothing is counted.")
        is_counted_here = any(not self._is_shared_class(axis) for axis in axes) or self._counts_class()
        if not is_counted_here:
            return np.zeros(n_cells(axes), dtype=np.int64)
        return self.fragment.histogram(axes)

    def count_jointly(
        self,
        axes: Sequence[Axis],
        computer: Computer,
        *,
        noise_bits: int | None,
        progress: Callable[[int, int], None] = lambda done, of: None,
    ) -> SecretCounts:
        """The secret counts of the joined table.

        Args:
            axes: The columns of the table and the cells their codes fall into.
            computer: This party's end of the computation.
            noise_bits: Bits of the noise that will be added; counts share ring elements so that it fits. None if the
                counts are for computing: packed ones can be measured and nothing else.
            progress: Told how many records are counted and how many there are.
        """
        split = [axis for axis in axes if axis.n_cells > 1]  # an attribute that is not split needs no join
        if self.is_additive(split):
            return SecretCounts(computer.share(self.count_locally(split).reshape(-1, 1)), Packing(1))
        joining, owner = computer_as(MarkComputer, computer), self.owner_of(split)
        is_spread = any(self._is_spread(axis) for axis in split)
        is_helped = len(self.agreement.owners) < len(self.agreement.parties)  # the last party may hold no rows' places
        if is_spread or is_helped or not self.is_multiplied(computer):
            down, across = _halves(split)
            count = partial(self._count_matches, down, across, owner)
        else:
            # The last party's own columns and a class that all know make up the rows; the others number the rows.
            across = [axis for axis in split if self._is_in_every_row(axis)] if owner is None else []
            if owner == self._last():
                across = split
            # Rows are numbered party by party.
            down = sorted((axis for axis in split if axis not in across), key=lambda axis: self._holder(axis, owner))
            count = partial(self._count_pairs, down, across, owner)
        row = n_cells(across)
        packing = Packing(row) if noise_bits is None else Packing.densest(row, self.fragment.n_records, noise_bits)
        secret = joining.sum_over_records(
            partial(count, packing),
            self.fragment.n_records,
            size=joining.rows_per_product(n_cells(down), packing),
            shape=(n_cells(down), packing.elements),
            done=progress,
        )
        return SecretCounts(secret, packing, _order([*down, *across], split))

    def _count_pairs(
        self,
        down: Sequence[Axis],
        across: Sequence[Axis],
        owner: int | None,
        packing: Packing,
        computer: JoinComputer,
        rows: slice,
    ) -> Secret:
        """Count columns that one party each holds: every party numbers its own cells."""
        own = [axis for axis in down if self._holder(axis, owner) == self._number()]
        sizes = tuple(
            n_cells([axis for axis in down if self._holder(axis, owner) == number])
            for number in range(len(self.agreement.parties))
        )
        is_mine = owner is None or owner == self._number()
        # A null row is in no cell of its owner's, so it is in none of the table.
        counts = self.fragment.counts(rows) if is_mine else self.presence(rows)
        cells = np.where(counts, partial_cells(self.fragment, own, rows), NO_CELL)
        places = partial_cells(self.fragment, across, rows) if self._number() == self._last() else None
        return computer.joint_histogram(cells, places, sizes, packing)

    def _count_matches(
        self,
        down: Sequence[Axis],
        across: Sequence[Axis],
        owner: int | None,
        packing: Packing,
        computer: MarkComputer,
        rows: slice,
    ) -> Secret:
        """Count columns whose cells are spread: every party says which cells a record may be in."""
        rows_of, places = (Marks(self.matches(half, rows, owner), self.holders(half)) for half in (down, across))
        return computer.joint_matches(rows_of, places, packing)

    def presence(self, rows: slice) -> BoolArray:
        """The rows that hold one of this party's people, null rows among them; all rows where people are shared."""
        present = self.fragment.present
        return np.ones(rows.stop - rows.start, dtype=np.bool_) if present is None else present[rows]

    def holders(self, axes: Sequence[Axis]) -> tuple[int, ...]:
        """The numbers of the parties that hold cells of some columns; of a class that all hold, its owner's counts.

        Where membership is hidden, all owners: each holds whether a record is one of its people.
        """
        if self.agreement.hides_membership:
            return tuple(self.agreement.party_names.index(owner) for owner in self.agreement.owners)
        return self._holders(axes)

    def matches(self, axes: Sequence[Axis], rows: slice, owner: int | None = None) -> BoolArray:
        """For each cell and record whether what this party holds fits: shape (n_cells, n_records).

        A party that holds nothing of a record fits everywhere, so that the others decide. A null row fits nowhere.
        Where membership is hidden, a party fits nowhere in a row in which it is not present, whatever it holds.

        Args:
            axes: The columns.
            rows: The records.
            owner: The party whose table this is, if one holds all of it: null rows and a class that all hold are its.
        """
        has_columns = self._number() in (self._holders(axes) if owner is None else (owner,))
        knows_null_rows = has_columns or not self.agreement.hides_membership
        found = (self.fragment.counts(rows) if knows_null_rows else self.presence(rows))[None, :]
        for axis in axes:
            fits = np.ones((axis.n_cells, found.shape[1]), dtype=np.bool_)
            is_left_to_another = self._is_shared_class(axis) and not (
                self._counts_class() if owner is None else has_columns
            )
            if axis.column in self.fragment.private_codes and not is_left_to_another:
                codes = self.fragment.private_codes[axis.column][rows]
                elsewhere = ~self.fragment.holds(axis.column, rows)
                cells = np.append(axis.cell_of_code, 0)[codes]
                fits = (cells == np.arange(axis.n_cells)[:, None]) | elsewhere
            found = (found[:, None, :] & fits[None, :, :]).reshape(-1, found.shape[1])
        return found

    def _is_shared_class(self, axis: Axis) -> bool:
        return axis.column == self.agreement.class_name and self.agreement.class_is_shared

    def _counts_class(self) -> bool:
        """Whether this party's class column is the one that counts; others use theirs for their own attributes."""
        return self.fragment.party == self.agreement.class_owner

    def _is_spread(self, axis: Axis) -> bool:
        """Whether several parties hold cells of a column, so that none of them can number them."""
        return not self._is_shared_class(axis) and len(self.agreement.holders(axis.column)) > 1

    def _is_in_every_row(self, axis: Axis) -> bool:
        return self._is_shared_class(axis) or self.agreement.holders(axis.column) == self.agreement.party_names[-1:]

    def _holders(self, axes: Sequence[Axis]) -> tuple[int, ...]:
        found = set()
        for axis in axes:
            owners = (
                (self.agreement.class_owner,) if self._is_shared_class(axis) else self.agreement.holders(axis.column)
            )
            found |= {self.agreement.party_names.index(owner) for owner in owners}
        return tuple(sorted(found))

    def _holder(self, axis: Axis, owner: int | None) -> int:
        return self.agreement.party_names.index(self.agreement.holders(axis.column)[0]) if owner is None else owner

    def _last(self) -> int:
        return len(self.agreement.parties) - 1

    def _number(self) -> int:
        return self.agreement.party_names.index(self.fragment.party)


def _halves(axes: Sequence[Axis]) -> tuple[list[Axis], list[Axis]]:
    """Divide axes so that the two tables have as few cells together as can be: each is marked for every record."""
    if len(axes) < 2:
        return [], list(axes)
    chosen = evenly_divided([axis.n_cells for axis in axes])
    halves = [[axis for number, axis in enumerate(axes) if (number in chosen) is first] for first in (True, False)]
    return halves[0], halves[1]


def _order(present: Sequence[Axis], wanted: Sequence[Axis]) -> IntArray | None:
    """For each place in the present order of axes its cell in the wanted one; none if they are the same."""
    if list(wanted) == list(present):
        return None
    numbers = np.arange(n_cells(wanted), dtype=np.int64).reshape([axis.n_cells for axis in wanted])
    axes = [next(i for i, axis in enumerate(wanted) if axis is target) for target in present]
    return numbers.transpose(axes).ravel()
