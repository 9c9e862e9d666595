"""Putting an audit beside its agreement, signed with the key of the party that made it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from copublish.agreement.loading import load_agreement
from copublish.errors import MeetingError
from copublish.party.audit_file import default_audit_file, refutes, signed_message, unusable
from copublish.party.evidence_exchange import signer_problem
from copublish.party.keys.identity import Passphrase
from copublish.party.keys.signing_key import own_signer, refuse_other_party
from copublish.release.evidence.signing import Signer, pem_of


def keep_audit(
    agreement_file: str | Path,
    found: Mapping[str, Any],
    *,
    party: str,
    signer: Signer | None = None,
    passphrase: Passphrase | None = None,
    pin: Passphrase | None = None,
) -> Path:
    """Sign an audit and put it beside its agreement, where proposals and the certificate of the release take it from.

    An older one is replaced, but for one that refutes this agreement: whoever audits often enough would lose it.

    Args:
        agreement_file: The agreement.
        found: What `audit(...).to_dict()` says, or the `result` of such a job.
        party: Who made it; the certificate names it.
        signer: Who signs; the party's identity unless given.
        passphrase: Asked if the key has one.
        pin: Asked if the key is on a token.

    Returns:
        Its file.

    Raises:
        AgreementError: If it is of another agreement, one that refutes this one is there, or it cannot be written.
        ApprovalError: If there is no such party.
        MeetingError: If the key is not the one that the agreement names.
    """
    path = Path(agreement_file)
    agreement, file = load_agreement(path), default_audit_file(path)
    if found.get("agreement_hash") != agreement.hash:
        raise unusable(file, "it is of another agreement. Audit this one")
    if refutes(file, agreement):
        raise unusable(file, "it refutes this agreement, so no other one takes its place")
    refuse_other_party(agreement, party)
    signs = own_signer(agreement, party, passphrase=passphrase, pin=pin) if signer is None else signer
    if problem := signer_problem(agreement, party, signs.chain):
        raise MeetingError(f"Your key does not fit the agreement: it {problem}. Nothing was signed.")
    content = {**found, "made_by": party, "certificates": [pem_of(certificate) for certificate in signs.chain]}
    content["signature"] = signs.sign(signed_message(content))
    new = file.with_name(f".{file.name}-{os.urandom(4).hex()}")
    try:
        new.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
        new.replace(file)
    except OSError as exc:
        raise unusable(file, f"it cannot be written: {exc.strerror}") from exc
    return file
