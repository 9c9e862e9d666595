"""Lines of code about a release: of the right kind, filled in with its numbers. Other tests run them."""

from __future__ import annotations

import ast
import re
from functools import cache

import pytest

import copublish as cp
from copublish.mechanisms.published import Scores
from copublish.release.measurements import table_files
from copublish.release.render.snippets import (
    PYTHON_CATEGORY,
    PYTHON_CELLS,
    PYTHON_NUMBER,
    PYTHON_RECORDS,
    PYTHON_SUMS,
    Snippets,
    _of_sums,
    quoted,
    snippets,
)
from support.any_release import any_release, cases_of

KINDS = {
    "specialization": PYTHON_CELLS,
    "marginals": PYTHON_CELLS,
    "copula": PYTHON_CELLS,
    "hpdp": PYTHON_CELLS,
    "vhdp": PYTHON_CATEGORY,
    "idp-ir": PYTHON_RECORDS,
}

STEERED = "copula vertical use-informative 3-classes"
"""A release with tables that divided its budget."""


@cache
def release(mechanism: str) -> cp.Release:
    return any_release(STEERED if mechanism == STEERED else cases_of(mechanism)[0])


@cache
def lines(mechanism: str) -> Snippets:
    return snippets(release(mechanism))


def shape(template: str) -> list[str]:
    """The lines of a template up to the first thing that is filled in."""
    return [line.partition("{")[0] for line in template.splitlines()]


def has_the_shape(code: str, template: str) -> bool:
    rest = code.splitlines()
    return all(any(line.startswith(start) for line in rest) for start in shape(template))


@pytest.mark.parametrize("mechanism", KINDS)
def test_the_kind_of_lines_follows_from_what_was_published(mechanism: str) -> None:
    python = lines(mechanism).python
    assert has_the_shape(python, KINDS[mechanism])
    others = {PYTHON_CELLS, PYTHON_SUMS, PYTHON_CATEGORY, PYTHON_NUMBER, PYTHON_RECORDS} - {KINDS[mechanism]}
    assert not any(has_the_shape(python, other) for other in others)


@pytest.mark.parametrize("mechanism", KINDS)
def test_lines_are_whole_and_nothing_is_left_to_fill_in(mechanism: str) -> None:
    found = lines(mechanism)
    ast.parse(found.python)
    ast.parse(found.copublish)
    for code in (found.copublish, found.python, found.r):
        assert not re.search(r"\{(column|file|count|place|value|kept|far|within|people|low)\}", code)
        assert "None" not in code and "nan" not in code
    assert bool(found.copublish) == (mechanism != "idp-ir")  # which answers nothing


def texts(code: str) -> set[str]:
    """All strings in some lines of Python."""
    return {
        node.value
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


@pytest.mark.parametrize("mechanism", ["specialization", "marginals", "copula", "hpdp", STEERED])
def test_lines_name_a_file_and_a_column_of_the_release(mechanism: str) -> None:
    files = {f"measured/{name}.csv": table for name, table in table_files(release(mechanism).published)}
    assert any(table.steered for table in files.values()) == (mechanism == STEERED)
    named = texts(lines(mechanism).python)
    (file,) = named & files.keys()
    assert not files[file].steered
    assert named & set(files[file].columns) and "noisy_count" in named
    assert file in release(mechanism).files()
    for text in (quoted(file), '"noisy_count"'):
        assert text in lines(mechanism).r


def test_lines_of_copublish_ask_what_the_release_answers() -> None:
    """Each line is run: what a release refuses is not offered."""
    asked = 0
    for mechanism in ("specialization", "marginals", "copula", "hpdp", "vhdp"):
        one = release(mechanism)
        for line in lines(mechanism).copublish.splitlines():
            if line.startswith("print("):
                said = eval(line.removeprefix("print(").removesuffix(")"), {"release": one})
                assert isinstance(said, cp.Estimate)
                asked += 1
    assert asked >= 10


def test_a_release_of_sums_alone_has_lines_about_scores() -> None:
    """Copula's tables are left out here; of its sums those of a category with two values are asked."""
    one = next(
        any_release(case)
        for case in cases_of("hpdp")
        if any(
            len(own.axes) == 1 and isinstance(own.axes[0], Scores) and len(own.axes[0].scores) == 2
            for own in any_release(case).published.measured
        )
    )
    python, _, filled = _of_sums(one)
    place = int(str(filled["place"]))
    measured = one.published.measured[place]
    (axis,) = measured.axes
    assert isinstance(axis, Scores) and filled["column"] == quoted(axis.column)
    assert (filled["first"], filled["apart"]) == (axis.scores[0], axis.scores[1] - axis.scores[0])
    assert float(str(filled["noisy"])) == pytest.approx(measured.values[0] / measured.times)
    ast.parse(python.format(**filled))
    # The share that the lines compute is the reader's, up to how it combines measurements.
    n = float(str(filled["people"]))
    share = (float(str(filled["noisy"])) / n - axis.scores[0]) / (axis.scores[1] - axis.scores[0])
    domain = one.published.columns.domains[axis.column]
    said = one.share(axis.column, domain.label((1, 2)))
    assert said.value is None or abs(share - said.value) <= 2 * (said.within or 0.0)


@pytest.mark.parametrize(
    "text", ["a", 'so"uth', "back\\slash", "line\nbreak", "tab\t", "{brace}", "%s", "# no comment", "\x00", "ü"]
)
def test_a_text_is_one_string_of_python_whatever_is_in_it(text: str) -> None:
    spelled = quoted(text)
    assert ast.literal_eval(spelled) == text and "\n" not in spelled
    code = PYTHON_CELLS.format(
        file=quoted("f"), count=quoted("c"), column=spelled, python_total="", python_less="", within=1, far=1
    )
    assert text in texts(code)
