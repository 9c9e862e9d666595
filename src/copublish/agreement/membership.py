"""Rules about hiding which people the owners of columns have in common."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from copublish.agreement.model import Agreement

MOST_OWNERS_WITH_A_HELPER = 10
"""More owners would make tables so long that no run ends in useful time."""

LENGTHS, SHARED = "records.at_most", 'membership = "shared"'


def broken_membership_rules(agreement: Agreement) -> Iterator[str]:
    """Yield one sentence for every rule about hidden membership that the agreement breaks."""
    at_most, epsilon = agreement.records.at_most, agreement.privacy.membership_epsilon
    if not agreement.hides_membership:
        if at_most is not None:
            yield f'{LENGTHS}: lists are padded only where membership = "hidden". Write that, or remove the key'
        if epsilon is not None:
            yield (
                "privacy.membership_epsilon: it is paid only where two owners hide membership from each other. Write "
                'membership = "hidden" in [records], or remove the key'
            )
        return
    yield from _where_it_cannot_hold(agreement)
    yield from _lengths(agreement)
    if agreement.helper is None and epsilon is None:
        yield (
            "privacy.membership_epsilon: two owners that hide membership from each other learn a noisy number of "
            "common people. Say what that may cost, like membership_epsilon = 0.05"
        )
    if agreement.helper is not None and epsilon is not None:
        yield (
            f"privacy.membership_epsilon: '{agreement.helper}' puts people into rows, so owners learn nothing of the "
            "number of common people and nothing is paid for it. Remove the key"
        )


def _where_it_cannot_hold(agreement: Agreement) -> Iterator[str]:
    """Agreements whose release, or whose computation, tells who is common."""
    place = "records.membership"
    if not agreement.joins_by_identifier:
        yield f'{place}: "hidden" needs records that are joined by an identifier. Name one, or remove the key'
    elif agreement.partition != "vertical":
        yield (
            f"{place}: in an {agreement.partition} release the parties tell each other who holds which cell of a "
            f'record, so it cannot be "hidden". Write {SHARED}'
        )
    if agreement.publishes_each_record:
        yield (
            f"{place}: '{agreement.mechanism.name}' publishes a row for each common person, so their number cannot be "
            f"\"hidden\". Take 'marginals', or write {SHARED}"
        )
    if agreement.records.public:
        yield f'{place}: "hidden" contradicts public = true, which tells the number of common people. Remove one'
    if len(agreement.owners) > 2 and agreement.helper is None:
        yield (
            f'{place}: for more than two owners "hidden" needs a party without data that puts people into rows. Add '
            f"one with data = false and name it in compared_by, or write {SHARED}"
        )
    if len(agreement.owners) > MOST_OWNERS_WITH_A_HELPER:
        yield (
            f'{place}: "hidden" works for up to {MOST_OWNERS_WITH_A_HELPER} owners, and {len(agreement.owners)} hold '
            f"data. Write {SHARED}"
        )


def _lengths(agreement: Agreement) -> Iterator[str]:
    """Every owner has a public length, and nobody else has."""
    at_most = agreement.records.at_most or {}
    if missing := [owner for owner in agreement.owners if owner not in at_most]:
        example = ", ".join(f"{owner} = {2 * agreement.records.expected}" for owner in agreement.owners)
        yield (
            f"{LENGTHS}: lists are padded to a public length, and there is none for {', '.join(map(repr, missing))}. "
            f"Write at_most = {{ {example} }} with numbers that are certainly enough"
        )
    for name in at_most:
        if name not in agreement.owners:
            yield f"{LENGTHS}: '{name}' is no party that holds data. Remove it"
