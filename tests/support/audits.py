"""What an audit writes, without an audit."""

from __future__ import annotations

from typing import Any

import copublish as cp
from copublish.auditing.result import Audit


def audit_of(agreement: cp.Agreement, **changes: Any) -> dict[str, Any]:
    """What `copublish audit --json` writes, with one view."""
    empty = Audit(
        agreement.name, agreement.hash, {"copublish": "1"}, "2026-01-01", "add-remove", (), (), (), (), (), 9.5
    )
    view = {"name": "public", "stated": {"epsilon": 1.0}, "found": 0.84, "expected": 0.83, "runs": 5000, "extra": [1]}
    return {**empty.to_dict(), "views": [{**view, "verdict": "consistent"}], **changes}
