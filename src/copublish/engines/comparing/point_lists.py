"""Lists of points that owners send each other, and what is refused: who follows the protocol sends nothing of the kind.

No check depends on anybody's data: made-up points pass like those of people.
"""

from __future__ import annotations

from copublish.engines.comparing.curve import Factor, Points, from_bytes
from copublish.engines.comparing.pseudonyms import is_ascending
from copublish.errors import ProgramMismatchError


def ascending_points(content: bytes, sender: str, *, length: int = 0) -> Points:
    """Points that another owner sent in the order of their bytes, each once, and so many if the number is public.

    Raises:
        ProgramMismatchError: If it is something else.
    """
    points = from_bytes(content)
    if (length and len(points) != length) or not is_ascending(points):
        raise no_points(sender)
    return points


def multiplied(factor: Factor, points: Points, sender: str) -> Points:
    """Another owner's points times a factor of one's own, in the same order.

    Raises:
        ProgramMismatchError: If one of them is not on the curve.
    """
    try:
        return factor.times(points)
    except ValueError:
        raise no_points(sender) from None


def no_points(sender: str) -> ProgramMismatchError:
    """The error for a list that is none."""
    return ProgramMismatchError(f"Party '{sender}' sent no list of points. Nothing was compared.")
