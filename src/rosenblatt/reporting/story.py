"""What a report tells of: a fitted estimator, its rows, and what was asked for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..parallel import one_blas_thread


@dataclass(frozen=True)
class Story:
    """Everything a report is made from; only `title` and `estimator` must be there, what is missing is left out.

    title         of the page, such as the name of the data
    estimator     fitted, ours; with `log_` there are curves
    summary       (name, value) pairs in the order they are shown
    X, y          training rows as the estimator saw them, array or CSR, and their labels; a sample will do
    X_test, y_test
    feature_names any sequence, of which only those shown are looked up; None: by number, from 1
    class_names   in the order of `classes_`; empty: the labels themselves
    certificate   what is proved about the training rows
    history       (pass, updates so far, training errors) of a run without a log
    command       as it was typed
    version       of this library
    notes         sentences that belong on the page: a sample was taken, features were scaled
    """

    title: str
    estimator: Any
    summary: Sequence[tuple[str, str]] = ()
    X: Any = None
    y: Any = None
    X_test: Any = None
    y_test: Any = None
    feature_names: Sequence[str] | None = None
    class_names: Sequence[str] = ()
    certificate: Any = None
    history: Sequence[tuple[int, int, float]] = ()
    command: str = ""
    version: str = ""
    notes: Sequence[str] = field(default=())


# --- What several figures need of a story, computed once: the planes, the class codes, the scores.

# Multiply-adds that a vote may cost before it is counted on some of the rows only.
VOTES = 1.5e9


class Facts:
    def __init__(self, story: Story) -> None:
        self.story = story
        self.classes = story.estimator.classes_
        self.names = [label_words(name) for name in (story.class_names or self.classes.tolist())]

    @property
    def k(self) -> int:
        return len(self.classes)

    @property
    def votes(self) -> bool:
        return getattr(self.story.estimator, "keep", "") == "vote"

    @cached_property
    def model(self) -> Any:
        """The estimator, or the average of the same run where the estimator is a vote and has no plane."""
        estimator = self.story.estimator
        if not self.votes:
            return estimator
        try:
            return estimator.reading("average")
        except ValueError:  # X was changed, or the log is gone
            return None

    @cached_property
    def planes(self) -> tuple[Any, Any] | None:
        """(weights, intercepts): one plane for two classes, else one for each class; None where there is no such thing."""
        coef = getattr(self.model, "coef_", None)
        pairs = getattr(self.model, "multiclass", "") == "ovo" and self.k > 2
        if coef is None or pairs or len(coef) != (1 if self.k == 2 else self.k):
            return None  # a vote without its rows, or planes between pairs of classes
        return np.asarray(coef, np.float64), np.broadcast_to(np.asarray(self.model.intercept_, np.float64), (len(coef),))

    @cached_property
    def codes(self) -> Any:
        return codes_of(self.classes, self.story.y)

    @cached_property
    def codes_test(self) -> Any:
        return codes_of(self.classes, self.story.y_test)

    @property
    def has_rows(self) -> bool:
        return self.story.X is not None and self.story.y is not None and self.story.X.shape[0] > 0

    @property
    def has_test(self) -> bool:
        return self.story.X_test is not None and self.story.y_test is not None and self.story.X_test.shape[0] > 0

    @cached_property
    def scores(self) -> Any:
        """Training scores of `model`, (rows,) for two classes, else rows x classes."""
        with one_blas_thread():
            return np.asarray(self.model.decision_function(self.story.X), np.float64)

    @cached_property
    def judged(self) -> tuple[str, Any, Any, int] | None:
        """(of which rows, codes, predicted codes, rows there are): test rows, or training rows where there are none."""
        if not (self.has_test or self.has_rows):
            return None
        where, X, codes = (
            ("test", self.story.X_test, self.codes_test) if self.has_test else ("training", self.story.X, self.codes)
        )
        total = X.shape[0]
        if self.votes:
            some = evenly(total, int(VOTES / max(1.0, self.story.estimator.n_updates_ * density(X))))
            X, codes = (X, codes) if len(some) == total else (X[some], codes[some])
        if where == "training" and not self.votes:
            return where, codes, self.predicted, total
        with one_blas_thread():
            scores = np.asarray(self.story.estimator.decision_function(X))
        return where, codes, best(scores), total

    @cached_property
    def predicted(self) -> Any:
        """Training rows' classes as `model` has them."""
        return best(self.scores)

    def feature(self, j: int) -> str:
        names = self.story.feature_names
        return str(names[j]) if names is not None and j < len(names) else f"feature {j + 1}"


def label_words(label: Any) -> str:
    """
    >>> label_words(3.0), label_words(-1), label_words("spam")
    ('3', '-1', 'spam')
    """
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)


def codes_of(classes: Any, y: Any) -> Any:
    """Positions in `classes`; -1 for a label that is not among them."""
    y = np.asarray(y)
    at = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
    return np.where(classes[at] == y, at, -1)


def best(scores: Any) -> Any:
    """The class a row is given, as `predict` does it: ties go to the smaller."""
    return (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)


def evenly(total: int, most: int) -> Any:
    """At most so many positions out of `total`, evenly apart."""
    return np.arange(total) if total <= most else np.linspace(0, total - 1, max(1, most)).round().astype(np.intp)


def density(X: Any) -> float:
    """Stored values per row."""
    return float(X.nnz) / max(1, X.shape[0]) if sp.issparse(X) else float(X.shape[1])


def length(vector: Any) -> float:
    """Of a vector, without overflow."""
    largest = float(abs(vector).max(initial=0.0))
    return largest * math.sqrt(float(np.square(vector / largest).sum())) if largest > 0.0 else 0.0
