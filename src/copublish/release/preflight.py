"""Everything that is checked before any data is read or anything is spent, in one place."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from copublish.agreement.model import Agreement
from copublish.engines.choice import refuse_missing_engine, refuse_unfit_engine, secure_engine_version
from copublish.errors import plain_text
from copublish.kernel.certificate.certificate import CERTIFICATE_FORMAT
from copublish.kernel.ledger.ledger import Ledger
from copublish.kernel.protocol.table import PROTOCOL
from copublish.kernel.records.comparison import compares_identifiers
from copublish.mechanisms.base import Plan
from copublish.mechanisms.registry import SHIPPED, mechanism_of, plan_of
from copublish.release.folder import refuse_unwritable
from copublish.rows.reading import check_columns
from copublish.rows.sources import Source

MAX_DIFFERENCES = 12
"""More are not listed."""


def prepare(agreement: Agreement) -> Plan[Any]:
    """The plan of an agreement that the agreed engine can compute: the one that is described, reserved and run.

    Raises:
        AgreementError: If the mechanism is unknown, has no plan, or the engine cannot run it.
    """
    plan = plan_of(agreement)
    refuse_unfit_engine(agreement)
    return plan


def prepare_simulation(agreement: Agreement) -> Plan[Any]:
    """The plan of an agreement on the ideal engine, which can compute every one.

    Raises:
        AgreementError: If the mechanism is unknown, or has no plan.
    """
    return plan_of(agreement)


def preflight(
    agreement: Agreement, party: str, source: Source | None, ledger: Ledger, *, out: Path, overwrite: bool
) -> Plan[Any]:
    """Check one party's part of a run between machines, before anybody is asked or called. No row is read.

    Raises:
        CopublishError: If the agreement cannot run, columns are not as agreed, the ledger refuses, or the release
            could not be written.
    """
    plan = prepare(agreement)
    refuse_missing_engine(agreement, party)
    refuse_unwritable(out, overwrite=overwrite)
    check_columns(agreement, party, source)
    refuse_by_ledger(plan, party, ledger)
    return plan


def refuse_by_ledger(plan: Plan[Any], party: str, ledger: Ledger) -> None:
    """Raise if a party's ledger does not let a run begin. Nothing is charged by asking.

    Raises:
        LedgerError: If the ledger was edited, the budget does not suffice, the people were compared too often, the
            data set is locked for one of the other parties, or the ledger cannot be written.
    """
    refuse_by_what_ledger_says(plan, party, ledger)
    ledger.refuse_if_unwritable()


def refuse_by_what_ledger_says(plan: Plan[Any], party: str, ledger: Ledger) -> None:
    """Raise as `refuse_by_ledger`, but for a ledger that cannot be written: for who only looks.

    Raises:
        LedgerError: Naming the reason.
    """
    agreement = plan.agreement
    peers = {name: other.certificate for name, other in agreement.parties.items() if name != party}
    ledger.refuse_if_edited()
    ledger.refuse_if_locked(agreement.dataset, peers)
    ledger.refuse_if_over(agreement.dataset, plan.cost())
    if compares_identifiers(agreement, party):
        ledger.refuse_if_aligned_too_often(agreement.dataset)


@cache
def _package_versions() -> dict[str, str]:
    found = {package: importlib.metadata.version(package) for package in ("copublish", "numpy", "pyarrow")}
    return {**found, "spu": secure_engine_version()}


def software_versions(agreement: Agreement) -> dict[str, str]:
    """The versions that a release depends on, for the certificate and for parties to compare.

    Of the mechanisms of other distributions only the agreed one counts, whatever else a party has installed.
    """
    relevant = dict.fromkeys((*SHIPPED, mechanism_of(agreement)))
    return {**_package_versions(), "mechanism": ", ".join(f"{known.name} {known.version}" for known in relevant)}


def facts_of(agreement: Agreement) -> dict[str, str]:
    """What has to be the same at all parties: every part of the agreement, versions, and how they compute together."""
    agreed = {f"agreement: {part}": hash_ for part, hash_ in agreement.parts().items()}
    return {
        **agreed,
        **software_versions(agreement),
        "protocol": str(PROTOCOL),
        "certificate format": str(CERTIFICATE_FORMAT),
    }


def differences(here: Mapping[str, str], there: Mapping[str, str]) -> str | None:
    """What two parties differ in, in words; nothing if they do not."""
    different = []
    for key in sorted(here.keys() | there.keys()):
        ours, theirs = here.get(key, "missing"), there.get(key, "missing")
        if ours != theirs:
            is_hash = len(ours) == 64 or len(theirs) == 64
            name = plain_text(key, 80)
            different.append(name if is_hash else f"{name} ({ours} here, {plain_text(theirs, 40)} there)")
    if not different:
        return None
    more = f" and {len(different) - MAX_DIFFERENCES} more" if len(different) > MAX_DIFFERENCES else ""
    return f"{', '.join(different[:MAX_DIFFERENCES])}{more}"
