"""Checking from JSON that everything that was opened was published, under the laws that the certificate states.

It needs no mechanism. Whether values are those that were opened is what the signatures of all parties say.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from copublish.errors import plain_text
from copublish.kernel.accounting.statements import DisclosureStatement
from copublish.kernel.certificate.certificate import Certificate

MEASUREMENTS_FILE = "measurements.json"

FOLDER, ENDING = "measured", "parquet"
"""Where the files of tables are, and the one that every release has."""


def incomplete(certificate: Certificate, files: Mapping[str, bytes]) -> Iterator[str]:
    """Yield a sentence for everything that was opened and not published, or that is said to have another law.

    Args:
        certificate: Everything that was opened, with its laws.
        files: The files that it names.
    """
    if MEASUREMENTS_FILE not in files:
        yield f"there is no '{MEASUREMENTS_FILE}'"
        return
    try:
        described = json.loads(files[MEASUREMENTS_FILE])
        measured, rows = list(described["measured"]), dict(described.get("noise_of_rows", {}))
        published = [(_key(own["place"]), own["noise"], _entries(own, files)) for own in measured]
        tables = [str(own["table"]) for own in measured if "values" not in own]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as exc:
        yield f"'{MEASUREMENTS_FILE}' cannot be read ({type(exc).__name__}: {plain_text(exc, 80)})"
        return
    stated = {_key(disclosure.place.to_json()): disclosure for disclosure in certificate.disclosures}
    for place, noise, _ in published:
        if place not in stated:
            yield f"a measurement is of a disclosure that the certificate does not have ({plain_text(place, 120)})"
        elif noise != stated[place].noise.to_json():
            yield f"the law of {_named(stated[place])} is not the one that the certificate states"
    for place, disclosure in stated.items():
        expected = _published_values(certificate, disclosure)
        found = sum(entries for other, _, entries in published if other == place)
        if found != expected:
            yield f"of {_named(disclosure)} {expected:,} values were opened and {found:,} are published"
    if len(set(tables)) < len(tables):
        yield "a table is named by two measurements"
    perturbed = {made.place.column: made for made in certificate.disclosures if made.kind == "perturb"}
    for column, disclosure in perturbed.items():
        if rows.get(column) != disclosure.noise.to_json():
            yield f"the law of {_named(disclosure)} is not the one that the certificate states"
    for column in sorted(rows.keys() - perturbed.keys()):
        yield f"a law of noise is of '{plain_text(column, 120)}', of which the certificate states none"


def _published_values(certificate: Certificate, disclosure: DisclosureStatement) -> int:
    """How many values of a disclosure have to be among the measurements."""
    if disclosure.kind != "measure" or disclosure.values_opened is None:
        return 0  # a choice is part of what it chose, and rows are the records
    if certificate.class_disagreement is not None and disclosure.place.step == "class disagreement":
        return 0  # the certificate itself has it
    return disclosure.values_opened - (disclosure.values_of_padding or 0)


def _key(place: Mapping[str, Any]) -> str:
    return json.dumps(place, sort_keys=True)


def _entries(measured: Mapping[str, Any], files: Mapping[str, bytes]) -> int:
    """How many values a measurement publishes: none if its table is missing.

    Lines are counted, as `csv_file` writes them: a heading first, one for each row, and no break inside a text.
    """
    if "values" in measured:
        return len(measured["values"])
    name = f"{FOLDER}/{measured['table']}"
    rows = files.get(f"{name}.csv", b"").count(b"\n") - 1
    return rows if rows == measured["entries"] and f"{name}.{ENDING}" in files else 0


def _named(disclosure: DisclosureStatement) -> str:
    return f"'{plain_text(disclosure.what, 120)}'"
