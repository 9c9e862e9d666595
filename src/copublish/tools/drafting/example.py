"""A complete agreement with comments, the one that `copublish demo` runs."""

from __future__ import annotations

from copublish.mechanisms.registry import FIRST_CHOICE, mechanism_named

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
    return PREAMBLE + COLUMNS_AND_PARTIES + mechanism_named(FIRST_CHOICE).example
