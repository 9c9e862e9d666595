"""`copublish show`: the certificate and the contents of a release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from copublish.cli.describe_command import print_disclosures, print_epsilon
from copublish.cli.terminal import Format, FormatOption, print_json, results_console, warn_first
from copublish.evaluation.words import label_information
from copublish.release.folder import COUNT, NOISY_COUNT, GeneralizedRelease, RecordsRelease, Release, load_release

KINDS_OF_RECORDS = {"copula": "synthetic ", "hpdp": "synthetic ", "vhdp": "perturbed ", "idp-ir": "perturbed "}

BAR_WIDTH = 24

SPARKLINE_WIDTH, BARS = 40, " ▁▂▃▄▅▆▇█"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("show")(show)


def show(
    folder: Annotated[Path, typer.Argument(help="A release folder.")],
    rows: Annotated[int, typer.Option(min=0, help="How many of the largest cells, or correlations, to show.")] = 8,
    output: FormatOption = Format.TEXT,
) -> None:
    """Show a release: what it guarantees, what was disclosed, and what is in it.

    The files are checked against the digests in the certificate first.

    Example: copublish show release/ --rows 20
    """
    release = load_release(folder)
    if output is Format.JSON:
        print_json({**release.warning, "certificate": release.certificate, **_contents(release)})
        return
    print_release(release, results_console(), rows)


def _contents(release: Release) -> dict[str, Any]:
    if isinstance(release, GeneralizedRelease):
        return {"cut": release.cut, "counts": release.counts.to_pylist()}
    return {release.mechanism: release.details} if isinstance(release, RecordsRelease) else {}


def size_words(release: Release) -> str:
    """Return how much was published, in words."""
    words = [f"{number:,} {what}" for what, number in release.sizes.items()]
    kind = KINDS_OF_RECORDS[release.mechanism] if isinstance(release, RecordsRelease) else ""
    return f"{release.sizes['records']:,} {kind}records in {words[-1]}"


def print_release(release: Release, console: Console, rows: int) -> None:
    """Print a release for people."""
    certificate = release.certificate
    warn_first(release.warning.get("warning"), console)
    console.print(f"[bold]{certificate['release']}[/bold]  {certificate['deployment']['basic']['description']}")
    console.print(
        f"{size_words(release)}, made by "
        f"{', '.join(certificate['views'])} on {certificate['deployment']['basic']['publication_date']}"
    )
    engine = certificate["engine"]
    if engine["name"] == "ideal":
        console.print("SIMULATED. Secrecy: " + engine["secrecy"], style="yellow", markup=False)
    else:
        console.print("Secrecy: " + engine["secrecy"], markup=False)
    console.print()
    print_epsilon(certificate["epsilon"], console)
    if not release.warning:
        words = certificate.get("delta_is", "the sampler's part")
        console.print(f"delta ({words}) at most {certificate['delta_bound']}\n")
    print_disclosures(certificate["disclosures"], certificate["epsilon"]["calibrated_to"], console)
    console.print()
    if isinstance(release, GeneralizedRelease):
        _print_marginals(release, console)
        _print_largest(release, console, rows)
        within = certificate["disclosures"][-1]["noise"]["within_95_percent"]
        console.print(f"95 of 100 noisy counts are within ±{within} of the truth.")
    elif isinstance(release, RecordsRelease) and release.mechanism == "idp-ir":
        console.print(f"Clusters of {release.details['k']} records; every record has the noisy means of its clusters.")
    elif isinstance(release, RecordsRelease) and release.mechanism == "hpdp":
        _print_moments(release, console)
    elif isinstance(release, RecordsRelease):
        _print_columns(release, console)
        if "pairs" in release.details:
            _print_correlations(release, console, rows)
        _print_label_information(release, console, rows)


def _print_moments(release: RecordsRelease, console: Console) -> None:
    """Show how each column of the synthetic records is spread."""
    table = Table(title="What was published", title_justify="left")
    for heading in ("column", "kind", "mean, or largest value", "deviation, or share"):
        table.add_column(heading, overflow="fold")
    for name, described in release.details["columns"].items():
        if described["kind"] == "number":
            table.add_row(name, "number", f"{described['mean']:g}", f"{described['deviation']:g}")
        else:
            largest = max(described["shares"], key=lambda value: described["shares"][value])
            table.add_row(name, f"{len(described['shares'])} values", largest, f"{described['shares'][largest]:.0%}")
    console.print(table)
    details = release.details
    console.print(
        f"{details['components']} principal components stood out of the noise; a share of records is off by about "
        f"±{details['share_within_95_percent']:.3f} at most in 95 of 100 cases."
    )


def _print_columns(release: RecordsRelease, console: Console) -> None:
    """Show how each column of the records is spread, and its largest cell."""
    table = Table(title="What was published", title_justify="left")
    for heading in ("column", "cells", "spread over its cells, in agreed order", "largest cell", "share"):
        table.add_column(heading, overflow="fold")
    for name, described in release.details["columns"].items():
        counts = described["counts"]
        largest = max(range(len(counts)), key=lambda cell: counts[cell])
        share = counts[largest] / max(sum(counts), 1)
        table.add_row(name, str(len(counts)), _sparkline(counts), described["cells"][largest], f"{share:.0%}")
    console.print(table)


def _sparkline(counts: list[int]) -> str:
    """Return counts as a row of bars, neighbours put together where there are more than fit."""
    per_bar = -(-len(counts) // SPARKLINE_WIDTH)
    sums = [sum(counts[i : i + per_bar]) for i in range(0, len(counts), per_bar)]
    return "".join(BARS[-(-(len(BARS) - 1) * value // max(*sums, 1))] for value in sums)


def _print_correlations(release: RecordsRelease, console: Console, rows: int) -> None:
    if not rows:
        return
    table = Table(title="The strongest correlations of two columns", title_justify="left")
    for heading in ("column", "column", "correlation", "noise, 95 of 100"):
        table.add_column(heading, justify="left" if heading == "column" else "right", overflow="fold")
    for pair in sorted(release.details["pairs"], key=lambda pair: -abs(pair["correlation"]))[:rows]:
        within = pair["correlation_within_95_percent"]
        table.add_row(*pair["columns"], f"{pair['correlation']:+.2f}", "any" if within is None else f"±{within:.2f}")
    console.print(table)


def _print_label_information(release: RecordsRelease, console: Console, rows: int) -> None:
    """Show what each column tells about the label, and what a unit of its budget bought."""
    if not rows:
        return
    label = release.details["label_information"]["label"]
    table = Table(title=f"What the columns that tell most still tell about '{label}'", title_justify="left")
    for heading in ("column", "bits", f"share of what '{label}' holds", "bits per unit of its epsilon"):
        table.add_column(heading, justify="left" if heading == "column" else "right", overflow="fold")
    for told in label_information(release.details)[:rows]:
        table.add_row(told.column, f"{told.bits:.4f}", f"{told.share:.1%}", f"{told.bits_per_epsilon:.4f}")
    console.print(table)


def _print_marginals(release: GeneralizedRelease, console: Console) -> None:
    """Show each attribute's published values with their share of the records and of the last class."""
    counts = release.to_pandas("counts")
    class_name, total = release.cut["class"]["name"], max(int(counts[COUNT].sum()), 1)
    shown_class = release.cut["class"]["values"][-1]
    table = Table(title=f"What was published (share of records; share of '{shown_class}')", title_justify="left")
    for heading in ("attribute", "value", "share", "", f"{class_name} = {shown_class}"):
        table.add_column(heading, overflow="fold")
    for name, described in release.cut["attributes"].items():
        by_value: dict[str, Any] = dict(tuple(counts.groupby(name, observed=True)))
        for number, value in enumerate(described["values"]):
            cells = by_value[value["label"]]
            here = int(cells[COUNT].sum())
            positive = int(cells[cells[class_name] == shown_class][COUNT].sum())
            bar = "█" * round(BAR_WIDTH * here / total)
            rate = f"{positive / here:.0%}" if here else "-"
            table.add_row(name if number == 0 else "", value["label"], f"{here / total:.0%}", bar, rate)
    console.print(table)


def _print_largest(release: GeneralizedRelease, console: Console, rows: int) -> None:
    if not rows:
        return
    counts = release.to_pandas("counts").sort_values(NOISY_COUNT, ascending=False, kind="stable").head(rows)
    split = [name for name, described in release.cut["attributes"].items() if len(described["values"]) > 1]
    columns = [*split, release.cut["class"]["name"], COUNT, NOISY_COUNT]
    table = Table(title="The largest cells", title_justify="left")
    for column in columns:
        table.add_column(column, justify="right" if column in (COUNT, NOISY_COUNT) else "left", overflow="fold")
    for row in counts[columns].itertuples(index=False):
        table.add_row(*(str(value) for value in row))
    console.print(table)
