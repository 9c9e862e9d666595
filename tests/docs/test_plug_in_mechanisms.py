"""A mechanism of another distribution, found by its entry point: in agreements, runs on both engines and releases."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import toy_mechanism

from copublish.mechanisms.registry import GROUP
from support.commands import COMMAND_LINE
from support.examples import write_specialization_demo
from support.processes import Program

NAME, MODULE = "largest-group", "largest_group_package"
SECTION = f'[mechanism]\nname = "{NAME}"\ncolumn = "job"\n'
RECORDS = 300

SIGNED = """
import sys
from pathlib import Path
from support.signed import Signers
mechanism = {"name": "largest-group", "column": "region"}
signers = Signers(Path(sys.argv[1]), changes={"mechanism": mechanism, "partition": "vertical"})
signers.publish()["bank"].write(Path(sys.argv[1]) / "release")
"""
FACTS = """
import json, sys
import copublish as cp
from copublish.mechanisms.registry import load_plug_ins
from copublish.release.prepare import facts_of
from support import small_mapping
mechanism = json.loads(sys.argv[1])
agreement = cp.agreement_from_mapping(small_mapping(**({"mechanism": mechanism} if mechanism else {})))
print(json.dumps({"facts": facts_of(agreement)["mechanism"], "problems": load_plug_ins()}))
"""


def source_of_package() -> str:
    """The example of CONTRIBUTING, as a package of its own has it: nothing is registered by hand."""
    source = Path(toy_mechanism.__file__).read_text()
    source, calls = re.subn(r"^register\(.*\n", "", source, flags=re.M)
    source, imports = re.subn(r"^from copublish\.mechanisms\.registry import .*\n", "", source, flags=re.M)
    assert (calls, imports) == (1, 1)
    return source


def install(folder: Path, source: str, *, name: str = NAME, module: str = MODULE, what: str = "LargestGroup") -> Path:
    """Install a distribution with one entry point, as pip does: a module, and metadata beside it."""
    folder.mkdir(exist_ok=True)
    (folder / f"{module}.py").write_text(source)
    metadata = folder / f"{module}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[{GROUP}]\n{name} = {module}:{what}\n")
    return folder


def python(
    program: str, *arguments: object, installed: Path | None, code: int = 0, anew: bool = False
) -> tuple[str, str]:
    """Run Python in a process of its own, with what lies in a folder installed; return its output and its errors.

    Args:
        program: The code.
        arguments: What it is given.
        installed: The folder.
        code: The exit code that is expected.
        anew: Whether the process loads the program, rather than be forked from one that has.
    """
    path = os.pathsep.join(filter(None, [str(installed or ""), *sys.path]))
    environment = {**os.environ, "PYTHONPATH": path, "COLUMNS": "120", "NO_COLOR": "1"}
    command = [sys.executable, "-c", program, *map(str, arguments)]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    start: Any = partial(subprocess.Popen, **pipes) if anew else Program
    done = start(command, env=environment)
    output, errors = done.communicate(timeout=300)
    assert done.returncode == code, errors
    return output, errors


def copublish(*arguments: object, installed: Path | None, code: int = 0, anew: bool = False) -> tuple[str, str]:
    return python(COMMAND_LINE, *arguments, installed=installed, code=code, anew=anew)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install(tmp_path_factory.mktemp("site") / "packages", source_of_package())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An agreement on the plug-in's mechanism, and the data of two parties."""
    folder = tmp_path_factory.mktemp("demo")
    write_specialization_demo(folder, RECORDS)
    agreed, replaced = re.subn(r"\[mechanism\]\n(\w.*\n)+", SECTION, (folder / "agreement.toml").read_text())
    assert replaced == 1
    (folder / "agreement.toml").write_text(agreed)
    return folder


def simulate(folder: Path, out: str, engine: str, installed: Path | None, code: int = 0, anew: bool = False) -> str:
    data = ["--data", f"bank={folder / 'bank.parquet'}", "--data", f"loans={folder / 'loans.csv'}"]
    to = ["--out", folder / out, "--engine", engine]
    return copublish("simulate", folder / "agreement.toml", *data, *to, installed=installed, code=code, anew=anew)[1]


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["ideal", "spu"])
def test_an_installed_mechanism_selects_and_measures_on_both_engines(folder: Path, installed: Path, engine: str):
    simulate(folder, engine, engine, installed, anew=engine == "ideal")
    release = json.loads(copublish("show", folder / engine, "--format", "json", installed=installed)[0])
    certificate = release["certificate"]
    assert (certificate["mechanism"], certificate["engine"]["name"]) == (NAME, engine)
    assert f"{NAME} 1" in certificate["software"]["mechanism"]
    assert [each["kind"] for each in certificate["disclosures"]] == ["select", "measure"]
    (measured,) = release["measurements"]["measured"]
    assert [axis["column"] for axis in measured["axes"]] == ["job", "default"] and measured["entries"] in (4, 6)
    assert set(release["estimates"]) == {"job", "default"}


@pytest.mark.slow
def test_a_signed_release_verifies_where_the_plug_in_is_not_installed(tmp_path: Path, installed: Path):
    python(SIGNED, tmp_path, installed=installed)
    for here in (installed, None):
        verified = copublish("verify", tmp_path / "release", "--format", "json", installed=here, code=11)
        assert json.loads(verified[0])["verdict"] == "intact, signers unknown"
    shown = json.loads(copublish("show", tmp_path / "release", "--format", "json", installed=installed)[0])
    assert shown["certificate"]["mechanism"] == NAME
    _, refused = copublish("show", tmp_path / "release", installed=None, code=7)
    assert "a mechanism that this version does not know" in " ".join(refused.split())


@pytest.mark.slow
def test_without_the_plug_in_its_name_is_unknown(folder: Path):
    refused = " ".join(simulate(folder, "nowhere", "ideal", None, code=3).split())
    assert f"mechanism.name: '{NAME}' is not one of 'marginals'" in refused
    assert not (folder / "nowhere").exists()


def facts(installed: Path | None, mechanism: dict[str, str] | None = None) -> dict[str, object]:
    return dict(json.loads(python(FACTS, json.dumps(mechanism), installed=installed)[0]))


@pytest.mark.slow
def test_parties_compare_the_version_of_a_plug_in_only_if_they_agreed_on_it(installed: Path):
    with_it, without = facts(installed), facts(None)
    assert with_it == without and NAME not in str(without["facts"])
    agreed = facts(installed, {"name": NAME, "column": "region"})
    assert agreed["facts"] == f"{without['facts']}, {NAME} 1"


CONTRADICTING = "    counts_alone: ClassVar[bool] = True\n    publishes_each_record: ClassVar[bool] = True\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (('Literal["largest-group"]', 'Literal["marginals"]'), "there is a mechanism 'marginals' already"),
        (("    column: str\n", f"    column: str\n{CONTRADICTING}"), "cannot be registered: tables of counts are all"),
        (("from __future__", "import no_such_library\nfrom __future__"), "SyntaxError"),
        (("import numpy", "import no_such_library, numpy"), "No module named 'no_such_library'"),
        (("class LargestGroup(", "class Other("), "has no attribute 'LargestGroup'"),
        (("class LargestGroup(", "LargestGroup = dict\n\n\nclass Other("), "it does not derive from"),
    ],
    ids=["taken name", "contradicting traits", "broken", "needs a library", "is missing", "another class"],
)
def test_a_plug_in_that_cannot_be_registered_is_named_and_others_work(
    tmp_path: Path, installed: Path, change: tuple[str, str], said: str
):
    source = source_of_package()
    assert change[0] in source
    both = install(tmp_path / "packages", source.replace(*change), name="broken", module="broken_package")
    install(both, source)
    told = facts(both, {"name": NAME, "column": "region"})
    (problem,) = told["problems"]
    assert problem.startswith("The plug-in 'broken' (broken_package:LargestGroup) could not be loaded")
    assert said in problem
    refused = python(FACTS, json.dumps({"name": "nobody"}), installed=both, code=1)[1]
    assert said in refused.partition("mechanism.name: 'nobody' is not one of")[2], "it says why names are missing"
