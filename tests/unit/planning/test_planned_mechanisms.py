"""Plans of every differentially private mechanism, side by side on the same records, scored as `evaluate` does."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from copublish import agreement_from_mapping
from copublish.agreement.model import Agreement
from copublish.errors import AgreementError, EvaluationError
from copublish.evaluation.scorecard import evaluate
from copublish.fragments.reading import read_fragment
from copublish.mechanisms.idp_ir.settings import ACKNOWLEDGEMENT
from copublish.mechanisms.registry import mechanisms, plan_of
from copublish.mechanisms.shared.tuning import Setting
from copublish.planning.advice import plan_release
from copublish.planning.curves import curves_of, floor_of, label_of
from copublish.planning.mechanisms import planned_names, with_mechanism
from copublish.planning.plots import draw_plan, text_plot
from copublish.planning.tables import as_fragments, made_up_table
from copublish.planning.trials import TrialGround
from support import fragment_frames, repartition, small_mapping

PUBLIC = {"records.public": True, "privacy.neighbors": "replace"}
MISSING = {"attributes.region.missing": "category", "attributes.income.missing": "category"}
PLANNED = ("specialization", "marginals", "copula", "hpdp", "vhdp")


def agreed(mechanism: str = "specialization", partition: str = "horizontal", **changes: object) -> Agreement:
    """An agreement that permits every mechanism, unless it is changed."""
    mapping = small_mapping(**{**PUBLIC, **changes, "mechanism": {"name": mechanism}})
    return agreement_from_mapping(repartition(mapping, partition))


@pytest.fixture(scope="module")
def side_by_side():
    told = []
    plan = plan_release(
        agreed("copula", **MISSING, **{"records.expected": 800}),
        mechanisms=["vhdp", "specialization", "hpdp", "copula"],
        epsilons=["0.1", "2"],
        tried={"specializations": [10]},
        runs=1,
        progress=lambda *step: told.append(step),
    )
    return plan.to_dict(), told


def test_mechanisms_are_tried_on_the_same_records_the_agreed_one_first(side_by_side):
    plan, told = side_by_side
    assert plan["mechanisms"] == ["copula", "vhdp", "specialization", "hpdp"], "each of them once"
    assert plan["agreed"] == {"mechanism": "copula", "epsilon": "1"}
    curves = curves_of(plan)
    assert list(curves) == plan["mechanisms"]
    assert all([row["epsilon"] for row in rows] == ["0.1", "1", "2"] for rows in curves.values())
    assert told[0] == ("trials", 0, len(plan["trials"])) and told[-1] == ("trials", *[len(plan["trials"])] * 2)
    assert [done for _, done, _ in told] == list(range(len(plan["trials"]) + 1))


def test_what_is_planned_of_records_has_no_settings_and_no_guess_of_its_cost(side_by_side):
    plan, _ = side_by_side
    at_agreed = [row for row in plan["trials"] if (row["mechanism"], row["epsilon"]) == ("copula", "1")]
    assert [plan["recommendation"]] == at_agreed
    assert plan["limits"] is None and plan["refinements"] == [] and plan["advice"] is None
    assert plan["secure_run"]["seconds"] is None and plan["secure_run"]["mib_sent"] is None
    assert "was not measured with the mechanism 'copula' and says nothing about it" in plan["secure_run"]["why"]


def test_more_budget_means_less_noise_for_every_mechanism(side_by_side):
    plan, _ = side_by_side
    for name in ("copula", "hpdp"):
        little, _, much = curves_of(plan)[name]  # twenty times the noise: chance cannot turn these around
        assert little["noise"]["value"] > much["noise"]["value"]
        assert little["marginal_error"] > much["marginal_error"]
    signal = [row["noise"]["value"] for row in curves_of(plan)["vhdp"]]
    # Two classes and five columns: budget e for the class tells the truth with (exp(e) - 1) / (exp(e) + 1).
    assert signal == pytest.approx([np.tanh(epsilon / 5 / 2) for epsilon in (0.1, 1, 2)], abs=1e-4)


def test_the_noise_that_is_told_is_what_describe_tells():
    for name, key in (("copula", "correlation_error"), ("hpdp", "share_error")):
        agreement = agreed(name)
        _, noise = plan_of(agreement).typical_noise()
        assert noise == pytest.approx(plan_of(agreement).describe()[key], abs=6e-4)
    assert plan_of(agreed("specialization")).typical_noise() is None


@pytest.mark.parametrize("name", PLANNED)
def test_a_release_is_scored_as_evaluate_scores_it(name):
    agreement, generator = agreed(name, **MISSING), np.random.default_rng(4)
    table = made_up_table(agreement, 900, generator)
    train, test = table[:600].reset_index(drop=True), table[600:].reset_index(drop=True)
    ground = TrialGround(agreement, train, test, generator, with_numbers=agreement.mechanism.reads_numbers)
    release = ground.releases(agreement, 1)[0]
    plain = [frame.replace("(missing)", None) for frame in (test, train)]
    expected = evaluate(release, plain[0], raw=plain[1], classifiers=["decision-tree"]).to_dict()
    found = ground.scores([release])
    assert found.accuracy == expected["classification"][0]["CA"]
    assert ground.baselines()[0] == expected["classification"][0]["BA"]
    assert found.marginal_error == pytest.approx(expected["marginals"]["agreed_values"]["2-way"]["mean"])


@pytest.mark.parametrize("partition", ["horizontal", "vertical"])
def test_made_up_numbers_are_held_as_if_they_had_been_read(partition):
    agreement, generator = agreed("vhdp", partition, **MISSING), np.random.default_rng(2)
    table = made_up_table(agreement, 200, generator)
    fragments = as_fragments(agreement, table, generator, with_numbers=True)
    with_id = table.replace("(missing)", None).assign(id=[str(number) for number in range(len(table))])
    for party, frame in fragment_frames(agreement, with_id, generator).items():
        if partition == "horizontal":  # the same people: who holds whom is drawn anew
            frame = with_id.set_index("id").loc[list(fragments[party].identifiers)].reset_index()
        else:
            frame = frame.assign(n=frame["id"].astype(int)).sort_values("n").drop(columns="n")
        read = read_fragment(agreement, party, frame)
        assert read.private_numbers.keys() == fragments[party].private_numbers.keys()
        for name, numbers in read.private_numbers.items():
            np.testing.assert_array_equal(fragments[party].private_numbers[name], numbers)
        for name, codes in read.private_codes.items():
            np.testing.assert_array_equal(fragments[party].private_codes[name], codes)


def test_no_record_left_is_worth_what_one_class_is():
    agreement, generator = agreed("hpdp"), np.random.default_rng(0)
    table = made_up_table(agreement, 60, generator)
    ground = TrialGround(agreement, table, table, generator, with_numbers=True)
    release = ground.releases(agreement, 1)[0]
    empty = replace(release, contents=replace(release.contents, tables={"records": release.records[:0]}))
    scores = ground.scores([empty])
    assert scores.accuracy == (table["default"] == "no").mean()
    assert scores.marginal_error == 1


def test_all_that_is_differentially_private_can_be_planned():
    own = [known.name for known in mechanisms() if type(known).__module__.startswith("copublish.")]
    assert [name for name in planned_names() if name in own] == list(PLANNED)
    assert set(own) - set(PLANNED) == {"idp-ir"}


def test_another_mechanism_keeps_people_columns_and_budget():
    numbers = {"attributes.age.decimals": 1, "privacy.delta": "1e-6"}
    agreement = agreement_from_mapping(
        repartition(small_mapping(**PUBLIC, **numbers, mechanism={"name": "hpdp", "noise": "gaussian"}), "horizontal")
    )
    assert with_mechanism(agreement, "hpdp") is agreement
    for name in ("specialization", "copula", "vhdp"):
        other = with_mechanism(agreement, name)
        assert other.mechanism.name == name and other.privacy.delta is None
        assert (other.epsilon, other.parties, other.records) == (1, agreement.parties, agreement.records)
        assert list(other.domains) == list(agreement.domains)
    assert Setting("0.25").apply(agreement).privacy.delta == agreement.privacy.delta
    weighed = agreed("copula").model_dump(by_alias=True, exclude_unset=True)
    weighed["budget"] = {"allocation": "information-gain"}
    weighed = agreement_from_mapping(weighed)
    assert with_mechanism(weighed, "vhdp").budget == weighed.budget
    assert with_mechanism(weighed, "hpdp").budget.allocation == "uniform", "it has no budgets of columns"


def test_what_an_agreement_does_not_permit_is_refused_before_anything_is_tried():
    def never(*_: object) -> None:
        raise AssertionError

    vertical = agreed("copula", "vertical")
    with pytest.raises(AgreementError, match=r"mechanism 'hpdp' has 1 problem:\n.*owners of whole rows"):
        plan_release(vertical, mechanisms=["hpdp"], progress=never)
    with pytest.raises(AgreementError, match=r"and epsilon 0.0001 has 1 problem:\n.*at least 0.001"):
        plan_release(vertical, epsilons=["0.0001"], progress=never)


def test_what_is_not_differentially_private_has_no_trade_off_to_plan():
    mechanism = {"name": "idp-ir", "k": 5, "acknowledge": ACKNOWLEDGEMENT}
    mapping = small_mapping(**PUBLIC, **{"class.held_by": "bank"}, mechanism=mechanism)
    with pytest.raises(EvaluationError, match=r"'idp-ir' is not differentially private.*no trade-off"):
        plan_release(agreement_from_mapping(mapping))


def test_plots_name_every_mechanism_and_say_what_is_too_low_to_see(side_by_side, tmp_path):
    plan, _ = side_by_side
    lines = text_plot(plan)
    assert any(line.startswith("       ● copula (agreed") for line in lines)
    assert any(line.startswith("       ◆ specialization (best setting of each epsilon") for line in lines)
    draw_plan(plan, tmp_path / "plan.svg")
    drawn = (tmp_path / "plan.svg").read_text()
    assert all(label_of(plan, name, "below the axis") in drawn for name in plan["mechanisms"])
    low = [{**row, "accuracy": 0.0} if row["mechanism"] == "vhdp" else row for row in plan["trials"]]
    sunk = {**plan, "trials": low}
    lines = text_plot(sunk, height=10)
    assert lines[9].startswith(f"{floor_of(plan):.3f}") and lines[9].count("○") == 3
    assert label_of(sunk, "vhdp", "below") == "vhdp (below)"


def test_no_point_of_a_text_plot_hides_another(side_by_side):
    plan, _ = side_by_side
    alike = {**plan, "trials": [{**row, "accuracy": plan["BA"]} for row in plan["trials"]]}
    top = text_plot(alike, width=60)[0]
    assert [top.count(marker) for marker in "●○◆◇"] == [3, 3, 3, 3]
    assert top.index("●") == 7 and "●○◆◇" in top, "the first one where it belongs, the others next to it"
