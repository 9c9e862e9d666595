"""The page of messages is made from their table, and there is no message beside it: in no source, and in no run."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from copublish.agreement.protocol.message import Exchange, Letter
from copublish.agreement.protocol.table import AT_TWO_PARTIES, PROTOCOL, TABLE, entry_of
from copublish.engines.comparing.comparison import comparison_by
from copublish.mechanisms.registry import mechanisms
from support import random_table
from support.any_release import cases_of
from support.hidden import SMALL, join_of, placed
from support.messages import Post, all_of, masked_agreement, publish_by_masked_sums, split_rows
from support.not_common import HIDDEN
from support.recorded_releases import CASES, made_up_frames
from support.topics import topics_of_room, topics_of_signed_run, with_a_person_twice
from website.places import ROOT
from website.protocol_page import PAGE, page_of_protocol

TABLE_FILE = ROOT / "src/copublish/agreement/protocol/table.py"
SOURCES = sorted(path for folder in ("src", "benchmarks", "website") for path in (ROOT / folder).rglob("*.py"))
MECHANISMS_OF_TESTS = [ROOT / "tests/support/broken_mechanisms.py", ROOT / "tests/docs/toy_mechanism.py"]

TOPIC_AT = {
    **{"exchange": 0, "send_word": 0, "receive_word": 0, "say": 0, "hear": 0},
    **{"send": 1, "receive": 1, "exchange_public": 1, "send_list": 2, "receive_list": 2, "pass_on_list": 3},
}
"""Where functions take the entry of a message."""

OF_THE_LEDGER = {"common records", "people at two parties"}
"""Kinds of comparisons in the ledger, whose names two topics have."""

OF_A_MESSAGE = {"Word", "Letter", "Exchange", "Stream"}


def literal_topics(tree: ast.AST) -> Iterator[str]:
    """Every place that names a message by text, or makes an entry, instead of taking one from the table."""
    spelled = {entry.topic for entry in TABLE if " " in entry.topic and "{" not in entry.topic} - OF_THE_LEDGER
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node.value in spelled and id(node) not in docstrings:
            yield f"{node.lineno}: a topic is spelled"
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        place = TOPIC_AT.get(name)
        given = [*node.args[place : place + 1]] if place is not None else []
        given += [keyword.value for keyword in node.keywords if keyword.arg in ("topic", "message")]
        if any(isinstance(part, ast.JoinedStr) or _is_text(part) for part in given) and name != "of":
            yield f"{node.lineno}: {name} takes a text"
        if name in OF_A_MESSAGE and any(keyword.arg == "topic" for keyword in node.keywords):
            yield f"{node.lineno}: an entry beside the table"


def _is_text(node: ast.AST) -> bool:
    return any(isinstance(part, ast.Constant) and isinstance(part.value, str) for part in ast.walk(node)) and not any(
        isinstance(part, ast.Call) for part in ast.walk(node)
    )


@pytest.mark.parametrize("path", [*SOURCES, *MECHANISMS_OF_TESTS], ids=lambda path: str(path.relative_to(ROOT)))
def test_no_text_is_used_as_a_topic(path: Path) -> None:
    found = list(literal_topics(ast.parse(path.read_text())))
    assert not found or path == TABLE_FILE, found
    assert found or path != TABLE_FILE, "the search finds nothing in the table itself"


@pytest.mark.parametrize(
    "planted",
    [
        'engine.exchange("rows", 1)',
        'engine.exchange(f"holders of {column}", 1)',
        'engine.exchange(1, topic="rows")',
        'messenger.send(to, "rows", b"")',
        'messenger.receive(to, "a" + "b")',
        'send_list(messenger, to, "rows", b"")',
        'channel.send_word("alive")',
        'TOPIC = "heads of ledgers"',
        "ROWS = Exchange(topic=name, shape=shape)",
    ],
)
def test_a_planted_topic_is_found(planted: str) -> None:
    assert list(literal_topics(ast.parse(planted)))


def test_the_page_is_that_of_the_table() -> None:
    assert PAGE.read_text(encoding="utf-8") == page_of_protocol(), "make it anew: python -m website.protocol_page"


def test_the_page_lists_every_entry_and_there_is_one_number() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert all(f"| `{entry.topic}` |" in page for entry in TABLE) and PROTOCOL == 1
    numbers = [path for path in SOURCES for node in ast.walk(ast.parse(path.read_text())) if _assigns_protocol(node)]
    assert numbers == [TABLE_FILE]


def _assigns_protocol(node: ast.AST) -> bool:
    return isinstance(node, ast.Assign) and any(getattr(target, "id", "") == "PROTOCOL" for target in node.targets)


@cache
def listed() -> frozenset[str]:
    """Topics in the first column of the page's tables."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    return frozenset(line.split("`")[1] for line in lines if line.startswith("| `"))


def check_listed(topics: set[str]) -> set[str]:
    """Fail unless the page lists every topic; return those of the table that they belong to."""
    entries = {topic: entry_of(topic) for topic in topics}
    assert topics and not [topic for topic, entry in entries.items() if entry is None or entry.topic not in listed()]
    return {entry.topic for entry in entries.values() if entry is not None}


def cases() -> list[str]:
    """For every mechanism and partition the case with the most parties."""
    found: dict[tuple[str, str], str] = {}
    for mechanism in mechanisms():
        for case in cases_of(mechanism.name):
            agreement = CASES[case].agreement
            kind = (mechanism.name, agreement["partition"])
            if kind not in found or len(agreement["parties"]) > len(CASES[found[kind]].agreement["parties"]):
                found[kind] = case
    return list(found.values())


@pytest.mark.parametrize("case", cases())
def test_the_page_lists_every_topic_of_a_run_of_each_mechanism(case: str) -> None:
    assert {"budget", "release", "date"} < check_listed(topics_of_room(case))


def test_a_topic_that_the_page_does_not_list_is_noticed() -> None:
    with pytest.raises(AssertionError):
        check_listed({"rows", "gossip"})


def among_owners(owners: tuple[str, ...], helper: str | None, job: str, *arguments: Any) -> set[str]:
    """Topics of comparing people by messages."""
    post = Post((*owners, "helper"))
    lists = {owner: ["x", owner] for owner in owners}

    def one(messenger: Any) -> Any:
        return getattr(comparison_by(messenger, owners, helper), job)(lists.get(messenger.party, []), *arguments)

    all_of(post.run(one))
    return {topic for _, _, topic, _ in post.sent}


def test_every_exchange_and_every_message_of_bytes_is_used_by_some_run(tmp_path) -> None:
    """So that the table has nothing that no run sends; guests of compute nodes are in tests/secure."""
    seen: set[str] = set().union(*(topics_of_room(case) for case in cases()))
    owners = ("a", "b", "c")
    for helper in (None, "helper"):
        seen |= among_owners(owners, helper, "common") | among_owners(owners, helper, "any_shared", 4)
    hidden = {"a": ["x", "y"], "b": ["x"]}
    for helper, size in ((None, SMALL), ("helper", None)):
        post = Post(("a", "b", "helper"))
        placed(hidden, join_of(hidden, size=size), helper=helper, idle=() if helper else ("helper",), post=post)
        seen |= {topic for _, _, topic, _ in post.sent}
    agreement, post = masked_agreement(3, helper=True), Post(("p0", "p1", "p2", "helper"))
    generator = np.random.default_rng(5)
    frames = split_rows(agreement, random_table(agreement, 60, generator), generator)
    all_of(publish_by_masked_sums(agreement, frames, post=post))
    seen |= {topic for _, _, topic, _ in post.sent} | topics_of_signed_run(tmp_path / "shared")
    seen |= topics_of_signed_run(tmp_path / "hidden", **HIDDEN)
    twice = next(
        name
        for name, case in CASES.items()
        if case.agreement["partition"] == "horizontal" and case.agreement["records"].get("identifier")
    )
    identifier = CASES[twice].agreement["records"]["identifier"]
    ended = topics_of_room(twice, with_a_person_twice(made_up_frames(twice), identifier))
    assert AT_TWO_PARTIES.topic in ended
    left = {entry.topic for entry in TABLE if isinstance(entry, Exchange | Letter)} - check_listed(seen | ended)
    assert left == {"identifiers", "part of an input", "ready to open", "opened"}, left
