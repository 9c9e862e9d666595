"""A whole release on one machine: every party runs the same code it would run on its own."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, Literal

from copublish.agreement.loading import load_agreement
from copublish.agreement.model import Agreement
from copublish.engines.ideal import IdealEngine, Room
from copublish.engines.spu.parallel_sessions import Workers
from copublish.errors import CopublishError, EngineError, FragmentError, combined_error
from copublish.kernel.ledger.ledger import Ledger
from copublish.kernel.noise.geometric import Coins
from copublish.kernel.records.fragment import Fragment
from copublish.mechanisms.base import Plan
from copublish.party.local.processes import open_ledger, simulate_in_processes, throwaway_ledger
from copublish.party.publishing import kept_beside, publish_release
from copublish.progress import Notice, Progress, no_notice, no_progress
from copublish.release.folder import Release
from copublish.release.prepare import prepare_simulation
from copublish.rows.rows_or_counts import read_rows_or_counts
from copublish.rows.sources import Source, mapped

EngineName = Literal["ideal", "spu", "masked-sum"]


def simulate(
    agreement: Agreement | str | Path,
    data: Mapping[str, Source],
    *,
    columns: Mapping[str, str | Path] | None = None,
    engine: EngineName = "ideal",
    ledger_files: Mapping[str, str | Path] | None = None,
    progress: Progress = no_progress,
    notice: Notice = no_notice,
    timeout_seconds: int = 600,
    workers: int = 1,
    workers_on: str = "here",
) -> Release:
    """Simulate a release with all parties on this machine.

    Args:
        agreement: The agreement, or the path of its file.
        data: For every party that holds data a CSV or Parquet file, a `DatabaseTable`, a pandas, Polars or Arrow
            table, or a DuckDB relation.
        columns: The files of mappings from the agreed columns to the own ones of parties that have others.
        engine: `ideal` computes in the clear in this process; the agreed one, `spu` or `masked-sum`, runs every
            party in a process of its own.
        ledger_files: Each party's ledger. Without them nothing is remembered: the caller, who sees all data anyway,
            keeps count. Where every record is published, each party's map of rows to records is kept beside its ledger.
        progress: Told about every step.
        notice: Told which party lists other people than before, as each party's own ledger has it.
        timeout_seconds: How long a party of the secure engine waits for the others.
        workers: How many engine processes of each party count at the same time, if the agreement has shards and
            the engine is `spu`. What is released does not depend on it.
        workers_on: Where all of them but one of each party run: `here`, or on a Ray cluster: `ray`, or `ray=ADDRESS`.

    Raises:
        CopublishError: If the agreement or the data are not right, or a ledger refuses.

    Privacy:
        Guarantee: what is published is as private as the certificate says.
        Assumes: whoever runs this may see every party's data. Between the parties there is no secrecy with `ideal`;
            with the others each party's process sees its own data alone.
    """
    agreement = agreement if isinstance(agreement, Agreement) else load_agreement(agreement)
    refuse_wrong_parties(agreement, data)
    data = _with_mappings(data, columns or {})
    if engine != "ideal":
        if engine != agreement.engine.name:
            raise EngineError(f"Engine '{engine}' was asked for, and the agreement says '{agreement.engine.name}'.")
        return simulate_in_processes(
            agreement,
            data,
            ledger_files=ledger_files,
            progress=progress,
            notice=notice,
            timeout_seconds=timeout_seconds,
            workers=Workers(workers, workers_on),
        )
    if workers != 1:
        raise EngineError("Workers are processes of the secure engine, and this is another one. Leave them out.")
    plan = prepare_simulation(agreement)
    fragments = read_fragments(agreement, data)
    with ExitStack() as stack:
        ledgers = {party: open_ledger(plan, (ledger_files or {}).get(party)) for party in agreement.parties}
        for ledger in ledgers.values():
            stack.callback(ledger.close)
        return run_room(plan, fragments, Room(agreement.party_names), ledgers, progress, notice, ledger_files)


def _with_mappings(data: Mapping[str, Source], columns: Mapping[str, str | Path]) -> dict[str, Source]:
    """The same data, with the mappings of those parties that have one."""
    if unknown := [party for party in columns if party not in data]:
        raise CopublishError(
            f"There is a mapping of columns for '{unknown[0]}', and no data. Name them, or leave it out."
        )
    return {party: mapped(source, columns.get(party)) for party, source in data.items()}


def refuse_wrong_parties(agreement: Agreement, data: Mapping[str, Source]) -> None:
    """Raise unless there are data for exactly the agreement's parties that hold some."""
    missing = [party for party in agreement.owners if party not in data]
    unknown = [party for party in data if party not in agreement.owners]
    if missing or unknown:
        parties = ", ".join(f"'{party}'" for party in agreement.owners)
        given = ", ".join(f"'{party}'" for party in data) or "none"
        problem = f"Give data for exactly these parties: {parties}. Got: {given}."
        raise FragmentError(", ".join(missing or unknown), [problem])


def read_fragments(agreement: Agreement, data: Mapping[str, Source]) -> dict[str, Fragment]:
    """Read every party's data, and report the problems of all of them at once."""
    fragments, errors = {}, []
    for party in agreement.parties:
        try:
            fragments[party] = read_rows_or_counts(agreement, party, data.get(party))
        except CopublishError as exc:
            errors.append(exc)
    if errors:
        raise combined_error(errors)
    return fragments


def run_room(
    plan: Plan[Any],
    fragments: Mapping[str, Fragment],
    room: Room,
    ledgers: Mapping[str, Ledger],
    progress: Progress = no_progress,
    notice: Notice = no_notice,
    ledger_files: Mapping[str, str | Path] | None = None,
) -> Release:
    """Run the main path once per party and return the release they all hold."""
    first = plan.agreement.party_names[0]

    def job(engine: IdealEngine) -> Release:
        party, tell = engine.party, progress if engine.party == first else no_progress
        return publish_release(
            plan,
            fragments[party],
            engine,
            ledgers[party],
            tell,
            notice=lambda said: notice(f"At '{party}': {said}"),
            keep=kept_beside((ledger_files or {}).get(party)),
        )

    return room.run(job)[first]


def simulate_fragments(
    agreement: Agreement, fragments: Mapping[str, Fragment], coins: Mapping[str, Coins] | None = None
) -> Release:
    """Simulate a release of rows that are read already, with ledgers that are forgotten.

    For plans, experiments and tests: nothing is charged, so the rows must not be private.
    """
    plan = prepare_simulation(agreement)
    with ExitStack() as stack:
        ledgers = {party: stack.enter_context(closing(throwaway_ledger(plan))) for party in agreement.parties}
        return run_room(plan, fragments, Room(agreement.party_names, coins), ledgers)
