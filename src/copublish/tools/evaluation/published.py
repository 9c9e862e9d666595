"""Published data as they are scored, whatever mechanism published them, and whether error bars hold the truth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from pydantic.dataclasses import dataclass as typed

from copublish.agreement.columns import COUNT
from copublish.agreement.domain import Domain, NumericalDomain
from copublish.errors import EvaluationError
from copublish.mechanisms.base import cells_of_table, counted_table, counts_of
from copublish.release.generalization import Generalization
from copublish.release.publication import Publication
from copublish.tools.evaluation import values
from copublish.types import TypedJson


@typed(frozen=True)
class Coverage(TypedJson):
    """How many published error bars hold the truth.

    Attributes:
        counts: How many counts have one.
        covered: The share of them whose true count lies within; 0.95 is what they say.
    """

    counts: int
    covered: float


def coverage(release: Publication, published: ScoredData, raw: pd.DataFrame) -> Coverage | None:
    """Compare every published count that has an error bar with the count of the records.

    Args:
        release: The release.
        published: What it published, in the terms of scores.
        raw: The very records that were released, values of the domains. Others have other counts.

    Returns:
        The coverage, or nothing if no error bars are published.
    """
    labels = published.labels(raw)
    is_within: list[bool] = []
    for measured in release.published.tables:
        cells = cells_of_table(release.published, measured).to_pandas().astype(str)
        names = list(cells.columns)
        true_counts = labels[names].value_counts(sort=False)
        index = pd.MultiIndex.from_frame(cells)
        true = true_counts.reindex(index, fill_value=0).to_numpy()
        errors = np.abs(true - measured.values / measured.times)
        is_within += (errors <= measured.within_95_percent).tolist()
    return Coverage(len(is_within), float(np.mean(is_within))) if is_within else None


@dataclass(frozen=True)
class ScoredData:
    """Published values in the forms that scores need.

    Attributes:
        domains: Public domain of every column.
        target: The column that is predicted; none if nothing is.
        cells: What classifiers are trained on, in published terms.
        weights: The column of `cells` that says how many records a row stands for; nothing if each stands for one.
        records: The published records as values of the domains.
        cut: How values were generalized; nothing if they were not.
    """

    domains: Mapping[str, Domain]
    target: str | None
    cells: pd.DataFrame
    weights: str | None
    records: pd.DataFrame
    cut: Generalization | None = None

    @property
    def predicted(self) -> str:
        """The column that is predicted.

        Raises:
            EvaluationError: If nothing is.
        """
        if self.target is None:
            raise EvaluationError("The release has no class, so there is no column to predict. Name one as the target.")
        return self.target

    @classmethod
    def of_records(cls, records: pd.DataFrame, domains: Mapping[str, Domain], target: str | None) -> ScoredData:
        """Records that hold values of the domains, synthetic or perturbed, as what is scored."""
        return cls(domains, target, as_features(domains, target, records), None, records)

    @classmethod
    def of_release(cls, release: Publication, target: str | None) -> ScoredData:
        """What any release published. Of generalized values its class is the target."""
        columns, cut = release.published.columns, release.generalization
        if cut is None:
            return cls.of_records(release.records.to_pandas(), columns.domains, target)
        cells = cells_of_table(release.published, counted_table(release.published)).to_pandas()
        counts = cells.assign(**{COUNT: counts_of(release.published)})
        return cls(columns.domains, columns.class_name, counts, COUNT, values.plain_records(release, cut), cut)

    def in_its_terms(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Other records, values of the domains, in the terms of `cells`."""
        if self.cut is None:
            return self.as_features(frame)
        codes = values.published_codes(self.cut, values.codes_of(self.domains, frame))
        return values.published_labels(self.cut, codes)

    def labels(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Other records, values of the domains, as texts: the labels that published tables name their cells by."""
        if self.cut is not None:
            return self.in_its_terms(frame).astype(str)
        codes = values.codes_of(self.domains, frame)
        return pd.DataFrame(
            {
                name: np.array(_labels(domain), dtype=object)[codes[name].to_numpy()]
                for name, domain in self.domains.items()
            }
        )

    def as_features(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Records, values of the domains, as classifiers take them."""
        return as_features(self.domains, self.target, frame)


def as_features(domains: Mapping[str, Domain], target: str | None, frame: pd.DataFrame) -> pd.DataFrame:
    """Records as classifiers take them, so that raw and published ones are encoded alike.

    Categories are in agreed order, numbers as they are; of a numerical target, the interval of the agreed grid.
    """
    codes = values.codes_of(domains, frame)
    return pd.DataFrame(
        {
            name: frame[name].to_numpy()
            if isinstance(domain, NumericalDomain) and name != target
            else pd.Categorical.from_codes(codes[name].to_numpy(), categories=_labels(domain))
            for name, domain in domains.items()
        }
    )


def _labels(domain: Domain) -> list[str]:
    return [domain.label((code, code + 1)) for code in range(domain.size)]


def check_target(release: Publication, target: str | None) -> str | None:
    """What is predicted: the class, if there is one, unless another column is asked for and can be predicted.

    Raises:
        EvaluationError: If it cannot.
    """
    columns = release.published.columns
    class_name = columns.class_name
    if target is None or target == class_name:
        return class_name
    if target not in columns.domains:
        raise EvaluationError(
            f"The release has no column '{target}'. Columns: {', '.join(map(repr, columns.domains))}."
            if class_name is None
            else f"The release has no column '{target}'. Its class is '{class_name}': use that as --target."
        )
    if release.generalization is not None:
        raise EvaluationError(
            f"'{target}' is an attribute of this release, not its class: the release was made to predict "
            f"'{class_name}', and its splits were chosen for that. Use --target {class_name}."
        )
    if class_name is not None and release.mechanism.settings.draws_for_class:
        raise EvaluationError(
            f"'{target}' is an attribute of this release, not its class: its records were drawn for each "
            f"'{class_name}'. Use --target {class_name}."
        )
    return target
