"""The repair of marks: whatever was marked, at most one cell of a record is left, and it is the first one."""

from __future__ import annotations

import numpy as np
import pytest

from copublish.engine.interface import Columns
from copublish.engine.programs.packing import Packing
from copublish.engine.spu.marks import first_marked, one_cell_each, places_of_each, scores_of_each, words_of


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
