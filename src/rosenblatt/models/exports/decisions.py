r"""Proofs that an export decides the rows of a file as the model does.

Problem    An export has other weights than the model (`reduction.py`), and computes its sums in an order of its own. Which rows
           have, for certain, the label that the model gives them?
Method     A score s = sum_j w_j x_j + b of the exported weights is computed in double precision. Every other computation of it
           in double precision, in any order, with products rounded or not, differs by at most E, see below. If the intervals
           s - E to s + E of all scores (or of all pairs, which vote) allow one label only, the export gives this label.
Guarantee  A row counts as proved only if that label is the one that `Model.predict` gives; rounding is part of the proof. It
           assumes IEEE 754 doubles, and sines, cosines, logarithms and square roots accurate to two units in the last place;
           sines and cosines of parts of dates are those of 2 pi (p - floor(p)), computed in this order.
           Rows whose numbers overflow are never proved.

With u = 2^-53, a feature x = (p - m)/d is made of a product p of at most D inputs, each with a relative error of 4u (none if p
is a column itself), so that its error is at most (4 D + 2) u (|p| + |m|)/d <= (4 D + 2) u (|x| + 2 |m|/d). The sum of n terms
adds n u sum_j |w_j x_j|. Both the export and our own computation have these errors, and E is twice the sum of both, which
covers the rounding of E itself and terms of second order: E = 4 (n + 4 D + 16) u (sum_j |w_j| (|x_j| + 2 |m_j|/d_j) + |b|).
Underflows are counted separately.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ...array_types import FloatArray, IntArray
from ...data.csr import CSRMatrix
from ...preprocessing.recipe import Recipe
from ...reporting.text import count, plural
from ...scores import votes_of_pairs, winners
from ..model import Model, ModelInput
from .reduction import check_prune, reduce, rounded_up

UNIT = 2.0**-53
SMALLEST = 2.0**-1060  # more than an underflow of a product loses


@dataclass(frozen=True)
class DecisionCheck:
    """How many rows an export decides as the model does.

    Parameters
    ----------
    rows : int
        The number of rows.
    proved : int
        Rows that have the label of the model for certain.
    changed : int
        Rows that had another label, as computed here. They are among the rows that are not proved.
    largest_change : float
        No score changed by more than this; of pairs of classes, no score of a pair.
    """

    rows: int
    proved: int
    changed: int
    largest_change: float

    def __str__(self) -> str:
        if self.proved == self.rows:
            first = f"proved unchanged for all {plural(self.rows, 'row')}"
        else:
            first = f"proved unchanged for {count(self.proved)} of {plural(self.rows, 'row')}"
            rest = self.rows - self.proved
            other = f"{count(self.changed)} {'differs' if self.changed == 1 else 'differ'}"
            first += f"; {other}" if self.changed == rest else f"; at most {count(rest)} can differ, {count(self.changed)} did"
        return f"{first}; no score changes by more than {rounded_up(self.largest_change)}"


def check_decisions(
    model: Model, chunks: Iterable[ModelInput], *, prune: float | None = None, float16: bool = False
) -> DecisionCheck:
    """Prove for rows that an export of a model gives them the labels of the model.

    Parameters
    ----------
    model : Model
        The model.
    chunks : iterable of Data, array or sparse matrix
        The rows, as `Model.predict` takes them.
    prune : float, default=None
        As for `export`.
    float16 : bool, default=False
        As for `export`.

    Returns
    -------
    DecisionCheck
        How many rows are proved unchanged, and how many changed.

    See Also
    --------
    export : Write the export.

    Examples
    --------
    >>> import numpy as np, rosenblatt as rb
    >>> from rosenblatt.models.state import model_of
    >>> X = np.random.default_rng(0).normal(size=(1000, 3))
    >>> model = model_of(rb.Perceptron(keep="average", random_state=0).fit(X, X[:, 0] + 0.01 * X[:, 2] > 0))
    >>> check_decisions(model, [X], float16=True).proved
    1000
    >>> print(check_decisions(model, [X], prune=1))  # doctest: +ELLIPSIS
    proved unchanged for 9... of 1,000 rows; ... differ; no score changes by more than ...
    """
    check_prune(prune)
    smaller = reduce(model, "a smaller", prune, float16).model(model)
    limits, own_limits = _Limits.of(smaller), _Limits.of(model)
    rows = proved = changed = 0
    largest = 0.0
    for chunk in chunks:
        X = _features(model, chunk)
        codes, planes = model.winners(model.scores(chunk)), _planes(X, smaller)
        errors = limits.errors(X)
        with np.errstate(invalid="ignore"):
            change = abs(planes - _planes(X, model)) + errors + own_limits.errors(X)
        certain = decided(planes, errors, len(model.classes), model.pairs)
        rows += len(codes)
        proved += int((certain == codes).sum())
        found = winners(votes_of_pairs(planes, len(model.classes)) if model.pairs else planes)
        changed += int((found != codes).sum())
        largest = max(largest, float(np.nan_to_num(change, nan=np.inf).max(initial=0.0)))
    return DecisionCheck(rows, proved, changed, largest)


def decided(planes: FloatArray, errors: FloatArray, n_classes: int, pairs: bool) -> IntArray:
    """Return the index of the label that all scores within the errors have, for each row; -1 if there is no such label."""
    with np.errstate(invalid="ignore", over="ignore"):
        low, high = planes - errors, planes + errors
        known = np.isfinite(low).all(axis=1) & np.isfinite(high).all(axis=1)
        if pairs:
            return np.where(known, _decided_pairs(planes, errors, n_classes), -1)
        if planes.shape[1] == 1:
            return np.where(known & ((low > 0) | (high <= 0))[:, 0], (low[:, 0] > 0).astype(np.intp), -1)
        best = planes.argmax(axis=1)
        rows = np.arange(len(planes))
        others = high.copy()
        others[rows, best] = -np.inf
        return np.where(known & (low[rows, best] > others.max(axis=1)), best, -1)


def _decided_pairs(planes: FloatArray, errors: FloatArray, n_classes: int) -> IntArray:
    """The winner of the votes, if all pairs are decided; equal votes are decided by the fraction of the score."""
    scores = votes_of_pairs(planes, n_classes)
    best, rows = scores.argmax(axis=1), np.arange(len(scores))
    # A fraction is (duels + 0.5/(lost + 1))/k, and its slope in `lost` is at most 0.5/k, which limits what errors of pairs do.
    error = 0.5 * errors.sum(axis=1) / n_classes + 64 * UNIT * n_classes * (1 + n_classes)
    others = scores.copy()
    others[rows, best] = -np.inf
    clear = scores[rows, best] - others.max(axis=1) > 2 * error
    return np.where((abs(planes) > errors).all(axis=1) & clear, best, -1)


def _features(model: Model, chunk: ModelInput) -> FloatArray | CSRMatrix:
    rows = model.features(chunk)
    if isinstance(rows, np.ndarray):
        return rows.astype(np.float64, copy=False)
    return rows if isinstance(rows, CSRMatrix) else CSRMatrix.from_scipy(rows)


def _planes(X: FloatArray | CSRMatrix, model: Model) -> FloatArray:
    assert model.coef is not None
    assert model.intercept is not None
    with np.errstate(over="ignore", invalid="ignore"):
        planes: FloatArray = X @ np.asarray(model.coef, np.float64).T + model.intercept
    return planes


@dataclass(frozen=True)
class _Limits:
    """What bounds the errors of scores: the sizes of the weights, and the constants of each head."""

    sizes: FloatArray  # heads x features
    constant: FloatArray  # of each head
    underflow: FloatArray  # of each head
    operations: int  # of a feature

    @classmethod
    def of(cls, model: Model) -> _Limits:
        assert model.coef is not None
        assert model.intercept is not None
        sizes = abs(np.asarray(model.coef, np.float64))
        constant, underflow, degree = abs(np.asarray(model.intercept, np.float64)), sizes.sum(axis=1), 1
        if isinstance(model.recipe, Recipe):
            numbers = model.recipe.numbers
            own, degree = sizes[:, : numbers.polynomial.width], numbers.degree
            divide = np.ones(own.shape[1]) if numbers.divide is None else numbers.divide
            if numbers.shift is not None:
                rounded = np.ones(own.shape[1], bool)  # columns themselves are exact, products and parts of dates are not
                parts = np.zeros(numbers.polynomial.columns) if numbers.inputs is None else numbers.inputs[:, 1]
                rounded[: numbers.polynomial.columns] = parts != 0
                constant = constant + own @ (2.0 * abs(numbers.shift) * rounded / divide)
            underflow = underflow + own @ (1.0 / divide)
        return cls(sizes, constant, underflow + 1.0, 4 * degree + 16)

    def errors(self, X: FloatArray | CSRMatrix) -> FloatArray:
        """How far another computation of the scores may be away, rows x heads."""
        if isinstance(X, CSRMatrix):
            X = CSRMatrix(abs(X.values), X.indices, X.indptr, X.width)
            terms = np.diff(X.indptr).astype(np.float64)[:, None]
        else:
            X, terms = abs(X), np.full((len(X), 1), float(X.shape[1]))
        with np.errstate(over="ignore", invalid="ignore"):
            found: FloatArray = 4.0 * UNIT * (terms + self.operations) * (X @ self.sizes.T + self.constant)
            return found + (terms + self.operations) * SMALLEST * self.underflow
