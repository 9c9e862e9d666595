"""What `pip install copublish` brings: the package with its data, and nothing of the published algorithms."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.wheels import build_wheel

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return build_wheel(ROOT, tmp_path_factory.mktemp("wheel"))


def test_the_wheel_has_every_module_and_no_published_algorithm(wheel):
    source = ROOT / "src"
    modules = {path.relative_to(source).as_posix() for path in source.rglob("*.py")}
    assert {name for name in wheel.names if name.endswith(".py")} == modules
    assert [name for name in wheel.names if "reproduc" in name] == []


def test_the_wheel_has_the_data_of_the_package(wheel):
    source = ROOT / "src"
    endings = (".css", ".j2", ".js", ".LICENSE", ".svg", ".typed")
    data = {path.relative_to(source).as_posix() for path in source.rglob("*") if path.suffix in endings}
    assert len(data) > 2 and data <= set(wheel.names)


def test_the_wheel_asks_for_no_library_of_the_published_algorithms(wheel):
    asked = {re.match(r"[\w.-]+", requirement)[0].lower() for requirement in wheel.requirements}
    assert "spu" in asked, "the list is read"
    assert asked & {"phe", "gmpy2", "copublish-reproduction"} == set()
    assert "copublish.commands" not in wheel.entry_points
