"""Out-of-core fits: estimators learn from a cache on disk, in memory that does not grow with the rows.

The estimator runs the same kernels on the same numbers as in memory. In cyclic order its weights are the same to the last bit;
in other orders, too, if the fit in memory keeps no log (``log=False``). No log is kept here, since it grows with the updates:
parameters that need one are refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from ..array_types import Array, IntArray, Matrix
from ..data.cache import Cache
from ..estimators.arow import AROW
from ..estimators.base import LinearClassifier, weights_of_classes
from ..estimators.linear_mse import LinearMSE
from ..estimators.nonlinear_mse import NonlinearMSE
from ..estimators.online import OnlineClassifier
from ..estimators.perceptron import Perceptron
from ..reporting.text import count, plural

Estimator = TypeVar("Estimator", bound=LinearClassifier)
# Columns of least squares, whose products are held in memory: 72 MB of float64.
MAX_LEAST_SQUARES_COLUMNS = 3000


def refusal(estimator: LinearClassifier) -> str | None:
    """Return why an estimator, with its parameters, cannot be fitted from a cache, in one sentence; None if it can."""
    name = type(estimator).__name__
    if isinstance(estimator, AROW | LinearMSE):
        return None
    if not isinstance(estimator, OnlineClassifier):
        return f"{name} visits rows in arbitrary order and needs them in memory: leave out --stream"
    if estimator.keep == "pocket":
        return "keep='pocket' scans all rows repeatedly: use keep='average', or leave out --stream"
    if estimator.keep == "vote":
        return "keep='vote' keeps every row that caused an update: use keep='average', or leave out --stream"
    if getattr(estimator, "order", None) == "mistakes" and getattr(estimator, "update", "online") == "online":
        return "order='mistakes' scans all rows before each update: use order='cyclic'"
    if isinstance(estimator, Perceptron):
        if estimator.certify:
            return "certify=True needs all rows in memory: use `rosenblatt certify`, or leave out --stream"
        if isinstance(estimator.init, str) and estimator.init == "sum":
            return "init='sum' adds all rows before the first update, in another order than a stream can: use init='zeros'"
    if isinstance(estimator, NonlinearMSE) and estimator.solver == "minimum":
        return "solver='minimum' keeps values for every row between steps: use solver='online' or 'batch'"
    return None


def fit_from_cache(estimator: Estimator, cache: Cache) -> Estimator:
    """Fit an estimator on the rows of a cache, in memory that does not grow with the rows.

    The weights equal, bit for bit, those of ``estimator.fit`` on the same rows in memory (see the module). No log is kept.

    Parameters
    ----------
    estimator : LinearClassifier
        Its `order` decides how rows are visited: "cyclic" reads the cache from first to last; "permuted" and "random" jump
        about in it, which is slow if the cache does not fit in the free memory.
    cache : Cache

    Returns
    -------
    LinearClassifier
        The estimator, fitted.

    Raises
    ------
    ValueError
        If the estimator, with its parameters, needs the rows in memory.
    """
    reason = refusal(estimator)
    if reason is not None:
        raise ValueError(reason)
    learner: Any = estimator
    with learner._unchanged_on_error():
        learner._check_parameters()
        learner._check_two_classes(cache.classes)
        if isinstance(learner, LinearMSE):
            _check_least_squares_shape(cache)
        problem = cache.problem(
            multiclass=getattr(learner, "multiclass", "ovr"),
            x0=learner._x0,
            order=getattr(learner, "order", "cyclic"),
            class_weights=_class_weights(learner, cache),
        )
        learner.__dict__.pop("feature_names_in_", None)
        learner.n_features_in_ = cache.shape[1]
        learner._learn(problem, cache.classes, _accept_values)
    return estimator


def _class_weights(learner: LinearClassifier, cache: Cache) -> Array | None:
    if learner.class_weight is None:
        return None
    weights: Array = weights_of_classes(learner.class_weight, cache.classes, cache.counts)
    if not weights.all():
        label = cache.classes[weights == 0.0].tolist()[0]
        raise ValueError(f"class_weight gives class {label!r} no weight: leave its rows out of the file instead")
    return weights


def _accept_values() -> None:
    """Check nothing: all values were checked when the cache was written."""


def _check_least_squares_shape(cache: Cache) -> None:
    rows, columns = cache.shape
    if columns > MAX_LEAST_SQUARES_COLUMNS or rows <= columns:
        raise ValueError(
            f"LinearMSE learns from a stream with more rows than columns and at most {count(MAX_LEAST_SQUARES_COLUMNS)} "
            f"columns, got {plural(rows, 'row')} and {plural(columns, 'column')}: leave out --stream"
        )


def confusion_from_cache(
    predict: Callable[[Matrix], Array], cache: Cache, labels: Array | list[Any] | None = None
) -> tuple[Array, IntArray]:
    """Count how `predict` labels the rows of a cache, chunk by chunk.

    Parameters
    ----------
    predict : callable
        Returns a label for each row of a matrix.
    cache : Cache
    labels : array, optional
        Labels that `predict` may return; those of the cache are added.

    Returns
    -------
    labels : array of shape (n_labels,)
        All labels, sorted.
    counts : array of shape (n_labels, n_labels)
        Rows by true label (down) and predicted label (across).
    """
    known = cache.classes if labels is None else np.union1d(np.asarray(labels), cache.classes)
    own, k = np.searchsorted(known, cache.classes), len(known)
    counts = np.zeros(k * k, np.int64)
    for start, stop in cache.row_ranges(fraction=4):  # a quarter, since scores and copies in `predict` take memory, too
        given = np.asarray(predict(cache.chunk(start, stop)))
        places = np.minimum(np.searchsorted(known, given), k - 1)
        unknown = given[known[places] != given].tolist()
        if unknown:
            raise ValueError(
                f"labels must contain all predicted labels, got {known.tolist()}, and {unknown[0]!r} was predicted"
            )
        counts += np.bincount(own[cache.codes[start:stop]] * k + places, minlength=k * k)
        cache.drop(start, stop)
    return known, counts.reshape(k, k)
