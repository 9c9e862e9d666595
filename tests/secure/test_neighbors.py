"""What one person's record can change: nothing that is not charged.

A run on D' is given the answers that the gate gave on its neighbor D. Then everything else must be the same: the
disclosures, the candidates, every engine call with its shapes and public arguments, all that parties exchange. What
the gate measures may differ by the declared sensitivity and no more. Secrets are read through `_handle`, which the
ideal engine keeps in the clear. Only the number of records may show in a shape, and only where insiders know it.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

from copublish import Agreement, Release, agreement_from_mapping
from copublish.engines.ideal import IdealEngine
from copublish.errors import EngineError
from copublish.kernel.accounting.disclosures import Disclosure, GaussianMeasure, Measure, Neighbors, Select
from copublish.kernel.ledger.ledger import Ledger
from copublish.kernel.secrets.computer import Marks
from copublish.kernel.secrets.gate import RevealGate
from copublish.kernel.secrets.secret import Secret, SecretCounts
from copublish.mechanisms.marginals.measurements import CHOSEN
from copublish.mechanisms.marginals.run_tables import candidate_scores, refuse_out_of_bounds
from copublish.mechanisms.specialization import run as specialization
from copublish.mechanisms.specialization.cut import Candidates, Cut
from copublish.mechanisms.specialization.run_scores import CandidateScores
from copublish.mechanisms.specialization.score import Score
from copublish.party.local.simulation import read_fragments, simulate_fragments
from support import mapping_by_default, random_table, repartition, seeded, small_mapping
from support.protocol import exchange
from support.releases import labels_of, leaf_counts

N_RECORDS = 40
PARTITIONS = ["horizontal", "vertical", "arbitrary", "class at one party"]
SCORES = ["max", "tv-gain", "balanced-gain"]
RELATIONS: list[Neighbors] = ["add-remove", "replace"]
PAIRS = [
    (partition, RELATIONS[(row + column) % 2], score)
    for row, partition in enumerate(PARTITIONS)
    for column, score in enumerate(SCORES)
]
"""Every partition with every score, and either of them with both relations: nothing depends on all three at once."""


def agreement_for(
    partition: str, relation: Neighbors, mapping_of: Callable[..., dict[str, Any]] = small_mapping, **changes: Any
) -> Agreement:
    mapping = mapping_of(**{"mechanism.max_cells": 512, **changes})
    mapping["privacy"]["neighbors"] = relation
    mapping["attributes"]["income"]["missing"] = "category"
    if partition == "class at one party":
        mapping = repartition(mapping, "vertical", 3)
        mapping["class"]["held_by"] = "p1"
    else:
        mapping = repartition(mapping, partition, 3 if partition == "arbitrary" else 2)
    return agreement_from_mapping(mapping)


def frames_of(agreement: Agreement, table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Split a table between the parties. Who holds a cell depends on identifier and column alone."""
    parties, frames = agreement.party_names, {}

    def owner(column: str) -> np.ndarray:
        return np.array([zlib.crc32(f"{name}/{column}".encode()) % len(parties) for name in table["id"]], dtype=int)

    for number, party in enumerate(parties):
        if agreement.partition == "horizontal":
            frames[party] = table[owner("") == number]
            continue
        columns = {"id": table["id"]}
        for name in agreement.columns_of(party):
            is_spread = name != agreement.class_.name and len(agreement.holders(name)) > 1
            columns[name] = table[name].astype(object).where(owner(name) == number, None) if is_spread else table[name]
        frames[party] = pd.DataFrame(columns)
        for name in ("age", "income"):
            if name in columns:
                frames[party][name] = frames[party][name].astype(float)
    return frames


@dataclass
class Trace:
    """All that happened in one run."""

    release: Release | None = None
    calls: list[tuple[str, ...]] = field(default_factory=list)
    seen: list[tuple[str, Any]] = field(default_factory=list)
    candidates: list[list[Candidates]] = field(default_factory=list)
    disclosures: dict[str, list[Disclosure]] = field(default_factory=dict)
    measured: dict[str, list[np.ndarray]] = field(default_factory=dict)
    answers: dict[str, list[Any]] = field(default_factory=dict)


class FixedClock(datetime):
    @classmethod
    def now(cls, tz: Any = None) -> datetime:
        return cls(2026, 1, 1, tzinfo=tz)


def plain(value: Any) -> Any:
    """A value, arrays and programs inside it included, in a form that can be compared."""
    if isinstance(value, np.ndarray):
        return ("array", value.shape, value.tobytes())
    if isinstance(value, Secret):
        return ("secret", value.shape)
    if isinstance(value, list | tuple):
        return tuple(map(plain, value))
    if isinstance(value, dict):
        return tuple((key, plain(item)) for key, item in sorted(value.items()))
    return value.__name__ if callable(value) else value


def traced(agreement: Agreement, table: pd.DataFrame, replay: Trace | None = None, seed: int = 1) -> Trace:
    """Run a release and note everything; with `replay` the gate answers as it did then."""
    trace = Trace()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("copublish.kernel.main_path.datetime", FixedClock)
        # One key in all ledgers, as if they were kept: then a commitment is another one only if the list is.
        patch.setattr(Ledger, "key_of_lists", lambda ledger, dataset: bytes(32))
        _note_engine_calls(patch, trace)
        _note_candidates(patch, trace)
        for name in ("reveal_selection", "reveal_measurement", "reveal_gaussian_measurement"):
            _note_disclosures(patch, trace, name, replay)
        fragments = read_fragments(agreement, frames_of(agreement, table))
        trace.release = simulate_fragments(agreement, fragments, seeded(agreement.party_names, seed))
    return trace


def _note_engine_calls(patch: pytest.MonkeyPatch, trace: Trace) -> None:
    def wrapped(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(self: IdealEngine, *given: Any, **public: Any) -> Any:
            answer = original(self, *given, **public)
            if name in ("share", "share_within"):  # what a party puts in is its own; its shape is not
                trace.calls.append((self.party, name, given[0].shape, given[1:], plain(public), answer.shape))
                trace.seen.append((self.party, name, given[0].shape))
            elif name in ("joint_matches", "joint_pairs", "joint_match_pairs"):
                shapes = [np.shape(part.own)[:-1] for part in given if isinstance(part, Marks)]
                shapes += [np.shape(part)[:-1] for part in given if isinstance(part, list)]
                stated = [plain(part) for part in given if not isinstance(part, Marks | list | int)]
                stated += [part.holders for part in given if isinstance(part, Marks)]
                trace.calls.append((self.party, name, shapes, stated, plain(public), answer.shape))
            elif name == "joint_histogram":
                cells, places, *stated = given
                assert places is None or places.shape == cells.shape
                assert (places is not None) == (self.party == self.parties[-1])
                trace.calls.append((self.party, name, ("n",), plain(stated), plain(public), answer.shape))
                trace.seen.append((self.party, name, cells.shape))
            elif name in ("exchange", "align", "have_common"):
                trace.calls.append((self.party, name))
                trace.seen.append((self.party, name, plain(answer)))
            else:
                trace.calls.append((self.party, name, plain(given), plain(public), answer.shape))
            return answer

        return call

    joins = ("joint_histogram", "joint_matches", "joint_pairs", "joint_match_pairs")
    for name in ("share", "share_within", *joins, "compute", "coins", "exchange", "align", "have_common", "_open"):
        patch.setattr(IdealEngine, name, wrapped(name, getattr(IdealEngine, name)))


def _note_candidates(patch: pytest.MonkeyPatch, trace: Trace) -> None:
    original = Cut.candidates

    def candidates(self: Cut, max_leaves: int) -> list[Candidates]:
        found = original(self, max_leaves)
        trace.candidates.append(found)
        return found

    patch.setattr(Cut, "candidates", candidates)


def in_the_clear(secret: Secret | SecretCounts) -> np.ndarray:
    """What a secret holds; counts one by one in agreed order, however they lie."""
    return secret.in_order(secret.secret._handle) if isinstance(secret, SecretCounts) else np.array(secret._handle)


def _note_disclosures(patch: pytest.MonkeyPatch, trace: Trace, name: str, replay: Trace | None) -> None:
    original = getattr(RevealGate, name)

    def reveal(self: RevealGate, secret: Secret | SecretCounts, disclosure: Disclosure, **ahead: int) -> Any:
        party = self.computer.party
        position = len(trace.answers.setdefault(party, []))
        answer = original(self, secret, disclosure, **ahead)
        if replay is not None:
            answer = replay.answers[party][position]
            self.opened[-1] = (disclosure, np.atleast_1d(answer))
        trace.disclosures.setdefault(party, []).append(disclosure)
        trace.measured.setdefault(party, []).append(in_the_clear(secret))
        trace.answers[party].append(answer)
        trace.seen.append((party, "opened", plain(answer)))
        return answer

    patch.setattr(RevealGate, name, reveal)


def check_same_course(a: Trace, b: Trace, openings: int = 1) -> None:
    """Assert that nothing but what is measured differs; a disclosure takes so many openings."""
    assert a.disclosures == b.disclosures
    assert a.candidates == b.candidates
    assert a.calls == b.calls
    for trace in (a, b):  # what is opened is what is disclosed, nothing besides
        opened = [call for call in trace.calls if call[1] == "_open"]
        assert len(opened) == openings * sum(map(len, trace.disclosures.values()))


def check_sensitivity(a: Trace, b: Trace, relation: Neighbors) -> int:
    """Assert that every measured quantity moved by at most what is declared; return how far the counts moved."""
    moved = 0
    for party, disclosures in a.disclosures.items():
        for made, before, after in zip(disclosures, a.measured[party], b.measured[party], strict=True):
            change = after - before
            if isinstance(made, Select):
                offered, padding = slice(made.candidates), slice(made.candidates, None)
                assert change[offered].max() - change[offered].min() <= made.score_range[relation]
                assert not change[padding].any()
                for scores in (before, after):  # no noise lifts a place without a candidate to one
                    assert (scores[padding] + 2**made.noise.bits <= scores[offered].min()).all()
            else:
                assert isinstance(made, Measure)
                moved = int(np.abs(change).sum())
                assert moved <= made.l1_sensitivity[relation]
                assert np.count_nonzero(change) <= made.changed_entries[relation]
    return moved


def base_table(agreement: Agreement) -> pd.DataFrame:
    return random_table(agreement, N_RECORDS, np.random.default_rng(8))


def neighbors_of(agreement: Agreement, table: pd.DataFrame, relation: Neighbors, how_many: int) -> list[pd.DataFrame]:
    """Tables with one more record, or with other values in one."""
    found = []
    for number in range(how_many):
        record = random_table(agreement, 1, np.random.default_rng(100 + number))
        if relation == "add-remove":
            record["id"] = f"new-{number}"
            found.append(pd.concat([table, record], ignore_index=True))
        else:
            changed = table.copy()
            columns = [*agreement.attributes, agreement.class_.name]
            changed.loc[5 * number, columns] = record.loc[0, columns]
            found.append(changed)
    return found


@pytest.mark.parametrize(("partition", "relation", "score"), PAIRS)
def test_one_record_changes_no_step_and_no_measurement_beyond_its_sensitivity(partition, relation, score) -> None:
    agreement = agreement_for(partition, relation, **{"mechanism.score": score})
    table = base_table(agreement)
    base = traced(agreement, table)
    assert len(base.candidates) > len(agreement.parties) * 4  # several rounds
    moved = []
    for neighbor in neighbors_of(agreement, table, relation, 2):
        other = traced(agreement, neighbor, replay=base)
        check_same_course(base, other)
        moved.append(check_sensitivity(base, other, relation))
    assert max(moved) == (1 if relation == "add-remove" else 2)  # the record was there


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("relation", RELATIONS)
def test_one_record_changes_no_step_of_hpdp_and_the_release_is_a_function_of_what_was_opened(relation, noise) -> None:
    """Gaussian noise takes one opening more: which candidates are kept, the same for the same coins."""
    changes = {"mechanism": {"name": "hpdp", "noise": noise}, "mechanism.max_cells": None}
    changes |= {"privacy.delta": "1e-6"} if noise == "gaussian" else {}
    agreement = agreement_for("horizontal", relation, **changes)
    table = base_table(agreement)
    base = traced(agreement, table)
    for neighbor in neighbors_of(agreement, table, relation, 2):
        other = traced(agreement, neighbor, replay=base)
        check_same_course(base, other, openings=2 if noise == "gaussian" else 1)
        assert other.release.files() == base.release.files()
        for party, (made,) in base.disclosures.items():
            change = (other.measured[party][0] - base.measured[party][0]).astype(object)
            if isinstance(made, GaussianMeasure):
                moved, most = (change * change).sum(), made.squared_l2_sensitivity[relation]
            else:
                moved, most = np.abs(change).sum(), made.l1_sensitivity[relation]
            assert 0 < moved <= most
    assert traced(agreement, table, seed=2).release.files() != base.release.files()  # the comparison sees something


MARGINALS: list[tuple[str, Neighbors, str, dict[str, Any]]] = [
    *(
        (partition, RELATIONS[(row + column) % 2], noise, {"rounds": 4})
        for row, partition in enumerate(PARTITIONS)
        for column, noise in enumerate(("laplace", "gaussian"))
    ),
    *(("arbitrary", relation, "gaussian", {"rounds": 3, "tables": "class-triples"}) for relation in RELATIONS),
    *(("vertical", relation, "laplace", {"rounds": 3, "first": "columns"}) for relation in RELATIONS),
    ("horizontal", "replace", "laplace", {"tables": [["job", "age"], ["age", "income", "default"]]}),
]
"""As `PAIRS`: every partition with either noise, and each of both with both relations."""


@pytest.mark.parametrize(("partition", "relation", "noise", "keys"), MARGINALS)
def test_one_record_changes_no_step_of_marginals_and_no_measurement_beyond_its_sensitivity(
    partition, relation, noise, keys
) -> None:
    """Gaussian noise takes more openings: which candidates are kept, once for all tables that share a draw."""
    changes = {"mechanism": {"name": "marginals", **keys}, "mechanism.max_cells": None, "privacy.epsilon": 3}
    changes |= {"privacy.delta": "1e-6"} if noise == "gaussian" else {}
    agreement = agreement_for(partition, relation, **changes)
    table = base_table(agreement)
    base, furthest = traced(agreement, table), 0
    for neighbor in neighbors_of(agreement, table, relation, 2):
        other = traced(agreement, neighbor, replay=base)
        check_same_course_of_marginals(base, other)
        assert other.release.files() == base.release.files()
        furthest = max(furthest, furthest_score(base, other, relation))
    if "tables" not in keys or isinstance(keys["tables"], str):
        assert furthest >= 2  # the range of adding a record is attained
    if noise == "laplace":  # the comparison sees something
        assert traced(agreement, table, seed=2).release.files() != base.release.files()


def check_same_course_of_marginals(a: Trace, b: Trace) -> None:
    assert a.disclosures == b.disclosures and a.calls == b.calls
    for trace in (a, b):
        made = [disclosure for disclosures in trace.disclosures.values() for disclosure in disclosures]
        # At every party the first tables take a draw, and others one or what an earlier one has left.
        measured = sum(isinstance(disclosure, GaussianMeasure) for disclosure in made)
        draws = len([call for call in trace.calls if call[1] == "_open"]) - len(made)
        assert (len(trace.disclosures) if measured else 0) <= draws <= measured


def furthest_score(a: Trace, b: Trace, relation: Neighbors) -> int:
    """Assert that every table and every score moved by at most what is declared; return how far scores came apart."""
    furthest = 0
    for party, disclosures in a.disclosures.items():
        for made, before, after in zip(disclosures, a.measured[party], b.measured[party], strict=True):
            change = after - before
            if isinstance(made, Select):
                apart = int(change.max() - change.min())
                assert len(change) == made.candidates and apart <= made.score_range[relation]
                assert change[-1] == 0  # choosing none is public
                furthest = max(furthest, apart)
            elif isinstance(made, GaussianMeasure):
                assert (change * change).sum() <= made.squared_l2_sensitivity[relation]
            else:
                assert np.abs(change).sum() <= made.l1_sensitivity[relation]
                assert np.count_nonzero(change) <= made.changed_entries[relation]
    return furthest


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("relation", RELATIONS)
def test_one_record_moves_class_triples_by_all_that_their_noise_is_for(relation: Neighbors, noise: str) -> None:
    """Every triple has the class, so another class moves every chosen table by as much as one person can.

    The price comes from the noise that is drawn and from how far the table moved, not from the stated sensitivity.
    """
    changes = {"mechanism": {"name": "marginals", "rounds": 3, "tables": "class-triples"}, "mechanism.max_cells": None}
    changes |= {"privacy.epsilon": 8} | ({"privacy.delta": "1e-6"} if noise == "gaussian" else {})
    agreement = agreement_for("horizontal", relation, **changes)
    table = random_table(agreement, 600, np.random.default_rng(8))
    regions, jobs = (list(agreement.columns[name].values) for name in ("region", "job"))
    # So a triple is worth its noise.
    table["region"] = [regions[jobs.index(job) % len(regions)] for job in table["job"]]
    if relation == "replace":
        neighbor, (no, yes) = table.copy(), agreement.class_.values
        neighbor.loc[0, agreement.class_.name] = yes if table.loc[0, agreement.class_.name] == no else no
    else:
        neighbor = pd.concat([table, table.head(1).assign(id="new")], ignore_index=True)
    base = traced(agreement, table)
    other = traced(agreement, neighbor, replay=base)
    steps = []
    for made, before, after in zip(base.disclosures["p0"], base.measured["p0"], other.measured["p0"], strict=True):
        moved = int(((after - before) ** 2).sum())
        if isinstance(made, GaussianMeasure):
            spent = Fraction(moved, 2 * made.noise.variance)
            assert made.rho_budget / 2 < spent <= made.rho_budget  # a variance is rounded up
        elif isinstance(made, Measure):
            assert made.noise.rate * moved == made.budget
        else:
            continue
        steps.append(made.place.step)
        assert moved == (1 if relation == "add-remove" else 2) * (4 if made.place.step != CHOSEN else 1)
    assert steps.count(CHOSEN) > 0


def test_answers_that_wrap_the_ring_would_move_a_score_by_more_than_declared() -> None:
    """Why they are refused: modulo 2^64 the distance from 17 - 2^63 jumps where a count passes 17."""
    wrapping = np.array([17 - 2**63, 0, 0], dtype=np.int64)
    places = np.array([[0]])
    with np.errstate(over="ignore"):
        before, after = (
            candidate_scores(np, np.array([[n]]), wrapping[:1], wrapping[1:], places, 0)[0] for n in (16, 17)
        )
    assert abs(int(after) - int(before)) > 2
    with pytest.raises(EngineError, match="out of bounds"):
        refuse_out_of_bounds(wrapping[:1], wrapping[1:], [1], 20)
    lowest = np.array([-(2**63), 0], dtype=np.int64)  # NumPy's absolute value of it is negative
    with pytest.raises(EngineError, match="out of bounds"):
        refuse_out_of_bounds(np.array([1]), lowest, [1], 20)
    refuse_out_of_bounds(np.array([1]), np.array([-(2**40), 2**40]), [1], 20)


def test_a_record_with_other_holders_than_any_other_changes_no_step() -> None:
    """Spread cells are matched by all parties, so no engine call depends on which patterns of holders occur."""
    agreement = agreement_for("arbitrary", "add-remove")
    table = base_table(agreement).head(3)
    base = traced(agreement, table)
    for neighbor in neighbors_of(agreement, table, "add-remove", 6):
        other = traced(agreement, neighbor, replay=base)
        check_same_course(base, other)
        assert check_sensitivity(base, other, "add-remove") == 1


@pytest.mark.parametrize("partition", PARTITIONS)
def test_without_the_replayed_answers_the_course_may_differ_so_the_comparison_sees_something(partition: str) -> None:
    agreement = agreement_for(partition, "add-remove")
    table = base_table(agreement)
    base, other = traced(agreement, table), traced(agreement, table, seed=2)
    with pytest.raises(AssertionError):
        check_same_course(base, other)


@cache  # one program for all parties
def times(factor: int, program: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    def multiplied(*given: Any, **public: Any) -> np.ndarray:
        return factor * program(*given, **public)

    return multiplied


@pytest.mark.parametrize("score", SCORES)
def test_scores_that_move_by_more_than_declared_are_noticed(monkeypatch: pytest.MonkeyPatch, score: str) -> None:
    agreement = agreement_for("horizontal", "add-remove", **{"mechanism.score": score})
    # A gain rarely moves as far as it can, so the mistake is made larger there.
    original, factor = specialization.gain_score, 2 if score == "max" else 8

    def multiplied(found: Score) -> Score:
        return replace(found, program=times(factor, found.program))

    monkeypatch.setattr(specialization, "MAX", multiplied(specialization.MAX))
    monkeypatch.setattr(specialization, "gain_score", lambda *given: multiplied(original(*given)))
    table = base_table(agreement)
    base = traced(agreement, table)
    others = [traced(agreement, n, replay=base) for n in neighbors_of(agreement, table, "add-remove", 3)]
    with pytest.raises(AssertionError):
        for other in others:
            check_sensitivity(base, other, "add-remove")


def test_a_step_that_depends_on_the_data_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    agreement = agreement_for("vertical", "add-remove")
    original = CandidateScores.of

    def leaky(self: CandidateScores, candidates: list[Candidates]) -> Secret:
        scores = original(self, candidates)
        if int(scores._handle.max()) > N_RECORDS // 2 + 5:
            self.computer.exchange(exchange("many"), "many")
        return scores

    monkeypatch.setattr(CandidateScores, "of", leaky)
    few, many = base_table(agreement), base_table(agreement)
    few["default"], many["default"] = ["no", "yes"] * (N_RECORDS // 2), "no"
    base = traced(agreement, few)
    with pytest.raises(AssertionError):
        check_same_course(base, traced(agreement, many, replay=base))


@pytest.mark.parametrize("partition", PARTITIONS)
def test_an_opening_past_the_gate_is_noticed(monkeypatch: pytest.MonkeyPatch, partition: str) -> None:
    agreement = agreement_for(partition, "add-remove")
    original = CandidateScores.of

    def leaky(self: CandidateScores, candidates: list[Candidates]) -> Secret:
        scores = original(self, candidates)
        self.computer._open(scores)
        return scores

    monkeypatch.setattr(CandidateScores, "of", leaky)
    base = traced(agreement, base_table(agreement))
    with pytest.raises(AssertionError):
        check_same_course(base, base)


# --- views ---


def other_values(agreement: Agreement, table: pd.DataFrame, partition: str) -> pd.DataFrame:
    """Other values for the same people. A class that all parties hold is known to all and stays."""
    other = random_table(agreement, len(table), np.random.default_rng(77))
    other["id"] = table["id"]
    if partition in ("vertical", "arbitrary"):
        other["default"] = table["default"]
    return other


@pytest.mark.parametrize(("partition", "relation", "score"), PAIRS)
def test_inputs_of_one_shape_with_the_same_coins_and_answers_give_the_same_views_and_the_same_bytes(
    partition: str, relation: Neighbors, score: str
) -> None:
    changes = {"records.public": relation == "replace", "mechanism.score": score}
    agreement = agreement_for(partition, relation, **changes)
    table = base_table(agreement)
    other = other_values(agreement, table, partition)
    base = traced(agreement, table)
    replayed = traced(agreement, other, replay=base)
    check_same_course(base, replayed)
    assert base.seen == replayed.seen  # all that any party learns, and the sizes of what it puts in
    assert base.release.files() == replayed.release.files()
    assert traced(agreement, other).seen != base.seen  # its own answers are others


@pytest.mark.parametrize("partition", PARTITIONS)
def test_values_that_are_not_published_change_nothing_that_is_opened(partition: str) -> None:
    """Without specializations only the class is counted: other attributes, same coins, same opened values."""
    agreement = agreement_for(partition, "add-remove", **{"mechanism.specializations": 0})
    table = base_table(agreement)
    other = other_values(agreement, table, partition)
    other["default"] = table["default"]
    first, second = traced(agreement, table), traced(agreement, other)
    assert first.seen == second.seen
    assert first.release.files() == second.release.files()
    other["default"] = "no"
    third = traced(agreement, other)
    assert [seen for seen in first.seen if seen[1] == "opened"] != [seen for seen in third.seen if seen[1] == "opened"]


# --- empty cells ---


def tables(agreement: Agreement) -> dict[str, pd.DataFrame]:
    generator = np.random.default_rng(9)
    return {
        "no records": random_table(agreement, 0, generator),
        "one record": random_table(agreement, 1, generator),
        "one record many times": random_table(agreement, 1, generator)
        .loc[[0] * 30]
        .assign(id=[str(number) for number in range(30)])
        .reset_index(drop=True),
        "random records": random_table(agreement, 60, generator),
    }


@pytest.mark.parametrize(
    ("data", "relation"),
    [
        ("no records", "add-remove"),
        ("no records", "replace"),
        ("one record", "replace"),
        ("one record many times", "add-remove"),
        ("random records", "replace"),
    ],
)
@pytest.mark.parametrize("partition", PARTITIONS)
def test_a_release_has_every_leaf_and_class_once_whatever_the_data(partition, data, relation) -> None:
    agreement = agreement_for(partition, relation, **{"records.public": relation == "replace"})
    table = tables(agreement)[data]
    release = traced(agreement, table).release
    leaves = math.prod(len(values) for values in labels_of(release).values())
    counts = leaf_counts(release)
    assert leaves > 1
    assert len(counts) == leaves * len(agreement.class_.values)
    assert not counts[[*agreement.attributes, agreement.class_.name]].duplicated().any()
    assert (counts["count"] >= 0).all()
    if relation == "replace":  # the number of records is public here
        assert counts["count"].sum() == len(table)
    else:
        assert counts["count"].sum() == max(0, counts["noisy_count"].sum())


# --- candidates ---


def narrow_table(agreement: Agreement) -> pd.DataFrame:
    return base_table(agreement).assign(job="cook", region="north", age=20, income=0, default="no")


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("partition", PARTITIONS)
def test_a_record_with_values_that_nobody_else_has_adds_no_candidate(partition: str, relation: Neighbors) -> None:
    agreement = agreement_for(partition, relation)
    table = narrow_table(agreement)
    base = traced(agreement, table)
    rare = table.loc[[0]].assign(job="vet", region="east", age=99, income=100, default="yes")
    if relation == "add-remove":
        other = pd.concat([table, rare.assign(id="new")], ignore_index=True)
    else:
        other = table.copy()
        other.loc[[0]] = rare
    replayed = traced(agreement, other, replay=base)
    check_same_course(base, replayed)
    check_sensitivity(base, replayed, relation)
    everything = {(group.attribute, split) for group in base.candidates[0] for split in group.splits}
    public = {(name, split) for name, d in agreement.domains.items() for split in d.splits((0, d.size))}
    assert everything == public  # values that nobody has are on offer as well


def test_candidates_taken_from_the_data_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As published (E8): only what occurs in the data is offered."""
    agreement = agreement_for("horizontal", "add-remove")
    table = narrow_table(agreement)
    wide = pd.concat([table, table.loc[[0]].assign(id="new", job="vet")], ignore_index=True)
    assert traced(agreement, table).candidates[0] == traced(agreement, wide).candidates[0]
    original, jobs = Cut.candidates, set()

    def from_data(self: Cut, max_leaves: int) -> list[Candidates]:
        return [g for g in original(self, max_leaves) if g.attribute != "job" or len(jobs) > 1]

    monkeypatch.setattr(Cut, "candidates", from_data)
    first_rounds = []
    for data in (table, wide):
        jobs.clear()
        jobs.update(data["job"])
        first_rounds.append(traced(agreement, data).candidates[0])
    assert first_rounds[0] != first_rounds[1]


# --- Records that are not as agreed ----------------------------------------------------------------------------------

ODD: dict[str, dict[str, Any]] = {
    "a number past its bounds": {"age": 1e300, "income": -1e300},
    "no number": {"age": np.inf, "income": np.nan},
    "values that are not listed": {"region": "nowhere", "job": "spy"},
    "missing values": {"region": "?", "job": "NA", "age": np.nan},
    "a class that is not listed": {"default": "perhaps"},
    "no class": {"default": None},
    "everything": {"region": "nowhere", "job": "", "age": -np.inf, "income": 1e9, "default": ""},
}


def odd_neighbor(table: pd.DataFrame, relation: Neighbors, odd: dict[str, Any]) -> pd.DataFrame:
    """The table with one more record that is not as agreed, or with one that no longer is."""
    table = table.astype({"age": float, "income": float})
    if relation == "add-remove":
        return pd.concat([table, table.loc[[3]].assign(id="new", **odd)], ignore_index=True)
    for column, value in odd.items():
        table.loc[3, column] = value
    return table


@cache
def base_of(partition: str, relation: Neighbors, mapping_of: Any) -> tuple[Agreement, pd.DataFrame, Trace]:
    """An agreement, a table that is as agreed, and its run: the same for all neighbors."""
    agreement = agreement_for(partition, relation, mapping_of, **{"records.public": relation == "replace"})
    table = base_table(agreement_for(partition, relation))
    return agreement, table, traced(agreement, table)


@pytest.mark.parametrize(
    ("partition", "odd", "relation", "mapping_of"),
    [
        (
            partition,
            odd,
            RELATIONS[(row + column) % 2],
            (small_mapping, mapping_by_default)[(row // 2 + column // 2) % 2],
        )
        for row, odd in enumerate(ODD)
        for column, partition in enumerate(PARTITIONS)
    ],
)
def test_a_record_that_is_not_as_agreed_changes_no_step_and_moves_no_more_than_any_other(
    partition: str, relation: Neighbors, odd: str, mapping_of: Any
) -> None:
    """Fails before encoding was total: the run on the neighbor ended, and all parties were told so."""
    agreement, table, base = base_of(partition, relation, mapping_of)
    other = traced(agreement, odd_neighbor(table, relation, ODD[odd]), replay=base)
    check_same_course(base, other)
    check_sensitivity(base, other, relation)
    assert other.release.files() == base.release.files()
    # A class that all parties hold is known to all; so is, in arbitrary data, which cells are empty.
    is_known = "default" in ODD[odd] or (
        partition == "arbitrary" and any(value != value for value in ODD[odd].values())
    )
    if relation == "replace" and not is_known:
        assert base.seen == other.seen


@pytest.mark.parametrize("partition", PARTITIONS)
def test_a_person_who_is_listed_twice_changes_no_step_and_is_one_record(partition: str) -> None:
    """Fails before encoding was total: a doubled identifier ended the run, and all parties were told so."""
    agreement = agreement_for(partition, "add-remove")
    table = base_table(agreement)
    base = traced(agreement, table)
    twice = table.loc[[3]].assign(**{name: table.loc[9, name] for name in agreement.columns if name != "default"})
    other = traced(agreement, pd.concat([table, twice], ignore_index=True), replay=base)
    check_same_course(base, other)
    check_sensitivity(base, other, "replace")
    assert base.seen == other.seen
    nameless = traced(agreement, pd.concat([table, table.loc[[3]].assign(id=" ")], ignore_index=True), replay=base)
    assert nameless.measured.keys() == base.measured.keys()
    check_same_course(base, nameless)


@cache
def base_of_sums(relation: Neighbors, mechanism: str) -> tuple[Agreement, pd.DataFrame, Trace]:
    """The same for mechanisms that open sums."""
    name, _, noise = mechanism.partition(" ")
    changes: dict[str, Any] = {"mechanism": {"name": name}, "mechanism.max_cells": None}
    if noise:
        changes |= {"privacy.delta": "1e-6", "mechanism.noise": "gaussian"}
    partition = "horizontal" if name == "hpdp" else "class at one party"
    agreement = agreement_for(partition, relation, mapping_by_default, **changes)
    table = base_table(agreement_for(partition, relation))
    return agreement, table, traced(agreement, table)


@pytest.mark.parametrize("mechanism", ["copula", "hpdp", "hpdp gaussian"])
@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("relation", RELATIONS)
def test_a_record_that_is_not_as_agreed_moves_no_sum_further_than_declared(relation, odd, mechanism) -> None:
    """Fails before encoding was total: the run on the neighbor ended, and all parties were told so."""
    agreement, table, base = base_of_sums(relation, mechanism)
    other = traced(agreement, odd_neighbor(table, relation, ODD[odd]), replay=base)
    check_same_course(base, other, openings=2 if mechanism == "hpdp gaussian" else 1)
    for party, disclosures in base.disclosures.items():
        for made, before, after in zip(disclosures, base.measured[party], other.measured[party], strict=True):
            change = (after - before).astype(object)
            if isinstance(made, GaussianMeasure):
                assert (change * change).sum() <= made.squared_l2_sensitivity[relation]
            else:
                assert isinstance(made, Measure)
                assert np.abs(change).sum() <= made.l1_sensitivity[relation]


@pytest.mark.parametrize("partition", PARTITIONS)
def test_null_rows_count_in_no_table(partition: str) -> None:
    """With the same coins the release is that of the table without them."""
    agreement = agreement_for(partition, "add-remove")
    table = base_table(agreement)
    null = table["id"].isin(table["id"].sample(15, random_state=1))
    with_null = table.assign(default=table["default"].where(~null, "perhaps"))
    without = traced(agreement, table[~null]).release.files()
    assert traced(agreement, with_null).release.files() == without
    assert traced(agreement, table).release.files() != without
