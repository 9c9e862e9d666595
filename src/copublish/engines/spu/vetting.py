"""What a compiled program may consist of: integer operations that are exact, and just the opening it was asked for."""

from __future__ import annotations

import re

VETTED_OPERATIONS = frozenset(
    (
        *("constant", "iota", "free", "return", "custom_call"),
        *("add", "subtract", "multiply", "negate", "dot", "dot_general", "reduce"),
        *("and", "or", "xor", "not", "less", "select", "shift_left", "shift_right_logical", "shift_right_arithmetic"),
        *("reshape", "slice", "concatenate", "broadcast", "broadcast_in_dim", "transpose", "pad", "convert"),
    )
)
"""Operations that are exact on 64-bit integers. `reduce` is vetted for addition alone."""


def refuse_unvetted(code: str, *, opens: bool) -> None:
    """Raise unless compiled code consists of vetted integer operations and opens just what it should.

    Raises:
        ValueError: Naming the operation.
    """
    used = set(re.findall(r"(?:^\s*|= )pphlo\.(\w+)", code, flags=re.M))
    if unvetted := used - VETTED_OPERATIONS:
        raise ValueError(f"a program uses operations that are not vetted: {', '.join(sorted(unvetted))}")
    if re.search(r"[x<]f(16|32|64)\b|complex", code):
        raise ValueError("a program uses floating or fixed point; only integers are exact")
    if set(re.findall(r"applies pphlo\.(\w+)", code)) - {"add"}:
        raise ValueError("a program reduces by something else than addition; use a tournament")
    calls = re.findall(r"custom_call @([\w.]+)", code)
    if [call for call in calls if call != "spu.gather"] != (["spu.reveal"] if opens else []):
        raise ValueError("a program opens something that it should not")
    gathers = re.findall(r"custom_call @spu\.gather.*?: \(tensor<[^()]*>, (tensor<[^()]*>)\) ->", code)
    if len(gathers) != calls.count("spu.gather") or any("secret" in index for index in gathers):
        raise ValueError("a program looks something up at a secret place")
