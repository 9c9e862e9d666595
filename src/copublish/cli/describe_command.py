"""`copublish describe`: what would be disclosed, at which price, to whom."""

from __future__ import annotations

from fractions import Fraction
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from copublish.agreement import load_agreement
from copublish.cli.terminal import Format, FormatOption, print_json, results_console, warn_first
from copublish.evaluation.words import epsilon_words, noise_words
from copublish.release.describe import describe as describe_agreement


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("describe")(describe)


def describe(
    agreement: Annotated[Path, typer.Argument(help="The agreement, a TOML file.")],
    output: FormatOption = Format.TEXT,
) -> None:
    """Show every disclosure of a release, its epsilon, its noise, and who learns what. Costs nothing.

    Reads the agreement alone and touches no data.

    Example: copublish describe agreement.toml
    """
    described = describe_agreement(load_agreement(agreement))
    if output is Format.JSON:
        print_json(described)
        return
    print_description(described, results_console())


def print_description(described: dict[str, Any], console: Console) -> None:
    """Print a description for people."""
    warn_first(described.get("warning"), console)
    epsilon = described["epsilon"]
    facts = Table.grid(padding=(0, 2))
    facts.add_row("Release", described["release"], "Parties", ", ".join(described["parties"]))
    facts.add_row(
        "Mechanism",
        f"{described['mechanism']}, {described['partition']}",
        "Agreement",
        described["agreement_hash"][:16],
    )
    facts.add_row(
        "Cost",
        f"epsilon {epsilon['agreed']} ({epsilon['calibrated_to']})",
        "Delta",
        f"at most {described['delta_bound']} ({described['delta_is']})",
    )
    if "score" in described:
        size = f"at most {described['most_leaves']:,} leaves, {described['most_cells']:,} counts"
        facts.add_row("Publishes", size, "Score", _score(**described["score"]))
    elif "sums" in described:
        size = f"synthetic records with {described['columns']} columns"
        facts.add_row(
            "Publishes", size, "From", f"{described['sums']:,} sums of {described['coordinates']} coordinates"
        )
    elif "publishes" in described:
        facts.add_row("Publishes", described["publishes"], "Guarantee", "none")
    elif "dependence" in described:
        size = f"synthetic records with {described['columns']} columns"
        share = f"{described['dependence']} of it for how {described['pairs']:,} pairs of columns depend"
        facts.add_row("Publishes", size, "Epsilon", share)
    else:
        rule = f"divided between columns: {described['allocation']['rule']}"
        facts.add_row("Publishes", f"every record, perturbed, with {described['columns']} columns", "Epsilon", rule)
    if "noise_shares" in described:
        shares = described["noise_shares"]
        facts.add_row(
            "Noise",
            f"in shares of {shares['owners']} owners, of whom {shares['colluders']} may collude",
            "Adds up",
            f"{shares['aggregator']}; variance times {shares['variance_factor']}",
        )
    console.print(facts)
    console.print()
    print_disclosures(described["disclosures"], epsilon["calibrated_to"], console)
    if "allocation" in described:
        console.print()
        print_allocation(described["allocation"], console)
    if "unused_selections" in described:
        console.print(described["unused_selections"])
    console.print()
    print_epsilon(epsilon, console)
    for title, key in (("Protected", "protected"), ("Not protected", "not_protected")):
        console.print(f"\n[bold]{title}[/bold]")
        for sentence in described[key]:
            console.print(f"  - {sentence}", markup=False)
    console.print("\n[bold]What each party sees[/bold]")
    for seen, parties in _by_view(described["views"]).items():
        console.print(f"  {' and '.join(parties)}", markup=False)
        for item in seen:
            console.print(f"    - {item}", markup=False)
    for warning in described["warnings"]:
        console.print(f"\nWarning: {warning}", style="yellow", markup=False)


def _score(asked: str, used: str) -> str:
    return used if asked == used else f"{used}, chosen by {asked}"


def _by_view(views: dict[str, list[str]]) -> dict[tuple[str, ...], list[str]]:
    """Return the parties that see the same, by what they see."""
    found: dict[tuple[str, ...], list[str]] = {}
    for party, seen in views.items():
        found.setdefault(tuple(seen), []).append(party)
    return found


def print_disclosures(disclosures: list[dict[str, Any]], relation: str, console: Console) -> None:
    """Print everything that is opened, selections of one price in one row."""
    table = Table(title="Everything that is opened", title_justify="left")
    for heading in ("what", "times", "epsilon each", "noise", "known to"):
        table.add_column(heading, overflow="fold")
    for _, group in groupby(
        disclosures,
        key=lambda d: (
            "select" if d["kind"] == "select" else d["what"],
            d["epsilon"][relation],
            str(d["noise"]),
        ),
    ):
        same = list(group)
        first = same[0]
        what = "which value is split, and where" if first["kind"] == "select" else first["what"]
        table.add_row(what, str(len(same)), first["epsilon"][relation], noise_words(first["noise"]), first["known_to"])
    console.print(table)


def print_allocation(allocation: dict[str, Any], console: Console) -> None:
    """Print every column's share of epsilon and its noise, in people or in the column's own unit."""
    rule = allocation["rule"]
    if "label" in allocation:
        rule += f" about '{allocation['label']}'; its tables take {allocation['tables']}"
    table = Table(title=f"How epsilon is divided between columns: {rule}", title_justify="left")
    for heading in ("column", "share", "epsilon", "noise"):
        table.add_column(heading, overflow="fold")
    for name, column in allocation["columns"].items():
        ends = [column[end] for end in ("least", "most") if end in column] or [column]
        share = " to ".join(f"{end['share']:.1%}" for end in ends)
        epsilon = " to ".join(f"{float(Fraction(end['epsilon'])):.3g}" for end in ends)
        table.add_row(name, share, epsilon, "\nto ".join(noise_words(end["noise"]) for end in ends))
    console.print(table)


def print_epsilon(epsilon: dict[str, Any], console: Console) -> None:
    """Print epsilon for both relations, for the public and for the parties."""
    table = Table(title="Epsilon, by who looks and what changes", title_justify="left")
    for heading in ("who looks", "one person added or removed", "one person's values replaced"):
        table.add_column(heading, overflow="fold")
    for who, key in (("the public", "public"), ("the other parties", "insiders")):
        table.add_row(who, *(epsilon_words(epsilon[key][relation]) for relation in ("add-remove", "replace")))
    console.print(table)
