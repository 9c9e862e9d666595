"""What all parties sign of a release, and the file that carries their signatures in its folder."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Literal

from pydantic.dataclasses import dataclass

from copublish.errors import unsafe_texts
from copublish.release.evidence.approvals import Approval
from copublish.release.evidence.signing import (
    Chain,
    chain_from_pem,
    fingerprint,
    message_of,
    signature_problem,
    spelled,
)
from copublish.types import TypedJson

CERTIFICATE_FILE, README_FILE, SIGNATURES_FILE = "certificate.json", "README.md", "signatures.json"
"""Files of a release folder that the certificate names no digest of."""

KIND = "release"
HEAD_KIND = "head of a ledger"
FILES_KIND = "files of a release"
"""Kinds of what is hashed: no message of one kind can stand for one of another."""


@dataclass(frozen=True, kw_only=True)
class ReleaseStatement(TypedJson):
    """What every party signs: the same text at all, which makes each signature a receipt for all the others.

    Attributes:
        statement_format: Number of the format.
        release: Its name.
        agreement_hash: Of the agreement.
        run: A number that all parties drew together.
        digest: The digest of the release, which follows from `files`. The parties compared it.
        files: The SHA-256 of every file of the folder but the one with the signatures.
        signers: Fingerprints of the certificates of the keys that sign.
        issuers: Fingerprints of the authorities' certificates that were shown with them.
        ledger_heads: The head of every party's ledger when it was charged, before anything was opened; none for a
            party that pays nothing and keeps no ledger. It tells nothing about what is in the ledger.
        approvals_needed: How many people of each party had to approve.
        approvals: Digests of the approvals.
    """

    statement_format: Literal[1] = 1
    release: str
    agreement_hash: str
    run: str
    digest: str
    files: dict[str, str]
    signers: dict[str, str]
    issuers: dict[str, tuple[str, ...]]
    ledger_heads: dict[str, str | None]
    approvals_needed: dict[str, int]
    approvals: dict[str, tuple[str, ...]]

    @property
    def message(self) -> bytes:
        """What is signed."""
        return message_of(KIND, self.to_json())

    @property
    def text(self) -> str:
        """The statement in its one spelling."""
        return spelled(self.to_json())


@dataclass(frozen=True, kw_only=True)
class HeadsStatement(TypedJson):
    """What the parties sign before anything is opened: each the head of its own ledger, which holds the charge.

    Attributes:
        statement_format: Number of the format.
        release: The name of the release.
        agreement_hash: Of the agreement.
        run: A number that all parties drew together.
        signers: Fingerprints of the certificates of the keys that sign.
        ledger_heads: The head of every party's ledger; none for a party that pays nothing and keeps no ledger.
    """

    statement_format: Literal[1] = 1
    release: str
    agreement_hash: str
    run: str
    signers: dict[str, str]
    ledger_heads: dict[str, str | None]

    def message_of(self, party: str) -> bytes:
        """What a party signs: its own head, since it does not know those of the others yet."""
        own = {"party": party, "ledger_head": self.ledger_heads[party]}
        return message_of(HEAD_KIND, {**self.to_json(), "ledger_heads": own})

    @property
    def text(self) -> str:
        """The statement in its one spelling."""
        return spelled(self.to_json())


@dataclass(frozen=True, kw_only=True)
class Signatures(TypedJson):
    """Everything that is needed to check who signed a release, but for trust in the certificates.

    Attributes:
        signatures_format: Number of the format.
        statement: What was signed.
        signatures: By party.
        certificates: By party, as PEM: the one of its key first.
        approvals: By party.
    """

    signatures_format: Literal[1] = 1
    statement: ReleaseStatement
    signatures: dict[str, str]
    certificates: dict[str, tuple[str, ...]]
    approvals: dict[str, tuple[Approval, ...]]

    def content(self) -> bytes:
        """The file; the same bytes at every party."""
        return (json.dumps(self.to_json(), indent=2, ensure_ascii=False) + "\n").encode()

    @classmethod
    def from_content(cls, content: bytes) -> Signatures:
        """Read the file back.

        Raises:
            ValueError: If it is none, or not to the byte as it was written.
        """
        try:
            said = json.loads(content)
        except RecursionError:
            raise ValueError("it is nested too deeply") from None
        if next(unsafe_texts(said), None) and not _is_unsafe_in_pem_alone(said):
            raise ValueError("it holds control characters")
        found = cls.from_json(said)
        if found.content() != content:
            raise ValueError("it is not spelled as copublish spells it")
        return found

    @property
    def parties(self) -> tuple[str, ...]:
        """Who signed, by the statement."""
        return tuple(self.statement.signers)

    @property
    def all_approvals(self) -> tuple[Approval, ...]:
        """The approvals of all parties."""
        return tuple(approval for found in self.approvals.values() for approval in found)

    def chains(self) -> dict[str, Chain]:
        """The certificates of every party.

        Raises:
            ValueError: If some are none, or not those that the statement names.
        """
        found = {party: chain_from_pem(texts) for party, texts in self.certificates.items()}
        told = {party: tuple(map(fingerprint, chain)) for party, chain in found.items()}
        issuers = self.statement.issuers
        if told != {party: (own, *issuers.get(party, ())) for party, own in self.statement.signers.items()}:
            raise ValueError("its certificates are not those that the statement names")
        return found

    def problem_with(self, party: str, chain: Chain) -> str | None:
        """Reason why a party's signature does not hold; nothing if it does."""
        return signature_problem(chain[0], self.statement.message, self.signatures.get(party))


def _is_unsafe_in_pem_alone(said: object) -> bool:
    """Line breaks are how PEM is written, and belong nowhere else."""
    if not isinstance(said, dict):
        return False
    return next(unsafe_texts({key: value for key, value in said.items() if key != "certificates"}), None) is None


def digests_of(files: Mapping[str, bytes]) -> dict[str, str]:
    """The SHA-256 of every file but the one with the signatures, in the order of names."""
    return {
        name: hashlib.sha256(content).hexdigest() for name, content in sorted(files.items()) if name != SIGNATURES_FILE
    }


def release_digest(file_digests: Mapping[str, str]) -> str:
    """The digest of a release: SHA-256 over the names and digests of its files, in one spelling."""
    return hashlib.sha256(message_of(FILES_KIND, dict(file_digests))).hexdigest()
