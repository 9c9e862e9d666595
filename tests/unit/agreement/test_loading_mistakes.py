"""Messages about mistakes in an agreement tell a newcomer what to do; `support/mistakes.py` lists the mistakes."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from copublish import AgreementError, load_agreement
from support.mistakes import GOOD, MISTAKES, Mistake, write_agreement

WORDS_OF_THE_PROGRAM = re.compile(
    r"pydantic|[Vv]alue error|Traceback|Decimal\(|datetime\.|declare \(|instance of"
    r"|\b(?:tuple|dictionary|dict|ValidationError|ValueError|NoneType|True|False|None|BaseModel|Mapping)\b"
)
"""What only somebody who reads the source would understand; TOML itself writes true and false."""


def every_mistake(test: Any) -> Any:
    return pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name.replace(" ", "-"))(test)


def error_of(mistake: Mistake, folder: Path) -> AgreementError:
    with pytest.raises(AgreementError) as caught:
        load_agreement(write_agreement(mistake.text, folder))
    return caught.value


def test_every_mistake_has_a_name_and_a_text_of_its_own_and_a_message() -> None:
    assert len(MISTAKES) == len({mistake.name for mistake in MISTAKES}) == len({m.text for m in MISTAKES}) >= 110
    assert all(mistake.expect for mistake in MISTAKES)


def test_the_agreement_that_the_mistakes_are_made_in_is_itself_good(tmp_path: Path) -> None:
    assert load_agreement(write_agreement(GOOD, tmp_path)).name == "loan-risk"


@every_mistake
def test_the_message_says_what_is_expected_of_it(mistake: Mistake, tmp_path: Path) -> None:
    message = str(error_of(mistake, tmp_path))
    assert [text for text in mistake.expect if text not in message] == [], message


@every_mistake
def test_the_message_names_the_file_and_the_place_in_it(mistake: Mistake, tmp_path: Path) -> None:
    error = error_of(mistake, tmp_path)
    assert str(tmp_path / "agreement.toml") in str(error)
    try:
        written = tomllib.loads(mistake.text)
    except tomllib.TOMLDecodeError:
        assert re.search(r"line \d+", error.problems[0])
        return
    for problem in error.problems:
        place = problem.split(": ")[0]
        assert place == "the agreement" or place_exists(written, place.split(".")), problem


def place_exists(table: Any, steps: list[str]) -> bool:
    """Whether the dotted place is in the file; its last step may be what is missing there."""
    *above, last = steps
    for step in above:
        table = table[int(step)] if isinstance(table, list) else table.get(step)
        if table is None:
            return False
    return bool(re.fullmatch(r"\w[\w-]*", last))


@every_mistake
def test_the_message_has_no_words_of_the_program(mistake: Mistake, tmp_path: Path) -> None:
    message = str(error_of(mistake, tmp_path)).replace(str(tmp_path / "agreement.toml"), "")
    assert WORDS_OF_THE_PROGRAM.findall(message) == [], message


@every_mistake
def test_one_mistake_is_one_problem(mistake: Mistake, tmp_path: Path) -> None:
    error = error_of(mistake, tmp_path)
    assert len(error.problems) == mistake.problems, str(error)


@every_mistake
def test_the_message_is_a_heading_and_one_line_for_each_problem(mistake: Mistake, tmp_path: Path) -> None:
    error = error_of(mistake, tmp_path)
    assert error.exit_code == 3
    assert len(str(error).splitlines()) == 1 + len(error.problems)
