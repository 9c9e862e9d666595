"""Lines of code that read a release with its errors: what the snippets of all mechanisms have in common."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

from copublish.errors import ReleaseError
from copublish.mechanisms.base import Publication
from copublish.mechanisms.reading.estimate import CONFIDENCE, Estimate


@dataclass(frozen=True)
class Snippets:
    """The same question in three ways, filled in for one release."""

    copublish: str
    python: str
    r: str


def quoted(text: str) -> str:
    """A text as a string of Python and of R: one of JSON is both."""
    return json.dumps(text, ensure_ascii=False)


def with_copublish(publication: Publication) -> str:
    """Lines that ask the release by copublish: those that it answers."""
    reading = publication.reading
    lines = ["import copublish as cp", "", 'release = cp.load_release(".")  # the release folder']
    numbers = [summary for summary in reading.summaries() if summary.is_number and summary.mean is not None]
    for summary in numbers[:1]:
        for asked in ("mean", "median"):
            lines.append(f"print(release.{asked}({quoted(summary.name)}))")
    label = reading.summaries()[-1]
    if label.cells:
        lines.append(f"print(release.share({quoted(label.name)}, {quoted(label.cells[-1].label)}))")
        among = {label.name: label.cells[-1].label}
        for summary in numbers[:1]:
            if _answers(partial(reading.mean, summary.name, among, CONFIDENCE)):
                condition = f"{{{quoted(label.name)}: {quoted(label.cells[-1].label)}}}"
                lines.append(f"print(release.mean({quoted(summary.name)}, among={condition}))")
    for one, other in pairwise(numbers):
        if _answers(partial(reading.correlation, one.name, other.name, CONFIDENCE)):
            lines.append(f"print(release.correlation({quoted(one.name)}, {quoted(other.name)}))")
            break
    return "\n".join(lines) + "\n"


def _answers(ask: Callable[[], Estimate]) -> bool:
    try:
        ask()
    except ReleaseError:
        return False
    return True
