"""What every engine offers to the code of a mechanism, which runs once at each party.

All parties call the same methods in the same order with the same public arguments. A `Secret` is a value that no
party sees; the reveal gate (`engine/reveal.py`) is the only code that opens one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

from copublish.engine.secret import Secret
from copublish.errors import EngineError
from copublish.privacy.coins import Coins
from copublish.types import BoolArray, IntArray, Program

if TYPE_CHECKING:
    from copublish.engine.counts import SecretCounts
    from copublish.engine.programs.packing import Packing
    from copublish.privacy.geometric import Geometric
    from copublish.privacy.noise_shares import SharedLaplace

T = TypeVar("T")


@runtime_checkable
class SumEngine(Protocol):
    """One party's end of the joint computation: all that mechanisms need which open sums of what each owner counts."""

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
        """This party's own coins, for noise that it draws alone and so knows: on its own data, before they leave it."""
        ...

    def share(self, local: IntArray) -> Secret:
        """The sum of what every party puts in. Each party's own part stays its own."""
        ...

    def add_noise(self, counts: SecretCounts, noise: Geometric | SharedLaplace, *, offset: int) -> Secret:
        """The counts, packed as they are, each with a draw of noise of its own and a public offset.

        How the noise comes about is the engine's: nobody, or no more parties than the agreement says, may know it.
        """
        ...

    def exchange(self, public: T, *, topic: str = "") -> tuple[T, ...]:
        """Tell every party a public value; return all of them in party order. All name the same topic."""
        ...

    def _open(self, secret: Secret) -> IntArray:
        """Open a secret to all parties. For the reveal gate alone; a test keeps it so."""
        ...


@runtime_checkable
class ProgramEngine(SumEngine, Protocol):
    """An engine that also computes on secrets."""

    def compute(self, program: Program, *secrets: Secret, **public: Any) -> Secret:
        """Run a program on secrets; the result is a secret."""
        ...

    def rows(self, secret: Secret) -> list[Secret]:
        """Compute a secret now and return its rows, to be used in different computations later."""
        ...

    def coins(self, shape: tuple[int, ...]) -> Secret:
        """Fresh joint coins: words uniform and unknown to all as long as one party is honest."""
        ...


@runtime_checkable
class AligningEngine(SumEngine, Protocol):
    """An engine that also compares people."""

    def align(self, identifiers: Sequence[str] | None) -> IntArray:
        """The positions of the common records among one's own, in an order that all parties share.

        A party without data gives none and gets none.

        Every party learns which of its records are common, and how many they are.
        """
        ...

    def have_common(self, identifiers: Sequence[str], *, padded_to: int = 0) -> bool:
        """Whether any two parties list the same identifier; they may learn which ones, if there are any.

        Lists are padded to a public length, so that their own lengths stay secret.
        """
        ...


@runtime_checkable
class JoinEngine(ProgramEngine, AligningEngine, Protocol):
    """An engine that also joins columns that several parties hold."""

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

    def joint_matches(self, down: BoolArray, across: BoolArray, packing: Packing) -> Secret:
        """Count aligned records by cells that all parties together fix.

        Args:
            down: For each row of the table and each record, whether what this party holds fits; a record fits one
                row at all parties, or none and counts nowhere.
            across: The same for each place in a row.
            packing: How a row of counts lies in ring elements.

        Returns:
            Packed counts, shape (number of rows, packing.elements).
        """
        ...

    def rows_per_product(self, n_rows: int, packing: Packing) -> int:
        """How many records one call should have for a table with so many rows, from public shapes alone."""
        ...


NO_CELL = -1
"""In the place of a cell: the record counts nowhere. What is computed, and its shapes, are the same."""

E = TypeVar("E", bound=SumEngine)


def engine_as(kind: type[E], engine: SumEngine) -> E:
    """An engine as one that can do more.

    Which agreements an engine can compute is checked before a run; this is where types are told.

    Raises:
        EngineError: If it cannot.
    """
    if not isinstance(engine, kind):
        raise EngineError(f"The engine '{engine.name}' is no {kind.__name__}, which this needs. Nothing was computed.")
    return engine
