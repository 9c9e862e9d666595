"""A party's ledger: the price of a release, limits, charges, comparisons of people and locks."""

from __future__ import annotations

from copublish.lazy_names import lazy_names

TYPE_CHECKING = False

if TYPE_CHECKING:
    from copublish.errors import LockedError
    from copublish.kernel.ledger.budget import Budget
    from copublish.kernel.ledger.ledger import Ledger, Limit
    from copublish.party.own_ledger import Price, price, set_limit
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "copublish.errors": ("LockedError",),
            "copublish.kernel.ledger.budget": ("Budget",),
            "copublish.kernel.ledger.ledger": ("Ledger", "Limit"),
            "copublish.party.own_ledger": ("Price", "price", "set_limit"),
        },
    )

__all__ = [
    "Budget",
    "Ledger",
    "Limit",
    "LockedError",
    "Price",
    "price",
    "set_limit",
]
