"""What the parties show each other before a run, and sign after it: certificates, approvals, ledgers, the release.

Everything here is public between the parties and depends on no private value.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Any

from copublish.agreement.model import Agreement
from copublish.agreement.protocol.message import Message
from copublish.agreement.protocol.table import AS_HEARD, HEADS, LEDGERS, SIGNATURES, SIGNERS
from copublish.errors import (
    EngineError,
    LedgerError,
    MeetingError,
    ProgramMismatchError,
)
from copublish.kernel.ledger.heads import heads_to_show, refuse_ledgers_behind
from copublish.kernel.ledger.ledger import Ledger
from copublish.kernel.secrets.engine import Engine
from copublish.release.evidence.approvals import Approval, needed_approvals, told_approvals
from copublish.release.evidence.signatures import HeadsStatement, ReleaseStatement, Signatures
from copublish.release.evidence.signing import (
    Chain,
    Signer,
    certificate_problem,
    chain_from_pem,
    fingerprint,
    is_hash,
    pem_of,
    signature_problem,
    spelled,
)
from copublish.release.folder import Release


@dataclass(frozen=True)
class SigningContext:
    """Who signs for a party, and which of its people have approved of the agreement.

    Attributes:
        signer: Its key, in a file or on a token.
        approvals: Checked when they were read.
    """

    signer: Signer
    approvals: tuple[Approval, ...] = ()


@dataclass
class EvidenceExchange:
    """The signing of a release by all its parties: what the main path knows as `Signing`.

    Attributes:
        witness: Who signs for this party; None in a run without identities, where nobody signs.
        run: Id of the run, which the parties drew when they met.
    """

    witness: SigningContext | None
    run: str | None
    _gathering: PeerEvidence | None = field(default=None, init=False, repr=False)
    _heads: Mapping[str, str | None] = field(default_factory=dict, init=False, repr=False)
    _receipt: int | None = field(default=None, init=False)

    def gather(self, agreement: Agreement, engine: Engine, ledger: Ledger) -> None:
        """Show signers, approvals and ledgers to each other, before anything is spent."""
        self._gathering = gather(agreement, engine.party, self.witness, self.run, engine, ledger)

    def own_head(self, agreement: Agreement, ledger: Ledger) -> dict[str, Any] | None:
        """The head of this party's ledger, signed, which the ledger knows to be told."""
        if self._gathering is None:
            return None
        own, self._receipt = sign_head(agreement, self._gathering, ledger)
        return own

    def keep_heads(self, told: Sequence[dict[str, Any] | None], agreement: Agreement, ledger: Ledger) -> None:
        """Keep the heads of all parties' ledgers, signed, before anything is opened."""
        if self._gathering is not None:
            by_party = dict(zip(agreement.parties, told, strict=True))
            self._heads = keep_heads(by_party, agreement, self._gathering, self._receipt, ledger)

    def sign(self, release: Release, agreement: Agreement, engine: Engine, ledger: Ledger) -> Release:
        """Sign the release together with the others."""
        if self._gathering is None:
            return release
        return sign_release(release, agreement, self._gathering, self._heads, self._receipt, engine, ledger)


@dataclass(frozen=True)
class PeerEvidence:
    """What the parties of a run know of each other before anything is spent.

    Attributes:
        party: Which party this is.
        run: The id of the run.
        chains: The certificates of every party's signer.
        approvals: Every party's approvals.
        witness: This party's own.
    """

    party: str
    run: str
    chains: Mapping[str, Chain]
    approvals: Mapping[str, tuple[Approval, ...]]
    witness: SigningContext


def signer_problem(agreement: Agreement, party: str, chain: Chain) -> str | None:
    """Reason why certificates are not those of a party's signer by the agreement; nothing if they are."""
    agreed = agreement.parties[party]
    pinned = agreed.signer or agreed.certificate
    return certificate_problem(chain, party, pinned=pinned, authority=None if pinned else agreed.authority)


def gather(
    agreement: Agreement, party: str, witness: SigningContext | None, run: str | None, engine: Engine, ledger: Ledger
) -> PeerEvidence | None:
    """Show the others who signs here, who approved, and that this ledger has everything it was signed for.

    Args:
        agreement: The agreement.
        party: Which party this is.
        witness: Who signs for it; none in a run without identities, where nobody signs.
        run: The id of the run that the parties drew when they met.
        engine: Its end of the engine.
        ledger: Its ledger.

    Returns:
        What the others showed; nothing where nobody signs.

    Raises:
        ApprovalError: If a party has too few approvals, or one does not count.
        BehindLedgerError: If a party's ledger lacks what that party signed in an earlier run with this one.
        LedgerError: If this party holds data, and its ledger is gone with its process.
        MeetingError: If a party shows another certificate than the agreed one.
        ProgramMismatchError: If a party told something else than it should, or not the same to all.

    Privacy:
        Reveals: names, roles and notes of who approved, to all parties and later to the public. Of a ledger nothing:
            heads are salted, and are shown as hashes with this run's number, always as many and sorted. A third party
            can tell neither how many are real nor in which order they came. Of a release whose head it knows it can
            tell whether the two have signed 16 or more since.
    """
    if witness is None:
        return None
    if agreement.parties[party].data and not ledger.lasts:
        raise LedgerError(
            f"The ledger '{ledger.path}' is not kept, and a party that holds data has to show at the next run what it "
            "has signed in this one. Nothing was measured. Make one in a file: copublish ledger limit DATASET=EPSILON"
        )
    if run is None or not is_hash(run):
        raise MeetingError("The parties drew no id for this run, and what is signed names it. Nothing was measured.")
    own = {
        "certificates": [pem_of(certificate) for certificate in witness.signer.chain],
        "approvals": [approval.to_json() for approval in witness.approvals],
    }
    told = dict(zip(agreement.parties, engine.exchange(SIGNERS, own), strict=True))
    chains = {name: _chain(agreement, name, said) for name, said in told.items()}
    today = datetime.now(UTC).date()
    approvals = {name: _approvals(agreement, name, said, chains[name], today) for name, said in told.items()}
    gathering = PeerEvidence(party, run, chains, approvals, witness)
    # Before ledgers are looked at: who has another id of the run would find every other ledger behind.
    shown = [{name: list(map(fingerprint, chain)) for name, chain in chains.items()}, _digests(approvals)]
    _refuse_if_heard_otherwise(engine, [run, *shown], SIGNERS)
    signers = _signers(gathering)
    shown_heads = heads_to_show(run, party, signers, ledger)
    heads_of = dict(zip(chains, engine.exchange(LEDGERS, shown_heads), strict=True))
    refuse_ledgers_behind(run, party, signers, heads_of, ledger)
    return gathering


def sign_head(agreement: Agreement, gathering: PeerEvidence, ledger: Ledger) -> tuple[dict[str, Any], int | None]:
    """The head of this party's ledger with its signature, and the receipt's number, if the ledger is kept.

    Privacy:
        Reveals: the head of this party's ledger, which tells nothing about what is in it, to everybody.
    """
    party, head = gathering.party, ledger.head() if ledger.lasts else None
    statement = _heads_statement(agreement, gathering, {party: head})
    # Before the head leaves: what others can hold of this ledger, it has to know itself.
    number = None
    if head is not None:
        number = ledger.give_receipt(
            run=gathering.run,
            release=agreement.name,
            agreement_hash=agreement.hash,
            party=party,
            head=head,
            statement=statement.text,
        )
    return {"head": head, "signature": gathering.witness.signer.sign(statement.message_of(party))}, number


def keep_heads(
    told: Mapping[str, dict[str, Any] | None],
    agreement: Agreement,
    gathering: PeerEvidence,
    number: int | None,
    ledger: Ledger,
) -> dict[str, str | None]:
    """Check the signed heads of all parties' ledgers and keep them as receipts.

    Raises:
        EngineError: If a party's signature is not one under its head.
        ProgramMismatchError: If an owner of data tells no head.
    """
    heads = {name: None if said is None else said["head"] for name, said in told.items()}
    if without := [name for name, head in heads.items() if head is None and agreement.parties[name].data]:
        raise ProgramMismatchError(
            f"Party '{without[0]}' told no head of a ledger, and it holds data: it could show any ledger at the next "
            "run. Nothing was opened."
        )
    statement = _heads_statement(agreement, gathering, heads)
    signatures = {name: "" if said is None else said["signature"] for name, said in told.items()}
    for name, chain in gathering.chains.items():
        if problem := signature_problem(chain[0], statement.message_of(name), signatures[name]):
            raise EngineError(f"What party '{name}' signed {problem}. Nothing was opened.")
    if number is not None:
        ledger.keep_signatures(number, statement.text, _kept(gathering, signatures))
    return heads


def sign_release(
    release: Release,
    agreement: Agreement,
    gathering: PeerEvidence,
    heads: Mapping[str, str | None],
    number: int | None,
    engine: Engine,
    ledger: Ledger,
) -> Release:
    """Sign a release together with the others, and keep their signatures in the ledger.

    Raises:
        EngineError: If a party's signature is not one under the same statement, or a party did not tell all others the
            same. Nothing is published then.
    """
    _refuse_if_heard_otherwise(engine, dict(heads), HEADS)
    statement = ReleaseStatement(
        release=agreement.name,
        agreement_hash=agreement.hash,
        run=gathering.run,
        digest=release.digest(),
        files=release.file_digests,
        signers=_signers(gathering),
        issuers={name: tuple(map(fingerprint, chain[1:])) for name, chain in gathering.chains.items()},
        ledger_heads=dict(heads),
        approvals_needed=needed_approvals(agreement),
        approvals={name: tuple(digests) for name, digests in _digests(gathering.approvals).items()},
    )
    signature = gathering.witness.signer.sign(statement.message)
    told = dict(zip(agreement.parties, engine.exchange(SIGNATURES, signature), strict=True))
    signed = Signatures(
        statement=statement,
        signatures=told,
        certificates={name: tuple(map(pem_of, chain)) for name, chain in gathering.chains.items()},
        approvals=dict(gathering.approvals),
    )
    for name, chain in gathering.chains.items():
        if problem := signed.problem_with(name, chain):
            raise EngineError(f"What party '{name}' signed {problem}. Nothing is published.")
    if number is not None:
        ledger.keep_signatures(number, statement.text, _kept(gathering, signed.signatures))
    # One key can sign the same twice with other numbers, and all shall end with the same bytes.
    _refuse_if_heard_otherwise(engine, signed.signatures, SIGNATURES)
    return release.signed_with(signed)


def _heads_statement(agreement: Agreement, gathering: PeerEvidence, heads: Mapping[str, str | None]) -> HeadsStatement:
    return HeadsStatement(
        release=agreement.name,
        agreement_hash=agreement.hash,
        run=gathering.run,
        signers=_signers(gathering),
        ledger_heads=dict(heads),
    )


def _signers(gathering: PeerEvidence) -> dict[str, str]:
    return {name: fingerprint(chain[0]) for name, chain in gathering.chains.items()}


def _kept(gathering: PeerEvidence, signatures: Mapping[str, str]) -> str:
    """Signatures and the certificates that they are checked with, as a ledger keeps them."""
    certificates = {name: list(map(pem_of, chain)) for name, chain in gathering.chains.items()}
    return spelled({"certificates": certificates, "signatures": dict(signatures)})


def _digests(approvals: Mapping[str, tuple[Approval, ...]]) -> dict[str, list[str]]:
    return {name: [approval.digest for approval in told] for name, told in approvals.items()}


def _refuse_if_heard_otherwise(engine: Engine, heard: object, message: Message) -> None:
    """Raise unless every party has heard the same from every other one.

    Who tells one party this and another that makes them differ in what they sign, and each would take the other one
    for a liar. From two digests nobody can tell who it was, so nobody is named.

    Raises:
        ProgramMismatchError: If two parties have heard different things.
    """
    digest = hashlib.sha256(spelled(heard).encode()).hexdigest()
    if any(other != digest for other in engine.exchange(AS_HEARD.of(message=message.topic), digest)):
        raise ProgramMismatchError(
            f"The parties heard different things about {message.topic}: one of them told the others not the same, or "
            "their software differs. Nobody can tell from here which one. Nothing is published."
        )


def _chain(agreement: Agreement, party: str, said: Any) -> Chain:
    try:
        chain = chain_from_pem(said["certificates"])
    except ValueError:
        raise MeetingError(f"Party '{party}' showed no certificate for its signatures. Nothing was measured.") from None
    if problem := signer_problem(agreement, party, chain):
        raise MeetingError(f"For its signatures party '{party}' {problem}. Nothing was measured.")
    return chain


def _approvals(agreement: Agreement, party: str, said: Any, chain: Chain, today: date) -> tuple[Approval, ...]:
    return told_approvals(said["approvals"], agreement, party, chain, today=today)
