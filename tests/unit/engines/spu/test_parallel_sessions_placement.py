"""Which workers an agreement has something to do for, and how many sessions that makes."""

from __future__ import annotations

import pytest

import copublish as cp
from copublish.engines.spu.parallel_sessions import Workers, refuse_unfit_workers, sessions_of
from copublish.errors import EngineError
from support import repartition, small_mapping


def agreement_with(shards: int | None, partition: str = "vertical", parties: int = 2) -> cp.Agreement:
    engine = {} if shards is None else {"shards": shards}
    changes = {"engine": engine} if engine else {}
    return cp.agreement_from_mapping(repartition(small_mapping(**changes), partition, parties))


def test_the_hash_covers_shards():
    assert agreement_with(4).hash != agreement_with(5).hash != agreement_with(None).hash


@pytest.mark.parametrize(("partition", "parties"), [("horizontal", 2), ("vertical", 3), ("arbitrary", 3)])
def test_shards_are_for_columns_that_two_parties_join(partition, parties):
    with pytest.raises(cp.AgreementError, match=r"engine\.shards: shards are for columns that two parties join"):
        agreement_with(4, partition, parties)


def test_masked_sums_have_no_shards():
    with pytest.raises(cp.AgreementError, match=r"engine\.shards: it means nothing to the engine 'masked-sum'"):
        cp.agreement_from_mapping(
            repartition(
                small_mapping(engine={"name": "masked-sum", "shards": 2}, mechanism={"name": "copula"}), "horizontal"
            )
        )


@pytest.mark.parametrize("shards", [0, 65, 2.5, True])
def test_a_number_of_shards_that_makes_no_sense_is_refused(shards):
    with pytest.raises(cp.AgreementError, match=r"engine\.shards"):
        agreement_with(shards)


@pytest.mark.parametrize(
    ("workers", "shards", "said"),
    [
        (Workers(2), 1, r"shards = 2"),
        (Workers(0), 4, "from 1 to 64, got 0"),
        (Workers(65), 4, "from 1 to 64, got 65"),
        (Workers(2, "there"), 4, "got 'there'"),
        (Workers(1, "ray"), 4, "two or more"),
        (Workers(2, "ray=127.0.0.1:1"), 4, r"'127\.0\.0\.1:1' cannot be reached"),
        (Workers(2, "ray=nowhere"), 4, "'nowhere' cannot be reached"),
    ],
)
def test_workers_that_would_have_nothing_to_do_are_refused(workers, shards, said):
    with pytest.raises(EngineError, match=said):
        refuse_unfit_workers(agreement_with(shards), workers)


def test_the_party_with_the_fewest_workers_decides_and_no_session_is_without_a_shard():
    agreement = agreement_with(4)
    assert [sessions_of(agreement, *numbers) for numbers in ((1, 8), (3, 2), (9, 8), (4, 4))] == [1, 2, 4, 4]
    assert sessions_of(agreement_with(None), 1, 1) == 1


def test_workers_are_for_the_secure_engine_alone():
    with pytest.raises(EngineError, match="another one"):
        cp.simulate(agreement_with(4), {"p0": "unread.csv", "p1": "unread.csv"}, workers=2)
