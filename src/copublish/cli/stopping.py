"""What is said when a person stops a command: above all, whether anything was charged."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from copublish.cli.terminal import note
from copublish.errors import LedgerError, StoppedError

if TYPE_CHECKING:  # help does not load the ledger
    from copublish.kernel.ledger.ledger import Entry

NOTHING_CHARGED = "Stopped. Nothing was charged."
ONLY_THE_DEMO = "Stopped. Nothing of yours was charged: the demo has ledgers of its own, in its folder."
LOOK = "Stopped. What a ledger was charged stays charged: 'copublish ledger' shows it."


_ledgers_are_open = False
"""Whether this process has come to the point from which on ledgers are charged."""


def words_when_stopped(command: str | None, own_commands: Sequence[str]) -> str:
    """What is true of a command that was stopped, by its name.

    Args:
        command: The one that was typed.
        own_commands: Those that are known here; commands of plug-ins are not.
    """
    if command == "demo":
        return ONLY_THE_DEMO
    is_known = command is None or command in own_commands
    return NOTHING_CHARGED if is_known and not _ledgers_are_open else LOOK


@contextmanager
def telling_what_ledgers_have(entries: Callable[[], dict[str, list[Entry]]]) -> Iterator[None]:
    """End a command that is stopped with what its ledgers have of it. Nothing is charged before this is entered.

    Args:
        entries: Reads the charges of every ledger, under a name to call it by.

    Raises:
        StoppedError: If Ctrl-C comes.
    """
    global _ledgers_are_open
    _ledgers_are_open = True
    before = entries()
    try:
        yield
    except KeyboardInterrupt:
        raise StoppedError(f"Stopped. {_what_ledgers_have(before, entries)}") from None
    except SystemExit:  # SIGTERM
        note(f"Stopped. {_what_ledgers_have(before, entries)}")
        raise


def _what_ledgers_have(before: dict[str, list[Entry]], entries: Callable[[], dict[str, list[Entry]]]) -> str:
    try:
        now = entries()
    except LedgerError:
        return "The ledger cannot be read now. What it was charged stays charged: 'copublish ledger' shows it."
    new = {name: found[len(before[name]) :] for name, found in now.items()}
    said = [f"{name} has {_charge(entry)}." for name, found in new.items() for entry in found]
    return " ".join([*said, "It stays charged."]) if said else "Nothing was charged."


def _charge(entry: Entry) -> str:
    from copublish.kernel.accounting.formatting import show_exact

    epsilon = entry.cost.under("add-remove")
    price = "an unbounded charge" if epsilon is None else f"a charge of epsilon {show_exact(epsilon)}"
    opened = "1 disclosure" if entry.disclosures == 1 else f"{entry.disclosures} disclosures"
    return f"{price} for '{entry.release}' on the data set '{entry.dataset}' ({entry.state}, {opened} written)"
