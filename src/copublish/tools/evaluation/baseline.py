"""The trivial baseline: a noisy table of every column by the class, and columns drawn independently given the class.

What every release has to beat to be worth its trouble: nothing is chosen, and no dependence but that on the class is
kept. It gets the budget of the release that it stands beside, in the same noise. It is a simulation: whoever runs it
sees the records, and its noise comes from a generator with a seed, which nobody may publish anything from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from copublish.agreement.attributes import MAX_THRESHOLDS, USUAL_CELLS
from copublish.agreement.domain import CategoricalDomain, Domain
from copublish.agreement.model import Agreement
from copublish.agreement.round_grid import round_split_points
from copublish.kernel.accounting.disclosures import GaussianMeasure, Measure, Neighbors
from copublish.kernel.accounting.statements import UNBOUNDED, UNPROTECTED
from copublish.kernel.certificate.certificate import Certificate
from copublish.mechanisms.shared.post_processing import consistent_counts
from copublish.tools.evaluation.values import codes_of
from copublish.types import IntArray

BASELINE = "class tables alone"
"""How tables of results name it, among mechanisms."""

WHAT_IT_IS = (
    "noisy tables of every column by the class, with the same budget and noise, and columns drawn independently given "
    "the class. It is a simulation, with noise from a seed: its numbers are not to be published"
)


@dataclass(frozen=True, kw_only=True)
class ClassTables:
    """The baseline for a table and a budget.

    Attributes:
        domains: Public domain of every column; the last is the class, or what stands in for it.
        epsilon: The budget.
        delta: For Gaussian noise; nothing for Laplace noise.
        neighbors: What epsilon is stated for.
        total_is_public: Whether the number of records is public.

    Privacy:
        Protects: one record, by the relation `neighbors`.
        Sensitivity: a record is in one cell of each of k tables. Adding or removing it changes all counts together by k
            in the L1 norm and by the square root of k in the L2 norm; replacing it by 2k and by the square root of 2k.
        Guarantee: would be that of the stated epsilon and delta, were its noise drawn as that of a release.
        Reveals: as it is, from a seeded generator, it protects nobody; it is for comparison where records may be seen.
    """

    domains: Mapping[str, Domain]
    epsilon: Fraction
    delta: Fraction | None
    neighbors: Neighbors
    total_is_public: bool

    @classmethod
    def beside(cls, agreement: Agreement, label: str | None = None) -> ClassTables:
        """The baseline with what an agreement's mechanism may spend.

        Args:
            agreement: What is agreed.
            label: The column that stands in for the class; without it the last one does.
        """
        return cls(
            domains={name: with_usual_cells(domain) for name, domain in label_last(agreement.columns, label).items()},
            epsilon=agreement.mechanism_epsilon,
            delta=agreement.delta if agreement.uses_gaussian_noise else None,
            neighbors=agreement.privacy.neighbors,
            total_is_public=agreement.records.public,
        )

    @classmethod
    def beside_release(cls, certificate: Certificate, domains: Mapping[str, Domain]) -> ClassTables | None:
        """The baseline with what a release says that it spent; nothing beside one without a finite epsilon."""
        if certificate.epsilon.agreed in (UNPROTECTED, UNBOUNDED):
            return None
        return cls(
            domains={name: with_usual_cells(domain) for name, domain in domains.items()},
            epsilon=Fraction(certificate.epsilon.agreed),
            delta=None if certificate.samplers_delta else Fraction(certificate.delta_bound),
            neighbors=certificate.epsilon.calibrated_to,
            total_is_public=certificate.public_facts.number_of_records is not None,
        )

    @cached_property
    def tables(self) -> Measure | GaussianMeasure:
        """All tables as one measurement, as a release would be charged for it."""
        *others, label = self.domains.values()
        entries = sum(domain.size for domain in others) * label.size
        one, both = len(others), 2 * len(others)
        if self.delta is None:
            return Measure(
                label=BASELINE,
                budget=self.epsilon,
                calibrated_to=self.neighbors,
                l1_sensitivity={"add-remove": one, "replace": both},
                changed_entries={"add-remove": one, "replace": both},
                entries=entries,
            )
        return GaussianMeasure(
            label=BASELINE,
            budget=self.epsilon,
            agreed_delta=self.delta,
            calibrated_to=self.neighbors,
            # One cell of each table by one; replaced, two cells of each by one.
            squared_l2_sensitivity={"add-remove": one, "replace": both},
            entries=entries,
        )

    def draw(self, records: pd.DataFrame, generator: np.random.Generator) -> pd.DataFrame:
        """Synthetic records, as many as noise lets there be.

        Args:
            records: The real ones, values of the domains.
            generator: Of the noise and of the order of values.
        """
        codes = codes_of(self.domains, records)
        *others, label = self.domains
        n_classes = self.domains[label].size
        noisy = {}
        for name in others:
            cells = codes[name].to_numpy() * n_classes + codes[label].to_numpy()
            counts = np.bincount(cells, minlength=self.domains[name].size * n_classes)
            noisy[name] = (counts + self._noise(len(counts), generator)).reshape(-1, n_classes)
        totals = self._class_totals(noisy, len(records) if self.total_is_public else None)
        drawn: dict[str, Any] = {}
        for name in others:
            by_class = [consistent_counts(noisy[name][:, number], int(n)) for number, n in enumerate(totals)]
            cells = np.concatenate(
                [generator.permutation(np.repeat(np.arange(len(counts)), counts)) for counts in by_class]
            )
            drawn[name] = _values(self.domains[name], cells, generator)
        drawn[label] = _values(self.domains[label], np.repeat(np.arange(n_classes), totals), generator)
        return pd.DataFrame(drawn)

    def _noise(self, size: int, generator: np.random.Generator) -> IntArray:
        if isinstance(self.tables, GaussianMeasure):
            return np.asarray(np.rint(generator.normal(0, self.tables.scale_in_people, size)), dtype=np.int64)
        stop = -np.expm1(-1 / self.tables.scale_in_people)
        one, other = generator.geometric(stop, (2, size))  # their difference is discrete Laplace
        return np.asarray(one - other, dtype=np.int64)

    @staticmethod
    def _class_totals(noisy: Mapping[str, IntArray], public_total: int | None) -> IntArray:
        """Records of every class: the mean of what the tables say, those with fewer cells counting more."""
        weights = [1 / len(table) for table in noisy.values()]
        means = np.average([table.sum(axis=0) for table in noisy.values()], axis=0, weights=weights)
        total = max(0, round(float(means.sum()))) if public_total is None else public_total
        return consistent_counts(np.rint(means).astype(np.int64), total)


def with_usual_cells(domain: Domain) -> Domain:
    """The domain with few cells where its grid is too fine for a table: most counts would be noise."""
    if isinstance(domain, CategoricalDomain) or len(domain.thresholds) <= MAX_THRESHOLDS:
        return domain
    points = round_split_points(domain.lower, domain.upper, cells=USUAL_CELLS, decimals=domain.decimals)
    return replace(domain, thresholds=points)


def label_last(domains: Mapping[str, Domain], label: str | None) -> dict[str, Domain]:
    """The columns in their order, but for the label, which is moved to the end."""
    return {name: domains[name] for name in sorted(domains, key=lambda name: name == label)}


def _values(domain: Domain, codes: IntArray, generator: np.random.Generator) -> NDArray[Any]:
    """Values for codes: numbers anywhere in their cell, written with the agreed decimals."""
    if isinstance(domain, CategoricalDomain):
        return np.array(domain.values, dtype=object)[codes]
    unit = 10.0**domain.decimals_of_numbers
    edges = np.array([float(edge) for edge in (domain.lower, *domain.thresholds, domain.upper)])
    edges[-1] += 1 / unit  # the last cell includes the upper bound
    cells = codes.clip(max=domain.number_codes - 1)
    numbers = edges[cells] + generator.random(len(codes)) * np.diff(edges)[cells]
    return np.where(codes >= domain.number_codes, np.nan, np.floor(numbers * unit + 1e-9) / unit)
