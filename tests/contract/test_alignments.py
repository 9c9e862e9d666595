"""Comparisons of identifiers in the ledger: written before anything is sent, counted, limited, and lists that changed.

Kill test: 6 child processes are killed (SIGKILL) at random moments of a loop that writes comparisons; the moments come
from a seeded generator. All waits are bounded.
"""

from __future__ import annotations

import hashlib
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import copublish as cp
from copublish.agreement.protocol.table import CAN_PAY, LISTS
from copublish.engines.ideal import IdealEngine, Room
from copublish.errors import BudgetExceededError, FragmentError, LedgerError, ProgramMismatchError
from copublish.kernel.ledger.comparisons import KEY_BYTES, Alignment, size_class
from copublish.kernel.ledger.ledger import Ledger, Limit
from copublish.kernel.records.comparison import commitment_to, told_to_peers
from copublish.mechanisms.registry import plan_of
from copublish.party.local.simulation import read_fragments, run_room
from copublish.party.publishing import publish_release
from copublish.rows.identifiers import IdentifierColumn
from support import fragment_frames, random_table, repartition, seeded, small_mapping

KILLS = 6
WAIT_SECONDS = 300.0


def agreed(partition: str = "vertical", parties: int = 2, **changes: Any) -> cp.Agreement:
    changes = {"records.expected": 60, **changes}
    return cp.agreement_from_mapping(repartition(small_mapping(**changes), partition, parties))


def frames_of(agreement: cp.Agreement, n: int = 60) -> dict[str, pd.DataFrame]:
    generator = np.random.default_rng(4)
    return fragment_frames(agreement, random_table(agreement, n, generator), generator)


def ledgers_of(agreement: cp.Agreement) -> dict[str, Ledger]:
    ledgers = {party: Ledger(":memory:") for party in agreement.parties}
    for ledger in ledgers.values():
        ledger.set_limit("people", Limit(Fraction(100), "add-remove"))
    return ledgers


def publish(
    agreement: cp.Agreement, frames: Mapping[str, pd.DataFrame], ledgers: Mapping[str, Ledger], **others: Any
) -> list[str]:
    """Run a release and return what people were told on the way."""
    told: list[str] = []
    room = Room(agreement.party_names, seeded(agreement.party_names, 1))
    run_room(plan_of(agreement), read_fragments(agreement, frames), room, ledgers, notice=told.append, **others)
    return told


def entry(ledger: Ledger, dataset: str = "people", commitment: str = "a" * 64, agreement_hash: str = "h") -> int:
    return ledger.record_alignment(
        dataset=dataset,
        release="r",
        agreement_hash=agreement_hash,
        kind="common records",
        compared_by="by 'id'",
        peers=["lab"],
        length=5,
        commitment=commitment,
    )


# --- what is written, and when ---


@pytest.mark.parametrize(
    "partition, kind",
    [("vertical", "common records"), ("arbitrary", "common records"), ("horizontal", "people at two parties")],
)
def test_every_comparison_is_an_entry_at_every_owner(partition: str, kind: str) -> None:
    agreement = agreed(partition)
    ledgers, frames = ledgers_of(agreement), frames_of(agreement)
    publish(agreement, frames, ledgers)
    for party, ledger in ledgers.items():
        (found,) = ledger.alignments()
        assert (found.dataset, found.release, found.agreement_hash) == ("people", "small", agreement.hash)
        assert (found.kind, found.compared_by, found.peers) == (kind, "by 'id'", tuple({"p0", "p1"} - {party}))
        assert found.size_class == size_class(len(frames[party]))
        assert ledger.entries()[0].reserved_at >= found.begun_at


@pytest.mark.parametrize("change", [{"records.alignment": "row-order", "records.identifier": None}, {}])
def test_where_nobody_is_compared_there_is_no_entry(change: dict[str, Any]) -> None:
    agreement = agreed("vertical" if change else "horizontal", **(change or {"records.identifier": None}))
    frames = {party: frame.sort_index() for party, frame in frames_of(agreement).items()}
    ledgers = ledgers_of(agreement)
    publish(agreement, frames, ledgers)
    assert [ledger.alignments() for ledger in ledgers.values()] == [[], []]


class Watching(IdealEngine):
    """Notes what the ledgers hold whenever a party tells something or compares."""

    def __init__(self, inner: IdealEngine, ledger: Ledger, seen: list[tuple[str, int]]) -> None:
        self.__dict__.update(inner.__dict__)
        self._ledger, self._seen = ledger, seen

    def exchange(self, message: Any, public: Any) -> Any:
        self._seen.append((message.topic, len(self._ledger.alignments())))
        return super().exchange(message, public)

    def align(self, identifiers: Any) -> Any:
        self._seen.append(("align", len(self._ledger.alignments())))
        return super().align(identifiers)

    def have_common(self, identifiers: Any, *, padded_to: int = 0) -> bool:
        self._seen.append(("have_common", len(self._ledger.alignments())))
        return super().have_common(identifiers, padded_to=padded_to)


def watched(agreement: cp.Agreement) -> dict[str, list[tuple[str, int]]]:
    """Topics that every party sends something about, with the number of entries in its ledger at that moment."""
    ledgers, fragments = ledgers_of(agreement), read_fragments(agreement, frames_of(agreement))
    seen: dict[str, list[tuple[str, int]]] = {party: [] for party in agreement.parties}

    def job(engine: IdealEngine) -> cp.Release:
        party = engine.party
        watching = Watching(engine, ledgers[party], seen[party])
        return publish_release(plan_of(agreement), fragments[party], watching, ledgers[party], lambda *_: None)

    Room(agreement.party_names).run(job)
    return seen


@pytest.mark.parametrize("partition", ["vertical", "arbitrary", "horizontal"])
def test_the_entry_is_on_disk_before_anything_about_identifiers_is_sent(partition: str) -> None:
    for topics in watched(agreed(partition)).values():
        about = dict(topics)
        compares = "have_common" if partition == "horizontal" else "align"
        assert about[CAN_PAY.topic] == 0  # so the check can tell before from after
        assert about[compares] == 1
        assert about.get(LISTS.topic) == (None if partition == "horizontal" else 1)


def test_where_even_the_number_of_people_is_protected_no_commitment_is_told() -> None:
    """Of neighbors in horizontal data a commitment would be another one with probability 1."""
    for topics in watched(agreed("horizontal")).values():
        assert LISTS.topic not in dict(topics)
    said = str(cp.describe(agreed("horizontal")).to_dict())
    assert "keyed commitment" not in said
    assert "keyed commitment" in str(cp.describe(agreed("vertical")).to_dict())


def test_certificates_say_what_commitments_give_and_what_they_tell() -> None:
    for partition, is_joined in (("vertical", True), ("arbitrary", True), ("horizontal", False)):
        said = cp.describe(agreed(partition)).to_dict()
        assert any("does not prevent a first wrong list" in line for line in said["assumptions"]) == is_joined
        assert any("lists the same people as when this agreement ran" in line for line in said["not_protected"]) == (
            is_joined
        )


def test_a_run_that_ends_in_alignment_keeps_the_entry_and_charges_nothing() -> None:
    agreement = agreed("horizontal")
    frames = frames_of(agreement)
    frames["p1"] = pd.concat([frames["p1"], frames["p0"].head(1)])
    ledgers = ledgers_of(agreement)
    with pytest.raises(cp.FragmentError, match="listed by two parties"):
        publish(agreement, frames, ledgers)
    for ledger in ledgers.values():
        assert (len(ledger.alignments()), ledger.entries()) == (1, [])


@given(st.integers(0, 2**45))
def test_a_size_class_is_the_next_power_of_two(length: int) -> None:
    found = size_class(length)
    assert bin(found).count("1") == 1
    assert length <= found < 2 * max(1, length)


# --- how many people ---


@pytest.mark.parametrize("partition", ["vertical", "arbitrary"])
@pytest.mark.parametrize("listed, is_refused", [(60, False), (61, True)])
def test_records_are_joined_by_lists_of_at_most_twice_the_expected_number(
    partition: str, listed: int, is_refused: bool
) -> None:
    agreement = agreed(partition, **{"records.expected": 30})
    frames, ledgers = frames_of(agreement, listed), ledgers_of(agreement)
    if not is_refused:
        publish(agreement, frames, ledgers)
        return
    with pytest.raises(FragmentError, match=r"Column 'id': it lists more than 60 people, twice records.expected"):
        publish(agreement, frames, ledgers)
    assert [(len(book.alignments()), book.entries()) for book in ledgers.values()] == [(0, [])] * 2


def test_everybody_is_told_if_far_fewer_people_are_common_than_expected() -> None:
    agreement = agreed("vertical")
    frames = frames_of(agreement)
    assert publish(agreement, frames, ledgers_of(agreement)) == []
    first, *_ = frames.values()
    first["id"] = [f"{identifier}x" if place > 3 else identifier for place, identifier in enumerate(first["id"])]
    said = publish(agreement, frames, ledgers_of(agreement))
    assert sorted(line.split(":")[0] for line in said) == [f"At '{party}'" for party in sorted(agreement.parties)]
    assert all("4 records in common, and the agreement expects 60" in line for line in said)


def test_where_everybody_has_other_people_a_longer_list_ends_nothing_because_its_length_is_protected() -> None:
    agreement = agreed("horizontal", **{"records.expected": 5})
    publish(agreement, frames_of(agreement, 60), ledgers_of(agreement))


# --- how often ---


def test_a_data_set_may_be_compared_five_times_unless_its_owner_says_otherwise() -> None:
    ledger = Ledger(":memory:")
    assert ledger.alignment_limit("people") == 5
    for _ in range(5):
        entry(ledger)
    with pytest.raises(BudgetExceededError, match=r"5 times, and its owner allows 5. Nobody was compared"):
        entry(ledger)
    entry(ledger, dataset="others")
    assert ledger.datasets_with_alignment_limits() == ["others", "people"]
    ledger.limit_alignments("people", None)
    entry(ledger)
    assert ledger.datasets_with_alignment_limits() == ["others"]


@pytest.mark.parametrize("short_of", ["p0", "p1"])
def test_when_a_limit_is_used_up_everybody_stops_before_anything_is_reserved_or_compared(short_of: str) -> None:
    agreement = agreed()
    frames, ledgers = frames_of(agreement), ledgers_of(agreement)
    ledgers[short_of].limit_alignments("people", 2)
    for _ in range(2):
        publish(agreement, frames, ledgers)
    with pytest.raises(BudgetExceededError) as refused:
        publish(agreement, frames, ledgers)
    assert "data set 'people' were compared with other parties' 2 times, and its owner allows 2" in str(refused.value)
    assert "copublish ledger limit-alignments people=NUMBER" in str(refused.value)
    assert [(len(book.alignments()), len(book.entries())) for book in ledgers.values()] == [(2, 2)] * 2
    ledgers[short_of].limit_alignments("people", None)
    publish(agreement, frames, ledgers)


def test_a_limit_of_another_data_set_or_on_data_that_are_not_compared_stops_nothing() -> None:
    agreement = agreed("horizontal", **{"records.identifier": None})
    ledgers = ledgers_of(agreement)
    for ledger in ledgers.values():
        ledger.limit_alignments("people", 0)
    publish(agreement, frames_of(agreement), ledgers)
    agreement = agreed(dataset="others")
    for ledger in ledgers.values():
        ledger.set_limit("others", Limit(Fraction(100), "add-remove"))
    publish(agreement, frames_of(agreement), ledgers)


def test_threads_that_compete_for_a_limit_get_exactly_what_it_allows(tmp_path: Path) -> None:
    path = tmp_path / "party.db"
    Ledger(path).limit_alignments("people", 5)
    begin = threading.Barrier(4)

    def compete(_: int) -> int:
        ledger, made = Ledger(path), 0
        begin.wait(WAIT_SECONDS)
        for _ in range(3):
            try:
                entry(ledger)
                made += 1
            except BudgetExceededError:
                pass
        ledger.close()
        return made

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(compete, range(4))) == 5
    assert len(Ledger(path).alignments()) == 5


ENDLESS = """
import sys, types
package = types.ModuleType("copublish")  # the ledger alone: a child must start quickly
package.__path__ = [sys.argv[1]]
sys.modules["copublish"] = package
from copublish.kernel.ledger.ledger import Ledger
ledger, number = Ledger(sys.argv[2]), 0
ledger.limit_alignments("people", None)
while True:
    number += 1
    facts = dict(dataset="people", release=f"{sys.argv[3]}-{number}", agreement_hash="h", kind="common records",
                 compared_by="", peers=["lab"], length=5, commitment="a" * 64)
    if sys.argv[4] == "early":
        print(facts["release"], flush=True)
        sys.stdin.readline()
    ledger.record_alignment(**facts)
    print(facts["release"], flush=True)
"""


def said_until_killed(path: Path, name: str, seconds: float, when: str) -> list[str]:
    """Let a child work, kill it a given time after its first word, and return all it said."""
    command = [sys.executable, "-c", ENDLESS, str(Path(cp.__file__).parent), str(path), name, when]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    timer = threading.Timer(WAIT_SECONDS, child.kill)
    timer.start()
    first = child.stdout.readline()
    time.sleep(seconds)
    child.send_signal(signal.SIGKILL)
    rest, _ = child.communicate(timeout=WAIT_SECONDS)
    timer.cancel()
    return (first + rest).split("\n")[:-1]  # a line that the kill cut in two was not said


def test_whatever_a_killed_process_had_written_is_there_and_the_check_can_fail(tmp_path: Path) -> None:
    path, moments, said = tmp_path / "party.db", random.Random(3), []
    for kill in range(KILLS):
        said += said_until_killed(path, f"child{kill}", moments.uniform(0, 0.05), "late")
        assert set(said) <= {found.release for found in Ledger(path).alignments()}
    assert len(said) >= KILLS
    early = said_until_killed(path, "early", 0.05, "early")
    assert not set(early) <= {found.release for found in Ledger(path).alignments()}


# --- commitments to lists ---


def naive_hmac(key: bytes, message: bytes) -> str:
    """HMAC-SHA256 as RFC 2104 writes it."""
    block = key.ljust(64, b"\0")
    inner = hashlib.sha256(bytes(byte ^ 0x36 for byte in block) + message).digest()
    return hashlib.sha256(bytes(byte ^ 0x5C for byte in block) + inner).hexdigest()


@given(st.lists(st.text(st.characters(exclude_categories=("Cs",)), max_size=8), unique=True, max_size=20), st.randoms())
def test_a_commitment_is_the_hmac_of_the_sorted_list_whatever_its_order(
    people: list[str], order: random.Random
) -> None:
    import pyarrow as pa

    key, shuffled = bytes(range(KEY_BYTES)), list(people)
    order.shuffle(shuffled)
    texts = sorted(person.encode() for person in people)
    message = b"copublish list\0" + b"".join(len(text).to_bytes(8, "big") + text for text in texts)
    expected = naive_hmac(key, message)
    parts = [pa.array(shuffled[:3], pa.string()), pa.array(shuffled[3:], pa.string())]
    assert commitment_to(IdentifierColumn(parts), key) == expected
    told = naive_hmac(key, b"copublish told\0" + ("c" * 64 + expected).encode())
    assert told_to_peers(expected, "c" * 64, key) == told


def test_lists_that_only_look_alike_when_written_one_after_the_other_have_other_commitments() -> None:
    import pyarrow as pa

    lists = [["ab", "c"], ["a", "bc"], ["abc"], ["abc", ""], ["ab", "c", "d"]]
    found = {commitment_to(IdentifierColumn([pa.array(people, pa.string())]), b"k" * KEY_BYTES) for people in lists}
    assert len(found) == len(lists)


def test_a_key_is_drawn_once_for_each_data_set_and_ledger(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "party.db")
    keys = [ledger.key_of_lists("people"), ledger.key_of_lists("others"), Ledger(":memory:").key_of_lists("people")]
    assert len(set(keys)) == 3
    assert {len(key) for key in keys} == {KEY_BYTES}
    assert Ledger(tmp_path / "party.db").key_of_lists("people") == keys[0]


def dated(ledger: Ledger, *days: int) -> None:
    """Put the comparisons of a ledger on different days."""
    numbers = [number for (number,) in ledger._database.execute("SELECT id FROM alignments ORDER BY id")]
    for number, day in zip(numbers, days, strict=False):
        with ledger._transaction():
            ledger._change("alignments", number, begun_at=f"2026-11-{day:02d}")


def test_a_changed_list_is_told_to_its_owner_and_under_the_same_agreement_to_the_peers() -> None:
    agreement = agreed()
    frames, ledgers = frames_of(agreement), ledgers_of(agreement)
    assert publish(agreement, frames, ledgers) == []
    for ledger in ledgers.values():
        dated(ledger, 2)
    frames["p1"] = frames["p1"].sample(frac=1, random_state=1)  # another order is no other list
    assert publish(agreement, frames, ledgers) == []
    frames["p1"] = frames["p1"].iloc[1:]  # one person fewer is one
    for ledger in ledgers.values():
        dated(ledger, 2, 3)
    told = publish(agreement, frames, ledgers)
    assert sorted(told) == [
        "At 'p0': 'p1' lists other people than on 2026-11-03, when this agreement ran last (or has another ledger). "
        "Its data may have grown; ask, if that is not what you expect.",
        "At 'p1': Your data list other people for data set 'people' than on 2026-11-03, when they were compared last.",
    ]
    last: Alignment = ledgers["p0"].alignments()[-1]
    assert (last.own.words, last.of_peers["p1"].words) == ("same", "OTHER")
    assert publish(agreement, frames, ledgers) == []  # said once


def test_under_another_agreement_a_change_is_told_to_the_owner_alone_and_no_value_can_be_compared() -> None:
    first, second = agreed(), agreed(name="second")
    frames, ledgers = frames_of(first), ledgers_of(first)
    publish(first, frames, ledgers)
    publish(second, frames, ledgers)
    before, after = ledgers["p0"].alignments()
    assert before.own.commitment == after.own.commitment
    assert before.of_peers["p1"].commitment != after.of_peers["p1"].commitment
    assert after.of_peers["p1"].before is None
    frames["p1"] = frames["p1"].iloc[1:]
    third = agreed(name="third")
    (told,) = publish(third, frames, ledgers)
    assert told.startswith("At 'p1': Your data list other people")


def test_lists_are_not_set_against_each_other_where_identifiers_are_read_otherwise() -> None:
    first, second = agreed(), agreed(name="second", **{"records.identifier_rules": ["ignore-leading-zeros"]})
    frames = frames_of(first)
    for frame in frames.values():
        frame["id"] = frame["id"].str.zfill(6)
    ledgers = ledgers_of(first)
    assert publish(first, frames, ledgers) + publish(second, frames, ledgers) == []
    assert [found.own.before is None for found in ledgers["p0"].alignments()] == [True, True]


def test_what_the_peers_hold_is_neither_the_list_nor_what_the_owner_keeps() -> None:
    agreement = agreed()
    frames, ledgers = frames_of(agreement), ledgers_of(agreement)
    publish(agreement, frames, ledgers)
    (at_owner,), (at_peer,) = ledgers["p1"].alignments(), ledgers["p0"].alignments()
    own, told = at_owner.own.commitment, at_peer.of_peers["p1"].commitment
    listed = "".join(sorted(frames["p1"]["id"]))
    assert len({own, told, hashlib.sha256(listed.encode()).hexdigest()}) == 3
    everything = "\n".join(ledgers["p0"]._database.iterdump())
    assert ledgers["p1"].key_of_lists("people").hex() not in everything
    assert own not in everything
    assert told in everything  # so that the check can fail


@pytest.mark.parametrize("told", ["", "x" * 64, "a" * 63, 7, None, ["a" * 64]])
def test_a_party_that_tells_something_else_than_a_commitment_ends_the_run(told: object) -> None:
    agreement = agreed()
    ledgers, fragments = ledgers_of(agreement), read_fragments(agreement, frames_of(agreement))

    class Lying(Watching):
        def exchange(self, message: Any, public: Any) -> Any:
            return super().exchange(message, told if message is LISTS and self.party == "p1" else public)

    def job(engine: IdealEngine) -> cp.Release:
        lying = Lying(engine, ledgers[engine.party], [])
        return publish_release(
            plan_of(agreement), fragments[engine.party], lying, ledgers[engine.party], lambda *_: None
        )

    with pytest.raises(ProgramMismatchError, match="Party 'p1' sent something else as 'lists of people'"):
        Room(agreement.party_names).run(job)
    assert [ledger.entries() for ledger in ledgers.values()] == [[], []]


def test_a_party_without_data_has_no_list_and_no_entry() -> None:
    mapping = repartition(small_mapping(), "vertical", 2)
    mapping["parties"]["helper"] = {"data": False}
    mapping["mechanism"], mapping["privacy"]["neighbors"] = {"name": "vhdp"}, "replace"
    mapping["records"]["public"], mapping["engine"] = True, {"name": "masked-sum", "aggregator": "helper"}
    agreement = cp.agreement_from_mapping(mapping)
    owners = cp.agreement_from_mapping(repartition(small_mapping(), "vertical", 2))
    ledgers = ledgers_of(agreement)
    for ledger in ledgers.values():
        ledger.set_limit("people", Limit(Fraction(100), "replace"))
    publish(agreement, frames_of(owners), ledgers)
    assert [len(ledger.alignments()) for ledger in ledgers.values()] == [1, 1, 0]
    (found,) = ledgers["p0"].alignments()
    assert found.peers == ("p1", "helper")
    assert list(found.of_peers) == ["p1"]


# --- files ---


@pytest.mark.parametrize(
    "change, column",
    [
        ("UPDATE alignments SET kind = 'peek'", "alignments.kind"),
        ("UPDATE alignments SET peers = 'lab'", "alignments.peers"),
        ("UPDATE alignments SET peers = '[1]'", "alignments.peers"),
        ("UPDATE alignments SET size_class = -1", "alignments.size_class"),
        ("UPDATE alignments SET commitment = 'abc'", "alignments.commitment"),
        ("UPDATE peer_lists SET commitment = 'abc'", "peer_lists.commitment"),
    ],
)
def test_an_edited_entry_is_a_ledger_error_that_names_the_cell(tmp_path: Path, change: str, column: str) -> None:
    ledger = Ledger(tmp_path / "party.db")
    ledger.record_peer_lists(entry(ledger), {"lab": "b" * 64})
    ledger._database.execute(change)
    with pytest.raises(LedgerError, match=column):
        ledger.alignments()


@pytest.mark.parametrize("content", ["lots", -1, 1.5, b"1"])
def test_an_edited_limit_stops_every_comparison(tmp_path: Path, content: object) -> None:
    ledger = Ledger(tmp_path / "party.db")
    ledger.limit_alignments("people", 3)
    ledger._database.execute("UPDATE alignment_limits SET most = ?", (content,))
    with pytest.raises(LedgerError, match=r"alignment_limits\.most"):
        ledger.refuse_if_aligned_too_often("people")
    with pytest.raises(LedgerError):
        entry(ledger)
    with pytest.raises(ValueError, match="never below 0"):
        ledger.limit_alignments("people", -1)
