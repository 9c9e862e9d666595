"""Tables of audits where columns are derived from events: they have them as columns, one row for each person."""

from __future__ import annotations

from typing import Any

import pytest

import copublish as cp
from copublish.agreement.derived import with_given_columns
from copublish.party.local.simulation import read_fragments
from copublish.tools.auditing.tables import valid_pairs
from support import repartition, seeded, small_mapping


def agreed(*, derived: bool = True) -> cp.Agreement:
    mapping: dict[str, Any] = repartition(small_mapping(), "horizontal")
    mapping["attributes"]["visits"] = {"kind": "numerical", "bounds": [0, 8], "missing": 0}
    if derived:
        mapping["attributes"]["visits"]["derived"] = {"from": "visits", "as": "count"}
    return cp.agreement_from_mapping(mapping)


def test_an_agreement_without_its_derivations_is_the_one_about_columns() -> None:
    assert with_given_columns(agreed()).canonical() == agreed(derived=False).canonical()


def test_what_an_audit_compares_is_read_as_columns() -> None:
    agreement = with_given_columns(agreed())
    pair = next(valid_pairs(agreement, "add-remove", seeded(agreement.party_names, 1)["p0"]))
    for table in (0, 1):
        fragments = read_fragments(agreement, pair.frames(agreement, table))
        assert all("visits" in fragment.private_codes for fragment in fragments.values())
        with pytest.raises(cp.CopublishError, match="it is not known where yours is"):
            read_fragments(agreed(), pair.frames(agreement, table))


@pytest.mark.slow
def test_an_audit_is_one_of_the_agreement_as_it_is_written() -> None:
    found = cp.audit(agreed(), minutes=0.01, runs=20, workers=0, secure_runs=0, views=["public"])
    assert found.agreement_hash == agreed().hash and found.views
