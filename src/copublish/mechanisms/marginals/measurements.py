"""What a run measures and chooses, and at which price, from the agreement alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial

from copublish.agreement.model import Agreement
from copublish.kernel.accounting.concentrated import (
    Concentrated,
    ConcentratedMeasure,
    ConcentratedRounds,
    ConcentratedSelect,
    selection_epsilon,
)
from copublish.kernel.accounting.disclosures import (
    NEIGHBORS,
    Disclosure,
    Divided,
    Influence,
    Measure,
    Neighbors,
    Place,
    Select,
)
from copublish.kernel.noise.discrete_gaussian import BATCHES
from copublish.kernel.noise.shared_laplace import NoiseShares
from copublish.mechanisms.marginals.junction_tree import Columns, cells_of
from copublish.mechanisms.marginals.schedule import (
    LARGEST_SELECTIONS_SHARE,
    USUAL_SHARE,
    USUAL_WORTH,
    Currency,
    RemainingBudget,
    SpendingRule,
)
from copublish.mechanisms.marginals.settings import (
    MarginalsSettings,
    candidate_tables,
    first_tables,
    fixed_tables,
    is_across,
    numbered,
)
from copublish.mechanisms.shared.normal import GAUSSIAN_MEAN_SIZE

FIRST, CHOICE, CHOSEN, AGAIN, ROUNDS = "first tables", "choice", "chosen table", "first tables again", "rounds"
"""The steps of a run that open something; the last stands for all rounds in a plan."""

SCORE_RANGE: Influence = {"add-remove": 2, "replace": 4}
"""A record adds 1 to one cell of a candidate table, or to none, so its distance from whole public numbers moves by 1 up
or down, or not at all: the scores of two candidates come apart by at most 2. Replacing a record is removing one and
adding one. Public offsets, and a candidate whose score is public, do not raise it."""

DISTANCE_OF_A_DRAW = Fraction(1, 2**55)
"""Above what one candidate for Gaussian noise, or one geometric variable, is off: they have at most 92 biased bits."""

LEAST_ENTRIES = 64
"""Of a chosen table as it is measured with Laplace noise."""

VALUES_AT_ONCE = 8192
"""The most noise that is drawn ahead: distant parties wait for messages, and from about here on for noise."""

TABLES_TO_SPARE = 1.25
"""For how many times the cells of rounds' tables noise is drawn ahead, because chosen tables differ in size."""

SHARE_FOR_PAIRS_ACROSS = Fraction(1, 4)
"""Of the budget for rounds: until it is spent, only tables with columns of two owners may be chosen."""

PARTS_OF_A_REQUIRED_TABLE = 3
"""By how many first tables' parts of the budget a required one raises the share of all that are measured for sure. With
1 the required tables, and all pairs, were less exact on made-up tables of 1,500 to 10,000 people."""

LARGEST_SHARE_WITH_REQUIRED = Fraction(3, 4)
"""What required tables raise that share to at most: the rest is for choosing others."""

SMALLEST_REST = Fraction(1, 1000)
"""Of the budget for rounds: less is not worth measuring anything with."""


@dataclass(frozen=True)
class Measurements:
    """All disclosures of a run: the tables that are measured for sure, and whatever rounds may choose."""

    agreement: Agreement

    @property
    def settings(self) -> MarginalsSettings:
        """The agreed settings."""
        return self.agreement.settings(MarginalsSettings)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The columns in agreed order, the class last; tables name them by number."""
        return tuple(self.agreement.columns)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Number of cells of every column."""
        return tuple(domain.size for domain in self.agreement.columns.values())

    @cached_property
    def fixed(self) -> tuple[Columns, ...]:
        """The tables that are measured for sure."""
        return tuple(numbered(self.agreement, fixed_tables(self.agreement)))

    @cached_property
    def candidates(self) -> tuple[Columns, ...]:
        """The tables that may be chosen."""
        return tuple(numbered(self.agreement, candidate_tables(self.agreement)))

    @cached_property
    def candidates_across(self) -> frozenset[int]:
        """The numbers of the candidates across owners; none where an attribute has several owners."""
        agreement, tables = self.agreement, candidate_tables(self.agreement)
        if any(len(agreement.holders(name)) > 1 for name in agreement.attributes):
            return frozenset()
        return frozenset(number for number, table in enumerate(tables) if is_across(agreement, table))

    @cached_property
    def first_candidates(self) -> frozenset[int]:
        """The candidates that rounds keep to at first: those across owners, if there are others as well."""
        is_part = len(self.candidates_across) < len(self.candidates)
        return self.candidates_across if is_part else frozenset()

    def keeps_to_pairs_across(self, purse: RemainingBudget) -> bool:
        """Whether rounds that have so much left still keep to candidates across owners."""
        return purse.left > self.purse.left * (1 - SHARE_FOR_PAIRS_ACROSS)

    @property
    def currency(self) -> Currency:
        """What the budget is counted in."""
        return "rho" if self.agreement.uses_gaussian_noise else "epsilon"

    @cached_property
    def whole(self) -> Concentrated:
        """The budget of zero-concentrated differential privacy, where the noise is Gaussian."""
        largest = max((cells_of(table, self.sizes) for table in self.candidates), default=0)
        first_cells = sum(cells_of(table, self.sizes) for table in self.fixed)
        draws = (2 if self.rounds else 1) * BATCHES * _candidates_for_noise(first_cells)
        # As if every round drew noise ahead, and none took what an earlier one has left.
        at_once = _candidates_for_noise(max(largest, self.values_ahead(self.rounds)))
        draws += self.rounds * (BATCHES * at_once + len(self.candidates) + 1)
        return Concentrated(
            budget=self.agreement.mechanism_epsilon,
            agreed_delta=self.agreement.delta,
            calibrated_to=self.agreement.privacy.neighbors,
            selections_share=(1 - self.first_share) * LARGEST_SELECTIONS_SHARE if self.rounds else Fraction(0),
            samplers_distance=draws * DISTANCE_OF_A_DRAW,
        )

    @property
    def rounds(self) -> int:
        """How many tables are chosen at most."""
        return self.settings.agreed_rounds if self.candidates and self.caution.share < 1 else 0

    @cached_property
    def first_share(self) -> Fraction:
        """The part of the budget that the tables take which are measured for sure."""
        if self.rounds == 0:
            return Fraction(1)
        first = len(first_tables(self.agreement))
        with_required = self.caution.share * (first + PARTS_OF_A_REQUIRED_TABLE * len(self.settings.named)) / first
        return max(self.caution.share, min(with_required, LARGEST_SHARE_WITH_REQUIRED))

    @cached_property
    def caution(self) -> SpendingRule:
        """How the budget is spent, by how large noise is beside the counts.

        Where nothing but single columns is measured before pairs across owners, most of it is kept for those.
        """
        found = SpendingRule.at(self._error_of_first_tables, self.currency)
        is_kept = self.candidates_across and not self.settings.by_class(self.agreement) and self.currency == "rho"
        return SpendingRule(USUAL_SHARE[self.currency], USUAL_WORTH) if is_kept and found.share < 1 else found

    @cached_property
    def _error_of_first_tables(self) -> Fraction:
        """What part of its records noise moves in a first table, on average, at the usual share of the budget.

        From epsilon and delta alone, by the usual formula for Gaussian noise: it only has to say how large noise is.
        Required tables do not count: what one asks for should not end the choice.
        """
        tables = numbered(self.agreement, first_tables(self.agreement))
        epsilon, n_tables = float(self.agreement.mechanism_epsilon), len(tables)
        changed = 1 if self.agreement.privacy.neighbors == "add-remove" else 2
        if self.currency == "rho":
            rho = float(USUAL_SHARE[self.currency]) * epsilon**2 / (4 * math.log(1 / float(self.agreement.delta)))
            size = GAUSSIAN_MEAN_SIZE * math.sqrt(changed * n_tables / (2 * rho))
        else:
            size = changed * n_tables / (float(USUAL_SHARE[self.currency]) * epsilon)
        cells = sum(cells_of(table, self.sizes) for table in tables) / n_tables
        return Fraction(round(1000 * size * cells / (2 * self.agreement.records.expected)), 1000)

    @cached_property
    def budget(self) -> Fraction:
        """The whole budget, in its currency."""
        return self.whole.agreed_rho if self.currency == "rho" else self.agreement.mechanism_epsilon

    @cached_property
    def purse(self) -> RemainingBudget:
        """What rounds may spend."""
        return RemainingBudget.of(self.currency, self.budget * (1 - self.first_share), self.rounds)

    @cached_property
    def first(self) -> Measure | ConcentratedMeasure:
        """The disclosure of all tables that are measured for sure, at once."""
        what = "with the class" if self.settings.by_class(self.agreement) else "alone"
        tables = f"{len(self.fixed)} table{'s' if len(self.fixed) > 1 else ''}"
        label = f"number of records in every cell of {tables}: every column {what}"
        if self.settings.named:
            label = f"number of records in every cell of {tables}: those that the agreement names, and every column"
        entries = sum(cells_of(table, self.sizes) for table in self.fixed)
        return self._measure(Place(FIRST), label, self.budget * self.first_share, len(self.fixed), entries)

    def again(self, budget: Fraction) -> Measure | ConcentratedMeasure:
        """The disclosure of the same tables once more, with what rounds left."""
        return self._measure(Place(AGAIN), f"{self.first.label}, again", budget, len(self.fixed), self.first.entries)

    def chosen(self, table: Columns, number: int, budget: Fraction) -> Measure | ConcentratedMeasure:
        """The disclosure of a table that was chosen in a round."""
        names, cells = " by ".join(f"'{self.names[column]}'" for column in table), cells_of(table, self.sizes)
        label, padding = f"number of records in every cell of {names}", 0
        if self.currency == "epsilon":
            label, padding = f"{label}; noise alone in places that pad it", padded(cells) - cells
        place = Place(CHOSEN, number=number, common="number of records in every cell of a chosen table")
        return self._measure(place, label, budget, 1, cells + padding, padding=padding)

    def choices_ahead(self, rounds: int) -> int:
        """For how many of these rounds' choices noise is drawn at once."""
        return max(1, min(rounds, VALUES_AT_ONCE // (len(self.candidates) + 1)))

    def values_ahead(self, rounds: int) -> int:
        """How many values of Gaussian noise are drawn at once for the tables of these rounds, of usual size."""
        cells = sum(cells_of(table, self.sizes) for table in self.candidates)
        return min(VALUES_AT_ONCE, math.ceil(TABLES_TO_SPARE * rounds * cells / max(1, len(self.candidates))))

    def _measure(
        self, place: Place, label: str, budget: Fraction, n_tables: int, entries: int, *, padding: int = 0
    ) -> Measure | ConcentratedMeasure:
        # A record is in one cell of each table: it adds 1 to so many counts; replacing it changes twice as many.
        changed: Influence = {"add-remove": n_tables, "replace": 2 * n_tables}
        neighbors = self.agreement.privacy.neighbors
        if self.currency == "rho":
            return ConcentratedMeasure(
                place=place,
                label=label,
                budget=self.agreement.mechanism_epsilon,
                agreed_delta=self.agreement.delta,
                calibrated_to=neighbors,
                squared_l2_sensitivity=changed,
                entries=entries,
                rho_budget=budget,
                whole=self.whole,
            )
        return Measure(
            place=place,
            label=label,
            budget=budget,
            calibrated_to=neighbors,
            l1_sensitivity=changed,
            changed_entries=changed,
            entries=entries,
            padding=padding,
            shares=NoiseShares.of(self.agreement),
        )

    def choice(self, number: int, budget: Fraction) -> Select | ConcentratedSelect:
        """The disclosure of which table is chosen in a round, or that none is."""
        common = "the table whose counts are farthest from the model's, or none"
        place, label = Place(CHOICE, number=number, common=common), f"round {number}: {common}"
        is_part = self.currency == "rho"
        disclosure: Callable[..., Select] = partial(ConcentratedSelect, whole=self.whole) if is_part else Select
        return disclosure(
            place=place,
            label=label,
            budget=selection_epsilon(budget) if is_part else budget,
            calibrated_to=self.agreement.privacy.neighbors,
            score_range=SCORE_RANGE,
            candidates=len(self.candidates) + 1,
        )

    def disclosures(self) -> list[Disclosure]:
        """What a run opens: the first tables, and a bound on what rounds open."""
        found: list[Disclosure] = [self.first]
        budget = self.purse.next_round()
        if budget is not None:
            found.append(self._rounds_of_rho() if self.currency == "rho" else self._rounds_of_epsilon())
        return found

    @property
    def _label_of_rounds(self) -> str:
        common = self.choice(1, self.purse.left).place.common
        where = ", across owners first" if self.first_candidates else ""
        then = "and that table; the first tables again with what is left"
        return f"in at most {self.rounds} rounds: {common}{where}, {then}"

    def _largest(self, budget: Fraction) -> Measure | ConcentratedMeasure:
        """The disclosure of the largest table that may be chosen."""
        return self.chosen(max(self.candidates, key=lambda table: cells_of(table, self.sizes)), 1, budget)

    def _rounds_of_rho(self) -> ConcentratedRounds:
        budget = self.purse.next_round()
        return ConcentratedRounds(
            place=Place(ROUNDS),
            label=self._label_of_rounds,
            rho_budget=self.purse.left,
            whole=self.whole,
            usual=self._largest(budget.table if budget else self.purse.left),  # type: ignore[arg-type]  # it is rho
        )

    def _rounds_of_epsilon(self) -> Divided:
        budget = self.purse.next_round()
        least = self.purse.step if budget is None else min(budget.selection, budget.table)
        left, neighbors = self.purse.left, self.agreement.privacy.neighbors
        parts = (
            (self.choice(1, least), self.choice(1, left)),
            (self._largest(least), self._largest(left)),
        )
        # Both a table's change and a selection's range double if a record is replaced.
        factor: dict[Neighbors, Fraction] = {"add-remove": Fraction(1), "replace": Fraction(2)}
        return Divided(
            place=Place(ROUNDS),
            label=self._label_of_rounds,
            parts=(*parts * self.rounds, (self.again(SMALLEST_REST * left), self.again(left))),
            budget={relation: left * factor[relation] / factor[neighbors] for relation in NEIGHBORS},
            usual=self._largest(budget.table if budget else left),
        )


def padded(cells: int) -> int:
    """How many counts a chosen table is measured with: few sizes mean few programs to compile. The others are 0."""
    size = LEAST_ENTRIES
    while size < cells:
        size *= 4
    return size


def _candidates_for_noise(entries: int) -> int:
    """The most candidates that Gaussian noise on so many entries draws at a time, whatever its scale."""
    return 2 * entries + 12 * math.isqrt(entries) + 128
