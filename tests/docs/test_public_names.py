"""Public names: at most 35 at the top, the rest in modules for one task each, all listed, documented and importable."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import copublish
from website.reference.python_names import TASK_MODULES, page_of_python_names

ROOT = Path(__file__).parents[2]
MODULES = ["copublish", *(f"copublish.{name}" for name in TASK_MODULES)]
MOST_NAMES_AT_THE_TOP = 35


def public(name: str) -> ModuleType:
    return importlib.import_module(name)


def imports_for_type_checkers(source: str) -> dict[str, str]:
    """What `if TYPE_CHECKING` imports: the name and its home, as `module.name`."""
    block = next(
        node
        for node in ast.parse(source).body
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
    )
    return {
        alias.asname or alias.name: f"{node.module}.{alias.name}"
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def test_the_top_has_at_most_35_names_and_lists_the_task_modules():
    assert len(copublish.__all__) <= MOST_NAMES_AT_THE_TOP
    assert dir(copublish) == sorted([*copublish.__all__, *TASK_MODULES])


def test_the_task_modules_are_all_lazy_modules_there_are():
    lazy = {path.stem for path in (ROOT / "src" / "copublish").glob("*.py") if "lazy_names(" in path.read_text()}
    assert lazy == {"__init__", "lazy_names", *TASK_MODULES}


@pytest.mark.parametrize("name", MODULES)
def test_public_names_are_listed_in_order_importable_and_documented(name):
    module = public(name)
    assert module.__doc__ and sorted(module.__all__) == list(module.__all__)
    assert [one for one in module.__all__ if not getattr(module, one).__doc__] == []
    if name != "copublish":
        assert dir(module) == module.__all__
    with pytest.raises(AttributeError):
        module.no_such_name  # noqa: B018


def test_a_name_is_public_in_one_place():
    listed = [name for module in MODULES for name in public(module).__all__]
    assert sorted(set(listed)) == sorted(listed)


@pytest.mark.parametrize("name", MODULES)
def test_type_checkers_see_the_object_that_programs_get(name):
    module = public(name)
    typed = imports_for_type_checkers(Path(inspect.getfile(module)).read_text())
    expected = {*module.__all__} - {"__version__"} | (set(TASK_MODULES) if name == "copublish" else set())
    assert set(typed) == expected
    for public_name, home in typed.items():
        defining, _, attribute = home.rpartition(".")
        found = getattr(importlib.import_module(defining), attribute)
        assert getattr(module, public_name) is found, public_name


def test_a_name_that_only_type_checkers_see_is_found():
    source = "if TYPE_CHECKING:\n    from copublish.errors import SourceError as Wrong, LedgerError\n"
    assert imports_for_type_checkers(source) == {
        "Wrong": "copublish.errors.SourceError",
        "LedgerError": "copublish.errors.LedgerError",
    }


def test_names_that_moved_are_gone_from_the_top():
    moved = [name for module in MODULES[1:] for name in public(module).__all__]
    assert [name for name in moved if name not in TASK_MODULES and hasattr(copublish, name)] == []
    old = ["how_sure", "cannot_be_told_apart", "jobs"]
    assert [name for name in old if any(hasattr(public(module), name) for module in MODULES)] == []


def test_a_task_module_is_there_after_importing_the_package_only():
    code = (
        "import copublish as cp; cp.drafts.Draft; from copublish.ledger import Limit; print(cp.ledger.Limit is Limit)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "True"


def test_importing_public_modules_loads_no_data_library():
    code = f"import sys, {', '.join(MODULES)}; print(*{{'pandas', 'numpy', 'pydantic'}} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == ""


def missing_in_reference(page: str) -> set[str]:
    """Public names, as they are written after `import copublish as cp`, that the page does not have."""
    names = {
        f"{module}.{name}".replace("copublish.", "cp.", 1) for module in MODULES for name in public(module).__all__
    }
    written = set(re.findall(r"(?<![\w.])cp\.\w+(?:\.\w+)?", page))
    bare = set(re.findall(r"`(\w+)", page))
    return {name for name in names if name not in written and not (name.count(".") == 1 and name[3:] in bare)}


def test_the_reference_of_python_names_every_public_name_with_its_module():
    page = (ROOT / "docs" / "reference" / "python.md").read_text()
    assert missing_in_reference(page) == set()
    assert missing_in_reference(page.replace("cp.ledger.set_limit", "set_limit")) == {"cp.ledger.set_limit"}


def test_the_generated_page_has_every_public_name_under_its_module():
    page = page_of_python_names()
    sections = {part.split("\n")[0].strip("`"): part for part in page.split("\n## ")[1:]}
    assert list(sections) == MODULES
    for module, section in sections.items():
        listed = re.findall(r"toc_label: (\w+)", section)
        assert sorted(listed) == sorted(set(public(module).__all__) - {"__version__"})
