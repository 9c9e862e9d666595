"""Charges that are given back: only by their owner, only without a disclosure, and the file keeps them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from copublish.cli import app
from copublish.errors import BudgetExceededError, EditedLedgerError, EngineError, LedgerError
from copublish.kernel.accounting.cost import NOTHING, Cost
from copublish.kernel.ledger.ledger import Ledger, Limit
from support.profiles import examples

ONE = Cost(add_remove=Fraction(1), replace=Fraction(2), delta=Fraction(1, 10**9))
LIMIT = Limit(Fraction(1), "add-remove", Fraction(1, 10**6))


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with closing(Ledger(tmp_path / "party.db")) as opened:
        opened.set_limit("people", LIMIT)
        yield opened


def end_early(ledger: Ledger, disclosures: int = 0) -> int:
    """A run that is lost after some disclosures; the number of its charge."""
    with pytest.raises(EngineError), ledger.reserve("people", "flu", "abc", ONE) as charge:
        for _ in range(disclosures):
            charge.disclose("a table", NOTHING)
        raise EngineError("the peer left")
    return ledger.entries()[-1].number


def test_a_charge_without_a_disclosure_is_given_back_whole_and_stays_in_the_file(ledger: Ledger) -> None:
    number = end_early(ledger)
    assert ledger.spent("people") == ONE
    with pytest.raises(BudgetExceededError):
        ledger.refuse_if_over("people", ONE)
    before = ledger.heads()
    ledger.give_back(number)
    assert ledger.spent("people") == NOTHING
    ledger.refuse_if_over("people", ONE)
    (entry,) = ledger.entries()
    assert (entry.state, entry.cost) == ("given back, nothing was opened", ONE)
    assert ledger.edits() == [] and ledger.heads()[:-1] == before
    assert ledger.budgets()[0].spent == "0"


@pytest.mark.parametrize("disclosures", [1, 3])
def test_a_charge_with_a_disclosure_is_never_given_back(ledger: Ledger, disclosures: int) -> None:
    number, before = end_early(ledger, disclosures), ledger.heads()
    with pytest.raises(LedgerError, match="values were opened of it"):
        ledger.give_back(number)
    assert ledger.spent("people") == ONE and ledger.heads() == before


def test_only_a_charge_that_is_there_and_did_not_complete_is_given_back_and_only_once(ledger: Ledger) -> None:
    with pytest.raises(LedgerError, match="there is none"):
        ledger.give_back(1)
    number = end_early(ledger)
    ledger.give_back(number)
    with pytest.raises(LedgerError, match="given back before"):
        ledger.give_back(number)
    with ledger.reserve("people", "flu", "abc", ONE):
        pass
    with pytest.raises(LedgerError, match="is not given back"):
        ledger.give_back(number + 1)
    assert ledger.spent("people") == ONE


def test_a_run_whose_charge_is_given_back_meanwhile_opens_nothing(ledger: Ledger) -> None:
    with (
        pytest.raises(LedgerError, match="'a table' was not opened"),
        ledger.reserve("people", "flu", "abc", ONE) as charge,
    ):
        with closing(Ledger(ledger.path)) as owner:
            owner.give_back(charge.id)
        charge.disclose("a table", ONE)
    assert [(entry.state, entry.disclosures) for entry in ledger.entries()] == [("given back, nothing was opened", 0)]
    assert ledger.edits() == []


def test_a_charge_whose_disclosures_somebody_deleted_is_not_given_back(ledger: Ledger) -> None:
    number = end_early(ledger, 2)
    with closing(sqlite3.connect(ledger.path)) as database:
        database.execute("DELETE FROM disclosures")
        database.commit()
    with pytest.raises(EditedLedgerError):
        ledger.give_back(number)
    assert ledger.spent("people") == ONE


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=8))
@examples(20)
def test_what_is_spent_is_what_was_reserved_without_what_was_given_back(
    tmp_path_factory: pytest.TempPathFactory, runs: list[tuple[bool, bool]]
) -> None:
    """Each run opens something or not, and its owner asks for its charge or not."""
    with closing(Ledger(tmp_path_factory.mktemp("runs") / "party.db")) as ledger:
        ledger.set_limit("people", Limit.with_rho(Fraction(20), "add-remove", Fraction(1, 10**5), Fraction(1, 2)))
        kept = 0
        for opens, is_asked_for in runs:
            number = end_early(ledger, int(opens))
            if is_asked_for and opens:
                with pytest.raises(LedgerError):
                    ledger.give_back(number)
            elif is_asked_for:
                ledger.give_back(number)
            kept += opens or not is_asked_for
        assert ledger.spent("people").add_remove == kept
        assert ledger.edits() == []


def test_the_command_shows_the_entry_and_ends_with_the_ledgers_exit_code_if_it_refuses(ledger: Ledger) -> None:
    runner = CliRunner(env={"COLUMNS": "300", "NO_COLOR": "1"})

    def command(*words: object) -> tuple[int, str]:
        done = runner.invoke(app, ["ledger", *map(str, words)])
        return (5, str(done.exception)) if isinstance(done.exception, LedgerError) else (done.exit_code, done.output)

    first, second = end_early(ledger), None
    shown = json.loads(command("show", ledger.path, "--format", "json")[1])
    assert [charge["number"] for charge in shown["charges"]] == [first]
    code, output = command("give-back", first, "--ledger", ledger.path, "--format", "json")
    told = json.loads(output)
    assert code == 0 and told["charges"][0]["state"].startswith("given back")
    assert told["datasets"]["people"]["left"] == "1"
    second = end_early(ledger, 1)
    code, said = command("give-back", second, "--ledger", ledger.path)
    assert code == 5 and "values were opened" in said
