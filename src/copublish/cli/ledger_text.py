"""What a ledger holds, in words and tables: budgets, accounts, charges, comparisons of people, locks, signed runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from copublish.cli.terminal import Format, print_json, results_console
from copublish.errors import visible
from copublish.kernel.accounting.accounts import Accounts, Spent
from copublish.kernel.accounting.formatting import show_at_least, show_bound, show_exact
from copublish.kernel.ledger.budget import show_left
from copublish.kernel.ledger.comparisons import ListedPeople
from copublish.kernel.ledger.ledger import Entry, Ledger
from copublish.kernel.ledger.limits import UNBOUNDED, Limit
from copublish.kernel.ledger.receipts import Receipt
from copublish.party.early_ends import early_ends
from copublish.release.render.text_tables import add_row, text_table


def print_ledger(book: Ledger, output: Format) -> None:
    """Print everything that a ledger holds, for people or machines."""
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
            "number": entry.number,
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
            "with": dict(entry.peers),
            "agreement_hash": entry.agreement_hash,
        }
        for entry in book.entries()
    ]
    ends = [vars(found) for found in early_ends(book.entries())]
    if output is Format.JSON:
        told = {"datasets": datasets, "accounts": accounts, "charges": charges, "early_ends": ends}
        print_json({**told, **_comparisons(book), "locks": _locks(book), "signed_runs": _signed_runs(book)})
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
                "no.": str(entry.number),
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
    if ends:
        _print_table(
            "Runs that have not completed",
            [
                {**{name: str(said) for name, said in found.items()}, "certificate": _short(found["certificate"])}
                for found in ends
            ],
        )
    _print_comparisons(book)
    if signed := _signed_runs(book):
        _print_table("Signed runs", [{**run, "ledger_head": (run["ledger_head"] or "")[:16]} for run in signed])
    if locks := _locks(book):
        _print_table("Locks", [{**lock, "certificate": _short(lock["certificate"])} for lock in locks])


def _signed_runs(book: Ledger) -> list[dict[str, str | None]]:
    """The runs whose ledgers' heads were signed, with whom, and what signatures came."""
    last = {receipt.run: receipt.number for receipt in book.receipts()}
    return [
        {
            "signed_at": receipt.given_at,
            "release": receipt.release,
            "as": receipt.party,
            "with": ", ".join(name for name in receipt.signers if name != receipt.party),
            "signatures": _signed(receipt, is_last=receipt.number == last[receipt.run]),
            "ledger_head": receipt.head,
        }
        for receipt in book.receipts()
    ]


def _signed(receipt: Receipt, *, is_last: bool) -> str:
    if receipt.is_of_release:
        return "all"
    if receipt.signatures is not None and not is_last:
        return "of ledgers' heads, before people were compared"
    if receipt.signatures is not None:
        return "of ledgers' heads, the run ended before a release was signed"
    return "own, the run ended before the others came"


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
        of = f"{times} of {book.alignment_limit(dataset)} times are used up"
        said = f"The people of data set '{dataset}' were compared; {of}."
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


def _short(certificate: str | None) -> str | None:
    return None if certificate is None else certificate[:15]


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


def _show(number: Fraction | None) -> str:
    return UNBOUNDED if number is None else show_exact(number)
