"""What is spent if a database fails while a run counts in it: docs/run-failed.md says it, and the ledger."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import ibis
import pytest

import copublish as cp
from copublish.engines.ideal import Room
from copublish.mechanisms.registry import plan_of
from copublish.party.publishing import publish_release
from copublish.progress import no_progress
from copublish.rows import rows_or_counts
from copublish.rows.rows_or_counts import read_rows_or_counts
from support import repartition, small_mapping

PAGE = Path(__file__).parents[3] / "docs" / "run-failed.md"


def table_of(rows):
    connection = ibis.sqlite.connect()
    connection.raw_sql("CREATE TABLE rows (job TEXT, 'default' TEXT)")
    connection.con.executemany("INSERT INTO rows VALUES (?, ?)", rows)
    return connection.table("rows")


def test_rows_that_stay_can_fail_after_the_reservation_which_stays_spent(monkeypatch):
    monkeypatch.setattr(rows_or_counts, "MOST_CELLS_AT_ONCE", 0)  # each table is counted when it is asked for
    mapping = repartition(small_mapping(), "horizontal")
    mapping["records"] = {"expected": 100}
    mapping["class"] = {"name": "default", "values": ["no", "yes"]}
    mapping["attributes"] = {"job": {"kind": "categorical", "values": ["a", "b"], "missing": "category"}}
    agreement = cp.agreement_from_mapping(mapping)
    tables = {name: table_of([("a", "no"), ("b", "yes")] * 20) for name in agreement.party_names}
    fragments = {name: read_rows_or_counts(agreement, name, table) for name, table in tables.items()}
    ledgers = {name: cp.ledger.Ledger(":memory:") for name in tables}
    for ledger in ledgers.values():
        ledger.set_limit(agreement.dataset, cp.ledger.Limit(Fraction(9), agreement.privacy.neighbors))
    first = agreement.party_names[0]
    tables[first].get_backend().con.execute(
        "DELETE FROM rows"
    )  # somebody writes to it: after it was read, before the run

    def job(engine):
        party = engine.party
        return publish_release(plan_of(agreement), fragments[party], engine, ledgers[party], no_progress)

    with pytest.raises(cp.SourceError) as failed:
        Room(agreement.party_names).run(job)
    (charge,) = ledgers[first].entries()
    assert (failed.value.exit_code, charge.state) == (4, "ended early, spent")
    (row,) = re.findall(r"^\| your data .* \| 4 \| (.*) \|$", PAGE.read_text(), re.M)
    assert "everything after it" in row
