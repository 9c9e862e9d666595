"""The copula mechanism: how far one person moves what it opens, and that what follows from it is right.

Sensitivities are checked by every pair of small score vectors, by random search, and by witnesses that attain them;
sums through the engine against a naive loop; the normal law against the standard library and SciPy.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest
from scipy.stats import multivariate_normal

import copublish as cp
from copublish.agreement.protocol.shapes import MAX_RECORDS
from copublish.engines.ideal import Room
from copublish.kernel.accounting.disclosures import NEIGHBORS, Divided
from copublish.kernel.programs.noise import measurement_fits
from copublish.kernel.records.joint_table import JointTable
from copublish.mechanisms.copula.model import (
    LOADING_SCALE,
    SCORE_LIMIT,
    correlation_for,
    fit_copula,
    hermite_coefficients,
    normal_scores,
)
from copublish.mechanisms.copula.plan import CopulaPlan, products_l1
from copublish.mechanisms.copula.records import draw_columns
from copublish.mechanisms.copula.run import estimated_total
from copublish.mechanisms.copula.run_products import joint_product_sums
from copublish.mechanisms.copula.settings import MAX_COLUMNS
from copublish.mechanisms.registry import plan_of
from copublish.mechanisms.shared.normal import REACH, STEPS, density, normal_steps, pairs_of, quantile, symmetric_eigen
from copublish.mechanisms.shared.number_cells import grid_in_units
from copublish.mechanisms.shared.post_processing import key_of
from copublish.party.local.simulation import read_fragments
from support import fragment_frames, no_noise, random_table, repartition, seeded, simulate_with, small_mapping


def copula_mapping(**changes: object) -> dict[str, object]:
    return small_mapping(mechanism={"name": "copula"}, **changes)


def moved(one: np.ndarray, other: np.ndarray) -> int:
    """L1 change of all sums of products when a record's scores go from one to the other; a naive loop over pairs."""
    pairs = itertools.combinations(range(len(one)), 2)
    return sum(abs(int(one[i]) * int(one[j]) - int(other[i]) * int(other[j])) for i, j in pairs)


@pytest.mark.parametrize("columns", [2, 3, 4])
def test_every_pair_of_small_score_vectors_stays_within_the_sensitivities_and_one_attains_them(columns):
    limit = 2
    vectors = np.array(list(itertools.product(range(-limit, limit + 1), repeat=columns)), dtype=np.int64)
    products = np.stack([vectors[:, i] * vectors[:, j] for i, j in pairs_of(columns)], axis=1)
    add_remove = int(np.abs(products).sum(axis=1).max())
    replace = max(int(np.abs(products - row).sum(axis=1).max()) for row in products)
    assert {"add-remove": add_remove, "replace": replace} == products_l1([limit] * columns)


@pytest.mark.parametrize("columns", [2, 3, 5, 7, 11, 12])
def test_random_scores_never_exceed_the_sensitivities_and_witnesses_attain_them(columns):
    generator, bound = np.random.default_rng(columns), products_l1([SCORE_LIMIT] * columns)
    for trial in range(300):
        one, other = (generator.integers(-SCORE_LIMIT, SCORE_LIMIT + 1, columns) for _ in range(2))
        if trial % 2:  # corners, where the largest changes are
            one, other = np.where(one > 0, SCORE_LIMIT, -SCORE_LIMIT), np.where(other > 0, SCORE_LIMIT, -SCORE_LIMIT)
        assert moved(one, other) <= bound["replace"]
        assert moved(one, np.zeros(columns)) <= bound["add-remove"]
    extreme = np.full(columns, SCORE_LIMIT)
    half_flipped = np.where(np.arange(columns) < columns // 2, -SCORE_LIMIT, SCORE_LIMIT)
    assert moved(extreme, half_flipped) == bound["replace"]
    assert moved(extreme, np.zeros(columns)) == bound["add-remove"]


def test_the_sensitivities_are_those_of_the_formulas():
    in_people = {relation: products_l1([SCORE_LIMIT] * 11)[relation] / SCORE_LIMIT**2 for relation in NEIGHBORS}
    assert in_people == {"add-remove": 55, "replace": 2 * 5 * 6}


@pytest.mark.slow
@pytest.mark.parametrize("relation", NEIGHBORS)
def test_neighbors_through_the_engine_stay_within_the_price(relation):
    """Every neighbor of a small table: all sums, from local codes to the secret, for any scores within the limit."""
    agreement = cp.agreement_from_mapping(repartition(copula_mapping(), "horizontal"))
    generator = np.random.default_rng(4)
    scores = {
        name: np.sort(generator.integers(-SCORE_LIMIT, SCORE_LIMIT + 1, domain.size))
        for name, domain in agreement.columns.items()
    }
    for own in scores.values():
        own[[0, -1]] = -SCORE_LIMIT, SCORE_LIMIT
    table = random_table(agreement, 6, generator)
    others = random_table(agreement, 40, generator)
    before = _sums(agreement, table, scores)
    largest = 0
    for row in range(len(others)):
        changed = table.copy()
        if relation == "replace":
            changed.loc[0, changed.columns != "id"] = others.iloc[row][changed.columns != "id"].to_numpy()
        else:
            changed.loc[len(changed)] = others.iloc[row].to_numpy()
            changed.loc[len(changed) - 1, "id"] = "new"
        largest = max(largest, int(np.abs(_sums(agreement, changed, scores) - before).sum()))
    assert 0 < largest <= products_l1([SCORE_LIMIT] * len(scores))[relation]


def _sums(agreement, table, scores) -> np.ndarray:
    fragments = read_fragments(agreement, fragment_frames(agreement, table, np.random.default_rng(0)))
    room = Room(agreement.party_names)

    def job(engine):
        fragment = fragments[engine.party]
        if agreement.partition != "horizontal":
            fragment = fragment.take(engine.align(fragment.identifiers))
        return joint_product_sums(JointTable(agreement, fragment), scores, engine)

    return room.run(job)[agreement.party_names[0]].secret._handle.ravel()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("partition", "parties", "holder"),
    [
        ("horizontal", 4, None),
        ("vertical", 2, None),
        ("vertical", 3, "p1"),
        ("arbitrary", 3, None),
        ("arbitrary", 2, "p0"),
    ],
)
def test_joint_sums_equal_a_naive_loop_over_joined_records(partition, parties, holder):
    mapping = repartition(copula_mapping(), partition, parties)
    if holder:
        mapping["class"]["held_by"] = holder
    agreement = cp.agreement_from_mapping(mapping)
    generator = np.random.default_rng(7)
    table = random_table(agreement, 150, generator)
    scores = {name: generator.integers(-64, 65, domain.size) for name, domain in agreement.columns.items()}
    one_party = cp.agreement_from_mapping(repartition(copula_mapping(), "horizontal"))
    whole = read_fragments(one_party, {"p0": table, "p1": table[:0]})["p0"]
    expected = [
        sum(
            int(scores[a][x]) * int(scores[b][y])
            for x, y in zip(*(whole.private_codes[c] for c in (a, b)), strict=True)
        )
        for a, b in itertools.combinations(scores, 2)
    ]
    assert _sums(agreement, table, scores).tolist() == expected


def test_the_budget_is_split_by_shares_and_adds_up_exactly():
    weights = {"job": 1, "region": 1, "age": 3, "income": 1, "default": "0.5"}
    mapping = small_mapping(
        mechanism={"name": "copula", "dependence_share": "0.3"},
        budget={"allocation": "weights", "weights": weights},
        **{"privacy.epsilon": "0.7"},
    )
    plan = CopulaPlan.of(cp.agreement_from_mapping(mapping))
    assert plan.epsilon_for_products == Fraction("0.21")
    budgets = plan.allocation.budgets(None)
    assert budgets["age"] == 3 * budgets["job"] == 6 * budgets["default"]
    assert plan.cost().add_remove == Fraction("0.7")
    assert sum(disclosure.epsilon("add-remove") for disclosure in plan.disclosures()) == Fraction("0.7")


@pytest.mark.parametrize("calibrated_to", NEIGHBORS)
def test_both_relations_are_priced_by_the_noise_that_is_drawn(calibrated_to):
    agreement = cp.agreement_from_mapping(copula_mapping(**{"privacy.neighbors": calibrated_to}))
    plan = plan_of(agreement)
    other = next(relation for relation in NEIGHBORS if relation != calibrated_to)
    columns, limits = plan.n_columns, [SCORE_LIMIT] * plan.n_columns
    products = plan.products(limits)
    assert plan.cost().under(calibrated_to) == agreement.epsilon
    ratio = Fraction(products_l1(limits)[other], products_l1(limits)[calibrated_to])
    marginal_ratio = Fraction(1, 2) if other == "add-remove" else Fraction(2)
    expected = ratio * plan.epsilon_for_products + marginal_ratio * plan.allocation.total
    assert plan.cost().under(other) == expected
    assert products.changed_entries[other] == columns * (columns - 1) // 2


def test_the_noise_of_any_agreement_that_is_accepted_fits_the_engines_integers():
    attributes = {
        f"a{number}": {"kind": "numerical", "bounds": [0, 200], "grid": {"count": 128}}
        for number in range(MAX_COLUMNS - 1)
    }
    weights = {**dict.fromkeys([*attributes, "default"], 1000), "a0": "0.001"}
    budgets = [{"allocation": "weights", "weights": weights}, {"allocation": "use-informative", "share": "0.01"}]
    for share, budget in itertools.product(("0.01", "0.99"), budgets):
        mapping = small_mapping(
            attributes=attributes,
            mechanism={"name": "copula", "dependence_share": share},
            budget=budget,
            privacy={"epsilon": "0.001", "neighbors": "replace"},
        )
        plan = CopulaPlan.of(cp.agreement_from_mapping(repartition(mapping, "horizontal")))
        opened = [part for d in plan.disclosures() for part in (d.parts[0] if isinstance(d, Divided) else [d])]
        for disclosure in opened:
            largest = MAX_RECORDS * disclosure.points_per_person
            assert measurement_fits(disclosure.entries, largest, disclosure.noise.bits)


def test_the_tables_of_the_normal_law_are_those_of_the_standard_library():
    normal = NormalDist()
    for numerator in (1, 7, 250, 499, 500, 501, 900, 999):
        assert abs(quantile(numerator, 1000) - STEPS * normal.inv_cdf(numerator / 1000)) <= 0.51
    assert quantile(0, 5) == -REACH and quantile(5, 5) == REACH
    for step in (-REACH, -700, 0, 3, 2000):
        assert density(step) == pytest.approx(normal.pdf(step / STEPS), rel=1e-14)
    words = np.arange(0, 2**32, 2**12, dtype=np.uint32)
    drawn = normal_steps(words) / STEPS
    assert abs(drawn.mean()) < 1e-3 and drawn.std() == pytest.approx(1, abs=1e-3)


def test_scores_rise_stay_within_the_limit_and_use_all_of_it():
    generator = np.random.default_rng(2)
    for _ in range(50):
        counts = generator.integers(0, 30, generator.integers(2, 20)) * generator.integers(0, 2)
        scores = normal_scores(counts)
        assert (np.diff(scores) >= 0).all()
        assert np.abs(scores).max(initial=0) <= SCORE_LIMIT
        if np.count_nonzero(counts) > 1:
            assert np.abs(scores[counts > 0]).max() == SCORE_LIMIT
    assert normal_scores(np.array([5, 5])).tolist() == [-64, 64]
    assert normal_scores(np.array([0, 9, 0])).tolist() == [0, 0, 0]
    assert normal_scores(np.zeros(3, dtype=np.int64)).tolist() == [0, 0, 0]


@pytest.mark.parametrize("r", [-0.8, 0.0, 0.3, 0.9])
def test_the_expected_product_of_scores_is_that_of_the_bivariate_normal(r):
    """Against SciPy's bivariate distribution function; then halving gives the correlation back."""
    one, other = np.array([40, 25, 20, 15]), np.array([70, 30])
    scores = [normal_scores(one), normal_scores(other)]
    edges = [_edges(one), _edges(other)]
    law = multivariate_normal(cov=[[1, r], [r, 1]])
    expected = 0.0
    for (i, s), (j, t) in itertools.product(enumerate(scores[0]), enumerate(scores[1])):
        (a, b), (c, d) = edges[0][i : i + 2], edges[1][j : j + 2]
        box = law.cdf([b, d]) - law.cdf([a, d]) - law.cdf([b, c]) + law.cdf([a, c])
        expected += s * t * box
    hermite = [hermite_coefficients(one, scores[0]), hermite_coefficients(other, scores[1])]
    series = sum(a * b * r**k for k, (a, b) in enumerate(zip(*hermite, strict=True)))
    assert series == pytest.approx(expected, abs=5)  # of 64 * 64; quantiles are rounded to 1/512
    assert correlation_for(*hermite, expected) == pytest.approx(r, abs=0.01)


def _edges(counts: np.ndarray) -> list[float]:
    shares = np.cumsum(counts)[:-1] / counts.sum()
    return [-9.0, *(NormalDist().inv_cdf(share) for share in shares), 9.0]


def test_eigenvalues_are_those_of_numpy():
    generator = np.random.default_rng(1)
    for size in (2, 5, 12):
        matrix = np.corrcoef(generator.normal(size=(size, 3 * size)))
        values, vectors = symmetric_eigen(matrix)
        assert sorted(values) == pytest.approx(np.linalg.eigvalsh(matrix), abs=1e-10)
        assert vectors @ np.diag(values) @ vectors.T == pytest.approx(matrix, abs=1e-10)


def test_sums_that_no_variables_have_still_give_a_correlation_matrix():
    counts = [np.array([50, 50])] * 3
    scores = [normal_scores(own) for own in counts]
    loadings = fit_copula(counts, scores, 100 * SCORE_LIMIT**2 * np.array([1, 1, -1])) / LOADING_SCALE
    correlations = loadings @ loadings.T
    assert np.diag(correlations) == pytest.approx([1, 1, 1], abs=1e-5)
    assert np.linalg.eigvalsh(correlations).min() > -1e-9
    # The three wanted ones, 1, 1 and -1, are of no variables; the nearest sign pattern keeps two of them.
    assert np.linalg.eigvalsh(np.array([[1, 1, 1], [1, 1, -1], [1, -1, 1]])).min() < -0.9


def test_drawn_columns_have_the_released_counts_and_the_wanted_correlation():
    counts = [np.full(50, 400), np.array([12_000, 0, 8_000])]
    r = 0.6
    loadings = np.array([[2**20, 0], [int(r * 2**20), int(math.sqrt(1 - r * r) * 2**20)]])
    (one, places), (other, _) = draw_columns(loadings, counts, b"key")
    assert np.bincount(one).tolist() == counts[0].tolist()
    assert np.bincount(other).tolist() == counts[1].tolist()
    assert sorted(places[one == 3]) == list(range(400))
    normals = np.array([NormalDist().inv_cdf((cell + 0.5) / 50) for cell in one])
    # Biserial: E[Z; upper 40 %] = r * density(q), with a standard error of 0.005 at 20,000 records.
    upper = normals[other == 2].mean() * 0.4
    assert upper == pytest.approx(r * NormalDist().pdf(NormalDist().inv_cdf(0.6)), abs=0.025)


def test_records_follow_from_what_was_opened_and_from_nothing_else():
    opened = [np.array([1, 2]), np.array([3])]
    assert key_of(opened) == key_of([values.copy() for values in opened])
    assert key_of(opened) != key_of([np.array([1, 2]), np.array([4])])
    assert key_of(opened) != key_of([np.array([1]), np.array([2, 3])])
    agreement = cp.agreement_from_mapping(copula_mapping())
    generator = np.random.default_rng(0)
    frames = fragment_frames(agreement, random_table(agreement, 300, generator), generator)
    one, again, other = (simulate_with(agreement, frames, seeded(agreement.party_names, s)) for s in (1, 1, 2))
    assert one.files() == again.files()
    assert one.digest() != other.digest()


def test_the_total_is_estimated_from_all_columns_the_exact_ones_first():
    agreement = cp.agreement_from_mapping(copula_mapping())
    budgets = {**dict.fromkeys(agreement.columns, Fraction(1, 1000)), "default": Fraction(1)}
    noisy = {name: np.zeros(domain.size, dtype=np.int64) for name, domain in agreement.columns.items()}
    noisy["default"][:] = 500
    assert estimated_total(budgets, noisy) == 1000
    noisy["default"][:] = -500
    assert estimated_total(budgets, noisy) == 0


@pytest.mark.parametrize("partition", ["horizontal", "vertical", "arbitrary"])
def test_without_noise_synthetic_records_encode_to_the_real_marginals(partition):
    """The published values lie in the cells they were drawn for, missing ones and the upper bound included."""
    changes = {
        "attributes.age.missing": "category",
        "attributes.age.decimals": 0,
        "attributes.region.missing": "category",
        "attributes.income.grid": {"edges": ["0.25", 10, 50]},
        "privacy.epsilon": 10,  # ends of grids stay empty where noise could have made what is there
    }
    agreement = cp.agreement_from_mapping(repartition(copula_mapping(**changes), partition))
    generator = np.random.default_rng(3)
    table = random_table(agreement, 400, generator)
    table["age"] = table["age"].astype(float)
    if partition != "arbitrary":  # where an empty cell means that another party holds it
        table.loc[:20, "age"] = None
        table.loc[5:30, "region"] = None
    frames = fragment_frames(agreement, table, generator)
    release = simulate_with(agreement, frames, no_noise(agreement.party_names))
    whole = cp.agreement_from_mapping(repartition(copula_mapping(**changes), "horizontal"))
    records = release.to_pandas().assign(id=[str(i) for i in range(400)])
    real, synthetic = (
        read_fragments(whole, {"p0": frame, "p1": frame[:0]})["p0"].private_codes
        for frame in (table, records.replace({"region": {"(missing)": None}}))
    )
    for name, domain in agreement.columns.items():
        real_counts, counts = (np.bincount(codes[name], minlength=domain.size).tolist() for codes in (real, synthetic))
        assert counts == real_counts, name
        (counted,) = (own for own in release.published.tables if own.columns == (name,))
        assert counted.values.tolist() == real_counts


def test_numbers_are_written_with_the_agreed_decimals_or_those_of_the_grid():
    changes = {
        "attributes.income.bounds": [0, "12.5"],
        "attributes.income.grid": {"edges": ["0.25", 10]},
        "attributes.income.decimals": 2,
    }
    agreement = cp.agreement_from_mapping(copula_mapping(**changes))
    edges, decimals = grid_in_units(agreement.domains["income"])
    assert (edges.tolist(), decimals) == ([0, 25, 1000, 1251], 2)
    edges, decimals = grid_in_units(agreement.domains["age"])
    assert decimals == 0 and edges[-1] == 100
    with pytest.raises(cp.AgreementError, match="written with 2 decimals"):
        cp.agreement_from_mapping(copula_mapping(**{**changes, "attributes.income.decimals": 1}))
    # What numbers a column has is as true where published records have intervals: means are of these numbers, too.
    assert cp.agreement_from_mapping(small_mapping(**changes)).domains["income"].decimals == 2


def test_an_empty_table_gives_an_empty_release():
    agreement = cp.agreement_from_mapping(repartition(copula_mapping(), "horizontal", 3))
    table = random_table(agreement, 0, np.random.default_rng(0))
    release = simulate_with(agreement, dict.fromkeys(agreement.parties, table), no_noise(agreement.party_names))
    assert release.records.num_rows == 0
    assert release.records.column_names == [*agreement.attributes, "default"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"mechanism": {"name": "copula", "score": "max"}},
            "mechanism.score: it means nothing to the mechanism 'copula'",
        ),
        (
            {"mechanism": {"name": "specialization", "dependence_share": "0.5"}},
            "mechanism.dependence_share: it means nothing to the mechanism 'specialization'",
        ),
        ({"mechanism": {"name": "copula", "dependence_share": 1}}, "mechanism.dependence_share: must be at most 0.99"),
        ({"mechanism": {"name": "copula"}, "privacy.epsilon": "0.0001"}, "a copula release needs at least 0.001"),
        (
            {
                "mechanism": {"name": "copula"},
                "attributes.region": {"kind": "categorical", "values": ["x"], "held_by": "loans"},
            },
            "attributes.region: it has one value alone",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_with_the_agreement(changes, said):
    with pytest.raises(cp.AgreementError) as caught:
        cp.agreement_from_mapping(small_mapping(**changes))
    assert said in str(caught.value)


def test_products_of_no_records_are_zero():
    agreement = cp.agreement_from_mapping(repartition(copula_mapping(), "vertical"))
    table = random_table(agreement, 3, np.random.default_rng(7))[:0]
    scores = {name: np.arange(domain.size) for name, domain in agreement.columns.items()}
    assert not _sums(agreement, table, scores).any()
