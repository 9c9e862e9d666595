"""The keys of idp-ir in an agreement, and its rules. It is not differentially private and runs only if that is said."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Annotated, ClassVar, Literal

from pydantic import Strict

from copublish.agreement.domain import NumericalDomain
from copublish.agreement.model import Agreement
from copublish.agreement.section import Whole
from copublish.agreement.settings import MechanismSettings, Need, NoPromise, Partition, drawing_mechanisms

ACKNOWLEDGEMENT = "idp-ir does not protect cluster membership; this is not differential privacy"

SMALLEST_K, LARGEST_K = 3, 10_000

PLAIN = 1
"""The k of plain iDP: no microaggregation, every value has noise of its own."""

MAX_STEPS = 2**32
"""Steps between the bounds of a number: weighed sums of them over clusters fit into 64-bit integers."""

MAX_SCALE = 2**54
"""Of the noise of a cluster's sum, in steps: 64 times as much still fits into 62 bits."""

WARNING = (
    "THIS IS NOT DIFFERENTIAL PRIVACY. idp-ir does not protect cluster membership: records of one cluster are "
    "published with one and the same value, so the release shows without any noise, whatever its epsilon, which people "
    "stand next to each other in every column. Nobody in it has a privacy guarantee."
)
"""The first thing that everything says which such a release writes or prints."""

WARNING_WITHOUT_CLUSTERS = (
    "THIS IS NOT DIFFERENTIAL PRIVACY. idp-ir with k = 1 publishes every value with noise of its own, whose size can "
    "follow from the data, and no ledger counts what that tells. Nobody in it has a privacy guarantee."
)
"""The same for plain iDP, which has no clusters."""

USE_OF_THE_ENGINE = (
    "Every owner told all parties its perturbed columns, record by record; the engine kept nothing of them secret and "
    "only helped to align records. What is said of it:"
)

_READ_OFF_CLUSTERS = (
    "Which records are in one cluster: they have one published value, whatever epsilon is. So the rank of every person "
    "among all others, up to the size of a cluster, in every column.",
    "The value of a person from somebody who knows the others: which of two distant values it is can be told for "
    "certain.",
)

LocalSensitivity = Literal["exact", "vector", "fixed", "gap", "global"]
CategoryOrder = Literal["schema", "frequency"]


class IdpIrSettings(MechanismSettings):
    """How columns are clustered, and that nobody is promised anything."""

    name: Literal["idp-ir"]
    k: Whole | None = None
    local_sensitivity: LocalSensitivity | None = None
    category_order: CategoryOrder | None = None
    drop_missing: Annotated[bool, Strict()] | None = None
    acknowledge: str | None = None

    reads_numbers: ClassVar[bool] = True
    publishes_each_record: ClassVar[bool] = True
    partitions: ClassVar[tuple[Partition, ...]] = ("horizontal", "vertical")

    @property
    def sensitivity(self) -> LocalSensitivity:
        """How the noise is scaled."""
        return self.local_sensitivity or "exact"

    @property
    def is_plain(self) -> bool:
        """Whether every value has noise of its own: plain iDP, without microaggregation."""
        return self.k == PLAIN

    @property
    def warning(self) -> str:
        """The first thing that everything says which such a release writes or prints."""
        return WARNING_WITHOUT_CLUSTERS if self.is_plain else WARNING

    @property
    def drops_missing(self) -> bool:
        """Whether rows with a missing value are left out by their owner."""
        return bool(self.drop_missing)

    @property
    def order_of_categories(self) -> CategoryOrder:
        """In which order categories are ranked."""
        return self.category_order or "schema"

    def needs(self, partition: Partition) -> Need:
        """Nothing that several owners hold together, whatever the partition."""
        return "own values"

    def no_promise(self, agreement: Agreement) -> NoPromise:
        """What is said in the place of a promise."""
        return NoPromise(
            warning=self.warning,
            protected=self._protected(),
            not_protected=self._not_protected(agreement),
            use_of_the_engine=USE_OF_THE_ENGINE,
        )

    def _protected(self) -> tuple[str, ...]:
        if self.is_plain:
            return ("Nothing that can be relied on. Every value has noise that is scaled with epsilon.",)
        noise = "The one value that all records of a cluster share has noise"
        by_schema = self.order_of_categories == "schema"  # a ranking that is data moves with one record
        if self.sensitivity in ("exact", "vector", "global") and by_schema:
            noise += (
                ", as much as individual differential privacy asks for the sorted cluster means of one column alone"
            )
        return (f"Nothing that can be relied on. {noise}; who is in the cluster is published as it is.",)

    def _not_protected(self, agreement: Agreement) -> tuple[str, ...]:
        found = [] if self.is_plain else list(_READ_OFF_CLUSTERS)
        if self.sensitivity != "global":
            found.append("How much noise there is: it depends on the data, and can be none.")
        if self.order_of_categories == "frequency":
            found.append("Which categories are more frequent than which: their order decides what is published.")
        if self.drop_missing:
            found.append("Who has no missing value: nobody else is in the release, and the number of records says so.")
        if agreement.partition == "horizontal":
            found.append("From the other parties: which party a record comes from.")
        else:
            found.append(
                "From the other parties: about where every person whom they know by name stands in every column."
            )
        return tuple(found)

    def broken_rules(self, agreement: Agreement) -> Iterator[str]:
        """Yield one sentence for every rule of this mechanism that the agreement breaks."""
        if self.acknowledge != ACKNOWLEDGEMENT:
            yield (
                "mechanism.acknowledge: idp-ir runs only if the agreement says what it does not do. Write, word for "
                f'word, acknowledge = "{ACKNOWLEDGEMENT}". For records of the same columns with differential privacy '
                f"name the mechanism {drawing_mechanisms(agreement.partition)} instead: its records are synthetic, and "
                "epsilon holds for everybody"
            )
        yield from _cluster_size(self.k)
        if agreement.privacy.neighbors != "replace" or not agreement.records.public:
            yield (
                "records.public: idp-ir publishes every record, so their number is public, and one record more makes "
                'other clusters. Write public = true in [records] and neighbors = "replace" in [privacy]'
            )
        if self.drop_missing and agreement.partition == "vertical":
            yield (
                "mechanism.drop_missing: an owner of columns cannot leave a person out alone: it would have to tell "
                "the other owners whose values are missing. Agree on values that take their place, like missing = 0"
            )
        yield from _columns(agreement, drops_missing=self.drops_missing)


def _cluster_size(k: int | None) -> Iterator[str]:
    if k is None:
        yield f"mechanism.k: it is missing. Write how many records a cluster has, at least {SMALLEST_K}, like k = 50"
    elif k != PLAIN and not SMALLEST_K <= k <= LARGEST_K:
        yield (
            f"mechanism.k: a cluster has {SMALLEST_K} to {LARGEST_K:,} records, got k = {k}. Without clusters, which "
            f"is plain iDP, write k = {PLAIN}"
        )


def _columns(agreement: Agreement, *, drops_missing: bool) -> Iterator[str]:
    if agreement.partition == "arbitrary":
        yield (
            "partition: idp-ir ranks whole columns at their owners, so cells of one cannot be spread. Write "
            '"horizontal" or "vertical"'
        )
    label = agreement.class_name
    if label is not None and agreement.partition == "vertical" and len(agreement.holders(label)) != 1:
        yield (
            "class.held_by: owners of different columns may not have one in common, because each would publish it. "
            f'Name the party that publishes the class, like held_by = "{agreement.owners[0]}"'
        )
    # Epsilon is divided by owners, then by columns; a noisy sum has at most twice the domain's range as scale.
    columns = len(agreement.columns) * max(1, len(agreement.owners))
    for name, domain in agreement.domains.items():
        if not isinstance(domain, NumericalDomain):
            if domain.size - (drops_missing and domain.missing) < 2:
                yield f"attributes.{name}: it has one value alone, so there is nothing to rank. Remove it"
            continue
        if domain.missing and not drops_missing:
            instead = "" if agreement.partition == "vertical" else ", or leave such rows out with drop_missing = true"
            yield (
                f"attributes.{name}.missing: idp-ir ranks numbers, and a missing one has no rank. Agree on a number "
                f"that takes its place{instead}"
            )
        if domain.steps > MAX_STEPS or 2 * domain.steps * columns / Fraction(agreement.privacy.epsilon) > MAX_SCALE:
            yield (
                f"attributes.{name}.decimals: with so many decimals and so small an epsilon its noise does not fit "
                "into the numbers that are computed with. Agree on fewer decimals, or closer bounds"
            )
