"""The section [budget]: what is wrong is said, with what to write instead; agreements without it keep their hash."""

from __future__ import annotations

from typing import Any

import pytest

import copublish as cp
from copublish.errors import AgreementError
from copublish.release.describe import describe
from support import repartition, small_mapping

WEIGHTS = {"job": 1, "region": 2, "age": "0.5", "income": 1, "default": 3}
REPLACE = {"records.public": True, "privacy.neighbors": "replace"}


def mapping_with(budget: dict[str, Any], mechanism: str = "copula", **changes: Any) -> dict[str, Any]:
    return small_mapping(mechanism={"name": mechanism}, budget=budget, **REPLACE, **changes)


@pytest.mark.parametrize("mechanism", ["copula", "vhdp"])
@pytest.mark.parametrize(
    ("budget", "message"),
    [
        ({"allocation": "weights", "weights": {**WEIGHTS, "age": -1}}, "budget.weights.age: a weight is a number from"),
        ({"allocation": "weights", "weights": dict.fromkeys(WEIGHTS, 0)}, "got 0: the larger, the larger the column's"),
        (
            {"allocation": "weights", "weights": {"age": 2}},
            "no weight: 'job', 'region', 'income', 'default'. Name every",
        ),
        ({"allocation": "weights"}, "these columns have no weight: 'job'"),
        ({"allocation": "weights", "weights": {**WEIGHTS, "agee": 2}}, "budget.weights.agee: there is no such column"),
        ({"allocation": "weights", "weights": {**WEIGHTS, "age": True}}, "write a number, not true or false"),
        ({"weights": WEIGHTS}, 'budget.weights: it means nothing to allocation = "uniform"'),
        ({"allocation": "weights", "weights": WEIGHTS, "label": "age"}, 'or write allocation = "use-informative"'),
        (
            {"allocation": "use-informative", "label": "wealth"},
            "budget.label: there is no column 'wealth'. Columns: 'job'",
        ),
        ({"allocation": "use-informative", "share": 1}, "budget.share: must be at most 0.99, got 1"),
        ({"allocation": "gain"}, "budget.allocation: 'gain' is not one of 'uniform', 'weights' or 'use-informative'"),
        ({"alocation": "weights"}, "budget.alocation: there is no such key; did you mean 'allocation'?"),
    ],
)
def test_what_is_wrong_is_said(mechanism: str, budget: dict[str, Any], message: str) -> None:
    with pytest.raises(AgreementError) as raised:
        cp.agreement_from_mapping(mapping_with(budget, mechanism))
    assert message in str(raised.value)


def test_a_mechanism_that_does_not_spend_per_column_refuses_the_section() -> None:
    with pytest.raises(AgreementError, match="'specialization' does not spend column by column"):
        cp.agreement_from_mapping(mapping_with({"allocation": "weights", "weights": WEIGHTS}, "specialization"))


@pytest.mark.parametrize("mechanism", ["copula", "vhdp"])
def test_gains_need_noise_that_nobody_knows(mechanism: str) -> None:
    mapping = mapping_with({"allocation": "use-informative"}, mechanism, engine={"name": "masked-sum"})
    with pytest.raises(AgreementError, match="opens tables first with noise that nobody knows"):
        cp.agreement_from_mapping(repartition(mapping, "horizontal"))


def test_equal_meanings_have_one_hash() -> None:
    plain = cp.agreement_from_mapping(small_mapping(mechanism={"name": "copula"}))
    said = cp.agreement_from_mapping(small_mapping(mechanism={"name": "copula"}, budget={"allocation": "uniform"}))
    assert plain.hash == said.hash
    one = cp.agreement_from_mapping(mapping_with({"allocation": "weights", "weights": WEIGHTS}))
    backwards = {name: WEIGHTS[name] for name in reversed(WEIGHTS)}
    assert one.hash == cp.agreement_from_mapping(mapping_with({"allocation": "weights", "weights": backwards})).hash
    other = {**WEIGHTS, "age": "0.6"}
    assert one.hash != cp.agreement_from_mapping(mapping_with({"allocation": "weights", "weights": other})).hash


@pytest.mark.parametrize("mechanism", ["copula", "vhdp"])
def test_270_records_are_too_few_to_divide_by_information_gain_and_30000_are_enough(mechanism: str) -> None:
    for expected, is_useless in ((270, True), (30_000, False)):
        mapping = mapping_with({"allocation": "use-informative"}, mechanism)
        mapping["records"]["expected"] = expected
        warnings = " ".join(describe(cp.agreement_from_mapping(mapping)).warnings)
        assert ("useless at this size" in warnings) is is_useless
