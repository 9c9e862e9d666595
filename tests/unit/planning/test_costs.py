"""The cost model against runs that were measured, and its shapes against the engine's own."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from copublish.agreement.domain import describe_domain
from copublish.agreement.loading import agreement_from_mapping
from copublish.engine.programs.packing import Packing
from copublish.engine.spu.products import PRODUCT_ROWS, most_records, padded_records
from copublish.mechanisms.shared.generalization import (
    Generalization,
    GeneralizedAttribute,
    GeneralizedClass,
    GeneralizedValue,
)
from copublish.mechanisms.specialization.costs import _padded_records, _table, work_of
from copublish.planning.costs import predict
from secure_release import SCALING_AGREEMENT
from support import repartition, small_mapping

SCALING = agreement_from_mapping(SCALING_AGREEMENT)


def cut_of(*sizes, agreement=SCALING):
    """A cut with so many values of every attribute; which codes they stand for does not matter."""
    return Generalization(
        class_=GeneralizedClass(name=agreement.class_.name, values=agreement.class_.values),
        missing_spellings=(),
        attributes={
            name: GeneralizedAttribute(
                domain=describe_domain(domain),
                values=tuple(GeneralizedValue(label=str(i), codes=(i, i + 1)) for i in range(size)),
            )
            for (name, domain), size in zip(agreement.domains.items(), sizes, strict=True)
        },
    )


def top(agreement):
    """The cut that splits nothing."""
    return cut_of(*[1] * len(agreement.domains), agreement=agreement)


def predicted(sizes, records):
    return predict(SCALING, work_of(SCALING, cut_of(*sizes), records))


@pytest.mark.parametrize(
    ("records", "seconds", "mib"), [(100_000, 15, 41), (500_000, 26, 94)], ids=["100 thousand", "500 thousand"]
)
def test_measured_runs_are_predicted_within_a_fifth(records, seconds, mib):
    found = predicted((4, 2, 2, 2, 2, 2), records)
    assert found["seconds"] == pytest.approx(seconds, rel=0.2)
    assert found["mib_sent"] == pytest.approx(mib, rel=0.1)


def test_more_of_anything_costs_more():
    small = predicted((2, 2, 2, 2, 2, 2), 10_000)
    for more in (predicted((2, 2, 2, 2, 2, 2), 100_000), predicted((4, 4, 2, 2, 2, 2), 10_000)):
        assert more["mib_sent"] > small["mib_sent"]
        assert more["seconds"] > small["seconds"]


def test_biased_bits_are_those_of_all_noise():
    """8 selections among 294 candidates with scale 20, and 192 counts with scale 5/3: 64 coins make up a word."""
    bits = {scale: math.ceil(math.log2(64 * math.log(2) * scale)) for scale in (20, 5 / 3)}
    expected = 8 * 320 * bits[20] + 384 * bits[5 / 3]
    assert work_of(SCALING, cut_of(3, 2, 2, 2, 2, 2), 1000).biased_bits * 1e3 == expected


@pytest.mark.parametrize("n", [1, 2047, 2048, 40_000, 65_536, 70_000, 500_000])
@pytest.mark.parametrize("elements", [8, 4000])
def test_records_are_padded_as_the_engine_pads_them(n, elements):
    step = most_records(2 * Packing(elements).elements)
    chunks = [min(step, n - start) for start in range(0, n, step)]
    assert _padded_records(n, 2 * elements) == sum(padded_records(chunk) for chunk in chunks)
    assert PRODUCT_ROWS[0] <= step <= PRODUCT_ROWS[-1]


@pytest.mark.parametrize("partition", ["vertical", "arbitrary"])
def test_rows_and_columns_make_up_the_whole_table(partition):
    agreement = agreement_from_mapping(repartition(small_mapping(), partition))
    sizes = {"job": 2, "region": 3, "age": 4, "income": 1}
    rows, row = _table(agreement, sizes, 2)
    assert rows * row == 2 * 3 * 4 * 2
    if partition == "vertical":  # p1 holds region and income, and the class goes with the last party
        assert (rows, row) == (2 * 4, 3 * 2)


def test_without_a_join_nothing_is_multiplied():
    horizontal = agreement_from_mapping(repartition(small_mapping(), "horizontal"))
    assert work_of(horizontal, top(horizontal), 1000).products == 0
    vertical = agreement_from_mapping(small_mapping())
    assert work_of(vertical, top(vertical), 1000).products == 0
    split = cut_of(*[2] * len(vertical.domains), agreement=vertical)
    assert work_of(vertical, split, 1000).products == 1  # so that the checks above can fail


def test_more_than_two_parties_have_no_secure_run_yet():
    agreement = agreement_from_mapping(repartition(small_mapping(), "horizontal", parties=3))
    assert predict(agreement, work_of(agreement, top(agreement), 1000))["seconds"] is None


@pytest.mark.parametrize(
    ("records", "step", "core_seconds"), [(100_000_000, 10, 26.8), (10_000_000, 10, 2.7), (10_000_000, 1, 4.55)]
)
def test_counting_rows_where_they_lie_is_predicted_within_three_tenths(records, step, core_seconds):
    """Measured: a Parquet file of two categories, two numbers and a class, counted by DuckDB on two cores."""
    attributes = {**small_mapping()["attributes"], "age": {"kind": "numerical", "bounds": [18, 99]}}
    attributes["age"]["grid"] = {"step": step}
    mapping = repartition(small_mapping(attributes=attributes), "horizontal")
    agreement = agreement_from_mapping({**mapping, "records": {"expected": records}})
    counting = replace(work_of(agreement, top(agreement), records), starts=0, rounds=0, biased_bits=0)
    assert predict(agreement, counting)["seconds"] == pytest.approx(core_seconds / 2, rel=0.3)
    assert work_of(agreement_from_mapping(small_mapping()), top(agreement), 0).counted == 0
