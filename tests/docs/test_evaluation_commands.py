"""`plan`, `evaluate` and `report` as a user types them; in this process, which has their libraries loaded already."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import pandas as pd
import pytest

from copublish.cli import main
from copublish.tools.drafting.demo import made_up_data
from support.examples import write_specialization_demo


def run(*arguments: object, cwd: Path | None = None, code: int = 0) -> SimpleNamespace:
    """Call the command line; return what went to stdout and to stderr."""
    stdout, stderr, ended = io.StringIO(), io.StringIO(), 0
    with (
        mock.patch.object(sys, "argv", ["copublish", *map(str, arguments)]),
        mock.patch.dict(os.environ, {"NO_COLOR": "1"}),
        chdir(cwd or Path.cwd()),
        redirect_stdout(stdout),
        redirect_stderr(stderr),
    ):
        try:
            main()
        except SystemExit as exc:
            ended = exc.code or 0
    assert ended == code, stderr.getvalue()
    return SimpleNamespace(stdout=stdout.getvalue(), stderr=stderr.getvalue())


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("evaluation")
    write_specialization_demo(folder, 1500)
    agreed = (folder / "agreement.toml").read_text()
    assert "expected = 20000" in agreed  # plans try as many records as are expected
    (folder / "small.toml").write_text(agreed.replace("expected = 20000", "expected = 1500"))
    data = ["--data", "bank=bank.parquet", "--data", "loans=loans.csv"]
    run("simulate", "agreement.toml", *data, "--out", "release", cwd=folder)
    bank, loans = made_up_data(1500)
    table = bank.merge(loans.drop(columns="default"), on="customer_id")
    table[:1000].to_csv(folder / "train.csv", index=False)
    table[1000:].to_csv(folder / "test.csv", index=False)
    return folder


def files_of(release: Path) -> dict[str, bytes]:
    return {str(path.relative_to(release)): path.read_bytes() for path in release.rglob("*") if path.is_file()}


def test_evaluate_prints_scores_and_warns_and_leaves_the_release_alone(folder, tmp_path):
    before = files_of(folder / "release")
    call = ["evaluate", "release", "--train-on", "release", "--test", "test.csv", "--target", "default"]
    done = run(*call, "--raw", "train.csv", cwd=folder)
    assert "WITHOUT NOISE" in done.stderr
    assert "disclosure" in done.stderr
    for words in ("area", "balanced accuracy", "log loss", "raw data", "release", "class tables alone", "bars hold"):
        assert words in done.stdout
    for words in ("Always saying the largest class", "not to be published", "3-way", "Wasserstein", "MeanSSE"):
        assert words in re.sub(r"\s+", " ", done.stdout)
    assert re.search(r"(the area of|it cannot be told).* the release", done.stdout)
    assert not re.search(r"\b[BCL]A\b", done.stdout), "no jargon"
    for classifier in ("decision-tree", "logistic-regression", "histogram-boosting", "linear-svm"):
        assert classifier in done.stdout
    out = tmp_path / "scores.json"
    tree = [*call, "--classifier", "decision-tree", "--format", "json"]
    plot = tmp_path / "areas.svg"
    first = run(*tree, "--out", out, "--plot", plot, cwd=folder).stdout
    assert "area under the ROC curve" in plot.read_text()
    run(*tree, "--plot", tmp_path / "areas.doc", cwd=folder, code=2)
    assert run(*tree, cwd=folder).stdout == first, "evaluated twice"
    assert json.loads(first) == json.loads(out.read_text())
    assert json.loads(first)["classification"][0]["raw"] is None
    said = re.sub(r"\s+", " ", run(*call, "--classifier", "decision-tree", cwd=folder).stdout)
    assert "What raw data and the trivial baseline give is unknown" in said
    assert files_of(folder / "release") == before


def test_evaluate_says_what_does_not_fit(folder, tmp_path):
    test = pd.read_csv(folder / "test.csv", dtype=str)
    refused = run("evaluate", "release", "--test", "test.csv", "--target", "job", cwd=folder, code=4)
    assert "Use --target default" in re.sub(r"\s+", " ", refused.stderr)
    mistakes = {
        "missing": (test.drop(columns="age"), "'age' is in the release but not in the data"),
        "no-class": (test.drop(columns="default"), "the class of the release"),
        "unseen": (test.assign(purpose="SECRET"), "'purpose' has values that are not in the agreed list", "--strict"),
        "empty": (test[:0], "no rows"),
    }
    for name, (frame, words, *options) in mistakes.items():
        path = tmp_path / f"{name}.csv"
        frame.to_csv(path, index=False)
        stderr = run("evaluate", folder / "release", "--test", path, *options, code=4).stderr
        assert words in re.sub(r"\s+", " ", stderr), name
        assert "SECRET" not in stderr
    tree = ("--classifier", "decision-tree", "--format", "json")
    done = run("evaluate", folder / "release", "--test", tmp_path / "unseen.csv", *tree)
    heading, rule = done.stderr.splitlines()[-2:]
    assert heading == "The test data have values that are not as agreed. They were changed as a run changes them:"
    assert rule.startswith("  - Column 'purpose' has values that are not in the agreed list (spelling counts;")
    assert rule.endswith(f": {len(test):,} rows (100.0 %), taken as 'other'.")
    assert json.loads(done.stdout)["test_records"] == len(test)
    (tmp_path / "nothing.csv").write_text("")
    run("evaluate", folder / "release", "--test", tmp_path / "nothing.csv", code=4)
    assert "no file" in run("evaluate", folder / "release", "--test", tmp_path / "none.csv", code=4).stderr
    assert "certificate.json is missing" in run("evaluate", tmp_path, "--test", folder / "test.csv", code=7).stderr
    shutil.copytree(folder / "release", tmp_path / "broken")
    (tmp_path / "broken" / "model.json").write_text("changed")
    assert "digest" in run("evaluate", tmp_path / "broken", "--test", folder / "test.csv", code=7).stderr


def test_nothing_is_written_into_a_release(folder, tmp_path):
    before = files_of(folder / "release")
    (tmp_path / "link").symlink_to(folder / "release")
    for out in (folder / "release" / "scores.json", tmp_path / "link" / "scores.json"):
        done = run("evaluate", folder / "release", "--test", folder / "test.csv", "--out", out, code=7)
        assert "release folder" in done.stderr
        done = run("report", folder / "release", "--out", out, code=7)
        assert "release folder" in done.stderr
    assert files_of(folder / "release") == before


def test_report_writes_a_page_and_replaces_none_unasked(folder, tmp_path):
    out, scores = tmp_path / "report.html", tmp_path / "scores.json"
    done = run("report", folder / "release", "--out", out)
    assert done.stdout == ""
    assert "<!doctype html>" in out.read_text()
    assert "--force" in run("report", folder / "release", "--out", out, code=1).stderr
    run("evaluate", folder / "release", "--test", folder / "test.csv", "--classifier", "decision-tree", "--out", scores)
    done = run(*("report", folder / "release", "--out", out, "--force", "--evaluation", scores, "--format", "json"))
    assert json.loads(done.stdout)["file"] == str(out)
    assert "not private" in done.stderr
    assert "real records" in out.read_text()
    scores.write_text("[]")
    assert (
        "no scores" in run("report", folder / "release", "--out", out, "--force", "--evaluation", scores, code=4).stderr
    )
    run("report", tmp_path, "--out", out, "--force", code=7)


def test_plan_tries_settings_and_recommends(folder, tmp_path):
    plot = tmp_path / "plan.svg"
    quick = ["--epsilon", "0.5", "--try", "specializations=2", "--runs", "1", "--classifier", "decision-tree"]
    done = run("plan", "small.toml", *quick, "--plot", plot, cwd=folder)
    for words in ("made up", "To take at epsilon 1", "The secure run", "MiB", "largest class", "tv-gain", "balanced"):
        assert words in done.stdout
    assert "nothing is recommended" in done.stdout and "selection_share" not in done.stdout
    assert not re.search(r"\b[BCL]A\b", done.stdout), "no jargon"
    assert "paper" not in done.stdout.lower(), "what papers print belongs to copublish reproduce"
    assert plot.read_text().lstrip().startswith("<?xml")
    train = pd.read_csv(folder / "train.csv", dtype=str)
    train.loc[:6, "age"] = "200"
    train.to_csv(tmp_path / "odd.csv", index=False)
    done = run("plan", "small.toml", "--like", tmp_path / "odd.csv", *quick, cwd=folder)
    assert "must not touch private data" in re.sub(r"\s+", " ", done.stderr)
    assert "selection_share = 0.4 (" in done.stdout and "one run cannot tell" in done.stdout
    assert "the public file" in done.stdout and re.search(
        r": 7 rows \([\d.]+ %\), taken as the nearer bound\.", done.stdout
    )
    refused = run("plan", "small.toml", "--like", tmp_path / "odd.csv", "--strict", cwd=folder, code=4)
    assert "outside the agreed bounds" in refused.stderr


def test_plan_stands_mechanisms_side_by_side(folder, tmp_path):
    quick = ["--epsilon", "1", "--try", "specializations=2", "--runs", "1", "--classifier", "decision-tree"]
    done = run("plan", "small.toml", "--mechanism", "all", *quick, cwd=folder)
    for words in ("● specialization (agreed)", "◆ copula", "x class tables alone", "By area at epsilon 1", "MiB"):
        assert words in done.stdout
    assert "Not tried: hpdp." in done.stdout and "owners of whole rows" in done.stdout
    said = re.sub(r"\s+", " ", run("plan", "small.toml", "--mechanism", "vhdp", cwd=folder, code=3).stderr)
    assert "The agreement with the mechanism 'vhdp' has 1 problem" in said and 'Write neighbors = "replace"' in said
    run("plan", "small.toml", "--mechanism", "idp-ir", cwd=folder, code=2)


def test_plan_refuses_what_it_cannot_do(folder, tmp_path):
    run("plan", "small.toml", "--epsilon", "much", cwd=folder, code=2)
    run("plan", "small.toml", "--plot", "plan.doc", cwd=folder, code=2)
    run("plan", "small.toml", "--plot", "nowhere/plan.png", cwd=folder, code=2)
    run("plan", "nothing.toml", cwd=folder, code=3)
    run("plan", "small.toml", "--like", "loans.csv", cwd=folder, code=4)
