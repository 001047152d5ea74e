"""Train in memory: fit the estimator, test it, and certify the training rows if that is quick."""

from __future__ import annotations

import contextlib
import time
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..array_types import Array, FloatArray, IntArray, Matrix
from ..certificates.statements import Separable
from ..data.problem import classes_and_codes
from ..data.readers.read import Digest
from ..data.readers.sources import Source
from ..data.table import Data, DataError, typed_labels
from ..estimators.calibration import TooFewRowsError
from ..preprocessing.recipe import Recipe
from ..probabilities.measures import ProbabilityTest
from ..progress import Progress, ProgressCallback, progress_callback
from ..proofs.doctor.findings import Finding
from ..proofs.likelihood import NoMaximum
from ..svm.not_separable import NotSeparable
from .choose import Choice, check_tunable, choose
from .consultation import consult
from .metrics import Confusion
from .preparation import (
    Prepared,
    Split,
    check_classes,
    contents_digest,
    describe_provenance,
    hold_out,
    prepare,
    read_with_digest,
    require_labels,
)
from .request import SINGLE_PASS, Request
from .split import assign_folds
from .threshold import Goal, apply_threshold, positive_code
from .training_proofs import certify_rows, certify_training_rows, training_margin, update_bound
from .tuning_record import TuningRecord

if TYPE_CHECKING:
    from ..certificates.statements import Certificate
    from ..estimators.base import LinearClassifier
    from ..online.stopping import Stop


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
    probabilities : ProbabilityTest or None
        Quality of the probabilities on the same rows as `test`, or on those of all folds; None without such rows.
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
    findings : tuple of Finding
        What was noticed in the rows; their sentences are among the notes.
    prepared : Prepared or None
        The rows, unless they were streamed.
    sample : tuple of (Matrix, Array) or None
        Some rows and their labels, if they were streamed.
    provenance : dict
        The origin of the model, for its file.
    tuning : TuningRecord or None
        What `--tune` tried and chose.
    """

    request: Request
    recipe: Recipe
    estimator: LinearClassifier
    rows: int
    train: Confusion
    test: Confusion | None = None
    folds: tuple[Confusion, ...] = ()
    probabilities: ProbabilityTest | None = None
    margin: float | None = None
    bound: float | None = None
    certificate: Certificate | None = None
    history: tuple[PassRecord, ...] = ()
    seconds: float = 0.0
    total_seconds: float = 0.0
    compile_seconds: float = 0.0
    test_is_training_file: bool = False
    notes: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    prepared: Prepared | None = None
    sample: tuple[Matrix, Array] | None = None
    provenance: dict[str, Any] = field(default_factory=dict)
    tuning: TuningRecord | None = None

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
    outcome = train_data(request, data, digest, watch)
    return replace(outcome, total_seconds=time.perf_counter() - started)


def train_data(
    request: Request,
    data: Data,
    digest: Digest | None = None,
    watch: ProgressCallback | None = None,
    *,
    test: Data | Source | None = None,
) -> Outcome:
    """Train the model of a request on rows that were read from a file with this digest; `test`: in place of a test file."""
    started = time.perf_counter()
    classes = np.unique(typed_labels(require_labels(data)))
    check_classes(data.source, classes, data.n_rows)
    request = request.with_classes(lambda: classes)
    split = hold_out(request, data) if test is None else Split(data, test)
    check_tunable(request, split.train)
    asked, (prepared, choice) = request, _prepare_and_choose(request, split, watch)
    request = choice.request
    with rows_of_file(data.source, prepared):
        fitted = fit_as_asked(request, prepared, watch)
    estimator = fitted.estimator
    folds, of_folds, tuning = cross_validate(asked, data, choice, watch) if asked.n_folds else ((), None, choice.tuning)
    certificate, margin = certify_training_rows(request, prepared, data), training_margin(estimator, prepared)
    of_features = certificate
    if prepared.recipe.scales and isinstance(certificate, Separable) and estimator._bounded_run() is not None:
        of_features = certify_rows(request, prepared.X, prepared.y)
    provenance = describe_provenance(request, data, digest, len(prepared.y), prepared.test_digest)
    same = same_file(request, provenance)
    findings = consult(request, data, prepared, folds=bool(folds), same_file=same)
    return Outcome(
        request,
        prepared.recipe,
        estimator,
        rows=len(prepared.y),
        train=Confusion.of(prepared.codes, predict_codes(estimator, prepared.X), len(prepared.classes)),
        test=confusion_on_test(estimator, prepared),
        folds=folds,
        probabilities=of_folds or ProbabilityTest.pooled([probabilities_on_test(estimator, prepared)]),
        margin=margin,
        bound=update_bound(estimator, prepared.X, prepared.y, of_features, margin),
        certificate=certificate,
        history=fitted.history,
        seconds=fitted.seconds,
        total_seconds=time.perf_counter() - started,
        compile_seconds=fitted.compile_seconds,
        test_is_training_file=same,
        notes=(*prepared.notes, *map(str, findings), *choice.notes, *fitted.warnings),
        findings=findings,
        prepared=prepared,
        provenance=provenance,
        tuning=tuning if asked.tune else None,
    )


def _prepare_and_choose(
    request: Request, split: Split, watch: ProgressCallback | None, count: int | None = None, title: str = ""
) -> tuple[Prepared, Choice]:
    """The rows as features, and what was chosen for them; only `--tune` chooses how the features are made."""
    if not request.tune:
        prepared = prepare(request, split)
        return prepared, choose(request, split.train, watch, prepared)
    choice = choose(request, split.train, watch, count=count, title=title)
    return prepare(choice.request, split), choice


def fit(estimator: LinearClassifier, prepared: Prepared, watch: ProgressCallback | None = None) -> FitResult:
    """Fit an estimator and record its passes, its duration and its warnings."""
    if prepared.rounded is not None and estimator._states_proofs:
        raise prepared.rounded
    history: list[PassRecord] = []
    with record_fit(history, watch) as warned, prepared.mark_rounded(estimator), timed() as times:
        estimator.fit(prepared.X, prepared.y)
    return FitResult(estimator, tuple(history), times.fit, messages_of(warned, estimator.stop_), times.compile)


def fit_as_asked(request: Request, prepared: Prepared, watch: ProgressCallback | None = None) -> FitResult:
    """Fit the estimator of a request, and move its threshold if the request has a goal for it."""
    if request.threshold is None:
        return fit(request.make(), prepared, watch)
    goal = Goal.parse(request.threshold)
    positive_code(prepared, request.positive)  # before the fit: it may raise an error
    fitted = fit(request.make(), prepared, watch)
    note = apply_threshold(fitted.estimator, goal, prepared, request.positive, request.seed)
    return fitted._replace(warnings=(note, *fitted.warnings))


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


def same_file(request: Request, provenance: Mapping[str, Any]) -> bool:
    """Whether the test file of a request is its training file, by name or by contents, as copied or compressed."""
    contents = contents_digest(provenance)
    same = contents is not None and contents == contents_digest(provenance, "test_")
    return request.test is not None and (request.test == request.data or same)


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
        text = warning.problem if isinstance(warning, StopWarning) and warning.stop == stop else str(warning)
        return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}"

    return tuple(dict.fromkeys(message(each.message) for each in warned))


@contextlib.contextmanager
def rows_of_file(source: str, prepared: Prepared) -> Iterator[None]:
    """Raise `NotSeparable` and `NoMaximum` as errors about the file, with its columns and the rows that a proof has there."""
    positions = prepared.positions
    try:
        yield
    except NoMaximum as proof:
        raise DataError(source, str(proof.renamed(prepared.recipe.feature_names, positions))) from proof
    except NotSeparable as proof:
        rows = proof.rows if positions is None else positions[proof.rows].tolist()
        found = NotSeparable(rows, proof.weights, proof.positive, proof.free, proof.bound_squared, proof.about)
        raise DataError(source, str(found), option="--algorithm soft-margin") from proof
    except TooFewRowsError as error:
        raise DataError(source, f"{error.problem} (rows held out for the test not counted); leave out --calibrate") from None


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


def probabilities_on_test(estimator: LinearClassifier, prepared: Prepared) -> tuple[FloatArray, IntArray] | None:
    """Return the probabilities of the test rows and their class codes; None without probabilities or test rows."""
    if estimator._probability_map is None or prepared.codes_test is None or prepared.X_test is None:
        return None
    return estimator.predict_proba(prepared.X_test), prepared.codes_test


def cross_validate(
    request: Request, data: Data, choice: Choice, watch: ProgressCallback | None = None
) -> tuple[tuple[Confusion, ...], ProbabilityTest | None, TuningRecord | None]:
    """Predict each fold with a model, its preprocessing and its choices included, that is trained on the other folds.

    A search tries as many candidates in each fold as that of `choice`, on all rows, has tried. Its record is returned with what
    was chosen in the folds.
    """
    assert request.n_folds is not None
    n_folds = request.n_folds
    if choice.request.algorithm == SINGLE_PASS:
        request = replace(request, algorithm=SINGLE_PASS, parameters=choice.request.parameters)
    tried = None if choice.tuning is None else len(choice.tuning.trials)
    classes, codes = classes_and_codes(typed_labels(require_labels(data)))
    fold = assign_folds(codes, n_folds, request.seed, classes.tolist())
    found, probabilities, chosen = [], [], []
    for number in range(n_folds):
        mine = fold == number
        if len(np.unique(codes[~mine])) < len(classes):
            raise DataError(data.source, f"--cv {n_folds}: a class has rows in fold {number + 1} only; use fewer folds")
        split = Split(data.take(~mine), data.take(mine))
        part, again = _prepare_and_choose(request, split, watch, tried, f"fold {number + 1} of {n_folds}, ")
        with rows_of_file(data.source, part):
            fitted = fit_as_asked(again.request, part, watch).estimator
        result = confusion_on_test(fitted, part)
        assert result is not None
        found.append(result)
        probabilities.append(probabilities_on_test(fitted, part))
        chosen += [] if again.tuning is None else [again.tuning.chosen]
    record = choice.tuning if choice.tuning is None else replace(choice.tuning, in_folds=tuple(chosen))
    return tuple(found), ProbabilityTest.pooled(probabilities), record
