"""The parties of an agreement: how they find and recognize each other on the network.

A party that can be dialed has a host. One behind a firewall that lets no connection in has none, and says
`reach = "dial-out"`: it opens no port, dials the others, and leaves connections open there for them to call it on. Two
such parties meet at a relay, which passes bytes that it cannot read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from pydantic import Field, StrictBool, field_validator, model_validator

from copublish.agreement.section import Section, Whole

if TYPE_CHECKING:
    from copublish.agreement.model import Agreement

Way = Literal["dial", "call back", "relay"]
"""Ways to a connection with another party: dialing it, a connection that it left open here, or the relay."""


class AgreedNetwork(Section):
    """The section [network]: what the parties use of the network besides each other."""

    relay: str | None = None

    @field_validator("relay")
    @classmethod
    def _check_relay(cls, relay: str | None) -> str | None:
        if relay is not None and not HOST_PATTERN.fullmatch(relay):
            raise ValueError(f"write name and port, like \"relay.example:443\", got '{relay}'")
        return relay

    @property
    def relay_address(self) -> tuple[str, int]:
        """Name and port of the relay."""
        if self.relay is None:
            raise ValueError("the agreement names no relay")
        return split_address(self.relay)


def way_between(agreement: Agreement, caller: str, callee: str) -> Way:
    """How one party gets a connection to another."""
    if not agreement.parties[callee].dials_out:
        return "dial"
    return "relay" if agreement.parties[caller].dials_out else "call back"


def over_what(agreement: Agreement, party: str, peer: str) -> str:
    """What is between two parties, for messages about a link that broke: ` over the relay`, or nothing."""
    return f" over the relay {agreement.network.relay}" if way_between(agreement, party, peer) == "relay" else ""


def broken_network_rules(agreement: Agreement) -> Iterator[str]:
    """Yield one sentence for every rule about the network that the agreement breaks."""
    for key in ("host", "certificate"):
        first: dict[str, str] = {}
        for name, party in agreement.parties.items():
            value = getattr(party, key)
            if value is not None and first.setdefault(value, name) != name:
                yield f"parties.{name}.{key}: it is the same as that of '{first[value]}'. Every party has its own"
    hidden = _dialing_out(agreement)
    relay = agreement.network.relay
    if len(hidden) > 1 and relay is None:
        yield (
            f"network.relay: {_listed(hidden)} dial out alone, so none of them can be dialed by another. Name a relay "
            'where they meet, like relay = "relay.example:443", or give all but one of them a host'
        )
    if len(hidden) < 2 and relay is not None:
        yield (
            "network.relay: it is for two parties that dial out alone, and the agreement has "
            f'{"one" if hidden else "none"} of these. Remove it, or write reach = "dial-out" for those behind firewalls'
        )
    for name, party in agreement.parties.items():
        if relay is not None and party.host == relay:
            yield f"parties.{name}.host: it is the same as network.relay, which is no party"


def meeting_in_words(agreement: Agreement) -> Iterator[str]:
    """Sentences that say how every two parties will meet; none where the agreement does not say where they are."""
    dialed = [f"{name} ({party.host})" for name, party in agreement.parties.items() if party.host is not None]
    hidden = _dialing_out(agreement)
    if len(dialed) > 1:
        yield f"{_listed(dialed)} dial each other."
    if dialed and hidden:
        opens, dials = ("opens", "dials") if len(hidden) == 1 else ("open", "dial")
        yield (
            f"{_listed(hidden)} {opens} no port and {dials} {_listed(dialed)}; what goes the other way uses "
            "connections that were dialed so."
        )
    if len(hidden) > 1:
        yield (
            f"{_listed(hidden)} meet each other at the relay {agreement.network.relay}, which sees who, when and how "
            "much, and no content."
        )


def _dialing_out(agreement: Agreement) -> list[str]:
    return [name for name, party in agreement.parties.items() if party.dials_out]


def _listed(names: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


_PORT = r"([1-9]\d{0,3}|[1-5]\d{4}|6[0-4]\d{3}|65[0-4]\d{2}|655[0-2]\d|6553[0-5])"
_LABEL = r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
HOST_PATTERN = re.compile(rf"({_LABEL}(\.{_LABEL})*|\[[0-9A-Fa-f:.]+\]):{_PORT}")
MAX_APPROVALS = 20
FINGERPRINT_PATTERN = re.compile(r"sha256:[0-9a-f]{64}")


class Party(Section):
    """One organization, and how the others recognize its node on the network."""

    description: str = ""
    data: StrictBool = True
    """Whether it holds data; a party without helps to compute."""
    reach: Literal["listen", "dial-out"] = "listen"
    """Whether others can dial it. One that only dials out opens no port and has no host."""
    host: str | None = None
    certificate: str | None = None
    authority: str | None = None
    signer: str | None = None
    """Fingerprint of the certificate whose key signs, if it is not the one by which the node is known."""
    approvals: Whole = Field(default=0, ge=0, le=MAX_APPROVALS)
    """How many different people of this party have to approve before it runs."""

    @field_validator("host")
    @classmethod
    def _check_host(cls, host: str | None) -> str | None:
        if host is not None and not HOST_PATTERN.fullmatch(host):
            raise ValueError(f'write name and port, like "bank.example:7700" or "[2001:db8::1]:7700", got \'{host}\'')
        return host

    @field_validator("certificate", "authority", "signer")
    @classmethod
    def _check_fingerprint(cls, fingerprint: str | None) -> str | None:
        if fingerprint is not None and not FINGERPRINT_PATTERN.fullmatch(fingerprint):
            raise ValueError(
                "write the fingerprint that 'copublish identity show' prints: sha256: and 64 hexadecimal digits"
            )
        return fingerprint

    @model_validator(mode="after")
    def _check_one_pin(self) -> Party:
        if self.certificate is not None and self.authority is not None:
            raise ValueError("give 'certificate' (the party's own) or 'authority' (who issues it), one of them")
        return self

    @model_validator(mode="after")
    def _check_reach(self) -> Party:
        if self.dials_out and self.host is not None:
            raise ValueError(
                "reach = \"dial-out\" says that nobody can dial it, and 'host' says where. Remove one of them"
            )
        return self

    @property
    def dials_out(self) -> bool:
        """Whether it only dials others, and nobody can dial it."""
        return self.reach == "dial-out"

    @property
    def address(self) -> tuple[str, int]:
        """Name and port where the other parties reach this one."""
        if self.host is None:
            raise ValueError("this party has no host")
        return split_address(self.host)


def split_address(text: str) -> tuple[str, int]:
    """Name and port of an address as agreements write it."""
    name, _, port = text.rpartition(":")
    return name.strip("[]"), int(port)
