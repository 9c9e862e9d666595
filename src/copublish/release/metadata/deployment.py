"""An entry for the Differential Privacy Deployments Registry, in the fields of its schema of 2026, written as YAML.

It is a draft: what the registry asks for and no agreement says, people have to add before they hand it in.

The writer of YAML is our own (JSON's texts, numbers and lists are a part of it), because a library of a few thousand
lines would be needed for these few, and its bytes may differ from version to version while all parties have to write
the same ones.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from copublish.kernel.certificate.certificate import Certificate
from copublish.mechanisms.base import in_words
from copublish.release.render.privacy_words import epsilon_rows

PLAIN = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)+")
"""Texts that YAML reads as texts without quotes; words without a hyphen could be numbers, truth values or nothing."""

NOT_IN_YAML = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
"""Characters that JSON writes as they are, and YAML refuses or takes for ends of lines."""


def yaml_text(document: Mapping[str, Any]) -> str:
    """A nested mapping of texts, numbers and lists of texts as YAML."""
    return "\n".join(_lines(document, "")) + "\n"


def _lines(mapping: Mapping[str, Any], indent: str) -> Iterator[str]:
    for key, value in mapping.items():
        if isinstance(value, Mapping):
            yield f"{indent}{key}:"
            yield from _lines(value, indent + "  ")
        elif isinstance(value, list | tuple):
            yield f"{indent}{key}:"
            yield from (f"{indent}  - {_scalar(item)}" for item in value)
        else:
            yield f"{indent}{key}: {_scalar(value)}"


def _scalar(value: str | float) -> str:
    if isinstance(value, str) and PLAIN.fullmatch(value):
        return value
    if isinstance(value, float) and "e" in repr(value) and "." not in repr(value):
        return repr(value).replace("e", ".0e")  # YAML 1.1 takes 1e-07 for a text
    return NOT_IN_YAML.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False))


DEPLOYMENT_FILE = "deployment.yaml"

TO_BE_ADDED = "Not stated in the agreement; to be added by the curators."
"""In the place of what only people know."""


def deployment_entry(certificate: Certificate, kind: str, not_measured: str = "") -> dict[str, Any]:
    """The entry of a release.

    Args:
        certificate: What is guaranteed.
        kind: The kind of published records, as their mechanism says: "counted", "synthetic" or "perturbed".
        not_measured: A sentence about pairs of columns that were not measured, if there are some.

    Privacy:
        Words and numbers of the certificate.
    """
    said = certificate.deployment
    return {
        "url_slug": slug(said.basic.name, certificate.parties, said.basic.publication_date),
        "status": "Draft",
        "tier": 3,
        "deployment": {
            "basic": {
                "name": said.basic.name,
                "data_curators": list(certificate.parties),
                "intended_use": TO_BE_ADDED,
                "data_product_type": "Synthetic data" if kind == "synthetic" else "Dataset",
                "data_product_region": TO_BE_ADDED,
                "description": _sentences(said.basic.description, f"{said.basic.data_product_type}.", not_measured),
                "publication_date": said.basic.publication_date,
            },
            "dp_variant": {
                "variant_name": said.dp_variant.variant_name,
                "data_domain": said.dp_variant.data_domain,
                "unprotected_quantities": " ".join(certificate.not_protected),
            },
            "privacy_loss": {
                "privacy_unit": said.privacy_loss.privacy_unit,
                "privacy_unit_details": said.privacy_loss.privacy_unit_details,
                "privacy_parameters": _parameters(certificate),
                "privacy_parameters_details": _parameters_details(certificate),
            },
            "deployment_model": {
                # The registry knows no model in which several curators compute on secrets; the details say it.
                "model_name": "Central" if certificate.engine.is_simulated else "Federated",
                "model_name_details": _sentences(
                    f"{said.deployment_model.model_name}. Secrecy:", certificate.engine.secrecy
                ),
                "actors": _actors(certificate),
                "release_type": said.deployment_model.release_type,
                **_accounts(certificate),
                "data_source_type": "Static",
                "access_type": said.deployment_model.access_type,
                "access_type_details": "The release is a folder of files; nobody can query the underlying data.",
            },
            "accounting": {
                "post_processing": said.implementation.post_processing,
                "composition": said.implementation.composition,
            },
            "implementation": {
                "preprocessing_and_hyperparameter_tuning": " ".join(certificate.assumptions),
                "mechanisms": _sentences(said.implementation.mechanisms, _software(certificate)),
                "justification": TO_BE_ADDED,
            },
            "administrative": {
                "notes": "Written by copublish from the release's certificate. Agreement "
                f"{certificate.agreement_hash}.",
                "registry_authors": list(certificate.parties),
            },
        },
    }


def slug(name: str, curators: tuple[str, ...], publication_date: str) -> str:
    """The end of the entry's address, by the rule of the registry: name, curators and year, joined by hyphens."""
    parts = (name, "-".join(curators), publication_date.split("-")[0])
    return "_".join(re.sub(r"\W+", "_", part.lower()) for part in parts).replace("_", "-")


def _parameters(certificate: Certificate) -> dict[str, Any]:
    said = certificate.deployment.privacy_loss.privacy_parameters
    return {**({} if said.epsilon is None else {"epsilon": said.epsilon}), "delta": said.delta}


def _parameters_details(certificate: Certificate) -> str:
    variant = certificate.deployment.dp_variant.variant_details
    rows = (
        f"Epsilon for {who}: {added} (one person is added or removed), {replaced} (one person's values are replaced)."
        for who, added, replaced in epsilon_rows(certificate.epsilon)
    )
    delta = f"Delta, {certificate.delta_is}, is at most {certificate.delta_bound}."
    membership = certificate.epsilon.membership
    for_owner = "" if membership is None else f"For another owner delta is at most {membership.delta_bound}."
    return _sentences(variant, *rows, delta, for_owner)


def _actors(certificate: Certificate) -> str:
    parties = (f"{party} saw: {'; '.join(seen)}." for party, seen in certificate.views.items())
    return _sentences(f"{in_words(certificate.parties)}, who do not trust each other with records.", *parties)


def _accounts(certificate: Certificate) -> dict[str, str]:
    """What becomes of further releases; a simulation says nothing about that, because it has no ledgers."""
    if certificate.engine.is_simulated:
        return {}
    return {
        "release_type_details": "Every party charged its own ledger before anything was opened; further releases about "
        "the same people are charged to the same accounts."
    }


def _software(certificate: Certificate) -> str:
    return f"Software: {', '.join(f'{name} {version}' for name, version in certificate.software.items())}."


def _sentences(*said: str) -> str:
    return " ".join(sentence for sentence in said if sentence)
