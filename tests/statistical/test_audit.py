"""Audits find most of what is stated, accuse broken noise and no sound one.

Every test uses fresh coins of the operating system. A sound disclosure is accused with probability at most 0.001 over
all audits of a test, by the level that it is given; a broken one is missed with probability far below that at these
numbers of runs (twice those at which 95 % of audits find it).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import copublish as cp
from copublish.auditing import audit as auditing
from copublish.auditing import choosing
from copublish.auditing.game import Game, fair_coins
from copublish.auditing.parts import Part
from copublish.auditing.players import play_runs
from copublish.auditing.statistics import Claim, judged, learned_columns
from copublish.auditing.symbols import symbols_of
from copublish.auditing.tables import invalid_pairs, pairs_against, valid_pairs
from copublish.engine.counts import SecretCounts
from copublish.engine.ideal import IdealEngine
from copublish.engine.joint_noise import add_noise_inside
from copublish.engine.programs.sums import add
from copublish.engine.reveal import RevealGate
from copublish.errors import AgreementError, FragmentError
from copublish.privacy.coins import SystemCoins
from copublish.privacy.disclosures import HISTOGRAM_L1, GaussianMeasure, Measure, Select
from copublish.privacy.geometric import geometric_noise

SMALL: dict[str, Any] = {
    "format": 2,
    "name": "audited",
    "dataset": "audited",
    "partition": "horizontal",
    "parties": {"p0": {}, "p1": {}},
    "records": {"expected": 200, "identifier": "id"},
    "class": {"name": "y", "values": ["no", "yes"]},
    "attributes": {
        "age": {"kind": "numerical", "bounds": [0, 100], "grid": {"edges": [25, 50, 75]}, "missing": 50},
        "job": {"kind": "categorical", "values": ["a", "b", "c"], "missing": "a", "unlisted": "a"},
    },
    "privacy": {"epsilon": 1},
    "mechanism": {"name": "specialization", "specializations": 3},
}

COUNTS = Measure(
    label="counts",
    budget=Fraction(3, 5),
    calibrated_to="add-remove",
    l1_sensitivity=HISTOGRAM_L1,
    changed_entries=HISTOGRAM_L1,
    entries=12,
)
LEVEL = 0.001


def part_of(made: Any, first: Any, second: Any, relation: Any = "add-remove") -> Part:
    return Part(made, (np.array(first), np.array(second)), ("p0", "p1"), relation)


LEAVES = part_of(COUNTS, [5] * 12, [6] + [5] * 11)


def with_noise(draw: Callable[[Any, int], np.ndarray]) -> Callable[..., Any]:
    """An engine's `add_noise` that draws otherwise than is stated."""

    def add_noise(self: IdealEngine, counts: SecretCounts, noise: Any, *, offset: int) -> Any:
        own = np.zeros(counts.secret.shape, dtype=np.int64)
        if self.party == self.parties[0]:
            own = (draw(noise, counts.n_cells) + offset).reshape(counts.secret.shape)
        return self.compute(add, counts.secret, self.share(own))

    return add_noise


def laplace(noise: Any, n: int) -> np.ndarray:
    p = np.exp(-float(noise.rate))
    uniform = (SystemCoins().words((2, n)).astype(np.float64) / 2.0**64 + 0.5).clip(1e-12, 1 - 1e-12)
    return np.subtract(*np.floor(np.log(uniform) / np.log(p))).astype(np.int64)


BROKEN: dict[str, tuple[Callable[[Any, int], np.ndarray], int]] = {
    "30 % less noise": (lambda noise, n: laplace(geometric_noise(noise.rate * 10 / 7), n), 400),
    "half the noise": (lambda noise, n: laplace(geometric_noise(noise.rate * 2), n), 100),
    "one draw for all cells": (lambda noise, n: np.repeat(laplace(noise, 1), n), 60),
    "noise is reused": (lambda noise, n: np.tile(laplace(noise, n // 2), 2), 100),
    "one class without noise": (lambda noise, n: laplace(noise, n) * (np.arange(n) % 2), 100),
    "noise is cut": (lambda noise, n: np.clip(laplace(noise, n), -3, 3), 400),
}


@pytest.mark.parametrize("variant", BROKEN)
def test_broken_noise_of_counts_is_accused(monkeypatch, variant):
    draw, runs = BROKEN[variant]
    monkeypatch.setattr(IdealEngine, "add_noise", with_noise(draw))
    tested = LEAVES.audit(runs)
    assert tested.p_value < LEVEL / 10 and tested.found > 0.6, tested


def test_sound_counts_are_nearly_found_and_not_accused():
    found = [LEAVES.audit(300) for _ in range(10)]
    assert all(tested.p_value > LEVEL / 10 for tested in found)
    assert np.mean([tested.found for tested in found]) > 0.9 * 0.6 * 0.95  # 0.56 is expected of 400 runs
    assert all(0.45 < tested.expected < 0.6 for tested in found)
    # Each is above what is stated with probability 0.05 at most, five of ten with 6 in 100,000.
    assert sum(tested.found > 0.6 for tested in found) < 5


def test_counts_under_replacement_and_gaussian_sums_are_found_too():
    replaced = replace(COUNTS, calibrated_to="replace")
    tested = part_of(replaced, [5] * 12, [6, 4] + [5] * 10, "replace").audit(400)
    assert 0.4 < tested.found < 0.7 and tested.p_value > LEVEL
    gaussian = GaussianMeasure(
        label="sums",
        budget=Fraction(1),
        agreed_delta=Fraction(1, 10**6),
        calibrated_to="add-remove",
        squared_l2_sensitivity={"add-remove": 1, "replace": 2},
        entries=3,
    )
    sums = part_of(gaussian, [0, 0, 0], [1, 0, 0])
    tested = sums.audit(3000)
    assert tested.expected > 0.4 and tested.p_value > LEVEL
    assert tested.expected < sums.claim.reachable < 0.93  # the stated 1 is a bound, and variances are rounded up


CHOICE = Select(
    label="choice",
    budget=Fraction(1, 2),
    calibrated_to="add-remove",
    score_range={"add-remove": 1, "replace": 2},
    candidates=3,
)


def test_a_choice_is_found_and_with_half_its_noise_accused(monkeypatch):
    part = part_of(CHOICE, [10, 10, 10], [10, 11, 10])
    tested = part.audit(3000)
    assert 0.1 < tested.found < 0.75 and tested.p_value > LEVEL  # above 0.5 in up to one of twenty audits
    draw = RevealGate.draw_selection_noise

    def draw_less(self: RevealGate, disclosure: Select, places: int, *, times: int) -> None:
        less = replace(disclosure, budget=disclosure.budget * 2)
        draw(self, less, places, times=times)
        self._drawn[disclosure.noise.rate, places] = self._drawn.pop((less.noise.rate, places))

    monkeypatch.setattr(RevealGate, "draw_selection_noise", draw_less)
    assert part.audit(3000).p_value < LEVEL


@pytest.mark.parametrize("mechanism", [{"name": "specialization", "specializations": 3}, {"name": "hpdp"}])
def test_whole_runs_are_judged_by_the_sum_of_what_they_open(mechanism):
    agreement = cp.agreement_from_mapping({**SMALL, "mechanism": mechanism})
    pair = next(p for p in valid_pairs(agreement, "add-remove", SystemCoins()) if p.base == "no records")
    found = play_runs(agreement, pair, 500)
    tested = judged(found.coins, found.law, Claim(1.0), found.others)
    assert tested.p_value > LEVEL and tested.expected > 0.15
    assert abs(tested.found - tested.expected) < 0.6
    predicted = sum(said for _, _, said in tested.bins)
    right = sum(right for _, right, _ in tested.bins)
    assert abs(right - predicted) < 5 * np.sqrt(predicted / 4)


def test_a_changed_column_that_is_never_opened_is_not_found():
    """At most one value is chosen to be split, and noise has few steps: evidence is small, and so is what is found."""
    agreement = cp.agreement_from_mapping({**SMALL, "partition": "vertical", **by_columns()})
    pair = next(iter(pairs_against(agreement, "p1", SystemCoins())))
    changed = {name for name, value in pair.tables[0][-1].items() if pair.tables[1][-1][name] != value}
    assert changed and not changed & set(agreement.columns_of("p1"))
    game = Game(agreement, pair)
    assert all(abs(game.run(bool(coin))[0]) < 3 for coin in fair_coins(5))


@pytest.mark.parametrize("partition", ["horizontal", "vertical"])
def test_records_that_owners_perturb_have_a_coin_each_and_are_found_by_law_and_by_what_was_learned(partition):
    changes = by_columns() if partition == "vertical" else {}
    mapping = {**SMALL, "partition": partition, **changes, "mechanism": {"name": "vhdp"}}
    mapping |= {"privacy": {"epsilon": 4, "neighbors": "replace"}, "records": {**SMALL["records"], "public": True}}
    agreement = cp.agreement_from_mapping(mapping)
    pair = next(iter(valid_pairs(agreement, "replace", SystemCoins())))
    found = play_runs(agreement, pair, 10)
    assert found.told.shape == (10_000, 3) and found.coins_per_run == 1000
    tested = judged(found.coins, found.law, Claim(4.0))
    assert 3 < tested.found < 4.2 and tested.p_value > LEVEL  # 3.7 is expected
    predicted, right = (sum(one[place] for one in tested.bins) for place in (2, 1))
    assert abs(right - predicted) < 5 * np.sqrt(predicted / 4)
    blind = judged(found.coins, 0 * found.law, Claim(4.0), {"learned": learned_columns(found.coins, found.told)})
    assert blind.statistic == "learned" and 1.5 < blind.found < 4.2


def test_tables_that_differ_in_several_people_show_more_of_one_person_s_epsilon_and_never_accuse():
    """Stated law of 12 entries with a twelfth of epsilon each; 4 people. Each of 20 audits is accused with 10^-4."""
    measure = replace(COUNTS, l1_sensitivity={"add-remove": 12, "replace": 24}, budget=Fraction(1))
    shown = {}
    for people in (1, 4):
        part = Part(measure, (np.full(12, 5), np.full(12, 5 + people)), ("p0", "p1"), "add-remove", people)
        found = [part.audit(500) for _ in range(10)]
        assert all(tested.p_value > LEVEL / 10 for tested in found)
        shown[people] = np.mean([tested.found for tested in found])
        assert shown[people] == pytest.approx(part.expected(500), abs=0.15)
    assert shown[4] > shown[1] + 0.1


def by_columns() -> dict[str, Any]:
    attributes = {name: dict(attribute) for name, attribute in SMALL["attributes"].items()}
    attributes["age"]["held_by"], attributes["job"]["held_by"] = "p0", "p1"
    return {"attributes": attributes, "class": {**SMALL["class"], "held_by": "p1"}}


@pytest.mark.parametrize("partition", ["horizontal", "vertical"])
def test_no_record_that_is_not_as_agreed_changes_how_a_run_ends_or_what_is_told(partition):
    changes = by_columns() if partition == "vertical" else {}
    agreement = cp.agreement_from_mapping({**SMALL, **changes, "partition": partition})
    pairs = list(invalid_pairs(agreement, "add-remove"))
    assert len(pairs) >= 8
    for pair in pairs:
        views = ["public", "p0"] if partition == "horizontal" else ["public"]
        assert [s.differs for s in symbols_of(agreement, pair, views)] == [None] * len(views), pair.record


def test_an_error_that_depends_on_data_is_told_and_so_is_a_message(monkeypatch):
    agreement = cp.agreement_from_mapping(SMALL)
    pair = next(p for p in invalid_pairs(agreement, "add-remove") if "beyond" in p.record)
    from copublish.auditing import symbols

    monkeypatch.setattr(symbols, "RUNS", 6)
    read = symbols.read_fragments

    def strict(agreed: Any, frames: Any) -> Any:
        if any((frame["age"] > 100).any() for frame in frames.values()):
            raise FragmentError("p1", ["age is out of bounds"])
        return read(agreed, frames)

    monkeypatch.setattr(symbols, "read_fragments", strict)
    (told,) = symbols_of(agreement, pair, ["public"])
    assert told.differs == "how the run ends" and told.right == told.runs == 6
    monkeypatch.setattr(symbols, "read_fragments", read)
    publish = symbols.publish_release

    def talking(plan: Any, fragment: Any, engine: Any, *rest: Any, **named: Any) -> Any:
        engine.exchange(fragment.n_records, topic="rows, for progress")
        return publish(plan, fragment, engine, *rest, **named)

    monkeypatch.setattr(symbols, "publish_release", talking)
    public, party = symbols_of(agreement, pair, ["public", "p0"])
    assert public.differs is None
    assert party.differs == "what it is told: rows, for progress" and party.right == 6


def test_a_whole_audit_has_a_verdict_numbers_and_a_picture(tmp_path, monkeypatch):
    agreement = cp.agreement_from_mapping(SMALL)
    few = [pair for pair in valid_pairs(agreement, "add-remove", SystemCoins()) if pair.base == "no records"][:2]
    monkeypatch.setattr(auditing, "valid_pairs", lambda *given: iter(few))
    monkeypatch.setattr(choosing, "valid_pairs", lambda *given: iter(few))
    monkeypatch.setattr(choosing, "SECOND_LOOK", 10)
    phases = set()
    found = cp.audit(
        agreement, runs=200, minutes=0.2, workers=0, secure_runs=0, progress=lambda phase, done, of: phases.add(phase)
    )
    told = found.to_dict()
    assert found.verdict == told["verdict"] == "consistent"
    assert {view["name"] for view in told["views"]} == {"public", "party 'p0'", "party 'p1'"}
    assert any("leaf" in made["name"] for made in told["disclosures"])
    assert all(made["found"] <= made["stated"]["epsilon"] * 1.3 for made in told["disclosures"])
    assert told["symbols"] and phases >= {"whole runs", "choosing tables", "disclosures"}
    assert "Consistent with what is stated" in str(found)
    found.draw(tmp_path / "audit.svg")
    assert "as stated would show" in (tmp_path / "audit.svg").read_text()


def test_what_promises_nothing_is_not_audited():
    agreement = cp.agreement_from_mapping(
        {**SMALL, "records": {"expected": 200, "public": True}, "privacy": {"epsilon": 1, "neighbors": "replace"}}
    )
    with pytest.raises(AgreementError, match="there is no view 'nobody'"):
        cp.audit(agreement, views=["nobody"])


def test_the_engine_s_own_noise_is_what_is_audited():
    """The variants above replace `add_noise`; without one, what is drawn is what a release draws."""
    assert IdealEngine.add_noise.__code__.co_names[0] == add_noise_inside.__name__
