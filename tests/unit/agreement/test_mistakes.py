"""Every file in `mistakes/` is a good agreement with one mistake; the message must tell a newcomer what to do.

The lines `# expect: ...` at the top of a file are texts that the message must contain. A line `# problems: 2, ...`
says that this one mistake shows in two places and why.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from copublish import AgreementError, load_agreement

MISTAKES = sorted((Path(__file__).parent / "mistakes").glob("*.toml"))

WORDS_OF_THE_PROGRAM = re.compile(
    r"pydantic|[Vv]alue error|Traceback|Decimal\(|datetime\.|declare \(|instance of"
    r"|\b(?:tuple|dictionary|dict|ValidationError|ValueError|NoneType|True|False|None|BaseModel|Mapping)\b"
)
"""What only somebody who reads the source would understand; TOML itself writes true and false."""


def header(path: Path, word: str) -> list[str]:
    prefix = f"# {word}: "
    return [line.removeprefix(prefix) for line in path.read_text().splitlines() if line.startswith(prefix)]


def message_of(path: Path) -> AgreementError:
    with pytest.raises(AgreementError) as caught:
        load_agreement(path)
    return caught.value


def every_mistake(test: Any) -> Any:
    return pytest.mark.parametrize("path", MISTAKES, ids=lambda path: path.stem)(test)


def test_there_are_mistakes_to_try() -> None:
    assert len(MISTAKES) >= 24
    assert [path.name for path in MISTAKES if not path.read_text().startswith("# expect: ")] == []


def test_the_agreement_that_the_mistakes_are_made_in_is_itself_good(tmp_path: Path) -> None:
    mistaken = next(path for path in MISTAKES if path.stem.endswith("epsilon-zero"))
    good = mistaken.read_text().replace("epsilon = 0\n", "epsilon = 1.0\n")
    (tmp_path / "agreement.toml").write_text(good)
    (tmp_path / "jobs.json").write_text((mistaken.parent / "jobs.json").read_text())
    assert load_agreement(tmp_path / "agreement.toml").name == "loan-risk"


@every_mistake
def test_the_message_says_what_is_expected_of_it(path: Path) -> None:
    message = str(message_of(path))
    assert [text for text in header(path, "expect") if text not in message] == [], message


@every_mistake
def test_the_message_names_the_file_and_the_place_in_it(path: Path) -> None:
    error = message_of(path)
    assert str(path) in str(error)
    try:
        written = tomllib.loads(path.read_text())
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
def test_the_message_has_no_words_of_the_program(path: Path) -> None:
    message = str(message_of(path)).replace(str(path), "")
    assert WORDS_OF_THE_PROGRAM.findall(message) == [], message


@every_mistake
def test_one_mistake_is_one_problem(path: Path) -> None:
    expected = int(header(path, "problems")[0].split(",")[0]) if header(path, "problems") else 1
    error = message_of(path)
    assert len(error.problems) == expected, str(error)


@every_mistake
def test_the_message_is_a_heading_and_one_line_for_each_problem(path: Path) -> None:
    error = message_of(path)
    assert error.exit_code == 3
    assert len(str(error).splitlines()) == 1 + len(error.problems)
