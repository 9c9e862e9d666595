"""Releases tried out on data that are not private: which setting to take, and which mechanism predicts best.

Mechanisms are ranked by area under the ROC curve, and it is said when that cannot be told.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from pydantic.dataclasses import dataclass as typed

from copublish.agreement.loading import agreement_from_mapping
from copublish.agreement.model import Agreement
from copublish.errors import AgreementError, EvaluationError
from copublish.kernel.records.fragment import Fragment
from copublish.mechanisms.registry import AnyMechanism, mechanism_named, mechanism_of, mechanisms
from copublish.party.local.simulation import simulate_fragments
from copublish.release.folder import Release
from copublish.tools.evaluation.baseline import BASELINE, ClassTables
from copublish.tools.evaluation.classification import ClassifierName, majority_accuracy
from copublish.tools.evaluation.prediction import RANKED_CLASSIFIERS
from copublish.tools.evaluation.published import ScoredData
from copublish.tools.evaluation.utility import Difference, Summary, SummaryScores, raw_utility, utility_of
from copublish.tools.planning.costs import PredictedCost
from copublish.tools.planning.hidden_membership import with_shared_membership
from copublish.tools.planning.links import run_cost
from copublish.tools.planning.tables import as_fragments
from copublish.tools.planning.tuning import Setting
from copublish.tools.planning.tunings import tuning_of
from copublish.types import TypedJson

ALL = "all"
"""In place of names of mechanisms: every one that the agreement permits."""


def planned_names() -> list[str]:
    """The mechanisms that can be tried: the differentially private ones."""
    return [known.name for known in mechanisms() if known.promises]


def refuse_unplannable(agreement: Agreement) -> None:
    """Raise unless there is a trade-off over epsilon to plan.

    Raises:
        EvaluationError: If the agreed mechanism is not differentially private.
    """
    if agreement.mechanism.no_promise(agreement) is not None:
        raise EvaluationError(
            f"The mechanism '{agreement.mechanism.name}' is not differentially private: no epsilon protects anybody in "
            "it, so there is no trade-off over epsilon to plan. Mechanisms that can be planned: "
            f"{', '.join(planned_names())}."
        )


def variants_of(agreement: Agreement, names: Sequence[str]) -> tuple[dict[str, Agreement], dict[str, list[str]]]:
    """The agreement with its own mechanism, which is first, and with each of the named ones.

    Returns:
        Agreements by mechanism; and, if all mechanisms are asked for, the rules that the agreement would break, by
        each mechanism that it does not permit.

    Raises:
        AgreementError: If the agreement does not permit a mechanism that was asked for by its name.
    """
    own = mechanism_of(agreement).name
    found, refused = {own: agreement}, {}
    for name in planned_names() if ALL in names else names:
        try:
            found.setdefault(name, with_mechanism(agreement, name))
        except AgreementError as exc:
            if name in names:
                raise
            refused[name] = list(exc.problems)
    return found, refused


def with_mechanism(agreement: Agreement, name: str) -> Agreement:
    """The agreement with another mechanism in the settings that `copublish init` writes; people, columns, epsilon stay.

    A delta stays where the other mechanism can use it, so that the same budget is spent.

    Raises:
        AgreementError: If the agreement does not permit it, with every rule that it would break.
    """
    wanted: AnyMechanism = mechanism_named(name)
    if wanted is mechanism_of(agreement):
        return agreement
    content = agreement.model_dump(by_alias=True)
    usual = tomllib.loads(wanted.settings.example).get("mechanism", {})
    content["mechanism"] = {**usual, "name": name, **_gaussian_noise(wanted, agreement)}
    if not wanted.settings.noise_follows_delta and "noise" not in content["mechanism"]:
        content["privacy"]["delta"] = None
    if not wanted.settings.spends_by_column:
        del content["budget"]
    return agreement_from_mapping(content, source=f"The agreement with the mechanism '{name}'")


def _gaussian_noise(wanted: AnyMechanism, agreement: Agreement) -> dict[str, Any]:
    """The key that asks for Gaussian noise, where a delta is agreed and the mechanism has such a key."""
    asks = "noise" in wanted.settings.model_fields and wanted.settings.how_to_get_gaussian_noise is not None
    return {"noise": "gaussian"} if asks and agreement.privacy.delta is not None else {}


NOTHING_FROM_MADE_UP_DATA = (
    "The data are made up, so nothing is recommended: which setting or mechanism is best depends on the data. Give a "
    "public file that resembles yours with --like."
)


@dataclass(frozen=True)
class SettingChoice:
    """A setting, and which others are as good.

    Attributes:
        trial: What to take.
        as_good: All that cannot be told apart from the best one, that one and the chosen one included: within one
            standard error of it, or two for what is agreed.
        tried: How many there were.
        is_agreed: Whether what to take is what is agreed.
    """

    trial: Trial
    as_good: Sequence[Trial]
    tried: int
    is_agreed: bool

    @property
    def can_tell(self) -> bool:
        """Whether one setting is better than all others: by one standard error, and by two than what is agreed."""
        return len(self.as_good) == 1

    @property
    def words(self) -> str:
        """How sure the choice is."""
        others = len(self.as_good) - 1
        if self.tried == 1:
            return "as agreed; no other setting was tried"
        if self.can_tell:
            agreed = ", and as agreed" if self.is_agreed else ""
            return f"the best of {self.tried} settings tried, by more than one standard error{agreed}"
        if self.is_agreed:
            return f"as agreed: of {self.tried} settings tried, no other one is better by two standard errors"
        as_good = f"{others} of the other {self.tried - 1} settings tried {'are' if others > 1 else 'is'}"
        return f"the best mean, but it cannot be told: {as_good} within one standard error of the best"


def choose_setting(trials: Sequence[Trial], agreed: Trial) -> SettingChoice:
    """What to take of one mechanism at one budget: the best, or what is agreed unless the best is clearly better.

    The best of many settings is ahead by chance: of twelve that are equal, more often than not by a standard error.
    """
    top = max(trials, key=lambda trial: trial.summary.area)

    def is_behind(one: Trial) -> bool:
        gain = top.summary.minus(one.summary)
        return gain.is_clear if one is agreed else gain.can_be_told

    as_good = [one for one in trials if one is top or not is_behind(one)]
    is_agreed = any(one is agreed for one in as_good)
    return SettingChoice(agreed if is_agreed else top, as_good, len(trials), is_agreed)


def best_refinement(trials: Sequence[Trial]) -> Trial:
    """The first trial, unless another one is better by more than chance."""
    first, top = trials[0], max(trials, key=lambda trial: trial.summary.area)
    return top if top.summary.minus(first.summary).is_clear else first  # the optimum is flat


@typed(frozen=True, kw_only=True)
class RankedTrial(TypedJson):
    """A trial in the order by area.

    Attributes:
        mechanism: What was tried.
        area: Its mean area.
        area_standard_error: Of that; None if a single run cannot tell.
        behind: How much smaller its area is than the largest one.
        behind_standard_error: Of that; None if a single run cannot tell.
        as_good: Whether it is the first, or cannot be told apart from it.
    """

    mechanism: str
    area: float
    area_standard_error: float | None
    behind: float
    behind_standard_error: float | None
    as_good: bool


def ranked(trials: Sequence[Trial]) -> tuple[RankedTrial, ...]:
    """Trials by area, each with how far it is behind the best one and whether that is more than one standard error."""
    ordered = sorted(trials, key=lambda trial: -trial.summary.area)
    found = []
    for trial in ordered:
        behind = ordered[0].summary.minus(trial.summary)
        found.append(
            RankedTrial(
                mechanism=trial.mechanism,
                area=trial.summary.area,
                area_standard_error=trial.summary.standard_error("area", trial.summary.classifier),
                behind=behind.area,
                behind_standard_error=behind.standard_error if trial is not ordered[0] else 0.0,
                as_good=trial is ordered[0] or not behind.can_be_told,
            )
        )
    return tuple(found)


def verdict(trials: Sequence[Trial], target: str) -> list[str]:
    """Sentences on what mechanisms are worth for predicting, beside each other and beside the trivial baseline."""
    mechanisms = sorted((one for one in trials if one.mechanism != BASELINE), key=lambda one: -one.summary.area)
    top, found = mechanisms[0], []
    gains = [(one, top.summary.minus(one.summary)) for one in mechanisms[1:]]
    if gains:
        close = " and ".join(one.mechanism for one, gain in gains if not gain.can_be_told)
        how_sure = f"; {close} cannot be told apart from it" if close else f", {_how_surely([g for _, g in gains])}"
        found.append(f"To predict '{target}', {top.mechanism} has the largest area{how_sure}.")
    for baseline in (one for one in trials if one.mechanism == BASELINE):
        gain = top.summary.minus(baseline.summary)
        by = f"{abs(gain.area):.3f}" + ("" if gain.standard_error is None else f" ± {gain.standard_error:.3f}")
        if not gain.can_be_told:
            found.append(f"It cannot be told whether {top.mechanism} predicts better than {BASELINE}: by {by}.")
        else:
            how = "better" if gain.area > 0 else "WORSE"
            found.append(f"{top.mechanism} predicts {how} than {BASELINE}, {_how_surely([gain])}: by {by}.")
    return found


def _how_surely(differences: Sequence[Difference]) -> str:
    return "clearly" if all(one.is_clear for one in differences) else "probably"


def predicted_column(agreement: Agreement, target: str | None = None) -> str:
    """What a plan predicts: the class; without one the column that is named, or the last one.

    Raises:
        EvaluationError: If another column than the class is named, or none of the agreement.
    """
    columns = tuple(agreement.columns)
    if target is None:
        return columns[-1]
    if agreement.class_ is not None and target != agreement.class_.name:
        raise EvaluationError(
            f"The agreement has the class '{agreement.class_.name}', which its plan predicts. Use that as --target, or "
            "leave it out."
        )
    if target not in columns:
        raise EvaluationError(f"There is no column '{target}' to predict. Columns: {', '.join(map(repr, columns))}.")
    return target


class TrialGround:
    """Training records as the parties would hold them, and test records; every trial runs on the same ones.

    Args:
        agreement: The agreement to plan for.
        train: Values of the training records.
        test: Values of the test records.
        generator: Spreads cells over parties, where the agreement does not say who holds them.
        with_numbers: Whether a mechanism is tried that needs numbers as such.
        classifiers: Which ones score a release.
        target: What is predicted; without it the class.
    """

    def __init__(
        self,
        agreement: Agreement,
        train: pd.DataFrame,
        test: pd.DataFrame,
        generator: np.random.Generator,
        *,
        with_numbers: bool = False,
        classifiers: Sequence[ClassifierName] = RANKED_CLASSIFIERS,
        target: str | None = None,
    ) -> None:
        self.target = target or predicted_column(agreement)
        self.agreement, self.train, self.test, self._classifiers = agreement, train, test, classifiers
        self._fragments: dict[str, Fragment] = as_fragments(agreement, train, generator, with_numbers=with_numbers)

    def raw(self) -> Summary:
        """What the training records give as they are."""
        published = ScoredData.of_records(self.train, self.agreement.columns, self.target)
        return Summary([raw_utility(published, self.test, classifiers=self._classifiers)], is_noisy=False)

    def largest_class(self) -> float:
        """The accuracy of always saying the most frequent class."""
        published = ScoredData.of_records(self.train, self.agreement.columns, self.target)
        return majority_accuracy(published.cells, published.as_features(self.test), self.target)

    def baseline(self, agreement: Agreement, runs: int) -> Summary:
        """What the trivial baseline gives with the budget of an agreement; the same each time."""
        tables = ClassTables.beside(agreement, self.target)
        drawn = [tables.draw(self.train, np.random.default_rng(run)) for run in range(runs)]
        published = [ScoredData.of_records(one, self.agreement.columns, self.target) for one in drawn]
        return Summary([utility_of(one, self.train, self.test, classifiers=self._classifiers) for one in published])

    def releases(self, agreement: Agreement, runs: int) -> list[Release]:
        """So many releases with fresh noise; the agreement has the same people and columns as the planned one."""
        shared = with_shared_membership(agreement)  # the same releases, without rows of padding to count
        return [simulate_fragments(shared, self._fragments) for _ in range(runs)]

    def summary(self, releases: Sequence[Release]) -> Summary:
        """Score some releases of the training records."""
        return Summary(
            [
                utility_of(
                    ScoredData.of_release(release, self.target),
                    self.train,
                    self.test,
                    release=release,
                    classifiers=self._classifiers,
                )
                for release in releases
            ]
        )


@typed(frozen=True, kw_only=True)
class TypicalNoise(TypedJson):
    """What a mechanism's noise does to a release, in words and as a number."""

    what: str
    value: float


@typed(frozen=True, kw_only=True)
class TrialScores(TypedJson):
    """A mechanism and a setting of it, with all numbers of its runs.

    Attributes:
        mechanism: What was tried; or the trivial baseline.
        setting: Its epsilon and the keys of the section [mechanism] that were tried.
        delta: The stated delta, if the noise is Gaussian.
        measured: What the mechanism itself measures of its runs, by its own keys.
        summary: Scores.
        noise: What its noise does, if it says so.
        secure_run: The predicted cost of a secure run; none of the trivial baseline.
    """

    mechanism: str
    setting: Mapping[str, Any]
    delta: str | None
    measured: Mapping[str, Any]
    summary: SummaryScores
    noise: TypicalNoise | None = None
    secure_run: PredictedCost | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values, the setting, what the mechanism measures and the scores side by side."""
        own = super().to_json()
        noise = {"noise": own["noise"]} if "noise" in own else {}
        first = {"mechanism": own["mechanism"], **own["setting"], "delta": own["delta"]}
        run = {} if self.secure_run is None else {"secure_run": self.secure_run.to_json()}
        return {**first, **own["measured"], **own["summary"], **noise, **run}


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A mechanism and a setting of it, and what some runs gave.

    Attributes:
        mechanism: What was tried; or the trivial baseline.
        setting: How.
        delta: The stated delta, if the noise is Gaussian.
        summary: All numbers of the runs.
        measured: What else the mechanism tells of these runs, as JSON values.
        noise: What its noise does, in words and as a number, if it says so.
        secure_run: The predicted cost of a secure run; none of the baseline.
    """

    mechanism: str
    setting: Setting
    delta: str | None
    summary: Summary
    measured: Mapping[str, Any]
    noise: tuple[str, float] | None
    secure_run: PredictedCost | None

    @property
    def epsilon(self) -> str:
        """The budget that was tried."""
        return self.setting.epsilon

    def scores(self) -> TrialScores:
        """Its numbers, without the releases."""
        noise = None if self.noise is None else TypicalNoise(what=self.noise[0], value=self.noise[1])
        return TrialScores(
            mechanism=self.mechanism,
            setting=self.setting.described(),
            delta=self.delta,
            measured=self.measured,
            summary=self.summary.scores(),
            noise=noise,
            secure_run=self.secure_run,
        )


def try_setting(ground: TrialGround, agreement: Agreement, setting: Setting, runs: int) -> Trial:
    """Release records `runs` times with fresh noise and score each release."""
    agreement = setting.apply(agreement)
    mechanism, tuning = mechanism_of(agreement), tuning_of(agreement)
    releases = ground.releases(agreement, runs)
    measured = {} if tuning is None else tuning.measured(agreement, releases)
    return Trial(
        mechanism=mechanism.name,
        setting=setting,
        delta=_delta(agreement),
        summary=ground.summary(releases),
        measured=measured,
        noise=mechanism.plan(agreement).typical_noise(),
        secure_run=run_cost(agreement, releases[-1], len(ground.train)),
    )


def try_baseline(ground: TrialGround, agreement: Agreement, epsilon: str, runs: int) -> Trial:
    """Draw the trivial baseline `runs` times, with the agreement's noise."""
    setting = Setting(epsilon)
    agreement = setting.apply(agreement)
    return Trial(
        mechanism=BASELINE,
        setting=setting,
        delta=_delta(agreement),
        summary=ground.baseline(agreement, runs),
        measured={},
        noise=None,
        secure_run=None,
    )


def _delta(agreement: Agreement) -> str | None:
    return str(agreement.privacy.delta) if agreement.uses_gaussian_noise else None
