"""Which engine a party of an agreement runs on, and which agreements an engine can compute."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version

from copublish.agreement.model import Agreement
from copublish.agreement.protocol.table import MAX_LIST_BYTES
from copublish.engines.comparing.comparison import comparison_by
from copublish.engines.comparing.curve import POINT_BYTES
from copublish.engines.comparing.pseudonyms import PSEUDONYM_BYTES
from copublish.engines.masked_sums import MaskedSumEngine
from copublish.engines.messages import Messenger
from copublish.engines.spu.engine import SpuEngine
from copublish.engines.spu.input_parties import GuestEngine, MarkingGuest
from copublish.engines.spu.marking import MarkingNode, ReplicatedMarkingNode
from copublish.engines.spu.node import SpuNode
from copublish.engines.spu.process import LOADING_SECONDS, LoadingWorker, StartWorker, WorkerProcess
from copublish.engines.spu.requests import CHEETAH, EngineRecorder, FirstUses
from copublish.errors import AgreementError, EngineError
from copublish.kernel.certificate.comparing import way_of
from copublish.kernel.certificate.promise import computes_jointly
from copublish.kernel.noise.geometric import Coins
from copublish.kernel.secrets.placement import HiddenJoin

SPU_VERSION = "0.9.5"
"""The secure engine's, which the extra 'secure' installs. A party that does not compute may do without it."""

WITHOUT_ENGINE = "the secure engine is not installed here. On Linux with Python 3.11: pip install 'copublish[secure]'"

MOST_JOINED = 10
"""How many owners' columns are joined: each pair of parties has connections of its own, and all mark every record."""


def refuse_unfit_engine(agreement: Agreement) -> None:
    """Raise unless the agreed engine can compute this agreement; before any data is read or anything is spent.

    Raises:
        AgreementError: Naming what does not go together, and what does.
    """
    if problems := _unfit(agreement):
        raise AgreementError(f"The agreement '{agreement.name}' cannot run on the secure engine; it", problems)


def refuse_missing_engine(agreement: Agreement, party: str) -> None:
    """Raise if a party computes by the agreement and the secure engine is not installed here.

    Raises:
        EngineError: Saying how to install it.
    """
    if agreement.engine.name == "spu" and party in agreement.compute_nodes and not has_secure_engine():
        raise EngineError(f"Party '{party}' computes by the agreement, and {WITHOUT_ENGINE}")


@cache
def has_secure_engine() -> bool:
    """Whether the extra 'secure' is installed."""
    try:
        return all(version(package) for package in ("spu", "jax", "jaxlib"))
    except PackageNotFoundError:
        return False


def secure_engine_version() -> str:
    """The version of the secure engine that is installed; where none is, the one that the others have to have."""
    return version("spu") if has_secure_engine() else SPU_VERSION


def _unfit(agreement: Agreement) -> list[str]:
    found = _too_long_lists(agreement)
    if agreement.engine.name == "masked-sum" or len(agreement.parties) == 2:
        return found  # what masked sums cannot do is no agreement at all
    if agreement.partition != "horizontal":
        if computes_jointly(agreement) and len(agreement.owners) > MOST_JOINED:
            found.append(
                f"parties: columns of up to {MOST_JOINED} owners are joined, and {len(agreement.owners)} hold some. "
                "Let owners that trust each other bring theirs together"
            )
        if agreement.privacy.class_disagreement is not None:
            found.append(
                "privacy.class_disagreement: two class columns are compared between two parties that both compute, and "
                "the agreement has more. Remove it"
            )
    return found


def _too_long_lists(agreement: Agreement) -> list[str]:
    """Padded lists that are longer than lists in messages may be."""
    if (join := HiddenJoin.of(agreement)) is not None:
        return list(_too_long_hidden_lists(agreement, join))
    entry_bytes = {"rounds": POINT_BYTES, "pseudonyms": PSEUDONYM_BYTES}.get(way_of(agreement) or "")
    length = agreement.compared_identifiers
    if entry_bytes is None or length is None or length * entry_bytes <= MAX_LIST_BYTES:
        return []
    return [
        "records.identifier: lists of people are padded to twice records.expected to be compared, and may have "
        f"{MAX_LIST_BYTES // entry_bytes:,} entries. Leave 'identifier' out; the certificate then states as an "
        "assumption that nobody is at two parties"
    ]


def _too_long_hidden_lists(agreement: Agreement, join: HiddenJoin) -> Iterator[str]:
    longest = MAX_LIST_BYTES // (POINT_BYTES if agreement.helper is None else PSEUDONYM_BYTES)
    for owner, length in join.at_most.items():
        most = longest - (join.length_of(owner) - length)
        if length > most:
            yield (
                f"records.at_most: a list may have {most:,} people, and '{owner}' has {length:,}. Write a smaller "
                'number, or membership = "shared"'
            )


def needs_messenger(agreement: Agreement) -> bool:
    """Whether the parties talk to each other beside the secure engine's own link, or instead of it."""
    compare_by_messages = way_of(agreement) not in (None, "intersection")
    return agreement.engine.name == "masked-sum" or bool(agreement.guests) or compare_by_messages


def loading_seconds(agreement: Agreement) -> dict[str, float]:
    """How much longer the first message of a party may take: that of a compute node comes when its engine is loaded."""
    return dict.fromkeys(agreement.compute_nodes, LOADING_SECONDS) if agreement.engine.name == "spu" else {}


def loading_worker(agreement: Agreement, party: str) -> LoadingWorker | None:
    """The worker of a party that computes, which begins to load while the party does other things; else none.

    Whoever asks for one ends it, or hands it to `engine_for`.
    """
    computes = agreement.engine.name == "spu" and party in agreement.compute_nodes
    return LoadingWorker() if computes and has_secure_engine() else None


def _first_uses(agreement: Agreement) -> FirstUses:
    """What this agreement's mechanism will use for certain, by public traits alone."""
    need = agreement.need
    return FirstUses(coins=need != "own values", products=need == "joins" and agreement.partition != "horizontal")


def engine_for(
    agreement: Agreement,
    party: str,
    addresses: Sequence[str],
    messenger: Messenger | None,
    coins: Coins | None = None,
    timeout_seconds: int = 600,
    recorder: EngineRecorder | None = None,
    loading: LoadingWorker | None = None,
    lanes: Sequence[Sequence[str]] = (),
    start_lane: StartWorker = WorkerProcess,
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
        recorder: Told about a compute node's requests, for benchmarks.
        loading: What `loading_worker` started, if it did.
        lanes: Like `addresses`, for every further session of the engine, which counts shards.
        start_lane: Where the workers of those run.

    Raises:
        AgreementError: If the secure engine cannot compute this agreement.
    """
    refuse_unfit_engine(agreement)
    start_main: StartWorker = WorkerProcess if loading is None else partial(WorkerProcess, loading=loading)
    engine = _engine_for(agreement, party, addresses, messenger, coins, timeout_seconds, start_main, lanes, start_lane)
    if recorder is not None and isinstance(engine, SpuNode):
        engine.record(recorder)
    if agreement.compares_people and messenger is not None:
        # Where membership is hidden, every list has the length that the agreement says of its owner.
        most = None if agreement.hides_membership else agreement.most_listed
        engine.comparison = comparison_by(messenger, agreement.owners, agreement.helper, at_most=most)
    return engine


def _engine_for(
    agreement: Agreement,
    party: str,
    addresses: Sequence[str],
    messenger: Messenger | None,
    coins: Coins | None,
    timeout_seconds: int,
    start_main: StartWorker,
    lanes: Sequence[Sequence[str]],
    start_lane: StartWorker,
) -> SpuNode | GuestEngine | MaskedSumEngine:
    if agreement.engine.name == "masked-sum" and messenger is not None:
        opens_sums = computes_jointly(agreement)
        return MaskedSumEngine(messenger, agreement.owners, agreement.aggregator, coins, opens_sums=opens_sums)
    nodes, protocol = agreement.compute_nodes, agreement.engine.agreed_protocol.upper()
    if agreement.engine.name == "spu" and party in nodes:
        # Products of private matrices and intersections are between two parties that both compute; more share marks.
        if agreement.engine.agreed_shards > 1:
            return SpuEngine(
                party,
                nodes,
                addresses,
                coins,
                timeout_seconds,
                messenger=messenger,
                start_worker=start_main,
                first_uses=_first_uses(agreement),
                shards=agreement.engine.agreed_shards,
                lanes=lanes,
                start_lane=start_lane,
            )
        kind: type[SpuNode] = SpuEngine
        if len(agreement.parties) > 2 and agreement.partition == "horizontal":
            kind = SpuNode
        elif len(agreement.parties) > 2:
            kind = MarkingNode if protocol == CHEETAH else ReplicatedMarkingNode
        return kind(
            party,
            nodes,
            addresses,
            coins,
            timeout_seconds,
            protocol=protocol,
            messenger=messenger,
            start_worker=start_main,
            first_uses=_first_uses(agreement),
        )
    if messenger is None:
        raise ValueError("a party that does not compute on secrets needs a messenger")
    guest = GuestEngine if agreement.partition == "horizontal" else MarkingGuest
    return guest(messenger, nodes, protocol, coins)
