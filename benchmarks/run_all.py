"""All benchmarks, one after another, into one page.

    make benchmarks                                              # everything; some of it takes hours
    make benchmarks BENCHMARKS="--only secure_release wide_area"
    make benchmarks BENCHMARKS="--most-minutes 5"                # what is done within minutes
    make benchmarks BENCHMARKS="--short"                         # the short forms: that they run; nothing is kept

Each runs in a process of its own. Its tables are kept in `benchmarks/results/`, a file for each benchmark and in it the
date, machine, load and versions for each table, so that pieces can be run again; `docs/benchmarks.md` is written from
these files. A benchmark that fails is shown with its error, and the others go on; the command then ends with code 1.
Options after `--` go to the benchmarks: `--only many_owners -- --owners 2 3`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks_page import page_of
from machine import described_machine
from measuring import ROOT, Tables, markdown_of

FOLDER_OF_BENCHMARKS = ROOT / "benchmarks"
RESULTS = FOLDER_OF_BENCHMARKS / "results"
PAGE = ROOT / "docs" / "benchmarks.md"


@dataclass(frozen=True)
class Entry:
    """One benchmark.

    Attributes:
        module: Its file.
        section: Where it stands on the page.
        minutes: About how long the long form takes on two cores.
        options: What the long form is run with.
        elsewhere: A page of its own that the long form writes, from docs/.
    """

    module: str
    section: str
    minutes: float
    options: tuple[str, ...] = ()
    elsewhere: str | None = None


SECURE, BETWEEN, IDEAL, USEFUL, SOUND = (
    "The secure engine",
    "Between machines",
    "The ideal engine",
    "What releases are worth",
    "Audits and faults",
)

BENCHMARKS = (
    Entry("secure_release", SECURE, 5),
    Entry("input_checks", SECURE, 5, ("--repetitions", "2")),
    Entry("marginals_release", SECURE, 20),
    Entry("many_owners", SECURE, 5),
    Entry("shards", SECURE, 3),
    Entry("where_they_lie", SECURE, 6),
    Entry("derived_columns", SECURE, 4),
    Entry("hpdp_release", SECURE, 4),
    Entry("paillier_moments", SECURE, 1),
    Entry("cost_model", SECURE, 12, ("--write",), "scale.md"),
    Entry("wide_area", BETWEEN, 2),
    Entry("alignment", BETWEEN, 2),
    Entry("alignment_of_many", BETWEEN, 20),
    Entry("hidden_join", BETWEEN, 2),
    Entry("hidden_membership", BETWEEN, 12),
    Entry("release_speed", IDEAL, 1),
    Entry("microaggregation", IDEAL, 3),
    Entry("accuracy", USEFUL, 5),
    Entry("scores", USEFUL, 5),
    Entry("hpdp_accuracy", USEFUL, 20),
    Entry("hpdp_other_tables", USEFUL, 10),
    Entry("hpdp_numbers", USEFUL, 20),
    Entry("copula_accuracy", USEFUL, 2),
    Entry("allocation", USEFUL, 5),
    Entry("matching", USEFUL, 1),
    Entry("marginals_accuracy", USEFUL, 20, ("--page", "docs/results/marginals.md"), "results/marginals.md"),
    Entry("central_comparators", USEFUL, 10, ("--methods", "marginals"), "results/marginals.md"),
    Entry("comparison", USEFUL, 20, ("--page", "docs/results/comparison.md"), "results/comparison.md"),
    Entry("interval_coverage", USEFUL, 30, ("--out", "docs/results/coverage.md"), "results/coverage.md"),
    Entry("audits", SOUND, 120, ("--write", "docs/audit.md"), "audit.md"),
    Entry("faults", SOUND, 25, (), "faults.md"),
)


@dataclass(frozen=True)
class Ran:
    """One benchmark that ended.

    Attributes:
        tables: What it measured; nothing if it failed.
        error: The last line that it said, if it failed.
        header: When, on what, and what it took.
    """

    tables: Tables
    error: str | None
    header: dict[str, Any]


def run_entry(entry: Entry, arguments: Sequence[str]) -> Ran:
    """Run a benchmark in a process of its own; what it says as it goes comes through."""
    header, start = described_machine(), time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        # Not what is printed: Java, which Spark starts, prints something now and then.
        tables = Path(folder, "tables.json")
        command = [sys.executable, str(FOLDER_OF_BENCHMARKS / f"{entry.module}.py"), *arguments, "--json", str(tables)]
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        last = ""
        for line in process.stderr or ():
            sys.stderr.write(line)
            last = line.strip() or last
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        header |= {
            "seconds": round(time.perf_counter() - start, 1),
            "cpu_seconds": round(used.ru_utime + used.ru_stime, 1),
            "load_after": round(os.getloadavg()[0], 1),
            "options": [option for option in arguments if option != "--data" and not Path(option).is_absolute()],
        }
        if process.returncode:
            return Ran({}, without_paths(last or f"exit code {process.returncode}"), header)
        return Ran(json.loads(tables.read_text(encoding="utf-8")), None, header)


def without_paths(text: str) -> str:
    """An error without folders of this machine."""
    for folder in (str(ROOT), str(Path.home()), sys.prefix):
        text = text.replace(folder, "...")
    return text


def kept(entry: Entry, folder: Path) -> dict[str, Any]:
    """What is known of a benchmark: its tables, each with when and where, and its last failure."""
    file = folder / f"{entry.module}.json"
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {"tables": {}}
    return found


def keep(entry: Entry, ran: Ran, folder: Path) -> None:
    """Put new tables in the place of old ones; those that were not measured this time stay."""
    known = kept(entry, folder)
    known.pop("failed", None)
    if ran.error is not None:
        known["failed"] = {"error": ran.error, **ran.header}
    for title, rows in ran.tables.items():
        known["tables"][title] = {"measured": ran.header, "rows": rows}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{entry.module}.json").write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")


def chosen(given: argparse.Namespace) -> list[Entry]:
    """The benchmarks that were asked for."""
    found = [entry for entry in BENCHMARKS if given.only is None or entry.module in given.only]
    return [entry for entry in found if given.most_minutes is None or entry.minutes <= given.most_minutes]


def arguments_of(entry: Entry, given: argparse.Namespace) -> list[str]:
    """What a benchmark is run with; what was asked for comes last and wins."""
    if given.short:
        return ["--short", *given.more]
    data = [] if given.data is None else ["--data", str(given.data.resolve())]
    return [*data, *entry.options, *given.more]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [entry.module for entry in BENCHMARKS]
    parser.add_argument("--data", type=Path, help="folder with the public data sets")
    parser.add_argument("--only", nargs="+", choices=names, metavar="NAME", help=", ".join(names))
    parser.add_argument("--most-minutes", type=float, help="leave out what usually takes longer")
    parser.add_argument("--short", action="store_true", help="the short forms; nothing is kept")
    parser.add_argument("--page-only", action="store_true", help="write the page from what is kept")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where tables are kept")
    parser.add_argument("--page", type=Path, default=PAGE)
    end = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    given = parser.parse_args(sys.argv[1:end])
    given.more = sys.argv[end + 1 :]
    if given.data is not None and not given.data.exists():
        given.data = None
    failed = []
    for entry in () if given.page_only else chosen(given):
        print(f"{entry.module} ...", file=sys.stderr, flush=True)
        ran = run_entry(entry, arguments_of(entry, given))
        if ran.error is not None:
            failed.append(entry.module)
            print(f"{entry.module} failed: {ran.error}", file=sys.stderr, flush=True)
        for title, rows in ran.tables.items():
            print(f"{entry.module}: {title}\n\n{markdown_of(rows)}\n", flush=True)
        if not given.short:
            keep(entry, ran, given.results)
            write_page(given.results, given.page)
    if given.page_only:
        write_page(given.results, given.page)
    if failed:
        sys.exit(f"Failed: {', '.join(failed)}")


def write_page(results: Path, page: Path) -> None:
    """Write the page from what is kept."""
    page.write_text(page_of([(entry, kept(entry, results)) for entry in BENCHMARKS]), encoding="utf-8")


if __name__ == "__main__":
    main()
