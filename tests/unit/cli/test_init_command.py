"""`copublish init`: several parties, nothing of anybody's data, every question open or answered, answers checked."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

import copublish as cp
from copublish.agreement.loading import FILL_IN, places_to_fill_in
from copublish.cli import app
from copublish.errors import CopublishError
from copublish.tools.drafting.dictionary import dictionary_from_csv

PEOPLE = pd.DataFrame(
    {
        "person_id": ["P1", "P2", "P3"] * 20,
        "region": [1, 2, 3] * 20,
        "income": [1.5, 2.25, 77_123.75] * 20,
        "town": ["Springfield", "Shelbyville", "Ogdenville"] * 20,
        "insured": [True, False, True] * 20,
        "born": pd.to_datetime(["2001-02-03"] * 60),
        "ill": ["no", "yes", "no"] * 20,
    }
)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    PEOPLE.to_csv("clinic.csv", index=False)
    PEOPLE.to_parquet("clinic.parquet", index=False)
    PEOPLE[["person_id", "income", "ill"]].rename(columns={"income": "rent"}).to_csv("city hall.csv", index=False)
    return tmp_path


def init(*arguments: object, answers: str | None = None, code: int = 0) -> str:
    done = CliRunner().invoke(app, ["init", *map(str, arguments)], input=answers)
    assert done.exit_code == code, done.output
    return " ".join(re.sub("[│╭╮╰╯─]", " ", done.output).split())


def drafted(path: str = "agreement.toml") -> dict[str, Any]:
    return tomllib.loads(Path(path).read_text())


def test_no_file_is_dropped_and_every_column_keeps_its_party():
    init("--from", "clinic.csv", "--from", "city hall.csv")
    draft = drafted()
    assert list(draft["parties"]) == ["clinic", "city-hall"]
    assert draft["attributes"]["rent"]["held_by"] == "city-hall"
    assert draft["attributes"]["town"]["held_by"] == "clinic"
    assert draft["attributes"]["ill"]["held_by"] == ["clinic", "city-hall"]
    init("b.toml", "--from", "a=clinic.csv", "--from", "b=city hall.csv", "--partition", "vertical")
    assert drafted("b.toml")["attributes"]["ill"]["held_by"] == FILL_IN  # one of the two, and nobody has said which
    assert list(drafted("b.toml")["parties"]) == ["a", "b"]
    init("c.toml", "--from", "a=clinic.csv", "--from", "a=city hall.csv", code=2)


def test_a_draft_says_what_types_say_and_leaves_the_rest_open():
    told = init("--from", "clinic.parquet", "--keep", "born")
    draft, text = drafted(), Path("agreement.toml").read_text()
    kinds = {name: said["kind"] for name, said in draft["attributes"].items()}
    assert kinds == {
        "region": FILL_IN,  # codes or amounts?
        "income": "numerical",
        "town": "categorical",
        "insured": "categorical",
        "born": FILL_IN,
        "ill": "categorical",
    }
    assert draft["attributes"]["insured"]["values"] == ["false", "true"]  # what its type is read as
    assert 'perhaps "person_id"' in text
    assert '"no"' not in text
    for value in ("P1", "Springfield", "77123", "2001"):
        assert value not in text + told, value
    opened = set(places_to_fill_in(draft))
    assert opened >= {"name", "dataset", "partition", "records.identifier", "records.expected", "privacy.epsilon"}
    assert text.count(f'"{FILL_IN}"') == text.count(f"# {FILL_IN}: ") == len(opened)
    assert all(f"{place}: still to be filled in" in told for place in opened)
    done = CliRunner().invoke(app, ["check", "agreement.toml"])
    assert all(f"{place}: still to be filled in" in str(done.exception) for place in opened)


def test_in_a_csv_file_truth_values_are_text_and_their_spelling_is_left_to_people():
    init("--from", "clinic.csv")
    assert drafted()["attributes"]["insured"] == {
        **{"kind": "categorical", "values": FILL_IN, "missing": "category", "held_by": "clinic"}
    }


def test_identifier_and_class_may_be_named_and_have_to_be_there():
    init("--from", "clinic.csv", "--identifier", "person_id", "--class", "ill")
    draft = drafted()
    assert (draft["records"]["identifier"], draft["class"]["name"]) == ("person_id", "ill")
    assert not {"person_id", "ill"} & set(draft["attributes"])
    assert "Did you mean 'person_id'?" in init("b.toml", "--from", "clinic.csv", "--identifier", "Person_ID", code=2)
    # The class may be another party's.
    init("c.toml", "--from", "clinic.csv", "--class", "dead")
    assert drafted("c.toml")["class"]["held_by"] == FILL_IN


def test_a_draft_without_a_class_asks_for_none_and_takes_a_mechanism_that_needs_none():
    known = ["--identifier", "person_id", "--partition", "vertical", "--name", "study", "--dataset", "people"]
    init("--from", "clinic.csv", "--no-class", *known)
    draft = drafted()
    assert "class" not in draft and draft["mechanism"]["name"] == "marginals"
    assert "ill" in draft["attributes"] and "[class]" not in Path("agreement.toml").read_text()
    assert not any(place.startswith("class") for place in places_to_fill_in(draft))
    told = init("b.toml", "--from", "clinic.csv", "--no-class", "--class", "ill", code=2)
    assert "leave out one of them" in told and not Path("b.toml").exists()
    assert drafted("agreement.toml")["mechanism"] == {"name": "marginals"}
    init("c.toml", "--from", "clinic.csv", "--no-class", "--mechanism", "vhdp")
    assert drafted("c.toml")["mechanism"]["name"] == "vhdp"


def test_a_dash_answers_that_no_column_is_to_be_predicted():
    known = ["--identifier", "person_id", "--partition", "vertical", "--name", "study", "--dataset", "people"]
    known += ["--epsilon", "1", "--expected", "100"]
    answers = ["clinic, registry", "-", *["" for _ in range(20)]]
    told = init("--from", "clinic.csv", "--ask", *known, answers="\n".join(answers) + "\n")
    assert "Column to predict (the class; - if there is none)" in told
    assert "class" not in drafted() and "ill" in drafted()["attributes"]


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--epsilon", "no,yes"),
        ("--epsilon", "0"),
        ("--expected", "20.000"),
        ("--partition", "sideways"),
        ("--name", "a b"),
        ("--party", "a/b"),
        ("--offer-values", "--no-ask"),
    ],
)
def test_options_are_checked_like_answers(option, value):
    init("--from", "clinic.csv", option, value, code=2)
    assert not Path("agreement.toml").exists()


def test_answers_are_checked_while_they_are_typed():
    answers = [
        *("bad name", "study", "people-2026", "alone", "clinic, registry", "sideways", "arbitrary"),
        *("nobody", "person_id", "ill", "no,yes", "0.5", "many", "2000"),
        *("n", "perhaps", "category", "1|2|3", "10..1", "0..100000", "", "", "no|yes", ""),
    ]
    told = init("--from", "clinic.csv", "--ask", answers="\n".join(answers) + "\n")
    for words in ("letters, digits", "at least 2 parties", "horizontal, vertical or arbitrary", "no column 'nobody'"):
        assert words in told
    for words in ("write a number", "whole number of records", "1, 2, 3 are codes", "below the upper one"):
        assert words in told
    draft = drafted()
    assert (draft["name"], draft["partition"], draft["privacy"]["epsilon"]) == ("study", "arbitrary", 0.5)
    assert (draft["records"]["expected"], draft["class"]["values"]) == (2000, ["no", "yes"])
    assert list(draft["parties"]) == ["clinic", "registry"]
    assert draft["attributes"]["region"]["values"] == ["1", "2", "3"]
    assert draft["attributes"]["income"]["bounds"] == [0, 100000]
    assert draft["attributes"]["town"]["values"] == FILL_IN


def test_values_of_data_are_offered_one_by_one_and_those_that_are_not_confirmed_stay_out():
    frame = PEOPLE[["person_id", "town"]].copy()
    frame.loc[0, "town"] = "Rareville"
    frame.to_csv("towns.csv", index=False)
    known = ["--name", "n", "--dataset", "d", "--partition", "vertical", "--epsilon", "1", "--expected", "100"]
    known += ["--identifier", "person_id", "--class", "ill"]
    answers = (
        "towns, other\nn\n\ny\n\n\n"  # the parties; then Ogdenville no, Rareville no, Shelbyville yes, Springfield no
    )
    told = init("--from", "towns.csv", "--ask", "--offer-values", *known, answers=answers)
    assert "'Rareville'. It is rare: perhaps it is a person's." in told
    assert drafted()["attributes"]["town"]["values"] == ["Shelbyville"]
    assert not re.search("Rareville|Ogdenville|Springfield|P1", Path("agreement.toml").read_text())


def test_without_data_the_columns_are_asked_for():
    answers = "heart\npeople\nclinic, registry\nvertical\npatient\nill\n1\n500\nage, sex\nnumber\n0..120\n\nno|yes\n\n"
    init("--ask", answers=answers)
    draft = drafted()
    assert list(draft["attributes"]) == ["age", "sex"]
    assert (draft["attributes"]["age"]["bounds"], draft["attributes"]["sex"]["kind"]) == ([0, 120], FILL_IN)
    assert draft["records"]["identifier"] == "patient"


def test_whom_owners_share_is_hidden_unless_an_option_says_shared():
    known = ["--from", "clinic.csv", "--partition", "vertical", "--expected", "100", "--identifier", "person_id"]
    init(*known)
    assert drafted()["records"]["membership"] == "hidden" and drafted()["records"]["at_most"] == {"clinic": 200}
    init("b.toml", *known, "--membership", "shared")
    assert drafted("b.toml")["records"]["membership"] == "shared" and "at_most" not in drafted("b.toml")["records"]
    told = init("c.toml", *known, "--mechanism", "vhdp")
    assert "owners learn which of their people are common: 'vhdp' publishes a row for each of them" in told


def test_a_draft_of_vhdp_protects_informative_columns_and_says_what_it_needs():
    init("--from", "clinic.csv", "--mechanism", "vhdp", "--class", "ill", "--identifier", "person_id")
    draft = drafted()
    assert draft["mechanism"] == {"name": "vhdp"}
    assert draft["budget"] == {"allocation": "protect-informative", "share": 0.2}
    assert (draft["records"]["public"], draft["privacy"]["neighbors"]) == (True, "replace")
    assert "columns that tell more about the label get less epsilon" in Path("agreement.toml").read_text()
    init("b.toml", "--from", "clinic.csv", "--mechanism", "copula")
    assert drafted("b.toml")["mechanism"] == {"name": "copula"} and "budget" not in drafted("b.toml")
    assert "please answer one of marginals, specialization" in init("c.toml", "--mechanism", "vhpd", code=2)


def test_a_file_without_a_line_of_names_is_warned_of():
    Path("rows.csv").write_text("P1,44,cook\nP2,18,clerk\n")
    assert "WARNING: a column is called by a number" in init("--from", "rows.csv")
    assert "WARNING" not in init("b.toml", "--from", "clinic.csv")


COSTS = pd.DataFrame(
    {
        "patient_id": range(1, 61),
        "first_name": ["Ann", "Bob", "Cem"] * 20,
        "remark": [f"remark {number} of the doctor" for number in range(60)],
        "birth_date": pd.to_datetime(["1950-02-03", "1961-07-09", "1999-01-01"] * 20),
        "age": [31, 62, 45] * 20,
        "cost": [100, 20_000, 3_000] * 20,
        "stage": ["I", "II", "III"] * 20,
    }
)

CODES = """name,kind,values,bounds
patient_id,identifier,,
age,integer,,0..120
cost,number,,0..50000
stage,,I|II|III|IV,
"""


@pytest.fixture
def costs(folder):
    COSTS.to_csv("costs.csv", index=False)
    Path("codes.csv").write_text(CODES)


MARGINALS = ["--dictionary", "codes.csv", "--no-class", "--mechanism", "marginals"]


@pytest.mark.usefixtures("costs")
def test_questions_become_required_tables_and_cut_points():
    asked = ["mean cost by stage", "age over 65 by stage", "cost over 10000"]
    init("--from", "costs.csv", *MARGINALS, *(word for line in asked for word in ("--question", line)))
    draft, text = drafted(), Path("agreement.toml").read_text()
    assert draft["mechanism"]["tables"] == {"must": [["cost", "stage"], ["age", "stage"]], "then": "auto"}
    assert draft["attributes"]["age"]["grid"] == {"round": 20, "also": [66]}  # ages are whole by the dictionary
    assert draft["attributes"]["cost"]["grid"]["also"] == [10001]
    assert all(text.count(f"# asked: {line}\n") == 1 + (line == asked[1]) for line in asked)


@pytest.mark.usefixtures("costs")
def test_an_identifier_that_the_data_call_otherwise_is_named_with_what_to_do():
    hint = "The identifier 'person' has another name in these data"
    told = init("--from", "costs.csv", *MARGINALS, "--no-ask")
    assert hint not in told
    Path("codes.csv").write_text(CODES.replace("patient_id", "person"))
    told = init("other.toml", "--from", "costs.csv", *MARGINALS)
    assert hint in told and "--mapping AGREEMENT" in told


@pytest.mark.usefixtures("costs")
def test_a_question_that_cannot_be_read_is_repeated_and_nothing_is_written():
    told = init_refused(
        "--from", "costs.csv", *MARGINALS, "--question", "mean cost by stge", "--question", "age over 200"
    )
    assert "'mean cost by stge'" in told and "Did you mean 'stage'?" in told
    assert "'age over 200': a cut at 200 leaves nothing on one side" in told
    assert "when the drafts are merged: copublish merge" in told
    assert not Path("agreement.toml").exists()
    told = init_refused("--from", "costs.csv", "--mechanism", "copula", "--question", "cost by stage")
    assert "questions need the mechanism 'marginals'" in told


def init_refused(*arguments: object) -> str:
    done = CliRunner().invoke(app, ["init", *map(str, arguments)])
    assert isinstance(done.exception, CopublishError)
    return str(done.exception)


@pytest.mark.usefixtures("costs")
def test_questions_are_asked_at_a_terminal_until_there_is_no_other():
    known = ["--name", "n", "--dataset", "d", "--partition", "vertical", "--epsilon", "1", "--expected", "100"]
    known += ["--identifier", "patient_id"]
    answers = ["costs, registry", "n", "n", "n", "mean of", "cost by town", "mean cost by stage", "age < 33", ""]
    told = init("--from", "costs.csv", "--ask", *MARGINALS, *known, answers="\n".join(answers) + "\n")
    assert "Which questions must it answer?" in told and "'town' is neither a column" in told
    assert drafted()["mechanism"]["tables"]["must"] == [["cost", "stage"]]
    assert drafted()["attributes"]["age"]["grid"]["also"] == [33]


@pytest.mark.usefixtures("costs")
def test_columns_that_seem_to_identify_people_are_left_out_and_named_to_the_owner_alone():
    told = init("--from", "costs.csv", *MARGINALS)
    assert list(drafted()["attributes"]) == ["age", "cost", "stage"]
    text = Path("agreement.toml").read_text()
    for column, why in (("first_name", "names"), ("remark", "a text of its own"), ("birth_date", "dates of birth")):
        assert f"'{column}'" in told and why in told
        assert column not in text
    init("b.toml", "--from", "costs.csv", *MARGINALS, "--keep", "birth_date", "--keep", "remark")
    assert list(drafted("b.toml")["attributes"]) == ["remark", "birth_date", "age", "cost", "stage"]
    assert "no column 'remarks'" in init("c.toml", "--from", "costs.csv", "--keep", "remarks", code=2)


@pytest.mark.usefixtures("costs")
def test_a_column_that_seems_to_identify_people_is_confirmed_at_a_terminal():
    known = ["--name", "n", "--dataset", "d", "--partition", "vertical", "--epsilon", "1", "--expected", "100"]
    known += ["--identifier", "patient_id"]
    answers = ["costs, registry", "n", "", "y", "category", "", ""]
    init("--from", "costs.csv", "--ask", *MARGINALS, *known, answers="\n".join(answers) + "\n")
    assert list(drafted()["attributes"]) == ["birth_date", "age", "cost", "stage"]


@pytest.mark.usefixtures("costs")
def test_a_column_with_public_values_is_drafted_whatever_is_in_it():
    Path("codes.csv").write_text(CODES + "remark,,a|b,\nfirst_name,,,\n")
    init("--from", "costs.csv", *MARGINALS)
    assert "remark" in drafted()["attributes"] and "first_name" not in drafted()["attributes"]


def test_the_index_that_pandas_writes_is_left_out_with_a_word():
    PEOPLE.set_index(pd.Index([7, 3, 5] * 20)).to_parquet("people.parquet")
    told = init("--from", "people.parquet")
    assert "'__index_level_0__': pandas wrote its index into the file under this name" in told
    assert "__index_level_0__" not in Path("agreement.toml").read_text()


def test_decimal_commas_are_said_with_what_to_do():
    frame = pd.DataFrame({"rent": [f"{number},50" for number in range(60)], "town": "Springfield"})
    frame.to_csv("rents.csv", index=False, sep=";")
    told = init("--from", "rents.csv")
    assert "Numbers with a decimal comma, which would be read as missing: 'rent'" in told and "decimal=','" in told
    assert drafted()["attributes"]["rent"]["kind"] == "numerical"
    assert "decimal" not in Path("agreement.toml").read_text()


@pytest.mark.usefixtures("costs")
def test_parties_ask_about_each_others_columns_when_their_drafts_are_merged():
    init("a.toml", "--from", "costs.csv", *MARGINALS, "--question", "age under 30 by stage")
    init("b.toml", "--from", "city hall.csv", "--no-class", "--mechanism", "marginals")
    merging = ["merge", "a.toml", "b.toml", "--question", "mean cost by rent"]
    done = CliRunner().invoke(app, merging)
    assert done.exit_code == 0, done.output
    assert drafted()["mechanism"]["tables"]["must"] == [["age", "stage"], ["cost", "rent"]]
    text = Path("agreement.toml").read_text()
    assert "# asked: mean cost by rent" in text and "# asked: age under 30 by stage" in text
    done = CliRunner().invoke(app, [*merging, "--question", "cost by rents", "--out", "other.toml"])
    assert "Did you mean 'rent'?" in str(done.exception) and not Path("other.toml").exists()


def test_python_drafts_with_questions_and_says_what_it_left_out():
    draft = cp.drafts.draft(
        {"clinic": COSTS},
        dictionary=dictionary_from_csv(CODES),
        has_class=False,
        mechanism="marginals",
        keep=["birth_date"],
        questions=["mean cost by stage"],
    )
    assert draft.content["mechanism"]["tables"]["must"] == [["cost", "stage"]]
    assert set(draft.left_out) == {"first_name", "remark"} and "birth_date" in draft.content["attributes"]
    with pytest.raises(cp.AgreementError, match="keep: there is no column 'nobody'"):
        cp.drafts.draft({"clinic": COSTS}, keep=["nobody"])


def test_why_grids_are_coarser_or_the_mechanism_is_another_one_is_said_as_well(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    many = [f"c{number}" for number in range(70)]  # more columns than tables of every two can be measured of
    Path("wide.csv").write_text(",".join(many) + "\n" + ",".join("1.5" for _ in many) + "\n")
    done = CliRunner().invoke(app, ["init", "a.toml", "--from", "wide.csv", "--no-class", "--epsilon", "1"])
    reason = re.search(r"(?:# (?:Not|Grids|Settings).*\n)(?:# .*\n)*", Path("a.toml").read_text())[0]
    said = " ".join(line.removeprefix("# ") for line in reason.splitlines())
    assert said in " ".join(done.stderr.split()), (said, done.stderr)
