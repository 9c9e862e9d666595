"""Topics of runs on the secure engine: each is in the table of the protocol, and so on its page."""

from __future__ import annotations

import tempfile
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

import copublish as cp
from copublish.agreement.protocol.table import INPUT_PART, OPENED, READY, entry_of
from copublish.engines.choice import engine_for
from copublish.engines.spu.requests import EngineRecorder
from copublish.mechanisms.registry import plan_of
from copublish.party.local.processes import throwaway_ledger
from copublish.party.local.simulation import read_fragments
from copublish.party.publishing import publish_release
from copublish.progress import no_progress
from support import fragment_frames, random_table, repartition, seeded, small_mapping
from support.messages import Post, all_of
from support.owners import tiny_agreement, tiny_frames
from support.spu import PARTIES, Pair
from support.topics import Topics, publish_and_note_topics
from website.protocol_page import PAGE


def check_listed(topics: set[str]) -> None:
    page = PAGE.read_text(encoding="utf-8")
    for topic in topics:
        entry = entry_of(topic)
        assert entry is not None and f"| `{entry.topic}` |" in page, topic


def test_the_page_lists_every_topic_of_a_run_between_two_parties():
    generator = np.random.default_rng(5)
    agreement = cp.agreement_from_mapping(repartition(small_mapping(), "vertical"))
    frames = fragment_frames(agreement, random_table(agreement, 60, generator), generator)
    coins = seeded(PARTIES, 3)
    with Pair() as pair:
        seen = pair.do(publish_and_note_topics, *((agreement, frames[party], coins[party]) for party in PARTIES))
    assert seen[0] == seen[1]
    assert {"budget", "lists of people", "identifiers", "date", "release", "release on disk"} <= seen[0]
    check_listed(seen[0])


def test_the_page_lists_every_topic_of_a_run_of_two_compute_nodes_and_a_guest():
    agreement = tiny_agreement(3)
    frames, plan = tiny_frames(agreement), plan_of(agreement)
    fragments, post, recorder = read_fragments(agreement, frames), Post(agreement.party_names), Topics()
    with tempfile.TemporaryDirectory(prefix="copublish-test-") as folder, ThreadPoolExecutor(3) as pool:
        addresses = [f"unix:{folder}/{node}.sock" for node in agreement.compute_nodes]

        def one(messenger: Any) -> cp.Release:
            party, of_node = messenger.party, addresses if messenger.party in agreement.compute_nodes else ()
            noting: EngineRecorder = recorder
            with engine_for(agreement, party, of_node, messenger, recorder=noting) as engine:
                return publish_release(plan, fragments[party], engine, throwaway_ledger(plan), no_progress)

        all_of(pool.submit(post.run, one).result(120))
    seen = {topic for _, _, topic, _ in post.sent}
    assert {INPUT_PART.topic, READY.topic, OPENED.topic, "budget", "release"} <= seen
    assert recorder.seen == set(), "where there are guests, values go as messages"
    check_listed(seen)
