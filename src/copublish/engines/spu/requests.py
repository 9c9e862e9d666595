"""Requests of a party to its SPU worker: steps of a computation, and what a compiled program may consist of.

Programs on zeros make SPU set up what a run will use: sources of oblivious transfers, and keys for products. A recorder
can measure every request: how long it took, and what it sent.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Protocol, cast

import numpy as np

from copublish.engines.comparing.pseudonyms import Pseudonyms
from copublish.types import IntArray, Program

CONNECT = "connect"
"""What waiting for the workers is called among the requests: they load, and reach each other."""


class EngineRecorder(Protocol):
    """Told about one node's engine, in the process of its party.

    Privacy:
        Requests hold this party's own data. A recorder that writes something down leaves them out.
    """

    def asked(self, request: object, seconds: float, bytes_sent: int) -> None:
        """A request was answered after so long, and the worker has sent so much since the answer before.

        Work that a request only begins goes on after its answer: its bytes are told with later ones, and so is the
        time that somebody waits for it.
        """

    def ends(self, process: int) -> None:
        """The worker with this process number is about to end."""


FIRST_RESULT = "first"
"""What the result of such a program is called until it is forgotten."""

FIRST_WORDS = 1024
"""Words of an AND that takes more oblivious transfers than SPU makes at first, so that it makes the millions that last
for a whole run; fewer would leave most of the work for later."""

FIRST_PRODUCT = (128, 2, 64)
"""Rows, records and columns of the smallest product, nearly, for which SPU makes the keys that all later ones use: it
takes two ciphertexts, which those keys pack into the one that comes back. How long packing takes goes with the number
of records here."""


def first_programs(first_uses: FirstUses) -> Iterator[tuple[Step, ...]]:
    """Yield the steps of a program for everything that is going to be used."""
    if first_uses.coins:
        word = Xored(np.zeros(FIRST_WORDS, dtype=np.int64))
        yield word, word, Call(first_and, (0, 1), {})
    if first_uses.products:
        rows, records, columns = FIRST_PRODUCT
        factors = OwnedMatrix(0, (rows, records), None), OwnedMatrix(1, (records, columns), None)
        yield *factors, Call(first_product, (0, 1), {})


def first_and(xp: ModuleType, one: IntArray, other: IntArray) -> IntArray:
    """An AND on shares."""
    return one & other


def first_product(xp: ModuleType, left: IntArray, right: IntArray) -> IntArray:
    """A product of private matrices."""
    return cast(IntArray, xp.matmul(left, right))


VETTED_OPERATIONS = frozenset(
    (
        *("constant", "iota", "free", "return", "custom_call"),
        *("add", "subtract", "multiply", "negate", "dot", "dot_general", "reduce"),
        *("and", "or", "xor", "not", "less", "select", "shift_left", "shift_right_logical", "shift_right_arithmetic"),
        *("reshape", "slice", "concatenate", "broadcast", "broadcast_in_dim", "transpose", "pad", "convert"),
    )
)
"""Operations that are exact on 64-bit integers. `reduce` is vetted for addition alone."""


def refuse_unvetted(code: str, *, opens: bool) -> None:
    """Raise unless compiled code consists of vetted integer operations and opens just what it should.

    Raises:
        ValueError: Naming the operation.
    """
    used = set(re.findall(r"(?:^\s*|= )pphlo\.(\w+)", code, flags=re.M))
    if unvetted := used - VETTED_OPERATIONS:
        raise ValueError(f"a program uses operations that are not vetted: {', '.join(sorted(unvetted))}")
    if re.search(r"[x<]f(16|32|64)\b|complex", code):
        raise ValueError("a program uses floating or fixed point; only integers are exact")
    if set(re.findall(r"applies pphlo\.(\w+)", code)) - {"add"}:
        raise ValueError("a program reduces by something else than addition; use a tournament")
    calls = re.findall(r"custom_call @([\w.]+)", code)
    if [call for call in calls if call != "spu.gather"] != (["spu.reveal"] if opens else []):
        raise ValueError("a program opens something that it should not")
    gathers = re.findall(r"custom_call @spu\.gather.*?: \(tensor<[^()]*>, (tensor<[^()]*>)\) ->", code)
    if len(gathers) != calls.count("spu.gather") or any("secret" in index for index in gathers):
        raise ValueError("a program looks something up at a secret place")


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
    """Like `Shared`, of integers that enter as words of so many bits (`programs/packing.py`); no others are taken."""

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
class ComputeSteps:
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
