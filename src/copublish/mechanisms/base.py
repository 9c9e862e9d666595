"""What a mechanism is: settings, a plan that is described, reserved and run, and what it publishes.

`CONTRIBUTING.md` walks through writing one. What others need of a mechanism they ask of these classes and of the traits
of its settings; nobody asks for its name. How a release is read and shown follows from what it publishes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import numpy as np
import pyarrow as pa
from pydantic.dataclasses import dataclass as typed

from copublish.agreement.model import Agreement
from copublish.agreement.settings import MechanismSettings
from copublish.errors import ReleaseError
from copublish.kernel.accounting.cost import Cost, cost_of
from copublish.kernel.accounting.disclosures import Disclosure
from copublish.kernel.certificate.build import Method
from copublish.mechanisms.published import Contents, Measured, Model, NoiseAt, Published, Words
from copublish.mechanisms.shared.post_processing import consistent_counts
from copublish.types import IntArray

if TYPE_CHECKING:
    from copublish.kernel.records.fragment import Fragment
    from copublish.kernel.records.joint_table import JointTable
    from copublish.kernel.secrets.computer import Computer
    from copublish.kernel.secrets.gate import Gate
    from copublish.progress import Progress

R = TypeVar("R")
P = TypeVar("P", bound="Plan[Any]")

ROW_GROUP = 2**20
"""Records of a row group in a Parquet file, as pyarrow cuts them."""


class Plan(ABC, Generic[R]):
    """Everything about a run that is fixed before any data is touched. A subclass is a frozen dataclass.

    The plan that is described is the object whose cost is reserved and that is run.
    """

    agreement: Agreement

    checks_records: ClassVar[bool] = False
    """Whether it asks something of one party's records beyond that they fit the schema."""

    @abstractmethod
    def disclosures(self) -> list[Disclosure]:
        """What a run opens, or bounds on it."""

    @abstractmethod
    def method(self) -> Method:
        """What the mechanism does, in words for the certificate."""

    @abstractmethod
    def run(self, table: JointTable, computer: Computer, gate: Gate, progress: Progress) -> R:
        """Run the plan at one party: hands over to `run.py`, which alone may see rows and secrets.

        Args:
            table: This party's aligned cells.
            computer: Its end of the computation.
            gate: The only door for what becomes known.
            progress: Told about every step.
        """

    def refuse_unfit_records(self, fragment: Fragment) -> None:
        """Check what the mechanism asks of one party's records.

        Raises:
            FragmentError: With every rule that they break, for this party's people alone.
        """

    def places_of_records(self, opened: Sequence[IntArray]) -> IntArray | None:
        """For every joined record its place in the release; nothing if published records stand for nobody.

        Args:
            opened: Everything that was opened, in order. Nothing else decides.
        """
        return None

    def cost(self) -> Cost:
        """What the ledger reserves."""
        return cost_of(self.disclosures(), number_of_records_is_public=self.agreement.records.public)

    def describe(self) -> dict[str, Any]:
        """What only this mechanism has to say about a run, as plain JSON values."""
        return {}

    def headline(self) -> dict[str, str]:
        """The same in a few words, by heading, for people."""
        return {}

    def warnings(self) -> list[str]:
        """What people should think about before they spend anything."""
        return []

    def typical_noise(self) -> tuple[str, float] | None:
        """What noise does to a release, in words and as a number, to compare budgets by; nothing if it does not say."""
        return None


@typed(frozen=True, kw_only=True)
class CountsModel(Model):
    """Counts that records are made from: each cell of a table as often as its count says.

    Attributes:
        counts: Non-negative counts of the first table, its last axis fastest.
    """

    counts: tuple[int, ...]


class Mechanism(ABC, Generic[P, R]):
    """One way to make a release. There is one object of each in the registry.

    A mechanism that counts one table needs `settings`, `version`, `words`, `plan` and `publish`. The defaults of the
    others make records of that table.
    """

    settings: ClassVar[type[MechanismSettings]]
    """Its section in agreements, with its traits."""

    version: ClassVar[int]
    """Changes whenever the same fragments and coins would give another release; the parties compare it."""

    words: ClassVar[Words]
    """What its releases are, in words."""

    model: ClassVar[type[Model]] = CountsModel
    """What it writes to `model.json`."""

    @property
    def name(self) -> str:
        """Its own name."""
        return self.settings.names()[0]

    @property
    def promises(self) -> bool:
        """Whether it is differentially private, whatever its settings."""
        return self.settings.no_promise is MechanismSettings.no_promise

    @abstractmethod
    def plan(self, agreement: Agreement) -> P:
        """The plan of an agreement.

        Raises:
            AgreementError: If there is none.
        """

    @abstractmethod
    def publish(self, result: R, noise_at: NoiseAt) -> Contents:
        """Everything that is published of a run's result. Released values only.

        Args:
            result: The result.
            noise_at: The noise that the certificate states of a disclosure.
        """

    def fit(self, published: Published, public_total: int | None) -> Model:
        """The model that measurements give: those of a release with fresh noise, for replicates.

        Args:
            published: The measurements, and the released model to start from.
            public_total: The number of people, if it is public.

        Privacy:
            Post-processing of released values.

        Raises:
            ReleaseError: If the mechanism makes records in another way.
        """
        table = counted_table(published)
        total = max(0, int(table.values.sum())) if public_total is None else public_total
        return counts_model(consistent_counts(table.values, total))

    def sample(self, published: Published, key: bytes) -> Iterator[pa.Table]:
        """Yield records that are made from the released model, part by part.

        Args:
            published: The columns, the axes of the measurements, and the model, which says how many records there are.
            key: What chance comes from: a function of released values.

        Privacy:
            Post-processing of released values.

        Raises:
            ReleaseError: If the mechanism makes records in another way.
        """
        yield from records_of_counts(published, counted_table(published), counts_of(published))


def counted_table(published: Published) -> Measured:
    """The table that counts are made from: the first that steered nothing.

    Raises:
        ReleaseError: If no table was counted.
    """
    found = next((table for table in published.tables if not table.steered), None)
    if found is None:
        raise ReleaseError("This release counted no table that records could be made from.")
    return found


def counts_of(published: Published) -> IntArray:
    """The non-negative counts that records were made from.

    Raises:
        ReleaseError: If they were made in another way.
    """
    if not isinstance(published.model, CountsModel):
        raise ReleaseError("The records of this release were not made from counts.")
    return np.array(published.model.counts, dtype=np.int64)


def counts_model(counts: IntArray) -> CountsModel:
    """The model of non-negative counts."""
    flat = counts.ravel()
    return CountsModel(records=int(flat.sum()), counts=tuple(flat.tolist()))


def records_of_counts(published: Published, table: Measured, counts: IntArray) -> Iterator[pa.Table]:
    """Yield every cell of a table as often as its count says, a row group at a time."""
    cells = cells_of_table(published, table)
    ends = np.cumsum(counts)
    total = int(counts.sum())
    for start in range(0, max(1, total), ROW_GROUP):
        times = np.diff(np.clip(ends, start, start + ROW_GROUP), prepend=start)
        yield cells.take(np.repeat(np.arange(len(counts), dtype=np.int64), times)).combine_chunks()


def cells_of_table(published: Published, table: Measured) -> pa.Table:
    """The published values of each cell of a table, a row for each."""
    repeat = len(table.values)
    columns: dict[str, pa.Array] = {}
    for axis in table.cells or ():
        labels = axis.labels(published.columns.domains[axis.column])
        repeat //= len(labels)
        codes = np.tile(
            np.repeat(np.arange(len(labels), dtype=np.int32), repeat), len(table.values) // len(labels) // repeat
        )
        columns[axis.column] = pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(labels, pa.string()))
    return pa.table(columns)


def in_words(names: Sequence[str]) -> str:
    """Names, the last one after an 'and'."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
