"""How long work tells what it is doing, and what came up on the way."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, int, int], None]
"""Called with a phase, how many of its steps are done, and how many there are."""


def no_progress(phase: str, done: int, of: int) -> None:
    """Tell nobody."""


Notice = Callable[[str], None]
"""Called with a sentence that a person should read, about what does not end a run."""


def no_notice(sentence: str) -> None:
    """Tell nobody."""
