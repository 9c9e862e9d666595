"""Heat maps of information loss and findings about iDP-IR, from made-up files in the format of the real ones."""

from __future__ import annotations

import csv
import io
import json
import xml.etree.ElementTree as ET
import zlib
from dataclasses import replace

import numpy as np
import pytest

from benchmark_files import write_benchmark_files, write_wine_files
from copublish.errors import FragmentError, SourceError
from copublish_reproduction.findings_clusters import Attack, cluster_facts
from copublish_reproduction.grid_figures import grid_figures, grid_records, number, run_grid_figure
from copublish_reproduction.grid_tables import grid_markdown, grid_table
from copublish_reproduction.heat_maps import heat_maps
from copublish_reproduction.idp_ir import IdpIr, release_central, release_horizontal, release_vertical
from copublish_reproduction.loss_grids import METRICS, Experiment, Setting
from copublish_reproduction.microdata import Attribute, Microdata
from copublish_reproduction.microdata_sets import ADULT_ATTRIBUTES, HORIZONTAL, VERTICAL, Owners, load_microdata
from copublish_reproduction.table_text import csv_text
from reproduce import command

KS = {"adult": (1, 5, 20), "wine": (1, 5, 20)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_wine_files(write_benchmark_files(tmp_path_factory.mktemp("benchmark")))


@pytest.fixture(scope="module")
def fig4(folder):
    told = []
    figure = replace(grid_figures()["idp-ir-fig4"], ks=KS, epsilons=(0.1, 1.0))
    grids = run_grid_figure(figure, folder, 3, lambda *step: told.append(step))
    assert told[-1][1:] == (4, 4)
    return figure, grids


def test_the_owners_are_those_of_the_paper(folder):
    adult, wine = (load_microdata(name, folder) for name in ("adult", "wine"))
    assert adult.names == ADULT_ATTRIBUTES
    assert sum(HORIZONTAL["adult"]) == 45_222
    assert sum(HORIZONTAL["wine"]) == len(wine.values) == 6_497
    generator = np.random.default_rng(0)
    parts = Owners("wine", wine).horizontal(generator)
    assert [len(part.values) for part in parts.values()] == [500, 1_000, 4_997]
    rejoined = np.concatenate([part.values for part in parts.values()])
    assert sorted(map(tuple, rejoined)) == sorted(map(tuple, wine.values))
    assert not (parts["owner 1"].values == Owners("wine", wine).horizontal(generator)["owner 1"].values).all()
    for name, data, numbers in (("adult", adult, [1] * 10), ("wine", wine, [3, 4, 4])):
        owners = Owners(name, data).vertical()
        assert [len(part.attributes) for part in owners.values()] == numbers
        assert tuple(column for part in owners.values() for column in part.names) == data.names
        assert tuple(column for names in VERTICAL[name] for column in names) == data.names


def test_bounds_are_public_or_taken_from_the_data_as_published(folder):
    public, published = (load_microdata("wine", folder, bounds) for bounds in ("public", "published"))
    assert (public.values == published.values).all()
    for place, attribute in enumerate(published.attributes):
        assert (attribute.low, attribute.high) == (0, 2 * published.values[:, place].max())
    assert public.attributes[7] == Attribute("density", 0.98, 1.05)


@pytest.mark.parametrize("scenario", ["central", "horizontal", "vertical"])
@pytest.mark.parametrize("dataset", ["adult", "wine"])
def test_a_cell_of_a_grid_is_the_loss_of_a_whole_release(folder, dataset, scenario):
    """The grid sums over sorted records; a release puts records back and is measured one by one."""
    setting = Setting(dataset, scenario)
    experiment = Experiment.load(setting, folder)
    found = experiment.run(1, (20,), (0.5,))[:, 0, 0, 0]
    generator = np.random.default_rng([0, zlib.crc32(repr(setting).encode())])
    owners = Owners(dataset, experiment.data)
    mechanism = replace(setting.mechanism(20), epsilon=0.5)
    original = experiment.data.values
    if scenario == "horizontal":
        parts = owners.horizontal(generator)
        original = np.concatenate([part.values for part in parts.values()])
        published = release_horizontal(mechanism, parts, generator)
    elif scenario == "vertical":
        published = release_vertical(mechanism, owners.vertical(), generator)
    else:
        published = release_central(mechanism, experiment.data, generator)
    loss = experiment.meter.measure(original, published.values)
    for metric, value in zip(METRICS, found, strict=True):
        expected = getattr(loss, metric)
        assert np.isnan(value) if expected is None else value == pytest.approx(expected)


def test_every_cell_has_a_mean_and_an_error(fig4):
    figure, grids = fig4
    assert [grid.panel.label for grid in grids] == ["Adult", "Wine"]
    header, rows = grid_table(grids[0], "corrected")
    assert header == ["epsilon", "k = 1", "k = 5", "k = 20"]
    assert [row[0] for row in rows] == ["0.1", "1"]
    assert all(" ± " in cell for row in rows for cell in row[1:])
    lines = list(csv.DictReader(io.StringIO(csv_text(grid_records(figure, grids)))))
    assert len(lines) == len(grid_records(figure, grids)) == 6 * (3 + 2)  # Wine has no categories
    assert {line["private"] for line in lines} == {"no"}


def test_the_page_says_what_the_paper_claims_and_that_nothing_is_private(fig4):
    text = grid_markdown(*fig4)
    assert text.startswith("As published, not differentially private")
    assert "| what the paper says of the figure | what comes out |" in text
    assert "Adult: in " in text and "Wine: in " in text


def test_idp_ir_loses_less_than_dp_ir_where_its_noise_is_smaller(fig4):
    """With bounds of twice the maximum, `fixed` is well below the global sensitivity."""
    _, grids = fig4
    assert grids[1].means["corrected"][1, 1] < 0


def test_the_plot_is_a_png_and_an_svg_with_every_number(fig4):
    figure, grids = fig4
    files = heat_maps(figure, grids)
    assert files["png"].startswith(b"\x89PNG")
    text = "".join(ET.fromstring(files["svg"]).itertext())
    for grid in grids:
        assert all(number(mean) in text for mean in grid.means["printed"].flat)
    assert "not differentially private" in text
    assert heat_maps(figure, grids)["svg"] == files["svg"]


def test_one_run_has_no_errors_and_the_same_seed_gives_the_same_numbers(folder):
    figure = replace(grid_figures()["idp-ir-fig3"], ks=KS, epsilons=(0.01, 0.1, 1.0))
    first, again = (run_grid_figure(figure, folder, 1, lambda *_: None)[0] for _ in range(2))
    assert first.standard_errors is None
    assert (first.means["corrected"] == again.means["corrected"]).all()
    assert "in the thousands" in grid_markdown(figure, [first])


def test_numbers_are_short():
    shown = [number(x) for x in (0.0123, -0.00001, 1.234, 12.34, 1234.5, 1.23e8, -2.5)]
    assert shown == ["0.012", "0.000", "1.23", "12.3", "1,234", "1.23e+08", "-2.50"]


def test_too_few_records_and_missing_files_are_refused_before_anything_runs(folder, tmp_path):
    with pytest.raises(FragmentError, match=r"owner 1.*\n.*fewer records than k = 501"):
        Experiment.load(Setting("wine", "horizontal"), folder).run(1, (501,), (1.0,))
    with pytest.raises(SourceError, match=r"lacks winequality-red.csv, winequality-white.csv"):
        load_microdata("wine", tmp_path)


def attack_on(generator, k=20):
    values = generator.normal(50, 15, 600).clip(1, 99)
    return Attack(Attribute("x", 0.0, 100.0), values, (float(values.min()), float(values.max())), k)


def test_clusters_tell_the_lowest_from_the_highest_value_at_any_epsilon():
    """An epsilon-private release would allow 50.02 % at epsilon 0.001: 100 of 100 then has probability 10^-30."""
    generator = np.random.default_rng(1)
    mechanism = IdpIr(0.001, 20, "global", clamp=False)
    assert attack_on(generator).success(mechanism, 0.001, 100, generator, whole_numbers=False) == (1.0, 1.0)


def test_the_attack_fails_where_no_clusters_show():
    """Noise for every record: right half of the time. Of 400 tosses 160 to 240 are heads but for 1 in 10^4 times."""
    generator = np.random.default_rng(2)
    mechanism = IdpIr(0.001, None, "global", clamp=False)
    rates = attack_on(generator).success(mechanism, 0.001, 400, generator, whole_numbers=False)
    assert all(0.4 <= rate <= 0.6 for rate in rates)


def test_numbers_of_a_column_by_hand():
    """Six values in clusters of three, 1 1 1 and 2 2 9, in a domain from 0 to 10."""
    data = Microdata((Attribute("x", 0.0, 10.0),), np.array([[2.0], [1], [9], [1], [1], [2]]))
    facts = cluster_facts(data, "x", 3)
    assert facts.share_shown == 0.5
    assert facts.share_without_noise == 0
    assert facts.reach == pytest.approx(13 / 3 - 1)
    assert facts.claimed_reach == pytest.approx(10 / 3)
    # Up: (2 - 1)/3 and (10 - 2)/3; down: (1 - 0)/3 and (9 - 1)/3. All of them together: 9/3 of the global 10/3.
    assert facts.local_to_global == pytest.approx(0.9)
    assert facts.loss_gap == pytest.approx(2)
    # Fixed: 9/3 and 9/3.
    assert facts.loss_fixed == pytest.approx(1)


def test_one_command_writes_heat_maps_and_fills_the_page(folder, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("<!-- begin idp-ir-fig6 -->\n<!-- end idp-ir-fig6 -->\n")
    options = ("--data", folder, "--runs", 1, "--pages", tmp_path, "--out", tmp_path / "results")
    done = command("idp-ir-fig6", *options, "--format", "json")
    assert {row["panel"] for row in json.loads(done.stdout)} == {
        "other records at every owner",
        "other columns at every owner",
    }
    written = sorted(path.name for path in (tmp_path / "results").iterdir())
    assert written == ["idp-ir-fig6.csv", "idp-ir-fig6.png", "idp-ir-fig6.svg"]
    assert "| epsilon | k = 50 |" in page.read_text()
    text = command("idp-ir-fig6", *options).stdout
    assert "what the paper says" in text


def test_findings_are_computed_from_the_files(folder, tmp_path):
    done = command("idp-ir-findings", "--data", folder, "--out", tmp_path, "--format", "json")
    found = json.loads(done.stdout)
    numbers = [finding["number"] for finding in found]
    assert numbers == ["E29", "E30", "E31", "E32", "E33", "E34", "E35", "E36", "E37", "E38"]
    assert "200 of 200" in found[0]["found"]
    assert "epsilon/9, epsilon/12, epsilon/12" in found[7]["found"]
    assert (tmp_path / "idp-ir-findings.md").exists()


def test_the_list_names_the_new_files():
    assert "winequality-red.csv" in command("list").stdout
