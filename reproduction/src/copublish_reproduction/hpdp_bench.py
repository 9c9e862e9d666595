"""HPDP-DP's experiments: support vector machines trained on what is published and tested on raw records."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from sklearn.svm import LinearSVC

from copublish_reproduction.hpdp import Hpdp, Model, split_at_random
from copublish_reproduction.hpdp_sets import CONTRIBUTION, Encoding, Records, Target, load_records
from copublish_reproduction.plain_table import Floats
from copublish_reproduction.sound_records import OwnMechanism, SoundRecords
from copublish_reproduction.subn import Subn

TEST_SHARE = 0.2


@dataclass(frozen=True)
class HpdpBench:
    """One table, divided anew in every run: 80 % of the records for training, 20 % for testing.

    Attributes:
        train: What the owners hold, shape (n, p); the class last.
        test: What a classifier is tested on.
        contribution: The paper's c for this table.
        run: Number of the run; each has its own randomness.
        sound: The training records as copublish's own releases have them.
        fitted: Components that were asked for before.
    """

    train: Floats
    test: Floats
    contribution: float
    run: int
    sound: SoundRecords | None = None
    fitted: dict[tuple[Hpdp, int], Model] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def load(cls, target: Target, folder: Path, run: int, encoding: Encoding = "bits") -> HpdpBench:
        """Read and divide the table of a target.

        Raises:
            SourceError: If a file is missing.
        """
        records, sound = load_records(target, folder, encoding), SoundRecords.load(target, folder)
        return cls.of(records, CONTRIBUTION[target.split(", ")[0]], run, sound)

    @classmethod
    def of(cls, records: Records, contribution: float, run: int, sound: SoundRecords | None = None) -> HpdpBench:
        """Divide a table; `sound` has the same records in the same order."""
        order = np.random.default_rng(run).permutation(len(records.values))
        n_test = round(TEST_SHARE * len(order))
        train, test = order[n_test:], order[:n_test]
        return cls(records.values[train], records.values[test], contribution, run, sound and sound.only(train))

    def raw(self) -> float:
        """The accuracy of a classifier trained on the raw records, the paper's 'No Privacy'."""
        return self.accuracy_of(self.train)

    def majority(self) -> float:
        """The accuracy of always saying the most frequent class."""
        says = float(self.train[:, -1].mean() > 0.5)
        return float(np.mean(self.test[:, -1] == says))

    def published(self, mechanism: Hpdp, n_owners: int) -> float:
        """The accuracy of a classifier trained on what HPDP-DP publishes."""
        generator = self._generator("published", mechanism, n_owners)
        owners = split_at_random(self.train, n_owners, generator)
        return self.accuracy_of(mechanism.publish(owners, generator).values)

    def compared(self, mechanism: Subn, n_owners: int) -> float:
        """The accuracy of a classifier trained on what DP-SUBN3 publishes."""
        generator = self._generator("compared", mechanism, n_owners)
        owners = split_at_random(self.train, n_owners, generator)
        return self.accuracy_of(mechanism.publish(owners, len(self.train), generator))

    def own(self, epsilon: str, delta: str | None, n_owners: int, mechanism: OwnMechanism = "hpdp") -> float:
        """The accuracy of a classifier trained on a release of one of copublish's own mechanisms."""
        if self.sound is None:
            raise ValueError("the table came without what copublish releases of it")
        generator = self._generator("own", epsilon, delta, n_owners)
        return self.accuracy_of(self.sound.publish(epsilon, delta, n_owners, generator, mechanism))

    def fit(self, mechanism: Hpdp, n_owners: int) -> Model:
        """The principal components that the curator of HPDP-DP finds."""
        if (mechanism, n_owners) not in self.fitted:
            generator = self._generator("fit", mechanism, n_owners)
            owners = split_at_random(self.train, n_owners, generator)
            self.fitted[mechanism, n_owners] = mechanism.fit(owners, generator)
        return self.fitted[mechanism, n_owners]

    def accuracy_of(self, values: Floats) -> float:
        """Train on records and test on the raw test records."""
        classes = np.unique(values[:, -1])
        if len(classes) < 2:  # noise can leave one class, or no record: then one class is as good a guess as another
            return float(np.mean(self.test[:, -1] == (classes[0] if len(classes) else 0)))
        classifier = LinearSVC(dual=False)  # deterministic, and fast for many records and few columns
        classifier.fit(values[:, :-1], values[:, -1])
        return float(classifier.score(self.test[:, :-1], self.test[:, -1]))

    def _generator(self, *setting: object) -> np.random.Generator:
        """Randomness that depends on run and setting alone, not on what was measured before."""
        return np.random.default_rng([self.run, zlib.crc32(repr(setting).encode())])
