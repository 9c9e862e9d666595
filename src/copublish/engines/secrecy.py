"""The secrecy of engines in words, for descriptions before a run and for certificates."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from copublish.agreement.model import Agreement
from copublish.kernel.certificate.promise import computes_jointly

SECRECY_OF_TWO = (
    "SecretFlow SPU with the two-party protocol CHEETAH: neither party sees the other's data, any count without "
    "noise, or any part of the noise. Security is computational."
)

SEMI_HONEST = (
    "Every party's engine is the released software and follows the protocol (semi-honest); with a changed one a party "
    "could learn more. The values that a party puts into its engine may be anything: the promise about the others' "
    "people does not rest on them."
)

ASSUMPTIONS_OF_TWO = (
    SEMI_HONEST,
    "The two parties' engines do not collude and their machines are not compromised.",
    "The cryptography of CHEETAH (lattice encryption, oblivious transfer) holds, as implemented by SPU.",
)

CRYPTOGRAPHY = {"CHEETAH": "lattice encryption, oblivious transfer", "ABY3": "pseudorandom generators"}
PARTIES_IN_WORDS = {"CHEETAH": "two-party", "ABY3": "three-party"}

ASSUMPTIONS_OF_SUMS = (
    "All parties follow the protocol (semi-honest); a party that deviates could learn or spoil more.",
    "Messages between two parties are read by nobody else, and ChaCha20, SHA-256 and BLAKE2b hold.",
)


def agreed_secrecy(agreement: Agreement) -> tuple[str, tuple[str, ...]]:
    """Secrecy of the agreed engine and its assumptions, in the words that its certificate will have."""
    if agreement.engine.name == "masked-sum":
        sums = secrecy_of_sums(agreement.owners, agreement.aggregator, opens_sums=computes_jointly(agreement))
        return sums, ASSUMPTIONS_OF_SUMS
    computing = agreement.engine.agreed_protocol.upper(), agreement.compute_nodes, agreement.guests
    return secrecy_of(*computing), assumptions_of(*computing)


def secrecy_of_sums(owners: Sequence[str], aggregator: str, *, opens_sums: bool) -> str:
    """The secrecy of masked sums, which are added up without a secure engine.

    Args:
        owners: The parties that hold data.
        aggregator: Who adds up.
        opens_sums: Whether sums are opened, or owners tell perturbed columns only.
    """
    if not opens_sums:
        return "No secure engine: every owner perturbs its own values before it tells them to all parties."
    # Of two owners the one that adds up has the only key, and can take the other one's masks off.
    looks = "" if len(owners) == 2 and aggregator in owners else " that look random to it"
    return (
        "No secure engine: every owner adds its own share of the noise to its sums and masks them with keys that it "
        f"has with every other owner. '{aggregator}' adds up numbers{looks} and learns only the noisy sums, as "
        "everyone does. Security is computational."
    )


def secrecy_of(protocol: str, nodes: Sequence[str], guests: Sequence[str]) -> str:
    """Who could see what."""
    if protocol == "CHEETAH" and not guests:
        return SECRECY_OF_TWO
    sharing = (
        f" {in_words(guests)} {'split' if len(guests) > 1 else 'splits'} every input into one share for each of these; "
        "together they make it up, and all of them but one tell nothing."
        if guests
        else ""
    )
    return (
        f"SecretFlow SPU with the {PARTIES_IN_WORDS[protocol]} protocol {protocol} between the compute nodes "
        f"{in_words(nodes)}.{sharing} No party sees another's data, any count without noise, or any part of the noise, "
        f"unless {coalitions(nodes)} collude. Security is computational."
    )


def assumptions_of(protocol: str, nodes: Sequence[str], guests: Sequence[str]) -> tuple[str, ...]:
    """Assumptions of the secrecy."""
    if protocol == "CHEETAH" and not guests:
        return ASSUMPTIONS_OF_TWO
    one_node = f"one of them and {in_words(guests)} together" if guests else "one of them"
    return (
        SEMI_HONEST,
        f"These coalitions do not form, as each would see every party's inputs: {coalitions(nodes)}. Any "
        f"coalition with fewer compute nodes ({one_node}) learns what is opened and knows its own inputs, no more.",
        "No two compute nodes' machines are compromised.",
        *(
            [f"The coins of {in_words(guests)} are uniform and secret: they hide each one's inputs from the nodes."]
            if guests
            else []
        ),
        f"The cryptography of {protocol} ({CRYPTOGRAPHY[protocol]}) holds, as implemented by SPU.",
    )


def coalitions(nodes: Sequence[str]) -> str:
    """Name the smallest coalitions that see everything."""
    pairs = [in_words(pair) for pair in combinations(nodes, 2)]
    return pairs[0] if len(pairs) == 1 else f"{', '.join(pairs[:-1])}, or {pairs[-1]}"


def in_words(parties: Sequence[str]) -> str:
    """Names in quotes, the last one after an 'and'."""
    quoted = [f"'{party}'" for party in parties]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"
