"""Neighboring tables made up from an agreement: no row of anybody is read.

Which neighbors are worst for a mechanism is not known beforehand, so many are tried: empty tables, heaps of one point,
tied scores, corners; and records that are not as agreed, which a run has to treat like any other.
"""

from __future__ import annotations

import itertools
import math
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from copublish.agreement.domain import CategoricalDomain, Domain
from copublish.agreement.model import Agreement
from copublish.kernel.accounting.disclosures import Neighbors
from copublish.kernel.noise.geometric import Coins

Values = dict[str, Any]
"""One record: values by column."""

RECORDS, MANY_RECORDS = 200, 2000
"""Of a table, at most; and of one in which noise hardly moves a share."""

PERSON = "(person)"
"""Key of a record that says which person it is, where that is not its own."""

ELSEWHERE = "(class elsewhere)"
"""Key of a record that says which class all its holders list but the one whose class counts, if it is another one."""

COPIES = (1, 2, 30, 100)
CELLS_APART = (1, 2, 3, 5)
MOST_RECORDS_ABOVE = 5000
"""A table with more records than the public length would take long to play beyond that."""


@dataclass(frozen=True)
class Pair:
    """Two neighboring tables.

    Attributes:
        base: What they have in common, in words.
        record: What the record is that one has and the other has not, or that is another one there.
        tables: Their records.
        relation: How they are neighbors.
        where: In horizontal data, who holds the record.
        people: How many people have such a record.
        seen_by: Where membership is hidden, the owner that is to tell the tables apart: its own rows are the same.
        is_listed: Whether that owner lists these people, too, in both tables.
    """

    base: str
    record: str
    tables: tuple[tuple[Values, ...], tuple[Values, ...]]
    relation: Neighbors
    where: str
    people: int = 1
    seen_by: str | None = None
    is_listed: bool = True

    def frames(self, agreement: Agreement, table: int) -> dict[str, pd.DataFrame]:
        """What each owner holds of one of the tables."""
        last = len(self.tables[1]) - 1 - self.people
        found = split_between_owners(agreement, self.tables[table], last, self.where)
        if self.seen_by is not None and table != int(self.is_listed):
            same = self.tables[int(self.is_listed)]
            found[self.seen_by] = split_between_owners(agreement, same, last, self.where)[self.seen_by]
        return found

    def of_people(self, people: int) -> Pair:
        """The same tables, that differ in so many people with the same record."""
        if self.people != 1:
            raise ValueError("these tables differ in several people already")
        first, second = self.tables
        common = second[:-1]
        tables = ((*common, *first[len(common) :] * people), (*common, *second[-1:] * people))
        return replace(self, tables=tables, people=people)

    def mixed(self, agreement: Agreement, coins: Sequence[bool]) -> dict[str, pd.DataFrame]:
        """What each owner holds of a table in which each person has a coin, and one of the two records by it."""
        old, new = self.tables[0][-1], self.tables[1][-1]
        return split_between_owners(agreement, tuple(new if coin else old for coin in coins), len(coins), self.where)


def corners(agreement: Agreement) -> dict[str, Values]:
    """Records at the ends of all columns, with each class if there is one, and what is in the middle of a grid."""
    ends: dict[str, tuple[Any, ...]] = {}
    for name, domain in agreement.domains.items():
        if isinstance(domain, CategoricalDomain):
            values = [value for value in domain.values if value != "missing"]
            ends[name] = (values[0], values[-1])
        else:
            edges = [float(edge) for edge in domain.thresholds]
            ends[name] = (float(domain.lower), float(domain.upper), edges[0] if edges else float(domain.lower))
    names = list(ends)
    shapes = {
        "first values": [0] * len(names),
        "last values": [1] * len(names),
        "first and last values in turn": [number % 2 for number in range(len(names))],
        "on grid edges": [2] * len(names),
    }
    found = {}
    for words, places in shapes.items():
        cells = {name: ends[name][min(place, len(ends[name]) - 1)] for name, place in zip(names, places, strict=True)}
        if agreement.class_ is None:
            found[words] = cells
            continue
        for label in (agreement.class_.values[0], agreement.class_.values[-1]):
            found[f"{words}, class {label}"] = {**cells, agreement.class_.name: label}
    return found


def class_at(agreement: Agreement, owner: str, record: Mapping[str, Any]) -> Any:
    """The class of a record as an owner lists it."""
    own = record[agreement.required_class.name]
    return own if owner == agreement.class_owner else record.get(ELSEWHERE, own)


def has_several_classes(agreement: Agreement) -> bool:
    """Whether a record may have one class at one owner and another one at another."""
    return (
        agreement.class_ is not None
        and agreement.partition != "horizontal"
        and len(agreement.holders(agreement.class_.name)) > 1
    )


def added_records(agreement: Agreement) -> Iterator[tuple[str, Values, Values]]:
    """Yield a name, a record, and what it replaces: every corner, and each again with another class at other owners.

    The two stand side by side, so that audits that have no time for all pairs look at both kinds.
    """
    for name, record in corners(agreement).items():
        yield name, record, opposite(agreement, name)
        if has_several_classes(agreement):
            first, *_, last = agreement.required_class.values
            other = last if record[agreement.required_class.name] == first else first
            yield f"{name}, class {other} elsewhere", {**record, ELSEWHERE: other}, opposite(agreement, name)


def opposite(agreement: Agreement, record: str) -> Values:
    """The record at the other corner."""
    known = corners(agreement)
    words, _, label = record.partition(", class ")
    other = {"first values": "last values", "last values": "first values"}.get(words, "first values")
    if agreement.class_ is None:
        return known[other]
    classes = agreement.class_.values
    return known[f"{other}, class {classes[-1] if label == classes[0] else classes[0]}"]


def random_record(agreement: Agreement, coins: Coins) -> Values:
    """A record anywhere in the domain."""
    found: Values = {}
    for name, domain in agreement.domains.items():
        word = int(coins.words((1,))[0]) % 2**32
        if isinstance(domain, CategoricalDomain):
            values = [value for value in domain.values if value != "missing"]
            found[name] = values[word % len(values)]
        else:
            found[name] = float(domain.lower) + float(domain.upper - domain.lower) * word / 2**32
    if agreement.class_ is None:
        return found
    classes = agreement.class_.values
    return {**found, agreement.class_.name: classes[int(coins.words((1,))[0]) % len(classes)]}


def bases(agreement: Agreement, coins: Coins) -> Iterator[tuple[str, list[Values]]]:
    """Yield tables that neighbors have in common."""
    n = min(RECORDS, agreement.records.expected)
    known = list(corners(agreement).values())
    yield "no records", []
    for copies in COPIES:
        yield f"{min(copies, n)} copies of one point", [known[0]] * min(copies, n)
    yield "two points", ([known[0]] * n + [known[3]] * n)[: 2 * n : 2] if n > 1 else [known[0]]
    tied = [known[number % len(known)] for number in range(n)]
    yield "every score tied", tied
    yield "one class leads in a corner", [*tied[: max(0, n - 30)], *[known[0]] * min(30, n)]
    yield "random records", [random_record(agreement, coins) for _ in range(n)]
    if (many := min(MANY_RECORDS, agreement.records.expected)) > n:
        yield "many random records", [random_record(agreement, coins) for _ in range(many)]
    for points in (1, 2, 3, 4, 2, 3, 4, 3):
        heap = [random_record(agreement, coins) for _ in range(points)]
        yield f"{points} random points", (heap * math.ceil(n / points))[:n]


def few_rivals(agreement: Agreement, relation: Neighbors) -> Iterator[Pair]:
    """Yield neighbors on which few splits compete, and a record moves some of these alone; none without a class.

    Two points of different classes lie one cell apart in some columns and several cells apart in others: splits
    between them tell all classes, any other split tells none. The record has one point's class. It lies with that
    point in the first columns, where it adds to what a split tells, and with the other point in the rest.
    """
    if agreement.class_ is None:
        return
    n = min(MANY_RECORDS, agreement.records.expected) // 2
    numbers = [name for name, domain in agreement.domains.items() if not isinstance(domain, CategoricalDomain)]
    label, classes = agreement.class_.name, (agreement.class_.values[0], agreement.class_.values[-1])
    for how_many, cells in itertools.product(range(1, len(numbers) + 1), CELLS_APART):
        rest = numbers[-how_many:]
        values = {name: _two_values(own, cells if name in rest else 1) for name, own in agreement.domains.items()}
        points = [{**{name: two[own] for name, two in values.items()}, label: classes[own]} for own in (0, 1)]
        new, old = ({**points[own], **{name: values[name][1 - own] for name in rest}} for own in (0, 1))
        base = points * n
        first = tuple(base) if relation == "add-remove" else (*base, old)
        words = f"two points, {cells} cells apart in {how_many} columns"
        yield Pair(words, "between them", (first, (*base, new)), relation, agreement.owners[-1])


def _two_values(domain: Domain, cells: int) -> tuple[Any, Any]:
    """Values so many cells apart, or as many as there are."""
    if isinstance(domain, CategoricalDomain):
        values = [value for value in domain.values if value != "missing"]
        return values[0], values[-1]
    edges = [float(edge) for edge in (domain.lower, *domain.thresholds, domain.upper)]
    middles = [(low + high) / 2 for low, high in itertools.pairwise(edges)]
    return middles[0], middles[min(cells, len(middles) - 1)]


def valid_pairs(agreement: Agreement, relation: Neighbors, coins: Coins) -> Iterator[Pair]:
    """Yield neighbors whose records are all as agreed."""
    where = agreement.owners[-1]
    for base, records in bases(agreement, coins):
        for name, record, replaced in added_records(agreement):
            first = tuple(records) if relation == "add-remove" else (*records, replaced)
            tables = (first, (*records, record))
            yield Pair(base, name, tables, relation, where)
    yield from few_rivals(agreement, relation)


def invalid_pairs(agreement: Agreement, relation: Neighbors) -> Iterator[Pair]:
    """Yield neighbors of which one has a record that is not as agreed, or lies on a boundary."""
    base = list(corners(agreement).values())[:4] * 3
    for name, record in invalid_records(agreement).items():
        if relation == "replace" and PERSON in record:
            continue  # one person less, and how many there are may be public
        without = tuple(base) if relation == "add-remove" else (*base, base[0])
        tables = (without, (*base, record))
        yield Pair("a few records", name, tables, relation, agreement.owners[-1])
    if relation == "add-remove" and agreement.partition == "horizontal":
        yield from _crowded(agreement)


def invalid_records(agreement: Agreement) -> dict[str, Values]:
    """Records that people have and agreements do not foresee."""
    good = next(iter(corners(agreement).values()))
    numbers = [name for name, domain in agreement.domains.items() if not isinstance(domain, CategoricalDomain)]
    texts = [name for name in agreement.domains if name not in numbers]
    found: dict[str, Values] = {}
    for name in numbers[:1]:
        upper = float(agreement.domains[name].upper)  # type: ignore[union-attr]
        found |= {
            f"{name} beyond its bound": {**good, name: upper + abs(upper) + 1},
            f"{name} infinite": {**good, name: math.inf},
            f"{name} on its upper bound": {**good, name: upper},
        }
    for name in (*numbers[:1], *texts[:1]):
        found[f"{name} missing"] = {**good, name: None}
    for name in texts[:1]:
        found[f"{name} not listed"] = {**good, name: "a value that nobody listed"}
    if agreement.class_ is not None:
        found["class not listed"] = {**good, agreement.class_.name: "a class that nobody listed"}
        found["class missing"] = {**good, agreement.class_.name: None}
    if agreement.records.keys:
        found["a person listed twice"] = {**good, PERSON: f"person {len(agreement.owners) - 1}"}
    return found


def _crowded(agreement: Agreement) -> Iterator[Pair]:
    """Yield one person more than the public length of compared lists."""
    length = agreement.compared_identifiers
    if length is not None and length <= MOST_RECORDS_ABOVE:
        known = list(corners(agreement).values())
        records = tuple(known[number % len(known)] for number in range(length * len(agreement.owners)))
        tables = (records, (*records, known[0]))
        yield Pair("as many records as lists are padded to", "one more", tables, "add-remove", agreement.owners[-1])


def pairs_against(agreement: Agreement, party: str, coins: Coins) -> Iterator[Pair]:
    """Yield neighbors that a party cannot tell apart by its own rows: what is protected from it.

    Owners of columns know who is in the table, so there another one's values are replaced.
    """
    if agreement.partition == "horizontal":
        others = [owner for owner in agreement.owners if owner != party]
        for pair in valid_pairs(agreement, agreement.privacy.neighbors, coins):
            yield replace(pair, where=others[-1])
        return
    for pair in valid_pairs(agreement, "replace", coins):
        *common, old = pair.tables[0]
        new = changed_elsewhere(agreement, party, old, pair.tables[1][-1])
        if new != old:
            yield Pair(pair.base, pair.record, ((*common, old), (*common, new)), "replace", pair.where)


def changed_elsewhere(agreement: Agreement, party: str, old: Values, new: Values) -> Values:
    """A new record in which all that a party holds itself is as it was."""
    own = set(agreement.columns_of(party)) if party in agreement.owners else set()
    found = {name: old[name] if name in own else value for name, value in new.items()}
    label = agreement.class_name
    if label is not None and label in own and has_several_classes(agreement):
        counts = party == agreement.class_owner
        found[label] = (old if counts else new)[label]
        found[ELSEWHERE] = (new if counts else old).get(ELSEWHERE, (new if counts else old)[label])
        if found[ELSEWHERE] == found[label]:
            del found[ELSEWHERE]
    return found


def with_plain_identifier(agreement: Agreement) -> Agreement:
    """The agreement with one column that names a person, as it is: what is audited begins when names are compared."""
    records = agreement.records
    if not records.keys:
        return agreement
    plain = {"identifier": records.identifier_columns[0], "match_keys": None, "identifier_rules": ()}
    return agreement.model_copy(update={"records": records.model_copy(update=plain)})


def split_between_owners(
    agreement: Agreement, records: tuple[Values, ...], last: int, where: str
) -> dict[str, pd.DataFrame]:
    """Return what each owner holds. Who has a record or a cell depends on its number and the column alone."""
    identifier, frames = agreement.records.identifier_name, {}
    for owner in agreement.owners:
        rows: list[Mapping[str, Any]] = []
        for place, record in enumerate(records):
            named = {identifier: record.get(PERSON, f"person {place}")} if identifier else {}
            if agreement.partition == "horizontal":
                if owner == (where if place > last else agreement.owners[place % len(agreement.owners)]):
                    rows.append({**record, **named})
                continue
            cells = {}
            for column in agreement.columns_of(owner):
                holders = agreement.holders(column)
                is_spread = len(holders) > 1 and column != agreement.class_name
                holder = holders[zlib.crc32(f"{place}/{column}".encode()) % len(holders)]
                value = class_at(agreement, owner, record) if column == agreement.class_name else record[column]
                cells[column] = None if is_spread and holder != owner else value
            rows.append({**cells, **named})
        columns = [*agreement.columns_of(owner), *([identifier] if identifier else [])]
        frames[owner] = pd.DataFrame(rows, columns=columns)
        for column in agreement.columns_of(owner):
            if column in agreement.domains and not isinstance(agreement.domains[column], CategoricalDomain):
                frames[owner][column] = frames[owner][column].astype(float)
    return frames
