"""Keys of a draft that hide whom owners of columns have in common, where a release can hide it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from copublish.agreement.loading import FILL_IN
from copublish.agreement.membership import USUAL_EPSILON, USUAL_LENGTH
from copublish.agreement.model import MAX_LISTED
from copublish.agreement.settings import MechanismSettings

Content = dict[str, Any]


def membership_keys(
    content: Mapping[str, Any], settings: type[MechanismSettings], wanted: str | None
) -> tuple[Content, Content]:
    """The keys of `records`, and those of `privacy`.

    Args:
        content: A draft, all but these keys.
        settings: Those of its mechanism.
        wanted: What a person asked for, whose rules are left to be told by `check`.
    """
    if wanted == "shared":
        return {"membership": wanted}, {}
    if wanted is None and not can_hide(content, settings):
        return {}, {}
    lengths = usual_lengths(list(content["parties"]), content["records"]["expected"])
    return {"membership": "hidden", "at_most": lengths}, {"membership_epsilon": Decimal(USUAL_EPSILON)}


def can_hide(content: Mapping[str, Any], settings: type[MechanismSettings]) -> bool:
    """Whether a draft is of owners of columns who can join without learning who is common, as far as it says."""
    expected = content["records"]["expected"]
    return (
        content["partition"] == "vertical"
        and len(content["parties"]) <= 2  # a party without data, which more would need, is for people to find
        and not settings.publishes_each_record
        and content["records"].get("public") is not True
        and (isinstance(expected, str) or USUAL_LENGTH * expected <= MAX_LISTED)
    )


def what_is_shared(content: Mapping[str, Any], settings: type[MechanismSettings]) -> Iterator[str]:
    """Yield a sentence for who drafts if owners of columns cannot but learn whom they share, with the reason."""
    if content["partition"] != "vertical" or "membership" in content["records"]:
        return
    why = "it can be hidden from so many only by a party without data that puts people into rows"
    if settings.publishes_each_record or content["records"].get("public") is True:
        why = f"'{content['mechanism']['name']}' publishes a row for each of them"
    elif len(content["parties"]) <= 2:
        why = f"it can be hidden where lists have at most {MAX_LISTED:,} people"
    yield f"By this draft the owners learn which of their people are common: {why}."


def usual_lengths(owners: Sequence[str], expected: object) -> Content | str:
    """A proposal for `at_most`: from the public estimate alone, and open without one.

    Privacy:
        Never from the number of rows that an owner has: the agreement is public.
    """
    length = USUAL_LENGTH * expected if isinstance(expected, int) and not isinstance(expected, bool) else FILL_IN
    return dict.fromkeys(owners, length) if owners else FILL_IN


def completed(content: Content) -> None:
    """Fill in what two drafts that hide membership do not know of each other: every owner's length, and who is charged.

    Args:
        content: What drafts say together.
    """
    records, privacy = content.get("records", {}), content.get("privacy", {})
    if records.get("membership") != "hidden" or not isinstance(records.get("at_most", {}), Mapping | str):
        return
    owners = [name for name, party in content.get("parties", {}).items() if party.get("data") is not False]
    usual, said = usual_lengths(owners, records.get("expected")), records.get("at_most", {})
    if isinstance(usual, dict):
        known = {} if isinstance(said, str) else {name: length for name, length in said.items() if length != FILL_IN}
        records["at_most"] = usual | known
    if records.get("compared_by") not in (None, FILL_IN):
        privacy.pop("membership_epsilon", None)  # a draft of one owner does not know who compares
