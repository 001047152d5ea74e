"""Rows of any width as points of the plane: two of their columns, or their first two principal components.

Problem    u_1, u_2 orthonormal with the largest |Z u|^2, where Z has the columns with mean 0 and deviation 1.
Update     the largest eigenvectors of Z'Z or, if there are more columns than rows, of ZZ'.
Guarantee  the same numbers each time: of u and -u, the one whose largest component is positive.
Reference  K. Pearson, Philosophical Magazine 2 (1901); H. Hotelling, J. Educational Psychology 24 (1933).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_X_y

from ..array_types import FloatArray, IntArray, Matrix, MatrixLike
from ..parallel import one_blas_thread
from ..reporting.story import evenly
from ..reporting.text import comma_list, count, join_and, percent, plural
from .run_request import MAX_CLASSES, MAX_POINTS, RequestError

MAX_SAMPLED_ROWS = 2000
MAX_LISTED_NAMES = 20  # names listed in a message


class PlaneData(NamedTuple):
    """Points of the plane with their classes.

    Attributes
    ----------
    points : ndarray of shape (n_rows, 2)
    codes : ndarray of shape (n_rows,)
        Positions of the classes in `names`.
    names : list of str
        The classes.
    note : str or None
        How the points were made from the rows, unless they are the rows.
    axes : list of str or None
        Names of the coordinates, if they have any.
    """

    points: FloatArray
    codes: IntArray
    names: list[str]
    note: str | None
    axes: list[str] | None

    @property
    def data(self) -> dict[str, Any]:
        """The points as data in the state of a page."""
        named = {} if self.axes is None else {"axes": self.axes}
        return {"points": self.points.tolist(), "labels": self.codes.tolist(), "names": self.names} | named


def to_plane(X: MatrixLike, y: ArrayLike, columns: Sequence[str | int] | None = None) -> PlaneData:
    """Return rows as points of the plane.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_rows, n_columns)
        At least two columns.
    y : array-like of shape (n_rows,)
        Labels of 2 to 6 classes.
    columns : pair of str or int, default=None
        Two columns of X, by name or position. By default both of two columns, or the principal components of more.
    """
    names = [str(name) for name in getattr(X, "columns", ())]
    rows, y = check_X_y(X, y, accept_sparse="csr", dtype=np.float64)
    classes, codes = np.unique(y, return_inverse=True)
    if not 2 <= len(classes) <= MAX_CLASSES:
        raise RequestError(f"y has {len(classes)} classes; the studio shows 2 to {MAX_CLASSES}")
    notes = []
    if len(codes) > MAX_POINTS:
        some = sample(codes)
        notes.append(f"{count(len(some))} of {plural(len(codes), 'row')}, in proportion to the classes")
        rows, codes = rows[some], codes[some]
    points, axes, note = _coordinates(rows, columns, names)
    notes += [note] if note else []
    text = f"Shown here: {'; '.join(notes)}." if notes else None
    return PlaneData(points + 0.0, codes, [str(label) for label in classes.tolist()], text, axes)


def _coordinates(
    rows: Matrix, columns: Sequence[str | int] | None, names: list[str]
) -> tuple[FloatArray, list[str] | None, str | None]:
    """Return (points, names of the axes, note)."""
    width = rows.shape[1]
    if columns is not None:
        chosen = _positions(columns, width, names)
        axes = [names[j] if names else f"column {j}" for j in chosen]
        note = f"the columns {join_and([names[j] if names else str(j) for j in chosen])} of {width}" if width > 2 else None
        return _dense(rows[:, chosen]), axes, note
    if width < 2:
        raise RequestError("X has one column; the studio needs two columns or more")
    if width == 2:
        return _dense(rows), names or None, None
    points, shares = principal_components(_dense(rows))
    axes = [f"principal component {n} ({percent(share, 0)})" for n, share in enumerate(shares, 1)]
    note = f"the first two principal components of {width} columns (standardized), {percent(sum(shares), 0)} of their variance"
    return points, axes, note


def _positions(columns: Sequence[str | int], width: int, names: list[str]) -> list[int]:
    chosen = [columns] if isinstance(columns, str) or not hasattr(columns, "__len__") else list(columns)
    found = []
    for each in chosen:
        if isinstance(each, int | np.integer) and not isinstance(each, bool) and -width <= each < width:
            found.append(int(each) % width)
        elif str(each) in names:
            found.append(names.index(str(each)))
        else:
            known = comma_list(names, MAX_LISTED_NAMES) if names else f"0 to {width - 1}"
            raise RequestError(f"columns: X has no column {each!r}; its columns: {known}")
    if len(found) != 2 or found[0] == found[1]:
        raise RequestError(f"columns must be two different columns, got {columns!r}")
    return found


def _dense(X: Matrix) -> FloatArray:
    return np.asarray(X if isinstance(X, np.ndarray) else X.toarray(), np.float64)


def sample(codes: IntArray) -> IntArray:
    """Return positions of at most MAX_SAMPLED_ROWS rows: evenly spaced, in proportion to the classes, at least one of each."""
    counts = np.bincount(codes)
    if len(codes) <= MAX_SAMPLED_ROWS:
        return np.arange(len(codes))
    shares = np.maximum(1, np.floor(counts * ((MAX_SAMPLED_ROWS - len(counts)) / len(codes)))).astype(int)
    members = [np.flatnonzero(codes == code) for code in range(len(counts))]
    return np.sort(np.concatenate([rows[evenly(len(rows), most)] for rows, most in zip(members, shares, strict=True)]))


def principal_components(X: FloatArray, count: int = 2) -> tuple[FloatArray, FloatArray]:
    """Return (rows x count scores, their shares of the variance); zeros if columns are constant or too few."""
    Z = X - X.mean(axis=0)
    deviations = Z.std(axis=0)
    Z = Z[:, deviations > 0.0] / deviations[deviations > 0.0]
    scores, shares = np.zeros((len(X), count)), np.zeros(count)
    if not Z.size:
        return scores, shares
    with one_blas_thread():
        wide = Z.shape[1] > Z.shape[0]
        values, vectors = np.linalg.eigh(Z @ Z.T if wide else Z.T @ Z)
        for at in range(min(count, len(values))):
            direction = vectors[:, -1 - at]
            direction = Z.T @ direction if wide else direction
            length = float(np.linalg.norm(direction))
            if length == 0.0:
                continue
            direction = direction / length
            sign = np.sign(direction[np.argmax(abs(direction))])
            scores[:, at] = sign * (Z @ direction)
            shares[at] = max(0.0, float(values[-1 - at])) / float(Z.size)
    return scores, shares
