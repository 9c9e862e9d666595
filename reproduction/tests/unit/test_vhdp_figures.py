"""Figures and findings of VHDP, from made-up files in the format of the real ones."""

from __future__ import annotations

import csv
import io
import json
import math
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from benchmark_files import write_benchmark_files, write_statlog_file
from copublish_reproduction.labeled_table import load_labeled
from copublish_reproduction.table_text import csv_text
from copublish_reproduction.vhdp import gain_ratios, privacy_weights
from copublish_reproduction.vhdp_claims import vhdp_claims
from copublish_reproduction.vhdp_figures import COLUMNS, EPSILONS, Curve, run_vhdp_figure, score_records, vhdp_figures
from copublish_reproduction.vhdp_tables import caption, own_caption, own_table, score_table, vhdp_markdown
from reproduce import command

FIGURES = vhdp_figures()
PUBLISHED = {name: replace(figure, beside=()) for name, figure in FIGURES.items()}
"""As the paper has them; releases of copublish beside them take seconds."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_statlog_file(write_benchmark_files(tmp_path_factory.mktemp("benchmark"), 300))


def run(figure, folder, runs=2):
    return run_vhdp_figure(figure, folder, runs, lambda *_: None)


def test_there_are_figures_5_to_12_with_the_papers_epsilons():
    assert list(FIGURES) == [f"vhdp-fig{number}" for number in range(5, 13)]
    assert EPSILONS == (0.1, 0.2, 0.3, 0.4)
    assert [len(FIGURES[f"vhdp-fig{number}"].curves) for number in range(5, 13)] == [2, 9, 9, 8, 8, 4, 8, 8]


def test_tables_are_read_with_codes_for_categories(folder):
    statlog, adult = load_labeled("statlog", folder), load_labeled("adult", folder)
    assert (len(statlog.names), len(adult.names)) == (13, 14)
    assert np.bincount(statlog.labels).tolist() == [150, 120]
    assert set(adult.column("sex")) == {0, 1, 2, 3}  # the made-up categories a, b, c, d
    lines = [line.split(", ") for line in (folder / "adult.data").read_text().splitlines()]
    assert adult.column("sex").tolist() == ["abcd".index(line[9]) for line in lines if len(line) > 1]
    assert adult.column("age").tolist() == [float(line[0]) for line in lines if len(line) > 1]


def test_figure_5_has_the_scores_of_both_readings(folder):
    for table in run(PUBLISHED["vhdp-fig5"], folder):
        data = load_labeled(table.dataset, folder)
        scores = gain_ratios(data.values, data.labels)
        assert table.means[Curve("N/A", slip="none")] == pytest.approx(scores)
        assert table.means[Curve("N/A", slip="joint")] == pytest.approx(scores - 1)
        assert (table.weights == privacy_weights(scores)).all()


def test_noisy_figures_equal_their_closed_form(folder):
    """Unique values have H(label) / log2 n; differences and ILPG follow from it and the scores of the data."""
    data = load_labeled("statlog", folder)
    scores = gain_ratios(data.values, data.labels)
    unique = (-(5 / 9) * math.log2(5 / 9) - (4 / 9) * math.log2(4 / 9)) / math.log2(270)
    (igr,), (bias,), (ilpg,) = (run(PUBLISHED[name], folder) for name in ("vhdp-fig6", "vhdp-fig8", "vhdp-fig11"))
    for epsilon in EPSILONS:
        for method, weights in (("VHDP", ilpg.weights), ("DP", np.ones(13))):
            assert igr.means[Curve(method, epsilon, "joint")] == pytest.approx([unique - 1] * 13)
            assert bias.means[Curve(method, epsilon)] == pytest.approx([abs(unique - score) for score in scores])
            expected = [(unique - s) / (1 + 1 / (epsilon * w)) for s, w in zip(scores, weights, strict=True)]
            assert ilpg.means[Curve(method, epsilon)] == pytest.approx(expected)
    errors = [ilpg.standard_errors[curve].max() for curve in FIGURES["vhdp-fig11"].curves]
    assert max(errors) < 1e-12, "noise changes nothing"


def test_claims_count_the_attributes_that_contradict_them(folder):
    """Attributes that tell more than unique values do have a negative ILPG, which VHDP brings closer to 0."""
    (ilpg,) = run(PUBLISHED["vhdp-fig11"], folder, 1)
    data = load_labeled("statlog", folder)
    unique = (-(5 / 9) * math.log2(5 / 9) - (4 / 9) * math.log2(4 / 9)) / math.log2(270)
    telling = gain_ratios(data.values, data.labels) > unique
    assert 0 < telling.sum() < 13
    ((_, found),) = vhdp_claims(PUBLISHED["vhdp-fig11"], [ilpg])
    lower = int((~telling & (ilpg.weights < 1)).sum())
    assert f"lower for {lower} of 13 attributes, equal for 4 (of weight 1), higher for {telling.sum()} (" in found
    tables = run(PUBLISHED["vhdp-fig10"], folder, 1)
    positive, smallest, *_ = vhdp_claims(PUBLISHED["vhdp-fig10"], tables)
    assert f"it is for {(~telling).sum()} of 13" in positive[1]
    assert f"for {(~telling).sum()} of 13" in smallest[1]
    (_, above), (_, same) = vhdp_claims(PUBLISHED["vhdp-fig6"], run(PUBLISHED["vhdp-fig6"], folder, 1))
    assert above.startswith(f"for {(~telling).sum()} of 13; not for ")
    assert same.startswith(f"all {13 * 8} are {unique - 1:.4f}, ")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["vhdp-fig5", "vhdp-fig6", "vhdp-fig10"])
def test_tables_and_csv_show_every_attribute_and_say_that_nothing_is_private(folder, name):
    figure, tables = FIGURES[name], run(FIGURES[name], folder)
    text = vhdp_markdown(figure, tables)
    assert text.startswith("As published, not differentially private")
    assert "| what the paper says | what comes out |" in text
    lines = list(csv.DictReader(io.StringIO(csv_text(score_records(figure, tables)))))
    curves, n_attributes = len(figure.curves) + len(figure.beside), sum(len(t.names) for t in tables)
    assert len(lines) == len(score_records(figure, tables)) == curves * n_attributes
    own = {"protect-informative", "use-informative"} if figure.beside else set()
    assert {line["method"] for line in lines if line["private"] == "yes"} == own and tuple(lines[0]) == COLUMNS
    assert sum(line["private"] == "yes" for line in lines) == len(figure.beside) * n_attributes
    for table in tables:
        header, rows = score_table(figure, table)
        assert [row[0] for row in rows] == list(table.names)
        assert len(header) == 2 + len(figure.curves) == len(rows[0])
        assert all(f"| {attribute} |" in text for attribute in table.names)
    assert ("no noise" if name == "vhdp-fig5" else "mean of 2 runs, standard errors 0.0000") in caption(
        figure, tables[0]
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", ["vhdp-fig6", "vhdp-fig8", "vhdp-fig11"])
def test_releases_of_copublish_stand_beside_the_papers_curves_with_budgets_that_add_up(folder, name):
    figure, (table,) = FIGURES[name], run(FIGURES[name], folder)
    assert [(curve.method.partition("-")[0], curve.epsilon) for curve in figure.beside] == [
        (rule, epsilon) for rule in ("protect", "use") for epsilon in EPSILONS
    ]
    for curve in figure.beside:
        parts, means = table.epsilons[curve], table.means[curve]
        assert (parts > 0).all() and parts.sum() < 0.8 * curve.epsilon, "tables take a fifth, and the label some"
        assert np.isfinite(means).all() and (table.standard_errors[curve] > 0).any(), "noise is noise"
    header, rows = own_table(figure, table)
    assert header[1:3] == ["protect 0.1", "protect 0.2"] and header[-1] == "part of 0.4, use" and len(rows) == 13
    assert "differentially private" in own_caption(figure, table)
    text = vhdp_markdown(figure, [table])
    assert "| protect 0.1 |" in text and "copublish's releases, Statlog heart" in text


@pytest.mark.slow
def test_one_command_writes_the_figure_and_fills_its_part_of_the_page(folder, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "<!-- begin vhdp-fig10 -->\n<!-- end vhdp-fig10 -->\n<!-- begin other -->\nold\n<!-- end other -->\n"
    )
    done = command("vhdp-fig10", "--data", folder, "--runs", 1, "--pages", tmp_path, "--out", tmp_path / "results")
    assert sorted(path.name for path in (tmp_path / "results").iterdir()) == [
        f"vhdp-fig10.{ending}" for ending in ("csv", "png", "svg")
    ]
    assert "one run" in " ".join(done.stdout.split()) and "what the paper says" in done.stdout
    assert (tmp_path / "results" / "vhdp-fig10.png").read_bytes().startswith(b"\x89PNG")
    drawn = "".join(ET.parse(tmp_path / "results" / "vhdp-fig10.svg").getroot().itertext())
    names = load_labeled("statlog", folder).names
    assert all(text in drawn for text in (*names, "VHDP 0.1", "VHDP 0.4", "not differentially private"))
    assert "| attribute | weight | VHDP 0.1 |" in page.read_text() and "\nold\n" in page.read_text()
    assert "VHDP: as published, not differentially private" in " ".join(done.stderr.split())
    assert "heart.dat" in command("list").stdout


def spans_of_formulas(data):
    """Return the ranges of E53's scores, with entropies of another library."""
    found = []
    for column in data.values.T:
        table = np.array([[np.sum((column == v) & (data.labels == r)) for r in (0, 1)] for v in np.unique(column)])
        label, of_values, joint = (stats.entropy(c, base=2) for c in (table.sum(0), table.sum(1), table.ravel()))
        given = joint - of_values
        gains = (label - given, label + given, label - math.log(2) * given, label - joint)
        found.append([gain / of_values for gain in gains])
    ends = zip(np.min(found, axis=0), np.max(found, axis=0), strict=True)
    return [f"{low:.2f} to {high:.2f}" for low, high in ends]


def test_findings_are_computed_from_the_files(folder, tmp_path):
    found = json.loads(command("vhdp-findings", "--data", folder, "--out", tmp_path, "--format", "json").stdout)
    assert [finding["number"] for finding in found] == ["E50", "E51", "E52", "E53", "E54", "E55", "E56"]
    by_number = {finding["number"]: finding["found"] for finding in found}
    assert "right in 94.9%, where 1 allows 73.1%; largest log ratio 14.000" in by_number["E50"]
    assert "the true epsilon is 3.1" in by_number["E50"]
    places = [by_number["E53"].index(span) for span in spans_of_formulas(load_labeled("statlog", folder))]
    assert places == sorted(places), "as defined, with a minus too many, with two logarithms, with joint entropy"
    # Codes 0 to 3 and noise of scale 10: how often it leads beyond -0.5 or 3.5.
    codes = load_labeled("adult", folder).column("sex")
    outside = np.mean(np.exp(-(codes + 0.5) / 10) + np.exp(-(3.5 - codes) / 10)) / 2
    measured = int(by_number["E56"].split("%")[0].split()[-1]) / 100
    assert measured == pytest.approx(outside, abs=4 * math.sqrt(outside * (1 - outside) / len(codes)) + 0.005)
    assert "and 0.123 after one record changes" in by_number["E52"]
    assert "= 0.1227: on Statlog for epsilon 0.025 to 40 it is 0.1227 to 0.1227" in by_number["E55"]
    assert "multiplies it by 0.27" in by_number["E55"]
    assert (tmp_path / "vhdp-findings.md").exists()
