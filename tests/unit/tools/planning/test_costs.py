"""The cost model against runs that were measured, and its shapes against the engine's own."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from functools import partial

import pytest

from copublish.agreement.loading import agreement_from_mapping
from copublish.engines.spu.products import (
    PRODUCT_ROWS,
    SPARE_RECORDS,
    most_records,
    padded_records,
    records_of_products,
)
from copublish.kernel.programs.packing import Packing
from copublish.tools.planning import costs, specialization_tuning
from copublish.tools.planning.costs import (
    MIB,
    Coefficients,
    Surroundings,
    cost_of,
    how_much_slower,
    loop_seconds,
    measured_coefficients,
    predict,
)
from copublish.tools.planning.specialization_tuning import _own_halves, _spread_halves
from copublish.tools.planning.tuning import Work
from run_all import RESULTS
from secure_runs import SCALING_AGREEMENT
from support import repartition, small_mapping

SCALING = agreement_from_mapping(SCALING_AGREEMENT)


work_of = partial(specialization_tuning.work_of, records_of_products=records_of_products)


@pytest.fixture(autouse=True)
def on_the_machine_that_was_measured(monkeypatch):
    """Whatever this one is."""
    monkeypatch.setattr(costs, "how_much_slower", lambda: 1.0)


def sizes_of(*sizes, agreement=SCALING):
    """How many published values each attribute has."""
    return dict(zip(agreement.domains, sizes, strict=True))


def top(agreement):
    """Those of a run that splits nothing."""
    return sizes_of(*[1] * len(agreement.domains), agreement=agreement)


def predicted(sizes, records):
    return predict(SCALING, work_of(SCALING, sizes_of(*sizes), records))


def test_runs_that_nothing_was_fitted_to_are_as_predicted():
    """What docs/scale.md says: a table that `benchmarks/cost_model.py` measured; predicted here, not there."""
    tables = json.loads((RESULTS / "cost_model.json").read_text())["tables"]
    rows = tables["Predictions held against other runs"]["rows"]
    assert max(records_of(row) for row in rows) >= 1_000_000
    for row in rows:
        found = predicted((4, 2, 2, 2, 2, 2), records_of(row))
        assert found.mib_sent == pytest.approx(row["MiB sent"], rel=0.1)
        assert found.cpu_seconds == pytest.approx(row["CPU s"], rel=0.3)
        assert found.seconds == pytest.approx(row["seconds"], rel=0.3)


def records_of(row):
    return int(row["run"].split()[0].replace(",", ""))


def test_more_of_anything_costs_more():
    small = predicted((2, 2, 2, 2, 2, 2), 10_000)
    for more in (predicted((2, 2, 2, 2, 2, 2), 100_000), predicted((4, 4, 2, 2, 2, 2), 10_000)):
        assert more.mib_sent > small.mib_sent
        assert more.seconds > small.seconds


def test_biased_bits_are_those_of_all_noise():
    """8 selections among 294 candidates with scale 20, and 192 counts with scale 5/3: 64 coins make up a word."""
    bits = {scale: math.ceil(math.log2(64 * math.log(2) * scale)) for scale in (20, 5 / 3)}
    expected = 8 * 320 * bits[20] + 384 * bits[5 / 3]
    assert work_of(SCALING, sizes_of(3, 2, 2, 2, 2, 2), 1000).biased_bits * 1e3 == expected


@pytest.mark.parametrize("n", [1, 2047, 2048, 40_000, 65_536, 70_000, 500_000])
@pytest.mark.parametrize("elements", [8, 4000])
def test_records_are_padded_as_the_engine_pads_them(n, elements):
    step = most_records(2 * Packing(elements).elements)
    chunks = [min(step, n - start) for start in range(0, n, step)]
    assert records_of_products(n, 2 * elements) == sum(padded_records(chunk) for chunk in chunks)
    assert PRODUCT_ROWS[0] <= step + SPARE_RECORDS <= PRODUCT_ROWS[-1]


@pytest.mark.parametrize("partition", ["vertical", "arbitrary"])
def test_rows_and_columns_make_up_the_whole_table(partition):
    agreement = agreement_from_mapping(repartition(small_mapping(), partition))
    sizes = {"job": 2, "region": 3, "age": 4, "income": 1}
    halves = _own_halves if partition == "vertical" else _spread_halves
    (rows, _), (row, _) = halves(agreement, sizes, 2)
    assert rows * row == 2 * 3 * 4 * 2
    if partition == "vertical":  # p1 holds region and income, and the class goes with the last party
        assert (rows, row) == (2 * 4, 3 * 2)


def test_without_a_join_nothing_is_multiplied():
    horizontal = agreement_from_mapping(repartition(small_mapping(), "horizontal"))
    assert work_of(horizontal, top(horizontal), 1000).products == 0
    vertical = agreement_from_mapping(small_mapping())
    assert work_of(vertical, top(vertical), 1000).products == 0
    split = sizes_of(*[2] * len(vertical.domains), agreement=vertical)
    assert work_of(vertical, split, 1000).products == 1  # so that the checks above can fail


THREE = agreement_from_mapping(repartition(small_mapping(), "arbitrary", parties=3))


def test_from_three_owners_on_marks_are_counted_and_guests_share_theirs():
    """Two values of each of four attributes and two classes: sides of 4 and 8 cells, or 8 and 4."""
    most = 65_536 - SPARE_RECORDS
    work = work_of(THREE, sizes_of(*[2] * len(THREE.domains), agreement=THREE), most)
    assert work.guests == 1
    assert work.marks * 1e6 == 65_536 * (4 + 8) * 2  # the AND of three owners' marks is two ANDs
    assert work.guest_marks * 1e6 == 65_536 * (4 + 8)
    two = agreement_from_mapping(repartition(small_mapping(), "arbitrary"))
    beside = work_of(two, sizes_of(*[2] * len(two.domains), agreement=two), most)
    assert beside.guests == beside.guest_marks == 0
    assert predict(THREE, work).cpu_seconds > predict(two, beside).cpu_seconds


def test_three_compute_nodes_have_no_prediction():
    content = repartition(small_mapping(), "arbitrary", parties=3) | {"engine": {"protocol": "aby3"}}
    agreement = agreement_from_mapping(content)
    assert predict(agreement, Work(starts=1.0)).seconds is None
    assert predict(THREE, Work(starts=1.0)).seconds > 0  # so that the check above can fail


COSTS = Coefficients(
    cpu_seconds=Work(starts=6.0, rounds=1.0, products=2.0, product_columns=10.0),
    mib_sent=Work(starts=4.0, products=3.0, product_columns=20.0),
    round_trips=Work(starts=100.0, rounds=20.0, product_columns=5.0),
    fixed_ratio=0.5,
    record_ratio=1.0,
    worker_mib=900.0,
    party_mib=100.0,
    mib_per_million_cells=2.0,
    measured={},
)
WORK = Work(starts=1.0, rounds=3.0, products=1.0, product_columns=40.0)


def test_a_run_costs_the_sum_of_its_work_and_a_link_adds_waiting_and_transfers():
    found = cost_of(WORK, cells=50.0, by=COSTS)
    assert (found.cpu_seconds, found.mib_sent) == (6 + 3 + 2 + 400, 4 + 3 + 800)
    assert found.seconds == 9 / 2 + 402 and found.largest_process_mib == 900
    assert cost_of(WORK, cells=500.0, by=COSTS).largest_process_mib == 1100, "the party's own process is larger now"
    link = Surroundings(round_trip_seconds=0.1, bytes_per_second=MIB)
    over = cost_of(WORK, surroundings=link, by=COSTS)
    assert (over.waiting_seconds, over.transfer_seconds) == (pytest.approx((100 + 60 + 200) * 0.1), 807)
    assert over.seconds == pytest.approx(found.seconds + 36 + 807)


def test_a_slower_machine_computes_longer_and_waits_as_long(monkeypatch):
    link = Surroundings(round_trip_seconds=0.1, bytes_per_second=MIB)
    found, slow = (cost_of(WORK, surroundings=one, by=COSTS) for one in (link, replace(link, slower=3.0)))
    assert slow.cpu_seconds == 3 * found.cpu_seconds and slow.mib_sent == found.mib_sent
    computing = found.seconds - found.waiting_seconds - found.transfer_seconds
    assert slow.seconds == pytest.approx(found.seconds + 2 * computing)
    work = work_of(SCALING, sizes_of(4, 2, 2, 2, 2, 2), 100_000)
    usual = predict(SCALING, work)
    monkeypatch.setattr(costs, "how_much_slower", lambda: 2.0)
    assert predict(SCALING, work).cpu_seconds == pytest.approx(2 * usual.cpu_seconds, abs=0.2)
    assert "this machine takes 2.00 times as long" in predict(SCALING, work).why


def test_this_machine_is_compared_by_the_loop_that_the_other_one_ran(monkeypatch):
    measured = measured_coefficients().measured["loop_seconds"]
    monkeypatch.setattr(costs, "loop_seconds", lambda: 2.5 * measured)
    assert how_much_slower.__wrapped__() == pytest.approx(2.5)
    assert 0.01 < loop_seconds() < 10


def test_workers_cost_sessions_and_divide_what_goes_with_records():
    def found(workers, work=WORK):
        return cost_of(work, surroundings=Surroundings(workers=workers), by=COSTS)

    assert found(1) == cost_of(WORK, by=COSTS)
    assert found(4).cpu_seconds == 411 + 3 * (6 + 2)
    # Products, and the sessions after the first, go on at the same time; a start and three selections do not.
    assert found(4).seconds == 9 / 2 + (18 + 8 + 400) / 4
    without_products = Work(starts=1.0, rounds=3.0)
    assert found(4, without_products) == found(1, without_products), "there is nothing to divide"


def test_workers_without_shards_to_count_are_none():
    work = work_of(SCALING, sizes_of(4, 2, 2, 2, 2, 2), 100_000)
    assert predict(SCALING, work, Surroundings(workers=4)) == predict(SCALING, work)
    cut = agreement_from_mapping(SCALING_AGREEMENT | {"engine": {"shards": 4}})
    assert predict(cut, work, Surroundings(workers=4)).cpu_seconds > predict(cut, work).cpu_seconds


@pytest.mark.parametrize(
    ("records", "step", "core_seconds"), [(100_000_000, 10, 14.2), (10_000_000, 10, 1.53), (10_000_000, 1, 2.62)]
)
def test_counting_rows_where_they_lie_is_predicted_within_three_tenths(records, step, core_seconds):
    """Measured: a Parquet file of two categories, two numbers and a class, counted by DuckDB."""
    ages = {"kind": "numerical", "bounds": [18, 99], "grid": {"step": step}}
    mapping = repartition(small_mapping(**{"attributes.age": ages, "records.expected": records}), "horizontal")
    agreement = agreement_from_mapping(mapping)
    counting = Work(counted=work_of(agreement, top(agreement), records).counted)
    found = cost_of(counting, by=COSTS)
    assert found.cpu_seconds == pytest.approx(core_seconds, rel=0.3)
    assert found.cpu_seconds / 2 < found.seconds < found.cpu_seconds
    vertical = agreement_from_mapping(small_mapping())
    assert work_of(vertical, top(vertical), records).counted == 0


def test_a_hundred_million_rows_took_what_is_predicted_within_three_tenths():
    """What the benchmark printed last, by DuckDB and by Spark."""
    rows = json.loads((RESULTS / "where_they_lie.json").read_text())["tables"]["counted"]["rows"]
    assert {(row["counted by"], row["rows"]) for row in rows} == {("duckdb", 10**8), ("spark", 10**8)}
    for row in rows:
        assert row["same bytes"] and row["MiB, owner's process"] < 500
        assert row["seconds"] == pytest.approx(row["predicted on quiet cores, s"], rel=0.3)
