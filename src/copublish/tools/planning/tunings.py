"""The mechanisms whose settings a plan tries out, each with its tuning."""

from __future__ import annotations

from collections.abc import Mapping

from copublish.agreement.model import Agreement
from copublish.agreement.settings import MechanismSettings
from copublish.mechanisms.registry import mechanism_named
from copublish.mechanisms.specialization.settings import SpecializationSettings
from copublish.tools.planning.specialization_tuning import SpecializationTuning
from copublish.tools.planning.tuning import Tuning

TUNINGS: Mapping[type[MechanismSettings], Tuning] = {SpecializationSettings: SpecializationTuning()}
"""Tunings by the settings of their mechanism."""


def tuning_of(mechanism: Agreement | str) -> Tuning | None:
    """The tuning of a mechanism; nothing if it has no settings to try.

    Args:
        mechanism: An agreement on the mechanism, or its name.

    Raises:
        AgreementError: If there is no mechanism of this name.
    """
    name = mechanism if isinstance(mechanism, str) else mechanism.mechanism.name
    return TUNINGS.get(mechanism_named(name).settings)
