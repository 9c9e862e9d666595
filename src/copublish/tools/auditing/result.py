"""What an audit found, for people and for machines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from rich.console import RenderableType
from rich.text import Text

from copublish.release.render.text_tables import add_row, text_table
from copublish.tools.auditing.odd_records import RELEASED, Symbol
from copublish.tools.auditing.secure import SecureRun
from copublish.tools.auditing.statistics import Claim, Tested
from copublish.tools.auditing.tables import Pair

FORMAT = 1
CONFIDENCE = 0.95
VERDICT_LEVEL = 0.001
"""Divided by the number of all numbers: how likely it is at most that a sound mechanism is accused."""

Verdict = Literal["consistent", "refuted"]

WORDS: dict[Verdict, str] = {
    "consistent": "Consistent with what is stated. An audit can refute a promise and never prove it.",
    "refuted": "REFUTED: what was found contradicts what is stated. Do not release with this software.",
}


@dataclass(frozen=True)
class Number:
    """One number of an audit: what was found of a view or of a disclosure.

    Attributes:
        name: The view, or what is disclosed.
        kind: Which of the two.
        claim: What is stated.
        tested: What guesses showed.
        runs: How often it was played.
        coins_per_run: How many coins each of these had.
        pair: The tables.
        verdict: Whether the claim can hold.
        sizes: Of a view, how large the evidence of each coin was; not written anywhere.
    """

    name: str
    kind: Literal["view", "disclosure"]
    claim: Claim
    tested: Tested
    runs: int
    coins_per_run: int
    pair: Pair
    verdict: Verdict
    sizes: NDArray[np.float64] | None = field(default=None, repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        tested = asdict(self.tested)
        bins = tested.pop("bins")
        threshold = tested.pop("threshold")
        return {
            "name": self.name,
            "stated": {"epsilon": self.claim.epsilon, "delta": self.claim.delta, "mu": self.claim.mu},
            **tested,
            "threshold": threshold if threshold != float("inf") else None,
            "reachable": self.claim.reachable,
            "runs": self.runs,
            "coins_per_run": self.coins_per_run,
            "pair": _pair(self.pair),
            "verdict": self.verdict,
            "calibration": [{"guesses": n, "right": right, "predicted": said} for n, right, said in bins],
        }


def _pair(pair: Pair) -> dict[str, Any]:
    return {"base": pair.base, "record": pair.record, "relation": pair.relation, "people": pair.people}


@dataclass(frozen=True, repr=False)
class Audit:
    """How much of what an agreement promises was found in runs on made-up tables.

    Attributes:
        agreement: Its name.
        agreement_hash: Its hash.
        versions: Of the software that ran.
        date: When.
        relation: The agreed neighboring relation.
        views: For the public and for each party the largest epsilon that runs prove.
        disclosures: The same for everything that is opened, alone and against its own budget.
        symbols: Whole runs with records that are not as agreed.
        secure_runs: Such runs on the agreed engine, between processes.
        skipped: Pairs of tables that the certificate says are not protected.
        seconds: How long it took.
    """

    agreement: str
    agreement_hash: str
    versions: dict[str, str]
    date: str
    relation: str
    views: tuple[Number, ...]
    disclosures: tuple[Number, ...]
    symbols: tuple[Symbol, ...]
    secure_runs: tuple[SecureRun, ...]
    skipped: tuple[str, ...]
    seconds: float

    @property
    def verdict(self) -> Verdict:
        """Whether all that is stated can hold."""
        numbers = (*self.views, *self.disclosures)
        is_told = any(symbol.differs for symbol in self.symbols) or any(run.differs for run in self.secure_runs)
        return "refuted" if is_told or any(n.verdict == "refuted" for n in numbers) else "consistent"

    @property
    def words(self) -> str:
        """The verdict in a sentence."""
        return WORDS[self.verdict]

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "format": FORMAT,
            "agreement": self.agreement,
            "agreement_hash": self.agreement_hash,
            "versions": self.versions,
            "date": self.date,
            "relation": self.relation,
            "confidence": CONFIDENCE,
            "verdict_level": VERDICT_LEVEL,
            "numbers": len(self.views) + len(self.disclosures),
            "verdict": self.verdict,
            "words": self.words,
            "skipped": list(self.skipped),
            "views": [number.to_dict() for number in self.views],
            "disclosures": [number.to_dict() for number in self.disclosures],
            "symbols": [
                {
                    "pair": _pair(s.pair),
                    "view": s.view,
                    "outcomes": list(s.outcomes),
                    "differs": s.differs,
                    "runs": s.runs,
                    "right": s.right,
                }
                for s in self.symbols
            ],
            "secure_runs": [
                {
                    "pair": _pair(run.pair),
                    "outcomes": list(run.outcomes),
                    "bytes_sent": list(run.bytes_sent),
                    "course_was_same": run.course_was_same,
                    "differs": run.differs,
                }
                for run in self.secure_runs
            ],
            "seconds": round(self.seconds, 1),
        }

    def __rich__(self) -> RenderableType:
        from rich.console import Group

        return Group(*self._lines())

    def _lines(self) -> Iterator[RenderableType]:
        yield Text(f"Audit of '{self.agreement}' on made-up tables, neighbors {self.relation}\n", style="bold")
        for title, numbers in (("View", self.views), ("Disclosure, alone", self.disclosures)):
            table = text_table("", [title, "stated", "found", "as stated would show", "runs", "right of guesses", ""])
            for number in numbers:
                tested = number.tested
                add_row(
                    table,
                    number.name,
                    f"{number.claim.epsilon:.3f}",
                    f"{tested.found:.3f}",
                    f"{tested.expected:.3f}",
                    f"{number.runs:,}" + (f" x {number.coins_per_run}" if number.coins_per_run > 1 else ""),
                    f"{tested.right:,} of {tested.guesses:,}",
                    "" if number.verdict == "consistent" else "REFUTED",
                )
            if numbers:
                yield table
        told = [symbol for symbol in self.symbols if symbol.differs]
        pairs = {(s.pair.base, s.pair.record, s.pair.relation) for s in self.symbols}
        yield Text(f"{len(pairs)} whole runs with records that are not as agreed: " + ("" if told else "nothing told."))
        for symbol in told:
            yield Text(f"  - to '{symbol.view}' {symbol.differs} tells of a record: {symbol.pair.record}", style="red")
        if self.secure_runs:
            unlike = [run.differs for run in self.secure_runs if run.differs]
            ends = {outcome for run in self.secure_runs for outcome in run.outcomes} - {RELEASED}
            said = "".join(f" {one} DIFFERS." for one in unlike) or " they end alike and send as much."
            said += "".join(f" Some end with '{end}'." for end in sorted(ends))
            yield Text(
                f"{2 * len(self.secure_runs)} of them on the agreed engine:{said}", style="red" if unlike else ""
            )
        yield from (Text(f"Not audited: {sentence}") for sentence in self.skipped)
        yield Text(f"\n{self.words}", style="bold red" if self.verdict == "refuted" else "bold")

    def __str__(self) -> str:
        from rich.console import Console

        console = Console(width=120, highlight=False, markup=False, emoji=False)
        with console.capture() as capture:
            console.print(self)
        return capture.get()

    __repr__ = __str__

    def draw(self, path: Path) -> None:
        """Write a picture: for every number what is stated, found, and would be expected."""
        numbers = [*self.views, *self.disclosures]
        with mpl.rc_context({"svg.hashsalt": "copublish", "svg.fonttype": "none", "font.size": 9}):
            figure = Figure(figsize=(8, 1.2 + 0.35 * len(numbers)), layout="constrained")
            axes = figure.add_subplot()
            places = list(range(len(numbers)))[::-1]
            axes.barh(places, [n.claim.epsilon for n in numbers], color="#d8e4e8", label="stated")
            axes.barh(places, [n.tested.found for n in numbers], height=0.4, color="#0b5f73", label="found")
            expected = [n.tested.expected for n in numbers]
            axes.plot(expected, places, "|", color="#b86b1d", markersize=12, label="as stated would show")
            axes.set_yticks(places, [n.name for n in numbers])
            axes.set_xlabel("epsilon, found with 95 % confidence")
            axes.set_title(f"{self.agreement}: {self.verdict}", loc="left")
            axes.legend(loc="lower right", frameon=False)
            figure.savefig(path, metadata={"Date": None} if path.suffix.lower() == ".svg" else {"Software": None})
