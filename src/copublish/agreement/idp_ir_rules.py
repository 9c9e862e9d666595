"""Rules of agreements about iDP-IR, which is not differentially private and runs only if the agreement says so."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING

from copublish.agreement.domain import NumericalDomain

if TYPE_CHECKING:
    from copublish.agreement.model import Agreement

ACKNOWLEDGEMENT = "idp-ir does not protect cluster membership; this is not differential privacy"

SMALLEST_K, LARGEST_K = 3, 10_000

MAX_STEPS = 2**32
"""Steps between the bounds of a number: weighed sums of them over clusters fit into 64-bit integers."""

MAX_SCALE = 2**54
"""Of the noise of a cluster's sum, in steps: 64 times as much still fits into 62 bits."""


def broken_idp_ir_rules(agreement: Agreement) -> Iterator[str]:
    """Yield one sentence for every rule of iDP-IR that the agreement breaks."""
    if agreement.mechanism.name != "idp-ir":
        return
    if agreement.mechanism.acknowledge != ACKNOWLEDGEMENT:
        yield (
            "mechanism.acknowledge: idp-ir runs only if the agreement says what it does not do. Write, word for word, "
            f'acknowledge = "{ACKNOWLEDGEMENT}". For records of the same columns with differential privacy write '
            'name = "copula" instead: its records are synthetic, and epsilon holds for everybody'
        )
    yield from _cluster_size(agreement.mechanism.k)
    if agreement.privacy.neighbours != "replace" or not agreement.records.public:
        yield (
            "records.public: idp-ir publishes every record, so their number is public, and one record more makes other "
            'clusters. Write public = true in [records] and neighbours = "replace" in [privacy]'
        )
    yield from _columns(agreement)


def _cluster_size(k: int | None) -> Iterator[str]:
    if k is None:
        yield f"mechanism.k: it is missing. Write how many records a cluster has, at least {SMALLEST_K}, like k = 50"
    elif not SMALLEST_K <= k <= LARGEST_K:
        yield f"mechanism.k: a cluster has {SMALLEST_K} to {LARGEST_K:,} records, got k = {k}"


def _columns(agreement: Agreement) -> Iterator[str]:
    if agreement.partition == "arbitrary":
        yield (
            "partition: idp-ir ranks whole columns at their owners, so cells of one cannot be spread. Write "
            '"horizontal" or "vertical"'
        )
    if agreement.partition == "vertical" and len(agreement.holders(agreement.class_.name)) != 1:
        yield (
            "class.held_by: owners of different columns may not have one in common, because each would publish it. "
            f'Name the party that publishes the class, like held_by = "{agreement.owners[0]}"'
        )
    # Epsilon is divided by owners, then by columns; a noisy sum has at most twice the domain's range as scale.
    columns = (len(agreement.attributes) + 1) * max(1, len(agreement.owners))
    for name, domain in agreement.domains.items():
        if not isinstance(domain, NumericalDomain):
            if domain.size < 2:
                yield f"attributes.{name}: it has one value alone, so there is nothing to rank. Remove it"
            continue
        if domain.missing:
            yield f"attributes.{name}.missing: idp-ir ranks numbers, and a missing one has no rank. Remove the key"
        if domain.steps > MAX_STEPS or 2 * domain.steps * columns / Fraction(agreement.privacy.epsilon) > MAX_SCALE:
            yield (
                f"attributes.{name}.decimals: with so many decimals and so small an epsilon its noise does not fit "
                "into the numbers that are computed with. Agree on fewer decimals, or closer bounds"
            )
