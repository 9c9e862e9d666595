"""Synthetic records from chosen noisy tables: first every column with the class, then what a model gets most wrong.

Without a class every column is measured alone first. One person is in one cell of each first table either way.

The first tables, and those that the agreement requires, are measured and a model is fitted. In every round all
candidate tables, which stay secret, are compared with the model; the noisy maximum is chosen, measured, and the model
fitted again. If a table moved the model by less than its noise would, or if none was worth its noise, the rounds that
follow have half of the noise. Where columns have one owner each, only tables across owners may be chosen at first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from copublish.agreement.axis import Axis
from copublish.errors import EngineError
from copublish.kernel.accounting.concentrated import ConcentratedMeasure
from copublish.kernel.accounting.disclosures import Measure, Select
from copublish.kernel.programs.packing import Packing
from copublish.kernel.records.joint_table import JointTable
from copublish.kernel.secrets.computer import Computer, ProgramComputer, computer_as
from copublish.kernel.secrets.gate import Gate
from copublish.kernel.secrets.secret import Secret, SecretCounts
from copublish.mechanisms.marginals.junction_tree import Columns, cells_of, most_cells
from copublish.mechanisms.marginals.measurements import SMALLEST_REST
from copublish.mechanisms.marginals.model import FittingProblem, MeasuredTable, State, estimated_total
from copublish.mechanisms.marginals.plan import MarginalsPlan
from copublish.mechanisms.marginals.records import MarginalsResult, RoundChoice
from copublish.mechanisms.marginals.run_model import agree_on_model, answers_of, tables_of_cliques
from copublish.mechanisms.marginals.run_tables import (
    NOT_ELIGIBLE,
    OFFSET_BITS,
    candidate_scores,
    count_bits,
    part_of,
    places_of_tables,
    refuse_out_of_bounds,
)
from copublish.mechanisms.marginals.schedule import RoundBudget
from copublish.mechanisms.shared.normal import deviation, mean_size
from copublish.mechanisms.shared.portable_floats import log
from copublish.mechanisms.shared.run_tables import kept, secret_tables
from copublish.progress import Progress
from copublish.types import IntArray

NOTHING_ASKED = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class Fitted:
    """What was measured so far, the model of it, and by how many records its newest table moved it."""

    problem: FittingProblem
    units: IntArray
    state: State
    moved: int


def run_marginals(
    plan: MarginalsPlan, table: JointTable, computer: Computer, gate: Gate, progress: Progress
) -> MarginalsResult:
    """Run the mechanism at one party.

    Args:
        plan: What is opened, at which price.
        table: This party's aligned cells.
        computer: Its end of the computation.
        gate: Where tables and choices are opened.
        progress: Told about every step.

    Privacy:
        Protects: one person, with all their cells, at every party.
        Guarantee: the plan's budget by adaptive composition. What a round spends follows from what was opened; the
            schedule refuses a round that is not covered, and so do the gate and every party's ledger by their own
            count.
        Reveals: the noisy first tables; in every round which candidate was chosen, and its noisy counts; to all
        parties.
        Assumes: public answers are within bounds, see `run_scores.py`; every party checks them.
    """
    run = _Run(plan, table, computer, gate, progress)
    secret_counts = run.count_tables()
    fitted = run.fit(None, run.measure_first_tables(secret_counts, plan.first))
    choices: list[RoundChoice] = []
    purse = plan.purse
    across_first = bool(plan.first_candidates)
    while (budget := purse.next_round()) is not None:
        number, ahead = len(choices) + 1, purse.rounds_like_the_next
        across_first = across_first and plan.keeps_to_pairs_across(purse)
        answers, offsets = run.ask(fitted, number, budget, plan.first_candidates if across_first else None)
        index = run.choose(secret_counts, answers, offsets, plan.choice(number, budget.selection), ahead)
        if index == len(plan.candidates):
            choices.append(RoundChoice(None, None))
            run.tell_choice(number, "none is worth its noise")
            was_last = purse.is_last
            # If none across owners was, the next round asks for all others with the noise as it is.
            purse = purse.after(RoundBudget(budget.selection, Fraction(0)), halve_noise=not across_first)
            across_first = False
            if was_last:
                break
            continue
        found, mean_size = run.measure_chosen(secret_counts, index, number, budget, ahead)
        run.tell_choice(number, " by ".join(plan.names[column] for column in found.columns))
        fitted = run.fit(fitted, (found,), run.part(answers, index))
        choices.append(RoundChoice(found.columns, len(fitted.problem.tables) - 1))
        purse = purse.after(budget, halve_noise=fitted.moved <= mean_size * len(found.values))
    if plan.rounds and purse.left > SMALLEST_REST * plan.purse.left:
        # Nothing that may be chosen is worth its noise: what is left makes the first tables more exact.
        fitted = run.fit(fitted, run.measure_first_tables(secret_counts, plan.again(purse.left)))
    progress("records", 0, 1)
    return MarginalsResult(
        agreement=plan.agreement,
        sizes=plan.sizes,
        tables=fitted.problem.tables,
        choices=tuple(choices),
        factors=fitted.units,
        tree=fitted.problem.tree,
        cliques=tuple(tables_of_cliques(fitted.state)),
        total=fitted.problem.total,
        n_records=plan.records_to_draw(fitted.problem.total),
    )


@dataclass(frozen=True)
class _Run:
    """The steps of a run at one party."""

    plan: MarginalsPlan
    table: JointTable
    computer: Computer
    gate: Gate
    progress: Progress

    def axes(self, table: Columns) -> list[Axis]:
        """The axes of a table."""
        domains = list(self.plan.agreement.columns.values())
        return [Axis.of(domains[column]) for column in table]

    def cells(self, tables: tuple[Columns, ...]) -> list[int]:
        """Number of cells of each table."""
        return [cells_of(table, self.plan.sizes) for table in tables]

    def count_tables(self) -> Secret:
        """Count all tables that are measured for sure, then all that may be chosen; shape (n_cells, 1).

        At once, because products of two parties' columns are the same for all tables. The counts stay secret, and no
        later step touches records.
        """
        plan, name = self.plan, "tables"
        self.progress(name, 0, 1)
        chosen_from = plan.candidates if plan.rounds else ()
        counted = secret_tables(
            self.table,
            [self.axes(table) for table in (*plan.fixed, *chosen_from)],
            self.computer,
            bits=self.count_bits if chosen_from else None,
            progress=lambda done, of: self.progress(name, done, of + 1),
        )
        counted = kept(counted, self.computer) if chosen_from else counted
        self.progress(name, 1, 1)
        return counted

    def measure_first_tables(
        self, secret_counts: Secret, disclosure: Measure | ConcentratedMeasure
    ) -> tuple[MeasuredTable, ...]:
        """Measure the tables that are measured for sure."""
        plan = self.plan
        own = self._part_of(secret_counts, 0, disclosure.entries, disclosure.entries)
        # Opens the counts of all first tables plus noise, to all parties; covered by the first part of the budget, and
        # where they are measured again by what rounds left.
        noisy = self._revealed(own, disclosure, ahead=0)
        parts = np.split(noisy, np.cumsum(self.cells(plan.fixed))[:-1])
        return tuple(self._noisy(columns, part, disclosure) for columns, part in zip(plan.fixed, parts, strict=True))

    def _part_of(self, secret_counts: Secret, start: int, stop: int, size: int) -> Secret:
        if (start, stop) == (0, secret_counts.shape[0]) and size == stop:
            return secret_counts  # without candidates there is nothing else, and perhaps no engine that computes
        computing = computer_as(ProgramComputer, self.computer)
        return computing.compute(part_of, secret_counts, start=start, stop=stop, size=size)

    def _noisy(self, columns: Columns, values: IntArray, disclosure: Measure | ConcentratedMeasure) -> MeasuredTable:
        return MeasuredTable(columns, values, deviation(disclosure), disclosure.place)

    def _revealed(self, secret_counts: Secret, disclosure: Measure | ConcentratedMeasure, *, ahead: int) -> IntArray:
        if isinstance(disclosure, ConcentratedMeasure):
            return self.gate.reveal_gaussian_measurement(secret_counts, disclosure, ahead=ahead)
        return self.gate.reveal_measurement(SecretCounts(secret_counts, Packing(1)), disclosure)

    @property
    def count_bits(self) -> int:
        """Of the range of counts and answers that are compared."""
        return count_bits(self.cells(self.plan.candidates), len(self.computer.parties))

    def fit(self, before: Fitted | None, new: tuple[MeasuredTable, ...], answers: IntArray = NOTHING_ASKED) -> Fitted:
        """Fit the model to what was measured before and to new tables, of the last of which it said `answers`."""
        tables = (*(before.problem.tables if before else ()), *new)
        problem = FittingProblem(self.plan.sizes, tables, self._total(tables))
        known = before.units if before else np.zeros(0, dtype=np.int64)
        start = np.concatenate([known, np.zeros(len(problem.wanted) - len(known), dtype=np.int64)])
        units, state, moved = agree_on_model(problem, start, answers, self.computer)
        return Fitted(problem, units, state, moved)

    def _total(self, tables: tuple[MeasuredTable, ...]) -> int:
        """The number of records: public, or what was agreed to be expected and all tables' sums say together."""
        public = self.table.public_total
        return estimated_total(tables, self.plan.agreement.records.expected) if public is None else max(1, public)

    def ask(
        self, fitted: Fitted, number: int, budget: RoundBudget, among: frozenset[int] | None
    ) -> tuple[IntArray, IntArray]:
        """What the model says of all candidates, in whole records, and what is added to their distances from it.

        Args:
            fitted: The model.
            number: The number of the round.
            budget: What it may spend.
            among: The numbers of the candidates that may be chosen; all of them if nothing is said.
        """
        answers = answers_of(fitted.problem, fitted.state, self.plan.candidates)
        return answers, self._offsets(fitted, number, budget, among)

    def part(self, values: IntArray, index: int) -> IntArray:
        """What belongs to one candidate of what stands one after the other."""
        cells = self.cells(self.plan.candidates)
        return values[sum(cells[:index]) : sum(cells[: index + 1])]

    def choose(
        self, secret_counts: Secret, answers: IntArray, offsets: IntArray, disclosure: Select, ahead: int
    ) -> int:
        """Choose a candidate by the noisy maximum of its score; the number after the last one stands for none."""
        cells = self.cells(self.plan.candidates)
        refuse_out_of_bounds(answers, offsets, cells, disclosure.noise.bits)
        computing = computer_as(ProgramComputer, self.computer)
        # Public numbers that all have computed; one party puts them in, the others nothing.
        puts_in = self.computer.party == self.plan.agreement.owners[0]
        told = [
            computing.share_within(public if puts_in else np.zeros_like(public), bits)
            for public, bits in ((answers, self.count_bits), (offsets, OFFSET_BITS))
        ]
        secret_scores = computing.compute(
            candidate_scores, secret_counts, *told, places=places_of_tables(cells), first=self.plan.first.entries
        )
        # Opens which candidate has the largest score plus noise, to all parties; covered by this round's selection.
        index = self.gate.reveal_selection(secret_scores, disclosure, ahead=self.plan.choices_ahead(ahead))
        if offsets[index] == NOT_ELIGIBLE:
            raise EngineError(
                "A table won that must not be chosen, so some party put in what no data have. Nothing is published."
            )
        return index

    def _offsets(self, fitted: Fitted, number: int, budget: RoundBudget, among: frozenset[int] | None) -> IntArray:
        """What is added to every candidate's distance, by a public rule; the last is the score of choosing none.

        A table is worth measuring if it is off by more than what its noise would add. So many candidates reach far up
        by chance alone, which choosing none has to be given as well.
        """
        plan, tree = self.plan, fitted.problem.tree
        measured = [table.columns for table in fitted.problem.tables]
        limit = plan.settings.agreed_model_cells
        found = []
        for place, table in enumerate(plan.candidates):
            fits = tree.home(table) is not None or most_cells(plan.sizes, [*measured, table]) <= limit
            fits = fits and (among is None or place in among)
            noise = mean_size(plan.chosen(table, number, budget.table)) * cells_of(table, plan.sizes)
            found.append(-math.ceil(float(plan.caution.worth) * noise) if fits else NOT_ELIGIBLE)
        choice = plan.choice(number, budget.selection)
        return np.array([*found, math.ceil(choice.scale_in_people * log(len(found)))], dtype=np.int64)

    def measure_chosen(
        self, secret_counts: Secret, index: int, number: int, budget: RoundBudget, ahead: int
    ) -> tuple[MeasuredTable, float]:
        """Measure a chosen table; return it, and how far noise moves a count on average."""
        plan, cells = self.plan, self.cells(self.plan.candidates)
        columns, start = plan.candidates[index], plan.first.entries + sum(cells[:index])
        disclosure = plan.chosen(columns, number, budget.table)
        own = self._part_of(secret_counts, start, start + cells[index], disclosure.entries)
        if isinstance(disclosure, Measure):
            # Computed on its own: the program that draws and adds noise then is the same for all tables of one size.
            own = kept(own, self.computer)
        # Opens the counts of the chosen table plus noise, to all parties; covered by this round's table.
        noisy = self._revealed(own, disclosure, ahead=plan.values_ahead(ahead))[: cells[index]]
        return self._noisy(columns, noisy, disclosure), mean_size(disclosure)

    def tell_choice(self, number: int, what: str) -> None:
        """Show what a round chose: it is public."""
        self.progress(f"round {number}: {what}", 1, 1)
