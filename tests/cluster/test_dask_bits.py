"""Every algorithm has the same bits in this process, in threads and on Dask, whatever workers are killed on the way."""

from __future__ import annotations

from typing import Any

import pytest
from benchmarks.cluster_bits import ALGORITHMS, digest, fit
from dask_processes import DaskProcesses
from test_dask_faults import killing

from effort import amount
from rosenblatt.cluster.engine import InProcess

pytest.importorskip("distributed")
pytestmark = pytest.mark.once


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", ALGORITHMS)
def test_threads_change_no_bit(name: str) -> None:
    assert digest(fit(name, InProcess(3))) == digest(fit(name, InProcess()))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_cluster_changes_no_bit(client: Any) -> None:
    found = {name: digest(fit(name, client)) for name in ALGORITHMS}
    assert found == {name: digest(fit(name, InProcess())) for name in ALGORITHMS}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_killed_workers_change_no_bit_of_any_algorithm(processes: DaskProcesses, client: Any) -> None:
    expected = {name: digest(fit(name, InProcess())) for name in ALGORITHMS}
    with killing(processes, amount(4, 50), 1) as kills:
        for _ in range(amount(1, 20)):
            assert {name: digest(fit(name, client)) for name in ALGORITHMS} == expected
            if len(kills) == amount(4, 50):
                break
    assert kills
