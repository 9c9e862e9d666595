"""Public names that are imported when they are first used: neither helpers nor `--help` load the data libraries.

Imports nothing but `importlib` and `sys`: the command line can be stopped without a traceback only once the package has
been imported.
"""

from __future__ import annotations

import importlib
import sys

TYPE_CHECKING = False
"""True for type checkers only. Not taken from `typing`, whose import takes time."""

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping


def lazy_names(
    module: str, homes: Mapping[str, Iterable[str]], submodules: Iterable[str] = ()
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a public module.

    Args:
        module: The public module, by its full name.
        homes: The public names by the module that defines each; "plan_release as plan" where they differ.
        submodules: Modules below this one that are imported at their first use, too.
    """
    places = dict(_places(homes))

    def getattribute(name: str) -> object:
        if name in submodules:
            return importlib.import_module(f"{module}.{name}")
        if name not in places:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        home, name_there = places[name]
        value = getattr(importlib.import_module(home), name_there)
        setattr(sys.modules[module], name, value)
        return value

    def list_names() -> list[str]:
        return sorted({*sys.modules[module].__all__, *submodules})

    return getattribute, list_names


def _places(homes: Mapping[str, Iterable[str]]) -> Iterable[tuple[str, tuple[str, str]]]:
    for home, names in homes.items():
        for name in names:
            name_there, _, public_name = name.partition(" as ")
            yield public_name or name_there, (home, name_there)
