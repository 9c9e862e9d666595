"""Every command with a copula release: what makes sense works, what does not says so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from test_evaluation_commands import files_of
from test_evaluation_commands import run as run_here

import copublish as cp
from copublish.tools.drafting.demo import made_up_data
from support.commands import run
from support.examples import write_specialization_demo


@pytest.fixture(scope="module")
def synthetic(tmp_path_factory) -> Path:
    """The demo's data and agreement with another mechanism, and a release of them."""
    folder = tmp_path_factory.mktemp("copula")
    write_specialization_demo(folder, 1500)
    text = (folder / "agreement.toml").read_text()
    (folder / "agreement.toml").write_text(text[: text.index("[mechanism]")] + '[mechanism]\nname = "copula"\n')
    data = ["--data", "bank=bank.parquet", "--data", "loans=loans.csv"]
    done = run("simulate", "agreement.toml", *data, "--out", "release", cwd=folder)
    assert "synthetic records in 7 columns" in done.stdout
    return folder


def test_check_and_describe_tell_what_will_be_opened_before_anything_is(synthetic):
    run("check", "agreement.toml", "--party", "bank", "--data", "bank.parquet", cwd=synthetic)
    shown = run("describe", "agreement.toml", cwd=synthetic).stdout
    assert "copula, vertical" in shown
    assert "'age'" in shown and "0.6 of it for how 21 pairs of columns depend" in shown
    described = json.loads(run("describe", "agreement.toml", "--format", "json", cwd=synthetic).stdout)
    assert described["pairs"] == 21 and len(described["disclosures"]) == 8
    assert described["epsilon"]["insiders"]["replace"] == described["epsilon"]["public"]["replace"]
    assert described["dependence"] == "0.6"


def test_show_prints_columns_and_correlations(synthetic):
    shown = run("show", "release", "--rows", 3, cwd=synthetic).stdout
    assert "Strongest correlations" in shown and "most frequent" in shown
    content = json.loads(run("show", "release", "--format", "json", cwd=synthetic).stdout)
    assert set(content) == {"certificate", "estimates", "measurements", "model", "to_print"}
    said = cp.load_release(synthetic / "release").mean("age")
    assert content["estimates"]["age"]["mean"] == said.to_dict() and said.with_range[:4] in shown
    assert content["certificate"]["deployment"]["basic"]["data_product_type"] == "Synthetic microdata"


def test_the_report_is_a_page_without_scripts(synthetic):
    run("report", "release", "--out", "report.html", cwd=synthetic)
    page = (synthetic / "report.html").read_text()
    assert "How columns depend on each other" in page and "synthetic records" in page
    assert "<script" not in page and "{{" not in page


@pytest.fixture(scope="module")
def people(synthetic) -> Path:
    """Records to train on and to test on, in two files."""
    bank, loans = made_up_data(1500)
    table = bank.merge(loans.drop(columns="default"), on="customer_id")
    table[:1000].to_csv(synthetic / "train.csv", index=False)
    table[1000:].to_csv(synthetic / "test.csv", index=False)
    return synthetic


def test_evaluate_scores_the_records_warns_and_leaves_the_release_alone(people, tmp_path):
    before = files_of(people / "release")
    call = ["evaluate", "release", "--train-on", "release", "--test", "test.csv", "--raw", "train.csv"]
    done = run_here(*call, "--target", "default", "--classifier", "decision-tree", cwd=people)
    assert "WITHOUT NOISE" in done.stderr and "disclosure" in done.stderr
    for words in ("area", "raw data", "class tables alone", "largest class", "3-way", "agreed values"):
        assert words in done.stdout
    for words in ("Wasserstein", "rank correlations", "MeanSSE"):
        assert words in done.stdout
    assert "on raw values" not in done.stdout and "published values" not in done.stdout
    tree = [*call, "--target", "age", "--classifier", "decision-tree", "--out", tmp_path / "scores.json"]
    shown = run_here(*tree, cwd=people).stdout
    assert "predicting the agreed interval of 'age'" in shown
    first = run_here(*tree, "--format", "json", cwd=people).stdout
    assert json.loads(first) == json.loads((tmp_path / "scores.json").read_text())
    assert run_here(*tree, "--format", "json", cwd=people).stdout == first, "evaluated twice"
    assert "release folder" in run_here(*call, "--out", "release/scores.json", cwd=people, code=7).stderr
    run_here("report", "release", "--evaluation", tmp_path / "scores.json", "--out", tmp_path / "page.html", cwd=people)
    page = (tmp_path / "page.html").read_text()
    assert "How useful it is" in page and "whose interval of age is predicted rightly" in page
    assert "agreed values' marginals" in page
    assert files_of(people / "release") == before


def test_evaluate_says_what_does_not_fit(people):
    said = run_here("evaluate", "release", "--test", "test.csv", "--target", "salary", cwd=people, code=4).stderr
    assert "no column 'salary'" in " ".join(said.split())
    said = run_here("evaluate", "release", "--test", "loans.csv", cwd=people, code=4).stderr
    assert "'age' is in the release but not in the data" in " ".join(said.split())


def test_the_folder_reads_back_as_it_was_written(synthetic):
    release = cp.load_release(synthetic / "release")
    assert set(files_of(synthetic / "release")) == set(release.files())
    assert release.to_pandas().shape == (release.records.num_rows, 7)
    assert release.to_polars().height == release.records.num_rows
    with pytest.raises(cp.ReleaseError, match=r"has no table 'counts'\. It has 'records', '001-age'"):
        release.to_pandas("counts")
    assert release.to_pandas("001-age")["noisy_count"].sum() == release.published.measured[0].values.sum()
    assert "No record in it is a real person" in (synthetic / "release" / "README.md").read_text()


def test_a_changed_file_is_refused(synthetic, tmp_path):
    release = cp.load_release(synthetic / "release")
    folder = release.write(tmp_path / "copy")
    (folder / "model.json").write_text("{}")
    with pytest.raises(cp.ReleaseError, match="is not the file that was published"):
        cp.load_release(folder)


def test_generalize_needs_generalized_values_and_refuses(synthetic):
    done = run("generalize", "release", "--data", "loans.csv", "--out", "out.csv", cwd=synthetic, code=None)
    assert done.returncode != 0
    assert "no generalized values" in " ".join(done.stderr.split())
