"""Train in memory: fit the estimator, test it, and certify the training rows if that is quick."""

from __future__ import annotations

import contextlib
import math
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..array_types import Array, IntArray, Matrix
from ..certificates.statements import Inseparable, Separable
from ..data.problem import classes_and_codes
from ..data.table import Data, DataError, typed_labels
from ..preprocessing.recipe import Recipe
from ..progress import Progress, ProgressCallback, progress_callback
from ..svm.not_separable import NotSeparable
from .choose import choose
from .consultation import consult
from .metrics import Confusion
from .preparation import (
    Prepared,
    Split,
    as_matrix,
    describe_provenance,
    hold_out,
    prepare,
    read_with_digest,
    require_labels,
)
from .request import Request
from .split import assign_folds

if TYPE_CHECKING:
    from ..certificates.statements import Certificate
    from ..estimators.base import LinearClassifier
    from ..online.stopping import Stop

# Without a request, a proof is tried for up to this many values and seconds.
QUICK_PROOF_VALUES, QUICK_PROOF_SECONDS = 1 << 20, 1.0


class PassRecord(NamedTuple):
    """One pass of a fit."""

    number: int
    updates: int  # so far
    new_updates: int  # updates in this pass


class FitResult(NamedTuple):
    """A fitted estimator, its passes, the seconds it took without compilation, its warnings, and the seconds to compile."""

    estimator: LinearClassifier
    history: tuple[PassRecord, ...]
    seconds: float
    warnings: tuple[str, ...]
    compile_seconds: float


@dataclass(frozen=True)
class Outcome:
    """The result of a training request.

    Attributes
    ----------
    request : Request
    recipe : Recipe
        How columns become features.
    estimator : LinearClassifier
        The fitted estimator.
    rows : int
        Number of training rows.
    train : Confusion
        Errors on the training rows.
    test : Confusion or None
        Errors on the test file or on the rows held out.
    folds : tuple of Confusion
        Errors on each fold of a cross-validation.
    margin : float or None
        Geometric margin of the worst training row, negative if one is misclassified; None for models without one plane
        per class.
    bound : float or None
        The number of updates that the run could make at most.
    certificate : Certificate or None
        Proof that the training rows are separable or not.
    history : tuple of PassRecord
    seconds, total_seconds : float
        Duration of the fit alone, without compilation, and of reading, fitting and testing together.
    compile_seconds : float
        Time during the fit in which kernels were compiled, or loaded from the cache on disk.
    test_is_training_file : bool
        Whether the test file is the training file.
    notes : tuple of str
        Sentences about the data and the fit.
    prepared : Prepared or None
        The rows, unless they were streamed.
    sample : tuple of (Matrix, Array) or None
        Some rows and their labels, if they were streamed.
    provenance : dict
        The origin of the model, for its file.
    """

    request: Request
    recipe: Recipe
    estimator: LinearClassifier
    rows: int
    train: Confusion
    test: Confusion | None = None
    folds: tuple[Confusion, ...] = ()
    margin: float | None = None
    bound: float | None = None
    certificate: Certificate | None = None
    history: tuple[PassRecord, ...] = ()
    seconds: float = 0.0
    total_seconds: float = 0.0
    compile_seconds: float = 0.0
    test_is_training_file: bool = False
    notes: tuple[str, ...] = ()
    prepared: Prepared | None = None
    sample: tuple[Matrix, Array] | None = None
    provenance: dict[str, Any] = field(default_factory=dict)

    @property
    def classes(self) -> Array:
        classes: Array = self.estimator.classes_
        return classes


def train(request: Request, watch: ProgressCallback | None = None) -> Outcome:
    """Train the model of a request in memory and test it.

    Parameters
    ----------
    request : Request
    watch : callable, optional
        Called with the `Progress` of the fit.

    Returns
    -------
    Outcome

    See Also
    --------
    rosenblatt.training.stream.train_stream : The same for files larger than memory.

    Examples
    --------
    >>> outcome = train(Request("example:iris", seed=1))
    >>> outcome.rows, outcome.test.rows, outcome.classes.tolist()
    (120, 30, ['setosa', 'versicolor', 'virginica'])
    """
    started = time.perf_counter()
    data, digest = read_with_digest(request)
    split = hold_out(request, data)
    asked, choice = request, choose(request, split.train, watch)
    request = choice.request
    prepared = prepare(request, split)
    with rows_of_file(data.source, prepared.positions):
        fitted = fit(request.make(), prepared, watch)
    estimator = fitted.estimator
    folds = () if asked.n_folds is None else cross_validate(asked, data, watch, len(choice.trials))
    certificate, margin = certify_training_rows(request, prepared, data), training_margin(estimator, prepared)
    of_features = certificate
    if prepared.recipe.scales and isinstance(certificate, Separable) and estimator._bounded_run() is not None:
        of_features = _certify(request, prepared.X, prepared.y)
    return Outcome(
        request,
        prepared.recipe,
        estimator,
        rows=len(prepared.y),
        train=Confusion.of(prepared.codes, predict_codes(estimator, prepared.X), len(prepared.classes)),
        test=confusion_on_test(estimator, prepared),
        folds=folds,
        margin=margin,
        bound=update_bound(estimator, prepared.X, prepared.y, of_features, margin),
        certificate=certificate,
        history=fitted.history,
        seconds=fitted.seconds,
        total_seconds=time.perf_counter() - started,
        compile_seconds=fitted.compile_seconds,
        test_is_training_file=same_file(request, digest, prepared.test_sha256),
        notes=(*prepared.notes, *consult(request, data, prepared), *choice.notes, *fitted.warnings),
        prepared=prepared,
        provenance=describe_provenance(request, data, digest, len(prepared.y), prepared.test_sha256),
    )


def fit(estimator: LinearClassifier, prepared: Prepared, watch: ProgressCallback | None = None) -> FitResult:
    """Fit an estimator and record its passes, its duration and its warnings."""
    if prepared.rounded is not None and estimator._states_proofs:
        raise prepared.rounded
    history: list[PassRecord] = []
    with record_fit(history, watch) as warned, prepared.mark_rounded(estimator), timed() as times:
        estimator.fit(prepared.X, prepared.y)
    return FitResult(estimator, tuple(history), times.fit, messages_of(warned, estimator.stop_), times.compile)


@dataclass
class Times:
    """Seconds of a fit, without compilation, and of the compilation."""

    fit: float = 0.0
    compile: float = 0.0


@contextlib.contextmanager
def timed() -> Iterator[Times]:
    """Measure a fit and, apart, the compilation of kernels in it, which happens once for each kind of rows."""
    import numba.core.event as numba_events

    timer: Any = numba_events.TimingListener()  # type: ignore[no-untyped-call]
    times = Times()
    with numba_events.install_listener("numba:compiler_lock", timer):
        started = time.perf_counter()
        yield times
        seconds = time.perf_counter() - started
    times.compile = min(timer.duration, seconds) if timer.done else 0.0
    times.fit = seconds - times.compile


def same_file(request: Request, digest: str | None, test_digest: str | None) -> bool:
    """Whether the test file of a request is its training file, by name or by contents."""
    return request.test is not None and (request.test == request.data or (digest is not None and digest == test_digest))


@contextlib.contextmanager
def record_fit(history: list[PassRecord], watch: ProgressCallback | None) -> Iterator[list[warnings.WarningMessage]]:
    """Append the passes of a fit to `history`, forward its progress to `watch`, and yield the list of its warnings."""

    def record(progress: Progress) -> None:
        if progress.ended_pass and not progress.heads and progress.updates:
            history.append(PassRecord(progress.passes, progress.updates, progress.last))
        if watch is not None:
            watch(progress)

    with progress_callback(record), warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        yield warned


def messages_of(warned: list[warnings.WarningMessage], stop: Stop) -> tuple[str, ...]:
    """Return the distinct messages of a fit's warnings, in order, without its stop, which the summary has."""
    from ..estimators.base import StopWarning

    def message(warning: Warning | str) -> str:
        return warning.problem if isinstance(warning, StopWarning) and warning.stop == stop else str(warning)

    return tuple(dict.fromkeys(message(each.message) for each in warned))


@contextlib.contextmanager
def rows_of_file(source: str, positions: IntArray | None) -> Iterator[None]:
    """Raise `NotSeparable` as an error about the file, with the rows that the proof has there."""
    try:
        yield
    except NotSeparable as proof:
        rows = proof.rows if positions is None else positions[proof.rows].tolist()
        found = NotSeparable(rows, proof.weights, proof.positive, proof.free, proof.bound_squared, proof.about)
        raise DataError(source, str(found), option="--algorithm soft-margin") from proof


# --- Testing


def predict_codes(estimator: LinearClassifier, X: Matrix) -> IntArray:
    """Predict rows as class codes."""
    codes: IntArray = np.searchsorted(estimator.classes_, estimator.predict(X))
    return codes


def confusion_on_test(estimator: LinearClassifier, prepared: Prepared) -> Confusion | None:
    """Count the errors on the test rows; None if there are none."""
    if prepared.codes_test is None or prepared.X_test is None:
        return None
    return Confusion.of(prepared.codes_test, predict_codes(estimator, prepared.X_test), len(prepared.classes))


def cross_validate(
    request: Request, data: Data, watch: ProgressCallback | None = None, tried: int = 0
) -> tuple[Confusion, ...]:
    """Predict each fold with a model, its preprocessing and its choices included, that is trained on the other folds.

    `tried` is the number of candidates that a search on all rows has tried: in the folds, it tries as many.
    """
    assert request.n_folds is not None
    classes, codes = classes_and_codes(typed_labels(require_labels(data)))
    fold = assign_folds(codes, request.n_folds, request.seed, classes.tolist())
    found = []
    for number in range(request.n_folds):
        mine = fold == number
        if len(np.unique(codes[~mine])) < len(classes):
            raise DataError(data.source, f"--cv {request.n_folds}: a class has rows in fold {number + 1} only; use fewer folds")
        split = Split(data.take(~mine), data.take(mine))
        title = f"fold {number + 1} of {request.n_folds}, "
        chosen = choose(request, split.train, watch, count=tried, title=title).request
        part = prepare(chosen, split)
        with rows_of_file(data.source, part.positions):
            fitted = fit(chosen.make(), part, watch).estimator
        result = confusion_on_test(fitted, part)
        assert result is not None
        found.append(result)
    return tuple(found)


# --- Margin, proof and bound


def training_margin(estimator: LinearClassifier, prepared: Prepared) -> float | None:
    """Return the geometric margin of the worst training row: negative if it is misclassified, None if it is undefined."""
    if "coef_" not in estimator.__dict__ or not np.any(estimator.coef_):
        return None
    if estimator._multiclass == "ovo" and len(prepared.classes) > 2:
        return None
    from ..proofs.margins import margin

    found = float(margin(estimator, prepared.X, prepared.y, space="geometric"))
    return found if math.isfinite(found) else None


def certify_training_rows(request: Request, prepared: Prepared, data: Data) -> Certificate | None:
    """Prove whether the training rows are separable, if `certify` is set in the request or the proof is quick.

    The proof is about the rows before they were scaled, which rounds them: of three rows on a line, one may then lie beside it.
    """
    X = prepared.X
    values = X.nnz if hasattr(X, "nnz") else X.size
    small = values * max(1, len(prepared.classes) - 1) <= QUICK_PROOF_VALUES
    if request.certify is False or (request.certify is None and not small):
        return None
    if prepared.rounded is not None:
        if request.certify:
            raise prepared.rounded
        return None
    from ..certificates.exact_arrays import canonical_label

    if request.certify is None and len({canonical_label(label) for label in prepared.classes.tolist()}) < len(prepared.classes):
        return None  # such as 01 and 1, which a certificate does not tell apart
    if prepared.recipe.scales:
        X = as_matrix(prepared.recipe.unscaled().rows(_training_rows(data, prepared)))
    certificate = _certify(request, X, prepared.y)
    if certificate.verdict == "undecided" and not request.certify:
        return None
    if isinstance(certificate, Inseparable) and prepared.positions is not None:
        # The proof numbers the training rows; readers look them up in the file.
        clash = tuple(pair._replace(row=int(prepared.positions[pair.row])) for pair in certificate.clash)
        return replace(certificate, clash=clash)
    return certificate


def _training_rows(data: Data, prepared: Prepared) -> Data:
    """The rows of a whole file that were not held out."""
    if prepared.positions is None:
        return data
    chosen = np.zeros(data.n_rows, bool)
    chosen[prepared.positions] = True
    return data.take(chosen)


def _certify(request: Request, X: Matrix, y: Array) -> Certificate:
    from ..proofs.certify import certify

    fit_intercept = bool(request.parameters.get("fit_intercept", True))
    return certify(X, y, fit_intercept=fit_intercept, time_limit=None if request.certify else QUICK_PROOF_SECONDS)


def update_bound(
    estimator: LinearClassifier, X: Matrix, y: Array, certificate: Certificate | None, margin: float | None
) -> float | None:
    """Return the largest possible number of updates of this run: an online perceptron from zero on separable rows.

    `margin` is that of the estimator on these rows, see `training_margin`. None if no bound is proved.
    """
    bounded = estimator._bounded_run()
    if bounded is None:
        return None
    from ..proofs.margins import bound_of_run

    return bound_of_run(
        X, y, certificate, estimator if margin is not None and margin > 0.0 else None, update_margin=bounded[0],
        step=bounded[1], fit_intercept=bool(estimator.fit_intercept), intercept_scaling=estimator._intercept_scaling,
    )  # fmt: skip
