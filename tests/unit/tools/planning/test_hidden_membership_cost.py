"""Predictions with hidden membership: rows as the engine makes them, points as the protocol multiplies them."""

from __future__ import annotations

from io import StringIO
from itertools import combinations
from math import ceil, prod
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import copublish as cp
from copublish.cli import describe_command, plan_command
from copublish.engines.comparing.curve import POINT_BYTES
from copublish.engines.ideal import Room
from copublish.engines.spu.products import most_records, padded_records
from copublish.kernel.secrets.placement import HiddenJoin
from copublish.tools.planning import trials
from copublish.tools.planning.costs import MIB, Surroundings, all_coefficients, cost_of
from copublish.tools.planning.hidden_membership import (
    MULTIPLICATIONS_PER_SECOND,
    hiding_words,
    join_work,
    rows_of,
    with_shared_membership,
)
from copublish.tools.planning.links import predict_over_link
from copublish.tools.planning.marginals_cost import TIMES_OF_A_LINE, predict_from_agreement, work_of
from copublish.tools.planning.tables import made_up_table
from copublish.tools.planning.tuning import Work
from support import repartition, small_mapping


def agreement_of(
    *, common: int = 1000, at_most: int = 1500, helper: bool = False, owners: int = 2, **keys: Any
) -> cp.Agreement:
    """A release by marginals that hides membership."""
    content = repartition(small_mapping(), "vertical", owners)
    lengths = dict.fromkeys(content["parties"], at_most)
    content["mechanism"] = {"name": "marginals"}
    content["records"] = {"identifier": "id", "expected": common, "membership": "hidden", "at_most": lengths}
    content["privacy"] = {"epsilon": 1, "delta": "1e-6"}
    if helper:
        content["parties"]["helper"] = {"data": False}
        content["records"]["compared_by"] = "helper"
    else:
        content["privacy"]["membership_epsilon"] = "0.05"
    content["records"] |= keys
    return cp.agreement_from_mapping(content)


@pytest.mark.parametrize("helper", [False, True])
def test_rows_are_those_that_the_engine_makes(helper):
    agreement = agreement_of(helper=helper)
    join = HiddenJoin.of(agreement)
    assert join is not None
    lists = {"p0": range(1500), "p1": range(500, 2000), "helper": None}  # 1000 people are common

    def place(engine: Any) -> int:
        listed = lists[engine.party]
        return engine.place(None if listed is None else [str(person) for person in listed], join).n_rows

    (n_rows,) = set(Room(list(agreement.parties)).run(place).values())
    if helper:
        assert n_rows == rows_of(agreement, 1000) == join.most_rows == 3000
    else:
        assert abs(n_rows - rows_of(agreement, 1000)) <= join.size.pool  # two draws, each half a pool from its middle
        assert n_rows < join.most_rows
    assert rows_of(with_shared_membership(agreement), 1000) == 1000


def test_points_are_those_of_the_protocol_step_by_step():
    """The steps are played with sets of names, as the protocol has them; every exponent counts."""
    agreement = agreement_of(common=100, at_most=300)
    join = HiddenJoin.of(agreement)
    pool = join.size.pool
    half = pool // 2
    common = {f"person {number}" for number in range(100)}
    pools = [{f"pool {which} {number}" for number in range(pool)} for which in (1, 2)]
    lists = []
    for which in (0, 1):
        own = common | pools[which] | set(sorted(pools[1 - which])[:half])
        own |= {f"only {which} {number}" for number in range(join.length_of("p0") - len(own))}
        lists.append(own)
    multiplied = sent = 0
    for own, other in (lists, lists[::-1]):
        alone = len(other - own)
        multiplied += len(own)  # hidden by a factor, and sent
        sent += len(own)
        multiplied += 2 * len(other)  # what came: under a factor for comparing, and under one more for names
        sent += 2 * len(other)
        multiplied += len(own)  # the names of its own people
        multiplied += alone  # asked for names of entries that only the other one lists
        sent += alone
        multiplied += len(own - other)  # answers what the other one asks
        sent += len(own - other)
        multiplied += alone  # removes its factor from the answers
    work = join_work(agreement, 100)
    assert work.multiplied * 1e6 == pytest.approx(multiplied) and work.points * 1e6 == pytest.approx(sent)
    assert rows_of(agreement, 100) == len(lists[0] | lists[1])
    listed = len(lists[0]) + len(lists[1])
    assert 4 * listed <= multiplied <= 7 * listed


def test_the_prototype_took_what_is_predicted_of_its_lists():
    """30,000 and 30,000 entries with 90 % in common: 4.9 CPU seconds and 2.9 MiB sent by each of two owners."""
    listed, of_one = 60_000, 2 * 3_000
    work = Work(multiplied=(4 * listed + 3 * of_one) / 1e6, points=(3 * listed + 2 * of_one) / 1e6)
    nothing, found = cost_of(Work()), cost_of(work)
    assert found.cpu_seconds - nothing.cpu_seconds == pytest.approx(2 * 4.9, rel=0.1)
    assert found.mib_sent - nothing.mib_sent == pytest.approx(2 * 2.9, rel=0.03)
    assert found.cpu_seconds - nothing.cpu_seconds == pytest.approx(work.multiplied * 1e6 / MULTIPLICATIONS_PER_SECOND)
    assert found.mib_sent - nothing.mib_sent == pytest.approx(work.points * 1e6 * POINT_BYTES / MIB)
    assert cost_of(work, surroundings=Surroundings(round_trip_seconds=1)).waiting_seconds > 1
    assert cost_of(Work(), surroundings=Surroundings(round_trip_seconds=1)).waiting_seconds == 0


@pytest.mark.parametrize("owners", [2, 3])
def test_tables_of_one_owner_are_multiplied_with_the_presence_of_the_others(owners):
    """Cells of single columns and of pairs of one owner, each once, beside the product of all pairs across owners."""
    content = agreement_of(owners=owners, helper=owners > 2).model_dump(by_alias=True)
    agreement = cp.agreement_from_mapping({**content, "class": None, "mechanism": {"name": "marginals"}})
    sizes = {name: domain.size for name, domain in agreement.columns.items()}
    own = {party: [name for name in sizes if agreement.holders(name) == (party,)] for party in agreement.owners}
    lines = {party: sum(sizes[name] for name in names) for party, names in own.items()}
    rows = rows_of(agreement, 1000)
    # Counts of fewer than 8,192 records take 13 bits of 63, so between two owners four cells share a line.
    assert 4096 <= rows < 8192
    lanes = 4 if owners == 2 else 1
    alone = {
        party: sum(ceil(sizes[name] / lanes) for name in names)
        + sum(ceil(sizes[one] * sizes[other] / lanes) for one, other in combinations(names, 2))
        for party, names in own.items()
    }
    assert all(rows <= most_records(4 * cells) for cells in (*alone.values(), sum(lines.values()) ** 2))
    records, found = padded_records(rows), work_of(agreement)
    across = (
        prod(lines.values()) if owners == 2 else sum(lines.values()) ** 2
    )  # three mark all lines, and multiply them
    times = TIMES_OF_A_LINE if owners == 2 else 1
    assert found.product_cells * 1e6 == pytest.approx(records * (across + times * sum(alone.values())))
    marked = 0 if owners == 2 else sum(lines.values()) + sum(alone.values())
    assert found.first_marks * 1e6 == pytest.approx(records * marked)
    assert found.marks * 1e6 == pytest.approx(records * marked * (owners - 1))
    shared = work_of(with_shared_membership(agreement))
    assert shared.product_cells * 1e6 == pytest.approx(padded_records(1000) * across)


def test_the_same_agreement_with_shared_membership_is_the_one_without_the_keys():
    hidden = agreement_of()
    shared = with_shared_membership(hidden)
    assert not shared.hides_membership and with_shared_membership(shared) is shared
    content = hidden.model_dump(by_alias=True)
    assert {key: value for key, value in content.items() if key not in ("records", "privacy")} == {
        key: value for key, value in shared.model_dump(by_alias=True).items() if key not in ("records", "privacy")
    }
    assert shared.records.expected == hidden.records.expected and shared.privacy.epsilon == hidden.privacy.epsilon


def test_hiding_ten_thousand_patients_in_a_bank_of_ten_million_is_said_with_both_prices():
    """The table grows from the people in common to everybody whom anybody lists."""
    lengths = {"p0": 10_000_000, "p1": 10_000}
    content = agreement_of(common=9_000).model_dump(by_alias=True)
    content["records"]["at_most"] = lengths
    agreement = cp.agreement_from_mapping({**content, "mechanism": {"name": "marginals"}})
    cost = predict_from_agreement(agreement)
    assert cost is not None and cost.hiding is not None
    words = hiding_words(cost.to_json())
    pool = HiddenJoin.of(agreement).size.pool
    assert f"at most {10_010_000 + 4 * pool:,}, the sum of all lists) in the place of 9,000" in words
    assert 'With membership = "shared" the run takes about' in words
    assert cost.seconds > 20 * cost.hiding.shared_seconds and cost.mib_sent > 20 * cost.hiding.shared_mib_sent
    shared = predict_from_agreement(with_shared_membership(agreement))
    assert shared.hiding is None and hiding_words(shared.to_json()) is None
    assert (shared.seconds, shared.mib_sent) == (cost.hiding.shared_seconds, cost.hiding.shared_mib_sent)
    assert cost.largest_process_mib > shared.largest_process_mib


def test_what_is_said_over_a_link_has_both_too():
    link = {"round_trip_seconds": 0.04, "bytes_per_second": 12.5e6}
    hidden = predict_over_link(agreement_of(), **link)
    shared = predict_over_link(with_shared_membership(agreement_of()), **link)
    assert hidden.hiding is not None and hidden.hiding.shared_seconds == shared.seconds
    assert "Nobody learns whom the owners share" in hidden.why and "Nobody learns" not in shared.why
    assert hidden.waiting_seconds > shared.waiting_seconds and hidden.transfer_seconds > shared.transfer_seconds


def test_no_coefficient_was_fitted_for_hiding_yet():
    """Whoever fits them takes the constants away, or counts them twice."""
    for known in all_coefficients().values():
        assert known.cpu_seconds.multiplied == known.mib_sent.points == 0


def test_trials_are_made_where_no_row_is_padding(monkeypatch):
    """The releases have the same law, and a padded list of a hundred million people would not fit into memory."""
    simulated = []

    def remember(agreement: cp.Agreement, fragments: Any) -> None:
        simulated.append(agreement)

    monkeypatch.setattr(trials, "simulate_fragments", remember)
    hidden = agreement_of(at_most=100_000_000)
    table = made_up_table(hidden, 50, np.random.default_rng(0))
    ground = trials.TrialGround(hidden, table, table, np.random.default_rng(0))
    ground.releases(hidden, 2)
    assert [agreement.hides_membership for agreement in simulated] == [False, False]


@pytest.mark.parametrize("hidden", [True, False])
def test_plan_and_describe_print_it(hidden):
    agreement = agreement_of() if hidden else with_shared_membership(agreement_of())
    run = predict_from_agreement(agreement).to_json()
    words = hiding_words(predict_from_agreement(agreement_of()).to_json())
    console = Console(file=StringIO(), width=2000)
    agreed = {"mechanism": "marginals", "epsilon": "1"}
    plan_command._print_secure_run({"secure_run": run, "agreed": agreed, "trials": []}, console)
    assert (words in console.file.getvalue()) is hidden
    assert (words in describe_command.run_words(run)) is hidden
