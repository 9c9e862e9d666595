"""Workers on Ray: a cluster of two nodes on this machine, the same bytes, and an actor that is killed in the middle."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import psutil
import pytest

import copublish as cp
from copublish.engines.spu.parallel_sessions import Workers
from copublish.errors import PartyLostError
from copublish.party.local.processes import simulate_in_processes
from copublish.progress import no_progress
from support import fragment_frames, random_table, repartition, seeded, simulate_with, small_mapping
from support.waiting import alive, wait_until

SECONDS = 300


@pytest.fixture(scope="module")
def cluster():
    """Address of two nodes with room for one worker each, and nothing else running."""
    cluster_utils = pytest.importorskip("ray.cluster_utils")
    with pytest.MonkeyPatch.context() as changes:
        changes.setenv("RAY_USAGE_STATS_ENABLED", "0")
        changes.setenv("RAY_enable_worker_prestart", "0")
        node = {"num_cpus": 1, "object_store_memory": 100 * 2**20, "include_dashboard": False}
        both = cluster_utils.Cluster(initialize_head=True, head_node_args=node)
        both.add_node(num_cpus=1, object_store_memory=100 * 2**20)
        try:
            yield both.address
        finally:
            both.shutdown()


@pytest.fixture(scope="module")
def agreement():
    changes = {"mechanism.specializations": 2, "engine": {"shards": 2}}
    return cp.agreement_from_mapping(repartition(small_mapping(**changes), "vertical"))


def release(agreement, address, progress=no_progress):
    generator = np.random.default_rng(5)
    frames = fragment_frames(agreement, random_table(agreement, 300, generator), generator)
    coins = {"secure": seeded(agreement.party_names, 7), "ideal": seeded(agreement.party_names, 7)}
    workers = Workers(2, f"ray={address}")
    secure = simulate_in_processes(
        agreement, frames, progress=progress, coins=coins["secure"], timeout_seconds=SECONDS, workers=workers
    )
    return secure, simulate_with(agreement, frames, coins["ideal"])


def actors() -> list[psutil.Process]:
    """Processes of this test's own cluster that hold an actor."""
    found = []
    for process in psutil.Process().children(recursive=True):
        try:
            if process.cmdline() and process.cmdline()[0].startswith("ray::ShardActor"):
                found.append(process)
        except psutil.NoSuchProcess:
            continue
    return found


def test_workers_on_ray_give_the_same_release(cluster, agreement):
    seen = set()
    secure, ideal = release(agreement, cluster, lambda *_: seen.update(process.pid for process in actors()))
    for name in ideal.data_files():
        assert secure.files()[name] == ideal.files()[name], name
    assert len(seen) == 2  # one of each party


def test_an_actor_killed_in_the_middle_ends_the_run_like_any_lost_worker(cluster, agreement):
    choosing, counting = threading.Event(), threading.Event()

    def progress(phase: str, done: int, of: int) -> None:
        if phase == "specialization":  # all workers have met before anything is reserved
            choosing.set()
        if phase == "leaf counts":
            counting.set()

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(release, agreement, cluster, progress)
        assert choosing.wait(SECONDS)
        victims = actors()
        assert len(victims) == 2
        victims[0].suspend()  # it never gets beyond its first shard
        workers = [child for actor in victims for child in actor.children()]
        assert counting.wait(SECONDS)
        victims[0].kill()
        with pytest.raises(PartyLostError, match="Nothing is published"):
            running.result(SECONDS)
    wait_until(lambda: not alive({*victims, *workers}), SECONDS)
