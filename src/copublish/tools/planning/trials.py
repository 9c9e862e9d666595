"""Releases tried out on data that are not private, and how good they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from copublish.agreement.model import Agreement
from copublish.kernel.records.fragment import Fragment
from copublish.mechanisms.registry import mechanism_of
from copublish.mechanisms.shared.tuning import Setting
from copublish.party.local.simulation import simulate_fragments
from copublish.release.folder import Release
from copublish.tools.evaluation.baseline import BASELINE, ClassTables
from copublish.tools.evaluation.classification import ClassifierName, majority_accuracy
from copublish.tools.evaluation.prediction import RANKED_CLASSIFIERS
from copublish.tools.evaluation.published import Published
from copublish.tools.evaluation.utility import Summary, raw_utility, utility_of
from copublish.tools.planning.tables import as_fragments


class TrialGround:
    """Training records as the parties would hold them, and test records; every trial runs on the same ones.

    Args:
        agreement: The agreement to plan for.
        train: Values of the training records.
        test: Values of the test records.
        generator: Spreads cells over parties, where the agreement does not say who holds them.
        with_numbers: Whether a mechanism is tried that needs numbers as such.
        classifiers: Which ones score a release.
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
    ) -> None:
        self.agreement, self.train, self.test, self._classifiers = agreement, train, test, classifiers
        self._fragments: dict[str, Fragment] = as_fragments(agreement, train, generator, with_numbers=with_numbers)

    @property
    def _target(self) -> str:
        return self.agreement.class_.name

    def raw(self) -> Summary:
        """What the training records give as they are."""
        published = Published.of_records(self.train, self.agreement.columns, self._target)
        return Summary([raw_utility(published, self.test, classifiers=self._classifiers)], is_noisy=False)

    def largest_class(self) -> float:
        """The accuracy of always saying the most frequent class."""
        return majority_accuracy(self.train, self.test, self._target)

    def baseline(self, agreement: Agreement, runs: int) -> Summary:
        """What the trivial baseline gives with the budget of an agreement; the same each time."""
        tables = ClassTables.beside(agreement)
        drawn = [tables.draw(self.train, np.random.default_rng(run)) for run in range(runs)]
        published = [Published.of_records(one, self.agreement.columns, self._target) for one in drawn]
        return Summary([utility_of(one, self.train, self.test, classifiers=self._classifiers) for one in published])

    def releases(self, agreement: Agreement, runs: int) -> list[Release]:
        """So many releases with fresh noise; the agreement has the same people and columns as the planned one."""
        return [simulate_fragments(agreement, self._fragments) for _ in range(runs)]

    def summary(self, releases: Sequence[Release]) -> Summary:
        """Score some releases of the training records."""
        return Summary(
            [
                utility_of(
                    Published.of_release(release, self._target),
                    self.train,
                    self.test,
                    release=release,
                    classifiers=self._classifiers,
                )
                for release in releases
            ]
        )


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
        release: The last one, for the cost of a secure run; none of the baseline.
    """

    mechanism: str
    setting: Setting
    delta: str | None
    summary: Summary
    measured: Mapping[str, Any]
    noise: tuple[str, float] | None
    release: Release | None

    @property
    def epsilon(self) -> str:
        """The budget that was tried."""
        return self.setting.epsilon

    def described(self) -> dict[str, Any]:
        """The trial as JSON values."""
        own = {"mechanism": self.mechanism, **self.setting.described(), "delta": self.delta}
        own |= {**self.measured, **self.summary.described()}
        return own if self.noise is None else {**own, "noise": {"what": self.noise[0], "value": self.noise[1]}}


def try_setting(ground: TrialGround, agreement: Agreement, setting: Setting, runs: int) -> Trial:
    """Release records `runs` times with fresh noise and score each release."""
    agreement = setting.apply(agreement)
    mechanism = mechanism_of(agreement)
    releases = ground.releases(agreement, runs)
    measured = {} if mechanism.tuning is None else mechanism.tuning.measured(agreement, releases)
    return Trial(
        mechanism=mechanism.name,
        setting=setting,
        delta=_delta(agreement),
        summary=ground.summary(releases),
        measured=measured,
        noise=mechanism.plan(agreement).typical_noise(),
        release=releases[-1],
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
        release=None,
    )


def _delta(agreement: Agreement) -> str | None:
    return str(agreement.privacy.delta) if agreement.uses_gaussian_noise else None
