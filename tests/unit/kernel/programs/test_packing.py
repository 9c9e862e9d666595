"""Counts that share ring elements are the counts themselves, with noise and offset and however they lie.

Expected values come from Python integers, which do not overflow, and from comparing whole coins with thresholds.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copublish.kernel.noise.geometric import COIN_BITS, Geometric
from copublish.kernel.programs.packing import ELEMENT_BITS, Packing, add_packed_noise, lanes_within
from copublish.kernel.secrets.secret import Secret, SecretCounts
from copublish.mechanisms.shared.run_pairs import taken_apart
from support.profiles import examples

packings = st.builds(Packing, row=st.integers(1, 12), lanes=st.integers(1, 3))


@st.composite
def packed_tables(draw: st.DrawFn) -> tuple[Packing, list[list[int]]]:
    """A packing and rows of counts up to the largest that a lane holds."""
    packing = draw(packings)
    count = st.integers(0, 2**packing.lane_bits - 1) | st.sampled_from([0, 2**packing.lane_bits - 1])
    row = st.lists(count, min_size=packing.row, max_size=packing.row)
    return packing, draw(st.lists(row, min_size=1, max_size=5))


def naive_pack(packing: Packing, rows: list[list[int]]) -> list[list[int]]:
    bits = ELEMENT_BITS // packing.lanes
    packed = []
    for row in rows:
        elements = [0] * ((len(row) + packing.lanes - 1) // packing.lanes)
        for position, count in enumerate(row):
            elements[position // packing.lanes] += count * 2 ** (bits * (position % packing.lanes))
        packed.append(elements)
    return packed


@given(packed_tables())
def test_packed_counts_are_sums_of_counts_in_lanes_and_come_apart_again(case: tuple[Packing, list[list[int]]]) -> None:
    packing, rows = case
    packed = packing.pack(np, np.array(rows, dtype=np.int64))
    assert packed.dtype == np.int64
    assert packed.shape == (len(rows), packing.elements)
    assert packed.tolist() == naive_pack(packing, rows)
    assert (packed >= 0).all()
    opened = packing.unpack(packed)
    assert opened.shape == (len(rows), packing.row)
    assert opened.tolist() == rows


@given(st.data(), st.integers(1, 2**31), st.lists(st.integers(1, 5), min_size=1, max_size=4))
def test_tables_that_share_elements_come_apart_to_their_counts(
    data: st.DataObject, most: int, sizes: list[int]
) -> None:
    """As many lanes as there are, all of them full."""
    lanes = lanes_within(most)
    assert lanes * most.bit_length() <= ELEMENT_BITS < (lanes + 1) * most.bit_length() or lanes == 1
    counts = st.integers(0, most) | st.just(most)
    tables = [data.draw(st.lists(counts, min_size=size, max_size=size)) for size in sizes]
    packed = [element for table in tables for element in naive_pack(Packing(len(table), lanes), [table])[0]]
    found = taken_apart(np, np.array(packed, dtype=np.int64).reshape(-1, 1), tuple(sizes), lanes)
    assert found.tolist() == [[count] for table in tables for count in table]


@given(packings, st.lists(st.integers(0, 11), max_size=60))
def test_weights_of_records_add_up_to_packed_counts(packing: Packing, places: list[int]) -> None:
    places = [place % packing.row for place in places]
    weights = packing.weight(np.array(places, dtype=np.int64)).tolist()
    elements = [0] * packing.elements
    for place, weight in zip(places, weights, strict=True):
        elements[place // packing.lanes] += weight
    counts = [places.count(place) for place in range(packing.row)]
    assert [elements] == naive_pack(packing, [counts])


def test_the_number_of_elements_is_rows_by_lanes_rounded_up_and_lanes_share_63_bits() -> None:
    assert [Packing(row, 3).elements for row in range(1, 8)] == [1, 1, 1, 2, 2, 2, 3]
    assert [Packing(row, 1).elements for row in range(1, 4)] == [1, 2, 3]
    assert [Packing(1, lanes).lane_bits for lanes in (1, 2, 3)] == [63, 31, 21]


def fits(largest_count: int, noise_bits: int, lane_bits: int) -> bool:
    """Whether the largest count with the largest noise and the offset is inside a lane; the smallest is above 0."""
    largest_noise, offset = 2**noise_bits - 1, 2**noise_bits
    return offset > largest_noise and largest_count + largest_noise + offset < 2**lane_bits


@given(st.integers(1, 40), st.integers(0, 2**40) | st.integers(0, 2**22), st.integers(0, 59))
def test_the_densest_packing_never_overflows_a_lane_with_noise_and_offset(
    row: int, largest_count: int, noise_bits: int
) -> None:
    packing = Packing.densest(row, largest_count, noise_bits)
    assert packing.row == row
    assert 1 <= packing.lanes <= row
    assert fits(largest_count, noise_bits, packing.lane_bits)
    extremes = [[0, largest_count + 2 ** (noise_bits + 1) - 1][place % 2] for place in range(row)]
    rows = np.array([extremes, extremes[::-1], [max(extremes)] * row], dtype=np.int64)
    assert packing.unpack(packing.pack(np, rows)).tolist() == rows.tolist()
    if packing.lanes < row:  # one lane more would leave no more than one spare number
        assert not fits(largest_count + 1, noise_bits, ELEMENT_BITS // (packing.lanes + 1))


@pytest.mark.parametrize(
    ("row", "largest_count", "noise_bits", "lanes"),
    [
        (96, 30_162, 7, 4),
        (9, 3, 2, 9),
        (90, 3, 2, 15),
        (9, 2**15 - 2**11 - 1, 10, 4),
        (9, 2**15 - 2**11, 10, 3),
        (9, 2**20, 10, 3),
        (2, 2**20, 10, 2),
        (1, 2**20, 10, 1),
        (9, 2**21 - 2**11 - 1, 10, 3),
        (9, 2**21 - 2**11, 10, 2),
        (9, 2**31 - 2**11 - 1, 10, 2),
        (9, 2**31 - 2**11, 10, 1),
        (9, 0, 19, 3),
        (9, 0, 20, 2),
        (9, 0, 29, 2),
        (9, 0, 30, 1),
        (9, 2**40, 60, 1),
        (9, 0, 63, 1),
    ],
)
def test_the_densest_packing_at_its_limits(row: int, largest_count: int, noise_bits: int, lanes: int) -> None:
    assert Packing.densest(row, largest_count, noise_bits) == Packing(row, lanes)


def test_a_lane_that_is_too_narrow_would_be_noticed() -> None:
    too_full = np.array([[2**21, 0, 0]], dtype=np.int64)
    assert Packing(3, 3).unpack(Packing(3, 3).pack(np, too_full)).tolist() != too_full.tolist()


def coin(words: np.ndarray, bit: int, sample: int) -> int:
    """The 62-bit coin of one bit of one sample, read place by place: highest plane first, 64 samples to a word."""
    places = (int(words[plane, bit, sample // 64]) >> (sample % 64) & 1 for plane in range(COIN_BITS))
    return int("".join(map(str, places)), 2)


def naive_geometric(words: np.ndarray, noise: Geometric, sample: int) -> int:
    return sum(2**bit * (coin(words, bit, sample) < threshold) for bit, threshold in enumerate(noise.thresholds))


@st.composite
def lying_tables(draw: st.DrawFn) -> tuple[Packing, int, list[int] | None]:
    packing = Packing(draw(st.integers(1, 7)), draw(st.integers(1, 3)))
    n_rows = draw(st.integers(1, 5))
    cell_at = draw(st.none() | st.permutations(range(n_rows * packing.row)))
    return packing, n_rows, cell_at


@examples(50)
@given(lying_tables(), st.sampled_from([Fraction(5), Fraction(1), Fraction(1, 5)]), st.integers(0, 2**32 - 1))
def test_noise_on_packed_counts_is_the_difference_of_two_samples_for_each_cell_in_agreed_order(
    case: tuple[Packing, int, list[int] | None], rate: Fraction, seed: int
) -> None:
    packing, n_rows, cell_at = case
    noise, generator = Geometric(rate), np.random.default_rng(seed)
    n = n_rows * packing.row
    offset = 2**noise.bits
    words = generator.integers(-(2**63), 2**63, size=noise.coin_shape(2 * n), dtype=np.int64)
    counts = generator.integers(0, 2**20, n).tolist()
    counts[0] = 0
    expected = [
        counts[cell] + naive_geometric(words, noise, cell) - naive_geometric(words, noise, n + cell)
        for cell in range(n)
    ]
    cell_of_place = list(range(n)) if cell_at is None else list(cell_at)
    in_rows = [counts[cell] for cell in cell_of_place]
    packed = naive_pack(packing, [in_rows[row * packing.row : (row + 1) * packing.row] for row in range(n_rows)])
    order = None if cell_at is None else np.array(cell_at)

    noisy = add_packed_noise(np, np.array(packed), words, noise.threshold_planes, packing, order, offset)

    assert noisy.shape == (n_rows, packing.elements)
    lying = [expected[cell] + offset for cell in cell_of_place]
    rows = [lying[row * packing.row : (row + 1) * packing.row] for row in range(n_rows)]
    assert noisy.tolist() == naive_pack(packing, rows)
    table = SecretCounts(Secret(noisy, noisy.shape), packing, order)
    assert table.n_cells == n
    assert (table.in_order(noisy) - offset).tolist() == expected


@pytest.mark.parametrize("packing", [Packing(4), Packing(4, 2), Packing(4, 3), Packing(3, 3)], ids=str)
@pytest.mark.parametrize("sign", [1, -1])
def test_the_largest_noise_of_either_sign_in_every_lane_leaves_the_other_lanes_alone(packing, sign: int) -> None:
    noise = Geometric(Fraction(1, 100))
    n, largest, offset = 2 * packing.row, 2**21 - 2 ** (noise.bits + 1) - 1, 2**noise.bits
    words = np.full(noise.coin_shape(2 * n), -1, dtype=np.int64)  # no coin is below its threshold
    for sample in range(n) if sign > 0 else range(n, 2 * n):
        words[:, :, sample // 64] &= ~(np.int64(1) << np.int64(sample % 64))  # and here every one is
    counts = np.array([0, largest] * packing.row, dtype=np.int64)
    packed = packing.pack(np, counts.reshape(2, packing.row))
    noisy = add_packed_noise(np, packed, words, noise.threshold_planes, packing, None, offset)
    assert (packing.unpack(noisy).ravel() - offset).tolist() == (counts + sign * (2**noise.bits - 1)).tolist()


def test_counts_in_another_order_are_brought_back_by_cell() -> None:
    cell_at = np.array([2, 0, 3, 1])
    counts = SecretCounts(Secret(None, (2, 1)), Packing(2, 2), cell_at)
    opened = Packing(2, 2).pack(np, np.array([[20, 0], [30, 10]]))  # cell number times ten at each place
    assert counts.in_order(opened).tolist() == [0, 10, 20, 30]
    assert counts.place_of_cell().tolist() == [1, 3, 0, 2]
    assert SecretCounts(Secret(None, (2, 1)), Packing(2, 2)).place_of_cell() is None
    assert SecretCounts(Secret(None, (2, 1)), Packing(2, 2)).in_order(opened).tolist() == [20, 0, 30, 10]


@pytest.mark.parametrize(
    ("shape", "packing", "cell_at"),
    [
        ((4, 2), Packing(1), None),
        ((4,), Packing(1), None),
        ((4, 1), Packing(1), np.array([0, 0, 1, 1])),
        ((2, 1), Packing(3, 3), np.arange(5)),
    ],
)
def test_a_layout_under_which_counts_would_share_noise_is_refused(shape, packing, cell_at):
    with pytest.raises(ValueError, match=r"lie as|place of its own"):
        SecretCounts(Secret(None, shape), packing, cell_at)
