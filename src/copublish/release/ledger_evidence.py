"""What a ledger's owner and the other parties have signed, held against what the ledger says now."""

from __future__ import annotations

import json
from pathlib import Path

from copublish.errors import ReleaseError
from copublish.kernel.ledger.ledger import Ledger
from copublish.kernel.ledger.receipts import Receipt
from copublish.release.evidence.signatures import ReleaseStatement
from copublish.release.evidence.signing import chain_from_pem, fingerprint, signature_problem
from copublish.release.stored import read_stored_release


def receipt_problems(ledger: Ledger) -> list[str]:
    """A sentence for every signed run that the chain, or a signature under it, contradicts; nothing if all is well."""
    heads, problems = set(ledger.heads()), []
    for receipt in ledger.receipts():
        place = f"Signed run of {receipt.given_at[:10]} (release '{receipt.release}')"
        if receipt.head not in heads or receipt.heads.get(receipt.party) != receipt.head:
            problems.append(
                f"{place}: the ledger's head that was signed then is not in its chain any more. Entries before it were "
                "removed or edited."
            )
        if receipt.signatures is not None:
            problems += [f"{place}: {said}" for said in _wrong_signatures(receipt, receipt.signatures)]
    return problems


def _wrong_signatures(receipt: Receipt, kept: str) -> list[str]:
    try:
        said, statement = json.loads(kept), ReleaseStatement.from_json(json.loads(receipt.statement))
        chains = {name: chain_from_pem(texts) for name, texts in said["certificates"].items()}
        found = {name: said["signatures"][name] for name in chains}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return ["what was kept of the signatures cannot be read."]
    if {name: fingerprint(chain[0]) for name, chain in chains.items()} != dict(receipt.signers):
        return ["the certificates that were kept are not those that were signed."]
    problems = {name: signature_problem(chain[0], statement.message, found[name]) for name, chain in chains.items()}
    return [f"the signature of '{name}' {problem}." for name, problem in problems.items() if problem]


def release_problems(ledger: Ledger, folder: Path) -> list[str]:
    """A sentence if a ledger does not know of a release that its owner has signed; nothing if it does."""
    try:
        signed = read_stored_release(folder).signatures
    except ReleaseError as exc:
        return [str(exc)]
    if signed is None:
        return [f"'{folder}' is not signed, so it says nothing about ledgers."]
    if set(ledger.heads()) & set(signed.statement.ledger_heads.values()):
        return []
    return [
        f"None of the heads that were signed with '{folder}' is in the chain: the ledger is an old copy from before "
        "that release, was begun anew, or is not the ledger of one of its parties."
    ]
