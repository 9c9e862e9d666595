"""Settings of a mechanism that a plan tries out on public data, and the work of a secure run from public shapes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any, ClassVar

from copublish.agreement.loading import agreement_from_mapping
from copublish.agreement.model import Agreement

if TYPE_CHECKING:
    from copublish.release.publication import Publication

PaddedRecords = Callable[[int, int], int]
"""The records that an engine's products have together, padding included, for a number of records and of cells."""


@dataclass(frozen=True, kw_only=True)
class Work:
    """Quantities that the processor time, traffic and waiting of a secure run are linear in.

    Attributes:
        starts: Sessions of the engine: loading it, keys, compilation. One, and one for every further worker of a node.
        guests: Parties that hold data and do not compute.
        rounds: Selections.
        biased_bits: Biased bits drawn for all noise, in thousands.
        products: Sessions that join counts at all: then keys for products are exchanged once in each.
        product_columns: Records times columns of the matrix that is sent encrypted, in millions.
        marks: Records times marks whose AND is taken, in millions: of cells that more than one party may hold.
        guest_marks: Records times marks that guests share with the nodes, in millions.
        counted: Records times comparisons with which their owners, or a database for them, count them, in millions
            (horizontal data).
        published: Cells of the published records, in millions.
        calls: Products of some records each, a tile of the counted table at a time.
        product_cells: Records times cells of the tables that are multiplied, in millions.
        first_marks: Records times marks of which the first one counts, in millions.
        compared: Secret counts that are compared with a model's answers, in all rounds, in thousands.
        guest_words: The same numbers as guests share them with the nodes, in thousands.
        met: Comparisons of scores with each other, in all rounds, in thousands.
        drawn_noise: Candidates for Gaussian noise, in thousands.
        fitted: Cells of the models that parties fit, of all parties and rounds, in millions; a clique and a fit count
            as some cells.
        drawn_cells: Cells that parties read, and draw of synthetic records, in millions.
        people: Identifiers that are compared, of all owners, in millions.
        summed: Masked counts that owners send, in thousands, where no secure engine runs.
        multiplied: Points of the curve that owners multiply to hide whom they share, in millions.
        points: Points that they send for it, in millions; what is smaller than a point counts as a part of one.
    """

    starts: float = 0.0
    guests: float = 0.0
    rounds: float = 0.0
    biased_bits: float = 0.0
    products: float = 0.0
    product_columns: float = 0.0
    marks: float = 0.0
    guest_marks: float = 0.0
    counted: float = 0.0
    published: float = 0.0
    calls: float = 0.0
    product_cells: float = 0.0
    first_marks: float = 0.0
    compared: float = 0.0
    guest_words: float = 0.0
    met: float = 0.0
    drawn_noise: float = 0.0
    fitted: float = 0.0
    drawn_cells: float = 0.0
    people: float = 0.0
    summed: float = 0.0
    multiplied: float = 0.0
    points: float = 0.0


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
class TrialColumn:
    """A column of the table of trials: its heading, and the key of a trial with how it is written."""

    heading: str
    key: str
    form: str = "{}"

    def cell(self, trial: Mapping[str, Any]) -> str:
        """What stands in the column."""
        return self.form.format(trial[self.key])


class Tuning(ABC):
    """The settings of one mechanism that a plan tries out, and the work of its secure run."""

    tried: ClassVar[Mapping[str, tuple[int, ...]]]
    """Keys whose values people may choose to try, each with the usual ones."""

    columns: ClassVar[tuple[TrialColumn, ...]]
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
    def work(
        self, agreement: Agreement, release: Publication, n_records: int, records_of_products: PaddedRecords
    ) -> Work:
        """The work of a secure run that ends like this release.

        Args:
            agreement: What is run.
            release: One of it, whose shapes stand for those of the run.
            n_records: Number of records.
            records_of_products: How the engine pads products.
        """


def spell(number: Decimal) -> str:
    """A budget as it is written: without zeros at its end."""
    return format(number.normalize(), "f")
