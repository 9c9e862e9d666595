"""hpdp's model as a release has it: what drawing records needs, digit by digit. Released values only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass

from copublish.agreement.domain import NumericalDomain
from copublish.errors import ReleaseError
from copublish.mechanisms.hpdp.cells import Spread
from copublish.mechanisms.hpdp.coordinates import Coordinates
from copublish.mechanisms.hpdp.model import MomentModel
from copublish.mechanisms.published import Model
from copublish.types import FloatArray, IntArray, TypedJson

Count = Annotated[int, Field(ge=0, lt=2**62)]

Real = Annotated[float, Field(gt=-(2**31), lt=2**31)]
"""Drawing multiplies these numbers with 2^29 and makes them whole."""

Reals = tuple[Real, ...]


@dataclass(frozen=True, kw_only=True)
class ReleasedSpread(TypedJson):
    """A number's records.

    Attributes:
        by_class: In every class and cell, as far as they have the number; without a class all are one class.
        missing: In every class, as far as they miss it.
    """

    by_class: tuple[tuple[Count, ...], ...]
    missing: tuple[Count, ...]


@dataclass(frozen=True, kw_only=True)
class HpdpModel(Model):
    """The moments that records are drawn from, for every number and category in the order of coordinates.

    Attributes:
        total: The number of people, public or estimated.
        noise_deviation: Standard deviation of the noise of a sum of weight 1, in people.
        class_counts: Of the people, those of every class; without a class all are one class.
        means: Expected value of every coordinate.
        class_effects: How far each class moves every coordinate.
        loadings: How far each factor moves every coordinate.
        within_class: Variance of every coordinate that classes leave.
        components: How many principal components stood out of the noise.
        noise_floor: What they had to exceed.
        spreads: How every number is spread over its cells.
    """

    total: Count
    noise_deviation: float
    class_counts: tuple[Count, ...]
    means: Reals
    class_effects: tuple[Reals, ...]
    loadings: tuple[Reals, ...]
    within_class: Reals
    components: Count
    noise_floor: float
    spreads: dict[str, ReleasedSpread]

    def moments(self, coordinates: Coordinates) -> MomentModel:
        """The same as arrays, which are those that were fitted.

        Raises:
            ReleaseError: If it is not a model of these coordinates.
        """
        name, size = coordinates.class_name, coordinates.n_linked
        n_classes = 1 if name is None else coordinates.columns[name].size
        if self.spreads.keys() != coordinates.cells.keys():
            raise _misfit()
        return MomentModel(
            total=self.total,
            class_counts=_counts([self.class_counts], 1, n_classes)[0],
            means=_reals([self.means], 1, size)[0],
            class_effects=_reals(self.class_effects, n_classes, size),
            loadings=_reals(self.loadings, len(self.loadings), size),
            within_class=_reals([self.within_class], 1, size)[0],
            components=self.components,
            noise_floor=self.noise_floor,
            spreads={
                column: Spread(
                    by_class=_counts(self.spreads[column].by_class, n_classes, domain.number_codes),
                    missing=_counts([self.spreads[column].missing], 1, n_classes)[0],
                )
                for column, domain in coordinates.columns.items()
                if isinstance(domain, NumericalDomain)
            },
        )


def model_of(model: MomentModel, *, n_records: int, key: str, deviation: float) -> HpdpModel:
    """A fitted model as it is released.

    Args:
        model: The model.
        n_records: How many records are drawn from it.
        key: Under which key, in hexadecimal.
        deviation: Standard deviation of the noise that it was fitted with, in people, where the weight is 1.
    """
    return HpdpModel(
        records=n_records,
        key=key,
        notes=(_note(model.components),),
        total=model.total,
        noise_deviation=deviation,
        class_counts=tuple(model.class_counts.tolist()),
        means=tuple(model.means.tolist()),
        class_effects=tuple(map(tuple, model.class_effects.tolist())),
        loadings=tuple(map(tuple, model.loadings.tolist())),
        within_class=tuple(model.within_class.tolist()),
        components=model.components,
        noise_floor=model.noise_floor,
        spreads={
            name: ReleasedSpread(
                by_class=tuple(map(tuple, spread.by_class.tolist())), missing=tuple(spread.missing.tolist())
            )
            for name, spread in model.spreads.items()
        },
    )


def _note(components: int) -> str:
    if components == 1:
        return "1 principal component stood out of the noise."
    return f"{components or 'No'} principal components stood out of the noise."


def _counts(rows: Sequence[Sequence[int]], n_rows: int, n_columns: int) -> IntArray:
    _check(rows, n_rows, n_columns)
    return np.array(rows, dtype=np.int64).reshape(n_rows, n_columns)


def _reals(rows: Sequence[Sequence[float]], n_rows: int, n_columns: int) -> FloatArray:
    _check(rows, n_rows, n_columns)
    return np.array(rows, dtype=np.float64).reshape(n_rows, n_columns)


def _check(rows: Sequence[Sequence[float]], n_rows: int, n_columns: int) -> None:
    if [len(row) for row in rows] != [n_columns] * n_rows:
        raise _misfit()


def _misfit() -> ReleaseError:
    return ReleaseError("The model of this release is not one of its columns.")
