"""Audits of every mechanism, audits that must not accuse, and broken variants that must be.

    make benchmark-audits    # about two hours on two quiet cores

Three parts: `table` audits each mechanism at two epsilons, on the demo's agreement and on one with three columns;
`repeat` audits sound mechanisms many times and counts verdicts; `broken` doubles the runs of each broken variant and of
each published flaw until nearly all audits accuse it. Minutes of the table are those of processors, of all processes
together, so that a busy machine finds as much as a quiet one: ten minutes on two cores are twenty.
--kept keeps what is done, so that a run that was stopped goes on; --write puts the tables into a document.
"""

from __future__ import annotations

import argparse
import itertools
import json
import resource
import sys
import time
import tomllib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import copublish as cp
from copublish.tools.auditing.result import VERDICT_LEVEL, Number
from copublish.tools.auditing.statistics import Tested
from copublish.tools.drafting.demo import COLUMNS_AND_PARTIES
from copublish_reproduction.audited_flaws import FLAWS
from measuring import Measuring, run, write_between
from support.broken_mechanisms import SMALL, TELLING, VARIANTS, symbol_of

SHORT = (
    *("--sizes", "small", "--epsilons", "1", "--mechanisms", "hpdp, Laplace", "--minutes", "0.03", "--workers", "0"),
    *("--repeat", "1", "--repeat-seconds", "1", "--audits", "1", "--first-runs", "200", "--flaws", "1"),
)
OPTIONAL = ("refuted", "found", "disclosures")
"""Sound mechanisms are not refuted, few runs need not find anything of what they state, and records that owners
perturb are no disclosure that is audited alone."""

MECHANISMS: dict[str, dict[str, Any]] = {
    "specialization": {"mechanism": {"name": "specialization", "specializations": 4}},
    "copula": {"mechanism": {"name": "copula"}},
    "hpdp, Laplace": {"mechanism": {"name": "hpdp"}},
    "hpdp, Gaussian": {"mechanism": {"name": "hpdp", "noise": "gaussian"}, "delta": "1e-6"},
    "marginals, Laplace": {"mechanism": {"name": "marginals"}},
    "marginals, Gaussian": {"mechanism": {"name": "marginals"}, "delta": "1e-6"},
    "vhdp": {"mechanism": {"name": "vhdp"}},
}

MARKERS = "<!-- begin audits -->", "<!-- end audits -->"
SIZES = {"demo": "the demo's 7 columns", "small": "3 columns"}

QUIET_SECONDS = 2 * 600
"""Processor seconds of ten minutes on two cores."""

LEVEL, SHARE = VERDICT_LEVEL / 10, 0.95
"""A variant counts as found at the level of an audit with ten numbers, in so many of its audits."""

MOST_DOUBLINGS, FIRST_RUNS, WHOLE_RUNS = 14, 25, 24


def agreement_of(mechanism: str, size: str, epsilon: str) -> cp.Agreement:
    """The demo's agreement, or a small one, with another mechanism; owners of rows where it wants whole ones."""
    settings = MECHANISMS[mechanism]
    found = tomllib.loads(COLUMNS_AND_PARTIES) if size == "demo" else json.loads(json.dumps(SMALL))
    found |= {"mechanism": settings["mechanism"], "name": f"audited-{size}"}
    found["privacy"] = {"epsilon": epsilon, **({"delta": settings["delta"]} if "delta" in settings else {})}
    if settings["mechanism"]["name"] == "hpdp":
        found["partition"] = "horizontal"
        for attribute in found["attributes"].values():
            attribute.pop("held_by", None)
    if settings["mechanism"]["name"] == "vhdp":
        found["records"]["public"] = True
        found["privacy"]["neighbors"] = "replace"
    return cp.agreement_from_mapping(found)


def processor_seconds() -> float:
    """What this process and its children have used."""
    return sum(
        used.ru_utime + used.ru_stime
        for used in (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def audited(
    mechanism: str, size: str, epsilon: str, minutes: float, workers: int | None, enough: float | None
) -> dict[str, Any]:
    """One audit of the public view and of every disclosure."""
    agreement = agreement_of(mechanism, size, epsilon)
    begin, used = time.monotonic(), processor_seconds()
    found = cp.audit(
        agreement,
        minutes=minutes,
        views=["public"],
        workers=workers,
        secure_runs=0,
        by_processor=True,
        enough=enough,
    )
    used = processor_seconds() - used
    (view,) = found.views
    return {
        "mechanism": mechanism,
        "size": size,
        "epsilon": epsilon,
        "verdict": found.verdict,
        "seconds": round(time.monotonic() - begin),
        "cpu_seconds": round(used),
        "view": numbers_of(view) | {"in_quiet_minutes": round(in_quiet_minutes(view, used), 3)},
        "disclosures": [numbers_of(number) for number in found.disclosures],
        "whole_runs": len(found.symbols),
    }


def numbers_of(number: Number) -> dict[str, Any]:
    """What a row of the table says."""
    return {
        "name": number.name,
        "stated": round(number.claim.epsilon, 4),
        "reachable": round(number.claim.reachable, 3),
        "found": round(number.tested.found, 4),
        "expected": round(number.tested.expected, 4),
        "runs": number.runs,
        "coins_per_run": number.coins_per_run,
        "people": number.claim.people,
    }


def in_quiet_minutes(view: Number, used: float) -> float:
    """What a mechanism exactly as stated would show with the runs of ten minutes on two cores of its own."""
    if view.sizes is None:
        raise ValueError("the evidence of this view was not kept")
    return view.claim.expected(view.sizes, 0.025, runs_each=QUIET_SECONDS / used)


def verdicts(found: dict[str, Any], repeat: int, seconds: float, keep: Callable[[], None]) -> Iterator[str]:
    """Audit sound mechanisms in turns, for so long each, until there are so many; yield words about each."""
    cases = [(mechanism, epsilon) for epsilon in ("0.5", "1") for mechanism in MECHANISMS]
    found.setdefault("audits", 0)
    for name, empty in {"refuted": [], "least_p_value": 1.0, "numbers": 0, "cpu_seconds": 0.0}.items():
        found.setdefault(name, empty)
    found.setdefault("seconds_each", seconds)
    while found["audits"] < repeat:
        mechanism, epsilon = cases[found["audits"] % len(cases)]
        used = processor_seconds()
        audit = cp.audit(
            agreement_of(mechanism, "small", epsilon), minutes=seconds / 60, views=["public"], workers=0, secure_runs=0
        )
        every = (*audit.views, *audit.disclosures)
        found["least_p_value"] = min(found["least_p_value"], *(one.tested.p_value for one in every))
        found["numbers"] += len(every)
        found["refuted"] += [f"{mechanism} {epsilon}"] * (audit.verdict == "refuted")
        found["audits"] += 1
        found["cpu_seconds"] = round(found["cpu_seconds"] + processor_seconds() - used, 1)
        keep()
        yield f"audit {found['audits']} of {repeat}: {audit.verdict}"


def runs_until_found(audit: Callable[[int], Tested], audits: int, start: int) -> tuple[int | None, float]:
    """The first number of runs, doubled each time, with which nearly all audits accuse; and that share."""
    runs = start
    for _ in range(MOST_DOUBLINGS):
        accused = sum(audit(runs).p_value < LEVEL for _ in range(audits))
        if accused >= SHARE * audits:
            return runs, accused / audits
        runs *= 2
    return None, accused / audits


def broken(audits: int, start: int, tell: Callable[[str], None], most: int | None = None) -> list[dict[str, Any]]:
    """Every broken variant and every published flaw, or the first of them, with the runs until it is found."""
    found = []
    generator = np.random.default_rng(7)
    known: Iterator[tuple[str, str, Callable[[int], Tested]]] = iter(
        [
            *(("variant", variant.words, variant.audit) for variant in VARIANTS[:most]),
            *(
                (flaw.number, flaw.words, lambda runs, flaw=flaw: flaw.audit(runs, generator))  # type: ignore[misc]
                for flaw in FLAWS[:most]
            ),
        ]
    )
    for number, words, audit in known:
        runs, share = runs_until_found(audit, audits, start)
        found.append({"number": number, "words": words, "runs": runs, "accused": share, "audits": audits})
        tell(f"{number}, {words}: {runs}")
    for words in list(TELLING)[:most]:
        symbol = symbol_of(words, WHOLE_RUNS if start == FIRST_RUNS else 2)
        share = symbol.right / max(1, symbol.runs)
        found.append({"number": "variant", "words": words, "runs": 2, "accused": share, "audits": symbol.runs})
        tell(f"{words}: {symbol.differs}")
    return found


def markdown(results: dict[str, Any]) -> str:
    """All tables of the document."""
    lines: list[str] = []
    table = sorted(results.get("table", []), key=lambda row: (list(MECHANISMS).index(row["mechanism"]), row["epsilon"]))
    for size, words in SIZES.items():
        rows = [row for row in table if row["size"] == size]
        if rows:
            lines += [*table_of_views(rows, words), ""]
    rows = [row for row in table if row["size"] == "demo" and row["epsilon"] == "1"]
    if rows:
        lines += [*table_of_disclosures(rows), ""]
    if "repeat" in results:
        lines += [*words_about_verdicts(results["repeat"]), ""]
    if "broken" in results:
        lines += table_of_broken(results["broken"])
    return "\n".join(lines).strip()


def table_of_views(rows: Sequence[dict[str, Any]], words: str) -> Iterator[str]:
    """One row for each mechanism and epsilon."""
    yield f"Public view, {words}:"
    yield ""
    yield (
        "| mechanism | stated | found | found / stated | as stated would show | the same in ten minutes of two cores | "
        "reachable | runs | people | processor seconds | seconds | verdict |"
    )
    yield "| --- |" + " --- |" * 11
    for row in rows:
        view = row["view"]
        runs = f"{view['runs']:,}" + (f" x {view['coins_per_run']:,}" if view["coins_per_run"] > 1 else "")
        cells = [
            row["mechanism"],
            row["epsilon"],
            f"{view['found']:.2f}",
            f"{view['found'] / view['stated']:.2f}",
            f"{view['expected']:.2f}",
            f"{view['in_quiet_minutes']:.2f}",
            f"{view['reachable']:.2f}",
            runs,
            str(view["people"]),
            str(row["cpu_seconds"]),
            str(row["seconds"]),
            row["verdict"],
        ]
        yield f"| {' | '.join(cells)} |"


def table_of_disclosures(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Disclosures alone, of the demo at epsilon 1."""
    yield "Disclosures alone, the demo's columns at epsilon 1:"
    yield ""
    yield "| mechanism | disclosure | stated | found | found / stated | runs x coins |"
    yield "| --- |" + " --- |" * 5
    for row in rows:
        for made in row["disclosures"]:
            share = (
                f"{made['found'] / made['stated']:.2f}" if made["stated"] else ""
            )  # of masked words nothing is stated
            name = made["name"].split(";")[0]
            name = name if len(name) <= 60 else name[:57] + "..."
            yield (
                f"| {row['mechanism']} | {name} | {made['stated']:.3f} | {made['found']:.3f} | {share} | "
                f"{made['runs']:,} x {made['coins_per_run']} |"
            )


def words_about_verdicts(found: dict[str, Any]) -> Iterator[str]:
    """How often sound mechanisms were accused."""
    yield (
        f"**{found['audits']} audits of sound mechanisms** (all of the above in turns, three columns, the public view "
        f"and every disclosure, {found['seconds_each']:g} s each): {len(found['refuted'])} verdicts `refuted`. The "
        f"smallest of {found['numbers']:,} p-values was {found['least_p_value']:.2g}. "
        f"{found['cpu_seconds']:,.0f} processor seconds."
    )


def table_of_broken(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Runs until broken variants are found."""
    audits = rows[0]["audits"]
    yield (
        "**Broken variants and published flaws**: the first of 25, 50, 100, ... runs with which at least "
        f"{SHARE:.0%} of {audits} audits accuse, each at a level of {LEVEL:g}. Numbers E are findings about [the "
        "papers](results.md); the variants are of leaf counts with 12 cells at epsilon 0.6, of three sums, of a "
        "choice among three, and of three owners' masked sums."
    )
    yield ""
    yield "| | what is wrong | runs |"
    yield "| --- | --- | --- |"
    for row in rows:
        runs = f"{row['runs']:,}" if row["runs"] else "not found"
        number = "" if row["number"] == "variant" else row["number"]
        yield f"| {number} | {row['words']} | {runs} |"


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--parts", nargs="+", default=["table", "repeat", "broken"])
    parser.add_argument("--minutes", type=float, default=8, help="of processors, for an audit of the table")
    parser.add_argument(
        "--enough", type=float, help="share of epsilon that a mechanism as stated would show: no more runs than that"
    )
    parser.add_argument("--epsilons", nargs="+", default=["0.5", "1"])
    parser.add_argument("--sizes", nargs="+", default=list(SIZES), choices=list(SIZES))
    parser.add_argument("--mechanisms", nargs="+", default=list(MECHANISMS), choices=list(MECHANISMS))
    parser.add_argument("--workers", type=int, default=None, help="processes that play; by default one for each core")
    parser.add_argument("--repeat", type=int, default=100, help="audits of sound mechanisms")
    parser.add_argument("--repeat-seconds", type=float, default=5)
    parser.add_argument("--audits", type=int, default=20, help="of every broken variant and number of runs")
    parser.add_argument(
        "--first-runs", type=int, default=FIRST_RUNS, help="of a broken variant; doubled until it is found"
    )
    parser.add_argument("--flaws", type=int, help="the first of each kind alone, to try this out")
    parser.add_argument("--kept", type=Path, help="where results are kept as they come")
    parser.add_argument("--write", type=Path, help="a document with places for the tables")


def measure(given: argparse.Namespace) -> Measuring:
    results: dict[str, Any] = {}
    if given.kept is not None and given.kept.exists():
        results = json.loads(given.kept.read_text(encoding="utf-8"))

    def keep() -> None:
        if given.kept is not None:
            given.kept.write_text(json.dumps(results, indent=1), encoding="utf-8")

    def tell(words: str) -> None:
        print(words, file=sys.stderr, flush=True)

    if "table" in given.parts:
        rows = results.setdefault("table", [])
        for size, mechanism, epsilon in itertools.product(given.sizes, given.mechanisms, given.epsilons):
            if not any((r["size"], r["mechanism"], r["epsilon"]) == (size, mechanism, epsilon) for r in rows):
                rows.append(audited(mechanism, size, epsilon, given.minutes, given.workers, given.enough))
                tell(json.dumps(rows[-1]["view"] | {"of": f"{mechanism}, {size}, {epsilon}"}))
                keep()
    if "broken" in given.parts and "broken" not in results:
        results["broken"] = broken(given.audits, given.first_runs, tell, given.flaws)
        keep()
    if "repeat" in given.parts:
        for words in verdicts(results.setdefault("repeat", {}), given.repeat, given.repeat_seconds, keep):
            tell(words)
    if given.write is not None:
        write_between(given.write, MARKERS, markdown(results))
    yield from rows_of(results)


def rows_of(results: dict[str, Any]) -> Measuring:
    """What the document has in short."""
    for row in results.get("table", []):
        view = row["view"]
        yield (
            "Public view",
            {
                "mechanism": row["mechanism"],
                "columns": SIZES[row["size"]],
                "stated": view["stated"],
                "found": view["found"],
                "runs": view["runs"],
                "disclosures": len(row["disclosures"]),
                "whole runs": row["whole_runs"],
                "CPU s": row["cpu_seconds"],
                "verdict": row["verdict"],
            },
        )
    if "repeat" in results:
        found = results["repeat"]
        yield (
            "Audits of sound mechanisms",
            {"audits": found["audits"], "numbers": found["numbers"], "refuted": len(found["refuted"])},
        )
    for row in results.get("broken", []):
        yield "Runs until a flaw is found", {"flaw": row["words"], "audits": row["audits"], "runs": row["runs"]}


if __name__ == "__main__":
    run(sys.modules[__name__])
