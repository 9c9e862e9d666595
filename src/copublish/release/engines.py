"""Which engine a party of an agreement runs on, and which agreements an engine can compute."""

from __future__ import annotations

from collections.abc import Sequence

from copublish.agreement.model import Agreement
from copublish.engine.masked.engine import MaskedSumEngine
from copublish.engine.messages import Messenger
from copublish.engine.spu.engine import MarkingNode, ReplicatedMarkingNode, SpuEngine
from copublish.engine.spu.guests import GuestEngine, MarkingGuest
from copublish.engine.spu.node import SpuNode
from copublish.engine.spu.process import LOADING_SECONDS
from copublish.engine.spu.requests import CHEETAH
from copublish.errors import AgreementError
from copublish.privacy.coins import Coins
from copublish.privacy.promise import computes_jointly

MOST_JOINED = 10
"""How many owners' columns are joined: each pair of parties has connections of its own, and all mark every record."""


def refuse_unfit_engine(agreement: Agreement) -> None:
    """Raise unless the agreed engine can compute this agreement; before any data is read or anything is spent.

    Raises:
        AgreementError: Naming what does not go together, and what does.
    """
    if problems := _unfit(agreement):
        raise AgreementError(f"The agreement '{agreement.name}' cannot run on the secure engine; it", problems)


def refuse_unfit_simulation(agreement: Agreement) -> None:
    """Raise unless the ideal engine can compute this agreement.

    Raises:
        AgreementError: If a party without data would have to take part in a join.
    """
    idle = [party for party in agreement.parties if party not in agreement.owners]
    if idle and agreement.partition != "horizontal" and computes_jointly(agreement):
        problem = f"parties.{idle[0]}.data: only in a horizontal release can a party take part without data. Remove it"
        raise AgreementError(f"The agreement '{agreement.name}'", [problem])


def _unfit(agreement: Agreement) -> list[str]:
    if agreement.engine.name == "masked-sum" or len(agreement.parties) == 2:
        return []  # what masked sums cannot do is no agreement at all
    found = []
    if agreement.partition != "horizontal":
        if computes_jointly(agreement) and len(agreement.owners) > MOST_JOINED:
            found.append(
                f"parties: columns of up to {MOST_JOINED} owners are joined, and {len(agreement.owners)} hold some. "
                "Let owners that trust each other bring theirs together"
            )
        if agreement.records.alignment == "identifier":
            found.append(
                "records.alignment: with more than two parties the secure engine cannot yet find common records by an "
                'identifier. Bring the rows into one order beforehand and write alignment = "row-order"'
            )
    elif agreement.records.identifier is not None:
        found.append(
            "records.identifier: with more than two parties the secure engine cannot check that no person is at two of "
            "them. Leave 'identifier' out; the certificate then states that it is assumed"
        )
    return found


def needs_messenger(agreement: Agreement) -> bool:
    """Whether the parties talk to each other beside the secure engine's own link, or instead of it."""
    return agreement.engine.name == "masked-sum" or bool(agreement.guests)


def loading_seconds(agreement: Agreement) -> dict[str, float]:
    """How much longer the first message of a party may take: that of a compute node comes when its engine is loaded."""
    return dict.fromkeys(agreement.compute_nodes, LOADING_SECONDS) if agreement.engine.name == "spu" else {}


def engine_for(
    agreement: Agreement,
    party: str,
    addresses: Sequence[str],
    messenger: Messenger | None,
    coins: Coins | None = None,
    timeout_seconds: int = 600,
) -> SpuNode | GuestEngine | MaskedSumEngine:
    """A party's end of the agreed engine, to be used in a `with` statement.

    Args:
        agreement: What all parties agreed on.
        party: Which party this is.
        addresses: For a compute node, where each of `agreement.compute_nodes` has its worker, as this party reaches it,
            like `unix:/run/x/a.sock`. A guest needs none.
        messenger: Connections to all parties; may be missing if `needs_messenger` says so.
        coins: This party's coins.
        timeout_seconds: How long to wait for the others.

    Raises:
        AgreementError: If the secure engine cannot compute this agreement.
    """
    refuse_unfit_engine(agreement)
    if agreement.engine.name == "masked-sum" and messenger is not None:
        opens_sums = not agreement.publishes_each_record
        return MaskedSumEngine(messenger, agreement.owners, agreement.aggregator, coins, opens_sums=opens_sums)
    nodes, protocol = agreement.compute_nodes, agreement.engine.agreed_protocol.upper()
    if agreement.engine.name == "spu" and party in nodes:
        # Products of private matrices and intersections are between two parties that both compute; more share marks.
        kind: type[SpuNode] = SpuEngine
        if len(agreement.parties) > 2 and agreement.partition == "horizontal":
            kind = SpuNode
        elif len(agreement.parties) > 2:
            kind = MarkingNode if protocol == CHEETAH else ReplicatedMarkingNode
        return kind(party, nodes, addresses, coins, timeout_seconds, protocol=protocol, messenger=messenger)
    if messenger is None:
        raise ValueError("a party that does not compute on secrets needs a messenger")
    guest = GuestEngine if agreement.partition == "horizontal" else MarkingGuest
    return guest(messenger, nodes, protocol, coins)
