"""The lines of pandas and of R that a release offers give what the release answers: every value, with its error.

The people are made up and many, so that noise is small beside them: the lines have the normal law and the first order
of a quotient, and the release has the law itself. Lines that are off by a few percent are noticed all the same.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

import copublish as cp
from copublish.release.questions.estimate import CONFIDENCE, Estimate
from copublish.release.render.snippets import snippets
from support import fragment_frames, random_table, repartition, seeded, simulate_with, small_mapping
from support.snippets import computed_by_pandas, computed_by_r

RECORDS = 6000

PUBLIC = {"records.public": True, "privacy.neighbors": "replace"}

ODD_VALUES = ['north "N", mostly', "so\\uth", "null", "# 1", "it's é"]
ODD = {
    "attributes.job": {"kind": "categorical", "values": ODD_VALUES, "held_by": "bank"},
    "class.values": ["'no'", '# yes, "é"'],
}
"""Values that a CSV file, Python and R may each read as something else."""

TWO_VALUES = {"attributes.region.values": ["north", "south"], "attributes.job": None, "attributes.age": None}
TWO_VALUES |= {"attributes.income": None}
"""Of columns with two values each, moments have no table of counts: sums of scores alone tell their shares."""

NUMBERS = {"class": None, "attributes.job": None, "attributes.region": None}

BY_A_LABEL = {"budget": {"allocation": "use-informative"}}


@dataclass(frozen=True)
class Case:
    """A release of made-up people, and what its lines ask.

    Attributes:
        mechanism: The mechanism's section of the agreement.
        changes: What else is changed in it.
        asked: The column that lines ask about.
        kind: Which lines it gets: of cells, of a sum of scores, of a perturbed category or number.
    """

    mechanism: Mapping[str, Any]
    changes: Mapping[str, Any]
    asked: str = "job"
    kind: str = "cells"


CASES: dict[str, Case] = {
    "specialization": Case({"name": "specialization", "specializations": 8}, ODD),
    "specialization, public": Case({"name": "specialization", "specializations": 4}, PUBLIC),
    "marginals": Case({"name": "marginals", "rounds": 0}, ODD),
    "marginals, public": Case({"name": "marginals", "rounds": 0}, PUBLIC),
    "marginals, chosen tables": Case({"name": "marginals"}, {}),
    "copula": Case({"name": "copula"}, ODD),
    "copula, by a label": Case({"name": "copula"}, BY_A_LABEL),
    "hpdp": Case({"name": "hpdp"}, ODD),
    "hpdp, two values": Case({"name": "hpdp"}, TWO_VALUES, "region", "sum"),
    "vhdp": Case({"name": "vhdp"}, {**PUBLIC, **ODD}, "default", "category"),
    "vhdp, by a label": Case({"name": "vhdp"}, {**PUBLIC, **BY_A_LABEL}, "default", "category"),
    "vhdp, exact tables by a label": Case({"name": "vhdp"}, {**PUBLIC, **BY_A_LABEL, "privacy.epsilon": "5"}),
    "vhdp, numbers": Case({"name": "vhdp"}, {**PUBLIC, **NUMBERS}, "age", "number"),
}

LEFT = {
    "cells": ('pd.DataFrame({"people": people, **errors})', "cbind(people, errors)"),
    "sum": (
        '__import__("pandas").DataFrame({"share": [part], "share_within": [within]}, ["south"])',
        'data.frame(share = part, share_within = within, row.names = "south")',
    ),
    "category": (
        'pd.DataFrame({"share": share, "share_within": within})',
        "data.frame(share = share, share_within = within, row.names = values)",
    ),
    "number": (
        'pd.DataFrame({"mean": [low + mean], "mean_within": [within]}, ["mean"])',
        'data.frame(mean = low + mean, mean_within = within, row.names = "mean")',
    ),
}
"""What each kind of lines has computed at its end, in Python and in R."""


SAMPLING = 1.96 * math.sqrt(((99 - 18 + 1) ** 2 - 1) / 12) / math.sqrt(RECORDS)
"""What lines about a perturbed number add to the noise, as if people were sampled: ages are even from 18 to 99."""


@cache
def release_of(case: str) -> cp.Release:
    own = CASES[case]
    epsilon = "10" if own.mechanism["name"] == "vhdp" else "4"
    mapping = small_mapping(**{"privacy.epsilon": epsilon, "mechanism": own.mechanism, **own.changes})
    agreement = cp.agreement_from_mapping(repartition(mapping, "horizontal"))
    generator = np.random.default_rng(11)
    table = random_table(agreement, RECORDS, generator)
    if agreement.class_ is not None:  # classes of unlike sizes
        last = table[agreement.class_.name] == agreement.class_.values[-1]
        table = table[~last | (generator.random(RECORDS) < 0.5)]
    return simulate_with(agreement, fragment_frames(agreement, table, generator), seeded(agreement.party_names, 4))


def answers(case: str) -> dict[tuple[str, str], Estimate]:
    """What the release itself answers to everything that its lines compute, by row and column of their table."""
    release, own = release_of(case), CASES[case]
    reading = release.reading
    if own.kind == "number":
        return {("mean", "mean"): reading.mean(own.asked, {}, CONFIDENCE)}
    cells = reading.summary(own.asked).cells
    found = {(cell.label, "share"): cell.share for cell in cells if own.kind != "sum" or cell.label == "south"}
    if own.kind == "cells":
        found |= {(cell.label, "people"): cell.people for cell in cells}
    return found


SEVERAL = {"marginals, chosen tables": 1.8, "hpdp": 1.15, "copula, by a label": 1.15}
"""Releases in which several measurements tell of the column, and how much larger the error of lines may be.

Lines read the first one, the release all of them.
"""


def disagreements(case: str, computed: pd.DataFrame) -> list[str]:
    """Everything in which a table that lines computed differs from what the release answers.

    Where a release reads more than its lines do, their error is larger, and their values may differ. If it is the best
    combination of what the lines read and of others, the variance of that difference is the difference of variances.
    """
    expected, found = answers(case), []
    if sorted(computed.index) != sorted({label for label, _ in expected}):
        return [f"rows: {sorted(computed.index)}"]
    for (label, what), own in expected.items():
        assert own.tells and own.within is not None and own.value is not None
        value, within = float(computed.loc[label, what]), float(computed.loc[label, f"{what}_within"])
        least = math.hypot(own.within, SAMPLING if CASES[case].kind == "number" else 0.0)
        if not 0.98 < within / least < SEVERAL.get(case, 1.05):
            found.append(f"error of {what}, {label}: {within} for {least}")
        apart = 0.02 * own.within
        if case in SEVERAL:
            apart += 1.75 * max(0.0, within**2 - own.within**2) ** 0.5  # 3.4 deviations
        if abs(value - own.value) > apart:
            found.append(f"{what}, {label}: {value} for {own.value}")
    return found


@pytest.mark.parametrize("case", CASES)
def test_the_lines_of_pandas_give_what_the_release_answers(case, tmp_path):
    python, _ = LEFT[CASES[case].kind]
    folder = release_of(case).write(tmp_path / "release")
    computed = computed_by_pandas(snippets(release_of(case)).python, folder, python)
    assert disagreements(case, computed.table) == []
    assert "share" in computed.printed or "mean" in computed.printed


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_the_lines_of_r_give_what_those_of_pandas_give(case, tmp_path):
    left, lines = LEFT[CASES[case].kind], snippets(release_of(case))
    folder = release_of(case).write(tmp_path / "release")
    in_pandas = computed_by_pandas(lines.python, folder, left[0]).table
    in_r = computed_by_r(lines.r, folder, left[1], tmp_path)
    assert disagreements(case, in_r.table) == []
    pd.testing.assert_frame_equal(in_r.table, in_pandas, check_names=False, rtol=1e-9, check_dtype=False)
    assert "share" in in_r.printed or "mean" in in_r.printed


@pytest.mark.parametrize("case", CASES)
def test_lines_that_are_off_are_noticed(case, tmp_path):
    lines = snippets(release_of(case)).python
    folder = release_of(case).write(tmp_path / "release")
    right = computed_by_pandas(lines, folder, LEFT[CASES[case].kind][0]).table
    errors = [name for name in right if name.endswith("_within")]
    others = [name for name in right if name not in errors]
    for names, factor in ((errors, 0.7), (errors, 1.4), (others, 1.05)):
        assert disagreements(case, right.assign(**right[names] * factor)) != []
    assert disagreements(case, right[1:]) != []
    shuffled = right.set_axis([*right.index[1:], right.index[0]])
    assert len(right) == 1 or disagreements(case, shuffled) != []
