"""Approving and refusing at one party, and what is known of everybody's approvals: files beside the agreement.

Approvals of other parties count here as far as their certificates are known: a file `PARTY.pem` beside them, whose
fingerprint has to be the agreed one. In a run every party shows its certificate and its approvals itself.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

from cryptography import x509

from copublish.agreement.loading import load_agreement
from copublish.agreement.model import Agreement
from copublish.errors import ApprovalError, MeetingError
from copublish.files.regular import MIB, read_regular
from copublish.party.evidence_exchange import signer_problem
from copublish.party.keys.identity import CERTIFICATE_FILE, Passphrase
from copublish.party.keys.signing_key import own_signer, refuse_other_party, signer_folder
from copublish.release.evidence.approvals import (
    Approval,
    approval_from_json,
    approval_problem,
    default_approvals_folder,
    file_name,
    is_same_person,
    number_of_people,
    plain_name,
)
from copublish.release.evidence.approvals import approve as sign_approval
from copublish.release.evidence.refusals import SUFFIX, Refusal, refusal_from_json, refusal_problem
from copublish.release.evidence.refusals import refuse as sign_refusal
from copublish.release.evidence.signing import Chain, Signer, fingerprint, pem_of

LARGEST_BUNDLE, MOST_FILES = 5 * MIB, 100
KNOWN_PACKING = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""Of other methods zipfile unpacks a whole chunk, however little is asked for: some hundred bytes fill the memory."""


@dataclass(frozen=True)
class NotCounted:
    """A file that does not count, and why."""

    file: str
    words: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Approvals:
    """What is known here of everybody's approvals of one agreement.

    Attributes:
        needed: How many different people of each party have to approve.
        counted: Those that count, by party.
        refused: Refusals that count, with their files.
        not_counted: Everything else, with the reason.
    """

    needed: Mapping[str, int]
    counted: Mapping[str, tuple[Approval, ...]]
    refused: Mapping[str, Refusal]
    not_counted: tuple[NotCounted, ...]

    @property
    def missing(self) -> dict[str, int]:
        """How many people of which party are missing."""
        found = {name: most - number_of_people(self.counted[name]) for name, most in self.needed.items()}
        return {name: number for name, number in found.items() if number > 0}


def approve(
    agreement_file: str | Path,
    *,
    party: str,
    name: str,
    role: str,
    note: str = "",
    until: date | None = None,
    folder: str | Path | None = None,
    signer: Signer | None = None,
    passphrase: Passphrase | None = None,
    pin: Passphrase | None = None,
    shown: str | None = None,
) -> tuple[Approval, Path]:
    """Sign that a named person of a party approves of an agreement, and write it beside it. Offline.

    Args:
        agreement_file: The agreement.
        party: For which party.
        name: Who approves. It is published with the release, and so are role and note.
        role: As what.
        note: What else they say.
        until: The last day on which it holds.
        folder: Where approvals are; beside the agreement unless given.
        signer: Who signs; the party's identity unless given.
        passphrase: Asked if the key has one.
        pin: Asked if the key is on a token.
        shown: The hash of the agreement that was read before deciding; another one is not approved.

    Returns:
        The approval and its file.

    Raises:
        ApprovalError: If a text cannot be used, this person has refused, or the agreement is another one.
        MeetingError: If the key is not the one that the agreement names.
    """
    path, agreement, signs = _ready(agreement_file, party, signer, passphrase, pin, shown)
    where = Path(folder) if folder is not None else default_approvals_folder(path)
    for file, refusal in _refusals(where):
        is_of_this = refusal is not None and (refusal.agreement_hash, refusal.party) == (agreement.hash, party)
        if refusal is not None and is_of_this and is_same_person(refusal.name, name):
            raise ApprovalError(f"'{name}' has refused this agreement. Take '{file.name}' away first.")
    day = datetime.now(UTC).date()
    approval = sign_approval(agreement, party, signs, name=name, role=role, note=note, today=day, until=until)
    written = where / file_name(approval)
    _write_new(written, json.dumps(approval.to_json(), indent=2, ensure_ascii=False) + "\n")
    return approval, written


def refuse(
    agreement_file: str | Path,
    *,
    party: str,
    name: str,
    role: str,
    reason: str,
    folder: str | Path | None = None,
    signer: Signer | None = None,
    passphrase: Passphrase | None = None,
    pin: Passphrase | None = None,
    shown: str | None = None,
) -> tuple[Refusal, Path]:
    """Sign that a named person of a party refuses an agreement, and write it beside it. Offline.

    While it is there this party does not run the agreement. Arguments are those of `approve`.

    Raises:
        ApprovalError: If a text cannot be used, or the agreement is another one.
        MeetingError: If the key is not the one that the agreement names.
    """
    path, agreement, signs = _ready(agreement_file, party, signer, passphrase, pin, shown)
    where = Path(folder) if folder is not None else default_approvals_folder(path)
    refusal = sign_refusal(agreement, party, signs, name=name, role=role, reason=reason, today=datetime.now(UTC).date())
    written = where / f"{plain_name(party, name)}-{agreement.hash[:8]}{SUFFIX}"
    _write_new(written, json.dumps(refusal.to_json(), indent=2, ensure_ascii=False) + "\n")
    return refusal, written


def take_back_refusal(agreement_file: str | Path, file: str) -> None:
    """Take a refusal away, by the name of its file.

    Raises:
        ApprovalError: If there is none.
    """
    folder = default_approvals_folder(Path(agreement_file))
    if file not in {path.name for path in folder.glob(f"*{SUFFIX}")}:
        raise ApprovalError("There is no such refusal.")
    (folder / file).unlink()


def approvals_of(agreement_file: str | Path) -> Approvals:
    """What is known here of everybody's approvals; nothing raises but an agreement that is none.

    Raises:
        AgreementError: If the agreement is not one.
    """
    path = Path(agreement_file)
    agreement, folder = load_agreement(path), default_approvals_folder(path)
    chains = {party: _known_chain(agreement, party, folder) for party in agreement.parties}
    counted: dict[str, list[Approval]] = {party: [] for party in agreement.parties}
    refused: dict[str, Refusal] = {}
    others: list[NotCounted] = []
    for file, said in (*_approvals(folder), *_refusals(folder)):
        if said is None:
            others.append(NotCounted(file.name, "", "is no approval"))
            continue
        reason = _reason(said, agreement, chains)
        if reason is not None:
            others.append(NotCounted(file.name, said.words, reason))
        elif isinstance(said, Refusal):
            refused[file.name] = said
        elif said not in counted[said.party]:
            counted[said.party].append(said)
    return Approvals(
        needed={party: one.approvals for party, one in agreement.parties.items()},
        counted={party: tuple(found) for party, found in counted.items()},
        refused=refused,
        not_counted=tuple(others),
    )


def bundle_of_approvals(agreement_file: str | Path, party: str) -> bytes:
    """A party's approvals and refusals with its certificate, as a ZIP file for the other parties.

    Raises:
        ApprovalError: If the agreement has no such party.
    """
    path = Path(agreement_file)
    agreement, folder = load_agreement(path), default_approvals_folder(path)
    refuse_other_party(agreement, party)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as bundle:
        for file, said in (*_approvals(folder), *_refusals(folder)):
            if said is not None and said.party == party:
                bundle.write(file, file.name)
        chain = _known_chain(agreement, party, folder)
        if chain is not None:
            bundle.writestr(f"{party}.pem", "".join(map(pem_of, chain)))
    return out.getvalue()


def add_approvals(agreement_file: str | Path, content: bytes) -> list[str]:
    """Put approvals, refusals or certificates of others beside the agreement: one file, or a ZIP file of them.

    Returns:
        A sentence for everything that was added.

    Raises:
        ApprovalError: If there is nothing of that in it, or something is forged. Nothing is added then.
    """
    path = Path(agreement_file)
    agreement, folder = load_agreement(path), default_approvals_folder(path)
    found = [_recognized(one, agreement) for one in _unpacked(content)]
    chains = {party: _known_chain(agreement, party, folder) for party in agreement.parties}
    chains |= {name.removesuffix(".pem"): _chain(text.encode()) for name, text, said in found if said is None}
    for _, _, said in found:
        party_chain = None if said is None else chains.get(said.party)
        if said is not None and party_chain is not None and said.agreement_hash == agreement.hash:
            reason = _reason(said, agreement, chains)
            if reason is not None and "forged" in reason:
                raise ApprovalError(f"'{said.words}' {reason}. Nothing was added.")
    added = []
    for name, text, said in found:
        if not (folder / name).exists():
            _write_new(folder / name, text)
        added.append(f"the certificate of '{name.removesuffix('.pem')}'" if said is None else said.words)
    return added


def _ready(
    agreement_file: str | Path,
    party: str,
    signer: Signer | None,
    passphrase: Passphrase | None,
    pin: Passphrase | None,
    shown: str | None,
) -> tuple[Path, Agreement, Signer]:
    path = Path(agreement_file)
    agreement = load_agreement(path)
    if shown is not None and shown != agreement.hash:
        raise ApprovalError("The agreement was changed after it was shown. Nothing was signed. Read it again.")
    refuse_other_party(agreement, party)
    signs = own_signer(agreement, party, passphrase=passphrase, pin=pin) if signer is None else signer
    if problem := signer_problem(agreement, party, signs.chain):
        raise MeetingError(f"Your key does not fit the agreement: it {problem}. Nothing was signed.")
    return path, agreement, signs


def _write_new(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644), "w", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise ApprovalError(f"'{path.name}' is there already. Nothing was signed twice.") from None
    except OSError as exc:
        raise ApprovalError(f"'{path}' cannot be written: {exc.strerror}.") from exc


def _reason(said: Approval | Refusal, agreement: Agreement, chains: Mapping[str, Chain | None]) -> str | None:
    """Why something does not count; nothing if it does."""
    if said.party not in agreement.parties:
        return "is for a party that the agreement does not name"
    if said.agreement_hash != agreement.hash:
        return "is for another agreement, or this one was changed since"
    chain = chains.get(said.party)
    if chain is None:
        return f"cannot be checked yet: the certificate of '{said.party}' is not here. Ask for its bundle"
    if problem := signer_problem(agreement, said.party, chain):
        return f"cannot be checked: '{said.party}' {problem}"
    if isinstance(said, Refusal):
        return refusal_problem(said, agreement.hash, said.party, chain)
    found = approval_problem(said, agreement.hash, said.party, chain, day=datetime.now(UTC).date())
    return None if found is None else found.words


def _approvals(folder: Path) -> Iterator[tuple[Path, Approval | None]]:
    for path in sorted(folder.glob("*.json")):
        try:
            yield path, approval_from_json(json.loads(read_regular(path, MIB)))
        except (OSError, ValueError, RecursionError):
            yield path, None


def _refusals(folder: Path) -> Iterator[tuple[Path, Refusal | None]]:
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        try:
            yield path, refusal_from_json(json.loads(read_regular(path, MIB)))
        except (OSError, ValueError, RecursionError):
            yield path, None


def _known_chain(agreement: Agreement, party: str, folder: Path) -> Chain | None:
    """The certificates of a party that fit the agreement: its own on this machine, or those that it sent."""
    own = signer_folder(agreement, party) / CERTIFICATE_FILE
    for path in (own, folder / f"{party}.pem"):
        try:
            chain = _chain(read_regular(path, MIB))
        except OSError:
            continue
        if chain is not None and signer_problem(agreement, party, chain) is None:
            return chain
    return None


def _chain(content: bytes) -> Chain | None:
    try:
        return tuple(x509.load_pem_x509_certificates(content))
    except (ValueError, TypeError, x509.InvalidVersion):
        return None


def _unpacked(content: bytes) -> list[bytes]:
    """The files of a ZIP file, or the file itself; what they unpack to is bounded, and their names are not used."""
    if not zipfile.is_zipfile(io.BytesIO(content)):
        return [content]
    left, found = LARGEST_BUNDLE, []
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as bundle:
            for entry in bundle.infolist()[: MOST_FILES + 1]:
                if entry.compress_type not in KNOWN_PACKING:
                    raise ApprovalError("The bundle is packed in another way than by 'deflate'. Nothing was added.")
                with bundle.open(entry) as file:
                    found.append(file.read(left + 1))
                left -= len(found[-1])
                if left < 0 or len(found) > MOST_FILES:
                    raise ApprovalError("The bundle is too large. Nothing was added.")
    except (zipfile.BadZipFile, OSError, RuntimeError, NotImplementedError, EOFError, zipfile.zlib.error):  # type: ignore[attr-defined]
        raise ApprovalError("The bundle cannot be unpacked. Nothing was added.") from None
    return found


def _recognized(content: bytes, agreement: Agreement) -> tuple[str, str, Approval | Refusal | None]:
    """What a file is: its name here, its text, and an approval or refusal; a certificate is neither."""
    chain = _chain(content)
    if chain:
        parties = [party for party in agreement.parties if signer_problem(agreement, party, chain) is None]
        if not parties:
            raise ApprovalError(
                f"The certificate {fingerprint(chain[0])[:23]}… is of no party of this agreement. Nothing was added."
            )
        return f"{parties[0]}.pem", "".join(map(pem_of, chain)), None
    try:
        said = json.loads(content.decode("utf-8-sig"))
        if isinstance(said, dict) and "refusal_format" in said:
            refusal = refusal_from_json(said)
            name = f"{plain_name(refusal.party, refusal.name)}-{refusal.agreement_hash[:8]}{SUFFIX}"
            return name, json.dumps(said, indent=2, ensure_ascii=False) + "\n", refusal
        approval = approval_from_json(said)
    except (ValueError, RecursionError):
        raise ApprovalError(
            "This is neither an approval nor a refusal nor a certificate, nor a bundle of them. Nothing was added."
        ) from None
    return file_name(approval), json.dumps(said, indent=2, ensure_ascii=False) + "\n", approval
