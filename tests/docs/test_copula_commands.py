"""Every command with a copula release: what makes sense works, what does not says so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from test_command_line import run

import copublish as cp
from copublish.demo import write_demo


@pytest.fixture(scope="module")
def synthetic(tmp_path_factory) -> Path:
    """The demo's data and agreement with another mechanism, and a release of them."""
    folder = tmp_path_factory.mktemp("copula")
    write_demo(folder, 1500)
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
    assert "strongest correlations" in shown and "largest cell" in shown
    content = json.loads(run("show", "release", "--format", "json", cwd=synthetic).stdout)
    assert set(content) == {"certificate", "copula"}
    assert content["certificate"]["deployment"]["basic"]["data_product_type"] == "Synthetic microdata"


def test_the_report_is_a_page_without_scripts(synthetic):
    run("report", "release", "--out", "report.html", cwd=synthetic)
    page = (synthetic / "report.html").read_text()
    assert "How columns depend on each other" in page and "synthetic records" in page
    assert "<script" not in page and "{{" not in page


def test_the_folder_reads_back_as_it_was_written(synthetic):
    release = cp.load_release(synthetic / "release")
    assert {path.name for path in (synthetic / "release").iterdir()} == set(release.files())
    assert release.to_pandas().shape == (release.records.num_rows, 7)
    assert release.to_polars().height == release.records.num_rows
    with pytest.raises(cp.ReleaseError, match="has no table of counts"):
        release.to_pandas("counts")
    assert "No record in it is a real person" in (synthetic / "release" / "README.md").read_text()


def test_a_changed_file_is_refused(synthetic, tmp_path):
    release = cp.load_release(synthetic / "release")
    folder = release.write(tmp_path / "copy")
    (folder / "copula.json").write_text("{}")
    with pytest.raises(cp.ReleaseError, match="is not the file that was published"):
        cp.load_release(folder)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("generalize", "release", "--data", "loans.csv", "--out", "out.csv"), "no generalized values"),
        (("evaluate", "release", "--test", "loans.csv"), "cannot score it"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_commands_that_need_generalized_values_refuse(synthetic, arguments, said):
    done = run_any(list(arguments), synthetic)
    assert done.returncode != 0 and "Traceback" not in done.stderr
    assert said in " ".join(done.stderr.split())


def run_any(command: list[str], folder: Path):
    import os
    import subprocess
    import sys

    environment = {**os.environ, "COLUMNS": "200", "NO_COLOR": "1", "COPUBLISH_HOME": str(folder)}
    code = [sys.executable, "-c", "from copublish.cli import main; main()", *command]
    return subprocess.run(code, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
