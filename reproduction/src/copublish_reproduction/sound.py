"""What copublish itself publishes on the same data: simulated releases on the ideal engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from copublish.agreement.model import Agreement
from copublish.kernel.records.fragment import Fragment
from copublish.mechanisms.base import cells_of_table, counted_table, counts_of
from copublish.party.local.simulation import read_fragments, simulate_fragments
from copublish.release.folder import Release, generalization_of
from copublish_reproduction.datasets import Dataset, Partition, agreement_for, scatter_cells, split_columns
from copublish_reproduction.top_down import WEIGHT
from copublish_reproduction.trivial import CodedTable

SIZE = {"specializations": 14}
"""More than the size rule of the mechanism allows up to epsilon 1, so that the rule decides."""


@dataclass(frozen=True)
class SoundReleases:
    """Releases of one data set with fresh coins each time; its fragments are read once.

    Attributes:
        table: The data set in the codes of its public domains.
        partition: How the table is spread over the two parties.
        score: By what splits are chosen.
    """

    table: CodedTable
    partition: Partition = "vertical"
    score: str = "auto"
    _fragments: dict[str, Mapping[str, Fragment]] = field(default_factory=dict, repr=False)

    def run(self, epsilon: str) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Release once; return generalized training cells with weights, and the generalized test records."""
        release = self.release(epsilon)
        cells = cells_of_table(release.published, counted_table(release.published)).to_pandas()
        counts = cells.assign(**{WEIGHT: counts_of(release.published)})
        test = self.table.test.copy()
        cut = generalization_of(release, "it is no reference here")
        for name, values in cut.values.items():
            if len(values) == 1:
                counts, test = counts.drop(columns=name), test.drop(columns=name)
                continue
            labels = [value.label for value in values]
            counts[name] = pd.Categorical(counts[name].astype(str), categories=labels).codes
            test[name] = cut.part_of_code(name)[test[name].to_numpy()]
        return counts, test

    def release(self, epsilon: str) -> Release:
        """Publish once on the ideal engine, with coins from the operating system."""
        return simulate_fragments(self.agreement(epsilon), self.fragments())

    def fragments(self) -> Mapping[str, Fragment]:
        """Each party's encoded data, read when they are first needed."""
        if "read" not in self._fragments:
            self._fragments["read"] = read_fragments(self.agreement("1"), self._data())
        return self._fragments["read"]

    def agreement(self, epsilon: str) -> Agreement:
        """The agreement of a release with this budget."""
        dataset = self.table.dataset
        return agreement_for(
            dataset.name, dataset.folder, epsilon, partition=self.partition, mechanism={**SIZE, "score": self.score}
        )

    def _data(self) -> dict[str, Any]:
        dataset: Dataset = self.table.dataset
        split = split_columns if self.partition == "vertical" else scatter_cells
        return dict(split(dataset.name, dataset.train))
