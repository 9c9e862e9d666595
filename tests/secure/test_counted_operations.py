"""Operations that a plan counts from the agreement are those that the engine is asked for."""

from __future__ import annotations

import math

import pytest

import copublish as cp
from copublish.engines.spu.requests import Call, ComputeSteps, OwnedMatrix
from copublish.kernel.programs.gaussian_noise import gaussian_candidates
from copublish.kernel.programs.noise import WORD_BITS, handicaps, noisy_argmax
from copublish.mechanisms.marginals.plan import MarginalsPlan
from copublish.mechanisms.marginals.run_tables import candidate_scores
from copublish.party.local.processes import simulate_in_processes
from copublish.progress import no_progress
from copublish.tools.planning.marginals_cost import planned_rounds, work_of
from marginals_shapes import Shape, agreement_of, made_up
from one_party import FixedCoins
from secure_runs import read_records, recorders

SHAPE = Shape(3_000, columns=5, cells=3, rounds=1)
"""All pairs have as many cells, so it does not matter which one is chosen."""

REQUIRED = [["x0", "x1"], ["x0", "x1", "x2"]]
"""A pair of two owners, and three columns of both. Each column follows the one before, so the fourth is left to choose.
"""


def agreed():
    """The agreement of the run: with required tables, and pairs across owners first."""
    content = agreement_of(SHAPE).model_dump(mode="json", exclude_none=True, by_alias=True)
    content["mechanism"]["tables"] = {"must": REQUIRED, "then": "auto"}
    return cp.agreement_from_mapping(content)


@pytest.fixture(scope="module")
def steps(tmp_path_factory):
    """The steps of everything that one node was asked to compute."""
    agreement, folder = agreed(), str(tmp_path_factory.mktemp("records"))
    simulate_in_processes(
        agreement,
        made_up(agreement, SHAPE),
        progress=no_progress,
        coins={party: FixedCoins(number) for number, party in enumerate(agreement.parties)},
        recorders=recorders(folder, agreement.compute_nodes),
    )
    record = next(iter(read_records(folder, agreement.compute_nodes).values()))
    return [request.steps for request in record.requests if isinstance(request, ComputeSteps)]


def calls_of(steps, program):
    """The calls of a program, each with the steps that it is given."""
    return [
        [of_request[number] for number in step.arguments]
        for of_request in steps
        for step in of_request
        if isinstance(step, Call) and step.program is program
    ]


def test_as_many_rounds_are_made_as_are_counted(steps):
    work = work_of(agreed())
    plan = MarginalsPlan.of(agreed())
    assert plan.candidates_across and len(plan.fixed) == SHAPE.columns - 1 + len(REQUIRED)
    assert len(planned_rounds(plan)) == 1
    assert len(calls_of(steps, candidate_scores)) == len(calls_of(steps, noisy_argmax)) == work.rounds == 1


def test_products_have_the_counted_size(steps):
    matrices = [step.shape for of_request in steps for step in of_request if isinstance(step, OwnedMatrix)]
    products = list(zip(matrices[::2], matrices[1::2], strict=True))
    work = work_of(agreed())
    assert len(products) == work.calls >= 1
    sent = sum(records * min(rows, columns) for (rows, records), (_, columns) in products)
    cells = sum(records * rows * columns for (rows, records), (_, columns) in products)
    assert sent == pytest.approx(1e6 * work.product_columns) and cells == pytest.approx(1e6 * work.product_cells)


def test_noise_is_drawn_from_as_many_bits_as_are_counted(steps):
    work = work_of(agreed())
    gaussian = [[words.words.shape for words in given] for given in calls_of(steps, gaussian_candidates)]
    candidates = sum(WORD_BITS * shapes[0][2] for shapes in gaussian)
    of_choices = [words.words.shape for given in calls_of(steps, handicaps) for words in given]
    bits = sum(WORD_BITS * shapes[0][2] * (shapes[0][1] + shapes[1][1]) for shapes in gaussian)
    bits += sum(WORD_BITS * math.prod(shape[1:]) for shape in of_choices)
    assert candidates == 1e3 * work.drawn_noise > 0
    assert bits == pytest.approx(1e3 * work.biased_bits)
