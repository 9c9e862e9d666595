"""Text of a commented agreement to start from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from copublish.mechanisms.registry import FIRST_CHOICE, mechanism_named

Kind = Literal["categorical", "numerical"]

COLUMNS_AND_PARTIES = """\
# What all parties agree on before any data is touched. Every party needs the same file; 'copublish describe'
# shows what it means and costs. Nothing here may come from looking at private data: take values from code books,
# bounds from definitions, the number of records from a published figure.

format = 2
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
grid = { edges = [0, 500, 1000, 2500, 5000, 10000, 25000] }
held_by = "bank"

[attributes.purpose]
kind = "categorical"
values = ["car", "home", "education", "business", "other"]
held_by = "loans"

[attributes.amount]
kind = "numerical"
bounds = [500, 50000]
grid = { edges = [1000, 2500, 5000, 10000, 20000, 30000] }
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
neighbors = "add-remove"        # protects a person's presence; "replace" protects a person's values

"""


def example_agreement() -> str:
    """A complete agreement, the one `copublish demo` runs."""
    return COLUMNS_AND_PARTIES + mechanism_named(FIRST_CHOICE).example


@dataclass(frozen=True, kw_only=True)
class Draft:
    """What `copublish init` knows when it drafts an agreement."""

    name: str
    partition: Literal["horizontal", "vertical", "arbitrary"]
    parties: Sequence[str]
    identifier: str
    class_name: str
    epsilon: str
    kinds: Mapping[str, Kind]


def draft_agreement(draft: Draft) -> str:
    """A commented agreement with the schema's kinds filled in and its public domains left to people.

    Privacy:
        Values and bounds are never drafted from data: an agreement is public, and a value that occurs once in
        private data would be published by it.
    """
    lines = [
        *COLUMNS_AND_PARTIES.splitlines()[:4],
        "format = 2",
        f"name = {_quoted(draft.name)}",
        f"dataset = {_quoted(draft.name)}           # the ledgers count what is spent under this name",
        f"partition = {_quoted(draft.partition)}",
        *(f"\n[parties.{_key(party)}]" for party in draft.parties),
        "\n[records]",
        f"identifier = {_quoted(draft.identifier)}",
        'identifier_rules = []            # what makes no difference in it: "ignore-case", "ignore-spaces",',
        '                                 # "ignore-punctuation", "ignore-leading-zeros"',
        "expected = 10000                 # FILL IN: a public estimate of the number of records",
        "public = false                   # is the exact number of records public?",
        'missing_spellings = ["?", "NA"]  # how files write a missing value, besides an empty cell',
        "\n[class]",
        f"name = {_quoted(draft.class_name)}",
        "values = []                      # FILL IN: the class labels, from the code book",
    ]
    for column, kind in draft.kinds.items():
        lines += [f"\n[attributes.{_key(column)}]", f"kind = {_quoted(kind)}"]
        if kind == "categorical":
            lines.append('values = []                      # FILL IN from the code book, or taxonomy = "file.json"')
            # No example of a value: it might be one of the data's.
            lines.append("# Any other value becomes a category of its own, unless 'unlisted' names a listed one.")
            lines.append('missing = "category"             # what a missing value becomes: a category, or a listed one')
        else:
            lines.append("bounds = []                      # FILL IN: [lowest, highest], from its definition")
            lines.append("grid = { round = 20 }            # about 20 cells at round numbers, narrow near 0;")
            lines.append("                                 # or step, edges or count of equal cells")
            lines.append('missing = "category"             # what a missing number becomes: a category, or a number')
        if draft.partition == "vertical":
            lines.append(f"held_by = {_quoted(draft.parties[0])}    # FILL IN: the party that has this column")
    lines += [
        "\n[privacy]",
        f"epsilon = {draft.epsilon}                    # smaller protects more; 0.1 to 2 is usual",
        'neighbors = "add-remove"        # protects a person\'s presence; "replace" protects a person\'s values',
    ]
    return "\n".join(lines) + "\n\n" + mechanism_named(FIRST_CHOICE).example


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _key(name: str) -> str:
    is_bare = name != "" and all(c.isascii() and (c.isalnum() or c in "-_") for c in name)
    return name if is_bare else _quoted(name)
