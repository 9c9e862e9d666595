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
        (
            {"allocation": "gain"},
            "budget.allocation: 'gain' is not one of 'uniform', 'weights', 'use-informative' or 'protect-informative'",
        ),
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


PROTECT = {"allocation": "protect-informative"}


@pytest.mark.parametrize(
    ("budget", "message"),
    [
        ({**PROTECT, "groups": 3, "group_weights": [1, 2]}, "budget.group_weights: these are 2 weights for 3 groups"),
        ({**PROTECT, "groups": 5}, "budget.groups: 5 groups, and 4 columns beside the label. Every group needs"),
        ({**PROTECT, "group_weights": [1, 2, 3, 4, 5]}, "budget.group_weights: 5 groups, and 4 columns beside"),
        ({**PROTECT, "group_weights": []}, "write one weight for every group, like [0.25, 0.5, 1]"),
        ({**PROTECT, "group_weights": [1, "0.5"]}, "Write them in rising order: [0.5, 1]. To give informative"),
        ({**PROTECT, "group_weights": [0, 1]}, "a weight is a number from"),
        ({**PROTECT, "groups": 0}, "budget.groups: must be at least 1, got 0"),
        ({**PROTECT, "groups": "3"}, "budget.groups: write a whole number without quotes, got '3'"),
        ({**PROTECT, "label": "wealth"}, "budget.label: there is no column 'wealth'"),
        ({**PROTECT, "weights": WEIGHTS}, 'budget.weights: it means nothing to allocation = "protect-informative"'),
        ({"groups": 3}, 'means nothing to allocation = "uniform". Remove it, or write allocation = "protect-inf'),
        ({"label": "age"}, 'or write allocation = "use-informative" or "protect-informative"'),
    ],
)
def test_groups_that_do_not_fit_are_refused(budget: dict[str, Any], message: str) -> None:
    with pytest.raises(AgreementError) as raised:
        cp.agreement_from_mapping(mapping_with(budget, "vhdp"))
    assert message in str(raised.value)


def test_protecting_informative_columns_is_for_a_mechanism_that_publishes_every_record() -> None:
    with pytest.raises(AgreementError, match=r"'copula' opens sums over many people only\. It is for 'vhdp'"):
        cp.agreement_from_mapping(mapping_with(PROTECT))


@pytest.mark.parametrize("allocation", ["use-informative", "protect-informative"])
def test_one_column_in_all_is_refused_before_anything_runs(allocation: str) -> None:
    mapping = repartition(mapping_with({"allocation": allocation}, "vhdp"), "horizontal")
    mapping["attributes"] = {"age": mapping["attributes"]["age"]}
    cp.agreement_from_mapping(mapping)
    del mapping["class"]
    with pytest.raises(AgreementError, match=r"'age' is the only column\. Remove the section"):
        cp.agreement_from_mapping(mapping)


@pytest.mark.parametrize("allocation", ["use-informative", "protect-informative"])
def test_masked_sums_count_tables_of_whole_rows_only(allocation: str) -> None:
    mapping = mapping_with({"allocation": allocation}, "vhdp", engine={"name": "masked-sum"})
    agreement = cp.agreement_from_mapping(repartition(mapping, "horizontal"))
    assert agreement.need == "sums" and agreement.mechanism.needs("horizontal") == "own values"
    with pytest.raises(AgreementError, match="which different owners hold, and the engine 'masked-sum' adds up"):
        cp.agreement_from_mapping(repartition(mapping, "vertical"))


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
