"""What people are told of a release of microaggregated records: in its README and in a terminal.

Released values only.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from rich.console import RenderableType
from rich.text import Text

from copublish.mechanisms.base import About, Publication, in_words
from copublish.mechanisms.idp_ir.publish import IdpIrDetails


def details_of(publication: Publication) -> IdpIrDetails:
    """How the records were made."""
    return cast(IdpIrDetails, publication.details)


def about(publication: Publication) -> About:
    """What the README of a release folder says."""
    n_records, parties = publication.records.num_rows, publication.certificate.parties
    return About(
        f"""This folder is a data set of {n_records:,} perturbed records, made by {in_words(parties)} with
iDP-IR. **Every record in it stands for a real person.** Each column was sorted and cut into clusters, and a record has
its clusters' noisy means. It is not differentially private: who is in one cluster can be read off.""",
        """| file | content |
| --- | --- |
| `records.parquet` | the perturbed records; its metadata hold the warning, which a CSV file could not |
| `idp-ir.json` | how the records were made |
| `certificate.json` | what is not guaranteed, everything that was disclosed, and every assumption |""",
        """Each cluster's mean carries noise whose size depends on the data and is not stated. What varies within a
cluster is lost, and so is much of what columns have in common.""",
    )


def show(publication: Publication) -> Iterator[RenderableType]:
    """What a terminal shows of a release."""
    k = details_of(publication).k
    yield Text(f"Clusters of {k} records; every record has the noisy means of its clusters.")
