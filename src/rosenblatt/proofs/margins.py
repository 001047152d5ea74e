"""Margins of hypotheses, the radius of rows, and bounds on the mistakes of a perceptron.

Problem    with unit-norm u that separates the rows by gamma, and R the longest row, how many updates can a perceptron make?
Guarantee  from w = 0 with steps rho and update margin b, at most (R^2 + 2b/rho)/gamma^2 in any number of passes; with k > 2
           classes (R^2 + b/rho)/gamma^2, since b applies to a difference of two weight vectors. If u does not separate:
           in one pass at most ((R + D)/gamma)^2, D^2 = sum max(0, gamma - y_i u.x_i)^2, for any gamma > 0. Its proof puts the
           rows into a space where they are separable; an update margin replaces R^2 by R^2 + 2b/rho there as well.
Reference  A. Novikoff, Symp. Math. Theory of Automata (1962); Y. Freund and R. Schapire, Machine Learning 37 (1999), Theorem 2.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Literal, overload

import numpy as np
import numpy.typing as npt

from ..array_types import FloatArray, MatrixLike
from ..certificates.exact_numbers import Interval, as_float
from ..certificates.sentences import describe_clash
from ..certificates.statements import Certificate, Inseparable, Separable
from ..validation import check_choice, check_flag, check_number
from .certify import certify
from .exact_margins import longest_row
from .hypothesis import LinearModel, Space, class_codes, hypothesis_and_rows, row_lengths, validated_matrix

SPACES = ("augmented", "geometric")
GOLDEN_RATIO = (math.sqrt(5.0) - 1.0) / 2.0
GOLDEN_SECTION_STEPS = 90


@overload
def margin(
    model: LinearModel, X: MatrixLike, y: npt.ArrayLike, *, space: Space = "augmented", each: Literal[False] = False
) -> float: ...
@overload
def margin(
    model: LinearModel, X: MatrixLike, y: npt.ArrayLike, *, space: Space = "augmented", each: Literal[True]
) -> FloatArray: ...
def margin(
    model: LinearModel, X: MatrixLike, y: npt.ArrayLike, *, space: Space = "augmented", each: bool = False
) -> float | FloatArray:
    """Compute the margin of a hypothesis: that of its worst row, negative if it misclassifies rows.

    Two classes    y (w.x + b) over the length of the weights.
    More           min_z [(w_l - w_z).x + b_l - b_z] / (sqrt(2) |W|) for a row of class l, |W| over all weight vectors.

    Parameters
    ----------
    model : estimator or tuple (coef, intercept)
        A fitted linear classifier, ours or scikit-learn's, also at the end of a Pipeline; or a pair (coef, intercept), whose
        classes are the sorted labels of y. One-vs-rest models of more than two classes are read as k weight vectors, of which
        the largest score wins. Two weight vectors for two classes are read as their difference.
    X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
        The rows.
    y : array-like of shape (n_rows,)
        The labels.
    space : {"augmented", "geometric"}, default="augmented"
        "augmented": the space of the perceptron; the intercept is a weight like any other and counts in norms, as
        x_0 = `intercept_scaling` times weight 0 (x_0 = 1 if the model has no such parameter). "geometric": the intercept does
        not count in norms, and margins are distances from the plane.
    each : bool, default=False
        Whether to return the margin of every row.

    Returns
    -------
    float or array of shape (n_rows,)
        The smallest margin, or with `each` that of every row.

    Raises
    ------
    ValueError
        If the model is not a fitted linear classifier with one weight vector per class, or all its weights are zero.

    See Also
    --------
    rosenblatt.certify : The widest margin of all hypotheses.
    rosenblatt.radius : The length of the longest row.

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
    check_choice("space", space, SPACES)
    check_flag("each", each)
    found, rows = hypothesis_and_rows(model, X)
    margins = found.margins(rows, class_codes(found, y, rows.shape[0]), space)
    return margins if each else float(margins.min())


def radius(X: MatrixLike, *, space: Space = "augmented", intercept_scaling: float = 1.0) -> float:
    """Compute R, the length of the longest row.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
        The rows.
    space : {"augmented", "geometric"}, default="augmented"
        "augmented": the length of (x_0, x). "geometric": that of x.
    intercept_scaling : float, default=1.0
        x_0, the constant of augmented rows.

    Returns
    -------
    float
        The length of the longest row.

    See Also
    --------
    rosenblatt.margin : The margin of a hypothesis.
    rosenblatt.mistake_bound : The bound R^2/gamma^2.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> rb.radius([[3, 4], [0, 1]], space="geometric"), rb.radius([[2, 2], [0, 1]])
    (5.0, 3.0)
    """
    check_choice("space", space, SPACES)
    x0 = check_number("intercept_scaling", intercept_scaling)
    return float(row_lengths(validated_matrix(X), x0 if space == "augmented" else 0.0).max())


def mistake_bound(
    X: MatrixLike,
    y: npt.ArrayLike,
    model: LinearModel | None = None,
    *,
    update_margin: float = 0.0,
    step: float = 1.0,
    fit_intercept: bool = True,
    time_limit: float | None = None,
) -> Interval:
    """Bound the number of updates of an online perceptron that starts from zero.

    Without a model, the bound is (R^2 + 2b/rho)/gamma^2 for the widest margin gamma in the augmented space. Both ends of the
    interval are proved; `upper` holds for runs of any number of passes.

    With a model nothing is searched, and `upper` is the bound that the model's own plane proves, including rounding errors. If
    it separates the rows, this is (R^2 + 2b/rho)/margin^2 for runs of any length; otherwise the bound of Freund and Schapire
    for *one* pass over the rows, ((R + D)/gamma)^2 at the best gamma, and at most the number of rows. R and the margin are
    those of the model's `intercept_scaling`.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
        The rows.
    y : array-like of shape (n_rows,)
        The labels.
    model : estimator, tuple (coef, intercept) or None, default=None
        A hypothesis, as for `margin`. None: the widest margin of all hypotheses.
    update_margin : float, default=0.0
        b, the parameter `margin` of the perceptron. With more than two classes b/rho stands for 2b/rho.
    step : float, default=1.0
        rho, the constant `step` of the perceptron.
    fit_intercept : bool, default=True
        If False, planes go through the origin, and rows have no constant.
    time_limit : float or None, default=None
        Seconds for the search and its check, as for `certify`. If the limit is reached, `upper` is infinite.

    Returns
    -------
    Interval
        The bounds `(lower, upper)`. With a model, `lower` is 0.

    Raises
    ------
    ValueError
        If no model is given and the rows are not separable; the message describes the clash.

    See Also
    --------
    rosenblatt.certify : The proof of the widest margin.
    rosenblatt.margin : The margin of a hypothesis.

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
    check_flag("fit_intercept", fit_intercept)
    b, rho = check_number("update_margin", update_margin, or_equal=True), check_number("step", step)
    if model is not None:
        return _bound_by_model(model, X, y, b / rho, bool(fit_intercept))
    certificate = certify(X, y, fit_intercept=fit_intercept, time_limit=time_limit)
    if isinstance(certificate, Inseparable):
        raise ValueError(f"the mistakes of a perceptron on these rows are not bounded, because {describe_clash(certificate)}")
    share = Fraction(b) / Fraction(rho) * (2 if certificate.about.n_planes == 1 else 1)
    squares = longest_row(validated_matrix(X)) + int(fit_intercept) + share
    upper = certified_bound(certificate, share) if isinstance(certificate, Separable) else math.inf
    return Interval(math.nextafter(as_float(squares / certificate.augmented.upper_squared), 0.0), upper)


def certified_bound(certificate: Separable, share: Fraction) -> float:
    """(R^2 + share)/gamma^2 for the widest margin that is proved, rounded up; infinite if it exceeds the largest float."""
    return math.nextafter(as_float((certificate.radius_squared + share) / certificate.augmented.lower_squared), math.inf)


def bound_of_run(
    X: MatrixLike, y: npt.ArrayLike, certificate: Certificate | None, separator: LinearModel | None, *, update_margin: float,
    step: float, fit_intercept: bool, intercept_scaling: float,
) -> float | None:  # fmt: skip
    """The smallest proved bound on the updates of a perceptron from zero, in any number of passes; None if none is proved.

    (R^2 + 2b/rho)/gamma^2 holds for every plane that separates the rows by gamma: that of the certificate, if it is about the
    augmented rows of the run, and that of `separator`, a model that separates the rows, such as the result of the run.
    """
    bounds = [math.inf]
    if isinstance(certificate, Separable):
        same_rows = certificate.about.intercept == fit_intercept and (not fit_intercept or intercept_scaling == 1.0)
        share = Fraction(update_margin) / Fraction(step) * (2 if certificate.about.n_planes == 1 else 1)
        bounds += [certified_bound(certificate, share)] if same_rows else []
    if separator is not None:
        bounds.append(_separator_bound(*_lengths_and_margins(separator, X, y, update_margin / step, fit_intercept)))
    best = min(bounds)
    return best if best < math.inf else None


def _bound_by_model(model: LinearModel, X: MatrixLike, y: npt.ArrayLike, share: float, fit_intercept: bool) -> Interval:
    longest, margins = _lengths_and_margins(model, X, y, share, fit_intercept)
    one_pass = math.inf if margins.min() > 0 else min(float(len(margins)), one_pass_bound(longest, margins))
    return Interval(0.0, min(_separator_bound(longest, margins), one_pass))


def _lengths_and_margins(
    model: LinearModel, X: MatrixLike, y: npt.ArrayLike, share: float, fit_intercept: bool
) -> tuple[float, FloatArray]:
    """The square root of R^2 + 2 share, rounded up, and the margins of all rows, rounded down."""
    found, rows = hypothesis_and_rows(model, X)
    if not fit_intercept and found.intercepts.any():
        raise ValueError("fit_intercept=False is for planes through the origin, but the model has an intercept")
    norms = row_lengths(rows, found.x0 if fit_intercept else 0.0) * (1.0 + found.relative_error)
    margins = found.margins(rows, class_codes(found, y, len(norms)), "augmented") - found.relative_error * norms
    longest = math.hypot(float(norms.max()), math.sqrt(share * (2 if len(found.planes) == 1 else 1)))
    return longest, margins


def _separator_bound(longest: float, margins: FloatArray) -> float:
    """The bound for runs of any length; infinite unless all margins are positive."""
    least = float(margins.min())
    ratio = longest / least if least > 0 else math.inf
    return ratio * ratio * (1.0 + 1e-14)


def one_pass_bound(longest: float, margins: FloatArray) -> float:
    """min over gamma of ((R + D)/gamma)^2: the square of a convex function of s = 1/gamma, R s + |max(0, 1 - s m)|."""

    scale = 2.0 ** -math.frexp(longest)[1]
    R, m = longest * scale, margins * scale

    def height(s: float) -> float:
        return R * s + float(np.linalg.norm(np.maximum(0.0, 1.0 - s * m)))

    low, high = 0.0, math.sqrt(len(m)) / R  # beyond `high` the function exceeds its value at 0, the root of the number of rows
    for _ in range(GOLDEN_SECTION_STEPS):
        left, right = high - GOLDEN_RATIO * (high - low), low + GOLDEN_RATIO * (high - low)
        low, high = (low, right) if height(left) <= height(right) else (left, high)
    return height((low + high) / 2.0) ** 2 * (1.0 + 1e-12)
