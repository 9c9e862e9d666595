"""Names for one intersection: the same for the same identifier and key, and nothing in the files but them."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from copublish.engine import psi_files
from copublish.engine.pseudonyms import (
    KEY_BYTES,
    PSEUDONYM_BYTES,
    have_repeated,
    in_common_order,
    joint_key,
    made_up_pseudonyms,
    part_of_key,
    pseudonyms_of,
)

texts = st.text(st.characters(), max_size=6)
lists = st.lists(texts, max_size=12)


def named(identifiers: list[str], key: bytes = b"k" * KEY_BYTES) -> np.ndarray:
    return pseudonyms_of(identifiers, len(identifiers), key)


@given(lists)
@settings(deadline=None)
def test_identifiers_have_the_same_name_exactly_if_they_are_equal(identifiers):
    names = [row.tobytes() for row in named(identifiers)]
    assert all(len(name) == PSEUDONYM_BYTES for name in names)
    for name, identifier in zip(names, identifiers, strict=True):
        for other_name, other in zip(names, identifiers, strict=True):
            assert (name == other_name) == (identifier == other)


def test_nothing_of_a_digest_is_lost_where_it_ends_in_zeros():
    names = named([str(number) for number in range(3000)])
    assert (names[:, -1] == 0).any()
    assert names.shape == (3000, PSEUDONYM_BYTES)
    assert not have_repeated(names)
    assert len({name.tobytes() for name in names}) == 3000


def test_another_key_gives_other_names_and_both_parties_make_the_key():
    one, other = part_of_key(), part_of_key()
    assert (
        joint_key([one, other])
        == joint_key([other, one])
        == bytes(a ^ b for a, b in zip(bytes.fromhex(one), bytes.fromhex(other), strict=True))
    )
    keys = {joint_key([one, other]), joint_key([one, part_of_key()]), joint_key([part_of_key(), other])}
    assert len({named(["somebody"], key).tobytes() for key in keys}) == 3


@given(lists)
@settings(deadline=None)
def test_a_name_listed_twice_is_noticed(identifiers):
    assert have_repeated(named(identifiers)) == (len(set(identifiers)) < len(identifiers))


@given(st.sets(texts, max_size=12), st.data())
@settings(deadline=None)
def test_the_common_order_depends_on_the_names_alone(common, data):
    one, other = data.draw(st.permutations(sorted(common))), data.draw(st.permutations(sorted(common)))
    orders = []
    for listed in (one, other):
        positions = np.array(data.draw(st.permutations(range(len(listed)))), dtype=np.int64)
        orders.append([listed[place] for place in in_common_order(named(listed), positions)])
    assert orders[0] == orders[1] == sorted(common, key=lambda text: named([text]).tobytes())


def test_made_up_names_are_never_the_same():
    assert made_up_pseudonyms(0).shape == (0, PSEUDONYM_BYTES)
    assert not have_repeated(np.concatenate([made_up_pseudonyms(500), made_up_pseudonyms(500)]))


def test_a_file_holds_names_and_row_numbers_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(psi_files, "ROWS_PER_WRITE", 3)
    names, file = named([f"secretperson{number}" for number in range(10)]), tmp_path / "own.csv"
    psi_files.write_pseudonyms(file, names)
    header, *lines = file.read_text().splitlines()
    assert header == "name,row"
    assert lines == [f"{name.tobytes().hex()},{row}" for row, name in enumerate(names)]
    assert "secret" not in file.read_text()
    assert b"secret".hex() not in file.read_text()


@pytest.mark.parametrize("header", ['"name","row"', "name,row"])
def test_a_result_is_read_and_removed(tmp_path, header):
    file = tmp_path / "common.csv"
    file.write_text(f"{header}\nabc,3\ndef,0\n")
    assert psi_files.read_rows(file).tolist() == [3, 0]
    assert not file.exists()
    file.write_text(f"{header}\n")
    assert psi_files.read_rows(file).tolist() == []


def test_traces_of_this_process_are_removed_and_others_stay(tmp_path, monkeypatch):
    """The process id stands in a trace as protocol buffers write numbers; 300 is ac 02 in their documentation."""
    monkeypatch.setattr(psi_files, "TRACE_FOLDER", tmp_path)
    monkeypatch.setattr(os, "getpid", lambda: 300)
    (tmp_path / "psi_own.trace").write_bytes(b"\x08\xac\x02python")
    for other in ("psi_other.trace", "mine.trace"):
        (tmp_path / other).write_bytes(b"\x08\xad\x02python" if other.startswith("psi") else b"\x08\xac\x02")
    psi_files.remove_traces()
    assert sorted(path.name for path in Path(tmp_path).iterdir()) == ["mine.trace", "psi_other.trace"]
