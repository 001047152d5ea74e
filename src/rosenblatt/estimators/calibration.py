"""Cross-fitted calibration: the map from scores to probabilities, fitted on rows that the scoring model has not seen.

Problem    probabilities for a model that has scores only. Its scores of its own training rows are too good: a map that is
           fitted on them promises too much.
Update     rows are divided into folds, class by class. A copy of the estimator is fitted on all other folds and scores the
           fold. One map is fitted on the scores of all folds and used with the estimator that is fitted on all rows. The
           length of the weights of some estimators, such as perceptrons, says little and differs much from fit to fit: each
           head's scores of a fold are brought to the size that the scores of that estimator have on the same rows; for one
           temperature, all heads together.
Guarantee  deterministic for a seed and any number of threads. Rows of weight 0 have no influence. `class_weight` shapes the
           planes, but not the map: probabilities are those of the rows as they come, with their `sample_weight`.
Reference  J. Platt, Advances in Large Margin Classifiers (1999), section 2.1.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import clone

from ..array_types import Array, FloatArray, IntArray, Matrix
from ..data.folds import spread_folds
from ..parallel import in_order
from ..probabilities.fits import fit_map
from ..probabilities.maps import ProbabilityMap
from ..progress import Progress, current_callback, progress_callback, report_progress
from ..reporting.text import plural

if TYPE_CHECKING:
    from .base import LinearClassifier

CALIBRATION_FOLDS = 5
# What a fit on a fold need not repeat, and what it does without: the last fit, on all rows, has it.
FOLD_PARAMETERS = {"calibrate": None, "warm_start": False, "log": False, "verbose": 0}


class TooFewRowsError(ValueError):
    """A class that has too few rows for two folds."""

    def __init__(self, label: object, rows: int) -> None:
        super().__init__(label, rows)
        self.label, self.rows = label, rows

    @property
    def problem(self) -> str:
        return f"class {self.label!r} has {plural(self.rows, 'row')}, but calibration needs at least 2 of every class"

    def __str__(self) -> str:
        return f"{self.problem}: add rows, leave the class out, or use calibrate=None"


def cross_fitted_map(
    model: LinearClassifier, kind: str, X: Matrix, codes: IntArray, weights: FloatArray | None, seed: int
) -> ProbabilityMap:
    """Return the map of a kind for a model, from fits of copies of it on parts of the rows."""
    if weights is not None and not (weights > 0).all():
        counted = np.flatnonzero(weights)
        X, codes, weights = X[counted], codes[counted], weights[counted]
    scores = cross_fitted_scores(model, X, codes, weights, seed, together=kind == "temperature")
    return fit_map(kind, scores, codes, len(model.classes_), weights)


def cross_fitted_scores(
    model: LinearClassifier, X: Matrix, codes: IntArray, weights: FloatArray | None, seed: int, *, together: bool = False
) -> FloatArray:
    """Return the scores of the rows, rows x heads, each by a copy of the model that has not seen the row.

    `together`: all heads of a fold get the same factor.
    """
    fold = calibration_folds(codes, model.classes_, seed)
    n_folds = int(fold.max()) + 1
    threads = effective_n_jobs(getattr(model, "n_jobs", None))
    parameters = {name: value for name, value in FOLD_PARAMETERS.items() if name in model.get_params(deep=False)}
    if "random_state" in model.get_params(deep=False):
        parameters["random_state"] = seed
    if threads > 1:
        parameters["n_jobs"] = 1
    verbose, y = bool(getattr(model, "verbose", 0)), model.classes_[codes]

    def score(number: int) -> tuple[IntArray, FloatArray]:
        mine = fold == number
        others, held = np.flatnonzero(~mine), np.flatnonzero(mine)
        copy: LinearClassifier = clone(model).set_params(**parameters)
        copy.set_callbacks()  # those of the model are called for its own fit
        title = f"calibration, fold {number + 1} of {n_folds}"
        _fit_with_progress(copy, X[others], y[others], None if weights is None else weights[others], title)
        report_progress(number + 1, text=title, verbose=verbose)
        return held, copy._scores_of_heads(X[held]) * _relative_size(model, copy, X[others], together)

    scores: FloatArray | None = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the fit on all rows has warned
        for held, found in in_order(score, range(n_folds), min(threads, n_folds)):
            scores = np.empty((len(codes), found.shape[1])) if scores is None else scores
            scores[held] = found
    assert scores is not None
    return scores


def calibration_folds(codes: IntArray, classes: Array, seed: int) -> IntArray:
    """Return the fold of each row: five, or as many as the smallest class has rows, with the classes spread evenly."""
    counts = np.bincount(codes, minlength=len(classes))
    smallest = int(counts.argmin())
    if counts[smallest] < 2:
        raise TooFewRowsError(classes.tolist()[smallest], int(counts[smallest]))
    return spread_folds(codes, min(CALIBRATION_FOLDS, int(counts[smallest])), seed)


def _relative_size(model: LinearClassifier, copy: LinearClassifier, X: Matrix, together: bool) -> FloatArray:
    """Return the mean size of the scores of a model, relative to that of a copy's scores, for each head."""
    size, other = (np.abs(one._scores_of_heads(X)).mean(axis=0, dtype=np.float64) for one in (model, copy))
    if together:
        size, other = np.full_like(size, size.mean()), np.full_like(other, other.mean())
    ratio: FloatArray = np.divide(size, other, out=np.ones(len(size)), where=(size > 0) & (other > 0))
    return ratio


def _fit_with_progress(model: LinearClassifier, X: Matrix, y: Array, weights: Any, title: str) -> None:
    """Fit; an installed callback gets the name of the fold, not the passes, which are not those of the caller's fit."""
    installed = current_callback()
    if installed is None:
        model.fit(X, y, weights)
        return
    with progress_callback(lambda progress: installed(Progress(0, visited=1, text=f"{title}: {progress}"))):
        model.fit(X, y, weights)
