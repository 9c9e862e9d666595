"""Are the columns of a source those that were agreed? Names are compared, and no value is looked at."""

from __future__ import annotations

from collections.abc import Sequence

from copublish.agreement.model import Agreement


def column_problems(agreement: Agreement, party: str, present: list[str]) -> list[str]:
    """A sentence for every column of a party that is not there, or there and not agreed; no value is looked at."""
    wanted = list(agreement.columns_of(party))
    if (identifier := agreement.records.identifier) is not None:
        wanted.append(identifier)
    # Names in the data are not repeated: in a file without a header they are somebody's values.
    problems = [
        f"Column '{column}' is agreed but not in the data. Names must match exactly; a CSV needs a header line."
        for column in wanted
        if column not in present
    ]
    if problems and (other := looks_like_data_of(agreement, present)) not in (None, party):
        return [
            f"This looks like the data of '{other}': columns that '{other}' alone holds are in them, and "
            f"those of '{party}' are not. Name the data of '{party}', or the party '{other}'.",
            *problems,
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


def looks_like_data_of(agreement: Agreement, present: Sequence[str]) -> str | None:
    """The party most of whose own columns are in data that have hardly any of the others'; none if it is not clear."""
    shares = {}
    for party in agreement.owners:
        own = [column for column in agreement.attributes if agreement.holders(column) == (party,)]
        shares[party] = sum(column in present for column in own) / len(own) if own else 0.0
    best = max(shares, key=lambda party: shares[party])
    others = [share for party, share in shares.items() if party != best]
    return best if shares[best] > 0.5 and max(others) < 0.5 else None


def ambiguous_columns(wanted: list[str], present: list[str]) -> list[str]:
    """A problem for every wanted column that the source cannot tell from another one: it ignores case."""
    return [
        f"Column '{column}' is there twice, in upper and lower case. Rename one of them."
        for column in wanted
        if column in present and sum(name.lower() == column.lower() for name in present) > 1
    ]
