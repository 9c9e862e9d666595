"""Heads of ledgers: each party shows that its ledger still holds what it signed in earlier runs with the others.

A ledger that was restored from an old copy has forgotten what it spent, so the same budget would be spent twice. After
every release the parties keep the head of each other's ledger. At the next run each shows that it knows those heads.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping

from copublish.agreement.protocol.table import LEDGERS, SHOWN_HEADS
from copublish.errors import BehindLedgerError
from copublish.kernel.ledger.ledger import Ledger


def heads_to_show(run: str, party: str, signers: Mapping[str, str], ledger: Ledger) -> dict[str, list[str]]:
    """The hashes to show to every other party: of the last heads that it may hold, among random ones.

    Args:
        run: Id of the run.
        party: This party.
        signers: The fingerprint of every party's signing certificate.
        ledger: This party's ledger.

    Privacy:
        Reveals: nothing about a ledger's contents. Heads are salted and shown as hashes with the id of this run, always
            as many, and sorted. A third party can tell neither how many are real nor their order. For a release whose
            head it knows, a peer can tell if the two parties have signed 16 or more since.
    """
    in_chain = set(ledger.heads())  # a receipt whose head the chain lacks is no sign that the ledger knows of it
    return {
        peer: _shown_to(run, party, peer, [held for held in ledger.heads_given_to(signer) if held[1] in in_chain])
        for peer, signer in signers.items()
        if peer != party
    }


def refuse_ledgers_behind(
    run: str, party: str, signers: Mapping[str, str], shown_by: Mapping[str, Mapping[str, list[str]]], ledger: Ledger
) -> None:
    """Raise if the ledger of a peer lacks what that peer signed in its last run with this party.

    Args:
        run: Id of the run.
        party: This party.
        signers: The fingerprint of every party's signing certificate.
        shown_by: For every party the hashes that it showed, by the party that they are for.
        ledger: This party's ledger, which holds the heads of the others.

    Raises:
        BehindLedgerError: Naming that party.

    Privacy:
        A budget that was spent and forgotten would be spent twice: the run stops before anything is reserved.
    """
    for peer, signer in signers.items():
        held = None if peer == party else ledger.head_held_of(signer)
        if held is None:
            continue
        earlier_run, head, when = held
        if party not in shown_by[peer]:
            raise LEDGERS.wrong(peer)
        if _shown_head(run, peer, party, earlier_run, head) not in shown_by[peer][party]:
            raise BehindLedgerError(
                f"On {when[:10]} party '{peer}' signed what its ledger held, and the ledger that it runs with now does "
                "not know of it: it was restored from an old copy, edited, or is another file. Budget that it spent "
                "may be missing there. Nothing was measured. Ask what happened; to go on with that ledger: copublish "
                f"ledger forget-receipts {peer} --ledger {ledger.path}"
            )


def _shown_to(run: str, party: str, peer: str, given: list[tuple[str, str]]) -> list[str]:
    real = [_shown_head(run, party, peer, earlier, head) for earlier, head in given[:SHOWN_HEADS]]
    return sorted(real + [os.urandom(32).hex() for _ in range(SHOWN_HEADS - len(real))])


def _shown_head(run: str, party: str, peer: str, earlier_run: str, head: str) -> str:
    content = ["shown head", run, party, peer, earlier_run, head]
    return hashlib.sha256(json.dumps(content, ensure_ascii=True, separators=(",", ":")).encode()).hexdigest()
