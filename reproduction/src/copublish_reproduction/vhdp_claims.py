"""What the text of the VHDP paper says of its figures, and what comes out; its plots print no numbers that we have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from copublish_reproduction.plain_table import Floats
from copublish_reproduction.vhdp_figures import TITLES, Curve, ScoreTable, VhdpFigure

Claim = tuple[str, str]

ROUNDING = 1e-9
"""Differences below this come from the order of additions alone."""


def vhdp_claims(figure: VhdpFigure, tables: Sequence[ScoreTable]) -> list[Claim]:
    """Every sentence about a figure with what comes out beside it."""
    makers = {"igr": _scores if len(tables) > 1 else _noisy_scores, "bias": _bias, "ilpg": _ilpg}
    published = [replace(table, means={curve: table.means[curve] for curve in figure.curves}) for table in tables]
    claims = _smallest(published) if figure.name == "vhdp-fig10" else makers[figure.quantity](published)
    return [*claims, *(claim for table in tables for claim in _own(figure, table))]


def _own(figure: VhdpFigure, table: ScoreTable) -> Iterator[Claim]:
    """What copublish's releases show beside a figure."""
    if not figure.beside:
        return
    title = TITLES[table.dataset]
    ours = {
        rule: np.array([table.means[curve] for curve in figure.beside if curve.method == rule])
        for rule in ("protect-informative", "use-informative")
    }
    if figure.quantity == "igr":
        (before,) = (means for curve, means in table.means.items() if curve.epsilon is None)
        found = np.concatenate([*ours.values()])
        yield (
            f"the same scores of copublish's releases, {title}",
            f"{_span(found)}; noise lowers {(found < before).sum()} of {found.size}",
        )
    elif figure.quantity == "bias":
        means = " and ".join(f"{values.mean():.4f} ({rule})" for rule, values in ours.items())
        yield f"mean bias error of copublish's releases, {title}", means
    else:
        lower = (ours["protect-informative"] < ours["use-informative"]).sum()
        spans = " and ".join(f"{_span(values)} ({rule})" for rule, values in ours.items())
        yield (
            f"ILPG of copublish's releases, {title}",
            f"{spans}; below 0 in {sum(int((values < 0).sum()) for values in ours.values())} of "
            f"{sum(values.size for values in ours.values())} places, lower under protect-informative in {lower} of "
            f"{ours['use-informative'].size} pairs",
        )


def _listed(table: ScoreTable, is_meant: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> str:
    found = [name for name, meant in zip(table.names, is_meant, strict=True) if meant]
    return ", ".join(found) or "none"


def _span(values: Floats) -> str:
    low, high = (f"{round(float(end), 4) + 0.0:.4f}" for end in (values.min(), values.max()))  # no minus zero
    return low if low == high else f"{low} to {high}"


def _scores(tables: Sequence[ScoreTable]) -> list[Claim]:
    sizes = "; ".join(f"{TITLES[t.dataset]} {t.n_records:,} and {len(t.names)}" for t in tables)
    claims = [("instances and attributes (Table 1): Statlog 270 and 13; Adult 30,162 and 14", sizes)]
    for table in tables:
        plain, joint = (table.means[Curve("N/A", slip=slip)] for slip in ("none", "joint"))
        claims.append(
            (
                "'we observe that the IGR scores are negative numbers'",
                f"{TITLES[table.dataset]}: by Definitions 9 to 11 they cannot be, and are {_span(plain)}; with the "
                f"joint entropy for the conditional one {_span(joint)}",
            )
        )
    return claims


def _noisy_scores(tables: Sequence[ScoreTable]) -> list[Claim]:
    (table,) = tables
    (before,) = (means for curve, means in table.means.items() if curve.epsilon is None)
    noisy = np.array([means for curve, means in table.means.items() if curve.epsilon is not None])
    is_above = (noisy > before + ROUNDING).all(axis=0)
    return [
        (
            "'the IGR scores of N/A for all attributes are significant less than those of VHDP and DP'",
            f"for {is_above.sum()} of {len(before)}; not for {_listed(table, ~is_above)}",
        ),
        (
            "'all IGR scores of noisy datasets are also negative'; they show 'the amount of noise or utility'",
            f"all {noisy.size} are {_span(noisy)}, whatever attribute, weight and epsilon: every noisy value is unique",
        ),
    ]


def _bias(tables: Sequence[ScoreTable]) -> list[Claim]:
    (table,) = tables
    pairs = [
        np.abs(means - table.means[Curve("DP", curve.epsilon)]).max()
        for curve, means in table.means.items()
        if curve.method == "VHDP"
    ]
    return [
        (
            "'VHDP does not decrease the utility of attributes much especially compared with DP'",
            f"the bias errors of VHDP and DP differ by at most {max(pairs) + 0.0:.4f}, also where VHDP adds four times "
            "the noise",
        )
    ]


def _smallest(tables: Sequence[ScoreTable]) -> list[Claim]:
    claims = []
    for table in tables:
        ordered = np.array([means for _, means in sorted(table.means.items(), key=lambda item: item[0].epsilon or 0)])
        is_least = (np.diff(ordered, axis=0) > 0).all(axis=0)
        is_negative = (ordered < 0).any(axis=0)
        claims += [
            (
                "'If the dataset is perturbed, then the ILPG score must be greater than zero'",
                f"{TITLES[table.dataset]}: it is for {(~is_negative).sum()} of {len(table.names)}; not for "
                f"{_listed(table, is_negative)}",
            ),
            (
                "'the ILPG score is at a minimum with the least privacy budget epsilon = 0.1 for every attribute'",
                f"{TITLES[table.dataset]}: for {is_least.sum()} of {len(table.names)}; at its maximum there for "
                f"{_listed(table, ~is_least)}",
            ),
        ]
    return claims


def _ilpg(tables: Sequence[ScoreTable]) -> list[Claim]:
    (table,) = tables
    differences = np.array(
        [
            means - table.means[Curve("DP", curve.epsilon)]
            for curve, means in table.means.items()
            if curve.method == "VHDP"
        ]
    )
    is_lower, is_higher = (differences < -ROUNDING).all(axis=0), (differences > ROUNDING).any(axis=0)
    n_equal = len(table.names) - int(is_lower.sum()) - int(is_higher.sum())
    return [
        (
            "'Using our proposed VHDP for every attribute achieves a lower ILPG score than using homogeneous DP'",
            f"lower for {is_lower.sum()} of {len(table.names)} attributes, equal for {n_equal} (of weight 1), higher "
            f"for {is_higher.sum()} ({_listed(table, is_higher)})",
        )
    ]
