"""Counting on how many records two class columns differ: what is counted, what it costs, and where it is said.

Statistical test: 400 releases with seeded coins; the mean of the noise is compared with 0 at 5 standard errors (one
run in 1.7 million would fail with right noise), and noise whose scale is 30 % off would be 6 standard errors away.
"""

from __future__ import annotations

import itertools
import json
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import copublish as cp
from copublish.cli import app
from copublish.engines.ideal import Room
from copublish.kernel.accounting.disclosures import NEIGHBORS
from copublish.kernel.ledger.ledger import Ledger, Limit
from copublish.kernel.records.alignment import align_records
from copublish.kernel.records.joint_table import JointTable
from copublish.kernel.secrets.gate import RevealGate
from copublish.mechanisms.registry import plan_of
from copublish.mechanisms.shared.class_disagreement import (
    INFLUENCE,
    CountsDisagreementFirst,
    class_disagreement,
    counts_disagreement_first,
)
from copublish.mechanisms.shared.run_class_disagreement import _count_differing, run_class_disagreement
from copublish.party.local.simulation import read_fragments, run_room
from copublish.rows.reading import read_fragment
from support import fragment_frames, no_noise, random_table, repartition, seeded, simulate_with, small_mapping

SHARE = Fraction(1, 20)


def mapping_of(partition: str = "vertical", parties: int = 2, **changes: Any) -> dict[str, Any]:
    changes = {"privacy.class_disagreement": "0.05", **changes}
    return repartition(small_mapping(**changes), partition, parties)


def agreed(partition: str = "vertical", **changes: Any) -> cp.Agreement:
    return cp.agreement_from_mapping(mapping_of(partition, **changes))


def frames_of(agreement: cp.Agreement, n: int = 80) -> dict[str, pd.DataFrame]:
    """Two parties' rows; the second one's class differs on some records, and neither lists a class on some."""
    generator = np.random.default_rng(8)
    frames = fragment_frames(agreement, random_table(agreement, n, generator), generator)
    for frame, odd in ((frames["p0"], ["no such class", "yes", ""]), (frames["p1"], ["no", "yes", "?"])):
        for place in generator.choice(len(frame), 30, replace=False):
            frame.iloc[place, frame.columns.get_loc("default")] = odd[place % 3]
    frames["p0"] = frames["p0"].iloc[5:]  # people whom one party alone knows count nowhere
    return frames


def naive_count(frames: dict[str, pd.DataFrame]) -> int:
    """On how many common people the columns differ, by pandas; everything that is not listed is one class."""
    both = frames["p0"].merge(frames["p1"], on="id", suffixes=("", " there"))
    here, there = (both[name].where(both[name].isin(["no", "yes"]), "none") for name in ("default", "default there"))
    return int((here != there).sum())


@pytest.mark.parametrize("partition", ["vertical", "arbitrary"])
@pytest.mark.parametrize("mechanism", ["specialization", "copula"])
def test_without_noise_it_is_the_number_that_pandas_counts(partition: str, mechanism: str) -> None:
    agreement = agreed(partition, mechanism={"name": mechanism})
    frames = frames_of(agreement)
    release = simulate_with(agreement, frames, no_noise(agreement.party_names))
    found = release.certificate.class_disagreement
    assert found.noisy_count == naive_count(frames) > 10
    assert (found.class_name, found.holders, found.counts) == ("default", ("p0", "p1"), "p1")
    same = {**frames, "p1": frames["p1"].drop(columns="default").merge(frames["p0"][["id", "default"]], on="id")}
    release = simulate_with(agreement, same, no_noise(agreement.party_names))
    assert release.certificate.class_disagreement.noisy_count == 0


def test_the_mechanism_is_as_it_would_be_alone_with_the_rest_of_epsilon() -> None:
    with_it, alone = agreed(), agreed(**{"privacy.class_disagreement": None, "privacy.epsilon": "0.95"})
    frames = frames_of(with_it)
    coins = no_noise(with_it.party_names)
    ours, theirs = (simulate_with(agreement, frames, coins) for agreement in (with_it, alone))
    assert ours.tables == theirs.tables
    assert all(ours.table(name).equals(theirs.table(name)) for name in ("records", *ours.tables))
    mechanisms_own = ours.certificate.to_json()["disclosures"][1:]
    assert mechanisms_own == theirs.certificate.to_json()["disclosures"]
    assert theirs.certificate.class_disagreement is None
    assert "class_disagreement" not in theirs.certificate.to_json()


@pytest.mark.parametrize("relation", NEIGHBORS)
@pytest.mark.parametrize("mechanism", ["specialization", "copula", "vhdp"])
def test_all_parts_add_up_to_the_agreed_epsilon_exactly(relation: str, mechanism: str) -> None:
    public = {"records.public": True} if mechanism == "vhdp" else {}
    if mechanism == "vhdp" and relation == "add-remove":
        return  # a public number of records contradicts it
    agreement = agreed(mechanism={"name": mechanism}, **{"privacy.neighbors": relation, **public})
    plan = plan_of(agreement)
    assert plan.cost().under(relation) == agreement.epsilon == 1
    first, *_ = plan.disclosures()
    assert first.epsilon("add-remove") == first.epsilon("replace") == SHARE  # one record changes it by 1 under either
    assert agreement.mechanism_epsilon == 1 - SHARE


def test_a_record_moves_the_count_by_at_most_its_stated_influence() -> None:
    """Every pair of neighbors among tables of two records, of three classes (one of them none) at either party."""
    agreement = agreed()

    def count(records: tuple[tuple[str, str], ...]) -> int:
        frames = {}
        for number, party in enumerate(agreement.parties):
            frame = pd.DataFrame({"id": [str(i) for i in range(len(records))]})
            for name in agreement.columns_of(party):
                frame[name] = [pair[number] for pair in records] if name == "default" else None
            frames[party] = frame
        return _opened(agreement, frames)

    cells = list(itertools.product(("no", "yes", "none"), repeat=2))
    counts = {(one,): count((one,)) for one in cells}
    assert counts == {(one,): int(one[0] != one[1]) for one in cells}
    largest = {"add-remove": max(counts.values()), "replace": max(counts.values()) - min(counts.values())}
    assert largest == INFLUENCE
    both = count((("no", "yes"), ("yes", "none")))
    assert both == 2  # so that a larger change would be noticed


def _opened(agreement: cp.Agreement, frames: dict[str, pd.DataFrame]) -> int:
    """The secret number itself, which the ideal engine keeps in the clear."""
    fragments = {party: read_fragment(agreement, party, frame) for party, frame in frames.items()}

    def job(engine: Any) -> int:
        table: JointTable = align_records(agreement, fragments[engine.party], engine)
        return int(np.asarray(_count_differing(table, engine)._handle).item())

    return Room(agreement.party_names).run(job)["p0"]


@pytest.mark.slow
def test_the_noise_has_the_scale_that_is_stated() -> None:
    agreement = agreed(**{"privacy.class_disagreement": "0.5"})
    frames = frames_of(agreement, 40)
    fragments, disclosure = read_fragments(agreement, frames), class_disagreement(agreement)
    cost, count = plan_of(agreement).cost(), naive_count(frames)
    drawn = []
    for number in range(400):
        ledger = Ledger(":memory:")
        ledger.set_limit("people", Limit(Fraction(1), "add-remove"))

        def job(engine: Any, ledger: Ledger = ledger) -> int:
            table = align_records(agreement, fragments[engine.party], engine)
            if engine.party != "p0":
                ledger = Ledger(":memory:")
                ledger.set_limit("people", Limit(Fraction(1), "add-remove"))
            with ledger.reserve("people", "r", "h", cost) as charge:
                gate = RevealGate(engine, engine.opener, charge, False)
                return run_class_disagreement(disclosure, table, engine, gate, lambda *_: None)

        opened = Room(agreement.party_names, seeded(agreement.party_names, number)).run(job)
        assert len(set(opened.values())) == 1
        drawn.append(opened["p0"] - count)
    # Discrete Laplace noise of rate r = 1/2: variance 2 p / (1 - p)^2 with p = e^-r, and E|X| = 2 p / (1 - p^2).
    p = np.exp(-0.5)
    assert abs(np.mean(drawn)) < 5 * np.sqrt(2 * p / (1 - p) ** 2 / len(drawn))
    mean_size, spread = 2 * p / (1 - p**2), np.sqrt(2 * p / (1 - p) ** 2 - (2 * p / (1 - p**2)) ** 2)
    assert abs(np.mean(np.abs(drawn)) - mean_size) < 5 * spread / np.sqrt(len(drawn))
    assert 0.3 * mean_size > 5 * spread / np.sqrt(len(drawn))  # so noise 30 % off would fail


def test_it_stands_in_ledger_describe_certificate_readme_show_and_report(tmp_path) -> None:
    agreement = agreed()
    frames = frames_of(agreement)
    described = cp.describe(agreement)
    what = "number of records on which the classes at 'p0' and 'p1' differ"
    assert described.disclosures[0].what == what
    assert described.to_dict()["class_disagreement"] == {
        "holders": ["p0", "p1"],
        "counts": "p1",
        "epsilon": "0.05",
        "mechanism_epsilon": "0.95",
    }
    assert "how far class columns agree, with epsilon 0.05" in str(described)
    ledgers = {party: Ledger(":memory:") for party in agreement.parties}
    for ledger in ledgers.values():
        ledger.set_limit("people", Limit(Fraction(1), "add-remove"))
    release = run_room(plan_of(agreement), read_fragments(agreement, frames), Room(agreement.party_names), ledgers)
    for ledger in ledgers.values():
        (label, epsilon), *_ = ledger._database.execute("SELECT label, epsilon_add_remove FROM disclosures")
        assert (label, Fraction(epsilon)) == (what, SHARE)
        assert ledger.spent("people").add_remove == 1
    words = release.certificate.class_disagreement.words
    release.write(tmp_path / "release")
    again = cp.load_release(tmp_path / "release")
    assert again.certificate == release.certificate
    assert words in (tmp_path / "release" / "README.md").read_text()
    runner = CliRunner(env={"COLUMNS": "400", "NO_COLOR": "1"})
    shown = runner.invoke(app, ["show", str(tmp_path / "release")]).stdout
    assert " ".join(words.split()) in " ".join(shown.split())
    as_json = json.loads(runner.invoke(app, ["show", str(tmp_path / "release"), "--format", "json"]).stdout)
    assert as_json["certificate"]["class_disagreement"]["holders"] == ["p0", "p1"]
    page = cp.report(again).html
    assert 'id="class-disagreement"' in page
    assert "differ on about" in page


def refusal(mapping: dict[str, Any]) -> str:
    with pytest.raises(cp.AgreementError) as caught:
        cp.agreement_from_mapping(mapping)
    return " ".join(str(caught.value).split())


def test_agreements_that_cannot_have_it_are_told_why() -> None:
    assert "no record has two class columns" in refusal(mapping_of("horizontal"))
    assert "3 parties hold the class 'default'" in refusal(mapping_of("vertical", 3))
    mapping = mapping_of()
    mapping["class"]["held_by"] = "p0"
    assert "'p0' alone holds the class 'default'" in refusal(mapping)
    for share in ("0", "1", "-0.1", "0.001"):
        assert "class_disagreement" in refusal(mapping_of(**{"privacy.class_disagreement": share}))
    assert "less than 0.000001 of epsilon" in refusal(mapping_of(**{"privacy.epsilon": "0.00001"}))
    mapping = mapping_of(mechanism={"name": "vhdp"}, **{"records.public": True, "privacy.neighbors": "replace"})
    assert "'masked-sum' cannot compare columns of two parties" in refusal(mapping | {"engine": {"name": "masked-sum"}})


def test_agreements_without_it_keep_their_plan() -> None:
    mapping = mapping_of(**{"privacy.class_disagreement": None})
    agreement = cp.agreement_from_mapping(mapping)
    assert not isinstance(plan_of(agreement), CountsDisagreementFirst)
    assert agreement.mechanism_epsilon == agreement.epsilon
    assert agreement.hash != agreed().hash


def test_a_mechanism_that_spends_all_of_epsilon_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cp.Agreement, "mechanism_epsilon", property(lambda agreement: agreement.epsilon / 2))
    agreement = agreed()
    plan = plan_of(agreement).rest
    monkeypatch.undo()
    monkeypatch.setattr(cp.Agreement, "mechanism_epsilon", property(lambda agreement: agreement.epsilon / 3))
    with pytest.raises(ValueError, match="spends no more than"):
        counts_disagreement_first(plan)
