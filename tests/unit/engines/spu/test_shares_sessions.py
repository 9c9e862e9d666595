"""Sessions of a worker: one goes on while another waits, each keeps its order, and no failure is lost."""

from __future__ import annotations

import threading
from functools import partial

import pytest

from copublish.engines.spu.shares import Session

LIMIT_SECONDS = 300


def test_a_session_goes_on_while_another_one_sets_up_and_each_keeps_its_order() -> None:
    done: list[str] = []
    may_end = threading.Event()
    slow, quick = Session("one link", lambda link: f"runtime on {link}"), Session("another", str.upper)

    def set_up() -> None:
        assert may_end.wait(LIMIT_SECONDS)
        done.append(slow.runtime)

    slow.begin(set_up)
    quick.do(lambda: done.append(quick.runtime))
    assert done == ["ANOTHER"]
    threading.Timer(0.05, may_end.set).start()
    slow.do(lambda: done.append("used"))
    assert done == ["ANOTHER", "runtime on one link", "used"]


def test_what_ended_the_set_up_is_raised_before_anything_runs_and_whoever_asks() -> None:
    ran: list[int] = []
    session = Session("link", str)
    session.begin(partial(int, "no number"))
    for ask in (partial(session.do, partial(ran.append, 1)), session.wait, partial(session.do, partial(ran.append, 2))):
        with pytest.raises(ValueError, match="no number"):
            ask()
    assert ran == []
