"""A domain of 4 x 3 x 3, small enough to try every neighbor: its candidates, and their scores through an engine."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from copublish import Agreement, agreement_from_mapping
from copublish.engines.ideal import Room
from copublish.kernel.records.fragment import Fragment
from copublish.kernel.records.joint_table import JointTable
from copublish.mechanisms.specialization.cut import Candidates, Cut, max_candidates
from copublish.mechanisms.specialization.run_scores import CandidateScores
from copublish.mechanisms.specialization.score import MAX, Score
from support import repartition, small_mapping

NAMES = ("tree", "flat", "number")
SIZES = (4, 3, 3)

Record = tuple[int, int, int, int]
"""Codes of the three attributes and the class."""


NEVER_WINS = -1000

ROUNDS = 5
"""As many as `cuts` goes down."""


def agreement_with(
    classes: int, partition: str = "horizontal", parties: int = 2, class_holder: str | None = None
) -> Agreement:
    attributes = {
        "tree": {"kind": "categorical", "taxonomy": {"ANY": {"L": {"a": {}, "b": {}}, "R": {"c": {}, "d": {}}}}},
        "flat": {"kind": "categorical", "values": ["x", "y", "z"]},
        "number": {"kind": "numerical", "bounds": [0, 3], "grid": {"edges": [1, 2]}},
    }
    mapping = small_mapping(attributes=attributes)
    mapping["class"]["values"] = ["no", "yes", "maybe", "later", "never"][:classes]
    mapping = repartition(mapping, partition, parties)
    if class_holder:
        mapping["class"]["held_by"] = class_holder
    return agreement_from_mapping(mapping)


def all_records(classes: int) -> list[Record]:
    return list(itertools.product(*map(range, (*SIZES, classes))))


def random_records(classes: int, n: int, generator: np.random.Generator) -> list[Record]:
    return [tuple(int(generator.integers(size)) for size in (*SIZES, classes)) for _ in range(n)]


def cuts(agreement: Agreement) -> Iterator[Cut]:
    """The top, and some cuts below it, on the way to the finest."""
    cut = Cut.top(agreement.domains)
    for choice in (2, 0, 1, 0, 0):
        yield cut
        groups = cut.candidates(1000)
        if not groups:
            return
        cut = cut.specialize(groups, choice % sum(len(group.splits) for group in groups))


def engine_scores(
    agreement: Agreement, records: Sequence[Record], groups: Sequence[Candidates], score: Score = MAX
) -> list[int]:
    """The whole path through an engine, with the records split between the parties as the partition says."""
    columns = {name: np.array([r[i] for r in records], np.uint8) for i, name in enumerate(NAMES)}
    columns["default"] = np.array([record[3] for record in records], np.uint8)
    sizes = {**dict(zip(NAMES, SIZES, strict=True)), "default": len(agreement.class_.values)}
    generator = np.random.default_rng(len(records))
    parties = agreement.party_names
    rows_of = generator.integers(0, len(parties), len(records))
    holder_of = {name: generator.integers(0, len(parties), len(records)) for name in NAMES}

    def fragment(number: int, party: str) -> Fragment:
        held = {name: columns[name] for name in agreement.columns_of(party)}
        if agreement.partition == "horizontal":
            held = {name: codes[rows_of == number] for name, codes in held.items()}
        if agreement.partition == "arbitrary":
            held = {
                name: np.where(holder_of[name] == number, codes, sizes[name]) if name in holder_of else codes
                for name, codes in held.items()
            }
        n_records = len(next(iter(held.values()), records))
        return Fragment(party, n_records, held, {name: sizes[name] for name in held})

    fragments = {party: fragment(number, party) for number, party in enumerate(parties)}
    room = Room(parties)
    scores = room.run(
        lambda e: CandidateScores(
            JointTable(agreement, fragments[e.party]), e, NEVER_WINS, max_candidates(agreement.domains, ROUNDS), score
        ).of(groups)
    )
    return scores[parties[0]]._handle.tolist()


def padded(scores: list[int], agreement: Agreement) -> list[int]:
    """Scores at all the places that any round of this agreement has."""
    return scores + [NEVER_WINS] * (max_candidates(agreement.domains, ROUNDS) - len(scores))


PARTITIONS = [
    ("horizontal", 3, None),
    ("vertical", 2, None),
    ("vertical", 3, None),
    ("arbitrary", 3, None),
    ("vertical", 2, "p0"),
    ("vertical", 3, "p1"),
    ("vertical", 3, "p2"),
    ("arbitrary", 2, "p0"),
    ("arbitrary", 3, "p2"),
]
"""Partition, number of parties, and the one that holds the class if not all do."""


def added(records: list[Record], classes: int) -> Iterator[list[Record]]:
    for record in all_records(classes):
        yield [*records, record]


def replaced(records: list[Record], classes: int) -> Iterator[list[Record]]:
    for position in range(len(records)):
        for record in all_records(classes):
            yield [*records[:position], record, *records[position + 1 :]]
