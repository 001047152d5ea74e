"""Columns that predict the label alone, where all other columns together do not: leaks of the label, often.

Problem    a column copied from the label, or recorded after it, gives a test error that no new row will have.
Update     the best rule on one column: a threshold (two classes) or an interval for each class, with missing cells at either
           end; or the most frequent label of the other rows with the same text. Where the rule is almost never wrong, the other
           columns are tested: the best of their rules, and a ridge classifier by cross-validation.
Guarantee  errors weigh the classes equally. A column is reported if its rule misclassifies at most 1 %, and if the lower limit
           of the error of the others is at least 5 % and three times the upper limit of the column's (exact 95 % limits,
           corrected for the number of columns). With fewer than about 30 rows, no column can be reported.
Copies     a column with one value for each class, or filled for one class alone, repeats the label, whatever the others tell.
Reference  C. Clopper and E. Pearson, Biometrika 26 (1934); S. Kaufman, S. Rosset and C. Perlich, KDD (2011), on leakage.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeVar

import numpy as np

from ...array_types import Array, BoolArray, FloatArray, IntArray

MAX_ROWS = 5_000  # rows that are examined, evenly spread
MAX_OTHER_FEATURES = 300  # of the ridge classifier
MAX_VALUES_ENCODED = 30  # most frequent values of a column of strings
MAX_ERROR = 0.01
MIN_OTHER_ERROR, MIN_OTHER_RATIO = 0.05, 3.0
CONFIDENCE_LEVEL = 0.95
FOLDS = 3
RIDGE = 1.0


Key = TypeVar("Key", bound=str | int)
MIN_ROWS_COPIED, MIN_ROWS_OF_CLASS = 20, 3  # fewer rows agree by chance


class Leak(NamedTuple):
    """A column that predicts the label alone: its errors among the rows examined, and the share of the best other rule."""

    column: str | int
    errors: int
    rows: int
    other_error: float


def find_leaks(columns: Mapping[Key, Array], codes: IntArray) -> list[Leak]:
    """The columns that predict the labels alone.

    Parameters
    ----------
    columns : mapping of str or int to ndarray
        The cells of each column, by its name or position: floats, with NaN for missing cells, or str and None.
    codes : ndarray of int
        The class code of each row.

    Returns
    -------
    list of Leak

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> codes, noise = rng.integers(0, 2, 200), rng.normal(size=200)
    >>> [leak.column for leak in find_leaks({"noise": noise, "paid": codes * 3.0 + rng.random(200)}, codes)]
    ['paid']
    """
    n = len(codes)
    if n > MAX_ROWS:
        kept = np.linspace(0, n - 1, MAX_ROWS).astype(np.intp)
        columns, codes = {name: cells[kept] for name, cells in columns.items()}, codes[kept]
    classes, codes = np.unique(codes, return_inverse=True)
    if len(columns) < 2 or len(classes) < 2:
        return []
    labels = _Labels(codes, len(classes))
    wrong = {name: _errors_alone(cells, labels) for name, cells in columns.items()}
    exact = {name: found for name, found in wrong.items() if labels.error(found) <= MAX_ERROR}
    others = [name for name in columns if name not in exact]
    if not exact or not others:
        return []
    other = min(labels.error(wrong[name]) for name in others)
    other = min(other, labels.error(_errors_together([columns[name] for name in others], labels)))
    low = labels.limits(other, len(columns))[0]
    found = []
    for name, own in exact.items():
        high = labels.limits(labels.error(own), len(columns))[1]
        if low >= max(MIN_OTHER_ERROR, MIN_OTHER_RATIO * high):
            found.append(Leak(name, int(own.sum()), len(codes), other))
    return found


def find_copies(columns: Mapping[Key, Array], codes: IntArray) -> dict[Key, bool]:
    """The columns that repeat the label, and whether it is by their missing cells alone.

    Parameters
    ----------
    columns : mapping of str or int to ndarray
        The cells of each column, as for `find_leaks`.
    codes : ndarray of int
        The class code of each row.

    Returns
    -------
    dict of str or int to bool

    Examples
    --------
    >>> age, codes = np.arange(20.0), np.arange(20) % 2
    >>> find_copies({"left": codes + 5.0, "left on": np.where(codes == 1, age, np.nan), "age": age}, codes)
    {'left': False, 'left on': True}
    """
    sizes = np.bincount(codes)
    sizes = sizes[sizes > 0]
    if len(codes) < MIN_ROWS_COPIED or len(sizes) < 2 or sizes.min() < MIN_ROWS_OF_CLASS:
        return {}
    found: dict[Key, bool] = {}
    for name, cells in columns.items():
        missing = np.array([cell is None for cell in cells.tolist()]) if cells.dtype.kind == "O" else np.isnan(cells)
        if not missing.any() and _one_to_one(cells, codes, len(sizes)):
            found[name] = False
        elif len(sizes) == 2 and _one_to_one(missing, codes, 2):
            found[name] = True
    return found


def _one_to_one(cells: Array, codes: IntArray, n_classes: int) -> bool:
    """Whether each of the classes has one value of its own."""
    if len(set(cells[: 2 * MIN_ROWS_COPIED].tolist())) > n_classes:
        return False
    pairs = set(zip(cells.tolist(), codes.tolist(), strict=True))
    return len(pairs) == n_classes == len({cell for cell, _ in pairs})


class _Labels:
    """The labels of the rows examined; classes have equal weight."""

    def __init__(self, codes: IntArray, n_classes: int) -> None:
        self.codes, self.n_classes = codes, n_classes
        self.counts = np.bincount(codes, minlength=n_classes)
        self.weights = 1.0 / (n_classes * self.counts[codes])

    def error(self, wrong: BoolArray) -> float:
        """The mean over the classes of the share of rows that are wrong."""
        return float(self.weights[wrong].sum())

    def limits(self, error: float, tests: int) -> tuple[float, float]:
        """Exact limits of an error, as if every class had as few rows as the smallest."""
        from scipy.special import betaincinv

        n = float(self.n_classes * self.counts.min())
        errors, tail = error * n, (1.0 - CONFIDENCE_LEVEL) / tests
        low = 0.0 if errors <= 0.0 else float(betaincinv(errors, n - errors + 1.0, tail))
        high = 1.0 if errors >= n else float(betaincinv(errors + 1.0, n - errors, 1.0 - tail))
        return low, high


# --- One column


def _errors_alone(cells: Array, labels: _Labels) -> BoolArray:
    """The rows that the best rule on a column misclassifies."""
    if cells.dtype.kind == "O":
        return _errors_of_values(cells, labels)
    missing = np.isnan(cells)
    found = _errors_of_intervals(np.where(missing, np.inf, cells), labels)
    if missing.any():
        other = _errors_of_intervals(np.where(missing, -np.inf, cells), labels)
        found = min(found, other, key=labels.error)
    return found


def _errors_of_values(cells: Array, labels: _Labels) -> BoolArray:
    """The rows whose label is not the most frequent one of the other rows with the same value."""
    seen: dict[str | None, int] = {}
    values = np.array([seen.setdefault(cell, len(seen)) for cell in cells.tolist()], np.intp)
    counts = np.zeros((len(seen), labels.n_classes))
    np.add.at(counts, (values, labels.codes), labels.weights)
    others = counts[values]
    own = np.arange(len(values)), labels.codes
    others[own] -= labels.weights
    right = others[own]
    others[own] = -1.0
    return np.asarray(right <= np.maximum(others.max(axis=1), 0.0) + 1e-12)


def _errors_of_intervals(cells: FloatArray, labels: _Labels) -> BoolArray:
    """The rows that a threshold misclassifies; with several classes, those outside the interval of their class."""
    order = np.argsort(cells, kind="stable")
    cells, codes, weights = cells[order], labels.codes[order], labels.weights[order]
    ends = np.append(np.flatnonzero(cells[1:] != cells[:-1]), len(cells) - 1)  # the last row of each distinct value
    wrong = np.zeros(len(cells), bool)
    if labels.n_classes == 2:
        below = np.cumsum(np.where(codes == 0, weights, -weights))[ends]  # class 0 less class 1 up to each threshold
        at = int(abs(below).argmax())
        inside = np.arange(len(cells)) <= ends[at]
        wrong[order] = inside != (codes == (0 if below[at] > 0 else 1))
        return wrong
    taken = np.zeros(len(cells), np.int64)  # intervals that hold a row
    mine = np.zeros(len(cells), bool)
    for code in range(labels.n_classes):
        sums = np.append(0.0, np.cumsum(np.where(codes == code, weights, -weights))[ends])
        lowest = np.minimum.accumulate(sums)
        stop = int((sums - lowest).argmax())
        start = int(sums[: stop + 1].argmin())
        low, high = 0 if start == 0 else ends[start - 1] + 1, 0 if stop == 0 else ends[stop - 1] + 1
        taken[low:high] += 1
        mine[low:high] |= codes[low:high] == code
    wrong[order] = ~mine | (taken > 1)
    return wrong


# --- All columns together


def _errors_together(columns: list[Array], labels: _Labels) -> BoolArray:
    """The rows that a ridge classifier misclassifies, trained on the other folds."""
    X = _features(columns)
    targets = np.eye(labels.n_classes)[labels.codes] - 1.0 / labels.n_classes
    folds = np.empty(len(X), np.intp)
    rng = np.random.default_rng(0)
    for code in range(labels.n_classes):
        rows = rng.permutation(np.flatnonzero(labels.codes == code))
        folds[rows] = np.arange(len(rows)) % FOLDS
    wrong = np.zeros(len(X), bool)
    for fold in range(FOLDS):
        held = folds == fold
        A, w = X[~held], labels.weights[~held] * len(X)
        gram = (A.T * w) @ A + RIDGE * np.eye(A.shape[1])
        coef = np.linalg.solve(gram, (A.T * w) @ targets[~held])
        wrong[held] = (X[held] @ coef).argmax(axis=1) != labels.codes[held]
    return wrong


def _features(columns: list[Array]) -> FloatArray:
    """Standardized numbers, one-hot vectors of frequent values, and a constant."""
    n, parts, width = len(columns[0]), [], 1
    for cells in columns:
        part = _indicators(cells) if cells.dtype.kind == "O" else _standardized(cells)
        if width + part.shape[1] > MAX_OTHER_FEATURES:
            break
        width += part.shape[1]
        parts.append(part)
    return np.hstack([np.ones((n, 1)), *parts])


def _standardized(cells: FloatArray) -> FloatArray:
    missing = ~np.isfinite(cells)
    size = float(abs(cells[~missing]).max(initial=0.0)) or 1.0
    values = np.where(missing, 0.0, cells) / size
    present = max(1, int((~missing).sum()))
    values = np.where(missing, 0.0, values - values.sum() / present)
    deviation = float(np.sqrt(np.square(values).sum() / present)) or 1.0
    found = (values / deviation)[:, None]
    return np.hstack([found, missing[:, None]]) if missing.any() else found


def _indicators(cells: Array) -> FloatArray:
    values, places = np.unique([cell or "" for cell in cells], return_inverse=True)
    kept = np.argsort(-np.bincount(places), kind="stable")[: min(MAX_VALUES_ENCODED, len(values))]
    found: FloatArray = (places[:, None] == kept).astype(np.float64)
    return found
