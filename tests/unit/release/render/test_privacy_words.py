"""What epsilon means, in odds: against the table of the page on epsilon, and numbers of another library."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp

import copublish as cp
from copublish.kernel.accounting.formatting import show_exact
from copublish.kernel.accounting.statements import UNBOUNDED, UNPROTECTED, EpsilonStatement, MembershipStatement
from copublish.release.render.privacy_words import (
    another_owner_words,
    epsilon_rows,
    membership_words,
    odds_words,
    owners_delta_words,
)
from copublish.release.report.page import report_page
from support import repartition, small_mapping
from support.not_common import frames_with_others, hidden_agreement

PAGE = Path(__file__).parents[4] / "docs/how-much-epsilon.md"


def statement(
    agreed: str, *, neighbors: str = "add-remove", members: bool = False, values: str = "2"
) -> EpsilonStatement:
    both = {"add-remove": agreed, "replace": values}
    return EpsilonStatement(
        calibrated_to=neighbors,
        agreed=agreed,
        public=both,
        insiders={**both, "add-remove": UNPROTECTED} if members else both,
        insiders_know_members=members,
    )


def numbers(words: str) -> tuple[float, str]:
    factor, percent = re.search(r"factor of at most ([\d,.]+) \(from 50:50 to ([\d.]+) % at most\)", words).groups()
    return float(factor.replace(",", "")), percent


def test_odds_are_those_of_the_page_on_epsilon():
    rows = re.findall(r"^\| ([\d.]+) \| ([\d.]+) % \|", PAGE.read_text(), re.M)
    assert len(rows) == 11
    for epsilon, percent in rows:
        (words,) = odds_words(statement(epsilon), "0")
        factor, found = numbers(words)
        assert found == percent
        assert factor - (0.01 if factor < 100 else 1) < math.exp(float(epsilon)) <= factor


@given(st.fractions(min_value=Fraction(1, 10**6), max_value=10))
def test_odds_are_never_rounded_down(epsilon: Fraction) -> None:
    (words,) = odds_words(statement(show_exact(epsilon)), "0")
    factor, percent = numbers(words)
    with mp.workdps(60):
        exact = mp.exp(mp.mpf(epsilon.numerator) / epsilon.denominator)
        assert mp.mpf(str(factor)) >= exact
        assert mp.mpf(percent) >= 100 * exact / (1 + exact)


def test_one_sentence_says_it_with_delta():
    assert odds_words(statement("1"), "1.0e-06") == [
        "Epsilon 1 means: whatever somebody knows before, the release changes the odds that a certain person is in the "
        "data by a factor of at most 2.72 (from 50:50 to 74 % at most), but for outcomes whose probability exceeds "
        "that by at most 1.0e-06 (delta)."
    ]


def test_parties_that_know_who_is_in_the_table_have_odds_on_values():
    _, of_parties = odds_words(statement("1", members=True), "0")
    assert of_parties == (
        "The other parties know who is in the table. For them the odds that a certain person has some values rather "
        "than others change by a factor of at most 7.39 (epsilon 2)."
    )
    (replaced,) = odds_words(statement("1", neighbors="replace", members=True), "0")
    assert "odds that a certain person has some values rather than others by a factor of at most 2.72" in replaced


def hidden(helper: str | None = None) -> EpsilonStatement:
    """Epsilon 1 for the public, and 1.05 for another owner unless a helper puts people into rows."""
    size = ("0.05", "1.0e-10", "1.1e-10") if helper is None else ("0", "0", "1.0e-06")
    return EpsilonStatement(
        calibrated_to="add-remove",
        agreed="1",
        public={"add-remove": "1", "replace": "2"},
        insiders={"add-remove": "1.05" if helper is None else "1", "replace": "2"},
        insiders_know_members=False,
        membership=MembershipStatement(
            helper=helper,
            at_most={"clinic": 40_000, "registry": 30_000},
            size_epsilon=size[0],
            size_delta_bound=size[1],
            another_person="2",
            delta_bound=size[2],
        ),
    )


def test_where_membership_is_hidden_another_owner_has_odds_on_who_is_in_the_data():
    _, of_owner = odds_words(hidden(), "0")
    assert of_owner == (
        "For another owner the odds that a certain person is in the data change by a factor of at most 2.86 (one "
        "person added or removed: epsilon 1.05, delta 1.1e-10)."
    )
    assert another_owner_words(hidden()) == of_owner
    assert math.exp(1.05) == pytest.approx(2.8577, abs=1e-4)
    assert "a factor of at most 2.72 (one person added or removed: epsilon 1," in odds_words(hidden("helper"), "0")[1]
    assert another_owner_words(statement("1", members=True)) == ""


def test_the_row_for_insiders_is_about_another_owner_where_membership_is_hidden():
    assert epsilon_rows(hidden()) == [("the public", "1", "2"), ("another owner", "1.05", "2")]
    assert epsilon_rows(statement("1", members=True))[1][0] == "the other parties"


def test_the_price_of_the_number_of_common_people_is_said_beside_that_of_the_release():
    assert membership_words(hidden().membership) == (
        "epsilon 0.05, delta 1.0e-10 besides, for the noisy number of common people, which another owner learns"
    )
    assert membership_words(hidden("trust-office").membership) == (
        "hidden by 'trust-office': another owner learns nothing besides the release"
    )


def test_a_bound_on_delta_is_followed_by_that_for_another_owner_who_learns_more_than_the_public():
    assert owners_delta_words(hidden()) == "; for another owner at most 1.1e-10"
    assert owners_delta_words(hidden("helper")) == owners_delta_words(statement("1")) == ""


def test_readme_notebook_and_report_state_delta_for_another_owner():
    agreement = hidden_agreement()
    release = cp.simulate(agreement, frames_with_others(agreement, {"bank": 3}))
    said = "; for another owner at most " + release.certificate.epsilon.membership.delta_bound
    for text in (release.files()["README.md"].decode(), release._repr_html_(), report_page(release)):
        assert said in text


def test_nothing_is_said_where_epsilon_promises_nothing():
    assert odds_words(statement(UNBOUNDED), "1") == []


@pytest.mark.parametrize("partition", ["horizontal", "vertical"])
def test_first_lines_have_the_odds_of_the_agreed_epsilon(partition):
    agreement = cp.agreement_from_mapping(repartition(small_mapping(**{"privacy.epsilon": 1}), partition))
    described = cp.describe(agreement)
    odds = [line for line in described.before_consent.learned if "factor of at most" in line]
    assert odds == odds_words(described.epsilon, described.delta_bound)
    assert len(odds) == (1 if partition == "horizontal" or agreement.privacy.neighbors == "replace" else 2)
