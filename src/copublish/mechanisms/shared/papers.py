"""What papers print about the algorithms behind a mechanism, in percent. Only text counts: plots print no numbers."""

from __future__ import annotations

from dataclasses import dataclass

BA, LA = "raw data (BA)", "majority class (LA)"

Key = tuple[str, str, str, str]
"""Figure, data set, series, x; x is empty for a series that has one value."""


@dataclass(frozen=True)
class Printed:
    """A number in the text of a paper.

    Attributes:
        percent: The accuracy.
        note: How the text puts it, where it is not plain.
    """

    percent: float
    note: str = ""


@dataclass(frozen=True)
class Paper:
    """A paper that prints accuracies over epsilon.

    Attributes:
        algorithm: What it proposes, which is how it is called here.
        citation: Where it is found.
        baselines: The figure beside which it prints BA and LA.
        figures: All its figures that have accuracies over epsilon.
        printed: The numbers.
    """

    algorithm: str
    citation: str
    baselines: str
    figures: tuple[str, ...]
    printed: dict[Key, Printed]
