"""The parties of an agreement, and how they find and recognize each other on the network."""

from __future__ import annotations

import re
from typing import Literal

from pydantic import Field, StrictBool, field_validator, model_validator

from copublish.agreement.numbers import Whole
from copublish.agreement.section import Section

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
