"""`certify`: whether planes separate the classes, with the proof.

Problem    find W with (w_l - w_z).x + b_l - b_z > 0 for every row x of class l and every z != l, and the widest margin of
           all such W; or convex weights of rows against rivals that sum to zero.
Update     the nearest points of hulls, in floats (`direct/nearest.py`, `direct/hard_margin.py`); where those cannot tell, in
           fractions (`direct/exact.py`). Whatever floats found is then made exact: the planes are the fractions that the
           floats are, their smallest margin is computed exactly, and so is the length of the combination of rows.
Guarantee  lower <= widest margin <= upper, as fractions; and before a certificate is given away, `verify` has checked it.
Reference  P. Wolfe, Math. Programming 11 (1976); P. Gordan, Math. Annalen 6 (1873); A. Novikoff (1962).
"""

from __future__ import annotations

import math
import time
from typing import Any

from ..certificates.statements import Certificate
from ..certificates.verify import verify
from ..parallel import one_blas_thread
from ..validation import flag, number
from .inputs import Labelled, labelled
from .several_classes import SeveralClasses
from .two_classes import TwoClasses


def certify(X: Any, y: Any, fit_intercept: bool = True, time_limit: float | None = None, *, verbose: int = 0) -> Certificate:
    """Prove that planes separate the classes, and how widely, or that none do.

    X : array, data frame or sparse matrix of shape (rows, features).
    y : labels of two or more classes. With k > 2 classes, k weight vectors must give every row's own class the largest score.
    fit_intercept : False: planes go through the origin.
    time_limit : seconds for the search, or None; what is then computed exactly and checked takes its own time. What is not
        decided by then is `Undecided`, with the bounds that are proved so far.
    verbose : 1 writes a line to stderr for each pass over the rows.

    Returns `Separable`, `Inseparable` or `Undecided`; each has been checked by `rb.verify`, can be printed, and saved with
    `rb.save_certificate`.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> certificate = rb.certify([[0, 0], [1, 0], [3, 4], [4, 4]], [0, 0, 1, 1])
    >>> certificate.verdict, certificate.geometric.upper, certificate.mistake_bound.upper
    ('separable', 2.23606797749979, 41.25000000000001)
    >>> print(rb.certify([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]))
    not separable: these 4 rows cannot be separated: the segment between rows 0 and 3 meets that between rows 1 and 2.
    """
    flag("fit_intercept", fit_intercept)
    deadline = math.inf if time_limit is None else time.monotonic() + number("time_limit", time_limit)
    given = labelled(X, y, "certify")
    certificate = certificate_of(given, bool(fit_intercept), deadline, bool(verbose))
    check = verify(certificate, given.X, given.y)
    if "too" in check.sentence and not check:
        raise ValueError(f"the proof was found, but {check.sentence.removeprefix('rejected: ')}: scale the features")
    if not check:
        raise AssertionError(f"a proof of ours is wrong, please report it: {check}")
    return certificate


def certificate_of(given: Labelled, intercept: bool, deadline: float, verbose: bool = False) -> Certificate:
    """The certificate, not yet checked."""
    task = (TwoClasses if given.n_classes == 2 else SeveralClasses)(given, intercept, deadline, verbose)
    with one_blas_thread():
        return task.certificate()
