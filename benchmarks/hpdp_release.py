"""Time and traffic of an hpdp release on the secure engine, beside the published Paillier way.

    make hpdp-benchmark ADULT=folder-with-adult.data-and-adult.test

All of Adult (45,222 records, 52 coordinates) spread at random over the owners, every party in a process of its own on
this machine; start-up, compilation and drawing the records are included. The published way encrypts p^2 entries at
every owner under 2048-bit Paillier; it is measured on a slice, in the same run, where `paillier_moments.py` is beside
this file. It is on exact sums: unlike the release it has no joint noise.
"""

from __future__ import annotations

import argparse
import importlib
import json
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import copublish as cp
from copublish.files.regular import MIB
from copublish.local.processes import simulate_in_processes
from copublish.progress import no_progress
from copublish_reproduction import datasets
from hpdp_accuracy import ELSEWHERE, agreement_for, attributes_of, spread
from hpdp_accuracy import read as read_train_and_test

COORDINATES = 52
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


def paillier(owners: int) -> dict[str, Any] | None:
    """Return what the published way takes, if its benchmark is there."""
    try:
        module = importlib.import_module("paillier_moments")
    except ImportError:
        return None
    return asdict(module.measure_paillier_moments(columns=COORDINATES, owners=owners))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with adult.data and adult.test")
    parser.add_argument("--owners", type=int, default=10)
    parser.add_argument("--noise", nargs="+", default=["laplace", "gaussian"])
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--format", choices=["text", "json"], default="text")
    given = parser.parse_args()
    table = read(given.data)
    attributes = {
        **attributes_of(given.data),
        "native-country": {"kind": "categorical", "values": COUNTRIES},
    }
    data, rows = spread(table, given.owners), []
    for noise in given.noise:
        agreement = agreement_for(attributes, len(table), given.epsilon, noise, given.owners)
        start = time.perf_counter()
        cp.simulate(agreement, data)
        ideal = time.perf_counter() - start
        seconds, mib = secure_release(agreement, data)
        rows.append({"noise": noise, "seconds": seconds, "ideal_seconds": ideal, "mib_sent": mib})
        if given.format == "text":
            sent = sorted(mib.values(), reverse=True)
            print(
                f"{noise:>9}: {seconds:6.1f} s secure, {ideal:.1f} s ideal; sent per owner {sent[0]:.1f} MiB at most, "
                f"{np.median(sent):.1f} MiB in the middle",
                flush=True,
            )
    published = paillier(given.owners)
    if given.format == "json":
        print(json.dumps({"owners": given.owners, "records": len(table), "rows": rows, "paillier": published}))
    elif published is None:
        print(" paillier: not measured, paillier_moments.py is not here")
    else:
        print(
            f" paillier: {published['seconds']:6.1f} s if all owners encrypt at the same time, "
            f"{published['processor_seconds']:.0f} s of processors; {published['owner_mib']:.1f} MiB per owner"
        )


if __name__ == "__main__":
    main()
