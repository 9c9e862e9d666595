"""Recorded releases come out again: the same data files byte for byte, the same promises, for the same coins.

The ideal engine recomputes every case, the agreed engines a few. COPUBLISH_ALL_RECORDED=1 has them recompute all.
"""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Sequence
from typing import Any

import pytest
from threadpoolctl import threadpool_info

from processors import BLAS, OLD, USUAL, are_chosen
from support import recorded_releases
from support.recorded_releases import CASES, OTHER_COINS, QUICK, computed, differences, recorded, versions

FILE = recorded()

RECORDED = FILE["cases"]

SECURE = tuple(CASES) if os.environ.get("COPUBLISH_ALL_RECORDED") == "1" else QUICK
"""Cases that the agreed engines recompute."""

ONE_PER_MECHANISM = (
    "specialization horizontal auto 3-classes",
    "copula vertical uniform",
    "hpdp gaussian",
    "vhdp horizontal uniform missing",
    "idp-ir horizontal exact frequency",
)


def unlike_the_record(name: str, engine: str) -> list[str]:
    """Recompute a case; return what differs. Another version of pyarrow writes other Parquet files of the same rows."""
    same_writer = FILE["versions"]["pyarrow"] == versions()["pyarrow"]
    if not same_writer:
        recorded_with = FILE["versions"]["pyarrow"]
        warnings.warn(f"Parquet files are not compared: pyarrow {recorded_with} wrote the recorded ones.", stacklevel=2)
    return differences(RECORDED[name][engine], computed(name, engine), with_parquet=same_writer)


def test_floating_point_is_that_of_the_record():
    architectures = {pool["architecture"] for pool in threadpool_info() if pool["internal_api"] == "openblas"}
    assert are_chosen(USUAL) and architectures == {USUAL[BLAS]}


@pytest.mark.parametrize("name", CASES)
def test_the_ideal_engine_publishes_the_recorded_bytes(name):
    assert unlike_the_record(name, "ideal") == []


@pytest.mark.parametrize("name", [name for name in SECURE if CASES[name].is_secure])
def test_the_agreed_engine_publishes_the_recorded_bytes(name):
    assert unlike_the_record(name, CASES[name].engines[1]) == []


def test_what_every_party_computes_by_itself_is_the_same_on_an_old_processor():
    """Nobody tells a model or a record: all have to find the same, though libraries compute in another way there."""
    models = [name for name in CASES if CASES[name].agreement["mechanism"]["name"] == "marginals"]
    names = [*models, *[name for name in CASES if name not in models][::3]]
    released = computed_elsewhere(OLD, names)
    found = {
        name: differences(RECORDED[name]["ideal"], release, with_parquet=False) for name, release in released.items()
    }
    assert {name: found[name] for name in names if found[name]} == {}


def computed_elsewhere(processor: dict[str, str], names: Sequence[str]) -> dict[str, Any]:
    """Some cases as another processor computes them."""
    code = (
        "import json, sys; from support.recorded_releases import computed; "
        "json.dump({name: computed(name, 'ideal') for name in sys.argv[1:]}, sys.stdout)"
    )
    environment = {**os.environ, **processor, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", code, *names]
    return json.loads(subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True).stdout)


def test_every_case_is_recorded_with_every_engine_and_no_other():
    assert {name: tuple(engines) for name, engines in RECORDED.items()} == {n: c.engines for n, c in CASES.items()}
    assert set(QUICK) <= {name for name, case in CASES.items() if case.is_secure}


def test_recorded_releases_are_the_same_on_all_engines():
    compared = {name: engines for name, engines in RECORDED.items() if len(engines) > 1}
    for name, engines in compared.items():
        for engine, release in engines.items():
            assert differences(engines["ideal"], release) == [], (name, engine)
    assert {engine for engines in compared.values() for engine in engines} == {"ideal", "spu", "masked-sum"}


@pytest.mark.parametrize("name", ONE_PER_MECHANISM)
def test_other_coins_give_other_bytes(name):
    """The comparison can fail: every table of released values differs."""
    other = differences(RECORDED[name]["ideal"], computed(name, "ideal", OTHER_COINS))
    assert "file records.parquet" in other
    assert "agreement_hash" not in other and "epsilon" not in other


def test_another_promise_and_a_lost_file_are_noticed():
    before = RECORDED["hpdp gaussian"]["ideal"]
    after = copy.deepcopy(before)
    after["disclosures"][0][2]["scale_in_people"] += 0.001
    after["delta_bound"] = "0"
    del after["files"]["records.csv"], after["files"]["records.parquet"]
    assert differences(before, after) == ["delta_bound", "disclosures", "file records.csv", "file records.parquet"]
    assert differences(before, after, with_parquet=False) == ["delta_bound", "disclosures", "file records.csv"]


def test_another_version_of_pyarrow_leaves_out_parquet_files_and_says_so(monkeypatch):
    name = ONE_PER_MECHANISM[0]
    monkeypatch.setitem(FILE["versions"], "pyarrow", "0")
    monkeypatch.setitem(RECORDED[name]["ideal"]["files"], "records.parquet", "another digest")
    with pytest.warns(UserWarning, match="Parquet files are not compared"):
        assert unlike_the_record(name, "ideal") == []


def test_a_record_is_not_overwritten_by_mistake():
    before = recorded_releases.RECORDED.read_bytes()
    command = [sys.executable, recorded_releases.__file__, "--record"]
    refused = subprocess.run(command, capture_output=True, text=True)
    assert refused.returncode == 1 and "Add --force" in refused.stderr
    assert recorded_releases.RECORDED.read_bytes() == before
