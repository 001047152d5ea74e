"""Plain `rosenblatt train` beside scikit-learn's defaults on tables: test error, mean rank and seconds on the same splits."""

from __future__ import annotations

import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from scipy.stats import rankdata
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV, SGDClassifier
from sklearn.svm import LinearSVC

from rosenblatt.data.readers import Options
from rosenblatt.data.readers.read import read
from rosenblatt.preprocessing.scaling import Scale
from rosenblatt.training.preparation import hold_out, prepare
from rosenblatt.training.request import Request
from rosenblatt.training.train import train

from . import workloads

# Files, and the options to read them with.
TABLES: dict[str, dict[str, Any]] = {
    "uci/banknote_authentication.csv": {},
    "uci/breast-cancer-wisconsin.data": {"label": "10", "ignore": ("0",)},
    "uci/ionosphere.data": {},
    "uci/iris.data": {},
    "uci/sonar.all-data": {},
    "uci/spambase.data": {},
    "uci/wdbc.data": {"label": "1", "ignore": ("0",)},
    "libsvm/a1a": {},
    "libsvm/australian": {},
    "libsvm/breast-cancer_scale": {},
    "libsvm/dna.scale": {},
    "libsvm/fourclass": {},
    "libsvm/german.numer": {},
    "libsvm/heart": {},
    "libsvm/mushrooms": {},
    "libsvm/svmguide1": {},
    "uci/adult.data": {},
    "libsvm/a9a": {},
    "libsvm/w8a": {},
}
LARGE = ("uci/adult.data", "libsvm/a9a", "libsvm/w8a")
OURS, SEARCHED = "rosenblatt train", "LogisticRegressionCV()"
PEERS: dict[str, tuple[Scale, Callable[[int], Any]]] = {  # scaling of the rows, and the estimator
    SEARCHED: ("standard", lambda seed: LogisticRegressionCV(l1_ratios=(0,), use_legacy_attributes=False, max_iter=1000)),
    "LogisticRegression(), standardized": ("standard", lambda seed: LogisticRegression(max_iter=1000)),
    "LogisticRegression()": ("none", lambda seed: LogisticRegression()),
    "LinearSVC(), standardized": ("standard", lambda seed: LinearSVC(random_state=seed)),
    "SGDClassifier(), standardized": ("standard", lambda seed: SGDClassifier(random_state=seed)),
}


def measure(seeds: int, quick: bool) -> Iterator[dict[str, Any]]:
    errors: dict[str, list[list[float]]] = {}
    seconds: dict[str, list[list[float]]] = {}
    train(Request("example:iris", algorithm="auto"))  # compiles
    for name, options in TABLES.items():
        path = workloads.DATA / name
        if not path.exists():
            yield {"table": name, "skipped": f"no data in {workloads.DATA.name}/"}
            continue
        if quick and name in LARGE:
            continue
        for seed in range(seeds):
            for learner, (error, took) in _one_split(str(path), Options(missing="auto", **options), seed).items():
                errors.setdefault(learner, []).append([]) if seed == 0 else None
                seconds.setdefault(learner, []).append([]) if seed == 0 else None
                errors[learner][-1].append(error)
                seconds[learner][-1].append(took)
        means = {learner: statistics.mean(each[-1]) for learner, each in errors.items()}
        for learner, error in means.items():
            yield {"table": name, "learner": learner, "error": error, "seconds": statistics.median(seconds[learner][-1])}
    ranks = rankdata([[statistics.mean(table) for table in each] for each in errors.values()], axis=0)
    for learner, rank in zip(errors, ranks, strict=True):
        yield {
            "table": "all",
            "learner": learner,
            "error": statistics.mean(statistics.mean(table) for table in errors[learner]),
            "rank": float(rank.mean()),
            "seconds": max(max(table) for table in seconds[learner]),
        }


def _one_split(path: str, options: Options, seed: int) -> dict[str, tuple[float, float]]:
    """Test error and seconds of all learners on one split."""
    started = time.perf_counter()
    outcome = train(Request(path, options=options, algorithm="auto", certify=False, holdout=0.3, seed=seed))
    assert outcome.test is not None
    found = {OURS: (outcome.test.error, time.perf_counter() - started)}
    data = read(path, options)
    for learner, (scale, make) in PEERS.items():
        request = Request(path, options=options, holdout=0.3, seed=seed, scale=scale)
        rows = prepare(request, hold_out(request, data))
        started = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = make(seed).fit(_with_small_indices(rows.X), rows.codes)
        took = time.perf_counter() - started
        found[learner] = (float(np.mean(model.predict(_with_small_indices(rows.X_test)) != rows.codes_test)), took)
    return found


def _with_small_indices(X: Any) -> Any:
    """LIBLINEAR takes no 64-bit indices."""
    if not issparse(X):
        return X
    return csr_array((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)
