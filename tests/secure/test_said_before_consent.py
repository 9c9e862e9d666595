"""Certificates of runs on the agreed engines, of each mechanism: everything in their words was said before."""

from __future__ import annotations

import pytest

import copublish as cp
from support.consent import unsaid
from support.recorded_releases import CASES, COINS, made_up_frames, released

RUN = (
    "specialization vertical max",
    "marginals horizontal masked-sum listed 3-owners",
    "copula horizontal masked-sum weights helper identifier",
    "hpdp laplace guest",
    "hpdp gaussian aby3",
    "vhdp vertical masked-sum weights",
    "idp-ir vertical masked-sum 3-owners",
)


def test_cases_have_every_mechanism_and_engine():
    agreements = [cp.agreement_from_mapping(CASES[case].agreement) for case in RUN]
    engines = {(agreement.engine.name, agreement.engine.agreed_protocol) for agreement in agreements}
    assert engines >= {("spu", "cheetah"), ("spu", "aby3"), ("masked-sum", "cheetah")}
    mechanisms = {agreement.mechanism.name for agreement in agreements}
    assert mechanisms == {"specialization", "marginals", "copula", "hpdp", "vhdp", "idp-ir"}


@pytest.mark.slow
@pytest.mark.parametrize("case", RUN)
def test_what_a_run_certifies_was_said_before(case):
    agreement = cp.agreement_from_mapping(CASES[case].agreement)
    certificate = released(CASES[case], made_up_frames(case), agreement.engine.name, COINS).certificate
    described = cp.describe(agreement)
    assert unsaid(certificate, str(described)) == []
    assert (certificate.views, certificate.assumptions) == (described.views, described.assumptions)
    assert certificate.engine.secrecy == described.secrecy
