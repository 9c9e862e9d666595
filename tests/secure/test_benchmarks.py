"""The short forms of benchmarks: that they run and count, not how long anything takes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from comparison_page import page_of

ROOT = Path(__file__).parents[2]


def printed(script: str, *arguments: str) -> dict[str, Any]:
    command = [sys.executable, str(ROOT / "benchmarks" / script), *arguments, "--format", "json"]
    paths = (str(ROOT / "tests"), *filter(None, [os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    ran = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=600)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def test_every_mechanism_stands_beside_raw_data_and_the_trivial_baseline_and_a_plan_is_put_to_the_test():
    """The short form, on a made-up table; here because it is a benchmark, though nothing of it is secret."""
    found = printed("comparison.py", "--short", "--budget", "epsilon 1")
    rows = found["comparison"]["made-up"]["epsilon 1"]
    mechanisms = ["specialization", "marginals", "copula", "hpdp", "vhdp"]
    assert list(rows) == ["raw data", *mechanisms, "class tables alone", "largest class"]
    for name in rows:
        if name != "largest class":
            scores = rows[name]["classifiers"]["decision-tree"]
            assert all(scores[key]["value"] >= 0 for key in ("area", "balanced_accuracy", "log_loss", "accuracy"))
            assert scores["area"]["error"] > 0
            assert 0 < rows[name]["distances"]["tables_2"]["value"] < 1
    assert rows["raw data"]["classifiers"]["decision-tree"]["area"]["value"] > 0.65
    own = found["halves"]["made-up"]["settings"]
    assert own["is_kept"] == (own["behind"] <= (own["standard_error"] or 0) or not own["plan_can_tell"])
    page = page_of(found)
    assert page.count("| **class tables alone** |") == 3 and "Does a plan on other data help?" in page


def test_input_checks_compares_releases_with_and_without_them():
    arguments = ("--records", "1000", "--repetitions", "1", "--parts", "vertical", "--splits", "2")
    found = printed("input_checks.py", *arguments)["vertical"]
    assert [run["records"] for run in found["runs"]] == [1000, 1000]
    assert 0.9 < found["ratios"]["with / without, MiB sent"] < 1.15
    with_checks, without = (run["calls"]["openings"][0] for run in found["runs"])
    assert with_checks == without + 1  # what was wrong with inputs is opened once


def test_a_marginals_release_is_divided_into_phases():
    (found,) = printed("marginals_release.py", "--parts", "columns", "--columns", "3", "--rows", "1500")["columns"]
    assert {"start-up", "products", "choices", "tables opened"} <= found["phases"].keys()
    assert found["disclosures"] > 1 and found["run"]["mib_sent"] > 0


def test_releases_of_many_owners_are_compared_with_those_of_few():
    arguments = ("--records", "500", "--owners", "3", "--ways", "cells", "--protocols", "aby3")
    (found,) = printed("many_owners.py", *arguments)
    assert found["records"] == 500 and list(found["mib_sent"]) == ["p0", "p1", "p2"]
    assert all(value > 0 for name in ("mib_sent", "peak_mib") for value in found[name].values())
    assert found["cpu_seconds"] > 0


def test_people_of_three_owners_are_compared_in_both_ways_with_what_each_party_sends():
    arguments = ("--owners", "3", "--identifiers", "60", "--length", "40")
    helper, chain, *searches = printed("alignment_of_many.py", *arguments)
    assert [run["found"] for run in (helper, chain, *searches)] == [30, 30, 0, 0]
    assert helper["mib_sent"].keys() == {"owner-0", "owner-1", "owner-2", "helper"}
    # In the chain the owner between answers, asks and passes on a list of points of 32 bytes each.
    assert 3 * 32 * 60 < chain["mib_sent"]["owner-1"] * 2**20 < 3 * 32 * 60 + 500
    # Lists of points go to two other owners; then all but the first owner send one more to it.
    assert all(sent * 2**20 > 2 * 32 * 40 for sent in searches[1]["mib_sent"].values())


def test_audits_of_mechanisms_and_of_broken_ones_are_counted():
    found = printed("audits.py", "--short")
    (row,) = found["table"]
    assert row["verdict"] == "consistent" and row["view"]["runs"] > 0 and row["cpu_seconds"] >= 0
    assert row["view"]["found"] <= 1.5 and row["disclosures"] and row["whole_runs"] > 5
    assert found["repeat"]["audits"] == 1 and found["repeat"]["refuted"] == []
    assert {"30 % less noise", "an error that depends on data"} <= {one["words"] for one in found["broken"]}
    assert all(one["runs"] for one in found["broken"])


def test_intervals_of_every_mechanism_are_counted():
    found = printed("interval_coverage.py", "--short")["rows"]
    assert {row["mechanism"] for row in found} == {
        *("specialization", "marginals", "copula", "hpdp", "hpdp by grid", "vhdp")
    }
    assert {row["question"] for row in found} >= {"share", "mean", "median", "correlation"}
    assert all(row["told"] + row["refused"] <= row["asked"] for row in found)
