"""The data of a VHDP figure as text: a table for each data set."""

from __future__ import annotations

from collections.abc import Sequence

from copublish_reproduction import NOT_PRIVATE
from copublish_reproduction.table_text import markdown_table
from copublish_reproduction.vhdp_claims import vhdp_claims
from copublish_reproduction.vhdp_figures import EPSILONS, TITLES, Curve, Quantity, ScoreTable, VhdpFigure

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
        [name, f"{table.weights[place]:g}", *(_shown(table.means[curve][place]) for curve in figure.curves)]
        for place, name in enumerate(table.names)
    ]
    return header, rows


def _shown(value: float) -> str:
    return f"{round(value, 4) + 0.0:.4f}"  # no minus zero


def own_table(figure: VhdpFigure, table: ScoreTable) -> tuple[list[str], list[list[str]]]:
    """A header and rows about copublish's own releases: every curve, and what attributes got of the largest epsilon."""
    largest = [curve for curve in figure.beside if curve.epsilon == EPSILONS[-1]]
    parts = [f"part of {EPSILONS[-1]:g}, {curve.method.partition('-')[0]}" for curve in largest]
    header = ["attribute", *(f"{c.method.partition('-')[0]} {c.epsilon:g}" for c in figure.beside), *parts]
    rows = [
        [
            name,
            *(_shown(table.means[curve][place]) for curve in figure.beside),
            *(f"{table.epsilons[curve][place]:.4f}" for curve in largest),
        ]
        for place, name in enumerate(table.names)
    ]
    return header, rows


def own_caption(figure: VhdpFigure, table: ScoreTable) -> str:
    """What copublish's own releases show, and how much their means vary."""
    runs = _runs(figure.beside, table)
    return (
        f"{_quantity(figure)} of copublish's `vhdp`; {TITLES[table.dataset]}, {runs}; *protect* is the allocation "
        "`protect-informative`, *use* is `use-informative`; differentially private"
    )


def caption(figure: VhdpFigure, table: ScoreTable) -> str:
    """Mean of a table, and how much it varies."""
    return f"{_quantity(figure)}; {TITLES[table.dataset]}, {_runs(figure.curves, table)}"


def _quantity(figure: VhdpFigure) -> str:
    slipped = any(curve.slip == "joint" for curve in figure.curves) and figure.name != "vhdp-fig5"
    return QUANTITIES[figure.quantity] + (", joint entropy for conditional" if slipped else "")


def _runs(curves: Sequence[Curve], table: ScoreTable) -> str:
    if all(curve.epsilon is None for curve in curves):
        return "no noise"
    if table.standard_errors is None:
        return "one run"
    largest = max(float(table.standard_errors[curve].max()) for curve in curves)
    return f"mean of {table.runs} runs, standard errors " + ("0.0000" if largest < 5e-5 else f"up to {largest:.4f}")


def vhdp_markdown(figure: VhdpFigure, tables: Sequence[ScoreTable]) -> str:
    """All tables for a Markdown page, with what the paper's text says of the figure."""
    parts = [f"{NOT_PRIVATE[0].upper()}{NOT_PRIVATE[1:]}.\n"]
    for table in tables:
        parts += [f"{caption(figure, table)}:\n", *markdown_table(*score_table(figure, table))]
    for table in tables if figure.beside else ():
        parts += [f"{own_caption(figure, table)}:\n", *markdown_table(*own_table(figure, table))]
    claims = [list(claim) for claim in vhdp_claims(figure, tables)]
    return "\n".join([*parts, *markdown_table(["what the paper says", "what comes out"], claims)])
