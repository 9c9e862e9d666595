"""What an audit writes, without an audit; and audits that must not accuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import copublish as cp
from copublish.release.prepare import software_versions
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
    relation, versions = agreement.privacy.neighbors, software_versions(agreement)
    empty = Audit(agreement.name, agreement.hash, versions, "2026-01-01", relation, (), (), (), (), (), 9.5)
    stated = {"epsilon": float(agreement.epsilon)}
    view = {"name": "public", "stated": stated, "found": 0.84, "expected": 0.83, "runs": 5000, "extra": [1]}
    return {**empty.to_dict(), "views": [{**view, "verdict": "consistent"}], **changes}
