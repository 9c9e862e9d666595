"""Plans: data split as the agreement says, trials that differ, the advice that follows from them, plots."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from copublish import agreement_from_mapping
from copublish.errors import CopublishError, EvaluationError
from copublish.mechanisms.shared.tuning import Setting
from copublish.mechanisms.specialization.plan import SpecializationPlan
from copublish.mechanisms.specialization.tuning import SpecializationTuning
from copublish.planning.advice import best_refinement, best_trial, plan_release
from copublish.planning.curves import curves_of
from copublish.planning.plots import draw_plan, text_plot
from copublish.planning.tables import as_fragments, made_up_table, read_like
from copublish.planning.trials import Scores, Trial, TrialGround, try_setting
from support import repartition, small_mapping

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
    ground = TrialGround(agreement, table[:900], table[900:].reset_index(drop=True), generator)
    trial = try_setting(ground, agreement, setting("2", 4), runs=3)
    ba, la = ground.baselines()
    assert min(ba, trial.scores.accuracy) > la + 0.1, "the made-up class depends on the attributes"
    assert (trial.mechanism, trial.epsilon, trial.noise) == ("specialization", "2", None)
    told = trial.described()
    assert told["rounds"] == 4 and told["note"] == "h = 4" and told["curve"] == "score max"
    assert told["specializations"] == 4 and told["selection_share"] == "0.4"
    assert trial.scores.standard_error < 0.1


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


def trial(accuracy: float, rounds: int, error: float = 0.001, share: str = "0.4") -> Trial:
    measured = {"rounds": rounds, "cells": 8.0, "count_within": 5, "selection_scale": 1.0}
    return Trial(
        mechanism="specialization",
        setting=setting("1", rounds, share),
        scores=Scores(accuracy=accuracy, standard_error=error, marginal_error=0.1),
        measured=measured,
        noise=None,
        release=None,
    )


def rounds_of_best(*trials: Trial) -> int:
    return best_trial(trials, lambda trial: SpecializationTuning().complexity(trial.described())).measured["rounds"]


def test_advice_takes_the_fewest_rounds_that_are_not_clearly_worse():
    assert rounds_of_best(trial(0.80, 2), trial(0.829, 4), trial(0.83, 9)) == 4
    assert rounds_of_best(trial(0.80, 2), trial(0.82, 4), trial(0.83, 9)) == 9
    assert rounds_of_best(trial(0.80, 2), trial(0.82, 4), trial(0.83, 9, error=0.02)) == 4
    assert rounds_of_best(trial(0.80, 2, math.nan), trial(0.9, 3, math.nan)) == 3


def test_the_split_of_the_budget_changes_only_for_a_clear_gain():
    first, better = trial(0.80, 4), trial(0.82, 4, share="0.25")
    assert best_refinement([first, better]) is better
    assert (
        best_refinement([first, replace(better, scores=Scores(accuracy=0.82, standard_error=0.02, marginal_error=0.1))])
        is first
    )


@pytest.fixture(scope="module")
def planned():
    return plan_release(agreed(), epsilons=["0.2", "2"], tried={"specializations": [1, 4]}, runs=2).to_dict()


def test_a_plan_says_what_to_take_and_what_it_costs(planned):
    assert planned["data"] == "made up"
    assert planned["training_records"] == 2000
    assert {row["epsilon"] for row in planned["trials"]} == {"0.2", "1", "2"}
    assert planned["recommendation"]["epsilon"] == "1"
    most = SpecializationPlan.of(agreed(**{"mechanism.specializations": 100}))
    assert planned["plan_format"] == 3
    assert planned["limits"]["most_specializations"] == most.rounds
    assert planned["limits"]["most_cells"] == most.max_leaves * 2
    assert f"at most {most.rounds} specializations" in planned["limits"]["words"]
    best = planned["recommendation"]
    said = f'specializations = {best["specializations"]}, score = "{best["score"]}", '
    assert planned["advice"] == f"{said}selection_share = {best['selection_share']}"
    assert planned["secure_run"]["mib_sent"] > 0
    assert min(planned["BA"], planned["recommendation"]["accuracy"]) > planned["LA"] + 0.1
    shares = [row["selection_share"] for row in planned["refinements"]]
    assert shares[0] == "0.4" and sorted(shares) == ["0.25", "0.4", "0.5"]
    assert best in planned["refinements"]
    assert all(row["curve"] == f"score {row['score']}" for row in planned["trials"])
    assert all(row["note"] == f"h = {row['rounds']}" for row in planned["trials"])


def test_more_budget_means_less_noise_and_no_less_accuracy(planned):
    curve = curves_of(planned)["score max"]
    assert [row["epsilon"] for row in curve] == ["0.2", "1", "2"]
    assert curve[0]["count_within"] > curve[1]["count_within"] > curve[2]["count_within"]
    assert curve[0]["accuracy"] < curve[2]["accuracy"] + 0.02


def test_a_small_public_table_is_drawn_from_until_there_are_as_many_as_expected():
    agreement = agreed()
    like = made_up_table(agreement, 300, np.random.default_rng(3))
    found = plan_release(agreement, like, epsilons=["1"], tried={"specializations": [2]}, runs=1).to_dict()
    assert (found["training_records"], found["test_records"], found["resampled"]) == (2000, 100, True)
    assert found["recommendation"]["standard_error"] is None


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
    lines = text_plot(planned, width=40, height=9)
    assert len(lines) == 9 + 2 + 3, "an axis, its numbers and a line for each score"
    points = [(line, column) for line, text in enumerate(lines[:9]) for column, c in enumerate(text) if c == "●"]
    assert len(points) == 3
    highest = max(planned["BA"], *(row["accuracy"] for curve in curves_of(planned).values() for row in curve))
    assert lines[0].startswith(f"{highest:.3f}")
    assert sum("LA" in line for line in lines) == sum("BA" in line for line in lines) == 1
    top = {column: line for line, column in points}
    assert sorted(top) == [7, 7 + round(39 * math.log(5) / math.log(10)), 7 + 39]


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_the_plot_is_drawn_and_the_same_every_time(planned, tmp_path, ending):
    first, second = tmp_path / f"a.{ending}", tmp_path / f"b.{ending}"
    draw_plan(planned, first)
    draw_plan(planned, second)
    assert first.read_bytes() == second.read_bytes()
    if ending == "svg":
        text = "".join(ElementTree.parse(first).getroot().itertext())
        assert all(words in text for words in ("BA: raw data", "LA: largest class", "epsilon", "h = "))
