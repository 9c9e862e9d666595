"""Readings of DiffP-C4.5 and DAKA: what the settings do, and what the page says of them."""

from __future__ import annotations

import numpy as np
import pytest

from benchmark_files import write_benchmark_files
from copublish_reproduction import readings
from copublish_reproduction.bench import Bench
from copublish_reproduction.diffp_c45 import DiffPC45
from copublish_reproduction.k_anonymity import TopDownKAnonymity
from copublish_reproduction.readings import (
    Reading,
    daka_conclusions,
    diffp_c45_conclusions,
    nearest,
    reading_markdown,
    reading_tables,
    scan_daka,
    scan_diffp_c45,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_benchmark_files(tmp_path_factory.mktemp("benchmark"))


def depth_of(node):
    return 1 + max(map(depth_of, node.children)) if node.children else 0


def test_without_a_rule_to_stop_a_tree_grows_to_its_depth(folder):
    table = Bench.load("nursery", folder, 0).plain
    for depth in (1, 2, 3):
        assert depth_of(DiffPC45(0.01, depth, stop_below=0).grow(table, np.random.default_rng(1))) == depth
        assert depth_of(DiffPC45(0.01, depth, stop_below=1).grow(table, np.random.default_rng(1))) == 0


def test_a_limit_on_specializations_is_kept(folder):
    table = Bench.load("adult", folder, 0).plain
    for rounds in (0, 1, 3):
        cut, _ = TopDownKAnonymity(5, rounds).specialize(table)
        assert sum(len(pieces) - 1 for pieces in cut.pieces) >= rounds
        assert (cut.n_leaves == 1) == (rounds == 0)
    free, _ = TopDownKAnonymity(5).specialize(table)
    same, _ = TopDownKAnonymity(5, 1000).specialize(table)
    assert free.pieces == same.pieces


def test_the_nearest_reading_is_named_with_its_distance():
    found = [
        Reading("DiffP-C4.5, Adult, epsilon 0.25: printed 80.2", "1 deviations", "depth 5", 77.4, 0.8, 2),
        Reading("DiffP-C4.5, Adult, epsilon 0.25: printed 80.2", "none", "depth 2", 79.9, None, 1),
        Reading("DiffP-C4.5, Nursery, epsilon 0.1: printed 87.7", "none", "depth 2", 81.0, 0.1, 2),
    ]
    assert nearest(found[:2], 80.2) is found[1]
    adult, nursery = diffp_c45_conclusions(found)
    assert "79.9 (depth 2, stopping rule: none), 0.3 points away" in adult
    assert "6.7 points away" in nursery


@pytest.mark.slow
def test_scans_have_a_cell_for_every_setting_and_a_conclusion(folder, monkeypatch):
    monkeypatch.setattr(readings, "DEPTHS", (1, 2))
    monkeypatch.setattr(readings, "STOPS", (0.0, 1.0))
    monkeypatch.setattr(readings, "KS", (5, 50))
    monkeypatch.setattr(readings, "ROUNDS", (1, None))
    trees = scan_diffp_c45(folder, 2, lambda *step: None)
    assert len(trees) == 2 * 2 * 2 * 2
    groups = scan_daka(folder, lambda *step: None)
    assert len(groups) == 2 * 2 * 2
    titles = [title for title, _, _ in reading_tables(trees, "rule")]
    assert ["Adult" in titles[0], "Nursery" in titles[1]] == [True, True]
    assert "| none, not pruned |" in reading_markdown(trees, "rule", diffp_c45_conclusions)
    assert "With k = 5 these numbers" in daka_conclusions(groups)[0]
