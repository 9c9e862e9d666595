"""The agreement and the made-up data of `copublish demo`: a bank and a lender know the same people.

No real person is behind any row.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from copublish.mechanisms.registry import FIRST_CHOICE, mechanism_named

if TYPE_CHECKING:
    import pandas as pd

PREAMBLE = """\
# What all parties agree on before any data is touched. Every party needs the same file; 'copublish describe'
# shows what it means and costs. Nothing here may come from looking at private data: take values from code books,
# bounds from definitions, the number of records from a published figure.

"""

COLUMNS_AND_PARTIES = """\
format = 1
name = "credit-default"          # the release
dataset = "customers-2026"       # the ledgers count what is spent under this name
description = "Who repays a loan? Made together by a bank and a lender."
partition = "vertical"           # "horizontal": other people; "vertical": other columns; "arbitrary": any cells

[parties.bank]
description = "knows its customers"

[parties.loans]
description = "knows their loans"

[records]
identifier = "customer_id"       # joins the records; never published
expected = 20000                 # a public estimate; it sizes the published table
membership = "hidden"            # neither learns which of its people the other one has; "shared": both learn it
at_most = { bank = 25000, loans = 25000 }  # public: each list of people is padded to so many; never counted in the data
public = false                   # is the exact number of records public?
missing_spellings = ["?", "NA"]  # how files write a missing value, besides an empty cell

[class]                          # what users of the release want to predict; all parties hold it
name = "default"
values = ["no", "yes"]           # a record with another one, or none, counts nowhere

[attributes.age]
kind = "numerical"
bounds = [18, 99]                # public limits; a number outside becomes the nearer one
grid = { step = 9 }              # where it may be split: a step, edges = [...] or count = n equal cells
missing = 45                     # what a missing or unreadable number becomes; without it, a category of its own
held_by = "bank"

[attributes.job]
kind = "categorical"             # a flat list of values, or a taxonomy: a tree here or taxonomy = "file.json"
held_by = "bank"
missing = "category"             # the default: missing is a value of its own; or the value that takes its place
unlisted = "other"               # the default: any other value becomes this category; or a listed one

[attributes.job.taxonomy.ANY]
Manual = { builder = {}, driver = {}, cook = {} }
Office = { clerk = {}, manager = {} }
Not-working = { retired = {}, student = {} }

[attributes.balance]
kind = "numerical"
bounds = [-5000, 100000]
missing = 0
grid = { edges = [-2000, -1000, -500, 0, 500, 1000, 2500, 5000, 10000, 25000] }
held_by = "bank"

[attributes.purpose]
kind = "categorical"
values = ["car", "home", "education", "business", "other"]
held_by = "loans"

[attributes.amount]
kind = "numerical"
bounds = [500, 50000]
grid = { round = 20 }            # about so many cells at round numbers
missing = 5000
held_by = "loans"

[attributes.months]
kind = "numerical"
bounds = [6, 72]
grid = { step = 6 }
missing = 24
held_by = "loans"

[privacy]
epsilon = 1.0                    # smaller protects more; 0.1 to 2 is usual
delta = "1e-6"                   # by how much a probability may exceed what epsilon allows; at most 1 / (10 * expected)
neighbors = "add-remove"         # protects a person's presence; "replace" protects a person's values
membership_epsilon = 0.05        # what each learns from a noisy number of common people, beside epsilon

"""

LISTED = 25_000
"""The public length of both lists for 20,000 made-up people. Others get lists in proportion."""


QUESTION_AND_ROUNDS = """\
# asked: mean amount by job
tables = { must = [["amount", "job"]], then = "auto" }
rounds = 5                       # pairs of columns that are chosen, at most; without this line 30, which take longer
"""
"""A relation between columns of both owners, which is measured whatever noise chooses."""


def example_agreement() -> str:
    """A complete agreement, the one `copublish demo` runs."""
    return PREAMBLE + COLUMNS_AND_PARTIES + mechanism_named(FIRST_CHOICE).settings.example + QUESTION_AND_ROUNDS


JOBS = np.array(["builder", "driver", "cook", "clerk", "manager", "retired", "student"])
PURPOSES = np.array(["car", "home", "education", "business", "other"])


def write_demo(folder: Path, n_records: int) -> dict[str, Path]:
    """Write the example agreement and both parties' data; return each party's file."""
    folder.mkdir(parents=True, exist_ok=True)
    bank, loans = made_up_data(n_records)
    files = {"bank": folder / "bank.parquet", "loans": folder / "loans.csv"}
    bank.to_parquet(files["bank"], index=False)
    loans.to_csv(files["loans"], index=False)
    agreement = example_agreement().replace(f" = {LISTED}", f" = {n_records * 5 // 4}")
    (folder / "agreement.toml").write_text(agreement, encoding="utf-8")
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
    # Known to the one by the other's columns alone: what a manager borrows, and a student.
    by_job = np.select([job == "manager", job == "student", job == "retired"], [2.2, 0.4, 0.7], 1.0)
    amount = np.clip(generator.lognormal(8.5, 0.7, everyone) * by_job * (1 + (purpose == "home")), 500, 50_000)
    months = np.clip(np.round(6 * generator.gamma(4, 1.4, everyone) + amount / 1300), 6, 72)
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
