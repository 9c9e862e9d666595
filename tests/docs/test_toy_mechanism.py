"""A mechanism that lives in one file of the tests goes everywhere that others go, without a change anywhere else.

It uses both doors of the gate: a private selection, and a measurement of what was selected.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import toy_mechanism
from typer.testing import CliRunner

import copublish as cp
from copublish.cli import app
from copublish.mechanisms.registry import mechanism_named, register
from support import fragment_frames, no_noise, random_table, repartition, seeded, simulate_with, small_mapping

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


def counted(table: pd.DataFrame, group: str) -> dict[tuple[str, str], int]:
    """Records of every class inside and outside a group, by pandas."""
    where = np.where(table["region"] == group, group, "all others")
    return pd.Series(1, index=table.index).groupby([where, table["default"]]).sum().to_dict()


def noisy_counts(release: cp.Release) -> dict[tuple[str, str], int]:
    return release.to_pandas("counts").set_index(["group", "default"])["noisy_count"].to_dict()


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
    assert release.details.group == sizes.index[0]
    assert noisy_counts(release) == counted(table, release.details.group)
    assert release.records.num_rows == RECORDS


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
                assert l1_change(table, other, regions[0]) <= plan.counts().l1_sensitivity[relation]
    both = [people[0]], [people[-1]]
    assert score_range(*both, regions) == 2 and l1_change(*both, regions[0]) == 2, "the bounds are reached"
    assert score_range([], [people[0]] * 2, regions) > plan.selection().score_range["add-remove"], "two people are more"


def score_range(one, other, regions) -> int:
    """The largest change of a group's size minus the smallest."""
    changes = [sum(r == region for r, _ in other) - sum(r == region for r, _ in one) for region in regions]
    return max(changes) - min(changes)


def l1_change(one, other, group) -> int:
    cells = {(region == group, label) for region, label in [*one, *other]}
    of = [[(region == group, label) for region, label in people] for people in (one, other)]
    return sum(abs(of[0].count(cell) - of[1].count(cell)) for cell in cells)


@pytest.mark.slow
def test_the_secure_engine_gives_what_the_certificate_says():
    agreement, generator = agreement_for("vertical"), np.random.default_rng(6)
    table = random_table(agreement, RECORDS, generator)
    release = cp.simulate(agreement, fragment_frames(agreement, table, generator), engine="spu")
    chosen, measured = release.certificate.disclosures
    assert release.certificate.engine.name == "spu"
    sizes = table["region"].value_counts()
    # A group wins that is smaller by d people only if its noise is larger by d: probability at most e^(-d / scale).
    # Of k groups and four counts something is further off than 24 times its scale with probability below 10^-8.
    assert sizes.max() - sizes[release.details.group] <= 24 * chosen.noise.scale_in_people
    off = [abs(noisy_counts(release)[cell] - n) for cell, n in counted(table, release.details.group).items()]
    assert max(off) <= 24 * measured.noise.scale_in_people


def test_the_choice_is_noisy():
    """With little epsilon the largest group does not always win, so the selection is no plain maximum."""
    agreement, generator = agreement_for("vertical", **{"privacy.epsilon": "0.02"}), np.random.default_rng(7)
    table = random_table(agreement, 40, generator)
    frames = fragment_frames(agreement, table, generator)
    winners = {simulate_with(agreement, frames, seeded(agreement.party_names, n)).details.group for n in range(12)}
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
    assert loaded.files() == release.files() and loaded.details == release.details
    page = cp.report(loaded).html
    assert "number of records of every class" in page and "The first rows of counts" in page
    scores = cp.evaluate(loaded, table.drop(columns="id")).to_dict()
    largest = table["default"].value_counts(normalize=True).max()
    assert scores["classification"][0]["CA"] == pytest.approx(largest, abs=0.02)
    assert "private data set" in (folder / "README.md").read_text()


def test_the_command_line_knows_it(case, tmp_path):
    agreement, _, frames = case
    folder = simulate_with(agreement, frames, seeded(agreement.party_names, 3)).write(tmp_path / "release")
    runner = CliRunner()
    shown = runner.invoke(app, ["show", str(folder)])
    assert shown.exit_code == 0 and "number of records of every class" in words(shown.output)
    content = json.loads(runner.invoke(app, ["show", str(folder), "--format", "json"]).output)
    assert content["certificate"]["mechanism"] == "largest-group" and len(content["counts"]) == 4
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
