"""A party that falls silent: it is noticed after the timeout and some seconds, and everybody names it and nobody else.

Parties are frozen with SIGSTOP: the system still takes connections for them, and nothing is ever answered.
"""

from __future__ import annotations

import json
import re
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

import numpy as np
import psutil
import pytest

import copublish as cp
from copublish.engines.spu import process as worker_process
from copublish.engines.spu import ray_workers
from copublish.errors import EngineError, OwnEngineError, PartyLostError, SilenceError
from copublish.party.local.messenger import PipeMessenger, pipes_between
from copublish.party.local.processes import _error
from copublish.party.network import meeting
from copublish.party.network.channel import RefusedError, SilentError
from copublish.party.network.meeting import who_is_silent
from copublish.party.network.messenger import PortMessenger
from copublish.party.network.port import Port
from copublish.party.request import RunSettings
from copublish.party.session import _told_loss
from support import random_table
from support.circle import SECONDS, Circle, identities_in
from support.processes import Program
from support.protocol import ANYTHING
from support.waiting import wait_until

TIMEOUT_SECONDS = 30
"""So long that on a busy machine programs are compiled within it."""

RUN = """
import json, sys
from fractions import Fraction
import pandas as pd
import copublish as cp
from copublish.kernel.ledger.ledger import Ledger, Limit

folder, party, seconds = sys.argv[1], sys.argv[2], int(sys.argv[3])
agreement = cp.agreement_from_mapping(json.load(open(f"{folder}/agreement.json")))
book = Ledger(f"{folder}/{party}.db")
book.set_limit(agreement.dataset, Limit(Fraction(10), "add-remove"))
book.close()
try:
    cp.run(agreement, party=party, data=pd.read_parquet(f"{folder}/{party}.parquet"), out=f"{folder}/{party}-release",
           ledger=f"{folder}/{party}.db", identity=f"{folder}/../identities/{party}", wait_seconds=120,
           timeout_seconds=seconds, log=f"{folder}/{party}.jsonl")
except cp.CopublishError as error:
    sys.exit(str(error))
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("silent")
    return folder, identities_in(folder / "identities", 3)


class Three:
    """Two compute nodes, p0 and p1, and the guest p2, each in a process of its own."""

    def __init__(self, home, name: str) -> None:
        folder, identities = home
        self.folder = folder / name
        self.folder.mkdir()
        with Circle(identities, 3) as circle:
            mapping = {**circle.mapping, "engine": {"nodes": ["p0", "p1"]}}
            del mapping["records"]["identifier"]
            agreement = cp.agreement_from_mapping(mapping)
        (self.folder / "agreement.json").write_text(json.dumps(mapping))
        table = random_table(agreement, 90, np.random.default_rng(1))
        self.processes: dict[str, Program] = {}
        self.frozen: list[psutil.Process] = []
        for number, party in enumerate(agreement.parties):
            table[number::3].to_parquet(self.folder / f"{party}.parquet")
            command = [sys.executable, "-c", RUN, str(self.folder), party, str(TIMEOUT_SECONDS)]
            self.processes[party] = Program(command)

    def freeze(self, party: str, moment: str) -> None:
        log = self.folder / f"{party}.jsonl"
        wait_until(lambda: log.exists() and moment in log.read_text(), 4 * SECONDS)
        victim = psutil.Process(self.processes[party].pid)
        # All but what tidies up when it is gone.
        self.frozen = [process for process in (victim, *victim.children(recursive=True)) if process.name() != "sh"]
        for process in self.frozen:
            process.suspend()

    def __enter__(self) -> Three:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.processes.values():
            process.kill()
        for process in self.frozen:  # one that stays frozen does not end
            with suppress(psutil.NoSuchProcess):
                process.resume()
        for process in self.processes.values():
            process.communicate()


MOMENTS = {
    "a guest that waits for what is opened": ("p2", '"specialization"'),
    "a compute node that computes": ("p1", '"specialization"'),
}


@pytest.mark.parametrize("what", MOMENTS)
def test_a_frozen_party_is_noticed_after_the_timeout_and_named_by_everybody(home, what):
    frozen, moment = MOMENTS[what]
    with Three(home, re.sub(r"\W", "-", what)) as three:
        three.freeze(frozen, moment)
        for party in three.processes.keys() - {frozen}:
            said = three.processes[party].communicate(timeout=2 * SECONDS)[1]
            names_it = (
                rf"Party '{frozen}' did not answer in {TIMEOUT_SECONDS} s\.|Party 'p\d' stopped: it lost '{frozen}'\."
            )
            assert re.match(names_it, said), (party, said)
        assert not list(Path(three.folder).glob("*-release"))


def test_more_time_is_for_the_first_message_of_a_party_that_loads_and_for_no_other(home):
    with Circle(home[1], 3) as circle:
        ports = circle.ports()
        messengers = {name: PortMessenger(port, "a" * 64, 0.3, {"p1": SECONDS}) for name, port in ports.items()}
        for name in ("p1", "p2"):
            messengers[name]._timeout = SECONDS
        late = circle.do(lambda: (time.sleep(1), messengers["p1"].send("p0", ANYTHING, b"first")))
        assert messengers["p0"].receive("p1", ANYTHING) == b"first"
        late.result(SECONDS)
        for silent in ("p1", "p2"):
            with pytest.raises(SilenceError, match=rf"'{silent}' did not answer in 0.3 s") as caught:
                messengers["p0"].receive(silent, ANYTHING)
            assert caught.value.party == silent
        for messenger in messengers.values():
            messenger.close()


def test_more_time_is_for_first_messages_over_pipes_too():
    ends = pipes_between(("a", "b"))
    here = PipeMessenger("a", ("a", "b"), ends["a"], 0.2, {"b": SECONDS})
    there = PipeMessenger("b", ("a", "b"), ends["b"])
    there.send("a", ANYTHING, b"first")
    assert here.receive("b", ANYTHING) == b"first"
    with pytest.raises(SilenceError, match=r"'b' did not answer in 0.2 s"):
        here.receive("b", ANYTHING)
    here.close()
    there.close()


def test_half_a_message_and_then_nothing_is_silence(home):
    with Circle(home[1], 2) as circle:
        ports = circle.ports()
        messenger = PortMessenger(ports["p0"], "a" * 64, 0.5)
        channel = ports["p1"].dial("p0", "messages", "a" * 64)
        channel.send_bytes(b"\0", seconds=SECONDS)  # of a header, which may take as long as it likes
        channel.send_bytes(b"\x08" + (100).to_bytes(4, "big") + b"anything" + bytes(50), seconds=SECONDS)
        wait_until(lambda: messenger.has_left("p1"))
        with pytest.raises(SilenceError, match="'p1' did not answer"):
            messenger.receive("p1", ANYTHING)
        messenger.close()


def test_who_answers_at_its_port_or_has_ended_is_not_silent_and_who_does_not_is(home, monkeypatch):
    monkeypatch.setattr("copublish.party.network.meeting.ANSWER_SECONDS", SECONDS)
    may_answer = threading.Event()
    with Circle(home[1], 3) as circle:
        ports = circle.ports(["p0", "p1"])
        assert who_is_silent(ports["p0"], None) is None  # nobody listens for p2
        assert who_is_silent(ports["p0"], "p1") == "p1"  # it answers, and was waited for
        listener = ports["p1"]._listener
        ports["p1"]._closed.set()
        listener.setblocking(True)
        monkeypatch.setattr("copublish.party.network.port.Port._attend", lambda *_: may_answer.wait(SECONDS))
        monkeypatch.setattr("copublish.party.network.meeting.ANSWER_SECONDS", 1.0)
        ports["p1"]._closed.clear()
        assert who_is_silent(ports["p0"], None) == "p1"
        assert who_is_silent(ports["p0"], "p2") == "p1"  # p2 was waited for, and waits itself
        may_answer.set()


SETTINGS = RunSettings(Path("release"), timeout_seconds=5)


class Alone:
    """A meeting in which nobody has said a last word."""

    ran_out = False

    def __init__(self) -> None:
        self.told: list[str | None] = []

    def loss(self, *, patience_seconds: float | None = None) -> None:
        return None

    def say_lost(self, silent: str | None = None) -> None:
        self.told.append(silent)


FAILURES = {
    "its link broke": PartyLostError("The secure engine ended (exit code 255)."),
    "it failed": EngineError("The secure engine failed (people could not be compared)."),
    "no answer": SilenceError("Another compute node did not answer in 5 s."),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_whatever_a_frozen_node_does_to_an_engine_the_frozen_one_is_named(home, monkeypatch, failure):
    meeting = Alone()
    with Circle(home[1], 2) as circle:
        port = circle.ports()["p0"]
        monkeypatch.setattr(Port, "dial", raises(SilentError("p1")))
        assert _told_loss(FAILURES[failure], port, meeting, SETTINGS) == "Party 'p1' did not answer in 5 s."
        assert meeting.told == ["p1"]
        monkeypatch.setattr(Port, "dial", raises(RefusedError("busy")))
        answers = _told_loss(FAILURES["its link broke"], port, meeting, SETTINGS)
        own = _told_loss(OwnEngineError("killed"), port, meeting, SETTINGS)
        assert (answers, own, meeting.told) == (None, None, ["p1"])


def raises(error: Exception) -> Callable[..., NoReturn]:
    def dial(*_: object) -> NoReturn:
        raise error

    return dial


def test_what_follows_the_timeout_takes_no_more_than_the_promised_half_minute():
    engine_gives_up = worker_process.GRACE_SECONDS + worker_process.END_SECONDS
    assert engine_gives_up + meeting.LAST_WORD_SECONDS + meeting.ANSWER_SECONDS <= 30
    assert ray_workers.CARRY_SECONDS <= worker_process.END_SECONDS


def test_who_was_silent_is_known_after_an_error_has_come_from_another_process():
    error = _error(SilenceError, "Party 'a' did not answer.", "a")
    assert isinstance(error, SilenceError) and error.party == "a"
    assert not hasattr(_error(PartyLostError, "lost", None), "party")
