"""Fits and predictions from a cache on disk, in memory that does not grow with the rows: see `stream.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from ..array_types import Array, IntArray, Matrix
from ..data.cache import Cache
from ..estimators.base import LinearClassifier
from ..estimators.row_weights import weights_of_classes

Estimator = TypeVar("Estimator", bound=LinearClassifier)


def fit_from_cache(estimator: Estimator, cache: Cache) -> Estimator:
    """Fit an estimator on the rows of a cache, in memory that does not grow with the rows.

    The weights equal, bit for bit, those of ``estimator.fit`` on the same rows in memory (see `stream.py`). No log is kept.

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
    CacheError
        If a block of the cache does not match its checksum; the estimator stays as it was.
    """
    obstacle = estimator._streaming_obstacle()
    if obstacle is not None:
        raise ValueError(obstacle.describe(type(estimator).__name__))
    learner: Any = estimator
    with learner._unchanged_on_error():
        learner._check_parameters()
        learner._check_two_classes(cache.classes)
        learner._check_streaming_shape(*cache.shape)
        problem = cache.problem(
            multiclass=learner._multiclass,
            x0=learner._x0,
            order=learner._order,
            class_weights=_class_weights(learner, cache),
            check_first=not (learner._checks_rows_as_read and learner._order == "cyclic"),
        )
        learner.__dict__.pop("feature_names_in_", None)
        learner.n_features_in_ = cache.shape[1]
        learner._learn(problem, cache.classes, cache.check_values)
        cache.check()  # what a run that ended early has not read may have been counted in its margin
    return estimator


def _class_weights(learner: LinearClassifier, cache: Cache) -> Array | None:
    if learner._class_weight is None:
        return None
    weights: Array = weights_of_classes(learner._class_weight, cache.classes, cache.counts)
    if not weights.all():
        label = cache.classes[weights == 0.0].tolist()[0]
        raise ValueError(f"class_weight gives class {label!r} no weight: leave its rows out of the file instead")
    return weights


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
