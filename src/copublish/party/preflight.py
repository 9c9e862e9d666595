"""Everything that one party checks before anybody is called. No row is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from copublish.agreement.model import Agreement
from copublish.engines.choice import refuse_missing_engine
from copublish.kernel.checks import refuse_by_ledger
from copublish.kernel.ledger.ledger import Ledger
from copublish.mechanisms.base import Plan
from copublish.release.folder import refuse_unwritable
from copublish.release.prepare import prepare
from copublish.rows.reading import check_columns
from copublish.rows.sources import Source


def preflight(
    agreement: Agreement, party: str, source: Source | None, ledger: Ledger, *, out: Path, overwrite: bool
) -> Plan[Any]:
    """Check one party's part of a run between machines, before anybody is asked or called. No row is read.

    Raises:
        CopublishError: If the agreement cannot run, columns are not as agreed, the ledger refuses, or the release
            could not be written.
    """
    plan = prepare(agreement)
    refuse_missing_engine(agreement, party)
    refuse_unwritable(out, overwrite=overwrite)
    check_columns(agreement, party, source)
    refuse_by_ledger(plan, party, ledger)
    return plan
