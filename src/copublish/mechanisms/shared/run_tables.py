"""Secret tables of counts, many at once.

Where one party has whole rows of a table it counts them. All other tables of two columns come from one product of all
columns. Where membership is hidden no party counts alone: the tables of one of two owners are one product with the
other's presence, and of more owners, or where a party has no data, they are among the pairs of columns.

Leakage: none, the cost depends on shapes alone. Tables are secret and NOT safe to open: exact counts would show.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import cast

import numpy as np

from copublish.agreement.axis import Axis, n_cells
from copublish.kernel.programs.packing import Packing, in_agreed_order
from copublish.kernel.records.joint_table import JointTable
from copublish.kernel.secrets.computer import Columns, Computer, JoinComputer, ProgramComputer, computer_as
from copublish.kernel.secrets.secret import Secret, SecretCounts
from copublish.mechanisms.shared.run_pairs import Group, at_places, pair_counts, with_presence
from copublish.types import IntArray

Progress = Callable[[int, int], None]


def secret_tables(
    table: JointTable,
    groups: Sequence[Sequence[Axis]],
    computer: Computer,
    *,
    bits: int | None = None,
    progress: Progress = lambda done, of: None,
) -> Secret:
    """The secret counts of several tables, one after the other, each with its last axis fastest: shape (n_cells, 1).

    Args:
        table: This party's aligned cells.
        groups: The axes of each table. A column has the same cells in all of them.
        computer: This party's end of the computation.
        bits: Of the range of what each party counts itself, if the counts are compared; see `share_within`.
        progress: Told how many records, or tables, are counted and how many there are.
    """
    additive = [n for n, axes in enumerate(groups) if table.is_additive(axes)]
    parts = [_counted_locally(table, [groups[n] for n in additive], computer, bits)] if additive or not groups else []
    if len(additive) == len(groups):
        return parts[0]  # one message for all of them; where owners have whole rows there is nothing else to do
    computing, order = computer_as(ProgramComputer, computer), list(additive)
    rest = [n for n in range(len(groups)) if n not in additive]
    if table.agreement.hides_membership and table.is_multiplied(computer):
        for owner in range(2):
            own = [n for n in rest if table.owner_of(groups[n]) == owner]
            if own:
                parts.append(_tables_of(table, owner, [groups[n] for n in own], computer, progress))
                order += own
        rest = [n for n in rest if n not in order]
    sides = {n: pair for n in rest if (pair := _two_groups(table, groups[n])) is not None}
    if sides:
        lines = {_name(group): group for pair in sides.values() for group in pair}
        counts = pair_counts(table, list(lines.values()), computer, progress=progress)
        parts.append(computing.compute(at_places, counts, places=_places(lines, list(sides.values()))))
        order += sides
    larger = [n for n in rest if n not in sides]
    for done, n in enumerate(larger):
        progress(done, len(larger))
        found = table.count_jointly(groups[n], computer, noise_bits=None)
        shape = (n_cells(groups[n]), 1)
        parts.append(computing.compute(in_agreed_order, found.secret, place_of_cell=found.place_of_cell(), shape=shape))
    places = _order([n_cells(axes) for axes in groups], [*order, *larger])
    return kept(computing.compute(one_after_the_other, *parts, order=places), computer)


def tables_one_by_one(
    table: JointTable, groups: Sequence[Sequence[Axis]], computer: Computer, noise_bits: Sequence[int]
) -> Iterator[SecretCounts]:
    """The secret counts of several tables, to be measured one after the other.

    Each is counted when it is asked for; where membership is hidden all are counted at once, because a product of one
    column takes nearly as long as one of many.

    Args:
        table: This party's aligned cells.
        groups: The axes of each table.
        computer: This party's end of the computation.
        noise_bits: For each table the bits of the noise that will be added.
    """
    if not table.agreement.hides_membership:
        for axes, bits in zip(groups, noise_bits, strict=True):
            yield table.count_jointly(axes, computer, noise_bits=bits)
        return
    for counts in divided(secret_tables(table, groups, computer), [(n_cells(axes), 1) for axes in groups], computer):
        yield SecretCounts(counts, Packing(1))


def divided(secret: Secret, shapes: Sequence[tuple[int, ...]], computer: Computer) -> Iterator[Secret]:
    """Yield the tables that stand one after the other in a secret, each in its shape."""
    computing, start = computer_as(ProgramComputer, computer), 0
    for shape in shapes:
        places = np.arange(start, start := start + int(np.prod(shape)))
        yield computing.compute(in_agreed_order, secret, place_of_cell=places, shape=shape)


def _counted_locally(
    table: JointTable, groups: Sequence[Sequence[Axis]], computer: Computer, bits: int | None
) -> Secret:
    """Tables that every party counts where it has their rows."""
    local = [table.count_locally(axes) for axes in groups]
    own = np.concatenate([np.zeros(0, dtype=np.int64), *local]).reshape(-1, 1)
    return computer.share(own) if bits is None else computer_as(ProgramComputer, computer).share_within(own, bits)


def _tables_of(
    table: JointTable, owner: int, groups: Sequence[Sequence[Axis]], computer: Computer, progress: Progress
) -> Secret:
    """Tables of one of two owners, of the rows where the other one is present: one product for all of them."""
    columns = Columns(tuple(n_cells(axes) for axes in groups))
    return with_presence(table, owner, groups, columns, computer_as(JoinComputer, computer), progress)


def _two_groups(table: JointTable, axes: Sequence[Axis]) -> tuple[Group, Group] | None:
    """A table as what two groups of columns have in common; none if it is counted on its own.

    Where membership is hidden, one column goes with the group of none, which is a line for the presence of all owners.
    So does a column with a class that all hold, because the column's owner has a class of its own for it.
    """
    if not table.agreement.hides_membership:
        return ([axes[0]], [axes[1]]) if len(axes) == 2 else None
    class_name = table.agreement.class_name if table.agreement.class_is_shared else None
    if len(axes) == 1 or (len(axes) == 2 and class_name in [axis.column for axis in axes]):
        return list(axes), []
    return ([axes[0]], [axes[1]]) if len(axes) == 2 else None


def _name(group: Group) -> tuple[str, ...]:
    return tuple(axis.column for axis in group)


def _places(lines: dict[tuple[str, ...], Group], pairs: Sequence[tuple[Group, Group]]) -> IntArray:
    """Where the cells of tables of two groups are among those of all pairs."""
    sizes = [n_cells(group) for group in lines.values()]
    starts = dict(zip(lines, np.cumsum([0, *sizes]), strict=False))
    places = [
        (starts[_name(one)] + np.arange(n_cells(one)))[:, None] * sum(sizes)
        + starts[_name(other)]
        + np.arange(n_cells(other))
        for one, other in pairs
    ]
    return cast(IntArray, np.concatenate([own.ravel() for own in places]))


def _order(sizes: Sequence[int], present: Sequence[int]) -> IntArray:
    """For each cell of tables in agreed order its place where they lie in another one."""
    ends = np.cumsum([sizes[n] for n in present])
    start = {n: int(end) - sizes[n] for n, end in zip(present, ends, strict=True)}
    return cast(IntArray, np.concatenate([start[n] + np.arange(size) for n, size in enumerate(sizes)]))


def kept(secret: Secret, computer: Computer) -> Secret:
    """A secret that is computed now, once, to be used in many computations."""
    computing = computer_as(ProgramComputer, computer)
    (row,) = computing.rows(computing.compute(as_one_row, secret))
    return row


def as_one_row(xp: ModuleType, counts: IntArray) -> IntArray:
    """The same in a row of its own."""
    return counts.reshape(1, *counts.shape)


def one_after_the_other(xp: ModuleType, *parts: IntArray, order: IntArray) -> IntArray:
    """Tables of shape (n, 1) as one of them, in agreed order: shape (n_cells, 1)."""
    return cast(IntArray, xp.concatenate(parts)[order])
