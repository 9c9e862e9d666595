"""How a ledger came about, by its chain: asked before every run, and by `copublish ledger verify`."""

from __future__ import annotations

from copublish.errors import EditedLedgerError
from copublish.kernel.ledger.chain import ACCEPTED, append_tables, entries_of, head_of, problems_of, tables_of
from copublish.kernel.ledger.database import LedgerFile, now


class History(LedgerFile):
    """The chain of a ledger."""

    @property
    def lasts(self) -> bool:
        """Whether this ledger is kept; one in memory is gone with its process."""
        return self.path != ":memory:"

    def head(self) -> str:
        """The hash of the last entry.

        Privacy:
            Reveals: nothing to whoever is told it. Every entry has 32 random bytes in its hash.
        """
        with self._reading():
            return head_of(self._database)[1]

    def heads(self) -> list[str]:
        """The hash of every entry, oldest first."""
        with self._reading():
            return [str(entry.hash) for entry in entries_of(self._database)]

    def edits(self) -> list[str]:
        """A sentence for everything that was removed, reordered or edited, with its place; nothing if all is well."""
        with self._reading():
            self._database.execute("BEGIN")  # one view of all tables, while others may write
            try:
                return problems_of(entries_of(self._database), tables_of(self._database))
            finally:
                self._database.execute("ROLLBACK")

    def refuse_if_edited(self) -> None:
        """Raise if something else than this software has written to the ledger.

        Raises:
            EditedLedgerError: With the first thing found, and the way out.
        """
        if found := self.edits():
            more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
            raise EditedLedgerError(
                f"The ledger '{self.path}' was changed by something else than copublish. "
                f"{found[0]}{more} Nothing was measured. See all of it: copublish ledger verify {self.path}"
            )

    def accept_edits(self, why: str) -> None:
        """Go on with tables as they are. The chain keeps what they were before, and why somebody accepted them.

        Raises:
            EditedLedgerError: If the chain itself is broken: nothing can tell what it said. Nothing is written then.
        """
        with self._transaction():
            append_tables(self._database, ACCEPTED, at=now(), why=why)
            if left := problems_of(entries_of(self._database), tables_of(self._database)):  # rolled back
                raise EditedLedgerError(
                    f"The chain of the ledger '{self.path}' is broken, and nobody can tell what it said. {left[0]} "
                    "Nothing was accepted. Restore the newest backup that holds, or begin a new ledger whose limits "
                    "are lower by what was spent."
                )
