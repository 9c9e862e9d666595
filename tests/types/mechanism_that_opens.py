"""A mechanism that tries what only the gate or the main path may do. mypy refuses every line with an expected error."""

from __future__ import annotations

from typing import Any

from copublish.kernel.records.joint_table import JointTable
from copublish.kernel.secrets.computer import Computer
from copublish.kernel.secrets.gate import Gate, RevealGate
from copublish.kernel.secrets.secret import Secret
from copublish.progress import Progress


def run(table: JointTable, computer: Computer, gate: Gate, progress: Progress) -> Any:
    secret: Secret = computer.share(table.count_locally([]))
    computer._open(secret)  # expect: "Computer" has no attribute "_open"
    computer.opener.open(secret)  # expect: "Computer" has no attribute "opener"
    gate.opener.open(secret)  # expect: "Gate" has no attribute "opener"
    gate.charge  # expect: "Gate" has no attribute "charge"
    computer.align(["a"])  # expect: "Computer" has no attribute "align"
    computer.have_common(["a"])  # expect: "Computer" has no attribute "have_common"
    computer.take_checks()  # expect: "Computer" has no attribute "take_checks"
    computer.exchange("rows", 1)  # expect: "Computer" has no attribute "exchange"
    RevealGate(computer, computer, gate, True)  # expect: incompatible type "Computer"; expected "Opener"
    return gate.opened
