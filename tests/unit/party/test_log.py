"""Logs by the standard library: own handlers whatever is configured, and configured ones whatever a run has."""

from __future__ import annotations

import errno
import json
import logging
import logging.handlers
import socket
import stat
import subprocess
import sys

import pytest

from copublish.errors import CopublishError
from copublish.party import log as logs
from copublish.party.log import EventLog, JsonFormatter, log_to, log_to_stream


@pytest.fixture
def copublish_logger():
    """The package's logger in a program that configured nothing, whatever libraries did to the root logger before."""
    logger, root = logging.getLogger("copublish"), logging.getLogger()
    before = [(one, one.level, list(one.handlers)) for one in (logger, root)]
    logger.setLevel(logging.NOTSET)
    root.setLevel(logging.WARNING)
    yield logger
    for one, level, handlers in before:
        one.setLevel(level)
        one.handlers = handlers


@pytest.mark.slow
def test_importing_configures_nothing_and_an_unconfigured_run_prints_nothing(tmp_path):
    code = (
        "import logging, sys, pathlib, copublish, copublish.party.run, copublish.cli.run_command\n"
        "from copublish.party.log import EventLog, log_to\n"
        "names = [name for name in logging.root.manager.loggerDict if name.startswith('copublish')]\n"
        "assert not logging.root.handlers and not any(logging.getLogger(name).handlers for name in names)\n"
        f"EventLog('copublish.run', log_to(pathlib.Path({str(tmp_path / 'run.jsonl')!r})))('failed', kind='Error')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert json.loads((tmp_path / "run.jsonl").read_text())["event"] == "failed"


def test_a_file_has_a_json_object_for_each_event_and_its_owner_alone_reads_it(tmp_path):
    file = tmp_path / "logs" / "run.jsonl"
    log = EventLog("copublish.run", log_to(file))
    log("start", release="r", secure=True)
    log("100 % of it", where=file)
    log.close()
    log("after the end")
    first, second = map(json.loads, file.read_text().splitlines())
    assert list(first) == ["at", "event", "release", "secure"] and first["event"] == "start"
    assert (second["event"], second["where"]) == ("100 % of it", str(file))
    assert first["at"].endswith("+00:00")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    (tmp_path / "link").symlink_to(file)
    with pytest.raises(CopublishError, match="cannot be written"):
        log_to(tmp_path / "link")


def test_handlers_of_a_program_get_the_events_as_records(copublish_logger):
    kept = logging.handlers.BufferingHandler(100)
    copublish_logger.addHandler(kept)
    EventLog("copublish.run")("met", peers="loans")
    assert kept.buffer == [], "its level is above what a run says while all is well"
    copublish_logger.setLevel(logging.INFO)
    EventLog("copublish.run")("met", peers="loans")
    EventLog("copublish.relay")("failed", kind="Error")
    assert [(r.name, r.levelname, r.getMessage()) for r in kept.buffer] == [
        ("copublish.run", "INFO", "met peers=loans"),
        ("copublish.relay", "ERROR", "failed kind=Error"),
    ]
    assert json.loads(JsonFormatter().format(kept.buffer[0]))["peers"] == "loans"


def test_two_runs_of_one_process_have_logs_of_their_own(tmp_path):
    one, other = (EventLog("copublish.run", log_to(tmp_path / name)) for name in ("one", "other"))
    one("start", party="bank")
    other("start", party="loans")
    assert ["bank" in (tmp_path / name).read_text() for name in ("one", "other")] == [True, False]


def test_a_log_goes_to_syslog(tmp_path, monkeypatch):
    place = str(tmp_path / "log")
    monkeypatch.setattr(logs, "SYSLOG_SOCKET", place)
    with pytest.raises(CopublishError, match="There is no syslog"):
        log_to(logs.Path("syslog"))
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as daemon:
        daemon.bind(place)
        daemon.settimeout(10)
        log = EventLog("copublish.run", log_to(logs.Path("syslog")))
        log("met", peers="loans")
        received = daemon.recv(4096).decode().rstrip("\0")
        log.close()
    priority, _, line = received.partition(">")
    assert priority == f"<{8 * 1 + 6}", "facility user, level info"
    assert json.loads(line.removeprefix("copublish: "))["peers"] == "loans"


def test_a_log_that_cannot_be_written_any_more_ends_nothing(tmp_path, monkeypatch):
    def full(descriptor, content):
        raise OSError(errno.ENOSPC, "No space left on device")

    with (tmp_path / "stream").open("w") as closed:
        log = EventLog("copublish.run", log_to_stream(closed), log_to(tmp_path / "run.jsonl"))
    monkeypatch.setattr(logs.os, "write", full)
    log("met", peers="loans")
