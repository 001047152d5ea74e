"""Learning from a cache, in memory that does not grow with the rows: the same kernels on the same numbers as in memory.

What an estimator learns in cyclic order has the bits of `fit` on the same rows in memory; in other orders, too, where the fit
in memory keeps no log (log=False). No log is kept here, as it grows with the updates: what needs one is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from ..data.cache import Cache
from ..estimators.arow import AROW
from ..estimators.linear_mse import LinearMSE
from ..estimators.nonlinear_mse import NonlinearMSE
from ..estimators.online import OnlineClassifier
from ..estimators.perceptron import Perceptron
from ..estimators.weighting import weights_of_classes

Estimator = TypeVar("Estimator", bound=Any)
COLUMNS = 3000  # of least squares: their products are kept, and are 72 MB then


def refused(estimator: Any) -> str | None:
    """Why this estimator, with its parameters, does not learn from a cache, in one sentence; None: it does."""
    name = type(estimator).__name__
    if isinstance(estimator, AROW | LinearMSE):
        return None
    if not isinstance(estimator, OnlineClassifier):
        return f"{name} goes back to rows here and there until it is done, so it needs them in memory: leave out --stream"
    if estimator.keep == "pocket":
        return "keep='pocket' looks at all rows again and again: use keep='average', or leave out --stream"
    if estimator.keep == "vote":
        return "keep='vote' keeps all rows that moved the weights: use keep='average', or leave out --stream"
    if getattr(estimator, "order", None) == "mistakes" and getattr(estimator, "update", "online") == "online":
        return "order='mistakes' looks at all rows before each update: use order='cyclic'"
    if isinstance(estimator, Perceptron):
        if estimator.certify:
            return "certify=True proves with exact numbers of all rows at once: use `rosenblatt certify`, or leave out --stream"
        if isinstance(estimator.init, str) and estimator.init == "sum":
            return "init='sum' adds up all rows before the first step, in another order than a stream could: use init='zeros'"
    if isinstance(estimator, NonlinearMSE) and estimator.solver == "minimum":
        return "solver='minimum' keeps numbers for every row from step to step: use solver='online' or 'batch'"
    return None


def fit_from_cache(estimator: Estimator, cache: Cache) -> Estimator:
    """`estimator.fit` on the rows of a cache; what it learns equals, bit for bit, what it learns from them in memory.

    Rows are visited as `order` says: "cyclic" reads the file from first to last; "permuted" and "random" jump about in it,
    which is slower, and slow where the file does not fit into the memory that is free. The log is not kept.
    """
    reason = refused(estimator)
    if reason is not None:
        raise ValueError(reason)
    with estimator._unharmed():
        estimator._check_parameters()
        estimator._check_two(cache.classes)
        if isinstance(estimator, LinearMSE):
            _check_shape(cache)
        weights = None
        if estimator.class_weight is not None:
            weights = weights_of_classes(estimator.class_weight, cache.classes, cache.counts)
            if not weights.all():
                nothing = cache.classes[weights == 0.0].tolist()[0]
                raise ValueError(f"class_weight gives class {nothing!r} no weight: leave its rows out of the file instead")
        problem = cache.problem(
            multiclass=getattr(estimator, "multiclass", "ovr"),
            x0=float(estimator.intercept_scaling) if estimator.fit_intercept else 0.0,
            order=getattr(estimator, "order", "cyclic"),
            class_weights=weights,
        )
        estimator.__dict__.pop("feature_names_in_", None)
        estimator.n_features_in_ = cache.shape[1]
        estimator._learn(problem, cache.classes, _finite)
    return estimator


def _finite() -> None:
    """Every value was looked at when the cache was written."""


def _check_shape(cache: Cache) -> None:
    rows, columns = cache.shape
    if columns > COLUMNS or rows <= columns:
        raise ValueError(
            f"LinearMSE learns from a stream with more rows than columns, and {COLUMNS:,} columns at most: these are "
            f"{rows:,} rows and {columns:,} columns; leave out --stream"
        )


def confusion_from_cache(predict: Callable[[Any], Any], cache: Cache, labels: Any = None) -> tuple[Any, Any]:
    """(labels, counts): how many rows of each label (down) were given each label (across) by `predict`, chunk by chunk.

    labels : those that `predict` may give; those of the cache are added to them.
    """
    known = cache.classes if labels is None else np.union1d(np.asarray(labels), cache.classes)
    own, k = np.searchsorted(known, cache.classes), len(known)
    counts = np.zeros(k * k, np.int64)
    for start, stop in cache.stretches(part=4):  # scores and what `predict` copies take room, too
        given = np.asarray(predict(cache.chunk(start, stop)))
        places = np.minimum(np.searchsorted(known, given), k - 1)
        strange = given[known[places] != given].tolist()
        if strange:
            raise ValueError(f"labels must have all that are predicted, got {known.tolist()}, and {strange[0]!r} was predicted")
        counts += np.bincount(own[cache.codes[start:stop]] * k + places, minlength=k * k)
        cache.drop(start, stop)
    return known, counts.reshape(k, k)
