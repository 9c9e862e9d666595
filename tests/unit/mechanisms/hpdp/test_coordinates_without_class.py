"""hpdp without a class: its sensitivities on every record of small schemas, and what its records keep."""

from __future__ import annotations

import itertools
import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

import copublish as cp
import copublish.mechanisms.hpdp.coordinates as moments
from copublish.mechanisms.hpdp.coordinates import CLASS_WEIGHT, UNIT, Coordinates
from copublish.mechanisms.hpdp.run import local_sums
from copublish.party.local.simulation import read_fragments
from copublish.release.measurements import measurements_json
from copublish.release.report.page import report_page
from support import no_noise, repartition, simulate_with, small_mapping

LEAST_TIGHT = 0.7
"""Of a bound for replace: what two of the records move, at least."""

NUMBER = {"kind": "numerical", "bounds": [0, 3], "grid": {"edges": [1]}}
TWO, THREE = ({"kind": "categorical", "values": values} for values in (["u", "v"], ["u", "v", "w"]))

SCHEMAS: list[dict[str, dict[str, Any]]] = [
    {"a": NUMBER, "b": NUMBER},
    {"a": NUMBER | {"missing": "category"}, "b": TWO},
    {"a": NUMBER, "b": THREE},
    {"a": NUMBER, "b": TWO, "c": THREE | {"missing": "category"}},
    {"a": NUMBER, "b": NUMBER | {"missing": "category"}, "c": THREE},
]


@pytest.fixture(params=[1, 3])
def weight(request, monkeypatch) -> int:
    """The formulas hold for any weight, whichever is in use."""
    monkeypatch.setattr(moments, "CLASS_WEIGHT", request.param)
    return request.param


def agreed(attributes: dict[str, dict[str, Any]], **changes: Any) -> cp.Agreement:
    mapping = small_mapping(
        mechanism={"name": "hpdp"}, attributes=attributes, **{"class": None, "records.identifier": None, **changes}
    )
    return cp.agreement_from_mapping(repartition(mapping, "horizontal"))


def every_record(attributes: dict[str, dict[str, Any]]) -> pd.DataFrame:
    values = [
        [*(map(str, range(4)) if one["kind"] == "numerical" else one["values"]), *(["?"] * ("missing" in one))]
        for one in attributes.values()
    ]
    return pd.DataFrame(list(itertools.product(*values)), columns=list(attributes))


def sums_of_each(agreement: cp.Agreement, coordinates: Coordinates, records: pd.DataFrame, public: bool) -> np.ndarray:
    whole = read_fragments(agreement, {"p0": records, "p1": records.iloc[:0]})["p0"]
    each = [whole.take(np.array([row])) for row in range(len(records))]
    sums = [local_sums(coordinates, one, total_is_public=public).ravel() for one in each]
    return np.array(sums).astype(object)  # whole numbers of any size


@pytest.mark.parametrize("attributes", SCHEMAS)
@pytest.mark.parametrize("public", [False, True])
def test_every_record_stays_within_the_sensitivities_and_add_remove_is_attained(attributes, public, weight):
    agreement = agreed(attributes)
    coordinates = Coordinates(agreement.columns, has_class=False)
    sums = sums_of_each(agreement, coordinates, every_record(attributes), public)
    assert len(sums[0]) == coordinates.n_sums(total_is_public=public)
    l1, l2 = (f(total_is_public=public) for f in (coordinates.l1_sensitivity, coordinates.squared_l2_sensitivity))
    assert np.abs(sums).sum(axis=1).max() == l1["add-remove"]
    assert (sums * sums).sum(axis=1).max() == l2["add-remove"]
    assert np.abs(sums).max() <= UNIT**2 * weight  # which is what the engine makes room for
    replaced = [other - one for one in sums for other in sums]
    assert l1["replace"] * LEAST_TIGHT < max(np.abs(change).sum() for change in replaced) <= l1["replace"]
    assert l2["replace"] * LEAST_TIGHT < max((change * change).sum() for change in replaced) <= l2["replace"]


def test_with_the_last_column_as_a_class_more_is_summed_so_those_sensitivities_are_others():
    """The check can fail: what is right without a class is too little for sums that have one."""
    columns = agreed(SCHEMAS[3]).columns
    without, with_class = Coordinates(columns, has_class=False), Coordinates(columns)
    for public in (False, True):
        assert len(without.pairs[0]) < len(with_class.pairs[0])
        one, other = (own.l1_sensitivity(total_is_public=public) for own in (without, with_class))
        assert one["add-remove"] < other["add-remove"] and one["replace"] < other["replace"]


def test_products_with_cells_are_summed_with_no_other_column_and_only_counts_are_weighted():
    coordinates = Coordinates(agreed(SCHEMAS[4]).columns, has_class=False)
    assert (coordinates.class_name, coordinates.class_place) == (None, slice(0, 0))
    first, second = coordinates.pairs
    of_cells = second >= coordinates.n_linked
    assert (first[of_cells] == second[of_cells]).all() and of_cells.sum() == 2 + 3
    weighted = {(int(i), int(j)) for i, j in zip(first, second, strict=True) if coordinates.weights[i, j] > 1}
    assert weighted == {(i, i) for i in range(coordinates.n_centered, coordinates.size)}
    assert set(coordinates.weights[coordinates.pairs].tolist()) == {1, CLASS_WEIGHT}


def bills(n: int, generator: np.random.Generator) -> pd.DataFrame:
    """Two numbers that go together, a skewed one that does not, and a group that goes with the first."""
    behind = generator.normal(size=(n, 3))
    first = np.clip(50 + 15 * behind[:, 0], 0, 99)
    return pd.DataFrame(
        {
            "first": first.round(),
            "second": np.clip(50 + 12 * behind[:, 0] + 9 * behind[:, 1], 0, 99).round(),
            "skewed": np.clip(np.exp(1 + behind[:, 2]), 0, 99).round(),
            "group": np.where(first > 60, "high", np.where(first > 40, "middle", "low")),
        }
    )


BILLS: dict[str, dict[str, Any]] = {
    name: {"kind": "numerical", "bounds": [0, 99], "decimals": 0, "grid": {"step": 5}}
    for name in ("first", "second", "skewed")
} | {"group": {"kind": "categorical", "values": ["low", "middle", "high"]}}


def test_without_noise_numbers_keep_their_cells_and_go_together_as_the_data_do():
    agreement = agreed(BILLS)
    table = bills(4000, np.random.default_rng(3))
    release = simulate_with(
        agreement, {"p0": table.iloc[:1500], "p1": table.iloc[1500:]}, no_noise(agreement.party_names)
    )
    records = release.records.to_pandas()
    assert list(records.columns) == list(BILLS) and len(records) == len(table)
    for name in ("first", "second", "skewed"):
        edges = np.arange(0, 101, 5)
        true, found = (np.histogram(frame[name], edges)[0] for frame in (table, records))
        # Cells at the ends with few records stay empty, because noise could have made them; others get those.
        assert np.abs(true - found).sum() <= 0.01 * len(table)
    numbers = ["first", "second", "skewed"]
    assert np.abs(records[numbers].corr() - table[numbers].corr()).to_numpy().max() < 0.1
    shares = [frame["group"].value_counts(normalize=True).sort_index() for frame in (table, records)]
    assert np.abs(shares[0] - shares[1]).max() < 0.01
    means = [frame.groupby("group")["first"].mean() for frame in (table, records)]
    assert means[1]["high"] - means[1]["low"] > 0.4 * (means[0]["high"] - means[0]["low"])  # a factor for each


def test_a_release_says_that_it_has_no_class_and_nothing_about_one():
    agreement = agreed(BILLS, **{"privacy.epsilon": 5})
    table = bills(4000, np.random.default_rng(4))
    release = simulate_with(agreement, {"p0": table.iloc[:200], "p1": table.iloc[200:]}, no_noise(("p0", "p1")))
    assert measurements_json(release.published)["has_class"] is False
    assert release.published.columns.class_name is None
    assert not any("class" in disclosure.what for disclosure in release.certificate.disclosures)
    assert "class" not in release.files()["README.md"].decode()
    page = report_page(release)
    assert "in every class" not in page and "the class is in" not in page
    assert "share_error_with_class" not in json.dumps(cp.describe(agreement).to_dict())
    assert release.mean("first").value == pytest.approx(table["first"].mean(), abs=2.5)
    with pytest.raises(
        cp.ReleaseError, match=r"Nothing was measured that has 'first' and 'group' together.* for a correlation"
    ):
        release.mean("first", among={"group": "low"})
    assert release.correlation("first", "second").value > 0.5
