"""The columns of an agreement: the class and the attributes, with their public values, bounds and grids."""

from __future__ import annotations

import decimal
from collections import Counter
from decimal import Decimal
from functools import cached_property
from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, field_validator, model_validator

from copublish.agreement.derived import Derived
from copublish.agreement.domain import (
    MISSING_LABEL,
    ROOT_LABEL,
    CategoricalDomain,
    NumericalDomain,
    TaxonomyNode,
    flat_taxonomy,
    parse_taxonomy,
)
from copublish.agreement.round_grid import fine_split_points, round_split_points
from copublish.agreement.section import MAX_DIGITS, Number, Section, Whole

OTHER_LABEL = "other"
"""The category that `unlisted = "other"` adds to a list or tree that has no such value."""

MAX_THRESHOLDS = 128
"""A finer grid gives candidates that noise cannot tell apart and costs engine time."""

MAX_ROUND_CELLS = MAX_THRESHOLDS - 1
"""Split points at 0 and behind it may be added to those between so many cells."""

USUAL_CELLS = 20
"""Cells at round numbers, about, of a number with bounds and no grid; agreed grids are compared with these."""

POINTS_AT_ONCE = 16
"""Most points of a fine grid's range that one step compares: fewer are easier to tell apart under noise."""


def _as_tuple(value: object) -> object:
    return (value,) if isinstance(value, str) else value


PartyNames = Annotated[tuple[str, ...], BeforeValidator(_as_tuple)]


def _plain_spellings(spellings: tuple[str, ...] | None) -> tuple[str, ...] | None:
    distinct(tuple(spelling for spelling in spellings or () if spelling), at_least=0, what="")
    return spellings


Spellings = Annotated[tuple[str, ...] | None, AfterValidator(_plain_spellings)]
"""Texts that stand for a missing value of one column; none if the column says nothing."""


def distinct(values: tuple[str, ...], *, at_least: int, what: str) -> tuple[str, ...]:
    """Refuse lists of values that are too short, have a value twice, or one that no cell can be."""
    if len(values) < at_least:
        raise ValueError(
            f"{what} needs at least {at_least} value{'s' * (at_least > 1)}; take them from the code book, "
            "not from private data"
        )
    spaced = [value for value in values if value != value.strip() or not value]
    if spaced:
        raise ValueError(
            f"cells are read without surrounding space, so {spaced[0]!r} can never occur; remove the space"
        )
    repeated = sorted(value for value, times in Counter(values).items() if times > 1)
    if repeated:
        raise ValueError(f"these values are listed twice: {', '.join(map(repr, repeated))}")
    return values


class ClassAttribute(Section):
    """The attribute that users of the release want to predict."""

    name: str = Field(min_length=1)
    values: tuple[str, ...]
    held_by: PartyNames | None = None
    missing_spellings: Spellings = None

    @field_validator("values")
    @classmethod
    def _check_values(cls, values: tuple[str, ...]) -> tuple[str, ...]:
        return distinct(values, at_least=2, what="a class")


class CategoricalAttribute(Section):
    """An attribute with a public list or tree of values.

    Attributes:
        missing: `category`, or the value that a missing one becomes.
        unlisted: The value that any other one becomes.
        missing_spellings: Texts that stand for a missing value; those of [records] if it says nothing.
        derived: How it follows from a table of events; none if it is a column of the data.
    """

    kind: Literal["categorical"]
    values: tuple[str, ...] | None = None
    taxonomy: dict[str, Any] | None = None
    missing: str = "category"
    unlisted: str = OTHER_LABEL
    missing_spellings: Spellings = None
    held_by: PartyNames | None = None
    derived: Derived | None = None

    @model_validator(mode="after")
    def _check_tree(self) -> CategoricalAttribute:
        if (self.values is None) == (self.taxonomy is None):
            raise ValueError("give either 'values' (a flat list) or 'taxonomy' (a tree or a JSON file), one of them")
        if self.values is not None:
            distinct(self.values, at_least=1, what="a categorical attribute")
            if ROOT_LABEL in self.values:
                raise ValueError(f"the value '{ROOT_LABEL}' is reserved: it stands for all values together")
        if MISSING_LABEL in self.tree.labels():
            raise ValueError(f"the value '{MISSING_LABEL}' is reserved; write missing = \"category\" instead")
        return self

    @cached_property
    def tree(self) -> TaxonomyNode:
        """The taxonomy, whichever way it was written."""
        return flat_taxonomy(self.values) if self.values is not None else parse_taxonomy(self.taxonomy)

    def domain(self, name: str) -> CategoricalDomain:
        """The public domain under this attribute's name; `other`, if it is agreed, follows the listed values."""
        tree = self.tree
        if self.unlisted == OTHER_LABEL and OTHER_LABEL not in tree.leaves():
            tree = TaxonomyNode(tree.label, (*tree.children, TaxonomyNode(OTHER_LABEL)))
        return CategoricalDomain(name, tree, missing=self.missing == "category")


class Grid(Section):
    """Where a numerical attribute may be split.

    Attributes:
        step: Every so often.
        edges: At these numbers.
        count: Into so many equal cells.
        round: Into about so many cells at round numbers, narrow near 0 and wide away from it.
        also: At these numbers besides, because somebody has asked for them.
    """

    step: Number | None = None
    edges: tuple[Number, ...] | None = None
    count: Whole | None = Field(default=None, ge=2, le=MAX_THRESHOLDS + 1)
    round: Whole | None = Field(default=None, ge=2, le=MAX_ROUND_CELLS)
    also: tuple[Number, ...] | None = None

    @model_validator(mode="after")
    def _check_one_way(self) -> Grid:
        if sum(way is not None for way in (self.step, self.edges, self.count, self.round)) != 1:
            raise ValueError("give exactly one of 'step', 'edges', 'count' and 'round', and 'also' beside it if needed")
        if self.step is not None and self.step <= 0:
            raise ValueError(f"'step' must be above 0, got {self.step}")
        return self

    def thresholds(self, lower: Decimal, upper: Decimal, decimals: int | None = None) -> tuple[Decimal, ...]:
        """The public split points inside the bounds, in ascending order.

        Args:
            lower: The lower bound.
            upper: The upper one.
            decimals: How many the attribute's numbers have, if it says so.
        """
        with decimal.localcontext(decimal.Context(prec=2 * MAX_DIGITS)):  # not the caller's
            found = self._find_thresholds(lower, upper, decimals)
        increase = all(a < b for a, b in pairwise(found))
        if not increase or not all(lower < threshold <= upper for threshold in (*found, *(self.also or ()))):
            way = "'edges'" if self.edges is not None else "split points"
            raise ValueError(f"{way} must increase and lie above {lower} and not above {upper}")
        found = tuple(sorted({*found, *(self.also or ())}))
        if len(found) > MAX_THRESHOLDS:
            raise ValueError(f"at most {MAX_THRESHOLDS} split points are allowed, got {len(found)}")
        return found

    def _find_thresholds(self, lower: Decimal, upper: Decimal, decimals: int | None) -> tuple[Decimal, ...]:
        if self.edges is not None:
            return self.edges
        if self.round is not None:
            return round_split_points(lower, upper, cells=self.round, decimals=decimals)
        if self.step is not None:
            steps = (upper - lower) / self.step
            if int(steps) > MAX_THRESHOLDS:
                wider = (upper - lower) / MAX_THRESHOLDS
                raise ValueError(
                    f"'step' gives more than {MAX_THRESHOLDS} split points; take a step of at least {wider:.6g}"
                )
            return tuple(lower + self.step * i for i in range(1, int(steps) + 1))
        count = self.count or 0
        # Rounded for readable labels, to a twelfth digit of the range.
        digits = (upper - lower).adjusted() - 11
        exact = (lower + (upper - lower) * i / count for i in range(1, count))
        return tuple(threshold.quantize(Decimal(1).scaleb(digits)) for threshold in exact)


class NumericalAttribute(Section):
    """An attribute with public bounds and a public grid of split points.

    Attributes:
        grid: Where it may be split; without it a fixed rule decides, from the bounds and the mechanism: see `domain`.
        missing: `category`, or the number that a missing or unreadable one becomes.
        out_of_bounds: What becomes of a number past the bounds: the nearer bound.
        missing_spellings: Texts that stand for a missing value; those of [records] if it says nothing.
        derived: How it follows from a table of events; none if it is a column of the data.
    """

    kind: Literal["numerical"]
    bounds: tuple[Number, Number]
    grid: Grid | None = None
    decimals: Whole | None = Field(default=None, ge=0, le=12)
    missing: Number | str = Field(default="category", union_mode="left_to_right")
    out_of_bounds: Literal["clamp"] = "clamp"
    missing_spellings: Spellings = None
    held_by: PartyNames | None = None
    derived: Derived | None = None

    @field_validator("bounds", mode="before")
    @classmethod
    def _check_two(cls, bounds: object) -> object:
        if not isinstance(bounds, list | tuple) or len(bounds) != 2:
            raise ValueError(
                "write the lowest and the highest allowed value, like bounds = [0, 120], from public knowledge"
            )
        return bounds

    @model_validator(mode="after")
    def _check_bounds(self) -> NumericalAttribute:
        lower, upper = self.bounds
        if lower >= upper:
            raise ValueError(f"the lower bound must be below the upper one, got bounds = [{lower}, {upper}]")
        if self.grid is not None and not self.grid.thresholds(lower, upper, self.decimals):
            raise ValueError("the grid has no split point inside the bounds; take a smaller step or add edges")
        needed = self.domain("").decimals_of_grid
        if self.decimals is not None and self.decimals < needed:
            raise ValueError(
                f"bounds and split points are written with {needed} decimals, so 'decimals' must be at least that, got "
                f"{self.decimals}; or take a coarser grid"
            )
        return self

    def domain(self, name: str, *, splits_step_by_step: bool = False) -> NumericalDomain:
        """The public domain under this attribute's name.

        Args:
            name: The attribute's name.
            splits_step_by_step: Whether the mechanism may split a range again; a grid that nobody wrote is fine then.
        """
        lower, upper = self.bounds
        is_fine = self.grid is None and splits_step_by_step
        if self.grid is not None:
            thresholds = self.grid.thresholds(lower, upper, self.decimals)
        elif is_fine:
            thresholds = fine_split_points(lower, upper, decimals=self.decimals)
        else:
            thresholds = round_split_points(lower, upper, cells=USUAL_CELLS, decimals=self.decimals)
        return NumericalDomain(
            name,
            lower=lower,
            upper=upper,
            thresholds=thresholds,
            missing=self.missing == "category",
            decimals=self.decimals,
            points_at_once=POINTS_AT_ONCE if is_fine else None,
        )


Attribute = Annotated[CategoricalAttribute | NumericalAttribute, Field(discriminator="kind")]
