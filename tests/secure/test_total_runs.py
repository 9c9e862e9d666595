"""Whole runs on neighbors of which one has a record that is not as agreed: the other parties cannot tell them apart.

What they see is compared: how the run ends, the ledgers, and every message with its topic and its size.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pytest

import copublish as cp
from copublish.kernel.ledger.ledger import Ledger
from support import mapping_by_default, random_table, small_mapping
from support.messages import Post, masked_agreement, publish_by_masked_sums, split_rows

PEOPLE = 60

RECORDS: dict[str, dict[str, Any]] = {
    "as agreed": {},
    "past the bounds": {"age": 1e12, "income": -5.0},
    "not listed": {"region": "nowhere", "job": "spy"},
    "missing": {"region": "?", "job": "", "age": np.nan},
    "without a class": {"default": "perhaps"},
    "listed twice": {"id": "first of p1"},
    "nameless": {"id": " "},
}


def data(agreement: cp.Agreement) -> dict[str, pd.DataFrame]:
    generator = np.random.default_rng(3)
    table = random_table(agreement, PEOPLE, generator).astype({"age": float, "income": float})
    frames = split_rows(agreement, table, generator)
    frames["p1"] = frames["p1"].assign(id=["first of p1", *frames["p1"]["id"].iloc[1:]])
    return frames


def seen_by_others(agreement: cp.Agreement, frames: dict[str, pd.DataFrame]) -> dict[str, Any]:
    """How a run ended for each party, what the ledgers have, and every message but its content."""
    post = Post(agreement.party_names)
    ledgers = {party: Ledger(":memory:") for party in agreement.parties}
    for ledger in ledgers.values():
        ledger.set_limit(agreement.dataset, cp_limit())
    outcomes = publish_by_masked_sums(agreement, frames, post=post, ledgers=ledgers)
    return {
        "ends": {party: type(outcome).__name__ for party, outcome in outcomes.items()},
        "charges": {
            party: [(entry.state, entry.agreement_hash) for entry in ledger.entries()]
            for party, ledger in ledgers.items()
        },
        "messages": Counter((sender, to, topic, len(content)) for sender, to, topic, content in post.sent),
    }


def cp_limit() -> Any:
    from fractions import Fraction

    from copublish.kernel.ledger.ledger import Limit

    return Limit(Fraction(100), "add-remove")


@pytest.mark.parametrize("mapping_of", [small_mapping, mapping_by_default])
def test_other_parties_see_the_same_whatever_one_record_is(mapping_of: Any) -> None:
    """Fails before encoding was total: the run ended, which the others saw, and no ledger was charged."""
    agreement = masked_agreement(3, helper=True, identifier=True, mapping_of=mapping_of)
    frames = data(agreement)
    found = {}
    for what, odd in RECORDS.items():
        record = frames["p1"].iloc[[4]].assign(**{"id": "somebody", **odd})
        found[what] = seen_by_others(agreement, {**frames, "p1": pd.concat([frames["p1"], record], ignore_index=True)})
    assert set(found["as agreed"]["ends"].values()) == {"Release"}
    for what, seen in found.items():
        assert seen == found["as agreed"], what


def test_nobody_sees_that_a_party_has_one_person_more_than_the_public_length() -> None:
    """Fails before encoding was total: row 2 x expected + 1 ended the run, and row 2 x expected did not."""
    agreement = masked_agreement(3, helper=True, identifier=True, **{"records.expected": 10})
    frames = data(agreement)
    people = random_table(agreement, 30, np.random.default_rng(4)).assign(id=[f"own {i}" for i in range(30)])
    seen = [seen_by_others(agreement, {**frames, "p1": people.head(n), "p2": people.head(0)}) for n in (20, 21, 30)]
    few = {party: frame.head(2) for party, frame in frames.items()}
    seen.append(seen_by_others(agreement, few))
    assert seen[0] == seen[1] == seen[2] == seen[3]
    assert set(seen[0]["ends"].values()) == {"Release"}


def test_a_peer_that_agrees_on_ever_smaller_bounds_learns_no_maximum() -> None:
    """Fails before encoding was total: agreements with bounds below the maximum ended, at no charge."""
    found, uppers = {}, (5, 45, 50, 90, 100)  # at, below and above each of the maxima
    for maximum in (5.0, 48.0, 95.0):
        for upper in uppers:
            grid = {"kind": "numerical", "bounds": [0, upper], "grid": {"count": 4}}
            agreement = masked_agreement(2, **{"attributes.income": grid})
            frames = data(agreement)
            frames["p1"].loc[frames["p1"].index[0], "income"] = maximum
            found[upper, maximum] = seen_by_others(agreement, {p: f.drop(columns="id") for p, f in frames.items()})
    for upper in uppers:
        assert found[upper, 5.0] == found[upper, 48.0] == found[upper, 95.0]
        assert set(found[upper, 95.0]["ends"].values()) == {"Release"}
