"""Records of counts are written in parts, and the file is the one that the whole table would make."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from io import BytesIO
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copublish.mechanisms import base
from copublish.mechanisms.base import ROW_GROUP, cells_of_table, counts_model, records_of_counts
from copublish.mechanisms.published import Cells
from copublish.release.measurements import parquet_file
from support.published import category, published, summed

GROUPS = 12

DOMAINS = [category("a", "cook", "vet", "clerk"), category("y", "no", "yes")]
TABLE = summed([Cells(column=own.name) for own in DOMAINS], {own.name: own for own in DOMAINS}, [])
RELEASE = published(DOMAINS, [TABLE])


def parts_of(times: list[int]) -> list[pa.Table]:
    return list(records_of_counts(RELEASE, TABLE, np.array(times)))


def whole_of(times: list[int]) -> pa.Table:
    return cells_of_table(RELEASE, TABLE).take(np.repeat(np.arange(6), times)).combine_chunks()


@given(st.lists(st.integers(0, 9), min_size=6, max_size=6), st.integers(1, 7))
def test_parts_are_the_records_in_their_order(times: list[int], rows_per_part: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(base, "ROW_GROUP", rows_per_part)
        parts = parts_of(times)
    cells = product(("cook", "vet", "clerk"), ("no", "yes"))
    by_hand = [{"a": a, "y": y} for (a, y), often in zip(cells, times, strict=True) for _ in range(often)]
    assert [row for part in parts for row in part.to_pylist()] == by_hand
    assert counts_model(np.array(times)).records == len(by_hand)
    assert [part.num_rows for part in parts[:-1]] == [rows_per_part] * (len(parts) - 1)


@pytest.mark.parametrize("total", [0, 5, ROW_GROUP, ROW_GROUP + 1, 2 * ROW_GROUP + 17])
def test_the_file_has_the_bytes_of_the_whole_table(total: int) -> None:
    times = np.random.default_rng(0).multinomial(total, [0.5, 0.0, 0.2, 0.1, 0.1, 0.1]).tolist()
    whole = BytesIO()
    pq.write_table(whole_of(times), whole)
    assert parquet_file(iter(parts_of(times))) == whole.getvalue()


@pytest.mark.slow
def test_records_are_written_without_memory_for_all_of_them() -> None:
    """Of a whole table it would grow by more than its codes, of four bytes; that of parts does not."""
    code = f"""
import sys
import numpy as np
import pyarrow as pa
sys.path[:0] = {[str(Path(__file__).parent), *sys.path]!r}
from test_base_record_parts import RELEASE, TABLE, parquet_file, records_of_counts, whole_of
counts = [{GROUPS * ROW_GROUP}, 0, 7, 0, 0, 0]
in_parts = records_of_counts(RELEASE, TABLE, np.array(counts))
parquet_file(iter([whole_of(counts)]) if sys.argv[1] == "whole" else in_parts)
print(pa.default_memory_pool().max_memory())
"""
    run = partial(subprocess.run, capture_output=True, text=True, check=True)
    parts, whole = (int(run([sys.executable, "-c", code, way]).stdout) for way in ("parts", "whole"))
    assert parts < 4 * GROUPS * ROW_GROUP < whole
