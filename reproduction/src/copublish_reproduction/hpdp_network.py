"""HPDP-DP's owners and its curator as processes that talk over real sockets on this machine.

For measuring what the paper counts: encrypted matrices to the curator, components back, synthetic records to the
curator. Keys and factors come from the dealer, the process that starts the others, as the paper has it; they are not
counted. Not differentially private, and loopback only.
"""

from __future__ import annotations

import multiprocessing
import socket
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from copublish.errors import CopublishError
from copublish_reproduction.hpdp import Hpdp, Model, label_by_share, principal_components, refuse_unusable
from copublish_reproduction.hpdp_paillier import Ciphertexts, Curator, Owner, deal
from copublish_reproduction.plain_table import Floats

LOOPBACK = "127.0.0.1"
TIMEOUT_SECONDS = 600.0
LENGTH = struct.Struct("!Q")
MOST_BYTES = 2**31
"""Of one message; a length beyond it is refused before anything is read."""

MATRICES, COMPONENTS, RECORDS = "encrypted matrices", "components", "synthetic records"
STAGES = (MATRICES, COMPONENTS, RECORDS)
"""What the paper counts, in its order."""


@dataclass(frozen=True)
class NetworkRun:
    """What came of a run between processes.

    Attributes:
        values: Synthetic records of all owners, one below the other, as the curator received them.
        payload_bytes: By stage, bytes of all messages without their lengths.
        n_components: K, how many components the curator sent back.
        item_bytes: Length of a ciphertext.
    """

    values: Floats
    payload_bytes: dict[str, int]
    n_components: int
    item_bytes: int


def send_message(link: socket.socket, content: bytes) -> None:
    """Send a message after its length."""
    link.sendall(LENGTH.pack(len(content)) + content)


def receive_message(link: socket.socket) -> bytes:
    """Receive one whole message.

    Raises:
        CopublishError: If the other end is gone, or the message is longer than allowed.
    """
    length = int(LENGTH.unpack(_receive(link, LENGTH.size))[0])
    if length > MOST_BYTES:
        raise CopublishError(f"A message of {length} bytes was announced; at most {MOST_BYTES} are taken.")
    return _receive(link, length)


def _receive(link: socket.socket, length: int) -> bytes:
    parts: list[bytes] = []
    while length:
        part = link.recv(min(length, 1 << 20))
        if not part:
            raise CopublishError("The other end of a connection is gone.")
        parts.append(part)
        length -= len(part)
    return b"".join(parts)


def pack_ciphertexts(matrix: Ciphertexts, item_bytes: int) -> bytes:
    """Numbers of a fixed length one after the other."""
    return b"".join(int(number).to_bytes(item_bytes, "big") for number in matrix.flat)


def unpack_ciphertexts(content: bytes, shape: tuple[int, int], item_bytes: int) -> Ciphertexts:
    """The matrix that was packed.

    Raises:
        CopublishError: If the length does not fit the shape.
    """
    if len(content) != shape[0] * shape[1] * item_bytes:
        raise CopublishError(f"A matrix of {shape[0]} x {shape[1]} numbers has another length than was sent.")
    places = range(0, len(content), item_bytes)
    numbers = [int.from_bytes(content[place : place + item_bytes], "big") for place in places]
    return np.array(numbers, dtype=object).reshape(shape)


def pack_model(model: Model) -> bytes:
    """The top K eigenvalues with their vectors, and sigma^2."""
    k = model.directions.shape[1]
    parts = (np.array([k, model.variance]), model.eigenvalues[:k], model.directions.ravel())
    content: bytes = np.concatenate(parts).astype("<f8").tobytes()
    return content


def unpack_model(content: bytes) -> Model:
    """The model that an owner generates records with; eigenvalues beyond the first K stay at the curator."""
    numbers = np.frombuffer(content, dtype="<f8")
    k, variance, rest = int(numbers[0]), float(numbers[1]), numbers[2:]
    return Model(rest[:k], rest[k:].reshape(-1, k), variance, is_floored=False)


def run_owner(
    address: tuple[str, int], owner: Owner, mechanism: Hpdp, values: Floats, n_owners: int, seed: int
) -> None:
    """One owner's process: send the matrix, receive the components, send the synthetic records."""
    generator = np.random.default_rng([seed, 1])
    with socket.create_connection(address, timeout=TIMEOUT_SECONDS) as link:
        matrix = owner.encrypt(mechanism.noisy_matrix(values, n_owners, np.random.default_rng([seed, 0])))
        send_message(link, pack_ciphertexts(matrix, item_bytes_of(owner.public_key)))
        model = unpack_model(receive_message(link))
        records = model.generate(values, generator)
        records[:, -1] = label_by_share(records[:, -1], float(values[:, -1].mean()))
        send_message(link, records.astype("<f8").tobytes())


def run_curator(pipe: Connection, curator: Curator, mechanism: Hpdp, sizes: Sequence[int], n_columns: int) -> None:
    """The curator's process: add and decrypt the matrices, send the components, receive the records.

    Args:
        pipe: To the dealer: first the port, then the outcome.
        curator: What the dealer gave it.
        mechanism: For the share of the eigenvalues to keep.
        sizes: How many records each owner has, in any order.
        n_columns: p.
    """
    item_bytes = item_bytes_of(curator.private_key.public_key)
    with socket.create_server((LOOPBACK, 0), backlog=len(sizes)) as server:
        server.settimeout(TIMEOUT_SECONDS)
        pipe.send(server.getsockname()[1])
        links = [server.accept()[0] for _ in sizes]
    for link in links:
        link.settimeout(TIMEOUT_SECONDS)
    sent = dict.fromkeys(STAGES, 0)
    matrices = []
    for link in links:
        content = receive_message(link)
        sent[MATRICES] += len(content)
        matrices.append(unpack_ciphertexts(content, (n_columns, n_columns), item_bytes))
    covariance = curator.add(matrices) / sum(sizes)
    model = principal_components(covariance, mechanism.contribution, mechanism.n_components)
    for link in links:
        content = pack_model(model)
        sent[COMPONENTS] += len(content)
        send_message(link, content)
    parts = []
    for link in links:
        with link:
            content = receive_message(link)
        sent[RECORDS] += len(content)
        parts.append(np.frombuffer(content, dtype="<f8").reshape(-1, n_columns))
    pipe.send((np.concatenate(parts), sent, model.directions.shape[1]))


def item_bytes_of(public_key: Any) -> int:
    """Length of a ciphertext."""
    return int((public_key.nsquare.bit_length() + 7) // 8)


def run_between_processes(
    mechanism: Hpdp, owners: Sequence[Floats], *, key_bits: int = 2048, seed: int = 0
) -> NetworkRun:
    """Run the curator and every owner in a process of its own and return what the curator ends with.

    Args:
        mechanism: The algorithm.
        owners: Each owner's records with values in [0, 1], shape (n_m, p).
        key_bits: Length of n; tests take short ones.
        seed: Of the owners' noise.

    Raises:
        AgreementError: If the owners cannot run the algorithm together.
        CopublishError: If a process stopped.
    """
    refuse_unusable(owners, mechanism.n_components)
    dealt, curator = deal(len(owners), key_bits)
    context = multiprocessing.get_context("spawn")
    pipe, other_end = context.Pipe()
    sizes, n_columns = [len(values) for values in owners], owners[0].shape[1]
    started = [context.Process(target=run_curator, args=(other_end, curator, mechanism, sizes, n_columns))]
    started[0].start()
    other_end.close()
    try:
        port = _received(pipe, started)
        for number, (owner, values) in enumerate(zip(dealt, owners, strict=True)):
            own = ((LOOPBACK, port), owner, mechanism, values, len(owners), seed + number)
            started.append(context.Process(target=run_owner, args=own))
            started[-1].start()
        values, sent, n_components = _received(pipe, started)
    finally:
        for process in started:
            process.join(timeout=5.0)
            if process.is_alive():
                process.kill()
                process.join()
    return NetworkRun(values, sent, n_components, item_bytes_of(curator.private_key.public_key))


def _received(pipe: Connection, started: Sequence[Any]) -> Any:
    """The next object from the curator.

    Raises:
        CopublishError: If one of the processes stopped before.
    """
    try:
        while not pipe.poll(0.2):
            if any(process.exitcode for process in started):
                break
        else:
            return pipe.recv()
    except EOFError:
        pass
    raise CopublishError("A process of the curator or of an owner stopped.")
