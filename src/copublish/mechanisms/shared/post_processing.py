"""Released values made into published records, as Arrow arrays: a random order, shared chance, exact counts."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from copublish.agreement.domain import CategoricalDomain, Domain, NumericalDomain
from copublish.agreement.model import Agreement
from copublish.types import BoolArray, Codes, IntArray


def order_without_meaning(columns: Sequence[IntArray]) -> IntArray:
    """An order of records that is a function of their published values alone.

    Sorted by their values, records are a set without an order; they are then shuffled by words from SHAKE-256 under a
    hash of that set, so that a part of the file is not a part of the sorted values. All parties get the same order.

    Args:
        columns: The published values as whole numbers, each of shape (n_records,).
    """
    by_value = np.lexsort(columns[::-1])
    digest = hashlib.sha256(b"copublish order 1")
    for column in columns:
        digest.update(column[by_value].astype("<i8").tobytes())
    words = np.frombuffer(hashlib.shake_256(digest.digest()).digest(8 * len(by_value)), "<u8")
    order: IntArray = by_value[np.argsort(words, kind="stable")]
    return order


RECORDS_PER_BLOCK = 65_536

# The first mechanism that drew records named the key, in ASCII. The bytes stay: others would draw other records.
_NAME_OF_KEY = bytes.fromhex("636f7075626c69736820636f70756c612031")


def key_of(opened: Iterable[IntArray]) -> bytes:
    """The key under which records are drawn: a hash of everything that was opened."""
    digest = hashlib.sha256(_NAME_OF_KEY)
    for values in opened:
        digest.update(len(values).to_bytes(8, "little") + values.astype("<i8").tobytes())
    return digest.digest()


def published_columns(agreement: Agreement) -> dict[str, tuple[str, ...]]:
    """For every party the columns that it publishes, in agreed order; the class, if there is one, last.

    Horizontal: every owner publishes all columns, of its own rows. Vertical: a column is published once, by its
    holder; a class that several parties hold by the first of them.
    """
    columns = tuple(agreement.columns)
    found = {}
    for party, about in agreement.parties.items():
        is_first = {column: agreement.holders(column)[0] == party for column in columns}
        publishes_all = agreement.partition == "horizontal" and about.data
        found[party] = tuple(column for column in columns if publishes_all or is_first[column])
    return found


def consistent_counts(noisy_counts: IntArray, total: int) -> IntArray:
    """The non-negative integers nearest to noisy counts that add up to `total`.

    First the Euclidean projection on {x >= 0, sum x = total}: the same shift is taken from all counts that stay
    positive. Clamping at zero instead would keep all positive noise and drop all negative noise, which blows up
    sparse tables. Then the largest remainder method rounds; ties go to the lower index. No floating point is
    involved, so all parties get the same bytes.

    Args:
        noisy_counts: Released counts, shape (n,).
        total: What they shall add up to, at least 0.
    """
    if total < 0 or len(noisy_counts) == 0:
        raise ValueError("a total must be at least 0 and there must be a count")
    descending = np.sort(noisy_counts)[::-1]
    kept = np.arange(1, len(descending) + 1, dtype=np.int64)
    excess = np.cumsum(descending) - total  # shift times number kept, if the first `kept` stay positive
    # The largest k with descending[k-1] > excess[k-1] / k; with total 0 there may be none: keep one.
    possible = np.flatnonzero(descending * kept > excess)
    k = int(possible[-1]) + 1 if len(possible) else 1
    scaled = np.maximum(noisy_counts * k - int(excess[k - 1]), 0)  # k times the projection, exactly
    counts, remainders = np.divmod(scaled, k)
    short = total - int(counts.sum())
    largest_first = np.argsort(-remainders, kind="stable")[:short]
    counts[largest_first] += 1
    return counts


def consistent_counts_by_class(noisy_counts: IntArray, total: int) -> IntArray:
    """Non-negative integers that add up to `total` and, class by class, to the nearest totals of the classes.

    First the classes' noisy totals are made consistent, then each class's counts with its total. A rare class keeps its
    share, where one shift for all counts would take from it what noise adds to the empty cells of the others.

    Args:
        noisy_counts: Released counts, shape (n_leaves, n_classes).
        total: What they shall add up to, at least 0.
    """
    totals = consistent_counts(noisy_counts.sum(axis=0), total)
    columns = [consistent_counts(noisy_counts[:, k], int(totals[k])) for k in range(len(totals))]
    return np.stack(columns, axis=1)


MOST_DECIMALS = 9
"""Of published numbers, when it is asked how they are written."""


def categories(domain: CategoricalDomain, codes: Codes | IntArray) -> pa.Array:
    """A column of categories, from the codes of its values."""
    labels = pa.array(domain.values, pa.string())
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), labels)


def numbers(
    domain: NumericalDomain, units: IntArray, mask: BoolArray | None = None, *, decimals: int | None = None
) -> pa.Array:
    """A column of numbers, whole ones as integers.

    Args:
        domain: The column's public domain.
        units: The numbers in units of their last decimal.
        mask: Where a number is missing.
        decimals: How many decimals they have; those of the domain's numbers unless said otherwise.
    """
    places = domain.decimals_of_numbers if decimals is None else decimals
    return pa.array(units if places == 0 else units / float(10**places), mask=mask)


def decimals_of(published: pa.ChunkedArray) -> int:
    """With how many decimals a published column of numbers is written."""
    values = np.asarray(published.drop_null().to_numpy(), dtype=np.float64)
    for decimals in range(MOST_DECIMALS):
        scaled = np.abs(values) * 10.0**decimals
        if np.abs(scaled - np.rint(scaled)).max(initial=0.0) < 1e-6 + 1e-12 * scaled.max(initial=0.0):
            return decimals
    return MOST_DECIMALS


def domains_as_published(domains: Mapping[str, Domain], records: pa.Table) -> dict[str, Domain]:
    """Domains with numbers written as in published records: descriptions do not say with how many decimals."""
    return {
        name: domain
        if isinstance(domain, CategoricalDomain)
        else replace(domain, decimals=decimals_of(records.column(name)))
        for name, domain in domains.items()
    }
