"""Scores of published records: against scikit-learn and loops on the same records, for every mechanism alike."""

from __future__ import annotations

import json
from collections import Counter
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from copublish import agreement_from_mapping
from copublish.errors import EvaluationError
from copublish.mechanisms.idp_ir.settings import WARNING
from copublish.tools.evaluation.baseline import ClassTables
from copublish.tools.evaluation.classification import CLASSIFIERS, SMALLEST_LEAF
from copublish.tools.evaluation.distances import mean_sse_of_sorted_columns
from copublish.tools.evaluation.published import ScoredData
from copublish.tools.evaluation.scorecard import evaluate
from copublish.tools.evaluation.scores import score
from support import fragment_frames, random_table, seeded, simulate_with, small_mapping
from support.idp_ir import idp_ir_agreement
from support.releases import small_release

PUBLIC = {"records.public": True, "privacy.neighbors": "replace"}
BY_PEOPLE = {"partition": "horizontal"} | {
    f"attributes.{name}.held_by": None for name in ("job", "region", "age", "income")
}
TREE = ["decision-tree"]

AGREEMENT = agreement_from_mapping(small_mapping())
CATEGORIES, NUMBERS, CLASS = ["job", "region"], ["age", "income"], "default"
EDGES = {"age": [28, 38, 48, 58, 68, 78, 88, 98], "income": [1, 10, 50]}
VALUES = {"job": ["cook", "clerk", "driver", "surgeon", "vet"], "region": ["north", "south", "east"]}


def table(n: int, seed: int) -> pd.DataFrame:
    return random_table(AGREEMENT, n, np.random.default_rng(seed)).drop(columns="id")


def released(frame: pd.DataFrame) -> pd.DataFrame:
    """Records as a release has them: categories with all agreed values, in agreed order."""
    values = {**VALUES, CLASS: ["no", "yes"]}
    return frame.assign(**{name: pd.Categorical(frame[name], values[name]) for name in values})


RECORDS, TEST, RAW = released(table(500, 1)), table(300, 2), table(400, 3)


@pytest.fixture(scope="module")
def scores():
    return score(ScoredData.of_records(RECORDS, AGREEMENT.columns, CLASS), TEST, RAW).to_json()


def naive_accuracy(train: pd.DataFrame, test: pd.DataFrame, classifier: str) -> float:
    """Encode by hand, train with scikit-learn, count what is right."""
    if classifier in ("decision-tree", "histogram-boosting"):
        codes = [[[VALUES[name].index(v) for v in frame[name]] for name in CATEGORIES] for frame in (train, test)]
    else:
        codes = [
            [[int(v == value) for v in frame[name]] for name in CATEGORIES for value in VALUES[name]]
            for frame in (train, test)
        ]
    scale = dict.fromkeys(NUMBERS, (0, 1))
    if classifier not in ("decision-tree", "histogram-boosting"):
        scale = {name: (train[name].mean(), train[name].std(ddof=0)) for name in NUMBERS}
    numbers = [
        [((frame[name] - scale[name][0]) / scale[name][1]).tolist() for name in NUMBERS] for frame in (train, test)
    ]
    model = {
        "decision-tree": DecisionTreeClassifier(min_weight_fraction_leaf=SMALLEST_LEAF, random_state=0),
        "logistic-regression": LogisticRegression(max_iter=2000),
        "histogram-boosting": HistGradientBoostingClassifier(early_stopping=False, random_state=0),
        "linear-svm": LinearSVC(dual=False, random_state=0),
    }[classifier]
    one, other = (np.array([*codes[i], *numbers[i]]).T for i in range(2))
    with threadpool_limits(1):
        return float(np.mean(model.fit(one, train[CLASS].astype(str)).predict(other) == test[CLASS]))


@pytest.mark.parametrize("classifier", CLASSIFIERS)
def test_every_classifier_is_trained_on_the_records_and_tested_on_the_raw_test_records(scores, classifier):
    row = scores["classification"][CLASSIFIERS.index(classifier)]
    assert row["classifier"] == classifier
    assert row["CA"] == row["CA_on_raw_values"] == pytest.approx(naive_accuracy(RECORDS, TEST, classifier))
    assert row["BA"] == pytest.approx(naive_accuracy(RAW, TEST, classifier))
    most_frequent = Counter(RECORDS[CLASS]).most_common(1)[0][0]
    assert row["LA"] == pytest.approx(sum(value == most_frequent for value in TEST[CLASS]) / len(TEST))
    assert row["BA_minus_CA"] == pytest.approx(row["BA"] - row["CA"])
    assert row["CA_minus_LA"] == pytest.approx(row["CA"] - row["LA"])
    assert row["CA"] != row["BA"], "other records train another classifier: the comparison can fail"


def cell(name: str, value: object) -> object:
    return sum(value >= edge for edge in EDGES[name]) if name in EDGES else value


@pytest.mark.parametrize("ways", [1, 2, 3])
def test_marginals_are_compared_on_the_agreed_grid(scores, ways):
    distances = {}
    for names in combinations(AGREEMENT.columns, ways):
        shares = []
        for frame in (RECORDS, RAW):
            cells = Counter(tuple(map(cell, names, row)) for row in frame[list(names)].itertuples(index=False))
            shares.append({key: count / len(frame) for key, count in cells.items()})
        both = shares[0].keys() | shares[1].keys()
        distances[names] = sum(abs(shares[0].get(key, 0) - shares[1].get(key, 0)) for key in both) / 2
    found = scores["marginals"]["agreed_values"][f"{ways}-way"]
    assert found["marginals"] == len(distances)
    assert found["mean"] == pytest.approx(sum(distances.values()) / len(distances))
    assert found["largest"] == pytest.approx(max(distances.values())) == pytest.approx(distances[tuple(found["worst"])])
    assert set(scores["marginals"]) == {"compared_with", "agreed_values"}


def test_numbers_are_compared_as_they_are(scores):
    ranks = [frame[NUMBERS].rank().corr().iloc[0, 1] for frame in (RECORDS, RAW)]
    assert scores["numbers"]["rank_correlation_error"] == pytest.approx(abs(ranks[0] - ranks[1]))
    assert scores["numbers"]["mean_sse_of_generalization"] is None, "nothing was generalized"
    # 500 and 400 records, each written down so often that there are 2,000 of both.
    total = 0.0
    for name in NUMBERS:
        mean = sum(RAW[name]) / len(RAW)
        variance = sum((value - mean) ** 2 for value in RAW[name]) / len(RAW)
        one = sorted(value for value in RECORDS[name] for _ in range(4))
        other = sorted(value for value in RAW[name] for _ in range(5))
        total += sum((a - b) ** 2 for a, b in zip(one, other, strict=True)) / len(one) / variance
        earth_moved = sum(abs(a - b) for a, b in zip(one, other, strict=True)) / len(one) / variance**0.5
        assert scores["numbers"]["wasserstein_in_standard_deviations"][name] == pytest.approx(earth_moved)
    assert scores["numbers"]["mean_sse_of_sorted_columns"] == pytest.approx(total / 4)


def test_sorted_columns_without_spread_or_values_add_nothing():
    frame = pd.DataFrame({"flat": [3.0, 3, 3], "empty": [np.nan] * 3, "number": [1.0, 2, np.nan]})
    assert mean_sse_of_sorted_columns(frame, frame.iloc[::-1], list(frame)) == 0
    assert mean_sse_of_sorted_columns(frame, frame, []) is None


def test_the_data_themselves_have_no_error():
    perfect = score(ScoredData.of_records(RAW, AGREEMENT.columns, CLASS), TEST, RAW, classifiers=TREE).to_json()
    assert perfect["classification"][0]["BA_minus_CA"] == 0
    assert all(errors["largest"] == 0 for errors in perfect["marginals"]["agreed_values"].values())
    assert perfect["numbers"]["mean_wasserstein"] == perfect["numbers"]["mean_sse_of_sorted_columns"] == 0


def test_of_a_number_the_interval_of_the_agreed_grid_is_predicted():
    found = score(ScoredData.of_records(RECORDS, AGREEMENT.columns, "income"), TEST, classifiers=TREE).to_json()
    most_frequent = Counter(cell("income", value) for value in RECORDS["income"]).most_common(1)[0][0]
    right = [cell("income", value) == most_frequent for value in TEST["income"]]
    assert found["classification"][0]["LA"] == pytest.approx(sum(right) / len(right))
    assert found["classification"][0]["BA"] is None


@pytest.fixture(scope="module")
def releases():
    """A release of every mechanism that publishes records, and the table it was made from."""
    generator, agreement = np.random.default_rng(5), idp_ir_agreement("vertical")
    people = random_table(agreement, 200, generator)
    frames = fragment_frames(agreement, people, generator)
    return {
        "marginals": small_release(200, mechanism={"name": "marginals"}),
        "copula": small_release(200, mechanism={"name": "copula"}),
        "hpdp": small_release(200, mechanism={"name": "hpdp"}, **BY_PEOPLE),
        "vhdp": small_release(200, mechanism={"name": "vhdp"}, **PUBLIC),
        "idp-ir": (simulate_with(agreement, frames, seeded(agreement.party_names, 1)), people),
    }


MECHANISMS = ["marginals", "copula", "hpdp", "vhdp", "idp-ir"]


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_release_is_scored_as_its_records_and_twice_alike(releases, mechanism):
    release, people = releases[mechanism]
    assert release.mechanism.name == mechanism
    found, again = (evaluate(release, people[:80], raw=people[80:], classifiers=TREE).to_dict() for _ in range(2))
    assert json.dumps(found) == json.dumps(again)
    published = ScoredData.of_records(release.records.to_pandas(), AGREEMENT.columns, CLASS)
    baseline = ClassTables.beside_release(release.certificate, AGREEMENT.columns)
    assert (baseline is None) == (mechanism == "idp-ir"), "there is no budget to give to it"
    expected = score(published, people[:80], people[80:], classifiers=TREE, baseline=baseline).to_json()
    for part in ("classification", "marginals", "numbers"):
        assert json.dumps(found[part]) == json.dumps(expected[part]), part
    assert found["published"] == "records" and found["target"] == CLASS and found["trained_on"] == "release"
    assert ("warning" in found) == (mechanism == "idp-ir")


def test_scores_of_what_is_not_private_say_that_first(releases):
    release, people = releases["idp-ir"]
    assert next(iter(evaluate(release, people, classifiers=TREE).to_dict().items())) == ("warning", WARNING)


def refusal(*arguments, **options) -> str:
    with pytest.raises(EvaluationError) as caught:
        evaluate(*arguments, **options)
    assert "SECRET" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_what_does_not_fit_is_said_clearly(releases, mechanism):
    release, people = releases[mechanism]
    assert "no column 'salary'" in refusal(release, people, target="salary")
    assert "'age' is in the release but not in the data" in refusal(release, people.drop(columns="age"))
    assert "no column 'default', the class" in refusal(release, people.drop(columns="default"))
    assert "not in the agreed list" in refusal(release, people.assign(job="SECRET"), strict=True)
    assert "outside the agreed bounds" in refusal(release, people.assign(age=120), strict=True)
    assert "test data have no rows" in refusal(release, people[:0])
    assert "Use --train-on release" in refusal(release, people, raw=people, train_on="generalized")


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_record_without_a_listed_class_is_what_a_run_makes_of_it(releases, mechanism):
    """Where every record is published its class is the first listed one; elsewhere it counts nowhere."""
    release, people = releases[mechanism]
    odd = people.copy()
    odd.loc[odd.index[:5], "default"] = "SECRET"
    found = evaluate(release, odd, classifiers=TREE)
    (rule,) = found.rules["test"]
    publishes_each_record = mechanism in ("vhdp", "idp-ir")
    assert (rule.rows, rule.rule) == (5, "unlisted" if publishes_each_record else "null class")
    assert found.to_dict()["test_records"] == len(people) - (0 if publishes_each_record else 5)


@pytest.mark.slow
def test_any_column_is_a_target_unless_records_were_drawn_for_a_class(releases):
    for mechanism, (release, people) in releases.items():
        if mechanism == "hpdp":
            assert "Use --target default" in refusal(release, people, target="job")
            continue
        for target, is_interval in (("job", False), ("age", True)):
            found = evaluate(release, people, target=target, classifiers=TREE).to_dict()
            assert (found["target"], found["target_is_interval"]) == (target, is_interval)


@pytest.mark.slow
def test_missing_values_are_read_as_the_agreement_spells_them():
    spelled = {"attributes.region.missing": "category", "records.missing_spellings": ["", "unknown"]}
    release, people = small_release(200, mechanism={"name": "copula"}, **spelled)
    people.loc[::4, "region"] = "unknown"
    found = evaluate(release, people, classifiers=TREE)
    people.loc[::4, "region"] = None
    assert evaluate(release, people, classifiers=TREE) == found
    people.loc[::4, "region"] = "?"  # which is none of the agreed texts
    assert [(rule.column, rule.rule) for rule in evaluate(release, people).rules["test"]] == [("region", "unlisted")]
