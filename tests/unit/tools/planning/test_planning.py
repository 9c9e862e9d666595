"""Plans: data split as the agreement says, trials that differ, the advice that follows from them, plots."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal
from io import StringIO
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text
from rich.console import Console

from copublish import agreement_from_mapping
from copublish.cli.plan_command import print_plan
from copublish.errors import CopublishError, EvaluationError
from copublish.mechanisms.specialization.plan import SpecializationPlan
from copublish.release.describe import describe
from copublish.tools.evaluation.baseline import BASELINE
from copublish.tools.evaluation.prediction import METRICS, Prediction, ScoreEstimate
from copublish.tools.evaluation.utility import DISTANCES, Summary, Utility
from copublish.tools.planning import plots
from copublish.tools.planning.advice import plan_release
from copublish.tools.planning.plots import draw_plan, plan_figure, text_plot
from copublish.tools.planning.release_plan import curves_of
from copublish.tools.planning.specialization_tuning import SpecializationTuning
from copublish.tools.planning.tables import as_fragments, made_up_table, read_like
from copublish.tools.planning.trials import (
    NOTHING_FROM_MADE_UP_DATA,
    Trial,
    TrialGround,
    best_refinement,
    choose_setting,
    ranked,
    try_setting,
    verdict,
)
from copublish.tools.planning.tuning import Setting
from support import repartition, small_mapping

pytestmark = pytest.mark.slow

MISSING = {"attributes.region.missing": "category", "attributes.income.missing": "category"}


def agreed(partition: str = "vertical", **changes):
    return agreement_from_mapping(repartition(small_mapping(**changes), partition))


@pytest.mark.parametrize("partition", ["horizontal", "vertical", "arbitrary"])
def test_made_up_data_fit_the_agreement_and_are_split_as_it_says(partition):
    agreement, generator = agreed(partition, **MISSING), np.random.default_rng(1)
    table = made_up_table(agreement, 300, generator)
    like, changes = read_like(agreement, table.replace("(missing)", None), strict=True)
    pd.testing.assert_frame_equal(like, table, check_dtype=False)
    assert changes == ()
    fragments = as_fragments(agreement, table, generator)
    assert set(fragments) == set(agreement.parties)
    for name, domain in agreement.domains.items():
        held = [fragment.holds(name) for fragment in fragments.values() if name in fragment.private_codes]
        assert all(f.private_codes[name].max() <= domain.size for f in fragments.values() if name in f.private_codes)
        assert sum(int(cells.sum()) for cells in held) == 300, "every cell has one holder"
    if partition == "vertical":
        assert all(set(f.private_codes) == set(agreement.columns_of(p)) for p, f in fragments.items())
    if partition == "horizontal":
        people = [set(f.identifiers) for f in fragments.values()]
        assert not people[0] & people[1]
        assert len(people[0] | people[1]) == 300


def setting(epsilon: str, specializations: int, share: str = "0.4") -> Setting:
    values = {"specializations": specializations, "score": "max", "selection_share": Decimal(share)}
    return Setting(epsilon, values, curve="score max")


@pytest.mark.parametrize("partition", ["horizontal", "vertical", "arbitrary"])
def test_a_trial_runs_whatever_the_partition(partition):
    agreement = agreed(partition, **MISSING)
    generator = np.random.default_rng(0)
    table = made_up_table(agreement, 1200, generator)
    test = table[900:].reset_index(drop=True)
    ground = TrialGround(agreement, table[:900], test, generator, classifiers=CLASSIFIERS[:1])
    trial = try_setting(ground, agreement, setting("2", 4), runs=3)
    assert min(ground.raw().area, trial.summary.area) > 0.7, "the made-up class depends on the attributes"
    assert (trial.mechanism, trial.epsilon, trial.noise) == ("specialization", "2", None)
    told = trial.scores().to_json()
    assert told["rounds"] == 4 and told["curve"] == "score max"
    assert told["specializations"] == 4 and told["selection_share"] == "0.4"
    assert told["area_standard_error"] < 0.1


def test_a_setting_changes_what_it_names_and_nothing_else():
    agreement = agreed()
    changed = setting("0.25", 3, "0.5").apply(agreement)
    assert (str(changed.epsilon), changed.mechanism.specializations) == ("1/4", 3)
    assert float(changed.mechanism.selection_share) == 0.5
    assert changed.domains == agreement.domains
    for same in (setting("1", 6), Setting("1")):
        assert same.apply(agreement).hash == agreement.hash


def test_the_grid_has_the_agreed_setting_and_no_two_that_are_the_same_release():
    agreement = agreed()
    settings = list(SpecializationTuning().settings(agreement, ["0.1", "1"], {"specializations": [2, 50, 60]}))
    plans = [(setting.epsilon, SpecializationPlan.of(setting.apply(agreement))) for setting in settings]
    shapes = [(epsilon, plan.score, plan.rounds) for epsilon, plan in plans]
    assert len(set(shapes)) == len(shapes)
    assert ("1", "max", 6) in shapes
    assert {score for _, score, _ in shapes} == {"max", "tv-gain", "balanced-gain"}


def trial(area: float, rounds: int, error: float = 0.001, share: str = "0.4", runs: int = 2) -> Trial:
    """A trial with this mean area, of which noise alone has this standard error."""
    nothing = np.zeros(4)
    runs_of = [ScoreEstimate(area + error * shift, nothing) for shift in ((-1, 1) if runs == 2 else (0,))]
    exact = ScoreEstimate(0.5, nothing)
    utilities = [
        Utility(
            {"decision-tree": Prediction(area=one, balanced_accuracy=exact, log_loss=None, accuracy=exact)},
            dict.fromkeys(DISTANCES, 0.1),
        )
        for one in runs_of
    ]
    return Trial(
        mechanism="specialization",
        setting=setting("1", rounds, share),
        delta=None,
        summary=Summary(utilities),
        measured={"rounds": rounds},
        noise=None,
        secure_run=None,
    )


def test_what_is_taken_is_the_best_unless_the_agreed_setting_cannot_be_told_apart_from_it():
    agreed, best = trial(0.80, 2), trial(0.83, 9)
    choice = choose_setting([agreed, trial(0.82, 4), best], agreed)
    assert (choice.trial, choice.can_tell, choice.is_agreed) == (best, True, False)
    assert choice.words == "the best of 3 settings tried, by more than one standard error"
    near = trial(0.829, 4, error=0.01)
    choice = choose_setting([agreed, near, best], agreed)
    assert (choice.trial, choice.can_tell) == (best, False)
    assert "cannot be told: 1 of the other 2 settings tried is within one standard error" in choice.words
    choice = choose_setting([near, agreed, best], near)
    assert (choice.trial, choice.is_agreed) == (near, True)
    assert choice.words == "as agreed: of 3 settings tried, no other one is better by two standard errors"
    ahead = trial(0.80 + 0.015, 4, error=0.01)  # by one and a half standard errors
    choice = choose_setting([agreed, ahead], agreed)
    assert (choice.trial, choice.can_tell, choice.is_agreed) == (agreed, False, True)
    low = trial(0.6, 2)
    other = choose_setting([low, agreed, ahead], low)
    assert (other.trial, other.can_tell) == (ahead, True), "beside what is not agreed one standard error is enough"
    once = trial(0.7, 2, runs=1)
    assert choose_setting([once, trial(0.9, 3, runs=1)], once).trial is once, "one run does not tell what noise does"


def test_two_splits_that_are_right_as_often_do_not_win_against_a_better_order_of_records():
    """88 and 12 percent: whoever always says the larger class is as accurate, and has the worse area."""
    agreed, trivial = trial(0.885, 8), trial(0.675, 2)
    choice = choose_setting([agreed, trivial], agreed)
    assert choice.trial is agreed and choice.can_tell


def test_the_split_of_the_budget_changes_only_for_a_clear_gain():
    first, better = trial(0.80, 4), trial(0.82, 4, share="0.25")
    assert best_refinement([first, better]) is better
    assert best_refinement([first, trial(0.82, 4, 0.02, share="0.25")]) is first


def test_a_ranking_says_who_is_behind_and_by_how_many_errors():
    trials = [trial(0.80, 2), replace(trial(0.81, 4, error=0.02), mechanism="copula"), trial(0.85, 9)]
    trials[2] = replace(trials[2], mechanism="marginals")
    baseline = replace(trial(0.849, 1, error=0.004), mechanism=BASELINE)
    rows = ranked([*trials, baseline])
    assert [row.mechanism for row in rows] == ["marginals", BASELINE, "copula", "specialization"]
    assert [row.as_good for row in rows] == [True, True, False, False]
    assert rows[3].behind == pytest.approx(0.05)
    assert rows[3].behind_standard_error == pytest.approx(np.hypot(0.001, 0.001))
    assert verdict([*trials, baseline], "default") == [
        "To predict 'default', marginals has the largest area, probably.",
        "It cannot be told whether marginals predicts better than class tables alone: by 0.001 ± 0.004.",
    ]
    worse = replace(trial(0.9, 1), mechanism=BASELINE)
    assert verdict([trials[2], worse], "default") == [
        "marginals predicts WORSE than class tables alone, clearly: by 0.050 ± 0.001."
    ]


CLASSIFIERS = ["decision-tree", "logistic-regression"]
QUICK = {"epsilons": ["0.2", "2"], "tried": {"specializations": [1]}, "runs": 2, "classifiers": CLASSIFIERS}
FEW = {"records.expected": 800}


@pytest.fixture(scope="module")
def release_plan():
    like = made_up_table(agreed(), 1200, np.random.default_rng(7))
    return plan_release(agreed(**FEW), like, **QUICK)


@pytest.fixture(scope="module")
def planned(release_plan):
    return release_plan.to_dict()


@pytest.mark.slow
def test_a_plan_repeats_what_describe_warns_of(release_plan, planned):
    """Here of a grid; as the command prints it, and in a notebook."""
    (warning,) = describe(agreed(**FEW)).warnings
    console = Console(file=StringIO(), width=1000)
    print_plan(planned, console)
    assert f"Warning: {warning}" in console.file.getvalue()
    assert "Think about" in release_plan._repr_html_()


@pytest.mark.slow
def test_a_plan_says_what_to_take_and_what_it_costs(planned):
    assert planned["data"] == "like" and planned["plan_format"] == 1
    assert (planned["training_records"], planned["test_records"]) == (800, 400)
    assert [row["epsilon"] for row in curves_of(planned)["specialization"]] == ["0.2", "1", "2"]
    assert [row["epsilon"] for row in planned["baseline"]] == ["0.2", "1", "2"]
    most = SpecializationPlan.of(agreed(**FEW, **{"mechanism.specializations": 100}))
    assert planned["limits"]["most_specializations"] == most.rounds
    assert planned["limits"]["most_cells"] == most.max_leaves * 2
    best = planned["recommendation"]
    assert best["epsilon"] == "1" and best in planned["refinements"]
    said = f'specializations = {best["specializations"]}, score = "{best["score"]}", '
    assert planned["advice"].startswith(f"{said}selection_share = {best['selection_share']} (")
    assert planned["secure_run"]["mib_sent"] > 0
    assert min(planned["raw"]["area"], best["area"]) > 0.7, "the made-up class depends on the attributes"
    first = planned["settings"][0]
    assert (first["score"], first["specializations"]) == ("max", 6), "what is agreed"
    top = max(row["area"] for row in planned["settings"])
    assert first["area"] == top or best["area"] >= top - 1e-9 or planned["as_good"], "nothing better is left out"
    assert {row["mechanism"] for row in planned["ranking"]} == {"specialization", BASELINE}
    assert "not to be published" in planned["baseline_is"]


def test_every_row_has_all_scores_with_errors_for_every_classifier(planned):
    rows = [planned["raw"], *planned["settings"], *planned["trials"], *planned["baseline"]]
    for row in rows:
        assert list(row["classifiers"]) == CLASSIFIERS
        for scores in (row, *row["classifiers"].values()):
            assert all(scores[metric] >= 0 and scores[f"{metric}_standard_error"] > 0 for metric in METRICS)
        assert all(row["distances"][f"tables_{ways}"]["value"] > 0 for ways in (1, 2, 3))
        assert all(row["distances"][what]["value"] is not None for what in ("mean", "median", "correlation"))
    assert planned["settings"][0]["distances"]["coverage"]["value"] > 0.7
    assert planned["raw"]["distances"]["tables_2"]["value"] < planned["baseline"][0]["distances"]["tables_2"]["value"]


def test_more_budget_means_less_noise_and_no_less_prediction(planned):
    curve = curves_of(planned)["specialization"]
    assert curve[0]["count_within"] > curve[1]["count_within"] > curve[2]["count_within"]
    assert curve[0]["area"] < curve[2]["area"] + 0.02


@pytest.mark.slow
def test_nothing_is_recommended_from_made_up_data():
    found = plan_release(agreed(), epsilons=["1"], tried={"specializations": [1]}, runs=1, classifiers=CLASSIFIERS[:1])
    content = found.to_dict()
    assert content["data"] == "made up" and content["recommendation"] is None and content["advice"] is None
    assert content["verdict"] == [NOTHING_FROM_MADE_UP_DATA] and not content["can_tell"]
    assert content["secure_run"]["mib_sent"] > 0, "cost and noise do not depend on values"
    assert "nothing recommended" in repr(found) and "nothing is recommended" in found._repr_html_()


@pytest.mark.slow
def test_a_small_public_table_is_drawn_from_until_there_are_as_many_as_expected():
    agreement = agreed()
    like = made_up_table(agreement, 300, np.random.default_rng(3))
    quick = {"epsilons": ["1"], "tried": {"specializations": [2]}, "runs": 1, "classifiers": CLASSIFIERS[:1]}
    found = plan_release(agreement, like, **quick).to_dict()
    assert (found["training_records"], found["test_records"], found["resampled"]) == (2000, 100, True)
    assert found["recommendation"]["area_standard_error"] is None, "one run does not tell what noise does"
    assert not found["can_tell"]


def test_data_that_cannot_be_planned_with_are_refused():
    agreement = agreed()
    like = made_up_table(agreement, 30, np.random.default_rng(3))
    with pytest.raises(EvaluationError, match="'default', the agreed class"):
        plan_release(agreement, like.drop(columns="default"))
    with pytest.raises(CopublishError, match="'age' is in the release but not in the data"):
        plan_release(agreement, like.drop(columns="age"))
    with pytest.raises(EvaluationError, match="at least 3 rows"):
        plan_release(agreement, like[:2])


def test_the_text_plot_has_every_point_where_it_belongs(planned):
    _, *lines = text_plot(planned, width=40, height=9)
    assert len(lines) == 9 + 2 + 2, "an axis, its numbers, the mechanism and the baseline"
    points = [(line, column) for line, text in enumerate(lines[:9]) for column, c in enumerate(text) if c == "●"]
    assert len(points) == 3
    areas = [row["area"] for curve in curves_of(planned).values() for row in curve]
    assert lines[0].startswith(f"{max(planned['raw']['area'], *areas):.3f}")
    assert sum("raw data" in line for line in lines) == 1
    for (_, column), place in zip(
        sorted(points, key=lambda p: p[1]), (0, 39 * math.log(5) / math.log(10), 39), strict=True
    ):
        assert abs(column - 7 - round(place)) <= 1, "or next to it, where another point is"
    text = "\n".join(lines)
    assert "BA" not in text and "LA" not in text


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_the_plot_is_drawn_and_the_same_every_time(planned, tmp_path, ending):
    first, second = tmp_path / f"a.{ending}", tmp_path / f"b.{ending}"
    draw_plan(planned, first)
    draw_plan(planned, second)
    assert first.read_bytes() == second.read_bytes()
    if ending == "svg":
        text = "".join(ElementTree.parse(first).getroot().itertext())
        assert all(words in text for words in ("raw data", "class tables alone", "epsilon", "area under the ROC curve"))


def boxes_of_texts(plan: dict) -> list:
    figure = plan_figure(plan)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    texts = [text for text in figure.findobj(Text) if text.get_text().strip() and text.get_visible()]
    return [text.get_window_extent(canvas.get_renderer()) for text in texts]


def overlaps(boxes: list) -> int:
    return sum(one.overlaps(other) for number, one in enumerate(boxes) for other in boxes[:number])


def test_no_label_of_the_plot_overlaps_another(planned, monkeypatch):
    """Budgets that nearly agree, and a long name, which wrote over each other before."""
    near = [{**row, "epsilon": epsilon} for row in planned["trials"] for epsilon in ("0.9", "0.95", "1", "1.05", "2")]
    crowded = {**planned, "trials": near, "release": "a long name " * 12}
    for plan in (planned, crowded):
        boxes = boxes_of_texts(plan)
        assert len(boxes) > 8 and overlaps(boxes) == 0
        assert all(box.x0 >= 0 and box.x1 <= 9 * 150 for box in boxes), "and none is cut off"
    monkeypatch.setattr(plots, "NEAREST_TICKS", 1.0)
    assert overlaps(boxes_of_texts(crowded)) > 0, "the check can fail"
