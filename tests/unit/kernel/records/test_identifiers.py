"""IdentifierColumn are compared as agreed: what a rule ignores makes no difference, and everything else does."""

from __future__ import annotations

import string
import sys
import traceback
import unicodedata
from itertools import chain, combinations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from copublish import FragmentError, agreement_from_mapping
from copublish.rows.identifiers import IdentifierColumn, normalize, normalize_batch
from copublish.rows.reading import read_fragment
from support import read_strictly, small_mapping

RULES = ("ignore-case", "ignore-spaces", "ignore-punctuation", "ignore-leading-zeros")
ALL_SETS = list(chain.from_iterable(combinations(RULES, size) for size in range(len(RULES) + 1)))
AWKWARD = (
    "0017aAbB"
    "\u00df\u1e9e\u017f\u212a\ufb01"  # sharp s twice, long s, kelvin, a ligature: letters that fold to others
    "\u0130\u0131\u03b1\u0391\u03c2\u03c3\u03a3"  # dotted and dotless i, alpha, the three sigmas
    "\u00e9e\u0301\u0308\u0345"  # composed, decomposed, marks that are reordered, one that folds to a letter
    " \t\x1f\x85\xa0\u2003\u200b-._+$'\u2019\0"
)
awkward = st.text(st.sampled_from(AWKWARD), max_size=8)
texts = awkward | st.text(max_size=8) | st.text(string.printable, max_size=8)
rule_sets = st.sampled_from(ALL_SETS)


# --- Laws of the definition ------------------------------------------------------------------------------------------


@given(texts, rule_sets)
def test_normalizing_twice_is_normalizing_once(text, rules):
    once = normalize(text, rules)
    assert normalize(once, rules) == once


@pytest.mark.parametrize("rules", [("ignore-case",), RULES], ids=str)
def test_normalizing_twice_is_normalizing_once_for_every_character_there_is(rules):
    for character in map(chr, range(sys.maxunicode + 1)):
        if unicodedata.category(character) not in ("Cn", "Co", "Cs"):
            once = normalize(f"a{character}b", rules)
            assert normalize(once, rules) == once, hex(ord(character))


@given(texts, rule_sets, st.sampled_from(["NFC", "NFD"]), st.sampled_from(["", " ", "\t\n", "\xa0\u2003"]))
def test_spelling_of_accents_and_surrounding_space_never_matter(text, rules, form, space):
    other = space + unicodedata.normalize(form, text) + space
    assert normalize(other, rules) == normalize(text, rules)


@given(texts, rule_sets)
def test_case_is_ignored_by_its_rule(text, rules):
    rules = {*rules, "ignore-case"}
    assert normalize(unicodedata.normalize("NFD", text).casefold(), rules) == normalize(text, rules)
    ascii_swapped = "".join(c.swapcase() if c.isascii() else c for c in text)
    assert normalize(ascii_swapped, rules) == normalize(text, rules)


@given(st.lists(st.tuples(texts, st.text(" \t\x1c\x85\xa0\u2003\u3000", max_size=2))), rule_sets)
def test_spaces_are_ignored_by_their_rule(parts, rules):
    rules = {*rules, "ignore-spaces"}
    spaced = "".join(text + space for text, space in parts)
    assume("\u0345" not in unicodedata.normalize("NFD", spaced))
    assert normalize(spaced, rules) == normalize("".join(text for text, _ in parts), rules)


@given(st.lists(st.tuples(texts, st.text("-._/()#'\u2019\u00ab\u3001", max_size=2))), rule_sets)
def test_punctuation_is_ignored_by_its_rule(parts, rules):
    rules = {*rules, "ignore-punctuation"}
    pointed = "".join(text + sign for text, sign in parts)
    assume("\u0345" not in unicodedata.normalize("NFD", pointed))
    assert normalize(pointed, rules) == normalize("".join(text for text, _ in parts), rules)


def test_the_one_mark_that_folds_to_a_letter_is_the_exception():
    """Whatever the order of the steps: case ignored by the standard's rule, a space before an accent is not."""
    marks = [c for c in map(chr, range(sys.maxunicode + 1)) if unicodedata.combining(c) and c.casefold() != c]
    assert marks == ["\u0345"]
    rules = {"ignore-case", "ignore-spaces"}
    assert normalize("\u0345 \u0301", rules) == normalize("\u03b9 \u0301", rules) != normalize("\u0345\u0301", rules)


@given(st.integers(0, 10**12), st.integers(0, 5), rule_sets)
def test_leading_zeros_of_numbers_are_ignored_by_their_rule(number, zeros, rules):
    rules = {*rules, "ignore-leading-zeros"}
    assert normalize("0" * zeros + str(number), rules) == str(number)


def ignored(character: str, rules: tuple[str, ...]) -> bool:
    """By the words of the reference: what the rules leave out of a text without case."""
    by_space = "ignore-spaces" in rules and character.isspace()
    return by_space or ("ignore-punctuation" in rules and unicodedata.category(character)[0] == "P")


plain = st.text(st.sampled_from("0127abc\u03b2\u8a9e -_.+$\xa0"), max_size=6)


@given(plain, plain, rule_sets)
@example("007", "7", ("ignore-case", "ignore-spaces", "ignore-punctuation"))
@example("0a7", "a7", RULES)
@example("0", "", RULES)
@example("a+b", "ab", RULES)
def test_identifiers_are_merged_exactly_if_they_differ_in_nothing_but_what_is_ignored(one, other, rules):
    """On text whose characters do not combine, with the reference's words as a loop: nothing else is merged."""

    def essence(text: str) -> str:
        left = "".join(c for c in text if not ignored(c, rules)).strip()
        if "ignore-leading-zeros" in rules and left and all(c in "0123456789" for c in left):
            return str(int(left))
        return left

    assert (normalize(one, rules) == normalize(other, rules)) == (essence(one) == essence(other))


@given(st.text(string.ascii_letters, min_size=1), st.text(string.ascii_letters, min_size=1))
def test_case_alone_is_what_its_rule_merges(one, other):
    assert (normalize(one, ["ignore-case"]) == normalize(other, ["ignore-case"])) == (one.lower() == other.lower())
    assert (normalize(one, []) == normalize(other, [])) == (one == other)


@pytest.mark.parametrize(
    ("given", "rules", "expected"),
    [
        (" Straße 7 ", ["ignore-case"], "strasse 7"),
        ("ΣΊΣΥΦΟΣ", ["ignore-case"], "σίσυφοσ"),
        ("K\u0301", ["ignore-case"], "ḱ"),
        ("AB-12.3/x_y (z)", ["ignore-punctuation"], "AB123xy z"),
        ("A+1", ["ignore-punctuation"], "A+1"),
        ("- 007", ["ignore-punctuation", "ignore-leading-zeros"], "7"),
        ("0 07", ["ignore-leading-zeros"], "0 07"),
        ("0 07", ["ignore-leading-zeros", "ignore-spaces"], "7"),
        ("000", ["ignore-leading-zeros"], "0"),
        ("00A", ["ignore-leading-zeros"], "00A"),
        ("\u0660\u0667", ["ignore-leading-zeros"], "\u0660\u0667"),  # other digits
        ("a\u200bb", RULES, "a\u200bb"),
        ("---", RULES, ""),
    ],
)
def test_examples_of_the_reference(given, rules, expected):
    assert normalize(given, rules) == expected


# --- Batches and columns ---------------------------------------------------------------------------------------------


@given(st.lists(st.none() | texts, max_size=8), rule_sets)
@example([None, "", "é", "E", "\x1f\n0\n7", "007"], RULES)
def test_a_batch_is_normalized_like_its_members(batch, rules):
    found = normalize_batch(pa.array(batch, pa.string()), rules)
    assert found.to_pylist() == [normalize(text or "", rules) for text in batch]


@pytest.mark.parametrize("rules", ALL_SETS, ids=str)
def test_a_batch_is_normalized_like_its_members_for_every_ascii_character(rules):
    batch = [f"{before}{chr(code)}{after}" for code in range(128) for before in ("", "0", "A") for after in ("", "7")]
    assert normalize_batch(pa.array(batch), rules).to_pylist() == [normalize(text, rules) for text in batch]


@pytest.mark.slow
@given(st.lists(st.lists(texts, max_size=4), max_size=4), st.data())
def test_a_column_of_identifiers_is_a_sequence_like_a_list(batches, data):
    column = IdentifierColumn([pa.array(batch, pa.string()) for batch in batches])
    plain = list(chain.from_iterable(batches))
    assert (len(column), list(column)) == (len(plain), plain)
    assert column == plain
    assert column != [*plain, "x"]
    assert column[1:3] == plain[1:3]
    assert [column[place] for place in range(len(plain))] == plain
    assert column.has_empty() == ("" in plain)
    assert column.has_repeated() == (len(set(plain)) < len(plain))
    places = data.draw(st.lists(st.integers(0, len(plain) - 1), max_size=5)) if plain else []
    assert list(column.take(np.array(places, dtype=np.int64))) == [plain[place] for place in places]


def test_printing_a_column_shows_no_identifier():
    assert "secret" not in repr(IdentifierColumn([pa.array(["secret"])]))


# --- Reading as agreed -----------------------------------------------------------------------------------------------


def bank(ids: list[object]) -> pd.DataFrame:
    n = len(ids)
    return pd.DataFrame({"id": ids, "job": ["cook"] * n, "income": [1.0] * n, "default": ["no"] * n})


def agreed(*rules: str):
    return agreement_from_mapping(small_mapping(**{"records.identifier_rules": list(rules)}))


def test_identifiers_are_read_as_agreed():
    frame = bank([" ab-01", "Ab 2", "003"])
    assert read_fragment(agreed(), "bank", frame).identifiers == ["ab-01", "Ab 2", "003"]
    assert read_fragment(agreed(*RULES), "bank", frame).identifiers == ["ab01", "ab2", "3"]


@pytest.mark.parametrize(
    ("ids", "rules", "problem"),
    [
        (["secret", "SECRET"], ["ignore-case"], "duplicate"),
        (["sec ret", "secret"], ["ignore-spaces"], "duplicate"),
        (["sec-ret", "secret"], ["ignore-punctuation"], "duplicate"),
        (["0424242", "424242"], ["ignore-leading-zeros"], "duplicate"),
        (["secret", "-"], ["ignore-punctuation"], "empty"),
        (["secré", "secré"], [], "duplicate"),
        (["secret", "\u2003"], [], "empty"),
    ],
)
def test_what_the_rules_merge_or_empty_is_refused_without_a_value(ids, rules, problem):
    with pytest.raises(FragmentError) as caught:
        read_strictly(agreed(*rules), "bank", bank(ids))
    (message,) = caught.value.problems
    assert message.startswith(f"Column 'id' has {problem} identifiers")
    assert all(rule in message for rule in rules)
    shown = str(caught.value) + "".join(traceback.format_exception(caught.value))
    assert not any(text in shown for text in ("sec", "4242"))
    if rules:  # without them the same rows are fine
        assert read_strictly(agreed(), "bank", bank(ids)).n_records == 2
