"""Draft of a mapping: which own column is which agreed one, by their names.

It follows from the names of the data's columns and from the agreement, never from values that occur.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence

from copublish.agreement.domain import CategoricalDomain, Domain, format_number
from copublish.agreement.loading import FILL_IN
from copublish.agreement.model import Agreement
from copublish.errors import OptionError
from copublish.rows.sources import Source, open_rows
from copublish.tools.drafting.text import quoted, toml_key, toml_value

TRUE_WORDS = ("true", "TRUE", "True", "t", "T", "yes", "YES", "Yes", "y", "Y", "ja", "JA", "Ja", "j", "J", "1", "1.0")
FALSE_WORDS = ("false", "FALSE", "False", "f", "F", "no", "NO", "No", "n", "N", "nein", "NEIN", "Nein", "0", "0.0")
"""Spellings of truth values. Whoever agreed on one of each has values that are true or false."""

MOST_LISTED = 12
"""Agreed values that a comment lists."""

HEAD = """\
# The columns of '{party}' for the agreement '{name}': their own names, units and spellings.
# This file stays here: it is never sent, and nothing that is published says that there is one.
# Look at what it does: copublish check AGREEMENT --party {party} --data DATA --columns THIS-FILE
# 'factor' is what one of your units is in agreed ones, like 1000 for thousands, or 0.01 for cents.
# 'values' are your values with agreed ones; those that are spelled as agreed need no line. "" is an empty cell.
# 'missing_spellings' are your texts for a missing value, like ["-9", "n/a"], besides the agreed ones."""


def draft_mapping(agreement: Agreement, party: str, data: Source) -> str:
    """A mapping to start from, as TOML. What no column was found for is left open.

    Args:
        agreement: What is agreed.
        party: Whose columns.
        data: Its data, of which the names of columns are read and no value.

    Raises:
        SourceError: If the data cannot be read.
    """
    if not agreement.parties[party].data:
        raise OptionError("party", f"by the agreement '{party}' holds no data, so it has no columns")
    parts = agreement.records.identifier_columns
    wanted = [*parts, *agreement.read_at(party)]
    with open_rows(data) as opened:
        header = tuple(opened.columns)
    found = matching_names(wanted, header)
    sections = [
        _section(column, found.get(column), None if column in parts else agreement.columns[column]) for column in wanted
    ]
    left = [name for name in header if name not in found.values()]
    others = [f"# Your other columns: {', '.join(map(quoted, left))}."] if left else []
    return "\n\n".join(["\n".join([HEAD.format(party=party, name=agreement.name), *others]), *sections]) + "\n"


def matching_names(wanted: Sequence[str], header: Sequence[str]) -> dict[str, str]:
    """The columns that have the name of a wanted one, or the same but for case, spaces and punctuation.

    Where several names come into question, on either side, none is taken.
    """
    found = {name: name for name in wanted if name in header}
    left = [name for name in header if name not in found]
    for name in wanted:
        alike = [other for other in left if plain(other) == plain(name)]
        rivals = [other for other in wanted if other not in found and plain(other) == plain(name)]
        if name not in found and len(alike) == 1 == len(rivals):
            found[name] = alike[0]
    return found


def plain(name: str) -> str:
    """A name without case, spaces and punctuation; of one without letters and digits, the name."""
    folded = unicodedata.normalize("NFKC", name).casefold()
    return "".join(filter(str.isalnum, folded)) or name


def truth_words(domain: CategoricalDomain) -> Mapping[str, str]:
    """Other spellings of two agreed values that are true and false; nothing for other values."""
    listed = list(domain.tree.leaves())
    true, false = ([value for value in listed if value in words] for words in (TRUE_WORDS, FALSE_WORDS))
    rest = set(listed) - {*true, *false, "other"}
    if not (len(true) == len(false) == 1) or rest:
        return {}
    return {
        word: agreed[0]
        for words, agreed in ((TRUE_WORDS, true), (FALSE_WORDS, false))
        for word in words
        if word != agreed[0]
    }


def _section(column: str, own: str | None, domain: Domain | None) -> str:
    return "\n".join([f"[columns.{toml_key(column)}]", *_lines(own, domain)])


def _lines(own: str | None, domain: Domain | None) -> Iterator[str]:
    """The keys of one column; the identifier has no domain."""
    if own is None:
        yield f"column = {quoted(FILL_IN)}  # no column of this name, or several: write which one it is"
    else:
        yield f"column = {quoted(own)}"
    if isinstance(domain, CategoricalDomain):
        if words := truth_words(domain):
            yield f"values = {toml_value(words)}"
            return
        listed = list(domain.tree.leaves())
        shown = ", ".join(map(quoted, listed[:MOST_LISTED])) + (", ..." if len(listed) > MOST_LISTED else "")
        yield f"# values = {{ {quoted('yours')} = {quoted(listed[0])} }}  # agreed: {shown}"
    elif domain is not None:
        bounds = f"[{format_number(domain.lower)}, {format_number(domain.upper)}]"
        yield f"# factor = 1  # agreed bounds: {bounds}"
