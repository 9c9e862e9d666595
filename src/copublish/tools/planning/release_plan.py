"""What a plan found, for programs, notebooks and plots."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from copublish.release.readme import definition_list, html_table
from copublish.tools.evaluation.prediction import METRICS
from copublish.tools.planning.curves import rows_at_agreed_epsilon

if TYPE_CHECKING:
    from copublish.tools.planning.plots import Plot


@dataclass(frozen=True, repr=False)
class ReleasePlan:
    """What trials of a release gave, and what to take.

    Attributes:
        content: Everything as plain JSON values.
    """

    content: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain JSON values."""
        return self.content

    def plot(self, path: str | Path | None = None) -> Plot:
        """The trade-off between the area under the ROC curve and epsilon; with a path also written, .png or .svg."""
        from copublish.tools.planning.plots import Plot, plan_figure

        plot = Plot(plan_figure(self.content))
        if path is not None:
            plot.write(path)
        return plot

    def __repr__(self) -> str:
        best = self.content["recommendation"]
        take = "nothing recommended from made-up data" if best is None else f"take {best['mechanism']}"
        return f"ReleasePlan({self.content['release']!r}, {len(self.content['trials'])} trials, {take})"

    def _repr_html_(self) -> str:
        headings = ("at the agreed epsilon", "area", "balanced accuracy", "log loss", "accuracy", "pairs are off by")
        rows = [
            (name, *(_score(row[metric]) for metric in METRICS), _score(row["distances"]["tables_2"]["value"]))
            for name, row in rows_at_agreed_epsilon(self.content).items()
        ]
        facts = {
            "Release": self.content["release"],
            "Data": self.content["data"],
            "Take": self.content["advice"] or "",
            "Because": " ".join(self.content["verdict"]),
            "Think about": " ".join(self.content["agreement_warnings"]),
            "Note": self.content["warning"],
        }
        return definition_list({key: value for key, value in facts.items() if value}) + html_table(headings, rows)


def _score(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
