"""HPDP-DP between processes over real sockets: the numbers of one process, and the bytes of the paper's formulas."""

from __future__ import annotations

import multiprocessing
import socket

import numpy as np
import pytest

from benchmark_files import write_benchmark_files
from copublish.errors import AgreementError, CopublishError
from copublish_reproduction.costs import socket_tables
from copublish_reproduction.hpdp import Hpdp, principal_components, split_at_random
from copublish_reproduction.hpdp_network import (
    COMPONENTS,
    LENGTH,
    MATRICES,
    MOST_BYTES,
    RECORDS,
    _received,
    pack_ciphertexts,
    pack_model,
    receive_message,
    run_between_processes,
    send_message,
    unpack_ciphertexts,
    unpack_model,
)
from copublish_reproduction.hpdp_paillier import STEPS

KEY_BITS = 512


@pytest.fixture(scope="module")
def owners():
    generator = np.random.default_rng(3)
    values = generator.random((90, 5))
    values[:, -1] = values[:, -1] > 0.6
    return split_at_random(values, 3, generator)


@pytest.mark.slow
def test_bytes_are_those_of_the_formulas_and_the_model_that_of_one_process(owners):
    mechanism = Hpdp(0.7, 0.9)
    run = run_between_processes(mechanism, owners, key_bits=KEY_BITS, seed=5)
    m, p, n = 3, 5, 90
    assert run.item_bytes == 2 * KEY_BITS // 8
    assert run.payload_bytes[MATRICES] == m * p * p * run.item_bytes
    assert run.payload_bytes[RECORDS] == n * p * 8
    # The same noise in the clear: the seeds are the owners' numbers.
    matrices = [mechanism.noisy_matrix(v, m, np.random.default_rng([5 + i, 0])) for i, v in enumerate(owners)]
    model = principal_components(np.sum(matrices, axis=0) / n, mechanism.contribution)
    k = model.directions.shape[1]
    assert run.n_components == k
    assert run.payload_bytes[COMPONENTS] == m * (2 + k + p * k) * 8
    assert run.values.shape == (n, p)
    assert run.values[:, -1].sum() == sum(values[:, -1].sum() for values in owners)
    assert m * p * p / STEPS < 1e-3  # what encryption rounds away cannot change k


def test_packing_is_undone(owners):
    numbers = np.array([[1, 2**100], [0, 77]], dtype=object)
    content = pack_ciphertexts(numbers, 16)
    assert (unpack_ciphertexts(content, (2, 2), 16) == numbers).all()
    with pytest.raises(CopublishError, match="another length"):
        unpack_ciphertexts(content, (2, 3), 16)
    model = principal_components(np.diag([4.0, 2.0, 0.5, 0.1]), 0.9)
    same = unpack_model(pack_model(model))
    assert same.directions == pytest.approx(model.directions)
    assert same.eigenvalues == pytest.approx(model.eigenvalues[: same.directions.shape[1]])
    assert same.variance == model.variance
    assert same.loadings == pytest.approx(model.loadings)


def test_messages_arrive_whole_and_long_ones_are_refused():
    one, other = socket.socketpair()
    with one, other:
        send_message(one, b"abc")
        assert receive_message(other) == b"abc"
        one.sendall(LENGTH.pack(MOST_BYTES + 1))
        with pytest.raises(CopublishError, match="at most"):
            receive_message(other)
        one.sendall(LENGTH.pack(5) + b"xy")
        one.close()
        with pytest.raises(CopublishError, match="is gone"):
            receive_message(other)


class StoppedProcess:
    """Stands for a process that ended with an error."""

    exitcode = 1


def test_a_process_that_stops_ends_the_wait(owners):
    pipe, other_end = multiprocessing.Pipe()
    other_end.send("port")
    assert _received(pipe, [StoppedProcess()]) == "port"  # what was sent before counts
    with pytest.raises(CopublishError, match="stopped"):
        _received(pipe, [StoppedProcess()])
    other_end.close()
    with pytest.raises(CopublishError, match="stopped"):
        _received(pipe, [])


def test_owners_that_cannot_run_together_are_refused_before_anything_starts(owners):
    with pytest.raises(AgreementError, match="at least 2 owners"):
        run_between_processes(Hpdp(1.0, 0.9), owners[:1])


@pytest.mark.slow
def test_the_table_has_the_papers_formula_beside_every_stage(tmp_path):
    folder = write_benchmark_files(tmp_path, 60)
    (table,) = socket_tables(folder, lambda *step: None, owners=(2,), key_bits=256)
    assert [row[1] for row in table.rows] == ["Mp^2", "MpK^2", "np", ""]
    assert table.rows[0][2] == table.rows[0][3]  # as printed
    assert table.rows[2][2] == table.rows[2][3]
