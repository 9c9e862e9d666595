"""A signed release of two parties on loopback that do not learn whom they share, and what `verify` and `show` say."""

from __future__ import annotations

import json

import pytest

from copublish.kernel.ledger.cells import SPENT_ON_SIZE
from copublish.kernel.ledger.ledger import Ledger
from copublish.party.own_ledger import receipt_problems, release_problems
from support.commands import run
from support.node import NAMES, on_loopback

pytestmark = pytest.mark.slow  # a release between processes

CHANGES = (
    ("public = false", 'membership = "hidden"\nat_most = { bank = 700, loans = 800 }\npublic = false'),
    ("\nepsilon = 1.0", "\nmembership_epsilon = 0.25\nepsilon = 1.0"),
    ('name = "specialization"', 'name = "marginals"\ntables = [["job", "purpose"]]'),
    ("specializations = 3", "# specializations = 3"),
    ('score = "max"', '# score = "max"'),
)


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    parties = on_loopback(tmp_path_factory.mktemp("released"), records=600, changes=CHANGES)
    return parties, parties.run_both()


def test_both_end_with_the_same_release_and_have_paid_for_the_number_of_common_people(released):
    parties, ends = released
    for name in NAMES:
        code, output, errors = ends[name]
        assert code == 0, errors
        assert json.loads(output)["budget_left"] == "0.75"  # of 2, after 1 and 0.25
        assert parties.charges(name) == [SPENT_ON_SIZE, "complete"]
    assert parties.files("bank") == parties.files("loans") and parties.has_whole_release("bank")


def test_verify_finds_the_signatures_of_both_and_show_says_what_is_hidden(released):
    parties, _ = released
    known = [f"--fingerprint={name}={parties.identities[name].fingerprint}" for name in NAMES]
    for name in NAMES:
        folder = parties.home(name) / "release"
        run("verify", folder, *known)
        run("verify", folder, known[0], f"--fingerprint=loans={parties.identities['bank'].fingerprint}", code=7)
        shown = " ".join(run("show", folder).stdout.split())
        assert "Signed by bank, loans" in shown
        # 1 for the release and 0.25 for the number of common people; other values cost what they always do.
        assert "│ another owner │ 1.25 │ 2 │" in shown
        assert "; for another owner at most 1.1e-10" in shown  # 1e-10 and the sampler's part, rounded up


def test_ledgers_hold_what_was_signed_and_nothing_about_the_others_list(released):
    parties, _ = released
    for name in NAMES:
        ledger, folder = Ledger(parties.home(name) / "ledger.db"), parties.home(name) / "release"
        assert ledger.edits() == receipt_problems(ledger) == release_problems(ledger, folder) == []
        heads_only, of_release = ledger.receipts()  # before people are compared, and with the release
        assert heads_only.signatures is not None and not heads_only.is_of_release and of_release.is_of_release
        (comparison,) = ledger.alignments()
        assert comparison.of_peers == {}
        ledger.close()
