"""Weights and intercepts of any fitted linear model, ours or scikit-learn's, and their margins.

Problem    w_l.x + b_l for every class l, in floats, for rows and weights of any finite size.
Guarantee  rows and weights are brought to about 1 by powers of two, which rounds nothing; the margin of row p is off by at
           most `doubt` times |p| (N. J. Higham, Accuracy and Stability of Numerical Algorithms, section 3.1).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array, column_or_1d

from ..parallel import one_blas_thread

EPS = float(np.finfo(np.float64).eps)
BLOCK = 1 << 19  # values looked at together
NEAR = 400  # rows whose largest value is 2 to a power within this are not scaled


@dataclass(frozen=True)
class Hypothesis:
    """With two classes one plane, of the second against the first; with more, one for each class."""

    planes: Any  # planes x features, float64
    intercepts: Any
    x0: float  # the constant before every row: the intercept is x0 times weight 0
    classes: Any | None  # None: those of y, sorted

    @property
    def doubt(self) -> float:
        """How far off margins may be, as a share of the length of a row."""
        return 4.0 * (int(self.planes.shape[1]) + 8) * EPS

    def margins(self, X: Any, codes: Any, space: str) -> Any:
        """The margin of every row: divided by the length of the weights, with or without the intercepts."""
        counts = space == "augmented"
        weight_0 = self.intercepts / self.x0
        largest = max(float(abs(self.planes).max(initial=0.0)), float(abs(weight_0).max()) if counts else 0.0)
        if largest == 0.0:
            raise ValueError(f"all weights are zero, and have no margin in the {space} space")
        shift = -int(np.frexp(largest)[1])
        with np.errstate(over="ignore"):
            planes, intercepts = np.ldexp(self.planes, shift), np.ldexp(self.intercepts, shift)
        norm = float(np.linalg.norm(np.append(planes, np.ldexp(weight_0, shift) if counts else 0.0)))
        out = np.empty(X.shape[0])
        with one_blas_thread(), np.errstate(over="ignore", under="ignore"):
            for here, rows, exponents in scaled_blocks(X, float(self.intercepts.any())):
                scores = rows @ planes.T + np.ldexp(intercepts, -exponents[:, None])
                out[here] = np.ldexp(_least(scores, codes[here]) / norm, exponents)
        return out if len(planes) == 1 else out / math.sqrt(2.0)


def _least(scores: Any, codes: Any) -> Any:
    """By how much the score of a row's own class is over the best of the others."""
    if scores.shape[1] == 1:
        return scores[:, 0] * (2.0 * codes - 1.0)
    here = np.arange(len(scores))
    own = scores[here, codes].copy()
    scores[here, codes] = -np.inf
    return own - scores.max(axis=1)


def scaled_blocks(X: Any, least: float = 0.0) -> Iterator[tuple[slice, Any, Any]]:
    """(which rows, the rows in float64 over two to their exponents, the exponents); `least` is another value of every row."""
    dense = isinstance(X, np.ndarray)
    step = max(1, BLOCK // max(1, X.shape[1])) if dense else max(1, BLOCK // (1 + X.nnz // X.shape[0]))
    for start in range(0, X.shape[0], step):
        here = slice(start, min(start + step, X.shape[0]))
        rows = X[here].astype(np.float64)
        largest = np.maximum(abs(rows).max(axis=1) if dense else _largest_stored(rows), least)
        exponents = np.frexp(largest)[1]
        exponents[abs(exponents) <= NEAR] = 0
        if exponents.any():
            if dense:
                rows = np.ldexp(rows, -exponents[:, None])
            else:
                rows.data = np.ldexp(rows.data, -np.repeat(exponents, np.diff(rows.indptr)))
        yield here, rows, exponents


def _largest_stored(rows: Any) -> Any:
    out = np.zeros(rows.shape[0])
    np.maximum.at(out, np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr)), abs(rows.data))
    return out


def lengths(X: Any, x0: float = 0.0) -> Any:
    """The length of every row (x0, x); infinite where it is over the largest float."""
    out = np.empty(X.shape[0])
    with np.errstate(over="ignore", under="ignore"):
        for here, rows, exponents in scaled_blocks(X, abs(x0)):
            dense = isinstance(rows, np.ndarray)
            squares = np.einsum("ij,ij->i", rows, rows) if dense else np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
            out[here] = np.ldexp(np.sqrt(squares + np.ldexp(x0, -exponents) ** 2), exponents)
    return out


# --- reading ---------------------------------------------------------------------------------------------------------------


def hypothesis_and_rows(model: Any, X: Any) -> tuple[Hypothesis, Any]:
    """The hypothesis of a fitted model or a pair (coef, intercept), and the rows as it sees them."""
    model = getattr(model, "best_estimator_", model)
    if isinstance(model, Pipeline):
        X = model[:-1].transform(X) if len(model) > 1 else X
        return hypothesis_and_rows(model[-1], X)
    if isinstance(model, tuple):
        if len(model) != 2:
            raise ValueError(f"model must be a fitted linear model or a pair (coef, intercept), got {len(model)} things")
        found = _hypothesis(*model, 1.0, None)
    else:
        found = _of_estimator(model)
    rows = real_rows(X)
    if rows.shape[1] != found.planes.shape[1]:
        raise ValueError(f"X has {rows.shape[1]} features, the model has weights for {found.planes.shape[1]}")
    return found, rows


def real_rows(X: Any) -> Any:
    with np.errstate(over="ignore", invalid="ignore"):  # the finiteness check sums X, which may overflow on its way
        X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], accept_large_sparse=True)
    if isinstance(X, np.ndarray):
        return X
    X = sp.csr_array(X)  # a view
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def _of_estimator(model: Any) -> Hypothesis:
    name = type(model).__name__
    if not (hasattr(model, "coef_") and hasattr(model, "classes_")):
        if getattr(model, "keep", None) == "vote":
            raise ValueError("a vote is a majority of many planes and has no margin: take model.reading('average')")
        raise ValueError(f"{name} has no coef_ and classes_: it is not a fitted linear classifier")
    k, coef = len(model.classes_), model.coef_
    if k > 2 and (hasattr(model, "dual_coef_") or len(np.shape(coef)) != 2 or np.shape(coef)[0] != k):
        raise ValueError(
            f"{name} has coef_ of shape {np.shape(coef)} for {k} classes: it compares classes two by two or has several "
            "outputs, and a margin needs one weight vector for each class"
        )
    x0 = float(getattr(model, "intercept_scaling", 1.0)) if getattr(model, "fit_intercept", True) else 1.0
    return _hypothesis(coef, getattr(model, "intercept_", 0.0), x0, model.classes_)


def _hypothesis(coef: Any, intercept: Any, x0: float, classes: Any) -> Hypothesis:
    planes = np.atleast_2d(np.asarray(coef.toarray() if sp.issparse(coef) else coef, np.float64))
    if planes.ndim != 2:
        raise ValueError(f"coef must have shape (features,) or (classes, features), got {planes.shape}")
    given = np.asarray(intercept, np.float64).ravel()
    if len(given) not in (1, len(planes)):
        raise ValueError(f"there are {len(given)} intercepts for {len(planes)} weight vectors")
    intercepts = np.broadcast_to(given, (len(planes),)).copy()
    if not (np.isfinite(planes).all() and np.isfinite(intercepts).all()):
        raise ValueError("the weights of the model are not finite")
    if len(planes) == 2:
        planes, intercepts = planes[1:] - planes[:1], intercepts[1:] - intercepts[:1]
    return Hypothesis(planes, intercepts, x0, classes)


def class_codes(found: Hypothesis, y: Any, n_rows: int) -> Any:
    """The position of every row's label among the classes of the hypothesis."""
    labels = column_or_1d(y).tolist()
    if len(labels) != n_rows:
        raise ValueError(f"X has {n_rows} rows and y has {len(labels)} labels")
    position = _positions(len(found.planes), labels) if found.classes is None else _ranks(found.classes)
    unknown = {label for label in labels if label not in position}
    if unknown:
        some = ", ".join(map(repr, sorted(unknown, key=str)[:5]))
        raise ValueError(f"y has labels that the model does not know: {some}; it knows {list(position)}")
    return np.array([position[label] for label in labels], np.intp)


def _ranks(classes: Any) -> dict[Any, int]:
    return {label: rank for rank, label in enumerate(np.asarray(classes).tolist())}


def _positions(n_planes: int, labels: list[Any]) -> dict[Any, int]:
    """The classes of weights without names: those of y, sorted; where some are missing, -1 and 1, or 0, 1, 2, ..."""
    k, there = max(2, n_planes), sorted(set(labels))
    if len(there) == k:
        return {label: rank for rank, label in enumerate(there)}
    for usual in ([-1, 1], list(range(k))):
        if len(usual) == k and set(there) <= set(usual):
            return {label: rank for rank, label in enumerate(usual)}
    raise ValueError(f"{n_planes} weight vectors tell {k} classes apart, and y has {len(there)}")
