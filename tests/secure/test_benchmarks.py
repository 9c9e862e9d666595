"""The short form of every benchmark: that it runs and counts everything, not how long anything takes.

`test_benchmarks_of_releases.py` has those that run a secure release of their own.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import json
import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from test_benchmarks_of_releases import OF_RELEASES

import accuracy
import interval_coverage
import run_all
import scores
from comparison_page import DISTANCES, page_of
from copublish.mechanisms.specialization.plan import SpecializationPlan
from marginals_accuracy import page_tables
from measuring import IncompleteRowError, given_of, refuse_incomplete, tables_of, write_between
from run_all import BENCHMARKS, Entry, Ran, keep, kept, write_page
from support.short_forms import short_form

FOLDER = Path(run_all.__file__).parent
PARTS = {
    *("adult", "benchmarks_page", "central_synthesis", "comparison_page", "divisions", "machine", "made_up_tables"),
    *("cost_of_marginals", "fitting", "marginals_shapes"),
    *(
        "measuring",
        "nursery",
        "one_party",
        "paillier_counts",
        "process_numbers",
        "run_all",
        "scale_page",
        "secure_runs",
    ),
}
"""What benchmarks are made of. Every other file there is one."""


TESTED_ELSEWHERE = {("audits", "sizes"), ("audits", "mechanisms")}
"""Each mechanism's audit is a test of its own in `tests/statistical`."""


def test_every_benchmark_is_on_the_list():
    assert {entry.module for entry in BENCHMARKS} == {file.stem for file in FOLDER.glob("*.py")} - PARTS


@pytest.mark.parametrize("name", [entry.module for entry in BENCHMARKS if entry.module not in OF_RELEASES])
def test_a_short_form_has_no_empty_cell(name):
    """`tables_of` refuses rows with a counter that is 0 and cells in which nothing stands."""
    assert all(rows for rows in short_form(name).values())


@pytest.mark.parametrize("entry", BENCHMARKS, ids=lambda entry: entry.module)
def test_a_short_form_leaves_out_nothing_that_an_option_names(entry):
    """What only the long form does rots: parts, ways, tables and sources are in both. Numbers are sizes."""
    found = left_out(importlib.import_module(entry.module), entry.options)
    assert [name for name in found if (entry.module, name) not in TESTED_ELSEWHERE] == []


def test_a_part_that_is_left_out_is_noticed():
    def options(parser):
        parser.add_argument("--parts", nargs="+", default=["one", "other"])
        parser.add_argument("--sizes", nargs="+", default=["0.5", "1"])

    benchmark = SimpleNamespace(__doc__="", SHORT=("--parts", "one", "--sizes", "0.1"), options=options)
    assert left_out(benchmark, ()) == {"parts": ["other"]}


def left_out(benchmark, options):
    """What the long form does and the short form does not, by option; numbers are sizes."""
    short, long = (vars(given_of(benchmark, arguments)) for arguments in (["--short"], options))
    lists = {name: value for name, value in long.items() if isinstance(value, list | tuple)}
    found = {
        name: [one for one in value if one not in short[name] and not is_number(one)] for name, value in lists.items()
    }
    return {name: missing for name, missing in found.items() if missing}


def is_number(value):
    try:
        return math.isfinite(float(value))
    except ValueError:
        return False


@pytest.mark.parametrize("cell", [0, 0.0, None, "", float("nan")])
def test_a_row_with_a_counter_that_did_not_count_is_refused(cell):
    def measure(given):
        yield "runs", {"run": "one", "MiB sent": cell}

    benchmark = SimpleNamespace(__name__="broken", measure=measure)
    with pytest.raises(IncompleteRowError, match="nothing was measured of MiB sent"):
        tables_of(benchmark, argparse.Namespace())
    benchmark.OPTIONAL = ("MiB sent",)
    assert tables_of(benchmark, argparse.Namespace())["runs"][0]["run"] == "one"


def test_rows_of_one_table_have_the_same_columns_and_a_benchmark_measures_something():
    def measure(given):
        yield "runs", {"run": "one"}
        yield "runs", {"run": "two", "more": 1}

    with pytest.raises(IncompleteRowError, match="other columns"):
        tables_of(SimpleNamespace(__name__="broken", measure=measure), argparse.Namespace())
    with pytest.raises(IncompleteRowError, match="measured nothing"):
        tables_of(SimpleNamespace(__name__="empty", measure=lambda given: iter(())), argparse.Namespace())
    refuse_incomplete("runs", {"accuracy": 0.5, "accuracy, ±": 0.0})  # runs may all be the same


@pytest.mark.parametrize("score", accuracy.SCORES)
@pytest.mark.parametrize("table", accuracy.DATA_SETS)
def test_noise_leaves_records_to_train_on_in_the_short_form_of_accuracy(table, score):
    """A tree needs a record. By Chernoff's bound on the noise of all cells it has none with probability below 1e-9."""
    given = given_of(accuracy, ["--short"])
    (epsilon,), data_set = given.epsilon, accuracy.DATA_SETS[table]
    agreement = data_set.agreement(given.data, epsilon, score)
    plan = SpecializationPlan.of(agreement)
    cells = plan.max_leaves * len(agreement.class_.values)
    q = math.exp(
        -plan.leaf_counts(plan.rounds, cells).noise.rate
    )  # the noise k has a probability in proportion to q^|k|
    n_records = len(data_set.read(given.data, 0)[0])

    def log_bound(t):
        return cells * math.log((1 - q) ** 2 / ((1 - q * math.exp(t)) * (1 - q * math.exp(-t)))) - t * n_records

    assert min(log_bound(t) for t in np.linspace(0.01, -0.99 * math.log(q), 50)) < math.log(1e-9)


def test_checks_of_inputs_add_one_opening_and_hardly_any_traffic():
    with_checks, without = short_form("input_checks")["vertical"]
    assert 0.9 < with_checks["MiB, / without"] < 1.15 and without["MiB, / without"] == 1


def test_a_release_by_columns_makes_the_engine_calls_that_are_made_again_without_it():
    whole, _, bare, ideal = short_form("secure_release")["Releases"]
    assert bare["MiB sent"] == pytest.approx(whole["MiB sent"], rel=0.02)
    assert ideal["MiB sent"] == "-" and ideal["CPU s"] < whole["CPU s"]


def test_agreed_identifiers_find_the_made_up_people_who_are_written_alike():
    """Every fifth of 200 surnames is misspelled, and every third number is missing in one table."""
    (rows,) = short_form("matching").values()
    found = {row["identifier"]: row["pairs found"] for row in rows}
    assert found["soc_sec_id"] == 200 - len(range(0, 200, 3))
    assert found["surname + date_of_birth + postcode"] == 200 - len(range(0, 200, 5))
    assert {row["precision, %"] for row in rows} == {100}


def test_people_of_three_owners_are_compared_in_both_ways_with_what_each_party_sends():
    (rows,) = short_form("alignment_of_many").values()
    sent = {(row["way"], row["party"]): row["MiB sent"] * 2**20 for row in rows}
    found = {row["way"]: row["found"] for row in rows}
    assert found == {"helper": 30, "chain": 30, "search, helper": 0, "search, owners": 0}
    # In the chain the owner between answers, asks and passes on a list of points of 32 bytes each.
    assert 3 * 32 * 60 < sent["chain", "owner-1"] < 3 * 32 * 60 + 500
    # Lists of points go to two other owners; then all but the first owner send one more to it.
    assert all(sent["search, owners", f"owner-{number}"] > 2 * 32 * 40 for number in range(3))


def test_every_mechanism_stands_beside_raw_data_and_the_trivial_baseline():
    rows = short_form("comparison")["made-up, epsilon 1"]
    mechanisms = ["specialization", "marginals", "copula", "hpdp", "vhdp"]
    assert [row["published"] for row in rows] == ["raw data", *mechanisms, "class tables alone"]
    assert rows[0]["area"] > 0.65


def test_intervals_of_every_mechanism_are_counted():
    (rows,) = short_form("interval_coverage").values()
    assert {row["mechanism"] for row in rows} == {*("specialization", "marginals", "copula", "hpdp", "vhdp")}
    assert {row["settings"] for row in rows} >= {"default", "auto", "delta", "use-informative", "protect-informative"}
    kinds = {row["question"] for row in rows}
    assert kinds == {*interval_coverage.BY_NOISE, *interval_coverage.WITH_CELLS}
    assert all(row["told"] + row["refused"] <= row["asked"] for row in rows)


def counted_intervals(file: Path) -> list[dict[str, object]]:
    arguments = ["--short", "--runs", "2", "--settings", "specialization", "hpdp", "--keep", str(file)]
    return [row for _, row in interval_coverage.measure(given_of(interval_coverage, arguments))]


def test_counting_intervals_goes_on_where_it_was_stopped(tmp_path, monkeypatch):
    file = tmp_path / "file.jsonl"
    rows = counted_intervals(file)
    first, second = file.read_text().splitlines()
    file.write_text(f"{first}\n{second[:50]}")  # it was stopped while it wrote the second part
    made = []
    release_of = interval_coverage.release_of
    monkeypatch.setattr(
        interval_coverage,
        "release_of",
        lambda job, number: made.append((job.setting, number)) or release_of(job, number),
    )
    assert counted_intervals(file) == rows
    assert file.read_text().splitlines() == [first, second]
    # Of the kept part one release is made again, to see that it still gets the same answers.
    assert made == [("specialization", 0), ("hpdp", 0), ("hpdp", 1)]


def test_intervals_that_were_counted_by_other_code_are_counted_again(tmp_path):
    file = tmp_path / "file.jsonl"
    rows = counted_intervals(file)
    parts = [json.loads(line) for line in file.read_text().splitlines()]
    parts[0]["tallies"]["total"]["held"] += 100
    file.write_text("".join(json.dumps(part) + "\n" for part in parts))
    assert counted_intervals(file) != rows  # with the same answers, what was counted is believed
    parts[0]["answers"] = "of another reader"
    file.write_text("".join(json.dumps(part) + "\n" for part in parts))
    assert counted_intervals(file) == rows


def test_the_standard_error_of_coverage_is_between_releases():
    alone = sum((tally_of(told=1, held=int(number < 95)) for number in range(100)), interval_coverage.Tally())
    alike = sum((tally_of(told=10, held=10 * int(number < 95)) for number in range(100)), interval_coverage.Tally())
    assert alone.coverage == alike.coverage == 0.95
    assert alone.error == pytest.approx(math.sqrt(0.95 * 0.05 / 100))
    assert alike.error == pytest.approx(alone.error)  # ten answers that hold or fail together tell no more than one


def tally_of(told: int, held: int) -> interval_coverage.Tally:
    squares = {"held_squared": held**2, "held_told": held * told, "told_squared": told**2}
    return interval_coverage.Tally(releases=1, asked=told, stated=held, told=told, held=held, **squares)


def test_the_page_of_intervals_marks_what_does_not_hold_as_promised():
    held = {"total": 930, "count": 950, "share": 970, "mean": 1000}
    found = {("made-up", "hpdp", "2"): {kind: tally_of(1000, number) for kind, number in held.items()}}
    page = interval_coverage.page(found, 950)
    assert "| hpdp | **93.0** | 95.0 | - | **97.0** |" in page
    assert "| hpdp | 100.0 | - | - |" in page  # means are wider on purpose


HEADER = {
    **{"date": "2026-11-16 12:00 UTC", "processor": "a processor", "cores": 2, "memory": "8 GiB", "load": 1.5},
    **{
        "load_after": 2.0,
        "seconds": 10.0,
        "cpu_seconds": 8.0,
        "options": ["--runs", "3"],
        "versions": {"spu": "0.9.5"},
    },
}
ENTRY = Entry("allocation", "What releases are worth", 1)


def test_a_failure_is_shown_with_its_error_and_older_tables_stay(tmp_path, monkeypatch):
    monkeypatch.setattr(run_all, "BENCHMARKS", (ENTRY,))
    keep(ENTRY, Ran({"first": [{"way": "a", "CPU s": 1.25}], "second": [{"n": 7}]}, None, HEADER), tmp_path)
    keep(ENTRY, Ran({"second": [{"n": 8}]}, None, HEADER | {"date": "2026-11-17 12:00 UTC"}), tmp_path)
    keep(ENTRY, Ran({}, "it broke", HEADER | {"date": "2026-11-18 12:00 UTC"}), tmp_path)
    dates = {title: table["measured"]["date"][:10] for title, table in kept(ENTRY, tmp_path)["tables"].items()}
    assert dates == {"first": "2026-11-16", "second": "2026-11-17"}
    write_page(tmp_path, tmp_path / "page.md")
    page = (tmp_path / "page.md").read_text()
    assert "**Failed** on 2026-11-18 12:00 UTC: `it broke`" in page
    assert "| a | 1.25 |" in page and "| 8 |" in page and "| 7 |" not in page
    assert "load 1.5 before and 2 after, on 2 cores; 8 CPU s in 10 s" in page


def test_the_others_go_on_after_one_that_fails(tmp_path, monkeypatch, capfd):
    (tmp_path / "broken.py").write_text("raise ValueError('of /secret/place')")
    monkeypatch.setattr(run_all, "ROOT", tmp_path.parent)
    monkeypatch.setattr(run_all, "FOLDER_OF_BENCHMARKS", tmp_path)
    (tmp_path / "works.py").write_text(
        'import pathlib, sys; print("noise"); pathlib.Path(sys.argv[-1]).write_text(\'{"all": [{"n": 3}]}\')'
    )
    entries = tuple(Entry(name, "all", 1) for name in ("broken", "works"))
    broken, works = (run_all.run_entry(entry, ["--short"]) for entry in entries)
    assert broken.error == "ValueError: of /secret/place" and broken.tables == {}
    assert (
        works.error is None
        and works.tables == {"all": [{"n": 3}]}
        and works.header["date"]
        and works.header["seconds"] >= 0
    )
    assert run_all.without_paths(f"at {tmp_path.parent}/x") == "at .../x"


def test_the_page_is_what_is_kept_and_says_nothing_of_this_machine(tmp_path):
    """Nobody writes numbers into docs/benchmarks.md by hand."""
    write_page(run_all.RESULTS, tmp_path / "page.md")
    page = (tmp_path / "page.md").read_text()
    assert page == run_all.PAGE.read_text()
    for file in run_all.RESULTS.glob("*.json"):
        text = file.read_text()
        json.loads(text)
        assert str(FOLDER.parent) not in text and str(Path.home()) + "/" not in text


def test_tables_of_marginals_have_a_row_for_each_noise_and_say_where_there_are_no_rounds():
    def row(noise, settings, area, tables, error=0.25):
        known = {"table": "heart", "noise": noise, "epsilon": "1", "settings": settings, "tables": tables}
        return known | {"best AUC": area, "best AUC, ±": error, "2-way distance": 0.5, "2-way distance, ±": "-"}

    rows = [row("laplace", "as it is", 0.75, 13.0), row("laplace", "rounds = 0", 0.625, 13.0)]
    more = [row("gaussian", "as it is", 0.875, 14.0), row("gaussian", "rounds = 0", 0.5, 13.0)]
    heading, _, *lines = page_tables([*rows, *more]).splitlines()
    assert heading == "| Statlog heart | noise | area, epsilon 1 | distance, epsilon 1 |"
    assert lines == [
        "| `marginals` | Laplace | 0.750 (0.250) = | 0.500 = |",
        "| first tables alone | Laplace | 0.625 (0.250) | 0.500 |",
        "| `marginals` | Gaussian | 0.875 (0.250) | 0.500 |",
        "| first tables alone | Gaussian | 0.500 (0.250) | 0.500 |",
    ]


def test_what_is_written_between_two_marks_leaves_the_rest_of_a_page(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- a -->\nold\n<!-- b -->\nafter\n")
    write_between(page, ("<!-- a -->", "<!-- b -->"), "new")
    assert page.read_text() == "before\n<!-- a -->\nnew\n<!-- b -->\nafter\n"
    for marks in (("<!-- b -->", "<!-- a -->"), ("<!-- a -->", "<!-- c -->"), ("<!-- c -->", "<!-- b -->")):
        with pytest.raises(SystemExit, match="has no"):
            write_between(page, marks, "newer")
    assert "new\n" in page.read_text() and "newer" not in page.read_text()


def test_the_page_of_the_comparison_has_every_part():
    cell = {"value": 0.5, "error": 0.1}
    scores = dict.fromkeys(("area", "balanced_accuracy", "log_loss", "accuracy"), cell)
    distances = dict.fromkeys(DISTANCES, cell)
    row = {"best": "decision-tree", "classifiers": {"decision-tree": scores}, "distances": distances}
    own = {"taken": "t", "plan_can_tell": True, "behind": 0, "standard_error": None, "is_kept": True, "best": "b"}
    own |= dict.fromkeys(("area_of_taken", "area_of_agreed", "area_of_best"), 0.5) | {"as_good_by_plan": []}
    half = {"made-up": {"settings": own, "mechanisms": own}}
    compared = {"made-up": {"epsilon 1": {"class tables alone": row}}}
    page = page_of({"runs": {"made-up": 2}, "comparison": compared, "halves": half})
    assert page.count("| **class tables alone** |") == 3 and "Does a plan on other data help?" in page


def test_one_more_record_moves_information_gains_apart_by_at_most_the_stated_range_and_not_by_much_less():
    """Children of two splits, each with two classes, of up to 60 records; one more is in a child of either split."""
    some = (0, 1, 2, 30)
    children = np.array(list(itertools.product(some, repeat=4))).reshape(-1, 2, 2)
    added = children + np.array([[1, 0], [0, 0]])
    changes = scores.information_gain(added) - scores.information_gain(children)
    at_most = int(added.sum(axis=(1, 2)).max())
    apart = changes.max() - changes.min()
    assert scores.range_of_information_gain(at_most) / 2 < apart <= scores.range_of_information_gain(at_most)
    by_record = scores.information_gain_per_record(added) - scores.information_gain_per_record(children)
    assert by_record.max() == 1  # a record beside the only one of a part, of another class
    assert scores.information_gain(np.array([[[8, 0], [0, 8]]])) == 16  # a bit for each
