"""What `describe`, `run`, `plan` and `doctor` say a run of marginals would take."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from copublish.agreement.loading import load_agreement
from copublish.cli import app, run_command
from copublish.cli.doctor_command import _predict, _print_end
from copublish.kernel.ledger.ledger import Ledger, Limit
from copublish.mechanisms.marginals.plan import MarginalsPlan
from copublish.party.network.measuring import MeasuredLink
from copublish.tools.planning.marginals_cost import predict_from_agreement

AGREEMENT = """\
format = 1
name = "small"
dataset = "small"
partition = "vertical"

[parties.bank]
[parties.loans]

[records]
expected = 1200
alignment = "row-order"

[class]
name = "late"
values = ["no", "yes"]
held_by = "loans"

[attributes.age]
kind = "numerical"
bounds = [0, 100]
grid = { count = 5 }
missing = 0
held_by = "bank"

[attributes.job]
kind = "categorical"
values = ["none", "part", "full"]
missing = "none"
unlisted = "none"
held_by = "bank"

[attributes.amount]
kind = "numerical"
bounds = [0, 1000]
grid = { count = 4 }
missing = 0
held_by = "loans"

[privacy]
epsilon = 1
delta = "1e-6"

[mechanism]
name = "marginals"
"""


@pytest.fixture
def agreement(tmp_path):
    file = tmp_path / "agreement.toml"
    file.write_text(AGREEMENT)
    return file


def invoke(*words):
    found = CliRunner().invoke(app, [*map(str, words)])
    assert found.exit_code == 0, found.output
    return found.stdout


def test_describe_says_what_a_run_takes(agreement):
    expected, told = predict_from_agreement(load_agreement(agreement)), invoke("describe", agreement)
    (line,) = [line for line in told.splitlines() if line.startswith("A run takes about ")]
    assert f"in {expected.rounds} rounds" in line and f"in {expected.most_rounds}, the most there can be" in line
    assert "MiB between the parties" in line and "GiB" in line and "two cores" in line
    said = json.loads(invoke("describe", agreement, "--format", "json"))["secure_run"]
    assert said["mib_sent"] == expected.mib_sent and said["most_mib_sent"] == expected.most_mib_sent
    assert "which tables they choose, follows from the data, so both are assumed" in said["why"]


def test_describe_says_nothing_of_a_mechanism_of_which_only_a_release_tells(agreement):
    agreement.write_text(AGREEMENT.replace('"marginals"', '"specialization"').replace('delta = "1e-6"\n', ""))
    assert "A run takes" not in invoke("describe", agreement)
    assert "secure_run" not in json.loads(invoke("describe", agreement, "--format", "json"))


def test_run_says_it_before_it_asks(agreement, capsys):
    plan, ledger = MarginalsPlan.of(load_agreement(agreement)), Ledger(":memory:")
    ledger.set_limit("small", Limit(plan.cost().under("add-remove"), "add-remove", plan.cost().delta))
    with pytest.raises(run_command.CopublishError, match="Nobody is there to be asked"):
        run_command._ask_consent(plan, ledger, party="bank", file=agreement, yes=False)
    assert "A run takes about " in capsys.readouterr().err


def test_doctor_says_it_for_the_measured_link(agreement, capsys):
    agreed, link = load_agreement(agreement), MeasuredLink(0.2, (1e6, 5e5))
    found = _predict(agreed, {"loans": link})
    here = predict_from_agreement(agreed)
    assert found.waiting_seconds == pytest.approx(0.2 * here.round_trips, abs=0.1)
    assert found.transfer_seconds == pytest.approx(here.mib_sent * 2**20 / 5e5, rel=0.01)
    _print_end(found, could_begin=True)
    told = capsys.readouterr().out
    assert "for a run over this link" in told and f"with {found.rounds} rounds" in told


def test_plan_says_it_of_every_trial(agreement):
    words = ["plan", agreement, "--epsilon", "1", "--runs", "1", "--classifier", "decision-tree"]
    both = [*words, "--mechanism", "specialization"]
    said, expected = json.loads(invoke(*both, "--format", "json")), predict_from_agreement(load_agreement(agreement))
    assert said["secure_run"]["mib_sent"] == expected.mib_sent
    by_mechanism = {trial["mechanism"]: trial["secure_run"] for trial in said["trials"]}
    assert set(by_mechanism) == {"marginals", "specialization"}
    assert by_mechanism["marginals"]["rounds"] == expected.rounds and "rounds" not in by_mechanism["specialization"]
    text = " ".join(invoke(*both).split())
    assert f"in {expected.rounds} rounds" in text and "How many rounds there are follows from the data." in text
    assert "specialization: about " in text
