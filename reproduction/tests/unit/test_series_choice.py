"""Single series of a figure: measured anew as often as asked, the others as they were stored."""

from __future__ import annotations

import csv
import json

import pytest

from benchmark_files import write_benchmark_files
from copublish.errors import CopublishError
from copublish_reproduction.figures import figures, run_figure
from copublish_reproduction.hpdp_figures import hpdp_figures
from copublish_reproduction.series_choice import SeriesChoice, read_points, runs_of_series
from reproduce import command, reproduce


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_benchmark_files(tmp_path_factory.mktemp("benchmark"))


@pytest.fixture(scope="module")
def stored(folder, tmp_path_factory):
    out = tmp_path_factory.mktemp("results")
    command("distdiffgen-fig4", "--data", folder, "--runs", 1, "--out", out)
    return out


def rows_of(out):
    with (out / "distdiffgen-fig4.csv").open(newline="") as lines:
        return list(csv.DictReader(lines))


@pytest.mark.slow
def test_one_series_is_measured_anew_and_the_others_stay_as_they_were(folder, stored):
    before = rows_of(stored)
    options = ("--series", "DiffGen", "--runs-of", "DiffGen=3")
    done = command("distdiffgen-fig4", "--data", folder, "--out", stored, *options, "--format", "json")
    after = rows_of(stored)
    assert [row for row in after if row["series"] != "DiffGen"] == [row for row in before if row["series"] != "DiffGen"]
    assert {row["runs"] for row in after if row["series"] == "DiffGen"} == {"3"}
    assert len(json.loads(done.stdout)) == len(after) == len(before)


@pytest.mark.slow
def test_a_number_of_runs_for_one_series_leaves_the_others_alone(folder):
    figure = figures(["max"])["distdiffgen-fig4"]
    points = run_figure(figure, folder, 1, lambda *step: None, {"DiffGen": 2})
    assert {point.runs for point in points if point.series == "DiffGen"} == {2}
    assert {point.runs for point in points if point.series != "DiffGen"} == {1}


def test_long_series_have_few_runs_without_being_asked():
    by_figure = {
        name: {series.label: series.most_runs for series in figure.series} for name, figure in hpdp_figures().items()
    }
    assert by_figure["hpdp-fig4"]["DP-SUBN3, noise once"] == by_figure["hpdp-fig3"]["copublish, marginals"] == 2
    assert by_figure["hpdp-fig5"]["DP-SUBN3, noise once"] == by_figure["hpdp-fig5"]["copublish, marginals"] == 1
    assert by_figure["hpdp-fig4"]["copublish, hpdp"] > 50


@pytest.mark.slow
def test_stored_points_are_read_as_they_were_written(folder, stored):
    points = read_points(stored / "distdiffgen-fig4.csv")
    assert len(points) == len(rows_of(stored))
    assert {point.printed.percent for point in points if point.printed} == {85.3, 75.5}
    assert points[0].standard_error is None


@pytest.mark.parametrize("text", ["DiffGen", "=3", "DiffGen=0", "DiffGen=x"])
def test_a_number_of_runs_needs_a_series_and_a_number(text):
    with pytest.raises(CopublishError, match="DiffGen=3"):
        runs_of_series([text])


@pytest.mark.slow
def test_what_cannot_be_chosen_is_refused_before_anything_is_measured(folder, stored, tmp_path):
    figure = figures(["max"])["distdiffgen-fig4"]
    with pytest.raises(CopublishError, match=r"no series .DiffGan.\. It has: raw data"):
        SeriesChoice(frozenset(["DiffGan"])).refuse_unknown(figure)
    with pytest.raises(CopublishError, match="which is not there"):
        SeriesChoice(frozenset(["DiffGen"]), {}, tmp_path).other_points(figure)
    (tmp_path / "distdiffgen-fig4.csv").write_text((stored / "distdiffgen-fig4.csv").read_text().split("\n")[0] + "\n")
    with pytest.raises(CopublishError, match="has no points of"):
        SeriesChoice(frozenset(["DiffGen"]), {}, tmp_path).other_points(figure)
    assert "--series" in reproduce("findings", "--data", folder, "--series", "DiffGen").stderr
