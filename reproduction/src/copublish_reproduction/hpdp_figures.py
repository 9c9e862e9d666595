"""Figures 3 to 5 of the HPDP-DP paper: accuracy over principal components, epsilon and the number of owners."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import cast

from copublish_reproduction.figures import ALL_RUNS, COPUBLISH, Figure, Series
from copublish_reproduction.hpdp import Hpdp, NoiseScale
from copublish_reproduction.hpdp_bench import HpdpBench
from copublish_reproduction.hpdp_sets import TARGETS, Target
from copublish_reproduction.printed import BA, HPDP_CONTRIBUTION, HPDP_PRINTED_SCALE, LA
from copublish_reproduction.sound_records import DELTA, OwnMechanism
from copublish_reproduction.subn import Noise, Subn

MOST_RUNS = 5
"""Every experiment of the paper is run five times; Fig. 3 has the most points."""

COMPONENTS = ("1", "3", "5", "7", "10", "15", "20", "25", "30", "35", "40")
"""The paper marks 5 to 40 in steps of 5 on Adult and mentions 7 on NLTCS."""
EPSILONS = ("0.1", "0.2", "0.4", "0.8", "1.6")
"""The paper's steps are on the axes of its plots alone."""
OWNERS = ("2", "4", "6", "8", "10")

NAMES: dict[NoiseScale, str] = {
    "printed": HPDP_PRINTED_SCALE,
    "theorem": "HPDP-DP, noise scale of its proof",
}
EXACT_CONTRIBUTION = "contribution without noise"
INDIVIDUAL: dict[str, float] = {
    "individual contribution without noise": math.inf,
    "individual contribution, printed noise scale": 0.5,
}
"""What Fig. 3 shows beside the cumulative contribution, and the epsilon of each line."""
FEW_RUNS, FEWEST_RUNS = 2, 1
"""Of DP-SUBN3 and `marginals`, which take hours: in Fig. 3 and 4, and for every number of owners in Fig. 5."""
WITHOUT_NOISE = "HPDP-DP without noise"
COMPARED: dict[Noise, str] = {
    "every owner": "DP-SUBN3, noise of every owner",
    "once": "DP-SUBN3, noise once",
}
OWN: dict[OwnMechanism, str] = {"hpdp": "black", "marginals": "#882255"}
"""Mechanisms of copublish and the color of their lines."""
OWN_DELTAS = (None, DELTA)
"""Without a delta noise is Laplace's, with it Gaussian."""

Setting = Callable[[str], tuple[str, int]]
"""An epsilon and a number of owners for every x."""


def hpdp_figures() -> dict[str, Figure]:
    """Every figure by its name on the command line."""
    references = (
        Series(BA, "no", lambda bench, _: bench.raw(), is_constant=True),
        Series(LA, "no", lambda bench, _: bench.majority(), is_constant=True),
    )
    without = Series(WITHOUT_NOISE, "no", lambda bench, _: _accuracy(bench, math.inf, 3, "printed"), is_constant=True)
    every = (
        Figure(
            "hpdp-fig3",
            "HPDP-DP, Fig. 3: accuracy over the principal components kept (epsilon 0.5, three owners)",
            TARGETS,
            "k",
            COMPONENTS,
            "percent",
            (
                *references,
                Series(WITHOUT_NOISE, "no", lambda bench, k: _accuracy(bench, math.inf, 3, "printed", int(k))),
                *(_over_components(scale) for scale in NAMES),
                *_beside(lambda _: ("0.5", 3), FEW_RUNS, is_constant=True),
                Series(EXACT_CONTRIBUTION, "no", lambda bench, k: _contribution(bench, k, math.inf)),
                Series(HPDP_CONTRIBUTION, "no", lambda bench, k: _contribution(bench, k, 0.5)),
                *(Series(label, "no", partial(_individual, epsilon)) for label, epsilon in INDIVIDUAL.items()),
            ),
            MOST_RUNS,
            _load,
        ),
        Figure(
            "hpdp-fig4",
            "HPDP-DP, Fig. 4: accuracy over epsilon (three owners)",
            TARGETS,
            "epsilon",
            EPSILONS,
            "percent",
            (
                *references,
                without,
                *(_over_epsilon(scale) for scale in NAMES),
                *_beside(lambda epsilon: (epsilon, 3), FEW_RUNS),
            ),
            load=_load,
        ),
        Figure(
            "hpdp-fig5",
            "HPDP-DP, Fig. 5: accuracy over the number of owners (epsilon 0.2)",
            TARGETS[:2],
            "owners",
            OWNERS,
            "percent",
            (
                *references,
                without,
                *(_over_owners(scale) for scale in NAMES),
                *_beside(lambda owners: ("0.2", int(owners)), FEWEST_RUNS),
            ),
            load=_load,
        ),
    )
    return {figure.name: figure for figure in every}


def _load(panel: str, folder: Path, run: int) -> HpdpBench:
    return HpdpBench.load(cast(Target, panel), folder, run)


def _over_components(scale: NoiseScale) -> Series:
    return Series(NAMES[scale], "no", lambda bench, k: _accuracy(bench, 0.5, 3, scale, int(k)))


def _over_epsilon(scale: NoiseScale) -> Series:
    return Series(NAMES[scale], "no", lambda bench, epsilon: _accuracy(bench, float(epsilon), 3, scale))


def _over_owners(scale: NoiseScale) -> Series:
    return Series(NAMES[scale], "no", lambda bench, owners: _accuracy(bench, 0.2, int(owners), scale))


def _beside(setting: Setting, few_runs: int, *, is_constant: bool = False) -> Iterator[Series]:
    """The lines beside HPDP-DP: what the paper compares it with, and copublish's own mechanisms."""
    for noise, label in COMPARED.items():
        measure = partial(_compared, noise, setting)
        yield Series(label, "yes, were the noise exact", measure, is_constant, most_runs=few_runs)
    for mechanism, color in OWN.items():
        for delta in OWN_DELTAS:
            label = f"{COPUBLISH}, {mechanism}" + (f", delta {delta}" if delta else "")
            yield Series(
                label,
                "yes, with delta" if delta else "yes",
                partial(_own, mechanism, delta, setting),
                is_constant,
                is_dotted=delta is not None,
                own_color=color,
                most_runs=few_runs if mechanism == "marginals" else ALL_RUNS,
            )


def _compared(noise: Noise, setting: Setting, bench: HpdpBench, x: str) -> float:
    epsilon, n_owners = setting(x)
    return bench.compared(Subn(float(epsilon), noise), n_owners)


def _own(mechanism: OwnMechanism, delta: str | None, setting: Setting, bench: HpdpBench, x: str) -> float:
    epsilon, n_owners = setting(x)
    return bench.own(epsilon, delta, n_owners, mechanism)


def _accuracy(bench: HpdpBench, epsilon: float, n_owners: int, scale: NoiseScale, k: int | None = None) -> float:
    if k is not None and k >= bench.train.shape[1]:
        return math.nan  # the table has fewer columns
    return bench.published(Hpdp(epsilon, bench.contribution, scale, k), n_owners)


def _contribution(bench: HpdpBench, k: str, epsilon: float) -> float:
    if int(k) >= bench.train.shape[1]:
        return math.nan
    eigenvalues = bench.fit(Hpdp(epsilon, bench.contribution), 3).eigenvalues
    return float(eigenvalues[: int(k)].sum() / eigenvalues.sum())


def _individual(epsilon: float, bench: HpdpBench, k: str) -> float:
    """The share of the k-th eigenvalue in their sum."""
    if int(k) >= bench.train.shape[1]:
        return math.nan
    eigenvalues = bench.fit(Hpdp(epsilon, bench.contribution), 3).eigenvalues
    return float(eigenvalues[int(k) - 1] / eigenvalues.sum())
