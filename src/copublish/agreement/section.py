"""Base of every part of an agreement, a model that cannot be changed and knows its keys, and types of its numbers.

Numbers are exact decimals, never true or false, and never longer than a schema needs.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field


class Section(BaseModel):
    """A part of an agreement."""

    model_config = ConfigDict(frozen=True, extra="forbid")


MAX_DIGITS = 30

SMALLEST_WEIGHT, LARGEST_WEIGHT = Decimal("0.001"), Decimal(1000)
"""Wide enough for any judgment, and the noise of the least weight still fits the engine's integers."""


def refuse_bool(value: object) -> object:
    """Refuse true and false, which Python takes for numbers."""
    if isinstance(value, bool):
        raise ValueError("write a number, not true or false")
    return value


def refuse_point(value: object) -> object:
    """Refuse text and decimals for whole numbers: who writes 20.000 for twenty thousand would agree on twenty."""
    if isinstance(value, str):
        raise ValueError(f"write a whole number without quotes, got '{value}'")
    if isinstance(value, Decimal | float) and (isinstance(value, float) or _has_point(value)):
        raise ValueError(
            f"write a whole number, got {value}. It has no point: twenty thousand is written 20000 or 20_000"
        )
    return value


def _has_point(value: Decimal) -> bool:
    exponent = value.as_tuple().exponent
    return not isinstance(exponent, int) or exponent < 0


def plain_number(value: Decimal) -> Decimal:
    """Refuse numbers that no schema needs and that would take for ever to write out; -0 is 0."""
    _, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int) or len(digits) > MAX_DIGITS or abs(exponent) > MAX_DIGITS:
        raise ValueError(f"write a number with at most {MAX_DIGITS} digits")
    return abs(value) if value == 0 else value


def _usual_weight(weight: Decimal) -> Decimal:
    if not SMALLEST_WEIGHT <= weight <= LARGEST_WEIGHT:
        raise ValueError(
            f"a weight is a number from {SMALLEST_WEIGHT} to {LARGEST_WEIGHT}, got {weight:f}: the larger, the larger "
            "the column's share of epsilon. A column that shall get nothing is left out of the agreement"
        )
    return weight


Number = Annotated[Decimal, BeforeValidator(refuse_bool), AfterValidator(plain_number)]
Whole = Annotated[int, BeforeValidator(refuse_point), BeforeValidator(refuse_bool)]
BudgetShare = Annotated[
    Decimal,
    Field(ge=Decimal("0.01"), le=Decimal("0.99")),
    BeforeValidator(refuse_bool),
    AfterValidator(plain_number),
]
Weight = Annotated[Decimal, BeforeValidator(refuse_bool), AfterValidator(plain_number), AfterValidator(_usual_weight)]
"""A part of the budget, relative to the others' parts."""
