"""The mechanism vhdp: whose noise, which price, in which order; without noise the records are the true ones."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import copublish as cp
from copublish.engines.ideal import Room
from copublish.errors import AgreementError, BudgetExceededError
from copublish.kernel.ledger.ledger import Ledger, Limit
from copublish.mechanisms.registry import plan_of
from copublish.mechanisms.shared.post_processing import order_without_meaning
from copublish.party.local.simulation import read_fragments, run_room
from copublish.release.describe import describe
from copublish.release.report.page import report_page
from support import (
    ConstantCoins,
    fragment_frames,
    random_table,
    repartition,
    seeded,
    simulate_with,
    small_mapping,
)

REPLACE = {"records.public": True, "privacy.neighbors": "replace"}


def vhdp_mapping(partition: str = "vertical", **changes: Any) -> dict[str, Any]:
    mapping = small_mapping(mechanism={"name": "vhdp"}, **{**REPLACE, **changes})
    return repartition(mapping, partition)


def without_noise(agreement: cp.Agreement) -> dict[str, ConstantCoins]:
    """Every owner draws its own noise, so every one needs coins that are all 1: they are below no threshold."""
    return dict.fromkeys(agreement.party_names, ConstantCoins(1))


def released(agreement: cp.Agreement, n: int = 200, seed: int | None = 4) -> tuple[cp.Release, pd.DataFrame]:
    generator = np.random.default_rng(6)
    table = random_table(agreement, n, generator)
    coins = without_noise(agreement) if seed is None else seeded(agreement.party_names, seed)
    return simulate_with(agreement, fragment_frames(agreement, table, generator), coins), table


def as_rows(frame: pd.DataFrame, columns: list[str]) -> list[tuple[str, ...]]:
    return sorted(tuple(map(str, row)) for row in frame[columns].itertuples(index=False))


@pytest.mark.parametrize("partition", ["horizontal", "vertical"])
def test_without_noise_the_published_records_are_the_true_ones_record_by_record(partition):
    agreement = cp.agreement_from_mapping(vhdp_mapping(partition))
    release, table = released(agreement, seed=None)
    assert as_rows(release.to_pandas(), list(agreement.columns)) == as_rows(table, list(agreement.columns))


def test_missing_values_and_decimals_come_through():
    mapping = vhdp_mapping()
    mapping["attributes"]["income"] |= {"decimals": 2, "missing": "category"}
    mapping["attributes"]["job"] |= {"missing": "category"}
    agreement = cp.agreement_from_mapping(mapping)
    frames = {
        "p0": pd.DataFrame({"id": ["a", "b", "c"], "job": ["cook", None, "vet"], "age": [18, 50, 99]}),
        "p1": pd.DataFrame(
            {"id": ["c", "b", "a"], "region": ["north", "south", "east"], "income": [0.29, None, 99.99]}
        ),
    }
    for number, frame in enumerate(frames.values()):
        frame["default"] = ["no", "yes", "no"][:: -1 if number else 1]
    records = simulate_with(agreement, frames, without_noise(agreement)).to_pandas().sort_values("age")
    assert records["income"].fillna(-1).tolist() == [99.99, -1, 0.29]
    assert records["job"].tolist() == ["cook", "(missing)", "vet"]
    noisy = simulate_with(agreement, frames, seeded(agreement.party_names, 1)).to_pandas()
    assert noisy["income"].dropna().between(0, 100).all() and noisy["age"].between(18, 99).all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"records.public": False}, 'Write neighbors = "replace" in [privacy] and public = true in [records]'),
        ({"records.public": False, "privacy.neighbors": "add-remove"}, "protects values, not membership"),
        ({"partition": "arbitrary"}, "so cells cannot be spread"),
        ({"privacy.epsilon": "0.0001"}, "a vhdp release needs at least 0.001"),
        ({"mechanism": {"name": "vhdp", "score": "max"}}, "it means nothing to the mechanism 'vhdp'"),
        ({"attributes.age.decimals": 12, "privacy.epsilon": "0.001"}, "noise would be too large for whole numbers"),
        ({"attributes.region.values": ["north"]}, "attributes.region: it has one value alone"),
        (
            {
                "attributes.region.values": [f"r{number}" for number in range(40_000)],
                "privacy.epsilon": "0.001",
                "budget": {
                    "allocation": "weights",
                    "weights": {"age": 1000, "job": 1000, "income": 1000, "default": 1000, "region": "0.001"},
                },
            },
            "attributes.region: its share of epsilon is too small for 40,000 values",
        ),
    ],
)
def test_agreements_that_make_no_sense_are_refused(changes, message):
    with pytest.raises(AgreementError) as raised:
        cp.agreement_from_mapping(small_mapping(**{"mechanism": {"name": "vhdp"}, **REPLACE, **changes}))
    assert message in str(raised.value)


def test_noise_is_in_the_units_of_the_column_and_age_at_epsilon_1_over_14_columns_gets_a_scale_of_1022():
    binary = {"kind": "categorical", "values": ["no", "yes"], "held_by": "bank"}
    attributes = {f"a{number}": binary for number in range(12)}
    attributes["age"] = {"kind": "numerical", "bounds": [17, 90], "grid": {"step": 10}, "held_by": "loans"}
    agreement = cp.agreement_from_mapping(small_mapping(mechanism={"name": "vhdp"}, attributes=attributes, **REPLACE))
    described = describe(agreement)
    columns = described.to_dict()["allocation"]["columns"]
    age = columns["age"]
    assert age["epsilon"] == "1/14" and age["share"] == pytest.approx(1 / 14, abs=1e-6)
    assert age["noise"]["scale_in_own_unit"] == 73 * 14 == 1022
    assert age["noise"]["within_95_percent"] == pytest.approx(1022 * np.log(20), rel=0.01)
    e = np.exp(1 / 14)
    assert columns["a0"]["noise"]["kept"] == pytest.approx(e / (e + 1), abs=1e-6)
    assert any(
        "Noise swamps the range of these columns" in warning and "age" in warning for warning in described.warnings
    )


def test_the_certificate_says_who_knows_which_noise_and_what_insiders_know():
    agreement = cp.agreement_from_mapping(vhdp_mapping())
    release, _ = released(agreement)
    certificate = release.certificate
    assert certificate.epsilon.public == {"add-remove": "not protected", "replace": "1"}
    assert [d.kind for d in certificate.disclosures] == ["perturb"] * 5
    assert {d.noise.known_to for d in certificate.disclosures} == {
        "the owner of the column, which draws it; nobody else"
    }
    assert {d.epsilon["add-remove"] for d in certificate.disclosures} == {"not protected"}
    assert sum(Fraction(d.epsilon["replace"]) for d in certificate.disclosures) == 1
    for seen in certificate.views.values():
        assert "the noise of its own values, which it draws alone; nobody else knows it" in seen
        assert "the values of every other party, perturbed, record by record as they are aligned" in seen
    assert any("whose record each row of the release is" in sentence for sentence in certificate.not_protected)
    assert "Every owner's own coins are uniform and secret: it alone draws the noise of its values." in (
        certificate.assumptions
    )
    assert not any("Every party's coins" in sentence for sentence in certificate.assumptions)
    gains = cp.agreement_from_mapping(vhdp_mapping(budget={"allocation": "use-informative"}))
    assert any("Every party's coins" in sentence for sentence in describe(gains).assumptions)


def test_every_ledger_is_charged_the_whole_and_one_that_cannot_pay_stops_all_before_anything_is_sent():
    agreement = cp.agreement_from_mapping(vhdp_mapping())
    generator = np.random.default_rng(6)
    frames = fragment_frames(agreement, random_table(agreement, 50, generator), generator)
    fragments = read_fragments(agreement, frames)
    ledgers = {party: Ledger(":memory:") for party in agreement.parties}
    for limit, party in ((Fraction(3, 2), "p0"), (Fraction(1), "p1")):
        ledgers[party].set_limit("people", Limit(limit, "replace"))
    plan, room = plan_of(agreement), Room(agreement.party_names, seeded(agreement.party_names, 1))
    run_room(plan, fragments, room, ledgers)
    for ledger in ledgers.values():
        (entry,) = ledger.entries()
        assert entry.cost.replace == 1 and entry.cost.add_remove is None and entry.disclosures == 5
    told: list[str] = []
    with pytest.raises(BudgetExceededError):
        run_room(plan, fragments, Room(agreement.party_names), ledgers, lambda phase, *_: told.append(phase))
    assert told == [] and len(ledgers["p0"].entries()) == 1


def test_a_class_that_all_hold_is_perturbed_once_by_its_first_holder():
    mapping = vhdp_mapping()
    mapping["parties"] = {"p0": {}, "p1": {}}
    agreement = cp.agreement_from_mapping(mapping)
    coins = {"p0": ConstantCoins(1), "p1": seeded(("p1",), 3)["p1"]}
    generator = np.random.default_rng(6)
    table = random_table(agreement, 100, generator)
    records = simulate_with(agreement, fragment_frames(agreement, table, generator), coins).to_pandas()
    theirs = ["job", "age", "default"]  # of p0, whose coins add no noise
    assert as_rows(records, theirs) == as_rows(table, theirs)
    assert as_rows(records, ["region"]) != as_rows(table, ["region"])


def test_the_order_of_records_is_a_function_of_their_values_alone():
    generator = np.random.default_rng(1)
    columns = [generator.integers(0, 3, 60), generator.integers(0, 50, 60)]
    moved = generator.permutation(60)
    one, other = (
        [column[order_without_meaning(given)] for column in given] for given in (columns, [c[moved] for c in columns])
    )
    assert all((a == b).all() for a, b in zip(one, other, strict=True))
    assert (np.diff(one[0]) < 0).any()  # and not sorted
    assert order_without_meaning([np.empty(0, dtype=np.int64)]).tolist() == []


@pytest.mark.parametrize("budget", [{}, {"allocation": "use-informative", "label": "age"}])
def test_what_a_release_tells_about_the_label_follows_from_its_folder_and_is_in_the_report(budget, tmp_path):
    agreement = cp.agreement_from_mapping(vhdp_mapping(budget=budget, **{"privacy.epsilon": 10}))
    release, _ = released(agreement, 400)
    release.write(tmp_path / "release")
    division = json.loads((tmp_path / "release" / "model.json").read_text())["division"]
    label = agreement.budget_label
    stored = cp.load_release(tmp_path / "release")
    information = stored.label_information
    told = {row.column: row for row in information.told()}
    assert information.label == division["label"] == label and set(told) == set(agreement.columns) - {label}
    for name, row in told.items():
        epsilon = float(Fraction(division["columns"][name]["epsilon"]))
        assert row.bits_per_epsilon == pytest.approx(row.bits / epsilon, abs=1e-5)
    page = report_page(stored)
    assert f"What the columns still tell about {label}" in page and "perturbed values" in page
    readme = (tmp_path / "release" / "README.md").read_text()
    assert "400 perturbed records" in readme and "added noise to every value before it left" in readme


def test_the_plan_lists_what_a_run_opens():
    agreement = cp.agreement_from_mapping(vhdp_mapping())
    release, _ = released(agreement)
    assert [d.label for d in plan_of(agreement).disclosures()] == [d.what for d in release.certificate.disclosures]
