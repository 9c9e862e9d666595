"""Sentences about comparing people and about masked sums, for descriptions and certificates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from copublish.agreement.model import Agreement
from copublish.kernel.noise.shared_laplace import NoiseShares

Way = Literal["intersection", "pseudonyms", "chain", "rounds", "hidden", "hidden-pseudonyms"]
"""Two parties intersect lists to join them; a helper compares pseudonyms; owners find common records from one to the
next; lists go to all owners, who look for people at two of them; two owners put people into rows and do not learn who
is common; or a helper puts pseudonyms into rows, and no owner learns who is common."""


def way_of(agreement: Agreement) -> Way | None:
    """How people are compared; nothing if they are not."""
    if not agreement.compares_people:
        return None
    if agreement.hides_membership:
        return "hidden" if agreement.helper is None else "hidden-pseudonyms"
    if agreement.helper is not None:
        return "pseudonyms"
    if not agreement.joins_by_identifier:
        return "rounds"
    return "intersection" if agreement.engine.name == "spu" and len(agreement.parties) == 2 else "chain"


def seen_in_comparing(agreement: Agreement, party: str, by: str) -> list[str]:
    """What one party learns because people are compared.

    Args:
        agreement: What all parties agreed on.
        party: Which party.
        by: How people are told apart, in words.
    """
    way = way_of(agreement)
    if way is None:
        return []
    if agreement.hides_membership:
        return _rows(agreement, party, way)
    seen = _join(agreement, party, by, way) if agreement.joins_by_identifier else _search(agreement, party, by, way)
    if party == agreement.helper:
        how_many = "how many they are" if agreement.joins_by_identifier else "padded to a public length"
        seen.append(f"pseudonyms of every owner's people, {how_many}, and for each of them which owners list it")
    return seen


def _rows(agreement: Agreement, party: str, way: Way) -> list[str]:
    """What is learned where people get rows and no owner learns who is common."""
    if way == "hidden":
        whose = "noise that only the other owner knows" if party in agreement.owners else "the noise of both owners"
        return [f"the number of rows of the joined table, from which follows how many people are common, with {whose}"]
    if party == agreement.helper:
        return [
            "pseudonyms of every owner's people, padded to a public length, and for each of them which owners list it"
        ]
    return ["a random row of the joined table for each of its people"] if party in agreement.owners else []


def _join(agreement: Agreement, party: str, by: str, way: Way) -> list[str]:
    """What is learned where common records are found."""
    seen = []
    if party in agreement.owners:
        sizes = ", and how many records each party has" if way == "intersection" else ""
        seen.append(f"which of its records are common to all parties {by}{sizes}")
        seen += _links(agreement, party) if way == "chain" else []
    seen.append(
        "a keyed commitment to every owner's list of people, which tells whether it is the same in other runs of this "
        "agreement, and nothing else"
    )
    return seen


def _links(agreement: Agreement, party: str) -> list[str]:
    """What an owner learns from those next to it in the chain."""
    owners, seen = agreement.owners, []
    number = owners.index(party)
    if 0 < number < len(owners) - 1:
        seen.append(f"which of its records {_names(owners[:number])} {_all(number)} too, whoever else does or does not")
    neighbors = [owners[other] for other in (number - 1, number + 1) if 0 <= other < len(owners)]
    seen.append(f"how many records {_names(neighbors)} {'has' if len(neighbors) == 1 else 'have'}")
    return seen


def _search(agreement: Agreement, party: str, by: str, way: Way) -> list[str]:
    """What is learned where people at two owners are looked for."""
    seen = [f"whether any person is at two parties {by} (the run ends if there are any)"]
    if way == "rounds" and party == agreement.owners[0]:
        seen.append("if any person is at two parties, how many people any of the owners share, and not who they are")
    if not agreement.records.public and (party in agreement.owners or party == agreement.helper):
        seen.append(
            f"lists of identifiers of one length, {agreement.compared_identifiers:,}, twice records.expected: shorter "
            "ones are padded, and of longer ones so many are compared, so their own lengths stay secret"
        )
    return seen


def lengths_told(agreement: Agreement) -> str:
    """How the parties of a joined release learn lengths of each other's lists, as the end of a sentence."""
    way = way_of(agreement)
    if way == "pseudonyms":
        return ""
    if way == "chain" and len(agreement.owners) > 2:
        return ", and, from the owners next to it in the agreement, how many records each owner has"
    return ", and how many records each party has"


def not_protected_in_comparing(agreement: Agreement) -> list[str]:
    """From whom something about membership is not protected, beside what every joined release tells the parties."""
    way, found = way_of(agreement), []
    if way == "hidden":
        found.append(
            "From another owner that changed its software where people are compared: which of the people that it lists "
            "an owner has."
        )
    if way == "hidden-pseudonyms":
        found.append(
            f"From '{agreement.helper}', which puts people into rows: for each pseudonym which owners list it. From it "
            "and any one owner that help each other: every owner's people, by trial."
        )
    if way == "chain" and len(agreement.owners) > 2:
        between = agreement.owners[1:-1]
        found.append(
            f"From {_names(between)}, between the first and the last owner: which of its records all owners before it "
            "list, also where an owner after it does not."
        )
    if way == "pseudonyms":
        lists = "how many people every owner lists, and " if agreement.joins_by_identifier else ""
        found.append(
            f"From '{agreement.helper}', which compares pseudonyms: {lists}how many people any of the owners share. "
            "From it and any one owner that help each other: every owner's people, by trial."
        )
    if not agreement.joins_by_identifier and way is not None:
        then = f"; '{agreement.owners[0]}' then learns how many, and not who they are" if way == "rounds" else ""
        found.append(f"From the other parties: whether any person is at two of them (the run ends if any are{then}).")
    return found


def assumptions_of_comparing(agreement: Agreement) -> list[str]:
    """What it rests on that comparing people tells no more."""
    way = way_of(agreement)
    if way == "hidden":
        return [
            "No owner can compute who is common, whatever people it lists, if its software is the released one, the "
            "decisional Diffie-Hellman problem is hard on the curve P-256, BLAKE2b and SHA-256 are random functions, "
            "and the engine keeps its secrets."
        ]
    if way == "hidden-pseudonyms":
        return [
            f"'{agreement.helper}', which puts people into rows, colludes with no owner: with the key it could find "
            "out by trial who is at which party.",
            f"'{agreement.helper}' follows the protocol: it could put one person's cells at different owners into "
            f"different rows, and the release would cost that person up to {len(agreement.owners)} times as much.",
        ]
    if way == "intersection":
        return [
            "The cryptography of the intersection of lists, RR22 (oblivious transfer, learning parity with noise, hash "
            "functions), holds, as implemented by SPU."
        ]
    if way == "pseudonyms":
        return [
            f"'{agreement.helper}', which compares the owners' pseudonyms, colludes with none of them: with the key it "
            "could find out by trial who is at which party."
        ]
    if way in ("chain", "rounds"):
        together = (
            " Owners that collude learn what each of them learns, and no more."
            if way == "chain"
            else " Owners that collude, even all but one, learn how many people lists share, and not who they are."
        )
        return [
            "Owners compare points of the curve P-256 under secret factors: the decisional Diffie-Hellman problem is "
            "hard there, and BLAKE2b and SHA-256 are random functions."
            + (together if len(agreement.owners) > 2 else "")
        ]
    return []


def _names(parties: Sequence[str]) -> str:
    quoted = [f"'{party}'" for party in parties]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"


def _all(number: int) -> str:
    return "lists" if number == 1 else "all list"


def how_noise_is_drawn(agreement: Agreement) -> str:
    """Who draws the noise."""
    if NoiseShares.of(agreement) is None:
        return "All noise is drawn jointly"
    return "All noise is the sum of shares that the owners of data draw"


def assumptions_about_noise(agreement: Agreement) -> list[str]:
    """Assumptions of noise in shares; nothing if a secure engine draws it."""
    shares = NoiseShares.of(agreement)
    if shares is None:
        return []
    owners = f"At most {shares.colluders} of the {len(shares.owners)} owners of data put together what they know"
    return [
        f"{owners}{_with_aggregator(agreement, shares)}.",
        f"The coins of the other owners, at least {shares.enough}, are uniform and secret.",
    ]


def limits_of_masked_sums(agreement: Agreement) -> list[str]:
    """Those from whom nothing is protected."""
    shares = NoiseShares.of(agreement)
    if shares is None:
        return []
    return [
        f"Anything from {_more_than(shares.colluders)} owners of data that collude{_counted(agreement, shares)}: too "
        "much of the noise would be known to them."
    ]


def seen_by_aggregator(agreement: Agreement, party: str) -> list[str]:
    """View of a party because it adds up for the others."""
    if agreement.engine.name != "masked-sum" or party != agreement.aggregator:
        return []
    shares, seen = NoiseShares.of(agreement), []
    if shares is not None and len(shares.owners) == 2 and party in shares.owners:
        # It has the one key there is.
        seen.append("the other owner's sums with its noise: the sums that are opened without this party's own")
    elif shares is not None:
        seen.append("every owner's sums under masks, which look random to it")
    return seen


def _with_aggregator(agreement: Agreement, shares: NoiseShares) -> str:
    """Words for the aggregator in a coalition: it brings a share of the noise if it owns data, and otherwise none."""
    if agreement.aggregator in shares.owners:
        return _counted(agreement, shares)
    # Where it compares pseudonyms it must collude with nobody, as is said beside this.
    adds_up = f", with '{agreement.aggregator}', which adds up the masked sums and holds no data, or without it"
    return "" if agreement.helper == agreement.aggregator else adds_up


def _counted(agreement: Agreement, shares: NoiseShares) -> str:
    """Say that an aggregator which owns data is one of the owners; nothing if it owns none."""
    is_owner = agreement.aggregator in shares.owners
    return f", '{agreement.aggregator}', which adds up the masked sums, counted among them" if is_owner else ""


def _more_than(colluders: int) -> str:
    return "two or more" if colluders == 1 else f"more than {colluders}"
