"""Rules that all tests follow: examples come from one profile, so that no test fails by chance or on a slow machine."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from support.profiles import examples
from support.protocol import exchange, letter

ROOT = Path(__file__).parents[2]
PROFILES = ROOT / "tests" / "support" / "profiles.py"


def test_the_loaded_profile_has_no_deadline_and_no_check_of_the_time() -> None:
    few = examples(5, unchecked=[HealthCheck.function_scoped_fixture])
    for used in (settings.default, few):
        assert used.deadline is None and used.database is None
        assert HealthCheck.too_slow in used.suppress_health_check
    assert few.max_examples * 20 == settings.default.max_examples


def test_a_test_run_tries_the_same_examples_each_time_and_a_search_more_and_others() -> None:
    usual, fuzz = settings.get_profile("test"), settings.get_profile("fuzz")
    assert usual.derandomize and not fuzz.derandomize
    assert fuzz.max_examples == 10 * usual.max_examples
    assert fuzz.deadline is None


def settings_of_hypothesis(source: str) -> Iterator[int]:
    """Lines that use Hypothesis's own settings, with which a test could set a deadline."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "hypothesis":
            yield from (node.lineno for name in node.names if name.name == "settings")
        elif isinstance(node, ast.Attribute) and node.attr == "settings" and ast.unparse(node.value) == "hypothesis":
            yield node.lineno


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("from hypothesis import given, settings", [1]),
        ("import hypothesis\n@hypothesis.settings(deadline=200)\ndef test(): ...", [2]),
        ("from support.profiles import examples", []),
    ],
)
def test_a_test_with_settings_of_its_own_is_noticed(source: str, lines: list[int]) -> None:
    assert list(settings_of_hypothesis(source)) == lines


def test_no_test_sets_a_deadline_or_looks_for_other_examples_than_its_profile() -> None:
    files = [file for folder in ("tests", "reproduction/tests") for file in (ROOT / folder).rglob("*.py")]
    assert PROFILES in files
    own = {
        f"{file.relative_to(ROOT)}:{line}"
        for file in files
        if file not in (PROFILES, Path(__file__))
        for line in settings_of_hypothesis(file.read_text())
    }
    assert own == set()


def has_a_module(file: Path, source: Path) -> bool:
    """Whether a test file is named after a module or package of its folder, or after the folder itself."""
    folder = source / file.parent
    modules = (
        {path.stem for path in folder.glob("*") if path.suffix == ".py" or path.is_dir()} if folder.is_dir() else ()
    )
    return any(f"{file.stem}_".startswith(f"test_{name}_") for name in {*modules, folder.name})


def test_every_unit_test_is_named_after_a_module_of_the_folder_that_it_mirrors() -> None:
    unit, source = ROOT / "tests" / "unit", ROOT / "src" / "copublish"
    files = [file.relative_to(unit) for file in unit.rglob("test_*.py")]
    assert len(files) > 100
    assert [str(file) for file in files if not has_a_module(file, source)] == []


def test_a_test_file_of_another_name_or_folder_is_noticed() -> None:
    source = ROOT / "src" / "copublish"
    assert has_a_module(Path("kernel/ledger/test_ledger_file.py"), source)
    assert has_a_module(Path("kernel/ledger/test_budget_of_exchange.py"), source)
    assert not has_a_module(Path("kernel/ledger/test_budgetof.py"), source)
    assert not has_a_module(Path("cli/test_budget.py"), source)
    assert not has_a_module(Path("nowhere/test_budget.py"), source)


def test_contributing_lists_every_module_of_test_support() -> None:
    section = (ROOT / "CONTRIBUTING.md").read_text().partition("**What there is to write tests with**")[2]
    listed = set(re.findall(r"`(\w+)`", section.partition("\n## ")[0]))
    assert listed == {file.stem for file in (ROOT / "tests" / "support").glob("*.py")}


def test_no_two_files_of_tests_have_one_name() -> None:
    """Both would be imported under it, and a run of everything could not collect the second."""
    names = [file.name for folder in ("tests", "reproduction/tests") for file in (ROOT / folder).rglob("test_*.py")]
    assert sorted(name for name in set(names) if names.count(name) > 1) == []


@pytest.mark.parametrize("make", [letter, exchange, letter])
def test_a_topic_that_a_test_made_up_is_free_for_the_next_test(make: Callable[[str], object]) -> None:
    make("a topic of one test")
    with pytest.raises(ValueError, match="taken by another entry"):
        (exchange if make is letter else letter)("a topic of one test")
