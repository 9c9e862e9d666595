"""Long lists are multiplied in other processes, with the same result; short ones are not."""

from __future__ import annotations

import subprocess

import numpy as np
import pytest

from copublish.engines.comparing import multiplying
from copublish.engines.comparing.curve import Factor, made_up_points
from copublish.engines.comparing.multiplying import WORTH_A_PROCESS, Multiplier
from copublish.errors import OwnEngineError
from support.hidden import drawing, join_of, placed

FACTOR = Factor(drawing(1))


@pytest.fixture
def started(monkeypatch):
    """Processes that are started, with chunks of a few points."""
    found, popen = [], subprocess.Popen
    monkeypatch.setattr(multiplying, "CHUNK", 4)
    monkeypatch.setattr(multiplying.subprocess, "Popen", lambda *a, **k: found.append(popen(*a, **k)) or found[-1])
    return found


def test_a_factor_taken_off_again_leaves_what_was_there():
    points = made_up_points(20, drawing(2))
    multiples = FACTOR.times(points)
    assert not np.isin(multiples, points).any()
    assert (FACTOR.inverse().times(multiples) == points).all()
    assert (Factor.of(FACTOR.number).times(points) == multiples).all()


@pytest.mark.slow
def test_processes_multiply_in_the_order_of_the_list_and_end(started):
    points, digests, told = made_up_points(41, drawing(3)), np.frombuffer(drawing(4)(32 * 10), "S32"), []
    with Multiplier(3 * WORTH_A_PROCESS, lambda *step: told.append(step), 51, cores=2) as by:
        assert (by.times(FACTOR, points) == FACTOR.times(points)).all()
        assert (by.times_points_of(FACTOR, digests) == FACTOR.times_points_of(digests)).all()
        assert len(by.times(FACTOR, points[:0])) == 0
        with pytest.raises(ValueError, match="no point"):
            by.times(FACTOR, np.append(points, np.frombuffer(bytes(31) + b"\1", "S32")))
        assert (by.times(FACTOR, points) == FACTOR.times(points)).all()  # and they go on
        assert told[12] == ("alignment", 49, 52) and told[13] == ("alignment", 51, 52)
    assert len(started) == 2 and all(process.poll() is not None for process in started)


@pytest.mark.slow
def test_a_process_that_is_killed_ends_the_run_and_blames_nobody_else(started):
    with Multiplier(2 * WORTH_A_PROCESS, cores=2) as by:
        for process in started:
            process.kill()
            process.wait()
        with pytest.raises(OwnEngineError, match="was killed"):
            by.times(FACTOR, made_up_points(9, drawing(5)))


@pytest.mark.parametrize("longest, cores", [(2 * WORTH_A_PROCESS - 1, 8), (10**7, 1), (0, 8)])
def test_no_process_is_started_for_a_short_list_or_on_one_core(started, longest, cores):
    points = made_up_points(9, drawing(6))
    with Multiplier(longest, cores=cores) as by:
        assert (by.times(FACTOR, points) == FACTOR.times(points)).all()
    assert started == []


@pytest.mark.slow
def test_owners_place_people_with_processes(started, monkeypatch):
    monkeypatch.setattr(multiplying, "WORTH_A_PROCESS", 5)
    monkeypatch.setattr(multiplying, "available_cores", lambda: 2)
    lists = {"a": ["x", "y", "z"], "b": ["y", "u"]}
    placed(lists, join_of(lists))
    assert len(started) == 4
