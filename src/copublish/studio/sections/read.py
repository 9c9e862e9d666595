"""The section Read: find a release, trust it, use it. Released values alone."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response

import copublish as cp
from copublish.studio.context import Situation, StudioSection, situation_of
from copublish.studio.pages import AS_ATTACHMENT, SameStep, attachment, command_line, page
from copublish.studio.releases import folder_of, key_of, release_folders
from copublish.studio.routing import is_text, view

ROWS = 100
LONGEST_FILTER = 200
MOST_FILES = 200
MOST_VALUES = 200
"""Values of a column that a page lists."""


@dataclass(frozen=True, kw_only=True)
class Listed:
    """A release as the list shows it."""

    key: str
    name: str
    folder: str


@dataclass(frozen=True, kw_only=True)
class Rows:
    """A hundred rows of a table, in words, and where they lie in it."""

    columns: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]
    first: int
    total: int

    @property
    def before(self) -> int | None:
        """Where the rows before these begin."""
        return None if self.first == 0 else max(0, self.first - ROWS)

    @property
    def after(self) -> int | None:
        """Where the rows after these begin."""
        return self.first + ROWS if self.first + ROWS < self.total else None


def show(request: Request) -> Response:
    """Releases and ledgers of this party."""
    situation = situation_of(request)
    problem, budgets = None, []
    try:
        budgets = situation.budgets
    except cp.LedgerError as exc:
        problem = str(exc)
    return page(
        request,
        "read.html.j2",
        section="read",
        title="Read",
        step=SameStep(command="copublish ledger", python=f"cp.ledger.Ledger({str(situation.ledger_file)!r}).budgets()"),
        releases=[_listed(folder) for folder in release_folders(situation)],
        budgets=budgets,
        ledger_problem=problem,
    )


def look(request: Request) -> Response:
    """One release: whether it can be trusted, before anything that it says."""
    situation = situation_of(request)
    folder = folder_of(situation, request.path_params["key"])
    release, problem = _loaded(folder)
    verified = cp.verify_release(folder, _agreed_fingerprints(situation, release))
    return page(
        request,
        "read_one.html.j2",
        section="read",
        title=folder.name if release is None else release.certificate.release,
        step=SameStep(
            command=f"{command_line('copublish', 'verify', folder)}\n{command_line('copublish', 'show', folder)}",
            python=f"cp.verify_release({str(folder)!r})\nrelease = cp.load_release({str(folder)!r})",
        ),
        key=key_of(folder),
        folder=str(folder),
        verified=verified,
        signers=() if release is None or release.signatures is None else tuple(release.certificate.parties),
        problem=problem,
        release=release,
        people=None if release is None else _people(release),
        tables=() if release is None else ("records", *release.tables)[:MOST_FILES],
        cards=_cards(release),
        most_values=MOST_VALUES,
        files=_files(folder),
    )


def table(request: Request) -> Response:
    """A table of a release, by a hundred rows, filtered here and not in the browser."""
    folder = folder_of(situation_of(request), request.path_params["key"])
    release, problem = _loaded(folder)
    name = request.path_params["name"]
    if release is None or name not in ("records", *release.tables):
        raise HTTPException(404)
    column = request.query_params.get("column", "")
    text = request.query_params.get("text", "")[:LONGEST_FILTER]
    first = request.query_params.get("first", "0")
    rows = _rows(release.table(name), column, text, int(first) if first.isdecimal() and len(first) < 10 else 0)
    return page(
        request,
        "read_table.html.j2",
        section="read",
        title=f"{release.certificate.release}: {name}",
        step=SameStep(
            command=command_line("copublish", "show", folder),
            python=f"cp.load_release({str(folder)!r}).to_pandas({name!r})",
        ),
        key=key_of(folder),
        name=name,
        rows=rows,
        columns=tuple(release.table(name).column_names),
        column=column,
        text=text,
        problem=problem,
    )


def file(request: Request) -> Response:
    """One file of a release, as it is, to keep."""
    folder = folder_of(situation_of(request), request.path_params["key"])
    name = request.path_params["name"]
    if name not in _files(folder):
        raise HTTPException(404)
    return FileResponse(
        folder / name,
        media_type="application/octet-stream",
        filename=Path(name).name,
        headers=AS_ATTACHMENT,
    )


def report(request: Request) -> Response:
    """The report on a release, to keep: it is a page of its own, which must not run among ours."""
    folder = folder_of(situation_of(request), request.path_params["key"])
    made = cp.report(cp.load_release(folder))
    return attachment(made.html.encode(), f"{made.release}-report.html")


def notebook(request: Request) -> Response:
    """A notebook that loads a release."""
    folder = folder_of(situation_of(request), request.path_params["key"])
    release = cp.load_release(folder)
    cells = [
        "import copublish as cp",
        f"cp.verify_release({str(folder)!r})",
        f"release = cp.load_release({str(folder)!r})\nrelease",
        "release.to_pandas()  # the records; other tables by name",
    ]
    content = {
        "cells": [
            {
                "cell_type": "code",
                "execution_count": None,
                "id": f"cell-{number}",
                "metadata": {},
                "outputs": [],
                "source": cell,
            }
            for number, cell in enumerate(cells)
        ],
        "metadata": {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return attachment(json.dumps(content, indent=1).encode(), f"{release.certificate.release}.ipynb")


def state(situation: Situation) -> str:
    """How many releases there are."""
    number = len(release_folders(situation))
    return "" if number == 0 else f"{number} release{'s' if number > 1 else ''}"


def _listed(folder: Path) -> Listed:
    """A release by its folder; what is in it is looked at when it is opened."""
    return Listed(key=key_of(folder), name=folder.name, folder=str(folder))


def _loaded(folder: Path) -> tuple[cp.Release | None, str | None]:
    try:
        return cp.load_release(folder), None
    except cp.CopublishError as exc:
        return None, str(exc)


def _agreed_fingerprints(situation: Situation, release: cp.Release | None) -> dict[str, str]:
    """By which keys a release of the agreement here has to be signed; nothing is known of another one's."""
    agreement = situation.agreement
    if agreement is None or release is None or release.certificate.agreement_hash != agreement.hash:
        return {}
    named = {name: party.signer or party.certificate or party.authority for name, party in agreement.parties.items()}
    return {name: fingerprint for name, fingerprint in named.items() if fingerprint}


def _people(release: cp.Release) -> str | None:
    try:
        return release.count().words
    except cp.ReleaseError:
        return None


def _cards(release: cp.Release | None) -> tuple[Any, ...]:
    """Every column as the report shows it; none of a release that no report can be made of."""
    try:
        return () if release is None else cp.report(release).cards
    except cp.CopublishError:
        return ()


def _files(folder: Path) -> list[str]:
    """Files of a release folder that can be kept; nothing that a link leads to."""
    found = [path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink()]
    inside = [path for path in found if is_text(path) and path.resolve().is_relative_to(folder.resolve())]
    return [path.relative_to(folder).as_posix() for path in inside[:MOST_FILES]]


def _rows(table: pa.Table, column: str, text: str, first: int) -> Rows:
    if column in table.column_names and text:
        words = table.column(column).cast(pa.string())
        table = table.filter(pc.match_substring(words, text, ignore_case=True))
    part: Any = table.slice(first, ROWS)
    columns = [[_word(cell) for cell in part.column(name).to_pylist()] for name in part.column_names]
    return Rows(
        columns=tuple(table.column_names),
        cells=tuple(zip(*columns, strict=True)),
        first=first,
        total=table.num_rows,
    )


def _word(cell: object) -> str:
    if cell is None:
        return "missing"
    return f"{cell:,}" if isinstance(cell, int) and not isinstance(cell, bool) else str(cell)


SECTION = StudioSection(
    name="read",
    title="Read",
    state=state,
    routes=(
        view("/read", show),
        view("/read/{key}", look),
        view("/read/{key}/table/{name}", table),
        view("/read/{key}/file/{name:path}", file),
        view("/read/{key}/report", report),
        view("/read/{key}/notebook", notebook),
    ),
)
