"""Every mechanism of the registry but specialization releases tables without a class; the papers' own set-ups run."""

from __future__ import annotations

import contextlib
import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import copublish as cp
from copublish.mechanisms.registry import SHIPPED, plan_of
from copublish.release.render.snippets import snippets
from copublish.release.render.terminal import contents_shown
from copublish.release.report.page import report_page
from copublish.tools.evaluation.scorecard import evaluate
from support import fragment_frames, random_table, repartition, seeded, simulate_with, small_mapping
from support.papers_tables import (
    SETTINGS,
    divided,
    made_up,
    owners_of_items,
    owners_of_numbers,
    owners_of_wine,
    real_adult,
    real_wine,
    ten_owners_of_adult,
)

DATA = Path(__file__).parents[4] / "shared" / "data"

OPTIONAL = [one.name for one in SHIPPED if not one.settings.needs_class]
OF_COLUMNS = [one.name for one in SHIPPED if "vertical" in one.settings.partitions]

pytestmark = pytest.mark.filterwarnings("ignore:THIS IS NOT DIFFERENTIAL PRIVACY")


def small_agreement(name: str, partition: str, **changes: Any) -> cp.Agreement:
    mapping = small_mapping(mechanism={"name": name, **SETTINGS.get(name, {})}, **{"class": None, **changes})
    if name in ("vhdp", "idp-ir"):
        mapping["records"]["public"], mapping["privacy"]["neighbors"] = True, "replace"
    return cp.agreement_from_mapping(repartition(mapping, partition))


def partitions_of(name: str) -> tuple[str, ...]:
    (known,) = (one for one in SHIPPED if one.name == name)
    return known.settings.partitions


def check_stored(release: cp.Release, folder: Path, columns: list[str]) -> cp.Release:
    """Write a release, read it again, verify it, and read everything that people are told."""
    release.write(folder)
    assert cp.verify_release(folder).findings[0].is_well
    stored = cp.load_release(folder)
    assert stored.to_pandas().columns.tolist() == columns == list(stored.published.columns.domains)
    described = json.loads(stored.files()["measurements.json"])
    assert described.get("has_class", True) == (stored.published.columns.class_name is not None)
    assert not re.search(r"\bNone\b(?!:)", report_page(stored))  # "None: no finite epsilon holds" is a sentence
    assert list(contents_shown(stored, 5)) and "None" not in stored.files()["README.md"].decode()
    return stored


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "partition"), [(name, partition) for name in OPTIONAL for partition in partitions_of(name)]
)
def test_a_release_without_a_class_is_published_read_and_verified_in_every_partition(name, partition, tmp_path):
    agreement = small_agreement(name, partition)
    generator = np.random.default_rng(3)
    table = random_table(agreement, 240, generator)
    frames = fragment_frames(agreement, table, generator)
    release = simulate_with(agreement, frames, seeded(agreement.party_names, 2))
    stored = check_stored(release, tmp_path / "release", list(agreement.attributes))
    promised = [*stored.certificate.protected, *stored.certificate.assumptions]
    assert not any("class" in sentence.lower() for sentence in promised)
    assert stored.certificate.to_json()["deployment"]["dp_variant"]["data_domain"] == "4 attributes"


@pytest.mark.slow
@pytest.mark.parametrize("name", OPTIONAL)
def test_without_a_class_nothing_is_predicted_unless_a_column_is_named(name):
    agreement = small_agreement(name, "horizontal")
    generator = np.random.default_rng(3)
    table = random_table(agreement, 300, generator)
    frames = fragment_frames(agreement, table, generator)
    release = simulate_with(agreement, frames, seeded(agreement.party_names, 2))
    scored = evaluate(release, table, raw=table, classifiers=["decision-tree"])
    assert scored.to_dict()["target"] is None and scored.to_dict()["classification"] == []
    assert scored.to_dict()["marginals"]["agreed_values"]["2-way"]["mean"] > 0
    assert "nothing predicted" in repr(scored) and "has no class" in scored._repr_html_()
    with pytest.raises(cp.CopublishError, match="Nothing was predicted, so there are no areas to draw"):
        scored.plot()
    page = report_page(release, scored)
    assert "The release has no class, so nothing was predicted." in page and "Figure of accuracy" not in page
    named = evaluate(release, table, raw=table, target="region", classifiers=["decision-tree"]).to_dict()
    assert "Figure of accuracy" in report_page(release, named)
    for changed in ({**named, "classification": []}, {**scored.to_dict(), "target": "region"}):
        with pytest.raises(cp.CopublishError, match="look at 'classification'"):
            report_page(release, changed)
    (row,) = named["classification"]
    assert named["target"] == "region" and row["release"]["area"] is not None
    assert (row["baseline"] is None) == (name == "idp-ir")  # which has no epsilon that a baseline could spend
    with pytest.raises(cp.CopublishError, match="The release has no column 'class'"):
        evaluate(release, table, target="class")


def test_marginals_measures_single_columns_first_and_with_a_class_every_column_with_it():
    without, with_class = (
        plan_of(cp.agreement_from_mapping(small_mapping(mechanism={"name": "marginals"}, **changes)))
        for changes in ({"class": None}, {})
    )
    assert without.describe()["first_tables"] == [["job"], ["region"], ["age"], ["income"]]
    assert with_class.describe()["first_tables"] == [[name, "default"] for name in ("job", "region", "age", "income")]
    assert without.first.label == "number of records in every cell of 4 tables: every column alone"
    pairs = {frozenset(without.names[column] for column in table) for table in without.candidates}
    assert len(pairs) == 6  # every two of four columns


@pytest.mark.slow
@pytest.mark.parametrize("name", OF_COLUMNS)
def test_ten_owners_hold_one_attribute_of_adult_each_and_the_last_one_only_the_class(name, tmp_path):
    agreement = ten_owners_of_adult(name)
    assert agreement.columns_of("o10") == ("income",)
    table = made_up(agreement, 250)
    release = simulate_with(agreement, divided(agreement, table), seeded(agreement.party_names, 3))
    if name != "specialization":
        check_stored(release, tmp_path / "release", list(agreement.columns))
    assert release.published.columns.class_name == "income"


@pytest.mark.parametrize("name", [name for name in OF_COLUMNS if name in OPTIONAL])
def test_eleven_numbers_of_wine_at_three_owners_are_released_without_a_class(name, tmp_path):
    agreement = owners_of_wine(name)
    table = made_up(agreement, 250)
    release = simulate_with(agreement, divided(agreement, table), seeded(agreement.party_names, 3))
    stored = check_stored(release, tmp_path / "release", list(agreement.attributes))
    assert len(stored.to_pandas().columns) == 11


@pytest.mark.parametrize("missing", [3, "category"])
def test_lines_of_python_for_a_release_of_numbers_tell_the_mean_that_the_release_tells(missing, tmp_path, monkeypatch):
    content = owners_of_wine("vhdp", in_order=True).model_dump(by_alias=True, exclude_none=True)
    content["attributes"]["fixed acidity"]["missing"] = missing
    content["budget"] = {"allocation": "weights", "weights": dict.fromkeys(content["attributes"], 1)}
    content["budget"]["weights"]["fixed acidity"] = 100  # so that noise leaves the mean within the bounds
    agreement = cp.agreement_from_mapping(content)
    table = made_up(agreement, 900)
    table.loc[::9, "fixed acidity"] = np.nan
    release = simulate_with(agreement, divided(agreement, table), seeded(agreement.party_names, 3))
    release.write(tmp_path / "release")
    monkeypatch.chdir(tmp_path / "release")
    told = io.StringIO()
    with contextlib.redirect_stdout(told):
        exec(snippets(release).python, {})  # what people copy from the report
    mean = float(told.getvalue().split()[1])
    assert mean == pytest.approx(release.mean("fixed acidity").value, rel=1e-6)


@pytest.mark.parametrize("setup", [owners_of_items, owners_of_numbers])
def test_hpdp_releases_two_valued_items_and_numbers_without_a_class(setup, tmp_path):
    agreement = setup()
    table = made_up(agreement, 400)
    release = simulate_with(agreement, divided(agreement, table), seeded(agreement.party_names, 3))
    stored = check_stored(release, tmp_path / "release", list(agreement.attributes))
    drawn = stored.to_pandas()
    coded = [
        pd.DataFrame({name: pd.to_numeric(column.replace({"no": "0", "yes": "1"})) for name, column in texts.items()})
        for texts in (drawn.astype(str), table.astype(str))
    ]
    means = [frame.corr().to_numpy()[np.triu_indices(len(frame.columns), 1)].mean() for frame in coded]
    assert means[0] > means[1] / 2 > 0.1  # what goes together in the table does so in the records


@pytest.mark.slow
@pytest.mark.skipif(not (DATA / "adult.data").exists(), reason="needs a copy of Adult and of Wine")
@pytest.mark.parametrize("name", [name for name in OF_COLUMNS if name in OPTIONAL])
def test_with_the_real_tables_both_set_ups_run(name, tmp_path):
    for agreement, table in ((ten_owners_of_adult(name), real_adult(DATA)), (owners_of_wine(name), real_wine(DATA))):
        content = agreement.model_dump(by_alias=True, exclude_none=True)
        content["records"]["expected"] = 5 * len(table) // 4
        agreement = cp.agreement_from_mapping(content)
        release = simulate_with(agreement, divided(agreement, table), seeded(agreement.party_names, 3))
        stored = check_stored(release, tmp_path / f"{len(table)}", list(agreement.columns))
        assert isinstance(stored.to_pandas(), pd.DataFrame)
