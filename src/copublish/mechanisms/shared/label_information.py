"""What each column of a release tells about the label, and what that cost. Released values only."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from copublish.agreement.domain import Domain
from copublish.mechanisms.shared.information import BITS_DIGITS, bits, entropy, information_kept
from copublish.types import Codes, IntArray


def describe_information(
    columns: Mapping[str, Domain], cells: Mapping[str, Codes | IntArray], label: str, budgets: Mapping[str, Fraction]
) -> dict[str, Any]:
    """Return for every column how many bits its published values tell about the published label, as JSON values.

    It is the plain estimate from published records, less what chance alone would show. Noise on either column lowers
    it: it says what is left for somebody who has the release, not how much the true values would tell.

    Args:
        columns: Public domain of every column.
        cells: The published records: for each column the code of every record.
        label: The column that is told about.
        budgets: What each column's own budget was.
    """
    sizes = {name: domain.size for name, domain in columns.items()}
    kept = information_kept(cells, sizes, label)
    per_epsilon = {name: kept[name] * budgets[name].denominator / budgets[name].numerator for name in kept}
    return {
        "label": label,
        "label_bits": float(bits(entropy(np.bincount(cells[label], minlength=sizes[label])))),
        "columns": {
            name: {"bits": float(kept[name]), "bits_per_epsilon": float(per_epsilon[name].quantize(BITS_DIGITS))}
            for name in kept
        },
    }
