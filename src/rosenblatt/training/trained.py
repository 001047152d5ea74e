"""`rb.train`: from a file, a data frame or arrays to a tested model, as `rosenblatt train` does it."""

from __future__ import annotations

import contextlib
import difflib
import inspect
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from ..array_types import Array, MatrixLike
from ..catalog import ALGORITHMS
from ..data.readers import Options
from ..data.readers.frames import NAME, frame_source, is_frame, is_truth_column
from ..data.readers.read import digest, read
from ..data.readers.sources import Source
from ..data.table import Data, as_data
from ..models.files import save
from ..models.model import Model, ModelInput
from ..reporting.text import percent, plural, wrap
from .preparation import read_with_digest
from .python_terms import errors_in_python, in_python
from .record import model_of_outcome
from .request import Request
from .summary import as_dict, judge, pool, summarize
from .train import train_data

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..estimators.base import LinearClassifier
    from .train import Outcome

ARRAYS = "arrays"  # in messages
LINE_COLUMNS = 110
# Options of reading that are no parameters of `train`.
READING = (
    "format",
    "header",
    "skip_lines",
    "decimal",
    "thousands",
    "sep",
    "encoding",
    "dates",
    "zero_based",
    "sheet",
    "max_memory",
)
# Names of other libraries, and the parameters here.
INSTEAD = {"target": "label", "seed": "random_state", "separator": "sep", "delimiter": "sep", "test_size": "holdout"}
# A file, a data frame, or rows; and those to test on, with their labels where these are not a column.
Rows: TypeAlias = "str | os.PathLike[str] | MatrixLike"
Tested: TypeAlias = "str | os.PathLike[str] | MatrixLike | tuple[MatrixLike, npt.ArrayLike] | None"


@dataclass(frozen=True, repr=False)
class Trained:
    """A tested model, which `train` makes. `print` shows what `rosenblatt train` prints.

    Parameters
    ----------
    model : Model
        The model with its preprocessing: it predicts files and data frames, and `rb.save` writes it.
    estimator : LinearClassifier
        The fitted estimator, which takes features.
    error : float or None
        The share of wrong rows among those that were not trained on; None if none were held out.
    interval : tuple of float or None
        Its 95 % interval (Wilson).
    baseline : float
        The error of always predicting the most frequent class, on the same rows.
    warnings : tuple of str
        Why not to trust the model: a class that it never predicts, or an error that is no better than the baseline.
    notes : tuple of str
        How the rows were read and prepared, and what was noticed about them.
    outcome : Outcome
        All that came of the training.

    See Also
    --------
    train : Makes it.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> trained = rb.train("example:breast-cancer")
    >>> trained.error < trained.baseline, trained.warnings, trained.model.classes.tolist()
    (True, (), ['benign', 'malignant'])
    """

    model: Model
    estimator: LinearClassifier
    error: float | None
    interval: tuple[float, float] | None
    baseline: float
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    outcome: Outcome

    def __repr__(self) -> str:
        algorithm = self.outcome.request.choice.title.lower()
        tested = "not tested" if self.error is None else f"error {percent(self.error)}, baseline {percent(self.baseline)}"
        return f"<Trained: {algorithm}, {plural(self.outcome.rows, 'row')}, {tested}>"

    def __str__(self) -> str:
        fields = summarize(self.outcome)
        left = max(len(name) for name, _ in fields) + 2
        lines = []
        for name, value in fields:
            first, *more = wrap(in_python(value), LINE_COLUMNS - left)
            lines += [f"{name:<{left}}{first}", *(" " * left + line for line in more)]
        return "\n".join(lines)

    def predict(self, X: ModelInput) -> Array:
        """Predict the class of each row, as `Model.predict`.

        Parameters
        ----------
        X : DataFrame, path, array-like or sparse matrix
            The rows.

        Returns
        -------
        ndarray of shape (n_rows,)
            The labels.
        """
        return self.model.predict(X)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file, as `rb.save`.

        Parameters
        ----------
        path : str or path
            The file, which is replaced as a whole.
        """
        save(self.model, path)

    def to_dict(self) -> dict[str, Any]:
        """Return the results as plain values, as `rosenblatt train --json` prints them.

        Returns
        -------
        dict
            Values that `json.dumps` takes.
        """
        return as_dict(self.outcome)


def train(
    data: Rows,
    y: npt.ArrayLike | None = None,
    *,
    label: str | None = None,
    test: Tested = None,
    holdout: float | None = None,
    cv: int | None = None,
    algorithm: str = "auto",
    tune: bool = False,
    budget: float | None = None,
    scale: str = "auto",
    degree: int = 1,
    threshold: str | float | None = None,
    positive: object = None,
    certify: bool | None = None,
    ignore: str | int | Sequence[str | int] = (),
    text: str | int | Sequence[str | int] = (),
    categorical: str | int | Sequence[str | int] = (),
    text_features: str = "auto",
    missing: str = "auto",
    missing_indicator: bool = False,
    random_state: int = 0,
    **more: object,
) -> Trained:
    """Train a model on a file, a data frame or arrays, and test it on rows that it has not seen.

    Columns become features as on the command line: numbers are standardized, categories one-hot encoded, texts cut into words,
    dates counted in days, and missing cells filled. `docs/command-line.md` describes all of it.

    Parameters
    ----------
    data : str, path, DataFrame, pyarrow.Table, array-like or sparse matrix
        The path of a file in any format that is read, ``"example:iris"``, a data frame of pandas, polars or pyarrow, which
        needs the extra `rosenblatt[data]`, or rows of numbers.
    y : array-like, default=None
        The labels, unless they are a column of `data`.
    label : str, default=None
        The label column. None: found by its name, or the last column.
    test : str, path, DataFrame or tuple (X, y), default=None
        Rows to test on. None: some rows are held out, see `holdout`.
    holdout : float, default=None
        The share of each class that is held out for the test. None: 0.2, unless there is another test or there are few rows.
    cv : int, default=None
        Test by this number of folds.
    algorithm : str, default="auto"
        A name of the command line's, such as "average". "auto" is logistic regression with C chosen by cross-validation, and
        for large data the averaged perceptron.
    tune : bool, default=False
        Whether parameters, scaling and degree are chosen by cross-validation.
    budget : float, default=None
        Seconds for `tune`.
    scale : {"auto", "none", "max", "standard"}, default="auto"
        The scaling of numeric columns; "auto" is "standard".
    degree : int, default=1
        The degree of polynomial features.
    threshold : float or str, default=None
        Where to predict the positive class: a probability such as 0.3, "cost=10:1", "f1", "precision=0.9" or "recall=0.95".
    positive : object, default=None
        The class that `threshold` is about. None: the rarer one.
    certify : bool, default=None
        Whether to prove if the training rows are separable. None: if that is quick.
    ignore, text, categorical : str, int or sequence of them, default=()
        Columns to leave out, columns of text, and columns of categories that look like numbers: names, or positions from 0.
    text_features : str, default="auto"
        The features of columns of text, such as "words-2", "chars-3-5" or "words:counts".
    missing : {"auto", "mean", "median", "refuse"}, default="auto"
        What becomes of missing numbers: "auto" is the median.
    missing_indicator : bool, default=False
        Whether columns with missing numbers get a feature that marks them.
    random_state : int, default=0
        The seed of the rows held out, of the folds and of the algorithm.
    **more : object
        Parameters of the estimator, such as ``C=10.0`` or ``calibrate="sigmoid"``; and options of reading files, named as
        those of the command line: ``sep``, ``encoding``, ``decimal``, ``thousands``, ``dates``, ``header``, ``skip_lines``,
        ``format``, ``sheet``, ``zero_based`` and ``max_memory``.

    Returns
    -------
    trained : Trained
        The tested model.

    See Also
    --------
    tune : Choose the parameters of an estimator.

    Examples
    --------
    >>> import numpy as np, pandas as pd, rosenblatt as rb
    >>> rng = np.random.default_rng(0)
    >>> pets = pd.DataFrame({"kind": rng.choice(["cat", "dog"], 200), "weight": rng.normal(10, 3, 200).round(1)})
    >>> pets["indoors"] = np.where((pets.kind == "cat") ^ (rng.random(200) < 0.1), "yes", "no")
    >>> trained = rb.train(pets, label="indoors")
    >>> trained
    <Trained: logistic regression, 160 rows, error 2.5 %, baseline 45.0 %>
    >>> trained.model.predict(pd.DataFrame({"kind": ["cat", "dog"], "weight": [4.0, None]})).tolist()
    ['yes', 'no']
    """
    reading: dict[str, Any] = {name: more.pop(name) for name in READING if name in more}
    reading |= {"ignore": _columns(ignore), "text": _columns(text), "categorical": _columns(categorical)}
    reading |= {"label": label, "missing": missing, "missing_indicator": missing_indicator}
    _check_names(more)
    _check_types(y, test, budget, random_state)
    with errors_in_python():
        request = Request(
            data=_name(data), options=Options(**reading), algorithm=algorithm, parameters=more, degree=degree,
            scale=cast(Any, scale), test=None if test is None else _name(test), holdout=holdout, cv=cv, seed=random_state,
            certify=certify, tune=tune, budget=budget, text_features=text_features,
            threshold=None if threshold is None else str(threshold), positive=None if positive is None else str(positive),
        )  # fmt: skip
        return _train(request, data, y, test)


def _train(
    request: Request, data: Rows, y: npt.ArrayLike | None, test: Rows | tuple[MatrixLike, npt.ArrayLike] | None
) -> Trained:
    with contextlib.ExitStack() as stack:
        tested: Data | Source | None = None
        if isinstance(test, tuple):
            tested = _labeled(*test)
        elif test is not None and not isinstance(test, str | os.PathLike):
            tested = stack.enter_context(frame_source(test))
        if isinstance(data, str | os.PathLike):
            if y is not None:
                raise ValueError("y is for rows in memory: name the label column of a file with label")
            rows, file_digest = read_with_digest(request)
        elif is_frame(data):
            label = request.options.label
            name = label or str(getattr(y, "name", None) or "label")
            request = replace(request, options=replace(request.options, label=label if y is None else name))
            source = stack.enter_context(frame_source(data, y, name))
            rows, file_digest = read(source, request.options), digest(source)
            truths = np.asarray(y).dtype.kind == "b" if y is not None else is_truth_column(data, rows.label_name)
            if truths and rows.labels is not None:
                rows = replace(rows, labels=rows.labels == "true")
        else:
            rows, file_digest = _labeled(data, y), None
        outcome = train_data(request, rows, file_digest, test=tested)
    return _trained(replace(outcome, notes=tuple(map(in_python, outcome.notes))))


def _trained(outcome: Outcome) -> Trained:
    """The public part of an outcome."""
    judgment, tested = judge(outcome), outcome.test or (pool(outcome.folds) if outcome.folds else None)
    error, interval = (None, None) if tested is None else (tested.error, tested.interval)
    model = model_of_outcome(outcome)
    return Trained(model, outcome.estimator, error, interval, judgment.baseline, judgment.warnings, outcome.notes, outcome)


def _columns(given: str | int | Sequence[str | int]) -> tuple[str, ...]:
    """One column, or several, as options of reading name them."""
    return tuple(map(str, (given,) if isinstance(given, str | int) else given))


def _check_types(y: object, test: object, budget: object, random_state: object) -> None:
    """Raise an error for arguments that are easily taken for others."""
    if isinstance(y, str):
        raise TypeError(f"y must be the labels; to name the label column: label={y!r}")
    if isinstance(test, int | float):
        raise TypeError(f"test must be rows or a file; to hold out a share of the rows: holdout={test}")
    if isinstance(budget, str):
        raise TypeError(f"budget must be a number of seconds, got {budget!r}")
    if isinstance(random_state, bool) or not isinstance(random_state, int | np.integer):
        raise TypeError(f"random_state must be a whole number, got {random_state!r}")


def _check_names(given: Iterable[str]) -> None:
    known = {name for algorithm in ALGORITHMS.values() for name in algorithm.options}
    for name in given:
        if name not in known:
            own = [*inspect.signature(train).parameters, *READING, *sorted(known)]
            similar = [INSTEAD[name]] if name in INSTEAD else difflib.get_close_matches(name, own, 1, 0.7)
            raise TypeError(f"train has no parameter {name!r}{f'; did you mean {similar[0]!r}?' if similar else ''}")


def _name(data: Rows | tuple[MatrixLike, npt.ArrayLike]) -> str:
    """The name of rows in messages."""
    if isinstance(data, str | os.PathLike):
        return os.fspath(data)
    return NAME if not isinstance(data, tuple) and is_frame(data) else ARRAYS


def _labeled(X: MatrixLike, y: npt.ArrayLike | None) -> Data:
    """Rows in memory with their labels."""
    if y is None:
        raise ValueError("arrays have no label column: give the labels as y")
    rows = as_data(X, ARRAYS)
    labels = np.asarray(y)
    if labels.shape != (rows.n_rows,):
        raise ValueError(f"y must have one label for each of the {plural(rows.n_rows, 'row')}, got the shape {labels.shape}")
    if labels.dtype.kind == "b":
        return replace(rows, labels=labels)
    missing = np.array([label is None or label != label for label in labels.tolist()])
    if missing.any():
        raise ValueError(f"y has {plural(int(missing.sum()), 'missing label')}, the first in row {int(missing.argmax()) + 1}")
    if labels.dtype.kind in "iuf":
        if (labels != np.round(labels)).any():
            raise ValueError("y must hold classes: whole numbers, text or truth values; these numbers have fractions")
        return replace(rows, labels=labels.astype(np.float64))
    texts = np.empty(len(labels), object)
    texts[:] = labels
    if not all(isinstance(label, str) for label in texts):
        raise ValueError("y must hold labels of one type, such as text; these are mixed")
    return replace(rows, labels=texts)
