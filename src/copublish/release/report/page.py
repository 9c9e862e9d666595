"""One HTML page about a release that needs nothing but itself: no script, no network, no file beside it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol, runtime_checkable

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup, escape
from pydantic import Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass as typed

from copublish.agreement.columns import formula_warning
from copublish.errors import EvaluationError, plain_text, unsafe_texts
from copublish.kernel.accounting.disclosures import Neighbors
from copublish.kernel.accounting.statements import UNPROTECTED, DisclosureStatement
from copublish.release.describe import DisclosureGroup, by_view, grouped
from copublish.release.folder import Release, making_sense_of
from copublish.release.metadata.nist import nist_claims
from copublish.release.render.parts import reading_if_told
from copublish.release.render.privacy_words import (
    RELATION_WORDS,
    epsilon_decimal,
    epsilon_rows,
    noise_words,
    owners_delta_words,
)
from copublish.release.report import glance as figures
from copublish.release.report.contents import contents
from copublish.release.report.glance import Card, adds_up_in_rho, belief_bound, budget_shares, cards
from copublish.release.verify import refuse_wrong_signatures


@runtime_checkable
class Scored(Protocol):
    """Scores of a release, which `evaluate` makes."""

    def to_dict(self) -> dict[str, Any]:
        """Them as plain JSON values."""
        ...


KINDS = (
    {"class": "select", "words": "choices"},
    {"class": "measure", "words": "counts"},
    {"class": "perturb", "words": "perturbed values"},
)

Share = Annotated[float, Field(ge=0, le=1)]
Difference = Annotated[float, Field(ge=-1, le=1)]


@typed(frozen=True, kw_only=True)
class ReportedClassifier:
    """What a report reads of the scores of one classifier."""

    classifier: str
    BA: Share | None
    CA: Share
    LA: Share
    BA_minus_CA: Difference | None  # as the file spells it
    CA_minus_LA: Difference
    standard_error_of_CA: Share  # noqa: N815


@typed(frozen=True, kw_only=True)
class ReportedMarginals:
    """What a report reads of the marginals of one size."""

    marginals: Annotated[int, Field(ge=0)]
    mean: Share
    largest: Share


@typed(frozen=True, kw_only=True)
class AllMarginalScores:
    """What a report reads of marginals."""

    compared_with: Literal["raw", "test"]
    published_values: dict[str, ReportedMarginals] = Field(default_factory=dict)
    agreed_values: dict[str, ReportedMarginals] = Field(default_factory=dict)


@typed(frozen=True, kw_only=True)
class ReportedScores:
    """What a report reads of scores; without a target nothing was predicted."""

    disclosure: str
    release_digest: str
    published: str
    target: str | None
    target_is_interval: bool
    trained_on: str
    test_records: Annotated[int, Field(ge=1)]
    classification: list[ReportedClassifier]
    marginals: AllMarginalScores


SCORES = TypeAdapter(ReportedScores)


@dataclass(frozen=True)
class Headline:
    """The epsilon that stands at the top, and what it is counted for."""

    value: str
    relation: str


@dataclass(frozen=True, repr=False)
class Report:
    """One page about a release that needs nothing but itself.

    Attributes:
        release: The release's name.
        html: The page.
        cards: Every column in a picture and in numbers, as on the page.
    """

    release: str
    html: str
    cards: tuple[Card, ...] = ()

    def write(self, path: str | Path) -> Path:
        """Write the page to a file."""
        Path(path).write_text(self.html, encoding="utf-8")
        return Path(path)

    def __repr__(self) -> str:
        return f"Report({self.release!r}, {len(self.html):,} characters of HTML)"

    def _repr_html_(self) -> str:
        # In a frame of its own, so that its style stays there.
        return f'<iframe srcdoc="{escape(self.html)}" sandbox width="100%" height="700"></iframe>'


def report(release: Release, evaluation: Scored | Mapping[str, Any] | None = None) -> Report:
    """A report on a release for privacy officers and analysts: shows itself in a notebook, `.write()` makes a file.

    Args:
        release: The release.
        evaluation: What `evaluate` said of it, if the report shall hold that. It then is no longer made of released
            values alone, and says so.

    Raises:
        EvaluationError: If the evaluation is of another release.
    """
    return Report(release.certificate.release, report_page(release, evaluation), tuple(cards_of(release)))


def report_page(release: Release, scores: Scored | Mapping[str, Any] | None = None) -> str:
    """The report as HTML; the same release gives the same page.

    Args:
        release: The release.
        scores: What `evaluate` returned for this release, if the report shall hold it. It then is no longer made of
            released values alone, and says so.

    Raises:
        EvaluationError: If the scores are none, or belong to another release.
        ReleaseError: If what the release says does not fit together, or a signature under it does not hold.

    Privacy:
        Without scores the page is post-processing of the release: it costs nothing and may be published with it.
    """
    refuse_wrong_signatures(release)
    given = scores.to_dict() if isinstance(scores, Scored) else scores
    if given is not None:
        _check_scores(given, release)
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=FunctionLoader(_resource),
    )
    # The style is files of this package; everything from the release is escaped by the template or by ElementTree.
    style = Markup(_resource("shared.css") + _resource("page.css"))  # noqa: S704
    template = environment.get_template("page.html.j2")
    with making_sense_of(release):
        return template.render({"style": style, **_utility(given), **_facts(release), **contents(release)})


def _check_scores(scores: Mapping[str, Any], release: Release) -> None:
    if scores.get("evaluation_format") != 1 or not scores.keys() >= {field.name for field in fields(ReportedScores)}:
        raise EvaluationError("This is no file of scores. 'copublish evaluate' writes one with --out.")
    try:
        SCORES.validate_json(json.dumps(scores), strict=True)
    except (TypeError, ValueError, RecursionError) as exc:
        if not isinstance(exc, ValidationError):
            raise EvaluationError("This is no file of scores. 'copublish evaluate' writes one with --out.") from None
        place = plain_text(".".join(map(str, exc.errors()[0]["loc"])))
        raise EvaluationError(
            f"These scores are not as 'copublish evaluate' writes them: look at '{place}'. Were they changed?"
        ) from None
    if bool(scores["classification"]) != (scores["target"] is not None):
        raise EvaluationError(
            "These scores are not as 'copublish evaluate' writes them: look at 'classification'. Were they changed?"
        )
    for problem in unsafe_texts(scores):
        raise EvaluationError(f"These scores are not as 'copublish evaluate' writes them. {problem}.")
    if scores["release_digest"] != release.digest():
        raise EvaluationError("These scores belong to another release. Evaluate this one with 'copublish evaluate'.")


def _utility(scores: Mapping[str, Any] | None) -> dict[str, Any]:
    """Part of a report about scores, if it was given some."""
    if scores is None:
        return {"scores": None}
    marginals = scores["marginals"]
    return {
        "scores": scores,
        "utility": figures.utility_figure(scores["classification"]) if scores["classification"] else None,
        # Values that were generalized are compared as published; records have the values that are agreed.
        "marginals": marginals.get("published_values", marginals.get("agreed_values", {})),
    }


def _facts(release: Release) -> dict[str, Any]:
    """What every report says."""
    certificate = release.certificate
    relation = certificate.epsilon.calibrated_to
    said = {
        "glance": cards_of(release),
        "certificate": certificate,
        "noise_words": noise_words,
        "parties": certificate.parties,
        "views": by_view(certificate.views),
        "release": release,
        "nist_claims": nist_claims(certificate),
        "signed": release.signatures,
        "formulas": formula_warning(release.published.columns.domains),
    }
    if certificate.warning is not None:  # there is no budget that could be divided
        return said
    disclosures, shares = certificate.disclosures, budget_shares(certificate)
    known_to = {disclosure.known_to for disclosure in disclosures}
    return {
        **said,
        "epsilon_rows": epsilon_rows(certificate.epsilon),
        "owners_delta": owners_delta_words(certificate.epsilon),
        "public_epsilon": _headline(certificate.epsilon.public, relation),
        "partners_epsilon": _partners_headline(certificate.epsilon.insiders, relation),
        "epsilon_decimal": epsilon_decimal,
        "belief": belief_bound(certificate.epsilon.exact("public", relation)),
        "relation": relation,
        "in_rho": adds_up_in_rho(certificate),
        "relation_words": RELATION_WORDS[relation],
        "known_to": known_to.pop() if len(known_to) == 1 else None,
        "kinds": [
            (kind, sum(share for d, share in zip(disclosures, shares, strict=True) if d.kind == kind["class"]))
            for kind in KINDS
            if any(d.kind == kind["class"] for d in disclosures)
        ],
        "disclosures": _rows_of_disclosures(disclosures, shares, relation),
        "budget": figures.budget_strip(disclosures, shares, relation),
    }


def cards_of(release: Release) -> list[Card]:
    """Every column in a picture; none where the release states no law of noise."""
    reading = reading_if_told(release)
    return [] if reading is None else cards(reading.summaries())


def _headline(epsilon: Mapping[Neighbors, str], relation: Neighbors) -> Headline:
    """An epsilon at the top, as a decimal."""
    return Headline(epsilon_decimal(epsilon[relation]), f"for {RELATION_WORDS[relation]}")


def _partners_headline(epsilon: Mapping[Neighbors, str], relation: Neighbors) -> Headline:
    """What partners face; where they know who is in the table, the epsilon of what they do not know."""
    if epsilon[relation] == UNPROTECTED and epsilon["replace"] != UNPROTECTED:
        return Headline(
            epsilon_decimal(epsilon["replace"]), f"for {RELATION_WORDS['replace']}; they know who is in the table"
        )
    return _headline(epsilon, relation)


def _rows_of_disclosures(
    disclosures: Sequence[DisclosureStatement], shares: Sequence[float], relation: Neighbors
) -> list[tuple[DisclosureGroup, float]]:
    """Disclosures that are alike in one row, with the share of the budget that they have together."""
    together = grouped(disclosures, relation, columns_together=True)
    share_of = dict(zip(map(id, disclosures), shares, strict=True))
    return [(group, sum(share_of[id(one)] for one in group.alike)) for group in together]


def _resource(name: str) -> str:
    return resources.files("copublish.release.report").joinpath(name).read_text(encoding="utf-8")
