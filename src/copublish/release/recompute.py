"""Making the records of a release again from its model, and comparing them with the published ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path

from copublish.release.folder import Release, load_release
from copublish.release.measurements import csv_file, read_parquet
from copublish.release.pairs import PAIRS_FILE, pairs_of_release, pairs_table
from copublish.release.statistics import making_sense_of
from copublish.release.stored import read_stored_release


def compare_records(folder: Path) -> tuple[bool, str]:
    """Whether the published records are those that the model gives, and in words how they differ.

    Released rows that stand for people follow from no model. Tables in CSV have to say what their Parquet files say.

    Raises:
        ReleaseError: If the release cannot be read, or its model makes no records.
    """
    release = load_release(folder)
    with making_sense_of(release):
        problem = _other_csv(release, read_stored_release(folder).contents)
        if problem is None and release.published.rows is not None:
            return True, "stand for people and follow from no model, so there was nothing to compare"
        problem = problem or _other_records(release)
    return problem is None, problem or "follow from the model"


def _other_csv(release: Release, contents: Mapping[str, bytes]) -> str | None:
    """Words for a table that has another content in CSV; nothing if there is none."""
    for name in sorted(contents):
        stem, _, ending = name.rpartition(".")
        if name == PAIRS_FILE:
            if csv_file(pairs_table(pairs_of_release(release))) != contents[name]:
                return f"'{name}' does not say which pairs of columns were measured"
        elif ending == "csv" and csv_file(read_parquet(contents[f"{stem}.parquet"])) != contents[name]:
            return f"'{name}' differs from '{stem}.parquet'"
    return None


def _other_records(release: Release) -> str | None:
    """How the published records differ from those that the model gives; nothing if they do not."""
    again, start = replace(release, stored_records=None), 0
    for published, made in zip_longest(release.record_parts(), again.record_parts()):
        if published is None or made is None:
            return f"there are {'fewer' if published is None else 'more'} records than the model gives"
        if not published.equals(made):
            return f"some of the records from {start + 1:,} to {start + published.num_rows:,} differ from the model's"
        start += published.num_rows
    return None
