"""Files that must not type-check: what a mechanism or a caller of the main path may not do is refused by mypy.

Each line of `tests/types/` that must be refused has the expected error in a comment. Other lines must be accepted.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "tests" / "types").glob("*.py"))
EXPECTED = re.compile(r"# expect: (.+)$")


def mypy(file: Path, *, source: Path = ROOT / "src") -> dict[int, str]:
    """The errors of mypy by line; it keeps to the settings of the project."""
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", ROOT / "pyproject.toml", "--no-error-summary", file],
        env={"MYPYPATH": str(source), "PATH": ""},
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode in (0, 1), done.stderr
    found: dict[int, str] = {}
    for line in done.stdout.splitlines():
        if match := re.match(r"[^:]+:(\d+): error: (.+)", line):
            found[int(match[1])] = found.get(int(match[1]), "") + match[2]
    return found


def expected(file: Path) -> dict[int, str]:
    lines = enumerate(file.read_text().splitlines(), 1)
    return {number: match[1] for number, line in lines if (match := EXPECTED.search(line))}


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_each_line_with_an_expected_error_is_refused_and_no_other(file: Path) -> None:
    errors, wanted = mypy(file), expected(file)
    assert wanted
    assert errors.keys() == wanted.keys(), errors
    assert {line: errors[line] for line, words in wanted.items() if words not in errors[line]} == {}


@pytest.mark.slow
def test_without_one_rule_a_line_is_no_longer_refused(tmp_path: Path) -> None:
    """A computer that could open would be accepted, so the test above can fail."""
    source = tmp_path / "src"
    shutil.copytree(ROOT / "src" / "copublish", source / "copublish", ignore=shutil.ignore_patterns("__pycache__"))
    computer = source / "copublish" / "kernel" / "secrets" / "computer.py"
    rule = "    def share(self, local: IntArray) -> Secret:\n"
    computer.write_text(
        computer.read_text().replace(rule, f"    def _open(self, secret: Secret) -> IntArray: ...\n\n{rule}", 1)
    )
    file = ROOT / "tests" / "types" / "mechanism_that_opens.py"
    lost = expected(file).keys() - mypy(file, source=source).keys()
    assert [file.read_text().splitlines()[line - 1].split("#")[0].strip() for line in lost] == [
        "computer._open(secret)"
    ]
