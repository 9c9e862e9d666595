"""Long work on public or made-up data, in a process of its own: plans and audits, with progress and cancel.

A job is known by the hash of its inputs. Asking for the same again finds what is there: running, or finished. So two
tabs, or a page that is loaded again, share one. For a page that shows them:

    job = cp.runs.start_job("plan", agreement="agreement.toml", epsilons=["0.5", "1"], runs=3)
    cp.runs.job(job.id).phase    # how far it is; ask again whenever the page is asked
    cp.runs.job(job.id).result   # what `plan(...).to_dict()` has, once it is there
    cp.runs.stop(job.id)         # cancel; other jobs, and what they found, stay
    job.inputs["agreement"] # the hash of the agreement that it was made for: another one now, and it is stale

A job for each mechanism lets rows of a table fill as they end, and lets one fail without the others.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import copublish
from copublish.agreement.loading import load_agreement
from copublish.errors import CopublishError
from copublish.files.home import home_folder
from copublish.files.regular import read_regular
from copublish.party.detached.process import (
    ID,
    LARGEST_FILE,
    REQUEST,
    RESULT,
    begin,
    is_alive,
    read_end,
    read_json,
    refuse_wrong_id,
)
from copublish.party.detached.status import Job, seen_job
from copublish.party.detached.worker import JOBS

INPUT_FILES = ("agreement", "like")
"""Arguments that name files: the job is about what is in them."""


def jobs_folder() -> Path:
    """Where jobs live."""
    return home_folder().absolute() / "jobs"


def start_job(kind: str, **arguments: Any) -> Job:
    """Start `plan` or `audit` as a process of its own, or find the one that was started with the same inputs.

    One that failed, was stopped or was killed is started anew.

    Args:
        kind: The public name: "plan" or "audit".
        arguments: Its arguments as plain JSON values; files by their path. Nothing private: jobs are for public or
            made-up data, and what they find is kept.

    Raises:
        CopublishError: If there is no such job, or a file cannot be read.
    """
    if kind not in JOBS:
        raise CopublishError(f"There is no job '{kind}'. There are: {', '.join(JOBS)}.")
    named = {name: str(Path(arguments[name]).absolute()) for name in INPUT_FILES if arguments.get(name) is not None}
    inputs = {name: _content(Path(path)) for name, path in named.items()}
    request = {"kind": kind, "arguments": {**arguments, **named}, "inputs": inputs}
    id_ = _hash(request)
    folder = jobs_folder() / id_
    if folder.exists() and not is_alive(folder) and not _has_found(folder):
        shutil.rmtree(folder, ignore_errors=True)
    begin(folder, request)
    return seen_job(folder)


def job(id_: str) -> Job:
    """A job as it is now.

    Raises:
        CopublishError: If there is none of that id.
    """
    folder = jobs_folder() / refuse_wrong_id(id_)
    if not folder.is_dir():
        raise CopublishError(f"There is no job '{id_}'.")
    return seen_job(folder)


def list_jobs() -> list[Job]:
    """All jobs of your copublish folder, the newest first."""
    folders = [path for path in jobs_folder().glob("*") if ID.fullmatch(path.name) and path.is_dir()]
    return [seen_job(path) for path in sorted(folders, key=lambda path: -_begun(path))]


def _begun(folder: Path) -> float:
    try:
        return (folder / REQUEST).stat().st_mtime
    except OSError:  # it was taken away meanwhile
        return 0.0


def _has_found(folder: Path) -> bool:
    ended = read_end(folder)
    return ended is not None and ended.state == "complete" and read_json(folder / RESULT) is not None


def _content(path: Path) -> str:
    """What is in a file; of an agreement, what it comes to, with the taxonomies beside it."""
    if path.suffix == ".toml":
        return load_agreement(path).hash
    try:
        stat = path.stat()
        small = stat.st_size <= LARGEST_FILE
        return (
            hashlib.sha256(read_regular(path, LARGEST_FILE)).hexdigest()
            if small
            else f"{stat.st_size} {stat.st_mtime_ns}"
        )
    except OSError as exc:
        raise CopublishError(f"'{path}' cannot be read: {exc.strerror}.") from None


def _hash(request: dict[str, Any]) -> str:
    said = json.dumps([request, copublish.__version__], sort_keys=True)
    return hashlib.sha256(said.encode()).hexdigest()[:32]
