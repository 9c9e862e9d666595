"""The charge for the number of common people: one of its own, before a release is charged, and never given back."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from copublish.cli import app, failures
from copublish.errors import BudgetExceededError, EngineError, LedgerError
from copublish.kernel.accounting.cost import NOTHING, Cost
from copublish.kernel.accounting.membership import SIZE_LABEL, costs_of_run, membership_cost
from copublish.kernel.ledger.budget import price_in_words
from copublish.kernel.ledger.cells import SPENT_ON_SIZE, runs_of
from copublish.kernel.ledger.ledger import Ledger, Limit
from copublish.party.detached.status import Run
from copublish.party.early_ends import after_early_end, early_ends
from copublish.party.own_ledger import price
from support.not_common import hidden_agreement
from support.profiles import examples

SIZE = Cost(add_remove=Fraction(1, 20), replace=Fraction(1, 20), delta=Fraction(1, 10**10))
ONE = Cost(add_remove=Fraction(1), replace=Fraction(2), delta=Fraction(1, 10**12))
LOANS = {"loans": "sha256:aa"}
LIMIT = Limit(Fraction(9), "add-remove")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "party.db"


@pytest.fixture
def ledger(file: Path) -> Iterator[Ledger]:
    with closing(Ledger(file)) as opened:
        opened.set_limit("people", LIMIT)
        yield opened


def charge_size(ledger: Ledger, cost: Cost = SIZE, agreement_hash: str = "abc") -> None:
    ledger.charge_size("people", "flu", agreement_hash, cost, label=SIZE_LABEL, peers=LOANS)


def run(ledger: Ledger, *, disclosures: int = 0, completes: bool = False, agreement_hash: str = "abc") -> int:
    """A run in which people were compared and a release was charged; the number of that charge."""
    charge_size(ledger, agreement_hash=agreement_hash)
    try:
        with ledger.reserve("people", "flu", agreement_hash, ONE, peers=LOANS) as charge:
            for _ in range(disclosures):
                charge.disclose("a table", NOTHING)
            if not completes:
                raise EngineError("it left")
    except EngineError:
        pass
    return ledger.entries()[-1].number


def test_the_charge_is_spent_with_its_disclosure_and_nobody_gets_it_back(ledger: Ledger) -> None:
    charge_size(ledger)
    (entry,) = ledger.entries()
    assert (entry.state, entry.disclosures, entry.cost) == (SPENT_ON_SIZE, 1, SIZE)
    ((disclosed,),) = ledger.disclosures("abc")
    assert (disclosed.label, disclosed.cost) == (SIZE_LABEL, SIZE)
    heads = ledger.heads()
    with pytest.raises(LedgerError, match="is not given back"):
        ledger.give_back(entry.number)
    assert ledger.spent("people") == SIZE and ledger.heads() == heads and ledger.edits() == []


def test_after_the_release_is_given_back_the_number_of_common_people_stays_spent(ledger: Ledger) -> None:
    ledger.give_back(run(ledger))
    assert ledger.spent("people") == SIZE
    assert [entry.state for entry in ledger.entries()] == [SPENT_ON_SIZE, "given back, nothing was opened"]


def test_it_is_not_the_charge_of_a_release(ledger: Ledger) -> None:
    """Whoever asks which charge a published release has, gets that of the release or none."""
    charge_size(ledger)
    assert ledger.newest_charge("abc") is None
    assert not ledger.is_unpublished(1)
    number = run(ledger, completes=True)
    assert ledger.newest_charge("abc") == number == 3
    charge_size(ledger)
    assert ledger.newest_charge("abc") == number


@pytest.mark.parametrize(
    "limit",
    [
        Limit(SIZE.add_remove - Fraction(1, 10**9), "add-remove"),
        Limit(Fraction(3), "add-remove", SIZE.delta - Fraction(1, 10**20)),
    ],
)
def test_where_too_little_is_left_nothing_is_written(ledger: Ledger, limit: Limit) -> None:
    ledger.set_limit("people", limit)
    heads = ledger.heads()
    with pytest.raises(BudgetExceededError):
        charge_size(ledger)
    assert ledger.entries() == [] and ledger.heads() == heads


def test_ten_runs_use_up_the_usual_delta(ledger: Ledger) -> None:
    for _ in range(10):
        charge_size(ledger)
    with pytest.raises(BudgetExceededError, match="short by delta"):
        charge_size(ledger)


class Copied:
    """A database of which copies are made before each statement, as a machine that stops there would leave it."""

    def __init__(self, inner: Any, file: Path, folder: Path) -> None:
        self._inner, self._file, self._folder = inner, file, folder
        self.copies: list[Path] = []

    def execute(self, *arguments: Any) -> Any:
        copy = self._folder / f"copy{len(self.copies)}.db"
        for suffix in ("", "-journal"):
            if (part := self._file.with_name(self._file.name + suffix)).exists():
                shutil.copy(part, copy.with_name(copy.name + suffix))
        self.copies.append(copy)
        return self._inner.execute(*arguments)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


def test_a_machine_that_stops_at_any_moment_has_the_whole_charge_or_none(file: Path, ledger: Ledger) -> None:
    ledger._database = watched = Copied(ledger._database, file, file.parent)  # type: ignore[assignment]
    charge_size(ledger)
    ledger._database = watched._inner
    assert len(watched.copies) > 5
    for copy in (*watched.copies, file):
        with closing(Ledger(copy)) as found:
            assert found.edits() == []
            assert [entry.disclosures for entry in found.entries()] == [1] * (copy == file)


def test_charges_belong_to_runs_by_their_agreement(ledger: Ledger) -> None:
    run(ledger)
    charge_size(ledger)  # lost while people were compared
    charge_size(ledger, agreement_hash="other")
    run(ledger, agreement_hash="abc")
    with ledger.reserve("people", "plain", "shared", ONE):
        pass
    assert [[entry.number for entry in run] for run in runs_of(ledger.entries())] == [[1, 2], [3], [4], [5, 6], [7]]


def test_a_peer_that_leaves_while_people_are_compared_is_counted_and_asked_about(ledger: Ledger) -> None:
    run(ledger, completes=True)
    assert early_ends(ledger.entries()) == [] and after_early_end(ledger, LOANS) is None
    charge_size(ledger)
    (found,) = early_ends(ledger.entries())
    assert (found.peer, found.runs, found.early, found.given_back) == ("loans", 2, 1, 0)
    said = after_early_end(ledger, LOANS)
    assert said is not None and f"({SPENT_ON_SIZE})" in said and "give-back" not in said
    run(ledger)
    (found,) = early_ends(ledger.entries())
    assert (found.runs, found.early) == (3, 2)
    run(ledger, completes=True)
    assert after_early_end(ledger, LOANS) is None


# What people and machines are told.


def ended(ledger: Ledger, what: Callable[[], object]) -> str:
    """What a command says of its ledger when it fails after something happened."""
    with pytest.raises(EngineError) as caught, failures.telling_what_ledgers_have(lambda: {"It": ledger.entries()}):
        what()
        raise EngineError("The peer left.")
    return caught.value.__notes__[0]


def test_a_failed_run_says_what_it_cost_for_the_number_of_common_people_and_what_of_the_rest_can_be_had_back(ledger):
    said = ended(ledger, lambda: charge_size(ledger))
    assert said == (
        "It has a charge of epsilon 0.05 for the number of common people of 'flu' on the data set 'people'. It stays "
        "charged. Nothing else was charged: the release had not begun."
    )
    said = ended(ledger, lambda: run(ledger))
    assert "epsilon 0.05 for the number of common people" in said and "epsilon 1 for 'flu'" in said
    assert said.endswith(
        "Both stay charged. Nothing was opened of the release: 'copublish ledger give-back 3' gives its charge back."
    )
    ledger.give_back(3)
    said = ended(ledger, lambda: run(ledger, disclosures=2))
    assert said.endswith("Both stay charged.") and "give-back" not in said


def test_the_ledger_names_the_charge_for_people_and_for_machines(file: Path, ledger: Ledger) -> None:
    run(ledger, completes=True)
    shown = CliRunner().invoke(app, ["ledger", str(file), "--format", "json"])
    charges = json.loads(shown.stdout)["charges"]
    assert [(one["state"], one["epsilon_add_remove"], one["disclosures"]) for one in charges] == [
        (SPENT_ON_SIZE, "0.05", 1),
        ("complete", "1", 0),
    ]
    for_people = CliRunner().invoke(app, ["ledger", str(file)], env={"COLUMNS": "200"})
    assert all(word in for_people.stdout for word in SPENT_ON_SIZE.split())  # in a narrow column, over several lines


# What a run is let in by.


def test_a_run_is_let_in_by_both_charges_together() -> None:
    agreement = hidden_agreement(**{"privacy.membership_epsilon": 0.05})
    with closing(Ledger(":memory:")) as ledger:
        ledger.set_limit("people", Limit(Fraction(1), "add-remove"))
        ledger.refuse_if_over("people", ONE)
        assert costs_of_run(agreement, ONE) == (membership_cost(agreement), ONE)
        with pytest.raises(BudgetExceededError, match=r"needs epsilon 1.05 .*short by epsilon 0.05"):
            ledger.refuse_if_over("people", *costs_of_run(agreement, ONE))


def test_the_price_names_what_is_for_the_number_of_common_people() -> None:
    agreement = hidden_agreement(**{"privacy.membership_epsilon": 0.05})
    with closing(Ledger(":memory:")) as ledger:
        ledger.set_limit("people", LIMIT)
        said = price_in_words(agreement, LIMIT, ONE, ledger.spent_by_account("people"))
    assert said.startswith("epsilon 1.05 and delta ")
    assert "with epsilon 0.05 for the number of common people" in said
    assert "epsilon 7.95 and delta" in said


costs = st.builds(
    lambda epsilon, delta: Cost(add_remove=epsilon, replace=2 * epsilon, delta=delta),
    st.fractions(0, 3, max_denominator=50),
    st.fractions(0, Fraction(1, 10**8), max_denominator=10**10),
)


@given(costs, costs, st.fractions(Fraction(1, 10), 1, max_denominator=10), st.sampled_from([0, 1]))
@examples(60)
def test_charges_that_fit_in_one_sum_fit_one_after_the_other(first: Cost, second: Cost, share, has_rho) -> None:
    """So a run that was let in is not refused after it has spent its first charge."""
    limit = Limit(Fraction(3), "add-remove")
    if has_rho:
        limit = Limit.with_rho(Fraction(3), "add-remove", Fraction(1, 10**6), share)
    with closing(Ledger(":memory:")) as ledger:
        ledger.set_limit("people", limit)
        try:
            ledger.refuse_if_over("people", first + second)
        except BudgetExceededError:
            return
        ledger.refuse_if_over("people", first, second)
        charge_size(ledger, first)
        with ledger.reserve("people", "flu", "abc", second):
            pass


def test_in_rho_the_charge_takes_half_of_epsilon_squared_and_all_of_its_delta() -> None:
    """Of a limit that is all rho; docs: the proof in accounts.py, step 2, for (epsilon, delta)-DP."""
    limit = Limit.with_rho(Fraction(3), "add-remove", Fraction(1, 10**6), Fraction(1))
    with closing(Ledger(":memory:")) as ledger:
        ledger.set_limit("people", limit)
        charge_size(ledger)
        (entry,), spent = ledger.entries(), ledger.spent_by_account("people")
    assert entry.account == "rho"
    assert (spent.in_rho.add_remove, spent.in_rho.replace) == (Fraction(1, 800), Fraction(1, 800))
    assert (spent.in_rho.delta, spent.in_rho.distance) == (SIZE.delta, 0)


def test_a_run_may_pay_its_two_charges_from_two_accounts() -> None:
    """The sum fits neither account."""
    limit = Limit.with_rho(Fraction(2), "add-remove", Fraction(1, 10**6), Fraction(39, 40))
    assert limit.accounts is not None and limit.accounts.pure_epsilon == SIZE.add_remove
    rest = Cost(add_remove=Fraction(1, 3), replace=Fraction(1, 3))
    while rest.in_rho().add_remove <= limit.accounts.rho:
        rest = Cost(add_remove=rest.add_remove * Fraction(101, 100), replace=Fraction(1))
    rest = Cost(add_remove=rest.add_remove * Fraction(100, 101), replace=Fraction(1))
    with closing(Ledger(":memory:")) as ledger:
        ledger.set_limit("people", limit)
        with pytest.raises(BudgetExceededError):
            ledger.refuse_if_over("people", SIZE + rest)
        ledger.refuse_if_over("people", SIZE, rest)
        charge_size(ledger)
        with ledger.reserve("people", "flu", "abc", rest):
            pass
        assert [entry.account for entry in ledger.entries()] == ["epsilon", "rho"]


def test_what_a_run_is_said_to_take_of_a_ledger_is_both_charges(file: Path, ledger: Ledger) -> None:
    agreement = hidden_agreement(**{"privacy.membership_epsilon": 0.05})
    found = price(agreement, file)
    assert (found.this, found.left, found.left_after) == ("1.05", "9", "7.95")
    ledger.set_limit("people", Limit(Fraction(1), "add-remove"))
    assert "needs epsilon 1.05" in str(price(agreement, file).refusal)


def started_run(file: Path) -> Run:
    """A run of party bank that was asked for before anything was charged."""
    return Run(
        id="0" * 32,
        folder=file.parent / "runs" / "one",
        state="computing",
        party="bank",
        release="flu",
        dataset="people",
        agreement_file=file,
        agreement_hash="abc",
        out=file.parent / "out",
        data=None,
        ledger=file,
        others=("loans",),
        started_at="2026-01-01T00:00:00+00:00",
    )


def test_a_run_is_said_to_have_both_charges_and_how_far_the_last_one_came(file: Path, ledger: Ledger) -> None:
    seen = started_run(file)
    assert seen.charge() is None
    charge_size(ledger)
    charged = seen.charge()
    assert charged is not None
    assert (charged.state, charged.reserved, charged.opened) == (SPENT_ON_SIZE, "0.05", "0.05")
    assert [one.what for one in charged.disclosures] == [SIZE_LABEL]
    with ledger.reserve("people", "flu", "abc", ONE, peers=LOANS) as charge:
        charge.disclose("a table", Cost(add_remove=Fraction(1, 4), replace=Fraction(1, 2)))
        charged = seen.charge()
        assert charged is not None
        assert (charged.state, charged.reserved, charged.opened) == ("reserved", "1.05", "0.3")
        assert [one.what for one in charged.disclosures] == [SIZE_LABEL, "a table"]
    run(ledger)  # another run of the same agreement
    charged = seen.charge()
    assert charged is not None and (charged.state, charged.reserved) == ("complete", "1.05")
