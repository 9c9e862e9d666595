"""A mechanism that lives in one file of the tests goes everywhere that others go, without a change anywhere else.

It uses both doors of the gate: a private selection, and a measurement of what was selected.
"""

from __future__ import annotations

import html
import json
import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import toy_mechanism
from typer.testing import CliRunner

import copublish as cp
from copublish.cli import app
from copublish.mechanisms.base import Mechanism
from copublish.mechanisms.registry import mechanism_named, register
from copublish.release.render.snippets import snippets
from support import fragment_frames, no_noise, random_table, repartition, seeded, simulate_with, small_mapping
from support.snippets import computed_by_pandas, computed_by_r

RECORDS = 400

ROOT = Path(__file__).parents[2]


def words(text: str) -> str:
    """Text without the frames of tables, in which lines are broken: the first cells of rows that belong together."""
    cells = [line.strip("│┃ ").split("│")[0].strip() for line in text.splitlines()]
    return " ".join(cell for cell in cells if cell)


def agreement_for(partition: str, **changes: object) -> cp.Agreement:
    mechanism = {"name": "largest-group", "column": "region"}
    mapping = repartition(small_mapping(**{"mechanism": mechanism, "privacy.epsilon": 2, **changes}), partition)
    return cp.agreement_from_mapping(mapping)


def groups_of(release: cp.Release) -> dict[str, str]:
    """For every region the published value that it falls into."""
    assert release.generalization is not None
    return {member: value.label for value in release.generalization.values["region"] for member in value.members}


def largest_of(release: cp.Release) -> str:
    """The group that was chosen, by the release's own words."""
    (note,) = release.published.model.notes
    found = re.fullmatch(r"The largest group by 'region', as far as noise allows, is '(.*)'\.", note)
    assert found is not None
    return found[1]


def counted(table: pd.DataFrame, release: cp.Release) -> dict[tuple[str, str], int]:
    """Records of every class with every published value, by pandas."""
    return pd.Series(1, index=table.index).groupby([table["region"].map(groups_of(release)), table["default"]]).sum()


def noisy_counts(release: cp.Release) -> dict[tuple[str, str], int]:
    (name,) = release.tables
    return release.to_pandas(name).set_index(["region", "default"])["noisy_count"].to_dict()


@pytest.fixture(scope="module", params=["horizontal", "vertical", "arbitrary"])
def case(request):
    agreement, generator = agreement_for(request.param), np.random.default_rng(5)
    table = random_table(agreement, RECORDS, generator)
    return agreement, table, fragment_frames(agreement, table, generator)


def test_without_noise_it_finds_the_largest_group_and_counts_its_classes(case):
    agreement, table, frames = case
    release = simulate_with(agreement, frames, no_noise(agreement.party_names))
    sizes = table["region"].value_counts()
    assert sizes.iloc[0] > sizes.iloc[1], "one group is the largest"
    assert largest_of(release) == groups_of(release)[sizes.index[0]] == sizes.index[0], "it is a value of its own"
    assert noisy_counts(release) == counted(table, release).to_dict()
    assert release.records.num_rows == RECORDS


@pytest.mark.parametrize(("largest", "values"), [("north", 2), ("south", 3), ("east", 2)])
def test_groups_before_and_after_the_largest_are_one_value_each(largest, values):
    agreement, generator = agreement_for("vertical"), np.random.default_rng(8)
    table = random_table(agreement, RECORDS, generator)
    table["region"] = table["region"].where(generator.random(RECORDS) < 0.5, largest)
    frames = fragment_frames(agreement, table, generator)
    release = simulate_with(agreement, frames, no_noise(agreement.party_names))
    assert largest_of(release) == largest and len(set(groups_of(release).values())) == values
    assert noisy_counts(release) == counted(table, release).to_dict()
    (measured,) = release.certificate.at("counts")
    assert measured.values_opened == 2 * values, "fewer than the plan's bound where a run would be empty"


def test_a_selection_and_a_measurement_share_the_budget(case):
    agreement, _, frames = case
    release = simulate_with(agreement, frames, seeded(agreement.party_names, 3))
    chosen, measured = release.certificate.disclosures
    assert (chosen.place.step, measured.place.step) == ("largest group", "counts")
    assert chosen.epsilon["add-remove"] == measured.epsilon["add-remove"] == "1"


def test_one_person_moves_scores_and_counts_by_what_the_plan_states():
    """Naive counts of every pair of neighbors with up to three people."""
    plan = mechanism_named("largest-group").plan(agreement_for("vertical"))
    regions, classes = plan.groups.values, plan.agreement.class_domain.values
    people = [(region, label) for region in regions for label in classes]
    tables = [[], *[[one] for one in people], *[[one, other] for one in people for other in people]]
    for table in tables:
        added = [[*table, one] for one in people]
        replaced = [[*table[:-1], one] for one in people] if table else []
        for relation, neighbors in (("add-remove", added), ("replace", replaced)):
            for other in neighbors:
                assert score_range(table, other, regions) <= plan.selection().score_range[relation]
                assert l1_change(table, other, regions) <= plan.counts(3).l1_sensitivity[relation]
    both = [people[0]], [people[-1]]
    assert score_range(*both, regions) == 2 and l1_change(*both, regions) == 2, "the bounds are reached"
    assert score_range([], [people[0]] * 2, regions) > plan.selection().score_range["add-remove"], "two people are more"


def score_range(one, other, regions) -> int:
    """The largest change of a group's size minus the smallest."""
    changes = [sum(r == region for r, _ in other) - sum(r == region for r, _ in one) for region in regions]
    return max(changes) - min(changes)


def l1_change(one, other, regions) -> int:
    """By how much counts change together if the second group was chosen: those before it and after it are one each."""
    of = [[(np.sign(regions.index(region) - 1), label) for region, label in people] for people in (one, other)]
    return sum(abs(of[0].count(cell) - of[1].count(cell)) for cell in {*of[0], *of[1]})


@pytest.mark.slow
def test_the_secure_engine_gives_what_the_certificate_says():
    agreement, generator = agreement_for("vertical"), np.random.default_rng(6)
    table = random_table(agreement, RECORDS, generator)
    release = cp.simulate(agreement, fragment_frames(agreement, table, generator), engine="spu")
    chosen, measured = release.certificate.disclosures
    assert release.certificate.engine.name == "spu"
    sizes = table["region"].value_counts()
    # A group wins that is smaller by d people only if its noise is larger by d: probability at most e^(-d / scale).
    # Of k groups and at most six counts something is further off than 24 times its scale with probability below 10^-8.
    assert sizes.max() - sizes[largest_of(release)] <= 24 * chosen.noise.scale_in_people
    off = [abs(noisy_counts(release)[cell] - n) for cell, n in counted(table, release).items()]
    assert max(off) <= 24 * measured.noise.scale_in_people


def test_the_choice_is_noisy():
    """With little epsilon the largest group does not always win, so the selection is no plain maximum."""
    agreement, generator = agreement_for("vertical", **{"privacy.epsilon": "0.02"}), np.random.default_rng(7)
    table = random_table(agreement, 40, generator)
    frames = fragment_frames(agreement, table, generator)
    winners = {largest_of(simulate_with(agreement, frames, seeded(agreement.party_names, n))) for n in range(12)}
    assert len(winners) > 1


def test_it_is_checked_described_shown_reported_and_evaluated(case, tmp_path):
    agreement, table, frames = case
    party = agreement.party_names[0]
    assert cp.check(agreement, party, frames[party]).ok
    described = cp.describe(agreement)
    assert described.mechanism == "largest-group" and "the largest group by 'region'" in words(str(described))
    release = simulate_with(agreement, frames, seeded(agreement.party_names, 3))
    folder = release.write(tmp_path / "release")
    loaded = cp.load_release(folder)
    assert loaded.files() == release.files() and loaded.published.model == release.published.model
    page = html.unescape(cp.report(loaded).html)
    assert "number of records of every class" in page
    for said in said_of(release):
        assert said in page, said
    scores = cp.evaluate(loaded, table.drop(columns="id")).to_dict()
    # As often as whoever knows the published value alone is right.
    right = counted(table, release).groupby(level=0).max().sum() / RECORDS
    assert scores["classification"][0]["CA"] == pytest.approx(right, abs=0.02)
    readme = (folder / "README.md").read_text()
    for sentence in (*MADE_OF, *release.published.model.notes, "3 people in 95 of 100 cases", "measured/"):
        assert sentence in readme, sentence


WORDS = toy_mechanism.LargestGroup.words
MADE_OF = (WORDS.made, WORDS.kept, WORDS.lost)
"""The three sentences of the mechanism."""


def said_of(release: cp.Release) -> list[str]:
    """What a page and a terminal have to say of a release's numbers."""
    assert release.generalization is not None
    labels = [value.label for value in release.generalization.values["region"]]
    return [*labels, *(release.share("region", label).words for label in labels), *release.published.model.notes]


def test_it_has_five_members_and_nothing_that_reads_or_shows():
    own = {name for name in vars(toy_mechanism.LargestGroup) if not name.startswith("_")}
    assert own == {"settings", "version", "words", "plan", "publish"}
    everything = {name for name in dir(Mechanism) if not name.startswith("_")}
    assert everything - {"name", "promises"} == {*own, "model", "fit", "sample"} - {"settings", "version", "words"}


def test_shares_are_told_with_the_error_of_the_stated_law(case):
    """By hand: the variance of a quotient of sums of Laplace noise, to first order."""
    agreement, _, frames = case
    release = simulate_with(agreement, frames, seeded(agreement.party_names, 3))
    (name,) = release.tables
    sums = release.to_pandas(name).groupby("region")["noisy_count"].agg(["sum", "size"])
    total, cells = sums["sum"].sum(), sums["size"].sum()
    (measured,) = release.certificate.at("counts")
    p = math.exp(-1 / float(measured.noise.scale_in_people))
    variance = 2 * p / (1 - p) ** 2  # of one discrete Laplace variable
    for label, (part, size) in sums.iterrows():
        share = part / total
        told = release.share("region", label)
        assert told.value == pytest.approx(share)
        deviation = math.sqrt(variance * (size - 2 * size * share + cells * share**2)) / total
        assert told.standard_error == pytest.approx(deviation, rel=0.02)
        assert told.within == pytest.approx(1.96 * deviation, rel=0.06)
    with pytest.raises(cp.ReleaseError, match="no column 'age'"):
        release.mean("age")


LEFT = 'pd.DataFrame({"people": people, **errors})', "cbind(people, errors)"


@pytest.mark.slow
def test_its_lines_of_pandas_and_of_r_give_its_shares(case, tmp_path):
    agreement, _, frames = case
    release = simulate_with(agreement, frames, seeded(agreement.party_names, 3))
    folder, lines = release.write(tmp_path / "release"), snippets(release)
    assert lines.r.strip() in html.unescape(cp.report(release).html)
    in_pandas = computed_by_pandas(lines.python, folder, LEFT[0]).table
    in_r = computed_by_r(lines.r, folder, LEFT[1], tmp_path).table
    for table in (in_pandas, in_r):
        assert set(table.index) == set(groups_of(release).values())
        for label, row in table.iterrows():
            told = release.share("region", str(label))
            assert row["share"] == pytest.approx(told.value, rel=1e-6)
            assert row["share_within"] == pytest.approx(told.within, rel=0.05)


def test_the_command_line_knows_it(case, tmp_path):
    agreement, _, frames = case
    folder = simulate_with(agreement, frames, seeded(agreement.party_names, 3)).write(tmp_path / "release")
    runner = CliRunner()
    shown = runner.invoke(app, ["show", str(folder)])
    assert shown.exit_code == 0 and "number of records of every class" in words(shown.output)
    content = json.loads(runner.invoke(app, ["show", str(folder), "--format", "json"]).output)
    assert content["certificate"]["mechanism"] == "largest-group"
    release = cp.load_release(folder)
    assert content["measurements"]["measured"][0]["entries"] == len(noisy_counts(release))
    assert content["model"]["notes"] == list(release.published.model.notes)
    shares = {label: cell["share"]["value"] for label, cell in content["estimates"]["default"]["values"].items()}
    assert shares == {label: release.share("default", label).value for label in ("no", "yes")}
    for said in said_of(release):
        assert said in " ".join(shown.output.split()), said
    reported = runner.invoke(app, ["report", str(folder), "--out", str(tmp_path / "report.html")])
    assert reported.exit_code == 0


def test_its_agreement_has_rules_like_any_other():
    of = {"name": "largest-group", "column": "region"}
    with pytest.raises(cp.AgreementError, match=r"mechanism.specializations: it means nothing to .*'largest-group'"):
        cp.agreement_from_mapping(small_mapping(mechanism={**of, "specializations": 3}))
    with pytest.raises(cp.AgreementError, match=r"mechanism\.column: 'age' is no attribute with categories"):
        cp.agreement_from_mapping(small_mapping(mechanism={**of, "column": "age"}))


def test_masked_sums_cannot_select():
    mapping = repartition(small_mapping(mechanism={"name": "largest-group", "column": "region"}), "horizontal", 3)
    del mapping["records"]["identifier"]
    with pytest.raises(cp.AgreementError, match="masked-sum"):
        cp.describe(cp.agreement_from_mapping(mapping | {"engine": {"name": "masked-sum"}}))


def test_a_name_belongs_to_one_mechanism():
    class Other(toy_mechanism.LargestGroup):
        """Another mechanism with the same name."""

    with pytest.raises(ValueError, match=r"there is a mechanism 'largest-group' already.*take another name"):
        register(Other())
    assert type(mechanism_named("largest-group")) is toy_mechanism.LargestGroup


def test_the_walk_through_quotes_this_very_code():
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), flags=re.S)
    source = Path(toy_mechanism.__file__).read_text()
    assert blocks and [block for block in blocks if block.strip() not in source] == []
