"""The plain-language README that lies in every release folder, and tables in HTML for notebooks.

Everything that goes into HTML is escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from copublish.kernel.certificate.certificate import Certificate
from copublish.mechanisms.base import About
from copublish.mechanisms.shared.privacy_words import epsilon_rows
from copublish.release.metadata import metadata_table


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


def folder_readme(certificate: Certificate, about: About, formulas: str | None = None) -> str:
    """The README of a release folder, for people who have never heard of copublish.

    Args:
        certificate: What is guaranteed.
        about: What its mechanism says.
        formulas: A warning about cells that spreadsheet programs would run, if there are such.
    """
    simulated = "**This is a simulated release.** " if certificate.engine.is_simulated else ""
    sections = [
        f"> **WARNING: {certificate.warning}**" if certificate.warning else "",
        f"# {certificate.release}",
        certificate.deployment.basic.description,
        f"{simulated}Secrecy: {certificate.engine.secrecy}",
        about.what,
        "## What is here",
        about.files,
        "For programs, with digests in the certificate like those of the tables:",
        metadata_table(certificate_warns=certificate.warning is not None),
        f"**Careful with spreadsheet programs:** {formulas}" if formulas else "",
        "## How exact is it",
        about.errors,
        "" if certificate.class_disagreement is None else certificate.class_disagreement.words,
        "## What is protected",
        _bullets(certificate.protected),
        "\n".join(
            [
                "| epsilon for | one person added or removed | one person's values replaced |",
                "| --- | --- | --- |",
                *(f"| {' | '.join(row)} |" for row in epsilon_rows(certificate.epsilon)),
            ]
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


def _what_epsilon_means(certificate: Certificate) -> str:
    return f"""A small epsilon is strong protection: whatever anyone concludes from this folder, they would have
concluded with nearly the same probability (within a factor of e^epsilon) had one person's data been different. Delta
({certificate.delta_is}) is at most {certificate.delta_bound}."""


def _bullets(sentences: Iterable[str]) -> str:
    return "\n".join(f"- {sentence}" for sentence in sentences)
