"""Rows and labels as proofs want them: validated once, the classes sorted, their names as certificates have them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_X_y
from sklearn.utils.multiclass import check_classification_targets

from ..certificates.data import Data, as_array, check_exact, label_text
from ..data.labels import classes_and_codes


@dataclass(frozen=True)
class Labelled:
    """A C-ordered float array or a CSR matrix, and the position of each row's label among the sorted classes."""

    X: Any
    y: Any
    classes: Any
    codes: Any

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    @property
    def dense(self) -> bool:
        return isinstance(self.X, np.ndarray)

    @cached_property
    def data(self) -> Data:
        return Data(self.X, self.y)


def labelled(X: Any, y: Any, who: str, at_most: int | None = None) -> Labelled:
    """Validate rows and labels; `who` asks for them, and takes so many classes."""
    check_exact_input(X)
    with np.errstate(over="ignore", invalid="ignore"):  # the finiteness check sums X, which may overflow on its way
        X, y = check_X_y(X, y, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", accept_large_sparse=True)
    if y.dtype.kind not in "biuSU":
        check_classification_targets(y)
    classes, codes = classes_and_codes(y)
    if len(classes) < 2:
        raise ValueError(f"{who} needs at least two classes to tell apart: y has only one class, {classes.tolist()[0]!r}")
    if at_most is not None and len(classes) > at_most:
        raise ValueError(f"{who} is for {at_most} classes, y has {len(classes)}")
    names = [label_text(label) for label in classes.tolist()]
    if len(set(names)) < len(names):
        raise ValueError(f"two labels of y read the same, as text or as numbers, got {classes.tolist()}: give them other names")
    try:
        "".join(names).encode()
    except UnicodeEncodeError:
        raise ValueError(f"a label of y cannot be written as text, got {classes.tolist()}") from None
    if not isinstance(X, np.ndarray):
        X = sp.csr_array(X)  # a view
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
    return Labelled(X, y, classes, codes)


def check_exact_input(X: Any) -> None:
    """Whole numbers over 2^53 and long doubles, where float64 would round them, are refused: proofs would be about others."""
    if hasattr(X, "dtypes") and hasattr(X, "to_numpy"):
        parts: list[Any] = [column.to_numpy() for _, column in X.items()]
    else:
        parts = [X.data if sp.issparse(X) else as_array(X)]
    for part in parts:
        if part.dtype.kind in "iuf" or (part.dtype.kind == "O" and all(isinstance(v, int) for v in part.ravel())):
            check_exact(part)
