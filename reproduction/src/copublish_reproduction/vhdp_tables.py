"""The data of a VHDP figure as text: a table for each data set."""

from __future__ import annotations

from collections.abc import Sequence

from copublish_reproduction import NOT_PRIVATE
from copublish_reproduction.table_text import markdown_table
from copublish_reproduction.vhdp_claims import vhdp_claims
from copublish_reproduction.vhdp_figures import TITLES, Curve, Quantity, ScoreTable, VhdpFigure

QUANTITIES: dict[Quantity, str] = {
    "igr": "Information gain ratio",
    "bias": "Bias error of the information gain ratio",
    "ilpg": "ILPG",
}


def curve_name(figure: VhdpFigure, curve: Curve) -> str:
    """How tables and plots call a curve within its figure."""
    if figure.name == "vhdp-fig5":
        return "as defined" if curve.slip == "none" else "joint entropy"
    return curve.method if curve.epsilon is None else f"{curve.method} {curve.epsilon:g}"


def score_table(figure: VhdpFigure, table: ScoreTable) -> tuple[list[str], list[list[str]]]:
    """A header and rows: a row per attribute, a column per curve."""
    header = ["attribute", "weight", *(curve_name(figure, curve) for curve in figure.curves)]
    rows = [
        [name, f"{table.weights[place]:g}", *(f"{table.means[curve][place] + 0.0:.4f}" for curve in figure.curves)]
        for place, name in enumerate(table.names)
    ]
    return header, rows


def caption(figure: VhdpFigure, table: ScoreTable) -> str:
    """Mean of a table, and how much it varies."""
    slipped = any(curve.slip == "joint" for curve in figure.curves) and figure.name != "vhdp-fig5"
    what = QUANTITIES[figure.quantity] + (", joint entropy for conditional" if slipped else "")
    return f"{what}; {TITLES[table.dataset]}, {_runs(figure, table)}"


def _runs(figure: VhdpFigure, table: ScoreTable) -> str:
    if all(curve.epsilon is None for curve in figure.curves):
        return "no noise"
    if table.standard_errors is None:
        return "one run"
    largest = max(float(errors.max()) for errors in table.standard_errors.values())
    return f"mean of {table.runs} runs, standard errors " + ("0.0000" if largest < 5e-5 else f"up to {largest:.4f}")


def vhdp_markdown(figure: VhdpFigure, tables: Sequence[ScoreTable]) -> str:
    """All tables for a Markdown page, with what the paper's text says of the figure."""
    parts = [f"{NOT_PRIVATE[0].upper()}{NOT_PRIVATE[1:]}.\n"]
    for table in tables:
        parts += [f"{caption(figure, table)}:\n", *markdown_table(*score_table(figure, table))]
    claims = [list(claim) for claim in vhdp_claims(figure, tables)]
    return "\n".join([*parts, *markdown_table(["what the paper says", "what comes out"], claims)])
