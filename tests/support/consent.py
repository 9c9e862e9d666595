"""What a certificate says, held against what was said before it: descriptions, questions and pages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import copublish as cp
from copublish.engines.secrecy import ASSUMPTIONS_OF_SUMS, secrecy_of_sums
from copublish.engines.spu.node import SpuNode
from copublish.kernel.certificate.build import Circumstances, build_certificate
from copublish.kernel.certificate.promise import computes_jointly
from copublish.mechanisms.registry import plan_of

KNOWN_IN_THE_RUN = {
    "software": "versions are known when the parties meet",
    "publication_date": "the day is that of the run",
    "key_exchange": "the parties' connections agree on it when they meet",
    "public_facts": "the number of records is a fact about the data, which the agreement makes public",
    "class_disagreement": "it is measured, with noise; the measurement is one of the disclosures",
    "audit": "it is in the certificate if all parties bring the same one",
    "files": "digests of the released files",
    "disclosures": "what was opened; a description states it, or a bound on it where it depends on the run",
}
"""Parts of a certificate that no description can have, with the reason."""

IN_OTHER_WORDS = {"deployment": "the same facts in the words of a register of deployments"}


def sentences_of(certificate: cp.Certificate) -> list[str]:
    """Everything that a certificate says in words, but for what is only known in the run."""
    said = {
        key: value
        for key, value in certificate.to_json().items()
        if key not in KNOWN_IN_THE_RUN and key not in IN_OTHER_WORDS
    }
    return [text for text in _texts(said) if len(text.split()) > 2]


def _texts(said: Any) -> Iterator[str]:
    if isinstance(said, str):
        yield said
    elif isinstance(said, Mapping):
        for key, value in said.items():
            if key not in KNOWN_IN_THE_RUN:
                yield from _texts(value)
    elif isinstance(said, list | tuple):
        for value in said:
            yield from _texts(value)


def unsaid(certificate: cp.Certificate, text: str) -> list[str]:
    """The sentences of a certificate that a text has no item with."""
    items = " ".join(text.split())
    facts = {certificate.delta_is, *(() if certificate.warning is None else (certificate.warning,))}
    return [
        sentence
        for sentence in sentences_of(certificate)
        if (sentence if sentence in facts else f"- {' '.join(sentence.split())}") not in items
    ]


def certificate_of_a_run(agreement: cp.Agreement) -> cp.Certificate:
    """The certificate that a run on the agreed engine would have; the engine's own words are those of its class."""
    plan = plan_of(agreement)
    if agreement.engine.name == "spu":
        node: Any = SimpleNamespace(
            protocol=agreement.engine.agreed_protocol.upper(), nodes=agreement.compute_nodes, guests=agreement.guests
        )
        secrecy, assumptions = SpuNode.secrecy.fget(node), SpuNode.assumptions.fget(node)  # type: ignore[attr-defined]
    else:
        opens_sums = computes_jointly(agreement)
        secrecy = secrecy_of_sums(agreement.owners, agreement.aggregator, opens_sums=opens_sums)
        assumptions = ASSUMPTIONS_OF_SUMS
    circumstances = Circumstances(
        mechanism=agreement.mechanism.name,
        method=plan.method(),
        engine=agreement.engine.name,
        secrecy=secrecy,
        engine_assumptions=assumptions,
        software={},
        publication_date="2026-11-19",
        public_total=None,
    )
    return build_certificate(agreement, list(plan.disclosures()), circumstances)
