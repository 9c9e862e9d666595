"""Published values and cells with their errors: what the terminal and the report both say. Released values only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np

from copublish.kernel.accounting.statements import Noise
from copublish.kernel.certificate.certificate import Certificate
from copublish.mechanisms.base import Publication
from copublish.mechanisms.reading.estimate import CONFIDENCE, Estimate
from copublish.mechanisms.specialization.plan import LEAVES
from copublish.mechanisms.specialization.publish import CutDetails
from copublish.mechanisms.specialization.reading import SpecializationReading


@dataclass(frozen=True)
class ValueRow:
    """One published value.

    Attributes:
        label: Its name.
        members: Of a category, what it stands for.
        people: How many people have it.
        of_all: Which share of all people they are.
        in_class: Which share of them is in the shown class.
    """

    label: str
    members: tuple[str, ...]
    people: Estimate
    of_all: Estimate
    in_class: Estimate


@dataclass(frozen=True)
class Cell:
    """One cell of the release: its values, without attributes that were not split, and its count."""

    values: tuple[str, ...]
    class_value: str
    people: Estimate


def noise_of_counts(certificate: Certificate) -> Noise:
    """The noise of a leaf count."""
    (leaves,) = certificate.at(LEAVES)
    return leaves.noise


def details_of(publication: Publication) -> CutDetails:
    """The cut."""
    return cast(CutDetails, publication.details)


def reading_of(publication: Publication) -> SpecializationReading:
    """Questions to the counts."""
    return cast(SpecializationReading, publication.reading)


def estimates(publication: Publication) -> dict[str, list[ValueRow]]:
    """Every published value of every attribute that was split, with its errors."""
    details, reading = details_of(publication), reading_of(publication)
    class_name, shown = details.class_.name, details.shown_class
    found = {}
    for name in details.split_attributes:
        by_label = {cell.label: cell for cell in reading.summary(name).cells}
        found[name] = [
            ValueRow(
                value.label,
                value.members or (),
                by_label[value.label].people,
                by_label[value.label].share,
                reading.share(class_name, shown, {name: value.label}, CONFIDENCE),
            )
            for value in details.attributes[name].values
        ]
    return found


def largest_cells(publication: Publication, number: int) -> list[Cell]:
    """The cells with the largest noisy counts, with their errors."""
    details, reading = details_of(publication), reading_of(publication)
    counts, split = publication.contents.tables["counts"], details.split_attributes
    order = np.argsort(-reading.noisy_counts, kind="stable")[:number]
    return [
        Cell(
            tuple(str(row[name]) for name in split),
            str(row[details.class_.name]),
            reading.leaf(float(reading.noisy_counts[place])),
        )
        for place, row in zip(order.tolist(), counts.take(order).to_pylist(), strict=True)
    ]


def cells_told_apart(publication: Publication) -> int:
    """How many counts an empty cell would not have, in 95 of 100 cases."""
    within = noise_of_counts(publication.certificate).within_95_percent or 0
    return int(np.sum(np.abs(reading_of(publication).noisy_counts) > within))
