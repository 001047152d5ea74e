"""Margins of hypotheses, the radius of rows, and how many mistakes a perceptron can make.

Problem    with unit-norm u that separates the rows by gamma, and R the longest row, how many updates can a perceptron make?
Guarantee  from w = 0 with steps rho and update margin b, at most (R^2 + 2b/rho)/gamma^2 in any number of passes; with k > 2
           classes (R^2 + b/rho)/gamma^2, since b is asked of a difference of two weight vectors. Where u does not separate:
           in one pass at most ((R + D)/gamma)^2, D^2 = sum max(0, gamma - y_i u.x_i)^2, for any gamma > 0. Its proof puts the
           rows into a space where they are separable, and carries an update margin along as R^2 + 2b/rho in place of R^2.
Reference  A. Novikoff, Symp. Math. Theory of Automata (1962); Y. Freund and R. Schapire, Machine Learning 37 (1999), Theorem 2.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array, column_or_1d

from ..certificates.statements import Inseparable, Interval, Separable, as_float
from ..parallel import one_blas_thread
from ..validation import flag, number, one_of
from .certify import certify
from .exact_margins import longest_row

# --- Weights and intercepts of any fitted linear model, ours or scikit-learn's, and their margins.
#
# Problem    w_l.x + b_l for every class l, in floats, for rows and weights of any finite size.
# Guarantee  rows and weights are brought to about 1 by powers of two, which rounds nothing; the margin of row p is off by at
#            most `doubt` times |p| (N. J. Higham, Accuracy and Stability of Numerical Algorithms, section 3.1).

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


# ---

SPACES = ("augmented", "geometric")
GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0


def margin(model: Any, X: Any, y: Any, *, space: str = "augmented", each: bool = False) -> Any:
    """The margin of a hypothesis: of its worst row, below zero where it errs; with `each`, that of every row.

    Two classes    y (w.x + b) over the length of the weights.
    More           min_z [(w_l - w_z).x + b_l - b_z] / (sqrt(2) |W|) for a row of class l, |W| over all weight vectors.

    model : any fitted linear classifier, ours or scikit-learn's, also at the end of a Pipeline; or a pair (coef, intercept),
        whose classes are the labels of y, sorted. One-vs-rest models of more than two classes are read as k weight vectors,
        of which the largest score wins. Two weight vectors for two classes are read as their difference.
    X, y : rows and their labels.
    space : "augmented": the intercept is a weight like any other and counts in norms, as x_0 = `intercept_scaling` times
        weight 0 (x_0 = 1 where the model has no such parameter); this is the perceptron's space. "geometric": it counts
        nowhere, and margins are distances from the plane.
    each : True: an array with the margin of every row.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> X, y = [[0, 0], [1, 0], [3, 4], [4, 4]], [0, 0, 1, 1]
    >>> model = rb.MaxMargin().fit(X, y)
    >>> round(rb.margin(model, X, y, space="geometric"), 6), round(rb.margin(model, X, y), 6)
    (2.236068, 0.780869)
    >>> rb.margin(([0.0, 1.0], -2.0), X, y, space="geometric", each=True).tolist()
    [2.0, 2.0, 2.0, 2.0]
    """
    one_of("space", space, SPACES)
    flag("each", each)
    found, rows = hypothesis_and_rows(model, X)
    margins = found.margins(rows, class_codes(found, y, rows.shape[0]), space)
    return margins if each else float(margins.min())


def radius(X: Any, *, space: str = "augmented", intercept_scaling: float = 1.0) -> float:
    """R, the length of the longest row: of (x_0, x) with x_0 = `intercept_scaling`, or of x itself in the geometric space.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> rb.radius([[3, 4], [0, 1]], space="geometric"), rb.radius([[2, 2], [0, 1]])
    (5.0, 3.0)
    """
    one_of("space", space, SPACES)
    x0 = number("intercept_scaling", intercept_scaling)
    return float(lengths(real_rows(X), x0 if space == "augmented" else 0.0).max())


def mistake_bound(
    X: Any,
    y: Any,
    model: Any = None,
    *,
    update_margin: float = 0.0,
    step: float = 1.0,
    fit_intercept: bool = True,
    time_limit: float | None = None,
) -> Interval:
    """How many updates an online perceptron that starts from zero can make at most, as an interval (lower, upper).

    Without a model, the bound (R^2 + 2b/rho)/gamma^2 of the widest margin gamma in the augmented space, between two numbers
    that are proved: `upper` holds for every run, however many passes it makes. No plane separates the rows: ValueError, with
    the clash. `time_limit` is `certify`'s; where it ran out, `upper` is infinite.

    With a model nothing is searched for, `lower` is 0, and `upper` is what the model's own plane proves, rounding included:
    where it separates the rows, (R^2 + 2b/rho)/margin^2 for runs of any length; where it does not, the bound of Freund and
    Schapire for *one* pass over the rows, ((R + D)/gamma)^2 at the best gamma, never more than the number of rows. R and the
    margin are those of the model's `intercept_scaling`.

    update_margin, step : b and rho, the perceptron's `margin` and constant `step`. With more than two classes b/rho stands for
        2b/rho.
    fit_intercept : False: of planes through the origin and rows without a constant.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1]
    >>> bound = rb.mistake_bound(X, y)
    >>> round(bound.lower, 6), round(bound.upper, 6)
    (51.0, 51.0)
    >>> rb.Perceptron(max_iter=None).fit(X, y).n_updates_ <= bound.upper
    True
    """
    flag("fit_intercept", fit_intercept)
    b, rho = number("update_margin", update_margin, or_equal=True), number("step", step)
    if model is not None:
        return _bound_by(model, X, y, b / rho, bool(fit_intercept))
    certificate = certify(X, y, fit_intercept, time_limit)
    if isinstance(certificate, Inseparable):
        raise ValueError(f"no number bounds the mistakes of a perceptron on these rows: {certificate}")
    squares = longest_row(real_rows(X)) + int(fit_intercept)
    squares += Fraction(b) / Fraction(rho) * (2 if certificate.about.n_planes == 1 else 1)
    upper = math.inf
    if isinstance(certificate, Separable):
        upper = math.nextafter(as_float(squares / certificate.augmented.lower_squared), math.inf)
    ceiling = certificate.augmented
    return Interval(0.0 if ceiling is None else math.nextafter(as_float(squares / ceiling.upper_squared), 0.0), upper)


def _bound_by(model: Any, X: Any, y: Any, share: float, fit_intercept: bool) -> Interval:
    found, rows = hypothesis_and_rows(model, X)
    if not fit_intercept and found.intercepts.any():
        raise ValueError("fit_intercept=False is for planes through the origin, and the model has an intercept")
    norms = lengths(rows, found.x0 if fit_intercept else 0.0) * (1.0 + found.doubt)
    margins = found.margins(rows, class_codes(found, y, len(norms)), "augmented") - found.doubt * norms
    longest = math.hypot(float(norms.max()), math.sqrt(share * (2 if len(found.planes) == 1 else 1)))
    if margins.min() > 0:
        ratio = longest / float(margins.min())
        return Interval(0.0, ratio * ratio * (1.0 + 1e-14))
    return Interval(0.0, min(float(len(norms)), one_pass_bound(longest, margins)))


def one_pass_bound(longest: float, margins: Any) -> float:
    """min over gamma of ((R + D)/gamma)^2: the square of a convex function of s = 1/gamma, R s + |max(0, 1 - s m)|."""

    scale = 2.0 ** -math.frexp(longest)[1]
    R, m = longest * scale, margins * scale

    def height(s: float) -> float:
        return R * s + float(np.linalg.norm(np.maximum(0.0, 1.0 - s * m)))

    low, high = 0.0, math.sqrt(len(m)) / R  # at 0 it is the root of the number of rows, and beyond `high` over that
    for _ in range(90):
        left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        low, high = (low, right) if height(left) <= height(right) else (left, high)
    return height((low + high) / 2.0) ** 2 * (1.0 + 1e-12)
