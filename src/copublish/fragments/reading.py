"""Reading one party's rows, checking them against the agreement and encoding them, batch by batch.

All problems are collected and reported at once, each naming the column and the rule and nothing of a person.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa

from copublish.agreement.domain import Domain, NumericalDomain
from copublish.agreement.model import Agreement
from copublish.errors import FragmentError, SourceError
from copublish.fragments.database import DatabaseTable
from copublish.fragments.encoding import (
    MISSING_REFUSED,
    as_text,
    column_expression,
    encode_batch,
    quantize_batch,
    texts_of,
)
from copublish.fragments.fragment import Fragment
from copublish.fragments.identifiers import Identifiers, normalize_batch
from copublish.fragments.sources import OpenSource, Source, open_source
from copublish.types import Codes, IntArray

MISSING_CLASS = "missing values; every record needs a class"
NO_ORDER = (
    'The agreement joins records by their order (alignment = "row-order"), and rows of a database table have none. '
    "Write them to a file in the agreed order, or join by an identifier."
)


def read_fragment(agreement: Agreement, party: str, source: Source | None) -> Fragment:
    """Read, check and encode one party's rows. A party that holds no data by the agreement has no source.

    Raises:
        FragmentError: If anything is not as agreed; it lists every broken rule.
        SourceError: If the source cannot be read at all.
    """
    if refuse_unagreed_source(agreement, party, source) is None:
        return empty_fragment(agreement, party)
    with _opened(agreement, party, source) as opened:
        return _Reader(agreement, party).read(opened)


def refuse_unagreed_source(agreement: Agreement, party: str, source: Source | None) -> Source | None:
    """The source, unless the agreement says something else about whether this party holds data.

    Raises:
        FragmentError: If there is no such party, or there are data and should be none.
        SourceError: If there are none and should be some.
    """
    if party not in agreement.parties:
        known = ", ".join(f"'{name}'" for name in agreement.parties)
        raise FragmentError(party, [f"There is no such party in the agreement. Parties: {known}."])
    if source is None and agreement.parties[party].data:
        raise SourceError(f"There are no data of party '{party}', and by the agreement it holds some. Name them.")
    if source is not None and not agreement.parties[party].data:
        rule = f"parties.{party}.data"
        raise FragmentError(party, [f"By {rule} in the agreement this party holds none. Leave them out."])
    return source


def empty_fragment(agreement: Agreement, party: str) -> Fragment:
    """The fragment of a party that computes and holds no data."""
    identifiers = None if agreement.records.identifier is None else Identifiers([])
    return Fragment(party, 0, {}, {}, identifiers)


def check_columns(agreement: Agreement, party: str, source: Source | None) -> None:
    """Open one party's data and check that all agreed columns are there and may be read. No row is read.

    Raises:
        FragmentError: If columns are missing or not as agreed; it lists every broken rule.
        SourceError: If the source cannot be opened or read.
    """
    if refuse_unagreed_source(agreement, party, source) is None:
        return
    with _opened(agreement, party, source) as opened:
        for _ in opened.batches(_Reader(agreement, party).expressions(opened.table), limit=0):
            pass


@contextmanager
def _opened(agreement: Agreement, party: str, source: Source) -> Iterator[OpenSource]:
    """Open a source that has the columns of a party."""
    if isinstance(source, DatabaseTable) and agreement.records.alignment == "row-order":
        raise FragmentError(party, [NO_ORDER])
    with open_source(source, f"The data of party '{party}'") as opened:
        if problems := _column_problems(agreement, party, list(opened.table.columns)):
            raise FragmentError(party, problems)
        yield opened


def _column_problems(agreement: Agreement, party: str, present: list[str]) -> list[str]:
    wanted = list(agreement.columns_of(party))
    if (identifier := agreement.records.identifier) is not None:
        wanted.append(identifier)
    # Names in the data are not repeated: in a file without a header they are somebody's values.
    problems = [
        f"Column '{column}' is agreed but not in the data. Names must match exactly; a CSV needs a header line."
        for column in wanted
        if column not in present
    ]
    problems += ambiguous_columns(wanted, present)
    for column in present:
        if column in agreement.attributes and party not in agreement.holders(column):
            holders = " and ".join(f"'{name}'" for name in agreement.holders(column))
            problems.append(
                f"Column '{column}' is in the data, but by the agreement its cells are held by {holders} alone. A "
                "cell has one holder: leave the column out, or change 'held_by'."
            )
    return problems


def ambiguous_columns(wanted: list[str], present: list[str]) -> list[str]:
    """A problem for every wanted column that the source cannot tell from another one: it ignores case."""
    return [
        f"Column '{column}' is there twice, in upper and lower case. Rename one of them."
        for column in wanted
        if column in present and sum(name.lower() == column.lower() for name in present) > 1
    ]


class _Reader:
    """Goes through the rows once and keeps nothing of them but codes and identifiers."""

    def __init__(self, agreement: Agreement, party: str) -> None:
        self.agreement, self.party = agreement, party
        self._domains: dict[str, Domain] = {
            column: agreement.class_domain if column == agreement.class_.name else agreement.domains[column]
            for column in agreement.columns_of(party)
        }
        self._codes: dict[str, list[Codes]] = {column: [] for column in self._domains}
        self._numbers: dict[str, list[IntArray]] = {
            column: []
            for column, domain in self._domains.items()
            if agreement.mechanism.reads_numbers and isinstance(domain, NumericalDomain)
        }
        self._identifiers: list[pa.Array] = []
        self._problems: set[str] = set()

    def expressions(self, table: Any) -> list[Any]:
        """Expressions that the source is asked for."""
        expressions = [column_expression(table[column], domain) for column, domain in self._domains.items()]
        if (identifier := self.agreement.records.identifier) is not None:
            expressions.append(as_text(table[identifier]).name(identifier))
        return expressions

    def read(self, opened: OpenSource) -> Fragment:
        """The fragment, or raise with everything that is wrong with it."""
        identifier = self.agreement.records.identifier
        n_records = 0
        for batch in opened.batches(self.expressions(opened.table)):
            n_records += batch.num_rows
            for column in self._domains:
                self._encode(column, batch)
            if identifier is not None:
                rules = self.agreement.records.identifier_rules
                self._identifiers.append(normalize_batch(texts_of(batch.column(identifier)), rules))
        identifiers = Identifiers(self._identifiers)
        if identifier is not None:
            self._check_identifiers(identifier, identifiers)
        if self._problems:
            raise FragmentError(self.party, sorted(self._problems))
        return Fragment(
            self.party,
            n_records,
            {column: self._joined(column) for column in self._domains},
            {column: domain.size for column, domain in self._domains.items()},
            None if identifier is None else identifiers,
            {column: np.concatenate([np.empty(0, np.int64), *parts]) for column, parts in self._numbers.items()},
        )

    def _encode(self, column: str, batch: Any) -> None:
        is_spread = (
            self.agreement.partition == "arbitrary"
            and column != self.agreement.class_.name
            and len(self.agreement.holders(column)) > 1
        )
        spellings = self.agreement.records.missing_spellings
        codes, broken = encode_batch(self._domains[column], batch, spellings, null_is_elsewhere=is_spread)
        self._codes[column].append(codes)
        domain = self._domains[column]
        if column in self._numbers and isinstance(domain, NumericalDomain):
            self._numbers[column].append(quantize_batch(domain, batch, codes))
        if column == self.agreement.class_.name:
            broken = [MISSING_CLASS if rule == MISSING_REFUSED else rule for rule in broken]
        self._problems.update(f"Column '{column}' has {rule}." for rule in broken)

    def _joined(self, column: str) -> Codes:
        parts = self._codes.pop(column)  # freed column by column, so that memory holds the codes about once
        return np.concatenate([np.empty(0, dtype=np.min_scalar_type(self._domains[column].size)), *parts])

    def _check_identifiers(self, column: str, identifiers: Identifiers) -> None:
        rules = ", ".join(f'"{rule}"' for rule in self.agreement.records.identifier_rules)
        under = f" under identifier_rules = [{rules}]" if rules else ""
        if identifiers.has_empty():
            self._problems.add(f"Column '{column}' has empty identifiers{under}. Every record needs one.")
        if identifiers.has_repeated():
            self._problems.add(f"Column '{column}' has duplicate identifiers{under}. One person is one record.")
