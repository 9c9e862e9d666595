"""Links that `copublish doctor` has measured, and a secure run's time and traffic over one, by the cost model.

They are known by the parties at both ends and where they are: an agreement that changes otherwise keeps its links.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from copublish.agreement.model import Agreement
from copublish.engines.spu.products import records_of_products
from copublish.files.home import home_folder, make_private_folder
from copublish.files.regular import read_regular
from copublish.party.local.simulation import simulate_fragments
from copublish.release.folder import Release
from copublish.tools.planning.costs import (
    MIB,
    PredictedCost,
    Surroundings,
    measured_coefficients,
    predict,
    round_trips_of,
    unknown_cost,
)
from copublish.tools.planning.hidden_membership import beside_shared, hiding_words, with_shared_membership
from copublish.tools.planning.marginals_cost import predict_from_agreement
from copublish.tools.planning.tables import as_fragments, made_up_table
from copublish.tools.planning.tunings import tuning_of

RECORDS = 1000
"""Of made-up data, whose release stands for the shapes of a real one."""


@dataclass(frozen=True)
class Link:
    """A link between two parties.

    Attributes:
        words: Where they are.
        round_trip_seconds: How long a message and its answer take.
        bytes_per_second: What the slower direction carries.
    """

    words: str
    round_trip_seconds: float
    bytes_per_second: float


def usual_links() -> dict[str, Link]:
    """Links that nobody has measured, by where the parties are."""
    return {
        "building": Link("in the same building", 0.001, 100 * MIB),
        "country": Link("in the same country", 0.02, 12 * MIB),
        "ocean": Link("across an ocean", 0.15, 6 * MIB),
    }


def predict_over_link(agreement: Agreement, *, round_trip_seconds: float, bytes_per_second: float) -> PredictedCost:
    """The seconds and MiB of a secure run over a link, or why there is no prediction.

    Args:
        agreement: The agreement; where it does not fix all shapes, its release is simulated once, on made-up records.
        round_trip_seconds: How long a message and its answer take.
        bytes_per_second: What the slower direction carries.
    """
    link = Surroundings(round_trip_seconds=round_trip_seconds, bytes_per_second=bytes_per_second)
    found = _over(agreement, link)
    found = beside_shared(found, agreement, agreement.records.expected, lambda other: _over(other, link))
    if found.seconds is None:
        return found
    waiting, transfer = found.waiting_seconds or 0.0, found.transfer_seconds or 0.0
    words = (
        f"{found.seconds - waiting - transfer:.1f} s of computing on two cores like this machine's, {waiting:.1f} s of "
        f"waiting for messages and {transfer:.1f} s of transfers."
    )
    more = (None if found.rounds is None else _rounds(found), hiding_words(found.to_json()))
    return replace(found, why=" ".join([words, *filter(None, more)]))


def _over(agreement: Agreement, link: Surroundings) -> PredictedCost:
    found = predict_from_agreement(agreement, link)
    if found is None:
        if agreement.engine.name != "spu" or (tuning := tuning_of(agreement)) is None:
            return unknown_cost(agreement)
        generator = np.random.default_rng(0)
        table = made_up_table(agreement, RECORDS, generator)
        fragments = as_fragments(agreement, table, generator, with_numbers=agreement.mechanism.reads_numbers)
        release = simulate_fragments(with_shared_membership(agreement), fragments)
        found = predict(
            agreement, tuning.work(agreement, release, agreement.records.expected, records_of_products), link
        )
    return found


def _rounds(cost: PredictedCost) -> str:
    """How many rounds a prediction is for."""
    return f"That is with {cost.rounds} rounds; with all {cost.most_rounds} it is {cost.most_seconds:g} s."


def run_cost(agreement: Agreement, release: Release | None, n_records: int) -> PredictedCost:
    """The cost of a secure run on one machine, and how often parties wait for each other.

    Args:
        agreement: The agreement.
        release: One of it, whose shapes stand for those of the run.
        n_records: How many records there would be.
    """
    if (found := predict_from_agreement(agreement)) is not None:
        return found
    tuning = tuning_of(agreement)
    if agreement.engine.name != "spu" or tuning is None or release is None:
        return unknown_cost(agreement)

    def of(other: Agreement) -> PredictedCost:
        work = tuning.work(other, release, n_records, records_of_products)
        return replace(predict(other, work), round_trips=round_trips_of(work, measured_coefficients()))

    return beside_shared(of(agreement), agreement, n_records, of)


def over_link(cost: Mapping[str, Any], link: Link) -> dict[str, Any]:
    """The same over a link."""
    if cost["seconds"] is None:
        return {key: cost[key] for key in ("seconds", "mib_sent", "why")}
    waits = cost["round_trips"] * link.round_trip_seconds
    # As `cost_of` adds them: while one sends the other mostly waits for it.
    transfers = cost["mib_sent"] * MIB / link.bytes_per_second
    return {
        "seconds": round(cost["seconds"] + waits + transfers, 1),
        "mib_sent": cost["mib_sent"],
        "why": (
            f"{cost['seconds']:g} s of computing on two cores like this machine's, {waits:.1f} s of waiting for "
            f"messages and {transfers:.1f} s of transfers."
            + (f" That is with {cost['rounds']} rounds of at most {cost['most_rounds']}." if "rounds" in cost else "")
        ),
    }


LARGEST_FILE = 2**20


@dataclass(frozen=True)
class _StoredLink:
    """A link as the file has it; the slower direction."""

    round_trip_seconds: float
    bytes_per_second: float
    day: str


def keep_link(
    agreement: Agreement, party: str, peer: str, *, round_trip_seconds: float, bytes_per_second: float
) -> None:
    """Keep what was measured between two parties; an older measurement goes."""
    known = _known()
    day = datetime.now(UTC).date().isoformat()
    known[_ends(agreement, party, peer)] = _StoredLink(round_trip_seconds, bytes_per_second, day)
    file = _file()
    make_private_folder(file.parent)
    new = file.with_name(f".{file.name}-{os.urandom(4).hex()}")
    new.write_text(json.dumps({ends: asdict(one) for ends, one in known.items()}, indent=2) + "\n", encoding="utf-8")
    new.replace(file)


def measured_link(agreement: Agreement, party: str) -> Link | None:
    """The slowest link of a party, if those to all others were measured; its words say when, and what it is like."""
    known = _known()
    found = [known.get(_ends(agreement, party, peer)) for peer in agreement.parties if peer != party]
    links = [one for one in found if one is not None]
    if not links or len(links) < len(found):
        return None
    trip, rate = max(one.round_trip_seconds for one in links), min(one.bytes_per_second for one in links)
    day = min(one.day for one in links)
    words = f"as far apart as 'copublish doctor' measured on {day}: {like(trip, rate)}"
    return Link(words, trip, rate)


def like(round_trip_seconds: float, bytes_per_second: float) -> str:
    """What a link is like, in words."""
    return f"round trip {1000 * round_trip_seconds:.3g} ms, {8 * bytes_per_second / 1e6:.3g} Mbit/s"


def _file() -> Path:
    return home_folder() / "links.json"


def _ends(agreement: Agreement, party: str, peer: str) -> str:
    return " - ".join(f"{name} at {agreement.parties[name].host or 'no host'}" for name in (party, peer))


def _known() -> dict[str, _StoredLink]:
    """What was kept; nothing of a file that is damaged, since it can be measured again."""
    try:
        content = json.loads(read_regular(_file(), LARGEST_FILE))
        found = {
            ends: _StoredLink(float(said["round_trip_seconds"]), float(said["bytes_per_second"]), str(said["day"]))
            for ends, said in content.items()
        }
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return {}
    return {ends: one for ends, one in found.items() if one.round_trip_seconds >= 0 and one.bytes_per_second > 0}
