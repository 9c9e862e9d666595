"""Time and traffic of an hpdp release on the secure engine, beside the published Paillier way.

    make benchmark-hpdp_release ADULT=folder-with-adult.data-and-adult.test

All of Adult (45,222 records, 52 coordinates) spread at random over the owners, every party in a process of its own on
this machine; start-up, compilation and drawing the records are included. On the secure engine two owners compute; with
masked sums no engine runs, and owners can add shares of Laplace noise alone. The published way encrypts p^2 entries at
every owner under 2048-bit Paillier; it is measured on a slice, in the same run. It is on exact sums: unlike the release
it has no joint noise.
"""

from __future__ import annotations

import argparse
import itertools
import resource
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

import copublish as cp
from copublish.files.regular import MIB
from copublish.party.local.processes import simulate_in_processes
from copublish.progress import no_progress
from copublish_reproduction import datasets
from hpdp_accuracy import ELSEWHERE, agreement_for, attributes_of, spread
from hpdp_accuracy import read as read_train_and_test
from measuring import NOT_THERE, Measuring, needed, run
from paillier_moments import KEY_BITS, measure_paillier_moments

COORDINATES = 52
SHORT = ("--data", "made-up", "--owners", "2", "--columns", "2", "--key-bits", "512")
COUNTRIES = ["United-States", "Mexico", "Philippines", ELSEWHERE]


def read(folder: Path) -> pd.DataFrame:
    """Return all records, with four groups of countries: 52 coordinates."""
    table = pd.concat(read_train_and_test(folder), ignore_index=True)
    found = datasets.load_dataset("adult", folder)
    countries = pd.concat([found.train, found.test], ignore_index=True)["native-country"]
    return table.assign(**{"native-country": countries.where(countries.isin(COUNTRIES), ELSEWHERE)})


def secure_release(agreement: cp.Agreement, data: Mapping[str, pd.DataFrame]) -> tuple[float, dict[str, float]]:
    """Release once; return the seconds it took and what each party sent."""
    sent: dict[str, int] = {}
    start = time.perf_counter()
    simulate_in_processes(agreement, data, progress=no_progress, bytes_sent=sent)
    return time.perf_counter() - start, {party: n / MIB for party, n in sent.items()}


def processor_seconds() -> float:
    """What this process and its children have used."""
    whose = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, whose))


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--owners", type=int, default=10)
    parser.add_argument("--noise", nargs="+", default=["laplace", "gaussian"])
    parser.add_argument("--engines", nargs="+", choices=["spu", "masked-sum"], default=["spu", "masked-sum"])
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--key-bits", type=int, default=KEY_BITS, help="of Paillier's key")
    parser.add_argument("--columns", type=int, help="the first columns alone, to try this out")


def measure(given: argparse.Namespace) -> Measuring:
    folder = needed(given)
    table = read(folder)
    attributes = {**attributes_of(folder), "native-country": {"kind": "categorical", "values": COUNTRIES}}
    attributes = dict(list(attributes.items())[: given.columns])
    data = spread(table[[*attributes, table.columns[-1]]], given.owners)
    title = f"{len(table):,} records of {given.owners} owners"
    for engine, noise in itertools.product(given.engines, given.noise):
        if (engine, noise) == ("masked-sum", "gaussian"):
            continue
        agreement = agreement_for(attributes, len(table), given.epsilon, noise, given.owners)
        content = agreement.model_dump(mode="json", exclude_none=True, by_alias=True)
        agreement = cp.agreement_from_mapping(content | {"engine": {"name": engine}})
        used = processor_seconds()
        seconds, mib = secure_release(agreement, data)
        used = processor_seconds() - used
        start = time.process_time()
        cp.simulate(agreement, data)
        yield (
            title,
            {
                "way": f"{engine}, {noise} noise",
                "seconds": seconds,
                "CPU s": used,
                "CPU s, ideal": time.process_time() - start,
                "MiB sent, largest": max(mib.values()),
                "MiB sent, median": float(np.median(list(mib.values()))),
            },
        )
    cost = measure_paillier_moments(columns=COORDINATES, owners=given.owners, key_bits=given.key_bits)
    yield (
        title,
        {
            "way": f"published, Paillier with {given.key_bits} bits (scaled up; all owners encrypt at once)",
            "seconds": cost.seconds,
            "CPU s": cost.processor_seconds,
            "CPU s, ideal": NOT_THERE,
            "MiB sent, largest": cost.owner_mib,
            "MiB sent, median": cost.owner_mib,
        },
    )


if __name__ == "__main__":
    run(sys.modules[__name__])
