"""The keys of this mechanism in an agreement, and its rules."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import combinations
from math import prod
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field

from copublish.agreement.model import Agreement
from copublish.agreement.rules import constant_columns
from copublish.agreement.section import Section, Whole
from copublish.agreement.settings import MechanismSettings, Need, Partition
from copublish.mechanisms.marginals.junction_tree import Columns, most_cells

DEFAULT_ROUNDS, MAX_ROUNDS = 30, 100

MAX_SYNTHETIC_RECORDS = 10**7

MAX_COLUMNS = 64
"""The class included. Every two of them have a table that may be measured."""

MAX_CLASS_VALUES = 32
"""Of a class whose tables with all columns are measured: they have so many times the cells of a column."""

MAX_TABLE_CELLS = 8192
"""Of a table that may be measured: what noise is drawn for at once."""

MAX_CANDIDATE_CELLS = 2**19
"""Of all tables that may be measured together: they are secrets that are compared with the model in every round."""

MAX_COLUMNS_OF_TABLE = 4

DEFAULT_MODEL_CELLS, MAX_MODEL_CELLS = 2**15, 2**20
"""Cells of the largest set of columns that the model keeps as a whole."""

MIN_EPSILON = Fraction(1, 1000)
"""Below this the noise may no longer fit the engine's 62-bit integers."""


EXAMPLE = """\
[mechanism]
name = "marginals"               # tables of counts, and synthetic records that agree with them
"""

ListedTables = tuple[tuple[str, ...], ...]

REQUIRED_TABLES = '{ must = [["age", "region"]], then = "auto" }'
"""What a section says that requires tables and chooses others."""


def _refuse_no_list(value: object) -> object:
    """Say what a list of tables looks like before types are compared."""
    if not isinstance(value, list | tuple) or not all(
        isinstance(table, list | tuple) and all(isinstance(name, str) for name in table) for table in value
    ):
        raise ValueError('write a list of lists of columns, like [["age", "region"], ["age", "income"]]')
    return value


def _refuse_other_shapes(value: object) -> object:
    """Say what the key looks like before types are compared."""
    if isinstance(value, RequiredTables):
        return value
    if isinstance(value, Mapping):
        return _required_tables(value)
    if isinstance(value, list | tuple):
        return _refuse_no_list(value)
    if value not in (None, "pairs", "class-triples"):
        raise ValueError(
            'write "pairs", "class-triples", a list of tables like [["age", "region"]], or tables that are required '
            f"before others are chosen, like {REQUIRED_TABLES}"
        )
    return value


class RequiredTables(Section):
    """Tables that are measured with the first ones, before others are chosen.

    Attributes:
        must: The tables, of one to four columns each.
        then: Which ones may be chosen afterwards: pairs of columns, or those with the class.
    """

    must: ListedTables
    then: Literal["auto", "class-triples"]


def _required_tables(value: Mapping[object, object]) -> object:
    if set(value) != {"must", "then"}:
        raise ValueError(f"write required tables and what is chosen after them, like {REQUIRED_TABLES}")
    if not value["must"]:
        raise ValueError(f'"must" names no table. Remove "tables", or write {REQUIRED_TABLES}')
    _refuse_no_list(value["must"])
    if value["then"] not in ("auto", "class-triples"):
        raise ValueError('"then" is "auto" or "class-triples"; for no choice write the list of tables alone')
    return value


class MarginalsSettings(MechanismSettings):
    """Which tables are measured, how many, and how many records are made.

    Attributes:
        rounds: How many tables are chosen at most after the first ones.
        tables: Which ones may be chosen; or a list of those that are measured, without a choice; or tables that are
            required, and which ones may be chosen after them.
        first: What is measured before: every column with the class, or every column alone, as it is without a class.
        records: How many records are made; as many as there are, about, if it is not said.
        model_cells: The most cells of a set of columns that the model keeps as a whole.
    """

    name: Literal["marginals"]
    rounds: Whole | None = Field(default=None, ge=0, le=MAX_ROUNDS)
    tables: Annotated[
        Literal["pairs", "class-triples"] | RequiredTables | ListedTables | None, BeforeValidator(_refuse_other_shapes)
    ] = None
    first: Literal["class-tables", "columns"] | None = None
    records: Whole | None = Field(default=None, ge=1, le=MAX_SYNTHETIC_RECORDS)
    model_cells: Whole | None = Field(default=None, ge=1000, le=MAX_MODEL_CELLS)

    counts_alone: ClassVar[bool] = True
    draws_records: ClassVar[bool] = True
    noise_follows_delta: ClassVar[bool] = True
    example: ClassVar[str] = EXAMPLE
    drafted_instead: ClassVar[tuple[Mapping[str, Any], ...]] = ({"first": "columns"},)
    how_to_get_gaussian_noise: ClassVar[str | None] = "the mechanism 'marginals', whose noise is Gaussian with a delta"

    @property
    def listed(self) -> ListedTables | None:
        """The tables that are measured without a choice; nothing if they are chosen."""
        return self.tables if isinstance(self.tables, tuple) else None

    @property
    def named(self) -> ListedTables:
        """The tables that the agreement names to be measured for sure."""
        return self.tables.must if isinstance(self.tables, RequiredTables) else self.listed or ()

    @property
    def chooses_triples(self) -> bool:
        """Whether the tables that may be chosen have the class in them."""
        kind = self.tables.then if isinstance(self.tables, RequiredTables) else self.tables
        return kind == "class-triples"

    @property
    def agreed_rounds(self) -> int:
        """How many tables are chosen at most."""
        return 0 if self.listed is not None else DEFAULT_ROUNDS if self.rounds is None else self.rounds

    def by_class(self, agreement: Agreement) -> bool:
        """Whether every column is measured with the class first; without a class every column is measured alone."""
        return agreement.class_ is not None and self.first != "columns"

    @property
    def agreed_model_cells(self) -> int:
        """The most cells of a set of columns that the model keeps as a whole."""
        return DEFAULT_MODEL_CELLS if self.model_cells is None else self.model_cells

    def needs(self, partition: Partition) -> Need:
        """Sums alone where every owner has whole rows and no table is chosen; choosing compares secrets."""
        if partition != "horizontal":
            return "joins"
        return "programs" if self.listed is None else "sums"

    def broken_rules(self, agreement: Agreement) -> Iterator[str]:
        """Yield one sentence for every rule of this mechanism that the agreement breaks."""
        yield from constant_columns(agreement)
        if agreement.mechanism_epsilon < MIN_EPSILON:
            yield (
                f"privacy.epsilon: a marginals release needs at least {float(MIN_EPSILON):g}, got "
                f"{agreement.privacy.epsilon}; 0.1 to 2 is usual"
            )
        n_columns = len(agreement.columns)
        if n_columns > MAX_COLUMNS:
            yield (
                f"attributes: a marginals release has at most {MAX_COLUMNS} columns, the class included, and these are "
                f"{n_columns}. Leave some out: every column takes a part of the budget"
            )
            return
        if agreement.privacy.delta is not None and agreement.engine.name == "masked-sum":
            yield (
                "privacy.delta: with it the noise is Gaussian, and without a secure engine owners can only add shares "
                "of Laplace noise. Remove it, or take another engine"
            )
        if self.listed is not None and self.rounds is not None:
            yield 'mechanism.rounds: listed tables are measured without a choice. Remove it, or write tables = "pairs"'
        if agreement.engine.name == "masked-sum" and self.listed is None:
            yield (
                "mechanism.tables: choosing tables compares secrets, which masked sums cannot. List the tables to "
                f"measure, like tables = {json.dumps(self.named or [['age', 'region']])}; or take another engine"
            )
        problems = [*self._class(agreement), *self._named_tables(agreement)]
        yield from problems
        if not problems:
            yield from self._cells(agreement)

    def _class(self, agreement: Agreement) -> Iterator[str]:
        if agreement.class_ is None:
            if self.first == "class-tables":
                yield 'mechanism.first: "class-tables" needs a [class]. Remove "first", or add the section'
            if self.chooses_triples:
                yield 'mechanism.tables: "class-triples" needs a [class]. Take "pairs", or add the section'
            return
        size = agreement.class_domain.size
        if self.by_class(agreement) and size > MAX_CLASS_VALUES:
            yield (
                f"class.values: every column is measured with the class, which then has at most {MAX_CLASS_VALUES} "
                f'values, and these are {size}. Put values together, or write first = "columns" in [mechanism]'
            )
        if self.chooses_triples and not self.by_class(agreement):
            yield 'mechanism.tables: "class-triples" goes with first = "class-tables". Remove "first", or take "pairs"'

    def _named_tables(self, agreement: Agreement) -> Iterator[str]:
        known = ", ".join(f"'{name}'" for name in agreement.columns)
        key = "mechanism.tables" if self.listed is not None else "mechanism.tables.must"
        for number, table in enumerate(self.named, start=1):
            place = f"{key}[{number}]"
            for name in table:
                if name not in agreement.columns:
                    yield f"{place}: there is no column '{name}'. Columns: {known}"
            if len(set(table)) < len(table) or not 1 <= len(table) <= MAX_COLUMNS_OF_TABLE:
                yield f"{place}: name one to {MAX_COLUMNS_OF_TABLE} different columns"
        as_sets = [frozenset(table) for table in self.named]
        if len(set(as_sets)) < len(as_sets):
            yield f"{key}: a table is listed twice. Name each one once"

    def _cells(self, agreement: Agreement) -> Iterator[str]:
        sizes = {name: domain.size for name, domain in agreement.columns.items()}
        for names in fixed_tables(agreement):
            if (cells := prod(sizes[name] for name in names)) > MAX_TABLE_CELLS:
                yield (
                    f"attributes: the table of {_listed(names)} has {cells:,} cells, and a table that is measured has "
                    f"at most {MAX_TABLE_CELLS:,}. Take a coarser grid, or put values together"
                )
        needed = most_cells(list(sizes.values()), numbered(agreement, fixed_tables(agreement)))
        if needed > self.agreed_model_cells:
            yield (
                f"mechanism.model_cells: the tables that are measured for sure ask for a model with "
                f"{needed:,} cells at once, and {self.agreed_model_cells:,} are allowed. Take coarser grids, "
                "list fewer tables that share columns, or raise it"
            )
        cells = sum(prod(sizes[name] for name in names) for names in candidate_tables(agreement))
        if cells > MAX_CANDIDATE_CELLS:
            yield (
                f"attributes: the tables that may be chosen have {cells:,} cells together, and at most "
                f"{MAX_CANDIDATE_CELLS:,} fit the engine. Take coarser grids, leave columns out, or list the tables"
            )
        if self.agreed_rounds and not any(candidate_tables(agreement)):
            yield (
                "mechanism.tables: no table that may be chosen is small enough "
                f"({MAX_TABLE_CELLS:,} cells). Take coarser grids, or write rounds = 0"
            )


def first_tables(agreement: Agreement) -> list[tuple[str, ...]]:
    """The tables that are measured first where none is named: every column with the class, or alone."""
    names = list(agreement.columns)
    if agreement.settings(MarginalsSettings).by_class(agreement):
        return [(name, names[-1]) for name in names[:-1]]
    return [(name,) for name in names]


def fixed_tables(agreement: Agreement) -> list[tuple[str, ...]]:
    """The tables that are measured for sure, as names of columns in agreed order.

    First every column with the class, or alone; those that a named table holds are left out. Then the named ones, which
    are listed or required.
    """
    settings, names = agreement.settings(MarginalsSettings), list(agreement.columns)
    named = [tuple(name for name in names if name in table) for table in settings.named]
    kept = [table for table in first_tables(agreement) if not any(set(table) <= set(other) for other in named)]
    return [*kept, *named]


def candidate_tables(agreement: Agreement) -> list[tuple[str, ...]]:
    """The tables that may be chosen: pairs of columns, or those with the class, of no more cells than are allowed."""
    settings = agreement.settings(MarginalsSettings)
    if settings.agreed_rounds == 0:
        return []
    *others, label = agreement.columns
    free = others if settings.by_class(agreement) else [*others, label]
    last = (label,) if settings.chooses_triples else ()
    found = [(one, other, *last) for i, one in enumerate(free) for other in free[i + 1 :]]
    sizes = {name: domain.size for name, domain in agreement.columns.items()}
    return [names for names in found if prod(sizes[name] for name in names) <= MAX_TABLE_CELLS]


def is_across(agreement: Agreement, table: tuple[str, ...]) -> bool:
    """Whether a table has two columns of which no party holds both."""
    held = [set(agreement.holders(name)) for name in table]
    return any(one.isdisjoint(other) for one, other in combinations(held, 2))


def numbered(agreement: Agreement, tables: list[tuple[str, ...]]) -> list[Columns]:
    """Tables by the numbers of their columns."""
    number = {name: place for place, name in enumerate(agreement.columns)}
    return [tuple(number[name] for name in table) for table in tables]


def _listed(names: tuple[str, ...]) -> str:
    return " by ".join(f"'{name}'" for name in names)
