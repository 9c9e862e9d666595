"""The page docs/benchmarks.md, from what `run_all.py` keeps."""

from __future__ import annotations

import importlib
import inspect
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from measuring import markdown_of


class Listed(Protocol):
    """A benchmark in the list of all."""

    @property
    def module(self) -> str: ...

    @property
    def section(self) -> str: ...

    @property
    def minutes(self) -> float: ...

    @property
    def elsewhere(self) -> str | None: ...


INTRODUCTION = """\
# Benchmarks

`make benchmarks` runs every benchmark one after another, keeps its tables in `benchmarks/results/` and writes this page
from them. `make benchmark-NAME` runs one again; the others stay with their own dates. Those that read Adult and other
public tables need your own copy ([which files](../reproduction/README.md#what-you-need)):
`make benchmarks ADULT=folder`.
Every one has a short form on made-up tables, which is among the tests: it fails if a counter is 0 or a cell is empty.

**How to read times.** Above every table stands the load of the machine: how many processes wanted a core. Where it is
larger than the number of cores, seconds are too long by about that ratio. Processor seconds (*CPU s*) grow by less:
parties that wait also look whether something came; traffic, memory and ratios within one run hardly change.
Machines of one name differ, and hosts are shared: *loop* is what one core took for a fixed loop of Python just before.
Start-up and compilation are in all of them. [Scale](scale.md) has what follows for more records and owners,
and [benchmarks of version 0.1.0](results/benchmarks-0.1.0.md) have earlier numbers from quieter cores.
"""


def page_of(known: Sequence[tuple[Listed, Mapping[str, Any]]]) -> str:
    """The whole page."""
    lines = [INTRODUCTION, *_machines([found for _, found in known])]
    for section, entries in itertools.groupby(known, key=lambda pair: pair[0].section):
        lines += [f"## {section}\n"]
        for entry, found in entries:
            lines += _benchmark(entry, found)
    return "\n".join(lines).rstrip() + "\n"


def _machines(known: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What everything was measured on."""
    headers = [table["measured"] for found in known for table in found["tables"].values()]
    machines = {f"{one['cores']} cores of {one['processor']}, {one['memory']}": None for one in headers}
    versions = {", ".join(f"{name} {number}" for name, number in one["versions"].items()): None for one in headers}
    for what, found in (("Machine", machines), ("Versions", versions)):
        if found:
            yield f"{what}: {'; '.join(found)}.\n"


def _benchmark(entry: Listed, found: Mapping[str, Any]) -> Iterator[str]:
    title, about = _words(entry.module)
    yield f"### `{entry.module}`\n"
    yield f"{title}\n"
    if entry.elsewhere is not None:
        yield f"Its page is [{entry.elsewhere}]({entry.elsewhere}).\n"
    yield from about
    if "failed" in found:
        failed = found["failed"]
        yield f"**Failed** on {failed['date']}: `{failed['error']}`. What is below is from before.\n"
    if not found["tables"]:
        yield f"Not measured with this version yet; it takes about {entry.minutes:g} minutes.\n"
    for heading, table in found["tables"].items():
        yield f"*{heading}* ({_header(table['measured'])})\n"
        yield f"{markdown_of(table['rows'])}\n"


def _words(module: str) -> tuple[str, list[str]]:
    """The first line of a benchmark's docstring, and the rest without the command."""
    title, _, rest = inspect.cleandoc(importlib.import_module(module).__doc__ or "").partition("\n")
    paragraphs = [part for part in rest.strip().split("\n\n") if part and not part.startswith("    ")]
    return title, [f"{_as_list(part)}\n" for part in paragraphs]


def _as_list(paragraph: str) -> str:
    """Lines of the form 'part   what it is' as a list; continued lines are indented."""
    lines = paragraph.splitlines()
    if "  " not in lines[0].strip():
        return " ".join(line.strip() for line in lines)
    found: list[str] = []
    for line in lines:
        if line.startswith(" "):
            found[-1] += f" {line.strip()}"
        else:
            name, _, what = line.partition("  ")
            found.append(f"- *{name.strip()}*: {what.strip()}")
    return "\n".join(found)


def _header(measured: Mapping[str, Any]) -> str:
    options = " ".join(measured["options"])
    loop = f"loop {measured['loop_seconds']:g} s; " if "loop_seconds" in measured else ""
    load = f"load {measured['load']:g} before and {measured['load_after']:g} after, on {measured['cores']} cores"
    took = f"{measured['cpu_seconds']:,.0f} CPU s in {measured['seconds']:,.0f} s for the whole benchmark"
    return f"{measured['date']}; {loop}{load}; {took}" + (f"; `{options}`" if options else "")
