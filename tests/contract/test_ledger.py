"""The ledger's contract, in memory and on disk: reserve first, never refund, never exceed, survive a kill.

Kill tests: 16 child processes are killed (SIGKILL) at random moments of a loop of reserve, disclose, complete; the
moments come from a seeded generator, what the child is doing then does not. All waits are bounded.
"""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import copublish
from copublish.errors import BudgetExceededError, LedgerError
from copublish.kernel.accounting.cost import NOTHING, Cost
from copublish.kernel.ledger.ledger import Ledger, Limit
from support.profiles import examples

KILLS = 16
WAIT_SECONDS = 300.0


@pytest.fixture(params=["memory", "file"])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ledger]:
    opened = Ledger(":memory:" if request.param == "memory" else tmp_path / "party.db")
    yield opened
    opened.close()


def cost(epsilon: Fraction | int | str, delta: Fraction | int = 0) -> Cost:
    return Cost(add_remove=Fraction(epsilon), replace=2 * Fraction(epsilon), delta=Fraction(delta))


def spend(ledger: Ledger, price: Cost, dataset: str = "people") -> None:
    with ledger.reserve(dataset, "release", "hash", price):
        pass


# --- one process ---


def test_a_charge_is_written_whole_and_ends_complete(ledger: Ledger) -> None:
    ledger.set_limit("people", Limit(Fraction(1), "add-remove"))
    price = cost("1/3", Fraction(1, 2**60))
    with ledger.reserve("people", "flu", "abc", price) as charge:
        assert [entry.state for entry in ledger.entries()] == ["reserved"]
        assert ledger.spent("people") == price  # before anything is measured
        charge.disclose("first", cost("1/6"))
        charge.disclose("second", cost("1/6", Fraction(1, 2**60)))
    (entry,) = ledger.entries()
    assert (entry.dataset, entry.release, entry.agreement_hash) == ("people", "flu", "abc")
    assert (entry.cost, entry.state, entry.disclosures) == (price, "complete", 2)
    assert ledger.spent("people") == price


@pytest.mark.parametrize("neighbors", ["add-remove", "replace"])
def test_what_does_not_fit_is_refused_with_the_numbers_and_nothing_is_written(ledger: Ledger, neighbors) -> None:
    factor = 1 if neighbors == "add-remove" else 2
    ledger.set_limit("people", Limit(Fraction(factor), neighbors))
    spend(ledger, cost("4/5"))
    with pytest.raises(BudgetExceededError) as refused:
        spend(ledger, cost("1/2"))
    for number in (Fraction(1, 2), Fraction(1, 5), Fraction(3, 10)):  # needed, left, short
        assert f"{float(number * factor):g}" in str(refused.value)
    assert "Nothing was measured" in str(refused.value)
    assert ledger.spent("people") == cost("4/5")
    assert len(ledger.entries()) == 1


def test_asking_whether_a_cost_fits_writes_nothing_and_answers_as_a_reservation_would(ledger: Ledger) -> None:
    with pytest.raises(BudgetExceededError, match="no limit"):
        ledger.refuse_if_over("people", cost("1/2"))
    ledger.set_limit("people", Limit(Fraction(1), "add-remove"))
    for _ in range(3):
        ledger.refuse_if_over("people", cost(1))
    assert ledger.entries() == []
    spend(ledger, cost("1/2"))
    with pytest.raises(BudgetExceededError, match=r"short by epsilon 0\.5"):
        ledger.refuse_if_over("people", cost(1))


def test_the_limit_itself_can_be_spent_to_the_last_fraction_and_no_further(ledger: Ledger) -> None:
    ledger.set_limit("people", Limit(Fraction(1), "add-remove"))
    for _ in range(10):
        spend(ledger, cost("1/10"))  # in floating point ten tenths are not one
    with pytest.raises(BudgetExceededError):
        spend(ledger, cost(Fraction(1, 10**60)))
    assert ledger.spent("people").add_remove == 1


def test_fractions_without_a_short_decimal_are_kept_exactly(ledger: Ledger) -> None:
    parts = [Fraction(1, 3), Fraction(1, 7), Fraction(10**40 + 1, 3 * 10**40 + 7), Fraction(1, 2**200)]
    ledger.set_limit("people", Limit(sum(parts), "add-remove"))
    for part in parts:
        spend(ledger, cost(part, part / 2**70))
    assert ledger.spent("people") == Cost(add_remove=sum(parts), replace=2 * sum(parts), delta=sum(parts) / 2**70)
    assert ledger.limit("people") == Limit(sum(parts), "add-remove")
    with pytest.raises(BudgetExceededError):
        spend(ledger, cost(Fraction(1, 2**300)))


def test_without_a_limit_nothing_may_be_spent(ledger: Ledger) -> None:
    ledger.set_limit("others", Limit(Fraction(5), "add-remove"))
    with pytest.raises(BudgetExceededError, match="no limit for data set 'people'"):
        spend(ledger, cost("1/1000000"))
    assert ledger.limit("people") is None
    assert ledger.entries() == []


def test_a_cost_without_a_finite_epsilon_is_refused_where_the_limit_is_stated_for_that_relation(ledger: Ledger) -> None:
    unbounded = Cost(add_remove=None, replace=Fraction(1))
    ledger.set_limit("people", Limit(Fraction(10), "add-remove"))
    with pytest.raises(BudgetExceededError, match="No finite epsilon"):
        spend(ledger, unbounded)
    ledger.set_limit("people", Limit(Fraction(2), "replace"))
    spend(ledger, unbounded)
    assert ledger.spent("people") == unbounded
    ledger.set_limit("people", Limit(Fraction(10), "add-remove"))
    with pytest.raises(BudgetExceededError, match="No finite epsilon"):  # what is spent has none
        spend(ledger, cost("1/10"))


def test_data_sets_do_not_share_a_limit(ledger: Ledger) -> None:
    for dataset in ("people", "others"):
        ledger.set_limit(dataset, Limit(Fraction(1), "add-remove"))
        spend(ledger, cost(1), dataset)
    assert ledger.spent("people") == ledger.spent("others") == cost(1)


def test_a_limit_can_be_raised_and_lowering_it_below_what_is_spent_refuses_everything(ledger: Ledger) -> None:
    ledger.set_limit("people", Limit(Fraction(1), "add-remove"))
    spend(ledger, cost(1))
    ledger.set_limit("people", Limit(Fraction(2), "add-remove"))
    spend(ledger, cost("1/2"))
    ledger.set_limit("people", Limit(Fraction(1, 2), "add-remove"))
    with pytest.raises(BudgetExceededError):
        spend(ledger, cost(Fraction(1, 10**9)))
    assert ledger.spent("people") == cost("3/2")


@pytest.mark.parametrize("error", [RuntimeError("lost"), KeyboardInterrupt(), SystemExit(1)])
def test_nothing_is_refunded_when_a_release_ends_with_an_error(ledger: Ledger, error: BaseException) -> None:
    ledger.set_limit("people", Limit(Fraction(1), "add-remove"))
    with pytest.raises(type(error)), ledger.reserve("people", "r", "h", cost("3/4")) as charge:
        charge.disclose("first", cost("1/8"))
        raise error
    assert ledger.spent("people") == cost("3/4")
    assert [(entry.state, entry.disclosures) for entry in ledger.entries()] == [("ended early, spent", 1)]
    with pytest.raises(BudgetExceededError):
        spend(ledger, cost("1/2"))


@pytest.mark.parametrize(
    "second",
    [
        Cost(add_remove=Fraction(1, 2) + Fraction(1, 10**30), replace=Fraction(1), delta=Fraction(0)),
        Cost(add_remove=Fraction(1, 2), replace=Fraction(1) + Fraction(1, 10**30), delta=Fraction(0)),
        Cost(add_remove=Fraction(1, 2), replace=Fraction(1), delta=Fraction(1, 2**60)),
        Cost(add_remove=None, replace=Fraction(1), delta=Fraction(0)),
        Cost(add_remove=Fraction(1, 2), replace=None, delta=Fraction(0)),
    ],
)
def test_a_disclosure_beyond_the_reservation_is_refused_and_not_written(ledger: Ledger, second: Cost) -> None:
    ledger.set_limit("people", Limit(Fraction(100), "add-remove"))
    with ledger.reserve("people", "r", "h", cost(1, Fraction(1, 2**61))) as charge:
        charge.disclose("first", cost("1/2"))
        with pytest.raises(BudgetExceededError, match="more than was reserved"):
            charge.disclose("second", second)
        charge.disclose("third", cost("1/2", Fraction(1, 2**61)))  # what was refused has used up nothing
    assert [entry.disclosures for entry in ledger.entries()] == [2]


@given(
    st.fractions(0, 3, max_denominator=50),
    st.lists(st.fractions(0, 1, max_denominator=97), max_size=15),
    st.lists(st.booleans(), min_size=15, max_size=15),
)
@examples(50)
def test_any_sequence_of_charges_stays_within_the_limit_and_adds_up(limit, wanted, fails) -> None:
    book, naive = Ledger(":memory:"), Fraction(0)
    book.set_limit("people", Limit(limit, "add-remove"))
    for epsilon, fail in zip(wanted, fails, strict=False):
        accepted = naive + epsilon <= limit
        try:
            with book.reserve("people", "r", "h", cost(epsilon)):
                if fail:
                    raise RuntimeError("on the way")
        except BudgetExceededError:
            assert not accepted
        except RuntimeError:
            assert accepted
        else:
            assert accepted
        naive += epsilon if accepted else 0
        assert book.spent("people") == cost(naive)
        assert naive <= limit
    book.close()


# --- the file ---


def test_everything_is_there_when_the_file_is_opened_again(tmp_path: Path) -> None:
    first = Ledger(tmp_path / "party.db")
    first.set_limit("people", Limit(Fraction(1), "replace"))
    with first.reserve("people", "r", "h", cost("1/7", Fraction(1, 2**70))) as charge:
        charge.disclose("only", cost("1/7"))
    before = first.entries()
    first.close()
    again = Ledger(tmp_path / "party.db")
    assert again.entries() == before
    assert again.limit("people") == Limit(Fraction(1), "replace")
    with pytest.raises(BudgetExceededError):
        spend(again, cost("1/2"))
    again.close()


def test_a_second_ledger_on_the_same_file_sees_a_charge_that_is_still_running(tmp_path: Path) -> None:
    first, second = Ledger(tmp_path / "party.db"), Ledger(tmp_path / "party.db")
    first.set_limit("people", Limit(Fraction(1), "add-remove"))
    with first.reserve("people", "r", "h", cost("3/5")), pytest.raises(BudgetExceededError):
        spend(second, cost("3/5"))
    first.close()
    second.close()


def full_file(path: Path) -> None:
    book = Ledger(path)
    book.set_limit("people", Limit(Fraction(50), "add-remove"))
    for _ in range(50):
        spend(book, cost("1/10"))
    book.close()


@pytest.mark.parametrize("content", [b"no ledger at all" * 300, b"SQLite format 3\x00" + bytes(range(256)) * 20])
def test_a_file_that_is_no_ledger_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "party.db").write_bytes(content)
    with pytest.raises(LedgerError, match="cannot be opened"):
        Ledger(tmp_path / "party.db")
    assert (tmp_path / "party.db").read_bytes() == content


def test_a_folder_and_a_path_that_does_not_exist_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nowhere" / "party.db"):
        with pytest.raises(LedgerError, match="cannot be opened"):
            Ledger(path)


def test_a_file_with_garbled_pages_refuses_to_spend(tmp_path: Path) -> None:
    path = tmp_path / "party.db"
    full_file(path)
    content = path.read_bytes()
    path.write_bytes(content[:4096] + bytes(len(content) - 4096))
    with pytest.raises(LedgerError):
        spend(Ledger(path), cost("1/10"))


@pytest.mark.parametrize("read", ["entries", "spent", "limit"])
def test_a_file_with_garbled_pages_is_a_ledger_error_for_readers_too(tmp_path: Path, read: str) -> None:
    path = tmp_path / "party.db"
    full_file(path)
    content = path.read_bytes()
    path.write_bytes(content[:4096] + bytes(len(content) - 4096))
    with pytest.raises(LedgerError):
        getattr(Ledger(path), read)(*(["people"] if read != "entries" else []))


@pytest.mark.parametrize("change", ["UPDATE limits SET epsilon = 'lots'", "UPDATE charges SET epsilon_add_remove = ''"])
def test_a_number_that_cannot_be_read_is_a_ledger_error_and_nothing_is_spent(tmp_path: Path, change: str) -> None:
    path = tmp_path / "party.db"
    full_file(path)
    with sqlite3.connect(path) as database:
        database.execute(change)
    database.close()
    book = Ledger(path)
    with pytest.raises(LedgerError):
        spend(book, cost("1/10"))


def test_a_database_of_another_program_with_a_table_of_the_same_name_is_a_ledger_error(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "party.db") as database:
        database.execute("CREATE TABLE charges (amount REAL)")
    database.close()
    with pytest.raises(LedgerError):
        Ledger(tmp_path / "party.db").entries()


@contextmanager
def unable_to_write(path: Path) -> Iterator[None]:
    """Take the right to write from this process; root has it whatever the file's mode says, so become nobody."""
    mode, is_root = path.stat().st_mode, os.geteuid() == 0
    closed = [folder for folder in path.parents if is_root and not folder.stat().st_mode & 1]
    modes = {folder: folder.stat().st_mode for folder in closed}
    path.chmod(0o444)
    for folder in closed:
        folder.chmod(0o755)
    if is_root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)
        for folder, old in modes.items():
            folder.chmod(old)
        path.chmod(mode)


def test_a_file_that_cannot_be_written_refuses_to_spend(tmp_path: Path) -> None:
    path = tmp_path / "party.db"
    full_file(path)
    before = path.read_bytes()
    with unable_to_write(path), pytest.raises(LedgerError, match="cannot be"):
        spend(Ledger(path), cost("1/10"))
    assert path.read_bytes() == before
    spend(Ledger(path), cost("1/10"))


def test_a_disclosure_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    book = Ledger(tmp_path / "party.db")
    book.set_limit("people", Limit(Fraction(1), "add-remove"))
    with pytest.raises(LedgerError), book.reserve("people", "r", "h", cost(1)) as charge:
        book.close()
        charge.disclose("first", cost("1/2"))


# --- several processes ---

PREAMBLE = """
import sys, types
package = types.ModuleType("copublish")  # the ledger alone: a child must start quickly
package.__path__ = [sys.argv[1]]
sys.modules["copublish"] = package
from fractions import Fraction
from copublish.errors import BudgetExceededError
from copublish.kernel.accounting.cost import Cost
from copublish.kernel.ledger.ledger import Ledger, Limit

def tell(*words):
    print(*words, flush=True)
"""

ENDLESS = """
ledger, name, number = Ledger(sys.argv[2]), sys.argv[3], 0
part = Cost(add_remove=Fraction(1, 7), replace=Fraction(2, 7))
while True:
    number += 1
    with ledger.reserve("people", f"{name}-{number}", "hash", part + part) as charge:
        tell("reserved", f"{name}-{number}")
        for _ in range(2):
            charge.disclose("counts", part)
            tell("disclosed", f"{name}-{number}")
    tell("complete", f"{name}-{number}")
"""

TELLS_TOO_EARLY = """
import time
ledger = Ledger(sys.argv[2])
tell("reserved", "early-1")
time.sleep(1000)
"""

COMPETES = """
tell("started")
sys.stdin.readline()
ledger = Ledger(sys.argv[2])
ledger.set_limit("contested", Limit({limit}))
tell("ready")
sys.stdin.readline()
price = Cost(add_remove=Fraction(1, 7), replace=Fraction(2, 7), delta=Fraction(1, 10**11))
for number in range(10):
    try:
        with ledger.reserve("contested", f"{{sys.argv[3]}}-{{number}}", "hash", price):
            tell("reserved")
    except BudgetExceededError:
        tell("refused")
"""


def start(script: str, path: Path, name: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", PREAMBLE + script, str(Path(copublish.__file__).parent), str(path), name]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def bounded(child: subprocess.Popen[str]) -> threading.Timer:
    """Make sure that no read from a child lasts for ever."""
    timer = threading.Timer(WAIT_SECONDS, child.kill)
    timer.daemon = True
    timer.start()
    return timer


def report_until_killed(script: str, path: Path, name: str, seconds: float) -> list[tuple[str, str]]:
    """Let a child work, kill it a given time after its first word, and return all it said."""
    child = start(script, path, name)
    timer = bounded(child)
    first = child.stdout.readline()
    time.sleep(seconds)
    child.send_signal(signal.SIGKILL)
    rest, _ = child.communicate(timeout=WAIT_SECONDS)
    timer.cancel()
    assert child.returncode == -signal.SIGKILL, "the child ended by itself"
    *whole, _ = (first + rest).split("\n")  # a line that the kill cut in two was not said
    return [tuple(line.split(" ")) for line in whole]


def missing(path: Path, said: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return what a child said that is not in the file."""
    book = Ledger(path)
    entries = {entry.release: entry for entry in book.entries()}
    book.close()
    disclosed = [release for word, release in said if word == "disclosed"]
    return [
        (word, release)
        for word, release in said
        if release not in entries
        or (word == "disclosed" and entries[release].disclosures < disclosed.count(release))
        or (word == "complete" and entries[release].state != "complete")
    ]


def test_whatever_a_killed_process_had_reserved_stays_in_the_file(tmp_path: Path) -> None:
    path, moments = tmp_path / "party.db", random.Random(7)
    book = Ledger(path)
    book.set_limit("people", Limit(Fraction(10**9), "add-remove"))
    book.close()
    said: list[tuple[str, str]] = []
    spent, unfinished = NOTHING, 0
    for kill in range(KILLS):
        said += report_until_killed(ENDLESS, path, f"child{kill}", moments.uniform(0, 0.08))
        assert missing(path, said) == []
        book = Ledger(path)
        assert spent.fits_in(book.spent("people"))  # never less than before
        spent = book.spent("people")
        assert spent.add_remove == len(book.entries()) * Fraction(2, 7)
        unfinished = sum(entry.state == "reserved" for entry in book.entries())
        assert book._database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        spend(book, cost("2/7"))  # and it can be written
        spent += cost("2/7")
        book.close()
    assert len({release for word, release in said if word == "reserved"}) >= KILLS
    assert unfinished > 0  # some kills did come between reservation and end


def test_the_check_after_a_kill_notices_a_process_that_speaks_before_it_writes(tmp_path: Path) -> None:
    said = report_until_killed(TELLS_TOO_EARLY, tmp_path / "party.db", "early", 0.05)
    assert missing(tmp_path / "party.db", said) == [("reserved", "early-1")]


@pytest.mark.parametrize(
    "processes, limit",
    [(2, 'Fraction(5, 7), "add-remove"'), (4, 'Fraction(100), "add-remove", Fraction(5, 10**11)')],
    ids=["epsilon is short", "delta is short"],
)
def test_processes_that_compete_for_a_limit_get_exactly_what_it_allows(
    tmp_path: Path, processes: int, limit: str
) -> None:
    path = tmp_path / "party.db"  # which is not there yet, so they compete for creating it, too
    children = [start(COMPETES.format(limit=limit), path, f"child{number}") for number in range(processes)]
    timers = [bounded(child) for child in children]
    for word in ("started", "ready"):
        assert [child.stdout.readline() for child in children] == [f"{word}\n"] * processes
        for child in children:
            child.stdin.write("go\n")
            child.stdin.flush()
    said = [child.communicate(timeout=WAIT_SECONDS)[0].split() for child in children]
    for timer in timers:
        timer.cancel()
    assert [child.returncode for child in children] == [0] * processes
    assert sum(words.count("reserved") for words in said) == 5
    assert sum(words.count("refused") for words in said) == 10 * processes - 5
    book = Ledger(path)
    assert book.spent("contested") == Cost(
        add_remove=Fraction(5, 7), replace=Fraction(10, 7), delta=Fraction(5, 10**11)
    )
    assert all(entry.state == "complete" for entry in book.entries())
    book.close()
