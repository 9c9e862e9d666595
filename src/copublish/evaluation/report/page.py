"""One HTML page about a release that needs nothing but itself: no script, no network, no file beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from copublish.errors import EvaluationError
from copublish.evaluation.report import contents, figures, snippets
from copublish.evaluation.report.perturbed import perturbed_facts
from copublish.evaluation.report.synthetic import moment_facts, synthetic_facts
from copublish.evaluation.words import epsilon_words, noise_words
from copublish.release.folder import GeneralizedRelease, RecordsRelease, Release, as_generalized

RELATION_WORDS = {
    "add-remove": "one person being added or removed",
    "replace": "one person's values being replaced",
}
KINDS = (
    {"class": "select", "words": "which values are split"},
    {"class": "measure", "words": "counts"},
    {"class": "perturb", "words": "perturbed values"},
)
TEMPLATES = {
    "copula": ("synthetic.html.j2", synthetic_facts),
    "hpdp": ("moments.html.j2", moment_facts),
    "vhdp": ("perturbed.html.j2", perturbed_facts),
}
"""By mechanism: the page on a release of records, and what it says."""
MEMBERS_SHOWN = 8
SCORE_KEYS = {
    *("disclosure", "release_digest", "published", "target", "target_is_interval", "trained_on", "test_records"),
    *("classification", "marginals"),
}


@dataclass(frozen=True)
class Headline:
    """The epsilon that stands at the top, and what it is counted for."""

    value: str
    relation: str


def report_page(release: Release, scores: Mapping[str, Any] | None = None) -> str:
    """Return the report as HTML; the same release gives the same page.

    Args:
        release: The release.
        scores: What `evaluate` returned for this release, if the report shall hold it. It then is no longer made of
            released values alone, and says so.

    Raises:
        EvaluationError: If the scores belong to another release.

    Privacy:
        Without scores the page is post-processing of the release: it costs nothing and may be published with it.
    """
    if scores is not None:
        _check_scores(scores, release)
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=FunctionLoader(_resource),
    )
    # The style is a file of this package; everything from the release is escaped by the template or by ElementTree.
    style = Markup(_resource("page.css"))  # noqa: S704
    if isinstance(release, RecordsRelease) and release.warning:
        own = _unprotected_facts(release)
        return environment.get_template("unprotected.html.j2").render(style=style, **_utility(scores), **own)
    common = {"style": style, **_utility(scores), **_facts(release)}
    if isinstance(release, RecordsRelease) and release.mechanism in TEMPLATES:
        template, facts_of = TEMPLATES[release.mechanism]
        return environment.get_template(template).render(**common, **facts_of(release))
    generalized = as_generalized(release, "there is no report on it")
    return environment.get_template("generalized.html.j2").render(**common, **_generalized_facts(generalized))


def _check_scores(scores: Mapping[str, Any], release: Release) -> None:
    if scores.get("evaluation_format") != 1 or not scores.keys() >= SCORE_KEYS:
        raise EvaluationError("This is no file of scores. 'copublish evaluate' writes one with --out.")
    if scores["release_digest"] != release.digest():
        raise EvaluationError("These scores belong to another release. Evaluate this one with 'copublish evaluate'.")


def _utility(scores: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return what a report says about scores, if it was given some."""
    if scores is None:
        return {"scores": None}
    marginals = scores["marginals"]
    return {
        "scores": scores,
        "utility": figures.utility_figure(scores["classification"]),
        # Values that were generalized are compared as published; records have the values that are agreed.
        "marginals": marginals.get("published_values", marginals.get("agreed_values", {})),
    }


def _facts(release: Release) -> dict[str, Any]:
    """Return what every report says."""
    certificate = release.certificate
    relation = certificate["epsilon"]["calibrated_to"]
    disclosures, shares = certificate["disclosures"], contents.budget_shares(certificate)
    known_to = {disclosure["known_to"] for disclosure in disclosures}
    return {
        "certificate": certificate,
        "noise_words": noise_words,
        "epsilon_words": epsilon_words,
        "parties": list(certificate["views"]),
        "public_epsilon": Headline(certificate["epsilon"]["public"][relation], f"for {RELATION_WORDS[relation]}"),
        "belief": contents.belief_bound(certificate["epsilon"]["public"][relation]),
        "relation": relation,
        "relation_words": RELATION_WORDS[relation],
        "views": _by_view(certificate["views"]),
        "known_to": known_to.pop() if len(known_to) == 1 else None,
        "kinds": [
            (kind, sum(share for d, share in zip(disclosures, shares, strict=True) if d["kind"] == kind["class"]))
            for kind in KINDS
            if any(d["kind"] == kind["class"] for d in disclosures)
        ],
        "disclosures": list(zip(disclosures, shares, strict=True)),
        "budget": figures.budget_strip(disclosures, shares, relation),
    }


def _unprotected_facts(release: RecordsRelease) -> dict[str, Any]:
    """Return what a report says on a release that is not differentially private."""
    certificate = release.certificate
    return {
        "certificate": certificate,
        "details": release.details,
        "parties": list(certificate["views"]),
        "views": _by_view(certificate["views"]),
        "n_records": release.records.num_rows,
        "columns": release.records.column_names,
    }


def _generalized_facts(release: GeneralizedRelease) -> dict[str, Any]:
    cut, n_classes, trees = release.cut, len(release.cut["class"]["values"]), contents.partition_trees(release)
    sizes = {name: len(described["values"]) for name, described in cut["attributes"].items()}
    return {
        "total": contents.total_people(release),
        "noise": contents.CountNoise.of(release.certificate),
        "n_cells": release.counts.num_rows,
        "n_leaves": release.counts.num_rows // n_classes,
        "n_classes": n_classes,
        "n_like_empty": contents.cells_like_empty(release),
        "n_members_shown": MEMBERS_SHOWN,
        "class_name": cut["class"]["name"],
        "shown_class": contents.shown_class(release),
        "split": contents.split_attributes(release),
        "unsplit": [name for name, size in sizes.items() if size == 1],
        "sizes": [size for size in sizes.values() if size > 1],
        "values": contents.estimates(release),
        "trees": figures.partition_figure(trees) if trees else None,
        "cells": contents.largest_cells(release),
        "python": snippets.python_snippet(release),
        "r": snippets.r_snippet(release),
    }


def _by_view(views: Mapping[str, list[str]]) -> list[tuple[list[str], list[str]]]:
    """Return parties that saw the same together with what they saw."""
    found: dict[tuple[str, ...], list[str]] = {}
    for party, seen in views.items():
        found.setdefault(tuple(seen), []).append(party)
    return [(parties, list(seen)) for seen, parties in found.items()]


def _resource(name: str) -> str:
    return resources.files("copublish.evaluation.report").joinpath(name).read_text(encoding="utf-8")
