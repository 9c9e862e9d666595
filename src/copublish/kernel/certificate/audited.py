"""What a certificate says about an audit of its agreement: numbers from made-up tables, nothing of anybody's data."""

from __future__ import annotations

import hashlib
import json
from typing import Literal

from pydantic.dataclasses import dataclass

from copublish.types import TypedJson


@dataclass(frozen=True, kw_only=True)
class AuditedNumber(TypedJson):
    """What was found of a view or of a disclosure.

    Attributes:
        name: Of which.
        stated: Epsilon, as it is promised.
        found: The largest epsilon that runs proved to be needed.
        expected: What a mechanism exactly as stated would have shown.
        runs: How often it was played.
    """

    name: str
    stated: float
    found: float
    expected: float
    runs: int


@dataclass(frozen=True, kw_only=True)
class AuditStatement(TypedJson):
    """An audit that all parties had before the run.

    Attributes:
        date: When it was made.
        versions: Of the software that was audited.
        relation: How the made-up tables were neighbors.
        confidence: Of every number found.
        verdict: A refuted agreement is not run.
        verdict_level: How likely it is at most that a sound mechanism is refuted.
        views: For the public, parties and coalitions.
        disclosures: For everything that is opened, alone.
        whole_runs: How many whole runs were compared, on records that are not as agreed.
        secure_runs: How many of them between processes, on the agreed engine.
        skipped: What is not protected and was not audited.

    Privacy:
        A function of the agreement, of software and of coins. It states no guarantee: an audit can refute a promise and
        never prove it.
    """

    date: str
    versions: dict[str, str]
    relation: str
    confidence: float
    verdict: Literal["consistent"]
    verdict_level: float
    views: tuple[AuditedNumber, ...]
    disclosures: tuple[AuditedNumber, ...]
    whole_runs: int
    secure_runs: int
    skipped: tuple[str, ...]

    @property
    def digest(self) -> str:
        """A hash by which parties find out whether they have the same one."""
        return hashlib.sha256(json.dumps(self.to_json(), sort_keys=True).encode()).hexdigest()

    @property
    def words(self) -> str:
        """The same in two sentences."""
        found = "; ".join(f"{one.name}: {one.found:.2f} of {one.stated:.2f}" for one in self.views)
        return (
            f"An audit of the agreement on made-up tables ({self.date}) is consistent with what is stated. Epsilon "
            f"found of epsilon stated, with {self.confidence:.0%} confidence: {found}. An audit can refute a promise "
            "and never prove it."
        )
