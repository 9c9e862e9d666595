"""Gates that nothing would be paid at. mypy refuses every line with an expected error."""

from __future__ import annotations

from copublish.kernel.ledger.ledger import Ledger
from copublish.kernel.secrets.computer import Computer
from copublish.kernel.secrets.engine import Engine
from copublish.kernel.secrets.gate import RevealGate


def gates(engine: Engine, computer: Computer, ledger: Ledger) -> None:
    RevealGate(computer, engine.opener)  # expect: Missing positional arguments "charge"
    RevealGate(computer, engine.opener, None, True)  # expect: incompatible type "None"; expected "Charge"
    RevealGate(computer, engine.opener, ledger, True)  # expect: incompatible type "Ledger"; expected "Charge"
