"""What the main path needs of a mechanism: a plan with a price, and an outlet for its result.

Mechanisms and release folders lie above the kernel, so the kernel names only these protocols.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from copublish.agreement.model import Agreement
from copublish.kernel.accounting.cost import Cost
from copublish.kernel.accounting.disclosures import Disclosure
from copublish.kernel.certificate.build import Method
from copublish.kernel.certificate.certificate import Certificate, ClassDisagreement
from copublish.kernel.records.fragment import Fragment
from copublish.kernel.secrets.computer import Computer
from copublish.kernel.secrets.gate import Gate
from copublish.progress import Progress
from copublish.types import IntArray

if TYPE_CHECKING:
    from collections.abc import Callable

    from copublish.kernel.records.joint_table import JointTable


class PricedPlan(Protocol):
    """An agreement with the price that a ledger reserves for it."""

    @property
    def agreement(self) -> Agreement:
        """The agreement."""
        ...

    def cost(self) -> Cost:
        """The price of everything that a run may open."""
        ...


class RunnablePlan(PricedPlan, Protocol):
    """The part of a run that is fixed before any data is touched. The plan that people approved is what runs."""

    @property
    def checks_records(self) -> bool:
        """True if the mechanism asks more of one party's records than that they fit the schema."""
        ...

    def refuse_unfit_records(self, fragment: Fragment) -> None:
        """Raise if this party's records do not fit.

        Raises:
            FragmentError: Naming the rule, to this party only.
        """
        ...

    def method(self) -> Method:
        """The mechanism in words, for the certificate."""
        ...

    def run(self, table: JointTable, computer: Computer, gate: Gate, progress: Progress) -> Any:
        """Run the mechanism at one party.

        Privacy:
            Reveals: what it opens at the gate, which has charged it first. A computer opens nothing.
        """
        ...


class Publishable(Protocol):
    """A finished release, before it is signed and stored."""

    def digest(self) -> str:
        """One hash over all files but the signatures, by which the parties compare what they are about to publish."""
        ...


P = TypeVar("P", bound=Publishable)


class Outlet(Protocol[P]):
    """The way from a mechanism's result to a stored release.

    Its methods get released values only, but for `keep_own_map`.
    """

    @property
    def mechanism(self) -> str:
        """The mechanism's name."""
        ...

    def disagreement(self, opened: Sequence[tuple[Disclosure, IntArray]]) -> ClassDisagreement | None:
        """The measured disagreement of class columns, if one was measured."""
        ...

    def publish(self, certificate: Certificate, result: Any) -> P:
        """The release."""
        ...

    def keep_own_map(
        self, release: P, table: JointTable, opened: Sequence[tuple[Disclosure, IntArray]]
    ) -> AbstractContextManager[None]:
        """Keep a map of this party's rows to records, where there is one, in a private place; it goes if the run fails.

        Privacy:
            Reveals: nothing to anybody else. The map follows from what was opened and from this party's own rows.
        """
        ...

    def stage(self, release: P) -> AbstractContextManager[Callable[[], None]]:
        """Put a release on disk under a temporary name; the function that is yielded gives it its own name."""
        ...
