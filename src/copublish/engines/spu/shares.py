"""Secrets of the secure engine as expressions, computed in one program when something built on them is opened.

Their shares are read and written as words of 64 bits. Runtimes of SPU have a link and a thread of their own, so that
two of them need not wait for each other.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import numpy as np

from copublish.engines.spu.requests import Call, Kept, Ranged, Shared, Step, Xored
from copublish.kernel.secrets.secret import Secret
from copublish.types import IntArray, Program

SUMMAND_TYPE = "cheetah.AShr<FM64>"
"""What SPU calls a share of CHEETAH whose parts are added in the ring."""

BOOLEAN_TYPE = "cheetah.BShr<FM64,64>"
"""What SPU calls a share of CHEETAH whose parts are XORed, 64 bits in a word."""


def share_of(library: Any, words: IntArray, shape: tuple[int, ...], storage_type: str) -> Any:
    """Words as SPU's share of a secret of this shape."""
    meta = library.ValueMeta()
    meta.data_type, meta.visibility = library.DataType.DT_I64, library.Visibility.VIS_SECRET
    meta.is_complex, meta.shape, meta.storage_type = False, list(shape), storage_type
    chunk = library.ValueChunk()
    chunk.total_bytes, chunk.chunk_offset, chunk.content = words.nbytes, 0, words.tobytes()
    share = library.Share()
    share.meta, share.share_chunks = meta.SerializeToString(), [chunk.SerializeToString()]
    return share


def summand_in(library: Any, share: Any, shape: tuple[int, ...]) -> IntArray:
    """A node's summand of a secret: uniform, and known to nobody else."""
    if _meta_of(library, share).storage_type != SUMMAND_TYPE:
        raise ValueError("a secret is not kept in summands")
    content = b""
    for serialized in share.share_chunks:
        chunk = library.ValueChunk()
        chunk.ParseFromString(serialized)
        content += chunk.content
    return np.frombuffer(content, dtype=np.int64).reshape(shape)


def is_public(library: Any, share: Any) -> bool:
    """Whether all nodes have the value itself."""
    return bool(_meta_of(library, share).visibility == library.Visibility.VIS_PUBLIC)


def _meta_of(library: Any, share: Any) -> Any:
    meta = library.ValueMeta()
    meta.ParseFromString(share.meta)
    return meta


@dataclass(frozen=True, eq=False)
class Expression:
    """A secret as an expression: an input, a kept result, or a program on other nodes."""

    step: Shared | Ranged | Xored | Kept | None
    program: Program | None = None
    arguments: tuple[Expression, ...] = ()
    public: dict[str, Any] | None = None


def steps_of(target: Expression) -> tuple[Step, ...]:
    """The steps that compute a node, each node once, the target last."""
    steps: list[Step] = []
    place: dict[int, int] = {}

    def visit(node: Expression) -> int:
        if id(node) not in place:
            if node.step is not None:
                step: Step = node.step
            else:
                arguments = tuple(visit(argument) for argument in node.arguments)
                step = Call(cast(Program, node.program), arguments, node.public or {})
            place[id(node)] = len(steps)
            steps.append(step)
        return place[id(node)]

    visit(target)
    return tuple(steps)


def kept_step(secret: Secret) -> Kept:
    """The step that takes up a kept secret again."""
    return cast(Kept, cast(Expression, secret._handle).step)


T = TypeVar("T")


class Session:
    """One runtime. Whatever is asked of it happens in its thread, in the order in which it was asked for.

    Args:
        link: Its link to the other nodes, which nothing else uses. All of them make theirs in the same order.
        start: Makes the runtime, which takes messages to and fro.
    """

    def __init__(self, link: Any, start: Callable[[Any], Any]) -> None:
        self.link = link
        self._thread = ThreadPoolExecutor(1)
        self._start = start
        self._runtime: Any = None
        self._begun: list[Future[object]] = []

    @property
    def runtime(self) -> Any:
        """SPU's runtime, made when it is first used. For what runs in this session's thread."""
        if self._runtime is None:
            self._runtime = self._start(self.link)
        return self._runtime

    def begin(self, work: Callable[[], object]) -> None:
        """Do something while the caller goes on. If it fails, whoever asks this session next hears of it."""
        self._begun.append(self._thread.submit(work))

    def do(self, work: Callable[[], T]) -> T:
        """Do something after all that was begun, and wait for it."""
        self.wait()
        return self._thread.submit(work).result()

    def wait(self) -> None:
        """Wait for all that was begun.

        Raises:
            Exception: Whatever ended it.
        """
        while self._begun:
            self._begun[0].result()
            self._begun.pop(0)
