"""The one reader: shares, means, medians and correlations of a release, with the error that noise leaves in them.

It sees what was published and never which mechanism published it. Released values only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from copublish.errors import ReleaseError
from copublish.mechanisms.published import Position, Scores
from copublish.mechanisms.shared.allocation import most_of_a_column
from copublish.release.questions.build import Moments, correlation, estimate_count, estimate_of, estimate_share
from copublish.release.questions.cells import ColumnCells
from copublish.release.questions.estimate import (
    CONFIDENCE,
    Among,
    CellSummary,
    ColumnSummary,
    Estimate,
    Reading,
    Values,
    exactly,
    no_number,
    no_order,
)
from copublish.release.questions.inside_cells import cut_in_words
from copublish.release.questions.noisy import Interval, NoisyNumber, ratio
from copublish.release.questions.rows import RowReading
from copublish.release.questions.sums import Answers, Ask, Sums
from copublish.types import FloatArray, IntArray

if TYPE_CHECKING:
    from copublish.release.publication import Publication

BY_COUNTS = "from unbiased noisy counts, by the law of their noise"
BY_SUMS = "from unbiased noisy sums, by the law of their noise"
CELLS_HIDE = "numbers are known up to their cell, which the interval covers"
OF_MIDDLES = f"Pearson's, of the middles of agreed cells, {BY_COUNTS}"
OF_SCORES = f"Pearson's, of the published scores of agreed cells (a correlation of ranks), {BY_SUMS}"
OF_PLACES = f"Pearson's, of places in grids, {BY_SUMS}"


def reading_of(publication: Publication) -> Reading:
    """The reader of a release.

    Raises:
        ReleaseError: If it states no law of noise, and why.
    """
    published, public_total = publication.published, publication.certificate.public_facts.number_of_records
    if published.rows is None and published.measured:
        return MeasuredReading(Sums(published, public_total))
    if published.rows is not None and published.rows.noise:
        domains, noise, division = published.columns.domains, published.rows.noise, published.model.division
        if not published.measured or division is None:
            return RowReading(domains, noise, publication.records)
        tables = MeasuredReading(Sums(published, public_total))
        return RowReading(domains, noise, publication.records, tables, float(most_of_a_column(division)))
    raise ReleaseError(f"This release tells no errors. {publication.mechanism.words.lost}")


class MeasuredReading(Reading):
    """Questions to measurements."""

    def __init__(self, sums: Sums) -> None:
        self._sums = sums

    @property
    def columns(self) -> Sequence[str]:
        """The columns, the class last."""
        return tuple(self._sums.columns)

    def _cells(self, column: str) -> ColumnCells:
        return self._sums.columns[column]

    def asked(self, *asks: Ask) -> Answers:
        """The sums of a question.

        Raises:
            ReleaseError: If they were not measured.
        """
        answers = self._sums.of(*asks)
        if answers is None:
            names = " and ".join(f"'{name}'" for name in dict.fromkeys(name for ask in asks for name in ask))
            raise ReleaseError(
                f"Nothing was measured that has {names} together. What the records show of them follows from the "
                "model, and by how much that is off is not known; `replicates` tells what noise has to do with it. Ask "
                "for one column or, where there is one, for a correlation."
            )
        return answers

    def _chosen(self, among: Among) -> dict[str, FloatArray]:
        return {name: self._cells(name).condition(values) for name, values in among.items()}

    def count(self, among: Among, confidence: float) -> Estimate:
        """How many people have some values; everybody if none are named."""
        self.check(*among)
        if not among and self._sums.public_total is not None:
            return exactly(self._sums.public_total, confidence)
        return self._count(self._chosen(among), confidence)

    def variance_of_count(self, among: Among) -> float | None:
        """Variance of a count's noise, by law; nothing if it was not measured."""
        answers = self._sums.of(self._chosen(among))
        return None if answers is None else answers.variance

    def _count(self, ask: Ask, confidence: float) -> Estimate:
        answers = self.asked(ask)
        (number,), table = answers.numbers, answers.table
        how = BY_COUNTS if answers.by_counts else BY_SUMS
        estimate = estimate_count(number, confidence, how)
        if table is None or table.single_within is None or confidence != CONFIDENCE:
            return estimate
        place = [np.flatnonzero(ask.get(column.name, np.ones(len(column.labels)))) for column in table.columns]
        is_single = all(len(cells) == 1 for cells in place)
        if not is_single or estimate.within is None or table.single_within > estimate.within:
            return estimate
        # One count with the bound that the certificate states: by its own law it is more exact than a normal one.
        alone = NoisyNumber(float(table.counts[tuple(int(cells[0]) for cells in place)]), *_own_noise(table.deviation))
        return estimate_count(alone, confidence, how, stated_within=table.single_within)

    def share(self, column: str, values: Values, among: Among, confidence: float) -> Estimate:
        """Which share of people has one of some values of a column."""
        self.check(column, *among)
        part, others = self._cells(column).part(values), self._chosen(among)
        if not part.cut:
            return self._share({column: part.likely}, others, confidence)
        ends = ({column: own, **others} for own in (part.likely, part.least, part.most))
        answers = self.asked(others, *ends)
        whole, *having = answers.numbers
        found, least, most = (ratio(number, whole, confidence) for number in having)
        how = f"{BY_COUNTS if answers.by_counts else BY_SUMS}. {cut_in_words(column, list(part.cut))}"
        between = (least.low, most.high)
        said = estimate_of(found, least=0.0, most=1.0, confidence=confidence, how=how, unit="share", ends=between)
        return replace(said, inside=tuple(f"{column} {cell}" for cell in part.cut))

    def _share(self, part: Ask, among: Ask, confidence: float) -> Estimate:
        answers = self.asked({**part, **among}, among)
        having, whole = answers.numbers
        return estimate_share(having, whole, confidence, BY_COUNTS if answers.by_counts else BY_SUMS)

    def mean(self, column: str, among: Among, confidence: float) -> Estimate:
        """The mean of a column of numbers: cells as a whole, what they hide in the ends of the interval."""
        self.check(column, *among)
        cells, others = _numbers(self._cells(column), "mean"), self._chosen(among)
        least, most = cells.bounds
        center = (least + most) / 2  # noise times a large number would hide which route is the more exact one
        here = cells.holds_numbers
        ends = [{column: here * (at - center), **others} for at in (cells.middle, cells.low, cells.high)]
        answers = self.asked({column: here, **others}, *ends)
        whole, *totals = answers.numbers
        middle, low, high = (_moved(ratio(total, whole, confidence), center) for total in totals)
        hides = f"; {CELLS_HIDE}" if (cells.low < cells.high).any() else ""
        how = f"{BY_COUNTS if answers.by_counts else BY_SUMS}{hides}"
        between = (low.low, high.high)
        return estimate_of(middle, least=least, most=most, confidence=confidence, how=how, unit="own", ends=between)

    def median(self, column: str, among: Among, confidence: float) -> Estimate:
        """The median of a column of numbers.

        For every border of a cell it is asked whether more than half could lie below it. From either end on, borders
        are left out for as long as noise cannot explain the answer; so only an error at the true median's own border
        loses it, however many borders there are.
        """
        self.check(column, *among)
        cells, others = _numbers(self._cells(column), "median"), self._chosen(among)
        places = np.flatnonzero(cells.holds_numbers > 0).astype(np.int64)
        unit = np.eye(len(cells.labels))
        sides = [_side(cells, places, border) for border in range(1, len(places) + 1)]
        answers = self.asked(*({column: asked, **others} for asked in [*sides, *unit[places]]))
        excess, parts = answers.numbers[: len(places)], answers.numbers[len(places) :]
        signs = [_sign(number, confidence) for number in excess[:-1]]
        first = next((i for i, sign in enumerate(signs) if sign >= 0), len(signs))
        last = next((i for i, sign in reversed(list(enumerate(signs))) if sign <= 0), -1)
        low, high = float(cells.low[places[first]]), float(cells.high[places[last + 1]])
        if low >= high:  # noise contradicts itself: the borders crossed
            low, high = min(low, high), max(low, high)
        value, error = _middle(cells, places, parts, excess)
        found = Interval(min(max(value, low), high), error, low, high)
        least, most = cells.bounds
        how = f"{BY_COUNTS}; where half of the people lie below, to the agreed cell"
        return estimate_of(found, least=least, most=most, confidence=confidence, how=how, unit="own")

    def correlation(self, one: str, other: str, confidence: float) -> Estimate:
        """Pearson's correlation of two columns: of scores or places that were multiplied, else of counted cells."""
        self.check(one, other)
        axes = self._multiplied(one, other)
        if axes is not None:
            return self._correlation_of_products(axes, confidence)
        x, y = (_ordered(self._cells(name)) for name in (one, other))
        here = {name: _present(self._cells(name)) for name in (one, other)}
        whole = self.asked(here).numbers[0]
        if whole.value <= 0:
            return correlation(None, confidence, OF_MIDDLES)
        sums = self.asked({**here, one: here[one] * x}, {**here, other: here[other] * y}).numbers
        dx, dy = x - sums[0].value / whole.value, y - sums[1].value / whole.value
        numbers = self.asked(
            here,
            {one: here[one] * dx, other: here[other] * dy},
            {**here, one: here[one] * dx * dx},
            {**here, other: here[other] * dy * dy},
            {**here, one: here[one] * dx},
            {**here, other: here[other] * dy},
        ).numbers
        return correlation(_moments(numbers), confidence, OF_MIDDLES)

    def _multiplied(self, one: str, other: str) -> tuple[Scores | Position, Scores | Position] | None:
        """The axes of a measured sum of products of two columns' scores or places."""
        for measured in self._sums.published.measured:
            axes = [axis for axis in measured.axes if isinstance(axis, Scores | Position)]
            if len(axes) == len(measured.axes) == 2 and {one, other} == {axis.column for axis in axes}:
                return axes[0], axes[1]
        return None

    def _correlation_of_products(
        self, axes: tuple[Scores | Position, Scores | Position], confidence: float
    ) -> Estimate:
        domains = self._sums.published.columns.domains
        for axis in axes:
            if isinstance(axis, Position) and domains[axis.column].missing:
                raise ReleaseError(
                    f"Numbers of '{axis.column}' may be missing, and products of those that are there were not summed "
                    "apart. Its mean can be asked for."
                )
        (one, x), (other, y) = ((axis.column, axis.entries(domains[axis.column])[0] / _unit(axis)) for axis in axes)
        numbers = self._sums.each({}, {one: x, other: y}, {one: x * x}, {other: y * y}, {one: x}, {other: y})
        if numbers is None:
            raise ReleaseError(
                f"The spread of '{one}' and '{other}' was not measured, so neither was their correlation."
            )
        is_place = any(isinstance(axis, Position) for axis in axes)
        return correlation(_moments(numbers), confidence, OF_PLACES if is_place else OF_SCORES)

    def summary(self, column: str, confidence: float = CONFIDENCE) -> ColumnSummary:
        """How a column is spread."""
        self.check(column)
        cells = self._cells(column)
        found = []
        for label, chosen in zip(cells.labels, np.eye(len(cells.labels)), strict=True):
            share = self._share({column: chosen}, {}, confidence)
            found.append(CellSummary(label=label, share=share, people=self._count({column: chosen}, confidence)))
        return ColumnSummary(
            name=column,
            is_number=cells.is_number,
            mean=self.mean(column, {}, confidence) if cells.tells_numbers else None,
            median=self.median(column, {}, confidence) if cells.tells_numbers else None,
            cells=tuple(found),
            axis=_axis(cells) if cells.tells_numbers else (),
        )


def _own_noise(deviation: float) -> tuple[FloatArray, FloatArray]:
    return np.array([deviation]), np.zeros(1)


def _unit(axis: Scores | Position) -> float:
    return float(axis.parts) if isinstance(axis, Position) else float(max(1, *map(abs, axis.scores)))


def _moments(numbers: Sequence[NoisyNumber]) -> Moments:
    whole, product, first_square, second_square, first, second = numbers
    return Moments(
        whole=whole,
        product=product,
        first_square=first_square,
        second_square=second_square,
        first=first,
        second=second,
    )


def _moved(interval: Interval, by: float) -> Interval:
    usual = None if interval.usual is None else (interval.usual[0] + by, interval.usual[1] + by)
    return replace(interval, value=interval.value + by, low=interval.low + by, high=interval.high + by, usual=usual)


def _numbers(cells: ColumnCells, what: str) -> ColumnCells:
    """Refuse cells that tell nothing about single numbers."""
    if not cells.is_number:
        raise no_number(cells.name, what)
    if not cells.tells_numbers:
        low, high = cells.bounds
        raise ReleaseError(
            f"Column '{cells.name}' was published as one value, from {low:g} to {high:g}: the release tells nothing "
            f"about its {what}."
        )
    return cells


def _side(cells: ColumnCells, places: IntArray, border: int) -> FloatArray:
    """1 for cells of numbers below a border, -1 for those above it."""
    found = np.zeros(len(cells.labels))
    found[places[:border]], found[places[border:]] = 1.0, -1.0
    return found


def _sign(number: NoisyNumber, confidence: float) -> int:
    """Whether a number is surely above 0, surely below it, or neither."""
    return 0 if abs(number.value) <= number.within(confidence) else int(np.sign(number.value))


def _middle(
    cells: ColumnCells, places: IntArray, parts: Sequence[NoisyNumber], excess: Sequence[NoisyNumber]
) -> tuple[float, float]:
    """The median of people spread evenly over their cells, and its error by how dense they are there."""
    counts = np.maximum([part.value for part in parts], 0.0)
    half = counts.sum() / 2
    place = min(int(np.searchsorted(np.cumsum(counts), half)), len(counts) - 1)
    before = float(counts[:place].sum())
    cell, here = int(places[place]), max(float(counts[place]), 1e-9)
    value = cells.spread_inside(cell, min(max((half - before) / here, 0.0), 1.0))
    return value, excess[place].deviation / 2 / here * float(cells.width[cell])


def _present(cells: ColumnCells) -> FloatArray:
    return cells.holds_numbers if cells.is_number else np.ones(len(cells.labels))


def _ordered(cells: ColumnCells) -> FloatArray:
    """A number for every cell: the mean of its numbers, or 0 and 1 for the two values of a category."""
    if cells.is_number:
        return _numbers(cells, "correlation").middle
    if len(cells.labels) != 2:
        raise no_order(cells.name, len(cells.labels))
    return np.array([0.0, 1.0])


def _axis(cells: ColumnCells) -> tuple[float, ...]:
    """The borders of the cells that are intervals."""
    places = np.flatnonzero(cells.holds_numbers > 0)
    return (*cells.low[places].tolist(), float(cells.high[places[-1]]))
