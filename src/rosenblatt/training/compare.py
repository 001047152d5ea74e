"""Compare algorithms: their fits on all rows, and their errors on the same rows that they have not seen."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from ..array_types import BoolArray, IntArray
from ..catalog import ALGORITHMS
from ..data.csr import CSRMatrix
from ..data.problem import classes_and_codes
from ..data.readers.several import Files
from ..data.table import Data, typed_labels
from ..online.run import OutOfRangeError
from ..progress import ProgressCallback
from ..proofs.doctor.findings import Finding
from ..svm.not_separable import NotSeparable
from .consultation import consult
from .metrics import Confusion
from .preparation import Prepared, Split, check_classes, hold_out, prepare, require_labels
from .request import Request
from .split import assign_folds
from .train import fit, predict_codes
from .training_proofs import training_margin

# Work (rows times stored values) up to which algorithms that scan all rows for each update run by default.
MAX_FULL_SCAN_WORK = 1 << 32
# Folds without a request, of tables up to a number of cells; of larger ones, rows are held out. Intervals of ten folds are less
# than half as long as those of five, but chance matters less in large tables.
DEFAULT_FOLDS = {300_000: 10, 20_000_000: 5}


@dataclass(frozen=True)
class Entry:
    """The result of one algorithm: its errors, or the reason of its failure."""

    algorithm: str
    train: Confusion | None = None
    test: Confusion | None = None
    margin: float | None = None
    n_iter: int | None = None
    updates: int | None = None
    stop: str = ""
    seconds: float = 0.0
    failed: str = ""
    wrong: BoolArray | None = None  # which of the rows that decide are misclassified

    @property
    def judged(self) -> Confusion | None:
        """The errors that decide: on rows not trained on, or on the training rows if there are no others."""
        return self.train if self.test is None else self.test

    @property
    def rank_key(self) -> tuple[float, float, float]:
        """Deciding error, training error and time; smaller is better."""
        if self.train is None or self.judged is None:
            return (math.inf, math.inf, math.inf)
        return (self.judged.error, self.train.error, self.seconds)

    def to_dict(self) -> dict[str, Any]:
        result: dict[str, Any] = {"algorithm": self.algorithm, "failed": self.failed or None}
        if self.train is None:
            return result
        return result | {
            "training": self.train.to_dict(),
            "test": None if self.test is None else self.test.to_dict(),
            "margin": self.margin,
            "n_iter": self.n_iter,
            "updates": self.updates,
            "stop": self.stop,
            "seconds": self.seconds,
        }


@dataclass(frozen=True)
class Comparison:
    """The rows that all algorithms get.

    Parameters
    ----------
    whole : Prepared
        The rows of the fits that are described; its test rows decide, if it has any.
    folds : tuple of Prepared, default=()
        The folds of a cross-validation, whose test rows decide: each row of the file once.
    findings : tuple of Finding, default=()
        What was noticed in the rows; their sentences are among the notes.
    """

    whole: Prepared
    folds: tuple[Prepared, ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def fold(self) -> IntArray | None:
        """The fold of each row that decides; None without folds."""
        if not self.folds:
            return None
        return np.repeat(np.arange(len(self.folds)), [len(cast(IntArray, part.codes_test)) for part in self.folds])


def prepare_comparison(request: Request) -> Comparison:
    """Read the rows of a request and make their features, once for all algorithms.

    Without a test file and a share to hold out, the test is a cross-validation, unless rows are many or a class has only one.
    """
    with Files(request.files) as files:
        data = files.read(request.options)
    classes, codes = classes_and_codes(typed_labels(require_labels(data)))
    check_classes(data.source, classes, data.n_rows)
    if request.test is not None or request.holdout is not None:
        return _consulted(request, data, prepare(request, hold_out(request, data)))
    fewest = int(np.bincount(codes).min())
    n_folds = request.cv or min(fewest, _default_folds(data))
    if n_folds < 2:
        return _consulted(request, data, prepare(request, hold_out(request, data)))
    fold = assign_folds(codes, n_folds, request.seed, classes.tolist())
    untested = replace(request, cv=None, holdout=0.0)
    parts = (prepare(untested, Split(data.take(fold != number), data.take(fold == number))) for number in range(n_folds))
    return _consulted(request, data, prepare(untested, Split(data)), tuple(parts))


def _default_folds(data: Data) -> int:
    """The folds that are made without a request; 0 if rows are held out. Sparse rows count their stored values."""
    cells = data.features.values.size if isinstance(data.features, CSRMatrix) else math.prod(data.features.shape)
    return next((folds for limit, folds in DEFAULT_FOLDS.items() if cells <= limit), 0)


def _consulted(request: Request, data: Data, prepared: Prepared, folds: tuple[Prepared, ...] = ()) -> Comparison:
    findings = consult(request, data, prepared, folds=bool(folds))
    return Comparison(replace(prepared, notes=(*prepared.notes, *map(str, findings))), folds, findings)


def choose_algorithms(rows: Comparison, names: list[str] | None) -> tuple[list[str], list[str]]:
    """Return the algorithms to run and those left out because they would take too long; names that are given all run."""
    if names is not None:
        return names, []
    X = rows.whole.X
    work = float(X.shape[0]) * float(X.nnz if hasattr(X, "nnz") else X.size)
    too_much = work > MAX_FULL_SCAN_WORK
    left_out = [name for name, algorithm in ALGORITHMS.items() if too_much and algorithm.make()._scans_for_each_update]
    return [name for name in ALGORITHMS if name not in left_out], left_out


def compare(
    request: Request, rows: Comparison, names: list[str], before: Callable[[str], ProgressCallback | None] = lambda name: None
) -> Iterator[Entry]:
    """Fit the algorithms one after another; `before` is called with each name and returns the progress callback of its fits."""
    for name in names:
        watch = before(name)
        try:
            yield _run(request, rows, name, watch)
        except NotSeparable:
            yield Entry(name, failed="no plane separates the rows")
        except OutOfRangeError as error:
            yield Entry(name, failed=error.problem)
        except ValueError as error:
            yield Entry(name, failed=str(error))


def _run(request: Request, rows: Comparison, name: str, watch: ProgressCallback | None) -> Entry:
    whole, n_classes = rows.whole, len(rows.whole.classes)
    fitted = fit(request.make(name), whole, watch)
    estimator = fitted.estimator
    models = [fit(request.make(name), part, watch).estimator for part in rows.folds]
    tested = list(zip(models, rows.folds, strict=True)) or [(estimator, whole)]
    results = [(part.codes_test, predict_codes(model, part.X_test)) for model, part in tested if part.X_test is not None]
    test = wrong = None
    if results:
        true, predicted = (np.concatenate(codes) for codes in zip(*results, strict=True))
        test, wrong = Confusion.of(true, predicted, n_classes), predicted != true
    return Entry(
        name,
        Confusion.of(whole.codes, predict_codes(estimator, whole.X), n_classes),
        test,
        margin=training_margin(estimator, whole),
        n_iter=estimator.n_iter_,
        updates=estimator._updates_made,
        stop=estimator.stop_.reason,
        seconds=fitted.seconds,
        wrong=wrong,
    )
