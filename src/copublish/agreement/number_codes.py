"""Codes of numbers in a public domain. Everything here follows from the agreement and the number alone."""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import NDArray

from copublish.agreement.domain import Domain, NumericalDomain
from copublish.agreement.encoding_rules import ColumnRule
from copublish.types import Codes


def encode_cell_of_nobody(rule: ColumnRule) -> tuple[int, int]:
    """The code of a cell that no party holds, and its number in steps, -1 if it has none: missing, by the rule.

    Privacy:
        Stability: none is needed, both follow from the agreement. Who holds which cell is public between the parties.
    """
    if not isinstance(rule.domain, NumericalDomain) or rule.number_for_missing is None:
        return rule.missing, -1
    number = np.array([float(rule.number_for_missing)])
    codes = small_codes(codes_of_numbers(rule.domain, number), rule.domain)
    return int(codes[0]), int(quantize(rule.domain, number, codes)[0])


def quantize(domain: NumericalDomain, numbers: NDArray[np.float64], codes: Codes) -> NDArray[np.int64]:
    """A column's numbers in steps of the last agreed decimal above the lower bound; -1 where there is none.

    Args:
        domain: The column's public domain.
        numbers: One for every record.
        codes: Their codes: past those of numbers, one is missing or held elsewhere.
    """
    is_number = (codes < domain.number_codes) & np.isfinite(numbers)
    scale, lowest = 10.0**domain.decimals_of_numbers, int(domain.lower.scaleb(domain.decimals_of_numbers))
    within = np.clip(np.where(is_number, numbers, 0.0), float(domain.lower), float(domain.upper))
    steps = np.rint(within * scale).astype(np.int64) - lowest
    return cast(NDArray[np.int64], np.where(is_number, np.clip(steps, 0, domain.steps), -1))


def codes_of_numbers(domain: NumericalDomain, numbers: NDArray[np.float64]) -> NDArray[np.int64]:
    """The code of each number: the grid cell that it lies in."""
    thresholds = np.array([float(threshold) for threshold in domain.thresholds])
    return np.searchsorted(thresholds, numbers, side="right").astype(np.int64)


def small_codes(codes: NDArray[np.int64], domain: Domain) -> Codes:
    """The same codes in the smallest type that holds all codes of the domain."""
    return cast(Codes, codes.astype(np.min_scalar_type(domain.size)))
