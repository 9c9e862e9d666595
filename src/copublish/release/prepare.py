"""The plan of an agreement, and the facts that have to be the same at all parties that run it."""

from __future__ import annotations

import importlib.metadata
from functools import cache
from typing import Any

from copublish.agreement.model import Agreement
from copublish.agreement.protocol.table import PROTOCOL
from copublish.engines.choice import refuse_unfit_engine, secure_engine_version
from copublish.kernel.certificate.certificate import CERTIFICATE_FORMAT
from copublish.mechanisms.base import Plan
from copublish.mechanisms.registry import SHIPPED, mechanism_of, plan_of
from copublish.mechanisms.shared.portable_floats import fingerprint


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
        "floating point": fingerprint(),
        "protocol": str(PROTOCOL),
        "certificate format": str(CERTIFICATE_FORMAT),
    }
