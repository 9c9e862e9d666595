"""Approvals: named people of a party who agree to an agreement, signed with the party's key. Files, and offline."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic.dataclasses import dataclass

from copublish.errors import ApprovalError, plain_text, unsafe_texts
from copublish.files.regular import MIB, read_regular
from copublish.release.evidence.refusals import refuse_if_refused
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
from copublish.agreement.names import as_seen

KIND = "approval"
MAX_APPROVALS, MAX_TEXT = 32, 500
LARGEST_APPROVAL = MIB

PEERS_TOLERANCE = timedelta(days=1)
"""Clocks of two organizations may differ by this much before an approval counts as expired."""

MADE_LATER = timedelta(days=3)
"""An approval that is more than this after the day that counts was not there on it, whatever clocks say."""


@dataclass(frozen=True, kw_only=True)
class Approval(TypedJson):
    """One person's approval.

    Attributes:
        approval_format: Number of the format.
        agreement_hash: What was approved, to the letter.
        release: Its name, for people.
        party: For which party.
        name: Who approved. Names are published with the release.
        role: As what.
        note: What else they said.
        approved_on: The day.
        until: The last day on which it holds; none for any day.
        signature: Of the party's key.
    """

    approval_format: Literal[1] = 1
    agreement_hash: str
    release: str
    party: str
    name: str
    role: str
    note: str
    approved_on: str
    until: str | None = None
    signature: str = ""

    @property
    def message(self) -> bytes:
        """What is signed: everything but the signature."""
        return message_of(KIND, replace(self, signature="").to_json())

    @property
    def digest(self) -> str:
        """What a signed release names it by."""
        return hashlib.sha256(self.message + self.signature.encode()).hexdigest()

    @property
    def words(self) -> str:
        """The same in a line."""
        until = "" if self.until is None else f", until {self.until}"
        return f"{self.name} ({self.role}) for '{self.party}' on {self.approved_on}{until}" + (
            f": {self.note}" if self.note else ""
        )


def needed_approvals(agreement: Agreement) -> dict[str, int]:
    """How many people of each party have to approve."""
    return {name: party.approvals for name, party in agreement.parties.items()}


def approve(
    agreement: Agreement,
    party: str,
    signer: Signer,
    *,
    name: str,
    role: str,
    note: str = "",
    today: date,
    until: date | None = None,
) -> Approval:
    """Sign that a person of a party approves of an agreement.

    Raises:
        ApprovalError: If a text is empty, too long or could steer a terminal, or the last day is over.
    """
    for what, text in (("name", name), ("role", role), ("note", note)):
        is_one_line = len(text) <= MAX_TEXT and next(unsafe_texts(text), None) is None
        if not is_one_line or (what != "note" and not as_seen(text)):
            raise ApprovalError(f"The {what} has to be one line of 1 to {MAX_TEXT} printable characters.")
    if until is not None and until < today:
        raise ApprovalError(f"The last day, {until.isoformat()}, is over. Nothing was signed.")
    approval = Approval(
        agreement_hash=agreement.hash,
        release=agreement.name,
        party=party,
        name=name,
        role=role,
        note=note,
        approved_on=today.isoformat(),
        until=None if until is None else until.isoformat(),
    )
    return replace(approval, signature=signer.sign(approval.message))


@dataclass(frozen=True)
class ApprovalProblem:
    """Reason why an approval does not count.

    Attributes:
        words: As what follows "The approval".
        is_forged: Whether it says to be for this agreement, and is not by the party's key.
    """

    words: str
    is_forged: bool = False


def approval_problem(
    approval: Approval, agreement_hash: str, party: str, chain: Chain, *, day: date
) -> ApprovalProblem | None:
    """Reason why an approval does not count on a day; nothing if it does."""
    if approval.party != party:
        return ApprovalProblem(f"is for party '{plain_text(approval.party, 64)}'")
    if approval.agreement_hash != agreement_hash:
        return ApprovalProblem("is for another agreement, or this one was changed since")
    if problem := signature_problem(chain[0], approval.message, approval.signature):
        return ApprovalProblem(f"is forged or was changed: its signature {problem}", is_forged=True)
    if (made := _day(approval.approved_on)) is not None and made - day > MADE_LATER:
        return ApprovalProblem(f"is of a later day, {made.isoformat()}")
    if approval.until is not None and (last := _day(approval.until)) is not None and day > last:
        return ApprovalProblem(f"expired on {last.isoformat()}")
    return None


def number_of_people(approvals: Sequence[Approval]) -> int:
    """How many different people have approved."""
    return len({as_seen(approval.name) for approval in approvals})


def refuse_too_few(approvals: Sequence[Approval], needed: int, party: str, others: Sequence[str] = ()) -> None:
    """Raise unless enough different people have approved.

    Args:
        approvals: Those that count.
        needed: How many the agreement asks for.
        party: Of which party.
        others: Sentences about those that do not count.

    Raises:
        ApprovalError: Saying how many are missing and why others do not count.
    """
    people = number_of_people(approvals)
    if people < needed:
        said = "".join(f"\n  - {sentence}" for sentence in others)
        raise ApprovalError(
            f"The agreement asks for approvals by {needed} different people of '{party}', and there are "
            f"{people}. Nothing was spent. To approve: copublish approve AGREEMENT --party {party} --as ROLE "
            f"--name NAME{said}"
        )


def own_approvals(agreement: Agreement, party: str, folder: Path, chain: Chain, *, today: date) -> tuple[Approval, ...]:
    """A party's approvals of an agreement that count today, from its files; asked before anybody is called.

    Raises:
        ApprovalError: If there are too few, one is forged, since somebody has tried, or somebody has refused.
    """
    refuse_if_refused(agreement, party, folder, chain)
    valid: dict[str, Approval] = {}
    others = []
    for path, approval in read_approvals(folder).items():
        if approval.party != party:
            continue
        problem = approval_problem(approval, agreement.hash, party, chain, day=today)
        if problem is None:
            valid[approval.digest] = approval
        elif problem.is_forged:
            raise ApprovalError(f"The approval '{path}' {problem.words}. Nothing was spent and nobody was called.")
        else:
            others.append(f"'{path.name}' {problem.words}.")
    found = sorted(valid.values(), key=lambda approval: (approval.approved_on, approval.name, approval.digest))
    refuse_too_few(found, agreement.parties[party].approvals, party, others)
    if len(found) > MAX_APPROVALS:
        raise ApprovalError(f"'{folder}' has more than {MAX_APPROVALS} approvals of '{party}'. Take some away.")
    return tuple(found)


def told_approvals(
    told: object, agreement: Agreement, party: str, chain: Chain, *, today: date
) -> tuple[Approval, ...]:
    """Another party's approvals, from what it told; every one has to count.

    Raises:
        ApprovalError: If one does not, or there are too few.
    """
    if not isinstance(told, list) or len(told) > MAX_APPROVALS:
        raise ApprovalError(f"Party '{party}' told something else than approvals. Nothing was spent.")
    try:
        found = tuple(approval_from_json(content) for content in told)
    except ValueError:
        raise ApprovalError(f"Party '{party}' told something else than approvals. Nothing was spent.") from None
    for approval in found:
        problem = approval_problem(approval, agreement.hash, party, chain, day=today - PEERS_TOLERANCE)
        if problem is not None:
            raise ApprovalError(
                f"The approval of '{plain_text(approval.name, 60)}' that party '{party}' shows {problem.words}. "
                "Nothing was spent."
            )
    refuse_too_few(found, agreement.parties[party].approvals, party)
    return found


def default_approvals_folder(agreement_file: Path) -> Path:
    """Where approvals of an agreement are kept unless a command says otherwise: beside it."""
    return agreement_file.with_name(f"{agreement_file.stem}.approvals")


def file_name(approval: Approval) -> str:
    """A name for the file of an approval that tells people what it is."""
    return f"{plain_name(approval.party, approval.name)}-{approval.digest[:8]}.json"


def plain_name(party: str, name: str) -> str:
    """Party and person in characters that every file system has."""
    words = unicodedata.normalize("NFKD", f"{party}-{name}").encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")[:60]


def is_same_person(name: str, other: str) -> bool:
    """Whether two names are one person's: neither capitals, spaces nor what nobody sees make another one."""
    return as_seen(name) == as_seen(other)


def read_approvals(folder: Path) -> Mapping[Path, Approval]:
    """All approvals in a folder; none if there is no folder.

    Raises:
        ApprovalError: If a file there is no approval.
    """
    found = {}
    for path in sorted(folder.glob("*.json")):
        try:
            found[path] = approval_from_json(json.loads(read_regular(path, LARGEST_APPROVAL)))
        except OSError as exc:
            raise ApprovalError(f"The approval '{path}' cannot be read: {exc.strerror}.") from exc
        except (ValueError, RecursionError):
            raise ApprovalError(f"'{path}' is no approval. 'copublish approve' writes them; take it away.") from None
    return found


def approval_from_json(content: object) -> Approval:
    """An approval from JSON that somebody else may have written.

    Raises:
        ValueError: If it is none.
    """
    approval = Approval.from_json(content)
    longest = {"signature": MAX_SIGNATURE_DIGITS}
    texts = {key: text for key, text in approval.to_json().items() if isinstance(text, str)}
    is_too_long = any(len(text) > longest.get(key, MAX_TEXT) for key, text in texts.items())
    if is_too_long or next(unsafe_texts(list(texts.values())), None):
        raise ValueError("a text that no approval has")
    if approval.to_json() != content:
        raise ValueError("it is not spelled as an approval")
    if not is_hash(approval.agreement_hash):  # files are named by it
        raise ValueError("an agreement's hash that is none")
    if not as_seen(approval.name):
        raise ValueError("an approval by nobody")
    for day in (approval.approved_on, approval.until):
        if day is not None and _day(day) is None:
            raise ValueError("a day that is none")
    return approval


def _day(text: str) -> date | None:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    return day if day.isoformat() == text else None
