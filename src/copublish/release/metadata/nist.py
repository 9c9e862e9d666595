"""What NIST SP 800-226 (March 2025) asks of a guarantee: its pyramid, level by level, answered for one release.

Each level rests on those below it. A claim has a value of this release, or says that no release can answer it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal

from copublish.kernel.accounting.statements import EpsilonStatement
from copublish.kernel.certificate.certificate import Certificate
from copublish.mechanisms.base import in_words
from copublish.release.render.privacy_words import RELATION_WORDS, epsilon_words

NIST_FILE = "nist-sp-800-226.json"

Level = Literal["top", "middle", "bottom"]


@dataclass(frozen=True)
class PyramidBlock:
    """One block of the pyramid.

    Attributes:
        level: Where it is: strength of the guarantee at the top, algorithms in the middle, deployment at the bottom.
        claim: What is asked for.
        value: What holds for this release.
        argued: Where that is argued: a field of the certificate, or a document.
    """

    level: Level
    claim: str
    value: str
    argued: str


def nist_claims(certificate: Certificate) -> list[PyramidBlock]:
    """The blocks of the pyramid, from the top.

    Privacy:
        Words and numbers of the certificate.
    """
    return [*_top(certificate), *_middle(certificate), *_bottom(certificate)]


def nist_statement(certificate: Certificate) -> dict[str, Any]:
    """The same as plain JSON values."""
    return {
        **({} if certificate.warning is None else {"warning": certificate.warning}),
        "publication": "NIST SP 800-226",
        "release": certificate.release,
        "claims": [asdict(claim) for claim in nist_claims(certificate)],
    }


def _top(certificate: Certificate) -> Iterator[PyramidBlock]:
    epsilon, relation = certificate.epsilon, certificate.epsilon.calibrated_to
    yield PyramidBlock(
        "top",
        "privacy parameters",
        f"epsilon {epsilon_words(epsilon.public[relation])} for the public, {_for_insiders(epsilon)}; delta at most "
        f"{certificate.delta_bound} ({certificate.delta_is})",
        "certificate.json: epsilon, delta_bound",
    )
    variant = certificate.deployment.dp_variant
    yield PyramidBlock(
        "top",
        "variant",
        f"{variant.variant_name}. {variant.variant_details}",
        "certificate.json: deployment.dp_variant",
    )
    bounded = "unbounded" if relation == "add-remove" else "bounded"
    yield PyramidBlock(
        "top",
        "unit of privacy",
        f"one person, with all their cells at every party; noise is calibrated to {RELATION_WORDS[relation]} "
        f"({bounded})"
        if certificate.warning is None
        else "none: nobody has a guarantee",
        "certificate.json: protected, deployment.privacy_loss",
    )


def _for_insiders(epsilon: EpsilonStatement) -> str:
    if epsilon.insiders_know_members:  # so that nothing but values can be protected from them
        values = epsilon_words(epsilon.insiders["replace"])
        return f"{values} for the other parties and {RELATION_WORDS['replace']}, as they know who is in the table"
    others = epsilon_words(epsilon.insiders[epsilon.calibrated_to])
    if epsilon.membership is not None:
        return f"{others} for another owner, with delta at most {epsilon.membership.delta_bound}"
    return f"{others} for the other parties"


def _middle(certificate: Certificate) -> Iterator[PyramidBlock]:
    made = certificate.deployment.implementation
    yield PyramidBlock(
        "middle",
        "algorithms and correctness",
        f"{made.mechanisms} {made.composition}" + ("" if certificate.audit is None else f" {certificate.audit.words}"),
        "certificate.json: disclosures"
        + ("" if certificate.audit is None else ", audit")
        + "; docs/privacy-promise.md",
    )
    yield PyramidBlock(
        "middle",
        "utility",
        f"The noise of each of the {len(certificate.disclosures):,} disclosures is stated, and so is how far published "
        "values are off.",
        "certificate.json: disclosures; README.md",
    )
    yield PyramidBlock(
        "middle",
        "bias",
        f"Noise weighs more on small groups than on large ones. {made.post_processing}",
        "certificate.json: deployment.implementation.post_processing; README.md",
    )


def _bottom(certificate: Certificate) -> Iterator[PyramidBlock]:
    yield PyramidBlock(
        "bottom",
        "trust model",
        f"{certificate.deployment.deployment_model.model_name}. Secrecy: {certificate.engine.secrecy}",
        "certificate.json: engine, assumptions, views",
    )
    yield PyramidBlock(
        "bottom",
        "access control",
        f"Outside a release: {in_words(certificate.parties)} guard their own data by their own rules. The release "
        "is for everybody who has the folder.",
        "not argued here",
    )
    yield PyramidBlock(
        "bottom",
        "side channels",
        "How long steps take is not hidden from the other parties. Messages of programs on secrets have lengths that "
        "depend on public sizes alone.",
        "docs/known-limits.md; docs/secure-engine.md",
    )
    yield PyramidBlock(
        "bottom",
        "data collection exposure",
        "Outside a release: what the owners collected, from whom and why, no release can tell.",
        "not argued here",
    )
