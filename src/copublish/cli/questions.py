"""Questions at a terminal: an answer is checked while it is typed, and asked for again until it can be used."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import typer

from copublish.agreement.placeholders import FILL_IN
from copublish.tools.drafting.answers import or_left_open

T = TypeVar("T")


def ask(text: str, read: Callable[[str], T], default: str = FILL_IN) -> T | str:
    """Ask a question; Enter takes the default, and FILL IN leaves it open in the draft.

    Args:
        text: The question.
        read: Reads an answer, or raises a ValueError that says what to write.
        default: What Enter means.
    """
    reader = or_left_open(read)

    def checked(answer: str) -> T | str:
        try:
            return reader(answer)
        except ValueError as exc:
            raise typer.BadParameter(f"{exc}") from None

    return cast("T | str", typer.prompt(text, default=default, value_proc=checked, err=True))


def option(text: str | None, read: Callable[[str], T], name: str) -> T | str | None:
    """What an option says, read as an answer would be; nothing if it was not given.

    Raises:
        BadParameter: If it cannot be used.
    """
    if text is None:
        return None
    try:
        return or_left_open(read)(text)
    except ValueError as exc:
        raise typer.BadParameter(f"{exc}", param_hint=name) from None


def confirm(text: str) -> bool:
    """Ask whether; no is the default."""
    return bool(typer.confirm(text, default=False, err=True))
