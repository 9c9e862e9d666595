"""Public domains of attributes: taxonomy trees of categories, grids of numbers, and how a set of values splits.

A tree is a nested mapping `{"ANY": {"Worker": {"Cook": {}, "Clerk": {}}, "Doctor": {}}}`: one root, and an
empty mapping marks a value as the data write it.

Codes are numbered so that every value a taxonomy or a grid can generalize to is a run of consecutive codes,
a `CodeRange`. Counting a generalized value is then one difference of prefix sums, for categories and numbers alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass as typed

from copublish.types import TypedJson

ROOT_LABEL = "ANY"

MAX_DEPTH = 50


@dataclass(frozen=True)
class TaxonomyNode:
    """A label and what it splits into; a node without children is a value of the data."""

    label: str
    children: tuple[TaxonomyNode, ...] = ()

    def leaves(self) -> Iterator[str]:
        """Yield the values below this node, in written order."""
        if not self.children:
            yield self.label
        for child in self.children:
            yield from child.leaves()

    def labels(self) -> Iterator[str]:
        """Yield this node's label and all labels below it."""
        yield self.label
        for child in self.children:
            yield from child.labels()

    def as_mapping(self) -> dict[str, object]:
        """The nested mapping this tree was written as."""
        return {child.label: child.as_mapping() for child in self.children}


def flat_taxonomy(values: tuple[str, ...]) -> TaxonomyNode:
    """The tree whose root splits straight into all values."""
    return TaxonomyNode(ROOT_LABEL, tuple(TaxonomyNode(value) for value in values))


def parse_taxonomy(tree: object) -> TaxonomyNode:
    """Read a nested mapping with one root.

    Raises:
        ValueError: If the tree has no single root, a node is not a mapping, or a label occurs twice.
    """
    if not isinstance(tree, Mapping) or len(tree) != 1:
        raise ValueError('a taxonomy is one tree with one root, like {"ANY": {"a": {}, "b": {}}}')
    root_label, below = next(iter(tree.items()))
    root = _parse_node(root_label, below, depth=1)
    if not root.children:
        raise ValueError("the taxonomy holds no value: its root needs at least two values below it")
    repeated = sorted(label for label, times in Counter(root.labels()).items() if times > 1)
    if repeated:
        raise ValueError(f"these labels occur twice in the taxonomy: {', '.join(map(repr, repeated))}")
    return root


def _parse_node(label: object, below: object, depth: int) -> TaxonomyNode:
    if depth > MAX_DEPTH:
        raise ValueError(f"a taxonomy has at most {MAX_DEPTH} levels")
    if not isinstance(label, str) or not label or label != label.strip():
        raise ValueError(f"taxonomy labels are texts without surrounding space, got {label!r}")
    if not isinstance(below, Mapping):
        raise ValueError(
            f'below {label!r} the taxonomy needs a mapping, like {{"cook": {{}}, "clerk": {{}}}}; {{}} marks a value'
        )
    return TaxonomyNode(label, tuple(_parse_node(name, rest, depth + 1) for name, rest in below.items()))


MISSING_LABEL = "(missing)"

MOST_DIGITS = 400
"""More than any 64-bit float has before or after its point."""

MOST_DECIMALS = 12
"""Of numbers; an agreement may ask for no more."""

CodeRange = tuple[int, int]
"""Codes from the first number up to, not including, the second."""

Split = tuple[CodeRange, ...]
"""What one code range is replaced by: at least two ranges that cover it."""


@dataclass(frozen=True)
class CategoricalDomain:
    """The values of a categorical attribute and the public tree above them."""

    name: str
    tree: TaxonomyNode
    missing: bool = False

    @cached_property
    def values(self) -> tuple[str, ...]:
        """The values in code order; the missing category, if agreed, is the last one."""
        return (*self.tree.leaves(), *([MISSING_LABEL] if self.missing else []))

    @property
    def size(self) -> int:
        """Number of codes."""
        return len(self.values)

    @property
    def max_splits(self) -> int:
        """Upper bound on the number of splits that can be on offer at one time."""
        return sum(1 for splits in self._splits_by_range.values() if splits)

    @property
    def first_splits(self) -> int:
        """Upper bound on the number of splits on offer while nothing is split, whatever is split then."""
        return self.max_splits

    @property
    def more_splits(self) -> int:
        """Upper bound on how many more splits than `first_splits` are on offer after one split: none."""
        return 0

    @property
    def most_children(self) -> int:
        """Upper bound on the number of parts of a split."""
        return max((len(split) for splits in self._splits_by_range.values() for split in splits), default=1)

    def splits(self, part: CodeRange) -> tuple[Split, ...]:
        """The ways to specialize `part`: its children in the tree, or nothing."""
        return self._splits_by_range[part]

    def label(self, part: CodeRange) -> str:
        """How a published table names `part`: as the taxonomy does, else its values, joined by "or".

        Raises:
            KeyError: If it is no run of the domain's codes.
        """
        if part in self._labels:
            return self._labels[part]
        start, stop = part
        if not 0 <= start < stop <= self.size:
            raise KeyError(part)
        return " or ".join(self.members(part))

    def members(self, part: CodeRange) -> tuple[str, ...]:
        """The values of the data that `part` stands for."""
        return self.values[part[0] : part[1]]

    @cached_property
    def _labels(self) -> dict[CodeRange, str]:
        return {part: label for part, (label, _) in self._nodes.items()}

    @cached_property
    def _splits_by_range(self) -> dict[CodeRange, tuple[Split, ...]]:
        return {part: ((children,) if children else ()) for part, (_, children) in self._nodes.items()}

    @cached_property
    def _nodes(self) -> dict[CodeRange, tuple[str, Split]]:
        found: dict[CodeRange, tuple[str, Split]] = {}

        def visit(node: TaxonomyNode, start: int) -> CodeRange:
            inner = node
            while len(inner.children) == 1:  # a level with one child splits nothing: step over it
                inner = inner.children[0]
            children: list[CodeRange] = []
            stop = start if inner.children else start + 1
            for child in inner.children:
                children.append(visit(child, stop))
                stop = children[-1][1]
            if node is self.tree and self.missing:
                if not children:
                    children.append((start, stop))
                    found[start, stop] = (inner.label, ())
                children.append((stop, stop + 1))
                found[stop, stop + 1] = (MISSING_LABEL, ())
                stop += 1
            found[start, stop] = (node.label, tuple(children))
            return start, stop

        visit(self.tree, 0)
        return found


@dataclass(frozen=True)
class NumericalDomain:
    """Public bounds and a public grid of thresholds.

    Code j holds the values from threshold j-1 (or the lower bound) up to, not including, threshold j; the last
    one includes the upper bound. The missing category, if agreed, is the code after them.
    """

    name: str
    _: KW_ONLY
    lower: Decimal
    upper: Decimal
    thresholds: tuple[Decimal, ...]
    missing: bool = False
    decimals: int | None = None
    """Of the column's numbers, 0 for whole ones; none if the agreement does not say."""
    points_at_once: int | None = None
    """The most grid points of one range that are on offer in one step; none if all are. See `points`."""
    _edges: tuple[Decimal, ...] = field(init=False, repr=False, compare=False)
    _splits: dict[CodeRange, tuple[Split, ...]] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_edges", (self.lower, *self.thresholds, self.upper))

    @property
    def decimals_of_grid(self) -> int:
        """The most decimals that a bound or a split point is written with."""
        return max(0, *(-int(edge.normalize().as_tuple().exponent) for edge in self._edges))

    @property
    def decimals_of_numbers(self) -> int:
        """With how many decimals numbers are read and written: as agreed, else as many as bounds and grid have."""
        return self.decimals_of_grid if self.decimals is None else self.decimals

    @property
    def steps(self) -> int:
        """How many steps of one unit of the last decimal lie between the bounds."""
        return int((self.upper - self.lower).scaleb(self.decimals_of_numbers))

    @property
    def number_codes(self) -> int:
        """Number of codes that stand for numbers."""
        return len(self.thresholds) + 1

    @property
    def size(self) -> int:
        """Number of codes."""
        return self.number_codes + self.missing

    @property
    def max_splits(self) -> int:
        """Upper bound on the number of splits that can be on offer at one time."""
        return len(self.thresholds) + self.missing

    @property
    def first_splits(self) -> int:
        """The number of splits on offer while nothing is split."""
        return len(self.points(0, self.number_codes)) + self.missing

    @property
    def more_splits(self) -> int:
        """Upper bound on how many more splits are on offer after one split of this attribute."""
        return self.points_at_once or 0

    @property
    def most_children(self) -> int:
        """Upper bound on the number of parts of a split."""
        return 2 + self.missing

    def points(self, start: int, stop: int) -> range:
        """The codes at which the numbers with codes from `start` up to `stop` can be split in one step.

        All of them, or every second, fourth, eighth and so on: the most that are not above `points_at_once`. Points
        that were on offer for a range are on offer for its parts, with others between them. So a part of a fine grid
        is split roughly at first and finely later, and no step has more than so many points for each part.
        """
        step = 1
        while self.points_at_once and (stop - 1) // step - start // step > self.points_at_once:
            step *= 2
        return range((start // step + 1) * step, stop, step)

    def splits(self, part: CodeRange) -> tuple[Split, ...]:
        """One split for each point inside `part` that is on offer.

        The top range of an attribute with a missing category splits into three: below, from the threshold on,
        and missing; or into numbers and missing.
        """
        if part not in self._splits:
            self._splits[part] = self._find_splits(part)
        return self._splits[part]

    def _find_splits(self, part: CodeRange) -> tuple[Split, ...]:
        start, stop = part
        if self.missing and stop == self.size:
            if start == self.number_codes:
                return ()
            numbers, missing = (start, self.number_codes), (self.number_codes, self.size)
            return ((numbers, missing), *((*split, missing) for split in self.splits(numbers)))
        return tuple(((start, at), (at, stop)) for at in self.points(start, stop))

    def label(self, part: CodeRange) -> str:
        """How a published table names `part`: an interval, or the missing category."""
        start, stop = part
        if start == self.number_codes:
            return MISSING_LABEL
        if stop == self.size and self.missing:
            return f"{self.label((start, self.number_codes))} or missing"
        bracket = "]" if stop == self.number_codes else ")"
        return f"[{format_number(self._edges[start])}, {format_number(self._edges[stop])}{bracket}"

    def bounds(self, part: CodeRange) -> tuple[Decimal, Decimal]:
        """The interval that the numbers in `part` lie in."""
        return self._edges[part[0]], self._edges[min(part[1], self.number_codes)]

    def first_and_last(self, part: CodeRange) -> tuple[Decimal, Decimal]:
        """The smallest and the largest number in `part` that is written with `decimals_of_numbers`.

        Whole numbers in [2, 3) are 2 and nothing else, and those in [0, 10) end at 9. The last cell has the upper
        bound in it.
        """
        lower, upper = self.bounds(part)
        is_last = part[1] >= self.number_codes
        return lower, upper if is_last else upper - Decimal(1).scaleb(-self.decimals_of_numbers)


Domain = CategoricalDomain | NumericalDomain


def format_number(number: Decimal) -> str:
    """The shortest plain spelling of a number: 20, not 2E+1 or 20.0."""
    text = format(number, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


@typed(frozen=True, kw_only=True)
class CategoricalDescription(TypedJson):
    """A categorical domain as released files state it, and where values went that are not in it.

    Attributes:
        kind: What it is.
        taxonomy: Its values, in their groups.
        missing: Whether missing is a category.
        unlisted: The value that any other one became, if it is not the first.
        missing_as: The value that a missing one became, if there is no category for it and it is not the first.
        missing_spellings: Texts that stand for a missing value, if the column has its own.
    """

    kind: Literal["categorical"] = "categorical"
    taxonomy: dict[str, Any]
    missing: bool
    unlisted: str | None = None
    missing_as: str | None = None
    missing_spellings: tuple[str, ...] | None = None

    def domain(self, name: str) -> CategoricalDomain:
        """The domain under a column's name."""
        return CategoricalDomain(name, parse_taxonomy(self.taxonomy), missing=self.missing)


@typed(frozen=True, kw_only=True)
class NumericalDescription(TypedJson):
    """A numerical domain as released files state it, and what became of missing numbers.

    Attributes:
        kind: What it is.
        bounds: The lower and the upper one; numbers past them became the nearer one.
        thresholds: Where the cells of the grid begin, but for the first.
        missing: Whether missing is a category.
        missing_as: The number that a missing one became, if there is no category for it and it is not the lower bound.
        missing_spellings: Texts that stand for a missing value, if the column has its own.
        decimals: With how many decimals numbers are written, where the agreement says.
    """

    kind: Literal["numerical"] = "numerical"
    bounds: tuple[str, str]
    thresholds: tuple[str, ...]
    missing: bool
    missing_as: str | None = None
    missing_spellings: tuple[str, ...] | None = None
    decimals: Annotated[int, Field(ge=0, le=MOST_DECIMALS)] | None = None

    def domain(self, name: str) -> NumericalDomain:
        """The domain under a column's name.

        Raises:
            ValueError, ArithmeticError: If bounds and thresholds are no finite numbers that rise, or have more decimals
                than numbers have.
        """
        lower, upper = (Decimal(bound) for bound in self.bounds)
        thresholds = tuple(Decimal(threshold) for threshold in self.thresholds)
        edges = (lower, *thresholds, upper)
        if not all(edge.is_finite() and abs(edge.adjusted()) <= MOST_DIGITS for edge in edges) or not (
            list(edges) == sorted(edges) and len(set(thresholds)) == len(thresholds) and lower < upper
        ):
            raise ValueError(f"the bounds and thresholds of '{name}' are no numbers that rise")
        found = NumericalDomain(
            name, lower=lower, upper=upper, thresholds=thresholds, missing=self.missing, decimals=self.decimals
        )
        if found.decimals_of_numbers < found.decimals_of_grid:
            raise ValueError(f"the bounds and thresholds of '{name}' have more decimals than its numbers")
        return found


DomainDescription = Annotated[CategoricalDescription | NumericalDescription, Field(discriminator="kind")]


def describe_domain(domain: Domain) -> CategoricalDescription | NumericalDescription:
    """A public domain as released files state it."""
    if isinstance(domain, CategoricalDomain):
        tree = {domain.tree.label: domain.tree.as_mapping()}
        return CategoricalDescription(taxonomy=tree, missing=domain.missing)
    return NumericalDescription(
        bounds=(format_number(domain.lower), format_number(domain.upper)),
        thresholds=tuple(format_number(threshold) for threshold in domain.thresholds),
        missing=domain.missing,
        decimals=domain.decimals,
    )
