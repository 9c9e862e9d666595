"""The same agreement with another mechanism or another budget, so that they can be tried on the same data."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from copublish.agreement.budget import SPENDERS_PER_COLUMN
from copublish.agreement.loading import agreement_from_mapping
from copublish.agreement.mechanism import KEYS_OF_MECHANISM, MAKERS_OF_NUMBERS
from copublish.agreement.model import Agreement
from copublish.errors import EvaluationError

PLANNED = ("specialization", "copula", "hpdp", "vhdp")
"""Mechanisms that can be tried: the differentially private ones."""


def splits_values(agreement: Agreement) -> bool:
    """Return whether the agreed mechanism is the one that chooses what to split: it has settings to recommend."""
    return "specializations" in KEYS_OF_MECHANISM[agreement.mechanism.name]


def mechanism_of(agreement: Agreement) -> str:
    """Return the agreed mechanism under its one name: specialization has older names, too."""
    return "specialization" if splits_values(agreement) else agreement.mechanism.name


def refuse_unplannable(agreement: Agreement) -> None:
    """Raise unless there is a trade-off over epsilon to plan.

    Raises:
        EvaluationError: If the agreed mechanism is not differentially private.
    """
    if not agreement.mechanism.is_differentially_private:
        raise EvaluationError(
            f"The mechanism '{agreement.mechanism.name}' is not differentially private: no epsilon protects anybody in "
            "it, so there is no trade-off over epsilon to plan. Mechanisms that can be planned: "
            f"{', '.join(PLANNED)}."
        )


def with_mechanism(agreement: Agreement, name: str) -> Agreement:
    """Return the agreement with another mechanism in its usual settings; people, columns and epsilon stay.

    Raises:
        AgreementError: If the agreement does not permit it, with every rule that it would break.
    """
    if name == mechanism_of(agreement):
        return agreement
    content = _content(agreement)
    content["mechanism"] = {"name": name}
    content["privacy"]["delta"] = None  # only Gaussian noise, which is not usual, has one
    if name not in SPENDERS_PER_COLUMN:
        del content["budget"]
    if name not in MAKERS_OF_NUMBERS:
        for attribute in content["attributes"].values():
            attribute.pop("decimals", None)
    return agreement_from_mapping(content, source=f"The agreement with the mechanism '{name}'")


def with_epsilon(agreement: Agreement, epsilon: str) -> Agreement:
    """Return the agreement with another budget.

    Raises:
        AgreementError: If its mechanism cannot do with it.
    """
    content = _content(agreement)
    content["privacy"]["epsilon"] = Decimal(epsilon)
    what = f"The agreement with the mechanism '{agreement.mechanism.name}' and epsilon {epsilon}"
    return agreement_from_mapping(content, source=what)


def _content(agreement: Agreement) -> dict[str, Any]:
    """Return the agreement as mappings. Keys of the mechanism that were not said stay unsaid: others refuse them."""
    content = agreement.model_dump(by_alias=True)
    return {**content, "mechanism": agreement.mechanism.model_dump(exclude_unset=True)}
