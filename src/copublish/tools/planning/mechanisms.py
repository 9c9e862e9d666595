"""The same agreement with another mechanism, so that they can be tried on the same data."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from typing import Any

from copublish.agreement.loading import agreement_from_mapping
from copublish.agreement.model import Agreement
from copublish.errors import AgreementError, EvaluationError
from copublish.mechanisms.registry import AnyMechanism, mechanism_named, mechanism_of, mechanisms

ALL = "all"
"""In place of names of mechanisms: every one that the agreement permits."""


def planned_names() -> list[str]:
    """The mechanisms that can be tried: the differentially private ones."""
    return [known.name for known in mechanisms() if known.promises]


def refuse_unplannable(agreement: Agreement) -> None:
    """Raise unless there is a trade-off over epsilon to plan.

    Raises:
        EvaluationError: If the agreed mechanism is not differentially private.
    """
    if agreement.mechanism.no_promise(agreement) is not None:
        raise EvaluationError(
            f"The mechanism '{agreement.mechanism.name}' is not differentially private: no epsilon protects anybody in "
            "it, so there is no trade-off over epsilon to plan. Mechanisms that can be planned: "
            f"{', '.join(planned_names())}."
        )


def variants_of(agreement: Agreement, names: Sequence[str]) -> tuple[dict[str, Agreement], dict[str, list[str]]]:
    """The agreement with its own mechanism, which is first, and with each of the named ones.

    Returns:
        Agreements by mechanism; and, if all mechanisms are asked for, the rules that the agreement would break, by
        each mechanism that it does not permit.

    Raises:
        AgreementError: If the agreement does not permit a mechanism that was asked for by its name.
    """
    own = mechanism_of(agreement).name
    found, refused = {own: agreement}, {}
    for name in planned_names() if ALL in names else names:
        try:
            found.setdefault(name, with_mechanism(agreement, name))
        except AgreementError as exc:
            if name in names:
                raise
            refused[name] = list(exc.problems)
    return found, refused


def with_mechanism(agreement: Agreement, name: str) -> Agreement:
    """The agreement with another mechanism in the settings that `copublish init` writes; people, columns, epsilon stay.

    A delta stays where the other mechanism can use it, so that the same budget is spent.

    Raises:
        AgreementError: If the agreement does not permit it, with every rule that it would break.
    """
    wanted: AnyMechanism = mechanism_named(name)
    if wanted is mechanism_of(agreement):
        return agreement
    content = agreement.model_dump(by_alias=True)
    usual = tomllib.loads(wanted.example).get("mechanism", {})
    content["mechanism"] = {**usual, "name": name, **_gaussian_noise(wanted, agreement)}
    if not wanted.settings.noise_follows_delta and "noise" not in content["mechanism"]:
        content["privacy"]["delta"] = None
    if not wanted.settings.spends_by_column:
        del content["budget"]
    if not wanted.settings.publishes_numbers:
        for attribute in content["attributes"].values():
            attribute.pop("decimals", None)
    return agreement_from_mapping(content, source=f"The agreement with the mechanism '{name}'")


def _gaussian_noise(wanted: AnyMechanism, agreement: Agreement) -> dict[str, Any]:
    """The key that asks for Gaussian noise, where a delta is agreed and the mechanism has such a key."""
    asks = "noise" in wanted.settings.model_fields and wanted.settings.how_to_get_gaussian_noise is not None
    return {"noise": "gaussian"} if asks and agreement.privacy.delta is not None else {}
