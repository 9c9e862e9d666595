"""The audit that lies beside an agreement, signed by the party that made it, for the certificate of its release."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from copublish.agreement.loading import load_agreement
from copublish.agreement.model import Agreement
from copublish.errors import AgreementError, plain_text, unsafe_texts
from copublish.files.regular import read_regular
from copublish.kernel.accounting.cost import NOTHING
from copublish.kernel.accounting.membership import SIZE_LABEL, membership_cost
from copublish.kernel.certificate.certificate import AuditedNumber, AuditStatement
from copublish.mechanisms.registry import plan_of
from copublish.party.evidence_exchange import signer_problem
from copublish.release.evidence.signing import Chain, chain_from_pem, message_of, signature_problem
from copublish.release.prepare import software_versions

LARGEST_AUDIT = 2**22
AUDIT_FORMAT = 1

KIND = "audit"

CLOCK_TOLERANCE = timedelta(days=1)
"""Clocks of two organizations may differ by this much before a date counts as one in the future."""


def default_audit_file(agreement_file: Path) -> Path:
    """Where the audit of an agreement lies if it shall be in the certificate: beside it."""
    return agreement_file.with_name(f"{agreement_file.stem}.audit.json")


def read_audit(file: Path, agreement: Agreement, today: date | None = None) -> AuditStatement | None:
    """What a certificate says about the audit in a file; nothing if there is none.

    Args:
        file: The file.
        agreement: The agreement that it has to be of.
        today: The day of this machine's clock, unless given.

    Raises:
        AgreementError: If it is no audit, of another agreement, refutes this one, is not signed by one of its parties,
            or says something that no audit of this agreement by this software says.
    """
    if not file.exists():
        return None
    try:
        content = _content(file)
        found, verdict, audited = content["format"], content["verdict"], content["agreement_hash"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as exc:
        raise _not_written_here(file, exc) from exc
    if audited != agreement.hash:
        raise unusable(file, "it is of another agreement. Audit this one, or take the file away")
    if verdict != "consistent":
        raise unusable(file, f"its verdict is '{plain_text(verdict, 40)}': do not release with this software")
    if found != AUDIT_FORMAT:
        format_ = plain_text(found, 40)
        raise unusable(file, f"it has format {format_}, and this version reads {AUDIT_FORMAT}. Audit again")
    if problem := _signature_problem(content, agreement):
        raise unusable(file, problem)
    try:
        statement = _statement(content)
        problem = next(_contradictions(statement, agreement, today or datetime.now(UTC).date()), None)
    except (ValueError, KeyError, TypeError, AttributeError) as exc:
        raise _not_written_here(file, exc) from exc
    if problem is not None:
        raise unusable(file, f"{problem}. Audit again, or take the file away")
    return statement


def evidence_in_words(agreement_file: str | Path) -> str | None:
    """What the audit beside an agreement says, or why it cannot be used; nothing if there is none."""
    path = Path(agreement_file)
    try:
        found = read_audit(default_audit_file(path), load_agreement(path))
    except AgreementError as exc:
        return "; ".join(exc.problems)
    return None if found is None else found.words


def refutes(file: Path, agreement: Agreement) -> bool:
    """Whether a file holds an audit that refutes an agreement, whoever wrote it."""
    try:
        content = _content(file)
        return bool(content["agreement_hash"] == agreement.hash and content["verdict"] != "consistent")
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return False  # no audit that anything could be read from


def unusable(file: Path, problem: str) -> AgreementError:
    """The error that an audit cannot be used, or kept."""
    return AgreementError(f"The audit '{file.name}'", [problem])


def signed_message(content: Mapping[str, Any]) -> bytes:
    """What the maker of an audit signs: everything in its file but the signature."""
    return message_of(KIND, {name: said for name, said in content.items() if name != "signature"})


def _content(file: Path) -> dict[str, Any]:
    """The JSON of a file.

    Raises:
        ValueError: If it is no JSON object, or a text in it could steer a terminal or stop a release from being read.
    """
    content = json.loads(read_regular(file, LARGEST_AUDIT), parse_constant=_no_number)
    if not isinstance(content, dict):
        raise ValueError("it is no object")
    # PEM is written with line breaks; `chain_from_pem` checks it.
    if problem := next(unsafe_texts({name: said for name, said in content.items() if name != "certificates"}), None):
        raise ValueError(problem)
    return content


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is no number")


def _not_written_here(file: Path, exc: Exception) -> AgreementError:
    return unusable(file, f"it is not what 'copublish audit --keep' writes ({type(exc).__name__})")


def _signature_problem(content: Mapping[str, Any], agreement: Agreement) -> str | None:
    """Reason why an audit is not signed by a party of the agreement; nothing if it is."""
    made_by = content.get("made_by")
    if made_by is None:
        return "nobody has signed it: 'copublish audit --keep' signs what it finds"
    if not isinstance(made_by, str) or made_by not in agreement.parties:
        return f"it is made by '{plain_text(made_by, 64)}', which is no party of the agreement"
    try:
        chain: Chain = chain_from_pem(content.get("certificates"))
        message = signed_message(content)
    except (ValueError, RecursionError) as exc:
        return f"it is not signed as 'copublish audit --keep' signs: {plain_text(exc, 80)}"
    if problem := signer_problem(agreement, made_by, chain):
        return f"party '{made_by}', which made it, {problem}"
    if problem := signature_problem(chain[0], message, content.get("signature")):
        return f"it is forged or was changed: its signature {problem}"
    return None


def _contradictions(statement: AuditStatement, agreement: Agreement, today: date) -> Iterator[str]:
    """What no audit of this agreement by this software says."""
    made = date.fromisoformat(statement.date)
    if made > today + CLOCK_TOLERANCE:
        yield f"its date, {made.isoformat()}, is in the future"
    if statement.versions != software_versions(agreement):
        yield "it was made with other versions of the software than this run has"
    if statement.relation != agreement.privacy.neighbors:
        yield f"it is of tables that are neighbors by '{statement.relation}', and the agreement says otherwise"
    if not statement.views:
        yield "it looked at no view"
    for number in (*statement.views, *statement.disclosures):
        if not all(map(math.isfinite, (number.stated, number.found, number.expected))) or number.found > number.stated:
            yield f"it found {number.found:g} of '{number.name}', more than the {number.stated:g} that it states"
    plan = plan_of(agreement)
    cost = plan.cost()
    of_size = membership_cost(agreement)
    prices = {
        float(price) for one in (cost, cost + of_size) for price in (one.add_remove, one.replace) if price is not None
    }
    for view in statement.views:
        of_some = view.name.startswith("coalition of ")  # they are shown one disclosure
        if not any(math.isclose(view.stated, price) or (of_some and view.stated <= price) for price in prices):
            yield f"it states epsilon {view.stated:g} for '{view.name}', and the plan of the agreement does not"
    # Rounds of a shared budget are no disclosures of a plan: which there are depends on what is found.
    stated: dict[str, set[float]] = {SIZE_LABEL: {float(agreement.membership_epsilon)}} if of_size != NOTHING else {}
    for disclosure in plan.disclosures():
        both = (disclosure.epsilon("add-remove"), disclosure.epsilon("replace"))
        stated.setdefault(disclosure.label, set()).update(float(epsilon) for epsilon in both if epsilon is not None)
    for number in statement.disclosures:
        known = stated.get(number.name)
        fits = number.stated <= max(prices) if known is None else any(math.isclose(number.stated, e) for e in known)
        if not fits:
            yield f"it states epsilon {number.stated:g} for '{number.name}', and the plan of the agreement does not"


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
        made_by=content["made_by"],
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
