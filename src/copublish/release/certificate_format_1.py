"""Certificates of format 1, which said by position and wording what later ones say in fields of their own."""

from __future__ import annotations

from typing import Any

from copublish.mechanisms.registry import AnyMechanism
from copublish.privacy.certificate import CERTIFICATE_FORMAT
from copublish.privacy.certify import SAMPLERS_DELTA
from copublish.privacy.statements import UNPROTECTED, Law

LAWS = {str(law): law for law in Law}


def upgraded(said: dict[str, Any], mechanism: AnyMechanism) -> dict[str, Any]:
    """A certificate of format 1 as one of this format.

    Raises:
        ValueError, KeyError, TypeError: If it is none.
    """
    delta_is = said.get("delta_is", SAMPLERS_DELTA)
    places = mechanism.places_of_format_1(said["disclosures"])
    number = said["public_facts"]["number_of_records"]
    return {
        **said,
        "certificate_format": CERTIFICATE_FORMAT,
        "mechanism": mechanism.name,
        "delta_is": delta_is,
        "samplers_delta": delta_is == SAMPLERS_DELTA,
        "epsilon": _epsilon(said["epsilon"]),
        "disclosures": [
            {**disclosure, "place": place.to_json(), "noise": _noise(disclosure["noise"])}
            for disclosure, place in zip(said["disclosures"], places, strict=True)
        ],
        "public_facts": {"number_of_records": number if isinstance(number, int) else None},
    }


def _epsilon(said: dict[str, Any]) -> dict[str, Any]:
    """What insiders were told had the reason in the same words."""
    plain, _, why = said["insiders"]["add-remove"].partition(": ")
    knows = bool(why) and plain == UNPROTECTED
    return {**said, "insiders": {**said["insiders"], "add-remove": plain}, "insiders_know_members": knows}


def _noise(said: dict[str, Any]) -> dict[str, Any]:
    """Noise without a guarantee was described in the place of its law."""
    if said["law"] in LAWS:
        return said
    return {**said, "law": str(Law.NO_GUARANTEE), "note": said["law"].removesuffix(f"; {Law.NO_GUARANTEE}")}
