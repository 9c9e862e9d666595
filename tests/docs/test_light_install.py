"""copublish without the extra 'secure': what needs no engine works, what does need it says how to get it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

from copublish.engines.choice import SPU_VERSION

ROOT = Path(__file__).parents[2]

SCRIPT = """
import importlib.metadata, json, pathlib, sys

HIDDEN = ("spu", "jax", "jaxlib")
found = importlib.metadata.version

def version(name):
    if name in HIDDEN:
        raise importlib.metadata.PackageNotFoundError(name)
    return found(name)

importlib.metadata.version = version
for name in HIDDEN:
    sys.modules[name] = None  # importing it fails

import copublish as cp
from copublish.party.doctor import _secure_engine
from copublish.release.prepare import facts_of
from support.owners import tiny_agreement, tiny_frames, tiny_moments

def main():
    folder = pathlib.Path(sys.argv[1])
    agreement = tiny_agreement(2)
    frames = tiny_frames(agreement)
    said = {"facts": facts_of(agreement)["spu"], "doctor": _secure_engine().found}
    cp.check(agreement, agreement.party_names[0], frames[agreement.party_names[0]])
    cp.describe(agreement)
    release = cp.simulate(agreement, frames)
    release.write(folder / "release")
    cp.load_release(folder / "release")
    cp.report(release).write(folder / "report.html")
    masked = tiny_moments(3, "laplace", name="masked-sum")
    cp.simulate(masked, tiny_frames(masked), engine="masked-sum")
    try:
        cp.simulate(agreement, frames, engine="spu")
    except cp.EngineError as exc:
        said["simulate"] = str(exc)
    print(json.dumps(said))

if __name__ == "__main__":
    main()
"""


def test_what_needs_no_engine_works_without_it(tmp_path):
    (tmp_path / "light.py").write_text(SCRIPT)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, str(tmp_path / "light.py"), str(tmp_path)]
    ran = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    assert ran.returncode == 0, ran.stderr
    said = json.loads(ran.stdout.splitlines()[-1])
    assert "<html" in (tmp_path / "report.html").read_text()
    assert said["facts"] == version("spu")  # what it tells the others is what they have
    assert "pip install 'copublish[secure]'" in said["simulate"] and "computes by the agreement" in said["simulate"]
    assert said["doctor"].startswith("The secure engine is not installed here")


def test_the_version_that_is_told_is_the_one_that_is_installed():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert f"spu=={SPU_VERSION}" in project["optional-dependencies"]["secure"]
    light = " ".join(project["dependencies"])
    assert "spu" not in light and "jax" not in light
