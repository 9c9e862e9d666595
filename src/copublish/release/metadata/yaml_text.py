"""Writing a small document as YAML, of which JSON's texts, numbers and lists of them are a part.

A writer of our own, because a library of a few thousand lines would be needed for these few, and its bytes may differ
from version to version while all parties have to write the same ones.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

PLAIN = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)+")
"""Texts that YAML reads as texts without quotes; words without a hyphen could be numbers, truth values or nothing."""

NOT_IN_YAML = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
"""Characters that JSON writes as they are, and YAML refuses or takes for ends of lines."""


def yaml_text(document: Mapping[str, Any]) -> str:
    """A nested mapping of texts, numbers and lists of texts as YAML."""
    return "\n".join(_lines(document, "")) + "\n"


def _lines(mapping: Mapping[str, Any], indent: str) -> Iterator[str]:
    for key, value in mapping.items():
        if isinstance(value, Mapping):
            yield f"{indent}{key}:"
            yield from _lines(value, indent + "  ")
        elif isinstance(value, list | tuple):
            yield f"{indent}{key}:"
            yield from (f"{indent}  - {_scalar(item)}" for item in value)
        else:
            yield f"{indent}{key}: {_scalar(value)}"


def _scalar(value: str | float) -> str:
    if isinstance(value, str) and PLAIN.fullmatch(value):
        return value
    if isinstance(value, float) and "e" in repr(value) and "." not in repr(value):
        return repr(value).replace("e", ".0e")  # YAML 1.1 takes 1e-07 for a text
    return NOT_IN_YAML.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False))
