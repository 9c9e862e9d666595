"""Means, medians, shares and correlations of a release, with intervals that know its noise. Released values only.

Files of a release can belong together, by their digests, and still not fit together: `making_sense_of` says so.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import pyarrow as pa

from copublish.errors import ReleaseError
from copublish.release.measurements import measurements_json
from copublish.release.publication import Publication
from copublish.release.questions.cells import ColumnCells
from copublish.release.questions.estimate import CONFIDENCE, Estimate, checked_confidence
from copublish.release.questions.inside_cells import dependences, with_insides
from copublish.release.questions.replicates import Draws, check_replicates, interval_by_replicates, replicate

if TYPE_CHECKING:
    import pandas as pd


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
            "certificate, measurements and model say different things. Was it changed after it was published?"
        ) from exc


REPLICATES = 200

Conditions = Mapping[str, str | Sequence[str]]
"""Columns with the values that people must have to be counted."""


@dataclass(frozen=True, repr=False)
class ReadableRelease(Publication):
    """A publication that answers questions, each with how far noise can have moved the answer.

    Intervals are about the joint table's own values: what the same question would get from all parties' records put
    together. They do not cover that these people may be a sample of others.

    Privacy:
        Every answer is post-processing of released values: no record of a party is read and nothing is charged, however
        many questions are asked.
    """

    def count(self, among: Conditions | None = None, *, confidence: float = CONFIDENCE) -> Estimate:
        """How many people there are, or how many have some values.

        Args:
            among: Columns with a value, or a list of values, that people must have.
            confidence: How often the interval shall hold the joint table's own number.

        Raises:
            ReleaseError: If the release does not tell it, and why.
        """
        with making_sense_of(self):
            return self.reading.count(among or {}, checked_confidence(confidence))

    def share(
        self,
        column: str,
        value: str | Sequence[str],
        *,
        among: Conditions | None = None,
        confidence: float = CONFIDENCE,
    ) -> Estimate:
        """Which share of people has a value of a column, or one of several.

        Args:
            column: The column.
            value: A published value, or a list of them; of numbers also a condition such as "< 33", "<=", ">" or ">=".
                Where it cuts through a cell, the answer names the cell and its interval holds what the cell hides.
            among: Only people with these values of other columns.
            confidence: How often the interval shall hold the joint table's own share.

        Raises:
            ReleaseError: If the release does not tell it, and why.
        """
        with making_sense_of(self):
            return self.reading.share(column, value, among or {}, checked_confidence(confidence))

    def mean(self, column: str, *, among: Conditions | None = None, confidence: float = CONFIDENCE) -> Estimate:
        """The mean of a column of numbers, where they are not missing.

        The interval holds what noise does and what the agreed cells hide: a number in a cell may be anywhere in it.

        Args:
            column: The column.
            among: Only people with these values of other columns.
            confidence: How often the interval shall hold the joint table's own mean.

        Raises:
            ReleaseError: If the release does not tell it, and why.
        """
        with making_sense_of(self):
            return self.reading.mean(column, among or {}, checked_confidence(confidence))

    def median(self, column: str, *, among: Conditions | None = None, confidence: float = CONFIDENCE) -> Estimate:
        """The median of a column of numbers; everything else as for the mean."""
        with making_sense_of(self):
            return self.reading.median(column, among or {}, checked_confidence(confidence))

    def correlation(self, one: str, other: str, *, confidence: float = CONFIDENCE) -> Estimate:
        """How two columns go together, from -1 to 1; `how` says which correlation it is.

        Raises:
            ReleaseError: If the release does not tell it, and why.
        """
        with making_sense_of(self):
            return self.reading.correlation(one, other, checked_confidence(confidence))

    def replicates(self, number: int = REPLICATES) -> Iterator[pd.DataFrame]:
        """Yield records that everything opened, with fresh noise of the same law, would have given.

        They differ from each other by noise and by drawing, as this release does from one without noise. The same
        release gives the same ones.

        Raises:
            ReleaseError: If its mechanism draws no records from what it opened.
        """
        said = json.dumps([self.certificate.to_json(), measurements_json(self.published)]).encode()
        key = hashlib.sha256(b"copublish replicates 1" + said).digest()
        for which in range(number):
            with making_sense_of(self):
                records = replicate(self, Draws(key + which.to_bytes(8, "little")))
            yield cast("pd.DataFrame", records.to_pandas())

    def estimate(
        self,
        statistic: Callable[[pd.DataFrame], float],
        *,
        replicates: int = REPLICATES,
        confidence: float = CONFIDENCE,
    ) -> Estimate:
        """Any statistic of the records, with an interval from replicates.

        The interval is about what the mechanism would have made of the joint table without noise. What its model leaves
        out is not in it, so take `mean`, `share` or `correlation` where they answer. Where it matters where numbers lie
        inside an agreed cell, as for people below 33 in a cell [30, 40), the answer names the cell, and the interval
        holds what it hides.

        Args:
            statistic: From a data frame of records to a number.
            replicates: How many times noise is drawn afresh.
            confidence: Of the interval.

        Raises:
            ReleaseError: If the mechanism draws no records from what it opened.
        """
        value = float(statistic(cast("pd.DataFrame", self.records.to_pandas())))
        found = [float(statistic(frame)) for frame in self.replicates(check_replicates(replicates))]
        estimate = interval_by_replicates(value, found, checked_confidence(confidence))
        runs = self.published.generalized
        cells = {name: ColumnCells.of(own, runs.get(name)) for name, own in self.published.columns.domains.items()}
        records = cast("pd.DataFrame", self.records.to_pandas())
        return with_insides(estimate, list(dependences(records, cells, statistic)))
