"""Several labels a row: Y is an indicator matrix, and each label a binary problem of its own (one-vs-rest).

Problem    rows have any number of labels, also none: Y[i, j] = 1 if row i has label j, and 0 if not.
Update     a copy of the estimator is fitted on each column of Y, on all rows. The copies run in threads.
Guarantee  `estimators_[j]` is the fit on the column Y[:, j] with the same parameters and seed, bit for bit, for any number of
           threads. A label that all rows have, or none, is predicted so for every row, with a warning that names it.
Reference  R. Rifkin and A. Klautau, In defense of one-vs-all classification, JMLR 5 (2004).
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from sklearn.utils.validation import _check_sample_weight, validate_data

from ..array_types import FloatArray, IntArray, Matrix, MatrixLike
from ..certificates.exact_arrays import exact_matrix
from ..data.indicators import Indicator, is_indicator, read_indicator
from ..online.stopping import Stop, merge_stops
from ..parallel import in_order, one_blas_thread
from ..probabilities.maps import NoProbabilitiesError
from ..progress import current_callback, problem_callback, progress_callback
from ..reporting.text import plural, short
from ..scores import linear_scores
from .label_attributes import ConstantLabel, forget_fit, gathered_attributes
from .label_warnings import ConstantLabelWarning, LabelError, warn_once
from .row_reference import FLOATS
from .shared_parameters import seed_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from .base import LinearClassifier

    LabelHead: TypeAlias = LinearClassifier | ConstantLabel


class SeveralLabelsError(AttributeError, ValueError):
    """A method or attribute that a model of several labels a row does not have."""


class MultiLabelMethods:
    """Mixin of `LinearClassifier`: fits, scores and predictions of several labels a row."""

    estimators_: list[LabelHead]
    _is_label: bool = False  # whether this is the fit on one label of several

    @property
    def multilabel_(self) -> bool:
        """Whether the fit was on an indicator matrix: rows then have any number of the labels `classes_`."""
        return "estimators_" in self.__dict__

    def _takes_labels(self, y: object) -> bool:
        """Whether a fit on y has several labels a row; raises an error if it cannot continue the fit before."""
        several = is_indicator(y)
        if getattr(self, "warm_start", False) and "classes_" in self.__dict__ and several != self.multilabel_:
            before, given = ("an indicator matrix", "one label a row")[:: 1 if self.multilabel_ else -1]
            raise ValueError(f"warm_start continues a fit on {before}, but y has {given}: use a new estimator")
        return several

    # --- fitting -----------------------------------------------------------------------------------------------------------

    def _fit_labels(self, X: MatrixLike, Y: Any, sample_weight: npt.ArrayLike | None) -> None:
        """Fit one copy of the estimator to each column of an indicator matrix."""
        self._own._check_parameters()
        labels = read_indicator(Y)
        rows, weights = self._label_rows(X, labels, sample_weight, reset=True)
        before = self._heads_before(labels) if getattr(self, "warm_start", False) else None
        seed = self._label_seed()
        positive = _positive_rows(labels, weights)
        varies = [j for j, (some, all_) in enumerate(positive) if some and not all_]
        if not varies:
            raise ValueError(
                f"{type(self).__name__} needs a label that some rows have and others do not, but every column of Y is constant"
            )
        heads: list[LabelHead] = [ConstantLabel(bool(some), rows.shape[1]) for some, _ in positive]
        for j in varies:
            heads[j] = self._new_head(before[j] if before is not None else None, seed)

        def fit(head: LinearClassifier, j: int) -> None:
            head._check_calibrate()
            head._fit(rows, labels.column(j), weights)

        found = self._run_heads(fit, heads, labels)
        for j in varies:
            with named_errors(labels, j):
                self._finished(heads[j])._calibrate(rows, labels.column(j), weights)
        self._set_labels(heads, labels)
        constant = [j for j in range(len(labels)) if j not in set(varies)]
        if constant:
            names, values = labels.names[constant].tolist(), [bool(positive[j][0]) for j in constant]
            warnings.warn(ConstantLabelWarning(names, values), stacklevel=4)
        warn_once(found, heads, labels.names.tolist())

    def _partial_fit_labels(
        self, X: MatrixLike, Y: Any, classes: npt.ArrayLike | None, sample_weight: npt.ArrayLike | None
    ) -> None:
        """Continue one copy of the estimator for each column of the indicator matrix of a chunk."""
        self._own._check_parameters()
        if not self.multilabel_ and "classes_" in self.__dict__:
            raise ValueError(
                "partial_fit continues a fit on one label a row, but y has an indicator matrix: use a new estimator"
            )
        labels = read_indicator(Y)
        if classes is not None and len(np.unique(np.asarray(classes))) != len(labels):
            raise ValueError(f"classes must name the {plural(len(labels), 'column')} of Y, or be None, got {classes!r}")
        before = self._heads_before(labels) if self.multilabel_ else None
        rows, weights = self._label_rows(X, labels, sample_weight, reset=before is None)
        seed = self._label_seed()
        heads: list[LabelHead] = [self._new_head(None if before is None else before[j], seed) for j in range(len(labels))]

        def fit(head: LinearClassifier, j: int) -> None:
            cast(Any, head)._partial_fit(rows, labels.column(j), [0, 1], weights)

        found = self._run_heads(fit, heads, labels)
        for head in heads:
            self._finished(head)
        self._set_labels(heads, labels)
        warn_once(found, heads, labels.names.tolist())

    def _label_rows(
        self, X: MatrixLike, labels: Indicator, sample_weight: npt.ArrayLike | None, *, reset: bool
    ) -> tuple[Any, FloatArray | None]:
        """The rows as all copies take them, checked and converted once, and their weights."""
        with np.errstate(over="ignore", invalid="ignore"):
            rows: Any = validate_data(
                self._own, X, accept_sparse="csr", dtype=FLOATS, order="C", accept_large_sparse=True, reset=reset
            )
        if rows.shape[0] != labels.n_rows:
            raise ValueError(f"X has {plural(rows.shape[0], 'row')}, but Y has {labels.n_rows}")
        if self._own._states_proofs:
            exact_matrix(X)
        if sp.issparse(rows) and not self._own._takes_unsorted_columns and not rows.has_canonical_format:
            rows = rows.copy()
            rows.sum_duplicates()
        weights: FloatArray | None = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, rows, dtype=np.float64, allow_all_zero_weights=True)
            if (weights < 0).any():
                raise ValueError(f"sample_weight must not be negative, got {short(float(weights.min()), 6)}")
        return rows, weights

    def _heads_before(self, labels: Indicator) -> list[LabelHead] | None:
        if not self.multilabel_:
            return None
        if not np.array_equal(self._own.classes_, labels.names):
            raise ValueError(f"the fit so far is on the labels {self._own.classes_.tolist()}, got {labels.names.tolist()}")
        return self.estimators_

    def _label_seed(self) -> int | None:
        parameters = self._own.get_params(deep=False)
        return seed_of(parameters["random_state"]) if parameters.get("random_state") is not None else None

    def _new_head(self, before: LabelHead | None, seed: int | None) -> LinearClassifier:
        """An unfitted copy, or one that continues the fit `before`; both are silent and use one thread."""
        parameters = self._own.get_params(deep=False)
        changes: dict[str, Any] = {"verbose": 0, "n_jobs": None, "random_state": seed}
        parameters |= {name: value for name, value in changes.items() if name in parameters}
        if before is None or isinstance(before, ConstantLabel):
            head: LinearClassifier = type(self._own)(**parameters)
        else:
            head = copy.copy(before).set_params(**parameters)
            head.__dict__.pop("feature_names_in_", None)
        head._rounded, head._is_label = self._own._rounded, True
        return head

    def _run_heads(self, fit: Callable[[LinearClassifier, int], None], heads: list[LabelHead], labels: Indicator) -> list[Any]:
        """Fit the copies in threads; return the warnings they gave, of which the main thread gives each one once."""
        report, n = current_callback(bool(getattr(self, "verbose", 0))), len(heads)
        busy = [j for j, head in enumerate(heads) if not isinstance(head, ConstantLabel)]
        threads = effective_n_jobs(getattr(self, "n_jobs", None))

        def work(j: int) -> None:
            callback = problem_callback(report, j, n)
            with nullcontext() if callback is None else progress_callback(callback), named_errors(labels, j):
                fit(cast("LinearClassifier", heads[j]), j)

        with one_blas_thread(), warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            for _ in in_order(work, busy, min(threads, len(busy))):
                pass
        return [each.message for each in found]

    def _finished(self, head: LabelHead) -> LinearClassifier:
        """A fitted copy with the parameters that do not change its result."""
        assert not isinstance(head, ConstantLabel)
        own = self._own.get_params(deep=False)
        head.set_params(**{name: own[name] for name in ("n_jobs", "verbose") if name in own})
        return head

    def _set_labels(self, heads: list[LabelHead], labels: Indicator) -> None:
        """Set the fitted attributes, from those of the copies."""
        forget_fit(self._own)
        fitted = [(name, head) for name, head in zip(labels.names.tolist(), heads, strict=True) if head.stop_ is not None]
        stops: list[Stop] = [cast(Stop, head.stop_) for _, head in fitted]
        self.__dict__.update(gathered_attributes(heads))
        self._own.classes_ = labels.names
        self._own.stop_ = merge_stops(stops, [name for name, _ in fitted], noun="label")
        self._own.n_iter_ = max(head.n_iter_ for head in heads)
        self.estimators_, self._sparse_labels = heads, labels.sparse
        names = self.__dict__.get("feature_names_in_")
        for head in heads:
            if names is not None and not isinstance(head, ConstantLabel):
                cast(Any, head).feature_names_in_ = names

    # --- predicting --------------------------------------------------------------------------------------------------------

    def _label_scores(self, X: Matrix) -> FloatArray:
        """Rows x labels."""
        if "coef_" in self.__dict__:
            return linear_scores(X, self._own.coef_, self._own.intercept_)
        return np.concatenate([head._scores(X) for head in self.estimators_], axis=1)

    def _labels_of(self, scores: FloatArray) -> Any:
        """The indicator matrix that belongs to scores, sparse if that of the fit was."""
        found = scores > 0
        return sp.csr_matrix(found, dtype=np.int64) if self._sparse_labels else found.astype(np.int64)

    def _label_probabilities(self, scores: FloatArray, logarithms: bool) -> FloatArray:
        """The probability of each label, rows x labels."""
        columns = []
        for j, head in enumerate(self.estimators_):
            score = scores[:, [j]]
            if isinstance(head, ConstantLabel):
                columns.append(np.full(len(score), (0.0 if head.value else -np.inf) if logarithms else float(head.value)))
                continue
            found = head._checked_map()
            both = found.log_probabilities(score) if logarithms else found.probabilities(score)
            columns.append(both[:, 1])
        return np.stack(columns, axis=1)

    def _check_label_probabilities(self) -> None:
        """Raise an error unless the copies, with their parameters, have probabilities."""
        fitted = [head for head in self.estimators_ if not isinstance(head, ConstantLabel)]
        if self._own.calibrate is None and fitted[0]._native_map is None:
            raise NoProbabilitiesError(type(self).__name__)

    def _refuse_labels(self, method: str, instead: str) -> None:
        """Raise an error if the estimator was fitted on several labels a row, of which a method takes one."""
        if self.multilabel_:
            n = len(self.estimators_)
            raise SeveralLabelsError(f"{method} takes a model of one label, but this one has {n}: use {instead} for label j")

    @property
    def _own(self) -> LinearClassifier:
        """The estimator that this is mixed into."""
        return cast("LinearClassifier", self)


def _positive_rows(labels: Indicator, weights: FloatArray | None) -> list[tuple[bool, bool]]:
    """For each label, whether some and whether all rows that count have it."""
    counted = None if weights is None else np.flatnonzero(weights)
    if counted is not None and not len(counted):
        raise ValueError("sample_weight gives every row zero weight: there is nothing to learn from")
    found = []
    for j in range(len(labels)):
        column: IntArray = labels.column(j) if counted is None else labels.column(j)[counted]
        found.append((bool(column.any()), bool(column.all())))
    return found


@contextmanager
def named_errors(labels: Indicator, j: int) -> Iterator[None]:
    """Name the label in errors."""
    try:
        yield
    except ValueError as error:
        raise LabelError(labels.names[j].item(), error) from error
