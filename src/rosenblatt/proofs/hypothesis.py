"""Weights and intercepts of fitted linear models, ours or scikit-learn's, and the margins of rows under them.

Problem    w_l.x + b_l for every class l, in floats, for rows and weights of any finite size.
Guarantee  rows and weights are scaled to about 1 by powers of two, which rounds nothing; the margin of row p is off by at
           most `relative_error` times |p| (N. J. Higham, Accuracy and Stability of Numerical Algorithms, section 3.1).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array, column_or_1d

from ..array_types import Array, FloatArray, IntArray, Matrix, MatrixLike
from ..certificates.exact_arrays import exact_labels, exact_numbers
from ..kernels.linear.rows import EPS
from ..online.readings import NoSinglePlaneError
from ..parallel import one_blas_thread
from ..reporting.text import comma_list
from .certify import exact_rows

VALUES_PER_BLOCK = 1 << 19
MAX_UNSCALED_EXPONENT = 400  # rows whose largest value is within 2 to plus or minus this are not scaled
MAX_LABELS_LISTED = 5

Space = Literal["augmented", "geometric"]
# A fitted linear classifier, ours or scikit-learn's, a Pipeline or a search that ends in one; or (coef, intercept).
LinearModel: TypeAlias = "BaseEstimator | tuple[MatrixLike, npt.ArrayLike]"


@dataclass(frozen=True)
class Hypothesis:
    """Weight vectors: with two classes one plane, positive on the second class; with more, one for each class."""

    planes: FloatArray  # planes x features, float64
    intercepts: FloatArray
    x0: float  # the constant of the augmented rows: the intercept is x0 times weight 0
    classes: Array | None  # None: the sorted labels of y

    @property
    def relative_error(self) -> float:
        """A bound on the rounding error of margins, relative to the length of the row."""
        return 4.0 * (int(self.planes.shape[1]) + 8) * EPS

    def margins(self, X: Matrix, codes: IntArray, space: Space) -> FloatArray:
        """The margin of every row: the score divided by the norm of the weights, with or without the intercepts."""
        counted = space == "augmented"
        weight_0 = self.intercepts / self.x0
        largest = max(float(abs(self.planes).max(initial=0.0)), float(abs(weight_0).max()) if counted else 0.0)
        if largest == 0.0:
            raise ValueError(f"all weights are zero, so there is no margin in the {space} space")
        shift = -int(np.frexp(largest)[1])
        with np.errstate(over="ignore"):
            planes, intercepts = np.ldexp(self.planes, shift), np.ldexp(self.intercepts, shift)
        norm = float(np.linalg.norm(np.append(planes, np.ldexp(weight_0, shift) if counted else 0.0)))
        out = np.empty(X.shape[0])
        with one_blas_thread(), np.errstate(over="ignore", under="ignore"):
            for here, rows, exponents in scaled_blocks(X, float(self.intercepts.any())):
                scores = rows @ planes.T + np.ldexp(intercepts, -exponents[:, None])
                out[here] = np.ldexp(_score_margins(scores, codes[here]) / norm, exponents)
        return out if len(planes) == 1 else out / math.sqrt(2.0)


def _score_margins(scores: FloatArray, codes: IntArray) -> FloatArray:
    """The score of a row's own class minus the best score of the others."""
    if scores.shape[1] == 1:
        return scores[:, 0] * (2.0 * codes - 1.0)
    here = np.arange(len(scores))
    own = scores[here, codes].copy()
    scores[here, codes] = -np.inf
    found: FloatArray = own - scores.max(axis=1)
    return found


def scaled_blocks(X: Matrix, constant: float = 0.0) -> Iterator[tuple[slice, Matrix, IntArray]]:
    """Blocks of rows: their positions, the rows in float64 times 2^-exponent, and the exponents.

    `constant`: another value of every row, such as the constant of augmented rows, that counts in its size.
    """
    step = max(1, VALUES_PER_BLOCK // max(1, X.shape[1] if isinstance(X, np.ndarray) else 1 + X.nnz // X.shape[0]))
    for start in range(0, X.shape[0], step):
        here = slice(start, min(start + step, X.shape[0]))
        rows: Matrix = X[here].astype(np.float64)
        largest = np.maximum(abs(rows).max(axis=1) if isinstance(rows, np.ndarray) else _largest_stored(rows), constant)
        exponents = np.frexp(largest)[1]
        exponents[abs(exponents) <= MAX_UNSCALED_EXPONENT] = 0
        if exponents.any():
            if isinstance(rows, np.ndarray):
                rows = np.ldexp(rows, -exponents[:, None])
            else:
                rows.data = np.ldexp(rows.data, -np.repeat(exponents, np.diff(rows.indptr)))
        yield here, rows, exponents


def _largest_stored(rows: sp.csr_array) -> FloatArray:
    out = np.zeros(rows.shape[0])
    filled = np.flatnonzero(np.diff(rows.indptr))
    if len(filled):
        out[filled] = np.maximum.reduceat(abs(rows.data), rows.indptr[filled])
    return out


def row_lengths(X: Matrix, x0: float = 0.0) -> FloatArray:
    """The length of every row (x0, x); infinite if it exceeds the largest float."""
    out = np.empty(X.shape[0])
    with np.errstate(over="ignore", under="ignore"):
        for here, rows, exponents in scaled_blocks(X, abs(x0)):
            if isinstance(rows, np.ndarray):
                squares = np.einsum("ij,ij->i", rows, rows)
            else:
                squares = np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
            out[here] = np.ldexp(np.sqrt(squares + np.ldexp(x0, -exponents) ** 2), exponents)
    return out


# --- input -----------------------------------------------------------------------------------------------------------------


def hypothesis_and_rows(model: LinearModel, X: MatrixLike) -> tuple[Hypothesis, Matrix]:
    """The hypothesis of a fitted model or a pair (coef, intercept), and the rows after the steps of a pipeline."""
    steps, found = steps_and_hypothesis(model)
    for step in steps:
        X = step.transform(X)
    rows = validated_matrix(X)
    if rows.shape[1] != found.planes.shape[1]:
        raise ValueError(f"X has {rows.shape[1]} features, but the model has weights for {found.planes.shape[1]}")
    return found, rows


def steps_and_hypothesis(model: LinearModel) -> tuple[list[Pipeline], Hypothesis]:
    """The steps before a linear model, and its hypothesis."""
    model = getattr(model, "best_estimator_", model)
    if isinstance(model, Pipeline):
        steps, found = steps_and_hypothesis(model[-1])
        return [model[:-1], *steps] if len(model) > 1 else steps, found
    if isinstance(model, tuple):
        if len(model) != 2:
            raise ValueError(f"model must be a fitted linear model or a pair (coef, intercept), got {len(model)} items")
        coef, intercept = model
        return [], _hypothesis(coef, intercept, 1.0, None)
    return [], _hypothesis_of_estimator(model)


def validated_matrix(X: MatrixLike) -> Matrix:
    """X as a float array, or as a CSR matrix without duplicate entries; numbers that float64 would round are refused."""
    with np.errstate(over="ignore", invalid="ignore"):  # the finiteness check sums X, which may overflow
        rows: Matrix = check_array(exact_rows(X), accept_sparse="csr", dtype=[np.float64, np.float32], accept_large_sparse=True)
    return rows


def _hypothesis_of_estimator(model: BaseEstimator) -> Hypothesis:
    name = type(model).__name__
    try:
        coef, classes = model.coef_, model.classes_
    except NoSinglePlaneError:
        raise ValueError("a vote is a majority of many planes and has no margin; use model.reading('average')") from None
    except AttributeError:
        raise ValueError(f"{name} has no coef_ and classes_: it is not a fitted linear classifier") from None
    k = len(classes)
    if k > 2 and (hasattr(model, "dual_coef_") or len(np.shape(coef)) != 2 or np.shape(coef)[0] != k):
        raise ValueError(
            f"{name} has coef_ of shape {np.shape(coef)} for {k} classes: it compares pairs of classes or has several outputs, "
            "but a margin needs one weight vector for each class"
        )
    x0 = float(getattr(model, "intercept_scaling", 1.0)) if getattr(model, "fit_intercept", True) else 1.0
    return _hypothesis(coef, getattr(model, "intercept_", 0.0), x0, classes)


def _hypothesis(coef: MatrixLike, intercept: npt.ArrayLike, x0: float, classes: Array | None) -> Hypothesis:
    dense = coef.toarray() if hasattr(coef, "toarray") else coef
    planes = np.atleast_2d(exact_numbers(dense, "coef").astype(np.float64))
    if planes.ndim != 2:
        raise ValueError(f"coef must have shape (n_features,) or (n_classes, n_features), got {planes.shape}")
    given = exact_numbers(intercept, "intercept").astype(np.float64).ravel()
    if len(given) not in (1, len(planes)):
        raise ValueError(f"there are {len(given)} intercepts for {len(planes)} weight vectors")
    intercepts = np.broadcast_to(given, (len(planes),)).copy()
    if not (np.isfinite(planes).all() and np.isfinite(intercepts).all()):
        raise ValueError("the weights of the model are not finite")
    if len(planes) == 2:
        planes, intercepts = planes[1:] - planes[:1], intercepts[1:] - intercepts[:1]
    return Hypothesis(planes, intercepts, x0, classes)


def class_codes(hypothesis: Hypothesis, y: npt.ArrayLike, n_rows: int) -> IntArray:
    """The position of every row's label among the classes of the hypothesis."""
    labels = column_or_1d(exact_labels(y, n_rows)).tolist()
    if hypothesis.classes is None:
        position = class_positions(len(hypothesis.planes), labels)
    else:
        position = {label: rank for rank, label in enumerate(np.asarray(hypothesis.classes).tolist())}
    unknown = {label for label in labels if label not in position}
    if unknown:
        listed = comma_list([repr(label) for label in sorted(unknown, key=str)], MAX_LABELS_LISTED)
        raise ValueError(f"y has labels unknown to the model: {listed}; its classes are {list(position)}")
    return np.array([position[label] for label in labels], np.intp)


def class_positions(n_planes: int, labels: list[Any]) -> dict[Any, int]:
    """The classes of weights without names: the sorted labels of y; if some are missing there, -1 and 1, or 0, 1, 2, ..."""
    k, present = max(2, n_planes), sorted(set(labels))
    if len(present) == k:
        return {label: rank for rank, label in enumerate(present)}
    for usual in ([-1, 1], list(range(k))):
        if len(usual) == k and set(present) <= set(usual):
            return {label: rank for rank, label in enumerate(usual)}
    raise ValueError(f"{n_planes} weight vectors are for {k} classes, but y has {len(present)}")
