"""Which reading of iDP-IR's sensitivity fits which sentence: verdicts by hand, and the whole table on made-up files."""

from __future__ import annotations

import csv
from functools import partial

import numpy as np
import pytest

from benchmark_files import write_benchmark_files, write_wine_files
from copublish_reproduction import exhibits
from copublish_reproduction.idp_ir_readings import (
    NAME,
    READINGS,
    SENTENCES,
    Losses,
    Row,
    readings_markdown,
    readings_table,
    run_readings,
)
from reproduce import command

KS, EPSILONS = (1, 50, 300), (0.01, 0.1, 1.0)


def losses(central, **others):
    """Losses of four runs that hardly differ: shape (metrics, runs, epsilons, ks)."""

    def runs(means):
        spread = 1e-6 * np.arange(4)[:, None, None]
        return np.broadcast_to(np.asarray(means, dtype=float) + spread, (3, 4, 3, 3))

    named = {name: runs(others.get(name, central)) for name in ("central", "horizontal", "vertical", "dp_ir")}
    return Losses(KS, EPSILONS, **named)


FALLING = np.array([[5000.0, 4000, 3000], [4900, 2500, 1500], [4800, 900, 100]])


def verdict(text, figure, of):
    (sentence,) = [sentence for sentence in SENTENCES if text in sentence.text and figure in sentence.figure]
    return sentence.test(of)


def test_a_table_as_the_paper_describes_it_fits():
    of = losses(
        FALLING, horizontal=FALLING + [[0, 10, 200]] * 3, vertical=FALLING + 0.03, dp_ir=FALLING + [[0, 1, 2]] * 3
    )
    fits = {(sentence.text, sentence.figure): sentence.test(of)[0] for sentence in SENTENCES}
    assert all(fits.values()), fits


@pytest.mark.parametrize(
    ("text", "figure", "broken"),
    [
        ("plain iDP", "Fig. 2", {"central": FALLING * [[1], [0.5], [0.3]]}),
        ("larger epsilon", "Fig. 3", {"central": FALLING[::-1]}),
        ("larger k", "Fig. 2", {"central": FALLING[:, ::-1]}),
        ("for all pairs", "Fig. 4, Wine", {"dp_ir": FALLING - [[0, 0, 1]] * 3}),
        ("in the thousands", "Fig. 3", {"central": FALLING / 100}),
        ("formula as printed", "Fig. 3", {"central": FALLING * 1000}),
        ("other records: minimal", "Fig. 5", {"horizontal": FALLING + [[0, 200, 10]] * 3}),
        ("around 0.04", "Fig. 5", {"vertical": FALLING + 0.05}),
        ("other records, epsilon", "Fig. 6", {"horizontal": FALLING + 301}),
        ("other columns, epsilon", "Fig. 6", {"vertical": FALLING + 301}),
    ],
)
def test_every_sentence_can_fail(text, figure, broken):
    of = losses(**{"central": FALLING, **broken})
    fits, numbers = verdict(text, figure, of)
    assert not fits and numbers


def test_what_plain_idp_and_large_epsilons_lose_is_no_part_of_the_bound_of_300():
    apart = np.zeros((3, 3))
    apart[:, 0], apart[2] = 5000, 5000  # k = 1, and epsilon 1
    assert verdict("other columns, epsilon", "Fig. 6", losses(FALLING, vertical=FALLING + apart)) == (
        True,
        "at most 0.000 ± 0.000",
    )


def test_the_last_row_counts_the_sentences_that_fit():
    rows = [Row(sentence, dict.fromkeys(READINGS, (place == 0, "1"))) for place, sentence in enumerate(SENTENCES)]
    header, shown = readings_table(rows)
    assert header[2:] == list(READINGS)
    assert shown[0][2] == "yes: 1" and shown[1][2] == "NO: 1"
    assert shown[-1][2:] == [f"1 of {len(SENTENCES)}"] * len(READINGS)
    assert "No reading fits all sentences" in readings_markdown(rows, 3)


SMALL = {"adult": (1, 20, 300), "wine": (1, 20, 300)}
"""The made-up Adult has about a twentieth of the records of the real one."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_wine_files(write_benchmark_files(tmp_path_factory.mktemp("benchmark"), 1_400))


@pytest.mark.slow
def test_global_is_dp_ir_itself_and_never_better_than_it(folder):
    rows = run_readings(
        folder, 1, lambda *_: None, epsilons=(0.01, 1.0), ks={"adult": (1, 20, 300), "wine": (1, 20, 300)}
    )
    for row in rows:
        if "DP-IR" in row.sentence.text:
            assert row.verdicts["global"][0] is False
            assert row.verdicts["global"][1].startswith("lower in 0 of 6 cells")


@pytest.mark.slow
def test_one_command_fills_the_page(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(exhibits, "run_readings", partial(run_readings, ks=SMALL))
    page = tmp_path / "page.md"
    page.write_text(f"<!-- begin {NAME} -->\n<!-- end {NAME} -->\n")
    command(NAME, "--data", folder, "--runs", 2, "--pages", tmp_path, "--out", tmp_path)
    assert "| sentences that fit |" in page.read_text()
    records = list(csv.DictReader((tmp_path / f"{NAME}.csv").open()))
    assert len(records) == len(SENTENCES) * len(READINGS) and {row["fits"] for row in records} <= {"yes", "no"}
