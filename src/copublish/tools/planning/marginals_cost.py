"""What a secure run of marginals costs, by operations that are counted from the agreement alone.

Everything is asked of the plan: which tables are measured and which may be chosen, the schedule, the noise. How many
rounds there are, and which tables they choose, follows from what is opened, so relations between columns are assumed.
As many pairs as there are columns, less one, are off from a model without them by a share of the records; as many
others by a tenth of that, and so on. Pairs that a required table holds are among the first, and are known. Rounds are
then played by the rules of a run: the strongest pair is chosen if that is worth its noise, and else none is, and the
noise halved. Which pairs these are is a fixed random order, in which a run first keeps to pairs across owners.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from math import inf
from typing import Any

import numpy as np

from copublish.agreement.axis import evenly_divided
from copublish.agreement.model import Agreement
from copublish.engines.spu.products import most_records, padded_records, tile_places
from copublish.kernel.accounting.concentrated import ConcentratedMeasure
from copublish.kernel.accounting.disclosures import Measure
from copublish.kernel.noise.geometric import Geometric
from copublish.kernel.programs.noise import COMPARISONS_PER_ROUND, WORD_BITS
from copublish.kernel.programs.packing import lanes_within
from copublish.mechanisms.marginals.junction_tree import Columns, cells_of, cliques_of
from copublish.mechanisms.marginals.measurements import SMALLEST_REST
from copublish.mechanisms.marginals.plan import MarginalsPlan
from copublish.mechanisms.marginals.schedule import RemainingBudget, RoundBudget
from copublish.mechanisms.marginals.settings import MarginalsSettings
from copublish.mechanisms.shared.normal import mean_size
from copublish.mechanisms.shared.portable_floats import log
from copublish.mechanisms.shared.run_pairs import CELLS_PER_LINE
from copublish.tools.planning.costs import PredictedCost, Surroundings, coefficients_for, predict, round_trips_of
from copublish.tools.planning.hidden_membership import beside_shared, join_work, rows_of
from copublish.tools.planning.tuning import Work

KEPT_SHARE = 0.7
"""Of candidates for Gaussian noise: the others are drawn in vain."""

MILLION = 1e6

CELLS_OF_A_CLIQUE, CELLS_OF_A_FIT = 600, 2000
"""How many cells of a model take as long as one clique, and as one fit, do beside its cells: the time of NumPy's calls.
"""

TIMES_OF_A_LINE = 8
"""A line that is multiplied with presence takes as long as so many cells of a product of two owners' columns: it is
encoded, transformed and checked for one number that comes out. Measured: 0.46 to 0.56 s for a million records and lines
of both owners together, and 0.06 s for as many cells."""

USUAL_STRENGTH = 0.6
"""By what share of the records the strongest pairs are off from a model without them, in the L1 distance."""

WEAKER = 0.1
"""How strong the pairs are that are left when as many were chosen as there are columns, less one: once a model knows
these it knows most of the others. Between columns of which each depends on one other, and columns that all depend on
something that is no column."""

ASSUMED = (
    "Operations are counted from the agreement alone, with the records that it expects; how many rounds there are, and "
    "which tables they choose, follows from the data, so both are assumed. A run that finds programs which an earlier "
    "one has compiled takes less."
)
"""What a prediction assumes."""


def predict_from_agreement(agreement: Agreement, surroundings: Surroundings | None = None) -> PredictedCost | None:
    """The predicted cost of a secure run, of a mechanism whose agreement fixes its operations; none of others.

    Args:
        agreement: What is run.
        surroundings: By default all parties on one quiet machine with two cores.

    Privacy:
        Depends on the agreement alone: public domains, and the number of records that it expects.
    """
    if not isinstance(agreement.mechanism, MarginalsSettings):
        return None
    cost = _predict(agreement, surroundings)
    return beside_shared(cost, agreement, agreement.records.expected, lambda other: _predict(other, surroundings))


def _predict(agreement: Agreement, surroundings: Surroundings | None) -> PredictedCost:
    plan, work = MarginalsPlan.of(agreement), work_of(agreement)
    cost, by = predict(agreement, work, surroundings), coefficients_for(agreement)
    if cost.seconds is None or by is None:
        return cost
    cost = replace(cost, why=f"{cost.why} {ASSUMED}", round_trips=round_trips_of(work, by))
    if not plan.rounds:
        return cost
    most = planned_rounds(plan, inf)
    at_most = predict(agreement, work_of(agreement, most), surroundings)
    return replace(
        cost,
        rounds=len(planned_rounds(plan)),
        most_rounds=len(most),
        most_seconds=at_most.seconds,
        most_mib_sent=at_most.mib_sent,
    )


@dataclass(frozen=True)
class PlannedRound:
    """A round as it is assumed.

    Attributes:
        budget: What it may spend.
        ahead: For how many rounds like it noise is drawn at once, at most.
        table: The table that it chooses; none if no table is worth its noise.
    """

    budget: RoundBudget
    ahead: int
    table: Columns | None


def planned_rounds(plan: MarginalsPlan, strength: float = USUAL_STRENGTH) -> list[PlannedRound]:
    """The rounds of a run.

    Args:
        plan: What is run.
        strength: The share of the records by which the strongest pairs are off from a model without them; without end
            noise is never halved, and there are most rounds.
    """
    purse, found, order = plan.purse, list[PlannedRound](), _Order.of(plan)
    across_first = bool(plan.first_candidates)
    while plan.rounds and (budget := purse.next_round()) is not None:
        across_first = across_first and plan.keeps_to_pairs_across(purse)
        table = order.next(plan.first_candidates if across_first else None)
        off = strength * WEAKER ** (order.known // max(1, len(plan.names) - 1)) * plan.agreement.records.expected
        if table is not None and not _is_worth(plan, table, len(found) + 1, budget, off):
            table = None
        found.append(PlannedRound(budget, purse.rounds_like_the_next, table))
        if table is not None:
            order.choose(table)
        elif purse.is_last:
            break
        purse = _after_round(purse, budget, table, across_first=across_first)
        across_first = across_first and table is not None
    return found


def _after_round(
    purse: RemainingBudget, budget: RoundBudget, table: Columns | None, *, across_first: bool
) -> RemainingBudget:
    """What is left: noise is halved where no table was worth it, unless only those across owners were asked for."""
    if table is not None:
        return purse.after(budget, halve_noise=False)
    return purse.after(RoundBudget(budget.selection, Fraction(0)), halve_noise=not across_first)


def _is_worth(plan: MarginalsPlan, table: Columns, number: int, budget: RoundBudget, off: float) -> bool:
    """Whether a table that is off by so many records is worth its noise, by the rule of a run."""
    noise = mean_size(plan.chosen(table, number, budget.table)) * cells_of(table, plan.sizes)
    none = plan.choice(number, budget.selection).scale_in_people * log(len(plan.candidates) + 1)
    return off - float(plan.caution.worth) * noise > none


def rounds_made(plan: MarginalsPlan, chosen: Sequence[Columns | None]) -> list[PlannedRound]:
    """The rounds of a run that was made, by its choices: noise is taken to be halved where no table was chosen."""
    purse, found, across_first = plan.purse, list[PlannedRound](), bool(plan.first_candidates)
    for table in chosen:
        if (budget := purse.next_round()) is None:
            break
        across_first = across_first and plan.keeps_to_pairs_across(purse)
        found.append(PlannedRound(budget, purse.rounds_like_the_next, table))
        purse = _after_round(purse, budget, table, across_first=across_first)
        across_first = across_first and table is not None
    return found


@dataclass
class _Order:
    """The order in which candidates are assumed to be chosen.

    Attributes:
        plan: What is run.
        left: The candidates that no table holds which is measured for sure. One that was chosen goes to the end; one
            that makes the model too large leaves.
        measured: The tables that were measured so far.
        known: How many candidates were measured, in a table of their own or in a required one.
    """

    plan: MarginalsPlan
    left: list[int]
    measured: list[Columns]
    known: int

    @staticmethod
    def of(plan: MarginalsPlan) -> _Order:
        order = np.random.default_rng(0).permutation(len(plan.candidates)).tolist()
        tables = [set(table) for table in plan.fixed]
        left = [number for number in order if not any(table >= set(plan.candidates[number]) for table in tables)]
        return _Order(plan, left, list(plan.fixed), len(order) - len(left))

    def next(self, among: frozenset[int] | None) -> Columns | None:
        """The next table of some candidates, or of all; none if no model with one is small enough."""
        for number in [number for number in self.left if among is None or number in among]:
            table = self.plan.candidates[number]
            if max(_clique_cells(self.plan, [*self.measured, table])) <= self.plan.settings.agreed_model_cells:
                return table
            self.left.remove(number)
        return None

    def choose(self, table: Columns) -> None:
        """Measure a table."""
        number = self.plan.candidates.index(table)
        self.left.remove(number)
        self.left.append(number)
        self.measured.append(table)
        self.known += 1


def _clique_cells(plan: MarginalsPlan, tables: Sequence[Columns]) -> list[int]:
    return [cells_of(clique, plan.sizes) for clique in cliques_of(plan.sizes, tables)]


def work_of(agreement: Agreement, rounds: Sequence[PlannedRound] | None = None) -> Work:
    """The work of a run.

    Args:
        agreement: What is run.
        rounds: Its rounds; by default those of relations of usual strength.

    Privacy:
        Depends on the agreement alone: public domains, and the number of records that it expects.
    """
    plan = MarginalsPlan.of(agreement)
    planned, n_parties = planned_rounds(plan) if rounds is None else rounds, len(agreement.parties)
    cells = [cells_of(table, plan.sizes) for table in plan.candidates] if plan.rounds else []
    n_records, places = agreement.records.expected, len(plan.candidates) + 1
    compared = sum(cells) * (len(planned) + 1) / 1e3
    drawn = plan.records_to_draw(n_records) * n_parties + n_records * _holders_of_a_cell(agreement)
    bits, candidates = _noise(plan, planned)
    guests = len(agreement.guests)
    work = Work(
        starts=1.0,
        guests=float(guests if agreement.engine.name == "spu" else n_parties),
        rounds=float(len(planned)),
        biased_bits=bits / 1e3,
        drawn_noise=candidates / 1e3,
        compared=compared,
        guest_words=compared * guests,
        met=len(planned) * comparisons_of(places) / 1e3,
        fitted=n_parties * _fitted_cells(plan, planned) / MILLION,
        drawn_cells=drawn * len(plan.names) / MILLION,
        people=n_records * len(agreement.owners) / MILLION if agreement.compares_people else 0.0,
        summed=0.0 if agreement.engine.name == "spu" else plan.first.entries * len(agreement.owners) / 1e3,
    )
    if agreement.hides_membership:
        join = join_work(agreement, n_records)
        work = replace(work, people=join.people, multiplied=join.multiplied, points=join.points)
    return _with_products(agreement, plan, work)


def _holders_of_a_cell(agreement: Agreement) -> int:
    return len(agreement.owners) if agreement.partition == "arbitrary" else 1


def _fitted_cells(plan: MarginalsPlan, planned: Sequence[PlannedRound]) -> int:
    """Cells of the model in all fits together, and what goes with fits and cliques as if it were cells."""
    tables, found = list(plan.fixed), 0
    for one in (None, *planned):
        if one is None or one.table is not None:
            tables += [] if one is None or one.table is None else [one.table]
            cells = _clique_cells(plan, tables)
            found += sum(cells) + CELLS_OF_A_CLIQUE * len(cells) + CELLS_OF_A_FIT
    return found


def _noise(plan: MarginalsPlan, planned: Sequence[PlannedRound]) -> tuple[float, float]:
    """Biased bits of all noise, and candidates for Gaussian noise; what is drawn ahead and left over included."""
    places, bits, candidates = len(plan.candidates) + 1, 0.0, 0.0
    choices: dict[Any, int] = defaultdict(int)
    values: dict[Any, float] = defaultdict(float)

    def measure(disclosure: Measure | ConcentratedMeasure, ahead: int) -> None:
        nonlocal bits, candidates
        if not isinstance(disclosure, ConcentratedMeasure):
            if isinstance(disclosure.noise, Geometric):
                bits += _samples(2 * disclosure.entries) * disclosure.noise.bits
            return
        noise = disclosure.noise
        if values[noise] < disclosure.entries:
            drawn = noise.candidates(max(disclosure.entries, ahead))
            candidates, bits = candidates + drawn, bits + drawn * (noise.bits + noise.square_bits)
            values[noise] = max(KEPT_SHARE * drawn, disclosure.entries)
        values[noise] -= disclosure.entries

    measure(plan.first, 0)
    for number, one in enumerate(planned, start=1):
        noise = plan.choice(number, one.budget.selection).noise
        if not choices[noise.rate]:
            choices[noise.rate] = plan.choices_ahead(one.ahead)
            bits += choices[noise.rate] * _samples(places) * noise.bits
        choices[noise.rate] -= 1
        if one.table is not None:
            measure(plan.chosen(one.table, number, one.budget.table), plan.values_ahead(one.ahead))
    spent = sum(one.budget.selection + (one.budget.table if one.table else 0) for one in planned)
    if (left := plan.purse.left - spent) > SMALLEST_REST * plan.purse.left and plan.rounds:
        measure(plan.again(left), 0)
    return bits, candidates


def comparisons_of(places: int) -> int:
    """How many comparisons a selection makes: in rounds of groups in which all meet, as many as fit at once."""
    n, found = places, 0
    while (size := min(n, max(2, 1 + 2 * COMPARISONS_PER_ROUND // n))) < n:
        whole, rest = divmod(n, size)
        found += whole * size * (size - 1) // 2 + rest * (rest - 1) // 2
        n = whole + (rest > 0)
    return found + n * (n - 1) // 2


def _samples(wanted: int) -> int:
    return -(-wanted // WORD_BITS) * WORD_BITS


def _with_products(agreement: Agreement, plan: MarginalsPlan, work: Work) -> Work:
    """The same work with the products that join columns of several owners."""
    tables = (*plan.fixed, *(plan.candidates if plan.rounds else ()))
    joined = [table for table in tables if _is_joined(agreement, [plan.names[column] for column in table])]
    if agreement.partition == "horizontal" or agreement.engine.name != "spu":
        return work
    work = replace(work, products=1.0)  # keys are exchanged as soon as workers meet
    paired = sorted({column for table in joined if len(table) == 2 for column in table})
    for product in (
        *(_pair_products(agreement, plan, paired) if paired else ()),
        *(_table_product(agreement, plan, table) for table in joined if len(table) > 2),
        *(_presence_products(agreement, plan, [table for table in dict.fromkeys(tables) if table not in joined])),
    ):
        work = product.added_to(work, agreement)
    return work


def _presence_products(agreement: Agreement, plan: MarginalsPlan, own: Sequence[Columns]) -> Iterator[Product]:
    """Products of one owner's tables with the others' presence, where nobody learns who is common.

    Between two owners they are products with one column, in which cells share lines. More owners mark, and all of them
    have a say in every line.
    """
    if not agreement.hides_membership:
        return
    everybody = frozenset(agreement.owners)
    is_marked = len(agreement.parties) > 2
    lanes = 1 if is_marked else lanes_within(rows_of(agreement, agreement.records.expected))
    lines: dict[frozenset[str], int] = defaultdict(int)
    for table in own:
        holders = frozenset().union(*(_holders(agreement, plan.names[column]) for column in table))
        lines[holders] += -(-cells_of(table, plan.sizes) // lanes)
    for rows in lines.values():
        yield Product(rows, 1, marks=rows, holders=everybody) if is_marked else Product(rows, 1, is_of_presence=True)


def _is_joined(agreement: Agreement, names: Sequence[str]) -> bool:
    """Whether no single owner has all these columns of every record."""
    own = [name for name in names if not (name == agreement.class_name and agreement.class_is_shared)]
    holders = {agreement.holders(name) for name in own}
    return len(own) > 1 and not (len(holders) == 1 and len(next(iter(holders))) == 1)


@dataclass(frozen=True)
class Product:
    """A table of counts that one product of all records gives.

    Attributes:
        rows: Of the table.
        columns: Of the table.
        factors: Products of private matrices that one product of shares takes; 1 of matrices that two parties own.
        marks: Lines that are marked, of which the first counts; 0 of matrices that two parties own.
        holders: The parties that mark them.
        is_of_presence: Whether one owner's lines are multiplied with the other's presence.
    """

    rows: int
    columns: int
    factors: int = 1
    marks: int = 0
    holders: frozenset[str] = frozenset()
    is_of_presence: bool = False

    def added_to(self, work: Work, agreement: Agreement) -> Work:
        """Some work, and that of this product."""
        cells = self.rows * self.columns
        chunk = most_records(CELLS_PER_LINE * cells if self.is_of_presence else cells)
        n_records, shards = rows_of(agreement, agreement.records.expected), agreement.engine.agreed_shards
        per_shard = -(-n_records // shards)
        whole, rest = divmod(per_shard, chunk)
        records = shards * (whole * padded_records(chunk) + (padded_records(rest) if rest else 0)) / MILLION
        tiles = list(tile_places(self.rows, self.columns))
        sent = sum(min(bottom - top, right - left) for (top, bottom), (left, right) in tiles)
        return replace(
            work,
            calls=work.calls + shards * (whole + (rest > 0)) * len(tiles),
            product_columns=work.product_columns + self.factors * records * sent,
            product_cells=work.product_cells + records * (TIMES_OF_A_LINE * cells if self.is_of_presence else cells),
            marks=work.marks + records * self.marks * max(0, len(self.holders) - 1),
            first_marks=work.first_marks + records * self.marks,
            guest_marks=work.guest_marks + records * self.marks * len(self.holders & set(agreement.guests)),
        )


def _pair_products(agreement: Agreement, plan: MarginalsPlan, paired: Sequence[int]) -> Iterator[Product]:
    """Products of which all tables of two joined columns come."""
    holders = {column: _holders(agreement, plan.names[column]) for column in paired}
    lines = sum(plan.sizes[column] for column in paired)
    if _is_marked(agreement, holders.values()):
        yield Product(lines, lines, marks=lines, holders=frozenset().union(*holders.values()))
        return
    lines_of = {
        party: sum(plan.sizes[column] for column in paired if holders[column] == {party}) for party in agreement.parties
    }
    yield from (Product(one, other) for one, other in combinations([n for n in lines_of.values() if n], 2))


def _table_product(agreement: Agreement, plan: MarginalsPlan, table: Columns) -> Product:
    """The product of a larger table."""
    holders = {column: _holders(agreement, plan.names[column]) for column in table}
    cells = cells_of(table, plan.sizes)
    if _is_marked(agreement, holders.values()):
        chosen = evenly_divided([plan.sizes[column] for column in table])
        rows = cells_of(tuple(column for number, column in enumerate(table) if number in chosen), plan.sizes)
        return Product(
            rows, cells // rows, factors=2, marks=rows + cells // rows, holders=frozenset().union(*holders.values())
        )
    first = {agreement.party_names[0]}
    rows = cells_of(tuple(column for column in table if holders[column] == first), plan.sizes)
    return Product(rows, cells // rows)


def _holders(agreement: Agreement, name: str) -> frozenset[str]:
    """The owners that hold a column; of a class that all know the one that counts.

    Where three or more hide whom they share, everybody's presence counts in every cell.
    """
    if agreement.hides_membership and len(agreement.parties) > 2:
        return frozenset(agreement.owners)
    if name == agreement.class_name and agreement.class_is_shared:
        return frozenset({agreement.class_owner})
    return frozenset(agreement.holders(name))


def _is_marked(agreement: Agreement, holders: Any) -> bool:
    """Whether cells are marked, as three or more parties do, and owners of the same column."""
    return len(agreement.parties) > 2 or any(len(own) > 1 for own in holders)
