"""The day of a release: the first party says it, and every other one holds it against its own clock first."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from copublish.engines.ideal import IdealEngine
from copublish.errors import MeetingError
from copublish.kernel.ledger.ledger import Ledger
from support.signed import NAMES, Signers, today

pytestmark = pytest.mark.slow  # releases between several parties


class OtherDay(IdealEngine):
    """An engine whose party says another day than its clock does, and does not refuse it itself."""

    def __init__(self, inner: IdealEngine, day: str, *, refuses: bool) -> None:
        self.__dict__.update(inner.__dict__)
        self._day, self._refuses = day, refuses

    def exchange(self, message: Any, public: Any) -> Any:
        if message.topic != "date":
            return super().exchange(message, public)
        told = super().exchange(message, self._day)
        return told if self._refuses else (public, *told[1:])


def publish(signers: Signers, liar: str, day: str, *, refuses: bool = True) -> dict[str, Any]:
    return signers.publish(
        around=lambda engine: OtherDay(engine, day, refuses=refuses) if engine.party == liar else engine
    )


def days_from_today(days: int) -> str:
    return (today() + timedelta(days=days)).isoformat()


@pytest.mark.parametrize("day", ["9999-12-31", "1999-01-01", "0001-01-01", days_from_today(4), days_from_today(-4)])
def test_a_day_that_is_far_from_the_own_clock_is_refused_before_anything_is_compared_or_charged(
    tmp_path: Path, day: str
) -> None:
    signers = Signers(tmp_path)
    with pytest.raises(MeetingError, match=f"'bank' would date the release {day}, and by the clock here"):
        publish(signers, "bank", day, refuses=False)
    for name in NAMES:
        book = Ledger(signers.ledger_file(name))
        assert book.entries() == book.alignments() == []
        book.close()


@pytest.mark.parametrize("days", [-1, 1])
def test_clocks_may_differ_by_a_day_and_the_first_party_s_counts(tmp_path: Path, days: int) -> None:
    released = publish(Signers(tmp_path), "bank", days_from_today(days))["loans"]
    assert released.certificate.deployment.basic.publication_date == days_from_today(days)


def test_the_day_that_another_party_than_the_first_says_means_nothing(tmp_path: Path) -> None:
    released = publish(Signers(tmp_path), "loans", "1999-01-01")["bank"]
    certificate = json.loads(released.files()["certificate.json"])
    assert certificate["deployment"]["basic"]["publication_date"] in (days_from_today(-1), days_from_today(0))
