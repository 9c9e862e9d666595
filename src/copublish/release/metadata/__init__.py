"""What a release says of itself to programs: one file for every kind of reader, in the format that it knows.

Decision 40 says why these, and which of their fields are left out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from copublish.release.metadata.croissant import CROISSANT_FILE, croissant
from copublish.release.metadata.deployment import DEPLOYMENT_FILE, deployment_entry, yaml_text
from copublish.release.metadata.nist import NIST_FILE, nist_statement
from copublish.release.metadata.provenance import PROVENANCE_FILE, provenance
from copublish.release.pairs import named_in_short, pairs_of_release

if TYPE_CHECKING:
    from copublish.release.publication import Publication

METADATA_FILES = {
    CROISSANT_FILE: "tables, columns, types and digests, for programs that load data sets (Croissant 1.1)",
    PROVENANCE_FILE: "who contributed what to which file (W3C PROV, as PROV-JSON)",
    DEPLOYMENT_FILE: "an entry for the Differential Privacy Deployments Registry, to be completed by people",
    NIST_FILE: "what NIST SP 800-226 asks of a guarantee, level by level, and where it is argued",
}
"""What lies in a release folder for programs, with a few words about each."""


def metadata_files(publication: Publication, data: Mapping[str, bytes]) -> dict[str, bytes]:
    """The content of every file for programs.

    Args:
        publication: What was published.
        data: The content of every file that holds released values.

    Returns:
        The same bytes at every party: they follow from what is given, and from nothing else.

    Privacy:
        Post-processing of what is published anyway, and of what the agreement says: it costs nothing.
    """
    found = {
        CROISSANT_FILE: _json(croissant(publication, data)),
        PROVENANCE_FILE: _json(provenance(publication.certificate, data)),
        NIST_FILE: _json(nist_statement(publication.certificate)),
    }
    if publication.certificate.warning is None:  # the registry is for what is differentially private
        not_measured = named_in_short(pairs_of_release(publication))
        entry = deployment_entry(publication.certificate, publication.mechanism.words.kind, not_measured)
        found[DEPLOYMENT_FILE] = yaml_text(entry).encode()
    return found


def metadata_table(*, certificate_warns: bool) -> str:
    """The table of these files in the README of a release folder.

    Args:
        certificate_warns: Whether the release is not differentially private, so that one of them is not there.
    """
    listed = {
        name: words for name, words in METADATA_FILES.items() if not (certificate_warns and name == DEPLOYMENT_FILE)
    }
    return "\n".join(
        ["| file | content |", "| --- | --- |", *(f"| `{name}` | {words} |" for name, words in listed.items())]
    )


def _json(content: Mapping[str, Any]) -> bytes:
    return (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode()
