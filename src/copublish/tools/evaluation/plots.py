"""Pictures of scores, with Matplotlib: the same numbers give the same file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from copublish.errors import EvaluationError

FORMATS = (".png", ".svg")
STYLE: dict[Any, Any] = {"svg.hashsalt": "copublish", "svg.fonttype": "none", "font.size": 10}
COLORS = ("#222222", "#0b5f73", "#888888")
HEIGHT_OF_BARS = 0.8


@dataclass(frozen=True, repr=False)
class Plot:
    """A picture that shows itself in a notebook.

    Attributes:
        figure: The figure of Matplotlib.
    """

    figure: Figure

    def write(self, path: str | Path) -> Path:
        """Write it as PNG or SVG; the same figure gives the same file."""
        path = Path(path)
        metadata = {"Date": None} if path.suffix.lower() == ".svg" else {"Software": None}
        with mpl.rc_context(STYLE):
            self.figure.savefig(path, metadata=metadata)
        return path

    def __repr__(self) -> str:
        return f"Plot({self.figure.axes[0].get_title(loc='left')!r})"

    def _repr_svg_(self) -> str:
        picture = StringIO()
        with mpl.rc_context(STYLE):
            self.figure.savefig(picture, format="svg", metadata={"Date": None})
        return picture.getvalue()


def evaluation_figure(scores: Mapping[str, Any], trained_on: Mapping[str, str]) -> Figure:
    """The areas of an evaluation as bars: for every classifier what raw data, the release and the baseline give.

    Args:
        scores: Of an evaluation, as plain JSON values.
        trained_on: What classifiers were trained on, in words, and under which key their scores are.

    Raises:
        EvaluationError: If nothing was predicted.
    """
    rows = scores["classification"]
    if not rows:
        raise EvaluationError("Nothing was predicted, so there are no areas to draw. Name a column to predict.")
    shown = {what: key for what, key in trained_on.items() if rows[0][key] is not None}
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(8, 1.6 + 0.7 * len(rows)), dpi=150, layout="constrained")
        axes = figure.add_subplot()
        middles = np.arange(len(rows))
        height = HEIGHT_OF_BARS / len(shown)
        for number, ((what, key), color) in enumerate(zip(shown.items(), COLORS, strict=False)):
            axes.barh(
                middles + (number - (len(shown) - 1) / 2) * height,
                [row[key]["area"] - 0.5 for row in rows],
                height,
                left=0.5,  # a guess
                xerr=[row[key]["area_standard_error"] for row in rows],
                color=color,
                ecolor="#b86b1d",
                label=what,
            )
        axes.set_yticks(middles, [row["classifier"] for row in rows])
        axes.invert_yaxis()
        axes.set_xlabel("area under the ROC curve (0.5 is a guess; bars of one standard error)")
        axes.set_title(
            f"{scores['release']}: predicting '{scores['target']}'. Not to be published", loc="left", fontsize=10
        )
        axes.spines[["top", "right"]].set_visible(False)
        figure.legend(fontsize=8, frameon=False, loc="outside right upper")
        return figure
