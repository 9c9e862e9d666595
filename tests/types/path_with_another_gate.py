"""A caller that brings a gate of its own to the main path. mypy refuses every line with an expected error."""

from __future__ import annotations

from typing import Any

from copublish.kernel.ledger.ledger import Ledger
from copublish.kernel.main_path import run_release
from copublish.kernel.records.fragment import Fragment
from copublish.kernel.secrets.computer import Computer
from copublish.kernel.secrets.engine import Engine
from copublish.kernel.secrets.gate import RevealGate
from copublish.party.publishing import publish_release
from copublish.progress import no_progress as on

Part = Computer


def publish(plan: Any, rows: Fragment, engine: Engine, part: Part, book: Ledger, rest: Any) -> None:
    publish_release(plan, rows, engine, book, on, gate_for=RevealGate)  # expect: Unexpected keyword argument "gate_for"
    publish_release(plan, rows, part, book, on)  # expect: incompatible type "Computer"; expected "Engine"
    run_release(plan, rest, rest, rows, engine, book, rest, gate=rest)  # expect: Unexpected keyword argument "gate"
