"""What papers say of their figures: made from stored tables, by hand-made points."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmark_files import write_benchmark_files, write_statlog_file, write_wine_files
from copublish.errors import CopublishError
from copublish_reproduction.figures import Point
from copublish_reproduction.printed import PRINTED
from copublish_reproduction.printed_numbers import PAPERS, printed_numbers, rows_of
from copublish_reproduction.stored_claims import (
    StoredFigure,
    _largest_gap,
    _rises,
    _spans,
    arbdistdp_claims,
    distdiffgen_claims,
    error_of,
    shown,
)
from reproduce import command, reproduce

STORED = Path(__file__).parents[3] / "docs" / "results"


def point(series: str, x: str, mean: float, error: float | None = 0.5) -> Point:
    return Point("f", "adult", series, "no", x, mean, error, 10, None)


@pytest.fixture
def figure():
    means = {"a": (80.0, 78.0, 83.0), "b": (79.0, 82.0, 83.5)}
    return StoredFigure(
        tuple(point(name, x, m) for name, row in means.items() for x, m in zip("123", row, strict=True))
    )


def test_a_fall_counts_beyond_two_standard_errors_only(figure):
    assert "in 1 of 4 steps" in _rises(figure, ["a", "b"])  # 80 to 78: 2 > 2 x 0.71
    small = StoredFigure((point("a", "1", 80.0), point("a", "2", 79.0)))
    assert "in 0 of 1 steps" in _rises(small, ["a"])


def test_the_largest_span_and_gap_are_found_with_their_place(figure):
    assert "largest span 4.0 points, at epsilon 2 (a: 78.0 ± 0.5, b: 82.0 ± 0.5), 5.7 standard errors" in _spans(
        figure, ["a", "b"]
    )
    assert _largest_gap(figure, "a", "b") == "largest difference -4.0 ± 0.7 points, at epsilon 2 (a minus b)"


def test_errors_add_as_squares_and_one_run_has_none():
    assert error_of(point("a", "1", 0, 3.0), point("a", "1", 0, 4.0)) == 5.0
    assert shown(point("a", "1", 80.04, None)) == "80.0"


def test_a_table_that_is_missing_is_named(tmp_path, figure):
    with pytest.raises(CopublishError, match="distdiffgen-fig3"):
        distdiffgen_claims(tmp_path)
    with pytest.raises(CopublishError, match="no 'c' at '1'"):
        figure.at("c", "1")


def test_the_stored_tables_answer_every_claim():
    for claims in (distdiffgen_claims(STORED), arbdistdp_claims(STORED)):
        assert all(said and found for said, found in claims)
    assert len(distdiffgen_claims(STORED)) == 8
    assert len(arbdistdp_claims(STORED)) == 13


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = write_benchmark_files(tmp_path_factory.mktemp("benchmark"), 90)
    return write_statlog_file(write_wine_files(made, (30, 60)))


def test_every_printed_number_has_a_row_with_ours(folder):
    numbers = printed_numbers(folder, STORED)
    assert all(number.published and number.printed and number.command for number in numbers)
    assert [number.paper for number in numbers] == sorted((n.paper for n in numbers), key=PAPERS.index)
    of_figures = [number for number in numbers if number.command in {figure for figure, *_ in PRINTED}]
    assert len(of_figures) == len(PRINTED) + 0  # iDP-IR's three have figures of their own
    assert {len(row) for row in rows_of(numbers)} == {7}
    # Data sets are counted, not copied from the papers: the made-up Adult has 90 and 45 records.
    assert next(n for n in numbers if n.where == "Section 7").published == "135"


def test_the_command_makes_both_from_the_folder_of_tables(folder, tmp_path):
    for name in ("distdiffgen-fig3", "distdiffgen-fig4", "arbdistdp-fig7"):
        (tmp_path / f"{name}.csv").write_bytes((STORED / f"{name}.csv").read_bytes())
    done = command("distdiffgen-claims", "--data", folder, "--out", tmp_path)
    assert "what comes out" in done.stdout
    failed = reproduce("printed-numbers", "--data", folder, "--out", tmp_path)
    assert "arbdistdp-fig8" in str(failed.exception)


@pytest.mark.parametrize("name", ["distdiffgen", "arbdistdp"])
def test_the_pages_have_what_the_stored_tables_say(name):
    """After a figure was regenerated: copublish reproduce NAME-claims and printed-numbers, in seconds."""
    claims = {"distdiffgen": distdiffgen_claims, "arbdistdp": arbdistdp_claims}[name](STORED)
    page = (STORED / f"{name}.md").read_text(encoding="utf-8")
    assert [said for said, found in claims if f"| {said} | {found} |" not in page] == []
