"""Rows of any width as points of the plane: two of their columns, or their first two principal components."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_X_y

from .components import principal
from .request import MOST_CLASSES, MOST_POINTS, RequestError
from .table import sample


class Flat(NamedTuple):
    points: Any  # rows x 2
    codes: Any
    names: list[str]
    note: str | None  # what was left out or made of the rows, if anything was
    axes: list[str] | None  # what the two coordinates are, where that has a name

    @property
    def data(self) -> dict[str, Any]:
        """As the state of a page has it."""
        named = {} if self.axes is None else {"axes": self.axes}
        return {"points": self.points.tolist(), "labels": self.codes.tolist(), "names": self.names} | named


def flat(X: Any, y: Any, columns: Any = None) -> Flat:
    """columns : two of X's, by name or position; None: all where there are two, principal components where there are more."""
    names = [str(name) for name in getattr(X, "columns", ())]
    X, y = check_X_y(X, y, accept_sparse="csr", dtype=np.float64)
    classes, codes = np.unique(y, return_inverse=True)
    if not 2 <= len(classes) <= MOST_CLASSES:
        raise RequestError(f"the studio shows 2 to {MOST_CLASSES} classes, and y has {len(classes)}")
    told = []
    if len(codes) > MOST_POINTS:
        some = sample(codes)
        told.append(f"{len(some):,} of {len(codes):,} rows, of each class its share")
        X, codes = X[some], codes[some]
    width, axes = X.shape[1], names or None
    if columns is not None:
        chosen = _positions(columns, width, names)
        points, axes = _dense(X[:, chosen]), [names[j] if names else f"column {j}" for j in chosen]
        if width > 2:
            told.append(f"the columns {' and '.join(names[j] if names else str(j) for j in chosen)} of {width}")
    elif width == 2:
        points = _dense(X)
    elif width < 2:
        raise RequestError("the studio needs two columns or more, and X has one")
    else:
        points, shares = principal(_dense(X))
        axes = [f"principal component {n} ({share:.0%})" for n, share in enumerate(shares, 1)]
        told.append(
            f"the first two principal components of {width} columns (standardised), {sum(shares):.0%} of their variance"
        )
    note = f"Shown here: {'; '.join(told)}." if told else None
    return Flat(points + 0.0, codes, [str(each) for each in classes.tolist()], note, axes)


def _positions(columns: Any, width: int, names: list[str]) -> list[int]:
    chosen = [columns] if isinstance(columns, str) or not hasattr(columns, "__len__") else list(columns)
    found, there = [], f"; it has {', '.join(names[:20])}" if names else f"; it has {width}"
    for each in chosen:
        if isinstance(each, int | np.integer) and not isinstance(each, bool) and -width <= each < width:
            found.append(int(each) % width)
        elif str(each) in names:
            found.append(names.index(str(each)))
        else:
            raise RequestError(f"columns: X has no column {each!r}{there}")
    if len(found) != 2 or found[0] == found[1]:
        raise RequestError(f"columns must be two different ones, got {columns!r}")
    return found


def _dense(X: Any) -> Any:
    return np.asarray(X.toarray() if sp.issparse(X) else X, np.float64)
