"""A run of several parties around its engine: who links with whom, who brings data, who is told what when one stops."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import AbstractContextManager
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import copublish as cp
from copublish.cli import app
from copublish.errors import CopublishError, FragmentError, InvalidInputsError, MeetingError, PartyLostError
from copublish.kernel.ledger.ledger import Ledger, Limit
from copublish.mechanisms.registry import plan_of
from copublish.party import session as node_run
from copublish.party.local.processes import throwaway_ledger
from copublish.party.local.simulation import simulate_fragments
from copublish.party.network.sockets import MAX_OF_ONE_PARTY, Places
from copublish.party.session import RunSettings, _link_nodes, ready_party, run_party
from copublish.rows.reading import read_fragment
from support import ConstantCoins, random_table, seeded
from support.circle import SECONDS, Circle, identities_in
from support.engine_frames import frame
from support.protocol import ANYTHING

MET: Any = SimpleNamespace(run="a" * 64, blame=lambda party, deed: None)
"""What parties that have met know of the run."""


@pytest.fixture(scope="module")
def identities(tmp_path_factory):
    return identities_in(tmp_path_factory.mktemp("identities"), 4)


@pytest.fixture
def four(identities):
    """Three owners of data and a helper, p3, that computes with two of them."""
    with Circle(identities, 4) as circle:
        circle.mapping["parties"]["p3"]["data"] = False
        circle.mapping["engine"] = {"protocol": "aby3", "nodes": ["p3", "p0", "p2"]}
        del circle.mapping["records"]["identifier"]  # which more than two parties cannot compare on the secure engine
        circle.agreement = cp.agreement_from_mapping(circle.mapping)
        yield circle


def test_every_compute_node_s_engine_reaches_every_other_one_and_a_guest_has_none(four, tmp_path):
    nodes, ports = four.agreement.compute_nodes, four.ports()
    arrived: dict[str, list[bytes]] = {node: [] for node in nodes}
    all_there = threading.Event()

    def stand_for_worker(node: str, address: str) -> None:
        server = socket.socket(socket.AF_UNIX)
        server.bind(address.removeprefix("unix:"))
        server.listen()
        for _ in range(len(nodes) - 1):
            local, _ = server.accept()
            local.settimeout(SECONDS)
            arrived[node].append(local.recv(len(frame(b"p0 to p1")), socket.MSG_WAITALL))
            if sum(map(len, arrived.values())) == len(nodes) * (len(nodes) - 1):
                all_there.set()

    addresses = {}
    for node in nodes:
        (tmp_path / node).mkdir()
        linked = _link_nodes(four.agreement, node, ports[node], MET, tmp_path / node)
        addresses[node] = dict(zip(nodes, linked, strict=True))
        four.do(stand_for_worker, node, addresses[node][node])
    assert _link_nodes(four.agreement, "p1", ports["p1"], MET, tmp_path) == ()
    for node in nodes:
        for other in nodes:
            if other != node:
                out = socket.socket(socket.AF_UNIX)
                out.connect(addresses[node][other].removeprefix("unix:"))
                out.sendall(frame(f"{node} to {other}".encode()))
    assert all_there.wait(SECONDS)
    for node in nodes:
        assert sorted(arrived[node]) == sorted(frame(f"{other} to {node}".encode()) for other in nodes if other != node)


def test_without_a_secure_engine_nobody_is_linked(identities, tmp_path):
    with Circle(identities, 3) as circle:
        circle.mapping["engine"], circle.mapping["mechanism"] = {"name": "masked-sum"}, {"name": "copula"}
        del circle.mapping["records"]["identifier"]
        circle.agreement = cp.agreement_from_mapping(circle.mapping)
        assert _link_nodes(circle.agreement, "p0", circle.port("p0"), MET, tmp_path) == ()


class TalkingEngine(AbstractContextManager):
    """Stands for an engine that needs a messenger alone."""

    def __init__(self, messenger) -> None:
        self.messenger = messenger

    def __exit__(self, *_: object) -> None:
        pass

    def abort(self) -> None:
        pass


def run_all(four: Circle, tmp_path, monkeypatch, stops: str | None, cheats: str | None = None):
    """Run four parties whose release is to hear from everybody; one may stop instead, or all because one cheats."""
    monkeypatch.setattr(
        node_run, "engine_for", lambda a, party, addresses, messenger, *_, **__: TalkingEngine(messenger)
    )
    table = random_table(four.agreement, 30, np.random.default_rng(0))

    def publish(plan, fragment, engine, *_, **__):
        assert (fragment.n_records > 0) == plan.agreement.parties[fragment.party].data
        own = engine.messenger
        peers = [peer for peer in own.parties if peer != own.party]
        if own.party == stops:
            raise FragmentError(own.party, ["Column 'age' has a value of 98765."])
        for peer in peers:
            own.send(peer, ANYTHING, own.party.encode())
        heard = [own.receive(peer, ANYTHING).decode() for peer in peers]
        if cheats is not None:
            time.sleep(0.2 * own.parties.index(own.party))  # the last one has heard that others stopped
            raise InvalidInputsError(cheats)
        return heard

    monkeypatch.setattr(node_run, "publish_release", publish)

    def party(name: str):
        ledger = Ledger(":memory:")
        ledger.set_limit(four.agreement.dataset, Limit(Fraction(100), "add-remove"))
        settings = RunSettings(tmp_path / name, wait_seconds=SECONDS, timeout_seconds=SECONDS)
        own = pd.DataFrame(table[[*four.agreement.columns_of(name), "id"]])
        source = own if four.agreement.parties[name].data else None
        return run_party(
            ready_party(four.agreement, name, source, four.identities[name], ledger, settings),
            progress=lambda *_: None,
            waiting=four.told[name].append,
            log=lambda event, **facts: four.log[name].append((event, facts)),
        )

    return {name: four.do(party, name) for name in four.names}


def test_four_parties_one_of_them_without_data_run_to_the_end(four, tmp_path, monkeypatch):
    ends = run_all(four, tmp_path, monkeypatch, None)
    for name, end in ends.items():
        assert end.result(SECONDS).release == [peer for peer in four.names if peer != name]
        assert end.result().bytes_sent == end.result().bytes_received > 0


def test_when_one_party_s_data_do_not_fit_all_others_are_told_who_and_no_more(four, tmp_path, monkeypatch):
    ends = run_all(four, tmp_path, monkeypatch, "p1")
    with pytest.raises(FragmentError, match="98765"):
        ends.pop("p1").result(SECONDS)
    for name, end in ends.items():
        with pytest.raises((PartyLostError, MeetingError)) as caught:  # some may not have met all others yet
            end.result(SECONDS)
        assert str(caught.value).startswith("Party 'p1' stopped: its data do not fit the agreement. Nothing "), name
        assert "98765" not in str(four.log[name])


def test_when_inputs_fail_a_check_every_party_names_the_cheater_and_not_who_stopped_first(four, tmp_path, monkeypatch):
    ends = run_all(four, tmp_path, monkeypatch, None, cheats="p2")
    for end in ends.values():
        with pytest.raises(InvalidInputsError, match="'p2' put in something else than the agreement allows"):
            end.result(SECONDS)


def test_data_are_for_those_who_hold_some(four, tmp_path):
    file = tmp_path / "agreement.toml"
    lines = [f"[parties.{n}]\ndata = {str(n != 'p3').lower()}\n" for n in four.names]
    file.write_text(
        'format = 1\nname = "r"\ndataset = "d"\npartition = "horizontal"\n'
        + "".join(lines)
        + '[records]\nexpected = 100\n[class]\nname = "y"\nvalues = ["a", "b"]\n'
        + '[attributes.x]\nkind = "categorical"\nvalues = ["u", "v"]\n[privacy]\nepsilon = 1\n'
        + '[mechanism]\nname = "specialization"\n'
    )
    options = ["run", str(file), "--out", str(tmp_path / "out"), "--yes"]
    refused = CliRunner().invoke(app, [*options, "--party", "p3", "--data", "rows.csv"])
    assert refused.exit_code == 2
    assert "holds no data" in " ".join(refused.output.replace("│", " ").split())
    missing = CliRunner().invoke(app, [*options, "--party", "p0"])
    assert missing.exit_code == 2
    assert "'p0' holds data. Say where they are" in " ".join(missing.output.replace("│", " ").split())
    with pytest.raises(CopublishError, match="by the agreement it holds some"):
        ready_party(four.agreement, "p0", None, None, Ledger(":memory:"), RunSettings(tmp_path / "out"))


ENGINES = {
    "masked sums at a helper": ({"name": "masked-sum", "aggregator": "p3"}, "hpdp"),
    "two compute nodes and two guests": ({"nodes": ["p1", "p3"]}, "specialization"),
    "people compared by a compute node without data": ({"nodes": ["p1", "p3"]}, "specialization"),
    "people compared by the owners themselves": ({"name": "masked-sum", "aggregator": "p0"}, "hpdp"),
}


@pytest.fixture
def most_at_once(monkeypatch):
    """How many connections of one party were in use at once at another one, and whether one was too many."""
    seen: list[int] = []
    usual = Places.enter

    def enter(places: Places, whose: str) -> bool:
        has_place = usual(places, whose)
        if type(places) is Places:
            seen.append(places._taken[whose] if has_place else 10**6)
        return has_place

    monkeypatch.setattr(Places, "enter", enter)
    return seen


@pytest.mark.parametrize("engine", ENGINES)
def test_a_release_of_four_over_mutual_tls_is_the_ideal_one_for_the_same_coins(
    identities, tmp_path, engine, most_at_once
):
    with Circle(identities, 4) as circle:
        mapping = circle.mapping
        mapping["engine"], mapping["mechanism"] = ENGINES[engine][0], {"name": ENGINES[engine][1]}
        mapping["parties"]["p3"]["data"] = False
        mapping["records"]["expected"] = 60
        if not engine.startswith("people"):
            del mapping["records"]["identifier"]
        elif engine.endswith("without data"):
            mapping["records"]["compared_by"] = "p3"
        agreement = circle.agreement = cp.agreement_from_mapping(mapping)
        table = random_table(agreement, 60, np.random.default_rng(1))
        frames = {name: table[number::3] for number, name in enumerate(agreement.owners)}

        def party(name: str):
            ledger = throwaway_ledger(plan_of(agreement), file=tmp_path / f"{name}.db")
            settings = RunSettings(tmp_path / name, wait_seconds=SECONDS, timeout_seconds=4 * SECONDS)
            return run_party(
                ready_party(agreement, name, frames.get(name), circle.identities[name], ledger, settings),
                progress=lambda *_: None,
                waiting=lambda _: None,
                log=lambda event, **facts: None,
                coins=seeded(agreement.party_names, 5)[name],
            )

        ends = {name: circle.do(party, name) for name in circle.names}
        files = {name: end.result(8 * SECONDS).release.files() for name, end in ends.items()}
    assert 1 <= max(most_at_once) <= MAX_OF_ONE_PARTY / 4, "meeting, messages and engine; far from the limit"
    assert len({str(sorted(own.items())) for own in files.values()}) == 1
    for name in files:
        written = (path for path in (tmp_path / name).rglob("*") if path.is_file())
        assert {path.relative_to(tmp_path / name).as_posix(): path.read_bytes() for path in written} == files[name]
    # On SPU noise comes from the compute nodes' coins alone, so the ideal engine is given coins with the same XOR.
    coins = seeded(agreement.party_names, 5)
    if agreement.engine.name == "spu":
        coins = {name: own if name in agreement.compute_nodes else ConstantCoins(0) for name, own in coins.items()}
    fragments = {name: read_fragment(agreement, name, frames.get(name)) for name in agreement.parties}
    ideal = simulate_fragments(agreement, fragments, coins)
    data = ideal.data_files()
    assert data == {name: content for name, content in files["p0"].items() if name in data}


@pytest.mark.parametrize("compared_by", [None, "p3"])
def test_a_person_at_two_owners_ends_the_run_in_the_same_words_at_every_party(identities, tmp_path, compared_by):
    with Circle(identities, 4) as circle:
        mapping = circle.mapping
        mapping["engine"], mapping["mechanism"] = {"name": "masked-sum", "aggregator": "p0"}, {"name": "hpdp"}
        mapping["parties"]["p3"]["data"], mapping["records"]["expected"] = False, 60
        if compared_by:
            mapping["records"]["compared_by"] = compared_by
        agreement = circle.agreement = cp.agreement_from_mapping(mapping)
        table = random_table(agreement, 60, np.random.default_rng(1))
        frames = {name: table[number::3] for number, name in enumerate(agreement.owners)}
        frames["p2"] = table[1::2]

        def party(name: str):
            ledger = throwaway_ledger(plan_of(agreement), file=tmp_path / f"{name}.db")
            settings = RunSettings(tmp_path / name, wait_seconds=SECONDS, timeout_seconds=4 * SECONDS)
            ready = ready_party(agreement, name, frames.get(name), circle.identities[name], ledger, settings)
            try:
                return run_party(
                    ready, progress=lambda *_: None, waiting=lambda _: None, log=lambda event, **facts: None
                )
            finally:
                assert ledger.entries() == []
                assert len(ledger.alignments()) == (name in agreement.owners)

        for name, end in {name: circle.do(party, name) for name in circle.names}.items():
            with pytest.raises(FragmentError, match=f"The data of party '{name}' .*\\n.*some person is listed by two"):
                end.result(8 * SECONDS)
