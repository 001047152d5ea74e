"""Streams in separate processes: memory does not grow with the rows, and killed writers leave no damage."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from caches import cached, noisy

from effort import amount
from rosenblatt.data.cache import Cache
from rosenblatt.data.cache_writer import CacheWriter, temporary_caches
from rosenblatt.data.csr import CSRMatrix
from rosenblatt.kernels.compile import COMPILED

FIT = """
import sys, re
from pathlib import Path
import rosenblatt as rb
from rosenblatt.data.cache import Cache
from rosenblatt.training.cached_fits import confusion_from_cache, fit_from_cache

def highest():
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text()).group(1)) >> 10

big, small = (Cache.open(path) for path in sys.argv[1:3])
models = [
    rb.Perceptron(keep="average", order="cyclic", max_iter=2),
    rb.Perceptron(update="batch", max_iter=1, order="cyclic"),
    rb.Perceptron(margin="auto", multiclass="ovr", order="cyclic", max_iter=1, class_weight="balanced"),
    *([] if big.shape[1] > 100 else [rb.LinearMSE()]),
]
for model in models:  # compiles what is needed
    confusion_from_cache(fit_from_cache(model, small).predict, small)
before = highest()
for model in models:
    confusion_from_cache(fit_from_cache(model, big).predict, big)
print(highest() - before)
"""


def write(path: Path, megabytes: int, sparse: bool) -> None:
    rng, n, nonzeros = np.random.default_rng(0), 8192, 50
    values = rng.normal(size=(n, nonzeros))
    indices = np.tile(np.arange(nonzeros, dtype=np.int32) * 100, n)
    rows = CSRMatrix(values.ravel(), indices, np.arange(0, n * nonzeros + 1, nonzeros), 100 * nonzeros) if sparse else values
    with CacheWriter(path, sparse=sparse) as writer:
        while writer.stored * (12 if sparse else 8) < megabytes << 20:
            writer.append(rows, (values[:, 0] + rng.normal(size=n) > 0) * 1 + (values[:, 1] > 1))
        writer.close([0, 1, 2])


@pytest.mark.slow
@pytest.mark.skipif(not (COMPILED and sys.platform == "linux"), reason="kernels that run as Python take too long")
@pytest.mark.parametrize("sparse", [pytest.param(False, marks=pytest.mark.thorough), True])
def test_a_fit_holds_a_small_part_of_its_cache(tmp_path: Path, sparse: bool) -> None:
    write(tmp_path / "big", amount(150, 300), sparse)
    write(tmp_path / "small", 1, sparse)
    run = [sys.executable, "-c", FIT, str(tmp_path / "big"), str(tmp_path / "small")]
    grown = int(subprocess.run(run, check=True, capture_output=True, text=True).stdout)
    assert grown < 70, f"{grown} MB more than for a small cache"


WRITE = """
import sys
import numpy as np
from rosenblatt.data.cache_writer import CacheWriter
for number in range(10**6):
    with CacheWriter(sys.argv[1], sparse=False, key=str(number)) as writer:
        for _ in range(3):
            writer.append(np.ones((1000, 20)), np.arange(1000) % 2)
        writer.close([0, 1])
    if number == 0:  # the kernels are loaded
        print("ready", flush=True)
"""


@pytest.mark.slow
def test_a_killed_writer_leaves_a_whole_cache_or_none(tmp_path: Path) -> None:
    rng, found = np.random.default_rng(0), 0
    for _ in range(amount(6, 200)):
        with subprocess.Popen([sys.executable, "-c", WRITE, str(tmp_path / "cache")], stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            writer.stdout.readline()
            time.sleep(float(rng.uniform(0.0, 0.2)))  # a kill at any moment of the work: no event marks it
            writer.send_signal(signal.SIGKILL)
        if (tmp_path / "cache").exists():
            cache = Cache.open(tmp_path / "cache")
            cache.check()
            assert cache.shape == (3000, 20)
            found += 1
    assert found > 0
    cached(tmp_path / "cache", *noisy())
    assert [path.name for path in tmp_path.iterdir()] == ["cache"], "what killed writers left is cleared away by the next"


STREAM = """
import signal, sys
import numpy as np
from rosenblatt.data.cache_writer import CacheWriter, temporary_caches
with temporary_caches(sys.argv[1], 2) as (first, second):
    with CacheWriter(first, sparse=False) as writer:
        writer.append(np.ones((2, 2)), [0, 1])
        writer.close([0, 1])
    with CacheWriter(second, sparse=False) as writer:
        writer.append(np.ones((2, 2)), [0, 1])
        print("ready", flush=True)
        signal.pause()
"""


@pytest.mark.slow
def test_temporary_caches_of_a_killed_process_are_cleared_away_and_those_of_a_living_one_are_not(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.write_text("1")
    with subprocess.Popen([sys.executable, "-c", STREAM, str(data)], stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        with temporary_caches(data):
            assert len(list(tmp_path.iterdir())) == 3
        assert len(list(tmp_path.iterdir())) == 2
        other.send_signal(signal.SIGKILL)
    with temporary_caches(data):
        assert len(list(tmp_path.iterdir())) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["data"]
