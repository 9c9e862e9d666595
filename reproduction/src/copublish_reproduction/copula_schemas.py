"""Public schemas of Adult's and Wine's numbers for copula releases: bounds and grids from what the attributes mean."""

from __future__ import annotations

from typing import Any

import numpy as np

CELLS = 20


def log_edges(lower: float, upper: float, cells: int, digits: int) -> list[str]:
    """Edges in equal proportions from above the lower bound on."""
    edges = lower * (upper / lower) ** (np.arange(cells) / cells)
    return [f"{edge:.{digits}f}" for edge in edges]


def number(lower: float, upper: float, **grid: Any) -> dict[str, Any]:
    """The schema of a numerical attribute."""
    return {"kind": "numerical", "bounds": [str(lower), str(upper)], "grid": grid}


def whole(lower: int, upper: int, **grid: Any) -> dict[str, Any]:
    """The schema of one whose values are whole numbers."""
    return {**number(lower, upper, **grid), "decimals": 0}


def logarithmic(lower: float, upper: float, digits: int) -> dict[str, Any]:
    """The schema of one with a heavy tail: cells in equal proportions."""
    return {**number(lower, upper, edges=log_edges(lower, upper, CELLS, digits)[1:]), "decimals": digits + 3}


ATTRIBUTES: dict[str, dict[str, dict[str, Any]]] = {
    "adult": {
        "age": whole(17, 90, step=2),
        "fnlwgt": whole(0, 1_500_000, edges=[25_000 * i for i in range(1, 41)]),
        "education-num": whole(1, 16, step=1),
        "capital-gain": whole(0, 100_000, edges=["1", *log_edges(100, 100_000, CELLS, 0)]),
        "capital-loss": whole(0, 5_000, edges=["1", *log_edges(100, 5_000, CELLS, 0)]),
        "hours-per-week": whole(1, 99, step=3),
    },
    "wine": {
        "fixed acidity": number(3, 17, count=CELLS),
        "volatile acidity": number(0, 2, count=CELLS),
        "citric acid": number(0, 2, count=CELLS),
        "residual sugar": logarithmic(0.5, 70, 2),
        "chlorides": logarithmic(0.005, 0.7, 4),
        "free sulfur dioxide": logarithmic(1, 300, 1),
        "total sulfur dioxide": number(5, 450, count=CELLS),
        "density": number(0.98, 1.04, count=CELLS),
        "pH": number(2.6, 4.2, count=CELLS),
        "sulphates": logarithmic(0.2, 2.1, 3),
        "alcohol": number(7, 16, count=CELLS),
    },
}
