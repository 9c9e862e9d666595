"""Checking a release folder offline: files, certificate, signatures of all parties, heads of ledgers, approvals.

It needs nothing but the folder, and no mechanism: it reads JSON and the digests of files. Only with fingerprints that
came another way can it tell to whom the keys belong.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Literal

from copublish.errors import ReleaseError, plain_text
from copublish.kernel.certificate.certificate import Certificate
from copublish.release.evidence.approvals import PEERS_TOLERANCE, Approval, approval_problem, number_of_people
from copublish.release.evidence.completeness import incomplete
from copublish.release.evidence.signatures import SIGNATURES_FILE, Signatures, release_digest
from copublish.release.evidence.signing import Chain, common_name, fingerprint, is_issued_by
from copublish.release.stored import StoredRelease, read_stored_release

if TYPE_CHECKING:
    from copublish.release.folder import Release

SIGNERS_UNKNOWN = (
    "The files are those that were signed. Who signed is not known: whoever made up a release could have made up its "
    "keys, too."
)
"""What is said of a release whose keys nobody vouched for."""
MOST_NAMED = 10
"""How many files a finding names; the folder of a stranger may have any number."""

UNSIGNED = (
    f"there is no {SIGNATURES_FILE}, so nobody can tell who made this release, nor whether all of it was changed "
    "together. Simulated releases and those made with --insecure have none"
)


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        what: What it is.
        is_well: Whether it holds.
        said: What was found, in words.
    """

    what: str
    is_well: bool
    said: str


Verdict = Literal["verified", "intact, signers unknown", "not intact"]


@dataclass(frozen=True)
class Verification:
    """Everything that was found about a release folder.

    Attributes:
        findings: In the order in which they were looked at.
        unknown_keys: Parties whose signatures are by keys that nobody vouched for with a fingerprint.
        approvals: Those that the release carries.
    """

    findings: tuple[Finding, ...]
    unknown_keys: tuple[str, ...] = ()
    approvals: tuple[Approval, ...] = ()

    @property
    def is_well(self) -> bool:
        """Whether all of it holds, whoever the signers are."""
        return all(finding.is_well for finding in self.findings)

    @property
    def verdict(self) -> Verdict:
        """Whether all of it holds, and whether somebody vouched for the key of every party."""
        if not self.is_well:
            return "not intact"
        return "intact, signers unknown" if self.unknown_keys else "verified"


def verify_release(
    folder: str | Path, fingerprints: Mapping[str, str] | None = None, *, recompute: bool = False
) -> Verification:
    """Check a release folder: costs nothing, calls nobody.

    Unless records are computed again no mechanism is loaded. So it is not checked that the certificate's mechanism is
    known here, that tables and the model can be read, and that the certificate's warning agrees with the mechanism.
    `load_release` checks these.

    Args:
        folder: The folder.
        recompute: Whether records are made from the model again, by the mechanism.
        fingerprints: Of certificates, by party: the party's own, or that of the authority that issued it. They have to
            come another way than the folder.

    Returns:
        What was found. Nothing is raised for a folder that does not hold.
    """
    folder = Path(folder)
    try:
        release = read_stored_release(folder)
    except ReleaseError as exc:
        return Verification((Finding("files and certificate", False, str(exc)),))
    files = Finding("files and certificate", True, "all files are those that the certificate names")
    checked = [files, *_complete(release), *(_recomputed(folder) if recompute else ())]
    if release.signatures is None:
        return Verification((*checked, Finding("signatures", False, UNSIGNED)))
    signed, known = release.signatures, dict(fingerprints or {})
    try:
        chains = signed.chains()
    except ValueError as exc:
        return Verification((*checked, Finding("signatures", False, f"cannot be checked: {plain_text(exc)}")))
    findings = [*checked, *_whole(folder, release.file_digests, signed), *_about(release, signed, chains)]
    findings += _of_parties(signed, chains, known)
    findings += [*_approvals(release.certificate, signed, chains), *_heads(signed)]
    for name in known.keys() - chains.keys():
        findings.append(Finding(f"fingerprint of {plain_text(name, 64)}", False, "there is no such party"))
    unknown = tuple(party for party in chains if party not in known)
    return Verification(tuple(findings), unknown, signed.all_approvals)


def _complete(release: StoredRelease) -> Iterator[Finding]:
    """Whether everything that was opened was published, under the laws of the certificate."""
    missing = list(incomplete(release.certificate, release.contents))
    yield Finding("measurements", not missing, "; ".join(missing) or "everything that was opened, with the stated laws")


def _recomputed(folder: Path) -> Iterator[Finding]:
    """Whether the records follow from the model."""
    from copublish.release.recompute import compare_records

    try:
        is_well, said = compare_records(folder)
    except ReleaseError as exc:
        is_well, said = False, str(exc)
    yield Finding("records", is_well, said)


def refuse_wrong_signatures(release: StoredRelease | Release) -> None:
    """Raise if a release has signatures that do not hold; for pages that name who signed.

    Raises:
        ReleaseError: Naming the first problem.
    """
    signed = release.signatures
    if signed is None:
        return
    try:
        chains = signed.chains()
    except ValueError as exc:
        raise ReleaseError(f"The signatures of this release cannot be checked: {plain_text(exc)}.") from exc
    for finding in _about_signatures(release, signed, chains):
        if not finding.is_well:
            raise ReleaseError(f"This release does not hold: {finding.what}: {finding.said}. See: copublish verify")


def _about_signatures(
    release: StoredRelease | Release, signed: Signatures, chains: Mapping[str, Chain]
) -> Iterator[Finding]:
    yield from _about(release, signed, chains)
    yield from _of_parties(signed, chains, {})
    yield from _approvals(release.certificate, signed, chains)


def _whole(folder: Path, digests: Mapping[str, str], signed: Signatures) -> Iterator[Finding]:
    """Whether what was signed is this folder: every file of it, and nothing else."""
    files = signed.statement.files
    try:
        there = set(_names_in(folder, files))
        links = {name for name in there if (folder / name).is_symlink()}
    except OSError as exc:
        yield Finding("signed files", False, f"'{plain_text(exc.filename)}' cannot be read: {exc.strerror}")
        return
    wrong = [f"'{plain_text(name)}' is a symbolic link" for name in sorted(links)]
    wrong += [f"'{plain_text(name)}' is missing" for name in sorted(files.keys() - there)]
    wrong += [
        f"'{plain_text(name)}' was not signed" for name in sorted(there - links - files.keys() - {SIGNATURES_FILE})
    ]
    wrong += changed_files(digests, {name: digest for name, digest in files.items() if name in there - links})
    also = f"; and {len(wrong) - MOST_NAMED:,} more" if len(wrong) > MOST_NAMED else ""
    said = "; ".join(wrong[:MOST_NAMED]) + also
    yield Finding("signed files", not wrong, said or f"all {len(files)}, and no others")


def _names_in(folder: Path, signed: Collection[str]) -> Iterator[str]:
    """What is in a folder, with folders below it if something in them was signed; others are names like files."""
    folders = {str(parent) for name in signed for parent in PurePosixPath(name).parents}
    below = [""]
    while below:
        here = below.pop()
        with os.scandir(folder / here) as entries:
            for entry in entries:
                name = f"{here}{entry.name}"
                if entry.is_dir(follow_symlinks=False) and name in folders:
                    below.append(f"{name}/")
                else:
                    yield name


def changed_files(digests: Mapping[str, str], signed: Mapping[str, str]) -> list[str]:
    """Words for every signed file that has another digest, or none because the certificate does not name it."""
    return [
        f"'{plain_text(name)}' {'was changed' if name in digests else 'is not named by the certificate'}"
        for name, digest in sorted(signed.items())
        if digests.get(name) != digest
    ]


def _about(release: StoredRelease | Release, signed: Signatures, chains: Mapping[str, Chain]) -> Iterator[Finding]:
    """Whether what was signed is about this certificate and these files."""
    statement, certificate = signed.statement, release.certificate
    parties = set(certificate.parties)
    pairs = {
        "the release's name": statement.release == certificate.release,
        "the agreement's hash": statement.agreement_hash == certificate.agreement_hash,
        "the digest of the release": statement.digest == release_digest(release.file_digests),
        "the files": statement.files == release.file_digests,
        "the parties": len(parties) > 1  # without any, nobody would have signed and nothing would be missing
        and all(
            set(named) == parties
            for named in (
                chains,
                signed.signatures,
                signed.approvals,
                statement.issuers,
                statement.ledger_heads,
                statement.approvals,
                statement.approvals_needed,
            )
        ),
    }
    other = [what for what, is_same in pairs.items() if not is_same]
    said = f"is about this certificate and these files, for the agreement {plain_text(statement.agreement_hash)}"
    if other:
        said = f"is about something else: {', '.join(other)}"
    yield Finding("signed statement", not other, said)


def _of_parties(signed: Signatures, chains: Mapping[str, Chain], known: Mapping[str, str]) -> Iterator[Finding]:
    for party, chain in chains.items():
        what = f"signature of {party}"
        if problem := signed.problem_with(party, chain):
            yield Finding(what, False, problem)
        elif party not in known:
            yield Finding(what, True, f"holds, by the key of {fingerprint(chain[0])}, which this folder names itself")
        elif known[party] == fingerprint(chain[0]):
            yield Finding(what, True, "holds, by the certificate that you named")
        elif not _is_by_authority(chain, known[party]):
            yield Finding(what, False, f"is by another certificate than you named: {fingerprint(chain[0])}")
        elif common_name(chain[0]) != party:  # an authority issues certificates to others, too
            yield Finding(what, False, "is by a certificate that the authority issued for another name")
        else:
            yield Finding(what, True, "holds, by a certificate of the authority that you named")


def _is_by_authority(chain: Chain, authority: str) -> bool:
    return is_issued_by(chain[0], [issuer for issuer in chain[1:] if fingerprint(issuer) == authority])


def _approvals(certificate: Certificate, signed: Signatures, chains: Mapping[str, Chain]) -> Iterator[Finding]:
    statement = signed.statement
    try:
        day = date.fromisoformat(certificate.deployment.basic.publication_date) - PEERS_TOLERANCE
    except (ValueError, OverflowError):  # what somebody made up may be no day, or one that has none before it
        yield Finding("day of publication", False, "is none, so nobody can tell whether approvals held")
        return
    for party, chain in chains.items():
        found, needed = signed.approvals.get(party, ()), statement.approvals_needed.get(party, 0)
        if not found and not needed:
            continue
        problems = [
            f"that of '{plain_text(approval.name, 60)}' {problem.words}"
            for approval in found
            if (problem := approval_problem(approval, statement.agreement_hash, party, chain, day=day))
        ]
        if tuple(approval.digest for approval in found) != statement.approvals.get(party):
            problems.append("they are not those that were signed with the release")
        if number_of_people(found) < needed:
            problems.append(f"they are fewer people than the {needed} whom the agreement asks for")
        names = ", ".join(f"{approval.name} ({approval.role})" for approval in found)
        yield Finding(f"approvals of {party}", not problems, "; ".join(problems) or f"{needed} needed: {names}")


def _heads(signed: Signatures) -> Iterator[Finding]:
    """What the parties signed of their ledgers; whether a ledger has it still, its owner can tell."""
    for party, head in signed.statement.ledger_heads.items():
        said = "keeps none" if head is None else f"{head[:16]}… (its owner: copublish ledger verify --release FOLDER)"
        yield Finding(f"ledger of {party}", True, f"the head that all have signed: {said}")
