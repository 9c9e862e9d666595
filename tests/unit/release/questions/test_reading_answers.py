"""What a release answers: the table's own values where there is no noise, intervals where there is, else the reason."""

from __future__ import annotations

import io
import math
import re
from collections import Counter
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from rich.console import Console

import copublish as cp
from copublish.cli.show_command import print_release
from copublish.kernel.accounting.statements import Law
from copublish.party.local.simulation import read_fragments, simulate_fragments
from copublish.release.questions.replicates import Draws, replicate
from interval_coverage import MECHANISMS, made_up, questions
from support import fragment_frames, no_noise, random_table, seeded, simulate_with
from support.any_release import any_release, cases_of
from support.recorded_releases import agreed, marginals
from support.releases import small_release

TABLE = made_up(800)


CLOSE = {
    "correlation": {"abs": 0.03},  # what noise would add to squares of means is taken off, though there is none
    "mean, by noise": {"rel": 1e-9},
    "mean among, by noise": {"rel": 1e-9},
}


@cache
def release_of(mechanism: str, *, noise: bool) -> cp.Release:
    agreement = TABLE.agreement(mechanism, "10" if mechanism == "vhdp" else "1")
    halves = {"p0": TABLE.records.iloc[::2], "p1": TABLE.records.iloc[1::2]}
    parties = agreement.party_names
    coins = seeded(parties, 3) if noise else no_noise(parties)
    return simulate_fragments(agreement, read_fragments(agreement, halves), coins)


@pytest.mark.parametrize("mechanism", [name for name in MECHANISMS if name != "vhdp"])
def test_without_noise_every_answer_is_the_joint_table_s_own_value(mechanism):
    asked = set()
    for kind, ask, truth in questions(release_of(mechanism, noise=False), TABLE.records):
        try:
            said = ask()
        except cp.ReleaseError:
            continue
        if kind in ("mean", "mean among", "median"):  # which cells hide, or which spread bounds
            asked.add(kind)
            assert said.low - 1e-9 <= truth() <= said.high + 1e-9, kind
            continue
        if said.tells:
            asked.add(kind)
            assert said.value == pytest.approx(truth(), **CLOSE.get(kind, {"abs": 1e-9})), kind
    assert {"share", "correlation", "mean", "median"} <= asked


def test_clipped_noise_on_numbers_is_inverted_without_bias():
    """Records in the exact proportions of the law: whatever the true number, the mean is it, and so is its square."""
    release = release_of("vhdp", noise=True)
    scale = release.published.rows.noise["age"].scale_in_own_unit
    p, values = math.exp(-1 / scale), np.arange(18, 91)
    for true in (18, 19, 40, 90):
        law = (1 - p) / (1 + p) * p ** np.abs(values - true).astype(float)
        law[0], law[-1] = p ** (true - 18) / (1 + p), p ** (90 - true) / (1 + p)
        assert law.sum() == pytest.approx(1)
        times = np.rint(law * 300_000).astype(int)
        rows = int(times.sum())
        columns = {
            name: pa.array([release.records.column(name)[0].as_py()] * rows) for name in release.records.column_names
        }
        columns["age"] = pa.array(np.repeat(values, times))
        rows = replace(release.published.rows, records=pa.table(columns))
        perturbed = replace(release, published=replace(release.published, rows=rows))
        assert perturbed.mean("age").value == pytest.approx(max(true, 18), abs=0.02)
        _, first, _ = perturbed.reading._number("age", "mean")
        assert first.of_square.mean() == pytest.approx((true - 18) ** 2, abs=1.5)


def test_an_answer_says_what_it_is_and_how_sure():
    said = release_of("copula", noise=True).mean("age")
    assert said.low < said.value - said.within < said.value < said.value + said.within < said.high  # cells hide numbers
    assert "up to their cell" in said.how and said.confidence == 0.95
    surer = release_of("copula", noise=True).mean("age", confidence=0.99)
    assert surer.low < said.low and surer.high > said.high
    assert str(said).startswith(f"{said.value:.1f} (") and "with 95 % confidence" in str(said)
    assert said.to_dict()["value"] == said.value


@pytest.mark.parametrize(
    ("mechanism", "ask", "why"),
    [
        ("copula", lambda r: r.mean("wealth"), "no column 'wealth'. It has 'age'"),
        ("copula", lambda r: r.mean("region"), "holds categories, which have no mean"),
        ("copula", lambda r: r.share("region", "west"), "no published value 'west'. It has 'north'"),
        (
            "copula",
            lambda r: r.share("region", "north", among={"married": "yes"}),
            "Nothing was measured that has 'region' and 'married' together",
        ),
        ("copula", lambda r: r.correlation("age", "age"), "named twice"),
        ("copula", lambda r: r.mean("age", confidence=95), "from 0.5 to 0.999"),
        ("copula", lambda r: r.estimate(len, replicates=3), "at least 20"),
        (
            "hpdp",
            lambda r: r.share("age", "[18, 24)", among={"region": "north"}),
            "Nothing was measured that has 'age' and 'region' together",
        ),
        ("hpdp", lambda r: r.correlation("age", "region"), "3 categories, which have no order"),
        (
            "hpdp",
            lambda r: r.mean("age", among={"married": "yes", "default": "no"}),
            "Nothing was measured that has 'age' and 'married' and 'default' together",
        ),
        ("vhdp", lambda r: r.share("age", "[18, 24)"), "Noise on every number hides"),
        ("vhdp", lambda r: r.estimate(len), "no model that records could be drawn from again"),
        (
            "marginals",
            lambda r: r.count({"age": "[18, 24)", "balance": "[0, 1)", "region": "east"}),
            "Nothing was measured that has 'age' and 'balance' and 'region' together",
        ),
    ],
)
def test_what_a_release_does_not_tell_is_refused_with_the_reason(mechanism, ask, why):
    with pytest.raises(cp.ReleaseError) as caught:
        ask(release_of(mechanism, noise=True))
    assert why in str(caught.value)


def test_a_release_without_a_stated_law_of_noise_answers_nothing():
    release = any_release(cases_of("idp-ir")[0])
    with pytest.raises(cp.ReleaseError, match="scaled with the data, its size is not published"):
        release.mean(release.records.column_names[0])


def test_a_column_that_was_published_as_one_value_has_no_mean():
    release, _ = small_release(300, **{"mechanism.specializations": 0})
    with pytest.raises(cp.ReleaseError, match="published as one value, from 18 to 99"):
        release.mean("age")


def test_a_public_number_of_people_is_told_exactly_and_a_secret_one_with_its_error():
    release, _ = small_release(300, **{"records.public": True, "privacy.neighbors": "replace"})
    assert (release.count().value, release.count().low, release.count().high) == (300, 300, 300)
    for mechanism in ("specialization", "marginals", "copula", "hpdp"):
        said = release_of(mechanism, noise=True).count()
        assert said.within > 0 and said.low < 800 < said.high + said.within


@pytest.mark.parametrize("mechanism", ["specialization", "marginals", "copula", "hpdp"])
def test_replicates_are_made_as_the_release_was_and_differ_by_its_noise(mechanism):
    release = release_of(mechanism, noise=True)
    first, second = release.replicates(2)
    again = next(iter(release.replicates(1)))
    assert list(first.columns) == release.records.column_names and first.equals(again) and not first.equals(second)
    for name, values in release.to_pandas().items():
        assert set(map(type, first[name])) <= set(map(type, values)) | {str}, name
    said = release.estimate(lambda frame: (frame["default"] == "yes").mean(), replicates=20)
    exact = (release_of(mechanism, noise=False).to_pandas()["default"] == "yes").mean()
    assert abs(said.value - exact) < 6 * said.standard_error and 0.001 < said.standard_error < 0.1
    assert "leaves out" in said.how


class _NoChance(Draws):
    """Fresh noise that is none."""

    def noise(self, law, size, *, points_per_person=1):
        return np.zeros(size)


def test_a_replicate_without_fresh_noise_has_the_published_counts_of_every_cell():
    """What noise leaves in the ends of a grid is taken away from replicates as from the release."""
    agreement = cp.agreement_from_mapping(
        {
            "format": 1,
            "name": "amounts",
            "dataset": "people",
            "partition": "horizontal",
            "parties": {"p0": {}, "p1": {}},
            "records": {"expected": 2_000},
            "attributes": {"amount": {"kind": "numerical", "bounds": [0, 1000], "grid": {"count": 40}, "missing": 0}},
            "class": {"name": "default", "values": ["no", "yes"]},
            "privacy": {"epsilon": "0.5"},
            "mechanism": {"name": "copula"},
        }
    )
    generator = np.random.default_rng(1)
    amounts, classes = np.minimum(generator.exponential(20, 2_000), 1_000), generator.choice(["no", "yes"], 2_000)
    table = pd.DataFrame({"amount": amounts, "default": classes})
    release = simulate_with(agreement, {"p0": table[::2], "p1": table[1::2]}, seeded(agreement.party_names, 1))
    counts = np.array(release.published.model.counts["amount"])
    last = np.flatnonzero(counts)[-1]
    assert max(release.published.tables[0].values[last + 1 :]) > 0  # so that leaving this step out would show
    again = replicate(release, _NoChance(b"key")).to_pandas()
    records = release.to_pandas()
    for name in again:
        ours, theirs = (Counter(map(str, frame[name])) for frame in (records, again))
        assert ours == theirs, name


def test_tables_keep_their_law_beside_a_count_that_has_another():
    """Whether class columns agree is counted with Laplace noise, whatever the tables have."""
    mapping = agreed("vertical", marginals(rounds=2), privacy={"delta": "1e-6", "epsilon": 8})
    mapping["privacy"] |= {"class_disagreement": "0.1"}
    agreement, generator = cp.agreement_from_mapping(mapping), np.random.default_rng(1)
    frames = fragment_frames(agreement, random_table(agreement, 300, generator), generator)
    release = simulate_with(agreement, frames, seeded(agreement.party_names, 1))
    laws = {made.noise.law for made in release.certificate.disclosures if made.kind == "measure"}
    assert laws == {Law.LAPLACE, Law.GAUSSIAN}
    laws = {own.noise.law for own in release.published.measured}
    assert laws == {Law.GAUSSIAN} and release.reading.asked({}).numbers[0].own_excess == 0.0


NOBODY = {
    "vhdp": "vhdp horizontal use-informative",
    "hpdp": "hpdp unsaid-noise public records",
    "hpdp gaussian": "hpdp gaussian public missing 3-parties",
    "copula": cases_of("copula")[0],
    "marginals": cases_of("marginals")[0],
    "specialization": cases_of("specialization")[0],
}


@pytest.mark.parametrize("case", NOBODY.values(), ids=NOBODY)
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_release_about_nobody_is_shown_reported_and_read(case):
    release = any_release(case, share=0.0, seed=1)
    print_release(release, Console(file=io.StringIO()), 8)
    assert not re.search(r"\bnan\b", cp.report(release).html)
    for summary in release.reading.summaries():
        for said in (summary.mean, summary.median, *(cell.share for cell in summary.cells)):
            assert said is None or "nan" not in str(said)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_no_value_at_all_is_refused_by_every_mechanism(mechanism):
    with pytest.raises(cp.ReleaseError, match=r"No value of column 'default' was named\. It has 'no'"):
        release_of(mechanism, noise=True).share("default", [])
