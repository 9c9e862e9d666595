"""`copublish evaluate`: how good a release is, on data that the user brings."""

from __future__ import annotations

import json
from collections.abc import Iterator
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
    progress_bars,
    refuse_inside_release,
    refuse_own_input,
    results_console,
    warn_first,
)
from copublish.cli.utility_text import print_distances, print_number_statistics, print_predictions
from copublish.release.folder import Release, load_release
from copublish.release.render.text_tables import add_row, text_table


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
    test: Annotated[
        Path | None,
        typer.Option(help="Records to test on: .csv or .parquet, with the class. Needed but for --record-map."),
    ] = None,
    raw: Annotated[
        Path | None,
        typer.Option(help="The training records as they are: what raw data and the trivial baseline give needs them."),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(help="What is predicted: the class, or another column of records. Default: the class, if any."),
    ] = None,
    train_on: Annotated[
        TrainOnChoice,
        typer.Option(help="Train on the release, or on the --raw records generalized as it is but without noise."),
    ] = TrainOnChoice.RELEASE,
    classifier: Annotated[
        list[ClassifierChoice] | None, typer.Option(help="Use this classifier; may be repeated. Default: all.")
    ] = None,
    record_map: Annotated[
        Path | None,
        typer.Option(
            help="Your map of rows to records, in record-maps beside your ledger: compare each record with its own "
            "row of --raw. Without --test that is all."
        ),
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Also draw the areas: .png or .svg. Not into a release.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Also write the scores as JSON, for 'copublish report'. Not into a release.")
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="End with exit code 4 if any value is not as agreed.")
    ] = False,
    output: FormatOption = Format.TEXT,
) -> None:
    """Score a release on real records. THE SCORES ARE A DISCLOSURE: no ledger is charged for them.

    Classifiers are trained on the release and tested on the test records, generalized as the release is if it is. With
    --raw the same classifiers trained on raw records stand beside it, and the trivial baseline: noisy tables of every
    column by the class with the release's budget, drawn from --raw with noise from a seed, NOT to be published. They
    are ranked by the area under the ROC curve; a difference within one standard error is said to be none. Tables of one
    to three columns, numbers and published error bars are compared with --raw, or else with the test records. Values
    that are not as agreed are changed as a run changes them, and told.

    To try settings before anything is spent, on data that are not private, use 'copublish plan'.

    Example: copublish evaluate release/ --train-on release --test holdout.csv --raw train.csv --target income
    """
    from copublish.tools.evaluation.classification import CLASSIFIERS
    from copublish.tools.evaluation.scorecard import evaluate as evaluate_release

    for written in (out, plot):
        if written is not None:
            refuse_inside_release(written, folder)
            refuse_own_input(written, test, raw)
    if plot is not None and plot.suffix.lower() not in (".png", ".svg"):
        raise typer.BadParameter("end the name in .png or .svg", param_hint="--plot")
    if record_map is not None and raw is None:
        raise typer.BadParameter("it needs --raw, the rows that you put in", param_hint="--record-map")
    if test is None and (record_map is None or target or plot or out):
        raise typer.BadParameter("name the records to test on", param_hint="--test")
    release = load_release(folder)
    warn_first(release.certificate.warning, errors_console if output is Format.JSON else results_console())
    note(
        "WARNING: this reads real records and scores them WITHOUT NOISE. The scores are a disclosure of their own that "
        "no ledger is charged for; they never go into the release. Keep them inside unless the data are public."
    )
    if test is None:
        _print_matched_alone(release, raw, record_map, output)
        return
    with progress_bars() as progress:
        evaluation = evaluate_release(
            release,
            test,
            raw=raw,
            target=target,
            train_on=train_on.value,
            classifiers=[chosen.value for chosen in classifier] if classifier else CLASSIFIERS,
            record_map=record_map,
            strict=strict,
            progress=progress,
        )
    for data, rules in evaluation.rules.items():
        note_rules(f"The {data} data", rules)
    scores = evaluation.to_dict()
    if out is not None:
        out.write_text(json.dumps(scores, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        note(f"Wrote the scores to {out}. They are not private: keep the file where the data are kept.")
    if plot is not None:
        evaluation.plot(plot)
        note(f"Drew {plot}. It shows scores: keep it where the data are kept.")
    if output is Format.JSON:
        print_json(scores)
        return
    print_scores(scores, results_console())


def print_scores(scores: dict[str, Any], console: Console) -> None:
    """Print scores for people."""
    if not scores["classification"]:
        console.print(
            f"{scores['release']}: it has no class, so nothing is predicted (--target names a column). Compared with "
            f"{scores['test_records']:,} test records.",
            markup=False,
        )
    else:
        _print_classification(scores, console)
    reference = {"test": "the test records", "raw": "the raw training records"}[scores["marginals"]["compared_with"]]
    _print_distances(scores["distances"], reference, console)
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
    if "matched" in scores:
        _print_matched(scores["matched"], console)


def _print_matched_alone(release: Release, raw: Path | None, record_map: Path | None, output: Format) -> None:
    """Print what records lose against their own rows, and nothing else."""
    from copublish.tools.evaluation.matched import matched_loss

    if raw is None or record_map is None:
        raise ValueError("records are matched with raw ones by a map")
    loss = matched_loss(release, raw, record_map).to_dict()
    if output is Format.JSON:
        print_json({**release.warning, "release": release.certificate.release, "matched": loss})
        return
    _print_matched(loss, results_console())


def _print_matched(loss: dict[str, Any], console: Console) -> None:
    console.print(f"Each of {loss['records']:,} records against its own row", markup=False)
    lines = (
        ("mean_sse", "MeanSSE", "with standard deviations, mean of the columns: 1 is what a column of means costs"),
        ("mean_sse_as_printed", "MeanSSE, as printed", "with variances, as the iDP-IR paper writes it"),
        ("wrong_categories", "wrong categories", "share, mean of the categorical columns"),
    )
    for key, what, unit in lines:
        if loss[key] is not None:
            console.print(f"  {what:22}{loss[key]:.4g} {unit}", markup=False)


def _print_classification(scores: dict[str, Any], console: Console) -> None:
    from copublish.tools.evaluation.scorecard import TRAINED_ON

    predicted = (
        f"the agreed interval of '{scores['target']}'" if scores["target_is_interval"] else f"'{scores['target']}'"
    )
    console.print(
        f"{scores['release']}: predicting {predicted} on {scores['test_records']:,} test records, trained on "
        + ("the release" if scores["trained_on"] == "release" else "raw records generalized without noise"),
        markup=False,
    )
    named = {"release": "release" if scores["trained_on"] == "release" else "generalized"}
    rows = {
        named.get(key, what): {row["classifier"]: row[key] for row in scores["classification"] if row[key] is not None}
        for what, key in TRAINED_ON.items()
    }
    print_predictions("Prediction", {name: found for name, found in rows.items() if found}, _notes(scores), console)
    for line in _differences(scores["classification"]):
        console.print(line, markup=False)


def _notes(scores: dict[str, Any]) -> list[str]:
    first = scores["classification"][0]
    notes = [f"Always saying the largest class: area 0.500, accuracy {first['LA']:.3f}."]
    if scores["published"] == "generalized values" and first["CA_on_raw_values"] is not None:
        on_raw = ", ".join(f"{row['classifier']} {row['CA_on_raw_values']:.3f}" for row in scores["classification"])
        notes.append(f"Accuracy on raw values, over which generalized ones are spread evenly: {on_raw}.")
    if first["raw"] is None:
        notes.append("What raw data and the trivial baseline give is unknown: it needs the training records (--raw).")
    elif scores["baseline_is"] is not None:
        notes.append(f"Class tables alone, the trivial baseline: {scores['baseline_is']}.")
    return notes


def _differences(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Yield what privacy costs and what the release is worth, by the best classifier, and whether that can be told."""
    from copublish.tools.evaluation.baseline import BASELINE

    best = max(rows, key=lambda row: row["release"]["area"])
    compared = {"raw_minus_release": ("raw data", "the release"), "release_minus_baseline": ("the release", BASELINE)}
    for key, (one, other) in compared.items():
        if (found := best[key]) is not None:
            by = f"{abs(found['area']):.3f} ± {found['standard_error']:.3f}"
            better, worse = (one, other) if found["area"] > 0 else (other, one)
            if found["is_within_error"]:
                yield f"By {best['classifier']} it cannot be told which predicts better, {one} or {other}: {by}."
            else:
                yield f"By {best['classifier']}, the area of {better} is larger than that of {worse} by {by}."
    yield "Errors are of the choice of test records; another release of the same agreement has other noise.\n"


def _print_distances(distances: dict[str, Any], reference: str, console: Console) -> None:
    from copublish.tools.evaluation.scorecard import TRAINED_ON

    covered, none = distances["coverage"], {"value": None}
    rows = {}
    for name, key in TRAINED_ON.items():
        if distances[key] is not None:
            own = {what: {"value": value} for what, value in distances[key].items()}
            share = covered["covered"] if key == "release" and covered is not None else None
            rows[name] = {**own, "coverage": none if share is None else {"value": share}}
    notes = []
    if "raw data" in rows:
        notes.append("Of raw data: how far the test records are from them, which no release need beat.")
    if covered is not None:
        notes.append("Whether error bars hold is told rightly if the raw records are exactly those that were released.")
    print_distances(f"Everything else, against {reference}", rows, notes, console)
    if distances["by_column"]:
        print_number_statistics(distances["by_column"], console)


def _print_marginals(marginals: dict[str, Any], reference: str, console: Console) -> None:
    headings = ("marginals", "of", "number", "mean", "largest", "worst columns")
    table = text_table(f"Total variation between the release and {reference}", headings, right=(2, 3, 4))
    for key, label in (("published_values", "published values"), ("agreed_values", "agreed values")):
        for ways, error in marginals.get(key, {}).items():
            numbers = (str(error["marginals"]), f"{error['mean']:.4f}", f"{error['largest']:.4f}")
            add_row(table, ways, label, *numbers, ", ".join(error["worst"]))
    console.print(table)
