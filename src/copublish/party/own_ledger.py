"""A party's own ledger: what a release would take of it, its limit, and the signatures held against its entries."""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from pathlib import Path

from copublish.agreement.model import Agreement
from copublish.errors import BudgetExceededError, EditedLedgerError, LedgerError, ReleaseError
from copublish.files.home import default_ledger, make_private_folder
from copublish.kernel.accounting.cost import NOTHING
from copublish.kernel.accounting.disclosures import NEIGHBORS, Neighbors
from copublish.kernel.accounting.formatting import show_exact
from copublish.kernel.accounting.membership import costs_of_run
from copublish.kernel.ledger.budget import budget_of, price_in_words, show_left
from copublish.kernel.ledger.ledger import CHANGED, Ledger
from copublish.kernel.ledger.limits import DEFAULT_DELTA, UNBOUNDED, Limit
from copublish.kernel.ledger.receipts import Receipt
from copublish.mechanisms.registry import plan_of
from copublish.release.evidence.signatures import HeadsStatement, ReleaseStatement
from copublish.release.evidence.signing import chain_from_pem, fingerprint, signature_problem
from copublish.release.stored import read_stored_release

NO_LEDGER = "none"
"""In the place of the hash of a last entry."""

MOST_DIGITS = 100
"""Before or after the point, of a number in a limit."""


@dataclass(frozen=True, kw_only=True)
class Price:
    """What a release would take of a ledger, in words.

    Attributes:
        dataset: The people who are counted.
        relation: What epsilon is counted for.
        limit: The most that may ever be spent; none if no limit was set.
        spent: Epsilon before.
        this: Epsilon of this release, and of the number of common people where that is charged.
        left, left_after: What is left before and after; none without a limit, or if it may not be made.
        words: The same in a sentence, with delta; none if it may not be made.
        paid_from: The account of the limit that the release would be paid from; none if it may not be made.
        refusal: Why it may not be made; none if it may.
        ledger_state: The ledger's last entry, as a hash; `NO_LEDGER` if there is no ledger.
    """

    dataset: str
    relation: Neighbors
    limit: str | None
    spent: str
    this: str
    left: str | None = None
    left_after: str | None = None
    words: str | None = None
    paid_from: str | None = None
    refusal: str | None = None
    ledger_state: str = NO_LEDGER


def price(agreement: Agreement, ledger: str | Path | None = None) -> Price:
    """What a release would take of a ledger, or why it would be refused. Nothing is written.

    Args:
        agreement: The agreement.
        ledger: The ledger's file; the one in your copublish folder unless given. One that is not there has no limit.
    """
    cost, file = plan_of(agreement).cost(), Path(ledger or default_ledger())
    costs, relation = costs_of_run(agreement, cost), agreement.privacy.neighbors
    total = sum(costs, NOTHING)
    if not file.exists():
        why = f"There is no ledger '{file}', so there is no limit for data set '{agreement.dataset}'."
        return Price(
            dataset=agreement.dataset,
            relation=relation,
            limit=None,
            spent="0",
            this=_shown(total.under(relation)),
            refusal=f"{why} Set one: copublish ledger limit {agreement.dataset}=EPSILON --ledger {file}",
        )
    book = Ledger(file)
    try:
        state = book.head()  # before the rest is read: what is written meanwhile makes it an older one
        limit, spent = book.limit(agreement.dataset), book.spent_by_account(agreement.dataset)
        before = budget_of(agreement.dataset, limit, spent, ())
        this = _shown(total.under(before.relation))
        try:
            book.refuse_if_over(agreement.dataset, *costs)
        except BudgetExceededError as exc:
            return Price(
                dataset=agreement.dataset,
                relation=before.relation,
                limit=before.limit,
                spent=before.spent,
                this=this,
                left=before.left,
                refusal=str(exc),
                ledger_state=state,
            )
    finally:
        book.close()
    accounts = None if limit is None else limit.accounts_for(spent, costs)
    if limit is None or accounts is None:
        raise LedgerError(f"The ledger '{file}' was changed while it was read. Look again.")
    after, _ = show_left(limit, spent.after(costs, accounts))
    return Price(
        dataset=agreement.dataset,
        relation=before.relation,
        limit=before.limit,
        spent=before.spent,
        this=this,
        left=before.left,
        left_after=after,
        words=price_in_words(agreement, limit, cost, spent),
        paid_from=accounts[-1],
        ledger_state=state,
    )


def set_limit(
    dataset: str,
    epsilon: str,
    *,
    delta: str = "",
    neighbors: str = "add-remove",
    ledger: str | Path | None = None,
    ledger_state: str | None = None,
) -> None:
    """State the most that may ever be spent on a data set, in your own ledger; makes the ledger if there is none.

    Args:
        dataset: The people who are counted.
        epsilon: A number above 0, as text.
        delta: From 0 to below 1, as text; the usual little unless given, too little for Gaussian noise.
        neighbors: What the limit is counted for.
        ledger: The ledger's file; the one in your copublish folder unless given.
        ledger_state: What `price` said. If the ledger has another one now, no limit is set: somebody may have lowered
            it, or spent from it, after it was shown.

    Raises:
        LedgerError: If a number cannot be one, the ledger was changed after it was shown, or it cannot be written.

    Privacy:
        Guarantee: as `Limit` states. The newest limit holds; the file keeps the older ones.
    """
    most, most_delta = _number(epsilon), _number(delta) if delta else DEFAULT_DELTA
    if most is None or most <= 0:
        raise LedgerError(f"epsilon must be a number above 0, got '{epsilon}'. No limit was set.")
    if most_delta is None or not 0 <= most_delta < 1:
        raise LedgerError(f"delta must be from 0 to below 1, got '{delta}'. No limit was set.")
    if neighbors not in NEIGHBORS:
        raise LedgerError(f"A limit is for one of {', '.join(NEIGHBORS)}, got '{neighbors}'. No limit was set.")
    file = Path(ledger or default_ledger())
    if ledger_state == NO_LEDGER:
        if file.exists():
            raise LedgerError(CHANGED)
        ledger_state = None
    make_private_folder(file.parent)
    book = Ledger(file)
    try:
        book.set_limit(dataset, Limit(most, neighbors, most_delta), seen_head=ledger_state)
    finally:
        book.close()


def _number(text: str) -> Fraction | None:
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        return None
    return Fraction(number) if number.is_finite() and abs(number.adjusted()) <= MOST_DIGITS else None


def _shown(epsilon: Fraction | None) -> str:
    return UNBOUNDED if epsilon is None else show_exact(epsilon)


def refuse_wrong_receipts(ledger: Ledger) -> None:
    """Raise unless all receipts hold. Together with `Ledger.refuse_if_edited` that is what `ledger verify` looks at.

    Raises:
        EditedLedgerError: With the first thing found, and the way out.
    """
    if problems := receipt_problems(ledger):
        raise EditedLedgerError(
            f"The ledger '{ledger.path}' was changed by something else than copublish. {problems[0]} Nothing was "
            f"measured. See all of it: copublish ledger verify {ledger.path}"
        )


def receipt_problems(ledger: Ledger) -> list[str]:
    """A sentence for every signed run whose head or signatures are not those that were signed; nothing if all are."""
    problems = []
    for receipt in ledger.receipts():
        place = f"Signed run of {receipt.given_at[:10]} (release '{receipt.release}')"
        if receipt.heads.get(receipt.party) != receipt.head:
            problems.append(f"{place}: what was signed names another head of this ledger.")
        if receipt.signatures is not None:
            problems += [f"{place}: {said}" for said in _wrong_signatures(receipt, receipt.signatures)]
    return problems


def _wrong_signatures(receipt: Receipt, kept: str) -> list[str]:
    try:
        said, content = json.loads(kept), json.loads(receipt.statement)
        chains = {name: chain_from_pem(texts) for name, texts in said["certificates"].items()}
        found = {name: said["signatures"][name] for name in chains}
        if receipt.is_of_release:
            messages = dict.fromkeys(chains, ReleaseStatement.from_json(content).message)
        else:
            statement = HeadsStatement.from_json(content)
            messages = {name: statement.message_of(name) for name in chains}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return ["what was kept of the signatures cannot be read."]
    if {name: fingerprint(chain[0]) for name, chain in chains.items()} != dict(receipt.signers):
        return ["the certificates that were kept are not those that were signed."]
    problems = {name: signature_problem(chain[0], messages[name], found[name]) for name, chain in chains.items()}
    return [f"the signature of '{name}' {problem}." for name, problem in problems.items() if problem]


def release_problems(ledger: Ledger, folder: Path) -> list[str]:
    """A sentence if a ledger does not know of a release that its owner has signed; nothing if it does."""
    try:
        signed = read_stored_release(folder).signatures
    except ReleaseError as exc:
        return [str(exc)]
    if signed is None:
        return [f"'{folder}' is not signed, so it says nothing about ledgers."]
    if set(ledger.heads()) & set(signed.statement.ledger_heads.values()):
        return []
    return [
        f"None of the heads that were signed with '{folder}' is in the chain: the ledger is an old copy from before "
        "that release, was begun anew, or is not the ledger of one of its parties."
    ]
