"""The one spelling of an agreement: what parties hash, so that comments and the order of keys mean nothing."""

from __future__ import annotations

import hashlib
import json
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from copublish.agreement.budget import Budget
from copublish.agreement.computation import Computation
from copublish.agreement.network import Network
from copublish.agreement.settings import hashed_for_all

if TYPE_CHECKING:
    from copublish.agreement.model import Agreement

FIRST_KEYS = ("values", "taxonomy", "held_by")
"""Keys that have been hashed from the beginning, also where nothing is said."""

ORDERED_TABLES = ("parties", "attributes", "taxonomy")


def canonical_spelling(agreement: Agreement) -> str:
    """An agreement in the spelling that is hashed."""
    content = agreement.model_dump(mode="python", by_alias=True)
    # Agreements from before a key was there, or was spelled otherwise, keep their hash.
    content["privacy"]["neighbours"] = content["privacy"].pop("neighbors")
    content["mechanism"] = {**hashed_for_all(), **agreement.mechanism.hashed()}
    for table in (content["privacy"], content["class"], *content["attributes"].values()):
        for key in [key for key, value in table.items() if value is None and key not in FIRST_KEYS]:
            del table[key]
    for attribute in content["attributes"].values():
        if "grid" in attribute and attribute["grid"]["round"] is None:
            del attribute["grid"]["round"]
    if content["records"]["compared_by"] is None:
        del content["records"]["compared_by"]
    for key, default in (("engine", Computation()), ("budget", Budget()), ("network", Network())):
        if content[key] == default.model_dump():
            del content[key]
    if "engine" in content and content["engine"]["shards"] is None:
        del content["engine"]["shards"]
    for party in content["parties"].values():
        for key, usual in (("data", True), ("signer", None), ("approvals", 0), ("reach", "listen")):
            if party[key] == usual:
                del party[key]
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
