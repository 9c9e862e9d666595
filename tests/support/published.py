"""Published measurements made by hand, with values by a naive loop over people."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import product

import numpy as np

from copublish.agreement.columns import PublicColumns
from copublish.agreement.domain import CategoricalDomain, Domain, NumericalDomain, TaxonomyNode
from copublish.kernel.accounting.disclosures import Place
from copublish.kernel.accounting.statements import Law, Noise
from copublish.mechanisms.published import Cells, Measured, Model, Position, Published, Scores
from copublish.release.questions.reading import MeasuredReading
from copublish.release.questions.sums import Sums

Person = Mapping[str, int]
"""A person's code in every column."""

SILENT = Noise(law=Law.GAUSSIAN, scale_in_people=0.0, within_95_percent=0.0)


def numbers(name: str, *edges: int | str, missing: bool = False, decimals: int | None = None) -> NumericalDomain:
    """A column of numbers with these edges of cells."""
    lower, *inner, upper = map(Decimal, edges)
    return NumericalDomain(name, lower=lower, upper=upper, thresholds=tuple(inner), missing=missing, decimals=decimals)


def category(name: str, *values: str) -> CategoricalDomain:
    """A column of categories without a taxonomy."""
    return CategoricalDomain(name, TaxonomyNode("any", tuple(TaxonomyNode(value) for value in values)))


def gaussian(deviation: float) -> Noise:
    """Gaussian noise of a deviation in people."""
    return Noise(law=Law.GAUSSIAN, scale_in_people=deviation, within_95_percent=1.96 * deviation)


def laplace(scale: float) -> Noise:
    """Discrete Laplace noise of a scale in people."""
    return Noise(law=Law.LAPLACE, scale_in_people=scale, within_95_percent=math.ceil(scale * math.log(20)))


def entry_of(axis: Cells | Scores | Position, domain: Domain, code: int) -> list[int]:
    """What a person with a code counts as in each entry of an axis, from the words that describe it."""
    if isinstance(axis, Cells):
        runs = axis.runs or [(own, own + 1) for own in range(domain.size)]
        return [int(start <= code < stop) for start, stop in runs]
    if isinstance(axis, Scores):
        return [axis.scores[code]]
    assert isinstance(domain, NumericalDomain)
    if code == domain.number_codes:  # missing
        return [0]
    place = Fraction(code * axis.parts, domain.number_codes - 1) - Fraction(axis.parts, 2)
    return [math.floor(place + Fraction(1, 2)) ** axis.power]


def summed(
    axes: Sequence[Cells | Scores | Position],
    domains: Mapping[str, Domain],
    people: Sequence[Person],
    *,
    noise: Noise = SILENT,
    step: str = "tables",
    **more: object,
) -> Measured:
    """A measurement without noise: every entry is summed person by person. `noise` is what is said of it."""
    times, sums = int(more.get("times", 1)), []  # type: ignore[call-overload]
    sizes = [len(entry_of(axis, domains[axis.column], 0)) for axis in axes]
    for cell in product(*(range(size) for size in sizes)):
        total = 0
        for person in people:
            factors = [entry_of(axis, domains[axis.column], person[axis.column]) for axis in axes]
            total += math.prod(factor[place] for factor, place in zip(factors, cell, strict=True))
        sums.append(times * total)
    values = np.array(sums, dtype=np.int64)
    return Measured(place=Place(step), axes=tuple(axes), values=values, noise=noise, **more)  # type: ignore[arg-type]


def published(domains: Sequence[Domain], measured: Sequence[Measured], *, has_class: bool = False) -> Published:
    """Everything that was published of some columns, with a model that says nothing."""
    columns = PublicColumns({domain.name: domain for domain in domains}, has_class=has_class)
    return Published(columns=columns, measured=tuple(measured), model=Model(records=0))


def reading(release: Published, *, public_total: int | None = None) -> MeasuredReading:
    """Questions to measurements."""
    return MeasuredReading(Sums(release, public_total))


def moved(release: Published, noises: Sequence[np.ndarray]) -> Published:
    """The same with noise added to the values of every measurement."""
    pairs = zip(release.measured, noises, strict=True)
    return replace(release, measured=tuple(replace(own, values=own.values + noise) for own, noise in pairs))
