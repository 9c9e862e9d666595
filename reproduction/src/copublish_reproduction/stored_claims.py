"""What the two specialization papers say of their figures, beside what the stored tables of these figures have."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from copublish.errors import CopublishError
from copublish_reproduction.figures import Point
from copublish_reproduction.printed import BA, LA
from copublish_reproduction.series_choice import read_points

Claim = tuple[str, str]
"""What a paper says, and what comes out."""

MAX, AUTO, DIFFGEN, DIFFP, DAKA = "copublish, max", "copublish, auto", "DiffGen", "DiffP-C4.5", "TDS, k-anonymity 5"


@dataclass(frozen=True)
class StoredFigure:
    """The table of a figure on one data set."""

    points: tuple[Point, ...]

    @staticmethod
    def read(folder: Path, figure: str, dataset: str) -> StoredFigure:
        """Read the table of a figure.

        Raises:
            CopublishError: If the folder lacks it.
        """
        file = folder / f"{figure}.csv"
        if not file.is_file():
            raise CopublishError(f"'{file}' is not there. Regenerate '{figure}' first, or name its folder with --out.")
        return StoredFigure(tuple(point for point in read_points(file) if point.dataset == dataset))

    def at(self, series: str, x: str = "") -> Point:
        """One point.

        Raises:
            CopublishError: If there is none.
        """
        found = [point for point in self.points if (point.series, point.x) == (series, x)]
        if not found:
            raise CopublishError(f"The stored table has no '{series}' at '{x}'. Regenerate the figure.")
        return found[0]

    def xs(self, series: str) -> list[str]:
        """Where a series was measured."""
        return [point.x for point in self.points if point.series == series]

    def labels(self, start: str) -> list[str]:
        """The series whose names begin like this, without readings of the classes."""
        names = dict.fromkeys(point.series for point in self.points)
        return [name for name in names if name.startswith(start) and "noisy classes" not in name]


def shown(point: Point) -> str:
    """A mean with its standard error."""
    error = "" if point.standard_error is None else f" ± {point.standard_error:.1f}"
    return f"{point.mean:.1f}{error}"


def error_of(*points: Point) -> float:
    """Standard error of a difference or sum of means."""
    return math.sqrt(sum((point.standard_error or 0.0) ** 2 for point in points))


def _rises(figure: StoredFigure, labels: Iterable[str]) -> str:
    falls = steps = 0
    ends = []
    for label in labels:
        found = [figure.at(label, x) for x in figure.xs(label)]
        for one, other in itertools.pairwise(found):
            steps += 1
            falls += one.mean - other.mean > 2 * error_of(one, other)
        ends.append(f"{label} from {shown(found[0])} to {shown(found[-1])}")
    return f"{'; '.join(ends)}. It falls beyond two standard errors in {falls} of {steps} steps"


def _spans(figure: StoredFigure, labels: Sequence[str]) -> str:
    spans = []
    for x in figure.xs(labels[0]):
        found = sorted((figure.at(label, x) for label in labels), key=lambda point: point.mean)
        spans.append((found[-1].mean - found[0].mean, x, found[0], found[-1]))
    width, x, low, high = max(spans, key=lambda span: span[0])
    return (
        f"largest span {width:.1f} points, at epsilon {x} ({low.series}: {shown(low)}, {high.series}: {shown(high)}), "
        f"{width / max(error_of(low, high), 1e-9):.1f} standard errors"
    )


def _largest_gap(figure: StoredFigure, above: str, below: str) -> str:
    gaps = [(figure.at(above, x).mean - figure.at(below, x).mean, x) for x in figure.xs(below) if x in figure.xs(above)]
    gap, x = max(gaps, key=lambda pair: abs(pair[0]))
    error = error_of(figure.at(above, x), figure.at(below, x))
    return f"largest difference {gap:+.1f} ± {error:.1f} points, at epsilon {x} ({above} minus {below})"


def distdiffgen_claims(folder: Path) -> list[Claim]:
    """Every sentence of DistDiffGen's section 7.1 about its figures.

    Raises:
        CopublishError: If the folder lacks the table of a figure.
    """
    third, fourth = (StoredFigure.read(folder, f"distdiffgen-fig{n}", "adult") for n in (3, 4))
    arbitrary = StoredFigure.read(folder, "arbdistdp-fig7", "adult")
    raw, largest = third.at(BA), third.at(LA)
    digits = third.labels("DistDiffGen")

    def costs(x: str) -> str:
        found = sorted(third.at(label, x).mean for label in digits)
        low, high = raw.mean - found[-1], raw.mean - found[0]
        return (
            f"BA-CA {low:.1f} to {high:.1f}, CA-LA {found[0] - largest.mean:.1f} to {found[-1] - largest.mean:.1f} "
            "over l"
        )

    daka = fourth.at(DAKA)
    beside = ", ".join(f"{shown(fourth.at('DistDiffGen l=10', x))} at {x}" for x in ("1", "2"))
    parties = [
        f"{shown(third.at(MAX, x))} by columns and {shown(arbitrary.at(MAX, x))} by cells at {x}" for x in ("0.1", "1")
    ]
    return [
        ("epsilon 1, l = 10: BA-CA around 3, CA-LA 6.7", costs("1")),
        ("epsilon 0.5: BA-CA 3.58 to 4.18, CA-LA 5.62 to 6.22", costs("0.5")),
        ("epsilon 0.1: CA about 78.9 at the highest, BA-CA about 6.4, CA-LA about 3.4", costs("0.1")),
        ("a higher budget results in better accuracy", _rises(third, digits)),
        ("the digits l do not matter", _spans(third, digits)),
        ("DistDiffGen is comparable to DiffGen", _largest_gap(fourth, "DistDiffGen l=10", DIFFGEN)),
        (
            "DistDiffGen performs better than DAKA for epsilon 1 and more",
            f"{beside}; k-anonymity {shown(daka)}: not here, see the readings of DAKA",
        ),
        (
            "different partitioning of the attributes does not have any impact",
            f"of the published algorithm none by construction. copublish, max: {'; '.join(parties)}",
        ),
    ]


def arbdistdp_claims(folder: Path) -> list[Claim]:
    """Every sentence of ArbDistDP's section 5.2 about its figures.

    Raises:
        CopublishError: If the folder lacks the table of a figure.
    """
    claims: list[Claim] = []
    for dataset, numbers in _ARBDISTDP_TEXT.items():
        seventh, eighth = (StoredFigure.read(folder, f"arbdistdp-fig{n}", dataset) for n in (7, 8))
        claims += [(f"{dataset.capitalize()}: {said}", found(seventh, eighth)) for said, found in numbers]
    times = {name: StoredFigure.read(folder, "arbdistdp-fig9", name) for name in _ARBDISTDP_TEXT}
    last = times["adult"].xs(DIFFGEN)[-1]
    seconds = {
        (name, label): times[name].at(label, last).mean for name in times for label in ("ArbDistDP l=2", DIFFGEN)
    }
    listed = ", ".join(f"{label} on {name.capitalize()} {value:.2f} s" for (name, label), value in seconds.items())
    claims.append(
        (
            "Fig. 9: DiffGen is faster, and Adult takes longer than Nursery",
            f"in the clear with {int(last):,} records: {listed}. The two algorithms differ by their protocols, whose "
            "operations are counted on the page about costs",
        )
    )
    return claims


def _costs_and_benefits(label: str, xs: tuple[str, str]) -> Callable[[StoredFigure, StoredFigure], str]:
    def found(seventh: StoredFigure, _: StoredFigure) -> str:
        raw, largest = seventh.at(BA).mean, seventh.at(LA).mean
        parts = []
        for x in xs:
            mean = seventh.at(label, x).mean
            parts.append(f"epsilon {x}: BA-CA {raw - mean:.1f}, CA-LA {mean - largest:.1f}")
        return "; ".join(parts)

    return found


def _gap(above: str) -> Callable[[StoredFigure, StoredFigure], str]:
    return lambda _, eighth: _largest_gap(eighth, above, "ArbDistDP l=2")


def _digits(seventh: StoredFigure, _: StoredFigure) -> str:
    return _spans(seventh, seventh.labels("ArbDistDP l="))


def _over_epsilon(seventh: StoredFigure, _: StoredFigure) -> str:
    return _rises(seventh, [*seventh.labels("ArbDistDP l="), "ArbDistDP l=2, noisy classes"])


def _below_raw(seventh: StoredFigure, _: StoredFigure) -> str:
    label = "ArbDistDP l=2"
    gaps = [seventh.at(BA).mean - seventh.at(label, x).mean for x in seventh.xs(label)]
    return f"{min(gaps):.1f} to {max(gaps):.1f} points below raw data"


_ENDS = _costs_and_benefits("ArbDistDP l=2", ("0.1", "3"))

_ARBDISTDP_TEXT: dict[str, list[tuple[str, Callable[[StoredFigure, StoredFigure], str]]]] = {
    "adult": [
        ("BA-CA 7.2 and CA-LA 1.8 at epsilon 0.1; about 1.4 and 7.6 at 3", _ENDS),
        ("CA increases with epsilon", _over_epsilon),
        ("l has limited impact: the largest span is 78.5 to 79.8, at epsilon 0.25", _digits),
        ("the largest difference to DiffGen is 2.2, at epsilon 0.75", _gap(DIFFGEN)),
        ("the largest difference to DiffP-C4.5 is 0.9, at epsilon 0.25", _gap(DIFFP)),
        ("a gap to BA stays", _below_raw),
    ],
    "nursery": [
        ("BA-CA 15.8 and CA-LA 48.2 at epsilon 0.1; about 5.8 and 58.2 at 3", _ENDS),
        ("CA increases with epsilon", _over_epsilon),
        ("l has limited impact", _digits),
        ("the largest difference to DiffGen is 3.2, at epsilon 0.75", _gap(DIFFGEN)),
        ("the largest difference to DiffP-C4.5 is 3.1, at epsilon 0.1", _gap(DIFFP)),
        ("a gap to BA stays", _below_raw),
    ],
}
