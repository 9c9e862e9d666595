"""What all tests share: servers are stopped at the end, programs compiled once, and floating point is the same."""

from __future__ import annotations

import gc
import os
import shutil
import sys
import tempfile
from collections.abc import Generator, Iterator

import pytest

from processors import USUAL

os.environ.update(USUAL)  # before anything loads NumPy, for this process and all that it starts

from copublish.agreement.protocol import table
from copublish.files.home import PROGRAMS_VARIABLE
from copublish.party.local import processes
from support import postgres
from support import profiles as _profiles  # noqa: F401 - importing it loads the profile
from support.processes import context

PROGRAMS = pytest.StashKey[str]()


def pytest_configure(config: pytest.Config) -> None:
    """Test processes start after this one and take both over: compiled modules are kept, and where programs are.

    Hundreds of processes load the same modules. Of programs nothing is left from an earlier run. Parties of a release
    on this machine are forked from a process that has loaded the program; those of commands start anew.
    """
    processes.PROCESSES = context()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    if PROGRAMS_VARIABLE not in os.environ:
        config.stash[PROGRAMS] = os.environ[PROGRAMS_VARIABLE] = tempfile.mkdtemp(prefix="copublish-programs-")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is loaded is no garbage, now and later: collections look at what tests make."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


def pytest_unconfigure(config: pytest.Config) -> None:
    """The folder goes with the process that made it."""
    if PROGRAMS in config.stash:
        shutil.rmtree(config.stash[PROGRAMS], ignore_errors=True)


def pytest_sessionfinish() -> None:
    postgres.stop()


@pytest.fixture(autouse=True)
def _topics_of_one_test() -> Iterator[None]:
    """Forget the topics that a test made up: no test finds one taken by a test that ran before it in the process."""
    known = dict(table._BY_TOPIC)
    yield
    table._BY_TOPIC.clear()
    table._BY_TOPIC.update(known)
