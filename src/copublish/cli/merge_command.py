"""`copublish merge`: one agreement from the drafts of several parties."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from copublish.cli.terminal import Format, FormatOption, note, print_json
from copublish.errors import CopublishError
from copublish.tools.drafting.draft import Content, Draft
from copublish.tools.drafting.fields import draft_problems
from copublish.tools.drafting.files import load_draft
from copublish.tools.drafting.merge import merge_drafts
from copublish.tools.drafting.questions import with_questions
from copublish.tools.drafting.text import draft_text


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("merge")(merge)


def merge(
    drafts: Annotated[list[Path], typer.Argument(help="The drafts, one of each party.", show_default=False)],
    out: Annotated[Path, typer.Option(help="Where to write the agreement.")] = Path("agreement.toml"),
    question: Annotated[
        list[str] | None,
        typer.Option(help="A question that the release must answer, like 'mean cost by stage'. Repeat it."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    output: FormatOption = Format.TEXT,
) -> None:
    """Merge the drafts of several parties into one agreement.

    Every party drafts its own columns with 'copublish init'; drafts hold no data, so they can be sent around. What
    one draft leaves open (FILL IN) another one may say. Where two say something different, nothing is written and
    every conflict is named with all sides: agree, write the same in all drafts, and merge again. What --question asks
    may be about columns of several parties.

    Example: copublish merge bank.toml loans.toml --out agreement.toml --question 'mean balance by purpose'
    """
    if out.exists() and not force:
        raise CopublishError(f"'{out}' exists. Choose another --out, or add --force to replace it.")
    names = [str(path) for path in drafts]
    if len(set(names)) < len(names) or len(names) < 2:
        raise typer.BadParameter("name at least two drafts, each once", param_hint="DRAFTS")
    merged = with_questions(merge_drafts({str(path): load_draft(path) for path in drafts}), question or [])
    out.write_text(draft_text(merged), encoding="utf-8")
    open_questions = what_is_open(merged.content, out)
    if output is Format.JSON:
        print_json(_facts(merged.content, out, open_questions))
        return
    tell_what_is_open(out, open_questions)


def what_is_open(content: Content, path: Path) -> tuple[str, ...]:
    """Everything that keeps a draft from being an agreement, as `copublish check` says it."""
    return tuple(problem.sentence for problem in draft_problems(Draft(content), folder=path.parent))


def tell_what_is_open(path: Path, open_questions: tuple[str, ...], *, then: str | None = "check") -> None:
    """Say what was written, and what has to be done with it.

    Args:
        path: The draft.
        open_questions: What is left to people.
        then: The command that comes next, if it is known here.
    """
    if open_questions:
        places = "1 place is" if len(open_questions) == 1 else f"{len(open_questions)} places are"
        note("\n  - ".join([f"Wrote {path}. {places} left to people, or to the drafts of others:", *open_questions]))
    else:
        note(f"Wrote {path}. Nothing is left to fill in.")
    if then is not None:
        note(f"Then: copublish {then} {path}")


def _facts(content: Content, out: Path, open_questions: tuple[str, ...]) -> dict[str, Any]:
    return {
        "agreement": str(out),
        "parties": list(content.get("parties", {})),
        "attributes": list(content.get("attributes", {})),
        "complete": not open_questions,
        "to_do": list(open_questions),
    }
