"""What several tests need: coins with a seed or without noise, small agreements, random tables and partitions."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pandas as pd

import copublish as cp
from copublish.kernel.records.fragment import Fragment
from copublish.party.local.simulation import read_fragments, simulate_fragments
from copublish.rows.reading import read_and_look
from support.frames import frames_of_one_database


class SeededCoins:
    """Coins from a seed. They exist in tests alone: the package has no way to set one."""

    def __init__(self, seed: int) -> None:
        self._generator = np.random.default_rng(seed)

    def words(self, shape: tuple[int, ...]) -> np.ndarray:
        return self._generator.integers(-(2**63), 2**63, size=shape, dtype=np.int64)


class ConstantCoins:
    """Coins that are all 0 or all 1. If the XOR of all parties' coins is all 1, every noise value is 0."""

    def __init__(self, value: int) -> None:
        self._value = np.int64(-value)

    def words(self, shape: tuple[int, ...]) -> np.ndarray:
        return np.full(shape, self._value)


def no_noise(parties: tuple[str, ...]) -> dict[str, ConstantCoins]:
    """The test double that switches the noise off: a uniform word of all ones is below no threshold."""
    return {party: ConstantCoins(int(number == 0)) for number, party in enumerate(parties)}


def seeded(parties: tuple[str, ...], seed: int) -> dict[str, SeededCoins]:
    return {party: SeededCoins(1000 * seed + number) for number, party in enumerate(parties)}


SMALL: dict[str, Any] = {
    "format": 1,
    "name": "small",
    "dataset": "people",
    "partition": "vertical",
    "parties": {"bank": {}, "loans": {}},
    "records": {"identifier": "id", "expected": 2000},
    "class": {"name": "default", "values": ["no", "yes"]},
    "attributes": {
        "job": {
            "kind": "categorical",
            "taxonomy": {
                "ANY": {"Worker": {"cook": {}, "clerk": {}, "driver": {}}, "Doctor": {"surgeon": {}, "vet": {}}}
            },
            "held_by": "bank",
        },
        "region": {"kind": "categorical", "values": ["north", "south", "east"], "held_by": "loans"},
        "age": {"kind": "numerical", "bounds": [18, 99], "grid": {"step": 10}, "held_by": "loans"},
        "income": {"kind": "numerical", "bounds": [0, 100], "grid": {"edges": [1, 10, 50]}, "held_by": "bank"},
    },
    "privacy": {"epsilon": 1},
    "mechanism": {"name": "specialization", "specializations": 6},
}
"""A vertical two-party agreement with taxonomies, a flat list and two kinds of grid."""


def mapping_by_default(**changes: Any) -> dict[str, Any]:
    """A copy of SMALL with whole tables or nested keys ('privacy.epsilon') replaced; None removes a key."""
    mapping = copy.deepcopy(SMALL)
    for dotted, value in changes.items():
        *path, last = dotted.split(".")
        table = mapping
        for step in path:
            table = table[step]
        if value is None:
            table.pop(last, None)
        else:
            table[last] = value
    return mapping


def small_mapping(**changes: Any) -> dict[str, Any]:
    """The same with `with_first_values`, so that domains have the listed values alone."""
    mapping = mapping_by_default(**changes)
    return mapping | {"attributes": with_first_values(mapping["attributes"])} if "attributes" in mapping else mapping


def leaves(tree: dict[str, Any]) -> list[str]:
    """The values of a taxonomy, in order."""
    return [leaf for label, below in tree.items() for leaf in (leaves(below) if below else [label])]


def with_first_values(attributes: dict[str, Any]) -> dict[str, Any]:
    """Attributes without categories for missing and unlisted values: few values, so that tests can try every record.

    A missing or unlisted value becomes the first listed one or the lower bound, unless the attribute says what it
    becomes (None says nothing). Attributes that are wrong, or whose taxonomy is a file, stay as they are.
    """

    def filled(attribute: dict[str, Any]) -> dict[str, Any]:
        said = {key: value for key, value in attribute.items() if value is not None}
        match said:
            case {"kind": "numerical", "bounds": [lower, _]}:
                return {"missing": lower, **said}
            case {"kind": "categorical", "values": [first, *_]}:
                return {"missing": first, "unlisted": first, **said}
            case {"kind": "categorical", "taxonomy": dict(tree)}:
                return {"missing": leaves(tree)[0], "unlisted": leaves(tree)[0], **said}
        return attribute

    return {name: filled(attribute) for name, attribute in attributes.items()}


def repartition(mapping: dict[str, Any], partition: str, parties: int = 2) -> dict[str, Any]:
    """The same agreement under another partition, between parties p0, p1, ...; attributes go round."""
    mapping = copy.deepcopy(mapping)
    names = [f"p{number}" for number in range(parties)]
    mapping["partition"], mapping["parties"] = partition, {name: {} for name in names}
    mapping.get("class", {}).pop("held_by", None)
    for number, attribute in enumerate(mapping["attributes"].values()):
        attribute.pop("held_by", None)
        if partition == "vertical":
            attribute["held_by"] = names[number % parties]
    return mapping


def random_table(agreement: cp.Agreement, n: int, generator: np.random.Generator) -> pd.DataFrame:
    """A joined table with values in the agreed domains, shuffled identifiers, and a class that depends on them."""
    columns: dict[str, Any] = {"id": generator.permutation(n).astype(str)}
    strength = np.zeros(n)
    for name, domain in agreement.domains.items():
        if hasattr(domain, "tree"):
            codes = generator.integers(0, len(list(domain.tree.leaves())), n)
            columns[name] = np.array(list(domain.tree.leaves()), dtype=object)[codes]
            strength += codes
        else:
            columns[name] = generator.integers(int(domain.lower), int(domain.upper) + 1, n)
            strength += columns[name] / float(domain.upper)
    if agreement.class_ is None:
        return pd.DataFrame(columns)
    ranks = np.argsort(np.argsort(strength + generator.normal(0, 1, n)))
    values = np.array(agreement.class_.values, dtype=object)
    columns[agreement.class_.name] = values[ranks * len(values) // max(n, 1)]
    return pd.DataFrame(columns)


def fragment_frames(
    agreement: cp.Agreement, table: pd.DataFrame, generator: np.random.Generator
) -> dict[str, pd.DataFrame]:
    """Split a joined table between the parties as the agreement's partition says, rows in different orders."""
    parties, frames = agreement.party_names, {}
    if agreement.partition == "horizontal":
        owner = generator.integers(0, len(parties), len(table))
        return {party: table[owner == number] for number, party in enumerate(parties)}
    owners = {name: generator.integers(0, len(parties), len(table)) for name in agreement.attributes}
    for number, party in enumerate(parties):
        columns = {"id": table["id"]}
        for name in agreement.columns_of(party):
            column = table[name].astype(object)
            is_spread = name != agreement.class_name and len(agreement.holders(name)) > 1
            columns[name] = column.where(owners[name] == number, None) if is_spread else column
        frame = pd.DataFrame(columns)
        for name, domain in agreement.domains.items():
            if name in frame and not hasattr(domain, "tree"):
                frame[name] = frame[name].astype(float)
        frames[party] = frame.sample(frac=1, random_state=int(generator.integers(2**31)))
    return frames


def read_strictly(agreement: cp.Agreement, party: str, source: Any) -> Fragment:
    """Read one party's rows as `check --strict` does: what had to be changed is an error."""
    fragment, overview = read_and_look(agreement, party, source)
    checked = cp.check(agreement, party, source, strict=True, accept=True)
    changes = () if overview is None else overview.changes
    assert checked.ok == (not changes)
    if changes:
        assert checked.problems == tuple(change.problem for change in changes)
        raise cp.FragmentError(party, checked.problems)
    return fragment


def simulate_with(agreement: cp.Agreement, frames: dict[str, pd.DataFrame], coins: dict[str, Any]) -> cp.Release:
    """Simulate with given coins."""
    with frames_of_one_database():
        fragments = read_fragments(agreement, frames)
    return simulate_fragments(agreement, fragments, coins)
