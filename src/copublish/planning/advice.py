"""The plan: mechanisms and settings tried out, what to take, and what its secure run would cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np

from copublish.agreement.model import Agreement
from copublish.planning.costs import predict, unknown_cost
from copublish.planning.mechanisms import mechanism_of, refuse_unplannable, splits_values, with_epsilon, with_mechanism
from copublish.planning.record_trials import RecordTrial, try_records
from copublish.planning.references import references_for
from copublish.planning.settings import (
    SELECTION_SHARES,
    Setting,
    Trial,
    best_share,
    best_trial,
    grid_of,
    size_rule,
    try_setting,
)
from copublish.planning.tables import made_up_table, read_like
from copublish.planning.trials import CLASSIFIER, TrialGround, spell
from copublish.progress import Progress, no_progress
from copublish.release.generalize import Source

EPSILONS = ("0.1", "0.25", "0.5", "1", "2")
SPECIALIZATIONS = (2, 4, 7, 10, 13)
TEST_SHARE = 1 / 3
MOST_RECORDS = 200_000
"""More are not simulated: noise hardly matters then, and time does."""

PLAN_FORMAT = 2

WARNING = (
    "Nothing is charged for a plan, so it must not touch private data: plan with a public file, or with made-up data, "
    "never with the records that shall be released."
)


def plan_release(
    agreement: Agreement,
    like: Source | None = None,
    *,
    mechanisms: Sequence[str] = (),
    epsilons: Sequence[str] = EPSILONS,
    specializations: Sequence[int] = SPECIALIZATIONS,
    runs: int = 3,
    progress: Progress = no_progress,
) -> dict[str, Any]:
    """Try releases out on public or made-up data and return the results and what to take, as JSON values.

    Args:
        agreement: What is planned. Its own mechanism, epsilon, specializations and score are among what is tried.
        like: A public table that resembles the data. Without it, values are made up from the agreed domains, and
            accuracies show the shape of the trade-off but not its level.
        mechanisms: Others to try beside the agreed one, each in its usual settings, on the same records.
        epsilons: Budgets to try.
        specializations: Numbers of specializations to try.
        runs: Releases of each setting.
        progress: Told about every trial.

    Raises:
        CopublishError: If the table does not fit the agreement, or the agreement does not permit a mechanism.

    Privacy:
        Assumes: `like` is not private. The releases of a plan are charged to nobody.
    """
    refuse_unplannable(agreement)
    names = dict.fromkeys([mechanism_of(agreement), *mechanisms])  # the agreed one first, each of them once
    tried = [with_mechanism(agreement, name) for name in names]
    budgets = sorted({spell(Decimal(text)) for text in (*epsilons, str(agreement.privacy.epsilon))}, key=Decimal)
    candidates = [found for one in tried for found in _candidates(one, budgets, specializations)]
    total = len(candidates) + (len(SELECTION_SHARES) - 1 if splits_values(agreement) else 0)
    generator = np.random.default_rng(0)  # of the data to plan with; noise is drawn as for any release
    with_numbers = any(one.mechanism.reads_numbers for one in tried)
    ground, n_like = _ground(agreement, like, generator, with_numbers=with_numbers)
    trials: list[Trial | RecordTrial] = []
    for number, (one, setting) in enumerate(candidates):
        progress("trials", number, total)
        trials.append(try_records(ground, one, runs) if setting is None else try_setting(ground, one, setting, runs))
    chosen = _advise(agreement, ground, trials, runs, lambda done: progress("trials", len(candidates) + done, total))
    progress("trials", total, total)
    ba, la = ground.baselines()
    return {
        "plan_format": PLAN_FORMAT,
        "warning": WARNING,
        "release": agreement.name,
        "data": "made up" if like is None else "like",
        "training_records": len(ground.train),
        "test_records": len(ground.test),
        "resampled": like is not None and len(ground.train) != n_like,
        "runs": runs,
        "classifier": CLASSIFIER,
        "BA": ba,
        "LA": la,
        "agreed": _agreed(agreement),
        "mechanisms": list(names),
        "trials": [trial.described() for trial in trials],
        **chosen,
        "printed": references_for(agreement, is_made_up=like is None),
    }


def _candidates(
    agreement: Agreement, budgets: Sequence[str], specializations: Sequence[int]
) -> list[tuple[Agreement, Setting | None]]:
    """Return what is tried of one mechanism: settings that differ, or one agreement for each budget."""
    if splits_values(agreement):
        return [(agreement, setting) for setting in grid_of(agreement, budgets, specializations)]
    return [(with_epsilon(agreement, epsilon), None) for epsilon in budgets]


def _agreed(agreement: Agreement) -> dict[str, Any]:
    delta = {} if agreement.privacy.delta is None else {"delta": str(agreement.privacy.delta)}
    h = {"specializations": agreement.mechanism.specializations} if splits_values(agreement) else {}
    return {"mechanism": mechanism_of(agreement), "epsilon": spell(agreement.privacy.epsilon), **delta, **h}


def _advise(
    agreement: Agreement,
    ground: TrialGround,
    trials: Sequence[Trial | RecordTrial],
    runs: int,
    tell: Callable[[int], None],
) -> dict[str, Any]:
    """Return what to take of the agreed mechanism at the agreed epsilon; other splits of its budget are tried, too."""
    budget = spell(agreement.privacy.epsilon)
    here = [trial for trial in trials if trial.epsilon == budget]
    if not splits_values(agreement):
        own = next(trial for trial in here if trial.mechanism == agreement.mechanism.name)
        return {
            "selection_shares": [],
            "size_rule": None,
            "recommendation": own.described(),
            "secure_run": unknown_cost(agreement),
        }
    best = best_trial([trial for trial in here if isinstance(trial, Trial)])
    shares = [best]
    for share in SELECTION_SHARES:
        if Decimal(share) != Decimal(best.setting.selection_share):
            tell(len(shares) - 1)
            shares.append(try_setting(ground, agreement, replace(best.setting, selection_share=share), runs))
    best = best_share(shares)
    return {
        "selection_shares": [trial.described() for trial in sorted(shares, key=lambda t: t.setting.selection_share)],
        "size_rule": size_rule(agreement),
        "recommendation": best.described(),
        "secure_run": predict(best.setting.apply(agreement), best.cut, len(ground.train)),
    }


def _ground(
    agreement: Agreement, like: Source | None, generator: np.random.Generator, *, with_numbers: bool
) -> tuple[TrialGround, int]:
    """Split the data into training and test records, as many for training as the agreement expects."""
    wanted = min(agreement.records.expected, MOST_RECORDS)
    new_ground = partial(TrialGround, agreement, generator=generator, with_numbers=with_numbers)
    if like is None:
        n_test = max(int(wanted * TEST_SHARE), 1000)
        table = made_up_table(agreement, wanted + n_test, generator)
        return new_ground(table[:wanted], table[wanted:]), wanted
    table = read_like(agreement, like)
    order = generator.permutation(len(table))
    n_test = max(1, int(len(table) * TEST_SHARE))
    train, test = table.iloc[order[n_test:]], table.iloc[order[:n_test]]
    n_like = len(train)
    if abs(n_like - wanted) > wanted * 0.1:  # noise matters by the number of records: draw as many as are expected
        train = train.iloc[generator.integers(0, n_like, wanted)]
    train, test = (frame.reset_index(drop=True) for frame in (train, test))
    return new_ground(train, test), n_like
