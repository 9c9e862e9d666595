"""The part of a secure run that goes with hiding whom owners share: rows of the table, points of the curve, and words.

Operations are counted from the agreement. What one of them takes stands here, from a prototype of the protocol
between two owners on the machine of `coefficients.json`; a finished run replaces these numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pydantic.dataclasses import dataclass as typed

from copublish.agreement.loading import agreement_from_mapping
from copublish.agreement.model import Agreement
from copublish.engines.comparing.curve import POINT_BYTES
from copublish.engines.comparing.pseudonyms import PSEUDONYM_BYTES
from copublish.kernel.secrets.placement import HiddenJoin
from copublish.tools.planning.tuning import Work
from copublish.types import TypedJson

if TYPE_CHECKING:
    from copublish.tools.planning.costs import PredictedCost

MULTIPLICATIONS_PER_SECOND = 28_000
"""Of points of the curve, on one core."""

BUSY_CORES = 2
"""Both owners multiply at the same time, in worker processes, on the two cores of one machine."""

ROUND_TRIPS = 6
"""Messages that wait for each other until every person has a row, the comparison of the rows included."""

BYTES_OF_A_POINT = 65
"""In the memory of an owner, which has all points that were sent at once."""

MEASURED = "What hiding takes beside that was measured with one table of 30,162 people alone."

ROW_NUMBER_BYTES = 8
MILLION = 1e6


@typed(frozen=True, kw_only=True)
class HidingCost(TypedJson):
    """What a run takes because nobody learns whom owners share, beside the same run where all owners learn it.

    Attributes:
        rows: About how many the table has.
        most_rows: How many it can have, whoever is common: a public bound.
        shared_rows: How many it would have: one for every common person.
        shared_seconds: The seconds of that run.
        shared_mib_sent: Its traffic.
    """

    rows: int
    most_rows: int
    shared_rows: int
    shared_seconds: float | None
    shared_mib_sent: float | None


def rows_of(agreement: Agreement, n_records: int) -> int:
    """About how many rows the table of a run has.

    Args:
        agreement: What is run.
        n_records: How many people are common.

    Returns:
        As many rows as people. Where membership is hidden a row for every entry of a padded list, of which two owners
        share those of common people and about half of the pools that are drawn.
    """
    join = HiddenJoin.of(agreement)
    if join is None:
        return n_records
    if join.size is None:
        return join.most_rows
    return max(join.most_rows - n_records - join.size.pool, *map(join.length_of, join.at_most))


def join_work(agreement: Agreement, n_records: int) -> Work:
    """The work of putting people into rows; nothing where membership is not hidden.

    Two owners multiply each of their points once for their own list, twice for the other's, and once more for a
    name; then three times for each entry that only one of them lists: to ask, to answer and to read the answer.
    """
    join = HiddenJoin.of(agreement)
    if join is None:
        return Work()
    listed = sum(map(join.length_of, join.at_most))
    if join.size is None:
        sent = listed * (PSEUDONYM_BYTES + ROW_NUMBER_BYTES) / POINT_BYTES
        return Work(people=listed / MILLION, points=sent / MILLION)
    of_one = 2 * rows_of(agreement, n_records) - listed  # entries without a counterpart
    return Work(multiplied=(4 * listed + 3 * of_one) / MILLION, points=(3 * listed + 2 * of_one) / MILLION)


def with_shared_membership(agreement: Agreement) -> Agreement:
    """The same agreement where all owners learn whom they share; itself if they do.

    Privacy:
        Its release has the same law, so trials are made with it: their tables have no rows of padding.
    """
    if not agreement.hides_membership:
        return agreement
    content = agreement.model_dump(by_alias=True)
    content["records"] |= {"membership": None, "at_most": None}
    content["privacy"] |= {"membership_epsilon": None}
    content["mechanism"] = agreement.mechanism.model_dump(exclude_unset=True)
    return agreement_from_mapping(content)


def beside_shared(
    cost: PredictedCost, agreement: Agreement, n_records: int, predict: Callable[[Agreement], PredictedCost | None]
) -> PredictedCost:
    """A prediction, with that of the same run where all owners learn whom they share beside it.

    Args:
        cost: The prediction.
        agreement: What is run.
        n_records: How many people are common.
        predict: Predicts a run of another agreement.
    """
    join = HiddenJoin.of(agreement)
    if join is None or cost.seconds is None:
        return cost
    shared = predict(with_shared_membership(agreement))
    hiding = HidingCost(
        rows=rows_of(agreement, n_records),
        most_rows=join.most_rows,
        shared_rows=n_records,
        shared_seconds=None if shared is None else shared.seconds,
        shared_mib_sent=None if shared is None else shared.mib_sent,
    )
    return replace(cost, hiding=hiding, why=f"{cost.why} {MEASURED}")


def hiding_words(cost: Mapping[str, Any]) -> str | None:
    """What hiding costs, in sentences; nothing where nothing is hidden.

    Args:
        cost: The JSON values of a `PredictedCost`.
    """
    if (hiding := cost.get("hiding")) is None:
        return None
    shared = ""
    if hiding.get("shared_seconds") is not None:
        shared = (
            f' With membership = "shared" the run takes about {hiding["shared_seconds"]:.0f} s and '
            f"{hiding['shared_mib_sent']:.0f} MiB, and all owners learn which of their people are common."
        )
    return (
        f"Nobody learns whom the owners share, so the table has a row for everybody whom any of them lists, and for "
        f"padding: about {hiding['rows']:,} rows (at most {hiding['most_rows']:,}, the sum of all lists) in the place "
        f"of {hiding['shared_rows']:,}.{shared}"
    )
