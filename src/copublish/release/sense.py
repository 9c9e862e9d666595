"""Releases that do not fit together: digests show that files belong together, not that they make sense."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from copublish.errors import ReleaseError
from copublish.mechanisms.base import Publication


@contextmanager
def making_sense_of(release: Publication) -> Iterator[None]:
    """What fails on what a release says is told as such.

    Raises:
        ReleaseError: In the place of an error of Python about a value, a key or a number.
    """
    try:
        yield
    except (
        LookupError,
        ValueError,
        ArithmeticError,
        TypeError,
        AttributeError,
        RecursionError,
        StopIteration,
        pa.ArrowException,
    ) as exc:
        raise ReleaseError(
            f"The release '{release.certificate.release}' does not fit together ({type(exc).__name__}): its "
            "certificate, details and tables say different things. Was it changed after it was published?"
        ) from exc
