"""Options of a run, as they are declared: on the command line, in Python and in party.toml."""

from __future__ import annotations

from copublish.party.options import Declared, options_of
from copublish.party.request import RunRequest
from website.reference.tables import table

HEAD = """# Options of a run

Made from the declaration that command line, Python and `party.toml` share. What is given for one run counts first, then
what [party.toml](../party-file.md) says, then the default. `copublish run` has options about passphrases, consent and
output as well ([commands](commands.md)); `cp.run`, `cp.runs.start` and `cp.runs.before_run` take these as keywords
([Python](python.md)). Other commands take those that concern them.
"""

MARKS = {True: "yes", False: ""}


def page_of_run_options() -> str:
    """The page."""
    rows = [_row(declared) for declared in options_of(RunRequest).values()]
    return f"{HEAD}\n{table(['on the command line', 'in Python', 'in party.toml', 'what it is'], rows)}\n"


def _row(declared: Declared) -> tuple[str, str, str, str]:
    return f"`{declared.flag}`", f"`{declared.name}`", MARKS[declared.in_party_file], declared.help
