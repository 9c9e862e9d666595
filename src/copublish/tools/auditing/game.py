"""Playing a mechanism on one of two tables, and again on either one with the same answers.

What was measured on both, along the same course, is all that is needed to say how likely the answers were on each. All
parties run, on the ideal engine; the noise and the gate are those of a release.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np

from copublish.agreement.model import Agreement
from copublish.engines.ideal import IdealEngine, Room, in_the_clear
from copublish.kernel.accounting.cost import Cost
from copublish.kernel.accounting.disclosures import Disclosure, GaussianMeasure, Measure, Select
from copublish.kernel.noise.geometric import Coins, SystemCoins
from copublish.kernel.programs.noise import handicaps
from copublish.kernel.records.alignment import align_records
from copublish.kernel.records.joint_table import JointTable
from copublish.kernel.secrets.computer import ProgramComputer, computer_as
from copublish.kernel.secrets.engine import Engine
from copublish.kernel.secrets.gate import Gate, RevealGate
from copublish.kernel.secrets.own_columns import OwnColumns
from copublish.kernel.secrets.secret import Secret, SecretCounts
from copublish.mechanisms.base import Plan
from copublish.mechanisms.registry import plan_of
from copublish.party.local.simulation import read_fragments
from copublish.progress import no_progress
from copublish.tools.auditing.bounds import evidence, stretched_coins
from copublish.tools.auditing.common_people import present_everywhere
from copublish.tools.auditing.statistics import structure
from copublish.tools.auditing.tables import Pair
from copublish.types import IntArray


class FreeCharge:
    """A charge that costs nothing and writes nothing: nobody's data are opened."""

    def disclose(self, label: str, price: Callable[[], Cost]) -> None:
        """Do nothing. The price is not computed either, which takes longer than the rest of a run."""


@dataclass
class Course:
    """What happened at the gate, disclosure by disclosure."""

    disclosures: list[Disclosure] = field(default_factory=list)
    measured: list[IntArray] = field(default_factory=list)
    answers: list[Any] = field(default_factory=list)

    def plain(self) -> list[IntArray]:
        """The answers as arrays."""
        return [np.atleast_1d(answer) for answer in self.answers if not isinstance(answer, dict)]


class AllIsOpen(Exception):  # noqa: N818 - nothing is wrong
    """Everything that a run opens is open; what it would make of that follows from it."""


@dataclass
class ListeningGate:
    """A gate around a gate. It notes what is measured and opened, and may give answers of another run.

    Attributes:
        gate: Opens what is not given.
        course: Where it notes; one party's.
        given: Answers to give; what is opened after them is drawn.
        stops_after: After so many disclosures the run is ended: it is the most that it may open.
    """

    gate: Gate
    course: Course | None = None
    given: Sequence[Any] = ()
    stops_after: int | None = None
    _place: int = field(default=0, init=False, repr=False)

    @property
    def opened(self) -> list[tuple[Disclosure, IntArray]]:
        """Every disclosure so far with the values that became known, given ones included."""
        return self.gate.opened

    def reveal_selection(self, secret_scores: Secret, disclosure: Select, *, ahead: int = 1) -> int:
        """Open an index, or give the index that was opened before."""
        return int(self._reveal(partial(self.gate.reveal_selection, ahead=ahead), secret_scores, disclosure))

    def draw_selection_noise(self, disclosure: Select, places: int, *, times: int) -> None:
        """Draw noise, unless answers are given still; a choice after them draws its own."""
        if self._place >= len(self.given):
            self.gate.draw_selection_noise(disclosure, places, times=times)

    def reveal_measurement(self, counts: SecretCounts, disclosure: Measure) -> IntArray:
        """Open counts, or give those that were opened before."""
        return np.asarray(self._reveal(self.gate.reveal_measurement, counts, disclosure))

    def draw_measurement_noise(self, disclosure: Measure) -> None:
        """Draw noise. If the answer is given, nothing uses it."""
        self.gate.draw_measurement_noise(disclosure)

    def reveal_gaussian_measurement(self, sums: Secret, disclosure: GaussianMeasure, *, ahead: int = 0) -> IntArray:
        """Open sums, or give those that were opened before."""
        reveal = partial(self.gate.reveal_gaussian_measurement, ahead=ahead)
        return np.asarray(self._reveal(reveal, sums, disclosure))

    def reveal_columns(self, own: OwnColumns, disclosures: Sequence[Disclosure]) -> dict[str, IntArray]:
        """Publish columns, or give those that were published before; their owners have perturbed them already."""
        if self._place >= len(self.given):
            columns = self.gate.reveal_columns(own, disclosures)
        else:
            columns = dict(self.given[self._place])
            self.opened.extend(zip(disclosures, columns.values(), strict=True))
        self._note(disclosures[0], np.empty(0, dtype=np.int64), columns)
        return columns

    def _reveal(self, reveal: Callable[[Any, Any], Any], secret: Any, disclosure: Disclosure) -> Any:
        if self._place >= len(self.given):
            answer = reveal(secret, disclosure)
        else:
            answer = self.given[self._place]
            self.opened.append((disclosure, np.atleast_1d(answer)))
        self._note(disclosure, in_the_clear(secret).reshape(-1), answer)
        return answer

    def _note(self, disclosure: Disclosure, measured: IntArray, answer: Any) -> None:
        self._place += 1
        if self.course is not None:
            self.course.disclosures.append(disclosure)
            self.course.measured.append(measured)
            self.course.answers.append(answer)
        if self._place == self.stops_after:
            raise AllIsOpen


def free_gate(engine: Engine, *, number_of_records_is_public: bool = False) -> RevealGate:
    """The gate of a release over made-up tables: nobody pays. It keeps to a budget that answers divide."""
    return RevealGate(engine.computer, engine.opener, FreeCharge(), number_of_records_is_public)


def reveal_selections(engine: Engine, secret_scores: Secret, disclosure: Select) -> IntArray:
    """Open the index of the noisy maximum of every row of scores, each with noise of its own: (runs, places)."""
    (runs, places), noise = secret_scores.shape, disclosure.noise
    computer = computer_as(ProgramComputer, engine.computer)
    words = computer.coins(noise.coin_shape(runs * places))
    (drawn,) = computer.rows(computer.compute(handicaps, words, planes=noise.threshold_planes, places=runs * places))
    return engine.opener.open(computer.compute(noisy_argmaxes, secret_scores, drawn))


def noisy_argmaxes(xp: ModuleType, scores: IntArray, drawn: IntArray) -> IntArray:
    """The choices of many runs, shape (runs, places), with the noise of one choice among the places of all of them.

    For the ideal engine alone, which has a maximum: of equal ones it takes the first, as a release does.
    """
    runs, places = scores.shape
    index_bits = (runs * places - 1).bit_length()  # `handicaps` puts the index of a place below its noise, counted down
    return np.asarray(xp.argmax((scores << index_bits) + drawn.reshape(runs, places), axis=1))


class Game:
    """Two neighboring tables as the parties hold them, aligned, and the plan of the agreement.

    Args:
        agreement: What is audited.
        pair: The tables.
    """

    def __init__(self, agreement: Agreement, pair: Pair) -> None:
        self.agreement, self.pair = agreement, pair
        self.plan: Plan[Any] = plan_of(agreement)
        self._tables = tuple(self._aligned(table) for table in (0, 1))
        self._known: dict[tuple[int, bytes], list[IntArray]] = {}
        planned = self.plan.disclosures()
        # A plan may list less than it opens only if it is divided among parts that follow from answers.
        self._most = len(planned) if all(made.kind != "divided" for made in planned) else None

    def _aligned(self, table: int) -> dict[str, JointTable]:
        fragments = read_fragments(self.agreement, self.pair.frames(self.agreement, table))
        room = Room(self.agreement.party_names)
        tables = room.run(lambda engine: align_records(self.agreement, fragments[engine.party], engine))
        if (party := self.pair.seen_by) is not None and not self.pair.is_listed:
            tables[party] = replace(tables[party], fragment=present_everywhere(tables[party].fragment))
        return tables

    def play(
        self,
        table: int,
        given: Sequence[Any] = (),
        coins: Mapping[str, Coins] | None = None,
        *,
        stops_after: int | None = None,
    ) -> Course:
        """Run the mechanism on one of the tables.

        Args:
            table: Which.
            given: Answers of another run: so long this one goes along its course.
            coins: Of every party; by default fresh ones.
            stops_after: How many values are opened; by default all.
        """
        course, first = Course(), self.agreement.party_names[0]
        coins = coins or stretched_coins(self.agreement.party_names)

        def job(engine: IdealEngine) -> None:
            gate = ListeningGate(
                free_gate(engine, number_of_records_is_public=self.agreement.records.public),
                course if engine.party == first else None,
                given,
                self._most if stops_after is None else stops_after,
            )
            with suppress(AllIsOpen):
                self.plan.run(self._tables[table][engine.party], engine.computer, gate, no_progress)

        Room(self.agreement.party_names, coins).run(job)
        return course

    def measured_on(self, table: int, course: Course) -> list[IntArray]:
        """What would have been measured on a table along a course; it depends on the answers before alone."""
        before = b"".join(np.ascontiguousarray(answer).tobytes() for answer in course.plain()[:-1])
        if (table, before) not in self._known:
            if len(self._known) > MOST_REMEMBERED:
                self._known.clear()
            self._known[table, before] = self.play(table, course.answers, stops_after=len(course.answers)).measured
        return self._known[table, before]

    def run(
        self, coin: bool, begun: Sequence[IntArray] = (), known: tuple[IntArray, IntArray] | None = None
    ) -> tuple[float, dict[str, float]]:
        """Play once; the evidence for table 1 by the stated laws, and other numbers.

        Args:
            coin: Which table it is.
            begun: What the run has opened already; the rest is played.
            known: What was measured for that on either table, one after the other.

        Raises:
            RuntimeError: If something else is measured than is known.
        """
        course, both = self.played(coin, begun)
        if known is not None and not all(
            np.array_equal(np.concatenate(measured[: len(begun)]), exact)
            for measured, exact in zip(both, known, strict=True)
        ):
            raise RuntimeError("A run measured first what other runs of the same tables do not, so it was not begun.")
        return evidence_of_course(course, both)

    def played(self, coin: bool, begun: Sequence[Any] = ()) -> tuple[Course, tuple[list[IntArray], list[IntArray]]]:
        """Play once; what happened, and what was measured on either table along that course."""
        course = self.play(int(coin), begun)
        other = self.measured_on(int(not coin), course)
        return course, (other, course.measured) if coin else (course.measured, other)


def evidence_of_course(course: Course, both: tuple[list[IntArray], list[IntArray]]) -> tuple[float, dict[str, float]]:
    """The evidence for table 1 by the stated laws, and other numbers."""
    law, residuals = 0.0, []
    for made, answer, first, second in zip(course.disclosures, course.answers, *both, strict=True):
        if isinstance(answer, dict):
            continue
        law += evidence(made, np.atleast_1d(answer), (first, second))
        if not isinstance(made, Select):
            residuals.append((np.asarray(answer, dtype=np.float64), first, second))
    joined = [np.concatenate([part[i] for part in residuals]) for i in range(3)] if residuals else [np.empty(0)] * 3
    return law, structure(joined[0], (joined[1], joined[2]))


MOST_REMEMBERED = 2000


def fair_coins(how_many: int, coins: Coins | None = None) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which table each run is played on."""
    return np.asarray((coins or SystemCoins()).words((how_many,)) & 1, dtype=np.bool_)
