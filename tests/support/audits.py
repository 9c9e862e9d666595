"""What an audit writes, without an audit; and audits that must not accuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import copublish as cp
from copublish.tools.auditing.result import VERDICT_LEVEL, Audit
from copublish.tools.auditing.statistics import Tested


def not_accused(audit: Callable[[], Tested]) -> Tested:
    """An audit of something sound, at the level of a verdict. One that accuses is done once more, with new coins.

    Something sound is accused by both with probability 10^-6 at most. A broken one that audits find far more often than
    not fails as often as it would by one of them, nearly.
    """
    first = audit()
    if first.p_value > VERDICT_LEVEL:
        return first
    second = audit()
    assert second.p_value > VERDICT_LEVEL, (first, second)
    return second


def audit_of(agreement: cp.Agreement, **changes: Any) -> dict[str, Any]:
    """What `copublish audit --json` writes, with one view."""
    empty = Audit(
        agreement.name, agreement.hash, {"copublish": "1"}, "2026-01-01", "add-remove", (), (), (), (), (), 9.5
    )
    view = {"name": "public", "stated": {"epsilon": 1.0}, "found": 0.84, "expected": 0.83, "runs": 5000, "extra": [1]}
    return {**empty.to_dict(), "views": [{**view, "verdict": "consistent"}], **changes}
