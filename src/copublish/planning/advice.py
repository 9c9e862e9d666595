"""The plan: a grid of settings tried out, the one to take, and what its secure run would cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from decimal import Decimal
from typing import Any, get_args

import numpy as np

from copublish.agreement.mechanism import KEYS_OF_MECHANISM, Mechanism
from copublish.agreement.model import Agreement
from copublish.errors import EvaluationError
from copublish.generalization import Source
from copublish.mechanisms.specialization import Plan, Progress
from copublish.planning.costs import predict
from copublish.planning.tables import made_up_table, read_like
from copublish.planning.trials import Setting, Trial, TrialGround
from copublish.simulation import no_progress

EPSILONS = ("0.1", "0.25", "0.5", "1", "2")
SPECIALIZATIONS = (2, 4, 7, 10, 13)
SELECTION_SHARES = ("0.25", "0.4", "0.5")
TEST_SHARE = 1 / 3
MOST_RECORDS = 200_000
"""More are not simulated: noise hardly matters then, and time does."""

WARNING = (
    "Nothing is charged for a plan, so it must not touch private data: plan with a public file, or with made-up data, "
    "never with the records that shall be released."
)


def plan_release(
    agreement: Agreement,
    like: Source | None = None,
    *,
    epsilons: Sequence[str] = EPSILONS,
    specializations: Sequence[int] = SPECIALIZATIONS,
    runs: int = 3,
    progress: Progress = no_progress,
) -> dict[str, Any]:
    """Try settings out on public or made-up data and return the results and a recommendation, as JSON values.

    Args:
        agreement: What is planned. Its own epsilon, specializations and score are among the settings.
        like: A public table that resembles the data. Without it, values are made up from the agreed domains, and
            accuracies show the shape of the trade-off but not its level.
        epsilons: Budgets to try.
        specializations: Numbers of specializations to try.
        runs: Releases of each setting.
        progress: Told about every trial.

    Raises:
        CopublishError: If the table does not fit the agreement.

    Privacy:
        Assumes: `like` is not private. The releases of a plan are charged to nobody.
    """
    if "specializations" not in KEYS_OF_MECHANISM[agreement.mechanism.name]:
        raise EvaluationError(
            f"'copublish plan' tries out how values are split, and the mechanism '{agreement.mechanism.name}' splits "
            "nothing. 'copublish describe' tells how exact it will be; 'copublish simulate' on public data shows the "
            "rest."
        )
    generator = np.random.default_rng(0)  # of the data to plan with; noise is drawn as for any release
    ground, n_like = _ground(agreement, like, generator)
    grid = [*_grid(agreement, epsilons, specializations)]
    total = len(grid) + len(SELECTION_SHARES) - 1
    trials: list[Trial] = []
    for number, setting in enumerate(grid):
        progress("trials", number, total)
        trials.append(ground.run(setting, runs))
    agreed = _spell(agreement.privacy.epsilon)
    best = _best([trial for trial in trials if trial.setting.epsilon == agreed])
    shares = [best]
    for share in SELECTION_SHARES:
        if Decimal(share) != Decimal(best.setting.selection_share):
            progress("trials", len(grid) + len(shares) - 1, total)
            shares.append(ground.run(replace(best.setting, selection_share=share), runs))
    progress("trials", total, total)
    best = _best_share(shares)
    ba, la = ground.baselines()
    return {
        "plan_format": 1,
        "warning": WARNING,
        "release": agreement.name,
        "data": "made up" if like is None else "like",
        "training_records": len(ground.train),
        "test_records": len(ground.test),
        "resampled": like is not None and len(ground.train) != n_like,
        "runs": runs,
        "BA": ba,
        "LA": la,
        "agreed": {"epsilon": agreed, "specializations": agreement.mechanism.specializations},
        "trials": [_described(trial) for trial in trials],
        "selection_shares": [_described(trial) for trial in sorted(shares, key=lambda t: t.setting.selection_share)],
        "size_rule": _size_rule(agreement),
        "recommendation": _described(best),
        "secure_run": predict(best.setting.apply(agreement), best.cut, len(ground.train)),
    }


def _ground(agreement: Agreement, like: Source | None, generator: np.random.Generator) -> tuple[TrialGround, int]:
    """Split the data into training and test records, as many for training as the agreement expects."""
    wanted = min(agreement.records.expected, MOST_RECORDS)
    if like is None:
        n_test = max(int(wanted * TEST_SHARE), 1000)
        table = made_up_table(agreement, wanted + n_test, generator)
        return TrialGround(agreement, table[:wanted], table[wanted:], generator), wanted
    table = read_like(agreement, like)
    order = generator.permutation(len(table))
    n_test = max(1, int(len(table) * TEST_SHARE))
    train, test = table.iloc[order[n_test:]], table.iloc[order[:n_test]]
    n_like = len(train)
    if abs(n_like - wanted) > wanted * 0.1:  # noise matters by the number of records: draw as many as are expected
        train = train.iloc[generator.integers(0, n_like, wanted)]
    train, test = (frame.reset_index(drop=True) for frame in (train, test))
    return TrialGround(agreement, train, test, generator), n_like


def _grid(agreement: Agreement, epsilons: Sequence[str], specializations: Sequence[int]) -> Iterator[Setting]:
    """Yield settings that differ.

    The size rule makes one of all that ask for more than it allows, and `auto` is one of the other scores.
    """
    asked = agreement.mechanism.specializations
    budgets = sorted({*(_spell(Decimal(e)) for e in epsilons), _spell(agreement.privacy.epsilon)}, key=Decimal)
    share = _spell(agreement.mechanism.selection_share)
    seen: set[tuple[str, str, int]] = set()
    for score in get_args(Mechanism.model_fields["score"].annotation):
        for epsilon in budgets:
            for h in sorted({*specializations, asked}):
                setting = Setting(epsilon, h, score, share)
                plan = Plan.of(setting.apply(agreement))
                if (release := (epsilon, plan.score, plan.rounds)) not in seen:
                    seen.add(release)
                    yield setting


def _best(trials: Sequence[Trial]) -> Trial:
    """Return the trial with the fewest rounds among those that are not clearly worse than the best.

    Fewer rounds mean fewer cells, each with more people in it: at the same accuracy they serve other uses better.
    """
    top = max(trials, key=lambda trial: trial.accuracy)
    margin = max(0.002, 0.0 if np.isnan(top.standard_error) else top.standard_error)
    close = [trial for trial in trials if trial.accuracy >= top.accuracy - margin]
    return min(close, key=lambda trial: (trial.rounds, -trial.accuracy))


def _best_share(trials: Sequence[Trial]) -> Trial:
    """Return the first trial, unless another split of the budget is better by more than chance."""
    first, top = trials[0], max(trials, key=lambda trial: trial.accuracy)
    error = float(np.hypot(np.nan_to_num(first.standard_error), np.nan_to_num(top.standard_error)))
    return top if top.accuracy - first.accuracy > max(2 * error, 0.002) else first


def _size_rule(agreement: Agreement) -> dict[str, Any]:
    most = Plan.of(replace_specializations(agreement, 100))
    n_classes = len(agreement.class_.values)
    return {
        "most_cells": most.max_leaves * n_classes,
        "most_specializations": most.rounds,
        "why": "so that a mean cell holds clearly more people than its noise",
    }


def replace_specializations(agreement: Agreement, number: int) -> Agreement:
    """Return the agreement with another number of specializations."""
    mechanism = agreement.mechanism
    setting = Setting(_spell(agreement.privacy.epsilon), number, mechanism.score, _spell(mechanism.selection_share))
    return setting.apply(agreement)


def _described(trial: Trial) -> dict[str, Any]:
    described = {**asdict(trial.setting), **{k: v for k, v in asdict(trial).items() if k not in ("setting", "cut")}}
    if np.isnan(described["standard_error"]):
        described["standard_error"] = None
    return described


def _spell(number: Decimal) -> str:
    return format(number.normalize(), "f")
