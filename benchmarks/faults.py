"""The fault tables: break real runs on purpose and write what was left of them to docs/faults.md.

    make benchmark-faults    # some 25 minutes; root on Linux, for links and disks

Each run is real `copublish run` processes over mutual TLS: two parties, some over a relay; two compute nodes and two
guests; three owners of masked sums and a helper that adds them up. Kills, freezes and cuts come at random moments.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from measuring import Measuring, run, write_between
from support import faults
from support.faults import PHASES, Fault, Outcome
from support.many_parties import GUESTS, MASKED, Together
from support.node import NAMES

SHORT = ("--faults", "1")
OPTIONAL = ("promises broken",)

PAGE = Path(__file__).parent.parent / "docs" / "faults.md"
TABLES = {"two": ("<!-- table -->", "<!-- end of table -->"), "many": ("<!-- many -->", "<!-- end of many -->")}


def faults_of_two(generator: random.Random, random_moments: int) -> list[Fault]:
    """Return kills of both parties in every phase and at random moments, and every other fault."""
    kills = [partial(faults.killed, who=who, phase=phase) for phase in PHASES for who in NAMES]
    # The last phase takes a fraction of a second.
    found: list[Fault] = [
        partial(kill, delay=generator.uniform(0, 0.1 if kill.keywords["phase"] == "writing" else 1)) for kill in kills
    ]
    for number in range(random_moments):
        delay = generator.uniform(0, 8)
        found.append(partial(faults.killed, who=NAMES[number % 2], phase="listening", delay=delay))
    found += [partial(faults.killed_while_compared, who=who) for who in NAMES]
    for phase in ("met", "specialization", "writing"):
        for who in NAMES:
            delay = generator.uniform(0, 0.1 if phase == "writing" else 0.8)
            found.append(partial(faults.killed, who=who, phase=phase, delay=delay, is_hidden=True))
    for phase in ("alignment", "leaf counts"):
        found.append(partial(faults.killed, who="bank", phase=phase, delay=0.2, worker=True))
    found += [partial(faults.shard_worker_killed, who=who) for who in NAMES]
    for phase in PHASES[1:-1]:
        who, delay = generator.choice(NAMES), generator.uniform(0, 0.8)
        found.append(partial(faults.frozen, who=who, phase=phase, delay=delay, goes_on=generator.random() < 0.5))
    for phase in ("met", "specialization", "leaf noise", "writing"):
        found += [partial(faults.cut, phase=phase, seconds=5), partial(faults.cut, phase=phase, seconds=None)]
    for phase in ("met", "specialization", "writing"):
        found.append(partial(faults.relay_ends, phase=phase, delay=generator.uniform(0, 0.1)))
    found.append(partial(faults.relay_ends, phase="specialization", delay=0.3, frozen=True))
    found += [partial(faults.disk_full, who=who) for who in NAMES]
    found += [partial(faults.ledger_locked, who="loans", phase=phase) for phase in ("met", "specialization", "writing")]
    return found


def faults_of_many(generator: random.Random, random_moments: int) -> list[Fault]:
    """Return kills, freezes and cuts of a guest and of a node, and of an owner and the aggregator of masked sums."""

    def moment(together: Together, who: str, *phases: str) -> dict[str, Any]:
        phase = generator.choice(phases or together.phases[1:-1])
        return {"together": together, "who": who, "phase": phase, "delay": generator.uniform(0, 0.8)}

    found: list[Fault] = []
    for together, one, other in ((GUESTS, "guest-c", "node-b"), (MASKED, "owner-b", "helper")):
        for phase in together.phases:
            # The last phase takes a fraction of a second.
            longest = 0.1 if phase == "writing" else 0.8
            for who in (one, other):
                chosen = {"together": together, "who": who, "phase": phase, "delay": generator.uniform(0, longest)}
                found.append(partial(faults.killed_of_many, **chosen))
        for number in range(random_moments // 2):
            chosen = {"together": together, "who": (one, other)[number % 2], "phase": "listening"}
            found.append(partial(faults.killed_of_many, **chosen, delay=generator.uniform(0, 8)))
        for who in (one, other):
            found.append(partial(faults.frozen_of_many, **moment(together, who, "met")))
            found += [partial(faults.frozen_of_many, **moment(together, who)) for _ in range(2)]
            found.append(partial(faults.cut_off_of_many, **moment(together, who), seconds=5))
            found += [partial(faults.cut_off_of_many, **moment(together, who), seconds=None) for _ in range(2)]
    found.append(partial(faults.killed_of_many, **moment(GUESTS, "node-b", "specialization"), worker=True))
    return found


def together_in_words(names: Iterable[str], of: Sequence[str]) -> str:
    """Names, or everybody or nobody."""
    found = list(names)
    return "nobody" if not found else "all" if len(found) == len(of) > 2 else " and ".join(found)


def by_party(said: Mapping[str, str]) -> str:
    """What holds for each party; of more than two, those for which the same holds stand together."""
    if len(said) == 2:
        return "; ".join(f"{name}: {what}" for name, what in said.items())
    who = {what: [name for name in said if said[name] == what] for what in dict.fromkeys(said.values())}
    return "; ".join(f"{'all' if len(names) == len(said) else ', '.join(names)}: {what}" for what, names in who.items())


def row(outcome: Outcome) -> str:
    names = list(outcome.ends)
    releases = together_in_words([name for name in names if outcome.releases[name]], names)
    charges = by_party({name: ", ".join(outcome.charges[name]) or "nothing" for name in names})
    broken = ", ".join(outcome.broken) or "none"
    cells = (outcome.fault, outcome.moment, by_party(outcome.ends), f"{outcome.seconds:.0f}", releases, charges, broken)
    return f"| {' | '.join(cells)} |"


def table(found: list[Outcome]) -> str:
    heading = "| fault | when | how all ended | after seconds | who has a release | charges | promises broken |"
    return "\n".join([heading, "| --- | --- | --- | --- | --- | --- | --- |", *map(row, found)])


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--moments", type=int, default=8, help="kills at random moments of the whole run")
    parser.add_argument("--faults", type=int, help="stop after so many faults and write nothing")
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES), help="default: all of them")


def measure(given: argparse.Namespace) -> Measuring:
    makers = {"two": faults_of_two, "many": faults_of_many}
    for name in given.tables:
        to_run = makers[name](random.Random(), given.moments)[: given.faults]
        with tempfile.TemporaryDirectory() as folder:
            found = faults.run_all(to_run, Path(folder), lambda outcome: print(row(outcome), file=sys.stderr))
        if given.faults is None:
            write_between(PAGE, TABLES[name], table(found))
        if broken := [outcome.fault for outcome in found if outcome.broken]:
            raise AssertionError(f"a promise was broken: {', '.join(broken)}")
        slowest = max(outcome.seconds for outcome in found)
        yield "Faults", {"parties": name, "faults": len(found), "seconds, longest": slowest, "promises broken": 0}


if __name__ == "__main__":
    run(sys.modules[__name__])
