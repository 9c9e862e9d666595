"""A secure release in which nobody learns whom the owners share, beside the same one in which all owners learn it.

    make benchmark-hidden_membership ADULT=folder-with-adult.data

Adult by columns: both owners list as many people, and nine of ten are common. Lists are as long as their public
lengths. Both releases have the same coins, and the same tables. The parties run as `copublish run` does, over mutual
TLS: on one host, and at two network namespaces whose link takes 40 ms there and back and carries 100 Mbit/s each way.
That needs root and Linux; traffic is counted on the link. A release of each kind before the others compiles all
programs. The largest process is a party or its engine's worker, not one that multiplies points. Without --data the
table is made up.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

import copublish as cp
from marginals_release import adult_by_columns
from marginals_shapes import children_seconds
from measuring import NOT_THERE, Measuring, run
from secure_runs import SCALING_AGREEMENT, made_up
from support.hosts import WideArea
from wide_area import IDENTIFIER, LOOPBACK, WIDE_AREA, Measured, measure_release

Membership = Literal["shared", "hidden"]

SHORT = ("--records", "300", "--round-trip", "0.002", "--no-first")
MEMBERSHIP_EPSILON = "0.1"
MADE_UP_MECHANISM = {"name": "marginals", "rounds": 1, "tables": "pairs"}


def agreement_with(agreement: cp.Agreement, membership: Membership, n: int, n_common: int) -> cp.Agreement:
    """The same agreement on people who are joined by an identifier.

    Args:
        agreement: Of two owners of columns.
        membership: Whether owners learn who is common.
        n: How many people each of them lists.
        n_common: How many are common.
    """
    content = agreement.model_dump(mode="json", exclude_none=True, by_alias=True)
    content["records"] = {"identifier": IDENTIFIER, "expected": n_common}
    if membership == "hidden":
        content["records"] |= {"membership": "hidden", "at_most": dict.fromkeys(agreement.owners, n)}
        content["privacy"]["membership_epsilon"] = MEMBERSHIP_EPSILON
    return cp.agreement_from_mapping(content)


def with_people(frames: Mapping[str, pd.DataFrame], share: float) -> tuple[dict[str, pd.DataFrame], int]:
    """What each owner holds, in an order of its own, and how many people are common.

    The people whom only the second owner lists have values of some whom only the first one lists. No release counts
    either.
    """
    n = len(next(iter(frames.values())))
    alone = n - round(n * share)
    people = np.random.default_rng(0).permutation(n + alone).astype(str)
    held = {}
    for number, (party, frame) in enumerate(frames.items()):
        own = people[number * alone :][:n]
        rolled = frame.iloc[np.roll(np.arange(n), -number * alone)]
        held[party] = rolled.assign(**{IDENTIFIER: own}).sample(frac=1, random_state=number)
    return held, n - alone


def table_of(given: argparse.Namespace) -> tuple[cp.Agreement, dict[str, pd.DataFrame]]:
    """Adult if there is a folder with it, else a made-up table of few cells."""
    if given.data is not None:
        return adult_by_columns(given.data, None)
    content: dict[str, Any] = {**SCALING_AGREEMENT, "mechanism": MADE_UP_MECHANISM}
    content["attributes"] = {
        name: {**attribute, "grid": {"count": 5}} for name, attribute in SCALING_AGREEMENT["attributes"].items()
    }
    return cp.agreement_from_mapping(content), made_up(given.records)


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--records", type=int, default=30_000, help="of each owner, of the made-up table")
    parser.add_argument("--common", type=float, default=0.9, metavar="SHARE", help="of each owner's people")
    parser.add_argument("--links", nargs="+", choices=[LOOPBACK, WIDE_AREA], default=[LOOPBACK, WIDE_AREA])
    parser.add_argument(
        "--first", action=argparse.BooleanOptionalAction, default=True, help="begin with some that compile everything"
    )
    parser.add_argument("--round-trip", type=float, default=0.040, metavar="SECONDS")
    parser.add_argument("--rate", type=float, default=100e6, metavar="BITS_PER_SECOND")


def measure(given: argparse.Namespace) -> Measuring:
    plain, columns = table_of(given)
    frames, n_common = with_people(columns, given.common)
    n = len(next(iter(frames.values())))
    agreements = {kind: agreement_with(plain, kind, n, n_common) for kind in ("shared", "hidden")}
    if os.geteuid() != 0:
        print("The link between two hosts needs root: loopback alone.", file=sys.stderr)
        given.links = [LOOPBACK]
    with tempfile.TemporaryDirectory() as folder:
        programs = Path(folder) if given.first else None
        if given.first:
            for kind, agreement in agreements.items():
                measure_release(f"first, {kind}", agreement, frames, None, programs)
        for name in given.links:
            link = WideArea(given.round_trip, given.rate) if name == WIDE_AREA else None
            shared: Measured | None = None
            for kind, agreement in agreements.items():
                used = children_seconds()
                found = measure_release(f"{name}, {kind}", agreement, frames, link, programs)
                used = children_seconds() - used
                shared = shared or found
                if tables_of_release(found) != tables_of_release(shared):
                    raise AssertionError("hidden and shared membership have other tables although coins are the same")
                yield (
                    f"{n:,} and {n:,} people, {n_common:,} in common",
                    {
                        "link": f"{1000 * given.round_trip:g} ms, {given.rate / 1e6:g} Mbit/s" if link else name,
                        "membership": kind,
                        "seconds": found.seconds,
                        "times shared": found.seconds / shared.seconds,
                        "CPU s": used,
                        "MiB": found.total.mib or NOT_THERE,
                        "rounds": found.total.rounds or NOT_THERE,
                        "largest process, MiB": found.peak_mib,
                    },
                )


def tables_of_release(release: Measured) -> dict[str, bytes]:
    """The measured tables of a release, as they are published."""
    return {name: content for name, content in release.files.items() if name.startswith("measured/")}


if __name__ == "__main__":
    run(sys.modules[__name__])
