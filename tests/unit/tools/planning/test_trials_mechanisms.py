"""Plans of every differentially private mechanism, side by side on the same records, scored as `evaluate` does."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from copublish import agreement_from_mapping
from copublish.agreement.model import Agreement
from copublish.errors import AgreementError, EvaluationError
from copublish.mechanisms.idp_ir.settings import ACKNOWLEDGEMENT
from copublish.mechanisms.registry import mechanisms, plan_of
from copublish.release.measurements import parquet_file
from copublish.rows.reading import read_fragment
from copublish.tools.evaluation.baseline import BASELINE
from copublish.tools.evaluation.scorecard import evaluate
from copublish.tools.evaluation.scores import BASELINE_RUNS
from copublish.tools.planning.advice import plan_release
from copublish.tools.planning.plots import draw_plan, text_plot
from copublish.tools.planning.release_plan import curves_of, label_of
from copublish.tools.planning.tables import as_fragments, made_up_table
from copublish.tools.planning.trials import TrialGround, planned_names, variants_of, with_mechanism
from copublish.tools.planning.tuning import Setting
from support import fragment_frames, repartition, small_mapping

pytestmark = pytest.mark.slow

PUBLIC = {"records.public": True, "privacy.neighbors": "replace"}
MISSING = {"attributes.region.missing": "category", "attributes.income.missing": "category"}
PLANNED = ("marginals", "specialization", "copula", "hpdp", "vhdp")


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
        classifiers=["decision-tree"],
        progress=lambda *step: told.append(step),
    )
    return plan.to_dict(), told


@pytest.mark.slow
def test_mechanisms_are_tried_on_the_same_records_the_agreed_one_first(side_by_side):
    plan, told = side_by_side
    assert plan["mechanisms"] == ["copula", "vhdp", "specialization", "hpdp"], "each of them once"
    assert plan["agreed"] == {"mechanism": "copula", "epsilon": "1"}
    curves = curves_of(plan)
    assert list(curves) == [*plan["mechanisms"], BASELINE]
    assert all([row["epsilon"] for row in rows] == ["0.1", "1", "2"] for rows in curves.values())
    total = len(plan["trials"]) + len(plan["baseline"])
    assert told[0] == ("trials", 0, total) and told[-1] == ("trials", total, total)
    assert sorted({done for _, done, _ in told}) == list(range(total + 1))


@pytest.mark.slow
def test_what_is_planned_of_records_has_no_settings_and_no_guess_of_its_cost(side_by_side):
    plan, _ = side_by_side
    at_agreed = [row for row in plan["trials"] if (row["mechanism"], row["epsilon"]) == ("copula", "1")]
    assert plan["settings"] == plan["refinements"] == at_agreed
    assert plan["limits"] is None and plan["recommendation"] is None and plan["advice"] is None
    assert plan["secure_run"]["seconds"] is None and plan["secure_run"]["mib_sent"] is None
    assert "was not measured with the mechanism 'copula' and says nothing about it" in plan["secure_run"]["why"]


def test_more_budget_means_less_noise_for_every_mechanism(side_by_side):
    plan, _ = side_by_side
    for name in ("copula", "hpdp"):
        little, _, much = curves_of(plan)[name]  # twenty times the noise: chance cannot turn these around
        assert little["noise"]["value"] > much["noise"]["value"]
        off = [row["distances"]["tables_2"]["value"] for row in (little, much)]
        assert off[0] > off[1]
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
    numbers = agreement.mechanism.reads_numbers
    ground = TrialGround(agreement, train, test, generator, with_numbers=numbers, classifiers=["decision-tree"])
    release = ground.releases(agreement, 1)[0]
    plain = [frame.replace("(missing)", None) for frame in (test, train)]
    expected = evaluate(release, plain[0], raw=plain[1], classifiers=["decision-tree"]).to_dict()
    found, row = ground.summary([release]).scores().to_json(), expected["classification"][0]
    assert found["accuracy"] == row["CA"] and found["area"] == row["release"]["area"]
    assert ground.raw().scores().to_json()["accuracy"] == row["BA"]
    assert found["distances"]["tables_2"]["value"] == pytest.approx(expected["distances"]["release"]["tables_2"])
    baseline = ground.baseline(agreement, BASELINE_RUNS).scores().to_json()
    assert baseline["area"] == row["baseline"]["area"] and baseline["log_loss"] == row["baseline"]["log_loss"]


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
    ground = TrialGround(agreement, table, table, generator, with_numbers=True, classifiers=["decision-tree"])
    release = ground.releases(agreement, 1)[0]
    empty = replace(release, stored_records=parquet_file(iter([release.records[:0]])))
    scores = ground.summary([empty]).scores().to_json()
    assert scores["accuracy"] == (table["default"] == "no").mean() and scores["area"] == 0.5
    assert scores["distances"]["tables_2"]["value"] == 1


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
    for name in ("specialization", "copula", "vhdp", "marginals"):
        other = with_mechanism(agreement, name)
        assert other.mechanism.name == name and other.uses_gaussian_noise == (name == "marginals")
        assert (other.epsilon, other.parties, other.records) == (1, agreement.parties, agreement.records)
        assert list(other.domains) == list(agreement.domains)
    back = with_mechanism(with_mechanism(agreement, "marginals"), "hpdp")
    assert back.mechanism.noise == "gaussian" and back.privacy.delta == agreement.privacy.delta
    assert Setting("0.25").apply(agreement).privacy.delta == agreement.privacy.delta
    weighed = agreed("copula").model_dump(by_alias=True, exclude_unset=True)
    weighed["budget"] = {"allocation": "use-informative"}
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


def test_all_mechanisms_that_the_agreement_permits_are_tried_and_why_not_the_others():
    variants, refused = variants_of(agreed("copula", "vertical"), ["all"])
    own = [name for name in variants if name in PLANNED]  # others may have been registered
    assert own == ["copula", *(name for name in PLANNED if name not in ("copula", "hpdp"))]
    assert [name for name in refused if name in PLANNED] == ["hpdp"] and "owners of whole rows" in refused["hpdp"][0]
    with pytest.raises(AgreementError, match="owners of whole rows"):
        variants_of(agreed("copula", "vertical"), ["all", "hpdp"])


def test_plots_name_every_mechanism_and_the_baseline(side_by_side, tmp_path):
    plan, _ = side_by_side
    lines = text_plot(plan)
    assert any(line.startswith("       ● copula (agreed)") for line in lines)
    assert lines[-1] == "       x class tables alone (trivial baseline)"
    draw_plan(plan, tmp_path / "plan.svg")
    drawn = (tmp_path / "plan.svg").read_text()
    assert all(label_of(plan, name) in drawn for name in (*plan["mechanisms"], BASELINE))
    with_delta = {**plan, "agreed": {**plan["agreed"], "delta": "1e-6"}}
    assert label_of(with_delta, "vhdp") == "vhdp (without delta)"


def test_no_point_of_a_text_plot_hides_another(side_by_side):
    plan, _ = side_by_side
    alike = {key: [{**row, "area": plan["raw"]["area"]} for row in plan[key]] for key in ("trials", "baseline")}
    top = text_plot({**plan, **alike}, width=60)[1]
    assert [top.count(marker) for marker in "●○◆◇x"] == [3, 3, 3, 3, 3]
    assert top.index("●") == 7 and "●○◆◇x" in top, "the first one where it belongs, the others next to it"
