"""Calibration: the map that fits scores to the classes of their rows, which must be rows that the model was not fitted on.

Problem    min - sum_i c_i sum_k t_ik log P(k | f_i) over maps of a kind; isotonic maps minimize the squared error instead.
Guarantee  No map turns the order of scores around. The targets t_ik are Platt's, which leave room for one more row of each
           class, and of a temperature, which all classes share, for one more row in all: probabilities of sigmoids and
           temperatures stay between 0 and 1 where no row is misclassified.
Reference  J. Platt (1999), with the Newton steps of H.-T. Lin, C.-J. Lin and R. Weng, Machine Learning 68 (2007).
"""

from __future__ import annotations

import numpy as np

from ..array_types import BoolArray, FloatArray, IntArray
from .maps import Isotonic, ProbabilityMap, Sigmoid, Temperature

MAX_NEWTON_STEPS = 100
NEWTON_RTOL = 1e-12  # of the decrease that a Newton step promises, relative to the loss
MAX_TEMPERATURE = 1e300


def fit_map(
    kind: str, scores: FloatArray, codes: IntArray, n_classes: int, weights: FloatArray | None = None
) -> ProbabilityMap:
    """Fit a map of a kind.

    Parameters
    ----------
    kind : {"sigmoid", "isotonic", "temperature"}
        The kind.
    scores : ndarray of shape (n_rows, n_heads)
        The scores.
    codes : ndarray of shape (n_rows,)
        The position of each row's class.
    n_classes : int
        The number of classes.
    weights : ndarray of shape (n_rows,), default=None
        The weight of each row.

    Returns
    -------
    ProbabilityMap
        The map.
    """
    scores = np.asarray(scores, np.float64)
    c = np.ones(len(codes)) if weights is None else np.asarray(weights, np.float64)
    if kind == "temperature":
        return Temperature(_temperature(scores, codes, n_classes, c))
    heads = [1] if scores.shape[1] == 1 else range(n_classes)
    pairs = [(scores[:, head], codes == positive) for head, positive in enumerate(heads)]
    if kind == "sigmoid":
        planes = np.array([_sigmoid(f, positive, c) for f, positive in pairs])
        return Sigmoid(planes[:, 0].copy(), planes[:, 1].copy())
    corners = [_isotonic(f, positive, c) for f, positive in pairs]
    counts = np.array([len(x) for x, _ in corners], np.int64)
    return Isotonic(np.concatenate([x for x, _ in corners]), np.concatenate([y for _, y in corners]), counts)


def _sigmoid(f: FloatArray, positive: BoolArray, c: FloatArray) -> tuple[float, float]:
    """Return a >= 0 and b of one head."""
    scale = float(np.abs(f).max()) or 1.0
    f, up, down = f / scale, float(c[positive].sum()), float(c[~positive].sum())
    t = np.where(positive, (up + 1.0) / (up + 2.0), 1.0 / (down + 2.0))
    base = float(c @ t) / float(c.sum())
    a, b = 0.0, float(np.log(base / (1.0 - base)))
    loss = _cross_entropy(a, b, f, t, c)
    for _ in range(MAX_NEWTON_STEPS):
        p = _expit(a * f + b)
        g, h = c * (p - t), c * p * (1.0 - p)
        g_a, g_b = float(g @ f), float(g.sum())
        h_ab, h_b = float(h @ f), float(h.sum()) + 1e-12
        h_a = float(h @ (f * f)) + 1e-12
        determinant = h_a * h_b - h_ab * h_ab
        step_a, step_b = -(h_b * g_a - h_ab * g_b) / determinant, -(h_a * g_b - h_ab * g_a) / determinant
        promised = -(g_a * step_a + g_b * step_b)
        if promised <= NEWTON_RTOL * loss:
            break
        rate = 1.0
        while rate > 1e-10:
            trial = _cross_entropy(a + rate * step_a, b + rate * step_b, f, t, c)
            if trial <= loss - 1e-4 * rate * promised:
                break
            rate /= 2.0
        else:
            break
        a, b, loss = a + rate * step_a, b + rate * step_b, trial
    if a < 0.0:  # the best increasing map is then constant
        return 0.0, float(np.log(base / (1.0 - base)))
    return a / scale, b


def _cross_entropy(a: float, b: float, f: FloatArray, t: FloatArray, c: FloatArray) -> float:
    z = a * f + b
    return float(c @ (np.logaddexp(0.0, z) - t * z))


def _expit(z: FloatArray) -> FloatArray:
    p: FloatArray = 0.5 * (1.0 + np.tanh(0.5 * z))
    return p


def _temperature(scores: FloatArray, codes: IntArray, n_classes: int, c: FloatArray) -> float:
    """Return T of the softmax: a safeguarded Newton search for 1/T, whose loss is convex."""
    scale = float(np.abs(scores).max()) or 1.0
    f = scores / scale
    if f.shape[1] == 1:
        f = np.concatenate([np.zeros_like(f), f], axis=1)
    own = f[np.arange(len(f)), codes]
    rest = 1.0 / (float(c.sum()) + 2.0)
    wanted = float(c @ ((1.0 - rest) * own + rest * (f.sum(axis=1) - own) / (n_classes - 1)))

    def slope(inverse: float) -> tuple[float, float]:
        z = inverse * f
        p = np.exp(z - z.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        mean = (p * f).sum(axis=1)
        return float(c @ mean) - wanted, float(c @ (p * (f - mean[:, None]) ** 2).sum(axis=1))

    low, high = 0.0, 1.0
    if slope(0.0)[0] >= 0.0:  # scores that do not help
        return MAX_TEMPERATURE
    while slope(high)[0] < 0.0 and high < 1e12:
        low, high = high, 2.0 * high
    inverse = 0.5 * (low + high)
    for _ in range(MAX_NEWTON_STEPS):
        g, h = slope(inverse)
        low, high = (inverse, high) if g < 0.0 else (low, inverse)
        step = inverse - g / h if h > 0.0 else low
        after = step if low < step < high else 0.5 * (low + high)
        if abs(after - inverse) <= 1e-14 * inverse:
            break
        inverse = after
    return min(scale / inverse, MAX_TEMPERATURE)


def _isotonic(f: FloatArray, positive: BoolArray, c: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the corners of the increasing step function of least squared error (pool adjacent violators)."""
    from scipy.optimize import isotonic_regression

    x, place = np.unique(f, return_inverse=True)
    weights = np.bincount(place, weights=c, minlength=len(x))
    means = np.bincount(place, weights=c * positive, minlength=len(x)) / weights
    y = np.clip(isotonic_regression(means, weights=weights).x, 0.0, 1.0)
    corner = np.ones(len(x), bool)  # points within a level are on the line between its ends
    corner[1:-1] = (y[1:-1] != y[:-2]) | (y[1:-1] != y[2:])
    return x[corner], y[corner]
