"""The trivial baseline: a noisy table of every attribute by class, and records drawn from them.

Every attribute gets an equal share of epsilon. Given the class, attributes are drawn as if they were independent. No
selection, no leaves: what a release has to beat to be worth its trouble. The idea is differentially private; this
code draws its noise from a seeded generator and is for comparison alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from copublish_reproduction.datasets import CLASSES, Dataset, agreement_for
from copublish_reproduction.plain_table import Floats, Ints, category_codes, counts_by_class


@dataclass(frozen=True)
class CodedTable:
    """A data set in the codes of its public domains: leaves of the taxonomies and cells of the grids.

    Attributes:
        train: Attribute codes, shape (n, n_attributes).
        sizes: Number of codes of every attribute.
        classes: Class codes of the training records.
        test: The test records in the same codes, the class as text.
    """

    dataset: Dataset
    train: Ints
    sizes: tuple[int, ...]
    classes: Ints
    test: pd.DataFrame


def coded_table(dataset: Dataset) -> CodedTable:
    """Encode a data set by the domains that copublish would agree on."""
    domains = agreement_for(dataset.name, dataset.folder, "1").domains
    columns: list[Ints] = []
    test: dict[str, object] = {}
    for name, domain in domains.items():
        both = []
        for frame in (dataset.train, dataset.test):
            if name in dataset.numerical:
                thresholds = [float(threshold) for threshold in getattr(domain, "thresholds")]  # noqa: B009
                both.append(np.searchsorted(thresholds, frame[name].to_numpy(), side="right").astype(np.int64))
            else:
                both.append(category_codes(frame[name], getattr(domain, "values")))  # noqa: B009
        columns.append(both[0])
        test[name] = both[1]
    test[dataset.class_name] = dataset.test[dataset.class_name].to_numpy()
    return CodedTable(
        dataset,
        np.column_stack(columns),
        tuple(domain.size for domain in domains.values()),
        category_codes(dataset.train[dataset.class_name], CLASSES[dataset.name]),
        pd.DataFrame(test),
    )


@dataclass(frozen=True)
class NoisyTables:
    """The baseline.

    Attributes:
        epsilon: The budget, for adding or removing one record.
    """

    epsilon: float

    def run(self, table: CodedTable, generator: np.random.Generator) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Synthetic training records, as many as the noisy tables add up to, and the test records."""
        class_values = CLASSES[table.dataset.name]
        scale = len(table.sizes) / self.epsilon
        tables = [
            self._noisy(
                counts_by_class(table.train[:, place], size, table.classes, len(class_values)), scale, generator
            )
            for place, size in enumerate(table.sizes)
        ]
        class_totals = np.mean([noisy.sum(axis=0) for noisy in tables], axis=0)
        numbers = np.rint(class_totals).astype(np.int64)
        records: dict[str, object] = {}
        for name, noisy in zip(table.dataset.attributes, tables, strict=True):
            shares = noisy / noisy.sum(axis=0)
            records[name] = np.concatenate(
                [generator.choice(len(noisy), size=n, p=shares[:, label]) for label, n in enumerate(numbers)]
            )
        records[table.dataset.class_name] = np.repeat(np.array(class_values, dtype=object), numbers)
        return pd.DataFrame(records), table.test

    @staticmethod
    def _noisy(counts: Ints, scale: float, generator: np.random.Generator) -> Floats:
        """Counts with Laplace noise; clamped at zero, each class scaled back to its noisy total."""
        noisy = counts + generator.laplace(0, scale, counts.shape)
        clamped = np.maximum(noisy, 0) + 1e-9  # a class that no value is left for is drawn evenly
        totals = np.maximum(noisy.sum(axis=0), 0)
        result: Floats = clamped * (totals / clamped.sum(axis=0))
        return np.maximum(result, 1e-12)
