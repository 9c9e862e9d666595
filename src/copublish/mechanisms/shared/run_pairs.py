"""All tables of two columns at once, on secrets.

Columns of one party are counted by it. For columns of two parties one product of all their columns holds every table;
where cells are spread, one product of what all parties mark does.

Where membership is hidden no party counts alone. What one of two owners has in its columns is multiplied by a line of
the other that says in which rows it is present.

Leakage: none beyond who holds which cell, the cost depends on shapes alone. The result is secret and NOT safe to open.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations
from types import ModuleType
from typing import cast

import numpy as np

from copublish.agreement.axis import Axis, n_cells
from copublish.kernel.programs.packing import ELEMENT_BITS, Packing, in_agreed_order, lanes_within
from copublish.kernel.records.fragment import partial_cells
from copublish.kernel.records.joint_table import JointTable
from copublish.kernel.secrets.computer import NO_CELL, Columns, Computer, JoinComputer, MarkComputer, Marks, computer_as
from copublish.kernel.secrets.secret import Secret
from copublish.types import IntArray

Group = Sequence[Axis]
"""Columns of one party that count as one, with a cell for each combination of theirs."""

CELLS_PER_LINE = 4
"""A line that is multiplied with presence alone takes as much memory as so many cells of a larger product."""

CELLS_PER_SCORE = 8
"""A matrix whose lines become scores is in memory whole; so many cells of a product are as large as one of its."""


def pair_counts(
    table: JointTable,
    groups: Sequence[Group],
    computer: Computer,
    *,
    scores: Sequence[IntArray] | None = None,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> Secret:
    """For every two groups the secret counts of joint records by their cells, or sums of products of their scores.

    Args:
        table: This party's aligned cells.
        groups: The columns, each alone or several of one party together.
        computer: This party's end of the computation.
        scores: Public scores of each group's cells.
        progress: Told how many records are done and how many there are.

    Returns:
        Shape (lines, lines), the groups one after the other, a line for each cell or, with scores, for each group. What
        groups of two parties have in common is there both ways and, with scores, what two groups of one party have. The
        rest is to be left alone: in place of counts of one party's columns zeros may stand (`secret_tables` has them).
    """
    marking, columns = computer_as(MarkComputer, computer), _columns(groups, scores)
    holders = [_holder(table, group) for group in groups]
    if None in holders or not table.is_multiplied(computer):
        return _spread(table, groups, columns, marking, progress)
    joining = computer_as(JoinComputer, computer)
    if scores is None:
        own = joining.share(np.zeros((columns.lines, columns.lines), dtype=np.int64))
    elif table.agreement.hides_membership:
        own = _own_products(table, groups, columns, cast(list[int], holders), joining, progress)
    else:
        own = joining.share(own_pairs(table, groups, scores))
    blocks, places = [], []
    for one, other in combinations(sorted(set(cast(list[int], holders))), 2):
        parts = [[number for number, holder in enumerate(holders) if holder == owner] for owner in (one, other)]
        blocks.append(
            _between(
                table,
                (one, other),
                [[groups[n] for n in part] for part in parts],
                (_some(columns, parts[0]), _some(columns, parts[1])),
                joining,
                progress,
            )
        )
        places.append((_lines_of(columns, parts[0]), _lines_of(columns, parts[1])))
    return joining.compute(put_together, own, *blocks, places=tuple(places)) if blocks else own


def put_together(
    xp: ModuleType, own: IntArray, *blocks: IntArray, places: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
) -> IntArray:
    """Add what each two parties have in common to what each has alone, both ways, at its lines."""
    n = own.shape[0]
    for block, (down, across) in zip(blocks, places, strict=True):
        # A line that is not in the block takes one of zeros that is put below and beside it.
        rows, columns = (np.full(n, len(lines)) for lines in (down, across))
        rows[list(down)], columns[list(across)] = np.arange(len(down)), np.arange(len(across))
        padded = xp.pad(block, ((0, 1), (0, 1)))
        spread = padded[rows][:, columns]
        own = own + spread + spread.T
    return own


def at_places(xp: ModuleType, counts: IntArray, places: IntArray) -> IntArray:
    """Some of what all pairs have, as rows of one number: shape (n, 1)."""
    return counts.reshape(-1)[places].reshape(-1, 1)


def _holder(table: JointTable, group: Group) -> int | None:
    """The number of the party that holds all of a group, as far as there is one."""
    agreement = table.agreement
    found = set()
    for axis in group:
        is_shared_class = axis.column == agreement.class_name and agreement.class_is_shared
        found.add((agreement.class_owner,) if is_shared_class else tuple(agreement.holders(axis.column)))
    holders = found.pop() if len(found) == 1 else ()
    return agreement.party_names.index(holders[0]) if len(holders) == 1 else None


def _cells(table: JointTable, group: Group, rows: slice) -> IntArray:
    """This party's cell of each record in a group that it holds; no cell for null rows."""
    fragment = table.fragment
    return np.where(fragment.counts(rows), partial_cells(fragment, group, rows), NO_CELL)


def own_pairs(table: JointTable, groups: Sequence[Group], scores: Sequence[IntArray] | None = None) -> IntArray:
    """What this party counts itself, as `pair_counts` has it: pairs of groups that it holds."""
    columns = _columns(groups, scores)
    number = table.agreement.party_names.index(table.fragment.party)
    is_horizontal = table.agreement.partition == "horizontal"
    mine = [n for n, group in enumerate(groups) if is_horizontal or _holder(table, group) == number]
    starts = np.cumsum([0, *columns.sizes])
    counts = np.zeros((starts[-1], starts[-1]), dtype=np.int64)
    for (a, b), found in table.fragment.pair_histograms({n: groups[n] for n in mine}).items():
        counts[starts[a] : starts[a + 1], starts[b] : starts[b + 1]] = found
        counts[starts[b] : starts[b + 1], starts[a] : starts[a + 1]] = found.T
    weights = columns.weights()
    return cast(IntArray, weights.T @ counts @ weights) if columns.scores is not None else counts


def _own_products(
    table: JointTable,
    groups: Sequence[Group],
    columns: Columns,
    holders: Sequence[int],
    computer: JoinComputer,
    progress: Callable[[int, int], None],
) -> Secret:
    """Sums of products of scores of two groups of one of two owners, over the records where both are present."""
    parts, places = [computer.share(np.zeros((columns.lines, columns.lines), dtype=np.int64))], []
    for owner in range(2):
        own = [number for number, holder in enumerate(holders) if holder == owner]
        pairs = tuple(combinations(range(len(own)), 2))
        if not pairs:
            continue
        products = replace(_some(columns, own), pairs=pairs)
        parts.append(with_presence(table, owner, [groups[n] for n in own], products, computer, progress))
        places.append([(own[one], own[other]) for one, other in pairs])
    return computer.compute(at_pairs, *parts, places=tuple(map(tuple, places)))


def at_pairs(
    xp: ModuleType, sums: IntArray, *parts: IntArray, places: tuple[tuple[tuple[int, int], ...], ...]
) -> IntArray:
    """Put what pairs of lines have, one number for each, at their places, both ways; zeros elsewhere."""
    n = sums.shape[0]
    for part, pairs in zip(parts, places, strict=True):
        place_of_cell = np.full((n, n), len(pairs), dtype=np.int64)
        for place, (one, other) in enumerate(pairs):
            place_of_cell[one, other] = place_of_cell[other, one] = place
        sums = sums + xp.pad(part.reshape(-1), ((0, 1),))[place_of_cell.ravel()].reshape(n, n)
    return sums


def with_presence(
    table: JointTable,
    owner: int,
    groups: Sequence[Group],
    columns: Columns,
    computer: JoinComputer,
    progress: Callable[[int, int], None],
) -> Secret:
    """What one of two owners has on its lines, added up over the records where the other one is present.

    Where membership is hidden. The owner's lines are one factor, the other's presence is the only line of the second.
    As many cells of a group share a line as lanes for counts of all records have room in a ring element. A record adds
    1 to one lane of one line of a group, and no record is counted twice, so no lane runs over; products check that.

    Args:
        table: This party's rows.
        owner: The number of the owner, 0 or 1.
        groups: Its columns, each alone or several together.
        columns: The same as lines.
        computer: This party's end of the computation.
        progress: Told how many records are done and how many there are.

    Returns:
        Shape (cells, 1), or (lines, 1) with scores.
    """
    if columns.scores is None:
        columns = replace(columns, lanes=lanes_within(table.fragment.n_records))
    presence = Columns((1,), None if columns.scores is None else ((1,),))
    sides = (columns, presence) if owner == 0 else (presence, columns)
    is_owner = table.agreement.party_names.index(table.fragment.party) == owner
    n_product = CELLS_PER_LINE * columns.lines if columns.scores is None else CELLS_PER_SCORE * sum(columns.sizes)

    def count(session: JoinComputer, rows: slice) -> Secret:
        if is_owner:
            cells = [_cells(table, group, rows) for group in groups]
        else:
            cells = [np.where(table.presence(rows), 0, NO_CELL)]
        return session.joint_pairs((0, 1), cells, sides, rows.stop - rows.start)

    found = computer.sum_over_records(
        count,
        table.fragment.n_records,
        size=computer.rows_per_product(n_product, Packing(1)),
        shape=(sides[0].lines, sides[1].lines),
        done=progress,
    )
    if columns.lanes == 1:
        return computer.compute(in_agreed_order, found, place_of_cell=None, shape=(columns.lines, 1))
    return computer.compute(taken_apart, found, sizes=columns.sizes, lanes=columns.lanes)


def taken_apart(xp: ModuleType, packed: IntArray, sizes: tuple[int, ...], lanes: int) -> IntArray:
    """The counts of tables whose cells share ring elements, for computing: n_elements of them to shape (n_cells, 1).

    Args:
        xp: Array module.
        packed: Secret counts, none larger than its lane; every table begins with an element of its own.
        sizes: The number of cells of each table.
        lanes: How many counts share an element.
    """
    packings = [Packing(size, lanes) for size in sizes]
    lane_bits, n_elements = packings[0].lane_bits, sum(packing.elements for packing in packings)
    # Turned into bits once; what follows is done by each node alone until lanes are numbers again.
    bits = packed.reshape(-1) & ((1 << ELEMENT_BITS) - 1)
    found = xp.concatenate([(bits >> (lane_bits * lane)) & ((1 << lane_bits) - 1) for lane in range(lanes)])
    starts = np.cumsum([0, *(packing.elements for packing in packings)])
    cells = [(start, np.arange(size)) for start, size in zip(starts, sizes, strict=False)]
    places = np.concatenate([cell % lanes * n_elements + start + cell // lanes for start, cell in cells])
    return cast(IntArray, found[places].reshape(-1, 1))


def _between(
    table: JointTable,
    owners: tuple[int, int],
    groups: Sequence[Sequence[Group]],
    columns: tuple[Columns, Columns],
    computer: JoinComputer,
    progress: Callable[[int, int], None],
) -> Secret:
    """Pairs of a group of one party and a group of another."""
    number, n_records = table.agreement.party_names.index(table.fragment.party), table.fragment.n_records
    mine = groups[owners.index(number)] if number in owners else []
    down, across = columns
    n_product = down.lines * across.lines
    if down.scores is not None:
        n_product = CELLS_PER_SCORE * max(sum(down.sizes), sum(across.sizes))
    step = computer.rows_per_product(n_product, Packing(1))

    def count(session: JoinComputer, rows: slice) -> Secret:
        cells = [_cells(table, group, rows) for group in mine]
        return session.joint_pairs(owners, cells, columns, rows.stop - rows.start)

    return computer.sum_over_records(count, n_records, size=step, shape=(down.lines, across.lines), done=progress)


def _spread(
    table: JointTable,
    groups: Sequence[Group],
    columns: Columns,
    computer: MarkComputer,
    progress: Callable[[int, int], None],
) -> Secret:
    """Pairs of groups of whose cells several parties hold some."""
    n_records = table.fragment.n_records
    n_product = columns.lines**2 if columns.scores is None else CELLS_PER_SCORE * sum(columns.sizes)
    step = computer.rows_per_product(n_product, Packing(1))
    holders = table.holders([axis for group in groups for axis in group])

    def count(session: MarkComputer, rows: slice) -> Secret:
        # A group without columns is a line that is marked wherever every owner is present.
        owners = [table.owner_of(group) if group else None for group in groups]
        own = np.concatenate([table.matches(group, rows, owner) for group, owner in zip(groups, owners, strict=True)])
        return session.joint_match_pairs(Marks(own, holders), columns)

    return computer.sum_over_records(count, n_records, size=step, shape=(columns.lines, columns.lines), done=progress)


def _columns(groups: Sequence[Group], scores: Sequence[IntArray] | None) -> Columns:
    sizes = tuple(n_cells(group) for group in groups)
    return Columns(sizes, None if scores is None else tuple(tuple(map(int, own)) for own in scores))


def _some(columns: Columns, numbers: Sequence[int]) -> Columns:
    scores = None if columns.scores is None else tuple(columns.scores[n] for n in numbers)
    return Columns(tuple(columns.sizes[n] for n in numbers), scores)


def _lines_of(columns: Columns, numbers: Sequence[int]) -> tuple[int, ...]:
    """The lines of some columns among those of all."""
    if columns.scores is not None:
        return tuple(numbers)
    starts = np.cumsum([0, *columns.sizes])
    return tuple(line for n in numbers for line in range(starts[n], starts[n + 1]))
