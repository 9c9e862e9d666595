"""The plain-language README that lies in every release folder."""

from __future__ import annotations

from typing import Any


def folder_readme(certificate: dict[str, Any], n_records: int) -> str:
    """Return the README of a release folder, for people who have never heard of copublish."""
    epsilon, measured = certificate["epsilon"], certificate["disclosures"][-1]
    simulated = certificate["engine"]["name"] == "ideal"
    within = measured["noise"]["within_95_percent"]
    sections = [
        f"# {certificate['release']}",
        certificate["deployment"]["basic"]["description"],
        ("**This is a simulated release.** " if simulated else "") + "Secrecy: " + certificate["engine"]["secrecy"],
        f"""This folder is a differentially private data set of {n_records:,} records, made together by
{_listed(certificate["views"])}. No record in it is a real person: it says how many people there are, about, with each
combination of generalized values.""",
        "## What is here",
        """| file | content |
| --- | --- |
| `counts.parquet`, `counts.csv` | one row per combination of generalized values and class (see below) |
| `records.parquet` | the same as records: every row of `counts` repeated `count` times |
| `cut.json` | what each generalized value stands for; `copublish generalize` applies it to other data |
| `certificate.json` | the guarantee, everything that was disclosed, and every assumption |""",
        "`count` is never negative and adds up to the number of records; `noisy_count` is the unbiased measurement.",
        "## How exact is it",
        f"""Every count carries noise of scale {measured["noise"]["scale_in_people"]:g} people: 95 of 100 counts are off
by at most {within}. Empty combinations are in the table as well, so a count of {within} may well be nobody. Add up
`noisy_count`, not `count`, when you sum over many rows: a sum over r rows is off by about
{1.41 * measured["noise"]["scale_in_people"]:.3g} times the square root of r.""",
        "## What is protected",
        _bullets(certificate["protected"]),
        f"""| epsilon for | one person added or removed | one person's values replaced |
| --- | --- | --- |
| the public | {epsilon["public"]["add-remove"]} | {epsilon["public"]["replace"]} |
| the other parties | {epsilon["insiders"]["add-remove"]} | {epsilon["insiders"]["replace"]} |""",
        f"""A small epsilon is strong protection: whatever anyone concludes from this folder, they would have concluded
with nearly the same probability (within a factor of e^epsilon) had one person's data been different. Delta, the
sampler's part, is at most {certificate["delta_bound"]}.""",
        "## What is not protected",
        _bullets(certificate["not_protected"]),
        "## What this rests on",
        _bullets(certificate["assumptions"]),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _bullets(sentences: list[str]) -> str:
    return "\n".join(f"- {sentence}" for sentence in sentences)


def _listed(names: dict[str, Any]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
