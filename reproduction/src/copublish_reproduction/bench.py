"""One division of a data set into training and test records, and the accuracy of every algorithm on it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from copublish.party.local.simulation import simulate
from copublish.tools.evaluation.classification import accuracy, majority_accuracy
from copublish_reproduction.arbdistdp import ArbDistDP
from copublish_reproduction.datasets import (
    CLASSES,
    Dataset,
    DatasetName,
    Partition,
    agreement_for,
    load_dataset,
    scatter_cells,
)
from copublish_reproduction.diffp_c45 import DiffPC45
from copublish_reproduction.distdiffgen import DistDiffGen
from copublish_reproduction.k_anonymity import TopDownKAnonymity
from copublish_reproduction.plain_table import PlainTable, plain_table
from copublish_reproduction.sound import SoundReleases
from copublish_reproduction.top_down import WEIGHT
from copublish_reproduction.trivial import CodedTable, NoisyTables, coded_table

Algorithm = Literal["arbdistdp", "diffgen", "copublish"]


@dataclass
class Bench:
    """A data set with everything that the algorithms share.

    Attributes:
        dataset: Training and test records.
        generator: Noise of the algorithms that are for comparison alone. copublish's own comes from the operating
            system, as always.
    """

    dataset: Dataset
    generator: np.random.Generator
    _sound: dict[tuple[Partition, str], SoundReleases] = field(default_factory=dict)
    _enlarged: list[Bench] = field(default_factory=list)

    @staticmethod
    def load(name: DatasetName, folder: Path, run: int) -> Bench:
        """Prepare one run: Nursery is divided anew in every run, Adult always as its files are."""
        return Bench(load_dataset(name, folder, seed=run), np.random.default_rng([run, len(name)]))

    @cached_property
    def plain(self) -> PlainTable:
        """The table as the published algorithms see it."""
        return plain_table(self.dataset)

    @cached_property
    def coded(self) -> CodedTable:
        """The table in the codes of its public domains."""
        return coded_table(self.dataset)

    def raw(self) -> float:
        """BA: a tree on the raw training records."""
        return self._accuracy(self.dataset.train, self.dataset.test, None)

    def majority(self) -> float:
        """LA: always the most frequent class."""
        return majority_accuracy(self.dataset.train, self.dataset.test, self.dataset.class_name)

    def arbdistdp(self, epsilon: str, floor_digits: int, *, class_in_leaf: bool = False) -> float:
        """Accuracy of a tree on the output of ArbDistDP."""
        algorithm = ArbDistDP(float(epsilon), floor_digits=floor_digits, class_in_leaf=class_in_leaf)
        return self._accuracy(*algorithm.run(self.plain, self.generator))

    def distdiffgen(self, epsilon: str, floor_digits: int | None) -> float:
        """Accuracy of a tree on the output of DistDiffGen, or without digits of DiffGen."""
        return self._accuracy(*DistDiffGen(float(epsilon), floor_digits=floor_digits).run(self.plain, self.generator))

    def diffp_c45(self, epsilon: str) -> float:
        """Accuracy of DiffP-C4.5, which is a classifier itself."""
        return DiffPC45(float(epsilon)).accuracy(self.plain, self.generator)

    def k_anonymity(self, algorithm: TopDownKAnonymity) -> float:
        """Accuracy of a tree on k-anonymous data."""
        return self._accuracy(*algorithm.run(self.plain))

    def trivial(self, epsilon: str) -> float:
        """Accuracy of a tree on records drawn from noisy attribute-by-class tables."""
        return self._accuracy(*NoisyTables(float(epsilon)).run(self.coded, self.generator), None)

    def sound(self, epsilon: str, partition: Partition, score: str) -> float:
        """Accuracy of a tree on a release of copublish."""
        key = (partition, score)
        if key not in self._sound:
            self._sound[key] = SoundReleases(self.coded, partition, score)
        return self._accuracy(*self._sound[key].run(epsilon))

    def enlarged(self, n: int) -> Bench:
        """The bench with n training records, drawn from its own with replacement, as in ArbDistDP's Fig. 9."""
        if len(self._enlarged) != 1 or len(self._enlarged[0].dataset.train) != n:
            rows = self.generator.integers(0, len(self.dataset.train), n)
            train = self.dataset.train.iloc[rows].reset_index(drop=True)
            dataset = Dataset(self.dataset.name, self.dataset.folder, train, self.dataset.test)
            self._enlarged[:] = [Bench(dataset, self.generator)]  # one at a time: they are large
        return self._enlarged[0]

    def seconds(self, algorithm: Algorithm) -> float:
        """The processor time of one run from data frames to published counts, at epsilon 1.

        Processor time, not the clock: it does not depend on what else the machine does.
        """
        scattered = scatter_cells(self.dataset.name, self.dataset.train) if algorithm == "copublish" else {}
        start = time.process_time()
        if algorithm == "copublish":
            simulate(agreement_for(self.dataset.name, self.dataset.folder, "1", partition="arbitrary"), scattered)
        elif algorithm == "arbdistdp":
            ArbDistDP(1.0, floor_digits=2).run(plain_table(self.dataset), self.generator)
        else:
            DistDiffGen(1.0).run(plain_table(self.dataset), self.generator)
        return time.process_time() - start

    def _accuracy(self, train: pd.DataFrame, test: pd.DataFrame, weights: str | None = WEIGHT) -> float:
        label = self.dataset.class_name
        is_empty = train.empty if weights is None else not (train[weights] > 0).any()
        if is_empty:  # noise can leave no record at all; then one class is as good a guess as another
            return float(np.mean(test[label] == CLASSES[self.dataset.name][0]))
        return accuracy(train, test, label, weights=weights)
