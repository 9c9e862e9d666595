"""The papers' numbers: as their texts give them, and in this distribution only."""

from __future__ import annotations

from pathlib import Path

import pytest

import copublish
import copublish_reproduction
from copublish_reproduction.printed import BA, LA, PRINTED, printed

FIGURES = {figure for figure, *_ in PRINTED}


def percent(figure: str, dataset: str, series: str, x: str = "") -> float:
    number = printed(figure, dataset, series, x)
    assert number is not None
    return number.percent


def test_numbers_that_follow_from_differences_are_those_of_the_texts() -> None:
    """DistDiffGen: CA-LA 6.7 at epsilon 1. ArbDistDP: BA-CA 7.2 and CA-LA 1.8 on Adult, 15.8 and 48.2 on Nursery."""
    assert percent("distdiffgen-fig3", "adult", "DistDiffGen l=10", "1") == pytest.approx(
        percent("distdiffgen-fig3", "adult", LA) + 6.7
    )
    for dataset, below_raw, above_largest in (("adult", 7.2, 1.8), ("nursery", 15.8, 48.2)):
        found = percent("arbdistdp-fig7", dataset, "ArbDistDP l=2", "0.1")
        assert found == pytest.approx(percent("arbdistdp-fig7", dataset, BA) - below_raw)
        assert found == pytest.approx(percent("arbdistdp-fig7", dataset, LA) + above_largest)


def test_where_nothing_is_printed_there_is_no_number() -> None:
    assert printed("arbdistdp-fig7", "adult", "ArbDistDP l=2", "2") is None


def files_with_figures(package: Path) -> set[str]:
    """Files of a package that name a figure of which numbers are printed."""
    files = [path for path in package.rglob("*") if path.suffix in (".py", ".j2", ".json", ".js")]
    assert files
    return {path.name for path in files if any(figure in path.read_text(encoding="utf-8") for figure in FIGURES)}


def test_the_product_carries_no_figure_of_a_paper() -> None:
    assert files_with_figures(Path(copublish.__file__).parent) == set()
    assert "printed.py" in files_with_figures(Path(copublish_reproduction.__file__).parent)
