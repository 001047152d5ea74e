"""Faults: killed workers, a dead scheduler or client, clusters that cannot run tasks, and the cluster after each of them."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cluster_data import digest, noisy_rows
from dask_processes import DaskProcesses, dask_processes

import rosenblatt as rb
from effort import amount, soon
from rosenblatt.cluster.blocks import BlockError
from rosenblatt.cluster.dask_engine import ClusterError, ProcessorWarning, check_workers, describe_installation

distributed = pytest.importorskip("distributed")
pytestmark = [pytest.mark.slow, pytest.mark.once]

WITHOUT_PACKAGE = """
import importlib.abc, sys
class Refuse(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "rosenblatt":
            raise ModuleNotFoundError(f"No module named {name!r}", name="rosenblatt")
sys.meta_path.insert(0, Refuse())
"""
OTHER_VERSION = "import rosenblatt; rosenblatt.__version__ = '0.0.9'"
FIT = """
import sys
from pathlib import Path
sys.path[:0] = sys.argv[3:]
from test_dask_faults import long_fit
from cluster_data import digest
Path("digest").write_text(digest(long_fit(sys.argv[1], checkpoint=sys.argv[2])))
"""


def long_fit(client: Any = None, **options: Any) -> rb.SoftMargin:
    """A fit that takes more than a second on a cluster: many blocks, and a small gap."""
    X, y = noisy_rows(4000, 20)
    model = rb.SoftMargin(loss="logistic", tol=1e-9, random_state=0)
    return rb.cluster.fit(model, (X, y), client, block_rows=50, **options)


@pytest.fixture(scope="module")
def expected() -> str:
    return digest(long_fit())


@contextmanager
def killing(processes: DaskProcesses, kills: int, seed: int) -> Iterator[list[int]]:
    """Kill workers at random moments, and start others in their place; yields a list that grows with the kills."""
    ended, rng, made = threading.Event(), np.random.default_rng(seed), list[int]()

    def kill() -> None:
        while len(made) < kills and not ended.wait(float(rng.uniform(0.0, 0.8))):
            processes.kill_worker(int(rng.integers(len(processes.workers))))
            processes.start_worker()
            made.append(1)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        yield made
    finally:
        ended.set()
        killer.join()


def tasks_left(client: Any) -> int:
    """The tasks that the scheduler knows, after it had time to forget those that were released."""
    for _ in range(100):
        left = int(client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks)))
        if not left:
            break
        time.sleep(0.05)
    return left


def test_killed_workers_change_nothing_but_the_time(processes: DaskProcesses, client: Any, expected: str) -> None:
    made = 0
    for seed in range(amount(1, 6)):
        with killing(processes, 3, seed) as kills:
            assert digest(long_fit(client)) == expected
        made += len(kills)
    assert made >= 1
    assert tasks_left(client) == 0


@pytest.mark.parametrize("moment", amount([0.7], [0.1, 0.3, 0.5, 0.7, 0.9]))
def test_a_fit_continues_after_its_scheduler_died(moment: float, expected: str, tmp_path: Path) -> None:
    checkpoint = tmp_path / "fit.checkpoint"
    with dask_processes(tmp_path, 1) as first, distributed.Client(first.address, timeout=2, set_as_default=False) as client:
        client.wait_for_workers(1, timeout=60)
        rb.cluster.fit(rb.SoftMargin(random_state=0), noisy_rows(20, 2), client)  # the worker has loaded the kernels
        killer = threading.Timer(moment, first.kill_scheduler)
        killer.start()
        with pytest.raises(ClusterError, match=r"the scheduler at tcp://127.0.0.1:\d+ was lost: start a new one"):
            long_fit(client, checkpoint=checkpoint)
        killer.join()
    assert checkpoint.exists()
    with dask_processes(tmp_path, 1, "second") as second:
        assert digest(long_fit(second.address, checkpoint=checkpoint)) == expected
    assert not checkpoint.exists()


@pytest.mark.parametrize("moment", amount([0.5], [0.1, 0.3, 0.5, 0.7, 0.9]))
def test_a_fit_continues_after_its_client_died(moment: float, client: Any, expected: str, tmp_path: Path) -> None:
    checkpoint, here = tmp_path / "fit.checkpoint", Path(__file__).parent
    command = [sys.executable, "-c", FIT, client.scheduler.address, str(checkpoint), str(here), str(here.parent)]
    first = subprocess.Popen(command, cwd=tmp_path)
    soon(checkpoint.exists)
    time.sleep(moment)
    first.send_signal(signal.SIGKILL)
    first.wait()
    assert checkpoint.exists()
    assert not (tmp_path / "digest").exists()
    assert digest(long_fit(client, checkpoint=checkpoint)) == expected
    assert tasks_left(client) == 0


def test_an_interrupt_leaves_the_cluster_clean(client: Any, expected: str) -> None:
    def interrupt(progress: rb.Progress) -> None:
        assert "rows/s" in str(progress)
        if progress.passes == 2:
            raise KeyboardInterrupt

    model = rb.SoftMargin(loss="logistic", tol=1e-9, random_state=0)
    with rb.progress_callback(interrupt), pytest.raises(KeyboardInterrupt):
        rb.cluster.fit(model, noisy_rows(4000, 20), client, block_rows=50)
    assert not hasattr(model, "classes_")
    assert tasks_left(client) == 0
    assert digest(long_fit(client)) == expected


# --- clusters that cannot run tasks --------------------------------------------------------------------------------------


def test_an_address_without_a_scheduler_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rosenblatt.cluster.dask_engine.CONNECT_TIMEOUT_S", 1)
    with pytest.raises(ClusterError, match=r"no scheduler answers at tcp://127.0.0.1:9: start one with `dask scheduler`"):
        long_fit("tcp://127.0.0.1:9")


def test_a_scheduler_without_workers_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rosenblatt.cluster.dask_engine.WORKERS_TIMEOUT_S", 0.5)
    with dask_processes(tmp_path, 0) as processes, pytest.raises(ClusterError, match=r"has no workers: start some with `dask"):
        long_fit(processes.address)


@pytest.mark.parametrize(
    ("preload", "sentence"),
    [
        (WITHOUT_PACKAGE, r"worker tcp://127.0.0.1:\d+ lacks rosenblatt .*: install rosenblatt\[dask\] where the workers run"),
        (OTHER_VERSION, r"worker tcp://127.0.0.1:\d+ has rosenblatt 0.0.9, but this process has .*: install the same version"),
    ],
)
def test_workers_with_other_installations_are_named(preload: str, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "preload.py").write_text(preload)
    with dask_processes(tmp_path, 0) as processes:
        processes.start_worker("--preload", str(tmp_path / "preload.py"))
        with pytest.raises(ClusterError, match=sentence):
            long_fit(processes.address)


def test_processors_of_several_kinds_are_reported() -> None:
    one = describe_installation()
    with pytest.warns(ProcessorWarning, match="processors of several kinds"):
        check_workers({"tcp://a": one, "tcp://b": {**one, "processor": "another"}})


def test_an_asynchronous_client_is_refused() -> None:
    with pytest.raises(TypeError, match=r"must be a dask.distributed.Client that is not asynchronous, got int"):
        long_fit(3)


@pytest.mark.thorough
def test_a_task_that_needs_too_much_memory_is_named(tmp_path: Path) -> None:
    from dask import delayed

    with dask_processes(tmp_path, 0) as processes:
        processes.start_worker("--memory-limit", "500MiB", nanny=True)
        with pytest.raises(ClusterError, match=r"workers died while they ran the task .*, probably for lack of memory"):
            rb.cluster.fit(rb.SoftMargin(random_state=0), [delayed(_large_block)()], processes.address)
        rb.cluster.fit(rb.SoftMargin(random_state=0), noisy_rows(20, 2), processes.address)


def _large_block() -> Any:
    X = np.ones((1_000_000, 200))
    time.sleep(2.0)
    return X, np.arange(len(X)) % 2


# --- blocks that cannot be used --------------------------------------------------------------------------------------------


def test_bad_blocks_are_named_and_the_cluster_goes_on(client: Any) -> None:
    from dask import delayed

    X, y = noisy_rows(60, 3)
    bad = X[20:40].copy()
    bad[7, 2] = np.nan
    good = [(X[:20], y[:20]), (X[20:40], y[20:40]), (X[40:], y[40:])]
    expected = digest(rb.cluster.fit(rb.SoftMargin(random_state=0), good))
    model = rb.SoftMargin(random_state=0)
    for block, sentence in (
        ((bad, y[20:40]), r"block 2, row 8, column 2 \(from 0\): the value is NaN"),
        ((X[20:40, :2], y[20:40]), "block 1 has 3 columns, but block 2 has 2: all blocks must have the same columns"),
        ((X[20:40], y[20:39]), "block 2: y must have one label for each row"),
        ((X[20:40], np.array(["a", "b"] * 10)), "the labels of block 1 and block 2 mix numbers and text"),
        ("text", "block 2 must be a pair"),
    ):
        blocks = [delayed(good[0]), delayed(block), delayed(good[2])]
        with pytest.raises(BlockError, match=sentence):
            rb.cluster.fit(model, blocks, client)
        assert not hasattr(model, "classes_")
    with pytest.raises(ValueError, match="y has only one class, 1"):
        rb.cluster.fit(model, [delayed((X, np.ones(60, int)))], client)
    assert digest(rb.cluster.fit(model, [delayed(block) for block in good], client)) == expected
    assert tasks_left(client) == 0
