"""Information loss of iDP-IR over k and epsilon, with one owner or several."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from copublish.mechanisms.idp_ir.plan import Sensitivity
from copublish_reproduction.idp_ir import CategoryOrder, ClusteredColumn, IdpIr, RankedColumn, rank_column
from copublish_reproduction.information_loss import Loss, LossMeter
from copublish_reproduction.microdata import Microdata, refuse_unusable
from copublish_reproduction.microdata_sets import Bounds, MicrodataName, Owners, load_microdata

Scenario = Literal["central", "horizontal", "vertical"]
Metric = Literal["corrected", "printed", "wrong_categories"]
METRICS: tuple[Metric, ...] = ("corrected", "printed", "wrong_categories")


@dataclass(frozen=True)
class Setting:
    """One way to run iDP-IR on one of the tables; the readings of the paper unless others are given.

    Attributes:
        dataset: Which table.
        scenario: One owner, owners of other records (drawn anew in every run) or owners of other columns.
        local_sensitivity: Scale of the noise.
        category_order: How categories become numbers.
        bounds: Ends of the domains.
    """

    dataset: MicrodataName
    scenario: Scenario = "central"
    local_sensitivity: Sensitivity = "fixed"
    category_order: CategoryOrder = "frequency"
    bounds: Bounds = "published"

    def mechanism(self, k: int, epsilon: float = 1.0) -> IdpIr:
        """Algorithm of each owner; k = 1 is plain iDP."""
        return IdpIr(epsilon, None if k == 1 else k, self.local_sensitivity, self.category_order)


@dataclass(frozen=True)
class OwnedColumn:
    """A sorted column of one owner.

    Attributes:
        place: Which attribute of the whole table it is.
        share: Its part of epsilon.
        ranked: Its values.
    """

    place: int
    share: float
    ranked: RankedColumn


@dataclass(frozen=True)
class Experiment:
    """A setting with its data."""

    setting: Setting
    data: Microdata
    meter: LossMeter

    @staticmethod
    def load(setting: Setting, folder: Path) -> Experiment:
        """Read the table.

        Raises:
            SourceError: If the folder lacks a file.
        """
        data = load_microdata(setting.dataset, folder, setting.bounds)
        return Experiment(setting, data, LossMeter.of(data))

    def run(self, runs: int, ks: Sequence[int], epsilons: Sequence[float]) -> NDArray[np.float64]:
        """The loss, shape (metrics, runs, epsilons, ks).

        Raises:
            FragmentError: If an owner has fewer records than the largest k.
        """
        losses = np.full((len(METRICS), runs, len(epsilons), len(ks)), np.nan)
        prepared: list[OwnedColumn] = []
        for run in range(runs):
            generator = np.random.default_rng([run, zlib.crc32(repr(self.setting).encode())])
            if not prepared or self.setting.scenario == "horizontal":  # else every run has the same sorted columns
                prepared = self._prepare(generator, max(ks))
            for column, k in enumerate(ks):
                mechanism = self.setting.mechanism(k)
                clustered = [(owned, mechanism.cluster(owned.ranked)) for owned in prepared]
                for row, epsilon in enumerate(epsilons):
                    loss = self._measure(clustered, epsilon, generator)
                    losses[:, run, row, column] = [getattr(loss, metric) for metric in METRICS]
        return losses

    def _prepare(self, generator: np.random.Generator, largest_k: int) -> list[OwnedColumn]:
        owners = self._owners(generator)
        budget = 1 / len(owners) if self.setting.scenario == "vertical" else 1.0
        found = []
        for name, data in owners.items():
            refuse_unusable(name, data, largest_k)
            for place, attribute in enumerate(data.attributes):
                ranked = rank_column(attribute, data.values[:, place], self.setting.category_order)
                share = budget / len(data.attributes)
                found.append(OwnedColumn(self.data.names.index(attribute.name), share, ranked))
        return found

    def _owners(self, generator: np.random.Generator) -> Mapping[str, Microdata]:
        owners = Owners(self.setting.dataset, self.data)
        if self.setting.scenario == "horizontal":
            return owners.horizontal(generator)
        return owners.vertical() if self.setting.scenario == "vertical" else {"all": self.data}

    def _measure(
        self, clustered: Sequence[tuple[OwnedColumn, ClusteredColumn]], epsilon: float, generator: np.random.Generator
    ) -> Loss:
        # Sums over records do not depend on their order, so nothing is put back into the original one.
        squares, unequal = np.zeros(len(self.data.attributes)), np.zeros(len(self.data.attributes))
        for owned, column in clustered:
            noisy = column.noisy_values(epsilon * owned.share, generator, clamp=True)
            difference = np.repeat(noisy, column.sizes) - owned.ranked.schema_values
            squares[owned.place] += difference @ difference
            if owned.ranked.attribute.categories is not None:
                unequal[owned.place] += np.count_nonzero(difference)
        return self.meter.summarize(len(self.data.values), squares, unequal)
