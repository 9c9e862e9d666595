"""Which party publishes which column, where records are published one by one."""

from __future__ import annotations

from copublish.agreement.model import Agreement


def published_columns(agreement: Agreement) -> dict[str, tuple[str, ...]]:
    """For every party the columns that it publishes, in agreed order, the class last.

    Horizontal: every owner publishes all columns, of its own rows. Vertical: a column is published once, by its
    holder; a class that several parties hold by the first of them.
    """
    columns = (*agreement.attributes, agreement.class_.name)
    found = {}
    for party, about in agreement.parties.items():
        is_first = {column: agreement.holders(column)[0] == party for column in columns}
        publishes_all = agreement.partition == "horizontal" and about.data
        found[party] = tuple(column for column in columns if publishes_all or is_first[column])
    return found
