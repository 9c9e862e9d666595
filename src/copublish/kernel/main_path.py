"""The main path of one release, top to bottom, as it runs at each party."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import UTC, datetime
from datetime import date as date_type
from typing import Any

from copublish.agreement.model import Agreement
from copublish.errors import EngineError, InvalidInputsError, LedgerError, LostAtTheLastStepError, PartyLostError
from copublish.kernel.certificate.build import Circumstances, build_certificate
from copublish.kernel.certificate.certificate import AuditStatement
from copublish.kernel.ledger.ledger import Ledger
from copublish.kernel.protocol.table import CAN_PAY, DATE, FIT, ON_DISK, RELEASE
from copublish.kernel.records.alignment import align_records
from copublish.kernel.records.comparison import record_comparison
from copublish.kernel.records.fragment import Fragment
from copublish.kernel.records.joint_table import JointTable
from copublish.kernel.secrets.engine import SumEngine
from copublish.kernel.secrets.gate import RevealGate
from copublish.mechanisms.base import Plan
from copublish.mechanisms.registry import mechanism_of
from copublish.mechanisms.shared.class_disagreement import measured_disagreement
from copublish.party.audit_file import agreed_audit
from copublish.party.evidence_exchange import Witness, gather, sign_release
from copublish.progress import Notice, Progress, no_notice
from copublish.release.folder import Release
from copublish.release.preflight import refuse_by_ledger, software_versions

Staged = Callable[[Release], AbstractContextManager[Callable[[], None]]]


def publish_release(
    plan: Plan[Any],
    fragment: Fragment,
    engine: SumEngine,
    ledger: Ledger,
    progress: Progress,
    staged: Staged = lambda release: nullcontext(lambda: None),
    notice: Notice = no_notice,
    witness: Witness | None = None,
    run: str | None = None,
    gate_for: Callable[..., RevealGate] = RevealGate,
    audit: AuditStatement | None = None,
) -> Release:
    """Run one agreed release at this party and return what may be published.

    Args:
        plan: What is opened, at which price; it was described to people before.
        fragment: This party's rows.
        engine: Its end of the engine.
        ledger: Its ledger.
        progress: Told about every step.
        staged: Puts a release on disk under a temporary name; what it yields gives it its own name.
        notice: Told whose list of people is another one than before.
        witness: Who signs for this party; none in a simulation and without identities, where nobody signs.
        run: Id of this run, which all parties drew together when they met after comparing their agreements and
            versions. What is signed names it, so whoever signs needs one.
        gate_for: Makes the gate; audits listen at it.
        audit: What this party has of an audit; it goes into the certificate if all parties have the same.

    Privacy:
        Guarantee: the agreement's epsilon, as the plan splits it; the certificate states it for both relations.
        Reveals: what `view_of` in kernel/certificate/promise.py lists, to each party; the release, to everyone.
        On failure: nothing is published; a reserved charge stays spent. A party whose inputs failed a check is locked
            out of the data set.
    """
    agreement, mechanism, cost = plan.agreement, mechanism_of(plan.agreement), plan.cost()
    gathering = gather(agreement, fragment.party, witness, run, engine, ledger)
    refuse_by_ledger(plan, fragment.party, ledger)
    # A party that cannot pay, or write it down, stops everyone here, before anything is learned or reserved.
    engine.exchange(CAN_PAY, "can pay")
    audited = agreed_audit(audit, engine, notice)
    progress("alignment", 0, 1)
    for changed in record_comparison(agreement, fragment, engine, ledger):
        notice(changed)
    table = align_records(agreement, fragment, engine)
    _agree_that_records_fit(plan, table, engine)
    progress("alignment", 1, 1)
    with (
        _cheaters_locked_out(agreement, fragment.party, ledger),
        ledger.reserve(agreement.dataset, agreement.name, agreement.hash, cost) as charge,
    ):
        gate = gate_for(engine, charge, agreement.records.public)
        result = plan.run(table, engine, gate, progress)
        # From here on: released values only.
        progress("writing", 0, 1)
        circumstances = Circumstances(
            mechanism=mechanism.name,
            method=plan.method(),
            engine=engine.name,
            secrecy=engine.secrecy,
            engine_assumptions=engine.assumptions,
            software=software_versions(agreement),
            publication_date=_agreed_date(engine),
            public_total=table.public_total,
            class_disagreement=measured_disagreement(agreement, gate.opened),
            audit=audited,
        )
        certificate = build_certificate(agreement, [disclosure for disclosure, _ in gate.opened], circumstances)
        release = Release(certificate, mechanism.publish(result), mechanism)
        if len(set(engine.exchange(RELEASE, release.digest()))) > 1:
            raise EngineError("The parties ended with different releases. Nothing is published.")
        release = sign_release(release, agreement, fragment.party, gathering, engine, ledger)
        with staged(release) as publish:
            _wait_until_all_have_it(engine)
            publish()
            charge.complete()
        progress("writing", 1, 1)
    return release


@contextmanager
def _cheaters_locked_out(agreement: Agreement, party: str, ledger: Ledger) -> Iterator[None]:
    """Lock the data set for a peer whose inputs fail a check, until this party's owner says otherwise.

    Privacy:
        Why: the check is a function of that peer's inputs and public values alone, so failing it proves deviation.
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


def _agree_that_records_fit(plan: Plan[Any], table: JointTable, engine: SumEngine) -> None:
    """Check what the mechanism asks of records. One whose records do not fit stops everyone before anything is spent.

    Privacy:
        Reveals: that some party's records do not fit, to the others. Which rule they break is told to that party alone.
    """
    mechanism = mechanism_of(plan.agreement)
    if mechanism.checks_records:
        mechanism.refuse_unfit_records(plan, table.fragment)
        engine.exchange(FIT, "fit")


def _wait_until_all_have_it(engine: SumEngine) -> None:
    """Tell that the release is on disk here, and wait for the others: a party whose disk is full stops everyone."""
    try:
        engine.exchange(ON_DISK, "on disk")
    except PartyLostError as exc:
        raise LostAtTheLastStepError(
            "Another party was lost at the last step. Nothing is published here; others may have published."
        ) from exc


def _agreed_date(engine: SumEngine) -> str:
    """The first party's date, if it is one: one clock for everybody's certificate, so that it has the same bytes."""
    first, *_ = engine.exchange(DATE, datetime.now(UTC).date().isoformat())
    try:
        return date_type.fromisoformat(first).isoformat()
    except ValueError:
        raise DATE.wrong(engine.parties[0]) from None
