"""The audit that lies beside an agreement, for the certificate of its release."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from copublish.agreement.loading import load_agreement
from copublish.agreement.model import Agreement
from copublish.errors import AgreementError
from copublish.files.regular import read_regular
from copublish.kernel.certificate.certificate import AuditedNumber, AuditStatement

LARGEST_AUDIT = 2**22
AUDIT_FORMAT = 1


def default_audit_file(agreement_file: Path) -> Path:
    """Where the audit of an agreement lies if it shall be in the certificate: beside it."""
    return agreement_file.with_name(f"{agreement_file.stem}.audit.json")


def read_audit(file: Path, agreement: Agreement) -> AuditStatement | None:
    """What a certificate says about the audit in a file; nothing if there is none.

    Raises:
        AgreementError: If it is no audit, of another agreement, or refutes this one.
    """
    if not file.exists():
        return None
    try:
        content = json.loads(read_regular(file, LARGEST_AUDIT))
        found, verdict, audited = content["format"], content["verdict"], content["agreement_hash"]
        refuted = verdict != "consistent"
        statement = None if refuted or found != AUDIT_FORMAT else _statement(content)
    except (OSError, ValueError, KeyError, TypeError) as exc:
        raise _unusable(file, f"it is not what 'copublish audit --json' writes ({type(exc).__name__})") from exc
    if audited != agreement.hash:
        raise _unusable(file, "it is of another agreement. Audit this one, or take the file away")
    if refuted:
        raise _unusable(file, f"its verdict is '{verdict}': do not release with this software")
    if statement is None:
        raise _unusable(file, f"it has format {found}, and this version reads {AUDIT_FORMAT}. Audit again")
    return statement


def evidence_in_words(agreement_file: str | Path) -> str | None:
    """What the audit beside an agreement says, or why it cannot be used; nothing if there is none."""
    path = Path(agreement_file)
    try:
        found = read_audit(default_audit_file(path), load_agreement(path))
    except AgreementError as exc:
        return "; ".join(exc.problems)
    return None if found is None else found.words


def keep_audit(agreement_file: str | Path, found: Mapping[str, Any]) -> Path:
    """Put an audit beside its agreement, where proposals and the certificate of the release take it from.

    An older one is replaced, but for one that refutes this agreement: whoever audits often enough would lose it.

    Args:
        agreement_file: The agreement.
        found: What `audit(...).to_dict()` says, or the `result` of such a job.

    Returns:
        Its file.

    Raises:
        AgreementError: If it is of another agreement, one that refutes this one is there, or it cannot be written.
    """
    path = Path(agreement_file)
    agreement, file = load_agreement(path), default_audit_file(path)
    if found.get("agreement_hash") != agreement.hash:
        raise _unusable(file, "it is of another agreement. Audit this one")
    try:
        before = json.loads(read_regular(file, LARGEST_AUDIT)) if file.exists() else {}
        is_against = before["agreement_hash"] == agreement.hash and before["verdict"] != "consistent"
    except (OSError, ValueError, KeyError, TypeError):
        is_against = False  # no audit that anything could be read from
    if is_against:
        raise _unusable(file, "it refutes this agreement, so no other one takes its place")
    new = file.with_name(f".{file.name}-{os.urandom(4).hex()}")
    try:
        new.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
        new.replace(file)
    except OSError as exc:
        raise _unusable(file, f"it cannot be written: {exc.strerror}") from exc
    return file


def _statement(content: dict[str, Any]) -> AuditStatement:
    def numbers(kind: str) -> tuple[AuditedNumber, ...]:
        return tuple(
            AuditedNumber(
                name=number["name"],
                stated=number["stated"]["epsilon"],
                found=number["found"],
                expected=number["expected"],
                runs=number["runs"],
            )
            for number in content[kind]
        )

    return AuditStatement(
        date=content["date"],
        versions=content["versions"],
        relation=content["relation"],
        confidence=content["confidence"],
        verdict=content["verdict"],
        verdict_level=content["verdict_level"],
        views=numbers("views"),
        disclosures=numbers("disclosures"),
        whole_runs=len(content["symbols"]),
        secure_runs=len(content["secure_runs"]),
        skipped=tuple(content["skipped"]),
    )


def _unusable(file: Path, problem: str) -> AgreementError:
    return AgreementError(f"The audit '{file.name}'", [problem])
