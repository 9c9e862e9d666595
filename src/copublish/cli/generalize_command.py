"""`copublish generalize`: apply a release's cut to other data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import typer

from copublish.cli.terminal import (
    Format,
    FormatOption,
    TableOption,
    note,
    note_rules,
    print_json,
    refuse_inside_release,
    refuse_own_input,
)
from copublish.errors import ReleaseError, unsafe_texts
from copublish.files.regular import read_regular
from copublish.release.evidence.completeness import MEASUREMENTS_FILE
from copublish.release.folder import generalization_of, load_release
from copublish.release.generalization import Generalization
from copublish.release.measurements import StoredMeasurements
from copublish.release.stored import LARGEST_JSON
from copublish.rows.sources import KINDS_OF_DATA, source_from
from copublish.tools.evaluation.generalize import CANNOT, generalize_and_tell


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("generalize")(generalize)


def generalize(
    release: Annotated[Path, typer.Argument(help="A release folder, or its measurements.json.")],
    data: Annotated[str, typer.Option(help=f"Data to generalize: {KINDS_OF_DATA}.")],
    out: Annotated[Path, typer.Option(help="Where to write: .csv or .parquet.")],
    table: TableOption = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="End with exit code 4 if any value is not as agreed.")
    ] = False,
    output: FormatOption = Format.TEXT,
) -> None:
    """Generalize other data the way a release did, for example a test set. Costs nothing.

    The output has the release's attributes, and the class if it is there; it is NOT private: it holds one row for
    every row that went in. Values that are not as agreed are changed as a run changes them, and told.

    Example: copublish generalize release/ --data holdout.csv --out holdout-generalized.csv
    """
    cut, path = _generalization(release)
    if out.suffix.lower() not in (".csv", ".parquet"):
        raise typer.BadParameter("end the name in .csv or .parquet", param_hint="--out")
    refuse_inside_release(out, path.parent)
    refuse_own_input(out, data)
    told = generalize_and_tell(cut, source_from(data, table), strict=strict)
    rows = told.table
    (pq.write_table if out.suffix.lower() == ".parquet" else pa_csv.write_csv)(rows, str(out))
    note(f"Wrote {rows.num_rows:,} generalized rows to {out}. They are not private: do not publish them.")
    note_rules("The data", told.changes)
    if output is Format.JSON:
        print_json({"file": str(out), "rows": rows.num_rows, "rules": [rule.to_dict() for rule in told.changes]})


def _generalization(release: Path) -> tuple[Generalization, Path]:
    """The generalization of a release folder, or of its `measurements.json`, and that file."""
    if release.is_dir():
        return generalization_of(load_release(release), CANNOT), release / MEASUREMENTS_FILE
    try:
        content = json.loads(read_regular(release, LARGEST_JSON))
        problem = next(unsafe_texts(content), None)
        if problem is not None:
            raise ReleaseError(f"'{release}' is not as copublish writes it. {problem}.")
        described = StoredMeasurements.from_json(content)
        cut = Generalization(described.public_columns, described.generalized)
    except OSError as exc:
        raise ReleaseError(f"'{release}' cannot be read: {exc.strerror}.") from exc
    except (ValueError, LookupError, ArithmeticError, RecursionError) as exc:
        raise ReleaseError(f"'{release}' cannot be read as the measurements of a release.") from exc
    if not cut.runs:
        raise ReleaseError(f"'{release}' is about values that were not generalized, so {CANNOT}.")
    return cut, release
