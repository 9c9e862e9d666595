"""What a mechanism is: settings, a plan that is described, reserved and run, what it publishes, and its words.

`CONTRIBUTING.md` walks through writing one. What others need of a mechanism they ask of these classes, and of the
traits of its settings; nobody asks for its name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import pyarrow as pa
from rich.console import RenderableType
from rich.table import Table

from copublish.agreement.columns import PublicColumns
from copublish.agreement.model import Agreement
from copublish.agreement.settings import MechanismSettings
from copublish.errors import ReleaseError
from copublish.kernel.accounting.cost import Cost, cost_of
from copublish.kernel.accounting.disclosures import Disclosure
from copublish.kernel.certificate.build import Method
from copublish.kernel.certificate.certificate import Certificate
from copublish.mechanisms.shared.text_tables import add_row, text_table
from copublish.types import IntArray, TypedJson

if TYPE_CHECKING:
    from copublish.kernel.records.fragment import Fragment
    from copublish.kernel.records.joint_table import JointTable
    from copublish.kernel.secrets.computer import Computer
    from copublish.kernel.secrets.gate import Gate
    from copublish.mechanisms.reading.estimate import Reading
    from copublish.mechanisms.reading.replicates import Draws
    from copublish.mechanisms.shared.generalization import Generalization
    from copublish.mechanisms.shared.tuning import Tuning
    from copublish.progress import Progress

R = TypeVar("R")
P = TypeVar("P", bound="Plan[Any]")
D = TypeVar("D", bound="Details")

PLAIN_REPORT = "plain.html.j2"
"""The page for mechanisms that have none of their own."""


FILES_OF_EVERY_RELEASE = (
    *("certificate.json", "README.md", "signatures.json"),
    *("croissant.json", "prov.json", "deployment.yaml", "nist-sp-800-226.json"),
)
"""Files that a release folder may hold whatever made it: no mechanism's own file has one of these names."""


class Plan(ABC, Generic[R]):
    """Everything about a run that is fixed before any data is touched. A subclass is a frozen dataclass.

    The plan that is described is the object whose cost is reserved and that is run.
    """

    agreement: Agreement

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


class Details(TypedJson, ABC):
    """Everything that a mechanism publishes beside its tables, in a file of its own."""

    @property
    @abstractmethod
    def public_columns(self) -> PublicColumns:
        """The columns of the published records, with what is needed to read other data that shall fit them."""

    @property
    def generalization(self) -> Generalization | None:
        """How values were generalized; nothing if records hold values of the agreed domains."""
        return None


@dataclass(frozen=True)
class Contents:
    """What a mechanism publishes: its tables by name, and the rest."""

    tables: Mapping[str, pa.Table]
    details: Details


@dataclass(frozen=True)
class Publication:
    """Everything that was published, and what is guaranteed about it. Released values only.

    Attributes:
        certificate: What is guaranteed, to whom, under which assumptions.
        contents: Tables and details.
        mechanism: What made it.
    """

    certificate: Certificate
    contents: Contents
    mechanism: Mechanism[Any, Any, Any]

    @cached_property
    def records(self) -> pa.Table:
        """The data set as records."""
        return self.mechanism.records(self.contents)

    @cached_property
    def reading(self) -> Reading:
        """Questions to the release, answered with the error that noise leaves.

        Raises:
            ReleaseError: If it tells no such error, and why.
        """
        return self.mechanism.reading(self)

    @property
    def details(self) -> Details:
        """Everything that was published beside the tables."""
        return self.contents.details

    @property
    def generalization(self) -> Generalization | None:
        """How values were generalized; nothing if records hold values of the agreed domains."""
        return self.details.generalization

    @property
    def sizes(self) -> dict[str, int]:
        """How much was published, of what."""
        return self.mechanism.sizes(self)


@dataclass(frozen=True)
class MeasuredCounts:
    """A published table of counts, each with the error that is stated of it.

    Attributes:
        cells: A column for every column of the table, with the labels of its published values.
        noisy_counts: What was measured, without bias.
        within_95_percent: How far each of them is off at most in 95 of 100 cases, in people.
    """

    cells: pa.Table
    noisy_counts: tuple[int, ...]
    within_95_percent: tuple[float, ...]


@dataclass(frozen=True)
class About:
    """What the README of a release folder says of one mechanism's release.

    Attributes:
        what: What the folder is.
        files: Its files, as a table, and how to read them.
        errors: How exact it is.
    """

    what: str
    files: str
    errors: str


class Mechanism(ABC, Generic[P, R, D]):
    """One way to make a release. There is one object of each in the registry."""

    version: ClassVar[int]
    """Changes whenever the same fragments and coins would give another release; the parties compare it."""

    settings: ClassVar[type[MechanismSettings]]
    """Its section in agreements, with its traits."""

    details: ClassVar[type[Details]]
    """What it publishes beside tables."""

    details_file: ClassVar[str]
    """The file that holds the details."""

    tables: ClassVar[Mapping[str, tuple[str, ...]]] = {"records": ("parquet", "csv")}
    """The tables that a release folder holds, each with its kinds of files."""

    example: ClassVar[str] = ""
    """Its sections in an agreement to start from, with comments."""

    drafted: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """What a draft says in sections of all mechanisms, because this one takes nothing else."""

    kind_of_records: ClassVar[str] = ""
    """What its records are, in a word."""

    predicts_any_column: ClassVar[bool] = True
    """Whether published records serve to predict other columns than the class."""

    checks_records: ClassVar[bool] = False
    """Whether it asks something of one party's records beyond that they fit the schema."""

    tuning: Tuning | None = None
    """Settings that a plan tries out; nothing if it has none."""

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
    def publish(self, result: R) -> Contents:
        """What is published of a run's result. Released values only."""

    def refuse_unfit_records(self, plan: P, fragment: Fragment) -> None:
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

    def derives(self, table: str) -> bool:
        """Whether a table of the folder follows from another one, so that contents do not hold it."""
        return False

    def records(self, contents: Contents) -> pa.Table:
        """The data set as records."""
        return contents.tables["records"]

    def record_parts(self, contents: Contents) -> Iterator[pa.Table]:
        """Yield the same records one part after another, each with as many as a row group of a file has."""
        yield self.records(contents)

    def single_tables(self, contents: Contents) -> Mapping[str, pa.Table]:
        """Parts of its tables that the folder holds once more, in CSV files of their own; by `folder/name`."""
        return {}

    def measured_counts(self, publication: Publication) -> Iterator[MeasuredCounts]:
        """Published counts with error bars, which whoever has the records can check; none of many mechanisms."""
        yield from ()

    def sizes(self, publication: Publication) -> dict[str, int]:
        """How much was published, of what; the records first."""
        return {"records": publication.records.num_rows, "columns": publication.records.num_columns}

    def about(self, publication: Publication) -> About:
        """What the README of a release folder says."""
        names = [f"`{table}.{kind}`" for table, kinds in self.tables.items() for kind in kinds]
        kind = "differentially private data set" if self.promises else "data set without differential privacy"
        return About(
            f"This folder is a {kind} of {publication.records.num_rows:,} {self.kind_of_records} records, made "
            f"together by {in_words(publication.certificate.parties)}.",
            "\n".join(
                [
                    "| file | content |",
                    "| --- | --- |",
                    f"| {', '.join(names)} | what was published |",
                    f"| `{self.details_file}` | everything else that was opened, and what was made of it |",
                    "| `certificate.json` | the guarantee, everything that was disclosed, and every assumption |",
                ]
            ),
            f"`{self.details_file}` and the certificate state the noise of everything that was measured.",
        )

    def show(self, publication: Publication, rows: int) -> Iterator[RenderableType]:
        """What a terminal shows of a release, below its guarantee."""
        for name in self.tables:
            yield first_rows(name, publication.contents.tables.get(name, publication.records), rows)

    def reading(self, publication: Publication) -> Reading:
        """Questions to a release, answered with errors that follow from the law of its noise.

        Raises:
            ReleaseError: If there is no such law, and why.
        """
        raise ReleaseError(f"The mechanism '{self.name}' does not say how its noise moves a mean or a share.")

    def replicate(self, publication: Publication, draws: Draws) -> pa.Table:
        """Records as a release of the same noise would have them, were what this one opened the truth.

        Privacy:
            Post-processing: made of released values and of chance that knows nothing else.

        Raises:
            ReleaseError: If the mechanism has no such records, and why.
        """
        raise ReleaseError(f"The mechanism '{self.name}' has no model that records could be drawn from again.")

    def report_template(self) -> str | None:
        """The page of a report, as a Jinja template that extends `page.html.j2`; nothing for a plain one."""
        package = type(self).__module__
        if not package.startswith(__package__):
            return None
        page = resources.files(package).joinpath("report.html.j2")
        return page.read_text(encoding="utf-8") if page.is_file() else None

    def report_facts(self, publication: Publication) -> dict[str, Any]:
        """What that page says."""
        return {}


def first_rows(title: str, table: pa.Table, rows: int) -> Table:
    """The first rows of a table."""
    shown = text_table(title, table.column_names)
    for row in table.slice(0, rows).to_pylist():
        add_row(shown, *row.values())
    return shown


def in_words(names: Sequence[str]) -> str:
    """Names, the last one after an 'and'."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
