"""Reading one party's rows and encoding them, batch by batch.

Columns that are not as agreed end it, before anybody is called. Values never do: every row becomes codes by the rules
of the agreement, and what they changed is told to the rows' owner, where it asks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, cast

import numpy as np
import pyarrow as pa

from copublish.agreement.domain import Domain, NumericalDomain
from copublish.agreement.encoding_rules import ColumnRule, quantize
from copublish.agreement.identifiers import shown_rule
from copublish.agreement.model import Agreement, Records
from copublish.errors import FragmentError, NotCountedThereError, SourceError
from copublish.kernel.records.fragment import Fragment
from copublish.rows.agreed_columns import column_problems
from copublish.rows.coded_columns import CHANGED, CodedColumn, learn_column
from copublish.rows.encoding import encode_batch, need_of
from copublish.rows.events import derived_batches, refuse_unfit_events
from copublish.rows.identifiers import IdentifierColumn, identifiers_of
from copublish.rows.mapping import NO_MAPPING, ColumnMapping, mapping_problems
from copublish.rows.overview import Overview, Tallies
from copublish.rows.sources import OpenRows, OpenSource, Source, events_of, has_order, mapping_of, open_rows
from copublish.types import BoolArray, Codes, IntArray

NO_ORDER = (
    'The agreement joins records by their order (alignment = "row-order"), and rows of a database table or a query '
    "have none. Write them to a file in the agreed order, or join by an identifier."
)


def read_fragment(agreement: Agreement, party: str, source: Source | None) -> Fragment:
    """Read and encode one party's rows. A party that holds no data by the agreement has no source.

    Raises:
        FragmentError: If columns are not as agreed. No value raises it.
        SourceError: If the source cannot be read at all.

    Privacy:
        Stability: `encode_batch` and `rows_that_stay` state it for each step. One person more or less is one record
            more or less; a person with other values is one record with other codes.
    """
    return read_and_look(agreement, party, source)[0]


def read_and_look(
    agreement: Agreement, party: str, source: Source | None, *, with_rows: bool = False
) -> tuple[Fragment, Overview | None]:
    """As `read_fragment`, and what the rules did to the rows: for their owner alone. No source has no overview.

    Args:
        agreement: What is agreed.
        party: Whose rows.
        source: Where they are.
        with_rows: Whether the numbers of the changed rows are kept, too.

    Raises:
        FragmentError: If columns are not as agreed. No value raises it.
        SourceError: If the source cannot be read at all.
    """
    if refuse_unagreed_source(agreement, party, source) is None:
        return empty_fragment(agreement, party), None
    refuse_unfit_events(agreement, party, source)
    with opened_for(agreement, party, source) as opened:
        reader = _Reader(agreement, party, source, with_rows=with_rows)
        return reader.read(opened)


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
    identifiers = IdentifierColumn([]) if agreement.records.keys else None
    return Fragment(party, 0, {}, {}, identifiers)


def check_columns(agreement: Agreement, party: str, source: Source | None) -> None:
    """Open one party's data and check that all agreed columns are there and may be read. No row is read.

    Raises:
        FragmentError: If columns are missing or not as agreed; it lists every broken rule.
        SourceError: If the source cannot be opened or read.
    """
    if refuse_unagreed_source(agreement, party, source) is None:
        return
    with opened_for(agreement, party, source) as opened:
        opened.try_out(_Reader(agreement, party, source).expressions(opened))
    refuse_unfit_events(agreement, party, source)


@contextmanager
def opened_for(agreement: Agreement, party: str, source: Source) -> Iterator[OpenRows]:
    """Open a source that has the columns of a party, to read its rows.

    Raises:
        FragmentError: If it has not.
    """
    if not has_order(source) and agreement.records.alignment == "row-order":
        raise FragmentError(party, [NO_ORDER])
    refuse_other_mapping(agreement, party, source)
    with open_rows(source, subject_of(party)) as opened:
        refuse_other_columns(agreement, party, opened, mapping_of(source))
        yield opened


def refuse_other_mapping(agreement: Agreement, party: str, source: Source) -> None:
    """Raise if a source has a mapping that does not fit the agreement. No data are looked at.

    Raises:
        FragmentError: If it does not.
    """
    mapping = mapping_of(source)
    if mapping is not NO_MAPPING and (problems := mapping_problems(agreement, party, mapping)):
        raise FragmentError(party, problems)


def refuse_other_columns(agreement: Agreement, party: str, opened: OpenRows, mapping: ColumnMapping) -> None:
    """Raise unless a source has the columns of a party.

    Raises:
        FragmentError: If it has not.
    """
    own_names = {name: own.column for name, own in mapping.columns.items()}
    if problems := column_problems(agreement, party, list(opened.columns), own_names):
        raise FragmentError(party, problems)


def subject_of(party: str) -> str:
    """How an error calls a party's data."""
    return f"The data of party '{party}'"


def rows_that_stay(fragment: Fragment) -> IntArray:
    """The positions of one record for each identifier, in the order of their first rows; rows without one are left out.

    Of several rows with one identifier the smallest stays: by its codes, column by column in agreed order, then by its
    numbers. So the choice follows from what the rows say, and not from their order in a file or a database.

    Privacy:
        Stability: for a person with all rows that have the identifier, 1 for adding or removing them, 1 for replacing
            their values: other identifiers' rows play no part. A single row more at a person who has one already is a
            replacement at most. A row without an identifier is nobody's and changes nothing; identifiers say who a
            person is, so replacing a person's values does not change them.
    """
    identifiers = fragment.identifiers
    if identifiers is None:
        return np.arange(fragment.n_records, dtype=np.int64)
    stay: IntArray = np.flatnonzero(~identifiers.is_empty()).astype(np.int64)
    if not identifiers.has_repeated():
        return stay
    person = identifiers.numbered()
    repeated = np.bincount(person)[person[stay]] > 1
    several, once = stay[repeated], stay[~repeated]
    columns = [*fragment.private_codes.values(), *fragment.private_numbers.values()]
    order = several[np.lexsort([*(column[several] for column in reversed(columns)), person[several]])]
    chosen = order[np.diff(person[order], prepend=-1) != 0]  # ascending in person
    # Each at the place of the person's first row, so that the list of identifiers follows from identifiers alone.
    places = np.full(int(person.max()) + 1, fragment.n_records, dtype=np.int64)
    np.minimum.at(places, person[several], several)
    found = np.concatenate([once, chosen])
    return cast(IntArray, found[np.argsort(np.concatenate([once, places[person[chosen]]]))])


def missing_cells(fragment: Fragment, rules: Mapping[str, ColumnRule]) -> dict[str, BoolArray]:
    """For every column with missing values that the agreement puts nothing in the place of, which records lack one.

    Privacy:
        Stability: whether a record is complete follows from that record and from the agreement alone. To leave out the
            others takes at most one record for one person; where the number of records is public, that shows.
    """
    found = {
        column: fragment.private_codes[column] == rule.missing
        for column, rule in rules.items()
        if rule.keeps_missing and column in fragment.private_codes
    }
    return {column: rows for column, rows in found.items() if rows.any()}


def _under_rules(records: Records) -> str:
    """The rules of identifiers, for a sentence about them."""
    rules = records.identifier_rules
    if not rules or isinstance(rules, Mapping):
        return " under the agreed identifier_rules" if rules else ""
    return f" under identifier_rules = [{', '.join(map(shown_rule, rules))}]"


class _Reader:
    """Goes through the rows once and keeps nothing of them but codes, identifiers and what was changed.

    Args:
        agreement: What is agreed.
        party: Whose rows.
        source: Where they are.
        with_rows: Whether the numbers of changed rows are kept.
    """

    def __init__(self, agreement: Agreement, party: str, source: Source, *, with_rows: bool = False) -> None:
        self._events, self._derived = events_of(source), agreement.derived_at(party)
        self._read = agreement.read_at(party)
        mapping = mapping_of(source)
        self.agreement, self.party, self._with_rows = agreement, party, with_rows
        self._numbered = has_order(source) and agreement.mechanism.publishes_each_record
        self._rules = {column: mapping.rule(agreement.encoding[column]) for column in agreement.columns_of(party)}
        self._translations = {column: mapping.translation(column) for column in self._rules}
        self._tallies = Tallies(self._rules, agreement.class_name, with_rows=with_rows)
        self._domains: dict[str, Domain] = {column: rule.domain for column, rule in self._rules.items()}
        self._codes: dict[str, list[Codes]] = {column: [] for column in self._domains}
        self._numbers: dict[str, list[IntArray]] = {
            column: []
            for column, domain in self._domains.items()
            if agreement.mechanism.reads_numbers and isinstance(domain, NumericalDomain)
        }
        self._identifiers: list[pa.Array] = []
        self._coded: dict[str, CodedColumn] = {}

    def learn(self, opened: OpenRows) -> None:
        """Leave encoding to a source that writes what it computes to a disk: a code takes less room there than a value.

        Columns stay as they are of which numbers are needed, or the rows that were changed.
        """
        if not isinstance(opened, OpenSource) or not opened.is_spark or self._with_rows:
            return
        for column in self._read:
            rule = self._rules[column]
            if column not in self._numbers and not self._is_spread(column):
                with suppress(NotCountedThereError):
                    learned = learn_column(opened.connection, opened.table, rule, self._translations[column])
                    self._tallies.count(column, learned.encoded, learned.values, weights=learned.weights)
                    self._coded[column] = learned

    def expressions(self, opened: OpenRows) -> list[Any]:
        """Expressions that the source is asked for."""
        expressions = [
            self._coded[column].codes(opened.table)
            if isinstance(opened, OpenSource) and column in self._coded
            else opened.expression(column, need_of(self._domains[column]))
            for column in self._read
        ]
        return [*expressions, *(opened.expression(part, "text") for part in self.agreement.records.identifier_columns)]

    def read(self, opened: OpenRows) -> tuple[Fragment, Overview]:
        """The fragment, whatever is in the cells, and what the rules did to them."""
        records, class_name = self.agreement.records, self.agreement.class_name
        n_records = 0
        self.learn(opened)
        for batch in opened.batches(self.expressions(opened), sorted_by=records.identifier_columns):
            for column in self._read:
                if column in self._coded:
                    codes = batch.column(column).to_numpy(zero_copy_only=False)
                    self._codes[column].append(codes.astype(np.min_scalar_type(self._domains[column].size)))
                else:
                    self._encode(column, batch, n_records)
            if records.keys:
                self._identifiers.append(identifiers_of(records, batch))
            n_records += batch.num_rows
        self._derive()
        fragment = Fragment(
            self.party,
            n_records,
            {column: self._unchanged(column, self._joined(column)) for column in self._domains},
            {column: domain.size for column, domain in self._domains.items()},
            IdentifierColumn(self._identifiers) if records.keys else None,
            {column: np.concatenate([np.empty(0, np.int64), *parts]) for column, parts in self._numbers.items()},
            class_name if class_name in self._domains else None,
            np.arange(n_records, dtype=np.int64) if self._numbered else None,
        )
        if records.keys:
            fragment = self._with_one_row_each(records.identifier_name, fragment)
        if self.agreement.mechanism.drops_missing:
            fragment = self._without_missing(fragment)
        return fragment, self._tallies.overview(rows=n_records, records=fragment.n_records)

    def _derive(self) -> None:
        """Encode what is derived from events, by the rules of any other column."""
        if not self._derived:
            return
        encoded = dict.fromkeys(self._derived, 0)
        for batch in derived_batches(self.agreement, self.party, self._events, self._identifiers):
            (column,) = batch.schema.names
            self._encode(column, batch, encoded[column])
            encoded[column] += batch.num_rows

    def _encode(self, column: str, batch: Any, first: int) -> None:
        rule = self._rules[column]
        translation = self._translations[column]
        encoded = encode_batch(rule, batch, null_is_elsewhere=self._is_spread(column), translation=translation)
        self._codes[column].append(encoded.codes)
        if column in self._numbers and isinstance(rule.domain, NumericalDomain) and encoded.numbers is not None:
            self._numbers[column].append(quantize(rule.domain, encoded.numbers, encoded.codes))
        self._tallies.count(column, encoded, batch.column(column), first=first)

    def _is_spread(self, column: str) -> bool:
        """Whether an empty cell is one that another party holds."""
        is_class = column == self.agreement.class_name
        return self.agreement.partition == "arbitrary" and not is_class and len(self.agreement.holders(column)) > 1

    def _unchanged(self, column: str, codes: Codes) -> Codes:
        """The codes of a column, unless those that the source has written are others than it had counted."""
        known = self._coded.get(column)
        if known is not None:
            counts = np.bincount(codes, minlength=len(known.private_counts))
            if not np.array_equal(counts, known.private_counts):
                raise SourceError(CHANGED.format(subject=subject_of(self.party)))
        return codes

    def _joined(self, column: str) -> Codes:
        parts = self._codes.pop(column)  # freed column by column, so that memory holds the codes about once
        return np.concatenate([np.empty(0, dtype=np.min_scalar_type(self._domains[column].size)), *parts])

    def _with_one_row_each(self, column: str, fragment: Fragment) -> Fragment:
        """The fragment with one record for each identifier. Where the order of rows joins them, all rows stay."""
        identifiers, agreed = fragment.identifiers or IdentifierColumn([]), self.agreement
        stay = rows_that_stay(fragment)
        in_order = agreed.records.alignment == "row-order"
        if len(stay) < fragment.n_records:
            under = _under_rules(agreed.records)
            left_out, empty = np.ones(fragment.n_records, dtype=np.bool_), identifiers.is_empty()
            left_out[stay] = False
            kept = "kept: the order of rows joins them"
            words = f"empty identifiers{under}. Every record needs one", kept if in_order else "left out"
            self._tallies.changes.note(column, "no identifier", words, empty)
            effect = kept if in_order else "left out: of the rows of one identifier the smallest in codes stays"
            words = f"duplicate identifiers{under}. One person is one record", effect
            self._tallies.changes.note(column, "doubled", words, left_out & ~empty)
        fragment = fragment if in_order else fragment.take(stay)
        self._note_length(column, fragment)
        return fragment

    def _without_missing(self, fragment: Fragment) -> Fragment:
        """The records without a missing value, where the agreement drops the others."""
        is_missing = missing_cells(fragment, self._rules)
        if not is_missing:
            return fragment
        for column, rows in is_missing.items():
            words = ("missing values", "left out: the agreement drops rows with a missing value")
            self._tallies.changes.note(column, "dropped", words, self._in_the_source(fragment, rows))
        return fragment.take(np.flatnonzero(~np.any(list(is_missing.values()), axis=0)).astype(np.int64))

    @staticmethod
    def _in_the_source(fragment: Fragment, rows: BoolArray) -> BoolArray:
        """Some records as rows of the source, of which others may have been left out before."""
        if fragment.row_numbers is None:
            return rows
        found = np.zeros(int(fragment.row_numbers.max(initial=-1)) + 1, dtype=np.bool_)
        found[fragment.row_numbers[rows]] = True
        return found

    def _note_length(self, column: str, fragment: Fragment) -> None:
        """Note that a list of people is longer than what is compared of one."""
        padded = (self.agreement.records.at_most or {}).get(self.party)
        length = self.agreement.most_listed if padded is None else padded
        if self.agreement.compares_people and fragment.n_records > length:
            words = (
                "more people than twice records.expected, the public number that is compared with other parties'",
                "beyond it, so a run would end; list people whom the release may be about, or agree on a larger number"
                if self.agreement.joins_by_identifier
                else "beyond it, so nobody would notice that they are at another party, too; agree on a larger number",
            )
            if padded is not None:
                words = (
                    f"more people than records.at_most of '{self.party}', the public length of its list",
                    "beyond it: so many people stay out, the same ones in every run, as your ledger's key for lists "
                    "picks them; agree on a larger number",
                )
            beyond: BoolArray = np.arange(fragment.n_records) >= length
            self._tallies.changes.note(column, "not compared", words, beyond)
