"""Settings of a mechanism that a plan tries out on data that are not private, and which of them to take."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any, ClassVar

from copublish.agreement.loading import agreement_from_mapping
from copublish.agreement.model import Agreement
from copublish.mechanisms.shared.work import Work

if TYPE_CHECKING:
    from copublish.mechanisms.base import Publication


@dataclass(frozen=True)
class Setting:
    """What may be chosen about a release.

    Attributes:
        epsilon: Budget, as text of an exact decimal.
        values: Keys of the section [mechanism] in the place of the agreed ones; none of a mechanism without settings.
        curve: Which curve of a plot it belongs to, where there is one for each of several ways.
    """

    epsilon: str
    values: Mapping[str, Any] = field(default_factory=dict)
    curve: str | None = None

    def apply(self, agreement: Agreement) -> Agreement:
        """The agreement with this setting in place of its own.

        Raises:
            AgreementError: If its mechanism cannot do with it.
        """
        content = agreement.model_dump(by_alias=True)
        content["privacy"]["epsilon"] = Decimal(self.epsilon)
        content["mechanism"] = {**agreement.mechanism.model_dump(exclude_unset=True), **self.values}
        what = f"The agreement with the mechanism '{agreement.mechanism.name}' and epsilon {self.epsilon}"
        return agreement_from_mapping(content, source=what)

    def described(self) -> dict[str, Any]:
        """The setting as JSON values."""
        values = {key: spell(value) if isinstance(value, Decimal) else value for key, value in self.values.items()}
        return {"epsilon": self.epsilon, **values, **({} if self.curve is None else {"curve": self.curve})}


@dataclass(frozen=True)
class Column:
    """A column of the table of trials: its heading, and the key of a trial with how it is written."""

    heading: str
    key: str
    form: str = "{}"

    def cell(self, trial: Mapping[str, Any]) -> str:
        """What stands in the column."""
        return self.form.format(trial[self.key])


class Tuning(ABC):
    """What a mechanism offers to a plan that looks for its best settings."""

    tried: ClassVar[Mapping[str, tuple[int, ...]]]
    """Keys whose values people may choose to try, each with the usual ones."""

    columns: ClassVar[tuple[Column, ...]]
    """What the table of trials shows beside scores."""

    legend: ClassVar[str]
    """What the headings mean."""

    @abstractmethod
    def settings(
        self, agreement: Agreement, budgets: Sequence[str], tried: Mapping[str, Sequence[int]]
    ) -> Iterator[Setting]:
        """Yield settings that differ, of each budget the agreed one first."""

    @abstractmethod
    def refinements(self, setting: Setting) -> list[Setting]:
        """Settings beside the best one that are tried once it is found."""

    @abstractmethod
    def measured(self, agreement: Agreement, releases: Sequence[Publication]) -> dict[str, Any]:
        """Numbers of some releases of a setting that belong into the table of trials, as JSON values."""

    @abstractmethod
    def limits(self, agreement: Agreement) -> dict[str, Any]:
        """The most that noise allows, as JSON values, with the words that say so under `words`."""

    @abstractmethod
    def advice(self, trial: Mapping[str, Any]) -> str:
        """What to write into the agreement, in its own words."""

    @abstractmethod
    def work(self, agreement: Agreement, release: Publication, n_records: int) -> Work:
        """What a secure run that ends like this release has to do."""


def spell(number: Decimal) -> str:
    """A budget as it is written: without zeros at its end."""
    return format(number.normalize(), "f")
