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
from ..certificates.exact_arrays import canonical_label, check_exact, check_present, exact_matrix
from ..certificates.statements import Certificate
from ..certificates.time_limit import OutOfTimeError, run_until
from ..certificates.verify import CheckCode, check_certificate
from ..data.problem import classes_and_codes
from ..parallel import one_blas_thread
from ..validation import check_flag, check_number
from .exact_face import with_likelihood
from .prover import SeveralClasses, TwoClasses

SECONDS_PER_ROW, SECONDS_PER_PRODUCT = 5e-6, 1e-7  # of the final check
MIN_CHECK_SHARE = 0.1  # share of the limit kept for the final check, which takes longer if numbers have many digits
SECONDS_PER_BOUND_VALUE, MAX_BOUNDS_SHARE = 4e-6, 0.6  # of the bounds from two rows, and the share of the limit kept for them
CHECK_GRACE_S, CHECK_GRACE_SHARE = 0.05, 0.05  # a check that ends this much after the time limit is not interrupted


def certify(
    X: MatrixLike,
    y: npt.ArrayLike,
    *,
    fit_intercept: bool = True,
    time_limit: float | None = None,
    likelihood: bool = False,
    verbose: int = 0,
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
        Seconds for the whole call, including the exact computation and the check at the end. Statements that cannot be proved
        and checked in time are left out: the certificate is then `Undecided` and states the bounds proved so far. Reading the
        rows, computing their digest, and the bound that two rows prove are never interrupted.
    likelihood : bool, default=False
        Whether to find out, by linear programs, if logistic regression without a penalty has an optimum: the attribute
        `separation` is then "complete", "quasi-complete" or "overlap", and `likelihood` has the proof. Without it, `separation`
        is "complete" for separable rows, else None; it is None as well if the time limit ends before the proof.
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
    >>> rb.certify([[0], [1], [1], [2]], [0, 0, 1, 1], likelihood=True).separation
    'quasi-complete'
    """
    check_flag("fit_intercept", fit_intercept)
    check_flag("likelihood", likelihood)
    started = time.monotonic()
    seconds = math.inf if time_limit is None else check_number("time_limit", time_limit)
    given = validated_rows(X, y, "certify")
    return certify_rows(given, bool(fit_intercept), started, seconds, likelihood=bool(likelihood), verbose=bool(verbose))


def certify_rows(
    given: LabeledRows,
    fit_intercept: bool,
    started: float,
    seconds: float,
    *,
    likelihood: bool = False,
    verbose: bool = False,
    refines: bool = True,
) -> Certificate:
    """`certify` for validated rows; `started` is the time of `time.monotonic` from which the limit in seconds counts.

    refines : whether margins that floats leave inaccurate are computed again in fractions.
    """
    deadline = started + seconds
    _ = given.data.sha256  # part of every certificate, and so computed before the search, which gets the rest of the time
    # The search leaves time to check planes, unless that takes more than half of it; a clash is checked in no time.
    left = deadline - time.monotonic()
    reserve = max(_seconds_to_check(given), MIN_CHECK_SHARE * left if left < math.inf else 0.0)
    search_deadline = deadline - (reserve if reserve < left / 2 else 0.0)
    kind = TwoClasses if given.n_classes == 2 else SeveralClasses
    prover = kind(given, fit_intercept, search_deadline, verbose)
    prover.refines = refines
    try:
        with one_blas_thread(), run_until(deadline - min(_seconds_for_bounds(given), MAX_BOUNDS_SHARE * seconds)):
            certificate = prover.certificate()
            if likelihood and (more := with_likelihood(certificate, given, search_deadline)) is not certificate:
                certificate = _accepted(more, given) or certificate
        with run_until(deadline + max(CHECK_GRACE_S, CHECK_GRACE_SHARE * seconds)):
            return _checked(certificate, given)
    except OutOfTimeError:
        return _checked(prover.bounds_in_no_time(), given)


def _accepted(certificate: Certificate, given: LabeledRows) -> Certificate | None:
    """The certificate with the kind of separation, if the checker accepts it before time runs out."""
    try:
        return certificate if check_certificate(certificate, lambda: given.data) else None
    except OutOfTimeError:
        return None


def _seconds_to_check(given: LabeledRows) -> float:
    """The time to check planes on all rows, roughly."""
    n_planes = 1 if given.n_classes == 2 else given.n_classes
    return SECONDS_PER_ROW * given.data.n_rows + SECONDS_PER_PRODUCT * given.data.n_values * (1 + 2 * n_planes)


def _seconds_for_bounds(given: LabeledRows) -> float:
    """The time to compute and check the bounds from two rows, which take the place of a proof that is not ready in time."""
    return SECONDS_PER_BOUND_VALUE * given.data.n_values / given.data.n_rows


def _checked(certificate: Certificate, given: LabeledRows) -> Certificate:
    """The certificate, if the independent checker accepts it."""
    check = check_certificate(certificate, lambda: given.data)
    if check.code is CheckCode.TOO_LARGE:
        raise CertificateTooLargeError("a proof was found, but it is too large to be checked; scale the features")
    if not check:
        raise AssertionError(f"certify found an incorrect proof; please report this error: {check}")
    return certificate


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
    check_present(y)
    with np.errstate(over="ignore", invalid="ignore"):  # the finiteness check sums X, which may overflow
        rows, labels = check_X_y(
            matrix, y, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", accept_large_sparse=True
        )
    check_exact(matrix, y)
    if labels.dtype.kind not in "biuSU":
        check_classification_targets(labels)
    classes, codes = classes_and_codes(labels)
    check_classes(classes, caller, max_classes)
    return LabeledRows(rows, labels, classes, codes)


def check_classes(classes: Array, caller: str, max_classes: int | None = None) -> None:
    """Raise `ValueError` unless there are two or more classes whose names differ. `caller` is the function named in errors."""
    if len(classes) < 2:
        raise ValueError(f"{caller} needs at least two classes, but y has only one: {classes.tolist()[0]!r}")
    if max_classes is not None and len(classes) > max_classes:
        raise ValueError(f"{caller} supports {max_classes} classes, but y has {len(classes)}")
    names = [canonical_label(label) for label in classes.tolist()]
    if len(set(names)) < len(names):
        raise ValueError(f"two labels of y are equal as text or as numbers, got {classes.tolist()}; rename one of them")
    try:
        "".join(names).encode()
    except UnicodeEncodeError:
        raise ValueError(f"a label of y cannot be encoded as UTF-8, got {classes.tolist()}; rename it") from None


def exact_rows(X: MatrixLike) -> Matrix:
    """X as an array or a CSR matrix without duplicates, if float64 holds all its numbers; raises `ValueError` otherwise."""
    matrix = exact_matrix(X)
    if isinstance(matrix, np.ndarray):
        return matrix
    return sp.csr_array((matrix.data, matrix.indices, matrix.indptr), matrix.shape)
