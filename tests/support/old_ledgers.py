"""Ledgers as older versions of this software left them."""

from __future__ import annotations

import sqlite3
from pathlib import Path

BEFORE_DELTA = """
CREATE TABLE limits (
    id INTEGER PRIMARY KEY, dataset TEXT NOT NULL, neighbours TEXT NOT NULL, epsilon TEXT NOT NULL, set_at TEXT NOT NULL
);
CREATE TABLE charges (
    id INTEGER PRIMARY KEY, dataset TEXT NOT NULL, release TEXT NOT NULL, agreement_hash TEXT NOT NULL,
    epsilon_add_remove TEXT, epsilon_replace TEXT, delta TEXT NOT NULL,
    state TEXT NOT NULL, reserved_at TEXT NOT NULL, ended_at TEXT
);
CREATE TABLE disclosures (
    charge INTEGER NOT NULL REFERENCES charges(id), position INTEGER NOT NULL, label TEXT NOT NULL,
    epsilon_add_remove TEXT, epsilon_replace TEXT, delta TEXT NOT NULL, charged_at TEXT NOT NULL,
    PRIMARY KEY (charge, position)
);
INSERT INTO limits (dataset, neighbours, epsilon, set_at) VALUES
    ('people', 'add-remove', '3', '2026-01-01T00:00:00+00:00'),
    ('gaussian', 'replace', '7/2', '2026-01-01T00:00:00+00:00'),
    ('given up', 'replace', 'unbounded', '2026-01-01T00:00:00+00:00');
INSERT INTO charges VALUES
    (1, 'people', 'first', 'h', '1', '2', '1/1152921504606846976', 'complete', '2026-01-02', '2026-01-02'),
    (2, 'gaussian', 'second', 'h', '1/2', '1', '1/1000000', 'complete', '2026-01-03', '2026-01-03');
INSERT INTO disclosures VALUES (1, 0, 'counts', '1', '2', '1/1152921504606846976', '2026-01-02');
"""
"""A ledger as it was written before delta had a limit."""


def old_file(path: Path) -> Path:
    """Write such a ledger."""
    database = sqlite3.connect(path)
    database.executescript(BEFORE_DELTA)
    database.close()
    return path
