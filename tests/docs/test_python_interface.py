"""The journey of somebody in a notebook: all that the command line does, on made-up data, on the ideal engine."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import copublish as cp
from support.examples import write_specialization_demo


@pytest.fixture(scope="module")
def journey(tmp_path_factory):
    folder = tmp_path_factory.mktemp("notebook")
    files = write_specialization_demo(folder, 400)
    bank, loans = pd.read_parquet(files["bank"]), pd.read_csv(files["loans"])
    return folder, cp.load_agreement(folder / "agreement.toml"), bank, loans


@pytest.fixture(scope="module")
def release(journey) -> cp.Release:
    _, agreement, bank, loans = journey
    return cp.simulate(agreement, {"bank": bank, "loans": loans})


def joined(journey) -> pd.DataFrame:
    _, _, bank, loans = journey
    return bank.merge(loans.drop(columns="default"), on="customer_id")


def is_escaped_html(page: str) -> bool:
    """Whether a piece of HTML is well-formed, as nothing that was not escaped could be."""
    ET.fromstring(f"<div>{page}</div>")  # what the package itself wrote
    return True


def test_check_says_what_is_wrong_and_raises_nothing(journey):
    _, agreement, bank, _ = journey
    fits = cp.check(agreement, "bank", bank)
    assert fits.ok and fits.records == len(bank) and "fit" in str(fits)
    other = cp.check(agreement, "bank", bank.drop(columns="age"))
    assert not other.ok and "Column 'age'" in str(other) and other.to_dict()["ok"] is False
    assert cp.check(agreement).ok
    assert is_escaped_html(fits._repr_html_())


def test_describe_shows_itself_prints_and_has_the_numbers(journey):
    folder, agreement, _, _ = journey
    described = cp.describe(agreement)
    assert described.to_dict() == cp.describe(folder / "agreement.toml").to_dict()
    assert "Everything that is opened" in str(described) and repr(described).startswith("Description('credit-default'")
    assert is_escaped_html(described._repr_html_())


@pytest.mark.parametrize(
    "convert",
    [
        lambda frame: frame,
        pl.from_pandas,
        pa.Table.from_pandas,
        duckdb.from_df,
    ],
    ids=["pandas", "polars", "arrow", "duckdb"],
)
def test_simulate_takes_every_kind_of_frame(journey, convert):
    _, agreement, bank, loans = journey
    release = cp.simulate(agreement, {"bank": convert(bank), "loans": convert(loans)})
    assert release.records.num_rows == len(release.to_pandas()) == len(release.to_polars())


def test_a_release_writes_loads_reports_evaluates_and_generalizes(journey, release, tmp_path):
    table = joined(journey)
    loaded = cp.load_release(release.write(tmp_path / "release"))
    assert repr(loaded) == repr(release) and repr(release).startswith("Release('credit-default', specialization, ")
    assert is_escaped_html(loaded._repr_html_())
    scores = cp.evaluate(loaded, table, classifiers=["decision-tree"])
    assert repr(scores).startswith("Evaluation('credit-default', largest area 0.")
    assert is_escaped_html(scores._repr_html_())
    report = cp.report(loaded, scores)
    assert report.write(tmp_path / "report.html").read_text() == report.html
    assert report._repr_html_().startswith("<iframe srcdoc=") and "<script" not in report._repr_html_()
    assert cp.generalize(loaded, table).num_rows == len(table)


def test_a_plan_shows_itself_and_draws(journey, tmp_path):
    _, agreement, _, _ = journey
    quick = {"epsilons": ["1"], "tried": {"specializations": [2]}, "runs": 1, "classifiers": ["decision-tree"]}
    plan = cp.plan(agreement, like=joined(journey), **quick)
    assert repr(plan).startswith("ReleasePlan('credit-default', ") and is_escaped_html(plan._repr_html_())
    plot = plan.plot(tmp_path / "plan.svg")
    assert plot._repr_svg_().lstrip().startswith("<?xml") and (tmp_path / "plan.svg").stat().st_size > 1000


def test_names_from_a_hostile_agreement_are_escaped_in_a_notebook(journey):
    _, agreement, _, _ = journey
    hostile = agreement.model_copy(update={"name": "<script>alert(1)</script>"})
    assert "<script>" not in cp.describe(hostile)._repr_html_()


def test_rows_of_a_query_have_no_order_and_data_have_an_owner(journey):
    _, agreement, bank, _ = journey
    in_order = agreement.model_copy(update={"records": agreement.records.model_copy(update={"alignment": "row-order"})})
    assert cp.check(in_order, "bank", bank).ok
    assert "rows of a database table or a query have none" in str(cp.check(in_order, "bank", duckdb.from_df(bank)))
    with pytest.raises(cp.CopublishError, match="name the party"):
        cp.check(agreement, data=bank)
