"""Every public name by its module, documented by mkdocstrings from its docstring."""

from __future__ import annotations

import importlib
import inspect

import copublish

HEAD = """# Python: every public name

Made from docstrings. [Python](python.md) tells the same as a story, with examples. The names that most programs need
are at the top; the others are in a module for each task.
"""

TASK_MODULES = [name for name in dir(copublish) if name not in copublish.__all__]
"""Public modules beside the package itself."""

DIRECTIVE = """::: {home}
    options:
      heading: {module}.{name}
      heading_level: 4
      toc_label: {name}"""
"""A name is shown as it is imported, wherever it is defined."""

KINDS = (
    ("Functions", inspect.isfunction),
    ("Errors", lambda found: inspect.isclass(found) and issubclass(found, Exception)),
)


def page_of_python_names() -> str:
    """The page: a section for each module, in it a directive for each name, by kind."""
    modules = ["copublish", *(f"copublish.{name}" for name in TASK_MODULES)]
    return "\n\n".join([HEAD, *(_section(module) for module in modules)]) + "\n"


def _section(module: str) -> str:
    """One module's names. They are loaded on demand, so its source does not define them."""
    public = importlib.import_module(module)
    homes: dict[str, list[str]] = {"Functions": [], "Classes": [], "Errors": []}
    for name in public.__all__:
        found = getattr(public, name)
        if not isinstance(found, str):  # the version
            kind = next((kind for kind, holds in KINDS if holds(found)), "Classes")
            home = f"{found.__module__}.{found.__qualname__}"
            homes[kind].append(DIRECTIVE.format(home=home, module=module, name=name))
    parts = [f"## `{module}`"]
    if module != "copublish":
        parts.append(inspect.cleandoc(public.__doc__ or ""))
    for kind, names in homes.items():
        parts += [f"### {kind}", *names] if names else []
    return "\n\n".join(parts)
