"""The part of an engine that mechanisms get: it shares, computes and joins, and it cannot open a secret.

All parties call the same methods in the same order with the same public arguments. A `Secret` is a value that no
party sees; the reveal gate (`kernel/secrets/gate.py`) is the only code that opens one. A computer cannot compare
people, take the checks of inputs, or send other parties anything but a hash of public numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast, runtime_checkable

import numpy as np

from copublish.errors import EngineError
from copublish.kernel.noise.geometric import Coins
from copublish.kernel.secrets.secret import Secret
from copublish.kernel.secrets.shards import Count, Done, no_word
from copublish.types import BoolArray, IntArray, Program

if TYPE_CHECKING:
    from copublish.kernel.noise.geometric import Geometric
    from copublish.kernel.noise.shared_laplace import SharedLaplace
    from copublish.kernel.programs.packing import Packing
    from copublish.kernel.secrets.secret import SecretCounts


@runtime_checkable
class Computer(Protocol):
    """One party's end of the joint computation, as far as sums of what each owner counts need it."""

    name: str
    party: str

    @property
    def parties(self) -> tuple[str, ...]:
        """All parties in agreed order."""
        ...

    @property
    def secrecy(self) -> str:
        """Who could see what, in words for the certificate."""
        ...

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the secrecy rests on, in words for the certificate."""
        ...

    @property
    def own_coins(self) -> Coins:
        """This party's own coins, for noise that it draws alone and so knows: on its own data, before they leave it.

        Privacy:
            Noise from these is known to this party. It protects this party's data from the others, and from the public.
        """
        ...

    def share(self, local: IntArray) -> Secret:
        """The sum of what every party puts in. Each party's own part stays its own.

        Privacy:
            Reveals: nothing. What a party puts in stays its own, and the sum is a secret.
        """
        ...

    def add_noise(self, counts: SecretCounts, noise: Geometric | SharedLaplace, *, offset: int) -> Secret:
        """The counts, packed as they are, each with a draw of noise of its own and a public offset.

        How the noise comes about is the engine's: nobody, or no more parties than the agreement says, may know it.

        Privacy:
            Draws: one sample for each count, unknown to everybody, or to no more parties than the agreement says. The
                result is a secret; only the gate asks for it, once for each disclosure.
        """
        ...

    def confirm_same(self, what: str, numbers: IntArray) -> None:
        """Raise unless every party has computed the same public numbers.

        Args:
            what: What they are, for the message.
            numbers: What this party has computed.

        Raises:
            EngineError: If a party has others.

        Privacy:
            Assumes: the numbers follow from public values.
            Reveals: a hash of them, to all parties.
        """
        ...


@runtime_checkable
class ProgramComputer(Computer, Protocol):
    """A computer that also runs programs on secrets."""

    def compute(self, program: Program, *secrets: Secret, **public: Any) -> Secret:
        """Run a program on secrets; the result is a secret.

        Leakage: none beyond what the program's shapes tell, which are public.
        """
        ...

    def share_within(self, local: IntArray, bits: int) -> Secret:
        """The sum of what every party puts in, of which each is from -2^(bits - 1) to 2^(bits - 1) - 1.

        Larger ones are cut to that, and the engine takes no others: what is compared has to stay in the middle of the
        ring, whoever puts in what. Sums that are measured and nothing else need no range: a wrong number moves what
        is opened by as much, which whoever put it in knows.
        """
        ...

    def rows(self, secret: Secret) -> list[Secret]:
        """Begin to compute a secret and return its rows, to be used in different computations later."""
        ...

    def coins(self, shape: tuple[int, ...]) -> Secret:
        """Fresh joint coins: words uniform and unknown to all as long as one party is honest.

        Privacy:
            Every honest node puts in coins of its own, so no party knows or chooses them.
        """
        ...

    def blinds(self, shape: tuple[int, ...]) -> Secret:
        """Fresh integers of 64 bits, as uniform and unknown, to be added to what others shall not see.

        They come from the operating system even where coins are fixed: no release depends on them.
        """
        ...


@runtime_checkable
class MarkComputer(ProgramComputer, Protocol):
    """A computer that also joins columns that several parties hold: each marks the cells that a record may be in."""

    def joint_matches(self, down: Marks, across: Marks, packing: Packing) -> Secret:
        """Count aligned records by cells that all parties together fix.

        Args:
            down: For each row of the table and each record, whether what this party holds fits; of the rows that a
                record fits at all parties the first one counts, and if there is none it counts nowhere.
            across: The same for each place in a row.
            packing: How a row of counts lies in ring elements.

        Returns:
            Packed counts, shape (number of rows, packing.elements).
        """
        ...

    def joint_match_pairs(self, marks: Marks, columns: Columns) -> Secret:
        """Count aligned records by every pair of cells that all parties together fix.

        Args:
            marks: For each cell of each column and each record, whether what this party holds fits.
            columns: Public: all columns.

        Returns:
            Shape (lines, lines), the same both ways; what is on the diagonal is to be left alone.
        """
        ...

    def rows_per_product(self, n_rows: int, packing: Packing) -> int:
        """How many records one call should have for a table with so many rows, from public shapes alone."""
        ...

    def sum_over_records(
        self, count: Count, n_records: int, *, size: int, shape: tuple[int, ...], done: Done = no_word
    ) -> Secret:
        """The sum of what is counted of all records, some at a time; the counting may go on in several threads.

        Args:
            count: Counts some of the records, by their positions, on the engine that it is given.
            n_records: Public number of records.
            size: How many of them `count` gets at once, as `rows_per_product` says.
            shape: Public shape of what it returns.
            done: Told how many records are counted and how many there are, in the caller's thread.
        """
        ...


@runtime_checkable
class JoinComputer(MarkComputer, Protocol):
    """A computer that also joins columns of two parties by products of what each of them holds."""

    def joint_histogram(
        self, cells: IntArray, places: IntArray | None, sizes: tuple[int, ...], packing: Packing
    ) -> Secret:
        """Count aligned records by the cells that the parties hold of them.

        Args:
            cells: This party's cell of each record, below its entry of `sizes`; `NO_CELL` for a record that counts
                nowhere.
            places: From the last party alone: each record's place in a row.
            sizes: Public number of cells of each party.
            packing: How a row of counts lies in ring elements.

        Returns:
            Packed counts, one row for each combination of the parties' cells, the last party's fastest:
            shape (product of sizes, packing.elements).
        """
        ...

    def joint_pairs(
        self, owners: tuple[int, int], cells: Sequence[IntArray], columns: tuple[Columns, Columns], n_records: int
    ) -> Secret:
        """Count aligned records by every pair of a cell of one party and a cell of another.

        Args:
            owners: The two parties, by number; the first one's columns are the rows of the result.
            cells: For each of this party's columns the cell of each record, or `NO_CELL`; nothing at other parties.
            columns: Public: the two parties' columns.
            n_records: Public number of records.

        Returns:
            Shape (lines of the first party, lines of the second): counts, packed if cells share lines, or, for columns
            with scores, sums of products. Of two parties one at most has cells that share lines.
        """
        ...


@dataclass(frozen=True)
class Marks:
    """Which cells a record may be in, as far as one party knows; all parties that hold something know it together.

    Attributes:
        own: For each cell and each record, whether what this party holds fits: shape (n_cells, n_records).
        holders: Public: the parties whose marks count, by number. Others hold nothing of these columns.
    """

    own: BoolArray
    holders: tuple[int, ...]


@dataclass(frozen=True)
class Columns:
    """Columns of a party, as lines of a matrix that tells for each record where it is.

    Attributes:
        sizes: The number of cells of each column.
        scores: None, and every cell is a line; or the score of every cell of every column, and every column is a line
            that has each record's score.
        pairs: Of columns with scores, two by number each, if the lines are products of two columns' scores.
        lanes: Of columns without scores: how many cells of a column share a line, each in a lane of its own.
    """

    sizes: tuple[int, ...]
    scores: tuple[tuple[int, ...], ...] | None = None
    pairs: tuple[tuple[int, int], ...] | None = None
    lanes: int = 1

    @property
    def lines(self) -> int:
        """How many lines there are."""
        if self.pairs is not None:
            return len(self.pairs)
        return sum(self.lines_of_columns) if self.scores is None else len(self.sizes)

    @property
    def lines_of_columns(self) -> tuple[int, ...]:
        """How many lines the cells of each column take."""
        return tuple(-(-size // self.lanes) for size in self.sizes)

    def weights(self) -> IntArray:
        """What each cell (row) adds to each line (column)."""
        if self.scores is None:
            return np.eye(self.lines, dtype=np.int64)
        starts = np.cumsum([0, *self.sizes])
        weights = np.zeros((sum(self.sizes), self.lines), dtype=np.int64)
        for line, own in enumerate(self.scores):
            weights[starts[line] : starts[line + 1], line] = own
        return weights


NO_CELL = -1
"""In the place of a cell: the record counts nowhere. What is computed, and its shapes, are the same."""

E = TypeVar("E", bound="Computer")


def computer_as(kind: type[E], computer: Computer) -> E:
    """The same computer under a type that can do more.

    Agreements that an engine cannot compute are refused before a run, so this fails only for a mistake in code.

    Raises:
        EngineError: If it cannot.
    """
    # Checking a protocol takes longer than most of what the ideal engine computes; a class has what it had before.
    if (kind, type(computer)) not in _can_do:
        if not isinstance(computer, kind):
            raise EngineError(
                f"The engine '{computer.name}' is no {kind.__name__}, which this needs. Nothing was computed."
            )
        _can_do.add((kind, type(computer)))
    return cast(E, computer)


_can_do: set[tuple[type, type]] = set()
