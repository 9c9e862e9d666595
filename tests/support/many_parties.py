"""More than two parties with identities, ledgers and one agreement, run as `copublish run` in processes."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import numpy as np

from copublish.agreement.loading import load_agreement
from copublish.kernel.ledger.ledger import Ledger, Limit
from copublish.party.keys.identity import Identity, new_identity
from support import random_table
from support.node import DATASET, free_port, is_whole


@dataclass(frozen=True)
class Together:
    """Who computes how.

    Attributes:
        names: The parties.
        without_data: Those that hold none.
        sections: The end of the agreement: mechanism and engine.
        phases: In the order of a run, as the log names them.
    """

    names: tuple[str, ...]
    without_data: tuple[str, ...]
    sections: str
    phases: tuple[str, ...]


GUESTS = Together(
    names=("node-a", "node-b", "guest-c", "guest-d"),
    without_data=(),
    sections="""
[mechanism]
name = "specialization"
specializations = 3
score = "max"
[engine]
nodes = ["node-a", "node-b"]
""",
    phases=("listening", "met", "alignment", "specialization", "leaf counts", "leaf noise", "writing"),
)
"""Two owners compute on the secure engine, and two are guests that share their inputs with them."""

MASKED = Together(
    names=("owner-a", "owner-b", "owner-c", "helper"),
    without_data=("helper",),
    sections="""
[mechanism]
name = "hpdp"
[engine]
name = "masked-sum"
aggregator = "helper"
""",
    phases=("listening", "met", "alignment", "moments", "writing"),
)
"""Three owners mask their sums, and a helper without data adds them up."""

BEGINNING = """
format = 1
name = "many"
dataset = "{dataset}"
partition = "horizontal"
{parties}
[records]
expected = 600
[class]
name = "default"
values = ["no", "yes"]
[attributes.job]
kind = "categorical"
values = ["cook", "clerk", "driver", "vet"]
[attributes.age]
kind = "numerical"
bounds = [18, 99]
grid = {{ step = 10 }}
[privacy]
epsilon = 1
"""


@dataclass
class ManyParties:
    """All parties' folders below one, each with data, identity, ledger and agreement."""

    folder: Path
    together: Together
    hosts: Mapping[str, str | None]
    """Where each can be dialed; none for one that only dials out."""
    relay: str | None = None
    identities: dict[str, Identity] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in self.names:
            self.home(name).mkdir(parents=True)
            self.identities[name] = new_identity(name, self.home(name) / "identities" / name, days=30)
            ledger = Ledger(self.home(name) / "ledger.db")
            ledger.set_limit(DATASET, Limit(Fraction(2), "add-remove"))
            ledger.close()
        for name in self.names:
            (self.home(name) / "agreement.toml").write_text(self.agreement_text())
        agreement = load_agreement(self.home(self.names[0]) / "agreement.toml")
        table = random_table(agreement, 600, np.random.default_rng(3)).drop(columns="id")
        for number, name in enumerate(agreement.owners):
            table[number :: len(agreement.owners)].to_parquet(self.home(name) / "data.parquet", index=False)

    @property
    def names(self) -> tuple[str, ...]:
        return self.together.names

    @property
    def without_data(self) -> tuple[str, ...]:
        return self.together.without_data

    def home(self, party: str) -> Path:
        return self.folder / party

    def agreement_text(self) -> str:
        parties = ""
        for name in self.names:
            where = 'reach = "dial-out"' if self.hosts[name] is None else f'host = "{self.hosts[name]}"'
            parties += f"[parties.{name}]\n{where}\n"
            parties += f'certificate = "{self.identities[name].fingerprint}"\n'
            parties += "data = false\n" if name in self.together.without_data else ""
        network = f'[network]\nrelay = "{self.relay}"\n' if self.relay else ""
        return BEGINNING.format(dataset=DATASET, parties=parties) + self.together.sections + network

    def command(self, party: str, *options: str) -> list[str]:
        data = () if party in self.together.without_data else ("--data", "data.parquet")
        return [
            *(sys.executable, "-c", "from copublish.cli import main; main()", "run", "agreement.toml"),
            *("--party", party, *data, "--out", "release", "--yes", "--format", "json"),
            *("--log", "run.jsonl", *options),
        ]

    def files(self, party: str) -> dict[str, bytes]:
        folder = self.home(party) / "release"
        files = (path for path in sorted(folder.rglob("*")) if path.is_file())
        return {str(path.relative_to(folder)): path.read_bytes() for path in files}

    def has_whole_release(self, party: str) -> bool:
        return is_whole(self.files(party))


def many_on_loopback(folder: Path, together: Together) -> ManyParties:
    return ManyParties(folder, together, {name: f"127.0.0.1:{free_port()}" for name in together.names})
