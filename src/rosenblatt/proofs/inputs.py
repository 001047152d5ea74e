"""Validation of the rows and labels that proofs are about."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.utils import check_X_y
from sklearn.utils.multiclass import check_classification_targets

from ..array_types import Array, IntArray, MatrixLike
from ..certificates.data import Data, as_array, check_exact, label_text
from ..data.problem import classes_and_codes


@dataclass(frozen=True)
class LabeledRows:
    """Rows as a C-ordered float array or a CSR matrix, and the position of each row's label among the sorted classes."""

    X: Any
    y: Array
    classes: Array
    codes: IntArray

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    @property
    def dense(self) -> bool:
        return isinstance(self.X, np.ndarray)

    @cached_property
    def data(self) -> Data:
        return Data(self.X, self.y)


def validated_rows(X: MatrixLike, y: npt.ArrayLike, caller: str, max_classes: int | None = None) -> LabeledRows:
    """Validate rows and labels. `caller` is the function named in error messages."""
    check_exact_input(X)
    with np.errstate(over="ignore", invalid="ignore"):  # the finiteness check sums X, which may overflow
        rows, labels = check_X_y(X, y, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", accept_large_sparse=True)
    if labels.dtype.kind not in "biuSU":
        check_classification_targets(labels)
    classes, codes = classes_and_codes(labels)
    if len(classes) < 2:
        raise ValueError(f"{caller} needs at least two classes, but y has only one: {classes.tolist()[0]!r}")
    if max_classes is not None and len(classes) > max_classes:
        raise ValueError(f"{caller} supports {max_classes} classes, but y has {len(classes)}")
    names = [label_text(label) for label in classes.tolist()]
    if len(set(names)) < len(names):
        raise ValueError(f"two labels of y are equal as text or as numbers, got {classes.tolist()}; rename one of them")
    try:
        "".join(names).encode()
    except UnicodeEncodeError:
        raise ValueError(f"a label of y cannot be encoded as UTF-8, got {classes.tolist()}; rename it") from None
    if not isinstance(rows, np.ndarray):
        rows = sp.csr_array(rows)  # a view
        if not rows.has_canonical_format:
            rows = rows.copy()
            rows.sum_duplicates()
    return LabeledRows(rows, labels, classes, codes)


def check_exact_input(X: MatrixLike) -> None:
    """Reject integers above 2^53 and long doubles that float64 would round: the proof would be about other numbers."""
    if hasattr(X, "dtypes") and hasattr(X, "items"):
        parts = [column.to_numpy() for _, column in X.items()]  # a data frame
    else:
        parts = [X.data if isinstance(X, sp.sparray | sp.spmatrix) else as_array(X)]
    for part in parts:
        if part.dtype.kind in "iuf" or (part.dtype.kind == "O" and all(isinstance(v, int) for v in part.ravel())):
            check_exact(part)
