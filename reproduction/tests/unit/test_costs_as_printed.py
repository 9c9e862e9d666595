"""Costs: printed numbers from their formulas, shapes of runs by naive counts, and what a small secure release took."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest

from benchmark_files import write_benchmark_files
from copublish.engines.choice import has_secure_engine
from copublish_reproduction.bench import Bench
from copublish_reproduction.costs import cost_markdown, cost_records, figure_9_tables, printed_cost_tables
from copublish_reproduction.datasets import load_dataset
from copublish_reproduction.leaks import LeakLog, merge_transcript, random_holders
from copublish_reproduction.measured_costs import bits_of_sum, distdiffgen_shape, measured_release
from copublish_reproduction.printed_costs import DistDiffGenCosts, complexities, growth, section_7_2
from copublish_reproduction.protocol_costs import OPERAND_BITS, Operations, UnitCosts, count_operations


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_benchmark_files(tmp_path_factory.mktemp("benchmark"))


def silent(*step):
    """Take no notice of progress."""


def test_section_7_2_follows_from_its_own_quantities():
    """Each printed number of the paper, to the digits that it prints."""
    costs = DistDiffGenCosts()
    assert (costs.weight_bits, costs.gates) == (469, 4218)
    assert costs.selection_seconds == pytest.approx(10 * 24 * 2 * 469 * 0.02)
    assert round(costs.selection_seconds / 60) == 75
    assert costs.selection_bits == pytest.approx(5.18e8, rel=1e-3)
    assert costs.counting_seconds / 3600 == pytest.approx(5.5, abs=0.05)
    assert costs.counting_bits == pytest.approx(3.16e10, rel=1e-3)
    assert len(section_7_2()) == 10


def test_the_bound_that_holds_is_that_of_whole_numbers():
    """24 weights of score 30,162 as whole numbers: e^(0.01 x 30,162) is an exact power with many digits."""
    costs = DistDiffGenCosts()
    with localcontext(prec=200):
        largest = (Decimal("0.01") * 30_162).exp() * 10**10
        assert costs.bound_bits == int(24 * largest).bit_length()
    assert costs.bound_bits > costs.weight_bits  # so the printed number is not a bound
    assert DistDiffGenCosts(sum_of_scores=24 * 30_162).weight_bits > 10_000


def test_the_length_of_a_sum_of_weights_is_that_of_the_whole_number():
    numbers = [3, 17, 1_000_003, 2**40]
    assert bits_of_sum([math.log(number) for number in numbers]) == sum(numbers).bit_length()
    assert bits_of_sum([30_000.0]) == math.floor(30_000 / math.log(2)) + 1  # beyond doubles


def test_every_statement_has_a_value_and_its_paper():
    found = complexities()
    assert {c.paper for c in found} == {"DistDiffGen", "ArbDistDP", "HPDP-DP", "VHDP"}
    values = {(c.where, c.stated): c.value for c in found}
    assert values["Section 4.2.2", "scatter matrices Mp^2"] == 3 * 52 * 52
    assert values["Section 4.5", "Algorithm 2: O(kn)"] == 14 * 30_162
    assert values["Prop. 5.3", "encryptions O(n log C)"] == 24 * 469


def test_growth_is_the_exponent():
    assert growth(lambda n: 3.0 * n**1.5, (100, 400)) == pytest.approx(1.5)


def test_the_shape_of_a_run_has_a_sum_of_scores_above_the_number_of_records(folder):
    """The first slip of section 7.2, on made-up records: with 14 attributes the sum is several times their number."""
    table = Bench.load("adult", folder, 0).plain
    shape = distdiffgen_shape(table, 1.0, np.random.default_rng(1))
    assert shape.sum_of_scores > len(table.classes)
    assert 14 <= shape.candidates <= 14 + 10 * 3  # every category here has two children, some of them two each
    assert shape.leaves <= 2**10


def test_operations_are_counted_as_a_naive_merge_counts_them(folder):
    """One search for a split point: the steps of the cursors, by the transcript of the merge and what is left after."""
    table = Bench.load("adult", folder, 0).plain
    place = table.numerical[0]
    log = LeakLog(table, random_holders(table, np.random.default_rng(2)))
    column, mask = table.columns[place], log.is_first[:, place]
    first, second = (sorted(column.values[column.codes[part]].tolist()) for part in (mask, ~mask))
    transcript = merge_transcript(first, second)
    used = (sum(step <= 0 for step in transcript), sum(step >= 0 for step in transcript))
    left = len(first) - used[0] + len(second) - used[1]
    log.merge_lists(table.top()[place])
    assert log.candidates == log.order_bits == len(transcript) + left
    assert log.selections == 1


def test_the_cost_of_operations_is_their_number_times_what_one_takes(folder):
    table = Bench.load("nursery", folder, 0).plain
    found = count_operations(table, np.random.default_rng(3))
    assert found.random_numbers == 10  # one for each specialization; no number to search
    assert found.encryptions == found.leaves * len(table.classes)
    units = UnitCosts(1024, exponentiation=0.5, encryption=2.0, decryption=3.0)
    seconds = units.seconds(Operations(7, 5, 2, 11, 4))
    assert seconds == {
        "comparisons": 7 * OPERAND_BITS * 0.5,
        "products and random numbers": 7 * 5.0,
        "counts of leaves": 11 * 2.0 + 4 * 3.0,
    }


@pytest.mark.slow
@pytest.mark.skipif(not has_secure_engine(), reason="needs the secure engine")
def test_a_secure_release_is_measured(folder):
    release = measured_release(load_dataset("nursery", folder), "vertical")
    assert release is not None
    assert release.records == len(load_dataset("nursery", folder).train)
    assert release.seconds > 0 and release.sent_bytes > 100_000
    assert release.thousand_coins > 0 and release.million_ands == 0
    assert release.leaves > 1


@pytest.mark.slow
def test_without_the_secure_engine_the_tables_say_so(folder, monkeypatch):
    for module in ("costs", "measured_costs"):
        monkeypatch.setattr(f"copublish_reproduction.{module}.has_secure_engine", lambda: False)
    tables = printed_cost_tables(folder, 1, silent)
    assert "not installed" in cost_markdown(tables)
    assert {row["table"] for row in cost_records(tables)} == {table.title for table in tables if table.rows}
    rows = [table.rows for table in figure_9_tables(folder, silent, (300,), 512)]
    assert [[row[0] for row in part] for part in rows] == [["300"], ["300"]]
    assert all(row[-2:] == ["", ""] for part in rows for row in part)
