"""Releases tried out on data that are not private, and how good they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from copublish.agreement.columns import COUNT, NOISY_COUNT
from copublish.agreement.model import Agreement
from copublish.evaluation.classification import ClassifierName, accuracy, majority_accuracy
from copublish.evaluation.marginals import marginal_errors
from copublish.evaluation.published import Published, as_features
from copublish.evaluation.values import codes_of, published_codes, published_labels
from copublish.fragments.fragment import Fragment
from copublish.local.simulation import simulate_fragments
from copublish.mechanisms.registry import mechanism_of
from copublish.mechanisms.shared.tuning import Setting
from copublish.planning.tables import as_fragments
from copublish.release.folder import Release

CLASSIFIER: ClassifierName = "decision-tree"

WAYS = 2
"""Columns of the marginals that are compared: what single columns and pairs of them say is what most analyses need."""


@dataclass(frozen=True, kw_only=True)
class Scores:
    """How good some releases are, by the scores of `copublish evaluate`.

    Attributes:
        accuracy: Mean over the releases.
        standard_error: Of that mean; not a number for one release.
        marginal_error: Mean total variation between the marginals of two columns and those of the training records,
            in the agreed values, over all pairs: 0 is equal, 1 is nothing in common. Of one of the releases: it hardly
            changes from one to the next.
    """

    accuracy: float
    standard_error: float
    marginal_error: float

    def described(self) -> dict[str, float | None]:
        """The scores as JSON values."""
        return {**asdict(self), "standard_error": None if np.isnan(self.standard_error) else self.standard_error}


class TrialGround:
    """Training records as the parties would hold them, and test records; every trial runs on the same ones.

    Args:
        agreement: The agreement to plan for.
        train: Values of the training records.
        test: Values of the test records.
        generator: Spreads cells over parties, where the agreement does not say who holds them.
        with_numbers: Whether a mechanism is tried that needs numbers as such.
    """

    def __init__(
        self,
        agreement: Agreement,
        train: pd.DataFrame,
        test: pd.DataFrame,
        generator: np.random.Generator,
        *,
        with_numbers: bool = False,
    ) -> None:
        self.agreement, self.train, self.test = agreement, train, test
        self._fragments: dict[str, Fragment] = as_fragments(agreement, train, generator, with_numbers=with_numbers)
        self._train_codes = codes_of(agreement.columns, train)
        self._test_codes = codes_of(agreement.columns, test)
        self._test_features = self._as_features(test)

    def baselines(self) -> tuple[float, float]:
        """BA, the accuracy after training on the raw records, and LA, that of the largest class."""
        target = self.agreement.class_.name
        return (
            accuracy(self._as_features(self.train), self._test_features, target, CLASSIFIER),
            majority_accuracy(self.train, self.test, target),
        )

    def releases(self, agreement: Agreement, runs: int) -> list[Release]:
        """So many releases with fresh noise; the agreement has the same people and columns as the planned one."""
        return [simulate_fragments(agreement, self._fragments) for _ in range(runs)]

    def scores(self, releases: Sequence[Release]) -> Scores:
        """Score some releases of the training records."""
        found = [self._accuracy(release) for release in releases]
        return Scores(
            accuracy=float(np.mean(found)),
            standard_error=float(np.std(found, ddof=1) / np.sqrt(len(found))) if len(found) > 1 else float("nan"),
            marginal_error=self._marginal_error(releases[0]),
        )

    def _accuracy(self, release: Release) -> float:
        target = self.agreement.class_.name
        if (cut := release.generalization) is not None:
            test = published_labels(cut, published_codes(cut, self._test_codes))
            counts = release.to_pandas("counts").drop(columns=NOISY_COUNT)
            if not counts[COUNT].sum():  # noise left no record: all that is left to say is a class
                return majority_accuracy(counts.assign(**{COUNT: 1}), test, target, COUNT)
            return accuracy(counts, test, target, CLASSIFIER, COUNT)
        if not release.records.num_rows:
            return float(np.mean(self.test[target] == self.agreement.class_.values[0]))
        return accuracy(self._as_features(release.to_pandas()), self._test_features, target, CLASSIFIER)

    def _as_features(self, frame: pd.DataFrame) -> pd.DataFrame:
        return as_features(self.agreement.columns, self.agreement.class_.name, frame)

    def _marginal_error(self, release: Release) -> float:
        if not release.records.num_rows:
            return 1.0
        columns = self.agreement.columns
        published = Published.of_release(release, self.agreement.class_.name)
        sizes = {name: domain.size for name, domain in columns.items()}
        errors = marginal_errors(codes_of(columns, published.records), self._train_codes, sizes, WAYS)
        return 0.0 if errors is None else errors.mean  # an agreement has an attribute and a class, so there is a pair


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A mechanism and a setting of it, and what some runs gave.

    Attributes:
        mechanism: What was tried.
        setting: How.
        scores: Means over the runs.
        measured: What else the mechanism tells of these runs, as JSON values.
        noise: What its noise does, in words and as a number, if it says so.
        release: The last one, for the cost of a secure run.
    """

    mechanism: str
    setting: Setting
    scores: Scores
    measured: Mapping[str, Any]
    noise: tuple[str, float] | None
    release: Release

    @property
    def epsilon(self) -> str:
        """The budget that was tried."""
        return self.setting.epsilon

    def described(self) -> dict[str, Any]:
        """The trial as JSON values."""
        own = {"mechanism": self.mechanism, **self.setting.described(), **self.measured, **self.scores.described()}
        return own if self.noise is None else {**own, "noise": {"what": self.noise[0], "value": self.noise[1]}}


def try_setting(ground: TrialGround, agreement: Agreement, setting: Setting, runs: int) -> Trial:
    """Release records `runs` times with fresh noise and score each release."""
    agreement = setting.apply(agreement)
    mechanism = mechanism_of(agreement)
    releases = ground.releases(agreement, runs)
    measured = {} if mechanism.tuning is None else mechanism.tuning.measured(agreement, releases)
    noise = mechanism.plan(agreement).typical_noise()
    return Trial(
        mechanism=mechanism.name,
        setting=setting,
        scores=ground.scores(releases),
        measured=measured,
        noise=noise,
        release=releases[-1],
    )
