"""Releases tried out on data that are not private: how accurate each setting would be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from copublish.agreement.model import Agreement
from copublish.engine.ideal import Room
from copublish.evaluation.classification import ClassifierName, accuracy, majority_accuracy
from copublish.evaluation.values import codes_of, published_codes, published_labels
from copublish.fragments.fragment import Fragment
from copublish.mechanisms.specialization import Plan
from copublish.planning.tables import as_fragments
from copublish.privacy.disclosures import Measure
from copublish.privacy.geometric import laplace_quantile
from copublish.processes import throwaway_ledger
from copublish.publication import COUNT, NOISY_COUNT, GeneralizedRelease, as_generalized
from copublish.simulation import run_room

CLASSIFIER: ClassifierName = "decision-tree"


@dataclass(frozen=True)
class Setting:
    """What may be chosen about a release.

    Attributes:
        epsilon: Budget, as text of an exact decimal.
        specializations: Number h of specializations asked for.
        score: How candidates are scored.
        selection_share: Share of the budget for selections.
    """

    epsilon: str
    specializations: int
    score: str
    selection_share: str

    def apply(self, agreement: Agreement) -> Agreement:
        """Return the agreement with this setting in place of its own."""
        content = agreement.model_dump(by_alias=True)
        content["privacy"]["epsilon"] = Decimal(self.epsilon)
        content["mechanism"] |= {
            "specializations": self.specializations,
            "score": self.score,
            "selection_share": Decimal(self.selection_share),
        }
        return Agreement.model_validate(content)


@dataclass(frozen=True)
class Trial:
    """A setting, and what some runs of it gave.

    Attributes:
        rounds: Specializations that the size rule allows of those asked for.
        accuracy: Mean over the runs.
        standard_error: Of that mean.
        cells: Mean number of published counts.
        count_within: How far 95 of 100 counts are off at most, in people.
        selection_scale: Scale of the noise of a selection, in people; 0 without selections.
        cut: Of the last run, for the cost of a secure run.
    """

    setting: Setting
    rounds: int
    accuracy: float
    standard_error: float
    cells: float
    count_within: int
    selection_scale: float
    cut: Mapping[str, Any]


class TrialGround:
    """Training records as the parties would hold them, and test records; every trial runs on the same ones.

    Args:
        agreement: The agreement to plan for.
        train: Values of the training records.
        test: Values of the test records.
        generator: Spreads cells over parties, where the agreement does not say who holds them.
    """

    def __init__(
        self, agreement: Agreement, train: pd.DataFrame, test: pd.DataFrame, generator: np.random.Generator
    ) -> None:
        self.agreement, self.train, self.test = agreement, train, test
        self._fragments: dict[str, Fragment] = as_fragments(agreement, train, generator)
        self._test_codes = codes_of(agreement.columns, test)

    def baselines(self) -> tuple[float, float]:
        """Return BA, the accuracy after training on the raw records, and LA, that of the largest class."""
        target = self.agreement.class_.name
        return (
            accuracy(self.train, self.test, target, CLASSIFIER),
            majority_accuracy(self.train, self.test, target),
        )

    def run(self, setting: Setting, runs: int) -> Trial:
        """GeneralizedRelease `runs` times with fresh noise and score each release."""
        agreement = setting.apply(self.agreement)
        plan = Plan.of(agreement)
        releases = [self._release(agreement) for _ in range(runs)]
        scores = [self._score(release) for release in releases]
        counts = plan.disclosures()[-1]
        rate = counts.noise.rate if isinstance(counts, Measure) else Fraction(1)
        return Trial(
            setting,
            plan.rounds,
            float(np.mean(scores)),
            float(np.std(scores, ddof=1) / np.sqrt(runs)) if runs > 1 else float("nan"),
            float(np.mean([release.counts.num_rows for release in releases])),
            laplace_quantile(rate, 0.95),
            plan.selection(0, 1).noise.scale if plan.rounds else 0.0,
            releases[-1].cut,
        )

    def _release(self, agreement: Agreement) -> GeneralizedRelease:
        ledgers = {party: throwaway_ledger(agreement) for party in agreement.parties}
        try:
            release = run_room(agreement, self._fragments, Room(agreement.party_names), ledgers)
        finally:
            for ledger in ledgers.values():
                ledger.close()
        return as_generalized(release, "nothing can be planned for it")

    def _score(self, release: GeneralizedRelease) -> float:
        test = published_labels(release.cut, published_codes(release.cut, self._test_codes))
        counts = release.to_pandas("counts").drop(columns=NOISY_COUNT)
        if not counts[COUNT].sum():  # noise left no record: all that is left to say is a class
            return majority_accuracy(counts.assign(**{COUNT: 1}), test, self.agreement.class_.name, COUNT)
        return accuracy(counts, test, self.agreement.class_.name, CLASSIFIER, COUNT)
