"""A mechanism that lives in one file of the tests goes everywhere that others go, without a change anywhere else."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
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


def agreement_for(partition: str) -> cp.Agreement:
    mapping = repartition(small_mapping(**{"mechanism": {"name": "class-counts"}, "privacy.epsilon": 2}), partition)
    return cp.agreement_from_mapping(mapping)


@pytest.fixture(scope="module", params=["horizontal", "vertical", "arbitrary"])
def case(request):
    agreement, generator = agreement_for(request.param), np.random.default_rng(5)
    table = random_table(agreement, RECORDS, generator)
    return agreement, table, fragment_frames(agreement, table, generator)


def test_without_noise_it_counts_the_classes_for_any_partition(case):
    agreement, table, frames = case
    release = simulate_with(agreement, frames, no_noise(agreement.party_names))
    counted = release.to_pandas("counts").set_index("default")["noisy_count"].to_dict()
    assert counted == table["default"].value_counts().to_dict()
    assert release.records.num_rows == RECORDS


def test_the_secure_engine_gives_what_the_certificate_says():
    agreement, generator = agreement_for("vertical"), np.random.default_rng(6)
    table = random_table(agreement, RECORDS, generator)
    frames = fragment_frames(agreement, table, generator)
    release = cp.simulate(agreement, frames, engine="spu")
    (opened,) = release.certificate.disclosures
    assert (opened.place.step, release.certificate.engine.name) == ("class counts", "spu")
    truth = table["default"].value_counts()
    noisy = release.to_pandas("counts").set_index("default")["noisy_count"]
    # Of two counts one is further off than 24 times the noise's scale with probability 2 e^-24, below 10^-10.
    assert (noisy - truth).abs().max() <= 24 * opened.noise.scale_in_people


def test_it_is_checked_described_shown_reported_and_evaluated(case, tmp_path):
    agreement, table, frames = case
    party = agreement.party_names[0]
    assert cp.check(agreement, party, frames[party]).ok
    described = cp.describe(agreement)
    assert described.mechanism == "class-counts" and "number of records of every class" in words(str(described))
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
    assert content["certificate"]["mechanism"] == "class-counts" and len(content["counts"]) == 2
    reported = runner.invoke(app, ["report", str(folder), "--out", str(tmp_path / "report.html")])
    assert reported.exit_code == 0


def test_its_agreement_has_rules_like_any_other():
    with pytest.raises(cp.AgreementError, match=r"mechanism.specializations: it means nothing to .*'class-counts'"):
        cp.agreement_from_mapping(small_mapping(mechanism={"name": "class-counts", "specializations": 3}))
    masked = repartition(small_mapping(mechanism={"name": "class-counts"}), "horizontal", 3)
    del masked["records"]["identifier"]
    assert cp.agreement_from_mapping(masked | {"engine": {"name": "masked-sum"}}).mechanism.name == "class-counts"


def test_a_name_belongs_to_one_mechanism():
    class Other(toy_mechanism.ClassCounts):
        """Another mechanism with the same name."""

    with pytest.raises(ValueError, match="there is a mechanism 'class-counts' already"):
        register(Other())
    assert type(mechanism_named("class-counts")) is toy_mechanism.ClassCounts


def test_the_walk_through_quotes_this_very_code():
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), flags=re.S)
    source = Path(toy_mechanism.__file__).read_text()
    assert blocks and [block for block in blocks if block.strip() not in source] == []
