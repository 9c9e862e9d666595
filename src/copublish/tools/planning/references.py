"""What papers print for Adult and Nursery, to read a plan against."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from copublish.agreement.model import Agreement
from copublish.mechanisms.registry import mechanisms
from copublish.mechanisms.shared.papers import BA, LA, Paper
from copublish.tools.evaluation.benchmark_tables import benchmark_of


@dataclass(frozen=True)
class Reference:
    """One accuracy that a paper prints for its own algorithm.

    Attributes:
        label: What it is, in words that say whose data it is about.
        algorithm: The paper's.
        citation: Of the paper.
        figure: Where in it.
        data_set: Which table it is about.
        is_planned_data: Whether the plan is about that table. If not, the accuracy cannot be compared.
        epsilon: The budget.
        accuracy: What is printed.
        kept: How much of what raw data give beyond the largest class, by the paper's own BA and LA: all that can be
            compared between data sets.
        note: How the paper puts it, where it is not plain.
    """

    label: str
    algorithm: str
    citation: str
    figure: str
    data_set: str
    is_planned_data: bool
    epsilon: str
    accuracy: float
    kept: float
    note: str


def references_for(agreement: Agreement, *, is_made_up: bool) -> list[dict[str, Any]]:
    """Everything that is printed, as JSON values; made-up data are nobody's, whatever the columns are called."""
    planned = None if is_made_up else benchmark_of(agreement)
    return [
        asdict(reference)
        for known in mechanisms()
        for paper in known.papers
        for reference in _printed_in(paper, planned)
    ]


def _printed_in(paper: Paper, planned: str | None) -> list[Reference]:
    found = []
    for (figure, table, series, epsilon), printed in paper.printed.items():
        if figure not in paper.figures or not series.startswith(f"{paper.algorithm} "):
            continue  # what a paper prints for others' algorithms is not its claim
        ba, la = (paper.printed[paper.baselines, table, name, ""].percent for name in (BA, LA))
        data_set = table.capitalize()
        found.append(
            Reference(
                label=f"printed for {data_set} in the {paper.algorithm} paper",
                algorithm=paper.algorithm,
                citation=paper.citation,
                figure=figure.rpartition("-fig")[2],
                data_set=data_set,
                is_planned_data=table == planned,
                epsilon=epsilon,
                accuracy=round(printed.percent / 100, 4),
                kept=round((printed.percent - la) / (ba - la), 3),
                note=printed.note,
            )
        )
    return sorted(found, key=lambda reference: (reference.data_set, float(reference.epsilon), reference.accuracy))


def kept(accuracy: float, ba: float, la: float) -> float | None:
    """How much of BA - LA an accuracy keeps; nothing where raw data give no more than the largest class."""
    return (accuracy - la) / (ba - la) if ba > la else None
