"""The same agreement with another mechanism, so that they can be tried on the same data."""

from __future__ import annotations

from copublish.agreement.loading import agreement_from_mapping
from copublish.agreement.model import Agreement
from copublish.errors import EvaluationError
from copublish.mechanisms.registry import AnyMechanism, mechanism_named, mechanism_of, mechanisms


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


def with_mechanism(agreement: Agreement, name: str) -> Agreement:
    """The agreement with another mechanism in its usual settings; people, columns and epsilon stay.

    Raises:
        AgreementError: If the agreement does not permit it, with every rule that it would break.
    """
    wanted: AnyMechanism = mechanism_named(name)
    if wanted is mechanism_of(agreement):
        return agreement
    content = agreement.model_dump(by_alias=True)
    content["mechanism"] = {"name": name}
    content["privacy"]["delta"] = None  # only Gaussian noise, which is not usual, has one
    if not wanted.settings.spends_by_column:
        del content["budget"]
    if not wanted.settings.publishes_numbers:
        for attribute in content["attributes"].values():
            attribute.pop("decimals", None)
    return agreement_from_mapping(content, source=f"The agreement with the mechanism '{name}'")
