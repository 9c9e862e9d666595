"""What each engine can do is what its type says; who asks for more gets an error, and nothing is sent or charged."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import copublish as cp
from copublish.agreement.axis import Axis
from copublish.engines.ideal import IdealEngine, Room
from copublish.engines.masked_sums import MaskedSumEngine
from copublish.engines.spu import node
from copublish.engines.spu.engine import SpuEngine
from copublish.engines.spu.input_parties import GuestEngine, MarkingGuest
from copublish.engines.spu.marking import MarkingNode
from copublish.engines.spu.node import SpuNode
from copublish.errors import EngineError
from copublish.kernel.accounting.disclosures import Select
from copublish.kernel.records.joint_table import JointTable
from copublish.kernel.secrets.computer import Computer, JoinComputer, MarkComputer, ProgramComputer, computer_as
from copublish.kernel.secrets.engine import Comparer
from copublish.kernel.secrets.gate import RevealGate
from copublish.mechanisms.copula.run_products import joint_product_sums
from copublish.mechanisms.registry import plan_of
from copublish.progress import no_progress
from copublish.rows.reading import read_fragment
from support import repartition, small_mapping
from support.messages import Post

PARTIES = ("p0", "p1", "p2")
TWO = PARTIES[:2]


class NoWorker:
    """In the place of SPU: whoever asks it for anything fails the test."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self.bytes_sent = 0


@pytest.fixture(autouse=True)
def _no_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node, "WorkerProcess", NoWorker)


ENGINES: dict[str, Callable[[Post], Computer]] = {
    "ideal": lambda post: IdealEngine(Room(PARTIES), "p0", None),
    "spu": lambda post: SpuEngine("p0", TWO, ("x", "y")),
    "node": lambda post: SpuNode("p0", TWO, ("x", "y"), messenger=post.messenger("p0")),
    "guest": lambda post: GuestEngine(post.messenger("p2"), TWO),
    "marking node": lambda post: MarkingNode("p0", TWO, ("x", "y"), messenger=post.messenger("p0")),
    "marking guest": lambda post: MarkingGuest(post.messenger("p2"), TWO),
    "masked-sum": lambda post: MaskedSumEngine(post.messenger("p0"), TWO, "p2"),
}
"""Every engine, at one of its parties."""

ABILITIES: dict[str, set[type]] = {
    "ideal": {Computer, ProgramComputer, Comparer, MarkComputer, JoinComputer},
    "spu": {Computer, ProgramComputer, Comparer, MarkComputer, JoinComputer},
    "node": {Computer, ProgramComputer, Comparer},
    "guest": {Computer, ProgramComputer, Comparer},
    "marking node": {Computer, ProgramComputer, Comparer, MarkComputer},
    "marking guest": {Computer, ProgramComputer, Comparer, MarkComputer},
    "masked-sum": {Computer, Comparer},
}

MEMBERS: dict[type, tuple[str, ...]] = {
    ProgramComputer: ("compute", "rows", "coins"),
    Comparer: ("align", "place", "have_common"),
    MarkComputer: ("joint_matches", "joint_match_pairs", "rows_per_product", "sum_over_records"),
    JoinComputer: ("joint_histogram", "joint_pairs"),
}
"""What each ability adds to sums."""


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Computer, ProgramComputer, Comparer, MarkComputer, JoinComputer])
@pytest.mark.parametrize("name", ENGINES)
def test_an_engine_is_told_to_be_what_it_is_and_refused_as_what_it_is_not(name: str, kind: type) -> None:
    post = Post(PARTIES)
    engine = ENGINES[name](post)
    can = kind in ABILITIES[name]
    assert isinstance(engine, kind) is can
    assert all(hasattr(engine, member) is can for member in MEMBERS.get(kind, ()))
    if can:
        assert computer_as(kind, engine) is engine
        return
    with pytest.raises(EngineError) as caught:
        computer_as(kind, engine)
    assert str(caught.value) == (
        f"The engine '{engine.name}' is no {kind.__name__}, which this needs. Nothing was computed."
    )
    assert post.sent == []


class NoCharge:
    """A charge that must not be touched."""

    def disclose(self, *_: Any) -> None:
        pytest.fail("something was charged")


def table_of(partition: str, **mechanism: Any) -> JointTable:
    """Two records that p0 holds cells of."""
    agreement = cp.agreement_from_mapping(repartition(small_mapping(mechanism=mechanism), partition, 2))
    row = {"id": ["a", "b"], "job": "cook", "region": "east", "age": 20, "income": 5, "default": "no"}
    held = ["id", *agreement.columns_of("p0")]
    return JointTable(agreement, read_fragment(agreement, "p0", pd.DataFrame(row)[held]))


def select(engine: Computer) -> Any:
    scores = engine.share(np.zeros(2, dtype=np.int64))
    disclosure = Select(
        label="which one",
        budget=Fraction(1),
        calibrated_to="replace",
        score_range={"add-remove": 1, "replace": 1},
        candidates=2,
    )
    return RevealGate(engine, engine.opener, NoCharge(), False).reveal_selection(scores, disclosure)


def specialize(engine: Computer) -> Any:
    table = table_of("vertical", name="specialization", specializations=1)
    return plan_of(table.agreement).run(
        table, engine, RevealGate(engine, engine.opener, NoCharge(), False), no_progress
    )


def count(engine: Computer) -> Any:
    table = table_of("vertical", name="specialization", specializations=1)
    axes = [Axis.of(domain) for domain in table.agreement.domains.values()]
    return table.count_jointly(axes, engine, noise_bits=10)


def multiply(engine: Computer) -> Any:
    table = table_of("vertical", name="copula")
    scores = {name: np.zeros(domain.size, dtype=np.int64) for name, domain in table.agreement.domains.items()}
    return joint_product_sums(table, scores, engine)


WORK: dict[str, tuple[type, Callable[[Computer], Any]]] = {
    "a selection": (ProgramComputer, select),
    "a run of a mechanism that selects": (ProgramComputer, specialize),
    "counts of joined columns": (MarkComputer, count),
    "products of joined columns": (MarkComputer, multiply),
}


@pytest.mark.parametrize(
    ("name", "work"), [(name, work) for name in ABILITIES for work in WORK if WORK[work][0] not in ABILITIES[name]]
)
def test_work_that_an_engine_cannot_do_is_refused_before_anything_is_sent_or_charged(name: str, work: str) -> None:
    kind, do = WORK[work]
    post = Post(PARTIES)
    with pytest.raises(EngineError, match=f"is no {kind.__name__}, which this needs. Nothing was computed"):
        do(ENGINES[name](post))
    assert post.sent == []
