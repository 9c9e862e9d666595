"""More than two owners on the secure engine: the same release as on the ideal one, and what ends a run early.

Every party is a thread of this process; SPU runs in a worker process for each compute node, as always.
"""

from __future__ import annotations

import json

import mixed_program
import numpy as np
import pytest

from copublish import agreement_from_mapping
from copublish.agreement.protocol.table import ON_DISK
from copublish.engines.spu.engine import SpuEngine
from copublish.engines.spu.input_parties import GuestEngine
from copublish.engines.spu.node import SpuNode
from copublish.engines.spu.requests import LinkSettings
from copublish.engines.spu.worker import Worker
from copublish.errors import EngineError, PartyLostError
from copublish.kernel.secrets.computer import JoinComputer, ProgramComputer
from copublish.kernel.secrets.engine import Comparer
from copublish.party.local.processes import simulate_in_processes
from copublish.progress import no_progress
from support.owners import TINY, Nodes, coins_of_nodes, ideal_release, tiny_agreement, tiny_frames, tiny_moments


@pytest.fixture(scope="module")
def cheetah():
    nodes = Nodes(("p0", "p1"), "CHEETAH")
    yield nodes
    nodes.close()


@pytest.fixture(scope="module")
def aby3():
    nodes = Nodes(("p0", "p1", "p2"), "ABY3")
    yield nodes
    nodes.close()


def assert_everyone_holds(releases, ideal):
    """Byte for byte what the ideal engine gives, but for the certificate, which names the engine."""
    for release in releases.values():
        if isinstance(release, Exception):
            raise release
        assert release.files().keys() == ideal.files().keys()
        for name, content in ideal.data_files().items():
            assert release.files()[name] == content, name
        assert release.certificate.to_json()["disclosures"] == ideal.certificate.to_json()["disclosures"]
    assert len({json.dumps(release.certificate.to_json()) for release in releases.values()}) == 1


@pytest.mark.parametrize(("noise", "owners"), [("laplace", 3), ("gaussian", 4)])
def test_moments_of_three_nodes_with_aby3_and_of_a_guest_are_those_of_the_ideal_engine(aby3, noise, owners):
    agreement = tiny_moments(owners, noise, protocol="aby3")
    frames = tiny_frames(agreement)
    releases = aby3.release(agreement, frames, seed=2)
    assert_everyone_holds(releases, ideal_release(agreement, frames, seed=2))
    engine = releases["p0"].certificate.to_json()["engine"]
    assert (engine["protocol"], len(engine["compute_nodes"]), len(engine["guests"])) == ("ABY3", 3, owners - 3)


@pytest.mark.parametrize("owners", [2, 3, 10])
def test_any_number_of_owners_gets_the_release_of_the_ideal_engine(cheetah, owners):
    agreement = tiny_agreement(owners)
    frames = tiny_frames(agreement)
    releases = cheetah.release(agreement, frames, seed=owners)
    assert_everyone_holds(releases, ideal_release(agreement, frames, seed=owners))
    engine = releases["p0"].certificate.to_json()["engine"]
    assert (engine["compute_nodes"], len(engine["guests"])) == (["p0", "p1"], owners - 2)
    if owners > 2:
        assert "unless 'p0' and 'p1' collude" in engine["secrecy"]


def test_three_nodes_with_aby3_and_a_guest_compare_people_and_give_the_release_of_the_ideal_engine(aby3):
    content = tiny_agreement(4, protocol="aby3").model_dump(mode="json", exclude_none=True, by_alias=True)
    agreement = agreement_from_mapping({**content, "records": {"expected": 100, "identifier": "id"}})
    frames = {
        party: frame.assign(id=f"{party} " + frame.index.astype(str)) for party, frame in tiny_frames(agreement).items()
    }
    releases = aby3.release(agreement, frames, seed=1)
    assert_everyone_holds(releases, ideal_release(agreement, frames, seed=1))
    secrecy = releases["p3"].certificate.to_json()["engine"]["secrecy"]
    assert "unless 'p0' and 'p1', 'p0' and 'p2', or 'p1' and 'p2' collude" in secrecy
    assert any("coins of the compute nodes" in line for line in releases["p3"].certificate.to_json()["assumptions"])


def test_a_node_without_data_and_an_owner_that_does_not_compute_run_in_processes_of_their_own():
    parties = {"p0": {}, "helper": {"data": False}, "p2": {}, "p3": {}}
    engine = {"protocol": "aby3", "nodes": ["p3", "helper", "p0"]}
    agreement = agreement_from_mapping({**TINY, "parties": parties, "mechanism": {"name": "copula"}, "engine": engine})
    frames = tiny_frames(agreement)
    release = simulate_in_processes(
        agreement, frames, progress=no_progress, coins=coins_of_nodes(agreement, 5), timeout_seconds=120
    )
    assert_everyone_holds({"all": release}, ideal_release(agreement, frames, seed=5))
    assert release.certificate.to_json()["engine"]["compute_nodes"] == ["p0", "helper", "p3"]
    assert release.certificate.to_json()["engine"]["guests"] == ["p2"]


class FixedCoins:
    def __init__(self, words):
        self._words = words

    def words(self, shape):
        return self._words


def compute_mixed(engine):
    numbers = np.random.default_rng(engine.parties.index(engine.party))
    parts = numbers.integers(-(2**59), 2**59, 50)
    parts[:2] = 2**61 if engine.party == "p0" else 0  # the sums reach beyond 2^61
    words = numbers.integers(-(2**63), 2**63 - 1, 50)
    if isinstance(engine, SpuNode):
        engine.own_coins = FixedCoins(words)
    else:
        words[:] = 0  # the joint coins are the nodes' alone
    value = engine._open(engine.compute(mixed_program.mixed, engine.share(parts), engine.coins((50,))))
    rows = engine.rows(engine.share(np.arange(6).reshape(3, 2)))
    return parts, words, value, engine._open(rows[2])


@pytest.mark.parametrize("protocol", ["cheetah", "aby3"])
def test_integers_of_62_bits_are_exact_on_both_protocols(protocol, request):
    parties = ("g0", "p0", "p1") if protocol == "cheetah" else ("g0", "p0", "p1", "p2", "g1")
    answers = request.getfixturevalue(protocol).run(parties, compute_mixed)
    parts, words, opened, rows = (list(column) for column in zip(*answers.values(), strict=True))
    values, joint = np.sum(parts, axis=0), np.bitwise_xor.reduce(words)
    squares = [(int(v) ** 2 + 2**63) % 2**64 - 2**63 for v in values]
    shifted = [(int(v) * 32 + 2**63) % 2**64 - 2**63 for v in values]
    expected = [*(values ^ joint), *((values & joint) + 1), *(joint >> 3 & 1), *squares, *shifted, max(values)]
    assert all(value.tolist() == expected for value in opened)
    assert all(row.tolist() == [4 * len(answers), 5 * len(answers)] for row in rows)


def leave_at(step):
    """A run in which the last party leaves at some step."""

    def job(engine):
        leaves = engine.party == "p3"
        if leaves and step == "share":
            raise RuntimeError("killed")
        secret = engine.share(np.ones(3, dtype=np.int64))
        if leaves and step == "open":
            raise RuntimeError("killed")
        engine._open(secret)
        if leaves:
            raise RuntimeError("killed")
        return engine.exchange(ON_DISK, "on disk")

    return job


@pytest.mark.parametrize("step", ["share", "open", "exchange"])
def test_when_a_guest_dies_everyone_else_ends_and_nodes_say_who(cheetah, step):
    results = cheetah.run(("p0", "p1", "p2", "p3"), leave_at(step))
    assert isinstance(results.pop("p3"), RuntimeError)
    assert [type(result) for result in results.values()] == [PartyLostError] * 3
    assert any("Party 'p3' stopped" in str(result) for result in results.values())


def open_what_is_not_the_same(engine):
    shape = (2,) if engine.party == "p2" else (3,)
    return engine._open(engine.share(np.ones(shape, dtype=np.int64)))


def test_a_guest_at_another_step_is_noticed_before_anything_is_opened(cheetah):
    results = cheetah.run(("p0", "p1", "p2"), open_what_is_not_the_same)
    assert all(isinstance(result, EngineError) for result in results.values())
    assert "another number of integers" in str(results["p0"])


def what_it_can_do(engine):
    return [isinstance(engine, kind) for kind in (ProgramComputer, Comparer, JoinComputer)]


def test_with_guests_no_engine_offers_products_of_private_matrices(cheetah, aby3):
    """Types say it: they are between two parties that both compute. People are compared by messages."""
    assert all(can == [True, True, False] for can in cheetah.run(("p0", "p1", "p2"), what_it_can_do).values())
    assert all(can == [True, True, False] for can in aby3.run(("p0", "p1", "p2"), what_it_can_do).values())
    assert issubclass(SpuEngine, SpuNode) and all(hasattr(SpuEngine, name) for name in ("align", "joint_histogram"))


def kill_a_node(engine):
    secret = engine.share(np.ones(3, dtype=np.int64))
    if engine.party == "p1":
        engine.abort()
    return engine._open(secret)


def test_when_a_node_is_killed_nobody_gets_a_value_and_nobody_waits_for_ever(aby3):
    results = aby3.run(("p0", "p1", "p2", "p3"), kill_a_node)
    assert all(isinstance(result, EngineError) for result in results.values())
    assert all("Nothing is published" in str(result) for result in results.values())
    assert not any("did not answer" in str(result) for result in results.values())  # not at the timeout
    assert isinstance(results["p3"], PartyLostError)


def test_a_node_that_never_comes_is_noticed_before_any_input_leaves_an_owner(monkeypatch):
    """The first step, comparing agreements, waits for all nodes; nothing is reserved or shared before it."""
    sent, share = [], GuestEngine.share
    monkeypatch.setattr(GuestEngine, "share", lambda self, local: sent.append(local) or share(self, local))
    nodes = Nodes(("p0", "p1"), "CHEETAH", timeout_seconds=5)
    nodes.engines["p1"].abort()
    results = nodes.release(tiny_agreement(3), tiny_frames(tiny_agreement(3)), seed=1)
    nodes.close()
    assert all(isinstance(result, EngineError) and "Nothing is published" in str(result) for result in results.values())
    assert sent == []


@pytest.mark.parametrize("protocol", ["REF2K", "SEMI2K", "SECURENN", "cheetah"])
def test_no_other_protocol_is_offered(protocol):
    with pytest.raises(ValueError, match=f"{protocol} is not offered; only CHEETAH and ABY3 are"):
        Worker(LinkSettings(0, ("a", "b", "c"), 5, "nowhere", protocol))


def test_a_protocol_has_its_number_of_nodes():
    with pytest.raises(ValueError, match="ABY3 runs between 3 nodes, not 2"):
        Worker(LinkSettings(0, ("a", "b"), 5, "nowhere", "ABY3"))
    with pytest.raises(EngineError, match="CHEETAH runs between 2 compute nodes, got 3"):
        SpuEngine("a", ("a", "b", "c"), ("x", "y", "z"))
