"""Every metric against a naive loop, a closed form or another library."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from copublish.agreement.columns import PublicColumns
from copublish.agreement.domain import CodeRange
from copublish.release.generalization import Generalization
from copublish.tools.evaluation import distances as marginals
from copublish.tools.evaluation.distances import marginal_errors, mean_sse, rank_correlation_error, wasserstein_errors
from support.profiles import examples
from support.published import category, numbers

SIZES = {"a": 2, "b": 3, "c": 4, "d": 1}

CODES = st.lists(
    st.fixed_dictionaries({name: st.integers(0, size - 1) for name, size in SIZES.items()}), min_size=1, max_size=12
)


def naive_distance(one: pd.DataFrame, other: pd.DataFrame, names: tuple[str, ...]) -> float:
    counts = [Counter(map(tuple, frame[list(names)].to_numpy().tolist())) for frame in (one, other)]
    cells = set(counts[0]) | set(counts[1])
    return sum(abs(counts[0][cell] / len(one) - counts[1][cell] / len(other)) for cell in cells) / 2


@examples(60)
@given(one=CODES, other=CODES, ways=st.integers(1, 3), largest_dense=st.sampled_from([0, 2**20]))
def test_marginal_errors_are_those_of_a_naive_loop(one, other, ways, largest_dense):
    one, other = pd.DataFrame(one), pd.DataFrame(other)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(marginals, "LARGEST_DENSE_TABLE", largest_dense)
        found = marginal_errors(one, other, SIZES, ways)
    expected = {names: naive_distance(one, other, names) for names in combinations(SIZES, ways)}
    assert found.marginals == len(expected)
    assert found.mean == pytest.approx(np.mean(list(expected.values())))
    assert found.largest == pytest.approx(max(expected.values()))
    assert expected[found.worst] == pytest.approx(found.largest)


def test_equal_frames_are_at_distance_0_and_disjoint_ones_at_1():
    frame = pd.DataFrame({"a": [0, 0, 1], "b": [0, 1, 1]})
    assert marginal_errors(frame, frame, {"a": 2, "b": 2}, 2).largest == 0
    assert marginal_errors(frame.assign(a=0), frame.assign(a=1), {"a": 2}, 1).mean == 1
    assert marginal_errors(frame, frame, {"a": 2, "b": 2}, 3) is None


def test_moving_every_value_by_one_deviation_is_a_wasserstein_distance_of_1():
    data = pd.DataFrame({"x": [0.0, 2.0], "constant": [1.0, 1.0], "missing": [np.nan, np.nan]})
    assert wasserstein_errors(data + 1, data, ["x", "constant", "missing"]) == {"x": 1.0}


def test_a_uniform_and_a_point_are_a_quarter_of_the_range_apart():
    """W1 between uniform on [0, 1] and its center is 1/4; the data's deviation is 1/sqrt(12)."""
    uniform = pd.DataFrame({"x": (np.arange(20_000) + 0.5) / 20_000})
    point = pd.DataFrame({"x": np.full(100, 0.5)})
    assert wasserstein_errors(point, uniform, ["x"])["x"] == pytest.approx(0.25 * 12**0.5, rel=1e-3)


def test_rank_correlations_are_those_of_scipy():
    generator = np.random.default_rng(3)
    frames = []
    for _ in range(2):
        x = generator.normal(size=200)
        frames.append(
            pd.DataFrame({"x": x, "y": x**3 + generator.normal(size=200), "z": generator.integers(0, 3, 200)})
        )
    expected = []
    for pair in combinations("xyz", 2):
        expected.append(
            abs(spearmanr(*frames[0][list(pair)].T.to_numpy())[0] - spearmanr(*frames[1][list(pair)].T.to_numpy())[0])
        )
    assert rank_correlation_error(*frames, list("xyz")) == pytest.approx(np.mean(expected))
    assert rank_correlation_error(*frames, ["x"]) is None
    constant = frames[0].assign(x=1.0)
    assert rank_correlation_error(constant, constant, list("xy")) == 0


def test_mean_sse_is_that_of_a_naive_loop():
    domains = [numbers("x", 0, 2, 10, missing=True), numbers("y", 0, 4), numbers("flat", 0, 4), category("class", "no")]
    runs: dict[str, tuple[CodeRange, ...]] = {"x": ((0, 1), (1, 2), (2, 3)), "y": ((0, 1),), "flat": ((0, 1),)}
    cut = Generalization(PublicColumns({domain.name: domain for domain in domains}), runs)
    data = pd.DataFrame({"x": [0.0, 2.0, 10.0, np.nan], "y": [1.0, 2.0, 3.0, 4.0], "flat": [1.0] * 4})
    center = {"x": [1.0, 6.0, 6.0, None], "y": [2.0] * 4}
    total = 0.0
    for row in range(4):
        square = 0.0
        for name in ("x", "y"):
            if center[name][row] is not None:
                deviation = np.sqrt(np.nanmean((data[name] - data[name].mean()) ** 2))
                square += ((data[name][row] - center[name][row]) / deviation) ** 2
        total += (np.sqrt(square) / 3) ** 2
    assert mean_sse(data, cut, ["x", "y", "flat"]) == pytest.approx(total / 4)
    assert mean_sse(data, cut, []) is None
