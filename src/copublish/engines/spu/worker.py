"""The process in which SPU lives.

A peer that dies takes the process down that SPU runs in, without a Python exception, so a party never loads SPU
itself: it talks to this worker over a pipe, and the worker's end becomes one of our errors (`engines/spu/process.py`).

The worker runs nothing but programs whose compiled code consists of vetted integer operations, and only after all
parties have compared the hash of that code.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.spawn import prepare
from pathlib import Path
from typing import Any

import numpy as np

from copublish.engines.spu.compiling import Compiler, results_of
from copublish.engines.spu.intersection import intersect
from copublish.engines.spu.one_hot import SUM_TYPE, XOR_TYPE, share_of_sum, share_of_xor
from copublish.engines.spu.requests import (
    ABY3,
    FIRST_RESULT,
    NODES_OF_PROTOCOL,
    ComputeSteps,
    Forget,
    Gather,
    Intersect,
    Kept,
    LinkSettings,
    LoadMain,
    OwnedMatrix,
    OwnProducts,
    Ranged,
    Shared,
    ShareOf,
    Step,
    TakeSummand,
    Xored,
    first_programs,
    names_of_kept,
)
from copublish.engines.spu.runtime import (
    bytes_written,
    die_with_parent,
    exact_config,
    let_products_use_all_cores,
    load_spu,
    meet,
    open_counters,
    silence_and_confine,
)
from copublish.engines.spu.shares import BOOLEAN_TYPE, Session, is_public, share_of, summand_in
from copublish.files.interrupts import forbid_core_dumps
from copublish.types import IntArray

Shares = dict[str, Any]
"""This node's shares of secrets, by their names."""

LAST_WORD_SECONDS = 0.1
"""How long a worker stays after all nodes have said that they have no more to say."""


def serve(connection: Connection, scratch: str) -> None:
    """Load SPU, meet the other nodes when told where, and answer requests until the pipe is closed.

    The main function of the worker process.
    """
    die_with_parent()
    counters = open_counters()
    forbid_core_dumps()
    try:
        silence_and_confine(scratch)
    except OSError:  # the party was killed before we could ask to die with it, and its folder is gone
        os._exit(0)
    try:
        load_spu()  # takes a while, which is not the other party's fault
        connection.send(("loaded", None))
        worker = Worker(connection.recv())
        connection.send(("connected", None))
        worker.set_up()
        while True:
            request = connection.recv()
            if isinstance(request, LoadMain):
                load_main(request)
                continue
            answer = worker.answer(request)
            connection.send(("done", (answer, bytes_written(counters) - worker.bytes_kept)))
    except EOFError:
        pass
    except BaseException as exc:
        # SPU's messages hold a C++ stack trace and no data; the first line says what happened.
        first = " ".join(str(exc).split("tacktrace")[0].split())[:300]
        with contextlib.suppress(OSError):  # nobody is there to hear it
            connection.send(("failed", first if isinstance(exc, ValueError) else f"{type(exc).__name__}: {first}"))
    finally:
        os._exit(0)  # SPU's threads would otherwise be torn down in an order that can crash


def load_main(main: LoadMain) -> None:
    """Load the party's own program, as `multiprocessing` does in the processes that it starts."""
    named, path = main.name, main.path
    prepare({"init_main_from_name": named} if named is not None else {"init_main_from_path": path} if path else {})


@dataclass
class Worker:
    """SPU's runtime of one party."""

    settings: LinkSettings

    def __post_init__(self) -> None:
        protocol, nodes = self.settings.protocol, len(self.settings.addresses)
        if protocol not in NODES_OF_PROTOCOL:
            # SEMI2K would run here with triples that one of the parties makes and could use to see everything.
            raise ValueError(f"protocol {protocol} is not offered; only {' and '.join(NODES_OF_PROTOCOL)} are")
        if nodes != NODES_OF_PROTOCOL[protocol]:
            raise ValueError(f"{protocol} runs between {NODES_OF_PROTOCOL[protocol]} nodes, not {nodes}")
        load_spu()
        from spu import api, libspu

        self._library = libspu
        logging = libspu.logging.LogOptions()
        logging.enable_console_logger = False
        libspu.logging.setup_logging(logging)
        let_products_use_all_cores(libspu)
        self._link = meet(libspu, self.settings)
        # Public values and identifiers have a link of their own, and products have: neither waits for the set-up.
        self._talk = self._link.spawn()
        config = exact_config(libspu, protocol)
        self._io = api.Io(len(self.settings.addresses), config)
        self._main, self._products = (
            Session(link, lambda own: api.Runtime(own, config)) for link in (self._link, self._link.spawn())
        )
        self._kept: dict[str, Any] = {}
        folder = self.settings.programs_folder
        self._compiler = Compiler(libspu, 1 if self._is_replicated else nodes, None if folder is None else Path(folder))

    @property
    def bytes_kept(self) -> int:
        """What was written to disk for later runs, and sent to nobody."""
        return self._compiler.bytes_kept

    def set_up(self) -> None:
        """Begin to use what will be used later, on zeros, while the party still does other things.

        Leakage: none. Only zeros go in.
        """
        if self._is_replicated:
            return  # its shares come from keys that are exchanged when nodes meet
        for steps in first_programs(self.settings.first_uses):
            first = ComputeSteps(steps, keep_as=(FIRST_RESULT,))
            session = self._session(first)
            session.begin(partial(self._compute, session, first, {}))

    def answer(self, request: object) -> Any:
        """Do what was asked and return what became known, if anything."""
        if isinstance(request, ComputeSteps):
            return self._run(request)
        if isinstance(request, Forget):
            self._wait_for(request.names)
            for name in request.names:
                del self._kept[name]
            return None
        if isinstance(request, TakeSummand):
            self._wait_for([request.kept.name])
            return self._own_share(request.kept, self._kept)
        if isinstance(request, Gather):
            return self._gather(request)
        if isinstance(request, Intersect):
            return intersect(self._talk, request.pseudonyms, self.settings.scratch_folder)
        self._wait_for_all()
        self._link.stop_link()
        # Its last message has come to us, and perhaps not yet back to it that it has: whoever does not hear that tries
        # again, three times, for three seconds each.
        time.sleep(LAST_WORD_SECONDS)
        return None

    def _gather(self, request: Gather) -> list[str]:
        """What every node told."""
        try:
            told = self._talk.all_gather(request.text)
        except UnicodeDecodeError:
            if len(self.settings.addresses) > 2:
                raise ValueError("what another node told is no text") from None
            told = ["", ""]  # which is no value, so the other node is named
        return [text[: request.at_most + 1] for text in told]

    def _run(self, request: ComputeSteps) -> IntArray | None:
        session = self._session(request)
        names = set(names_of_kept(request.steps))
        self._wait_for(names)
        kept = {name: self._kept[name] for name in names}  # they may be forgotten before what is begun gets to them
        if request.keep_as is not None:
            keep = partial(self._keep, session, request, request.keep_as, kept)
            session.begin(keep) if request.begins else session.do(keep)
            return None
        (share,) = session.do(partial(self._compute, session, request, kept))
        if not is_public(self._library, share):
            raise ValueError("a result is not public after its reveal")
        return np.asarray(self._io.reconstruct([share] * len(self.settings.addresses)), dtype=np.int64)

    def _keep(self, session: Session, request: ComputeSteps, names: Sequence[str], kept: Shares) -> None:
        self._kept.update(zip(names, self._compute(session, request, kept), strict=True))

    def _wait_for(self, names: Iterable[str]) -> None:
        """Wait for secrets whose computation was begun."""
        if not self._kept.keys() >= set(names):
            self._wait_for_all()

    def _wait_for_all(self) -> None:
        for session in (self._main, self._products):
            session.wait()

    def _session(self, request: ComputeSteps) -> Session:
        """Where a program runs: products of private matrices need keys alone, and all else no keys."""
        multiplies = any(isinstance(step, OwnedMatrix | ShareOf) for step in request.steps)
        return self._products if multiplies else self._main

    def _compute(self, session: Session, request: ComputeSteps, kept: Shares) -> list[Any]:
        """This node's shares of a program's results; shares of a secret are the same in every session."""
        runtime = session.runtime
        names, shapes = self._put_in(runtime, request.steps, kept)
        runtime.run(self._executable(session, request, names, shapes))
        shares = [runtime.get_var(name) for name in results_of(request)]
        for name in (*names, *results_of(request)):
            runtime.del_var(name)
        return shares

    def _put_in(self, runtime: Any, steps: Sequence[Step], kept: Shares) -> tuple[list[str], list[tuple[int, ...]]]:
        """Give SPU this party's inputs; return the names and shapes of all inputs, in order."""
        names: list[str] = []
        shapes: list[tuple[int, ...]] = []
        for step in steps:
            if isinstance(step, Kept):
                # Under a name by position, so that what is kept under different names goes through one program.
                names.append(f"input{len(names)}")
                shapes.append(step.shape)
                runtime.set_var(names[-1], kept[step.name])
                continue
            for value, owner in self._inputs_of(step, kept):
                names.append(f"input{len(names)}")
                shapes.append(value.shape)
                if owner is None:
                    runtime.set_var(names[-1], self._share(step, value))
                else:
                    secret = self._library.Visibility.VIS_SECRET
                    shares = self._io.make_shares(np.ascontiguousarray(value, np.int64), secret, owner)
                    runtime.set_var(names[-1], shares[self.settings.rank])
        return names, shapes

    @property
    def _is_replicated(self) -> bool:
        return self.settings.protocol == ABY3

    def _inputs_of(self, step: Step, kept: Shares) -> list[tuple[IntArray, int | None]]:
        """Inputs of a step, each with its owner; none where all nodes make shares of it together."""
        ranks = range(len(self.settings.addresses))
        if isinstance(step, Shared) and self._is_replicated:
            return [(step.local, None)]
        if isinstance(step, Shared | Ranged):
            own = self.settings.rank
            return [(step.local if rank == own else np.zeros_like(step.local), rank) for rank in ranks]
        if self._is_replicated and isinstance(step, Ranged | OwnedMatrix | ShareOf | OwnProducts):
            raise ValueError(f"{ABY3} takes no matrix that one party owns")
        if isinstance(step, OwnedMatrix):
            return [(step.dense(), step.owner)]
        if isinstance(step, ShareOf):
            share = self._own_share(step.kept, kept)[slice(*step.rows), slice(*step.columns)]
            return [(share if step.owner == self.settings.rank else np.zeros_like(share), step.owner)]
        if isinstance(step, OwnProducts):
            return self._inputs_of(Shared(self._own_product(step, kept)), kept)
        if isinstance(step, Xored):
            return [(step.words, None)]
        return []

    def _own_share(self, secret: Kept, kept: Shares) -> IntArray:
        return summand_in(self._library, kept[secret.name], secret.shape)

    def _own_product(self, step: OwnProducts, kept: Shares) -> IntArray:
        left, right = self._own_share(step.left, kept)[slice(*step.rows)], self._own_share(step.right, kept)
        # In the ring: it wraps. NumPy multiplies integers several times faster if columns lie together.
        return left @ (right.T if step.is_transposed else np.asfortranarray(right))[:, slice(*step.columns)]

    def _share(self, step: Step, own: IntArray) -> Any:
        """This node's share of the sum or the XOR of what every node knows alone."""
        if not self._is_replicated:
            words, storage_type = own, BOOLEAN_TYPE
        elif isinstance(step, Shared):
            words, storage_type = share_of_sum(self._link, self.settings.rank, own), SUM_TYPE
        else:
            words, storage_type = share_of_xor(self._link, self.settings.rank, own), XOR_TYPE
        return share_of(self._library, words, own.shape, storage_type)

    def _executable(
        self, session: Session, request: ComputeSteps, names: list[str], shapes: list[tuple[int, ...]]
    ) -> Any:
        """The program of a request, compared with the other parties' before it runs."""
        executable = self._compiler.executable(request, names, shapes)
        digests = session.link.all_gather(hashlib.sha256(executable.code).hexdigest())
        if len(set(digests)) > 1:
            raise ValueError("the parties compiled different programs; nothing was run")
        return executable
