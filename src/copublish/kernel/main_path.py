"""The main path of one release, top to bottom, as it runs at each party."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any, Protocol, TypeVar

from copublish.agreement.model import Agreement
from copublish.agreement.protocol.table import (
    AUDIT,
    CAN_PAY,
    DATE,
    FIT,
    HEADS,
    HEADS_BEFORE,
    KEY_EXCHANGE,
    ON_DISK,
    RELEASE,
    RESERVED,
)
from copublish.errors import (
    EngineError,
    InvalidInputsError,
    LedgerError,
    LostAtTheLastStepError,
    MeetingError,
    PartyLostError,
)
from copublish.kernel.accounting.cost import NOTHING, Cost
from copublish.kernel.accounting.membership import SIZE_LABEL, membership_cost
from copublish.kernel.certificate.build import Circumstances, build_certificate
from copublish.kernel.certificate.certificate import AuditStatement, Certificate
from copublish.kernel.checks import peers_of, refuse_by_ledger
from copublish.kernel.ledger.ledger import Ledger, Reservation
from copublish.kernel.noise.health import refuse_broken_generator
from copublish.kernel.plan import Outlet, Publishable, RunnablePlan
from copublish.kernel.records.alignment import align_records, too_few_common
from copublish.kernel.records.comparison import own_commitment, record_comparison, within_agreed_length
from copublish.kernel.records.fragment import Fragment
from copublish.kernel.records.joint_table import JointTable
from copublish.kernel.secrets.engine import Engine
from copublish.kernel.secrets.gate import RevealGate
from copublish.progress import Notice, Progress

P = TypeVar("P", bound=Publishable)

CLOCKS_DIFFER_BY = timedelta(days=2)
"""Two clocks that are less than two days apart never show days that are further apart than this."""


class Signing(Protocol[P]):
    """The parties' signatures under a release. Nothing in it depends on private values."""

    def gather(self, agreement: Agreement, engine: Engine, ledger: Ledger) -> None:
        """Show each other who signs, who approved, and that no ledger is behind. It raises before anything is spent."""
        ...

    def own_head(self, agreement: Agreement, ledger: Ledger) -> dict[str, Any] | None:
        """The head of this party's ledger, signed; nothing where nobody signs. The ledger knows that it is told."""
        ...

    def keep_heads(self, told: Sequence[dict[str, Any] | None], agreement: Agreement, ledger: Ledger) -> None:
        """Keep what every party told of its ledger. It raises before anything is opened."""
        ...

    def sign(self, release: P, agreement: Agreement, engine: Engine, ledger: Ledger) -> P:
        """The release with the signatures of all parties."""
        ...


@dataclass
class _ChargedEverywhere:
    """A charge of which nothing is opened anywhere before every party has written the first disclosure.

    Privacy:
        A party tells the head of its ledger once its first disclosure is on disk, and opens nothing before all others
        have told theirs. So of a charge without a disclosure nothing was opened, here or elsewhere; and whoever has
        opened something holds heads of all ledgers that are later than the charges for it.
    """

    charge: Reservation
    meet_others: Callable[[], None]
    _all_have: bool = field(default=False, init=False)

    def disclose(self, label: str, price: Callable[[], Cost]) -> None:
        """Write a disclosure to stable storage; at the first one, wait until every party has."""
        self.charge.disclose(label, price)
        if not self._all_have:
            self.meet_others()
            self._all_have = True


@dataclass(frozen=True, kw_only=True)
class RunContext:
    """The public surroundings of a run at one party.

    Attributes:
        progress: Is called at every step.
        notice: Is called with sentences for this party's person.
        software: Versions, for the certificate.
        audit: The audit that this party has; it goes into the certificate if all parties have the same.
        key_exchange: The groups with which this party's connections agreed on keys; none without TLS.
    """

    progress: Progress
    notice: Notice
    software: Mapping[str, str]
    audit: AuditStatement | None = None
    key_exchange: tuple[str, ...] = ()


def run_release(
    plan: RunnablePlan,
    outlet: Outlet[P],
    signing: Signing[P],
    fragment: Fragment,
    engine: Engine,
    ledger: Ledger,
    context: RunContext,
) -> P:
    """Run one agreed release at this party and return what may be published.

    Privacy:
        Guarantee: the agreement's epsilon, as the plan splits it; the certificate states it for both relations.
        Reveals: what `view_of` in kernel/certificate/promise.py lists, to each party; the release, to everyone.
        On failure: nothing is published; a reserved charge stays spent. A party whose inputs failed a check is locked
            out of the data set.
    """
    refuse_broken_generator()
    # First of all, because both take the longer, the more people are listed, and later the others could time it.
    fragment = within_agreed_length(plan.agreement, fragment, ledger)
    commitment = own_commitment(plan.agreement, fragment, ledger)
    agreement, progress, cost = plan.agreement, context.progress, plan.cost()
    signing.gather(agreement, engine, ledger)
    refuse_by_ledger(plan, fragment.party, ledger)
    # A party that cannot pay, or write it down, stops everyone here, before anything is learned or reserved.
    engine.exchange(CAN_PAY, "can pay")
    day = _agreed_date(engine)
    audit = agreed_audit(context.audit, engine, context.notice)
    groups = sorted({group for told in engine.exchange(KEY_EXCHANGE, list(context.key_exchange)) for group in told})
    table = _aligned(plan, signing, fragment, commitment, engine, ledger, context)
    with (
        _cheaters_locked_out(agreement, fragment.party, ledger),
        ledger.reserve(
            agreement.dataset, agreement.name, agreement.hash, cost, peers=peers_of(agreement, fragment.party)
        ) as charge,
    ):
        charged = _reserved_everywhere(charge, signing, agreement, engine, ledger)
        gate = RevealGate(engine.computer, engine.opener, charged, agreement.records.public)
        result = plan.run(table, engine.computer, gate, progress)
        # From here on: released values only.
        progress("writing", 0, 1)
        facts = (context.software, audit, day, groups)
        certificate = _certificate(plan, outlet, engine, gate, table.public_total, *facts)
        release = outlet.publish(certificate, result)
        if len(set(engine.exchange(RELEASE, release.digest()))) > 1:
            raise EngineError("The parties ended with different releases. Nothing is published.")
        release = signing.sign(release, agreement, engine, ledger)
        with outlet.stage(release) as publish:
            # For this party only and no part of the release: it follows from what was opened and from its own rows.
            with outlet.keep_own_map(release, table, gate.opened):
                _wait_until_all_have_it(engine)
            publish()
            charge.complete()
        progress("writing", 1, 1)
    return release


def _aligned(
    plan: RunnablePlan,
    signing: Signing[Any],
    fragment: Fragment,
    commitment: str | None,
    engine: Engine,
    ledger: Ledger,
    context: RunContext,
) -> JointTable:
    """The rows that all parties compute with, after the ledger was told that people are compared."""
    agreement = plan.agreement
    context.progress("alignment", 0, 1)
    for changed in record_comparison(agreement, fragment, engine, ledger, commitment):
        context.notice(changed)
    _charge_membership(agreement, signing, engine, ledger)
    with _cheaters_locked_out(agreement, fragment.party, ledger):
        table = align_records(agreement, fragment, engine, context.progress)
    if (few := too_few_common(agreement, table.fragment.n_records)) is not None:
        context.notice(few)
    _agree_that_records_fit(plan, table, engine)
    context.progress("alignment", 1, 1)
    return table


def _charge_membership(agreement: Agreement, signing: Signing[Any], engine: Engine, ledger: Ledger) -> None:
    """Charge what another owner learns of the number of common people, before anything about people is sent.

    Privacy:
        Charges: the price of that number, which is never given back, however the run ends.
        Who learned it holds a head of this ledger that is later than the charge: nobody compares before all heads came.
    """
    cost, peers = membership_cost(agreement), peers_of(agreement, engine.party)
    if cost != NOTHING:
        ledger.charge_size(agreement.dataset, agreement.name, agreement.hash, cost, label=SIZE_LABEL, peers=peers)
        heads = engine.exchange(HEADS_BEFORE, signing.own_head(agreement, ledger))
        signing.keep_heads(heads, agreement, ledger)


def agreed_audit(audit: AuditStatement | None, engine: Engine, notice: Notice) -> AuditStatement | None:
    """The audit for the certificate, if every party has the same one.

    Privacy:
        Reveals: whether this party has an audit, and its hash, to the other parties. Nothing else depends on it.
    """
    own = None if audit is None else audit.digest
    if any(other != own for other in engine.exchange(AUDIT, own)):
        notice("Not all parties have the same audit, so the certificate has none.")
        return None
    return audit


def _reserved_everywhere(
    charge: Reservation, signing: Signing[Any], agreement: Agreement, engine: Engine, ledger: Ledger
) -> _ChargedEverywhere:
    """Wait until every party has reserved; the charge that then waits for all others at its first disclosure."""
    # A party that could not reserve stops everyone here: nobody has written that anything is about to be opened.
    engine.exchange(RESERVED, "reserved")

    def tell_heads() -> None:
        heads = engine.exchange(HEADS, signing.own_head(agreement, ledger))
        signing.keep_heads(heads, agreement, ledger)

    return _ChargedEverywhere(charge, tell_heads)


def _certificate(
    plan: RunnablePlan,
    outlet: Outlet[Any],
    engine: Engine,
    gate: RevealGate,
    public_total: int | None,
    software: Mapping[str, str],
    audit: AuditStatement | None,
    day: date,
    groups: Sequence[str],
) -> Certificate:
    circumstances = Circumstances(
        mechanism=outlet.mechanism,
        method=plan.method(),
        engine=engine.computer.name,
        secrecy=engine.computer.secrecy,
        engine_assumptions=engine.computer.assumptions,
        software=dict(software),
        publication_date=day.isoformat(),
        public_total=public_total,
        class_disagreement=outlet.disagreement(gate.opened),
        audit=audit,
        key_exchange=tuple(groups) or None,
    )
    return build_certificate(plan.agreement, [disclosure for disclosure, _ in gate.opened], circumstances)


@contextmanager
def _cheaters_locked_out(agreement: Agreement, party: str, ledger: Ledger) -> Iterator[None]:
    """Lock the data set for a peer whose inputs fail a check, until this party's owner says otherwise.

    Privacy:
        Why: the check is a function of that peer's inputs and public values alone, so failing it proves deviation. So
            does another table of rows than this party has, where two owners hide membership from each other.
    """
    try:
        yield
    except InvalidInputsError as exc:
        if exc.party == party or exc.party not in agreement.parties:
            raise
        try:
            ledger.lock(
                agreement.dataset,
                exc.party,
                f"In release '{agreement.name}' it put in something else than the agreement allows.",
                certificate=agreement.parties[exc.party].certificate,
            )
        except LedgerError as unwritten:
            raise LedgerError(
                f"{exc} The data set could not be locked for '{exc.party}': {unwritten} Do not run with it again."
            ) from exc
        raise


def _agree_that_records_fit(plan: RunnablePlan, table: JointTable, engine: Engine) -> None:
    """Check what the mechanism asks of records. One whose records do not fit stops everyone before anything is spent.

    Privacy:
        Reveals: that some party's records do not fit, to the others. Which rule they break is told to that party alone.
    """
    if plan.checks_records:
        plan.refuse_unfit_records(table.fragment)
        engine.exchange(FIT, "fit")


def _wait_until_all_have_it(engine: Engine) -> None:
    """Tell that the release is on disk here, and wait for the others: a party whose disk is full stops everyone."""
    try:
        engine.exchange(ON_DISK, "on disk")
    except PartyLostError as exc:
        raise LostAtTheLastStepError(
            "Another party was lost at the last step. Nothing is published here; others may have published."
        ) from exc


def _agreed_date(engine: Engine) -> date:
    """The first party's date: one clock for everybody's certificate, so that it has the same bytes.

    Raises:
        MeetingError: If it is not about the day that it is here. Approvals are held against the date for ever.
    """
    today, first = datetime.now(UTC).date(), engine.parties[0]
    said, *_ = engine.exchange(DATE, today.isoformat())
    try:
        day = date.fromisoformat(said)
    except ValueError:
        raise DATE.wrong(first) from None
    if abs(day - today) > CLOCKS_DIFFER_BY:
        raise MeetingError(
            f"Party '{first}' would date the release {day.isoformat()}, and by the clock here it is "
            f"{today.isoformat()}. Set the clock that is wrong. Nothing was measured."
        )
    return day
