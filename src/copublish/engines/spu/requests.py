"""What a party asks its SPU worker for: steps of a computation and requests, as they go through the pipe."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from copublish.engines.comparing.pseudonyms import Pseudonyms
from copublish.types import IntArray, Program

CHEETAH, ABY3 = "CHEETAH", "ABY3"

NODES_OF_PROTOCOL = {CHEETAH: 2, ABY3: 3}
"""The protocols on offer, and how many parties compute."""

ALL: tuple[int, int | None] = (0, None)
"""Every column."""


@dataclass(frozen=True)
class Shared:
    """A secret that is the sum of what every party puts in; `local` is this party's part."""

    local: IntArray


@dataclass(frozen=True)
class Ranged:
    """Like `Shared`, of integers that enter as words of so many bits (`programs/ranges.py`); no others are taken."""

    local: IntArray
    bits: int


@dataclass(frozen=True)
class OwnedMatrix:
    """A matrix that one party puts in and that is 0 but for some entries; the others know its shape."""

    owner: int
    shape: tuple[int, int]
    entries: tuple[IntArray, IntArray, IntArray] | None
    """Row, column and value of the entries, at the owner alone."""

    def dense(self) -> IntArray:
        """The matrix as SPU takes it; zeros stand for what only the owner knows."""
        matrix = np.zeros(self.shape, dtype=np.int64)
        if self.entries is not None:
            rows, columns, values = self.entries
            matrix[rows, columns] = values
        return matrix


@dataclass(frozen=True)
class Xored:
    """A secret that is the XOR of every node's words: with CHEETAH own words are a share of it, so nothing is sent."""

    words: IntArray


@dataclass(frozen=True)
class Kept:
    """A secret that an earlier run left in the worker."""

    name: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class ShareOf:
    """What one node has of a kept secret, or of some of its rows and columns, as an input of that node alone."""

    kept: Kept
    owner: int
    rows: tuple[int, int]
    columns: tuple[int, int | None] = ALL


@dataclass(frozen=True)
class OwnProducts:
    """The sum over nodes of what each of them gets from its own shares: some rows of a kept secret times columns."""

    left: Kept
    right: Kept
    rows: tuple[int, int]
    columns: tuple[int, int | None] = ALL
    is_transposed: bool = False
    """Whether the right one is transposed first."""


@dataclass(frozen=True)
class Call:
    """A program on earlier steps."""

    program: Program
    arguments: tuple[int, ...]
    public: dict[str, Any]


Step = Shared | Ranged | OwnedMatrix | Xored | Kept | ShareOf | OwnProducts | Call


def names_of_kept(steps: Iterable[Step]) -> Iterator[str]:
    """Yield the names of secrets that earlier runs left and that steps need."""
    for step in steps:
        if isinstance(step, Kept):
            yield step.name
        elif isinstance(step, ShareOf):
            yield step.kept.name
        elif isinstance(step, OwnProducts):
            yield from (step.left.name, step.right.name)


@dataclass(frozen=True)
class Run:
    """Compute the last step; open it to all parties, or keep it as a secret: whole, or each part under its own name.

    What is only begun is answered at once. Whoever asks for something that needs its result waits for it.

    Attributes:
        steps: The computation.
        keep_as: Names under which its result is kept; `None` opens it.
        by_rows: Whether every row of the result is kept under a name of its own.
        begins: Whether it is only begun.
    """

    steps: tuple[Step, ...]
    keep_as: tuple[str, ...] | None = None
    by_rows: bool = False
    begins: bool = False

    def __post_init__(self) -> None:
        if self.keep_as == () or (self.begins and self.opens):
            raise ValueError("what is not opened is kept under a name, and what is opened is waited for")

    @property
    def opens(self) -> bool:
        """Whether the result becomes known."""
        return self.keep_as is None


@dataclass(frozen=True)
class Forget:
    """Drop secrets that are not needed any more."""

    names: tuple[str, ...]


@dataclass(frozen=True)
class TakeSummand:
    """Hand this node's summand of a kept secret to its own party; with the other node's it adds up to the secret."""

    kept: Kept


@dataclass(frozen=True)
class Gather:
    """Tell every node a public value as text, and return what all told, as they spelled it.

    Attributes:
        topic: What it is about, for recorders.
        text: The value with its topic.
        at_most: Characters of such a text. Of a longer one no more than one character beyond is returned.
    """

    topic: str
    text: str
    at_most: int


@dataclass(frozen=True)
class Intersect:
    """Find the common pseudonyms by private set intersection."""

    pseudonyms: Pseudonyms


@dataclass(frozen=True)
class LoadMain:
    """Load the program that the party runs, as its children may: by the name of a module, or from a file."""

    name: str | None
    path: str | None


@dataclass(frozen=True)
class FirstUses:
    """What a run will use that SPU sets up at its first use. Both need the other node, seconds, and no data.

    Attributes:
        coins: Oblivious transfers, for noise and comparisons.
        products: Keys of the encryption that products of private matrices go through.
    """

    coins: bool = False
    products: bool = False


NOTHING_YET = FirstUses()


@dataclass(frozen=True)
class LinkSettings:
    """Where the parties meet, and how long they wait for each other."""

    rank: int
    addresses: tuple[str, ...]
    timeout_seconds: int
    scratch_folder: str
    """For SPU's temporary files; the party removes it, however the worker ends."""
    protocol: str = CHEETAH
    programs_folder: str | None = None
    """Where compiled programs are kept from one run to the next."""
    first_uses: FirstUses = NOTHING_YET
