"""Plans of agreements without a class: a column stands in for it, and the plan says so."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

import copublish as cp
from copublish.cli.plan_command import print_plan
from copublish.errors import EvaluationError
from copublish.tools.planning.advice import plan_release
from copublish.tools.planning.trials import predicted_column, variants_of
from support import repartition, small_mapping


def agreed(**changes: object) -> cp.Agreement:
    mapping = small_mapping(mechanism={"name": "copula"}, **{"records.expected": 300, **changes})
    return cp.agreement_from_mapping(repartition(mapping, "horizontal"))


def test_the_class_is_predicted_and_without_one_the_named_column_or_the_last():
    without, with_class = agreed(**{"class": None}), agreed()
    assert predicted_column(with_class) == predicted_column(with_class, "default") == "default"
    assert predicted_column(without) == "income" and predicted_column(without, "region") == "region"
    with pytest.raises(EvaluationError, match="The agreement has the class 'default', which its plan predicts"):
        predicted_column(with_class, "region")
    with pytest.raises(EvaluationError, match="There is no column 'town' to predict"):
        predicted_column(without, "town")


def test_mechanisms_that_need_a_class_are_not_tried_without_one():
    found, refused = variants_of(agreed(**{"class": None}), ["all"])
    assert {"copula", "marginals", "hpdp"} <= set(found)
    (problem,) = refused["specialization"]
    assert problem.startswith("class: it is missing, and the mechanism 'specialization' predicts it")


@pytest.mark.slow
@pytest.mark.parametrize("target", [None, "region"])
def test_a_plan_without_a_class_ranks_by_a_column_and_says_which(target):
    plan = plan_release(agreed(**{"class": None}), epsilons=["1"], runs=2, target=target, classifiers=["decision-tree"])
    told = plan.to_dict()
    assert (told["target"], told["target_is_class"]) == (target or "income", False)
    assert told["trials"][0]["area"] > 0 and told["baseline"][0]["area"] is not None
    shown = io.StringIO()
    print_plan(told, Console(file=shown, width=200))
    assert f"The agreement has no class: '{target or 'income'}' stands in for one." in shown.getvalue()
