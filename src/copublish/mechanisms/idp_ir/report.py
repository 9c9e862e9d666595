"""A release of microaggregated records presented: README, terminal and report. Released values only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from rich.console import RenderableType
from rich.text import Text

from copublish.mechanisms.base import About, Publication, in_words
from copublish.mechanisms.idp_ir.publish import IdpIrDetails
from copublish.mechanisms.idp_ir.settings import PLAIN

_FILES = """| file | content |
| --- | --- |
| `records.parquet` | the perturbed records; its metadata hold the warning, which a CSV file could not |
| `idp-ir.json` | how the records were made |
| `certificate.json` | what is not guaranteed, everything that was disclosed, and every assumption |"""


def details_of(publication: Publication) -> IdpIrDetails:
    """How the records were made."""
    return cast(IdpIrDetails, publication.details)


def about(publication: Publication) -> About:
    """What the README of a release folder says."""
    n_records, parties = publication.records.num_rows, publication.certificate.parties
    if details_of(publication).k == PLAIN:
        return _about_plain(n_records, in_words(parties))
    return About(
        f"""This folder is a data set of {n_records:,} perturbed records, made by {in_words(parties)} with
iDP-IR. **Every record in it stands for a real person.** Each column was sorted and cut into clusters, and a record has
its clusters' noisy means. It is not differentially private: who is in one cluster can be read off.""",
        _FILES,
        """Each cluster's mean carries noise whose size depends on the data and is not stated. What varies within a
cluster is lost, and so is much of what columns have in common.""",
    )


def _about_plain(n_records: int, parties: str) -> About:
    return About(
        f"""This folder is a data set of {n_records:,} perturbed records, made by {parties} with
plain iDP. **Every record in it stands for a real person.** Each value has noise of its own. It is not differentially
private.""",
        _FILES,
        """Each value carries noise whose size can depend on the data and is not stated. There is mostly more noise than
signal: no values were averaged before.""",
    )


def show(publication: Publication) -> Iterator[RenderableType]:
    """What a terminal shows of a release."""
    k = details_of(publication).k
    if k == PLAIN:
        yield Text("Every value has noise of its own (plain iDP).")
        return
    yield Text(f"Clusters of {k} records; every record has the noisy means of its clusters.")


def facts(publication: Publication) -> dict[str, Any]:
    """What the page says."""
    return {
        "details": details_of(publication),
        "n_records": publication.records.num_rows,
        "columns": publication.records.column_names,
    }
