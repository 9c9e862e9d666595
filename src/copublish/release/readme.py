"""The plain-language README that lies in every release folder, and tables in HTML for notebooks.

Everything that goes into HTML is escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

from copublish.kernel.certificate.certificate import Certificate
from copublish.mechanisms.base import in_words
from copublish.release.metadata import metadata_table
from copublish.release.pairs import PAIRS_FILE, pairs_not_measured
from copublish.release.render.pair_snippets import pair_snippets
from copublish.release.render.privacy_words import epsilon_rows, owners_delta_words
from copublish.release.render.sentences import errors_in_words, who_rows_are

if TYPE_CHECKING:
    from copublish.release.publication import Publication


def definition_list(facts: Mapping[str, object]) -> str:
    """Headings and what is said under each."""
    rows = "".join(f"<tr>{_cell('th', name)}{_cell('td', said)}</tr>" for name, said in facts.items())
    return f"<table>{rows}</table>"


def html_table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table with a row of headings."""
    head = "".join(_cell("th", heading) for heading in headings)
    body = "".join(f"<tr>{''.join(_cell('td', cell) for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(tag: str, content: object) -> str:
    return f'<{tag} style="text-align:left">{escape(str(content))}</{tag}>'


def folder_readme(publication: Publication, certificate: Certificate, formulas: str | None = None) -> str:
    """The README of a release folder, for people who have never heard of copublish.

    Args:
        publication: What was published.
        certificate: What is guaranteed.
        formulas: A warning about cells that spreadsheet programs would run, if there are such.
    """
    simulated = "**This is a simulated release.** " if certificate.engine.is_simulated else ""
    sections = [
        f"> **WARNING: {certificate.warning}**" if certificate.warning else "",
        f"# {certificate.release}",
        certificate.deployment.basic.description,
        f"{simulated}Secrecy: {certificate.engine.secrecy}",
        _description(publication, certificate),
        "## What is here",
        _table(("file", "content"), _files(publication, certificate)),
        "For programs, with digests in the certificate like those of the tables:",
        metadata_table(certificate_warns=certificate.warning is not None),
        f"**Careful with spreadsheet programs:** {formulas}" if formulas else "",
        "## How exact is it",
        *errors_in_words(publication),
        "" if certificate.class_disagreement is None else certificate.class_disagreement.words,
        _asking_for_pairs(publication),
        "## What is protected",
        _bullets(certificate.protected),
        _table(
            ("epsilon for", "one person added or removed", "one person's values replaced"),
            epsilon_rows(certificate.epsilon),
        ),
        certificate.warning or _what_epsilon_means(certificate),
        "" if certificate.audit is None else certificate.audit.words,
        "## What is not protected",
        _bullets(certificate.not_protected),
        "## What this rests on",
        _bullets(certificate.assumptions),
        "## Is it genuine",
        "If `signatures.json` lies beside this file, every party has signed all files here. `copublish verify FOLDER` "
        "checks that offline; ask the parties for the fingerprints of their certificates to know that the keys are "
        "theirs.",
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _description(publication: Publication, certificate: Certificate) -> str:
    words, records = publication.mechanism.words, publication.published.model.records
    kind = "" if words.kind == "counted" else f"{words.kind} "
    private = "data set" if certificate.warning else "differentially private data set"
    return (
        f"This folder is a {private} of {records:,} {kind}records, made together by {in_words(certificate.parties)}. "
        f"**{who_rows_are(publication)}** {words.made}"
    )


def _asking_for_pairs(publication: Publication) -> str:
    """Lines of code that ask whether two columns were measured together."""
    lines = pair_snippets(publication)
    if lines is None:
        return ""
    return (
        "## Were two columns measured together\n\nIn Python:\n\n"
        f"```python\n{lines.python}```\n\nIn R:\n\n```r\n{lines.r}```"
    )


def _files(publication: Publication, certificate: Certificate) -> list[tuple[str, str]]:
    """Every file that people use, with a few words about each."""
    published, warns = publication.published, certificate.warning is not None
    counted = publication.mechanism.words.kind == "counted"
    found = [
        ("`records.parquet`", "the records; its metadata hold the warning, which a CSV file could not")
        if warns
        else ("`records.parquet`" + ("" if counted else ", `records.csv`"), "the records")
    ]
    if published.tables:
        number = len(published.tables)
        every = f"each of the {number:,} measured tables" if number > 1 else "the measured table"
        found.append(
            (
                "`measured/`",
                f"{every} as CSV and as Parquet: every cell with its `noisy_count`, which is unbiased and can be "
                "negative, and how far that is off at most in 95 of 100 cases",
            )
        )
    if not warns and pairs_not_measured(publication):
        found.append((f"`{PAIRS_FILE}`", "every pair of columns, whether it was measured, and who holds the columns"))
    if published.measured or (published.rows is not None and published.rows.noise):
        sums = " the noisy sums that are no counts," if any(own.cells is None for own in published.measured) else ""
        found.append(
            ("`measurements.json`", f"the columns with their values,{sums} and the noise of all that was measured")
        )
    else:
        found.append(("`measurements.json`", "the columns with their values"))
    generalizes = "; `copublish generalize` applies the same values to other data" if published.generalized else ""
    made = "how the records were made" if published.rows is not None else "the model that the records were made from"
    found.append(("`model.json`", f"{made}{generalizes}"))
    guarantee = "what is not guaranteed" if warns else "the guarantee"
    found.append(("`certificate.json`", f"{guarantee}, everything that was disclosed, and every assumption"))
    return found


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = (headings, ["---"] * len(headings), *rows)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _what_epsilon_means(certificate: Certificate) -> str:
    return f"""A small epsilon is strong protection: whatever anyone concludes from this folder, they would have
concluded with nearly the same probability (within a factor of e^epsilon) had one person's data been different. Delta
({certificate.delta_is}) is at most {certificate.delta_bound}{owners_delta_words(certificate.epsilon)}."""


def _bullets(sentences: Iterable[str]) -> str:
    return "\n".join(f"- {sentence}" for sentence in sentences)
