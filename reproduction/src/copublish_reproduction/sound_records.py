"""What copublish's own `hpdp` and `marginals` publish of HPDP-DP's tables, simulated on the ideal engine.

A release has the table's attributes as people know them: numbers within public bounds and categories. Its records are
then encoded as the real ones are, so that the same classifier sees the same columns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from copublish.agreement.domain import parse_taxonomy
from copublish.agreement.loading import agreement_from_mapping
from copublish.agreement.model import Agreement
from copublish.kernel.records.fragment import Fragment
from copublish.party.local.simulation import read_fragments, simulate_fragments
from copublish_reproduction.datasets import CLASSES, COLUMNS, NUMERICAL, Dataset, load_dataset
from copublish_reproduction.first_values import with_first_values
from copublish_reproduction.hpdp_sets import FIRST_POST_SECONDARY, Target, attribute_columns, load_nltcs
from copublish_reproduction.plain_table import Floats

DELTA = "1e-6"
HOME, ELSEWHERE = "United-States", "another"
NO_YES = ("no", "yes")

OwnMechanism = Literal["hpdp", "marginals"]

FINER_CELLS = {"fnlwgt": {"edges": [100_000, 200_000, 300_000, 400_000]}}
"""For `marginals`, which publishes cells; `hpdp` publishes moments, and the agreed cells do not matter there."""

Encode = Callable[[pd.DataFrame, np.random.Generator], Floats]
"""From published rows to the columns that classifiers see, the class last."""


@dataclass(frozen=True)
class SoundRecords:
    """A table as an agreement describes it, and releases of it with fresh coins each time.

    Attributes:
        rows: The private records.
        attributes: The public schema of all columns but the class.
        class_name: The column to predict, the last one.
        classes: Its values.
        encode: How published rows become columns.
    """

    rows: pd.DataFrame
    attributes: Mapping[str, Mapping[str, Any]]
    class_name: str
    classes: tuple[str, ...]
    encode: Encode
    _fragments: dict[tuple[OwnMechanism, int], Mapping[str, Fragment]] = field(
        default_factory=dict, repr=False, compare=False
    )

    @classmethod
    def load(cls, target: Target, folder: Path) -> SoundRecords:
        """Read the table of a target, with its rows in the order of `load_records`.

        Raises:
            SourceError: If a file is missing or unusable.
        """
        table, label = target.split(", ")
        return _nltcs(folder, label) if table == "NLTCS-like" else _adult(load_dataset("adult", folder), label)

    def only(self, places: np.ndarray[Any, Any]) -> SoundRecords:
        """The table with some of its rows."""
        return replace(self, rows=self.rows.iloc[places].reset_index(drop=True), _fragments={})

    def publish(
        self,
        epsilon: str,
        delta: str | None,
        n_owners: int,
        generator: np.random.Generator,
        mechanism: OwnMechanism = "hpdp",
    ) -> Floats:
        """Release once, from records spread at random over some owners, and encode what is published.

        Args:
            epsilon: The budget of the release.
            delta: For Gaussian noise; without it noise is Laplace's and epsilon pure.
            n_owners: How many owners hold the records.
            generator: For the division into owners and for encoding alone; noise has coins from the operating system.
            mechanism: Which one.
        """
        agreement = self.agreement(epsilon, delta, n_owners, mechanism)
        if (mechanism, n_owners) not in self._fragments:
            parts = np.array_split(generator.permutation(len(self.rows)), n_owners)
            data = {party: self.rows.iloc[part] for party, part in zip(agreement.parties, parts, strict=True)}
            self._fragments[mechanism, n_owners] = read_fragments(agreement, data)
        release = simulate_fragments(agreement, self._fragments[mechanism, n_owners])
        return self.encode(release.to_pandas(), generator)

    def agreement(self, epsilon: str, delta: str | None, n_owners: int, mechanism: OwnMechanism = "hpdp") -> Agreement:
        """The agreement between some owners of whole rows; as many records are drawn as it expects."""
        attributes, settings = self.attributes, {"name": "hpdp", "noise": "gaussian" if delta else "laplace"}
        if mechanism == "marginals":
            finer = {name: {"grid": grid} for name, grid in FINER_CELLS.items() if name in attributes}
            attributes = {name: {**given, **finer.get(name, {})} for name, given in attributes.items()}
            settings = {"name": "marginals"}
        return agreement_from_mapping(
            {
                "format": 1,
                "name": mechanism,
                "dataset": mechanism,
                "partition": "horizontal",
                "parties": {f"p{number}": {} for number in range(n_owners)},
                "records": {"expected": len(self.rows)},
                "class": {"name": self.class_name, "values": list(self.classes)},
                "attributes": with_first_values(attributes),
                "privacy": {"epsilon": epsilon} | ({"delta": delta} if delta else {}),
                "mechanism": settings,
            }
        )


def _nltcs(folder: Path, label: str) -> SoundRecords:
    records = load_nltcs(folder)
    rows = pd.DataFrame(np.array(NO_YES)[records.values.astype(np.int64)], columns=list(records.names))
    names = [*(name for name in records.names if name != label), label]

    def encode(published: pd.DataFrame, _: np.random.Generator) -> Floats:
        return np.column_stack([(published[name] == NO_YES[1]).to_numpy(np.float64) for name in names])

    items = {name: {"kind": "categorical", "values": list(NO_YES)} for name in names[:-1]}
    return SoundRecords(rows[names], items, label, NO_YES, encode)


def _adult(dataset: Dataset, label: str) -> SoundRecords:
    """Leave out `education`, which its number says as well, and tell one country from all others."""
    frame = pd.concat([dataset.train, dataset.test], ignore_index=True)
    trees = dataset.taxonomies()
    countries = [name for name in parse_taxonomy(trees["native-country"]).leaves() if name != HOME]
    code_book = frame.groupby("education-num")["education"].first().reindex(range(1, 17)).ffill().bfill()
    rows = frame.drop(columns="education").assign(
        **{"native-country": np.where(frame["native-country"] == HOME, HOME, ELSEWHERE)}
    )
    schema: dict[str, dict[str, Any]] = {}
    for name in (name for name in COLUMNS["adult"][:-1] if name != "education"):
        if name in NUMERICAL["adult"]:
            schema[name] = {"kind": "numerical", **NUMERICAL["adult"][name]}
        else:
            leaves = [HOME, ELSEWHERE] if name == "native-country" else list(parse_taxonomy(trees[name]).leaves())
            schema[name] = {"kind": "categorical", "values": leaves}
    class_name, classes = "income", CLASSES["adult"]
    if label == "education":
        del schema["education-num"]
        schema["income"] = {"kind": "categorical", "values": list(CLASSES["adult"])}
        class_name, classes = "post-secondary", NO_YES
        is_post_secondary = rows.pop("education-num") >= FIRST_POST_SECONDARY
        rows[class_name] = np.where(is_post_secondary, *reversed(NO_YES))

    def encode(published: pd.DataFrame, generator: np.random.Generator) -> Floats:
        found = published.assign(income=published["income"].astype(str))
        home = (published["native-country"] == HOME).to_numpy()
        found["native-country"] = np.where(home, HOME, generator.choice(countries, len(found)))
        ends = [(found["income"] == CLASSES["adult"][1]).to_numpy(np.float64)]
        if label == "education":
            ends.append((found[class_name] == NO_YES[1]).to_numpy(np.float64))
        else:
            found["education"] = code_book[found["education-num"]].to_numpy()
        columns = attribute_columns(found, trees, "education" if label == "education" else "salary", "bits")
        return np.column_stack([*columns.values(), *ends])

    return SoundRecords(rows, schema, class_name, classes, encode)
