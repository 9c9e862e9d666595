"""Secrets of the secure engine as expressions, computed in one program when something built on them is opened."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from copublish.engines.spu.requests import Call, Kept, Ranged, Shared, Step, Xored
from copublish.kernel.secrets.secret import Secret
from copublish.types import Program


@dataclass(frozen=True, eq=False)
class Node:
    """A secret as an expression: an input, a kept result, or a program on other nodes."""

    step: Shared | Ranged | Xored | Kept | None
    program: Program | None = None
    arguments: tuple[Node, ...] = ()
    public: dict[str, Any] | None = None


def steps_of(target: Node) -> tuple[Step, ...]:
    """The steps that compute a node, each node once, the target last."""
    steps: list[Step] = []
    place: dict[int, int] = {}

    def visit(node: Node) -> int:
        if id(node) not in place:
            if node.step is not None:
                step: Step = node.step
            else:
                arguments = tuple(visit(argument) for argument in node.arguments)
                step = Call(cast(Program, node.program), arguments, node.public or {})
            place[id(node)] = len(steps)
            steps.append(step)
        return place[id(node)]

    visit(target)
    return tuple(steps)


def kept_step(secret: Secret) -> Kept:
    """The step that takes up a kept secret again."""
    return cast(Kept, cast(Node, secret._handle).step)
