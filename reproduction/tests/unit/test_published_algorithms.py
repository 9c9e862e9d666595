"""The published algorithms and their comparators on small tables, against naive counts and known answers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from benchmark_files import write_benchmark_files
from copublish.tools.evaluation.classification import accuracy
from copublish_reproduction.arbdistdp import ArbDistDP, noisy_cells
from copublish_reproduction.bench import Bench
from copublish_reproduction.diffp_c45 import DiffPC45, Node, estimated_errors, prune
from copublish_reproduction.distdiffgen import DistDiffGen
from copublish_reproduction.k_anonymity import TopDownKAnonymity, information_gain
from copublish_reproduction.top_down import WEIGHT, step_epsilon
from copublish_reproduction.trivial import NoisyTables


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_benchmark_files(tmp_path_factory.mktemp("benchmark"), 900)


@pytest.fixture(scope="module", params=["adult", "nursery"])
def bench(request, folder):
    return Bench.load(request.param, folder, 0)


def naive_generalization(cut):
    """Every training record's generalized values, one record and one attribute at a time."""
    table = cut.table
    rows = []
    for number in range(len(table.classes)):
        row = []
        for column, pieces in zip(table.columns, cut.pieces, strict=True):
            code = column.codes[number]
            if column.values is None:
                row.append(next(i for i, piece in enumerate(pieces) if piece.start <= code < piece.stop))
            else:
                value = column.values[code]
                row.append(next(i for i, piece in enumerate(pieces) if piece.low <= value < piece.high))
        rows.append((*row, table.classes[number]))
    return pd.Series(rows).value_counts()


@pytest.mark.parametrize("algorithm", [ArbDistDP(1.0), DistDiffGen(1.0), DistDiffGen(1.0, floor_digits=2)])
def test_leaf_counts_are_those_of_a_naive_loop_and_pieces_cover_the_domain(bench, algorithm):
    cut = algorithm.specialize(bench.plain, np.random.default_rng(5))
    counts = cut.leaf_counts()
    for (*leaf, label), number in naive_generalization(cut).items():
        assert counts[np.ravel_multi_index(leaf, cut.shape), label] == number
    assert counts.sum() == len(bench.plain.classes)
    assert sum(len(pieces) - 1 for pieces in cut.pieces) >= 10  # ten specializations
    for column, pieces in zip(bench.plain.columns, cut.pieces, strict=True):
        assert [piece.start for piece in pieces[1:]] == [piece.stop for piece in pieces[:-1]]
        if column.values is not None:
            assert (pieces[0].low, pieces[-1].high) == (column.low, column.high)
            assert [piece.low for piece in pieces[1:]] == [piece.high for piece in pieces[:-1]]


def test_training_cells_and_test_records_are_generalized_alike(bench):
    """With test records that are the training records, the weights are the counts of the test frame."""
    cut = DistDiffGen(2.0).specialize(bench.plain, np.random.default_rng(6))
    train = cut.records(cut.leaf_counts().astype(float))
    object.__setattr__(bench.plain, "test", _coded(bench))
    same = cut.generalized_test().value_counts()
    names = list(same.index.names)
    ours = train.set_index([*names])[WEIGHT]
    assert ours.sort_index().to_dict() == {key: float(value) for key, value in same.sort_index().items()}


def _coded(bench):
    columns = {
        column.name: column.codes if column.values is None else column.values[column.codes]
        for column in bench.plain.columns
    }
    return pd.DataFrame({**columns, bench.plain.class_name: bench.dataset.train[bench.plain.class_name].to_numpy()})


def test_steps_of_adult_get_one_fifty_second_of_epsilon(folder):
    adult = Bench.load("adult", folder, 0)
    assert step_epsilon(adult.plain, 1.0, 10) == pytest.approx(1 / (2 * (6 + 20)))


def test_without_the_class_in_the_leaf_the_classes_keep_their_exact_shares():
    """E15: noise changes how many records a leaf has, never which classes they have."""
    counts = np.array([[900, 100], [0, 0], [40, 0]])
    cells = noisy_cells(counts, 20.0, np.random.default_rng(7), class_in_leaf=False)
    assert cells[0, 1] / cells[0].sum() == pytest.approx(0.1)
    assert cells[0].sum() != 1000
    assert cells[1].sum() == 0
    assert cells[2, 1] == 0
    covered = [noisy_cells(counts, 20.0, np.random.default_rng(seed), class_in_leaf=True)[2, 1] for seed in range(9)]
    assert max(covered) > 0


def test_classes_without_noise_are_worth_more_than_the_whole_budget(folder):
    """E15 on made-up data: at epsilon 0.02 noisy classes are useless, classes without noise hardly suffer."""
    bench = Bench.load("nursery", folder, 0)
    exact = np.mean([bench.arbdistdp("0.02", 2) for _ in range(5)])
    noisy = np.mean([bench.arbdistdp("0.02", 2, class_in_leaf=True) for _ in range(5)])
    assert exact > noisy + 0.15


def test_every_group_of_a_k_anonymous_table_has_k_records(bench):
    cut, group = TopDownKAnonymity(5).specialize(bench.plain)
    assert np.bincount(group).min() >= 5
    assert cut.n_leaves > 1
    naive = naive_generalization(cut)
    sizes = naive.groupby(lambda key: key[:-1]).sum()
    assert sorted(sizes) == sorted(np.bincount(group))
    train, test = TopDownKAnonymity(5).run(bench.plain)
    assert train[WEIGHT].sum() == len(bench.plain.classes)
    assert set(train.columns) - {WEIGHT} == set(test.columns)


def test_information_gain_is_the_mutual_information():
    assert information_gain(np.array([[8, 0], [0, 8]])) == pytest.approx(np.log(2))
    assert information_gain(np.array([[4, 4], [2, 2]])) == 0


@pytest.mark.parametrize("epsilon", [1e9])
def test_without_noise_every_algorithm_beats_the_majority(bench, epsilon):
    generator, label, lowest = np.random.default_rng(9), bench.plain.class_name, bench.majority() + 0.1
    assert accuracy(*ArbDistDP(epsilon).run(bench.plain, generator), label, weights=WEIGHT) > lowest
    assert accuracy(*DistDiffGen(epsilon).run(bench.plain, generator), label, weights=WEIGHT) > lowest
    assert DiffPC45(epsilon).accuracy(bench.plain, generator) > lowest
    assert accuracy(*NoisyTables(epsilon).run(bench.coded, generator), label) > lowest
    assert bench.sound("5", "arbitrary", "auto") > lowest


def test_a_tree_with_too_few_records_for_its_noise_is_one_leaf(bench):
    assert not DiffPC45(0.001).grow(bench.plain, np.random.default_rng(10)).children


def test_pruning_keeps_a_split_that_helps_and_removes_one_that_does_not():
    helps = Node(np.array([50.0, 50.0]), 0, 0, [Node(np.array([50.0, 0.0])), Node(np.array([0.0, 50.0]))])
    useless = Node(np.array([80.0, 20.0]), 0, 0, [Node(np.array([40.0, 10.0])), Node(np.array([40.0, 10.0]))])
    prune(helps)
    prune(useless)
    assert len(helps.children) == 2
    assert useless.children == []
    # C4.5's bound for 0 errors of 6 at 25 % is 0.206 (Quinlan 1993, p. 41); the normal approximation comes near.
    assert estimated_errors(np.array([6.0, 0.0])) / 6 == pytest.approx(0.206, abs=0.15)


def test_noisy_tables_keep_every_attribute_by_class_without_noise(folder):
    bench = Bench.load("nursery", folder, 0)
    records, _ = NoisyTables(1e9).run(bench.coded, np.random.default_rng(11))
    label = bench.dataset.class_name
    shares = pd.crosstab(records["parents"], records[label], normalize="columns")
    truth = pd.crosstab(bench.coded.train[:, 0], bench.dataset.train[label].to_numpy(), normalize="columns")
    for value in truth.columns:  # a few hundred draws for each class: 5 standard errors
        n = (records[label] == value).sum()
        assert np.abs(shares[value] - truth[value]).max() < 5 * np.sqrt(0.25 / n)


def test_a_release_without_records_is_a_blind_guess(folder):
    bench = Bench.load("nursery", folder, 0)
    nothing = pd.DataFrame({"parents": [0], "class": ["priority"], WEIGHT: [0.0]})
    assert bench._accuracy(nothing, bench.coded.test) == (bench.dataset.test["class"] == "not_recom").mean()


def test_the_same_seed_gives_the_same_output(folder):
    outputs = [Bench.load("adult", folder, 3).arbdistdp("0.5", 2) for _ in range(2)]
    assert outputs[0] == outputs[1]
