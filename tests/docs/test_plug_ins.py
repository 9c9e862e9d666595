"""Commands of other distributions: there, absent or broken, and every other command works in all three cases."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from copublish.cli.plug_ins import GROUP, add_plug_ins
from copublish.errors import CopublishError

GREETING = """
import typer

def register(app: typer.Typer) -> None:
    @app.command("greet")
    def greet(name: str) -> None:
        '''Greet somebody.'''
        typer.echo(f"Hello {name}")
"""
HALF = """
def register(app):
    app.command("half")(print)
    raise ValueError("only half of it")
"""


def install(folder: Path, name: str, source: str | None) -> None:
    """Install a distribution with one plug-in, whose module is missing if it has no source."""
    metadata = folder / f"{name}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[{GROUP}]\n{name} = {name}_module:register\n")
    if source is not None:
        (folder / f"{name}_module.py").write_text(source)


def copublish(*arguments: str, installed: Path, without: str = "") -> subprocess.CompletedProcess[str]:
    """Run the command line in a new process, with what lies in a folder installed and one plug-in not."""
    code = (
        "import copublish.cli.plug_ins as plug_ins; from copublish.cli import main\n"
        "found = plug_ins.entry_points\n"
        f"plug_ins.entry_points = lambda group: [e for e in found(group=group) if e.name != {without!r}]\n"
        "main()"
    )
    path = os.pathsep.join(filter(None, [str(installed), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": path, "COLUMNS": "120", "NO_COLOR": "1"}
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, env=environment)


def test_a_plug_in_adds_its_command(tmp_path):
    install(tmp_path, "greet", GREETING)
    done = copublish("greet", "Ada", installed=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "Hello Ada\n", "")
    assert "Greet somebody." in copublish("--help", installed=tmp_path).stdout


def test_without_its_distribution_reproduce_says_how_to_get_it(tmp_path):
    for arguments in ((), ("list",), ("all", "--data", "here", "--runs", "3")):
        done = copublish("reproduce", *arguments, installed=tmp_path, without="reproduce")
        assert (done.returncode, done.stdout) == (1, "")
        assert "pip install ./reproduction" in done.stderr
        assert "Traceback" not in done.stderr
    shown = copublish("--help", installed=tmp_path, without="reproduce")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "reproduce" in shown.stdout


@pytest.mark.parametrize("source", [None, "1 / 0", "import no_such_library", "register = None", HALF])
def test_a_broken_plug_in_is_named_and_costs_its_own_commands_alone(tmp_path, source):
    install(tmp_path, "broken", source)
    install(tmp_path, "greet", GREETING)
    done = copublish("greet", "Ada", installed=tmp_path)
    assert (done.returncode, done.stdout) == (0, "Hello Ada\n")
    assert done.stderr.startswith("The plug-in 'broken' (broken_module:register) could not be loaded")
    assert "Traceback" not in done.stderr and len(done.stderr.splitlines()) == 1


def test_a_plug_in_that_breaks_half_way_leaves_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "half_module.py").write_text(HALF)
    app = typer.Typer()
    (problem,) = add_plug_ins(app, [EntryPoint("reproduce", "half_module:register", GROUP)])
    assert "ValueError: only half of it" in problem
    assert [command.name for command in app.registered_commands] == ["reproduce"]
    refused = CliRunner().invoke(app, ["list", "--data", "here"])
    assert isinstance(refused.exception, CopublishError)
    assert "pip install ./reproduction" in str(refused.exception)


TAKING = """
def register(app):
    app.command("harmless")(lambda: print("harmless"))
    app.command("{name}")(lambda: print("taken over"))
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["run", "ledger", "greet"])
def test_a_plug_in_with_a_command_whose_name_is_taken_is_refused(tmp_path, name):
    install(tmp_path, "greet", GREETING)
    install(tmp_path, "taking", TAKING.format(name=name))
    for arguments in ((name, "--help"), ("--help",)):
        done = copublish(*arguments, installed=tmp_path)
        assert done.returncode == 0 and "taken over" not in done.stdout and "harmless" not in done.stdout
        said = " ".join(done.stderr.split())
        assert said.startswith(
            f"The plug-in 'taking' (taking_module:register) has commands whose names are taken: {name}. "
            "None of its commands was added. Ask its authors for other names, or uninstall it"
        )
    assert copublish("greet", "Ada", installed=tmp_path).stdout == "Hello Ada\n"


def test_the_commands_of_a_group_are_added_with_it(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    source = "import typer\ninner = typer.Typer()\ninner.command('say')(lambda: print('said'))\n"
    (tmp_path / "grouped_module.py").write_text(source + "register = lambda app: app.add_typer(inner, name='words')\n")
    app = typer.Typer()
    assert add_plug_ins(app, [EntryPoint("grouped", "grouped_module:register", GROUP)]) == []
    assert CliRunner().invoke(app, ["words", "say"]).stdout == "said\n"


def test_help_loads_no_library_that_only_some_commands_need():
    code = (
        "import sys; from copublish.cli import main\n"
        "sys.argv = ['copublish', '--help']\n"
        "try: main()\n"
        "finally: print(*{'matplotlib', 'sklearn', 'phe', 'jax'} & set(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr.strip()) == (0, "")
