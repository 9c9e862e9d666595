"""Records are written in parts, and the file is the one that the whole table would make."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from io import BytesIO
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copublish.agreement.columns import COUNT, NOISY_COUNT
from copublish.mechanisms.specialization.publish import ROW_GROUP, number_of_records, record_parts, records_of
from copublish.release.folder import _parquet

GROUPS = 12


def counts_of(times: list[int]) -> pa.Table:
    cells = pa.array([f"cell {number % 7}" for number in range(len(times))])
    return pa.table(
        {"a": cells.dictionary_encode(), "y": cells, COUNT: pa.array(times, pa.int64()), NOISY_COUNT: times}
    )


@given(st.lists(st.integers(0, 9), min_size=1, max_size=8), st.integers(1, 7))
def test_parts_are_the_records_in_their_order(times: list[int], rows_per_part: int) -> None:
    counts = counts_of(times)
    parts = list(record_parts(counts, rows_per_part))
    by_hand = [f"cell {number % 7}" for number, often in enumerate(times) for _ in range(often)]
    assert [value for part in parts for value in part.column("a").to_pylist()] == by_hand
    assert records_of(counts).column("y").to_pylist() == by_hand
    assert number_of_records(counts) == len(by_hand)
    assert [part.num_rows for part in parts[:-1]] == [rows_per_part] * (len(parts) - 1)


@pytest.mark.parametrize("total", [0, 5, ROW_GROUP, ROW_GROUP + 1, 2 * ROW_GROUP + 17])
def test_the_file_has_the_bytes_of_the_whole_table(total: int) -> None:
    times = np.random.default_rng(0).multinomial(total, [0.5, 0.0, 0.3, 0.2]).tolist()
    whole = BytesIO()
    pq.write_table(records_of(counts_of(times)), whole)
    assert _parquet(record_parts(counts_of(times))) == whole.getvalue()


@pytest.mark.slow
def test_records_are_written_without_memory_for_all_of_them() -> None:
    """Of a whole table it would grow by more than its codes, of four bytes; that of parts does not."""
    code = f"""
import sys
import pyarrow as pa
sys.path.insert(0, {str(Path(__file__).parent)!r})
from test_publish_record_parts import counts_of, records_of, record_parts, _parquet
counts = counts_of([{GROUPS * ROW_GROUP}, 0, 7])
_parquet(iter([records_of(counts)]) if sys.argv[1] == "whole" else record_parts(counts))
print(pa.default_memory_pool().max_memory())
"""
    run = partial(subprocess.run, capture_output=True, text=True, check=True)
    parts, whole = (int(run([sys.executable, "-c", code, way]).stdout) for way in ("parts", "whole"))
    assert parts < 4 * GROUPS * ROW_GROUP < whole
