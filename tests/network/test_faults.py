"""The fault table in short: a few of the faults of `make faults`, drawn with a seed where there is a choice.

Every fault is followed by the same checks (`support/faults.py`): nobody hangs beyond the timeout, nobody has half a
release, no charge is lost or doubled, no process and no temporary file is left.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from support import faults
from support.faults import PHASES, Fault, Outcome, Stage
from support.hosts import HostsUnavailableError, refuse_if_unavailable
from support.many_parties import GUESTS, MASKED
from support.node import NAMES, on_loopback


@pytest.fixture
def root():
    try:
        refuse_if_unavailable()
    except HostsUnavailableError as exc:
        pytest.skip(str(exc))


def outcome_of(fault: Fault, folder: Path) -> Outcome:
    """What a fault led to; a run that ends by itself before it, on a machine too busy for its timeout, is made anew."""
    (outcome,) = faults.run_all([fault], folder, lambda _: None)
    return outcome


def test_a_party_killed_at_a_random_moment_leaves_no_half_release_and_no_wrong_charge(tmp_path):
    draw = random.Random(1)
    who, phase = draw.choice(NAMES), draw.choice(PHASES[3:])
    delay = draw.uniform(0, 0.1 if phase == "writing" else 1)
    outcome = outcome_of(lambda folder: faults.killed(folder, who, phase, delay), tmp_path)
    assert outcome.broken == [], outcome


def test_a_guest_killed_at_a_random_moment_ends_the_run_of_all_and_is_named_by_them(tmp_path):
    draw = random.Random(2)
    who, phase = draw.choice(GUESTS.names[2:]), draw.choice(GUESTS.phases[1:4])
    delay = draw.uniform(0, 1)
    outcome = outcome_of(lambda folder: faults.killed_of_many(folder, GUESTS, who, phase, delay), tmp_path)
    assert outcome.broken == [], outcome


def test_an_owner_or_the_aggregator_of_masked_sums_killed_at_a_random_moment_is_named_by_all(tmp_path):
    draw = random.Random(3)
    who, phase = draw.choice(MASKED.names), draw.choice(MASKED.phases[1:-1])
    delay = draw.uniform(0, 0.3)
    outcome = outcome_of(lambda folder: faults.killed_of_many(folder, MASKED, who, phase, delay), tmp_path)
    assert outcome.broken == [], outcome


@pytest.mark.parametrize("who", NAMES)
def test_a_party_killed_while_people_are_compared_costs_the_other_one_what_their_number_costs(tmp_path, who):
    """With hidden membership: exactly that and nothing else, unless the comparison was over by then."""
    outcome = outcome_of(lambda folder: faults.killed_while_compared(folder, who), tmp_path)
    assert outcome.broken == [], outcome
    (survivor,) = set(NAMES) - {who}
    assert outcome.charges[survivor][:1] == ["spent on the number of common people, 1 charged"]
    assert not any(outcome.releases.values())


def test_a_paused_machine_is_named_by_the_other_party_and_blames_nobody_when_it_goes_on(tmp_path):
    outcome = outcome_of(lambda folder: faults.frozen(folder, "loans", "alignment", 0.3, timeout_seconds=15), tmp_path)
    assert outcome.broken == [], outcome


def test_a_link_cut_for_five_seconds_delays_the_release_and_no_more(tmp_path, root):
    outcome = outcome_of(lambda folder: faults.cut(folder, "specialization", 5), tmp_path)
    assert outcome.broken == [], outcome


def test_a_link_cut_for_good_ends_the_run_at_both_sides(tmp_path, root):
    outcome = outcome_of(lambda folder: faults.cut(folder, "specialization", None, timeout_seconds=15), tmp_path)
    assert outcome.broken == [], outcome


def test_a_full_disk_at_one_party_keeps_both_from_publishing(tmp_path, root):
    outcome = faults.disk_full(tmp_path / "run", "loans")
    assert outcome.broken == [], outcome


def test_the_checks_can_fail(tmp_path):
    """A run that leaves half a release, a file and a charge that is too many is found out."""
    stage = Stage(on_loopback(tmp_path / "run"))
    stage.settling_seconds = 0.0  # it never will
    stage.start()
    for process in stage.processes.values():
        process.kill()
    home = stage.parties.home("bank")
    (home / "release").mkdir()
    (home / "tmp" / "identifiers.csv").write_text("C0000001\n")
    from copublish.kernel.accounting.cost import Cost
    from copublish.kernel.ledger.ledger import Ledger

    for _ in range(2):
        with Ledger(home / "ledger.db").reserve("customers-2026", "x", "y", Cost(add_remove=1, replace=2, delta=0)):
            pass
    outcome = stage.look(Outcome("made up", "never"))
    for words in ("half a release", "identifiers.csv", "charged twice"):
        assert any(words in broken for broken in outcome.broken), (words, outcome.broken)
