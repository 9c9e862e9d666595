"""The one list of mechanisms. Nothing has a default: an unknown name is an error everywhere.

A mechanism of another package is let in by `register`, before an agreement that names it is read.
"""

from __future__ import annotations

from typing import Any

from copublish.agreement.model import Agreement
from copublish.agreement.settings import MechanismSettings, contradictions, names_of_mechanisms, register_settings
from copublish.errors import AgreementError
from copublish.mechanisms.base import FILES_OF_EVERY_RELEASE, Mechanism, Plan
from copublish.mechanisms.copula import Copula
from copublish.mechanisms.hpdp import Hpdp
from copublish.mechanisms.idp_ir import IdpIr
from copublish.mechanisms.marginals import Marginals
from copublish.mechanisms.shared.class_disagreement import counts_disagreement_first
from copublish.mechanisms.specialization import Specialization
from copublish.mechanisms.vhdp import Vhdp

AnyMechanism = Mechanism[Any, Any, Any]

FIRST_CHOICE = "specialization"
"""What the agreement that `copublish init` writes asks for."""

_by_name: dict[str, AnyMechanism] = {}


def register(mechanism: AnyMechanism) -> None:
    """Let agreements name a mechanism, under all names of its settings.

    Raises:
        ValueError: If its traits contradict each other, another one has the name, or it would change the hash of other
            agreements.
    """
    settings = mechanism.settings
    problems = list(contradictions(settings))
    if not problems and mechanism.promises != (settings.no_promise is MechanismSettings.no_promise):
        problems.append("'promises' has to say whether its settings have a promise ('no_promise')")
    if mechanism.details_file in FILES_OF_EVERY_RELEASE:
        problems.append(f"'details_file' is '{mechanism.details_file}', which every release has for something else")
    if problems:
        raise ValueError(f"{type(mechanism).__name__} cannot be registered: {'; '.join(problems)}")
    names = settings.names()
    for name in names:
        if name in _by_name and type(_by_name[name]) is not type(mechanism):
            raise ValueError(f"there is a mechanism '{name}' already")
    _by_name.update({name: mechanism for name in names if name not in _by_name})
    register_settings(mechanism.settings)


def mechanisms() -> tuple[AnyMechanism, ...]:
    """Every mechanism, once."""
    return tuple(dict.fromkeys(_by_name.values()))


def mechanism_names() -> list[str]:
    """What an agreement can write as the name of its mechanism."""
    return [known.name for known in mechanisms()]


def mechanism_named(name: str) -> AnyMechanism:
    """The mechanism that an agreement or a release names.

    Raises:
        AgreementError: If there is none, with the known names.
    """
    if name not in _by_name:
        raise AgreementError("The agreement", [f"mechanism.name: {name!r} is not one of {names_of_mechanisms()}"])
    return _by_name[name]


def mechanism_of(agreement: Agreement) -> AnyMechanism:
    """The agreed mechanism.

    Raises:
        AgreementError: If it is unknown.
    """
    return mechanism_named(agreement.mechanism.name)


def plan_of(agreement: Agreement) -> Plan[Any]:
    """The plan of the agreed mechanism: what is described, reserved and run.

    Raises:
        AgreementError: If the mechanism is unknown, or has no plan for this agreement.
    """
    plan: Plan[Any] = mechanism_of(agreement).plan(agreement)
    if plan.agreement is not agreement:
        raise ValueError("a plan is about the agreement that it was made of")
    return counts_disagreement_first(plan)


for _mechanism in (Specialization(), Marginals(), Copula(), Hpdp(), Vhdp(), IdpIr()):
    register(_mechanism)
