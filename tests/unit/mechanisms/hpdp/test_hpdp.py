"""What one person can change, how records become points, what noise does to the model, and what is refused.

Sensitivities are checked by every pair of small records, by random search, and by a witness that attains the one for
add/remove; sums against a naive loop.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import copublish as cp
from copublish.agreement.domain import CategoricalDomain, Domain, NumericalDomain, flat_taxonomy
from copublish.agreement.protocol.shapes import MAX_RECORDS
from copublish.errors import AgreementError
from copublish.kernel.accounting.disclosures import NEIGHBORS
from copublish.kernel.programs.noise import measurement_fits
from copublish.mechanisms.hpdp import coordinates as moments
from copublish.mechanisms.hpdp.coordinates import CLASS_WEIGHT, UNIT, Coordinates, quantized
from copublish.mechanisms.hpdp.plan import HpdpPlan
from copublish.mechanisms.hpdp.run import local_sums
from copublish.mechanisms.hpdp.settings import MAX_COORDINATES, MIN_EPSILON
from copublish.mechanisms.published import Cells, Measured
from copublish.mechanisms.registry import plan_of
from copublish.party.local.simulation import read_fragments
from copublish.release.render.parts import deviation_in_people
from support import fragment_frames, no_noise, random_table, repartition, seeded, simulate_with, small_mapping


def category(name: str, size: int) -> CategoricalDomain:
    return CategoricalDomain(name, flat_taxonomy(tuple(f"v{i}" for i in range(size))))


def number(name: str, missing: bool = False) -> NumericalDomain:
    return NumericalDomain(name, lower=Decimal(0), upper=Decimal(100), thresholds=(Decimal(50),), missing=missing)


def coordinates_with(numbers: int, groups: tuple[int, ...], classes: int = 2, *, missing: bool = False) -> Coordinates:
    columns: dict[str, Domain] = {f"n{i}": number(f"n{i}", missing) for i in range(numbers)}
    columns |= {f"g{i}": category(f"g{i}", size) for i, size in enumerate(groups)}
    return Coordinates(columns | {"c": category("c", classes)})


def sums_of(coordinates: Coordinates, point: np.ndarray, weight: int, *, with_total: bool) -> list[Fraction]:
    """Everything one record adds, by a naive loop over all i <= j, zeros within groups included.

    What the class is in counts `weight` times, but for the square of a class of two values. So do counts, which are
    squares of groups and cells and sums of two values. Cells are multiplied with themselves and the class alone.
    """
    values = [Fraction(int(x), UNIT) for x in point]
    cells = range(coordinates.n_linked, coordinates.size)
    numbers = [i for name, i in coordinates.centered.items() if name.startswith("n")]
    in_class = [
        i in range(*slice_.indices(coordinates.size))
        for slice_ in [coordinates.groups.get("c") or slice(coordinates.centered["c"], coordinates.centered["c"] + 1)]
        for i in range(coordinates.size)
    ]
    found = []
    for i in range(len(values)):
        for j in range(i, len(values)):
            is_plain_square = i == j and "c" in coordinates.centered
            is_weighted = (in_class[i] or in_class[j]) and not is_plain_square
            is_count = i == j and i >= coordinates.n_centered
            is_left_out = j in cells and i != j and not in_class[i]
            found.append(0 if is_left_out else values[i] * values[j] * (weight if is_weighted or is_count else 1))
    sums = [
        value * (weight if in_class[i] or i not in numbers else 1)
        for i, value in enumerate(values[: coordinates.n_centered])
    ]
    return [*found, *sums, *([Fraction(1)] if with_total else [])]


def moved(one: list[Fraction], other: list[Fraction]) -> tuple[Fraction, Fraction]:
    """L1 and squared L2 distance, in the units of the sensitivities."""
    differences = [x - y for x, y in zip(one, other, strict=True)]
    return sum(map(abs, differences)) * UNIT**2, sum(d * d for d in differences) * UNIT**4


def every_point(coordinates: Coordinates, steps: tuple[int, ...]) -> list[np.ndarray]:
    """All records whose numbers are among some steps; the class of two values is one of the two."""
    groups = [range(place.start, place.stop) for place in coordinates.groups.values()]
    groups += [range(place.start, place.stop) for place in coordinates.cells.values()]
    centered_class = coordinates.centered.get("c")
    found = []
    for centered in itertools.product(
        *(HALVES if i == centered_class else steps for i in range(coordinates.n_centered))
    ):
        for ones in itertools.product(*groups):
            point = np.zeros(coordinates.size, dtype=np.int64)
            point[: coordinates.n_centered] = centered
            point[list(ones)] = UNIT
            found.append(point)
    return found


HALVES = (-UNIT // 2, UNIT // 2)
LEAST_TIGHT = 0.7
"""Of a bound for replace: what two of the records move, at least."""


@pytest.fixture(params=[1, 3])
def weight(request, monkeypatch) -> int:
    """The formulas hold for any weight, whichever is in use."""
    monkeypatch.setattr(moments, "CLASS_WEIGHT", request.param)
    return request.param


@pytest.mark.parametrize("numbers, groups", [(1, ()), (3, ()), (0, (3,)), (2, (3,)), (1, (3, 4)), (0, (3, 3, 3))])
@pytest.mark.parametrize("classes", [2, 3])
def test_no_two_small_records_exceed_the_sensitivities_and_add_remove_is_attained(numbers, groups, classes, weight):
    """For groups alone the bound for replace is attained as well: a smaller one would be too small.

    Any place of a number is combined with any of its cells, which allows more than a grid does.
    """
    coordinates = coordinates_with(numbers, groups, classes, missing=numbers == 1)
    points = every_point(coordinates, (-UNIT // 2, 0, UNIT // 2) if numbers < 3 else HALVES)
    # Numerators over UNIT^2, which is exact in whole numbers of any size.
    all_sums = np.array(
        [[int(x * UNIT**2) for x in sums_of(coordinates, point, weight, with_total=True)] for point in points]
    ).astype(object)
    for public in (False, True):
        l1 = coordinates.l1_sensitivity(total_is_public=public)
        l2 = coordinates.squared_l2_sensitivity(total_is_public=public)
        alone = all_sums[:, :-1] if public else all_sums
        assert np.abs(alone).sum(axis=1).max() == l1["add-remove"]
        assert (alone * alone).sum(axis=1).max() == l2["add-remove"]
    moved_l1, moved_l2 = 0, 0
    for number, one in enumerate(all_sums.astype(np.int64)):
        changes = all_sums[number + 1 :].astype(np.int64) - one
        moved_l1 = max(moved_l1, int(np.abs(changes).sum(axis=1).max(initial=0)))
        moved_l2 = max(moved_l2, int((changes.astype(object) ** 2).sum(axis=1).max(initial=0)))
    assert l1["replace"] * LEAST_TIGHT < moved_l1 <= l1["replace"]
    assert l2["replace"] * LEAST_TIGHT < moved_l2 <= l2["replace"]
    assert numbers > 0 or moved_l1 == l1["replace"]
    without = coordinates_with(numbers, groups, classes, missing=numbers == 1)
    without.__dict__["cells"] = {}  # the check can fail: what is right without cells is too little with them
    assert (moved_l1 > without.l1_sensitivity(total_is_public=True)["replace"]) == (numbers > 0)
    assert (moved_l2 > without.squared_l2_sensitivity(total_is_public=True)["replace"]) == (numbers > 0)


NUMBER = {"kind": "numerical", "bounds": [0, 3], "grid": {"edges": [1]}}
SMALL_SCHEMAS = [
    ({"a": NUMBER | {"missing": "category"}, "b": {"kind": "categorical", "values": ["u", "v"]}}, ["n", "y"]),
    ({"a": {"kind": "categorical", "values": ["u", "v"], "missing": "category"}, "b": NUMBER}, ["n", "y", "m"]),
    ({"a": NUMBER, "b": {"kind": "categorical", "values": ["u"], "missing": "category"}}, ["n", "y", "m"]),
    ({"a": NUMBER | {"missing": "category"}, "b": {"kind": "categorical", "values": ["u", "v", "w"]}}, ["n", "y", "m"]),
]


@pytest.mark.parametrize("attributes, classes", SMALL_SCHEMAS)
@pytest.mark.parametrize("public", [False, True])
def test_every_record_a_schema_allows_stays_within_the_sensitivities_as_owners_sum_it(
    attributes, classes, public, weight
):
    """Missing values, two-valued categories and the class go through reading and summing; all pairs are compared."""
    mapping = hpdp_mapping(
        attributes=attributes,
        **{"class": {"name": "c", "values": classes}, "records.identifier": None},
    )
    agreement = cp.agreement_from_mapping(mapping)
    values = [
        [*map(str, range(4)), *(["?"] if attribute.get("missing") else [])]
        if attribute["kind"] == "numerical"
        else [*attribute["values"], *(["?"] if attribute.get("missing") else [])]
        for attribute in attributes.values()
    ]
    records = pd.DataFrame(list(itertools.product(*values, classes)), columns=[*attributes, "c"])
    whole = read_fragments(agreement, {"p0": records, "p1": records.iloc[:0]})["p0"]
    coordinates = Coordinates(agreement.columns)
    sums = np.array(
        [
            local_sums(coordinates, whole.take(np.array([row])), total_is_public=public).ravel()
            for row in range(len(records))
        ]
    ).astype(object)  # whole numbers of any size
    l1, l2 = (f(total_is_public=public) for f in (coordinates.l1_sensitivity, coordinates.squared_l2_sensitivity))
    assert np.abs(sums).sum(axis=1).max() == l1["add-remove"]
    assert (sums * sums).sum(axis=1).max() == l2["add-remove"]
    assert np.abs(sums).max() <= UNIT**2 * weight  # which is what the engine makes room for
    replaced = [other - one for one in sums for other in sums]
    assert l1["replace"] * LEAST_TIGHT < max(np.abs(change).sum() for change in replaced) <= l1["replace"]
    assert l2["replace"] * LEAST_TIGHT < max((change * change).sum() for change in replaced) <= l2["replace"]


@pytest.mark.slow
def test_random_records_of_adults_shape_stay_within_and_the_printed_number_comes_out():
    coordinates = coordinates_with(8, (7, 7, 14, 6, 5))
    assert coordinates.n_linked == 48
    l1, l2 = (
        coordinates.l1_sensitivity(total_is_public=False),
        coordinates.squared_l2_sensitivity(total_is_public=False),
    )
    counts = (CLASS_WEIGHT - 1) * 5 + 8 * CLASS_WEIGHT * 1.5  # of values, and of cells in all and by class
    assert l1["add-remove"] == (49.25 + 5 * CLASS_WEIGHT + counts) * UNIT**2
    generator = np.random.default_rng(1)
    largest_l1 = largest_l2 = Fraction(0)
    for _ in range(60):
        points = np.zeros((2, coordinates.size), dtype=np.int64)
        points[:, :9] = generator.choice([-UNIT // 2, UNIT // 2], size=(2, 9))
        if generator.random() < 0.3:
            points[:, :8] = generator.integers(-UNIT // 2, UNIT // 2 + 1, size=(2, 8))
        for place in (*coordinates.groups.values(), *coordinates.cells.values()):
            points[range(2), generator.choice(np.arange(place.start, place.stop), 2, replace=False)] = UNIT
        one, other = (sums_of(coordinates, point, CLASS_WEIGHT, with_total=True) for point in points)
        x, y = moved(one, other)
        largest_l1, largest_l2 = max(largest_l1, x), max(largest_l2, y)
    assert l1["replace"] * Fraction(1, 2) < largest_l1 <= l1["replace"]
    assert l2["replace"] * Fraction(1, 2) < largest_l2 <= l2["replace"]


def test_without_weight_and_groups_the_sensitivities_are_those_of_any_coordinates(monkeypatch):
    """p (p + 1) / 8 for products under both relations, and sums of coordinates; a class of two values saves some."""
    monkeypatch.setattr(moments, "CLASS_WEIGHT", 1)
    for p in (2, 5, 8):
        l1 = coordinates_with(0, (2,) * (p - 1)).l1_sensitivity(total_is_public=True)
        assert Fraction(l1["add-remove"], UNIT**2) == Fraction(p * (p + 1), 8) + Fraction(p, 2)
        assert Fraction(l1["replace"], UNIT**2) <= Fraction(p * (p + 1), 8) + p


def test_quantizing_rounds_to_the_nearest_and_keeps_the_bounds():
    for most in (1, 3, 81, 256, 10**12):
        steps = np.unique(np.linspace(0, most, 50).astype(np.int64))
        for step, found in zip(steps.tolist(), quantized(steps, most).tolist(), strict=True):
            exact = (Fraction(step, most) - Fraction(1, 2)) * UNIT
            assert abs(found - exact) <= Fraction(1, 2) and -UNIT // 2 <= found <= UNIT // 2


def hpdp_mapping(**changes: object) -> dict[str, object]:
    mapping = repartition(small_mapping(**{"mechanism": {"name": "hpdp"}, **changes}), "horizontal")
    return mapping | {"partition": changes.get("partition", "horizontal")}


def test_owners_sums_are_those_of_a_naive_loop_over_records_missing_numbers_included():
    mapping = hpdp_mapping()
    mapping["attributes"]["age"]["missing"] = "category"
    agreement = cp.agreement_from_mapping(mapping)
    generator = np.random.default_rng(2)
    table = random_table(agreement, 40, generator)
    table["age"] = table["age"].astype(float).where(generator.random(40) < 0.7)
    frames = fragment_frames(agreement, table, generator)
    coordinates = Coordinates(agreement.columns)
    assert coordinates.n_centered == 3 and coordinates.n_linked == 3 + 5 + 3 and coordinates.size == 11 + 10 + 4
    expected = np.zeros((coordinates.size, coordinates.size))
    for row in table.itertuples():
        point = np.zeros(coordinates.size)
        if pd.notna(row.age):
            cell = sum(row.age >= edge for edge in range(28, 99, 10))  # of 9
            point[0] = np.floor(cell / 8 * UNIT + 0.5) - UNIT / 2
        point[11 + (9 if pd.isna(row.age) else cell)] = UNIT
        cell = sum(row.income >= edge for edge in (1, 10, 50))  # of 4
        point[1] = np.floor(cell / 3 * UNIT + 0.5) - UNIT / 2
        point[21 + cell] = UNIT
        point[2] = (1 if row.default == "yes" else -1) * UNIT / 2
        point[3 + ["cook", "clerk", "driver", "surgeon", "vet"].index(row.job)] = UNIT
        point[8 + ["north", "south", "east"].index(row.region)] = UNIT
        expected += np.outer(point, point)
    fragments = read_fragments(agreement, frames)
    found = sum(local_sums(coordinates, fragment, total_is_public=False) for fragment in fragments.values()).ravel()
    first, second = coordinates.pairs
    for place in range(3, coordinates.size):
        expected[place, place] *= CLASS_WEIGHT  # counts of values and cells
    expected[2], expected[:, 2] = (CLASS_WEIGHT * part for part in (expected[2].copy(), expected[:, 2].copy()))
    expected[2, 2] = 40 * (UNIT / 2) ** 2
    assert np.array_equal(found[: len(first)], expected[first, second])
    difference = (table["default"] == "yes").sum() - (table["default"] == "no").sum()
    assert found[len(first) + 2] == CLASS_WEIGHT * difference * UNIT**2 / 2
    assert found[-1] == 40 * UNIT**2
    release = simulate_with(agreement, frames, seeded(agreement.party_names, 1))
    assert release.to_pandas()["age"].isna().any()


def test_without_noise_marginals_and_correlations_are_kept():
    """Statistical: 20,000 synthetic records; a share is off by 5 standard errors in less than 1 of 10^6 cases."""
    agreement = cp.agreement_from_mapping(hpdp_mapping(**{"mechanism.records": 20_000}))
    generator = np.random.default_rng(5)
    table = random_table(agreement, 4000, generator)
    release = simulate_with(agreement, fragment_frames(agreement, table, generator), no_noise(agreement.party_names))
    drawn = release.to_pandas()
    assert len(drawn) == 20_000
    error = 5 * np.sqrt(0.25 / 20_000)
    for name in ("job", "region", "default"):
        for value, share in table[name].value_counts(normalize=True).items():
            assert abs((drawn[name] == value).mean() - share) < error + 0.01
    for name in ("age", "income"):
        assert abs(drawn[name].mean() - table[name].mean()) < 0.1 * table[name].std()
        by_class, real = (frame.groupby("default", observed=True)[name].mean() for frame in (drawn, table))
        assert abs((by_class["yes"] - by_class["no"]) - (real["yes"] - real["no"])) < 0.15 * table[name].std()
    for value in ("cook", "vet"):  # a category that goes with the class
        rates = [(frame.loc[frame["default"] == "yes", "job"] == value).mean() for frame in (drawn, table)]
        assert abs(rates[0] - rates[1]) < 0.03
    shuffled = drawn.assign(default=generator.permutation(drawn["default"].to_numpy()))
    rates = [(frame.loc[frame["default"] == "yes", "job"] == "cook").mean() for frame in (shuffled, table)]
    assert abs(rates[0] - rates[1]) > 0.03  # the check can fail


BILL = {"kind": "numerical", "bounds": [-200_000, 1_000_000], "grid": {"round": 20}, "decimals": 0}


def bills(size: int, generator: np.random.Generator) -> pd.DataFrame:
    """Heavy-tailed bills of two months that follow each other, payments that are 0 for half, a class that pays less."""
    level = generator.standard_normal(size)
    late = np.where(generator.random(size) < 0.2, "yes", "no")
    paid = np.where(generator.random(size) < 0.5, 0, np.where(late == "yes", 3000, 9000) * generator.random(size))
    months = [30_000 * np.exp(level + 0.1 * generator.standard_normal(size)) for _ in range(2)]
    return pd.DataFrame({"first": months[0].round(), "second": months[1].round(), "paid": paid.round(), "late": late})


def bills_mapping(attributes: dict[str, object]) -> dict[str, object]:
    label = {"name": "late", "values": ["no", "yes"]}
    return hpdp_mapping(attributes=attributes, **{"class": label, "records.identifier": None})


def test_by_their_grids_numbers_keep_their_shape_by_class_and_go_together():
    """Statistical: 6,000 records and no noise; a share is off by 5 standard errors in less than 1 of 10^6 cases."""
    mapping = bills_mapping({"first": BILL, "second": BILL, "paid": BILL})
    mapping["privacy"]["epsilon"] = "10"  # covariances are shrunk by the stated noise, not by what was drawn
    table = bills(6000, np.random.default_rng(3))
    frames = {"p0": table.iloc[:2000], "p1": table.iloc[2000:]}
    release = simulate_with(cp.agreement_from_mapping(mapping), frames, no_noise(("p0", "p1")))
    drawn = release.to_pandas()

    def off(records: pd.DataFrame) -> float:
        small = (records["paid"] < 4000).groupby(records["late"]).mean()
        return float((small - (table["paid"] < 4000).groupby(table["late"]).mean()).abs().max())

    normal = np.random.default_rng(4).normal(table["paid"].mean(), table["paid"].std(), len(table))
    assert off(drawn) < 5 * np.sqrt(0.25 / 1200) < off(table.assign(paid=normal))  # the check can fail
    assert drawn[["first", "second"]].corr("spearman").iloc[0, 1] > 0.8
    assert (drawn["first"] % 1 == 0).all()


def test_the_model_tells_how_numbers_are_spread_and_missing_ones_stay_apart():
    mapping = bills_mapping({"paid": BILL | {"missing": "category"}})
    agreement = cp.agreement_from_mapping(mapping)
    table = bills(3000, np.random.default_rng(4))[["paid", "late"]]
    table["paid"] = table["paid"].where(np.arange(3000) % 4 > 0)
    release = simulate_with(agreement, {"p0": table, "p1": table.iloc[:0]}, no_noise(agreement.party_names))
    spread, present = release.published.model.spreads["paid"], table["paid"].dropna()
    cells, missing = np.sum(spread.by_class, axis=0), sum(spread.missing)
    assert abs(missing / (missing + cells.sum()) - 0.25) < 0.001
    assert abs(release.to_pandas()["paid"].isna().mean() - 0.25) < 0.04
    edges = [-np.inf, *map(float, agreement.domains["paid"].thresholds), np.inf]
    assert np.allclose(cells / cells.sum(), np.histogram(present, edges)[0] / len(present), atol=0.002)
    assert abs(release.mean("paid").value - present.mean()) < 0.05 * present.std()


def test_sums_that_the_class_is_in_have_less_noise_by_its_weight_and_measurements_say_which():
    """Statistical: squares of n draws of Laplace noise have mean 2 b^2 and deviation sqrt(20 / n) b^2; at most 5."""
    attributes = {f"n{i}": NUMBER for i in range(24)}
    for classes in (["n", "y"], ["n", "y", "m"]):
        mapping = hpdp_mapping(attributes=attributes, **{"class": {"name": "c", "values": classes}})
        agreement = cp.agreement_from_mapping(mapping)
        nobody = random_table(agreement, 1, np.random.default_rng(8)).iloc[:0]  # so that noise is all there is
        release = simulate_with(agreement, {"p0": nobody, "p1": nobody}, seeded(agreement.party_names, 3))
        pairs = [own for own in release.published.measured if len(own.columns) == 2]
        for members, times_less in (
            ([own for own in pairs if "c" in own.columns], CLASS_WEIGHT),
            ([own for own in pairs if "c" not in own.columns], 1),
        ):
            assert {own.times // unit_of(own) for own in members} == {times_less}
            in_people = np.concatenate([own.values * unit_of(own) / own.times for own in members]) / UNIT**2
            expected = (release.published.model.noise_deviation / times_less) ** 2
            assert abs((in_people**2).mean() / expected - 1) < 5 * np.sqrt(5 / len(in_people)) < CLASS_WEIGHT**2 - 1
            told = {deviation_in_people(own) * unit_of(own) / UNIT**2 for own in members}
            assert max(told) == pytest.approx(min(told)) == pytest.approx(np.sqrt(expected))


def unit_of(measured: Measured) -> int:
    """The factor of a sum for the axes that count people: coordinates are parts of 1/UNIT, and cells are whole."""
    return UNIT ** sum(isinstance(axis, Cells) for axis in measured.axes)


def test_it_makes_no_difference_how_records_are_spread_over_owners():
    released = []
    for parties in (2, 5):
        agreement = cp.agreement_from_mapping(repartition(hpdp_mapping(), "horizontal", parties))
        table = random_table(agreement, 500, np.random.default_rng(8))
        by = table["region"].map({"north": 0, "south": 1, "east": parties - 1}) if parties == 2 else table.index % 5
        frames = {f"p{i}": table[by == i] for i in range(parties)}
        release = simulate_with(agreement, frames, no_noise(agreement.party_names))
        sums = [(own.axes, own.values.tolist()) for own in release.published.measured]
        released.append((sums, replace(release.published.model, key="")))
        records = release.records
    assert released[0] == released[1]
    assert records.num_rows == 500


def test_an_owner_without_records_is_no_problem():
    agreement = cp.agreement_from_mapping(hpdp_mapping())
    table = random_table(agreement, 200, np.random.default_rng(8))
    release = simulate_with(agreement, {"p0": table, "p1": table.iloc[:0]}, seeded(agreement.party_names, 3))
    assert release.sizes["columns"] == 5
    nobody = simulate_with(agreement, {"p0": table.iloc[:0], "p1": table.iloc[:0]}, seeded(agreement.party_names, 3))
    assert set(nobody.to_pandas()["region"].unique()) <= {"north", "south", "east"}


@pytest.mark.parametrize("other", [{"kind": "categorical", "values": ["u", "v", "w"]}, NUMBER])
def test_a_column_may_have_the_name_of_anything(other):
    """One that was called like the mark of missing numbers took its place, and no number was missing any more."""
    attributes = {"age": NUMBER | {"missing": "category"}, "missing age": other, "category age": other}
    agreement = cp.agreement_from_mapping(hpdp_mapping(attributes=attributes))
    table = random_table(agreement, 400, np.random.default_rng(8)).assign(age=[np.nan, 1.0] * 200)
    frames = {"p0": table.iloc[:100], "p1": table.iloc[100:]}
    drawn = simulate_with(agreement, frames, no_noise(agreement.party_names)).to_pandas()
    assert 0.3 < drawn["age"].isna().mean() < 0.7
    assert not drawn[["missing age", "category age"]].isna().any(axis=None)
    assert (drawn["missing age"] != drawn["category age"]).any()


def test_an_estimate_that_noise_made_huge_does_not_make_as_many_records():
    plan = HpdpPlan.of(cp.agreement_from_mapping(hpdp_mapping()))
    assert [plan.records_to_draw(n) for n in (1, 10**7, 10**9)] == [1, 10**7, 10**7]
    many = HpdpPlan.of(cp.agreement_from_mapping(hpdp_mapping(**{"records.expected": 10**8})))
    assert many.records_to_draw(10**8 + 1) == 10**8 + 1
    agreed = HpdpPlan.of(cp.agreement_from_mapping(hpdp_mapping(**{"mechanism.records": 5})))
    assert agreed.records_to_draw(10**9) == 5


def test_a_class_with_many_values_is_a_group():
    mapping = hpdp_mapping()
    mapping["class"]["values"] = ["no", "yes", "maybe"]
    agreement = cp.agreement_from_mapping(mapping)
    table = random_table(agreement, 3000, np.random.default_rng(8))
    frames = {"p0": table.iloc[::2], "p1": table.iloc[1::2]}
    drawn = simulate_with(agreement, frames, no_noise(agreement.party_names)).to_pandas()
    assert drawn["default"].value_counts().to_dict() == {"no": 1000, "yes": 1000, "maybe": 1000}
    means, real = (frame.groupby("default", observed=True)["age"].mean() for frame in (drawn, table))
    assert abs((means["maybe"] - means["no"]) - (real["maybe"] - real["no"])) < 4


def test_a_public_number_of_records_is_not_measured_and_is_what_comes_out():
    mapping = hpdp_mapping(**{"records.public": True, "privacy.neighbors": "replace"})
    agreement = cp.agreement_from_mapping(mapping)
    table = random_table(agreement, 300, np.random.default_rng(8))
    release = simulate_with(
        agreement, {"p0": table.iloc[:100], "p1": table.iloc[100:]}, seeded(agreement.party_names, 3)
    )
    assert release.records.num_rows == 300 and all(own.axes for own in release.published.measured)


@pytest.mark.parametrize("size", [3, MAX_COORDINATES])
def test_the_noise_of_the_smallest_epsilon_fits_the_engine(size):
    coordinates = coordinates_with(0, (2,) * (size - 1))
    rate = MIN_EPSILON / coordinates.l1_sensitivity(total_is_public=False)["replace"]
    bits = int(np.ceil(np.log2(64 * np.log(2) / float(rate))))
    largest = MAX_RECORDS * UNIT**2 * CLASS_WEIGHT
    assert measurement_fits(coordinates.n_sums(total_is_public=False), largest, bits)


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"privacy.delta": "1e-6"}, "only Gaussian noise needs it"),
        ({"mechanism.noise": "gaussian"}, "needs one"),
        ({"mechanism.noise": "gaussian", "privacy.delta": "0.5"}, "from 1e-12 to 1e-3"),
        (
            {"mechanism.noise": "gaussian", "privacy.delta": "1e-6", "engine": {"name": "masked-sum"}},
            "only add shares of Laplace",
        ),
        ({"privacy.epsilon": "0.0001"}, "at least 0.001"),
        ({"partition": "arbitrary"}, "owners of whole rows"),
        ({"mechanism.dependence_share": "0.5"}, "means nothing to the mechanism 'hpdp'"),
        ({"attributes.job": {"kind": "categorical", "values": [f"v{i}" for i in range(300)]}}, "GiB"),
        ({"attributes.job": {"kind": "categorical", "values": ["one"]}}, "one value alone"),
        (
            {"attributes.age": {"kind": "numerical", "bounds": ["1e22", "1.1e22"], "grid": {"count": 2}}},
            "more digits than numbers are read with",
        ),
    ],
)
def test_agreements_that_cannot_work_are_refused_in_words(changes, words):
    with pytest.raises(AgreementError, match=words):
        cp.agreement_from_mapping(hpdp_mapping(**changes))


def test_noise_too_large_for_the_engine_is_refused_before_anything_is_spent(tmp_path):
    mapping = hpdp_mapping(**{"privacy.epsilon": "0.001", "privacy.delta": "1e-6", "mechanism.noise": "gaussian"})
    agreement = cp.agreement_from_mapping(mapping)
    with pytest.raises(AgreementError, match="there is no noise"):
        plan_of(agreement)


def test_a_value_outside_the_bounds_is_taken_as_the_bound():
    agreement = cp.agreement_from_mapping(hpdp_mapping())
    table = random_table(agreement, 100, np.random.default_rng(8))

    def release(age: int) -> dict[str, bytes]:
        frames = {"p0": table.iloc[:50].assign(age=age), "p1": table.iloc[50:]}
        return simulate_with(agreement, frames, seeded(agreement.party_names, 3)).files()

    upper = int(agreement.domains["age"].upper)
    assert release(upper + 101) == release(upper) != release(upper - 20)
    checked = cp.check(agreement, "p0", table.iloc[:50].assign(age=upper + 101), strict=True)
    assert "outside the agreed bounds" in checked.problems[0] and str(upper + 101) not in str(checked)


def test_gaussian_certificates_and_ledgers_state_delta():
    mapping = hpdp_mapping(**{"privacy.delta": "1e-6", "mechanism.noise": "gaussian"})
    agreement = cp.agreement_from_mapping(mapping)
    assert agreement.hash != cp.agreement_from_mapping(hpdp_mapping(**{"mechanism.noise": "laplace"})).hash
    plan = HpdpPlan.of(agreement)
    assert plan.cost().add_remove == 1 and plan.cost().delta == Fraction(1, 10**6)
    assert plan.moments.epsilon("replace") > 1
    table = random_table(agreement, 100, np.random.default_rng(8))
    release = simulate_with(agreement, {"p0": table.iloc[:50], "p1": table.iloc[50:]}, seeded(agreement.party_names, 3))
    certificate = release.certificate
    assert certificate.delta_bound == "1.0e-06"
    assert "as agreed" in certificate.delta_is
    assert "Zero-concentrated" in certificate.deployment.dp_variant.variant_details
    assert certificate.disclosures[0].noise.law == "discrete Gaussian"
    assert certificate.disclosures[0].noise.times_less_where_weighted == CLASS_WEIGHT
    assert f"weighted by {CLASS_WEIGHT}" in certificate.disclosures[0].what
    within = certificate.disclosures[0].noise.within_95_percent
    for table in release.published.tables:  # counts of one column are weighted, those of two are not
        assert table.within_95_percent * (CLASS_WEIGHT if len(table.columns) == 1 else 1) == pytest.approx(within)
    readme = release.files()["README.md"].decode()
    assert all(f"is off by at most {error:.5g} people" in readme for error in (within, within / CLASS_WEIGHT))
    assert certificate.disclosures[0].rho.keys() == set(NEIGHBORS)
    assert "delta 1.0e-06" in certificate.protected[0]
    assert any("candidates" in seen for seen in certificate.views["p0"])


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_replacing_a_null_row_moves_no_more_than_replacing_a_record(classes):
    """A null row is the point 0, so replacing it is adding a record, total included."""
    number = NumericalDomain("n", lower=Decimal(0), upper=Decimal(1), thresholds=(Decimal("0.5"),))
    several = CategoricalDomain("g", flat_taxonomy(("a", "b", "c")))
    of_class = CategoricalDomain("class", flat_taxonomy(tuple("abcde"[:classes])))
    for a in range(12):
        for g in range(12):
            columns = {f"n{i}": number for i in range(a)} | {f"g{i}": several for i in range(g)}
            coordinates = Coordinates({**columns, "class": of_class})
            for of in (coordinates.l1_sensitivity, coordinates.squared_l2_sensitivity):
                assert of(total_is_public=False)["add-remove"] <= of(total_is_public=False)["replace"]
                assert of(total_is_public=True)["add-remove"] <= of(total_is_public=True)["replace"]
