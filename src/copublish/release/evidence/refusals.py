"""Refusals: a named person of a party says no to an agreement, with a reason, signed with the party's key.

A refusal lies beside the approvals. While it is there its party does not run; a change of the agreement, which makes
another hash, answers it, or whoever refused takes it back.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic.dataclasses import dataclass

from copublish.errors import ApprovalError, plain_text, unsafe_texts
from copublish.files.regular import MIB, read_regular
from copublish.release.evidence.signing import (
    MAX_SIGNATURE_DIGITS,
    Chain,
    Signer,
    is_hash,
    message_of,
    signature_problem,
)
from copublish.types import TypedJson

if TYPE_CHECKING:
    from copublish.agreement.model import Agreement

KIND = "refusal"
SUFFIX = ".refusal"
MAX_TEXT = 500


@dataclass(frozen=True, kw_only=True)
class Refusal(TypedJson):
    """One person's refusal.

    Attributes:
        refusal_format: Number of the format.
        agreement_hash: What was refused, to the letter.
        release: Its name, for people.
        party: For which party.
        name: Who refused.
        role: As what.
        reason: Why; the other parties read it.
        refused_on: The day.
        signature: Of the party's key.
    """

    refusal_format: Literal[1] = 1
    agreement_hash: str
    release: str
    party: str
    name: str
    role: str
    reason: str
    refused_on: str
    signature: str = ""

    @property
    def message(self) -> bytes:
        """What is signed: everything but the signature. Its kind is, too: no refusal can stand for an approval."""
        return message_of(KIND, replace(self, signature="").to_json())

    @property
    def words(self) -> str:
        """The same in a line."""
        return f"{self.name} ({self.role}) for '{self.party}' on {self.refused_on}: {self.reason}"


def refuse(
    agreement: Agreement, party: str, signer: Signer, *, name: str, role: str, reason: str, today: date
) -> Refusal:
    """Sign that a person of a party refuses an agreement.

    Raises:
        ApprovalError: If a text is empty, too long or could steer a terminal.
    """
    for what, text in (("name", name), ("role", role), ("reason", reason)):
        if not text.strip() or len(text) > MAX_TEXT or next(unsafe_texts(text), None) is not None:
            raise ApprovalError(f"The {what} has to be one line of 1 to {MAX_TEXT} printable characters.")
    refusal = Refusal(
        agreement_hash=agreement.hash,
        release=agreement.name,
        party=party,
        name=name,
        role=role,
        reason=reason,
        refused_on=today.isoformat(),
    )
    return replace(refusal, signature=signer.sign(refusal.message))


def refusal_problem(refusal: Refusal, agreement_hash: str, party: str, chain: Chain) -> str | None:
    """Reason why a refusal does not count; nothing if it does."""
    if refusal.party != party:
        return f"is for party '{plain_text(refusal.party, 64)}'"
    if refusal.agreement_hash != agreement_hash:
        return "is for another agreement, or this one was changed since"
    if problem := signature_problem(chain[0], refusal.message, refusal.signature):
        return f"is forged or was changed: its signature {problem}"
    return None


def refusal_from_json(content: object) -> Refusal:
    """A refusal from JSON that somebody else may have written.

    Raises:
        ValueError: If it is none.
    """
    refusal = Refusal.from_json(content)
    longest = {"signature": MAX_SIGNATURE_DIGITS}
    texts = {key: text for key, text in refusal.to_json().items() if isinstance(text, str)}
    is_too_long = any(len(text) > longest.get(key, MAX_TEXT) for key, text in texts.items())
    if is_too_long or next(unsafe_texts(list(texts.values())), None):
        raise ValueError("a text that no refusal has")
    if refusal.to_json() != content:
        raise ValueError("it is not spelled as a refusal")
    if not is_hash(refusal.agreement_hash):  # files are named by it
        raise ValueError("an agreement's hash that is none")
    return refusal


def read_refusals(folder: Path) -> Mapping[Path, Refusal]:
    """All refusals in a folder; none if there is no folder.

    Raises:
        ApprovalError: If a file there is no refusal.
    """
    found = {}
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        try:
            found[path] = refusal_from_json(json.loads(read_regular(path, MIB)))
        except (OSError, ValueError, RecursionError):
            raise ApprovalError(f"'{path}' is no refusal. 'copublish refuse' writes them; take it away.") from None
    return found


def refuse_if_refused(agreement: Agreement, party: str, folder: Path, chain: Chain) -> None:
    """Raise if somebody of a party has refused an agreement.

    Raises:
        ApprovalError: With who, when and why.
    """
    for path, refusal in read_refusals(folder).items():
        if refusal_problem(refusal, agreement.hash, party, chain) is None:
            raise ApprovalError(
                f"This agreement was refused by {refusal.words}. Nothing was spent and nobody was called. Change the "
                f"agreement, or let who refused take '{path.name}' away."
            )
