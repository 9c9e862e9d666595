"""The fault table: breaks real runs on purpose and writes what was left of them to docs/faults.md.

    make faults            # everything, some 15 minutes; needs root on Linux, for the link and the small disk

Each run is two `copublish run` processes over mutual TLS. Kills come at random moments of every phase.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from functools import partial
from pathlib import Path

from support import faults
from support.faults import PHASES, Fault, Outcome
from support.node import NAMES

PAGE = Path(__file__).parent.parent / "docs" / "faults.md"
START, END = "<!-- table -->", "<!-- end of table -->"


def all_faults(generator: random.Random, random_moments: int) -> list[Fault]:
    """Return kills of both parties in every phase and at random moments, and every other fault."""
    kills = [partial(faults.killed, who=who, phase=phase) for phase in PHASES for who in NAMES]
    # The last phase takes a fraction of a second.
    found: list[Fault] = [
        partial(kill, delay=generator.uniform(0, 0.1 if kill.keywords["phase"] == "writing" else 1)) for kill in kills
    ]
    for number in range(random_moments):
        delay = generator.uniform(0, 8)
        found.append(partial(faults.killed, who=NAMES[number % 2], phase="listening", delay=delay))
    for phase in ("alignment", "leaf counts"):
        found.append(partial(faults.killed, who="bank", phase=phase, delay=0.2, worker=True))
    for phase in ("met", "specialization", "leaf noise", "writing"):
        found += [partial(faults.cut, phase=phase, seconds=5), partial(faults.cut, phase=phase, seconds=None)]
    found += [partial(faults.disk_full, who=who) for who in NAMES]
    found += [partial(faults.ledger_locked, who="loans", phase=phase) for phase in ("met", "specialization", "writing")]
    return found


def row(outcome: Outcome) -> str:
    releases = " and ".join(name for name in NAMES if outcome.releases[name]) or "nobody"
    charges = "; ".join(f"{name}: {', '.join(outcome.charges[name]) or 'nothing'}" for name in NAMES)
    ends = "; ".join(f"{name}: {outcome.ends[name]}" for name in NAMES)
    broken = ", ".join(outcome.broken) or "none"
    cells = (outcome.fault, outcome.moment, ends, f"{outcome.seconds:.0f}", releases, charges, broken)
    return f"| {' | '.join(cells)} |"


def table(found: list[Outcome]) -> str:
    heading = "| fault | when | how both ended | after seconds | who has a release | charges | promises broken |"
    return "\n".join([heading, "| --- | --- | --- | --- | --- | --- | --- |", *map(row, found)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--moments", type=int, default=8, help="kills at random moments of the whole run")
    parser.add_argument("--only", type=int, help="stop after so many faults and write nothing")
    options = parser.parse_args()
    faults_to_run = all_faults(random.Random(), options.moments)[: options.only]
    with tempfile.TemporaryDirectory() as folder:
        found = faults.run_all(faults_to_run, Path(folder), lambda outcome: print(row(outcome), flush=True))
    if options.only is None:
        before, _, rest = PAGE.read_text().partition(START)
        PAGE.write_text(f"{before}{START}\n{table(found)}\n{END}{rest.partition(END)[2]}")
    if any(outcome.broken for outcome in found):
        sys.exit("A promise was broken; see the last column.")


if __name__ == "__main__":
    main()
