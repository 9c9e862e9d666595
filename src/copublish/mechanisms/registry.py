"""The one list of mechanisms. Nothing has a default: an unknown name is an error everywhere.

Another distribution brings a mechanism by an entry point of the group `copublish.mechanisms`, which names its class. It
is loaded before the list is first read, in every process of a party. A plug-in that cannot be loaded or registered
costs only its own mechanism; a warning and the message about an unknown name say why it is missing. `register` does the
same by hand.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from importlib.metadata import entry_points
from typing import Any

from copublish.agreement.model import Agreement
from copublish.agreement.settings import MechanismSettings, contradictions, names_of_mechanisms, register_settings
from copublish.errors import AgreementError, plain_text
from copublish.mechanisms.base import Mechanism, Plan
from copublish.mechanisms.copula import Copula
from copublish.mechanisms.hpdp import Hpdp
from copublish.mechanisms.idp_ir import IdpIr
from copublish.mechanisms.marginals import Marginals
from copublish.mechanisms.published import Model, Words
from copublish.mechanisms.shared.class_disagreement import counts_disagreement_first
from copublish.mechanisms.specialization import Specialization
from copublish.mechanisms.vhdp import Vhdp

AnyMechanism = Mechanism[Any, Any]

GROUP = "copublish.mechanisms"
"""Entry points of this group name a class of `Mechanism`."""

LONGEST_REASON = 1_000
"""Characters of what a plug-in raised that are shown."""

SHIPPED: tuple[AnyMechanism, ...] = (Marginals(), Specialization(), Copula(), Hpdp(), Vhdp(), IdpIr())
"""The mechanisms that come with copublish, the recommended one first."""

FIRST_CHOICE = SHIPPED[0].name
"""The mechanism of a draft, unless somebody asks for another one."""

_by_name: dict[str, AnyMechanism] = {}


def register(mechanism: AnyMechanism) -> None:
    """Let agreements name a mechanism, under all names of its settings.

    Args:
        mechanism: An object of its class. A second one of the same class changes nothing.

    Raises:
        ValueError: If it is incomplete, its traits contradict each other or another mechanism has one of its names,
            with what to do. Nothing is registered then.
    """
    problems = _incomplete(mechanism) or [*_contradictions(mechanism), *_taken_names(mechanism)]
    if problems:
        name = mechanism.__name__ if isinstance(mechanism, type) else type(mechanism).__name__
        raise ValueError(
            f"{name} cannot be registered: {'; '.join(problems)}. Change the class and register it again; until then "
            "no agreement can name it"
        )
    names = mechanism.settings.names()
    _by_name.update({name: mechanism for name in names if name not in _by_name})
    register_settings(mechanism.settings)


def _incomplete(mechanism: object) -> list[str]:
    """Messages about what is missing to be a mechanism at all."""
    if isinstance(mechanism, type):
        return [f"it is a class, and an object is registered: register({mechanism.__name__}())"]
    if not isinstance(mechanism, Mechanism):
        return ["it does not derive from copublish.mechanisms.base.Mechanism"]
    missing = [name for name in ("settings", "version", "words") if not hasattr(mechanism, name)]
    if missing:
        return [f"its class lacks {', '.join(f'{name!r}' for name in missing)}"]
    return list(_wrong_types(mechanism))


def _wrong_types(mechanism: AnyMechanism) -> Iterator[str]:
    """Yield messages about members that are something else than they have to be."""
    if not _is_subclass(mechanism.settings, MechanismSettings):
        yield "'settings' has to be a class that derives from MechanismSettings"
    if type(mechanism.version) is not int:
        yield "'version' has to be a whole number"
    if not _is_subclass(mechanism.model, Model):
        yield "'model' has to be a class that derives from copublish.mechanisms.published.Model"
    if not isinstance(mechanism.words, Words):
        yield "'words' has to be an object of copublish.mechanisms.published.Words"
    elif empty := [name for name, text in mechanism.words.to_json().items() if not text.strip()]:
        yield f"'words' has to say something in {', '.join(f'{name!r}' for name in empty)}"


def _is_subclass(member: object, of: type) -> bool:
    return isinstance(member, type) and issubclass(member, of)


def _contradictions(mechanism: AnyMechanism) -> list[str]:
    """Messages about traits that do not go together."""
    settings = mechanism.settings
    problems = list(contradictions(settings))
    if not problems and mechanism.promises != (settings.no_promise is MechanismSettings.no_promise):
        problems.append("'promises' has to say whether its settings have a promise ('no_promise')")
    return problems


def _taken_names(mechanism: AnyMechanism) -> list[str]:
    """Messages about names that agreements use for another mechanism."""
    others = {name: type(_by_name[name]) for name in mechanism.settings.names() if name in _by_name}
    return [
        f"there is a mechanism '{name}' already ({other.__module__}.{other.__qualname__}): take another name in the "
        "field 'name' of its settings, or uninstall the package of one of the two"
        for name, other in others.items()
        if other is not type(mechanism)
    ]


class _PlugIns:
    """Mechanisms of other distributions, loaded once."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # a plug-in may read the list while it is loaded
        self._are_loaded = False
        self.problems: list[str] = []

    def load(self) -> None:
        """Register the mechanism of every installed plug-in; keep a sentence about each that cannot be."""
        with self._lock:
            if self._are_loaded:
                return
            self._are_loaded = True
            for entry_point in sorted(entry_points(group=GROUP)):
                try:
                    register(entry_point.load()())
                except Exception as exc:  # somebody else's code: whatever it raises, other mechanisms have to work
                    problem = (
                        f"The plug-in '{entry_point.name}' ({entry_point.value}) could not be loaded, so its mechanism "
                        f"is missing. {type(exc).__name__}: {plain_text(exc, LONGEST_REASON)}"
                    )
                    self.problems.append(problem)
                    logging.getLogger(__name__).warning("%s", problem)


_plug_ins = _PlugIns()


def load_plug_ins() -> list[str]:
    """Load the mechanisms of other distributions, if that was not done before.

    Returns:
        A sentence about each plug-in that could not be loaded or registered.
    """
    _plug_ins.load()
    return list(_plug_ins.problems)


def mechanisms() -> tuple[AnyMechanism, ...]:
    """Every mechanism, once."""
    load_plug_ins()
    return tuple(dict.fromkeys(_by_name.values()))


NOT_PRIVATE = " (not differential privacy)"


def mechanism_names() -> list[str]:
    """The names that an agreement can write for its mechanism, the recommended one first."""
    return [known.name for known in mechanisms()]


def mechanism_labels() -> dict[str, str]:
    """The same names, each as a list to choose from shows it: with a warning where there is no differential privacy."""
    return {known.name: known.name + ("" if known.promises else NOT_PRIVATE) for known in mechanisms()}


def mechanism_named(name: str) -> AnyMechanism:
    """The mechanism that an agreement or a release names.

    Raises:
        AgreementError: If there is none, with the known names.
    """
    load_plug_ins()
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


for _mechanism in SHIPPED:
    register(_mechanism)
