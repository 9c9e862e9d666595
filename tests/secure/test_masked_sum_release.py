"""Whole releases by masked sums: the same as the ideal engine's for the same coins, and clean ends."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import copublish as cp
from copublish.agreement.protocol import table
from copublish.engines.masked_sums import MaskedSumEngine
from copublish.errors import FragmentError, PartyLostError
from copublish.kernel.ledger.ledger import Ledger, Limit
from copublish.party.local.messenger import PipeMessenger, pipes_between
from support import ConstantCoins, random_table, seeded, simulate_with, small_mapping
from support.messages import (
    Post,
    QueueMessenger,
    all_of,
    masked_agreement,
    publish_at,
    publish_by_masked_sums,
    split_rows,
)


def case(agreement: cp.Agreement, n: int = 300):
    generator = np.random.default_rng(len(agreement.parties))
    return split_rows(agreement, random_table(agreement, n, generator), generator)


@pytest.mark.parametrize(("owners", "colluders"), [(2, 1), (3, 2), (10, 1)])
def test_a_release_is_the_ideal_engines_for_the_same_coins(owners, colluders):
    agreement = masked_agreement(owners, colluders)
    frames = case(agreement)
    ideal = simulate_with(agreement, frames, seeded(agreement.party_names, 1))
    releases = all_of(publish_by_masked_sums(agreement, frames, seeded(agreement.party_names, 1)))
    for release in releases.values():
        assert release.data_files() == ideal.data_files()
        assert release.files() == releases["p0"].files()
    if owners == 2:
        other = all_of(publish_by_masked_sums(agreement, frames, seeded(agreement.party_names, 2)))["p0"]
        for mine, theirs in zip(other.published.measured, ideal.published.measured, strict=True):
            assert mine.columns == theirs.columns
            assert mine.values.tolist() != theirs.values.tolist()


@pytest.mark.parametrize(("owners", "helper"), [(2, False), (3, True)])
def test_without_noise_the_opened_counts_are_those_of_the_joined_table(owners, helper):
    agreement = masked_agreement(owners, helper=helper, identifier=helper)
    frames = case(agreement)
    coins = {party: ConstantCoins(1) for party in agreement.parties}
    release = all_of(publish_by_masked_sums(agreement, frames, coins))["p0"]
    regions = np.concatenate([frame["region"].to_numpy() for frame in frames.values()])
    counted = release.table("002-region").to_pydict()
    assert counted["noisy_count"] == [int(np.sum(regions == cell)) for cell in counted["region"]]
    noisy = all_of(publish_by_masked_sums(agreement, frames, seeded(agreement.party_names, 3)))["p0"]
    assert noisy.table("002-region").to_pydict()["noisy_count"] != counted["noisy_count"]


def divided_by_gain(mechanism: str, rule: str, owners: int, *, helper: bool = False) -> cp.Agreement:
    """An agreement whose columns share epsilon by tables that are opened as masked sums."""

    def mapping_of(**ignored):
        public = {"records.public": True, "privacy.neighbors": "replace"}
        return small_mapping(mechanism={"name": mechanism}, budget={"allocation": rule}, **public)

    return masked_agreement(owners, helper=helper, mapping_of=mapping_of)


@pytest.mark.parametrize(
    ("mechanism", "rule", "owners", "helper"),
    [
        ("vhdp", "protect-informative", 2, False),
        ("vhdp", "protect-informative", 3, True),
        ("vhdp", "use-informative", 3, False),
        ("copula", "use-informative", 2, False),
    ],
)
def test_tables_that_divide_a_budget_are_opened_as_the_ideal_engine_opens_them(mechanism, rule, owners, helper):
    agreement = divided_by_gain(mechanism, rule, owners, helper=helper)
    frames = case(agreement)
    ideal = simulate_with(agreement, frames, seeded(agreement.party_names, 1))
    releases = all_of(publish_by_masked_sums(agreement, frames, seeded(agreement.party_names, 1)))
    for release in releases.values():
        assert release.data_files() == ideal.data_files()
        assert release.files() == releases["p0"].files()
    certificate = releases["p0"].certificate.to_json()
    assert certificate["disclosures"] == ideal.certificate.to_json()["disclosures"]
    assert sum(Fraction(one["epsilon"]["replace"]) for one in certificate["disclosures"]) == agreement.epsilon
    assert "adds its own share of the noise" in certificate["engine"]["secrecy"]
    assert certificate["engine"]["noise_shares"]["owners"] == owners
    assert ("perturbs its own values" in certificate["engine"]["secrecy"]) == (mechanism == "vhdp")


def test_without_noise_the_tables_that_divide_a_budget_are_those_of_the_joined_table():
    agreement = divided_by_gain("vhdp", "protect-informative", 3)
    frames = case(agreement)
    release = all_of(publish_by_masked_sums(agreement, frames, {p: ConstantCoins(1) for p in agreement.parties}))["p0"]
    joined = pd.concat(frames.values())
    regions, labels = agreement.domains["region"].values, agreement.class_.values
    counted = pd.crosstab(joined["region"], joined["default"]).reindex(index=regions, columns=labels, fill_value=0)
    (opened,) = (table for table in release.published.tables if table.columns == ("region", "default"))
    assert opened.values.tolist() == counted.to_numpy().ravel().tolist()


@pytest.mark.parametrize("owners, helper", [(2, False), (2, True), (3, False)])
def test_masks_are_said_to_look_random_only_to_an_aggregator_that_lacks_a_key(owners, helper):
    """Of two owners the one that adds up has the only key: it sees the other one's noisy sums, and so it says."""
    agreement = masked_agreement(owners, helper=helper)
    certificate = all_of(publish_by_masked_sums(agreement, case(agreement, 30)))["p0"].certificate.to_json()
    view = " ".join(certificate["views"][agreement.aggregator])
    lacks_a_key = owners > 2 or helper
    assert ("look random" in view) == ("look random" in certificate["engine"]["secrecy"]) == lacks_a_key
    assert ("the other owner's sums with its noise" in view) == (not lacks_a_key)


def test_the_certificate_and_the_readme_tell_colluders_aggregator_and_the_larger_noise():
    agreement = masked_agreement(3, 1, helper=True)
    release = all_of(publish_by_masked_sums(agreement, case(agreement)))["helper"]
    certificate = release.certificate.to_json()
    assert certificate["engine"]["name"] == "masked-sum"
    assert certificate["engine"]["noise_shares"]["variance_factor"] == "3/2"
    assert certificate["engine"]["noise_shares"]["aggregator"] == "helper"
    assert "Simulated" not in certificate["deployment"]["deployment_model"]["model_name"]
    assert "shares that the owners of data draw" in certificate["deployment"]["implementation"]["mechanisms"]
    marginal = certificate["disclosures"][0]
    rate = float(Fraction(marginal["epsilon"]["add-remove"]))
    assert marginal["noise"]["scale_in_people"] == pytest.approx(1.5**0.5 / rate, abs=1e-3)
    readme = release.files()["README.md"].decode()
    within = marginal["noise"]["within_95_percent"]
    assert within > np.log(20) / rate  # the bound of noise that is not made larger
    assert f"is off by at most {within} people in 95 of 100 cases" in readme
    assert "At most 1 of the 3 owners" in readme
    assert "No secure engine" in readme


def test_a_person_at_two_owners_stops_everyone_before_anything_is_reserved():
    agreement = masked_agreement(3, helper=True, identifier=True)
    frames = case(agreement)
    assert isinstance(all_of(publish_by_masked_sums(agreement, frames))["p1"], cp.Release)
    shared = frames["p0"].iloc[:1]
    frames["p2"] = type(shared)(np.concatenate([frames["p2"].to_numpy(), shared.to_numpy()]), columns=shared.columns)
    ledgers = real_ledgers(agreement)
    outcomes = publish_by_masked_sums(agreement, frames, ledgers=ledgers)
    assert all(isinstance(outcome, FragmentError) for outcome in outcomes.values()), outcomes
    assert "listed by two parties" in str(outcomes["p1"])
    assert all(not spent(ledger) for ledger in ledgers.values())


def real_ledgers(agreement: cp.Agreement) -> dict[str, Ledger]:
    ledgers = {party: Ledger(":memory:") for party in agreement.parties}
    for ledger in ledgers.values():
        ledger.set_limit(agreement.dataset, Limit(Fraction(2), "add-remove"))
    return ledgers


def spent(ledger: Ledger) -> Fraction:
    return ledger.spent("people").add_remove


class Leaving(MaskedSumEngine):
    """Leaves after some openings, as a process that is killed: without a word."""

    left_after = 2

    def _open(self, secret):
        if self._openings == self.left_after:
            raise KeyError("gone")
        return super()._open(secret)


@pytest.mark.parametrize("leaver", ["p0", "p2", "helper"])
def test_an_owner_that_drops_out_ends_the_run_for_everyone_and_the_charge_stays(leaver):
    agreement = masked_agreement(3, helper=True)
    ledgers = real_ledgers(agreement)

    def engine_of(agreement, messenger: QueueMessenger, coins):
        kind = Leaving if messenger.party == leaver else MaskedSumEngine
        return kind(messenger, agreement.owners, agreement.aggregator, coins)

    outcomes = publish_by_masked_sums(agreement, case(agreement), ledgers=ledgers, engine_of=engine_of)
    assert isinstance(outcomes.pop(leaver), KeyError)
    assert all(isinstance(outcome, PartyLostError) for outcome in outcomes.values()), outcomes
    assert all(spent(ledger) == 1 for ledger in ledgers.values())


def test_a_release_over_pipes_is_the_same():
    agreement = masked_agreement(2, helper=True, identifier=True)
    frames, coins = case(agreement), seeded(agreement.party_names, 4)
    wanted = all_of(publish_by_masked_sums(agreement, frames, seeded(agreement.party_names, 4)))["p0"]
    ends = pipes_between(agreement.party_names)

    def one(party: str) -> cp.Release:
        messenger = PipeMessenger(party, agreement.party_names, ends[party], timeout_seconds=300)
        try:
            return publish_at(agreement, messenger, frames, coins)
        finally:
            messenger.close()

    with ThreadPoolExecutor(3) as pool:
        releases = list(pool.map(one, agreement.party_names))
    assert all(release.files() == wanted.files() for release in releases)


def test_nothing_but_masked_sums_keys_and_public_values_is_ever_sent():
    agreement = masked_agreement(3, helper=True)
    post = Post(agreement.party_names)
    release = all_of(publish_by_masked_sums(agreement, case(agreement), post=post))["p0"]
    entries = {table.entry_of(topic) for _, _, topic, _ in post.sent}
    told = {table.CAN_PAY, table.AUDIT, table.FIT, table.SUM_HASH, table.DATE, table.RELEASE, table.ON_DISK}
    told |= {table.RESERVED, table.HEADS, table.KEY_EXCHANGE}
    assert entries - told == {table.MASK_KEY, table.MASKED_SUM}
    assert {to for _, to, topic, _ in post.sent if topic.startswith("masked sum")} == set(agreement.parties)
    openings = len(release.certificate.to_json()["disclosures"])
    masked = [topic for sender, to, topic, _ in post.sent if to == "helper" and topic.startswith("masked sum")]
    assert len(masked) == 3 * openings
