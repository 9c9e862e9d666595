"""The numbers that the papers print in their text, in percent: those that plans show, too, and HPDP-DP's."""

from __future__ import annotations

from copublish.mechanisms.shared.papers import Key, Printed
from copublish.mechanisms.specialization.papers import PRINTED as PRINTED_OF_SPECIALIZATION

HPDP_PRINTED_SCALE, HPDP_CONTRIBUTION = "HPDP-DP, printed noise scale", "contribution, printed noise scale"

PRINTED: dict[Key, Printed] = {
    **PRINTED_OF_SPECIALIZATION,
    **{
        ("hpdp-fig3", target, series, x): Printed(percent, note)
        for target in ("NLTCS-like, money", "NLTCS-like, outside")
        for series, x, percent, note in (
            (HPDP_PRINTED_SCALE, "7", 80.0, "'can reach more than 80%'"),
            (HPDP_CONTRIBUTION, "1", 30.0, "'more than 30%'"),
            (HPDP_CONTRIBUTION, "7", 80.0, "'the top seven principal components can reach 80%'"),
        )
    },
}


def printed(figure: str, dataset: str, series: str, x: str) -> Printed | None:
    """The number that a paper prints for a point of a figure, if it does."""
    return PRINTED.get((figure, dataset, series, x))
