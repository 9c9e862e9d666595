"""Every message that a user can meet, read off the source: what follows `raise`, and the sentences of broken rules.

`…` stands for what a message fills in.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import copublish
from copublish import errors
from copublish.cli.failures import WHAT_TO_DO
from copublish.errors import CopublishError

SOURCE = Path(copublish.__file__).parent

HEAD = """# Messages, by exit code

What copublish may say when it ends a command, read off its source: look a message up with the search or with your
browser. `…` is what a message fills in. A message never holds a value of a record. [Exit codes](exit-codes.md)
explains the codes; sentences about an agreement stand under code 3, also where `check` lists them as problems.
"""

RULES = "AgreementError"
"""What the sentences of rules become: they are collected, and raised together."""

WITH_SUBJECT = {"AgreementError", "FragmentError"}
"""Errors whose first argument is what they are about."""

NO_SENTENCE = re.compile(r"[A-Z]{4,} |[<#.,]|\w+\(")
"""SQL, HTML, headings, ends of sentences, and how objects show themselves."""

SHORTEST = 12
"""Fewer letters than this are no message, but a part of one."""


def page_of_messages() -> str:
    """The page."""
    by_code: dict[int, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for kind, message in messages():
        by_code[code_of(kind)][kind].add(message)
    parts = [HEAD]
    for code, kinds in sorted(by_code.items()):
        parts.append(f"## Exit code {code}")
        parts.append(WHAT_TO_DO[code])
        for kind, found in sorted(kinds.items()):
            parts.append(f"### `{kind}`\n\n" + _summary(kind))
            parts.append("\n".join(f"- {_as_text(message)}" for message in sorted(found)))
    listed = {message for kinds in by_code.values() for found in kinds.values() for message in found}
    parts.append("## What messages are made of")
    parts.append("Sentences that stand in others, or whose exit code depends on where they are met.")
    parts.append("\n".join(f"- {_as_text(said)}" for said in sorted(parts_of_messages() - listed)))
    return "\n\n".join(parts) + "\n"


def parts_of_messages() -> set[str]:
    """Sentences that functions of a module return, yield or keep for later, if the module raises errors of ours."""
    found: set[str] = set()
    for path in sorted(SOURCE.rglob("*.py")):
        tree = _tree_of(path)
        if any(isinstance(node, ast.Raise) for node in ast.walk(tree)):
            for function in ast.walk(tree):
                if isinstance(function, ast.FunctionDef):
                    found |= {said for node in ast.walk(function) for said in _kept(node)}
    return {said for said in found if not NO_SENTENCE.match(said)}


@cache
def _tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _kept(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Return | ast.Yield | ast.Assign) and node.value is not None:
        yield from _sentences(node.value)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "append":
        yield from _sentences(node.args[0])


def messages() -> Iterator[tuple[str, str]]:
    """Kind of error and message, for every one in the source."""
    for path in sorted(SOURCE.rglob("*.py")):
        speaks_of_rules = path.relative_to(SOURCE).parts[0] == "agreement" or path.name == "settings.py"
        for node in ast.walk(_tree_of(path)):
            if isinstance(node, ast.Call) and (kind := _name_of(node.func)) and is_ours(kind):
                told = node.args[1:] if kind in WITH_SUBJECT else node.args
                yield from ((kind, said) for argument in told for said in _sentences(argument))
            elif isinstance(node, ast.Call) and speaks_of_rules and _name_of(node.func) == "ValueError":
                yield from ((RULES, said) for argument in node.args for said in _sentences(argument))
            elif isinstance(node, ast.Yield) and speaks_of_rules and node.value is not None:
                yield from ((RULES, said) for said in _sentences(node.value))


def is_ours(kind: str) -> bool:
    """Whether a name is that of an error that ends a command."""
    found = getattr(errors, kind, None)
    return isinstance(found, type) and issubclass(found, CopublishError)


def code_of(kind: str) -> int:
    """The exit code of a kind of error."""
    return int(getattr(errors, kind).exit_code)


def _name_of(function: ast.expr) -> str | None:
    if isinstance(function, ast.Attribute):  # a constructor with a name of its own, like SilenceError.of
        return function.attr if is_ours(function.attr) else _name_of(function.value)
    return function.id if isinstance(function, ast.Name) else None


def _sentences(node: ast.expr) -> Iterator[str]:
    """The sentences that an argument can be: one, one of two, or a list of them."""
    if isinstance(node, ast.List | ast.Tuple):
        for element in node.elts:
            yield from _sentences(element)
    elif isinstance(node, ast.IfExp):
        yield from _sentences(node.body)
        yield from _sentences(node.orelse)
    else:
        said = " ".join(_words(node).split())
        if sum(map(str.isalpha, said)) >= SHORTEST and " " in said:
            yield said


def _words(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else "…"
    if isinstance(node, ast.JoinedStr):
        return "".join(_words(part) for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _words(node.left) + _words(node.right)
    return "…"


def _summary(kind: str) -> str:
    return (getattr(errors, kind).__doc__ or "").partition("\n")[0]


def _as_text(message: str) -> str:
    """A message with nothing that Markdown would obey."""
    return "".join(f"\\{character}" if character in "\\`*_{}[]<>#|" else character for character in message)
