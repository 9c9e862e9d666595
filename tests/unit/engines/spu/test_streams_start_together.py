"""Workers beside each other wait for each other for a moment, and for nobody else."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from copublish.engines.spu import streams as beside
from copublish.engines.spu.streams import wait_for_those_beside
from support.waiting import SECONDS


def test_whoever_is_there_first_waits_for_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside, "BESIDE_SECONDS", SECONDS)
    addresses = [f"unix:{tmp_path}/{node}.sock" for node in "ab"]
    with ThreadPoolExecutor() as pool:
        first = pool.submit(wait_for_those_beside, addresses, 0)
        time.sleep(0.05)
        assert not first.done()
        wait_for_those_beside(addresses, 1)
        first.result(timeout=SECONDS)


def test_nobody_is_waited_for_who_listens_or_does_not_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "b.sock").touch()
    monkeypatch.setattr(beside, "BESIDE_SECONDS", 1e6)
    wait_for_those_beside([f"unix:{tmp_path}/{node}.sock" for node in "ab"], 0)
    wait_for_those_beside(["127.0.0.1:1", "127.0.0.1:2"], 0)
    monkeypatch.setattr(beside, "BESIDE_SECONDS", 0.01)
    wait_for_those_beside([f"unix:{tmp_path}/{node}.sock" for node in "cd"], 0)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.sock.soon", "b.sock", "c.sock.soon"]
