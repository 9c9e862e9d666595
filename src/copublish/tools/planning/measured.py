"""Links that `copublish doctor` has measured, kept for predictions of time and traffic.

They are known by the parties at both ends and where they are: an agreement that changes otherwise keeps its links.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from copublish.agreement.model import Agreement
from copublish.files.home import home_folder, make_private_folder
from copublish.files.regular import read_regular
from copublish.tools.planning.links import Link

LARGEST_FILE = 2**20


@dataclass(frozen=True)
class _Measured:
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
    known[_ends(agreement, party, peer)] = _Measured(round_trip_seconds, bytes_per_second, day)
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


def _known() -> dict[str, _Measured]:
    """What was kept; nothing of a file that is damaged, since it can be measured again."""
    try:
        content = json.loads(read_regular(_file(), LARGEST_FILE))
        found = {
            ends: _Measured(float(said["round_trip_seconds"]), float(said["bytes_per_second"]), str(said["day"]))
            for ends, said in content.items()
        }
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return {}
    return {ends: one for ends, one in found.items() if one.round_trip_seconds >= 0 and one.bytes_per_second > 0}
