"""How noise, and what is left of information, is told to people: in the report and in the terminal alike."""

from __future__ import annotations

import decimal
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

TOO_LONG_FOR_G = 1e5


def epsilon_words(epsilon: str) -> str:
    """Return an epsilon of a certificate; a fraction with the decimal that people think in, rounded up, beside it."""
    if re.fullmatch(r"\d+/\d+", epsilon) is None:
        return epsilon
    rounded = decimal.Context(3, decimal.ROUND_CEILING).divide(*map(decimal.Decimal, epsilon.split("/")))
    return f"{epsilon} (about {rounded:f})"


def _plain(number: float) -> str:
    return f"{number:,.0f}" if number >= TOO_LONG_FOR_G else f"{number:,g}"


def noise_words(noise: Mapping[str, Any]) -> str:
    """Return the noise of a disclosure in words: in people, in the column's own unit, or how often a value is kept."""
    if "scale_in_people" in noise:
        words = f"scale {noise['scale_in_people']:g} people"
    elif "scale_in_own_unit" in noise:
        words = f"scale {_plain(noise['scale_in_own_unit'])}, in its own unit"
    elif "kept" in noise:
        return f"{noise['kept']:.1%} of values kept"
    else:
        return str(noise["law"])
    if "within_95_percent" in noise:
        words += f"; 95 of 100 within ±{_plain(noise['within_95_percent'])}"
    if "missing_or_not_kept" in noise:
        words += f"; missing or not is kept for {noise['missing_or_not_kept']:.1%}"
    return words


@dataclass(frozen=True)
class Told:
    """What a column of published records tells about the label: bits, their share of the label's, bits per epsilon."""

    column: str
    bits: float
    share: float
    bits_per_epsilon: float


def label_information(details: Mapping[str, Any]) -> list[Told]:
    """Return what each column tells about the label, the most first."""
    described = details["label_information"]
    rows = [
        Told(name, row["bits"], row["bits"] / max(described["label_bits"], 1e-9), row["bits_per_epsilon"])
        for name, row in described["columns"].items()
    ]
    return sorted(rows, key=lambda told: -told.bits)
