"""The files that one server works on, their state now, and the sections of the page that show them.

Nothing is kept between two requests: the files are the state, so a second tab, another editor and the command line
see the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from starlette.requests import Request
from starlette.routing import Route

import copublish as cp


@dataclass(frozen=True, kw_only=True)
class Desk:
    """What the server was started with.

    Attributes:
        home: The party's copublish folder: identities, ledger, runs.
        agreement_file: The agreement, or the draft of one; it need not be there yet.
        data_folders: Below these lie data that may be read.
        party: Which party this is, if it was said.
        sources: Tables in databases, by the names that were given to them at the start.
        ledger: Called for the party's ledger; the one in its copublish folder unless given.
    """

    home: Path
    agreement_file: Path
    data_folders: tuple[Path, ...]
    party: str | None = None
    sources: Mapping[str, cp.DatabaseTable] = field(default_factory=dict)
    ledger: Callable[[], Path] | None = None


class Situation:
    """What the files say now, read once for a request."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk

    @cached_property
    def _read(self) -> tuple[cp.Agreement | None, str | None]:
        if not self.desk.agreement_file.exists():
            return None, None
        try:
            return cp.load_agreement(self.desk.agreement_file), None
        except cp.CopublishError as exc:
            return None, str(exc)

    @property
    def agreement(self) -> cp.Agreement | None:
        """The agreement, if the file is a complete one."""
        return self._read[0]

    @property
    def problem(self) -> str | None:
        """Why the file is no agreement, in the words of `check`; none if it is one, or is not there."""
        return self._read[1]

    @cached_property
    def party(self) -> str | None:
        """Which party this is: as was said at the start, else the one whose identity is here."""
        if self.desk.party is not None:
            return self.desk.party
        here = cp.identities.list_identities()
        if self.agreement is not None:
            here = [name for name in here if name in self.agreement.parties]
        return here[0] if len(here) == 1 else None

    @cached_property
    def runs(self) -> list[cp.runs.Run]:
        """This party's runs, newest first."""
        return [run for run in cp.runs.list_runs() if run.party == self.party]

    @property
    def current_run(self) -> cp.runs.Run | None:
        """The newest run of the agreement as it is now."""
        if self.agreement is None:
            return None
        return next((run for run in self.runs if run.agreement_hash == self.agreement.hash), None)

    @property
    def is_busy(self) -> bool:
        """Whether a run or a job of the agreement file goes on, so that what a page says of it soon changes."""
        file, run = str(self.desk.agreement_file), self.current_run
        jobs = (job for job in cp.runs.list_jobs() if job.arguments.get("agreement") == file)
        return (run is not None and run.is_alive) or any(job.is_alive for job in jobs)

    @property
    def ledger_file(self) -> Path:
        """This party's ledger; it need not be there yet."""
        return self.desk.home / "ledger.db" if self.desk.ledger is None else self.desk.ledger()

    @cached_property
    def budgets(self) -> list[cp.ledger.Budget]:
        """What the ledger has for every data set; nothing if there is no ledger.

        Raises:
            LedgerError: If it cannot be read.
        """
        if not self.ledger_file.exists():
            return []
        ledger = cp.ledger.Ledger(self.ledger_file)
        try:
            return ledger.budgets()
        finally:
            ledger.close()

    @property
    def agreement_name(self) -> str:
        """What stands at the top of every page."""
        return self.desk.agreement_file.name if self.agreement is None else self.agreement.name


@dataclass(frozen=True, kw_only=True)
class StudioSection:
    """One of the five sections of the page: Draft, Plan, Approve, Run, Read.

    Attributes:
        name: The first part of its addresses: `/NAME`.
        title: Its name on the page.
        state: Its state in words, short, for the top of every page ("3 open points"); empty if there is nothing to
            say. It is called for every page, so it reads little.
        routes: The requests that it answers.
    """

    name: str
    title: str
    state: Callable[[Situation], str]
    routes: tuple[Route, ...]


def desk_of(request: Request) -> Desk:
    """What the server was started with."""
    found = request.app.state.desk
    if not isinstance(found, Desk):
        raise TypeError("an app is made with a desk")
    return found


def situation_of(request: Request) -> Situation:
    """What the files say now; read at most once for a request."""
    if not hasattr(request.state, "situation"):
        request.state.situation = Situation(desk_of(request))
    found = request.state.situation
    if not isinstance(found, Situation):
        raise TypeError("a request has one situation")
    return found
