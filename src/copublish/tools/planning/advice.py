"""The plan: mechanisms and settings tried out, what to take, and what its secure run would cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from copublish.agreement.loading import load_agreement
from copublish.agreement.model import Agreement
from copublish.mechanisms.registry import mechanism_of
from copublish.progress import Progress, no_progress
from copublish.release.describe import describe
from copublish.rows.sources import Source
from copublish.tools.evaluation.baseline import WHAT_IT_IS
from copublish.tools.evaluation.classification import ClassifierName
from copublish.tools.evaluation.prediction import METRICS, RANKED_CLASSIFIERS
from copublish.tools.planning.costs import unknown_cost
from copublish.tools.planning.release_plan import (
    AgreedSetting,
    LargestClass,
    PlanAdvice,
    PlanFindings,
    PlanGround,
    ReleasePlan,
)
from copublish.tools.planning.tables import made_up_table, read_like
from copublish.tools.planning.trials import (
    NOTHING_FROM_MADE_UP_DATA,
    SettingChoice,
    Trial,
    TrialGround,
    best_refinement,
    choose_setting,
    predicted_column,
    ranked,
    refuse_unplannable,
    try_baseline,
    try_setting,
    variants_of,
    verdict,
)
from copublish.tools.planning.tuning import Setting, spell
from copublish.tools.planning.tunings import tuning_of

EPSILONS = ("0.1", "0.25", "0.5", "1", "2")
RUNS = 5
TEST_SHARE = 1 / 3
MOST_RECORDS = 200_000
"""More are not simulated: noise hardly matters then, and time does."""

PLAN_FORMAT = 1

WARNING = (
    "Nothing is charged for a plan, so it must not touch private data: plan with a public file, or with made-up data, "
    "never with the records that shall be released."
)


def plan_release(
    agreement: Agreement | str | Path,
    like: Source | None = None,
    *,
    mechanisms: Sequence[str] = (),
    epsilons: Sequence[str] = EPSILONS,
    tried: Mapping[str, Sequence[int]] | None = None,
    runs: int = RUNS,
    classifiers: Sequence[ClassifierName] = RANKED_CLASSIFIERS,
    target: str | None = None,
    strict: bool = False,
    progress: Progress = no_progress,
) -> ReleasePlan:
    """Try releases out on public or made-up data and say what to take.

    Settings are ranked by the area under the ROC curve, at the agreed epsilon; what is taken, and other mechanisms in
    their usual settings, are then tried at all epsilons, beside raw data and the trivial baseline.

    Args:
        agreement: What is planned, or the path of its file. Its own mechanism, epsilon and settings are among what is
            tried.
        like: A public table that resembles the data. Without it, values are made up from the agreed domains: scores
            then show the shape of the trade-off, and nothing is recommended.
        mechanisms: Others to try beside the agreed one, each in its usual settings, on the same records; `["all"]` for
            every one that the agreement permits.
        epsilons: Budgets to try.
        tried: Values to try of the mechanism's settings, by key; without it the usual ones, or on made-up data none but
            the agreed ones.
        runs: Releases of each setting. One does not tell what noise does.
        classifiers: What predicts. A release is ranked by the best one of them.
        target: What is predicted where the agreement has no class; without it the last column.
        strict: Whether values of `like` that a run would change are an error.
        progress: Told about every trial.

    Raises:
        CopublishError: If the table does not fit the agreement, or the agreement does not permit a mechanism.

    Privacy:
        Assumes: `like` is not private. The releases of a plan are charged to nobody.
    """
    agreement = agreement if isinstance(agreement, Agreement) else load_agreement(agreement)
    refuse_unplannable(agreement)
    predicted = predicted_column(agreement, target)
    variants, refused = variants_of(agreement, mechanisms)
    budgets = sorted({spell(Decimal(text)) for text in (*epsilons, str(agreement.privacy.epsilon))}, key=Decimal)
    trial_plan = _Trials(agreement, list(variants.values()), budgets, tried or {}, runs, like is None)
    generator = np.random.default_rng(0)  # of the data to plan with; noise is drawn as for any release
    with_numbers = any(one.mechanism.reads_numbers for one in variants.values())
    read = None if like is None else read_like(agreement, like, strict=strict)
    new_ground = partial(
        TrialGround,
        agreement,
        generator=generator,
        with_numbers=with_numbers,
        classifiers=classifiers,
        target=predicted,
    )
    ground, n_like = ground_of(agreement, None if read is None else read[0], generator, new_ground)
    found = trial_plan.run(ground, progress)
    return ReleasePlan(
        PlanGround(
            plan_format=PLAN_FORMAT,
            warning=WARNING,
            agreement_warnings=tuple(describe(agreement).warnings),
            release=agreement.name,
            target=predicted,
            target_is_class=agreement.class_ is not None,
            data="made up" if like is None else "like",
            training_records=len(ground.train),
            test_records=len(ground.test),
            rules=() if read is None else tuple(change.to_dict() for change in read[1]),
            resampled=like is not None and len(ground.train) != n_like,
            runs=runs,
            metrics=METRICS,
            classifiers=tuple(classifiers),
            ranked_by=METRICS[0],
            raw=ground.raw().scores(),
            largest_class=LargestClass(accuracy=ground.largest_class()),
            baseline_is=WHAT_IT_IS,
            agreed=_agreed(agreement),
            mechanisms=tuple(variants),
            not_permitted=refused,
        ),
        found,
    )


class _Trials:
    """Everything that is tried, in order; settings that an agreement does not permit are refused before the first."""

    def __init__(
        self,
        agreement: Agreement,
        variants: Sequence[Agreement],
        budgets: Sequence[str],
        tried: Mapping[str, Sequence[int]],
        runs: int,
        is_made_up: bool,
    ) -> None:
        self.agreement, self.others, self.runs, self.is_made_up = agreement, variants[1:], runs, is_made_up
        self.budget, self.budgets = spell(agreement.privacy.epsilon), budgets
        self.tuning = tuning_of(agreement)
        self.settings = [Setting(self.budget)]
        if self.tuning is not None:
            every = list(self.tuning.settings(agreement, [self.budget], {**self.tuning.tried, **tried}))
            # Which one is best made-up data do not tell: others are tried only if somebody asks for them.
            self.settings = every if tried or not is_made_up else every[:1]
        for one in variants:
            for epsilon in budgets:
                Setting(epsilon).apply(one)  # raises before anything is tried

    def run(self, ground: TrialGround, progress: Progress) -> PlanFindings:
        """Try everything."""
        refines = self.tuning is not None and not self.is_made_up
        refinements = self.tuning.refinements(self.settings[0]) if self.tuning is not None and refines else []
        curves = (1 + len(self.others)) * len(self.budgets) - 1
        total, done = len(self.settings) + len(refinements) + curves + len(self.budgets), 0

        def tell(trials: Iterator[Trial]) -> Iterator[Trial]:
            nonlocal done
            progress("trials", done, total)
            for trial in trials:
                done += 1
                progress("trials", done, total)
                yield trial

        first = list(tell(try_setting(ground, self.agreement, one, self.runs) for one in self.settings))
        choice = choose_setting(first, first[0])
        if self.is_made_up:
            choice = SettingChoice(first[0], first, len(first), is_agreed=True)
        refined = [choice.trial]
        if self.tuning is not None and refines:
            settings = self.tuning.refinements(choice.trial.setting)
            refined += tell(try_setting(ground, self.agreement, one, self.runs) for one in settings)
        chosen = best_refinement(refined)
        curve = [*tell(self._elsewhere(ground, chosen)), chosen]
        curve += tell(
            try_setting(ground, one, Setting(epsilon), self.runs) for one in self.others for epsilon in self.budgets
        )
        baselines = list(tell(try_baseline(ground, self.agreement, epsilon, self.runs) for epsilon in self.budgets))
        beside = [trial for trial in [*curve, *baselines] if trial.epsilon == self.budget]
        return PlanFindings(
            settings=tuple(trial.scores() for trial in first),
            refinements=tuple(trial.scores() for trial in refined),
            trials=tuple(trial.scores() for trial in curve),
            baseline=tuple(trial.scores() for trial in baselines),
            ranking=ranked(beside),
            decision=self._advice(ground, choice, chosen, beside),
            secure_run=chosen.secure_run or unknown_cost(self.agreement),
        )

    def _elsewhere(self, ground: TrialGround, chosen: Trial) -> Iterator[Trial]:
        """Yield trials of what was chosen at the other budgets."""
        for epsilon in self.budgets:
            if epsilon != self.budget:
                yield try_setting(ground, self.agreement, replace(chosen.setting, epsilon=epsilon), self.runs)

    def _advice(self, ground: TrialGround, choice: SettingChoice, chosen: Trial, beside: Sequence[Trial]) -> PlanAdvice:
        limits = None if self.tuning is None else self.tuning.limits(self.agreement)
        if self.is_made_up:
            return PlanAdvice(
                recommendation=None,
                can_tell=False,
                as_good=(),
                advice=None,
                verdict=(NOTHING_FROM_MADE_UP_DATA,),
                limits=limits,
            )
        best = chosen.scores()
        return PlanAdvice(
            recommendation=best,
            can_tell=choice.can_tell,
            as_good=tuple(trial.setting.described() for trial in choice.as_good),
            advice=None if self.tuning is None else f"{self.tuning.advice(best.to_json())} ({choice.words})",
            verdict=tuple(verdict(beside, ground.target)),
            limits=limits,
        )


def _agreed(agreement: Agreement) -> AgreedSetting:
    tuning, delta = tuning_of(agreement), agreement.privacy.delta
    return AgreedSetting(
        mechanism=mechanism_of(agreement).name,
        epsilon=spell(agreement.privacy.epsilon),
        delta=None if delta is None else str(delta),
        tuned={} if tuning is None else {key: getattr(agreement.mechanism, key) for key in tuning.tried},
    )


def ground_of(
    agreement: Agreement,
    like: pd.DataFrame | None,
    generator: np.random.Generator,
    new_ground: Callable[[pd.DataFrame, pd.DataFrame], TrialGround],
) -> tuple[TrialGround, int]:
    """Split the data into training and test records, as many for training as the agreement expects."""
    wanted = min(agreement.records.expected, MOST_RECORDS)
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
