"""Putting people into rows of a table so that no owner learns which of its people another one has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from copublish.kernel.noise.hidden_size import HiddenSize
from copublish.types import IntArray

if TYPE_CHECKING:  # the engine's worker loads this module and has no agreement
    from copublish.agreement.model import Agreement


@dataclass(frozen=True)
class HiddenJoin:
    """What all parties know of a join that hides membership.

    Attributes:
        at_most: The public length of every owner's list, in agreed order.
        size: The law of what hides the number of common people, between two owners; none where a helper puts people
            into rows, because owners then learn nothing of it.
    """

    at_most: Mapping[str, int]
    size: HiddenSize | None

    @staticmethod
    def of(agreement: Agreement) -> HiddenJoin | None:
        """What an agreement says of it; none where owners learn who is common."""
        if not agreement.hides_membership:
            return None
        lengths = agreement.records.at_most or {}
        size = (
            HiddenSize(agreement.membership_epsilon, agreement.membership_delta) if agreement.helper is None else None
        )
        return HiddenJoin({owner: lengths[owner] for owner in agreement.owners}, size)

    def length_of(self, owner: str) -> int:
        """How many entries the list of an owner has for the others: its people, padding and, of two owners, pools."""
        return self.at_most[owner] + (0 if self.size is None else 2 * self.size.pool)

    @property
    def most_rows(self) -> int:
        """A public bound on the rows of the table: with a helper there are so many; two owners share some entries."""
        return sum(map(self.length_of, self.at_most))


@dataclass(frozen=True)
class Placement:
    """Where one party's people are in the table that all owners share.

    Attributes:
        rows: For each of its people the number of a row, all different; nothing at a party without data.
        n_rows: How many rows the table has, the same at every party. Most hold one person of one owner or nobody.
    """

    rows: IntArray = field(repr=False)
    n_rows: int
