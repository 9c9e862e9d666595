"""Rules about hiding which people the owners of columns have in common."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from copublish.agreement.model import Agreement

MOST_OWNERS_WITH_A_HELPER = 10
"""More owners would make tables so long that no run ends in useful time."""

LENGTHS, SHARED = "records.at_most", 'membership = "shared"'

USUAL_LENGTH = 2
"""A list that is certainly long enough, as a multiple of the people who are expected to be common."""

USUAL_EPSILON = "0.05"


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
    if problems := list(_where_it_cannot_hold(agreement)):
        yield from problems  # lengths and a price would not help
        return
    yield from _lengths(agreement)
    if agreement.helper is None and epsilon is None:
        yield (
            "privacy.membership_epsilon: two owners that hide membership from each other learn a noisy number of "
            f"common people, and its price is missing. Write one, like membership_epsilon = {USUAL_EPSILON}"
        )
    if agreement.helper is not None and epsilon is not None:
        yield (
            f"privacy.membership_epsilon: '{agreement.helper}' puts people into rows, so owners learn nothing of the "
            "number of common people and nothing is paid for it. Remove the key"
        )


def _where_it_cannot_hold(agreement: Agreement) -> Iterator[str]:
    """Agreements whose release, or whose computation, tells who is common."""
    place = "records.membership"
    if agreement.partition == "horizontal":
        yield (
            f'{place}: in a horizontal release every party has other people, so there is nobody to be "hidden". Remove '
            "the key"
        )
    elif not agreement.joins_by_identifier:
        yield (
            f"{place}: owners that join records by their order have the same people and know it, so these cannot be "
            '"hidden". Join by an identifier, or remove the key'
        )
    elif agreement.partition == "arbitrary":
        yield (
            f"{place}: in an arbitrary release the parties tell each other who holds which cell of a record, so it "
            f'cannot be "hidden". Write {SHARED}'
        )
    if agreement.publishes_each_record:
        yield (
            f"{place}: '{agreement.mechanism.name}' publishes a row for each common person, so their number cannot be "
            f"\"hidden\". Take 'marginals', or write {SHARED}"
        )
    elif agreement.records.public:
        yield (
            f'{place}: public = true publishes the number of common people, so it cannot be "hidden". Write public = '
            f"false, or {SHARED}"
        )
    if agreement.engine.name == "masked-sum":
        yield (
            f"{place}: the engine 'masked-sum' cannot count people who are common without telling who they are. Take "
            f"'spu', or write {SHARED}"
        )
    if len(agreement.owners) > MOST_OWNERS_WITH_A_HELPER:
        yield (
            f'{place}: "hidden" works for up to {MOST_OWNERS_WITH_A_HELPER} owners, and {len(agreement.owners)} hold '
            f"data. Write {SHARED}"
        )
    elif len(agreement.owners) > 2 and agreement.helper is None:
        yield (
            f'{place}: for more than two owners "hidden" needs a party without data that puts people into rows. Add '
            f"one with data = false and name it in compared_by, or write {SHARED}"
        )


def _lengths(agreement: Agreement) -> Iterator[str]:
    """Every owner has a public length, and nobody else has."""
    at_most = agreement.records.at_most or {}
    if missing := [owner for owner in agreement.owners if owner not in at_most]:
        usual = USUAL_LENGTH * agreement.records.expected
        example = ", ".join(f"{owner} = {at_most.get(owner, usual)}" for owner in agreement.owners)
        yield (
            f"{LENGTHS}: the list of every owner is padded to a public length, and there is none for "
            f"{', '.join(map(repr, missing))}. Write at_most = {{ {example} }}, with numbers that are public and "
            "certainly enough"
        )
    for name in at_most:
        if name not in agreement.parties:
            yield f"{LENGTHS}.{name}: there is no party '{name}'. Parties: {', '.join(map(repr, agreement.parties))}"
        elif name not in agreement.owners:
            yield f"{LENGTHS}.{name}: '{name}' holds no data, so it has no list. Remove it"
