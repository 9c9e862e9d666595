"""Shards between two parties over mutual TLS: every session goes through each party's one port."""

from __future__ import annotations

import json

import pytest

from copublish.agreement.protocol.table import HELLO
from support import faults
from support.node import NAMES, on_loopback

SHARDS = [("[records]", "[engine]\nshards = 4\n\n[records]")]


def test_parties_with_different_numbers_of_workers_end_with_the_same_release(tmp_path):
    parties = on_loopback(tmp_path, changes=SHARDS, records=600)
    ended = parties.run_both(bank=("--workers", "3"), loans=("--workers", "2"))
    for code, _, errors in ended.values():
        assert code == 0, errors
    assert parties.files("bank") == parties.files("loans")
    assert parties.has_whole_release("bank")
    for name in NAMES:
        log = [json.loads(line) for line in (parties.home(name) / "run.jsonl").read_text().splitlines()]
        assert [entry["sessions"] for entry in log if entry["event"] == "engine"] == [2]


def test_a_shards_worker_that_is_killed_ends_the_run_of_both_without_a_release(tmp_path):
    outcome = faults.shard_worker_killed(tmp_path / "run", "loans")
    assert outcome.broken == [], outcome
    assert outcome.ends == {"bank": "exit code 6", "loans": "exit code 6"}


def test_workers_without_shards_to_count_are_refused_before_anybody_is_called(tmp_path):
    parties = on_loopback(tmp_path, records=300)
    code, _, errors = parties.run("bank", "--workers", "2")
    assert code != 0 and "[engine] shards = 2" in " ".join(errors.split())
    assert parties.charges("bank") == []


@pytest.mark.parametrize(("said", "is_taken"), [(None, False), ("many", False), (-3, False), (2.5, False), (7, True)])
def test_whatever_a_peer_says_of_its_workers_is_a_number(said, is_taken):
    assert HELLO.shape.holds({"nonce": "a" * 64, "facts": {}, "workers": said}) == is_taken
