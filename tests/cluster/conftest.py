"""A cluster that the tests of a file share: a scheduler and two workers, each a process of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dask_processes import DaskProcesses, dask_processes


@pytest.fixture(scope="module")
def processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskProcesses]:
    """A scheduler and two workers."""
    folder: Path = tmp_path_factory.mktemp("dask")
    with dask_processes(folder, 2) as running:
        yield running


@pytest.fixture(scope="module")
def client(processes: DaskProcesses) -> Iterator[Any]:
    """A client of the two workers. It is not the default client, which other tests would use, too."""
    from distributed import Client

    with Client(processes.address, set_as_default=False) as connected:
        connected.wait_for_workers(2, timeout=60)
        yield connected
