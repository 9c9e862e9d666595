"""Every command with an idp-ir release says first, and in words, that it is not differential privacy."""

from __future__ import annotations

import json
import os
import sqlite3
import warnings
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import typer
from typer.testing import CliRunner, Result

import copublish as cp
from copublish.cli import app, run_command
from copublish.errors import CopublishError
from copublish.kernel.ledger.ledger import Ledger
from copublish.mechanisms.idp_ir.settings import ACKNOWLEDGEMENT, WARNING
from copublish.mechanisms.registry import plan_of
from copublish.tools.drafting.demo import made_up_data
from copublish.tools.evaluation.matched import matched_loss
from support.examples import write_specialization_demo

FIRST = "THIS IS NOT DIFFERENTIAL PRIVACY"
DATA = ["--data", "bank=bank.parquet", "--data", "loans=loans.csv"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """The demo's data, and an agreement that publishes them with idp-ir."""
    folder = tmp_path_factory.mktemp("idp-ir")
    write_specialization_demo(folder, 400)
    text = (folder / "agreement.toml").read_text()
    text = text[: text.index("[mechanism]")]
    for old, new in (
        ("public = false", "public = true"),
        ('neighbors = "add-remove"', 'neighbors = "replace"'),
        ('name = "default"', 'name = "default"\nheld_by = "loans"'),
    ):
        assert old in text
        text = text.replace(old, new)
    text += f'[mechanism]\nname = "idp-ir"\nk = 20\nacknowledge = "{ACKNOWLEDGEMENT}"\n'
    (folder / "agreement.toml").write_text(text)
    return folder


@pytest.fixture(scope="module")
def cli(folder):
    runner = CliRunner(env={"COLUMNS": "200", "NO_COLOR": "1", "COPUBLISH_HOME": str(folder)})
    home = Path.cwd()
    os.chdir(folder)
    yield lambda *arguments: runner.invoke(app, [str(argument) for argument in arguments])
    os.chdir(home)


def says_it_first(done: Result) -> bool:
    assert done.exit_code == 0, done.output
    return " ".join(done.stdout.split()).startswith(f"WARNING: {FIRST}")


def first_entry(done: Result) -> tuple[str, str]:
    assert done.exit_code == 0, done.output
    return next(iter(json.loads(done.stdout).items()))


@pytest.fixture(scope="module")
def release(cli, folder) -> cp.Release:
    made = cli("simulate", "agreement.toml", *DATA, "--out", "release")
    assert says_it_first(made) and "400 perturbed records" in made.stdout
    return cp.load_release(folder / "release")


def test_what_prints_for_people_begins_with_it(cli, release):
    assert says_it_first(cli("describe", "agreement.toml"))
    assert says_it_first(cli("show", "release"))
    assert says_it_first(cli("check", "agreement.toml", "--party", "bank", "--data", "bank.parquet"))


def test_what_prints_for_machines_has_it_as_its_first_entry(cli, release):
    as_json = ("--format", "json")
    for command in (
        ("describe", "agreement.toml"),
        ("show", "release"),
        ("check", "agreement.toml"),
        ("simulate", "agreement.toml", *DATA, "--out", "other"),
        ("report", "release", "--out", "other.html"),
    ):
        assert first_entry(cli(*command, *as_json)) == ("warning", WARNING), command


def test_every_file_of_the_release_begins_with_it(release, folder):
    names = {path.name for path in (folder / "release").iterdir()}
    for_programs = {"croissant.json", "prov.json", "nist-sp-800-226.json"}
    own = {"records.parquet", "measurements.json", "model.json", "certificate.json", "README.md"}
    assert names == {*own, *for_programs}
    assert names == set(release.files())
    for name in ("certificate.json", "measurements.json", "model.json", "nist-sp-800-226.json"):
        content = json.loads((folder / "release" / name).read_text())
        assert next(iter(content.items())) == ("warning", WARNING)
    # Formats of others begin as they say: the warning is where their readers look first.
    croissant, prov = (json.loads((folder / "release" / name).read_text()) for name in ("croissant.json", "prov.json"))
    assert croissant["description"].startswith(f"WARNING: {WARNING}")
    assert prov["entity"]["release:dataset"]["copublish:warning"] == WARNING
    assert (folder / "release" / "README.md").read_text().startswith(f"> **WARNING: {FIRST}")
    assert pq.read_schema(folder / "release" / "records.parquet").metadata[b"warning"].decode() == WARNING


def test_data_frames_come_with_it(release):
    for convert in (release.to_pandas, release.to_polars):
        with pytest.warns(UserWarning, match=FIRST) as shown:
            frame = convert()
        assert [warning.filename for warning in shown] == [__file__], "at the line that asked for the frame"
        assert len(frame) == 400
    with pytest.warns(UserWarning, match=FIRST):
        frame = release.to_pandas()
    assert frame.attrs == frame[frame.columns[:2]].attrs == {"warning": WARNING}


def test_other_data_frames_come_without_a_warning(folder):
    write_specialization_demo(folder / "private", 400)
    data = {"bank": folder / "private" / "bank.parquet", "loans": folder / "private" / "loans.csv"}
    private = cp.simulate(folder / "private" / "agreement.toml", data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert private.to_pandas().attrs == {}
        assert len(private.to_polars()) == private.records.num_rows


def test_check_says_that_the_records_are_looked_at_before_they_are_joined(cli, folder):
    checked = cli("check", "agreement.toml", "--party", "bank", "--data", "bank.parquet")
    assert "those that all parties have are checked again, after the join" in " ".join(checked.stdout.split())
    assert "after the join" not in cli("check", "agreement.toml").stdout


def test_nothing_claims_an_epsilon_or_differential_privacy(release, folder):
    certificate = release.certificate.to_json()
    assert {
        certificate["epsilon"][who][how] for who in ("public", "insiders") for how in ("add-remove", "replace")
    } == {"unbounded"}
    assert certificate["epsilon"]["agreed"] == "unbounded" and certificate["delta_bound"] == "1"
    assert certificate["deployment"]["privacy_loss"]["privacy_parameters"] == {"epsilon": None, "delta": "1"}
    assert certificate["deployment"]["dp_variant"]["variant_name"].startswith("None")
    assert certificate["engine"]["secrecy"].startswith("Every owner told all parties its perturbed columns")
    assert certificate["protected"][0].startswith("Nothing that can be relied on")
    assert {disclosure["epsilon"]["replace"] for disclosure in certificate["disclosures"]} == {"unbounded"}
    readme = (folder / "release" / "README.md").read_text()
    assert "strong protection" not in readme and "a differentially private data set" not in readme


def test_the_report_begins_with_it(cli, release, folder):
    cli("report", "release", "--out", "report.html", "--force")
    page = (folder / "report.html").read_text()
    body = page[page.index("<body>") :]
    assert "NOT DIFFERENTIALLY PRIVATE" in page[page.index("<title>") : page.index("</title>")]
    assert body.index(FIRST) < body.index("<h1>")
    assert "<script" not in page and "{{" not in page and ACKNOWLEDGEMENT.split(";")[0] in page


def test_scores_begin_with_it_and_so_does_a_report_that_holds_them(cli, release, folder):
    bank, loans = made_up_data(400)
    bank.merge(loans.drop(columns="default"), on="customer_id").to_csv(folder / "people.csv", index=False)
    call = ("evaluate", "release", "--test", "people.csv", "--classifier", "decision-tree", "--out", "scores.json")
    done = cli(*call)
    assert says_it_first(done) and "class tables alone" not in done.stdout, "no budget, no baseline"
    assert " ".join(done.output.split()).index(FIRST) < " ".join(done.output.split()).index("WITHOUT NOISE")
    assert first_entry(cli(*call, "--format", "json")) == ("warning", WARNING)
    assert next(iter(json.loads((folder / "scores.json").read_text()))) == "warning"
    assert cli("report", "release", "--evaluation", "scores.json", "--out", "scored.html").exit_code == 0
    body = (folder / "scored.html").read_text()
    body = body[body.index("<body>") :]
    assert body.index(FIRST) < body.index("This report holds scores") < body.index("How useful it is")


def test_evaluate_compares_records_with_own_rows_by_the_map_beside_the_ledger(cli, folder):
    dataset = cp.load_agreement("agreement.toml").dataset
    ledgers = []
    for name in ("bank", "loans"):
        (folder / name).mkdir()
        assert cli("ledger", "limit", f"{dataset}=unbounded", "--ledger", f"{name}/own.db").exit_code == 0
        ledgers += ["--ledger", f"{name}/own.db".join((f"{name}=", ""))]
    assert cli("simulate", "agreement.toml", *DATA, "--out", "mapped", *ledgers).exit_code == 0
    for name, file in (("bank", "bank.parquet"), ("loans", "loans.csv")):
        (kept,) = (folder / name / "record-maps").iterdir()
        call = ("evaluate", "mapped", "--raw", file, "--record-map", kept)
        done = cli(*call)
        assert says_it_first(done) and "Each of 400 records against its own row" in done.stdout
        assert "WITHOUT NOISE" in done.stderr and "MeanSSE, as printed" in done.stdout
        found = json.loads(cli(*call, "--format", "json").stdout)
        assert next(iter(found)) == "warning"
        loss = matched_loss(cp.load_release("mapped"), file, kept)
        assert found["matched"] == json.loads(json.dumps(loss.to_dict()))
    other = cli("evaluate", "mapped", "--raw", "bank.parquet", "--record-map", kept)
    assert "which party 'loans' put in" in str(other.exception)
    assert "needs --raw" in cli("evaluate", "mapped", "--record-map", kept).output
    assert "records to test on" in cli("evaluate", "mapped").output
    assert (
        "records to test on"
        in cli("evaluate", "mapped", "--raw", "bank.parquet", "--record-map", kept, "--out", "x").output
    )


def test_the_ledger_allows_it_only_after_somebody_gave_up_the_limit(cli, folder):
    def simulate(*more):
        return cli(
            *("simulate", "agreement.toml", *DATA, "--out", "charged", "--force"),
            *("--ledger", "bank=bank.db", "--ledger", "loans=loans.db", *more),
        )

    dataset = cp.load_agreement("agreement.toml").dataset
    for file in ("bank.db", "loans.db"):
        assert cli("ledger", "limit", f"{dataset}=5", "--neighbors", "replace", "--ledger", file).exit_code == 0
    refused = simulate()
    assert refused.exit_code != 0 and f"{dataset}=unbounded" in " ".join(str(refused.exception).split())
    for file in ("bank.db", "loans.db"):
        allowed = cli("ledger", "limit", f"{dataset}=unbounded", "--ledger", file)
        assert allowed.exit_code == 0 and "NO LIMIT" in allowed.stderr
    assert says_it_first(simulate())
    shown = json.loads(cli("ledger", "bank.db", "--format", "json").stdout)
    told = {"limit": "unbounded", "neighbors": "replace", "spent": "unbounded", "left": "unbounded"}
    assert shown["datasets"][dataset].items() >= told.items()
    assert shown["charges"][0]["epsilon_replace"] == shown["charges"][0]["epsilon_add_remove"] == "unbounded"
    labels = [row[0] for row in sqlite3.connect("bank.db").execute("SELECT label FROM disclosures")]
    assert labels and all("NOT PROTECTED" in label for label in labels)
    cli("ledger", "limit", f"{dataset}=1000000", "--ledger", "bank.db")
    assert json.loads(cli("ledger", "bank.db", "--format", "json").stdout)["datasets"][dataset]["left"] == "nothing"
    assert "no finite limit can hold any more" in str(simulate().exception)


def test_consent_says_it_first_and_what_is_given_up(folder, cli, capsys, monkeypatch):
    agreement = cp.load_agreement("agreement.toml")
    cli("ledger", "limit", f"{agreement.dataset}=unbounded", "--ledger", "consent.db")
    book = Ledger(folder / "consent.db")
    run_command._ask_consent(plan_of(agreement), book, party="bank", file=Path("agreement.toml"), yes=True)
    said = " ".join(capsys.readouterr().err.split())
    assert said.startswith(f"WARNING: {FIRST}") and "an UNBOUNDED epsilon" in said
    asked = []
    monkeypatch.setattr(run_command.sys, "stdin", type("Terminal", (), {"isatty": lambda self: True})())
    monkeypatch.setattr(type(run_command.errors_console), "is_terminal", True)
    monkeypatch.setattr(typer, "confirm", lambda question, err: asked.append(question))
    with pytest.raises(CopublishError, match="Not confirmed"):
        run_command._ask_consent(plan_of(agreement), book, party="bank", file=Path("agreement.toml"), yes=False)
    assert "UNBOUNDED" in asked[0]
    assert FIRST in capsys.readouterr().err


def test_without_the_acknowledgement_the_command_says_what_to_write_and_what_else_there_is(cli, folder):
    text = Path("agreement.toml").read_text().replace("acknowledge", "# acknowledge")
    Path("silent.toml").write_text(text)
    refused = cli("describe", "silent.toml")
    assert refused.exit_code != 0
    assert ACKNOWLEDGEMENT in str(refused.exception) and "copula" in str(refused.exception)
