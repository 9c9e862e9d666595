"""The plan: mechanisms and settings tried out, what to take, and what its secure run would cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from copublish.agreement.loading import load_agreement
from copublish.agreement.model import Agreement
from copublish.fragments.sources import Source
from copublish.mechanisms.registry import mechanism_of
from copublish.mechanisms.shared.tuning import Setting, spell
from copublish.planning.costs import predict, unknown_cost
from copublish.planning.mechanisms import refuse_unplannable, with_mechanism
from copublish.planning.references import references_for
from copublish.planning.tables import made_up_table, read_like
from copublish.planning.trials import CLASSIFIER, Trial, TrialGround, try_setting
from copublish.progress import Progress, no_progress
from copublish.release.html import definition_list, html_table

if TYPE_CHECKING:
    from copublish.planning.plots import Plot

EPSILONS = ("0.1", "0.25", "0.5", "1", "2")
TEST_SHARE = 1 / 3
MOST_RECORDS = 200_000
"""More are not simulated: noise hardly matters then, and time does."""

PLAN_FORMAT = 3

WARNING = (
    "Nothing is charged for a plan, so it must not touch private data: plan with a public file, or with made-up data, "
    "never with the records that shall be released."
)


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
        """The trade-off between accuracy and epsilon; with a path it is also written, as .png or .svg."""
        from copublish.planning.plots import Plot, plan_figure

        plot = Plot(plan_figure(self.content))
        if path is not None:
            plot.write(path)
        return plot

    def __repr__(self) -> str:
        best = self.content["recommendation"]
        return (
            f"ReleasePlan({self.content['release']!r}, {len(self.content['trials'])} trials, take {best['mechanism']})"
        )

    def _repr_html_(self) -> str:
        headings = ("mechanism", "setting", "epsilon", "accuracy", "standard error", "pairs are off by")
        rows = [
            (
                trial["mechanism"],
                trial.get("curve", ""),
                trial["epsilon"],
                f"{trial['accuracy']:.3f}",
                "" if trial["standard_error"] is None else f"{trial['standard_error']:.3f}",
                f"{trial['marginal_error']:.3f}",
            )
            for trial in self.content["trials"]
        ]
        facts = {
            "Release": self.content["release"],
            "Data": self.content["data"],
            "Raw data give": f"{self.content['BA']:.3f}",
            "The largest class gives": f"{self.content['LA']:.3f}",
            "Note": self.content["warning"],
        }
        return definition_list(facts) + html_table(headings, rows)


def plan_release(
    agreement: Agreement | str | Path,
    like: Source | None = None,
    *,
    mechanisms: Sequence[str] = (),
    epsilons: Sequence[str] = EPSILONS,
    tried: Mapping[str, Sequence[int]] | None = None,
    runs: int = 3,
    strict: bool = False,
    progress: Progress = no_progress,
) -> ReleasePlan:
    """Try releases out on public or made-up data and say what to take.

    Args:
        agreement: What is planned, or the path of its file. Its own mechanism, epsilon and settings are among what is
            tried.
        like: A public table that resembles the data. Without it, values are made up from the agreed domains, and
            accuracies show the shape of the trade-off but not its level.
        mechanisms: Others to try beside the agreed one, each in its usual settings, on the same records.
        epsilons: Budgets to try.
        tried: Values to try of the mechanism's settings, by key; without it the usual ones.
        runs: Releases of each setting.
        strict: Whether values of `like` that a run would change are an error.
        progress: Told about every trial.

    Raises:
        CopublishError: If the table does not fit the agreement, or the agreement does not permit a mechanism.

    Privacy:
        Assumes: `like` is not private. The releases of a plan are charged to nobody.
    """
    agreement = agreement if isinstance(agreement, Agreement) else load_agreement(agreement)
    refuse_unplannable(agreement)
    agreed = mechanism_of(agreement)
    names = dict.fromkeys([agreed.name, *mechanisms])  # the agreed one first, each of them once
    variants = [with_mechanism(agreement, name) for name in names]
    budgets = sorted({spell(Decimal(text)) for text in (*epsilons, str(agreement.privacy.epsilon))}, key=Decimal)
    candidates = [(one, setting) for one in variants for setting in _settings(one, budgets, tried or {})]
    generator = np.random.default_rng(0)  # of the data to plan with; noise is drawn as for any release
    with_numbers = any(one.mechanism.reads_numbers for one in variants)
    read = None if like is None else read_like(agreement, like, strict=strict)
    ground, n_like = _ground(agreement, None if read is None else read[0], generator, with_numbers=with_numbers)
    refined = 0 if agreed.tuning is None else len(agreed.tuning.refinements(candidates[0][1]))
    total = len(candidates) + refined
    trials = []
    for number, (one, setting) in enumerate(candidates):
        progress("trials", number, total)
        trials.append(try_setting(ground, one, setting, runs))
    chosen = _advise(agreement, ground, trials, runs, lambda done: progress("trials", len(candidates) + done, total))
    progress("trials", total, total)
    ba, la = ground.baselines()
    return ReleasePlan(
        {
            "plan_format": PLAN_FORMAT,
            "warning": WARNING,
            "release": agreement.name,
            "data": "made up" if like is None else "like",
            "training_records": len(ground.train),
            "test_records": len(ground.test),
            "rules": [] if read is None else [change.to_dict() for change in read[1]],
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
    )


def _settings(agreement: Agreement, budgets: Sequence[str], tried: Mapping[str, Sequence[int]]) -> list[Setting]:
    """What is tried of one mechanism: settings that differ, or one for each budget.

    Raises:
        AgreementError: If the agreement does not permit one of them: before anything is tried.
    """
    tuning = mechanism_of(agreement).tuning
    if tuning is not None:
        return list(tuning.settings(agreement, budgets, {**tuning.tried, **tried}))
    settings = [Setting(epsilon) for epsilon in budgets]
    for setting in settings:
        setting.apply(agreement)
    return settings


def _agreed(agreement: Agreement) -> dict[str, Any]:
    delta = {} if agreement.privacy.delta is None else {"delta": str(agreement.privacy.delta)}
    mechanism = mechanism_of(agreement)
    keys = () if mechanism.tuning is None else mechanism.tuning.tried
    tuned = {key: getattr(agreement.mechanism, key) for key in keys}
    return {"mechanism": mechanism.name, "epsilon": spell(agreement.privacy.epsilon), **delta, **tuned}


def _advise(
    agreement: Agreement,
    ground: TrialGround,
    trials: Sequence[Trial],
    runs: int,
    tell: Callable[[int], None],
) -> dict[str, Any]:
    """What to take of the agreed mechanism at the agreed epsilon; settings beside the best one are tried, too."""
    budget, mechanism = spell(agreement.privacy.epsilon), mechanism_of(agreement)
    here = [trial for trial in trials if trial.epsilon == budget and trial.mechanism == mechanism.name]
    if (tuning := mechanism.tuning) is None:
        own = here[0].described()
        return {"refinements": [], "limits": None, "recommendation": own, "advice": None} | {
            "secure_run": unknown_cost(agreement)
        }
    best = best_trial(here, lambda trial: tuning.complexity(trial.described()))
    refined = [best]
    for setting in tuning.refinements(best.setting):
        tell(len(refined) - 1)
        refined.append(try_setting(ground, agreement, setting, runs))
    best = best_refinement(refined)
    work = tuning.work(best.setting.apply(agreement), best.release, len(ground.train))
    return {
        "refinements": [trial.described() for trial in refined],
        "limits": tuning.limits(agreement),
        "recommendation": best.described(),
        "advice": tuning.advice(best.described()),
        "secure_run": predict(agreement, work),
    }


def best_trial(trials: Sequence[Trial], complexity: Callable[[Trial], float]) -> Trial:
    """The simplest trial among those that are not clearly worse than the best."""
    top = max(trials, key=lambda trial: trial.scores.accuracy)
    margin = max(0.002, 0.0 if np.isnan(top.scores.standard_error) else top.scores.standard_error)
    close = [trial for trial in trials if trial.scores.accuracy >= top.scores.accuracy - margin]
    return min(close, key=lambda trial: (complexity(trial), -trial.scores.accuracy))


def best_refinement(trials: Sequence[Trial]) -> Trial:
    """The first trial, unless another one is better by more than chance."""
    first, top = trials[0], max(trials, key=lambda trial: trial.scores.accuracy)
    error = float(np.hypot(np.nan_to_num(first.scores.standard_error), np.nan_to_num(top.scores.standard_error)))
    return top if top.scores.accuracy - first.scores.accuracy > max(2 * error, 0.002) else first


def _ground(
    agreement: Agreement, like: pd.DataFrame | None, generator: np.random.Generator, *, with_numbers: bool
) -> tuple[TrialGround, int]:
    """Split the data into training and test records, as many for training as the agreement expects."""
    wanted = min(agreement.records.expected, MOST_RECORDS)
    new_ground = partial(TrialGround, agreement, generator=generator, with_numbers=with_numbers)
    if like is None:
        n_test = max(int(wanted * TEST_SHARE), 1000)
        table = made_up_table(agreement, wanted + n_test, generator)
        return new_ground(table[:wanted], table[wanted:]), wanted
    order = generator.permutation(len(like))
    n_test = max(1, int(len(like) * TEST_SHARE))
    train, test = like.iloc[order[n_test:]], like.iloc[order[:n_test]]
    n_like = len(train)
    if abs(n_like - wanted) > wanted * 0.1:  # noise matters by the number of records: draw as many as are expected
        train = train.iloc[generator.integers(0, n_like, wanted)]
    train, test = (frame.reset_index(drop=True) for frame in (train, test))
    return new_ground(train, test), n_like
