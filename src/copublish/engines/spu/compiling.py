"""From the steps of a run to a program of SPU: traced by JAX, compiled, vetted, and kept on disk for the next run.

Compiling takes seconds of every release and depends on nothing but the program, shapes and versions. So what was
compiled is kept in a folder of this user's, under a hash of all of these. It is trusted no more than what comes out of
the compiler: it is vetted again whenever it is read, and all parties compare its hash before it runs.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import gc
import hashlib
import os
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from importlib.metadata import version
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from copublish.engines.spu.requests import Call, ComputeSteps, OwnProducts, Ranged, Shared, Step, refuse_unvetted
from copublish.files.home import make_private_folder
from copublish.files.regular import MIB, read_regular
from copublish.kernel.programs.packing import sum_within

RESULT = "result"
"""What a program calls what it computes, with a number; kept results get names of their own afterwards."""

COMPILERS = ("spu", "jax", "jaxlib", "numpy")
"""Packages whose versions a compiled program depends on."""

MOST_KEPT = 500
"""Programs that are kept on disk; beyond it those that were used longest ago go."""

LARGEST_KEPT = 8 * MIB

MAKING = ".making"
"""A file that whoever compiles a program holds, in the folder of programs that are kept."""

MOST_SECONDS_IN_TURN, LOOK_SECONDS = 4.0, 0.01
"""How long to wait for another process that compiles the same, and how often to look. The shortest time that parties
wait for each other is longer."""

OLD_MARK_SECONDS = 3600
"""Nobody compiles for so long: whoever made a file of this age was killed."""


class Compiler:
    """Compiles every program once for each shape.

    Args:
        library: SPU's.
        n_summands: How many inputs a shared value has: one of each node, or a single one that they made together.
        folder: Where compiled programs are kept; `None` keeps none.

    Attributes:
        bytes_kept: What was written to that folder so far.

    Privacy:
        What is kept are programs, shapes and public constants of them, which may come from values opened in this
        party's runs: in its own folder, as its ledger. How soon a program is ready tells the other nodes whether this
        party has run the same one before, and nothing about data.
    """

    def __init__(self, library: Any, n_summands: int, folder: Path | None) -> None:
        self._library, self._n_summands, self._folder = library, n_summands, folder
        self._options = library.CompilerOptions()
        self._options.disallow_mix_types_opts = True
        self._ready: dict[str, Any] = {}
        self._lock = Lock()
        self.bytes_kept = 0

    def executable(self, request: ComputeSteps, names: Sequence[str], shapes: Sequence[tuple[int, ...]]) -> Any:
        """The vetted program of a request with inputs of these names and shapes.

        Raises:
            ValueError: If the program consists of something else than vetted operations.
        """
        key = _key(
            (request.steps, names, shapes, request.opens, results_of(request), request.by_rows, self._n_summands)
        )
        if key is None:
            return self._compile(request, names, shapes)
        with self._lock:  # sessions ask from threads of their own
            if key not in self._ready:
                self._ready[key] = self._kept(key, request) or self._kept_or_made(key, request, names, shapes)
            return self._ready[key]

    def _kept_or_made(
        self, key: str, request: ComputeSteps, names: Sequence[str], shapes: Sequence[tuple[int, ...]]
    ) -> Any:
        """A program that further workers, or parties on the same machine, may be compiling right now."""
        if self._folder is None or not _is_ours(request.steps):
            return self._compile(request, names, shapes)
        with _in_turn(self._folder, key):
            found = self._kept(key, request)
            if found is None:
                found = self._compile(request, names, shapes)
                with contextlib.suppress(OSError):  # a full disk or a folder of somebody else: it is compiled again
                    self.bytes_kept += _keep(make_private_folder(self._folder) / key, found.SerializeToString())
        return found

    def _compile(self, request: ComputeSteps, names: Sequence[str], shapes: Sequence[tuple[int, ...]]) -> Any:
        frontend = load_frontend()
        executable, _ = frontend.compile(
            frontend.Kind.JAX,
            _as_jax(request, self._n_summands),
            [np.zeros(shape, np.int64) for shape in shapes],
            {},
            list(names),
            [self._library.Visibility.VIS_SECRET] * len(names),
            lambda _: results_of(request),
            copts=self._options,
        )
        refuse_unvetted(executable.code.decode(), opens=request.opens)
        return executable

    def _kept(self, key: str, request: ComputeSteps) -> Any | None:
        """The program that an earlier run kept; `None` if there is none, or it is damaged."""
        if self._folder is None:
            return None
        executable = self._library.Executable()
        try:
            digest, _, content = read_regular(self._folder / key, LARGEST_KEPT, follow=False).partition(b"\n")
            if digest != _digest(key, content):
                return None
            executable.ParseFromString(content)
            refuse_unvetted(executable.code.decode(), opens=request.opens)
            os.utime(self._folder / key)
        except (OSError, ValueError, RuntimeError):
            return None
        return executable


@cache
def load_frontend() -> Any:
    """SPU's compiler with JAX. Loading them takes longer than loading SPU, so a run that compiles nothing does not."""
    collected = gc.isenabled()
    gc.disable()  # until both are loaded: they stay, and would be looked through for garbage again and again
    try:
        import jax
        import spu.utils.frontend as frontend
    finally:
        if collected:
            gc.enable()
    gc.freeze()
    jax.config.update("jax_enable_x64", True)  # type: ignore[no-untyped-call]  # otherwise integers are silently 32 bits
    return frontend


def results_of(request: ComputeSteps) -> list[str]:
    """Names of a program's results."""
    return [f"{RESULT}{number}" for number in range(1 if request.keep_as is None else len(request.keep_as))]


def _as_jax(request: ComputeSteps, n_summands: int) -> Any:
    """The function that JAX traces: the steps of a run on its inputs."""

    def function(*inputs: Any) -> Any:
        import jax.numpy as jnp
        from spu.experimental import reveal

        waiting = list(inputs)
        values: list[Any] = []
        for step in request.steps:
            if isinstance(step, Call):
                arguments = [values[number] for number in step.arguments]
                values.append(step.program(jnp, *arguments, **step.public))
            elif isinstance(step, Ranged):
                # Each node's own words lose the bits above the range before anybody else's are added.
                values.append(sum_within(jnp, *(waiting.pop(0) for _ in range(n_summands)), bits=step.bits))
            elif isinstance(step, Shared | OwnProducts):
                parts = [waiting.pop(0) for _ in range(n_summands)]
                values.append(sum(parts[1:], start=parts[0]))
            else:
                values.append(waiting.pop(0))
        if request.opens:
            return reveal(values[-1])
        return tuple(values[-1]) if request.by_rows else values[-1]

    return function


def _is_ours(steps: Iterable[Step]) -> bool:
    """Whether the source of every program is a part of what the key depends on."""
    return all(step.program.__module__.startswith("copublish.") for step in steps if isinstance(step, Call))


def _key(parts: tuple[Any, ...]) -> str | None:
    """A hash of all that a compiled program depends on, and of no local data; `None` if something has no plain form."""
    steps, *rest = parts
    try:
        text = text_of(steps) + _plain(rest) + _versions()
    except TypeError:
        return None
    return hashlib.sha256(text.encode()).hexdigest()


def text_of(steps: Iterable[Step]) -> str:
    """Text that is the same for the same steps alone, whatever the data in them.

    Raises:
        TypeError: If something in a step has no plain form.
    """
    return _plain([_without_data(step) for step in steps])


def _without_data(step: Step) -> list[Any]:
    if isinstance(step, Call):
        if "<" in step.program.__qualname__:
            raise TypeError("a function in a function may be another one the next time")
        return [step.program.__module__, step.program.__qualname__, step.arguments, step.public]
    return [type(step).__name__, step.bits if isinstance(step, Ranged) else None]


def _plain(value: Any) -> str:
    """Text that is the same for equal values alone, in every process."""
    if value is None or isinstance(value, bool | int | str | np.integer | np.bool_ | Fraction):
        text = str(value)
        return f"{type(value).__name__}:{len(text)}:{text}"
    if isinstance(value, np.ndarray) and value.dtype.kind in "iub":
        return _plain(["array", str(value.dtype), list(value.shape), value.tobytes().hex()])
    if isinstance(value, list | tuple):
        return f"{len(value)}[{','.join(map(_plain, value))}]"
    if isinstance(value, dict):
        return _plain(["dict", *(item for key in sorted(value) for item in (key, value[key]))])
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = [getattr(value, field.name) for field in dataclasses.fields(value)]
        return _plain([type(value).__module__, type(value).__qualname__, *fields])
    raise TypeError(f"{type(value).__name__} has no plain form")


@cache
def _versions() -> str:
    """Versions of Python and what compiles, and the source of this package."""
    root = Path(__file__).parents[2]
    source = hashlib.sha256()
    for file in sorted(root.rglob("*.py")):
        source.update(_plain([file.relative_to(root).as_posix()]).encode() + hashlib.sha256(file.read_bytes()).digest())
    return _plain([sys.version, *(version(name) for name in COMPILERS), source.hexdigest()])


@contextlib.contextmanager
def _in_turn(folder: Path, key: str) -> Iterator[None]:
    """Hold a mark while a program is compiled, or wait while another process of this user does.

    Whoever waited holds nothing afterwards: if no program was left behind, nobody has to wait once more. Two may
    compile the same program, which costs time and no more, and so does any trouble with the mark.
    """
    mark = folder / f"{key}{MAKING}"
    try:
        make_private_folder(folder)
        descriptor = os.open(mark, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError:  # a full disk or a folder of somebody else
        yield
        return
    is_first = False
    try:
        is_first = _waits_for_nobody(descriptor)
        if not is_first:
            with contextlib.suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_UN)
        yield
    finally:
        if is_first:
            with contextlib.suppress(OSError):
                mark.unlink()
        os.close(descriptor)


def _waits_for_nobody(descriptor: int) -> bool:
    """Lock an open file, at once or not before its holder lets go or has had enough time; whether it was at once."""
    given_up = time.monotonic() + MOST_SECONDS_IN_TURN
    is_first = True
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return is_first
        except BlockingIOError:
            is_first = False
        except OSError:  # a file system without locks
            return is_first
        if time.monotonic() > given_up:
            return is_first
        time.sleep(LOOK_SECONDS)


def _digest(key: str, content: bytes) -> bytes:
    return hashlib.sha256(key.encode() + content).hexdigest().encode()


def _keep(path: Path, content: bytes) -> int:
    """Write a file whole or not at all, and make room for it; return how long it is."""
    content = _digest(path.name, content) + b"\n" + content
    if len(content) > LARGEST_KEPT:
        return 0
    files = sorted(path.parent.iterdir(), key=_last_use)
    kept = [file for file in files if file.suffix != MAKING]
    left = [file for file in files if file.suffix == MAKING and _last_use(file) < time.time() - OLD_MARK_SECONDS]
    for gone in (*kept[: max(0, len(kept) + 1 - MOST_KEPT)], *left):
        gone.unlink(missing_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    Path(name).replace(path)
    return len(content)


def _last_use(file: Path) -> float:
    try:
        return file.lstat().st_mtime
    except FileNotFoundError:  # it went to make room for another one's
        return 0.0
