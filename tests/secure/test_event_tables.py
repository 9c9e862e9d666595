"""A release with attributes derived from event tables is that of the same columns, however people are divided."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import copublish as cp
from copublish.engines.ideal import Room
from copublish.mechanisms.registry import plan_of
from copublish.party.local.processes import throwaway_ledger
from copublish.party.local.simulation import read_fragments, run_room
from support import fragment_frames, random_table, repartition, seeded, simulate_with, small_mapping
from support.profiles import examples

PARTITIONS = ("horizontal", "vertical", "arbitrary")
COUNT = {"from": "visits", "as": "count"}
URGENT = {"from": "visits", "as": "any", "where": {"column": "kind", "equals": "urgent"}}
PEOPLE = 150


def agreed(partition: str, *, derived: bool = True) -> cp.Agreement:
    """Two more columns of whoever has visits, which are derived or there."""
    mapping = small_mapping()
    more: dict[str, Any] = {
        "visits": {"kind": "numerical", "bounds": [0, 8], "missing": 0},
        "urgent": {"kind": "categorical", "values": ["no", "yes"], "missing": "no", "unlisted": "no"},
    }
    mapping["attributes"] = {**mapping["attributes"], **more}
    mapping = repartition(mapping, partition)
    for name, derivation in (("visits", COUNT), ("urgent", URGENT)):
        column = mapping["attributes"][name]
        if derived:
            column["derived"] = derivation
        if partition != "horizontal":
            column["held_by"] = "p1"
    return cp.agreement_from_mapping(mapping)


def rows_of_people(partition: str) -> dict[str, pd.DataFrame]:
    """What each party has of every person, without what is derived."""
    agreement = agreed(partition, derived=False)
    table = random_table(agreement, PEOPLE, np.random.default_rng(4))
    frames = fragment_frames(agreement, table, np.random.default_rng(5))
    return {party: frame.drop(columns=["visits", "urgent"], errors="ignore") for party, frame in frames.items()}


def random_events(seed: int = 6) -> pd.DataFrame:
    """Up to ten visits of each person, and visits of people whom nobody lists."""
    generator = np.random.default_rng(seed)
    people = [str(person) for person in range(PEOPLE + 20) for _ in range(generator.integers(0, 10))]
    return pd.DataFrame(
        {"id": people, "kind": generator.choice(["planned", "urgent", ""], len(people), p=[0.8, 0.1, 0.1])}
    )


def holders(partition: str) -> tuple[str, ...]:
    return ("p0", "p1") if partition == "horizontal" else ("p1",)


def with_events(partition: str, events: pd.DataFrame) -> dict[str, Any]:
    """Every party with the event table, of which it takes the rows of its own people."""
    derives = holders(partition)
    return {
        party: cp.runs.PartyData(frame, {"visits": events}) if party in derives else frame
        for party, frame in rows_of_people(partition).items()
    }


def with_columns(partition: str, events: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Every party with the columns, as a plain count gives them."""
    number = Counter(events["id"])
    urgent = set(events["id"][events["kind"] == "urgent"])
    return {
        party: frame.assign(
            visits=[number[person] for person in frame["id"]],
            urgent=["yes" if person in urgent else "no" for person in frame["id"]],
        )
        if party in holders(partition)
        else frame
        for party, frame in rows_of_people(partition).items()
    }


def published(agreement: cp.Agreement, frames: Mapping[str, Any]) -> dict[str, bytes]:
    """The tables of a release with fixed coins; the other files name the agreement, which says what is derived."""
    files = simulate_with(agreement, dict(frames), seeded(agreement.party_names, 5)).files()
    return {name: content for name, content in files.items() if name.endswith(".csv")}


@pytest.mark.parametrize("partition", PARTITIONS)
def test_a_release_from_events_is_the_release_from_the_columns(partition: str) -> None:
    events, agreement = random_events(), agreed(partition)
    found = published(agreement, with_events(partition, events))
    assert found and found == published(agreed(partition, derived=False), with_columns(partition, events))
    assert found != published(agreement, with_events(partition, events[:0])), "the comparison can fail"


def test_provenance_and_croissant_say_how_a_column_follows_from_events() -> None:
    release = cp.simulate(agreed("vertical"), with_events("vertical", random_events()))
    files = {name: content.decode() for name, content in release.files().items() if name.endswith("json")}
    owner = json.loads(files["prov.json"])["entity"]["release:data-of-p1"]
    urgent = "whether there is a row in 'visits' where 'kind' is 'urgent'"
    assert owner["copublish:derived"] == ["'visits' is the number of rows in 'visits'", f"'urgent' is {urgent}"]
    fields = {field["name"]: field for field in json.loads(files["croissant.json"])["recordSet"][0]["field"]}
    assert f"For each person: {urgent}." in fields["urgent"]["description"]
    assert "each person" not in fields["age"]["description"]
    certificate = cp.Certificate.from_json(json.loads(files["certificate.json"]))
    assert certificate.contributions == release.certificate.contributions
    assert certificate.contributions.derived == {"visits": "the number of rows in 'visits'", "urgent": urgent}
    without = cp.simulate(agreed("vertical", derived=False), with_columns("vertical", random_events()))
    assert "derived" not in json.loads(without.files()["certificate.json"])["contributions"]


def told(partition: str, events: pd.DataFrame) -> list[tuple[str, str, Any]]:
    """Every public message that a party of a run gets: its topic, and how large it is."""
    agreement, seen = agreed(partition), []

    def listen(party: str, topic: str, value: object) -> None:
        seen.append((party, topic, np.shape(value) if isinstance(value, np.ndarray) else type(value).__name__))

    plan, fragments = plan_of(agreement), read_fragments(agreement, with_events(partition, events))
    ledgers = {party: throwaway_ledger(plan) for party in agreement.party_names}
    run_room(plan, fragments, Room(agreement.party_names, seeded(agreement.party_names, 3), listen=listen), ledgers)
    return seen


cells = st.text(st.characters(exclude_categories=["Cs"]), max_size=5) | st.none()


@pytest.mark.slow
@pytest.mark.parametrize("partition", PARTITIONS)
def test_peers_get_the_same_messages_whatever_an_event_table_holds(partition: str) -> None:
    usual = told(partition, random_events())
    assert usual

    @examples(6)
    @given(rows=st.lists(st.tuples(st.sampled_from(["1", "2", "stranger"]) | cells, cells), max_size=30))
    def gets_the_same(rows: list[tuple[str | None, str | None]]) -> None:
        events = pd.DataFrame(rows, columns=["id", "kind"], dtype=object)
        assert told(partition, events) == usual

    gets_the_same()


def test_both_owners_of_whole_rows_have_to_say_where_their_tables_are() -> None:
    frames = with_events("horizontal", random_events())
    with pytest.raises(cp.FragmentError, match="it is not known where yours is"):
        cp.simulate(agreed("horizontal"), {**frames, "p0": rows_of_people("horizontal")["p0"]})


def test_a_column_that_is_derived_cannot_be_spread_over_parties() -> None:
    mapping = repartition(small_mapping(), "arbitrary")
    mapping["attributes"]["visits"] = {"kind": "numerical", "bounds": [0, 8], "missing": 0, "derived": COUNT}
    with pytest.raises(cp.AgreementError, match="holds the whole column"):
        cp.agreement_from_mapping(mapping)
