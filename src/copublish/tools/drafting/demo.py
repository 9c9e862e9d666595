"""Made-up data of a bank and a lender about the same people. No real person is behind any row."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from copublish.tools.drafting.example import example_agreement

if TYPE_CHECKING:
    import pandas as pd

JOBS = np.array(["builder", "driver", "cook", "clerk", "manager", "retired", "student"])
PURPOSES = np.array(["car", "home", "education", "business", "other"])


def write_demo(folder: Path, n_records: int) -> dict[str, Path]:
    """Write the example agreement and both parties' data; return each party's file."""
    folder.mkdir(parents=True, exist_ok=True)
    bank, loans = made_up_data(n_records)
    files = {"bank": folder / "bank.parquet", "loans": folder / "loans.csv"}
    bank.to_parquet(files["bank"], index=False)
    loans.to_csv(files["loans"], index=False)
    (folder / "agreement.toml").write_text(example_agreement(), encoding="utf-8")
    return files


def add_network(agreement: Path, fingerprints: Mapping[str, str]) -> dict[str, str]:
    """Write hosts on this machine and certificates into an agreement; return each party's host."""
    text = agreement.read_text(encoding="utf-8")
    hosts = {}
    for name, fingerprint in fingerprints.items():
        with socket.create_server(("127.0.0.1", 0)) as free:
            hosts[name] = f"127.0.0.1:{free.getsockname()[1]}"
        lines = f'host = "{hosts[name]}"\ncertificate = "{fingerprint}"\n'
        text = text.replace(f"[parties.{name}]\n", f"[parties.{name}]\n{lines}")
    agreement.write_text(text, encoding="utf-8")
    return hosts


def made_up_data(n_records: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The bank's and the lender's tables, each in an order of its own, with people only one of them knows."""
    generator = np.random.default_rng(20)  # made-up data may have a seed; noise never has one
    everyone = n_records + n_records // 10
    age = generator.integers(18, 100, everyone)
    job = np.where(age > 66, "retired", np.where(age < 25, "student", generator.choice(JOBS[:5], everyone)))
    balance = np.clip(generator.lognormal(7, 1.3, everyone) + 60 * (job == "manager") * age - 1500, -5000, 100_000)
    purpose = generator.choice(PURPOSES, everyone, p=[0.3, 0.25, 0.15, 0.1, 0.2])
    amount = np.clip(generator.lognormal(8.6, 0.8, everyone) * (1 + (purpose == "home")), 500, 50_000)
    months = np.clip(6 * np.round(generator.gamma(4, 1.6, everyone) + amount / 8000), 6, 72)
    risk = amount / 15_000 + months / 40 - balance / 4000 + 0.9 * (job == "student") + 0.8 * (purpose == "business")
    default = np.where(generator.random(everyone) < 1 / (1 + np.exp(2.2 - risk)), "yes", "no")
    import pandas as pd  # takes long to load, and no other command needs it here

    table = pd.DataFrame(
        {
            "customer_id": [f"C{number:07d}" for number in generator.permutation(10 * everyone)[:everyone]],
            "age": age,
            "job": np.where(generator.random(everyone) < 0.03, "?", job),
            "balance": balance.round(2),
            "purpose": purpose,
            "amount": amount.round(),
            "months": months.astype(int),
            "default": default,
        }
    )
    bank = table.iloc[: n_records + n_records // 20][["customer_id", "age", "job", "balance", "default"]]
    loans = table.iloc[n_records // 20 :][["customer_id", "purpose", "amount", "months", "default"]]
    return bank, loans.sample(frac=1, random_state=1)
