"""What the source says of a class's attributes: below each of them, or in the docstring of the class."""

from __future__ import annotations

import ast
import inspect
import textwrap
from itertools import pairwise

import griffe


def said_of(model: type) -> dict[str, str]:
    """The words for every attribute that has some, its own class's before those of the classes above."""
    told: dict[str, str] = {}
    for each in model.__mro__:
        if each.__module__.startswith("copublish."):
            told = {**_in_docstring(each), **_below_attributes(each), **told}
    return told


def _in_docstring(model: type) -> dict[str, str]:
    found = griffe.Docstring(inspect.cleandoc(model.__doc__ or "")).parse("google")
    attributes = [section for section in found if section.kind is griffe.DocstringSectionKind.attributes]
    return {each.name: " ".join(each.description.split()) for section in attributes for each in section.value}


def _below_attributes(model: type) -> dict[str, str]:
    tree = ast.parse(textwrap.dedent(inspect.getsource(model))).body[0]
    told = {}
    for statement, after in pairwise(tree.body if isinstance(tree, ast.ClassDef) else []):
        match statement, after:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(words))):
                told[name] = " ".join(words.split())
    return told
