"""A ledger that somebody has edited: whatever a cell holds, it is read as it stands or refused with a clear error."""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import strategies as st
from typer.testing import CliRunner

from copublish.cli import app
from copublish.cli.ledger_text import print_ledger
from copublish.cli.terminal import Format
from copublish.errors import BudgetExceededError, LedgerError
from copublish.kernel.ledger.ledger import Ledger, Limit
from copublish.party.own_ledger import receipt_problems
from support.full_ledger import PRICE, columns, compare, full_of_anything, restore_schema
from support.profiles import examples

NUMBERS = st.from_regex(r"-?[0-9]{1,6}([/.e][-+]?[0-9]{1,6})?", fullmatch=True)

CONTENTS = st.one_of(
    st.text(st.characters(exclude_categories=("Cs",)), max_size=20),
    NUMBERS,
    st.sampled_from(["1/0", "abc", "nan", "inf", "1e999999999", "9" * 5000, "1" + "0" * 400, "unbounded", "complete"]),
    st.none(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(),
    st.binary(max_size=10),
)


def edited(path: Path, table: str, column: str, content: object, *, as_text: bool = False) -> Ledger:
    """A ledger in which somebody has set a cell of the last row to something, whatever the schema said about it."""
    path.write_bytes(full_of_anything())
    database = sqlite3.connect(path)
    database.execute("PRAGMA synchronous = OFF")
    value = "CAST(? AS TEXT)" if as_text else "?"
    database.execute(
        f"UPDATE {table} SET {column} = {value} WHERE rowid = (SELECT max(rowid) FROM {table})", (content,)
    )
    restore_schema(database)
    database.commit()
    database.close()
    book = Ledger(path)
    book._database.execute("PRAGMA synchronous = OFF")  # these tests cut no power
    return book


def use(book: Ledger) -> None:
    """Do with a ledger what a run and `copublish ledger` do; each step may raise a `LedgerError` and nothing else."""
    for output in Format:
        with suppress(LedgerError):
            print_ledger(book, output)
    with suppress(LedgerError):
        book.refuse_if_over("people", PRICE)
    with suppress(LedgerError), book.reserve("people", "again", "h", PRICE) as charge:
        charge.disclose("counts", PRICE)
    with suppress(LedgerError):
        book.refuse_if_locked("people", {"lab": None})
    with suppress(LedgerError):
        book.key_of_lists("people")
    for ask in (book.refuse_if_edited, book.receipts, book.heads, lambda: receipt_problems(book)):
        with suppress(LedgerError):
            ask()
    with suppress(LedgerError):
        book.heads_given_to("b")
    with suppress(LedgerError):
        book.head_held_of("b")
    with suppress(LedgerError):
        compare(book)


@examples(150, unchecked=[HealthCheck.function_scoped_fixture])
@given(
    place=st.sampled_from(columns()),
    content=CONTENTS,
    as_text=st.booleans(),
)
@example(place=("limits", "epsilon"), content="1" + "0" * 400, as_text=False)
@example(place=("limits", "epsilon"), content=b"\xff\xfe", as_text=True)
@example(place=("charges", "delta"), content="1e999999999", as_text=False)
@example(place=("charges", "dataset"), content=b"people", as_text=False)
@example(place=("limits", "dataset"), content=None, as_text=False)
def test_whatever_a_cell_holds_nothing_but_a_ledger_error_comes_of_it(tmp_path_factory, place, content, as_text):
    book = edited(tmp_path_factory.mktemp("ledger") / "party.db", *place, content, as_text=as_text)
    use(book)
    book.close()


@pytest.mark.parametrize("content", ["1/0", "abc", None, "", "-1", "1e3", "1" + "0" * 400, b"1", b"\xff"])
@pytest.mark.parametrize("column", ["epsilon", "neighbors", "delta"])
def test_an_edited_limit_names_the_data_set_and_what_to_do_and_the_way_out_works(tmp_path, content, column):
    path = tmp_path / "party.db"
    book = edited(path, "limits", column, content)
    with pytest.raises(LedgerError) as caught:
        book.refuse_if_over("people", PRICE)
    assert not isinstance(caught.value, BudgetExceededError)
    for words in (f"limits.{column} says of data set 'people'", "backup", "limit people=EPSILON,DELTA --neighbors"):
        assert words in str(caught.value)
    book.close()
    shown = CliRunner().invoke(app, ["ledger", str(path)], catch_exceptions=True)
    assert isinstance(shown.exception, LedgerError)
    done = CliRunner().invoke(
        app, ["ledger", "limit", "people=4,1e-9", "--neighbors", "replace", "--ledger", str(path)]
    )
    assert done.exit_code == 0, done.output
    assert Ledger(path).limit("people") == Limit(Fraction(4), "replace")


@pytest.mark.parametrize(
    "column, content",
    [("state", "refunded"), ("state", None), ("epsilon_add_remove", "1/0"), ("delta", None), ("dataset", b"people")],
)
def test_an_edited_charge_stops_every_release_and_says_why(tmp_path, column, content):
    book = edited(tmp_path / "party.db", "charges", column, content)
    with pytest.raises(LedgerError, match=rf"charges\.{column} says of .*backup"):
        book.refuse_if_over("people", PRICE)
    book.close()
