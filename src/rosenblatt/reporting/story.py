"""The content of a report: a fitted estimator, its rows, and the values that several figures need."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..array_types import Array, FloatArray, IntArray, Matrix
from ..parallel import one_blas_thread

if TYPE_CHECKING:
    from ..certificates.statements import Certificate
    from ..online.update_log import UpdateLog

# Multiply-adds of a vote, beyond which it is evaluated on a sample of the rows.
MAX_VOTE_WORK = 1.5e9


@dataclass(frozen=True)
class Story:
    """The content of a report. Only `title` and `estimator` are required; parts without data are left out.

    Parameters
    ----------
    title : str
        Title of the page, such as the name of the data.
    estimator : LinearClassifier
        A fitted estimator; its `log_`, if present, gives the curves.
    summary : sequence of (name, value) pairs
        Facts in the order in which they are shown.
    X, y : array or CSR matrix, and labels, optional
        The training rows as the estimator saw them, or a sample of them.
    X_test, y_test : array or CSR matrix, and labels, optional
        The test rows.
    feature_names : sequence of str, optional
        Names of the columns of X; by default they are numbered from 0.
    class_names : sequence of str, optional
        Names in the order of `classes_`; by default the labels.
    certificate : Certificate, optional
        Proof about the training rows.
    bound : float, optional
        The largest number of updates that the run could make, see `training.training_proofs.update_bound`.
    scaled : bool
        Whether the estimator saw scaled rows; the certificate is about the rows before scaling.
    history : sequence of (pass, updates so far, training errors)
        Errors of a run without a log.
    command : str
        The command line.
    version : str
        Version of Rosenblatt.
    notes : sequence of str
        Sentences for the end of the page.
    warnings : sequence of str
        Sentences about what is wrong with the model or its test, for the top of the page.
    """

    title: str
    estimator: Any
    summary: Sequence[tuple[str, str]] = ()
    X: Matrix | None = None
    y: Array | Sequence[Any] | None = None
    X_test: Matrix | None = None
    y_test: Array | Sequence[Any] | None = None
    feature_names: Sequence[str] | None = None
    class_names: Sequence[str] = ()
    certificate: Certificate | None = None
    bound: float | None = None
    scaled: bool = False
    history: Sequence[tuple[int, int, float]] = ()
    command: str = ""
    version: str = ""
    notes: Sequence[str] = field(default=())
    warnings: Sequence[str] = ()


class Evaluation(NamedTuple):
    """Predictions of the estimator on the test rows, or on the training rows if there are no test rows."""

    kind: str  # "test" or "training"
    codes: IntArray
    predicted: IntArray
    total: int  # rows, of which these may be a sample


class Facts:
    """What several figures need of a story, computed once: planes, class codes, scores."""

    def __init__(self, story: Story) -> None:
        self.story = story
        self.classes = story.estimator.classes_
        self.names = [shown_label(name) for name in (story.class_names or self.classes.tolist())]

    @property
    def k(self) -> int:
        """The number of classes."""
        return len(self.classes)

    @property
    def votes(self) -> bool:
        """Whether the estimator is a vote, which has no planes of its own."""
        return bool(self.story.estimator._keep == "vote")

    @cached_property
    def model(self) -> Any:
        """The estimator, or for a vote the average of the same run; None if that cannot be computed."""
        estimator = self.story.estimator
        if not self.votes:
            return estimator
        try:
            return estimator.reading("average")
        except ValueError:  # X was changed, or the log is gone
            return None

    @cached_property
    def planes(self) -> tuple[FloatArray, FloatArray] | None:
        """(weights, intercepts): one plane for two classes, else one for each class; None if the model has no such planes."""
        if self.model is None or (self.model._multiclass == "ovo" and self.k > 2):
            return None  # a vote without its rows, or planes between pairs of classes
        coef = self.model.coef_
        return np.asarray(coef, np.float64), np.broadcast_to(np.asarray(self.model.intercept_, np.float64), (len(coef),))

    @cached_property
    def codes(self) -> IntArray:
        """Class codes of the training rows; -1 for an unknown label."""
        return find_codes(self.classes, self.story.y)

    @cached_property
    def codes_test(self) -> IntArray:
        """Class codes of the test rows; -1 for an unknown label."""
        return find_codes(self.classes, self.story.y_test)

    @cached_property
    def log(self) -> UpdateLog | None:
        """The log of the run, with the rows that moved the weights; None without a log, or if the rows are gone."""
        estimator, X, y = self.story.estimator, self.story.X, self.story.y
        if estimator._update_log is None:
            return None
        from ..estimators.run_readings import with_rows

        try:
            log = (estimator if X is None or y is None else with_rows(estimator, X, y))._update_log
            return None if log is None else log._pinned()
        except ValueError:  # X is gone, was changed, or is a sample
            return None

    @property
    def has_rows(self) -> bool:
        return self.story.X is not None and self.story.y is not None and self.story.X.shape[0] > 0

    @property
    def has_test(self) -> bool:
        return self.story.X_test is not None and self.story.y_test is not None and self.story.X_test.shape[0] > 0

    @cached_property
    def scores(self) -> FloatArray:
        """Scores of `model` on the training rows: (rows,) for two classes, else rows x classes."""
        with one_blas_thread():
            return np.asarray(self.model.decision_function(self.story.X), np.float64)

    @cached_property
    def evaluation(self) -> Evaluation | None:
        """Predictions on the test rows, or on the training rows if there are no test rows; None without rows."""
        if self.has_test:
            kind, X, codes = "test", self.story.X_test, self.codes_test
        elif self.has_rows:
            kind, X, codes = "training", self.story.X, self.codes
        else:
            return None
        assert X is not None
        total = X.shape[0]
        if self.votes:
            some = evenly(total, int(MAX_VOTE_WORK / max(1.0, self.story.estimator.n_updates_ * values_per_row(X))))
            X, codes = (X, codes) if len(some) == total else (X[some], codes[some])
        if kind == "training" and not self.votes:
            return Evaluation(kind, codes, self.predicted, total)
        with one_blas_thread():
            scores = np.asarray(self.story.estimator.decision_function(X))
        return Evaluation(kind, codes, predict_from_scores(scores), total)

    @cached_property
    def predicted(self) -> IntArray:
        """Class codes of the training rows as predicted by `model`."""
        return predict_from_scores(self.scores)

    def feature(self, j: int) -> str:
        """Return the name of column j."""
        names = self.story.feature_names
        return str(names[j]) if names is not None and j < len(names) else f"feature {j}"


def shown_label(label: object) -> str:
    """The label as it is shown; whole floats are shown as integers.

    >>> shown_label(3.0), shown_label(-1), shown_label("spam")
    ('3', '-1', 'spam')
    """
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)


def find_codes(classes: Array, y: Array | Sequence[Any] | None) -> IntArray:
    """Return the positions of labels in `classes`, -1 for a label that is not among them."""
    labels = np.asarray(y)
    at = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    return np.where(classes[at] == labels, at, -1)


def predict_from_scores(scores: FloatArray) -> IntArray:
    """Return class codes as `predict` chooses them: ties go to the smaller one."""
    return (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)


def evenly(total: int, limit: int) -> IntArray:
    """Return at most `limit` evenly spaced positions out of `total`."""
    return np.arange(total) if total <= limit else np.linspace(0, total - 1, max(1, limit)).round().astype(np.intp)


def values_per_row(X: Matrix) -> float:
    """Return the mean number of stored values per row."""
    stored = getattr(X, "nnz", None)  # None for an array
    return float(X.shape[1]) if stored is None else float(stored) / max(1, X.shape[0])


def vector_norm(vector: FloatArray) -> float:
    """Return the Euclidean norm of an array without overflow."""
    largest = float(abs(vector).max(initial=0.0))
    return largest * math.sqrt(float(np.square(vector / largest).sum())) if largest > 0.0 else 0.0
