"""Is one party's data what was agreed? For its owner's eyes: nothing leaves this machine, nothing is spent.

A run takes any values, by the rules of the agreement, and tells nobody else. So this is where an owner sees what they
did, before it agrees to anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from copublish.agreement.loading import load_agreement
from copublish.agreement.model import Agreement
from copublish.agreement.parties import meeting_in_words
from copublish.errors import CopublishError, FragmentError
from copublish.kernel.certificate.build import warning_of
from copublish.kernel.secrets.placement import HiddenJoin
from copublish.release.prepare import prepare
from copublish.release.readme import definition_list
from copublish.rows.changes import Change
from copublish.rows.overview import Overview
from copublish.rows.rows_or_counts import look_at_rows_or_counts
from copublish.rows.sources import Source, mapped

HARDLY = "These are hardly the data that were agreed:"
"""Before the doubts, wherever they are shown."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Checked:
    """An agreement that is complete and, if data were given, what became of them.

    Attributes:
        warning: What is said first of a mechanism that is not differentially private.
        agreement: Name of the agreement.
        agreement_hash: Its hash.
        party: Whose data were checked; none if none were.
        records: How many records there are: for the owner alone.
        overview: Counts of missing and changed cells, column by column; none without data. For the owner only.
        accepted: Whether the owner has said that data are right although there are `doubts`.
        columns: The columns that were read.
        checked_before_join: Whether the mechanism asks more of the records that all parties have in common.
        problems: Every reason why no run would begin: column and rule, never a value. With `strict`, broken rules of
            values as well.
        at_most: The public length that each owner's list of people is padded to; none where lists are not padded.
        meeting: How every two parties would meet on the network; nothing if the agreement does not say where they are.
    """

    warning: str | None
    agreement: str
    agreement_hash: str
    party: str | None = None
    records: int | None = None
    columns: tuple[str, ...] = ()
    checked_before_join: bool = False
    problems: tuple[str, ...] = ()
    overview: Overview | None = None
    accepted: bool = False
    at_most: Mapping[str, int] | None = None
    meeting: tuple[str, ...] = ()

    @property
    def padding(self) -> str | None:
        """What the lists of owners look like to others that hide whom they share; nothing where nothing is hidden."""
        if self.at_most is None:
            return None
        lengths = ", ".join(f"'{owner}' {length:,}" for owner, length in self.at_most.items())
        return (
            f"Nobody learns how many people an owner lists: lists are padded to a public length ({lengths}). An owner "
            "with more people takes part with so many of them."
        )

    @property
    def ok(self) -> bool:
        """Whether a run can begin; with `strict`, whether every value is as agreed."""
        return not self.problems and (self.accepted or not self.doubts)

    @property
    def doubts(self) -> tuple[str, ...]:
        """Reasons why the data are hardly those that were agreed: column and rule, without a number of rows."""
        return () if self.overview is None else self.overview.doubts

    @property
    def rules(self) -> tuple[Change, ...]:
        """Changes that the agreement's rules made: column, rule and number of rows. For the owner only."""
        return () if self.overview is None else self.overview.changes

    def to_dict(self) -> dict[str, Any]:
        """What was checked, as plain JSON values."""
        found: dict[str, Any] = {} if self.warning is None else {"warning": self.warning}
        found |= {"agreement": self.agreement, "agreement_hash": self.agreement_hash, "ok": self.ok}
        if self.at_most is not None:
            found["at_most"] = dict(self.at_most)
        if self.meeting:
            found["meeting"] = list(self.meeting)
        if self.party is not None and not self.problems:
            found |= {"party": self.party, "records": self.records, "columns": list(self.columns)}
        elif self.party is not None:
            found |= {"party": self.party, "problems": list(self.problems)}
        if self.party is not None:
            found["rules"] = [rule.to_dict() for rule in self.rules]
        if self.overview is not None:
            found |= {"overview": self.overview.to_dict(), "doubts": list(self.doubts), "accepted": self.accepted}
        return found

    def __str__(self) -> str:
        warning = "" if self.warning is None else f"WARNING: {self.warning}\n\n"
        padding = "" if self.padding is None else f"\n{self.padding}"
        if self.party is None:
            return f"{warning}The agreement '{self.agreement}' is complete.{padding}"
        if self.problems:
            not_fit = f"The data of '{self.party}' do not fit the agreement '{self.agreement}'."
            return warning + "\n  - ".join([not_fit, *self.problems])
        lines = [] if self.overview is None else self.overview.lines
        fit = f"The columns of '{self.party}' fit the agreement '{self.agreement}': {self.records:,} records."
        doubted = "\n  - ".join([f"\n{HARDLY}", *self.doubts]) if self.doubts else ""
        return warning + "\n  - ".join([fit, *lines]) + padding + doubted

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return definition_list(self.to_dict())


def check(
    agreement: Agreement | str | Path,
    party: str | None = None,
    data: Source | None = None,
    *,
    columns: str | Path | None = None,
    accept: bool = False,
    strict: bool = False,
    rows: bool = False,
) -> Checked:
    """Check an agreement and, with a party and its data, whether they fit it. Costs nothing.

    No value ends a run: what is not as agreed is clamped, mapped or left out by the agreement's rules. `overview` of
    the result says what they changed. Where that is so much that the data are hardly those that were agreed, `doubts`
    says why, and the result is not `ok` unless they are accepted.

    Args:
        agreement: The agreement, or the path of its file.
        party: Whose data.
        data: A CSV or Parquet file, a `DatabaseTable`, or a pandas, Polars or Arrow table or DuckDB relation.
        columns: The file of a mapping from the agreed columns to the party's own. It stays here.
        accept: Whether the data are right although there are doubts; `run` asks for the same.
        strict: Whether values that had to be changed are problems.
        rows: Whether the numbers of their rows are told, too: from 1, in the order of the source.

    Privacy:
        Reveals: facts about single people, to the owner of the data. Whoever declines a run because of them tells the
            other parties as much, so look before you agree, not after.

    Raises:
        AgreementError: If the agreement is not one that can be run, with every problem.
        SourceError: If the data cannot be read at all.
    """
    agreement = agreement if isinstance(agreement, Agreement) else load_agreement(agreement)
    plan, join = prepare(agreement), HiddenJoin.of(agreement)
    said = Checked(
        warning=warning_of(agreement),
        agreement=agreement.name,
        agreement_hash=agreement.hash,
        at_most=None if join is None else join.at_most,
        meeting=tuple(meeting_in_words(agreement)),
    )
    if party is None and data is None:
        return said
    if party is None:
        raise CopublishError("Say whose data these are: name the party.")
    try:
        source = None if data is None else mapped(data, columns)
        fragment, overview = look_at_rows_or_counts(agreement, party, source, with_rows=rows)
        if plan.checks_records:
            plan.refuse_unfit_records(fragment)
    except FragmentError as exc:
        return replace(said, party=party, problems=exc.problems)
    looked = replace(said, party=party, overview=overview, accepted=accept)
    if strict and looked.rules:
        return replace(looked, problems=tuple(change.problem for change in looked.rules))
    return replace(
        looked,
        records=fragment.n_records,
        columns=tuple(fragment.sizes),
        checked_before_join=plan.checks_records and agreement.partition != "horizontal",
    )
