"""`copublish report`: one page about a release, to read, send and print."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from copublish.cli.terminal import (
    Format,
    FormatOption,
    errors_console,
    note,
    print_json,
    refuse_inside_release,
    warn_first,
)
from copublish.errors import CopublishError, EvaluationError
from copublish.files.regular import MIB, read_regular
from copublish.release.folder import load_release

LARGEST_SCORES = 16 * MIB


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("report")(report)


def report(
    folder: Annotated[Path, typer.Argument(help="A release folder.")],
    evaluation: Annotated[
        Path | None, typer.Option(help="Scores from 'copublish evaluate --out FILE', to show how useful it is.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Where to write the page.")] = Path("report.html"),
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it is there.")] = False,
    output: FormatOption = Format.TEXT,
) -> None:
    """Write a report on a release for privacy officers and analysts: one HTML page that opens offline.

    It says in plain words what is protected and what is not, what was disclosed at which price, what was split, what
    the counts say with error bars, what each party saw, and how to analyze the data in Python and R. It is made from
    the release alone and costs nothing. With --evaluation it also holds scores that are not private, and says so.

    Example: copublish report release/ --out report.html
    """
    from copublish.release.report.page import report_page

    refuse_inside_release(out, folder)
    if out.exists() and not force:
        raise CopublishError(f"'{out}' exists. Choose another --out, or --force to replace it.")
    release = load_release(folder)
    page = report_page(release, None if evaluation is None else _read_scores(evaluation))
    out.write_text(page, encoding="utf-8")
    if evaluation is not None:
        note("The report holds scores from real records: it is not private. Keep it where the data are kept.")
    if output is Format.JSON:
        print_json({**release.warning, "file": str(out), "bytes": len(page.encode())})
        return
    warn_first(release.certificate.warning, errors_console)
    note(f"Wrote {out}. Open it in a browser, or print it.")


def _read_scores(path: Path) -> dict[str, Any]:
    try:
        scores = json.loads(read_regular(path, LARGEST_SCORES))
    except OSError as exc:
        raise EvaluationError(f"'{path}' cannot be read: {exc.strerror}.") from exc
    except (ValueError, RecursionError) as exc:
        raise EvaluationError(f"'{path}' cannot be read as scores. 'copublish evaluate' writes them.") from exc
    if not isinstance(scores, dict):
        raise EvaluationError(f"'{path}' holds no scores. 'copublish evaluate' writes them.")
    return scores
