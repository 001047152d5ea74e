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
from fractions import Fraction
from typing import Any

import numpy as np

from ..certificates.statements import Inseparable, Interval, Separable, as_float
from ..validation import flag, number, one_of
from .certify import certify
from .exact_margins import longest_row
from .hypothesis import class_codes, hypothesis_and_rows, lengths, real_rows

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
    >>> rb.Perceptron(max_passes=None).fit(X, y).n_updates_ <= bound.upper
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
