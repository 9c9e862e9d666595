"""The name of vhdp in an agreement, and its rules; it has no keys of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, ClassVar, Literal

from copublish.agreement.budget import broken_budget_rules, share_limits
from copublish.agreement.domain import CategoricalDomain, NumericalDomain
from copublish.agreement.model import Agreement
from copublish.agreement.rules import constant_columns
from copublish.agreement.settings import MechanismSettings, Need, Partition, drawing_mechanisms
from copublish.kernel.noise.randomized_response import fits

MAX_COLUMNS = 64
"""Columns of a release, the class included."""

MIN_EPSILON, MAX_SCALE = Fraction(1, 1000), 2**53
"""The largest scale of noise on numbers, in steps of their last decimal: it has to fit 62-bit integers."""

EXAMPLE = """\
[mechanism]
name = "vhdp"

[budget]
allocation = "protect-informative"  # columns that tell more about the label get less epsilon, so more noise
share = 0.2                         # of epsilon, for the noisy tables that show what columns tell
"""


class VhdpSettings(MechanismSettings):
    """A row for every person, with noise of the owners on every value."""

    name: Literal["vhdp"]

    reads_numbers: ClassVar[bool] = True
    publishes_each_record: ClassVar[bool] = True
    spends_by_column: ClassVar[bool] = True
    partitions: ClassVar[tuple[Partition, ...]] = ("horizontal", "vertical")
    example: ClassVar[str] = EXAMPLE
    drafted: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "records": {"public": True},
        "privacy": {"neighbors": "replace"},
    }

    def needs(self, partition: Partition) -> Need:
        """Nothing that several owners hold together, whatever the partition; [budget] may ask for more."""
        return "own values"

    def broken_rules(self, agreement: Agreement) -> Iterator[str]:
        """Yield one sentence for every rule of this mechanism that the agreement breaks."""
        if agreement.privacy.neighbors != "replace" or not agreement.records.public:
            yield (
                "mechanism.name: a vhdp release has one row for every person, so it shows how many there are, and it "
                'protects values, not membership. Write neighbors = "replace" in [privacy] and public = true in '
                f"[records], or take the mechanism {drawing_mechanisms(agreement.partition)}"
            )
        if agreement.partition == "arbitrary":
            yield (
                "partition: in a vhdp release the owner of a column, or of a row, adds its noise, so cells cannot be "
                f"spread. Take vertical or horizontal data, or the mechanism {drawing_mechanisms(agreement.partition)}"
            )
        if agreement.mechanism_epsilon < MIN_EPSILON:
            yield (
                f"privacy.epsilon: a vhdp release needs at least {float(MIN_EPSILON):g}, got "
                f"{agreement.privacy.epsilon}; 0.1 to 2 is usual"
            )
        n_columns = len(agreement.columns)
        if n_columns > MAX_COLUMNS:
            yield (
                f"attributes: a vhdp release has at most {MAX_COLUMNS} columns, the class included, and these are "
                f"{n_columns}. Leave some out: all columns share one budget"
            )
        yield from _noise(agreement)
        yield from constant_columns(agreement)


def _noise(agreement: Agreement) -> Iterator[str]:
    least = (
        {}
        if any(broken_budget_rules(agreement))
        else {column: share for column, (share, _) in share_limits(agreement).items()}
    )
    for name, domain in agreement.domains.items():
        if isinstance(domain, NumericalDomain) and name in least:
            # Half of a column's budget is for its numbers where the other half hides which of them are missing.
            steps = (1 + domain.missing) * domain.steps
            if steps > MAX_SCALE * agreement.mechanism_epsilon * least[name]:
                yield (
                    f"attributes.{name}: its noise would be too large for whole numbers of its last decimal. Write "
                    "fewer decimals, narrower bounds or a larger weight, or raise privacy.epsilon"
                )
    for name, domain in agreement.columns.items():
        if not isinstance(domain, CategoricalDomain) or name not in least:
            continue
        if not fits(agreement.mechanism_epsilon * least[name], domain.size):
            place = "class" if name == agreement.class_name else f"attributes.{name}"
            yield (
                f"{place}: its share of epsilon is too small for {domain.size:,} values: chance could not be drawn "
                "finely enough. Put values together, write a larger weight, or raise privacy.epsilon"
            )
