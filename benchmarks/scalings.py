"""Test errors of `rosenblatt train` with each scaling, on every file of `uci/` and `libsvm/` and on two made tables.

The splits are those of `plain_training`: a file's own test file, or else 30 % of the rows, drawn anew for each seed. The first
two tables are those that a default must not fail: one column, a salary or a Unix time, tells the classes apart.
"""

from __future__ import annotations

import statistics
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import numpy as np
from scipy.stats import rankdata

from rosenblatt.data.readers import Options
from rosenblatt.preprocessing.scaling import Scale
from rosenblatt.training.request import Request
from rosenblatt.training.train import train

from . import workloads
from .plain_training import HOLDOUT, TABLES, TableFile

ALGORITHMS = {"default": "auto", "soft-margin": "soft-margin", "averaged perceptron": "average"}
SCALINGS: tuple[Scale, ...] = tuple(scale for scale in get_args(Scale) if scale != "auto")
Errors = dict[str, dict[str, float]]  # by table and scaling


def measure(seeds: int, quick: bool) -> Iterator[dict[str, Any]]:
    train(Request("example:iris", algorithm="auto"))  # compiles
    with tempfile.TemporaryDirectory() as folder:
        tables = [*_large_numbers(Path(folder)), *((each.path, each) for each in TABLES if not (quick and each.large))]
        for name, algorithm in ALGORITHMS.items():
            found: Errors = {}
            for path, table in tables:
                if not (workloads.DATA / table.path).exists():
                    yield {"table": path, "skipped": f"no data in {workloads.DATA.name}/"}
                    continue
                found[path] = {scale: _error(table, algorithm, scale, 1 if table.large else seeds) for scale in SCALINGS}
                for scale, error in found[path].items():
                    yield {"table": path, "learner": f"{name}, {scale}", "error": error}
            yield from _means(name, {path: errors for path, errors in found.items() if "/" in path})


def _error(table: TableFile, algorithm: str, scale: Scale, seeds: int) -> float:
    """The mean test error over the splits."""
    tested: dict[str, Any] = {"holdout": HOLDOUT} if table.test is None else {"test": str(workloads.DATA / table.test)}
    options, errors = Options(missing="auto", **table.options), []
    for seed in range(seeds):
        request = Request(
            str(workloads.DATA / table.path), options=options, algorithm=algorithm, scale=scale, certify=False, seed=seed,
            **tested,
        )  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            outcome = train(request)
        assert outcome.test is not None
        errors.append(outcome.test.error)
    return statistics.mean(errors)


def _means(name: str, found: Errors) -> Iterator[dict[str, Any]]:
    """Mean error and mean rank of each scaling over the files."""
    errors = np.array([[each[scale] for scale in SCALINGS] for each in found.values()])
    if not len(errors):
        return
    ranks = rankdata(errors.round(6), axis=1).mean(axis=0)
    for scale, error, rank in zip(SCALINGS, errors.mean(axis=0).tolist(), ranks.tolist(), strict=True):
        yield {"table": f"all files ({len(errors)})", "learner": f"{name}, {scale}", "error": error, "rank": rank}


def _large_numbers(folder: Path) -> Iterator[tuple[str, TableFile]]:
    """Tables of 400 rows whose label is a threshold on one column of large numbers, beside one of noise."""
    rng = np.random.default_rng(0)
    for name, low, high in (("salary", 20_000, 200_000), ("Unix time", 1_500_000_000, 1_700_000_000)):
        numbers = rng.integers(low, high, 400)
        rows = (
            f"{x:.3f},{n},{'ab'[int(n > low + 0.4 * (high - low))]}" for x, n in zip(rng.normal(size=400), numbers, strict=True)
        )
        path = folder / f"{name}.csv"
        path.write_text("\n".join(["noise,number,label", *rows]) + "\n")
        yield name, TableFile(str(path))
