"""One party of a release between two hosts, in a process that loads what `copublish run` would, and little more.

python benchmarks/one_party.py FILE    # a pickled party; prints the name of each phase when that is done
"""

from __future__ import annotations

import pickle
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from copublish.agreement.model import Agreement
from copublish.engines.spu.requests import CONNECT, Call, ComputeSteps, Gather, Intersect, OwnedMatrix, ShareOf
from copublish.kernel.programs.gaussian_noise import add_chosen_noise, gaussian_candidates
from copublish.kernel.programs.noise import handicaps, noisy_argmax
from copublish.kernel.programs.packing import add_drawn_noise, laplace
from copublish.party.keys.identity import load_identity
from copublish.party.local.processes import throwaway_ledger
from copublish.party.session import RunSettings, ready_party, run_party
from copublish.progress import no_progress
from copublish.release.prepare import prepare
from process_numbers import cpu_seconds, peak_mib

BEGIN = """
import gc, pickle, sys
gc.disable()
sys.path.insert(0, sys.argv[1])
from one_party import Party
gc.freeze()
gc.enable()
with open(sys.argv[2], "rb") as file:
    pickle.load(file).run()
"""
"""The program of a party's process. It looks for garbage when the command line does: not while modules are loaded."""


class FixedCoins:
    """The same coins in every run. Never for a release that anyone sees."""

    def __init__(self, seed: int) -> None:
        self._generator = np.random.default_rng(seed)

    def words(self, shape: tuple[int, ...]) -> np.ndarray:
        """Return the next words."""
        return self._generator.integers(-(2**63), 2**63, size=shape, dtype=np.int64)


@dataclass(frozen=True)
class Party:
    """What one party needs to take part in a release."""

    agreement: Agreement
    name: str
    data: Path
    identity: Path
    release: Path

    def command(self) -> list[str]:
        """Return the command that runs this party. It prints the name of each phase when that is done."""
        file = self.data.with_suffix(".party")
        file.write_bytes(pickle.dumps(self))
        return [sys.executable, "-c", BEGIN, str(Path(__file__).parent), str(file)]

    def run(self) -> None:
        """Run this party in this process; write its release, its processor time and its largest process."""
        told = Telling()
        file = self.data.with_suffix(".db")
        file.unlink(missing_ok=True)  # of a release before
        ready = ready_party(
            self.agreement,
            self.name,
            self.data,
            load_identity(self.identity),
            throwaway_ledger(prepare(self.agreement), file=file),
            RunSettings(self.release),
        )
        run_party(
            ready,
            progress=no_progress,
            waiting=lambda what: None,
            log=lambda event, **facts: None,
            coins=FixedCoins(self.agreement.party_names.index(self.name)),
            recorder=told,
        )
        self.data.with_suffix(".cpu").write_text(str(cpu_seconds() + told.worker_cpu_seconds))
        self.data.with_suffix(".peak").write_text(str(max(peak_mib(), told.worker_mib)))


class Telling:
    """Tells when a phase is done."""

    def __init__(self) -> None:
        self.worker_cpu_seconds = self.worker_mib = 0.0

    def asked(self, request: object, seconds: float, bytes_sent: int) -> None:
        """Tell which phase a request belonged to."""
        print(phase_of(request), flush=True)

    def ends(self, process: int) -> None:
        """Note the worker's processor time and memory while it is still there."""
        self.worker_cpu_seconds, self.worker_mib = cpu_seconds(process), peak_mib(process)


PHASES = {
    handicaps: "selection noise",
    noisy_argmax: "selections",
    laplace: "leaf noise",
    add_drawn_noise: "leaf noise",
    gaussian_candidates: "noise of tables",
    add_chosen_noise: "tables opened",
}


def phase_of(request: object) -> str:
    """Return what a request is for."""
    if isinstance(request, ComputeSteps):
        if any(isinstance(step, OwnedMatrix | ShareOf) for step in request.steps):
            return "products"
        programs = {step.program for step in request.steps if isinstance(step, Call)}
        return next((phase for program, phase in PHASES.items() if program in programs), "other programs")
    if isinstance(request, Intersect):
        return "alignment"
    if request == CONNECT:
        return "connection"
    return "exchanges" if isinstance(request, Gather) else "close"
