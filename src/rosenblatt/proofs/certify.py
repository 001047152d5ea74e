"""`certify`: whether planes separate the classes, with a proof.

Problem    find W with (w_l - w_z).x + b_l - b_z > 0 for every row x of class l and every z != l, and the widest margin of
           all such W; or convex weights of rows against rivals that sum to zero.
Update     the nearest points of convex hulls, in floats (`svm/nearest_points.py`, `svm/hard_margin.py`); in fractions if
           floats cannot decide (`svm/exact_separation.py`). The result is then made exact: the planes are the fractions that
           the floats represent, and their smallest margin and the length of the combination of rows are computed exactly.
Guarantee  lower <= widest margin <= upper, as fractions; and `verify` checks every certificate before it is returned.
Reference  P. Wolfe, Math. Programming 11 (1976); P. Gordan, Math. Annalen 6 (1873); A. Novikoff (1962).
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.utils import check_X_y
from sklearn.utils.multiclass import check_classification_targets

from ..array_types import Array, IntArray, Matrix, MatrixLike
from ..certificates.data import Data
from ..certificates.digit_budget import CertificateTooLargeError
from ..certificates.exact_arrays import check_exact, exact_matrix, label_text
from ..certificates.statements import Certificate
from ..certificates.verify import CheckCode, verify
from ..data.problem import classes_and_codes
from ..parallel import one_blas_thread
from ..validation import check_flag, check_number
from .prover import SeveralClasses, TwoClasses


def certify(
    X: MatrixLike, y: npt.ArrayLike, *, fit_intercept: bool = True, time_limit: float | None = None, verbose: int = 0
) -> Certificate:
    """Prove that planes separate the classes, and with which margin, or that no planes do.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
        The rows.
    y : array-like of shape (n_rows,)
        Labels of two or more classes. With k > 2 classes, k weight vectors must give every row's own class the largest score.
    fit_intercept : bool, default=True
        Whether planes have an intercept. If False, they go through the origin.
    time_limit : float or None, default=None
        Seconds for the search. The exact computation and the check at the end take additional time. If the limit is reached
        first, the certificate is `Undecided` and states the bounds proved so far.
    verbose : int, default=0
        1 writes a line to stderr for each pass over the rows.

    Returns
    -------
    Separable, Inseparable or Undecided
        The certificate, checked by `rosenblatt.verify`. It can be printed, and saved with `rosenblatt.save_certificate`.

    Raises
    ------
    ValueError
        If X or y is invalid; as its subclass `CertificateTooLargeError`, if the proof is too large to be checked.

    See Also
    --------
    rosenblatt.verify : Check a certificate.
    rosenblatt.save_certificate : Write a certificate to a file.
    rosenblatt.doctor : Find out why a perceptron does not converge.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> certificate = rb.certify([[0, 0], [1, 0], [3, 4], [4, 4]], [0, 0, 1, 1])
    >>> certificate.verdict, certificate.geometric.upper, certificate.mistake_bound.upper
    ('separable', 2.23606797749979, 41.25000000000001)
    >>> print(rb.certify([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]))  # doctest: +NORMALIZE_WHITESPACE
    not separable: the segment between rows 1 and 4 intersects the segment between rows 2 and 3,
    which have another label.
    """
    check_flag("fit_intercept", fit_intercept)
    deadline = math.inf if time_limit is None else time.monotonic() + check_number("time_limit", time_limit)
    given = validated_rows(X, y, "certify")
    certificate = unchecked_certificate(given, bool(fit_intercept), deadline, bool(verbose))
    check = verify(certificate, given.X, given.y)
    if check.code is CheckCode.TOO_LARGE:
        raise CertificateTooLargeError("a proof was found, but it is too large to be checked; scale the features")
    if not check:
        raise AssertionError(f"certify found an incorrect proof; please report this error: {check}")
    return certificate


def unchecked_certificate(given: LabeledRows, intercept: bool, deadline: float, verbose: bool = False) -> Certificate:
    """The certificate before the check."""
    prover = (TwoClasses if given.n_classes == 2 else SeveralClasses)(given, intercept, deadline, verbose)
    with one_blas_thread():
        return prover.certificate()


# --- validation of rows and labels -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LabeledRows:
    """Rows as a C-ordered float array or a CSR matrix, and the position of each row's label among the sorted classes."""

    X: Matrix
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
    matrix = exact_rows(X)
    with np.errstate(over="ignore", invalid="ignore"):  # the finiteness check sums X, which may overflow
        rows, labels = check_X_y(
            matrix, y, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", accept_large_sparse=True
        )
    check_exact(matrix, y)
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
    return LabeledRows(rows, labels, classes, codes)


def exact_rows(X: MatrixLike) -> Matrix:
    """X as an array or a CSR matrix without duplicates, if float64 holds all its numbers; raises `ValueError` otherwise."""
    matrix = exact_matrix(X)
    if isinstance(matrix, np.ndarray):
        return matrix
    return sp.csr_array((matrix.data, matrix.indices, matrix.indptr), matrix.shape)
