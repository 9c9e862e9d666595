"""`copublish ledger`: what was spent and compared, the limits, and who is locked out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import typer

from copublish.cli.terminal import Format, FormatOption, note, parse_pairs, print_json, results_console
from copublish.errors import LedgerError, visible
from copublish.files.home import default_ledger, make_private_folder
from copublish.mechanisms.shared.text_tables import add_row, text_table
from copublish.privacy.accounts import Accounts, Spent
from copublish.privacy.alignments import ListedPeople
from copublish.privacy.described import show_at_least, show_bound, show_exact
from copublish.privacy.disclosures import NEIGHBORS, Neighbors
from copublish.privacy.ledger import Entry, Ledger
from copublish.privacy.limits import DEFAULT_DELTA, UNBOUNDED, Limit

MAX_DIGITS = 100
"""Before or after the point, of a number in a limit."""

UNLIMITED_TIMES, MAX_DIGITS_OF_TIMES = "unlimited", 9

NO_LIMIT = (
    "WARNING: data set '{dataset}' has NO LIMIT from now on. Releases that are not differentially private may be made "
    "of it; after one, nobody in it has a guarantee, and under a finite limit nothing can be released any more."
)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("ledger")(ledger)


def ledger(
    file: Annotated[
        Path | None,
        typer.Argument(help="The ledger, an SQLite file; --limit creates it. Default: in your copublish folder."),
    ] = None,
    limit: Annotated[
        list[str] | None,
        typer.Option(
            help="DATASET=EPSILON or DATASET=EPSILON,DELTA: the most that may ever be spent on it. A delta that is not "
            "said stays as it was, at first 1e-9: too little for Gaussian noise. DATASET=unbounded: no limit."
        ),
    ] = None,
    neighbors: Annotated[
        str | None,
        typer.Option(
            "--neighbors",
            "--neighbours",
            help="The relation the limit is stated for: add-remove or replace. Default: as before.",
        ),
    ] = None,
    rho_share: Annotated[
        str | None,
        typer.Option(
            help="Which share of the limit's epsilon, 0 to 1, is an account in rho, where Gaussian noise adds up to "
            "less. What is left of epsilon is for all other releases; they can pay in rho as well, half of epsilon "
            "squared. Default: as before, at first 0: all epsilons and deltas add up. 1: for Gaussian noise alone."
        ),
    ] = None,
    alignments: Annotated[
        list[str] | None,
        typer.Option(
            help="DATASET=NUMBER: how often its people may ever be compared with other parties', by identifier. "
            "DATASET=unlimited: any number, which is the default."
        ),
    ] = None,
    unlock: Annotated[
        list[str] | None,
        typer.Option(help="DATASET=PARTY: go on with a party for which the data set was locked."),
    ] = None,
    output: FormatOption = Format.TEXT,
) -> None:
    """Show what was spent on which data set, in which release; with --limit, set the most that may be.

    A charge is never given back: a release that was reserved and failed stays spent. Also shown: when identifiers were
    compared, with whom, and who listed other people than before; and parties that are locked out because something
    was put in that the agreement does not allow.

    Example: copublish ledger --limit customers-2026=3

    Example: copublish ledger --limit customers-2026=3,1e-5

    Example: copublish ledger --limit customers-2026=3,1e-5 --rho-share 0.5

    Example: copublish ledger --alignments customers-2026=20

    Example: copublish ledger --unlock customers-2026=loans
    """
    file = file or default_ledger()
    if neighbors is not None and neighbors not in NEIGHBORS:
        raise typer.BadParameter(f"choose one of {', '.join(NEIGHBORS)}", param_hint="--neighbors")
    share = _read_share(rho_share)
    limits = {name: _read_limit(text) for name, text in parse_pairs(limit or [], "--limit").items()}
    times = {name: _read_times(text) for name, text in parse_pairs(alignments or [], "--alignments").items()}
    unlocked = parse_pairs(unlock or [], "--unlock")
    if not file.exists() and not limits:
        raise typer.BadParameter(f"there is no ledger '{file}'; --limit DATASET=EPSILON creates one")
    make_private_folder(file.parent)
    book = Ledger(file)
    for dataset, party in unlocked.items():
        if not book.unlock(dataset, party):
            raise typer.BadParameter(f"data set '{dataset}' is not locked for '{party}'", param_hint="--unlock")
    for dataset, (epsilon, delta) in limits.items():
        if epsilon is None:
            note(NO_LIMIT.format(dataset=dataset))
        is_whole = neighbors is not None and (epsilon is None or delta is not None)
        before = _limit_before(book, dataset, may_be_garbled=is_whole)
        book.set_limit(dataset, _limit_after(before, epsilon, delta, neighbors, share))
    for dataset, most in times.items():
        book.limit_alignments(dataset, most)
    _print(book, output)
    book.close()


def _read_limit(text: str) -> tuple[Fraction | None, Fraction | None]:
    """Read EPSILON or EPSILON,DELTA; none for an epsilon without bound, and for a delta that is not said."""
    if text == UNBOUNDED:
        return None, None
    first, comma, second = text.partition(",")
    epsilon, delta = _number(first), _number(second)
    if epsilon is None or epsilon <= 0:
        raise typer.BadParameter(f"epsilon must be a number above 0, got '{first}'", param_hint="--limit")
    if comma and (delta is None or not 0 <= delta < 1):
        raise typer.BadParameter(
            f"delta, after the comma, must be from 0 to below 1, got '{second}'; write decimals with a point",
            param_hint="--limit",
        )
    return epsilon, delta


def _limit_before(book: Ledger, dataset: str, *, may_be_garbled: bool) -> Limit | None:
    """The limit as it was; nothing if it cannot be read any more, where a whole limit is stated anew."""
    try:
        return book.limit(dataset)
    except LedgerError:
        if may_be_garbled:
            return None
        raise


def _read_share(text: str | None) -> Fraction | None:
    """Read a share for rho; none if it is not said."""
    if text is None:
        return None
    share = _number(text)
    if share is None or not 0 <= share <= 1:
        raise typer.BadParameter(f"a share is a number from 0 to 1, got '{text}'", param_hint="--rho-share")
    return share


def _read_times(text: str) -> int | None:
    """Read how often; none for any number."""
    if text == UNLIMITED_TIMES:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS_OF_TIMES):
        raise typer.BadParameter(
            f"write how often, a whole number, or {UNLIMITED_TIMES}; got '{text}'", param_hint="--alignments"
        )
    return int(text)


def _number(text: str) -> Fraction | None:
    """Read a decimal number exactly; nothing if it is none, or one that nobody means."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return Fraction(number) if number.is_finite() and abs(number.adjusted()) <= MAX_DIGITS else None


def _limit_after(
    before: Limit | None,
    epsilon: Fraction | None,
    delta: Fraction | None,
    neighbors: Neighbors | None,
    rho_share: Fraction | None,
) -> Limit:
    """The limit that is set: what is not said stays as it was."""
    kept = before or Limit(epsilon, "add-remove")
    if delta is None:  # what was unbounded had no delta to keep
        delta = DEFAULT_DELTA if kept.epsilon is None else kept.delta
    share = kept.rho_share if rho_share is None else rho_share
    if epsilon is None or share == 0:
        return Limit(epsilon, neighbors or kept.neighbors, delta)
    try:
        return Limit.with_rho(epsilon, neighbors or kept.neighbors, delta, share)
    except ValueError as exc:
        raise typer.BadParameter(f"{exc}", param_hint="--rho-share") from exc


def _print(book: Ledger, output: Format) -> None:
    datasets, accounts = {}, {}
    for dataset in sorted({entry.dataset for entry in book.entries()} | set(book.limited_datasets())):
        limit = book.limit(dataset)
        spent = book.spent_by_account(dataset)
        left, delta_left = (None, None) if limit is None else show_left(limit, spent)
        counted = spent.in_all if limit is None or limit.accounts is None else spent.in_epsilon
        datasets[dataset] = {
            "limit": None if limit is None else _show(limit.epsilon),
            "neighbors": None if limit is None else limit.neighbors,
            "spent": None if limit is None else _show(counted.under(limit.neighbors)),
            "left": left,
            "delta_limit": None if limit is None else _show(None if limit.epsilon is None else limit.delta),
            "delta_spent": show_bound(_delta_spent(limit, spent)),
            "delta_left": delta_left,
        }
        if limit is not None and limit.accounts is not None:
            accounts[dataset] = _accounts(limit, limit.accounts, spent)
    charges = [
        {
            "reserved_at": entry.reserved_at,
            "dataset": entry.dataset,
            "release": entry.release,
            "epsilon_add_remove": _show(entry.cost.add_remove),
            "epsilon_replace": _show(entry.cost.replace),
            "delta": show_bound(entry.cost.delta),
            "paid_from": entry.account,
            "rho_add_remove": _show_rho(entry.in_rho.add_remove),
            "rho_replace": _show_rho(entry.in_rho.replace),
            "state": entry.state,
            "disclosures": entry.disclosures,
            "agreement_hash": entry.agreement_hash,
        }
        for entry in book.entries()
    ]
    if output is Format.JSON:
        told = {"datasets": datasets, "accounts": accounts, "charges": charges}
        print_json({**told, **_comparisons(book), "locks": _locks(book)})
        return
    _print_table("Budgets", [{"dataset": dataset, **facts} for dataset, facts in datasets.items()])
    if accounts:
        rows = [{"dataset": dataset, **account} for dataset, found in accounts.items() for account in found]
        _print_table("Accounts", rows)
    in_rho = any(entry.account == "rho" for entry in book.entries())
    # To people, a minute and the beginning of a hash say enough, and fit a terminal.
    _print_table(
        "Charges",
        [
            {
                "reserved": entry.reserved_at[:16].replace("T", " "),
                "dataset": entry.dataset,
                "release": entry.release,
                "epsilon\nadd-remove": _show(entry.cost.add_remove),
                "epsilon\nreplace": _show(entry.cost.replace),
                "delta": show_bound(entry.cost.delta),
                **({"paid from": _paid_from(book, entry)} if in_rho else {}),
                "state": entry.state,
                "opened": str(entry.disclosures),
                "agree-\nment": entry.agreement_hash[:8],
            }
            for entry in book.entries()
        ],
    )
    _print_comparisons(book)
    if locks := _locks(book):
        _print_table("Locks", [{**lock, "certificate": (lock["certificate"] or "")[:15] or None} for lock in locks])


def _accounts(limit: Limit, accounts: Accounts, spent: Spent) -> list[dict[str, str | None]]:
    """The accounts of a limit with what was spent of each, spending rounded up and what is left rounded down."""
    left = spent.left(accounts, limit.epsilon or Fraction(0), limit.neighbors)
    rest = None if left is None else accounts.delta_for_rest - left.delta_for_rest
    pure, rho = spent.in_epsilon.under(limit.neighbors), spent.in_rho.under(limit.neighbors)
    return [
        {
            "account": "epsilon",
            "is": "epsilon of releases that pay in it",
            "limit": show_exact(accounts.pure_epsilon),
            "spent": _show(pure),
            "left": None if left is None else show_exact(left.pure_epsilon),
        },
        {
            "account": "rho",
            "is": f"at most epsilon {show_exact((limit.epsilon or Fraction(0)) - accounts.pure_epsilon)} at delta "
            f"{show_bound(accounts.delta_for_rho)}",
            "limit": show_at_least(accounts.rho),
            "spent": _show_rho(rho),
            "left": None if left is None else show_at_least(left.rho),
        },
        {
            "account": "delta",
            "is": "delta of everything but converting rho",
            "limit": show_at_least(accounts.delta_for_rest),
            "spent": UNBOUNDED if rest is None else show_bound(rest),
            "left": None if left is None else show_at_least(left.delta_for_rest),
        },
    ]


def _delta_spent(limit: Limit | None, spent: Spent) -> Fraction:
    """What was spent of delta: beside the conversion of rho, where the limit has an account for that."""
    if limit is None or limit.accounts is None:
        return spent.in_all.delta
    return spent.delta_of_rest(limit.epsilon or Fraction(0))


def _paid_from(book: Ledger, entry: Entry) -> str:
    """What a charge was paid from; of rho, how much under the relation of the limit."""
    if entry.account == "epsilon":
        return "epsilon"
    limit = book.limit(entry.dataset)
    return f"rho {_show_rho(entry.in_rho.under('add-remove' if limit is None else limit.neighbors))}"


def _show_rho(rho: Fraction | None) -> str:
    return UNBOUNDED if rho is None else show_bound(rho)


def _comparisons(book: Ledger) -> dict[str, Any]:
    """Comparisons of identifiers and their limits, for machines."""
    made = book.alignments()
    limited = {dataset: book.alignment_limit(dataset) for dataset in book.datasets_with_alignment_limits()}
    return {
        "alignment_limits": {
            dataset: {"limit": most, "made": sum(entry.dataset == dataset for entry in made)}
            for dataset, most in limited.items()
        },
        "alignments": [
            {
                "begun_at": entry.begun_at,
                "dataset": entry.dataset,
                "release": entry.release,
                "kind": entry.kind,
                "compared": entry.compared_by,
                "with": list(entry.peers),
                "identifiers_at_most": entry.size_class,
                "own_list": _listed(entry.own),
                "lists_of_peers": {peer: _listed(listed) for peer, listed in entry.of_peers.items()},
                "agreement_hash": entry.agreement_hash,
            }
            for entry in made
        ],
    }


def _listed(listed: ListedPeople) -> dict[str, Any]:
    return {"commitment": listed.commitment, "before": listed.before, "is_same": listed.is_same}


def _print_comparisons(book: Ledger) -> None:
    """Comparisons of identifiers for people, if there were any or they are limited."""
    made = book.alignments()
    for dataset in book.datasets_with_alignment_limits():
        times = sum(entry.dataset == dataset for entry in made)
        said = f"The people of data set '{dataset}' were compared {times} times of {book.alignment_limit(dataset)}."
        results_console().print(visible(said), soft_wrap=True)
    if made:
        _print_table(
            "Alignments",
            [
                {
                    "begun": entry.begun_at[:16].replace("T", " "),
                    "dataset": entry.dataset,
                    "release": entry.release,
                    "looked for": entry.kind,
                    "at most": f"{entry.size_class:,}",
                    "with": "\n".join(entry.peers),
                    "own\nlist": entry.own.words,
                    "lists of\nothers": "\n".join(f"{peer}: {said.words}" for peer, said in entry.of_peers.items())
                    or None,
                    "agree-\nment": entry.agreement_hash[:8],
                }
                for entry in made
            ],
        )


def _locks(book: Ledger) -> list[dict[str, str | None]]:
    return [
        {
            "locked_at": lock.locked_at,
            "dataset": lock.dataset,
            "party": lock.peer,
            "certificate": lock.certificate,
            "why": lock.why,
            "unlocked_at": lock.unlocked_at,
        }
        for lock in book.locks()
    ]


def _print_table(title: str, rows: Sequence[Mapping[str, str | None]]) -> None:
    table = text_table(title, [heading.replace("_", " ") for heading in (rows[0] if rows else ["nothing yet"])])
    for row in rows:
        add_row(table, *("-" if value is None else value for value in row.values()))
    results_console().print(table)


def show_left(limit: Limit, spent: Spent) -> tuple[str, str]:
    """How much of a limit is left, of epsilon and of delta, in words where it is no number.

    Where a limit has an account in rho, what is left beside it.
    """
    if limit.epsilon is None:
        return UNBOUNDED, UNBOUNDED
    if limit.accounts is not None:
        left = spent.left(limit.accounts, limit.epsilon, limit.neighbors)
        if left is None:
            return "nothing", "nothing"
        return show_exact(left.pure_epsilon), show_at_least(left.delta_for_rest)
    before = spent.in_all.under(limit.neighbors)
    if before is None:
        return "nothing", "nothing"
    return show_exact(limit.epsilon - before), show_at_least(limit.delta - spent.in_all.delta)


def show_rho_left(limit: Limit, spent: Spent) -> str | None:
    """How much is left of the account in rho; nothing if the limit has none."""
    if limit.accounts is None or limit.epsilon is None:
        return None
    left = spent.left(limit.accounts, limit.epsilon, limit.neighbors)
    return "nothing" if left is None else show_at_least(left.rho)


def _show(number: Fraction | None) -> str:
    return UNBOUNDED if number is None else show_exact(number)
