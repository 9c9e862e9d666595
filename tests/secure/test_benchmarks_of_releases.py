"""The short form of every benchmark that runs a secure release which no other one looks at: as `test_benchmarks.py`."""

from __future__ import annotations

import pytest

from support.short_forms import short_form

OF_RELEASES = ("marginals_release", "many_owners", "shards", "cost_model", "wide_area", "hidden_membership")


@pytest.mark.parametrize("name", OF_RELEASES)
def test_a_short_form_of_a_release_has_no_empty_cell(name):
    assert all(rows for rows in short_form(name).values())


def test_a_marginals_release_is_divided_into_phases():
    phases = {row["phase"] for row in short_form("marginals_release")["Made-up columns, by phase"]}
    assert {"start-up", "products", "choices", "tables opened"} <= phases


def test_hidden_and_shared_membership_are_measured_beside_each_other():
    ((title, rows),) = short_form("hidden_membership").items()
    assert title == "300 and 300 people, 270 in common"
    assert [row["membership"] for row in rows[:2]] == ["shared", "hidden"]
    assert rows[0]["times shared"] == 1
