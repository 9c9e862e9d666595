"""The build, step by step: pages, references, notebooks, Zensical, links."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from website import notebooks
from website.errors import SiteError
from website.links import problems_of_links
from website.menus import configuration_for
from website.places import CONFIGURATION, ROOT, Build
from website.reference import GENERATED
from website.staging import moved, stage_pages
from website.workshop import PEOPLE, prepare

FOLDER = ROOT / "build" / "docs"


def build_site(folder: Path = FOLDER, people: int = PEOPLE) -> Path:
    """Build the site anew and return its folder.

    Args:
        folder: Where everything that a build writes goes; what was there is removed.
        people: How many made-up people notebooks work on.

    Raises:
        SiteError: Zensical has a warning, a menu or a link leads to nothing, or a key is not explained.
    """
    build = Build(folder)
    shutil.rmtree(folder, ignore_errors=True)
    stage_pages(build.pages)
    for place, make in GENERATED.items():
        (build.pages / place).parent.mkdir(parents=True, exist_ok=True)
        (build.pages / place).write_text(make(), encoding="utf-8")
    write_notebooks(build, people)
    run_zensical(build)
    if problems := list(problems_of_links(build.site)):
        raise SiteError("Links of the site:\n  " + "\n  ".join(problems))
    return build.site


def write_notebooks(build: Build, people: int) -> None:
    """Run every notebook and write it as a page and as a file to download."""
    prepare(build.workshop, people)
    for script in notebooks.notebooks():
        cells = notebooks.cells_of(script.read_text(encoding="utf-8"))
        page = notebooks.page_of(cells, notebooks.run(cells, build.workshop))
        place = build.pages / "notebooks" / f"{script.stem}.md"
        place.parent.mkdir(exist_ok=True)
        place.with_suffix(".ipynb").write_text(notebooks.ipynb_of(cells), encoding="utf-8")
        taken_along = f"\nTake this page with you as a notebook: [{script.stem}.ipynb]({script.stem}.ipynb).\n"
        place.write_text(moved(page, script, place, build.pages) + taken_along, encoding="utf-8")


def run_zensical(build: Build) -> None:
    """Have Zensical build the staged pages; a warning is an error.

    It reads a configuration beside its pages, so that two builds do not share a cache.
    """
    (build.folder / CONFIGURATION.name).write_text(configuration_for(build.pages), encoding="utf-8")
    environment = {**os.environ, "NO_COLOR": "1", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--strict", "--clean"],
        cwd=build.folder,
        env=environment,
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        raise SiteError(f"Zensical:\n{done.stdout}{done.stderr}")
