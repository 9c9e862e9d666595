"""Which setting to take, which mechanism predicts best by area under the ROC curve, and when that cannot be told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from copublish.tools.evaluation.baseline import BASELINE
from copublish.tools.evaluation.utility import Difference
from copublish.tools.planning.trials import Trial

NOTHING_FROM_MADE_UP_DATA = (
    "The data are made up, so nothing is recommended: which setting or mechanism is best depends on the data. Give a "
    "public file that resembles yours with --like."
)


@dataclass(frozen=True)
class Choice:
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


def choose_setting(trials: Sequence[Trial], agreed: Trial) -> Choice:
    """What to take of one mechanism at one budget: the best, or what is agreed unless the best is clearly better.

    The best of many settings is ahead by chance: of twelve that are equal, more often than not by a standard error.
    """
    top = max(trials, key=lambda trial: trial.summary.area)

    def is_behind(one: Trial) -> bool:
        gain = top.summary.minus(one.summary)
        return gain.is_clear if one is agreed else gain.can_be_told

    as_good = [one for one in trials if one is top or not is_behind(one)]
    is_agreed = any(one is agreed for one in as_good)
    return Choice(agreed if is_agreed else top, as_good, len(trials), is_agreed)


def best_refinement(trials: Sequence[Trial]) -> Trial:
    """The first trial, unless another one is better by more than chance."""
    first, top = trials[0], max(trials, key=lambda trial: trial.summary.area)
    return top if top.summary.minus(first.summary).is_clear else first  # the optimum is flat


def ranked(trials: Sequence[Trial]) -> list[dict[str, Any]]:
    """Trials by area, each with how far it is behind the best one and whether that is more than one standard error."""
    ordered = sorted(trials, key=lambda trial: -trial.summary.area)
    found = []
    for trial in ordered:
        behind = ordered[0].summary.minus(trial.summary)
        own = trial.described()
        found.append(
            {
                "mechanism": trial.mechanism,
                "area": own["area"],
                "area_standard_error": own["area_standard_error"],
                "behind": behind.area,
                "behind_standard_error": behind.standard_error if trial is not ordered[0] else 0.0,
                "as_good": trial is ordered[0] or not behind.can_be_told,
            }
        )
    return found


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
