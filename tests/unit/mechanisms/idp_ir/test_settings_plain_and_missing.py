"""Plain iDP (k = 1), and rows with missing values that their owner leaves out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import copublish as cp
from copublish.errors import AgreementError, FragmentError
from copublish.mechanisms.idp_ir.run_microaggregation import cluster_sizes, sensitivities
from copublish.mechanisms.idp_ir.settings import WARNING, WARNING_WITHOUT_CLUSTERS
from copublish.rows.reading import read_and_look
from support import fragment_frames, no_noise, random_table, seeded, simulate_with
from support.idp_ir import idp_ir_agreement, idp_ir_mapping

pytestmark = pytest.mark.filterwarnings("ignore:THIS IS NOT DIFFERENTIAL PRIVACY")
COLUMNS = ("job", "region", "age", "income", "default")


def data(agreement, n=61):
    generator = np.random.default_rng(3)
    table = random_table(agreement, n, generator)
    return table, fragment_frames(agreement, table, generator)


def rows_of(frame):
    return sorted(map(tuple, frame[list(COLUMNS)].astype(str).to_numpy()))


# --- plain iDP ---


@pytest.mark.parametrize("partition", ["horizontal", "vertical"])
@pytest.mark.parametrize("order", ["schema", "frequency"])
def test_plain_idp_without_noise_is_the_data(partition, order):
    agreement = idp_ir_agreement(partition, k=1, category_order=order)
    table, frames = data(agreement)
    released = simulate_with(agreement, frames, no_noise(agreement.party_names)).to_pandas()
    assert rows_of(released) == rows_of(table.astype({"age": int, "income": int}))


@pytest.mark.parametrize("kind", ["vector", "fixed", "global"])
def test_records_with_one_value_get_noise_of_their_own(kind):
    agreement = idp_ir_agreement("vertical", k=1, local_sensitivity=kind)
    table = data(agreement, 300)[0].assign(age=[20] * 299 + [60])
    frames = fragment_frames(agreement, table, np.random.default_rng(1))
    published = simulate_with(agreement, frames, seeded(agreement.party_names, 1)).to_pandas()["age"]
    assert published.nunique() > 20, "with clusters all but a few of 300 records would have one value"


@pytest.mark.parametrize("values", [[0, 0, 3, 9], [4, 4, 4, 5], [0, 5, 9, 9], [2, 3, 3, 3]])
def test_the_exact_sensitivity_of_plain_idp_is_the_largest_move_of_one_record(values):
    """By brute force: one record moves, and no other published value does."""
    moves = [abs(value - other) for value in values for other in range(10)]
    sizes = cluster_sizes(4, k=1)
    assert set(sensitivities("vector", np.sort(values), sizes, low=0, high=9)) == {max(moves)}


def test_what_is_said_of_plain_idp_names_no_clusters():
    agreement = idp_ir_agreement("horizontal", k=1)
    release = simulate_with(agreement, data(agreement)[1], seeded(agreement.party_names, 2))
    assert release.certificate.warning == WARNING_WITHOUT_CLUSTERS == release.published.model.warning
    assert release.records.schema.metadata[b"warning"].decode() == WARNING_WITHOUT_CLUSTERS
    words = [*release.certificate.not_protected, *(said.what for said in release.certificate.disclosures)]
    assert not [sentence for sentence in words if "cluster" in sentence]
    assert {said.epsilon["replace"] for said in release.certificate.disclosures} == {"unbounded"}
    note, _ = release.published.model.notes  # the second one quotes the agreement
    assert "plain iDP" in note and "cluster" not in note


def test_with_clusters_the_warning_stays_what_it_was():
    agreement = idp_ir_agreement("horizontal")
    release = simulate_with(agreement, data(agreement)[1], seeded(agreement.party_names, 2))
    assert release.certificate.warning == WARNING == release.published.model.warning
    assert any("Clusters have" in note for note in release.published.model.notes)


def test_plain_idp_has_to_be_acknowledged_as_well():
    with pytest.raises(AgreementError, match="acknowledge"):
        idp_ir_agreement("horizontal", k=1, acknowledge=None)


# --- missing values ---


def dropping(partition="horizontal", **columns):
    mapping = idp_ir_mapping(partition, 2, drop_missing=True)
    for column, missing in columns.items():
        mapping["attributes"][column]["missing"] = missing
    return mapping


def test_owners_leave_out_rows_with_a_missing_value_and_all_others_are_published():
    agreement = cp.agreement_from_mapping(plain())
    _, frames = data(agreement)
    frames["p0"] = frames["p0"].astype({"age": float}).reset_index(drop=True)
    frames["p0"].loc[[0, 4], "age"] = None
    frames["p0"].loc[[4, 7], "job"] = "?"
    complete = pd.concat([frames["p0"].drop(index=[0, 4, 7]), frames["p1"]])
    released = simulate_with(agreement, frames, no_noise(agreement.party_names)).to_pandas()
    assert rows_of(released) == rows_of(complete.astype({"age": int, "income": int}))


def plain():
    mapping = dropping(age="category", job="category")
    mapping["mechanism"]["k"] = 1
    return mapping


def test_noise_does_not_publish_the_missing_category_of_rows_that_are_left_out():
    agreement = cp.agreement_from_mapping(dropping(age="category", job="category"))
    for seed in range(5):
        released = simulate_with(agreement, data(agreement)[1], seeded(agreement.party_names, seed)).to_pandas()
        assert set(released["job"]) <= set(agreement.domains["job"].values) - {"(missing)"}


def test_the_owner_is_told_which_rows_are_left_out_and_why():
    agreement = cp.agreement_from_mapping(dropping(age="category"))
    _, frames = data(agreement)
    frame = frames["p1"].astype({"age": str}).reset_index(drop=True)
    frame.loc[[2, 5], "age"] = ["", "unknown"]
    fragment, overview = read_and_look(agreement, "p1", frame, with_rows=True)
    (change,) = [change for change in overview.changes if change.rule == "dropped"]
    assert (change.column, change.rows, change.row_numbers) == ("age", 2, (3, 6))
    assert "left out" in str(change)
    assert fragment.n_records == len(frame) - 2
    assert fragment.row_numbers.tolist() == [place for place in range(len(frame)) if place not in (2, 5)]


def test_a_value_that_takes_the_place_of_missing_ones_leaves_no_row_out():
    agreement = cp.agreement_from_mapping(dropping())  # a missing age is the lower bound
    _, frames = data(agreement)
    frames["p0"] = frames["p0"].astype({"age": float})
    frames["p0"].iloc[:3, frames["p0"].columns.get_loc("age")] = None
    assert len(simulate_with(agreement, frames, no_noise(agreement.party_names)).to_pandas()) == 61


def test_an_owner_whose_rows_are_all_left_out_hears_it_before_anything_is_spent():
    agreement = cp.agreement_from_mapping(dropping(age="category"))
    _, frames = data(agreement)
    frames["p0"] = frames["p0"].assign(age=None)
    with pytest.raises(FragmentError, match=r"fewer records than mechanism\.k = 5"):
        simulate_with(agreement, frames, no_noise(agreement.party_names))


def test_owners_of_columns_are_refused_and_told_why():
    with pytest.raises(AgreementError, match="tell the other owners whose values are missing"):
        cp.agreement_from_mapping(dropping("vertical", age="category"))


def test_a_missing_number_is_refused_without_it_and_both_ways_out_are_named():
    mapping = dropping(age="category")
    del mapping["mechanism"]["drop_missing"]
    with pytest.raises(AgreementError, match=r"takes its place, or leave such rows out with drop_missing = true"):
        cp.agreement_from_mapping(mapping)


@pytest.mark.parametrize("wrong", ["yes", 1, "true"])
def test_only_true_and_false_are_taken(wrong):
    mapping = idp_ir_mapping("horizontal", drop_missing=wrong)
    with pytest.raises(AgreementError, match="drop_missing"):
        cp.agreement_from_mapping(mapping)


def test_the_certificate_says_that_the_number_of_records_tells_who_is_complete():
    agreement = cp.agreement_from_mapping(dropping(age="category"))
    release = simulate_with(agreement, data(agreement)[1], seeded(agreement.party_names, 2))
    assert any("missing value" in sentence for sentence in release.certificate.not_protected)
