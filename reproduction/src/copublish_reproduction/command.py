"""`copublish reproduce`: the papers' figures and findings, regenerated beside the numbers they print."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from copublish.cli.terminal import Format, FormatOption, note, print_json, progress_bars, results_console

if TYPE_CHECKING:
    from copublish_reproduction.exhibits import Exhibit, Outcome
    from copublish_reproduction.figures import Tell
    from copublish_reproduction.series_choice import SeriesChoice

LIST, ALL = "list", "all"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("reproduce")(reproduce)


def reproduce(
    what: Annotated[str, typer.Argument(help="list, a figure's name, findings, or all.")] = LIST,
    data: Annotated[Path | None, typer.Option(help="Folder with your copies of the data sets.")] = None,
    runs: Annotated[
        int | None, typer.Option(min=1, help="How often to repeat what is random; else 10 times, iDP-IR 50 times.")
    ] = None,
    score: Annotated[
        list[str] | None, typer.Option(help="Score of copublish's own releases; repeat it for several.")
    ] = None,
    series: Annotated[
        list[str] | None,
        typer.Option(help="Measure only this series of a figure; the others come from the table in --out. Repeatable."),
    ] = None,
    runs_of: Annotated[
        list[str] | None, typer.Option(help="Another number of runs of one series: 'DiffGen=3'. Repeatable.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for tables and plots.")] = Path("results"),
    pages: Annotated[
        Path | None,
        typer.Option(help="Folder of Markdown pages; also write the tables between the markers of one of them."),
    ] = None,
    output: FormatOption = Format.TEXT,
) -> None:
    """Regenerate a figure of the papers behind copublish, beside the numbers they print.

    The published algorithms run in the clear, on public benchmark data alone. They are not differentially private as
    published; nothing here is a release.

    Example: copublish reproduce arbdistdp-fig7 --data data/ --runs 3
    """
    # Loaded here: plotting and learning libraries take seconds, and no other command needs this package.
    from copublish_reproduction import NOT_PRIVATE
    from copublish_reproduction.exhibits import exhibits
    from copublish_reproduction.figures import SCORES
    from copublish_reproduction.results_page import fill_in, page_of
    from copublish_reproduction.series_choice import SeriesChoice, runs_of_series

    known = exhibits(score or SCORES)
    if what == LIST:
        _print_list(known.values(), output)
        return
    if what not in (*known, ALL):
        raise typer.BadParameter(f"there is no '{what}'. There are: {', '.join([*known, ALL])}", param_hint="WHAT")
    if data is None:
        raise typer.BadParameter("say which folder holds the files that 'reproduce list' names", param_hint="--data")
    chosen = list(known.values()) if what == ALL else [known[what]]
    choice = SeriesChoice(frozenset(series or ()), runs_of_series(runs_of or ()), out)
    if not choice.is_everything and (len(chosen) > 1 or chosen[0].run_some is None):
        raise typer.BadParameter("series are those of one figure of accuracy or time", param_hint="--series")
    # Before anything is computed, which can take hours: a page that lacks its markers.
    page = {exhibit.name: page_of(pages, exhibit.name) for exhibit in chosen} if pages else {}
    out.mkdir(parents=True, exist_ok=True)
    records = []
    with progress_bars() as progress:
        for exhibit in chosen:
            outcome = _outcome(exhibit, data, runs, progress, choice)
            for ending, content in outcome.files.items():
                (out / f"{exhibit.name}.{ending}").write_bytes(content)
            if exhibit.name in page:
                fill_in(page[exhibit.name], exhibit.name, outcome.page)
            if output is Format.TEXT:
                for table in outcome.tables:
                    _print_table(*table)
            records.extend(outcome.records)
    if output is Format.JSON:
        print_json(records)
    note(f"Tables and plots are in {out}. Where 'private' is not 'yes', and all of iDP-IR and VHDP: {NOT_PRIVATE}.")


def _outcome(exhibit: Exhibit, data: Path, runs: int | None, progress: Tell, choice: SeriesChoice) -> Outcome:
    if exhibit.from_stored is not None:
        return exhibit.from_stored(data, choice.stored)
    if choice.is_everything or exhibit.run_some is None:
        return exhibit.run(data, runs or exhibit.runs, progress)
    return exhibit.run_some(data, runs or exhibit.runs, progress, choice)


def _print_list(known: Iterable[Exhibit], output: Format) -> None:
    from copublish_reproduction.exhibits import joined

    rows = [[exhibit.name, exhibit.title, " ".join(exhibit.files)] for exhibit in known]
    rows.append([ALL, "all of these", " ".join(joined(exhibit.files for exhibit in known))])
    if output is Format.JSON:
        print_json([dict(zip(("name", "title", "files"), row, strict=True)) for row in rows])
        return
    _print_table("copublish reproduce NAME --data FOLDER", ["name", "what", "files it needs in the folder"], rows)


def _print_table(title: str, header: list[str], rows: list[list[str]]) -> None:
    table = Table(*header, title=title, title_justify="left", show_lines=False)
    for row in rows:
        table.add_row(*row)
    results_console().print(table)
