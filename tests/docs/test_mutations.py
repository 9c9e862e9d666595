"""The faults that tests have to notice can still be put into the source, and name tests that are there."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

from mutations import MUTATIONS, ROOT, SOURCE, Mutation, Outcome


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_a_fault_applies_once_is_python_and_changes_something(mutation: Mutation, tmp_path: Path) -> None:
    copied = tmp_path / mutation.file
    copied.parent.mkdir(parents=True)
    copied.write_text((SOURCE / mutation.file).read_text())
    mutation.apply(tmp_path)
    assert ast.dump(ast.parse(copied.read_text())) != ast.dump(ast.parse((SOURCE / mutation.file).read_text()))


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_a_fault_names_tests_that_are_there_and_look_at_behavior(mutation: Mutation) -> None:
    for test in mutation.tests:
        file, _, function = test.partition("::")
        assert (ROOT / file).is_file() and not file.startswith("tests/docs"), test  # fingerprints are there
        function = function.partition("[")[0]
        assert not function or re.search(rf"^def {function}\(", (ROOT / file).read_text(), re.M), test


def test_there_are_twenty_faults_and_more_of_every_kind() -> None:
    assert len(MUTATIONS) >= 20 and max(Counter(mutation.name for mutation in MUTATIONS).values()) == 1


def test_a_fault_whose_text_is_gone_or_there_twice_is_not_left_out(tmp_path: Path) -> None:
    file = tmp_path / "copublish" / "a.py"
    file.parent.mkdir()
    fault = Mutation("a fault", "a.py", "x = 1", "x = 2", ())
    for text, times in (("y = 1\n", 0), ("x = 1\nx = 1\n", 2)):
        file.write_text(text)
        with pytest.raises(ValueError, match=rf"its text is in copublish/a\.py {times} times"):
            fault.apply(tmp_path)
        assert file.read_text() == text


@pytest.mark.parametrize(("code", "verdict"), [(0, "NOT NOTICED"), (1, "noticed"), (2, "COULD NOT BE TRIED")])
def test_only_a_test_that_fails_counts(code: int, verdict: str) -> None:
    assert Outcome(MUTATIONS[0], code, "", 0.0, "").verdict == verdict
