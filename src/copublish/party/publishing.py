"""One release at one party: the main path with a mechanism's result, a release folder and signatures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from copublish.kernel.accounting.disclosures import Disclosure
from copublish.kernel.certificate.certificate import AuditStatement, Certificate, ClassDisagreement
from copublish.kernel.ledger.ledger import Ledger
from copublish.kernel.main_path import RunContext, run_release
from copublish.kernel.records.fragment import Fragment
from copublish.kernel.records.joint_table import JointTable
from copublish.kernel.records.record_map import own_record_map
from copublish.kernel.secrets.engine import Engine
from copublish.mechanisms.base import Plan
from copublish.mechanisms.registry import AnyMechanism, mechanism_of
from copublish.mechanisms.shared.class_disagreement import measured_disagreement
from copublish.party.evidence_exchange import EvidenceExchange, SigningContext
from copublish.party.record_maps import NOWHERE, Keep
from copublish.progress import Notice, Progress, no_notice
from copublish.release.folder import Release
from copublish.release.prepare import software_versions
from copublish.types import IntArray

Stage = Callable[[Release], AbstractContextManager[Callable[[], None]]]


def _keep_in_memory(release: Release) -> AbstractContextManager[Callable[[], None]]:
    return nullcontext(lambda: None)


@dataclass(frozen=True)
class MechanismOutlet:
    """The way from a mechanism's result to a release.

    Attributes:
        plan: What runs.
        stage: Puts a release on disk under a temporary name; what it yields gives it its own name.
        keep: Keeps this party's own map of rows to records, where there is one.
    """

    plan: Plan[Any]
    stage: Stage
    keep: Keep

    @property
    def mechanism(self) -> str:
        """The mechanism's name."""
        return self._mechanism.name

    @property
    def checks_records(self) -> bool:
        """True if the mechanism asks more of one party's records than that they fit the schema."""
        return self._mechanism.checks_records

    def refuse_unfit_records(self, fragment: Fragment) -> None:
        """Raise if this party's records do not fit."""
        self._mechanism.refuse_unfit_records(self.plan, fragment)

    def disagreement(self, opened: Sequence[tuple[Disclosure, IntArray]]) -> ClassDisagreement | None:
        """The measured disagreement of class columns, if one was measured."""
        return measured_disagreement(self.plan.agreement, opened)

    def publish(self, certificate: Certificate, result: Any) -> Release:
        """The release."""
        return Release(certificate, self._mechanism.publish(result), self._mechanism)

    def keep_own_map(
        self, release: Release, table: JointTable, opened: Sequence[tuple[Disclosure, IntArray]]
    ) -> AbstractContextManager[None]:
        """Keep a map of this party's rows to records, where there is one; it goes if the run fails."""
        places = self._mechanism.places_of_records([values for _, values in opened])
        return self.keep(release, own_record_map(table, places))

    @cached_property
    def _mechanism(self) -> AnyMechanism:
        return mechanism_of(self.plan.agreement)


def publish_release(
    plan: Plan[Any],
    fragment: Fragment,
    engine: Engine,
    ledger: Ledger,
    progress: Progress,
    stage: Stage = _keep_in_memory,
    notice: Notice = no_notice,
    witness: SigningContext | None = None,
    run: str | None = None,
    audit: AuditStatement | None = None,
    keep: Keep = NOWHERE,
) -> Release:
    """Run one agreed release at this party and return what may be published.

    Args:
        plan: What is opened, at which price; it was described to people before.
        fragment: This party's rows.
        engine: Its end of the engine.
        ledger: Its ledger.
        progress: Is called at every step.
        stage: Puts a release on disk under a temporary name; what it yields gives it its own name.
        notice: Is called with the name of a party whose list of people changed.
        witness: Who signs for this party; None in a simulation and without identities, where nobody signs.
        run: Id of this run, which all parties drew together when they met after comparing their agreements and
            versions. What is signed names it, so whoever signs needs one.
        audit: The audit that this party has; it goes into the certificate if all parties have the same.
        keep: Keeps this party's own map of rows to records, where there is one; nowhere unless given.

    Privacy:
        See `run_release`.
    """
    context = RunContext(progress=progress, notice=notice, software=software_versions(plan.agreement), audit=audit)
    outlet, signing = MechanismOutlet(plan, stage, keep), EvidenceExchange(witness, run)
    return run_release(plan, outlet, signing, fragment, engine, ledger, context)
