"""Whole runs that an audit compares: what was opened has a shape, also where owners have different numbers of rows."""

from __future__ import annotations

import numpy as np

from copublish.tools.auditing.odd_records import Ending, _difference


def ending(*opened: object) -> Ending:
    return Ending(outcome="released", heard={"public": ()}, files={}, opened=opened)


def test_columns_of_owners_with_different_numbers_of_rows_can_be_compared():
    told = [np.zeros(3), np.zeros(5)]
    assert _difference(ending(told), ending([np.ones(3), np.ones(5)]), "public") is None
    assert _difference(ending(told), ending([np.zeros(4), np.zeros(4)]), "public") == "what is opened"
