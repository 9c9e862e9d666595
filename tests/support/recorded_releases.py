"""Releases under fixed coins, whose bytes are recorded: a change of structure must not change what is published.

A case is an agreement and a made-up table. The file beside this module has, for every case and engine, the digests of
the data files and what the certificate promises. `python tests/support/recorded_releases.py --record` writes it.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.metadata
import json
import os
import sys
import time
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

RECORDED = Path(__file__).with_suffix(".json")

COINS, OTHER_COINS = 7, 8
"""Seeds of the recorded coins, and of others that show that the coins matter."""

TEXTS = ("README.md", "certificate.json", "croissant.json", "prov.json", "deployment.yaml", "nist-sp-800-226.json")
"""Files that are about the data. They name the date and the versions, so their bytes are not recorded."""

VERSIONS = ("numpy", "pandas", "pyarrow", "scipy", "spu")
"""Packages that the bytes may depend on."""


@dataclass(frozen=True)
class Case:
    """A release to record.

    Attributes:
        agreement: The agreement, as its file would have it.
        records: How many people the table has.
        is_secure: Whether the agreed engine is recorded, too; the ideal one always is.
        guests: Parties whose coins are all 0, because guests of compute nodes add none to the joint coins.
    """

    agreement: dict[str, Any]
    records: int = 120
    is_secure: bool = False
    guests: tuple[str, ...] = ()

    @property
    def engines(self) -> tuple[str, ...]:
        """The engines that the case is recorded with."""
        return ("ideal", *([self.agreement.get("engine", {}).get("name", "spu")] if self.is_secure else []))


TREE = {"ANY": {"Worker": {"cook": {}, "clerk": {}, "driver": {}}, "Doctor": {"surgeon": {}, "vet": {}}}}

EQUAL = {"allocation": "uniform"}

WEIGHTS = {"allocation": "weights", "weights": {"job": 2, "region": 1, "age": "1.5", "income": 3, "default": 1}}

GAINS = {"allocation": "use-informative"}

PROTECTED = {"allocation": "protect-informative"}

GAINS_ABOUT_JOB = {"allocation": "use-informative", "label": "job", "share": "0.3"}

NOT_PRIVATE = "idp-ir does not protect cluster membership; this is not differential privacy"


def agreed(
    partition: str,
    mechanism: dict[str, Any],
    *,
    parties: int = 2,
    helper: bool = False,
    classes: int = 2,
    class_at: str | None = None,
    missing: tuple[str, ...] = (),
    public: bool = False,
    expected: int = 150,
    row_order: bool = False,
    identifier: bool = True,
    decimals: int | None = None,
    attributes: tuple[str, ...] = ("job", "region", "age", "income"),
    says_missing: bool = True,
    privacy: dict[str, Any] | None = None,
    budget: dict[str, Any] | None = None,
    engine: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Return an agreement between p0, p1, ... about a few columns; a helper is a party without data.

    Missing and unlisted values become the first value of their column, or have a category of their own where `missing`
    names the column. With `says_missing=False` the other columns leave this to the defaults of an agreement.
    """
    owners = [f"p{number}" for number in range(parties)]
    known: dict[str, dict[str, Any]] = {
        "job": {"kind": "categorical", "taxonomy": TREE},
        "region": {"kind": "categorical", "values": ["north", "south", "east"]},
        "age": {"kind": "numerical", "bounds": [18, 99], "grid": {"edges": [30, 60]}},
        "income": {"kind": "numerical", "bounds": [0, 100], "grid": {"step": 25}},
    }
    if says_missing:
        for name, first in {"job": "cook", "region": "north"}.items():
            known[name] |= {"missing": first, "unlisted": first}
        for name in ("age", "income"):
            known[name]["missing"] = known[name]["bounds"][0]
    if decimals is not None:
        known["income"]["decimals"] = decimals
    columns = {name: known[name] for name in attributes}
    for number, (name, column) in enumerate(columns.items()):
        if name in missing:
            column["missing"] = "category"
        if partition == "vertical":
            column["held_by"] = owners[number % parties]
    if partition == "arbitrary":
        columns[attributes[-1]]["held_by"] = owners[-1]  # one whole column; cells of the others are spread
    records: dict[str, Any] = {"expected": expected, "public": public}
    if row_order:
        records["alignment"] = "row-order"
    elif identifier:
        records["identifier"] = "id"
    return {
        "format": 1,
        "name": "recorded",
        "dataset": "people",
        "partition": partition,
        "parties": {owner: {} for owner in owners} | ({"helper": {"data": False}} if helper else {}),
        "records": records,
        "class": {"name": "default", "values": ["no", "yes", "perhaps", "later"][:classes]}
        | ({"held_by": class_at} if class_at else {}),
        "attributes": columns,
        "privacy": {"epsilon": 2, "neighbors": "replace" if public else "add-remove", **(privacy or {})},
        "mechanism": mechanism,
        **({"budget": budget} if budget else {}),
        **({"engine": engine} if engine else {}),
    }


def specialization(score: str, name: str = "specialization", **others: Any) -> dict[str, Any]:
    """Return the section about a mechanism that specializes."""
    return {"name": name, "specializations": 3, "score": score, **others}


def clusters(sensitivity: str | None = None, order: str | None = None) -> dict[str, Any]:
    """Return the section about idp-ir; what is not said stays out of the agreement."""
    said = {"local_sensitivity": sensitivity, "category_order": order}
    section = {"name": "idp-ir", "k": 5, "acknowledge": NOT_PRIVATE}
    return section | {key: value for key, value in said.items() if value is not None}


def marginals(**keys: Any) -> dict[str, Any]:
    """Return the section about marginals."""
    return {"name": "marginals", **keys}


SUMS = {"name": "masked-sum"}
SUMS_AT_HELPER = {"name": "masked-sum", "aggregator": "helper"}
COPULA, VHDP = {"name": "copula"}, {"name": "vhdp"}
MUCH = {"epsilon": 8}
"""So that few people are enough for rounds."""

FEW = ("job", "age")
"""Few columns, where a secure engine would spend its time on compiling for many."""

CASES: dict[str, Case] = {
    # Specialization: every score, for every partition.
    "specialization vertical max": Case(agreed("vertical", specialization("max")), is_secure=True),
    "specialization vertical max class-at-one 4-classes": Case(
        agreed("vertical", specialization("max"), class_at="p1", classes=4), is_secure=True
    ),
    "specialization vertical max public row-order": Case(
        agreed("vertical", specialization("max"), public=True, row_order=True), 90
    ),
    "specialization vertical max 3-parties": Case(agreed("vertical", specialization("max"), parties=3), 200),
    "specialization vertical tv-gain class-at-one 3-classes": Case(
        agreed("vertical", specialization("tv-gain"), class_at="p0", classes=3), is_secure=True
    ),
    "specialization vertical balanced-gain missing": Case(
        agreed("vertical", specialization("balanced-gain"), missing=("job", "income")), 200, is_secure=True
    ),
    "specialization vertical auto": Case(agreed("vertical", specialization("auto")), 250, is_secure=True),
    "specialization horizontal max missing": Case(
        agreed("horizontal", specialization("max"), missing=("region", "age")), is_secure=True
    ),
    "specialization horizontal tv-gain 3-parties": Case(
        agreed("horizontal", specialization("tv-gain"), parties=3, identifier=False), 200
    ),
    "specialization horizontal balanced-gain public": Case(
        agreed("horizontal", specialization("balanced-gain"), public=True, classes=3), 200
    ),
    "specialization horizontal auto 3-classes": Case(
        agreed("horizontal", specialization("auto"), classes=3), 300, is_secure=True
    ),
    "specialization horizontal max guest": Case(
        agreed("horizontal", specialization("max"), parties=3, identifier=False, attributes=FEW),
        is_secure=True,
        guests=("p2",),
    ),
    "specialization arbitrary max class-at-one": Case(
        agreed("arbitrary", specialization("max"), class_at="p0"), is_secure=True
    ),
    "specialization arbitrary tv-gain missing 3-classes": Case(
        agreed("arbitrary", specialization("tv-gain"), missing=("job", "age"), classes=3), is_secure=True
    ),
    "specialization arbitrary balanced-gain 3-parties": Case(
        agreed("arbitrary", specialization("balanced-gain"), parties=3), 200
    ),
    "specialization arbitrary auto public": Case(agreed("arbitrary", specialization("auto"), public=True), 250),
    "distdiffgen vertical max shares": Case(
        agreed("vertical", specialization("max", "distdiffgen", selection_share="0.25", max_cells=24))
    ),
    "arbdistdp arbitrary max none-to-select": Case(
        agreed("arbitrary", specialization("max", "arbdistdp") | {"specializations": 0})
    ),
    # Marginals: both laws of noise, every kind of tables. Models are fitted in floating point, which other processors
    # round in another way: parties agree on one, and these bytes are those of the usual processor (`processors.py`).
    "marginals vertical gaussian": Case(
        agreed("vertical", marginals(rounds=3), privacy={"delta": "1e-6", **MUCH}), 300, is_secure=True
    ),
    "marginals vertical laplace class-at-one columns missing": Case(
        agreed("vertical", marginals(rounds=3, first="columns"), class_at="p1", missing=("job",), privacy=MUCH), 300
    ),
    "marginals arbitrary gaussian triples 3-classes": Case(
        agreed("arbitrary", marginals(rounds=2, tables="class-triples"), classes=3, privacy={"delta": "1e-5", **MUCH}),
        300,
        is_secure=True,
    ),
    "marginals horizontal laplace public decimals": Case(
        agreed("horizontal", marginals(rounds=4), public=True, expected=300, decimals=1, privacy=MUCH), 300
    ),
    "marginals horizontal gaussian 4-owners guests": Case(
        agreed(
            "horizontal",
            marginals(rounds=2, records=100),
            parties=4,
            identifier=False,
            attributes=FEW,
            privacy={"delta": "1e-6", **MUCH},
        ),
        300,
        is_secure=True,
        guests=("p2", "p3"),
    ),
    "marginals horizontal masked-sum listed 3-owners": Case(
        agreed(
            "horizontal",
            marginals(tables=[["job", "age"], ["region", "income", "default"]]),
            parties=3,
            identifier=False,
            engine=SUMS,
        ),
        300,
        is_secure=True,
    ),
    # Copula: every way to divide the budget, for every partition.
    "copula vertical uniform": Case(agreed("vertical", COPULA, budget=EQUAL), 150, is_secure=True),
    "copula vertical weights class-at-one missing": Case(
        agreed("vertical", COPULA, budget=WEIGHTS, class_at="p1", missing=("job", "income")), 150
    ),
    "copula vertical use-informative 3-classes": Case(
        agreed("vertical", COPULA, budget=GAINS, classes=3), 200, is_secure=True
    ),
    "copula vertical use-informative 3-parties": Case(
        agreed("vertical", COPULA, budget=GAINS_ABOUT_JOB, parties=3), 150
    ),
    "copula horizontal uniform missing decimals": Case(
        agreed("horizontal", COPULA, missing=("region", "income"), decimals=2), 150, is_secure=True
    ),
    "copula horizontal weights public": Case(agreed("horizontal", COPULA, budget=WEIGHTS, public=True), 150),
    "copula horizontal use-informative share": Case(
        agreed("horizontal", COPULA | {"dependence_share": "0.5"}, budget=GAINS_ABOUT_JOB), 200, is_secure=True
    ),
    "copula arbitrary uniform class-at-one": Case(agreed("arbitrary", COPULA, class_at="p1"), 150),
    "copula arbitrary weights missing": Case(
        agreed("arbitrary", COPULA, budget=WEIGHTS, missing=("job", "age")), 150, is_secure=True
    ),
    "copula arbitrary use-informative public 3-classes": Case(
        agreed("arbitrary", COPULA, budget=GAINS, public=True, classes=3), 200
    ),
    "copula horizontal masked-sum": Case(
        agreed("horizontal", COPULA, identifier=False, engine=SUMS), 150, is_secure=True
    ),
    "copula horizontal masked-sum weights helper identifier": Case(
        agreed("horizontal", COPULA, budget=WEIGHTS, helper=True, engine=SUMS_AT_HELPER), 150, is_secure=True
    ),
    "copula horizontal masked-sum 3-owners colluders missing": Case(
        agreed(
            "horizontal", COPULA, parties=3, identifier=False, missing=("job", "age"), engine=SUMS | {"colluders": 2}
        ),
        150,
        is_secure=True,
    ),
    # Hpdp: both laws of noise.
    "hpdp laplace": Case(agreed("horizontal", {"name": "hpdp", "noise": "laplace"}), 150, is_secure=True),
    "hpdp unsaid-noise public records": Case(
        agreed("horizontal", {"name": "hpdp", "records": 80}, public=True, decimals=1), 200
    ),
    "hpdp laplace missing 3-classes": Case(
        agreed("horizontal", {"name": "hpdp", "noise": "laplace"}, missing=("job", "income"), classes=3), 200
    ),
    "hpdp gaussian": Case(
        agreed("horizontal", {"name": "hpdp", "noise": "gaussian"}, privacy={"delta": "1e-6"}), 150, is_secure=True
    ),
    "hpdp gaussian public missing 3-parties": Case(
        agreed(
            "horizontal",
            {"name": "hpdp", "noise": "gaussian"},
            parties=3,
            identifier=False,
            public=True,
            missing=("region", "age"),
            privacy={"delta": "1e-5"},
        ),
        200,
    ),
    "hpdp laplace guest": Case(
        agreed("horizontal", {"name": "hpdp", "noise": "laplace"}, parties=3, identifier=False, attributes=FEW),
        is_secure=True,
        guests=("p2",),
    ),
    "hpdp gaussian aby3": Case(
        agreed(
            "horizontal",
            {"name": "hpdp", "noise": "gaussian"},
            parties=3,
            identifier=False,
            attributes=FEW,
            privacy={"delta": "1e-6"},
            engine={"protocol": "aby3"},
        ),
        is_secure=True,
    ),
    "hpdp laplace masked-sum 3-owners": Case(
        agreed("horizontal", {"name": "hpdp", "noise": "laplace"}, parties=3, identifier=False, engine=SUMS),
        150,
        is_secure=True,
    ),
    "hpdp laplace masked-sum helper public": Case(
        agreed("horizontal", {"name": "hpdp"}, helper=True, identifier=False, public=True, engine=SUMS_AT_HELPER),
        150,
        is_secure=True,
    ),
    "hpdp by-grid laplace missing 3-classes": Case(
        agreed("horizontal", {"name": "hpdp"}, missing=("job", "income"), classes=3), 200
    ),
    "hpdp by-grid gaussian public": Case(
        agreed(
            "horizontal",
            {"name": "hpdp", "noise": "gaussian"},
            public=True,
            decimals=1,
            privacy={"delta": "1e-6"},
        ),
        150,
        is_secure=True,
    ),
    # Columns about which the agreement says nothing have categories for missing and unlisted values.
    "hpdp format-2": Case(agreed("horizontal", {"name": "hpdp"}, missing=("age",), says_missing=False), 200),
    "copula format-2": Case(agreed("horizontal", COPULA, missing=("age",), says_missing=False), 200),
    # Vhdp: the number of records is always public. Noise goes record by record, so secure joins are in row order.
    "vhdp vertical uniform": Case(agreed("vertical", VHDP, public=True, row_order=True), is_secure=True),
    "vhdp vertical uniform identifier missing 3-parties": Case(
        agreed("vertical", VHDP, public=True, parties=3, missing=("job", "income"))
    ),
    "vhdp vertical weights class-at-one decimals": Case(
        agreed("vertical", VHDP, public=True, budget=WEIGHTS, class_at="p0", decimals=2)
    ),
    "vhdp vertical use-informative": Case(
        agreed("vertical", VHDP, public=True, row_order=True, budget=GAINS_ABOUT_JOB), 200, is_secure=True
    ),
    "vhdp vertical use-informative class-at-one 3-classes": Case(
        agreed("vertical", VHDP, public=True, budget=GAINS, class_at="p1", classes=3), 200
    ),
    "vhdp horizontal uniform missing": Case(
        agreed("horizontal", VHDP, public=True, missing=("region", "age")), is_secure=True
    ),
    "vhdp horizontal weights 3-classes": Case(agreed("horizontal", VHDP, public=True, budget=WEIGHTS, classes=3)),
    "vhdp horizontal use-informative": Case(agreed("horizontal", VHDP, public=True, budget=GAINS), 200, is_secure=True),
    "vhdp vertical protect-informative": Case(
        agreed("vertical", VHDP, public=True, row_order=True, budget=PROTECTED), 200, is_secure=True
    ),
    "vhdp vertical protect-informative groups 3-classes": Case(
        agreed("vertical", VHDP, public=True, budget=PROTECTED | {"group_weights": ["0.5", 1, 2, 4]}, classes=3), 200
    ),
    "vhdp horizontal masked-sum protect-informative 3-owners": Case(
        agreed("horizontal", VHDP, parties=3, public=True, identifier=False, budget=PROTECTED, engine=SUMS),
        200,
        is_secure=True,
    ),
    "vhdp vertical masked-sum weights": Case(
        agreed("vertical", VHDP, public=True, row_order=True, budget=WEIGHTS, engine=SUMS), is_secure=True
    ),
    "vhdp vertical masked-sum 3-owners helper": Case(
        agreed(
            "vertical",
            VHDP,
            parties=3,
            helper=True,
            class_at="p2",
            public=True,
            row_order=True,
            missing=("job",),
            engine=SUMS_AT_HELPER,
        ),
        is_secure=True,
    ),
    "vhdp horizontal masked-sum 3-owners": Case(
        agreed("horizontal", VHDP, parties=3, public=True, identifier=False, engine=SUMS), is_secure=True
    ),
    # Idp-ir: the number of records is always public, and one party has the class of vertical data.
    "idp-ir vertical": Case(agreed("vertical", clusters(), public=True, row_order=True, class_at="p1"), is_secure=True),
    "idp-ir vertical vector frequency identifier": Case(
        agreed("vertical", clusters("vector", "frequency"), public=True, class_at="p0", classes=3)
    ),
    "idp-ir vertical fixed missing 3-parties": Case(
        agreed("vertical", clusters("fixed", "schema"), public=True, parties=3, class_at="p2", missing=("job",))
    ),
    "idp-ir vertical gap frequency": Case(
        agreed("vertical", clusters("gap", "frequency"), public=True, class_at="p1", decimals=1)
    ),
    "idp-ir vertical global": Case(agreed("vertical", clusters("global"), public=True, class_at="p1")),
    "idp-ir horizontal exact frequency": Case(
        agreed("horizontal", clusters("exact", "frequency"), public=True), is_secure=True
    ),
    "idp-ir horizontal vector missing": Case(
        agreed("horizontal", clusters("vector"), public=True, missing=("job", "region"))
    ),
    "idp-ir horizontal fixed frequency 3-classes": Case(
        agreed("horizontal", clusters("fixed", "frequency"), public=True, classes=3)
    ),
    "idp-ir horizontal gap 3-parties": Case(
        agreed("horizontal", clusters("gap"), public=True, parties=3, identifier=False)
    ),
    "idp-ir horizontal global frequency": Case(
        agreed("horizontal", clusters("global", "frequency"), public=True, decimals=2)
    ),
    "idp-ir vertical masked-sum 3-owners": Case(
        agreed("vertical", clusters("gap"), parties=3, public=True, row_order=True, class_at="p0", engine=SUMS),
        is_secure=True,
    ),
}

QUICK: tuple[str, ...] = (
    "hpdp laplace guest",
    "hpdp laplace masked-sum 3-owners",
)
"""Cases that tests recompute with the agreed engine, too, unless asked for all: processes take seconds to start."""


def made_up_frames(name: str) -> dict[str, pd.DataFrame]:
    """Return every owner's part of a case's table. It depends on the case and its name alone."""
    case = CASES[name]
    agreement, generator = case.agreement, np.random.default_rng(zlib.crc32(name.encode()))
    table = _table(agreement, case.records, generator)
    owners = [party for party, said in agreement["parties"].items() if said.get("data", True)]
    identified = ["id"] if "identifier" in agreement["records"] else []
    if agreement["partition"] == "horizontal":
        at = generator.integers(0, len(owners), len(table))
        columns = [*identified, *agreement["attributes"], agreement["class"]["name"]]
        return {owner: table.loc[at == number, columns] for number, owner in enumerate(owners)}
    frames = {owner: table[identified].copy() for owner in owners}
    sections = {**agreement["attributes"], agreement["class"]["name"]: agreement["class"]}
    for column, section in sections.items():
        holder = generator.integers(0, len(owners), len(table))
        is_spread = "held_by" not in section and column in agreement["attributes"]
        for number, owner in enumerate(owners):
            if is_spread:
                frames[owner][column] = table[column].where(holder == number, None)
            elif section.get("held_by", owner) == owner:
                frames[owner][column] = table[column]
    if identified:  # rows in different orders, and people whom one owner alone knows
        orders = {owner: generator.permutation(len(table)) for owner in owners}
        frames = {owner: frame.iloc[orders[owner]] for owner, frame in frames.items()}
        frames[owners[0]] = frames[owners[0]].iloc[5:]
    return frames


def _table(agreement: Mapping[str, Any], n: int, generator: np.random.Generator) -> pd.DataFrame:
    """Return a joined table whose class depends on the other columns; '?' is a missing value."""
    columns: dict[str, Any] = {"id": generator.permutation(n).astype(str)}
    strength = generator.normal(0, 0.5, n)
    for name, section in agreement["attributes"].items():
        if section["kind"] == "categorical":
            values = section.get("values") or list(_leaves(section["taxonomy"]))
            codes = generator.integers(0, len(values), n)
            column = np.array(values, dtype=object)[codes]
            strength += codes / len(values)
        else:
            lower, upper = section["bounds"]
            scale = 10 ** section.get("decimals", 0)
            column = generator.integers(lower * scale, upper * scale + 1, n) / scale
            strength += column / upper
        if section.get("missing") == "category":
            column = np.where(generator.random(n) < 0.1, "?", column.astype(str)).astype(object)
        columns[name] = column
    ranks = np.argsort(np.argsort(strength))
    classes = np.array(agreement["class"]["values"], dtype=object)
    columns[agreement["class"]["name"]] = classes[ranks * len(classes) // n]
    return pd.DataFrame({name: pd.Series(column, dtype=object) for name, column in columns.items()})


def _leaves(tree: Mapping[str, Any]) -> Iterator[str]:
    for label, below in tree.items():
        yield from _leaves(below) if below else (label,)


def versions() -> dict[str, str]:
    """Return the versions of the packages that the bytes may depend on."""
    return {package: importlib.metadata.version(package) for package in VERSIONS}


def recorded() -> dict[str, Any]:
    """Return the file of recorded releases: versions, and for every case and engine what was published."""
    return json.loads(RECORDED.read_text(encoding="utf-8"))


def differences(before: Mapping[str, Any], after: Mapping[str, Any], *, with_parquet: bool = True) -> list[str]:
    """Return what differs between two records of one release; Parquet files may be left out."""
    files = [
        f"file {name}"
        for name in sorted({*before["files"], *after["files"]})
        if before["files"].get(name) != after["files"].get(name) and (with_parquet or not name.endswith(".parquet"))
    ]
    return [*(key for key in sorted({*before, *after} - {"files"}) if before.get(key) != after.get(key)), *files]


def main() -> None:
    """Record all cases."""
    parser = argparse.ArgumentParser(description="Record the releases of all cases.")
    parser.add_argument("--record", action="store_true", required=True, help=f"write {RECORDED.name}")
    parser.add_argument("--force", action="store_true", help="replace what is recorded already")
    parser.add_argument("--new", action="store_true", help="leave that, and add the cases that are not recorded yet")
    chosen = parser.parse_args()
    if RECORDED.exists() and not (chosen.force or chosen.new):
        sys.exit(f"{RECORDED.name} is there already. Add --force to replace it, or --new to add to it.")
    cases: dict[str, dict[str, Any]] = recorded()["cases"] if chosen.new else {}
    for name, case in CASES.items():
        if name in cases:
            continue
        for engine in case.engines:
            begun = time.monotonic()
            cases.setdefault(name, {})[engine] = computed(name, engine)
            print(f"{time.monotonic() - begun:6.1f} s  {engine:10}  {name}", flush=True)
    content = json.dumps({"versions": versions(), "cases": cases}, indent=1, ensure_ascii=False)
    RECORDED.write_text(content + "\n", encoding="utf-8")


# From here on: all that touches the package.


def computed(name: str, engine: str, seed: int = COINS) -> dict[str, Any]:
    """Run a case on an engine; return what is recorded about its release."""
    release = released(CASES[name], made_up_frames(name), engine, seed)
    certificate = release.certificate.to_json()
    disclosures = [[stated["what"], stated["epsilon"], stated["noise"]] for stated in certificate["disclosures"]]
    files = {file: content for file, content in release.files().items() if file not in TEXTS}
    return {
        "agreement_hash": certificate["agreement_hash"],
        "epsilon": certificate["epsilon"],
        "delta_bound": certificate["delta_bound"],
        "disclosures": disclosures,
        "files": {file: hashlib.sha256(content).hexdigest() for file, content in files.items()},
    }


def released(case: Case, frames: Mapping[str, pd.DataFrame], engine: str, seed: int) -> Any:
    """Return the release of a case: by the ideal engine, or by the agreed one with a process for every party."""
    from copublish import agreement_from_mapping
    from copublish.party.local.processes import simulate_in_processes
    from copublish.progress import no_progress
    from support import ConstantCoins, seeded, simulate_with

    agreement = agreement_from_mapping(case.agreement)
    coins = seeded(tuple(case.agreement["parties"]), seed) | {guest: ConstantCoins(0) for guest in case.guests}
    if engine == "ideal":
        return simulate_with(agreement, dict(frames), coins)
    return simulate_in_processes(agreement, frames, progress=no_progress, coins=coins, timeout_seconds=300)


if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).parents[1])  # the package of this module, not its folder
    from processors import USUAL, are_chosen

    if not are_chosen(USUAL):
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **USUAL})
    main()
