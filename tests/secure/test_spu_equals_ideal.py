"""The law of engines: with the same coins the secure engine and the ideal one give the same release, byte for byte."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import copublish as cp
from support import (
    SMALL,
    fragment_frames,
    mapping_by_default,
    random_table,
    repartition,
    seeded,
    simulate_with,
    small_mapping,
)
from support.idp_ir import idp_ir_mapping
from support.releases import leaf_counts
from support.spu import PARTIES, Pair, publish_and_count

CASES = {
    "vertical, 2 classes": ("vertical", 2, None, "max"),
    "horizontal, 5 classes": ("horizontal", 5, None, "max"),
    "vertical, 5 classes, class at one party, balanced-gain": ("vertical", 5, "p0", "balanced-gain"),
    "arbitrary, 5 classes, tv-gain": ("arbitrary", 5, None, "tv-gain"),
}


@pytest.fixture(scope="module")
def pair():
    """Two parties for all releases: starting them takes longer than a release."""
    with Pair() as both:
        yield both


def secure_equals_ideal(pair, agreement, frames):
    """Return the release of both engines under the same coins, after comparing all released values."""
    ideal = simulate_with(agreement, frames, seeded(agreement.party_names, 7))
    one, other = pair.publish(agreement, frames, seeded(agreement.party_names, 7))
    assert one.files() == other.files()
    for name in ideal.data_files():
        assert one.files()[name] == ideal.files()[name], name
    assert one.certificate.to_json()["disclosures"] == ideal.certificate.to_json()["disclosures"]
    assert one.certificate.to_json()["engine"]["name"] == "spu"
    json.dumps(one.certificate.to_json())
    return one, ideal


@pytest.mark.parametrize("case", CASES)
def test_specializations_are_identical_for_the_same_coins(case, pair):
    partition, classes, holder, score = CASES[case]
    generator = np.random.default_rng(len(case))
    mapping = small_mapping()
    mapping["class"]["values"] = [f"class{number}" for number in range(classes)]
    mapping["mechanism"] |= {"specializations": 4, "score": score}
    mapping = repartition(mapping, partition)
    if holder:
        mapping["class"]["held_by"] = holder
    agreement = cp.agreement_from_mapping(mapping)
    table = random_table(agreement, 700, generator)
    frames = fragment_frames(agreement, table, generator)
    # People whom one party alone knows: the private set intersection leaves them out.
    if partition != "horizontal":
        frames["p0"] = frames["p0"].iloc[20:]
    secure, ideal = secure_equals_ideal(pair, agreement, frames)
    assert secure.published.model == ideal.published.model
    for mine, theirs in zip(secure.published.measured, ideal.published.measured, strict=True):
        assert (mine.place, mine.axes, mine.values.tolist()) == (theirs.place, theirs.axes, theirs.values.tolist())
    assert "CHEETAH" in secure.certificate.to_json()["engine"]["secrecy"]
    assert any("semi-honest" in line for line in secure.certificate.to_json()["assumptions"])


BOUNDS_ALONE = {
    "horizontal": ("horizontal", None),
    "vertical": ("vertical", None),
    "vertical, class at the first party": ("vertical", "p0"),
    "vertical, class at the last party": ("vertical", "p1"),
    "arbitrary": ("arbitrary", None),
    "arbitrary, class at one party": ("arbitrary", "p1"),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", BOUNDS_ALONE)
def test_numbers_with_bounds_alone_are_split_alike_for_the_same_coins(case, pair):
    partition, holder = BOUNDS_ALONE[case]
    mapping = small_mapping(**{"mechanism.specializations": 5, "mechanism.score": "balanced-gain"})
    mapping["attributes"]["income"]["bounds"] = [0, 1023]
    for name in ("age", "income"):
        del mapping["attributes"][name]["grid"]
    mapping["attributes"]["age"]["missing"] = "category"
    mapping["mechanism"]["max_cells"] = 400
    mapping = repartition(mapping, partition)
    if holder:
        mapping["class"]["held_by"] = holder
    agreement = cp.agreement_from_mapping(mapping)
    generator = np.random.default_rng(len(case))
    table = random_table(agreement, 600, generator)
    table["default"] = np.where(table["income"].between(300, 330) | (table["age"] == 41), "yes", "no")
    secure, _ = secure_equals_ideal(pair, agreement, fragment_frames(agreement, table, generator))
    at_first = agreement.domains["income"].points(0, agreement.domains["income"].number_codes)
    edges = {start for start, _ in secure.published.generalized["income"]} - {0}
    assert edges - set(at_first)  # a part was split at a point that was not on offer before


def test_other_coins_give_another_release():
    generator = np.random.default_rng(1)
    agreement = cp.agreement_from_mapping(repartition(small_mapping(), "vertical"))
    frames = fragment_frames(agreement, random_table(agreement, 300, generator), generator)
    one, other = (simulate_with(agreement, frames, seeded(agreement.party_names, seed)) for seed in (1, 2))
    assert leaf_counts(one)["noisy_count"].tolist() != leaf_counts(other)["noisy_count"].tolist()


@pytest.mark.parametrize("partition", ["horizontal", "vertical", "arbitrary"])
def test_copulas_are_identical_for_the_same_coins(partition, pair):
    agreement = cp.agreement_from_mapping(repartition(small_mapping(mechanism={"name": "copula"}), partition))
    generator = np.random.default_rng(11)
    frames = fragment_frames(agreement, random_table(agreement, 300, generator), generator)
    secure_equals_ideal(pair, agreement, frames)


def test_the_same_table_gives_the_same_copula_however_it_is_partitioned():
    """With the same joint coins: what is opened depends on the joined table alone."""
    released = []
    for partition in ("horizontal", "vertical", "arbitrary"):
        agreement = cp.agreement_from_mapping(repartition(small_mapping(mechanism={"name": "copula"}), partition))
        generator = np.random.default_rng(11)
        table = random_table(agreement, 300, generator)
        frames = fragment_frames(agreement, table, generator)
        release = simulate_with(agreement, frames, seeded(agreement.party_names, 7))
        released.append(release.data_files())
    assert released[0] == released[1] == released[2]


MARGINALS: dict[str, tuple[str, dict[str, Any], str | None]] = {
    "vertical, Gaussian": ("vertical", {"rounds": 3}, "1e-6"),
    "vertical, Laplace, without class tables": ("vertical", {"rounds": 2, "first": "columns"}, None),
    "arbitrary, Gaussian, triples": ("arbitrary", {"rounds": 2, "tables": "class-triples"}, "1e-6"),
    "horizontal, Laplace": ("horizontal", {"rounds": 3}, None),
}
"""Partition, keys of the mechanism, delta."""


@pytest.mark.parametrize("case", MARGINALS)
def test_marginals_are_identical_for_the_same_coins(case, pair):
    partition, keys, delta = MARGINALS[case]
    mapping = small_mapping(mechanism={"name": "marginals", "records": 200, **keys}, **{"records.identifier": None})
    mapping = repartition(mapping, partition)
    if partition != "horizontal":
        mapping["records"] |= {"alignment": "row-order", "identifier": None}
    mapping["privacy"] = {"epsilon": 2} | ({"delta": delta} if delta else {})
    agreement, generator = cp.agreement_from_mapping(mapping), np.random.default_rng(11)
    frames = fragment_frames(agreement, random_table(agreement, 300, generator), generator)
    _, ideal = secure_equals_ideal(pair, agreement, frames)
    tables = {f"measured/{name}.{ending}" for name in ideal.tables for ending in ("parquet", "csv")}
    named = {"measurements.json", "model.json", "records.parquet", "records.csv", "measured/pairs.csv"}
    assert tables and ideal.data_files().keys() == named | tables


def test_required_tables_and_pairs_across_owners_are_identical_for_the_same_coins(pair):
    """The first round asks for pairs across owners, of which none is worth its noise; the second one for all others."""
    must = [("job", "region"), ("region", "age", "income")]
    mechanism = {"name": "marginals", "records": 200, "rounds": 2, "tables": {"must": must, "then": "auto"}}
    mapping = repartition(small_mapping(mechanism=mechanism), "vertical")
    mapping["records"] = {"alignment": "row-order", "expected": 300}
    mapping["privacy"] = {"epsilon": 8, "delta": "1e-6"}
    agreement, generator = cp.agreement_from_mapping(mapping), np.random.default_rng(11)
    assert [{*agreement.holders(name)} for name in ("job", "region", "age")] == [{"p0"}, {"p1"}, {"p0"}]
    table = random_table(agreement, 300, generator)
    table["age"] = 20 + 10 * table["job"].astype("category").cat.codes
    secure, _ = secure_equals_ideal(pair, agreement, fragment_frames(agreement, table, generator))
    assert [own.columns for own in secure.published.tables if own.chosen is None][-2:] == must
    assert secure.published.model.rounds == ((), ("job", "age"))


@pytest.mark.parametrize("rule", ["use-informative", "protect-informative"])
def test_perturbed_records_with_tables_by_label_are_identical_for_the_same_coins(rule, pair):
    # Noise goes record by record, and by identifier the secure engine aligns records in an order of its own.
    mapping = small_mapping(
        records={"alignment": "row-order", "expected": 200, "public": True},
        attributes={name: SMALL["attributes"][name] for name in ("job", "age")},
        mechanism={"name": "vhdp"},
        budget={"allocation": rule, "label": "job"},
        **{"privacy.neighbors": "replace"},
    )
    agreement = cp.agreement_from_mapping(repartition(mapping, "vertical"))
    generator = np.random.default_rng(11)
    shuffled = fragment_frames(agreement, random_table(agreement, 200, generator), generator)
    frames = {party: frame.sort_values("id") for party, frame in shuffled.items()}
    secure, _ = secure_equals_ideal(pair, agreement, frames)
    assert secure.certificate.to_json()["deployment"]["deployment_model"]["model_name"] == "Noise added by each owner"
    assert secure.certificate.to_json()["engine"]["secrecy"].startswith("Every owner perturbs its own values")


def test_microaggregated_records_are_identical_for_the_same_coins(pair):
    mapping = idp_ir_mapping("vertical", 2)
    mapping["records"] |= {"alignment": "row-order", "identifier": None}
    agreement = cp.agreement_from_mapping(mapping)
    generator = np.random.default_rng(11)
    frames = fragment_frames(agreement, random_table(agreement, 40, generator), generator)
    secure, _ = secure_equals_ideal(pair, agreement, {party: frame.sort_index() for party, frame in frames.items()})
    assert next(iter(secure.certificate.to_json())) == "warning"
    assert "Nothing is computed on secrets" in secure.certificate.to_json()["engine"]["secrecy"]


@pytest.mark.parametrize("partition", ["vertical", "arbitrary"])
def test_disagreement_of_class_columns_is_the_same_number_on_both_engines(partition, pair):
    changes = {"privacy.class_disagreement": "0.1", "mechanism.specializations": 2}
    agreement = cp.agreement_from_mapping(repartition(small_mapping(**changes), partition))
    generator = np.random.default_rng(11)
    frames = fragment_frames(agreement, random_table(agreement, 300, generator), generator)
    frames["p1"].loc[frames["p1"].index[:70], "default"] = "yes"
    frames["p0"].loc[frames["p0"].index[:9], "default"] = "not listed"
    secure, ideal = secure_equals_ideal(pair, agreement, frames)
    assert secure.certificate.class_disagreement == ideal.certificate.class_disagreement is not None


NULL_ROWS = {
    "vertical, class at the first party": ("vertical", "p0", "specialization"),
    "vertical, class at the last party": ("vertical", "p1", "specialization"),
    "arbitrary": ("arbitrary", None, "specialization"),
    "copula, class at the last party": ("vertical", "p1", "copula"),
}


@pytest.mark.parametrize("case", NULL_ROWS)
def test_null_rows_and_odd_values_are_the_same_on_both_engines(case, pair):
    """Fails before encoding was total: the data were refused."""
    partition, holder, mechanism = NULL_ROWS[case]
    settings = {"name": "copula"} if mechanism == "copula" else {"name": "specialization", "specializations": 2}
    mapping = repartition(mapping_by_default(mechanism=settings), partition)
    if holder:
        mapping["class"]["held_by"] = holder
    agreement, generator = cp.agreement_from_mapping(mapping), np.random.default_rng(5)
    table = random_table(agreement, 300, generator).astype({"age": float, "income": float})
    null = generator.random(len(table)) < 0.3
    odd = table.assign(default=table["default"].where(~null, "perhaps"))
    odd.loc[::7, "age"], odd.loc[::5, "region"] = 1e9, "nowhere"
    secure, _ = secure_equals_ideal(pair, agreement, fragment_frames(agreement, odd, generator))
    fixed = odd.assign(age=odd["age"].clip(18, 99))
    frames = fragment_frames(agreement, fixed[~null], generator)
    without = simulate_with(agreement, frames, seeded(agreement.party_names, 7))
    # Other parties of a class that one holds count its null rows in the tables of their own columns.
    same = [name for name in without.data_files() if secure.files()[name] == without.files()[name]]
    assert (same == list(without.data_files())) == (mechanism == "specialization")


def test_the_secure_engine_sends_as_much_whatever_one_record_is(pair):
    """Fails before encoding was total: on all neighbors but the first the run ended, and the peer was told."""
    mapping = repartition(mapping_by_default(**{"mechanism.specializations": 0}), "vertical")
    mapping["class"]["held_by"] = "p0"
    agreement, generator = cp.agreement_from_mapping(mapping), np.random.default_rng(5)
    table = random_table(agreement, 200, generator).astype({"age": float, "income": float})
    frames = fragment_frames(agreement, table, generator)
    odd = [{}, {"job": "spy"}, {"default": "perhaps"}, {"default": None, "job": "?"}]
    seen = []
    for change in odd:
        own = frames["p0"].copy()
        for column, value in change.items():
            own.iloc[3, own.columns.get_loc(column)] = value
        coins = seeded(agreement.party_names, 7)
        given = {"p0": own, "p1": frames["p1"]}
        seen.append(pair.do(publish_and_count, *((agreement, given[party], coins[party]) for party in PARTIES)))
    for both in seen:
        for (ended, sent), (_, usual) in zip(both, seen[0], strict=True):
            assert ended == "Release"
            # Lengths of ciphertexts vary a little with the engine's own randomness, on the same data, too.
            assert sent == pytest.approx(usual, rel=0.002)
