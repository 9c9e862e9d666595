"""`copublish ledger`: limits for epsilon and delta, as they are written, kept and shown."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from copublish.agreement.loading import load_agreement
from copublish.cli import app, run_command
from copublish.kernel.accounting.cost import Cost
from copublish.kernel.accounting.formatting import show_at_least
from copublish.kernel.ledger.ledger import Ledger, Limit
from copublish.kernel.ledger.limits import DEFAULT_DELTA
from copublish.mechanisms.registry import plan_of
from support.examples import write_specialization_demo


@pytest.fixture
def cli(tmp_path: Path):
    runner = CliRunner(env={"COLUMNS": "200", "NO_COLOR": "1", "COPUBLISH_HOME": str(tmp_path)})
    file = str(tmp_path / "party.db")

    def invoke(command: str = "show", *arguments: object):
        return runner.invoke(
            app, ["ledger", command, *map(str, arguments), *([] if command == "show" else ["--ledger"]), file]
        )

    return invoke


def shown(cli, command: str = "show", *arguments: str) -> dict[str, str]:
    done = cli(command, *arguments, "--format", "json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)["datasets"]["people"]


def test_a_limit_is_epsilon_or_epsilon_and_delta_and_what_is_not_said_stays(cli, tmp_path: Path) -> None:
    for written, epsilon, neighbors, delta in (
        (["people=2"], Fraction(2), "add-remove", DEFAULT_DELTA),
        (["people=2,1e-6", "--neighbors", "replace"], Fraction(2), "replace", Fraction(1, 10**6)),
        (["people=0.3"], Fraction(3, 10), "replace", Fraction(1, 10**6)),
        (["people=3,0"], Fraction(3), "replace", Fraction(0)),
        (["people=3,0.1"], Fraction(3), "replace", Fraction(1, 10)),
        (["people=unbounded"], None, "replace", None),
        (["people=4"], Fraction(4), "replace", DEFAULT_DELTA),  # what was unbounded has no delta to keep
    ):
        assert cli("limit", *written).exit_code == 0
        limit = Ledger(tmp_path / "party.db").limit("people")
        assert (limit.epsilon, limit.neighbors) == (epsilon, neighbors)
        assert epsilon is None or limit.delta == delta


def test_what_is_left_of_both_is_shown_for_people_and_machines(cli, tmp_path: Path) -> None:
    told = shown(cli, "limit", "people=2,1e-5")
    assert told == {
        "limit": "2",
        "neighbors": "add-remove",
        "spent": "0",
        "left": "2",
        "delta_limit": "1e-05",
        "delta_spent": "0",
        "delta_left": "1.0e-05",
    }
    with Ledger(tmp_path / "party.db").reserve(
        "people", "r", "h", Cost(add_remove=Fraction(1), replace=Fraction(2), delta=Fraction(3, 10**6))
    ):
        pass
    told = shown(cli)
    assert (told["left"], told["delta_spent"], told["delta_left"]) == ("1", "3.0e-06", "7.0e-06")
    assert "7.0e-06" in cli().stdout
    assert shown(cli, "limit", "people=2,1e-6")["delta_left"] == "-2.0e-06"
    told = shown(cli, "limit", "people=unbounded")
    assert told["delta_limit"] == told["delta_left"] == told["left"] == "unbounded"


@pytest.mark.parametrize(
    "written",
    [
        *("2,5", "2,1", "2,-1e-9", "2,", "2,tiny", "2,nan", "2,inf", "2,1e-6,1", "2,1e-999999999"),
        *("0", "-1", "nan", "inf", "lots", ",1e-6", "0,5", "1e999999999", "unbounded,1e-6"),
    ],
)
def test_what_is_no_limit_is_refused_and_no_ledger_is_made(cli, tmp_path: Path, written: str) -> None:
    done = cli("limit", f"people={written}")
    assert done.exit_code == 2
    assert "must be" in done.stderr
    assert not (tmp_path / "party.db").exists()


def test_nothing_is_set_unless_all_of_it_can_be(cli, tmp_path: Path) -> None:
    assert cli("limit", "people=3,1e-5", "others=3,0", "--rho-share", "0.5").exit_code == 2  # rho needs a delta
    assert cli("limit", "people=3", "others=many").exit_code == 2
    assert Ledger(tmp_path / "party.db").limited_datasets() == []


def test_show_changes_nothing_and_takes_nothing_that_would(cli, tmp_path: Path) -> None:
    missing = cli("show")
    assert missing.exit_code == 2 and "copublish ledger limit DATASET=EPSILON" in " ".join(missing.stderr.split())
    assert not (tmp_path / "party.db").exists()
    assert cli("limit", "people=2").exit_code == 0
    head = Ledger(tmp_path / "party.db").head()
    for option in ("--limit", "--alignments", "--unlock", "--forget-receipts", "--accept-edits"):
        assert cli("show", option, "people=3").exit_code == 2, option
    assert cli("show").exit_code == 0
    assert Ledger(tmp_path / "party.db").head() == head


@pytest.mark.parametrize(
    "words",
    [("limit-alignments", "people=2"), ("unlock", "people=lab"), ("forget-receipts", "lab"), ("accept-edits", "why")],
    ids=" ".join,
)
def test_only_a_limit_makes_a_ledger(cli, tmp_path: Path, words: tuple[str, str]) -> None:
    assert cli(*words).exit_code == 2
    assert not (tmp_path / "party.db").exists()


@given(st.fractions(Fraction(1, 10**20), 1))
def test_what_is_left_is_rounded_down_by_less_than_a_tenth_of_it(number: Fraction) -> None:
    assert number * Fraction(10, 11) < Fraction(show_at_least(number)) <= number
    assert Fraction(show_at_least(-number)) <= -number


def test_consent_names_both(cli, tmp_path: Path, capsys) -> None:
    write_specialization_demo(tmp_path, 100)
    agreement = load_agreement(tmp_path / "agreement.toml")
    book = Ledger(tmp_path / "consent.db")
    book.set_limit(agreement.dataset, Limit(Fraction(3), "add-remove", Fraction(1, 10**6)))
    run_command._ask_consent(plan_of(agreement), book, party="bank", file=Path("agreement.toml"), yes=True)
    said = " ".join(capsys.readouterr().err.split())
    assert "Spending epsilon 1 and delta " in said
    assert "of the epsilon 3 and delta 1.0e-06 that are left" in said


def recorded(ledger: Ledger, commitment: str) -> None:
    number = ledger.record_alignment(
        dataset="people",
        release="flu",
        agreement_hash="f" * 64,
        kind="common records",
        compared_by="by 'id'",
        peers=["lab"],
        length=700,
        commitment=commitment,
    )
    ledger.record_peer_lists(number, {"lab": commitment})


def test_comparisons_their_limit_and_lists_that_changed_are_shown(cli, tmp_path: Path) -> None:
    shown(cli, "limit", "people=2")
    shown(cli, "limit-alignments", "people=20")
    book = Ledger(tmp_path / "party.db")
    recorded(book, "a" * 64)
    recorded(book, "b" * 64)
    told = json.loads(cli("show", "--format", "json").stdout)
    assert told["alignment_limits"] == {"people": {"limit": 20, "made": 2}}
    first, second = told["alignments"]
    assert (first["with"], first["kind"], first["identifiers_at_most"]) == (["lab"], "common records", 1024)
    assert first["own_list"] == {"commitment": "a" * 64, "before": None, "is_same": True}
    assert second["lists_of_peers"]["lab"]["is_same"] is False
    text = " ".join(cli().stdout.split())
    assert "The people of data set 'people' were compared; 2 of 20 times are used up." in text
    assert "1,024" in text and "lab: first" in text and "lab: OTHER" in text
    assert cli("limit-alignments", "people=unlimited").exit_code == 0
    assert json.loads(cli("show", "--format", "json").stdout)["alignment_limits"] == {}


@pytest.mark.parametrize("written", ["people=-1", "people=many", "people=1.5", "people=1e3", "people=", "people=²"])
def test_what_is_no_number_of_comparisons_is_refused(cli, tmp_path: Path, written: str) -> None:
    assert cli("limit", "people=2").exit_code == 0
    assert cli("limit-alignments", written).exit_code == 2
    assert Ledger(tmp_path / "party.db").alignment_limit("people") == 5, "as if nothing had been said"


def test_locks_are_shown_and_opened_by_their_owner_alone(cli, tmp_path: Path) -> None:
    assert cli("limit", "people=2").exit_code == 0
    assert "Locks" not in cli().stdout
    book = Ledger(tmp_path / "party.db")
    book.lock("people", "lab", "It put in something else.", certificate="sha256:" + "1" * 64)
    (lock,) = json.loads(cli("show", "--format", "json").stdout)["locks"]
    assert (lock["dataset"], lock["party"], lock["unlocked_at"]) == ("people", "lab", None)
    assert "It put in something else." in " ".join(cli().stdout.split())
    refused = cli("unlock", "people=lab", "others=clinic")
    assert refused.exit_code == 2 and "data set 'others' is not locked for 'clinic'" in refused.stderr
    assert len(book.locked("people")) == 1
    assert cli("unlock", "people=lab").exit_code == 0
    assert book.locked("people") == []
    assert json.loads(cli("show", "--format", "json").stdout)["locks"][0]["unlocked_at"] is not None


def test_describe_shows_what_is_left_before_and_after_and_writes_nothing(tmp_path: Path) -> None:
    write_specialization_demo(tmp_path, 100)
    runner = CliRunner(env={"COLUMNS": "200", "NO_COLOR": "1", "COPUBLISH_HOME": str(tmp_path)})
    file = tmp_path / "party.db"

    def described(*options: str) -> str:
        done = runner.invoke(app, ["describe", str(tmp_path / "agreement.toml"), "--ledger", str(file), *options])
        return done.stdout if done.exit_code == 0 else f"{done.exit_code} {done.exception}"

    assert "There is no ledger" in described()
    book = Ledger(file)
    assert "has no limit for data set 'customers-2026'" in " ".join(described().split())
    book.set_limit("customers-2026", Limit(Fraction(3), "add-remove", Fraction(1, 10**6)))
    said = " ".join(described().split())
    assert "Would spend epsilon 1 and delta" in said
    assert "of the epsilon 3 and delta 1.0e-06 that are left for data set 'customers-2026' (add-remove)" in said
    assert "epsilon 2 and delta 9.9e-07 are left after it." in said
    assert json.loads(described("--format", "json"))["budget"]["paid_from"] == "epsilon"
    book.set_limit("customers-2026", Limit(Fraction(1, 2), "add-remove"))
    assert "short by epsilon 0.5" in json.loads(described("--format", "json"))["budget"]["refusal"]
    assert book.entries() == []
