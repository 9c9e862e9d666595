"""The plain-language README that lies in every release folder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class About:
    """What only this kind of release has to say.

    Attributes:
        what: What the folder is.
        files: Its files, as a table, and how to read them.
        errors: How exact it is.
    """

    what: str
    files: str
    errors: str


def about_generalized(certificate: dict[str, Any], n_records: int) -> About:
    """Return what a release of generalized records is."""
    measured = certificate["disclosures"][-1]
    within = measured["noise"]["within_95_percent"]
    return About(
        f"""This folder is a differentially private data set of {n_records:,} records, made together by
{_listed(certificate["views"])}. No record in it is a real person: it says how many people there are, about, with each
combination of generalized values.""",
        """| file | content |
| --- | --- |
| `counts.parquet`, `counts.csv` | one row per combination of generalized values and class (see below) |
| `records.parquet` | the same as records: every row of `counts` repeated `count` times |
| `cut.json` | what each generalized value stands for; `copublish generalize` applies it to other data |
| `certificate.json` | the guarantee, everything that was disclosed, and every assumption |

`count` is never negative and adds up to the number of records; `noisy_count` is the unbiased measurement.""",
        f"""Every count carries noise of scale {measured["noise"]["scale_in_people"]:g} people: 95 of 100 counts are off
by at most {within}. Empty combinations are in the table as well, so a count of {within} may well be nobody. Add up
`noisy_count`, not `count`, when you sum over many rows: a sum over r rows is off by about
{1.41 * measured["noise"]["scale_in_people"]:.3g} times the square root of r.""",
    )


def about_copula(certificate: dict[str, Any], n_records: int) -> About:
    """Return what a release of the mechanism copula is."""
    *measured, products = certificate["disclosures"]
    marginals = [measure for measure in measured if measure["what"].startswith("number of records in every cell")]
    scales = [marginal["noise"]["scale_in_people"] for marginal in marginals]
    between = f"{min(scales):g}" if min(scales) == max(scales) else f"{min(scales):g} to {max(scales):g}"
    return About(
        f"""This folder is a differentially private data set of {n_records:,} synthetic records, made together by
{_listed(certificate["views"])}. No record in it is a real person: records were drawn at random so that every column is
spread like the real one, about, and every two columns are correlated like the real ones, about.""",
        """| file | content |
| --- | --- |
| `records.parquet`, `records.csv` | the synthetic records |
| `copula.json` | the noisy counts and sums they were drawn from, and the correlations |
| `certificate.json` | the guarantee, everything that was disclosed, and every assumption |""",
        f"""Every count of a column's values carries noise of scale {between} people. Every sum of products, which fixes
how two columns go together, carries noise of scale {products["noise"]["scale_in_people"]:g}: as much as so many people
with extreme values would make. What three or more columns have in common beyond their pairs is not kept, nor is a
dependence that neither rises nor falls. `copula.json` has the unbiased noisy counts; use them where one
column is all you need.""",
    )


def about_hpdp(certificate: dict[str, Any], n_records: int) -> About:
    """Return what a release of the mechanism hpdp is."""
    (moments,) = certificate["disclosures"]
    return About(
        f"""This folder is a differentially private data set of {n_records:,} synthetic records, made together by
{_listed(certificate["views"])}. No record in it is a real person: records were drawn at random so that means, shares of
values, and how every two columns go together are like the real ones, about.""",
        """| file | content |
| --- | --- |
| `records.parquet`, `records.csv` | the synthetic records |
| `hpdp.json` | the noisy sums they were drawn from, and the model fitted to them |
| `certificate.json` | the guarantee, everything that was disclosed, and every assumption |""",
        f"""Every sum, of which the share of a value and the share of two values together are examples, carries noise of
{"standard deviation" if "Gaussian" in moments["noise"]["law"] else "scale"} {moments["noise"]["scale_in_people"]:g}
people; sums that the class is in carry {moments["noise"]["times_less_where_weighted"]} times less. Dependences that
noise could have made are left out, weak ones are made weaker, and what three or more columns have in common beyond
their pairs is not kept. The shape of a number's distribution is not measured, only its mean and its spread. `hpdp.json`
has the unbiased noisy sums, to be divided by their weights; use them where a mean, a share or a covariance is all you
need.""",
    )


def about_vhdp(certificate: dict[str, Any], n_records: int) -> About:
    """Return what a release of the mechanism vhdp is."""
    return About(
        f"""This folder is a differentially private data set of {n_records:,} perturbed records, made together by
{_listed(certificate["views"])}. Each row stands for one real person, but every value in it carries noise that the
owner of the column added before it left.""",
        """| file | content |
| --- | --- |
| `records.parquet`, `records.csv` | the perturbed records, in an order that follows from their values |
| `vhdp.json` | the noise of every column, its share of the budget, and what it still tells about the label |
| `certificate.json` | the guarantee, everything that was disclosed, and every assumption |""",
        """Numbers carry discrete Laplace noise and are clipped to their bounds; categories are kept with a stated
probability and otherwise replaced by another value. `vhdp.json` has each column's noise. A single value tells next to
nothing: use averages over many records, and mind that noise and clipping pull means to the middle and weaken every
dependence. Of v categories that are kept with probability k, a published share s estimates the true share (s - q) /
(k - q), where q = (1 - k) / (v - 1).""",
    )


def about_idp_ir(certificate: dict[str, Any], n_records: int) -> About:
    """Return what a release of the mechanism idp-ir is."""
    return About(
        f"""This folder is a data set of {n_records:,} perturbed records, made by {_listed(certificate["views"])} with
iDP-IR. **Every record in it stands for a real person.** Each column was sorted and cut into clusters, and a record has
its clusters' noisy means. It is not differentially private: who is in one cluster can be read off.""",
        """| file | content |
| --- | --- |
| `records.parquet` | the perturbed records; its metadata hold the warning, which a CSV file could not |
| `idp-ir.json` | how the records were made |
| `certificate.json` | what is not guaranteed, everything that was disclosed, and every assumption |""",
        """Each cluster's mean carries noise whose size depends on the data and is not stated. What varies within a
cluster is lost, and so is much of what columns have in common.""",
    )


ABOUT_RECORDS: dict[str, Callable[[dict[str, Any], int], About]] = {
    "copula": about_copula,
    "hpdp": about_hpdp,
    "vhdp": about_vhdp,
    "idp-ir": about_idp_ir,
}
"""By mechanism: what a release of records has to say, from its certificate and number of records."""


def folder_readme(certificate: dict[str, Any], about: About) -> str:
    """Return the README of a release folder, for people who have never heard of copublish."""
    epsilon = certificate["epsilon"]
    simulated = certificate["engine"]["name"] == "ideal"
    warning = certificate.get("warning")
    sections = [
        f"> **WARNING: {warning}**" if warning else "",
        f"# {certificate['release']}",
        certificate["deployment"]["basic"]["description"],
        ("**This is a simulated release.** " if simulated else "") + "Secrecy: " + certificate["engine"]["secrecy"],
        about.what,
        "## What is here",
        about.files,
        "## How exact is it",
        about.errors,
        "## What is protected",
        _bullets(certificate["protected"]),
        f"""| epsilon for | one person added or removed | one person's values replaced |
| --- | --- | --- |
| the public | {epsilon["public"]["add-remove"]} | {epsilon["public"]["replace"]} |
| the other parties | {epsilon["insiders"]["add-remove"]} | {epsilon["insiders"]["replace"]} |""",
        warning or _what_epsilon_means(certificate),
        "## What is not protected",
        _bullets(certificate["not_protected"]),
        "## What this rests on",
        _bullets(certificate["assumptions"]),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _what_epsilon_means(certificate: dict[str, Any]) -> str:
    return f"""A small epsilon is strong protection: whatever anyone concludes from this folder, they would have
concluded with nearly the same probability (within a factor of e^epsilon) had one person's data been different. Delta
({certificate.get("delta_is", "the sampler's part")}) is at most {certificate["delta_bound"]}."""


def _bullets(sentences: list[str]) -> str:
    return "\n".join(f"- {sentence}" for sentence in sentences)


def _listed(names: dict[str, Any]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
