"""Audits move the number of records on which two class columns differ, and say of what nothing moves that it was not
audited.

Bytes are seeded (`conftest.py`), so tests pass always or never. With fresh ones a sound disclosure, audited twice if
accused, would be accused with probability 10^-6.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cache, partial
from typing import Any

import pytest

import copublish as cp
from copublish.kernel.accounting.disclosures import NEIGHBORS
from copublish.kernel.noise.geometric import SystemCoins, geometric_noise
from copublish.mechanisms.marginals.measurements import CHOSEN
from copublish.mechanisms.shared.class_disagreement import STEP
from copublish.progress import no_progress
from copublish.tools.auditing import audit as auditing
from copublish.tools.auditing import tables
from copublish.tools.auditing.game import Game
from copublish.tools.auditing.pair_choice import telling_parts
from copublish.tools.auditing.single_disclosures import Part, parts_of
from copublish.tools.auditing.tables import ELSEWHERE, Pair, pairs_against, valid_pairs
from support import repartition, small_mapping
from support.audits import not_accused
from support.broken_mechanisms import CHOICE, laplace, noise_drawn_by
from support.broken_mechanisms import part_of as made_part

LEVEL = 0.001


def agreed(relation: str = "add-remove", **changes: Any) -> cp.Agreement:
    given = {"privacy.class_disagreement": "0.2", "privacy.neighbors": relation, "records.expected": 100, **changes}
    return cp.agreement_from_mapping(repartition(small_mapping(**given), "vertical"))


@pytest.fixture(autouse=True)
def few_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Audits look at few pairs, and at all of them, however long that takes."""
    few = list(chosen_pairs(agreed()))
    monkeypatch.setattr("copublish.tools.auditing.pair_choice.valid_pairs", lambda *given: chosen_pairs(given[0]))
    assert any(ELSEWHERE in pair.tables[1][-1] for pair in few) and any(
        ELSEWHERE not in pair.tables[1][-1] for pair in few
    )


def chosen_pairs(agreement: cp.Agreement) -> Iterator[Pair]:
    for pair in valid_pairs(agreement, agreement.privacy.neighbors, SystemCoins()):
        if pair.base == "no records" and pair.record.startswith("first values, class no"):
            yield pair


def parts(agreement: cp.Agreement) -> tuple[list[tuple[Part, Pair]], list[str]]:
    moved, _, why_not = telling_parts(agreement, math.inf, no_progress)
    return moved, why_not


@cache
def part_of(relation: str) -> Part | None:
    """The disclosure as an audit plays it, if some tables move it: looked for once for all tests."""
    return next((part for part, _ in parts(agreed(relation))[0] if part.disclosure.place.step == STEP), None)


@pytest.mark.parametrize("relation", NEIGHBORS)
def test_some_neighbors_move_it_by_one_for_each_person(relation: str) -> None:
    part = part_of(relation)
    assert part is not None and abs(int(part.measured[1][0] - part.measured[0][0])) == part.people


@pytest.mark.parametrize("relation", NEIGHBORS)
def test_its_price_is_what_one_person_moves(relation: str) -> None:
    """The noise is for as much as made-up neighbors move the number, and not for what the disclosure says of itself."""
    part = part_of(relation)
    moved = abs(int(part.measured[1][0] - part.measured[0][0])) // part.people
    assert part.disclosure.noise.rate * moved == part.disclosure.budget == Fraction(1, 5)


@pytest.mark.parametrize("relation", NEIGHBORS)
def test_half_of_its_noise_is_accused_and_all_of_it_is_not(relation: str) -> None:
    part = part_of(relation)
    assert not_accused(partial(part.audit, 2000)).found > 0.02
    with noise_drawn_by(lambda noise, n: laplace(geometric_noise(noise.rate * 2), n)):
        assert part.audit(2000).p_value < LEVEL / 10


@pytest.mark.parametrize("party", ["p0", "p1"])
def test_a_holder_of_one_class_is_shown_another_class_at_the_other_one(party: str) -> None:
    """Its own column is the same in both tables, and the number moves."""
    agreement, moved = agreed(), 0
    for pair in pairs_against(agreement, party, SystemCoins()):
        if pair.base != "no records" or "first values" not in pair.record:
            continue
        one, other = (pair.frames(agreement, table)[party] for table in (0, 1))
        assert one.equals(other)
        first = next(part for part in parts_of(Game(agreement, pair)) if part.disclosure.place.step == STEP)
        moved += first.can_tell
    assert moved > 0


@pytest.mark.parametrize("mechanism", ["specialization", "copula", "marginals"])
def test_what_no_pair_of_tables_moves_was_not_audited(mechanism: str, monkeypatch: pytest.MonkeyPatch) -> None:
    agreement = agreed(mechanism={"name": mechanism})
    label = "number of records on which the classes at 'p0' and 'p1' differ"
    moved, unmoved = parts(agreement)
    assert label in [part.disclosure.label for part, _ in moved] and not any(label in said for said in unmoved)
    alike = [pair for pair in chosen_pairs(agreement) if ELSEWHERE not in pair.tables[1][-1]]
    monkeypatch.setattr("copublish.tools.auditing.pair_choice.valid_pairs", lambda *given: iter(alike))
    moved, unmoved = parts(agreement)
    assert label not in [part.disclosure.label for part, _ in moved]
    assert f"{label}: no pair of made-up tables moves it" in unmoved


def test_a_choice_whose_scores_all_move_alike_is_not_told_apart() -> None:
    """A record that fits every candidate: whoever wins is as likely as without it."""
    assert made_part(CHOICE, [3, 5, 4], [3, 6, 4]).can_tell
    assert not made_part(CHOICE, [3, 5, 4], [4, 6, 5]).can_tell


@pytest.mark.parametrize("delta", [None, "1e-6"])
def test_what_no_run_opened_was_not_audited(delta: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if no run had chosen a table: a plan has it all the same, as a part of a budget that rounds share."""
    changes = {"mechanism": {"name": "marginals"}, "privacy.epsilon": 2, "records.expected": 5000}
    agreement = agreed(**changes, **({} if delta is None else {"privacy.delta": delta}))
    said = "number of records in every cell of a chosen table: no run on made-up tables opened it"
    assert said not in parts(agreement)[1]
    opened = "copublish.tools.auditing.pair_choice.parts_of"
    monkeypatch.setattr(opened, lambda game: (part for part in parts_of(game) if part.disclosure.place.step != CHOSEN))
    assert said in parts(agreement)[1]


def test_an_audit_says_what_was_not_audited_and_has_no_number_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    agreement = agreed(mechanism={"name": "copula"})
    monkeypatch.setattr(tables, "has_several_classes", lambda agreement: False)  # as if all classes were the same
    monkeypatch.setattr(auditing, "_symbols", lambda *given: iter(()))
    monkeypatch.setattr(auditing, "VERDICT_LEVEL", 1e-7)
    found = cp.audit(agreement, runs=100, minutes=0.02, workers=0, secure_runs=0, views=["public"])
    label = "number of records on which the classes at 'p0' and 'p1' differ"
    assert label not in [made.name for made in found.disclosures]
    assert f"{label}: no pair of made-up tables moves it" in found.skipped
    assert f"Not audited: {label}" in " ".join(str(found).split())


def test_a_view_that_nothing_moves_was_not_audited(monkeypatch: pytest.MonkeyPatch) -> None:
    agreement = agreed(mechanism={"name": "copula"})
    monkeypatch.setattr(auditing, "_symbols", lambda *given: iter(()))
    monkeypatch.setattr(auditing, "pairs_against", lambda *given: iter(()))
    monkeypatch.setattr(auditing, "VERDICT_LEVEL", 1e-7)
    found = cp.audit(agreement, runs=100, minutes=0.02, workers=0, secure_runs=0, views=["public", "p1"])
    assert [view.name for view in found.views] == ["public"]
    assert "what 'p1' sees: no pair of made-up tables moves it" in found.skipped
