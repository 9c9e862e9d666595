"""`copublish reproduce`: the papers' figures and findings, regenerated beside the numbers they print."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from copublish.cli.terminal import Format, FormatOption, note, print_json, progress_bars, results_console

if TYPE_CHECKING:
    from copublish.reproduction.figures import Figure, Tell
    from copublish.reproduction.findings import Finding
    from copublish.reproduction.grid_figures import GridFigure
    from copublish.reproduction.vhdp_figures import VhdpFigure

LIST, ALL, FINDINGS, IDP_IR_FINDINGS, VHDP_FINDINGS = "list", "all", "findings", "idp-ir-findings", "vhdp-findings"
HPDP_FINDINGS, COPULA = "hpdp-findings", "idp-ir-copula"
RUNS, GRID_RUNS = 10, 50
"""The iDP-IR paper has means of fifty runs; the others of five or ten."""


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
    out: Annotated[Path, typer.Option(help="Folder for tables and plots.")] = Path("results"),
    page: Annotated[
        Path | None, typer.Option(help="Also write the tables between the markers of this Markdown page.")
    ] = None,
    output: FormatOption = Format.TEXT,
) -> None:
    """Regenerate a figure of the papers behind copublish, beside the numbers they print.

    The published algorithms run in the clear, on public benchmark data alone. They are not differentially private as
    published; nothing here is a release.

    Example: copublish reproduce arbdistdp-fig7 --data data/ --runs 3
    """
    # Loaded here: plotting and learning libraries take seconds, and no other command needs this package.
    from copublish.reproduction import NOT_PRIVATE
    from copublish.reproduction.figures import SCORES, figures
    from copublish.reproduction.grid_figures import grid_figures
    from copublish.reproduction.hpdp_figures import hpdp_figures
    from copublish.reproduction.vhdp_figures import vhdp_figures

    known, grids, vhdp = {**figures(score or SCORES), **hpdp_figures()}, grid_figures(), vhdp_figures()
    names = [*known, FINDINGS, *grids, COPULA, IDP_IR_FINDINGS, HPDP_FINDINGS, *vhdp, VHDP_FINDINGS]
    if what == LIST:
        _print_list(known, grids, vhdp, output)
        return
    if what not in (*names, ALL):
        raise typer.BadParameter(f"there is no '{what}'. There are: {', '.join([*names, ALL])}", param_hint="WHAT")
    if data is None:
        raise typer.BadParameter("say which folder holds the files that 'reproduce list' names", param_hint="--data")
    out.mkdir(parents=True, exist_ok=True)
    results = []
    with progress_bars() as progress:
        for name in names if what == ALL else [what]:
            if name in known:
                results.extend(_figure(known[name], data, runs or RUNS, out, page, output, progress))
            elif name in grids:
                results.extend(_grid_figure(grids[name], data, runs or GRID_RUNS, out, page, output, progress))
            elif name in vhdp:
                results.extend(_vhdp_figure(vhdp[name], data, runs or RUNS, out, page, output, progress))
            elif name == COPULA:
                results.extend(_beside(data, runs or RUNS, out, page, output, progress))
            else:
                results.extend(_findings(name, data, runs or RUNS, out, page, output, progress))
    if output is Format.JSON:
        print_json(results)
    note(f"Tables and plots are in {out}. Where 'private' is not 'yes', and all of iDP-IR and VHDP: {NOT_PRIVATE}.")


def _figure(
    figure: Figure, data: Path, runs: int, out: Path, page: Path | None, output: Format, progress: Tell
) -> list[dict[str, object]]:
    from copublish.reproduction.figures import run_figure, titled
    from copublish.reproduction.plots import plot
    from copublish.reproduction.results_page import fill_in
    from copublish.reproduction.tables import as_csv, as_records, markdown, panel_table

    points = run_figure(figure, data, runs, progress)
    (out / f"{figure.name}.csv").write_text(as_csv(figure, points), encoding="utf-8")
    for ending, content in plot(figure, points).items():
        (out / f"{figure.name}.{ending}").write_bytes(content)
    if page:
        fill_in(page, figure.name, markdown(figure, points))
    if output is Format.TEXT:
        for dataset in figure.panels:
            header, rows = panel_table(figure, points, dataset)
            _print_table(f"{figure.title}. {titled(dataset)}, {figure.unit}, {points[0].runs} runs", header, rows)
    return as_records(figure, points)


def _grid_figure(
    figure: GridFigure, data: Path, runs: int, out: Path, page: Path | None, output: Format, progress: Tell
) -> list[dict[str, object]]:
    from copublish.reproduction.grid_claims import claims_of
    from copublish.reproduction.grid_figures import grid_records, run_grid_figure
    from copublish.reproduction.grid_tables import METRIC_NAMES, grid_csv, grid_markdown, grid_table, has_metric
    from copublish.reproduction.heat_maps import heat_maps
    from copublish.reproduction.results_page import fill_in

    grids = run_grid_figure(figure, data, runs, progress)
    (out / f"{figure.name}.csv").write_text(grid_csv(figure, grids), encoding="utf-8")
    for ending, content in heat_maps(figure, grids).items():
        (out / f"{figure.name}.{ending}").write_bytes(content)
    if page:
        fill_in(page, figure.name, grid_markdown(figure, grids))
    if output is Format.TEXT:
        for grid in grids:
            for metric in (metric for metric in figure.metrics if has_metric(grid, metric)):
                title = f"{figure.title}. {grid.panel.label}. {METRIC_NAMES[metric]}, {grid.runs} runs"
                _print_table(title, *grid_table(grid, metric))
        claims = [list(claim) for claim in claims_of(figure, grids)]
        _print_table(figure.title, ["what the paper says", "what comes out"], claims)
    return grid_records(figure, grids)


def _vhdp_figure(
    figure: VhdpFigure, data: Path, runs: int, out: Path, page: Path | None, output: Format, progress: Tell
) -> list[dict[str, object]]:
    from copublish.reproduction.results_page import fill_in
    from copublish.reproduction.vhdp_claims import vhdp_claims
    from copublish.reproduction.vhdp_figures import run_vhdp_figure, score_records
    from copublish.reproduction.vhdp_plots import vhdp_plot
    from copublish.reproduction.vhdp_tables import caption, score_table, vhdp_csv, vhdp_markdown

    tables = run_vhdp_figure(figure, data, runs, progress)
    (out / f"{figure.name}.csv").write_text(vhdp_csv(figure, tables), encoding="utf-8")
    for ending, content in vhdp_plot(figure, tables).items():
        (out / f"{figure.name}.{ending}").write_bytes(content)
    if page:
        fill_in(page, figure.name, vhdp_markdown(figure, tables))
    if output is Format.TEXT:
        for table in tables:
            _print_table(f"{figure.title}. {caption(figure, table)}", *score_table(figure, table))
        claims = [list(claim) for claim in vhdp_claims(figure, tables)]
        _print_table(figure.title, ["what the paper says", "what comes out"], claims)
    return score_records(figure, tables)


def _beside(
    data: Path, runs: int, out: Path, page: Path | None, output: Format, progress: Tell
) -> list[dict[str, object]]:
    from copublish.reproduction.copula_beside import beside_markdown, beside_records, beside_tables, run_beside
    from copublish.reproduction.results_page import fill_in

    rows = run_beside(data, runs, progress)
    records = beside_records(rows)
    with (out / f"{COPULA}.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(records[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(records)
    if page:
        fill_in(page, COPULA, beside_markdown(rows))
    if output is Format.TEXT:
        for title, header, lines in beside_tables(rows):
            _print_table(title, header, lines)
    return records


def _findings(
    name: str, data: Path, runs: int, out: Path, page: Path | None, output: Format, progress: Tell
) -> list[dict[str, object]]:
    from copublish.reproduction.findings import compute_findings, markdown_findings
    from copublish.reproduction.findings_hpdp import compute_hpdp_findings
    from copublish.reproduction.findings_idp_ir import compute_idp_ir_findings
    from copublish.reproduction.findings_vhdp import compute_vhdp_findings
    from copublish.reproduction.results_page import fill_in

    findings: list[Finding]
    if name == FINDINGS:
        findings = compute_findings(data, runs, progress)
    else:
        compute = {
            IDP_IR_FINDINGS: compute_idp_ir_findings,
            HPDP_FINDINGS: compute_hpdp_findings,
            VHDP_FINDINGS: compute_vhdp_findings,
        }[name]
        findings = compute(data, progress)
    text = markdown_findings(findings)
    (out / f"{name}.md").write_text(text + "\n", encoding="utf-8")
    if page:
        fill_in(page, name, text)
    if output is Format.TEXT:
        rows = [[finding.number, finding.printed, finding.found, finding.sound] for finding in findings]
        _print_table("Findings", ["", "as published", "what comes out", "copublish"], rows)
    return [dict(vars(finding)) for finding in findings]


def _print_list(
    known: dict[str, Figure], grids: dict[str, GridFigure], vhdp: dict[str, VhdpFigure], output: Format
) -> None:
    from copublish.reproduction.copula_beside import TITLE
    from copublish.reproduction.datasets import FILES
    from copublish.reproduction.labelled_table import LABELLED_FILES
    from copublish.reproduction.microdata_sets import MICRODATA_FILES

    def joined(*groups: tuple[str, ...]) -> str:
        return " ".join(dict.fromkeys(file for group in groups for file in group))

    what_fails = "what does not hold as published, each with a number"
    rows = [
        *([f.name, f.title, joined(f.files)] for f in known.values()),
        [FINDINGS, what_fails, joined(*FILES.values())],
        *([f.name, f.title, joined(*(MICRODATA_FILES[name] for name in f.datasets))] for f in grids.values()),
        [COPULA, TITLE, joined(*MICRODATA_FILES.values())],
        [IDP_IR_FINDINGS, what_fails, joined(*MICRODATA_FILES.values())],
        [HPDP_FINDINGS, what_fails, joined(FILES["adult"])],
        *([f.name, f.title, joined(*(LABELLED_FILES[name] for name in f.datasets))] for f in vhdp.values()),
        [VHDP_FINDINGS, what_fails, joined(*LABELLED_FILES.values())],
        [ALL, "all of these", joined(*FILES.values(), *MICRODATA_FILES.values(), *LABELLED_FILES.values())],
    ]
    if output is Format.JSON:
        print_json([dict(zip(("name", "title", "files"), row, strict=True)) for row in rows])
        return
    _print_table("copublish reproduce NAME --data FOLDER", ["name", "what", "files it needs in the folder"], rows)


def _print_table(title: str, header: list[str], rows: list[list[str]]) -> None:
    table = Table(*header, title=title, title_justify="left", show_lines=False)
    for row in rows:
        table.add_row(*row)
    results_console().print(table)
