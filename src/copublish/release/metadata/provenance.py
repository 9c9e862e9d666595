"""W3C PROV: who contributed what to which file of a release, written as PROV-JSON.

Entities are the parties' data, which nobody publishes, the agreement and the released files; the activity is the run;
agents are the parties and the software.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from copublish.kernel.certificate.certificate import Certificate

PROVENANCE_FILE = "prov.json"

ROWS = {
    "horizontal": "records of its own people",
    "vertical": "its columns of all people",
    "arbitrary": "cells of any people",
}
"""Which part of the table a party that holds data brought, by how the table is divided."""

DATASET, RUN, AGREEMENT, SOFTWARE = "release:dataset", "release:run", "release:agreement", "release:software"


def provenance(certificate: Certificate, data: Mapping[str, bytes]) -> dict[str, Any]:
    """The provenance of a release.

    Args:
        certificate: What is guaranteed, with who contributed what.
        data: The content of every file that holds released values.

    Privacy:
        What the agreement and the certificate say. No time of day, no number of anybody's records, no digest of data
        that are not published: a digest of a small table tells the table.
    """
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in data.items()}
    owners = _owners(certificate)
    files = [f"release:file-{name}" for name in data]
    return {
        "prefix": {
            "release": f"urn:uuid:{_name_of_release(certificate, digests)}#",
            "copublish": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, 'copublish')}#",
        },
        "entity": {
            DATASET: {
                "prov:type": _name("prov:Collection"),
                "prov:label": certificate.release,
                **({"copublish:warning": certificate.warning} if certificate.warning else {}),
            },
            **{
                entity: {"prov:label": name, "copublish:sha256": digest}
                for entity, (name, digest) in zip(files, digests.items(), strict=True)
            },
            **{_data_of(party): said for party, said in owners.items()},
            AGREEMENT: {"prov:type": _name("prov:Plan"), "copublish:sha256": certificate.agreement_hash},
        },
        "activity": {
            RUN: {
                "prov:label": f"a run of {certificate.mechanism} on the engine {certificate.engine.name}",
                "copublish:published": {"$": certificate.deployment.basic.publication_date, "type": "xsd:date"},
            }
        },
        "agent": {
            **{
                _agent(party): {"prov:type": _name("prov:Organization"), "prov:label": party}
                for party in certificate.parties
            },
            SOFTWARE: {
                "prov:type": _name("prov:SoftwareAgent"),
                "prov:label": ", ".join(f"{name} {version}" for name, version in certificate.software.items()),
            },
        },
        "used": _numbered(
            "used", [{"prov:activity": RUN, "prov:entity": e} for e in (*map(_data_of, owners), AGREEMENT)]
        ),
        "wasAssociatedWith": _numbered(
            "associated",
            [
                {"prov:activity": RUN, "prov:agent": _agent(party), "prov:plan": AGREEMENT, "prov:role": role}
                for party, role in _roles(certificate, owners).items()
            ]
            + [{"prov:activity": RUN, "prov:agent": SOFTWARE}],
        ),
        "wasGeneratedBy": _numbered("generated", [{"prov:entity": e, "prov:activity": RUN} for e in (DATASET, *files)]),
        "wasDerivedFrom": _numbered(
            "derived",
            [
                {"prov:generatedEntity": DATASET, "prov:usedEntity": _data_of(party), "prov:activity": RUN}
                for party in owners
            ],
        ),
        "wasAttributedTo": _numbered(
            "attributed",
            [{"prov:entity": _data_of(party), "prov:agent": _agent(party)} for party in owners]
            + [{"prov:entity": DATASET, "prov:agent": _agent(party)} for party in certificate.parties],
        ),
        "hadMember": _numbered("member", [{"prov:collection": DATASET, "prov:entity": file} for file in files]),
    }


def _owners(certificate: Certificate) -> dict[str, dict[str, Any]]:
    """The entities for the data of each party that has some."""
    derived = certificate.contributions.derived or {}

    def of_events(columns: Sequence[str]) -> dict[str, Any]:
        said = [f"'{column}' is {derived[column]}" for column in columns if column in derived]
        return {"copublish:derived": said} if said else {}

    return {
        party: {
            "prov:label": f"data of {party}, not published",
            "copublish:rows": ROWS[certificate.contributions.partition],
            "copublish:column": list(columns),
            **of_events(columns),
        }
        for party in certificate.parties
        if (columns := certificate.contributions.columns.get(party))
    }


def _roles(certificate: Certificate, owners: Mapping[str, object]) -> dict[str, str]:
    return {party: "owner of data" if party in owners else "helps to compute" for party in certificate.parties}


def _name_of_release(certificate: Certificate, digests: Mapping[str, str]) -> uuid.UUID:
    """A name that no other release has, and that every party finds by itself: it follows from what is published."""
    return uuid.uuid5(uuid.NAMESPACE_OID, json.dumps([certificate.agreement_hash, certificate.release, digests]))


def _numbered(relation: str, statements: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Statements of one kind; PROV-JSON wants a name for each."""
    return {f"_:{relation}-{number}": statement for number, statement in enumerate(statements, start=1)}


def _agent(party: str) -> str:
    return f"release:party-{party}"


def _data_of(party: str) -> str:
    return f"release:data-of-{party}"


def _name(qualified: str) -> dict[str, str]:
    return {"$": qualified, "type": "prov:QUALIFIED_NAME"}
