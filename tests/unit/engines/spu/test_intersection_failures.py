"""A comparison of people that fails says so in words of ours: the library's messages could quote its input."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from copublish.engines.spu import worker
from copublish.engines.spu.intersection import _quietly
from copublish.engines.spu.process import WorkerProcess
from copublish.errors import EngineError, SilenceError

SECRET = "C0000001"


class Pipe:
    """The worker's end and the party's end of what the worker says."""

    def __init__(self) -> None:
        self.said: list[object] = []

    def send(self, what: object) -> None:
        self.said.append(what)

    def poll(self, _: float) -> bool:
        return bool(self.said)

    def recv(self) -> object:
        return self.said.pop(0)


def said_by_worker(work: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> Pipe:
    """What a worker tells its party that fails in some work."""
    pipe = Pipe()
    monkeypatch.setattr(worker, "load_spu", work)
    for name in ("die_with_parent", "open_counters", "forbid_core_dumps"):
        monkeypatch.setattr(worker, name, lambda: None)
    monkeypatch.setattr(worker, "silence_and_confine", lambda scratch: None)
    monkeypatch.setattr(worker.os, "_exit", lambda code: None)
    worker.serve(pipe, "")
    return pipe


def error_of_party(said: str, monkeypatch: pytest.MonkeyPatch) -> EngineError:
    """What a party raises whose worker's comparison fails with a message of the library, which quotes its input."""

    def fails() -> None:
        raise RuntimeError(f"[Enforce fail at psi.cc] {said} {SECRET}")

    pipe = said_by_worker(lambda: _quietly(fails), monkeypatch)
    party = WorkerProcess.__new__(WorkerProcess)
    party._connection, party._others, party._timeout = pipe, ("loans",), 5
    with pytest.raises(EngineError) as caught:
        party._receive(1)
    assert SECRET not in str(caught.value)
    return caught.value


def test_a_node_that_does_not_answer_while_people_are_compared_is_named(monkeypatch):
    error = error_of_party("recv timeout, key=root:P2P-1", monkeypatch)
    assert isinstance(error, SilenceError) and str(error).startswith("Party 'loans' did not answer in 5 s.")


def test_a_broken_link_reads_like_one_and_quotes_nothing(monkeypatch):
    error = error_of_party("send failed", monkeypatch)
    assert str(error) == (
        "The secure engine failed (people could not be compared: the other node ended, or the link to it broke). "
        "Nothing is published."
    )


def test_other_failures_keep_their_kind(monkeypatch):
    assert said_by_worker(lambda: {}["x"], monkeypatch).said == [("failed", "KeyError: 'x'")]
