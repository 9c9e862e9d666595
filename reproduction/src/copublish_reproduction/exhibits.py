"""Everything that can be regenerated, by its name on the command line, and what each leaves behind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from copublish.errors import CopublishError
from copublish_reproduction.copula_beside import NAME as COPULA
from copublish_reproduction.copula_beside import TITLE as COPULA_TITLE
from copublish_reproduction.copula_beside import beside_markdown, beside_records, beside_tables, run_beside
from copublish_reproduction.costs import (
    CostTable,
    cost_markdown,
    cost_records,
    figure_9_tables,
    printed_cost_tables,
    socket_tables,
)
from copublish_reproduction.datasets import FILES
from copublish_reproduction.figures import Figure, Tell, figures, in_order, run_figure, titled
from copublish_reproduction.findings import Finding, compute_findings, markdown_findings
from copublish_reproduction.findings_hpdp import compute_hpdp_findings
from copublish_reproduction.findings_idp_ir import compute_idp_ir_findings
from copublish_reproduction.findings_vhdp import compute_vhdp_findings
from copublish_reproduction.grid_claims import claims_of
from copublish_reproduction.grid_figures import GridFigure, grid_figures, grid_records, run_grid_figure
from copublish_reproduction.grid_tables import METRIC_NAMES, grid_markdown, grid_table, has_metric
from copublish_reproduction.heat_maps import heat_maps
from copublish_reproduction.hpdp_figures import hpdp_figures
from copublish_reproduction.idp_ir_readings import NAME as READINGS
from copublish_reproduction.idp_ir_readings import TITLE as READINGS_TITLE
from copublish_reproduction.idp_ir_readings import (
    readings_markdown,
    readings_records,
    readings_table,
    run_readings,
)
from copublish_reproduction.labeled_table import LABELED_FILES
from copublish_reproduction.microdata_sets import MICRODATA_FILES
from copublish_reproduction.plots import plot
from copublish_reproduction.printed_numbers import HEADER, printed_numbers, rows_of
from copublish_reproduction.readings import (
    Reading,
    daka_conclusions,
    diffp_c45_conclusions,
    reading_markdown,
    reading_tables,
    scan_daka,
    scan_diffp_c45,
)
from copublish_reproduction.series_choice import SeriesChoice
from copublish_reproduction.stored_claims import arbdistdp_claims, distdiffgen_claims
from copublish_reproduction.table_text import csv_text, markdown_table
from copublish_reproduction.tables import as_records, markdown, panel_table
from copublish_reproduction.vhdp_claims import vhdp_claims
from copublish_reproduction.vhdp_figures import VhdpFigure, run_vhdp_figure, score_records, vhdp_figures
from copublish_reproduction.vhdp_plots import vhdp_plot
from copublish_reproduction.vhdp_tables import caption, own_caption, own_table, score_table, vhdp_markdown

RUNS, GRID_RUNS, READING_RUNS = 10, 50, 200
"""The iDP-IR paper has means of fifty runs; the others of five or ten. Differences between means need more of them."""

WHAT_FAILS = "what does not hold as published, each with a number"
CLAIMS = ["what the paper says", "what comes out"]

Table = tuple[str, list[str], list[list[str]]]
"""A title, a header and rows."""


@dataclass(frozen=True)
class Outcome:
    """What comes out.

    Attributes:
        files: Their contents by file ending.
        page: The part of a Markdown page.
        tables: For the terminal.
        records: For programs.
    """

    files: dict[str, bytes]
    page: str
    tables: list[Table]
    records: list[dict[str, object]]


@dataclass(frozen=True)
class Exhibit:
    """A figure, or a list of findings.

    Attributes:
        name: On the command line.
        title: What it shows.
        files: Of the data sets that it needs.
        run: Regenerates it from a folder, in so many runs.
        runs: How often, unless said otherwise.
        run_some: Regenerates single series of a figure; none where there are no series to choose.
        from_stored: Makes it from data and a folder with the tables of other exhibits, in the place of `run`.
    """

    name: str
    title: str
    files: tuple[str, ...]
    run: Callable[[Path, int, Tell], Outcome]
    runs: int = RUNS
    run_some: Callable[[Path, int, Tell, SeriesChoice], Outcome] | None = None
    from_stored: Callable[[Path, Path], Outcome] | None = None


def exhibits(scores: Sequence[str]) -> dict[str, Exhibit]:
    """Everything by name; copublish's own releases in figures have the given scores."""
    every = [
        *(_figure(figure) for figure in (*figures(scores).values(), *hpdp_figures().values())),
        _findings("findings", FILES.values(), compute_findings),
        *(_grid_figure(figure) for figure in grid_figures().values()),
        Exhibit(READINGS, READINGS_TITLE, joined(MICRODATA_FILES.values()), _readings, READING_RUNS),
        Exhibit(COPULA, COPULA_TITLE, joined(MICRODATA_FILES.values()), _beside),
        _findings("idp-ir-findings", MICRODATA_FILES.values(), _without_runs(compute_idp_ir_findings)),
        _findings("hpdp-findings", [FILES["adult"]], _without_runs(compute_hpdp_findings)),
        *(_vhdp_figure(figure) for figure in vhdp_figures().values()),
        _findings("vhdp-findings", LABELED_FILES.values(), _without_runs(compute_vhdp_findings)),
        *_scans(),
        *_stored(),
        *_costs(),
    ]
    return {exhibit.name: exhibit for exhibit in every}


def joined(groups: Iterable[Iterable[str]]) -> tuple[str, ...]:
    """The files of several groups, each once."""
    return tuple(dict.fromkeys(file for group in groups for file in group))


def _figure(figure: Figure) -> Exhibit:
    def run_some(data: Path, runs: int, progress: Tell, choice: SeriesChoice) -> Outcome:
        choice.refuse_unknown(figure)
        others = choice.other_points(figure)
        measured = replace(figure, series=tuple(s for s in figure.series if choice.measures(s.label)))
        points = in_order(figure, [*run_figure(measured, data, runs, progress, choice.runs), *others])
        how = f"{figure.unit}, {max(point.runs for point in points)} runs"
        tables = [
            (f"{figure.title}. {titled(panel)}, {how}", *panel_table(figure, points, panel)) for panel in figure.panels
        ]
        return _drawn(as_records(figure, points), plot(figure, points), markdown(figure, points), tables)

    def run(data: Path, runs: int, progress: Tell) -> Outcome:
        return run_some(data, runs, progress, SeriesChoice())

    return Exhibit(figure.name, figure.title, figure.files, run, run_some=run_some)


def _grid_figure(figure: GridFigure) -> Exhibit:
    def run(data: Path, runs: int, progress: Tell) -> Outcome:
        grids = run_grid_figure(figure, data, runs, progress)
        tables = [
            (
                f"{figure.title}. {grid.panel.label}. {METRIC_NAMES[metric]}, {grid.runs} runs",
                *grid_table(grid, metric),
            )
            for grid in grids
            for metric in figure.metrics
            if has_metric(grid, metric)
        ]
        tables.append((figure.title, CLAIMS, [list(claim) for claim in claims_of(figure, grids)]))
        return _drawn(grid_records(figure, grids), heat_maps(figure, grids), grid_markdown(figure, grids), tables)

    files = joined(MICRODATA_FILES[name] for name in figure.datasets)
    return Exhibit(figure.name, figure.title, files, run, GRID_RUNS)


def _vhdp_figure(figure: VhdpFigure) -> Exhibit:
    def run(data: Path, runs: int, progress: Tell) -> Outcome:
        scores = run_vhdp_figure(figure, data, runs, progress)
        tables = [(f"{figure.title}. {caption(figure, table)}", *score_table(figure, table)) for table in scores]
        if figure.beside:
            tables += [(own_caption(figure, table), *own_table(figure, table)) for table in scores]
        tables.append((figure.title, CLAIMS, [list(claim) for claim in vhdp_claims(figure, scores)]))
        return _drawn(score_records(figure, scores), vhdp_plot(figure, scores), vhdp_markdown(figure, scores), tables)

    return Exhibit(figure.name, figure.title, joined(LABELED_FILES[name] for name in figure.datasets), run)


def _drawn(records: list[dict[str, object]], plots: dict[str, bytes], page: str, tables: list[Table]) -> Outcome:
    return Outcome({"csv": csv_text(records).encode(), **plots}, page, tables, records)


def _beside(data: Path, runs: int, progress: Tell) -> Outcome:
    rows = run_beside(data, runs, progress)
    return _drawn(beside_records(rows), {}, beside_markdown(rows), list(beside_tables(rows)))


def _readings(data: Path, runs: int, progress: Tell) -> Outcome:
    rows = run_readings(data, runs, progress)
    table = (READINGS_TITLE, *readings_table(rows))
    return _drawn(readings_records(rows), {}, readings_markdown(rows, runs), [table])


def _without_runs(compute: Callable[[Path, Tell], list[Finding]]) -> Callable[[Path, int, Tell], list[Finding]]:
    return lambda data, _, progress: compute(data, progress)


def _findings(
    name: str, groups: Iterable[Iterable[str]], compute: Callable[[Path, int, Tell], list[Finding]]
) -> Exhibit:
    def run(data: Path, runs: int, progress: Tell) -> Outcome:
        findings = compute(data, runs, progress)
        text = markdown_findings(findings)
        rows = [[finding.number, finding.printed, finding.found, finding.sound] for finding in findings]
        table = ("Findings", ["", "as published", "what comes out", "copublish"], rows)
        return Outcome({"md": f"{text}\n".encode()}, text, [table], [dict(vars(finding)) for finding in findings])

    return Exhibit(name, WHAT_FAILS, joined(groups), run)


def _scans() -> Iterable[Exhibit]:
    def daka(data: Path, _: int, progress: Tell) -> Outcome:
        return _scanned(scan_daka(data, progress), "specializations at most", daka_conclusions)

    def diffp_c45(data: Path, runs: int, progress: Tell) -> Outcome:
        return _scanned(scan_diffp_c45(data, runs, progress), "stopping rule", diffp_c45_conclusions)

    yield Exhibit("distdiffgen-readings", "DAKA of DistDiffGen's Fig. 4 by several readings", FILES["adult"], daka)
    title = "DiffP-C4.5 of ArbDistDP's Fig. 8 by several readings"
    yield Exhibit("arbdistdp-readings", title, joined(FILES.values()), diffp_c45)


def _scanned(readings: Sequence[Reading], corner: str, conclude: Callable[[Sequence[Reading]], list[str]]) -> Outcome:
    records = [dict(vars(reading)) for reading in readings]
    return _drawn(records, {}, reading_markdown(readings, corner, conclude), reading_tables(readings, corner))


def _stored() -> Iterable[Exhibit]:
    for name, title, claims in (
        ("distdiffgen-claims", "what DistDiffGen's text says of its figures, beside their tables", distdiffgen_claims),
        ("arbdistdp-claims", "what ArbDistDP's text says of its figures, beside their tables", arbdistdp_claims),
    ):
        yield Exhibit(name, title, (), _refused, from_stored=partial(_claimed, title, claims))
    files = joined([*FILES.values(), *MICRODATA_FILES.values(), *LABELED_FILES.values()])
    title = "every number that the five papers print, beside ours"
    yield Exhibit("printed-numbers", title, files, _refused, from_stored=partial(_printed, title))


def _refused(data: Path, runs: int, progress: Tell) -> Outcome:
    raise CopublishError("This is made from the tables of other exhibits; --out has to name their folder.")


def _claimed(title: str, claims: Callable[[Path], list[tuple[str, str]]], data: Path, stored: Path) -> Outcome:
    rows = [list(claim) for claim in claims(stored)]
    records: list[dict[str, object]] = [dict(zip(CLAIMS, row, strict=True)) for row in rows]
    return _drawn(records, {}, "\n".join(markdown_table(CLAIMS, rows)), [(title, CLAIMS, rows)])


def _printed(title: str, data: Path, stored: Path) -> Outcome:
    numbers = printed_numbers(data, stored)
    rows = rows_of(numbers)
    records = [dict(vars(number)) for number in numbers]
    return _drawn(records, {}, "\n".join(markdown_table(HEADER, rows)), [(title, HEADER, rows)])


def _costs() -> Iterable[Exhibit]:
    adult_and_statlog = joined([FILES["adult"], *LABELED_FILES.values()])
    yield Exhibit(
        "costs",
        "costs and complexities that the five papers state, recomputed, beside measured ones",
        adult_and_statlog,
        lambda data, runs, progress: _cost_outcome(printed_cost_tables(data, runs, progress)),
    )
    yield Exhibit(
        "arbdistdp-fig9-protocol",
        "ArbDistDP, Fig. 9: operations of its protocol and their cost, beside secure releases",
        joined(FILES.values()),
        lambda data, _, progress: _cost_outcome(figure_9_tables(data, progress)),
    )
    yield Exhibit(
        "hpdp-sockets",
        "HPDP-DP's curator and owners as processes over sockets: its traffic beside the paper's formulas",
        FILES["adult"],
        lambda data, _, progress: _cost_outcome(socket_tables(data, progress)),
    )


def _cost_outcome(tables: list[CostTable]) -> Outcome:
    shown = [(table.title, table.header, table.rows) for table in tables]
    return _drawn(cost_records(tables), {}, cost_markdown(tables), shown)
