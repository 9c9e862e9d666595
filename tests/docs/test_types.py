"""Files that must not type-check: what a mechanism or a caller of the main path may not do is refused by mypy.

Each line of `tests/types/` that must be refused has the expected error in a comment. Other lines must be accepted.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "tests" / "types").glob("*.py"))
CACHE = ROOT / ".mypy_cache"
EXPECTED = re.compile(r"# expect: (.+)$")


def mypy(*files: Path, options: Sequence[str | Path] = (), cache: Path = CACHE) -> dict[str, dict[int, str]]:
    """The errors of mypy by the name of a file and by line; it keeps to the settings of the project."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--config-file", ROOT / "pyproject.toml", "--cache-dir", cache),
            *("--no-error-summary", *options, *files),
        ],
        env={"MYPYPATH": str(ROOT / "src"), "PATH": ""},
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode in (0, 1), done.stderr
    errors: dict[str, dict[int, str]] = {file.name: {} for file in files}
    for line in done.stdout.splitlines():
        if match := re.match(r"([^:]+):(\d+): error: (.+)", line):
            of_file = errors.setdefault(Path(match[1]).name, {})
            of_file[int(match[2])] = of_file.get(int(match[2]), "") + match[3]
    return errors


def expected(file: Path) -> dict[int, str]:
    lines = enumerate(file.read_text().splitlines(), 1)
    return {number: match[1] for number, line in lines if (match := EXPECTED.search(line))}


@pytest.mark.slow
def test_each_line_with_an_expected_error_is_refused_and_no_other() -> None:
    errors = mypy(*FILES)
    for file in FILES:
        wanted = expected(file)
        assert wanted, file
        assert errors[file.name].keys() == wanted.keys(), errors[file.name]
        of_file = errors[file.name]
        assert {line: of_file[line] for line, words in wanted.items() if words not in of_file[line]} == {}
    assert errors.keys() == {file.name for file in FILES}


@pytest.mark.slow
def test_without_one_rule_a_line_is_no_longer_refused(tmp_path: Path) -> None:
    """A computer that could open would be accepted, so the test above can fail."""
    computer, changed = ROOT / "src" / "copublish" / "kernel" / "secrets" / "computer.py", tmp_path / "computer.py"
    rule = "    def share(self, local: IntArray) -> Secret:\n"
    opens = "    def _open(self, secret: Secret) -> IntArray: ...\n\n"
    changed.write_text(computer.read_text().replace(rule, opens + rule, 1))
    if CACHE.exists():  # a copy, so that what is kept of the project stays right
        shutil.copytree(CACHE, tmp_path / "cache")
    file = ROOT / "tests" / "types" / "mechanism_that_opens.py"
    errors = mypy(file, options=["--shadow-file", computer, changed], cache=tmp_path / "cache")
    lost = expected(file).keys() - errors[file.name].keys()
    lines = file.read_text().splitlines()
    assert [lines[line - 1].partition("#")[0].strip() for line in lost] == ["computer._open(secret)"]
