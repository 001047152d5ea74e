"""Plain `rosenblatt train` beside scikit-learn's defaults, on every file of `uci/` and `libsvm/` and on made tables.

All learners have the same training and test rows: a file's own test file, or else 30 % of the rows, drawn anew for each seed.
The peers get the columns as `train` reads them, one-hot encoded and with missing cells filled, and their own `StandardScaler`
(without a shift if the rows are sparse). Their seconds are those of the fit; those of `train` include reading the file, the
search and the test. Left out: nothing but the fits in `TOO_LONG`.
"""

from __future__ import annotations

import statistics
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from scipy.stats import rankdata
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from rosenblatt.data.readers import Options
from rosenblatt.data.readers.read import read
from rosenblatt.training.preparation import hold_out, prepare
from rosenblatt.training.request import Request
from rosenblatt.training.train import train

from . import workloads
from .made_tables import made_tables

HOLDOUT = 0.3


@dataclass(frozen=True)
class TableFile:
    """A file, its own test file, the options to read both, and whether one split is enough because it is large."""

    path: str
    test: str | None = None
    options: dict[str, Any] = field(default_factory=dict)
    large: bool = False


TABLES = (
    TableFile("uci/banknote_authentication.csv"),
    TableFile("uci/breast-cancer-wisconsin.data", options={"label": "10", "ignore": ("0",)}),
    TableFile("uci/ionosphere.data"),
    TableFile("uci/iris.data"),
    TableFile("uci/sonar.all-data"),
    TableFile("uci/spambase.data"),
    TableFile("uci/wdbc.data", options={"label": "1", "ignore": ("0",)}),
    TableFile("libsvm/a1a"),
    TableFile("libsvm/australian"),
    TableFile("libsvm/breast-cancer_scale"),
    TableFile("libsvm/dna.scale", "libsvm/dna.scale.t"),
    TableFile("libsvm/fourclass"),
    TableFile("libsvm/german.numer"),
    TableFile("libsvm/heart"),
    TableFile("libsvm/heart_scale"),
    TableFile("libsvm/mushrooms"),
    TableFile("libsvm/svmguide1", "libsvm/svmguide1.t"),
    TableFile("uci/adult.data", "uci/adult.test", large=True),
    TableFile("libsvm/a9a", "libsvm/a9a.t", large=True),
    TableFile("libsvm/ijcnn1.trn.bz2", large=True),
    TableFile("libsvm/letter.scale", large=True),
    TableFile("libsvm/news20.bz2", large=True),
    TableFile("libsvm/reuters.trn.bz2", "libsvm/reuters.tst.bz2", large=True),
    TableFile("libsvm/w8a", large=True),
)
OURS, SEARCHED = "rosenblatt train", "LogisticRegressionCV(), standardized"
PEERS: dict[str, Callable[[int], Any]] = {
    SEARCHED: lambda seed: LogisticRegressionCV(l1_ratios=(0,), use_legacy_attributes=False, max_iter=1000),
    "LogisticRegression(), standardized": lambda seed: LogisticRegression(max_iter=1000),
    "LogisticRegression()": lambda seed: LogisticRegression(),
    "LinearSVC(), standardized": lambda seed: LinearSVC(random_state=seed),
    "SGDClassifier(), standardized": lambda seed: SGDClassifier(random_state=seed),
}
# Fits that would take an hour or more: 51 multinomial regressions of 62,061 columns and 20 classes.
TOO_LONG = {("libsvm/news20.bz2", SEARCHED)}
Measured = dict[str, list[tuple[float, float]]]  # by learner: error and seconds of each split


def measure(seeds: int, quick: bool) -> Iterator[dict[str, Any]]:
    train(Request("example:iris", algorithm="auto"))  # compiles
    groups: dict[str, dict[str, Measured]] = {"small tables": {}, "large tables": {}, "made tables": {}}
    with tempfile.TemporaryDirectory() as folder:
        sources = [(each.path, each, each.large) for each in TABLES if not (quick and each.large)]
        sources += [(name, TableFile(str(path)), False) for name, path in made_tables(Path(folder))]
        for name, table, large in sources:
            if not (workloads.DATA / table.path).exists():
                yield {"table": name, "skipped": f"no data in {workloads.DATA.name}/"}
                continue
            found = _splits(name, table, 1 if large else seeds)
            group = "large tables" if large else "made tables" if name.startswith("made") else "small tables"
            groups[group][name] = found
            for learner, splits in found.items():
                errors, seconds = zip(*splits, strict=True)
                yield _row(name, learner, statistics.mean(errors), statistics.median(seconds))
    for group, tables in groups.items():
        yield from _means(group, tables)
    if groups["large tables"]:
        yield from _means("all files", groups["small tables"] | groups["large tables"])


def _means(group: str, tables: dict[str, Measured]) -> Iterator[dict[str, Any]]:
    """Mean error, mean rank, and seconds on the slowest table, of the learners that were fitted to every table of a group."""
    learners = [each for each in (OURS, *PEERS) if tables and all(each in found for found in tables.values())]
    if not learners:
        return
    errors = np.array([[statistics.mean(e for e, _ in found[each]) for found in tables.values()] for each in learners])
    for learner, mean, rank in zip(learners, errors.mean(axis=1), rankdata(errors.round(6), axis=0).mean(axis=1), strict=True):
        seconds = max(statistics.median(s for _, s in found[learner]) for found in tables.values())
        yield _row(f"{group} ({len(tables)})", learner, float(mean), seconds) | {"rank": float(rank)}


def _row(table: str, learner: str, error: float, seconds: float) -> dict[str, Any]:
    return {"table": table, "learner": learner, "error": error, "seconds": seconds}


def _splits(name: str, table: TableFile, seeds: int) -> Measured:
    found: Measured = {}
    for seed in range(seeds):
        for learner, result in _one_split(name, table, seed):
            found.setdefault(learner, []).append(result)
    return found


def _one_split(name: str, table: TableFile, seed: int) -> Iterator[tuple[str, tuple[float, float]]]:
    """Test error and seconds of all learners on one split."""
    path, options = str(workloads.DATA / table.path), Options(missing="auto", **table.options)
    test = None if table.test is None else str(workloads.DATA / table.test)
    tested: dict[str, Any] = {"holdout": HOLDOUT} if test is None else {"test": test}
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outcome = train(Request(path, options=options, algorithm="auto", certify=False, seed=seed, **tested))
    assert outcome.test is not None
    yield OURS, (outcome.test.error, time.perf_counter() - started)
    request = Request(path, options=options, seed=seed, scale="none", **tested)
    rows = prepare(request, hold_out(request, read(path, options)))
    X, X_test = map(_with_small_indices, (rows.X, rows.X_test))
    for learner, make in PEERS.items():
        if (name, learner) in TOO_LONG:
            continue
        scaler = [StandardScaler(with_mean=not issparse(X))] if learner.endswith("standardized") else []
        started = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = make_pipeline(*scaler, make(seed)).fit(X, rows.codes)
        took = time.perf_counter() - started
        yield learner, (float(np.mean(model.predict(X_test) != rows.codes_test)), took)


def _with_small_indices(X: Any) -> Any:
    """LIBLINEAR takes no 64-bit indices."""
    if not issparse(X):
        return X
    return csr_array((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)
