"""How far published records are from their owner's own rows, matched one by one: the MeanSSE of the iDP-IR paper.

Only where every record is published, and only with the map that a run left beside its owner's ledger.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from copublish.agreement.columns import PublicColumns
from copublish.agreement.domain import Domain, NumericalDomain
from copublish.agreement.encoding_rules import quantize
from copublish.errors import EvaluationError, FragmentError
from copublish.kernel.records.record_map import RecordMap, digest_of_rows
from copublish.party.publishing import read_record_map
from copublish.release.folder import Release, making_sense_of
from copublish.rows.sources import Source, open_rows
from copublish.tools.evaluation.generalize import read_values
from copublish.tools.evaluation.values import codes_of
from copublish.types import FloatArray, IntArray


@dataclass(frozen=True)
class ColumnLoss:
    """What one column of matched records loses.

    Attributes:
        mean_square: The mean squared difference, of numbers, or of places of categories in agreed order.
        variance: The sample variance of the owner's rows.
        wrong: Of categories, the share of records with another one; none for a number.
    """

    mean_square: float
    variance: float
    wrong: float | None


@dataclass(frozen=True)
class MatchedLoss:
    """What published records lose, each compared with the row that it stands for.

    Attributes:
        records: How many were matched.
        mean_sse_as_printed: MeanSSE with the formula of the iDP-IR paper, which divides by variances.
        mean_sse: The same with standard deviations, as a mean over columns: 1 is what a column of means costs.
        wrong_categories: Mean share of categories that are another one; none without categories.
        by_column: What each column loses. Columns without spread are no part of MeanSSE.
    """

    records: int
    mean_sse_as_printed: float | None
    mean_sse: float | None
    wrong_categories: float | None
    by_column: Mapping[str, ColumnLoss]

    def to_dict(self) -> dict[str, Any]:
        """The loss as plain JSON values."""
        return asdict(self)


def matched_loss(release: Release, data: Source, record_map: str | Path) -> MatchedLoss:
    """Compare published records one by one with the rows that they stand for.

    All columns of the release that the data have are compared: an owner of columns has its own.

    Args:
        release: A release in which every record stands for a row.
        data: The rows that the owner of the map put in, in the same order; more columns do no harm.
        record_map: The file that the run left beside the owner's ledger.

    Raises:
        EvaluationError: If the map is of another release, or the data are others than in the run.

    Privacy:
        The loss depends on the rows exactly: it is a disclosure that no ledger is charged for. The map names the record
        of every row, and stays where it is.
    """
    own = read_record_map(record_map, release)
    rows = _rows(release.published.columns, data, own)
    with making_sense_of(release):
        records = release.records.to_pandas().iloc[own.records].reset_index(drop=True)
    domains = {name: release.published.columns.domains[name] for name in rows}
    return loss_of(_numbers(rows, domains), _numbers(records[list(rows)], domains), domains)


def loss_of(rows: pd.DataFrame, records: pd.DataFrame, domains: Mapping[str, Domain]) -> MatchedLoss:
    """The loss of records, each beside its row; categories as places in agreed order."""
    by_column = {
        name: _column_loss(rows[name].to_numpy(dtype=float), records[name].to_numpy(dtype=float), domain)
        for name, domain in domains.items()
    }
    varied = [column for column in by_column.values() if column.variance > 0]
    wrong = [column.wrong for column in by_column.values() if column.wrong is not None]
    n_columns = len(varied)
    return MatchedLoss(
        records=len(rows),
        # The paper's distance has 1/l before its root, so its square has 1/l^2.
        mean_sse_as_printed=sum(c.mean_square / c.variance**2 for c in varied) / n_columns**2 if varied else None,
        mean_sse=sum(c.mean_square / c.variance for c in varied) / n_columns if varied else None,
        wrong_categories=float(np.mean(wrong)) if wrong else None,
        by_column=by_column,
    )


def _column_loss(rows: FloatArray, records: FloatArray, domain: Domain) -> ColumnLoss:
    difference = records - rows
    variance = float(np.var(rows, ddof=1)) if len(rows) > 1 else 0.0
    wrong = None if isinstance(domain, NumericalDomain) else float(np.mean(difference != 0))
    return ColumnLoss(float(np.mean(difference**2)), variance, wrong)


def _rows(columns: PublicColumns, data: Source, own: RecordMap) -> pd.DataFrame:
    """The rows that the map names, in its order, as values of the agreed domains."""
    with open_rows(data) as opened:
        present = {name: domain for name, domain in columns.domains.items() if name in opened.columns}
    if absent := [name for name in own.columns if name not in present]:
        raise EvaluationError(f"The data have no column '{absent[0]}', which party '{own.party}' put in.")
    try:
        table = read_values(replace(columns, domains=present, has_class=False), data).table
    except FragmentError as exc:
        raise EvaluationError("\n  - ".join(["The data do not fit the release.", *exc.problems])) from None
    if not len(own.rows) or own.rows[-1] >= table.num_rows:
        raise EvaluationError(f"The data have other rows than party '{own.party}' put in.")
    rows: pd.DataFrame = table.to_pandas().iloc[own.rows].reset_index(drop=True)
    if digest_of_rows(_whole_numbers(rows, {name: present[name] for name in own.columns}, own)) != own.rows_digest:
        raise EvaluationError(
            f"The data have other rows than party '{own.party}' put in, or the same in another order. Give the very "
            "file that the run was given."
        )
    return rows


def _whole_numbers(rows: pd.DataFrame, domains: Mapping[str, Domain], own: RecordMap) -> dict[str, IntArray]:
    """Rows as a run reads them: numbers in steps, categories in codes."""
    found = {name: codes.to_numpy() for name, codes in codes_of(domains, rows).items()}
    for name, domain in domains.items():
        if isinstance(domain, NumericalDomain):
            as_read = replace(domain, decimals=own.decimals.get(name))
            found[name] = quantize(as_read, rows[name].to_numpy(dtype=float), found[name])
    return found


def _numbers(frame: pd.DataFrame, domains: Mapping[str, Domain]) -> pd.DataFrame:
    """Numbers as they are, categories as their places in agreed order."""
    places: dict[str, FloatArray | IntArray] = {
        name: column.to_numpy() for name, column in codes_of(domains, frame).items()
    }
    return pd.DataFrame(
        {
            name: frame[name].to_numpy(dtype=float) if isinstance(domain, NumericalDomain) else places[name]
            for name, domain in domains.items()
        }
    )
