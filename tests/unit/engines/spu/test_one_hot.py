"""Marks: whatever was marked, the first cell of a record is left; and their products, in tiles of a bounded size."""

from __future__ import annotations

import numpy as np
import pytest

from copublish.engines.spu import products
from copublish.engines.spu.marking import MarkingNode
from copublish.engines.spu.one_hot import (
    crossed_product,
    first_marked,
    half_of_square,
    one_cell_each,
    places_of_each,
    scores_of_each,
    words_of,
)
from copublish.engines.spu.requests import Call, Kept, OwnProducts, ShareOf
from copublish.engines.spu.shares import Expression
from copublish.kernel.programs.packing import Packing
from copublish.kernel.secrets.computer import Columns
from copublish.kernel.secrets.secret import Secret


@pytest.mark.parametrize("k", [1, 2, 3, 7, 8, 33, 64, 65])
def test_the_first_mark_of_every_record_is_kept(k):
    generator = np.random.default_rng(k)
    marks = generator.integers(-(2**63), 2**63, (k, 5)) & generator.integers(-(2**63), 2**63, (k, 5))
    seen, expected = np.zeros(5, dtype=np.int64), []
    for row in marks:
        expected.append(row & ~seen)
        seen |= row
    assert np.array_equal(first_marked(np, marks), np.array(expected))


def test_cells_places_and_scores_follow_from_what_all_parties_marked():
    generator, sizes = np.random.default_rng(1), (3, 2)
    marks = [generator.random((5, 100)) < 0.7 for _ in range(3)]
    both = np.logical_and.reduce(marks)
    words = [words_of(own) for own in marks]
    cells = one_cell_each(np, *words, sizes=sizes)[:, :100]
    scores = scores_of_each(np, *words, columns=Columns(sizes, ((4, 5, 6), (7, -8))))[:, :100]
    for record in range(100):
        for group, start, weights in ((both[:3, record], 0, (4, 5, 6)), (both[3:, record], 3, (7, -8))):
            found = [cell for cell, fits in enumerate(group) if fits][:1]
            own = cells[start : start + len(weights), record]
            assert [cell for cell, sign in enumerate(own) if sign == -1] == found
            assert set(own.tolist()) <= {0, -1}
            assert scores[int(start > 0), record] == -sum(weights[cell] for cell in found)
    packing = Packing(5, lanes=3)
    packed = -places_of_each(np, *words, packing=packing)[:100]
    assert packing.unpack(packed).sum(axis=1).tolist() == both.any(axis=0).astype(int).tolist()


class BothNodes(MarkingNode):
    """Two nodes' shares in one place and multiplied in the clear.

    Attributes:
        sizes: Number of cells of every product of one node's matrix and the other's.
    """

    def __init__(self) -> None:
        self.shares: list[np.ndarray] = []
        self.sizes: list[int] = []

    def keep(self, value: np.ndarray) -> Kept:
        mask = np.random.default_rng(len(self.shares)).integers(-(2**63), 2**63, value.shape)
        self.shares.append(np.stack([mask, value - mask]))
        return Kept(str(len(self.shares) - 1), value.shape)

    def open(self, secret: Secret) -> np.ndarray:
        return self._value(secret._handle.step)

    def compute(self, program, *secrets, **public):
        found = program(np, *map(self.open, secrets), **public)
        return Secret(Expression(self.keep(found)), found.shape)

    def _keep_parts(self, steps, shapes):
        values = []
        for step in steps:
            if isinstance(step, Call):
                values.append(step.program(np, *(values[number] for number in step.arguments), **step.public))
                if step.program in (crossed_product, half_of_square):
                    self.sizes.append(values[-1].size)
            else:
                values.append(self._value(step))
        assert [values[-1].shape] == shapes
        return [Secret(Expression(self.keep(values[-1])), shapes[0])]

    def _value(self, step):
        if isinstance(step, ShareOf):
            return self.shares[int(step.kept.name)][step.owner][slice(*step.rows), slice(*step.columns)]
        if isinstance(step, OwnProducts):
            left, right = self.shares[int(step.left.name)], self.shares[int(step.right.name)]
            right = right.transpose(0, 2, 1) if step.is_transposed else right[..., slice(*step.columns)]
            return (left[:, slice(*step.rows)] @ right).sum(axis=0)
        return self.shares[int(step.name)].sum(axis=0)


@pytest.mark.parametrize(("n_rows", "n_columns"), [(3, 20), (20, 3), (1, 8), (5, 5), (1, 1)])
def test_no_product_of_two_nodes_matrices_is_larger_than_comes_back_in_one_ciphertext(monkeypatch, n_rows, n_columns):
    """A larger one shares randomness between ciphertexts, and hides less (docs/secure-engine.md)."""
    monkeypatch.setattr(products, "MAX_PRODUCT_CELLS", 8)
    nodes, generator = BothNodes(), np.random.default_rng(2)
    x, y = generator.integers(-1, 1, (n_rows, 30)), generator.integers(-1, 1, (30, n_columns))
    assert np.array_equal(nodes.open(nodes._multiplied(nodes.keep(x), nodes.keep(y))), x @ y)
    assert np.array_equal(nodes.open(nodes._squared(nodes.keep(y.T))), y.T @ y)
    assert max(nodes.sizes) <= 8
    assert sum(nodes.sizes) == n_rows * n_columns + n_columns**2


def test_crossed_products_are_exact_in_the_ring_whatever_is_shared():
    """Python's integers, modulo 2^64, in the place of NumPy's that wrap."""
    nodes, generator = BothNodes(), np.random.default_rng(3)
    x, y = generator.integers(-(2**63), 2**63, (3, 7)), generator.integers(-(2**63), 2**63, (7, 4))
    exact = (x.astype(object) @ y.astype(object) + 2**63) % 2**64 - 2**63
    assert nodes.open(nodes._multiplied(nodes.keep(x), nodes.keep(y))).tolist() == exact.tolist()
    square = (x.astype(object) @ x.T.astype(object) + 2**63) % 2**64 - 2**63
    assert nodes.open(nodes._squared(nodes.keep(x))).tolist() == square.tolist()
