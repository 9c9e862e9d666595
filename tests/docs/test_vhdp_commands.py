"""Every command with a vhdp release, and what 'describe' says about how the budget is divided."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
from typer.testing import CliRunner

from copublish.cli import app
from copublish.errors import CopublishError
from support.examples import write_specialization_demo

PROTECTED = '[budget]\nallocation = "protect-informative"\n'
GAINS = '[budget]\nallocation = "use-informative"\nlabel = "default"\n'


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """The demo's data and agreement with another mechanism, and a release of them."""
    folder = tmp_path_factory.mktemp("vhdp")
    write_specialization_demo(folder, 600)
    text = (folder / "agreement.toml").read_text()
    text = text[: text.index("[mechanism]")].replace("public = false", "public = true")
    text = text.replace('neighbors = "add-remove"', 'neighbors = "replace"')
    for name, rest in (
        ("vhdp", '"vhdp"\n'),
        ("gains", f'"copula"\n{GAINS}'),
        ("protected", f'"vhdp"\n{PROTECTED}'),
        ("unfit", f'"vhdp"\n{PROTECTED}group_weights = [0.5, 1]\ngroups = 3\n'),
    ):
        (folder / f"{name}.toml").write_text(f"{text}[mechanism]\nname = {rest}")
    data = [f"--data=bank={folder / 'bank.parquet'}", f"--data=loans={folder / 'loans.csv'}"]
    done = run("simulate", folder / "vhdp.toml", *data, "--out", folder / "release")
    assert "600 perturbed records in 7 columns" in done
    run("simulate", folder / "gains.toml", *data, "--out", folder / "synthetic")
    run("simulate", folder / "protected.toml", *data, "--out", folder / "protected")
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


def test_describe_shows_which_columns_are_protected_more_and_the_weights_of_the_groups(folder):
    shown = " ".join(run("describe", folder / "protected.toml").split())
    assert "less epsilon, so more noise, for columns that tell more about the label, in groups of weight 1/4" in shown
    assert "groups from those that tell most have weights 1/4, 1/2, 1" in shown
    described = json.loads(run("describe", folder / "protected.toml", "--format", "json"))
    assert described["allocation"]["group_weights"] == ["1/4", "1/2", "1"]
    assert [d["kind"] for d in described["disclosures"]] == ["measure"] * 6 + ["divided"]
    assert sum(float(Fraction(d["epsilon"]["replace"])) for d in described["disclosures"]) == pytest.approx(1)


def test_a_release_says_by_which_rule_epsilon_was_divided_and_spends_all_of_it(folder):
    division = json.loads((folder / "protected" / "model.json").read_text())["division"]
    assert (division["rule"], division["group_weights"]) == ("protect-informative", ["1/4", "1/2", "1"])
    parts = {name: Fraction(column["epsilon"]) for name, column in division["columns"].items()}
    assert sum(parts.values()) + Fraction(division["tables"]) == 1
    ratios = {name: column["gain_ratio"] for name, column in division["columns"].items() if "gain_ratio" in column}
    most, least = max(ratios, key=ratios.__getitem__), min(ratios, key=ratios.__getitem__)
    assert parts[most] == parts["default"] == min(parts.values()) < parts[least]
    assert "protect-informative (less epsilon" in " ".join((folder / "protected" / "README.md").read_text().split())
    assert "protect-informative" in run("report", folder / "protected", "--out", folder / "p.html") + (
        (folder / "p.html").read_text()
    )


def test_weights_that_do_not_fit_the_groups_are_refused_before_anything_is_read(folder):
    with pytest.raises(CopublishError, match=r"budget\.group_weights: these are 2 weights for 3 groups"):
        run("simulate", folder / "unfit.toml", "--data=bank=missing.csv", "--out", folder / "none")
    assert not (folder / "none").exists()


@pytest.mark.parametrize(("release", "mechanism"), [("release", "vhdp"), ("synthetic", "copula")])
def test_show_and_report_tell_what_columns_tell_about_the_label(folder, release, mechanism):
    shown = run("show", folder / release, "--rows", 3)
    assert "still tell about 'default'" in shown and "bits per unit of its epsilon" in shown
    content = json.loads(run("show", folder / release, "--format", "json"))
    assert set(content) == {"certificate", "estimates", "measurements", "model", "to_print"}
    run("report", folder / release, "--out", folder / f"{mechanism}.html")
    page = (folder / f"{mechanism}.html").read_text()
    assert "What the columns still tell about default" in page and "<script" not in page and "{{" not in page


def test_commands_that_need_generalized_values_say_that_there_are_none(folder):
    with pytest.raises(CopublishError, match="no generalized values"):
        run("generalize", folder / "release", "--data", folder / "bank.parquet", "--out", folder / "other.csv")
