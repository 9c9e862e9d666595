"""Every command with a vhdp release, and what 'describe' says about how the budget is divided."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from copublish.cli import app
from copublish.errors import CopublishError
from copublish.tools.drafting.demo import write_demo

GAINS = '[budget]\nallocation = "use-informative"\nlabel = "default"\n'


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """The demo's data and agreement with another mechanism, and a release of them."""
    folder = tmp_path_factory.mktemp("vhdp")
    write_demo(folder, 600)
    text = (folder / "agreement.toml").read_text()
    text = text[: text.index("[mechanism]")].replace("public = false", "public = true")
    text = text.replace('neighbors = "add-remove"', 'neighbors = "replace"')
    for name, rest in (("vhdp", '"vhdp"\n'), ("gains", f'"copula"\n{GAINS}')):
        (folder / f"{name}.toml").write_text(f"{text}[mechanism]\nname = {rest}")
    data = [f"--data=bank={folder / 'bank.parquet'}", f"--data=loans={folder / 'loans.csv'}"]
    done = run("simulate", folder / "vhdp.toml", *data, "--out", folder / "release")
    assert "600 perturbed records in 7 columns" in done
    run("simulate", folder / "gains.toml", *data, "--out", folder / "synthetic")
    return folder


def run(*arguments: object) -> str:
    """Run a command in this process; starting one takes longer than most commands."""
    done = CliRunner().invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": "150", "NO_COLOR": "1"})
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.stdout


def test_describe_shows_every_columns_share_and_its_noise_in_its_own_unit(folder):
    shown = run("describe", folder / "vhdp.toml")
    assert (
        "every record, perturbed, with 7 columns" in shown
        and "How epsilon is divided between columns: uniform" in shown
    )
    assert "in its own unit; 95 of 100 within ±" in shown and "% of values kept" in shown
    assert "Warning: Noise swamps the range" in shown
    described = json.loads(run("describe", folder / "vhdp.toml", "--format", "json"))
    assert len(described["allocation"]["columns"]) == len(described["disclosures"]) == 7
    assert all(
        column["share"] == pytest.approx(1 / 7, abs=1e-6) for column in described["allocation"]["columns"].values()
    )


def test_describe_shows_the_first_stage_exactly_and_the_limits_of_the_second(folder):
    shown = run("describe", folder / "gains.toml")
    assert "use-informative about 'default'; its tables take" in shown
    described = json.loads(run("describe", folder / "gains.toml", "--format", "json"))
    assert [d["kind"] for d in described["disclosures"]] == ["measure"] * 6 + ["divided"] * 2
    assert described["disclosures"][6]["what"].endswith("budgets follow from the tables above")
    age = described["allocation"]["columns"]["age"]
    assert age["least"]["share"] < 1 / 7 < age["most"]["share"] and "scale_in_people" in age["least"]["noise"]


@pytest.mark.parametrize(("release", "mechanism"), [("release", "vhdp"), ("synthetic", "copula")])
def test_show_and_report_tell_what_columns_tell_about_the_label(folder, release, mechanism):
    shown = run("show", folder / release, "--rows", 3)
    assert "still tell about 'default'" in shown and "bits per unit of its epsilon" in shown
    content = json.loads(run("show", folder / release, "--format", "json"))
    assert set(content) == {"certificate", mechanism, "estimates"}
    run("report", folder / release, "--out", folder / f"{mechanism}.html")
    page = (folder / f"{mechanism}.html").read_text()
    assert "What the columns still tell about default" in page and "<script" not in page and "{{" not in page


def test_commands_that_need_generalized_values_say_that_there_are_none(folder):
    with pytest.raises(CopublishError, match="no generalized values"):
        run("generalize", folder / "release", "--data", folder / "bank.parquet", "--out", folder / "other.csv")
