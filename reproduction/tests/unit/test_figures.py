"""Figures as tables, plots and parts of a page, from made-up files in the format of the real ones."""

from __future__ import annotations

import csv
import io
import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest

from benchmark_files import write_benchmark_files
from copublish.errors import CopublishError, SourceError
from copublish_reproduction.datasets import load_dataset
from copublish_reproduction.exhibits import exhibits
from copublish_reproduction.figures import SCORES, figures, run_figure
from copublish_reproduction.hpdp_figures import hpdp_figures
from copublish_reproduction.plots import plot
from copublish_reproduction.printed import PRINTED
from copublish_reproduction.results_page import fill_in, page_of
from copublish_reproduction.table_text import csv_text
from copublish_reproduction.tables import PRINTED_ROW, as_records, markdown, panel_table
from reproduce import reproduce

PAGES = Path(__file__).parents[3] / "docs" / "results"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_benchmark_files(tmp_path_factory.mktemp("benchmark"))


@pytest.fixture(scope="module")
def fig4(folder):
    told = []
    figure = figures()["distdiffgen-fig4"]
    points = run_figure(figure, folder, 2, lambda *step: told.append(step))
    assert told[-1][1:] == (figure.n_points, figure.n_points)
    return figure, points


def test_every_series_has_every_point_with_its_error(fig4):
    figure, points = fig4
    assert len(points) == figure.n_points == 5 * 5 + 3
    for point in points:
        assert 0 <= point.mean <= 100
        assert point.runs == 2
        assert point.standard_error is not None


def test_the_table_has_a_row_for_what_the_paper_prints(fig4):
    figure, points = fig4
    header, rows = panel_table(figure, points, "adult")
    assert header[2:] == ["0.1", "0.25", "0.5", "1", "2"]
    labels = [row[0] for row in rows]
    assert labels[:2] == ["raw data (BA)", PRINTED_ROW]
    assert rows[1][2] == "85.3"
    assert all(len(row) == len(header) for row in rows)
    assert "| copublish, auto | yes |" in markdown(figure, points)
    lines = list(csv.DictReader(io.StringIO(csv_text(as_records(figure, points)))))
    assert len(lines) == len(points)
    assert {line["printed"] for line in lines} == {"", "85.3", "75.5"}


def test_the_plot_is_a_png_and_an_svg_that_names_every_series(fig4):
    figure, points = fig4
    files = plot(figure, points)
    assert files["png"].startswith(b"\x89PNG")
    text = "".join(ET.fromstring(files["svg"]).itertext())
    assert all(series.label in text for series in figure.series)
    assert plot(figure, points)["svg"] == files["svg"]


def test_printed_numbers_stand_at_points_that_figures_have():
    known = {**figures(), **hpdp_figures()}
    for name, dataset, series, x in PRINTED:
        figure = known[name]
        assert dataset in figure.panels
        assert series in [s.label for s in figure.series]
        assert x == "" or x in figure.xs


def test_what_the_papers_print_twice_agrees():
    """BA - CA and CA - LA of ArbDistDP's text give the same accuracy."""
    assert pytest.approx(75.2 + 1.8) == 84.2 - 7.2
    assert pytest.approx(33.3 + 48.2) == 97.3 - 15.8


def test_times_are_measured_on_as_many_records_as_the_figure_says(folder):
    small = replace(figures()["arbdistdp-fig9"], xs=("500", "700"), panels=("nursery",))
    points = run_figure(small, folder, 1, lambda *step: None)
    assert len(points) == 6
    assert all(point.mean > 0 and point.standard_error is None for point in points)


def test_a_missing_file_is_named(folder, tmp_path):
    with pytest.raises(SourceError, match=r"lacks nursery.data, taxonomies/nursery.json"):
        load_dataset("nursery", tmp_path)


def test_a_section_is_filled_in_on_the_page_that_has_its_markers(tmp_path):
    (tmp_path / "other.md").write_text("<!-- begin b -->\n<!-- end b -->\n")
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- begin a -->\nold\n<!-- end a -->\nafter\n")
    for _ in range(2):
        fill_in(page_of(tmp_path, "a"), "a", "new \\1\n")
    assert page.read_text() == "before\n<!-- begin a -->\nnew \\1\n<!-- end a -->\nafter\n"
    assert page_of(tmp_path, "b").name == "other.md"


def test_markers_that_are_missing_twice_there_or_on_two_pages_are_named(tmp_path):
    with pytest.raises(CopublishError, match="no folder"):
        page_of(tmp_path / "none", "a")
    with pytest.raises(CopublishError, match=r"<!-- begin a -->.*They are in: no page"):
        page_of(tmp_path, "a")
    for text in ("<!-- begin a -->", "<!-- begin a -->\n<!-- end a -->\n<!-- end a -->"):
        (tmp_path / "x.md").write_text(text)
        with pytest.raises(CopublishError, match=r"x\.md"):
            page_of(tmp_path, "a")
    for name in ("x.md", "y.md"):
        (tmp_path / name).write_text("<!-- begin a -->\n<!-- end a -->\n")
    with pytest.raises(CopublishError, match=r"x\.md, y\.md"):
        page_of(tmp_path, "a")


def test_every_exhibit_has_its_place_on_one_of_the_results_pages():
    pages = {page_of(PAGES, name).stem for name in exhibits(SCORES)}
    assert pages == {"arbdistdp", "costs", "distdiffgen", "hpdp", "idp-ir", "printed-numbers", "vhdp"}
    markers = re.findall(r"<!-- begin (\S+) -->", "".join(page.read_text() for page in PAGES.glob("*.md")))
    assert sorted(markers) == sorted(exhibits(SCORES))


def command(*arguments, code=0):
    done = reproduce(*arguments)
    if isinstance(done.exception, CopublishError):
        assert done.exception.exit_code == code
        return str(done.exception)
    assert done.exit_code == code, done.stderr
    return done


def test_one_command_writes_table_and_plot_and_prints_on_stdout(folder, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("<!-- begin distdiffgen-fig4 -->\n<!-- end distdiffgen-fig4 -->\n")
    done = command(
        "distdiffgen-fig4",
        "--data",
        folder,
        "--runs",
        1,
        "--pages",
        tmp_path,
        "--format",
        "json",
        "--out",
        tmp_path / "results",
    )
    assert {row["series"] for row in json.loads(done.stdout)} >= {"copublish, max", "DiffGen", "noisy tables"}
    written = sorted(path.name for path in (tmp_path / "results").iterdir())
    assert written == ["distdiffgen-fig4.csv", "distdiffgen-fig4.png", "distdiffgen-fig4.svg"]
    assert "| copublish, auto |" in page.read_text()
    assert "results" in done.stderr


def test_findings_are_computed_from_the_files(folder, tmp_path):
    done = command("findings", "--data", folder, "--runs", 1, "--out", tmp_path, "--format", "json")
    numbers = [finding["number"] for finding in json.loads(done.stdout)]
    assert numbers == ["E1", "E5", "E7", "E8", "E15", "E16", "E17", "E19", "E23"]


def test_mistakes_get_a_clear_message(folder, tmp_path):
    assert "arbdistdp-fig9" in command("list").stdout
    options = ("--data", folder, "--out", tmp_path / "results", "--pages", tmp_path)
    assert "They are in: no page" in command("arbdistdp-fig7", *options, code=1)
    assert not (tmp_path / "results").exists(), "said before anything is computed"
    assert "lacks adult.data" in command("arbdistdp-fig7", "--data", tmp_path, "--out", tmp_path, code=4)
    assert "there is no 'fig7'" in command("fig7", "--data", folder, code=2).stderr
    assert "--data" in command("arbdistdp-fig7", code=2).stderr
