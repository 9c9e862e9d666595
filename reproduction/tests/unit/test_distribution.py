"""The distribution: its wheel, its entry point, and a command that loads nothing heavy before it runs."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
import typer

from copublish.cli.plug_ins import GROUP, add_plug_ins
from support.wheels import build_wheel

ROOT = Path(__file__).parents[2]
ENTRY_POINT = "copublish_reproduction.command:register"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return build_wheel(ROOT, tmp_path_factory.mktemp("wheel"))


def test_the_wheel_has_every_module_and_the_entry_point(wheel):
    source = ROOT / "src"
    files = {path.relative_to(source).as_posix() for path in source.rglob("*") if path.suffix in (".py", ".typed")}
    assert {name for name in wheel.names if ".dist-info/" not in name} == files
    assert wheel.entry_points.split("\n")[:2] == [f"[{GROUP}]", f"reproduce = {ENTRY_POINT}"]


def test_the_wheel_asks_for_the_copublish_of_its_own_version(wheel):
    assert "copublish==0.1.0" in wheel.requirements
    assert {requirement.split(">")[0].split("<")[0] for requirement in wheel.requirements} >= {"phe", "gmpy2"}


def test_the_entry_point_adds_the_command():
    app = typer.Typer()
    assert add_plug_ins(app, [EntryPoint("reproduce", ENTRY_POINT, GROUP)]) == []
    (command,) = app.registered_commands
    assert command.callback.__module__ == "copublish_reproduction.command"


def test_adding_the_command_loads_no_experiment_and_no_library_for_them():
    code = (
        "import sys, typer; from copublish_reproduction.command import register\n"
        "app = typer.Typer(); register(app)\n"
        "ours = [name for name in sys.modules if name.startswith('copublish_reproduction.')]\n"
        "print(*ours, *{'phe', 'matplotlib', 'sklearn', 'scipy'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["copublish_reproduction.command"]
