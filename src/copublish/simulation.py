"""A whole release in one process on the ideal engine: every party runs the same code it would run for real."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from copublish.agreement.loading import load_agreement
from copublish.agreement.model import Agreement
from copublish.engine.ideal import IdealEngine, Room
from copublish.errors import CopublishError, FragmentError
from copublish.fragments.fragment import Fragment
from copublish.fragments.reading import read_fragment
from copublish.fragments.sources import Source
from copublish.mechanisms.specialization import Plan, Progress
from copublish.privacy.ledger import Ledger, Limit
from copublish.publication import Release
from copublish.release import publish_release


def no_progress(phase: str, done: int, of: int) -> None:
    """Tell nobody."""


def simulate(
    agreement: Agreement | str | Path,
    data: Mapping[str, Source],
    *,
    ledgers: Mapping[str, Ledger] | None = None,
    progress: Progress = no_progress,
) -> Release:
    """Simulate a release with all parties' data in this process.

    Args:
        agreement: The agreement, or the path of its file.
        data: For every party a CSV or Parquet file or a pandas, Polars or Arrow table.
        ledgers: Each party's ledger. Without them nothing is remembered: the caller, who sees all data anyway,
            keeps count.
        progress: Told about every step.

    Raises:
        CopublishError: If the agreement or the data are not right, or a ledger refuses.

    Privacy:
        Guarantee: what is published is as private as the certificate says.
        Assumes: whoever runs this may see every party's data. Between the parties there is no secrecy.
    """
    agreement = agreement if isinstance(agreement, Agreement) else load_agreement(agreement)
    fragments = read_fragments(agreement, data)
    with ExitStack() as stack:
        if ledgers is None:
            ledgers = {party: throwaway_ledger(agreement) for party in agreement.parties}
            for ledger in ledgers.values():
                stack.callback(ledger.close)
        return run_room(agreement, fragments, Room(agreement.party_names), ledgers, progress)


def read_fragments(agreement: Agreement, data: Mapping[str, Source]) -> dict[str, Fragment]:
    """Read every party's data, and report the problems of all of them at once."""
    missing = [party for party in agreement.parties if party not in data]
    unknown = [party for party in data if party not in agreement.parties]
    if missing or unknown:
        parties = ", ".join(f"'{party}'" for party in agreement.parties)
        given = ", ".join(f"'{party}'" for party in data) or "none"
        raise FragmentError(
            ", ".join(missing or unknown), [f"Give data for exactly these parties: {parties}. Got: {given}."]
        )
    fragments, errors = {}, []
    for party in agreement.parties:
        try:
            fragments[party] = read_fragment(agreement, party, data[party])
        except CopublishError as exc:
            errors.append(exc)
    if len(errors) == 1:
        raise errors[0]
    if errors:
        combined = CopublishError("\n".join(map(str, errors)))
        combined.exit_code = errors[0].exit_code
        raise combined
    return fragments


def run_room(
    agreement: Agreement,
    fragments: Mapping[str, Fragment],
    room: Room,
    ledgers: Mapping[str, Ledger],
    progress: Progress = no_progress,
) -> Release:
    """Run the main path once per party and return the release they all hold."""

    def job(engine: IdealEngine) -> Release:
        first = engine.party == agreement.party_names[0]
        tell = progress if first else no_progress
        return publish_release(agreement, fragments[engine.party], engine, ledgers[engine.party], tell)

    return room.run(job)[agreement.party_names[0]]


def throwaway_ledger(agreement: Agreement) -> Ledger:
    """Return a ledger in memory with just the budget of one release."""
    ledger = Ledger(":memory:")
    cost, neighbours = Plan.of(agreement).cost(), agreement.privacy.neighbours
    epsilon = cost.under(neighbours)
    if epsilon is not None:
        ledger.set_limit(agreement.dataset, Limit(epsilon, neighbours))
    return ledger
