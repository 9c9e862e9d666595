"""Names for one intersection: the same for the same identifier and key, and nothing in the files but them."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copublish.engines.comparing.pseudonyms import (
    KEY_BYTES,
    PSEUDONYM_BYTES,
    have_repeated,
    joint_key,
    made_up_pseudonyms,
    padded,
    part_of_key,
    positions_of,
    pseudonyms_of,
)
from copublish.engines.spu import intersection

texts = st.text(st.characters(), max_size=6)
lists = st.lists(texts, max_size=12)


def named(identifiers: list[str], key: bytes = b"k" * KEY_BYTES) -> np.ndarray:
    return pseudonyms_of(identifiers, len(identifiers), key)


@given(lists)
def test_identifiers_have_the_same_name_exactly_if_they_are_equal(identifiers):
    names = [name.tobytes() for name in named(identifiers)]
    assert all(len(name) <= PSEUDONYM_BYTES for name in names)
    for name, identifier in zip(names, identifiers, strict=True):
        for other_name, other in zip(names, identifiers, strict=True):
            assert (name == other_name) == (identifier == other)


def test_a_name_is_the_keyed_digest_of_the_identifier():
    """By the standard's definition a key is a first block of its own: the same as hashing in one call."""
    for text in ("", "a", "Zo\u00eb", "\ud800"):
        expected = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), key=b"k" * 32, digest_size=16).digest()
        assert named([text]).tobytes() == expected


def test_nothing_of_a_digest_is_lost_where_it_ends_in_zeros():
    identifiers = [str(number) for number in range(70_000)]
    names = named(identifiers)
    raw = names.tobytes()
    assert any(raw[i + 14 : i + 16] == b"\0\0" for i in range(0, len(raw), 16))
    assert len({raw[i : i + 16] for i in range(0, len(raw), 16)}) == 70_000
    assert not have_repeated(names)
    assert positions_of(names[::-1], names).tolist() == np.argsort(names).tolist()


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
def test_a_name_listed_twice_is_noticed(identifiers):
    assert have_repeated(named(identifiers)) == (len(set(identifiers)) < len(identifiers))


@given(st.sets(texts, max_size=12), lists, lists, st.data())
def test_positions_are_those_of_the_common_ones_in_an_order_of_the_names_alone(common, one, other, data):
    """With a naive loop: sort by the digest's bytes, then look each up."""
    key = data.draw(st.binary(min_size=KEY_BYTES, max_size=KEY_BYTES))
    orders = []
    for alone in (set(one) - common, set(other) - common):
        listed = data.draw(st.permutations(sorted(common | alone)))
        found = named(data.draw(st.permutations(sorted(common))), key)
        orders.append([listed[place] for place in positions_of(found, named(listed, key))])
    by_name = sorted(common, key=lambda text: named([text], key).tobytes())
    assert orders == [by_name, by_name]


def test_made_up_names_are_never_the_same():
    assert len(made_up_pseudonyms(0)) == 0
    assert not have_repeated(np.concatenate([made_up_pseudonyms(500), made_up_pseudonyms(500)]))


@pytest.mark.parametrize("how_many", [0, 1, 3, 10])
def test_a_file_holds_names_alone_and_is_read_and_removed(tmp_path, monkeypatch, how_many):
    monkeypatch.setattr(intersection, "ROWS_PER_WRITE", 3)
    names, file = named([f"secretperson{number}" for number in range(how_many)]), tmp_path / "own.csv"
    intersection.write_pseudonyms(file, names)
    raw = names.tobytes()
    lines = [raw[16 * i : 16 * i + 16].hex() for i in range(how_many)]
    assert file.read_text() == "".join(f"{line}\n" for line in ["name", *lines])
    assert not re.search(f"secret|{b'secret'.hex()}", file.read_text())
    assert intersection.read_pseudonyms(file).tolist() == names.tolist()
    assert not file.exists()


def test_a_result_with_quotes_is_read_and_another_form_refused(tmp_path):
    file = tmp_path / "common.csv"
    file.write_text('"name"\n"' + "ab" * 16 + '"\n')
    assert intersection.read_pseudonyms(file).tolist() == [b"\xab" * 16]
    for content in ("", "other\n", "name\nnot hexadecimal\n", "name\nabcd\n"):
        file.write_text(content)
        with pytest.raises(ValueError, match=r".") as caught:
            intersection.read_pseudonyms(file)
        assert "abcd" not in str(caught.value)


def test_traces_of_this_process_are_removed_and_others_stay(tmp_path, monkeypatch):
    """The process id stands in a trace as protocol buffers write numbers; 300 is ac 02 in their documentation."""
    monkeypatch.setattr(intersection, "TRACE_FOLDER", tmp_path)
    monkeypatch.setattr(os, "getpid", lambda: 300)
    (tmp_path / "psi_own.trace").write_bytes(b"\x08\xac\x02python")
    for other in ("psi_other.trace", "mine.trace"):
        (tmp_path / other).write_bytes(b"\x08\xad\x02python" if other.startswith("psi") else b"\x08\xac\x02")
    intersection.remove_traces()
    assert sorted(path.name for path in Path(tmp_path).iterdir()) == ["mine.trace", "psi_other.trace"]


@pytest.mark.parametrize("made_up", [0, 1, 7])
def test_a_list_is_padded_with_names_that_nobody_can_guess_and_draws_once_however_many_they_are(made_up):
    """To draw for each made-up name takes longer than a person does: the time would tell how many people there are."""
    drawn: list[int] = []

    def draw(n: int) -> bytes:
        drawn.append(n)
        return os.urandom(n)

    once, again = (list(padded(["x", "y"], made_up, draw)) for _ in range(2))
    assert once[:2] == again[:2] == ["x", "y"]
    assert len({*once, *again}) == 2 + 2 * made_up
    assert drawn == [KEY_BYTES] * 2
