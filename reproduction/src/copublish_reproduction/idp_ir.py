"""iDP-IR as published: microaggregate every column at its owner, add noise to the centroids, put the records together.

Del Vasto-Terrientes, Martinez and Sanchez, "Privacy- & Utility-Preserving Data Releases over Fragmented Data Using
Individual Differential Privacy", ICISSP 2025. Not differentially private, and not individually so either: records of
one cluster get one value, so a release shows, without any noise, who is in which cluster of every column.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from copublish.errors import AgreementError
from copublish.mechanisms.idp_ir.plan import Sensitivity
from copublish.mechanisms.idp_ir.run_microaggregation import (
    by_frequency,
    centroids,
    cluster_sizes,
    ranks,
    sensitivities,
)
from copublish_reproduction.microdata import (
    Attribute,
    Microdata,
    refuse_common_columns,
    refuse_other_schemas,
    refuse_unusable,
)
from copublish_reproduction.plain_table import Floats, Ints

CategoryOrder = Literal["schema", "frequency"]
"""`frequency`, as published, puts the most frequent category of the owner's records first: the order is data."""

SMALLEST_K = 3


@dataclass(frozen=True)
class RankedColumn:
    """One owner's column, sorted; every k and every epsilon can start from it.

    Attributes:
        attribute: Its schema.
        order: Records in ascending order, shape (n,).
        values: What was sorted: numbers, or places in the order of the categories.
        schema_places: For frequency order, the place in the schema of every category; else none.
    """

    attribute: Attribute
    order: Ints
    values: Floats
    schema_places: Floats | None

    @property
    def schema_values(self) -> Floats:
        """The sorted records' numbers, or places in schema order."""
        return self.values if self.schema_places is None else self.schema_places[self.values.astype(np.int64)]


def rank_column(attribute: Attribute, values: Floats, category_order: CategoryOrder) -> RankedColumn:
    """Sort a column."""
    if attribute.categories is None or category_order == "schema":
        order = ranks(values)
        return RankedColumn(attribute, order, values[order], None)
    places = values.astype(np.int64)
    schema_places = by_frequency(places, len(attribute.categories))
    place_of = np.empty_like(schema_places)
    place_of[schema_places] = np.arange(len(schema_places))
    found = place_of[places]
    order = ranks(found)
    return RankedColumn(attribute, order, found[order].astype(np.float64), schema_places.astype(np.float64))


@dataclass(frozen=True)
class ClusteredColumn:
    """A sorted column with its clusters, before noise.

    Attributes:
        ranked: The column.
        sizes: Of its clusters.
        centroids: Their means.
        sensitivities: What the noise of each is scaled to, at epsilon 1.
    """

    ranked: RankedColumn
    sizes: Ints
    centroids: Floats
    sensitivities: Floats

    def noisy_values(self, epsilon: float, generator: np.random.Generator, *, clamp: bool) -> Floats:
        """The published value of every cluster: a number, or a place in schema order."""
        noise = generator.laplace(size=len(self.sizes)) * (self.sensitivities / epsilon)
        noisy: Floats = self.centroids + noise
        attribute, places = self.ranked.attribute, self.ranked.schema_places
        if attribute.categories is not None:
            noisy = np.rint(noisy)
        if clamp or attribute.categories is not None:  # a place outside the list of categories means none
            noisy = np.clip(noisy, attribute.low, attribute.high)
        return noisy if places is None else places[noisy.astype(np.int64)]


@dataclass(frozen=True)
class IdpIr:
    """The mechanism that every owner runs.

    Attributes:
        epsilon: What a record costs, all of its attributes together, by the paper's reckoning.
        k: Cluster size, at least 3; none for plain iDP, which the paper calls k = 1.
        local_sensitivity: How the noise is scaled. The paper does not say; `fixed` fits its remarks.
        category_order: How categories become numbers; `frequency` as published.
        clamp: Whether published numbers are limited to the public bounds.

    Privacy:
        Protects: nothing that can be relied on. Who is in which cluster of a column is published exactly.
        Guarantee: with `vector` and schema order the sorted centroids of one column, without who belongs to them, are
            individually differentially private; with `global` they are differentially private, were the noise exact.
            A release is more than that.
        Reveals: the records in their order, each with the values of its clusters.
    """

    epsilon: float
    k: int | None
    local_sensitivity: Sensitivity = "vector"
    category_order: CategoryOrder = "schema"
    clamp: bool = True

    def __post_init__(self) -> None:
        """Check the parameters."""
        problems = []
        if not (self.epsilon > 0 and np.isfinite(self.epsilon)):
            problems.append(f"epsilon must be a positive number, got epsilon = {self.epsilon}.")
        if self.k is not None and self.k < SMALLEST_K:
            problems.append(
                f"k must be at least {SMALLEST_K}, got k = {self.k}. Without k there is no microaggregation (plain "
                "iDP)."
            )
        if problems:
            raise AgreementError("iDP-IR", problems)

    @property
    def cluster_size(self) -> int:
        """Records in a cluster; one without microaggregation."""
        return 1 if self.k is None else self.k

    def cluster(self, ranked: RankedColumn) -> ClusteredColumn:
        """Cut a sorted column into clusters."""
        attribute = ranked.attribute
        sizes = cluster_sizes(len(ranked.values), k=self.cluster_size)
        scale = sensitivities(self.local_sensitivity, ranked.values, sizes, low=attribute.low, high=attribute.high)
        return ClusteredColumn(ranked, sizes, centroids(ranked.values, sizes), scale)

    def protect(self, data: Microdata, epsilon: float, generator: np.random.Generator) -> Microdata:
        """One owner's records with noisy centroids; epsilon is divided evenly among the attributes."""
        protected = np.empty_like(data.values, order="F")
        for place, attribute in enumerate(data.attributes):
            ranked = rank_column(attribute, data.values[:, place], self.category_order)
            clustered = self.cluster(ranked)
            noisy = clustered.noisy_values(epsilon / len(data.attributes), generator, clamp=self.clamp)
            protected[ranked.order, place] = np.repeat(noisy, clustered.sizes)
        return Microdata(data.attributes, protected)


def release_horizontal(mechanism: IdpIr, owners: Mapping[str, Microdata], generator: np.random.Generator) -> Microdata:
    """The records of all owners one below the other; every owner spends the whole epsilon.

    Raises:
        AgreementError: If the owners' schemas differ.
        FragmentError: If an owner's records are too few or break the schema.
    """
    refuse_other_schemas(owners)
    for name, data in owners.items():
        refuse_unusable(name, data, mechanism.cluster_size)
    parts = [mechanism.protect(data, mechanism.epsilon, generator) for data in owners.values()]
    return Microdata(parts[0].attributes, np.concatenate([part.values for part in parts]))


def release_vertical(mechanism: IdpIr, owners: Mapping[str, Microdata], generator: np.random.Generator) -> Microdata:
    """The columns of all owners side by side; epsilon is divided by owners first and then by attributes.

    Records are joined by their position.

    Raises:
        AgreementError: If two owners have the same attribute.
        FragmentError: If numbers of records differ, are too small, or records break the schema.
    """
    refuse_common_columns(owners)
    for name, data in owners.items():
        refuse_unusable(name, data, mechanism.cluster_size)
    share = mechanism.epsilon / len(owners)
    parts = [mechanism.protect(data, share, generator) for data in owners.values()]
    attributes = tuple(attribute for part in parts for attribute in part.attributes)
    return Microdata(attributes, np.concatenate([part.values for part in parts], axis=1))


def release_central(mechanism: IdpIr, data: Microdata, generator: np.random.Generator) -> Microdata:
    """Release of one owner of everything, the paper's baseline.

    Raises:
        FragmentError: If the records are too few or break the schema.
    """
    return release_horizontal(mechanism, {"all": data}, generator)
