"""Every mechanism beside raw data and a trivial baseline, in all scores, on four public tables; and whether plans help.

    make benchmark-comparison ADULT=folder-with-the-data-sets

First part: Adult (official division; without records that miss values, without `education`, country as United-States or
other), Nursery, Wine Quality (is the quality 6 or better?) and Statlog heart (each divided at random into 2/3 and 1/3
in every run), held by two owners of whole rows. Every differentially private mechanism in its usual settings and the
trivial baseline (noisy tables of every column by the class, records drawn independently given the class), at the same
epsilon, calibrated to a record added or removed; `vhdp`, which publishes every record, to one replaced. Predictions are
tested on the test records, everything else is compared with the training records, tables on quantiles of these. Means
and standard errors over the runs.

Second part: of each table one half is public and one private (of Adult 9,000 records each). `plan` tries settings of
`specialization` on the public half; on the private half the same settings are tried with the same number of runs. Is
what the plan takes within one standard error of the best setting there, or did the plan say that it cannot tell? The
same for mechanisms.

Releases are simulated on the ideal engine, which gives the same ones as the secure one. `--results FILE` keeps what is
measured, and what it has is not measured again; `--page FILE` writes the page; `--short` takes a small made-up table.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from comparison_page import page_of
from copublish.tools.evaluation.baseline import BASELINE, ClassTables
from copublish.tools.evaluation.classification import ClassifierName
from copublish.tools.evaluation.prediction import METRICS, RANKED_CLASSIFIERS
from copublish.tools.evaluation.published import ScoredData
from copublish.tools.evaluation.utility import DISTANCES, Utility, raw_utility, utility_of
from copublish.tools.planning.advice import plan_release
from copublish.tools.planning.tables import made_up_table, read_like
from copublish.tools.planning.trials import Trial, TrialGround, choose_setting, try_setting, with_mechanism
from copublish.tools.planning.tunings import tuning_of
from copublish_reproduction import datasets
from divisions import TABLES, Division, agreement_for
from measuring import Cell, Measuring, Row, mean_and_error, run

SHORT = ()
OPTIONAL = ("behind",)
"""What a plan takes may be the best."""

RAW, LARGEST = "raw data", "largest class"
MECHANISMS = ("specialization", "marginals", "copula", "hpdp", "vhdp")
BUDGETS: dict[str, tuple[str, str | None]] = {
    "epsilon 0.1": ("0.1", None),
    "epsilon 0.5": ("0.5", None),
    "epsilon 1": ("1", None),
    "epsilon 1, delta 1e-6": ("1", "1e-6"),
}
USUAL_BUDGETS = ("epsilon 1", "epsilon 1, delta 1e-6")
USES_DELTA = ("marginals", "hpdp", BASELINE)
FAST: tuple[ClassifierName, ...] = ("decision-tree", "logistic-regression")
"""For the second part, in which one table needs hundreds of releases."""

RUNS = {"made-up": 2, "adult": 3, "nursery": 3, "wine": 3, "heart": 8}
"""Small tables need more of them, and take less time."""

MOST_OF_A_HALF = 9_000
"""Records of a half that is planned on or tried on; more would take hours."""

SHORT_RECORDS = 600


def log(words: str) -> None:
    """Say on stderr how far it is."""
    print(words, file=sys.stderr, flush=True)


def with_taxonomies(table: str, folder: Path, division: Division) -> Division:
    """Return the division with the taxonomies of Adult and Nursery, which generalizing needs; values stay the same."""
    if table not in ("adult", "nursery"):
        return division
    code_book = datasets.agreement_for(table, folder, "1", expected=1000).attributes
    attributes = dict(division.attributes)
    for name, attribute in division.attributes.items():
        known = code_book[name]
        if attribute["kind"] == "categorical" and list(known.tree.leaves()) == attribute["values"]:
            taxonomy = known.model_dump(by_alias=True)["taxonomy"]
            attributes[name] = attribute if taxonomy is None else {"kind": "categorical", "taxonomy": taxonomy}
    return replace(division, attributes=attributes)


def made_up(folder: Path, run: int) -> Division:
    """Return a small table that needs no files."""
    attributes: dict[str, dict[str, Any]] = {
        "a": {"kind": "numerical", "bounds": [0, 10], "grid": {"step": 1}},
        "b": {"kind": "numerical", "bounds": [0, 10], "grid": {"step": 2}},
        "c": {"kind": "categorical", "values": ["x", "y", "z"]},
    }
    division = Division(pd.DataFrame(), pd.DataFrame(), attributes, ("label", ("no", "yes")))
    agreement = agreement_for(division, "made-up", "1", None)
    whole = made_up_table(agreement, SHORT_RECORDS, np.random.default_rng(run))
    cut = SHORT_RECORDS * 2 // 3
    return replace(division, train=whole[:cut], test=whole[cut:].reset_index(drop=True))


def one_run(
    division: Division, table: str, run: int, budgets: list[str], classifiers: tuple[ClassifierName, ...]
) -> dict[str, dict[str, Any]]:
    """Return, by budget and then by what was published, all scores of one division and one release of each."""
    base = agreement_for(division, table, "1", None)
    train, test = (read_like(base, frame)[0] for frame in (division.train, division.test))
    ground = TrialGround(base, train, test, np.random.default_rng(run), with_numbers=True, classifiers=classifiers)
    target, found = division.label[0], {}
    raw = _plain(raw_utility(ScoredData.of_records(train, base.columns, target), test, classifiers=classifiers))
    largest = {"accuracy": ground.largest_class(), "area": 0.5, "balanced_accuracy": 1 / len(division.label[1])}
    for budget in budgets:
        epsilon, delta = BUDGETS[budget]
        agreement = agreement_for(division, table, epsilon, delta)
        public = agreement_for(division, table, epsilon, None, expected=len(train), public=True)
        rows: dict[str, Any] = {RAW: raw}
        for name in MECHANISMS:
            if delta is not None and name not in USES_DELTA:
                continue
            variant = with_mechanism(public if name == "vhdp" else agreement, name)
            rows[name] = _plain(ground.summary(ground.releases(variant, 1)).runs[0])
        drawn = ClassTables.beside(agreement).draw(train, np.random.default_rng(1000 + run))
        published = ScoredData.of_records(drawn, base.columns, target)
        rows[BASELINE] = _plain(utility_of(published, train, test, classifiers=classifiers))
        found[budget] = {**rows, LARGEST: {"largest": largest}}
        log(f"{table}, run {run + 1}, {budget}")
    return found


def _plain(utility: Utility) -> dict[str, Any]:
    return {
        "predictions": {name: one.scores().to_json() for name, one in utility.predictions.items()},
        "distances": dict(utility.distances),
    }


def told(values: list[float | None]) -> dict[str, float | None]:
    """The mean of what is known and its standard error, as the page has them."""
    mean, error = mean_and_error(values)
    return {"value": mean, "error": error}


def summarized(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return means and standard errors over runs of what one mechanism published."""
    if "largest" in runs[0]:
        return {"largest": {key: told([run["largest"][key] for run in runs]) for key in runs[0]["largest"]}}
    classifiers = {
        name: {metric: told([run["predictions"][name][metric] for run in runs]) for metric in METRICS}
        for name in runs[0]["predictions"]
    }
    best = max(classifiers, key=lambda name: classifiers[name]["area"]["value"] or 0)
    distances = {key: told([run["distances"][key] for run in runs]) for key in DISTANCES}
    return {"best": best, "classifiers": classifiers, "distances": distances}


def halves(
    division: Division,
    table: str,
    runs: int,
    classifiers: tuple[ClassifierName, ...],
    mechanisms: tuple[str, ...],
    tried: dict[str, tuple[int, ...]],
) -> dict[str, Any]:
    """Return what a plan on a public half takes, and how that compares with the best on the private half."""
    whole = pd.concat([division.train, division.test], ignore_index=True)
    order = np.random.default_rng(99).permutation(len(whole))
    parts = [whole.iloc[order[half::2][:MOST_OF_A_HALF]].reset_index(drop=True) for half in range(2)]
    expected = len(parts[0]) * 2 // 3
    agreement = with_mechanism(agreement_for(division, table, "1", None, expected=expected), "specialization")
    planned = plan_release(
        agreement, parts[0], mechanisms=mechanisms, epsilons=["1"], tried=tried, runs=runs, classifiers=classifiers
    ).to_dict()
    log(f"{table}: planned on the public half")
    private = read_like(agreement, parts[1])[0]
    cut = len(private) - len(private) // 3
    generator = np.random.default_rng(7)
    ground = TrialGround(
        agreement,
        private[:cut],
        private[cut:].reset_index(drop=True),
        generator,
        with_numbers=True,
        classifiers=classifiers,
    )
    tuning = tuning_of(agreement)
    assert tuning is not None
    settings = list(tuning.settings(agreement, ["1"], {**tuning.tried, **tried}))
    trials = [try_setting(ground, agreement, setting, runs) for setting in settings]
    best = planned["recommendation"]
    taken = next(
        (one for one in trials if _same(one, best)),
        None,
    )
    if taken is None or best["selection_share"] != trials[0].scores().to_json()["selection_share"]:
        chosen = replace(settings[0], values={key: best[key] for key in settings[0].values})
        taken = try_setting(ground, agreement, chosen, runs)
    others = [
        try_setting(ground, with_mechanism(agreement, name), replace(settings[0], values={}, curve=None), runs)
        for name in mechanisms
    ]
    log(f"{table}: tried on the private half")
    return {
        "records": [expected, cut],
        "settings": _compared(trials, taken, trials[0], planned["can_tell"], tuning.advice(best)),
        "mechanisms": _mechanisms(planned, [taken, *others]),
    }


def _same(trial: Trial, best: dict[str, Any]) -> bool:
    own = trial.scores().to_json()
    return all(own[key] == best[key] for key in ("score", "specializations", "selection_share"))


def _compared(trials: list[Trial], taken: Trial, agreed: Trial, can_tell: bool, advice: str) -> dict[str, Any]:
    top = max([*trials, taken], key=lambda trial: trial.summary.area)
    behind = top.summary.minus(taken.summary)
    is_within = taken is top or not behind.can_be_told
    return {
        "taken": advice,
        "plan_can_tell": can_tell,
        "area_of_taken": taken.summary.area,
        "area_of_agreed": agreed.summary.area,
        "area_of_best": top.summary.area,
        "behind": behind.area,
        "standard_error": behind.standard_error,
        "best_can_be_told_there": choose_setting(trials, agreed).can_tell,
        "is_within_one_error": is_within,
        "is_kept": is_within or not can_tell,
    }


def _mechanisms(planned: dict[str, Any], trials: list[Trial]) -> dict[str, Any]:
    ranking = [row for row in planned["ranking"] if row["mechanism"] != BASELINE]
    as_good = [row["mechanism"] for row in ranking if row["as_good"]]
    top = max(trials, key=lambda trial: trial.summary.area)
    taken = next(trial for trial in trials if trial.mechanism == ranking[0]["mechanism"])
    behind = top.summary.minus(taken.summary)
    is_within = taken is top or not behind.can_be_told
    return {
        "taken": taken.mechanism,
        "as_good_by_plan": as_good,
        "best": top.mechanism,
        "area_of_taken": taken.summary.area,
        "area_of_best": top.summary.area,
        "behind": behind.area,
        "standard_error": behind.standard_error,
        "is_within_one_error": is_within,
        "is_kept": is_within or len(as_good) > 1,
    }


def measure_all(given: argparse.Namespace, keep: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Return everything, and keep it after each table."""
    known: dict[str, Any] = json.loads(given.results.read_text()) if given.results and given.results.exists() else {}
    found: dict[str, Any] = {"runs": {}, "comparison": {}, "halves": {}, **known}
    tables: dict[str, Callable[[Path, int], Division]] = {"made-up": made_up} if given.short else dict(TABLES)
    classifiers = FAST[:1] if given.short else RANKED_CLASSIFIERS
    for table in tables if given.short else given.table:
        runs = given.runs or RUNS[table]

        def division_of(run: int, table: str = table) -> Division:
            return with_taxonomies(table, given.data, tables[table](given.data, run))

        if table not in found["comparison"]:
            by_run = [one_run(division_of(run), table, run, list(given.budget), classifiers) for run in range(runs)]
            found["comparison"][table] = {
                budget: {name: summarized([one[budget][name] for one in by_run]) for name in by_run[0][budget]}
                for budget in given.budget
            }
            found["runs"][table] = runs
            keep(found)
        if table not in found["halves"]:
            beside = ("marginals",) if given.short else ("marginals", "copula", "hpdp")
            fast, tried = (FAST[:1], {"specializations": (2,)}) if given.short else (FAST, {})
            found["halves"][table] = halves(division_of(0), table, runs, fast, beside, tried)
            keep(found)
    return found


def rows_of(found: dict[str, Any]) -> Measuring:
    """What the page has, a row for everything that was published, and one for each plan."""

    def cells(name: str, one: dict[str, float | None]) -> Row:
        value: Cell = one["value"]
        return {name: value}

    for table, budgets in found["comparison"].items():
        for budget, rows in budgets.items():
            for name, row in rows.items():
                if name == LARGEST:
                    continue
                best = row["classifiers"][row["best"]]
                known: Row = {"published": name, "classifier": row["best"]}
                for metric in METRICS:
                    known |= cells(metric.replace("_", " "), best[metric])
                yield f"{table}, {budget}", known | cells("2-way distance", row["distances"]["tables_2"])
    for table, half in found["halves"].items():
        for what in ("settings", "mechanisms"):
            own = half[what]
            keys = ("taken", "area_of_taken", "area_of_best", "behind", "is_kept")
            yield "Plans", {"table": table, "plan of": what, **{key.replace("_", " "): own[key] for key in keys}}


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--runs", type=int, help=f"by default {RUNS}")
    parser.add_argument("--budget", nargs="+", choices=list(BUDGETS), default=list(USUAL_BUDGETS))
    parser.add_argument("--table", nargs="+", choices=list(TABLES), default=list(TABLES))
    parser.add_argument("--results", type=Path, help="JSON file with what was measured")
    parser.add_argument("--page", type=Path, help="write the page")


def measure(given: argparse.Namespace) -> Measuring:
    if given.data is None and not given.short:
        raise SystemExit("give the folder with --data, or --short")

    def keep(found: dict[str, Any]) -> None:
        if given.results:
            given.results.write_text(json.dumps(found, indent=1) + "\n")

    found = measure_all(given, keep)
    if given.page:
        given.page.write_text(page_of(found), encoding="utf-8")
    yield from rows_of(found)


if __name__ == "__main__":
    run(sys.modules[__name__])
