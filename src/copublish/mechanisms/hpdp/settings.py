"""The keys of hpdp in an agreement, and its rules."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import ClassVar, Literal

from pydantic import Field

from copublish.agreement.model import Agreement
from copublish.agreement.rules import MAX_STEPS, constant_columns
from copublish.agreement.section import Whole
from copublish.agreement.settings import MechanismSettings, Need, Partition, drawing_mechanisms

MAX_SYNTHETIC_RECORDS = 10**7

MAX_COORDINATES = 256
"""Numbers and the values of categories. Every two of them have a sum in one budget."""

MAX_SUMS = MAX_COORDINATES * (MAX_COORDINATES + 1) // 2

MIN_EPSILON = Fraction(1, 1000)
"""Below this the noise of the sums may no longer fit the engine's 62-bit integers."""


class HpdpSettings(MechanismSettings):
    """Which noise is drawn, and how many records are made."""

    name: Literal["hpdp"]
    noise: Literal["laplace", "gaussian"] | None = None
    records: Whole | None = Field(default=None, ge=1, le=MAX_SYNTHETIC_RECORDS)

    reads_numbers: ClassVar[bool] = True
    draws_records: ClassVar[bool] = True
    draws_for_class: ClassVar[bool] = True
    partitions: ClassVar[tuple[Partition, ...]] = ("horizontal",)
    how_to_get_gaussian_noise: ClassVar[str | None] = (
        "the mechanism 'hpdp' and write noise = \"gaussian\" in [mechanism]"
    )

    @property
    def uses_gaussian_noise(self) -> bool:
        """Whether the noise is Gaussian, so that the agreement needs a delta."""
        return self.noise == "gaussian"

    def needs(self, partition: Partition) -> Need:
        """Sums alone; Gaussian noise is drawn by programs on secrets."""
        return "programs" if self.uses_gaussian_noise else "sums"

    def broken_rules(self, agreement: Agreement) -> Iterator[str]:
        """Yield one sentence for every rule of this mechanism that the agreement breaks."""
        yield from self._noise(agreement)
        if agreement.partition != "horizontal":
            yield (
                'partition: the mechanism hpdp is for owners of whole rows. Write partition = "horizontal", or take '
                f"the mechanism {drawing_mechanisms(agreement.partition)}"
            )
        if agreement.mechanism_epsilon < MIN_EPSILON:
            yield (
                f"privacy.epsilon: an hpdp release needs at least {float(MIN_EPSILON):g}, got "
                f"{agreement.privacy.epsilon}; 0.1 to 2 is usual"
            )
        yield from self._coordinates(agreement)

    def _noise(self, agreement: Agreement) -> Iterator[str]:
        if self.uses_gaussian_noise and agreement.privacy.delta is None:
            yield (
                'privacy.delta: noise = "gaussian" needs one. Write it, like delta = "1e-6", or take noise = "laplace"'
            )
        if self.uses_gaussian_noise and agreement.engine.name == "masked-sum":
            yield (
                "mechanism.noise: without a secure engine owners can only add shares of Laplace noise. Write noise = "
                '"laplace" and remove privacy.delta, or take another engine'
            )

    def _coordinates(self, agreement: Agreement) -> Iterator[str]:
        size = cells = 0
        for name, domain in agreement.columns.items():
            attribute = agreement.attributes.get(name)
            if attribute is not None and attribute.kind == "numerical":
                size += 1
                cells += domain.size
                if attribute.domain(name).steps > MAX_STEPS:
                    yield f"attributes.{name}.decimals: too many for numbers between these bounds. Take fewer"
            else:
                size += 1 if domain.size == 2 else domain.size
        yield from constant_columns(agreement)
        is_about_numbers = bool(cells) or any(domain.size == 2 for domain in agreement.columns.values())
        if agreement.class_ is None and not is_about_numbers:
            yield (
                "attributes: without a [class] an hpdp release is about numbers and how they go together, and none of "
                "these columns has numbers or two values, which are like 0 and 1. Add one or a class, or take the "
                "mechanism 'marginals'"
            )
        classes = 0 if agreement.class_ is None else agreement.class_domain.size
        sums = size * (size + 1) // 2 + cells * (1 + (1 if classes == 2 else classes))
        if sums > MAX_SUMS:
            yield (
                f"attributes: an hpdp release has at most {MAX_SUMS:,} sums, of products of every two coordinates "
                "(numbers, and values of categories with more than two of them) and of cells of numbers, and these are "
                f"{sums:,}, of {size:,} coordinates: the engine would need about {_gibibytes(sums):.1f} GiB. Leave "
                "columns out, or put rare values together"
            )


def _gibibytes(sums: int) -> float:
    """About how much memory the noise of so many sums takes: twice 40 coins of 62 bits, held four times."""
    return sums * 2 * 40 * 62 / 8 * 4 / 2**30
