"""The one spelling of an agreement: what parties hash, so that comments and the order of keys mean nothing."""

from __future__ import annotations

import hashlib
import json
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from copublish.agreement.model import Agreement

ORDERED_TABLES = ("parties", "attributes", "taxonomy")


def canonical_spelling(agreement: Agreement) -> str:
    """An agreement in the spelling that is hashed: with its defaults, and without keys that say nothing."""
    content = agreement.model_dump(by_alias=True, exclude_none=True)
    return json.dumps(_canonical(content), sort_keys=True, ensure_ascii=True, separators=(",", ":"))


def hashes_of_parts(spelling: str) -> dict[str, str]:
    """A hash for every part of an agreement in its one spelling."""
    found: dict[str, object] = {}
    for key, value in json.loads(spelling).items():
        if key in ("parties", "attributes"):
            found |= {f"{key}.{name}": content for name, content in value}
            found[f"order of {key}"] = [name for name, _ in value]
        else:
            found[key] = value
    return {key: hashlib.sha256(json.dumps(value).encode()).hexdigest() for key, value in found.items()}


def _canonical(value: object, *, ordered: bool = False) -> object:
    """Spell numbers as fractions, and tables whose order matters as lists of pairs."""
    if isinstance(value, dict):
        if ordered:
            return [[key, _canonical(item, ordered=isinstance(item, dict))] for key, item in value.items()]
        return {key: _canonical(item, ordered=key in ORDERED_TABLES) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_canonical(item) for item in value]
    return str(Fraction(value)) if isinstance(value, Decimal) else value
