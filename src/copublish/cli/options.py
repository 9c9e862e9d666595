"""Options of a run on the command line, as their declaration has them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from copublish.errors import OptionError
from copublish.party.options import Address, Declared, Places, options_of
from copublish.party.request import ResolvedRun, RunRequest

R = TypeVar("R")

GIVEN = "given"
"""The parameter of a command that gets what was typed."""


def with_options(*names: str, declaration: type = RunRequest) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """Give a command options by the names of their fields; it gets those that were typed as a mapping, `given`.

    Args:
        names: The options, in the order of help.
        declaration: The dataclass that declares them.
    """
    declared = [options_of(declaration)[name] for name in names]

    def decorate(command: Callable[..., R]) -> Callable[..., R]:
        @wraps(command)
        def with_given(**typed: Any) -> R:
            given = {option.name: _read(option, typed.pop(option.name)) for option in declared}
            return command(**typed, given={name: value for name, value in given.items() if value is not None})

        parameters: list[inspect.Parameter] = []
        for parameter in inspect.signature(command, eval_str=True).parameters.values():
            parameters += map(_parameter, declared) if parameter.name == GIVEN else [parameter]
        keyword_only = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in parameters]
        with_given.__signature__ = inspect.Signature(keyword_only)  # type: ignore[attr-defined]  # typer reads it
        with_given.__annotations__ = {one.name: one.annotation for one in parameters}
        return with_given

    return decorate


def _parameter(option: Declared) -> inspect.Parameter:
    is_switch = option.type is bool
    typed = {Address: str, Places: list[str]}.get(option.type, option.type)
    shown = typer.Option(option.flag, help=option.help, min=option.option.at_least)
    return inspect.Parameter(
        option.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=False if is_switch else None,
        annotation=Annotated[typed if is_switch else typed | None, shown],
    )


def _read(option: Declared, typed: object) -> Any:
    try:
        return None if typed is None or typed is False or typed == [] else option.read(typed)
    except ValueError as exc:
        raise typer.BadParameter(str(exc), param_hint=option.flag) from None


def resolved(agreement: Path, given: Mapping[str, Any], **more: Any) -> ResolvedRun:
    """The run that a command was asked for, or could be.

    Args:
        agreement: The agreement's file.
        given: Options that were typed.
        more: Other fields of the request.

    Raises:
        CopublishError: As `RunRequest.resolve`; a wrong option is named as it is typed.
    """
    try:
        return RunRequest.of(agreement, given, **more).resolve()
    except OptionError as exc:
        options = options_of(RunRequest)
        hint = options[exc.option].flag if exc.option in options else None
        raise typer.BadParameter(exc.problem, param_hint=hint) from None
