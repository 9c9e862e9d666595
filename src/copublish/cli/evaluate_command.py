"""`copublish evaluate`: how good a release is, on data that the user brings."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from copublish.cli.terminal import (
    Format,
    FormatOption,
    errors_console,
    note,
    note_rules,
    print_json,
    refuse_inside_release,
    refuse_own_input,
    results_console,
    warn_first,
)
from copublish.mechanisms.shared.text_tables import add_row, text_table
from copublish.release.folder import load_release

HEADINGS = {
    "BA": "BA raw",
    "CA": "CA release",
    "LA": "LA largest class",
    "BA_minus_CA": "BA - CA",
    "CA_minus_LA": "CA - LA",
}


class TrainOnChoice(StrEnum):
    """What the classifiers of CA are trained on."""

    RELEASE = "release"
    GENERALIZED = "generalized"


class ClassifierChoice(StrEnum):
    """A classifier of scikit-learn."""

    DECISION_TREE = "decision-tree"
    LOGISTIC_REGRESSION = "logistic-regression"
    HISTOGRAM_BOOSTING = "histogram-boosting"
    LINEAR_SVM = "linear-svm"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("evaluate")(evaluate)


def evaluate(
    folder: Annotated[Path, typer.Argument(help="A release folder.")],
    test: Annotated[Path, typer.Option(help="Records to test on: .csv or .parquet, with the class.")],
    raw: Annotated[
        Path | None,
        typer.Option(help="The training records as they are, for the baseline BA. Without it BA is unknown."),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(help="What is predicted: the class, or another column of records. Default: the class."),
    ] = None,
    train_on: Annotated[
        TrainOnChoice,
        typer.Option(help="Train on the release, or on the --raw records generalized as it is but without noise."),
    ] = TrainOnChoice.RELEASE,
    classifier: Annotated[
        list[ClassifierChoice] | None, typer.Option(help="Use this classifier; may be repeated. Default: all.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Also write the scores as JSON, for 'copublish report'. Not into a release.")
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="End with exit code 4 if any value is not as agreed.")
    ] = False,
    output: FormatOption = Format.TEXT,
) -> None:
    """Score a release on real records. THE SCORES ARE A DISCLOSURE: no ledger is charged for them.

    CA is the accuracy of a classifier trained on the release and tested on the test records, generalized as the release
    is if it is; BA that of the same classifier trained on raw records; LA that of always saying the largest class.
    BA - CA is what privacy costs, CA - LA what the release is worth. Marginals are compared by total variation: 0 is
    equal, 1 is nothing in common. Values that are not as agreed are changed as a run changes them, and told.

    To try settings before anything is spent, on data that are not private, use 'copublish plan'.

    Example: copublish evaluate release/ --train-on release --test holdout.csv --raw train.csv --target income
    """
    from copublish.evaluation.classification import CLASSIFIERS
    from copublish.evaluation.scorecard import evaluate as evaluate_release

    if out is not None:
        refuse_inside_release(out, folder)
        refuse_own_input(out, test, raw)
    release = load_release(folder)
    warn_first(release.certificate.warning, errors_console if output is Format.JSON else results_console())
    note(
        "WARNING: this reads real records and scores them WITHOUT NOISE. The scores are a disclosure of their own that "
        "no ledger is charged for; they never go into the release. Keep them inside unless the data are public."
    )
    evaluation = evaluate_release(
        release,
        test,
        raw=raw,
        target=target,
        train_on=train_on.value,
        classifiers=[chosen.value for chosen in classifier] if classifier else CLASSIFIERS,
        strict=strict,
    )
    for data, rules in evaluation.rules.items():
        note_rules(f"The {data} data", rules)
    scores = evaluation.to_dict()
    if out is not None:
        out.write_text(json.dumps(scores, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        note(f"Wrote the scores to {out}. They are not private: keep the file where the data are kept.")
    if output is Format.JSON:
        print_json(scores)
        return
    print_scores(scores, results_console())


def print_scores(scores: dict[str, Any], console: Console) -> None:
    """Print scores for people."""
    predicted = (
        f"the agreed interval of '{scores['target']}'" if scores["target_is_interval"] else f"'{scores['target']}'"
    )
    console.print(
        f"{scores['release']}: predicting {predicted} on {scores['test_records']:,} test records, trained on "
        + ("the release" if scores["trained_on"] == "release" else "raw records generalized without noise"),
        markup=False,
    )
    # Records hold raw values: CA is on them already.
    last = {"CA_on_raw_values": "CA on raw values"} if scores["published"] == "generalized values" else {}
    _print_classification(scores["classification"], HEADINGS | last, console)
    if scores["classification"][0]["BA"] is None:
        console.print("BA is unknown: it needs the raw training records. Give them with --raw.", style="yellow")
    reference = {"test": "the test records", "raw": "the raw training records"}[scores["marginals"]["compared_with"]]
    _print_marginals(scores["marginals"], reference, console)
    lines = (
        ("mean_wasserstein", "Wasserstein distance", "standard deviations, mean of the numerical attributes"),
        ("rank_correlation_error", "rank correlations", "off, mean of all pairs of numerical attributes"),
        ("mean_sse_of_generalization", "MeanSSE", "lost by generalizing; noise is no part of it"),
        (
            "mean_sse_of_sorted_columns",
            "MeanSSE, sorted",
            "at least, however records are matched",
        ),
    )
    known = [line for line in lines if scores["numbers"][line[0]] is not None]
    if known:
        console.print(f"Numbers, against {reference}")
    for key, what, unit in known:
        console.print(f"  {what:22}{scores['numbers'][key]:.3f} {unit}")


def _print_classification(rows: list[dict[str, Any]], headings: dict[str, str], console: Console) -> None:
    table = text_table("Accuracy", ("classifier", *headings.values()), right=range(1, len(headings) + 1))
    for row in rows:
        shown = {key: "unknown" if row[key] is None else f"{row[key]:.4f}" for key in headings}
        shown["CA"] += f" ± {row['standard_error_of_CA']:.4f}"
        add_row(table, row["classifier"], *shown.values())
    console.print(table)


def _print_marginals(marginals: dict[str, Any], reference: str, console: Console) -> None:
    headings = ("marginals", "of", "number", "mean", "largest", "worst columns")
    table = text_table(f"Total variation between the release and {reference}", headings, right=(2, 3, 4))
    for key, label in (("published_values", "published values"), ("agreed_values", "agreed values")):
        for ways, error in marginals.get(key, {}).items():
            numbers = (str(error["marginals"]), f"{error['mean']:.4f}", f"{error['largest']:.4f}")
            add_row(table, ways, label, *numbers, ", ".join(error["worst"]))
    console.print(table)
