"""What is said about a release that is not differentially private, before anything else is said about it.

Only `idp-ir` makes such releases, and only if the agreement acknowledges it in words.
"""

from __future__ import annotations

from typing import Any

from copublish.agreement.model import Agreement

UNBOUNDED = "unbounded"

WARNING = (
    "THIS IS NOT DIFFERENTIAL PRIVACY. idp-ir does not protect cluster membership: records of one cluster are "
    "published with one and the same value, so the release shows without any noise, whatever its epsilon, which people "
    "stand next to each other in every column. Nobody in it has a privacy guarantee."
)
"""The first thing that everything says which such a release writes or prints."""

USE_OF_THE_ENGINE = (
    "Every owner told all parties its perturbed columns, record by record; the engine kept nothing of them secret and "
    "only helped to align records. What is said of it:"
)


def warning_of(agreement: Agreement) -> str | None:
    """Return what has to be said first about a release of this agreement; nothing if it is differentially private."""
    return None if agreement.mechanism.is_differentially_private else WARNING


def with_warning(agreement: Agreement, said: dict[str, Any]) -> dict[str, Any]:
    """Return what a certificate or a description says, without promises that the mechanism does not keep.

    Args:
        agreement: What the release is, or would be, made by.
        said: What would be true of a mechanism that is differentially private.
    """
    warning = warning_of(agreement)
    if warning is None:
        return said
    both = {"add-remove": UNBOUNDED, "replace": UNBOUNDED}
    not_protected = [*_not_protected(agreement), *said["not_protected"]]
    changed: dict[str, Any] = {
        "epsilon": {**said["epsilon"], "agreed": UNBOUNDED, "public": both, "insiders": dict(both)},
        "delta_bound": "1",
        "delta_is": "no bound: nothing is guaranteed",
        "protected": _protected(agreement),
        "not_protected": not_protected,
    }
    if "engine" in said:
        changed["engine"] = {**said["engine"], "secrecy": f"{USE_OF_THE_ENGINE} {said['engine']['secrecy']}"}
    if "deployment" in said:
        changed["deployment"] = {**said["deployment"], **_deployment(said["deployment"], not_protected)}
    return {"warning": warning, **said, **changed}


def _protected(agreement: Agreement) -> list[str]:
    noise = "The one value that all records of a cluster share has noise"
    by_schema = agreement.mechanism.order_of_categories == "schema"  # a ranking that is data moves with one record
    if agreement.mechanism.sensitivity in ("exact", "vector", "global") and by_schema:
        noise += ", as much as individual differential privacy asks for the sorted cluster means of one column alone"
    return [f"Nothing that can be relied on. {noise}; who is in the cluster is published as it is."]


def _not_protected(agreement: Agreement) -> list[str]:
    found = [
        "Which records are in one cluster: they have one published value, whatever epsilon is. So the rank of every "
        "person among all others, up to the size of a cluster, in every column.",
        "The value of a person from somebody who knows the others: which of two distant values it is can be told "
        "for certain.",
    ]
    if agreement.mechanism.sensitivity != "global":
        found.append("How much noise there is: it depends on the data, and can be none.")
    if agreement.mechanism.order_of_categories == "frequency":
        found.append("Which categories are more frequent than which: their order decides what is published.")
    if agreement.partition == "horizontal":
        found.append("From the other parties: which party a record comes from.")
    else:
        found.append("From the other parties: about where every person whom they know by name stands in every column.")
    return found


def _deployment(said: dict[str, Any], not_protected: list[str]) -> dict[str, Any]:
    """Return what the registry's fields say."""
    return {
        "dp_variant": {
            **said["dp_variant"],
            "variant_name": "None: not differentially private",
            "variant_details": WARNING,
            "unprotected_quantities": "; ".join(not_protected),
        },
        "privacy_loss": {**said["privacy_loss"], "privacy_parameters": {"epsilon": None, "delta": "1"}},
        "implementation": {**said["implementation"], "composition": "None: no finite epsilon holds."},
    }
