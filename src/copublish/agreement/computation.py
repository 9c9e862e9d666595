"""The section [engine] of an agreement: where the parties compute, and which of them do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from copublish.agreement.section import Section, Whole

if TYPE_CHECKING:
    from copublish.agreement.model import Agreement

NODES_OF_PROTOCOL = {"cheetah": 2, "aby3": 3}
"""How many parties compute."""

SPU_KEYS, MASKED_SUM_KEYS = ("protocol", "nodes", "shards"), ("aggregator", "colluders")
"""Keys of the section [engine] that mean something to one engine alone."""

MOST_SHARDS = 64
"""Every session that counts some has a connection of its own each way."""


class Computation(Section):
    """Which engine computes a release, and the parts that parties play in it."""

    name: Literal["spu", "masked-sum"] = "spu"
    protocol: Literal["cheetah", "aby3"] | None = None
    nodes: tuple[str, ...] | None = None
    aggregator: str | None = None
    colluders: Whole | None = Field(default=None, ge=1)
    shards: Whole | None = Field(default=None, ge=1, le=MOST_SHARDS)

    @property
    def agreed_protocol(self) -> Literal["cheetah", "aby3"]:
        """The protocol between the compute nodes."""
        return self.protocol or "cheetah"

    @property
    def agreed_shards(self) -> int:
        """Into how many parts the records of joint counts are cut."""
        return self.shards or 1


def broken_engine_rules(agreement: Agreement) -> Iterator[str]:
    """Yield one sentence for every rule of the section [engine] that the agreement breaks."""
    engine = agreement.engine
    others = SPU_KEYS if engine.name == "masked-sum" else MASKED_SUM_KEYS
    for key in others:
        if getattr(engine, key) is not None:
            yield f"engine.{key}: it means nothing to the engine '{engine.name}'. Remove it"
    known = ", ".join(f"'{party}'" for party in agreement.parties)
    named = {"nodes": engine.nodes or (), "aggregator": (engine.aggregator,) if engine.aggregator else ()}
    for key, parties in named.items():
        for party in parties:
            if party not in agreement.parties:
                yield f"engine.{key}: '{party}' is not a party of this agreement. Parties: {known}"
    if engine.name == "spu":
        yield from _nodes(agreement)
    else:
        yield from _colluders(agreement)
        yield from _sums(agreement)


def _nodes(agreement: Agreement) -> Iterator[str]:
    engine = agreement.engine
    needed = NODES_OF_PROTOCOL[engine.agreed_protocol]
    if engine.nodes is not None and (len(engine.nodes) != needed or len(set(engine.nodes)) != needed):
        yield f"engine.nodes: name {needed} different parties for the protocol '{engine.agreed_protocol}'"
    elif len(agreement.parties) < needed:
        yield f"engine.protocol: '{engine.agreed_protocol}' needs {needed} parties, and the agreement has fewer"
    if engine.agreed_shards > 1 and (agreement.partition == "horizontal" or len(agreement.parties) != 2):
        yield (
            "engine.shards: shards are for columns that two parties join, both of which compute; others have no "
            "products of their own matrices to divide. Remove it"
        )


def _colluders(agreement: Agreement) -> Iterator[str]:
    owners, colluders = len(agreement.owners), agreement.colluders
    if colluders >= owners:
        counts = agreement.aggregator in agreement.owners
        yield (
            f"engine.colluders: with {owners} owners of data at most {owners - 1} may collude, got {colluders}: "
            "somebody's noise has to be unknown to them"
            + (f". The aggregator '{agreement.aggregator}' owns data and counts as one of them" if counts else "")
        )


def _sums(agreement: Agreement) -> Iterator[str]:
    mechanism, engine = agreement.mechanism.name, "the engine 'masked-sum' adds up what every owner counts alone"
    # Owners of whole rows compute sums alone. Selections compare secrets, and tables across owners multiply them.
    if agreement.mechanism.needs("horizontal") not in ("own values", "sums"):
        yield f"engine.name: {engine}, and the mechanism '{mechanism}' needs more. Write name = \"spu\""
    elif agreement.mechanism.needs(agreement.partition) not in ("own values", "sums"):
        yield (
            f"engine.name: {engine}, and the mechanism '{mechanism}' needs more where the partition is "
            f"'{agreement.partition}'. Write name = \"spu\"; horizontal data need sums alone"
        )
