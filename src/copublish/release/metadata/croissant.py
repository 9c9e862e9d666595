"""Croissant 1.1: the tables of a release for programs that load data sets for machine learning.

The format is that of http://mlcommons.org/croissant/1.1. Files are named relative to the folder, which may lie
anywhere.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

from copublish.kernel.certificate.certificate import Certificate
from copublish.mechanisms.base import in_words
from copublish.release.evidence.completeness import FOLDER
from copublish.release.measurements import RECORDS_FILE
from copublish.release.pairs import ColumnPair, not_measured_with, pairs_not_measured, pairs_of_release
from copublish.release.render.privacy_words import another_owner_words

if TYPE_CHECKING:
    from copublish.release.publication import Publication

CROISSANT_FILE = "croissant.json"

CONFORMS_TO = "http://mlcommons.org/croissant/1.1"

ENCODINGS = {"parquet": "application/x-parquet", "csv": "text/csv", "json": "application/json"}
"""Media types of a release's files, by the ending of their names; that of Parquet as readers of Croissant know it."""

MOST_TABLES = 200
"""Where more tables were measured than this, the document describes the records only."""

_CROISSANT_TERMS = (
    *("annotation", "arrayShape", "citeAs", "column", "containedIn", "equivalentProperty", "excludes", "extract"),
    *("field", "fileObject", "fileProperty", "fileSet", "format", "includes", "isArray", "isLiveDataset", "jsonPath"),
    *("key", "md5", "parentField", "path", "readLines", "recordSet", "references", "regex", "repeated", "replace"),
    *("samplingRate", "sdVersion", "separator", "source", "subField", "transform", "unArchive", "value"),
)

CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    **{term: f"cr:{term}" for term in _CROISSANT_TERMS},
}
"""What the keys of the document mean, as JSON-LD wants it said in every document."""


def croissant(publication: Publication, data: Mapping[str, bytes]) -> dict[str, Any]:
    """The Croissant metadata of a release.

    Args:
        publication: What was published.
        data: The content of every file that holds released values.

    Privacy:
        Names, types and digests of what is published, and words of the certificate.
    """
    certificate = publication.certificate
    basic = certificate.deployment.basic
    described, left_out = _described_tables(data)
    missing = "".join(f" {said}" for said in [pairs_not_measured(publication)] if said)
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": CONFORMS_TO,
        "name": certificate.release,
        "description": f"{description_of(certificate)}{left_out}{missing}",
        "datePublished": basic.publication_date,
        "version": "1.0.0",  # a release is finished when it is published; another one is another data set
        "url": "README.md",  # the page about it, wherever the folder lies
        # The agreement names no license, and nobody else may choose one.
        "license": {
            "@type": "sc:CreativeWork",
            "name": f"Not stated. Ask {in_words(certificate.parties)}.",
        },
        "creator": [{"@type": "sc:Organization", "name": party} for party in certificate.parties],
        "citeAs": _citation(certificate),
        "isLiveDataset": False,
        "distribution": [_file_object(name, content) for name, content in data.items()],
        "recordSet": [_record_set(publication, file, data[file]) for file in described],
    }


def _described_tables(data: Mapping[str, bytes]) -> tuple[list[str], str]:
    """The files of tables to describe, the records first, and a sentence about those that are not described."""
    tables = [name for name in data if name.startswith(f"{FOLDER}/") and name.endswith(".parquet")]
    if len(tables) <= MOST_TABLES:
        return [RECORDS_FILE, *tables], ""
    return [RECORDS_FILE], f" The {len(tables):,} measured tables in {FOLDER}/ are not described here."


def description_of(certificate: Certificate) -> str:
    """What a release is, in a few sentences; a warning, if there is one, is the first of them."""
    relation = certificate.epsilon.calibrated_to
    sentences = [
        f"WARNING: {certificate.warning}" if certificate.warning else "",
        certificate.deployment.basic.description,
        f"{certificate.deployment.basic.data_product_type}, made together by {in_words(certificate.parties)}.",
        ""
        if certificate.warning
        else f"Differentially private: epsilon {certificate.epsilon.public[relation]} for the public (relation "
        f"{relation}), delta at most {certificate.delta_bound}.",
        another_owner_words(certificate.epsilon),
        "Simulated: one process saw all data." if certificate.engine.is_simulated else "",
        "certificate.json states what is guaranteed, to whom, under which assumptions; README.md explains the files.",
    ]
    return " ".join(sentence for sentence in sentences if sentence)


def _citation(certificate: Certificate) -> str:
    # Names of releases and of parties have letters, digits, dots, dashes and underscores: BibTeX takes those.
    published = certificate.deployment.basic.publication_date
    return (
        f"@misc{{{certificate.release}, title = {{{certificate.release}}}, "
        f"author = {{{' and '.join(certificate.parties)}}}, year = {{{published[:4]}}}}}"
    )


def _file_object(name: str, content: bytes) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": name,
        "name": name,
        "contentUrl": name,
        "contentSize": f"{len(content)} B",
        "encodingFormat": ENCODINGS[name.rpartition(".")[2]],
        "sha256": hashlib.sha256(content).hexdigest(),
    }


def _record_set(publication: Publication, file: str, content: bytes) -> dict[str, Any]:
    certificate = publication.certificate
    # A measured table has measured its columns together, whatever is said of pairs in the records.
    pairs = pairs_of_release(publication) if file == RECORDS_FILE else []
    name = file.removesuffix(".parquet").removeprefix(f"{FOLDER}/")
    schema = pq.read_schema(pa.BufferReader(content))
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "field": [_field(certificate, pairs, name, file, column.name, column.type) for column in schema],
    }


def _field(
    certificate: Certificate, pairs: Sequence[ColumnPair], table: str, file: str, column: str, stored: pa.DataType
) -> dict[str, Any]:
    columns_of = certificate.contributions.columns
    holders = [party for party, columns in columns_of.items() if column in columns]
    made_from = f"Made from cells that {in_words(holders)} held." if holders else ""
    derived = (certificate.contributions.derived or {}).get(column)
    is_derived = f"For each person: {derived}." if derived else ""
    description = " ".join(said for said in (made_from, is_derived, not_measured_with(pairs, column)) if said)
    return {
        "@type": "cr:Field",
        "@id": f"{table}/{quote(column, safe='')}",  # an identifier is an IRI, a column's name may be any text
        "name": column,
        **({"description": description} if description else {}),
        "dataType": data_type(stored),
        "source": {"fileObject": {"@id": file}, "extract": {"column": column}},
    }


def data_type(stored: pa.DataType) -> str:
    """The type of a column's values, some of which may be missing whatever it is."""
    kind = stored.value_type if pa.types.is_dictionary(stored) else stored
    if pa.types.is_boolean(kind):
        return "sc:Boolean"
    if pa.types.is_integer(kind):
        return "sc:Integer"
    return "sc:Float" if pa.types.is_floating(kind) or pa.types.is_decimal(kind) else "sc:Text"
