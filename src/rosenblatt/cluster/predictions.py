"""`rb.cluster.predict`, `evaluate` and `margin`: a fitted model on rows in blocks."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ..array_types import Array, FloatArray, IntArray
from ..estimators.base import LinearClassifier
from ..models.files import load
from ..models.model import Model
from ..models.state import model_of
from ..probabilities.measures import ProbabilitySums, ProbabilityTest
from ..proofs.hypothesis import (
    Hypothesis,
    Space,
    class_codes,
    class_positions,
    steps_and_hypothesis,
    validated_matrix,
)  # fmt: skip
from ..proofs.margins import SPACES
from ..training.metrics import Confusion
from ..validation import check_choice
from .blocks import BlockError
from .engine import Engine, Handle
from .file_sources import CACHE
from .fit import open_engine
from .prediction_files import paths_of_blocks, prepare_folder, write_index, write_labels
from .read import FileBlocks
from .row_blocks import BlockRows, blocks_given, codes_of_block, n_rows_of, start_on_blocks, widened
from .tree import submit_tree

if TYPE_CHECKING:
    from distributed import Client

# A fitted estimator, of Rosenblatt or with `predict` and `classes_` as scikit-learn's; a `Model`; or the path of a model file.
Fitted: TypeAlias = Any


def predict(
    model: Fitted,
    data: Any,
    client: Client | str | Engine | None = None,
    *,
    to: str | os.PathLike[str] | None = None,
    block_rows: int | None = None,
) -> Array | Path:
    """Predict the class of each row of blocks.

    Parameters
    ----------
    model : estimator, Model or path
        A fitted estimator, a `Model`, or the path of a model file.
    data : array-like, sparse matrix, Dask collection, list or FileBlocks
        The rows: an array, a data frame, a Dask array or data frame; a list of blocks, which may be delayed; or files, by
        `rosenblatt.cluster.read`, which are read as the model needs them. Pairs with labels, as for
        `rosenblatt.cluster.fit`, are accepted; the labels are ignored.
    client : distributed.Client or str, optional
        The client of a Dask cluster, or the address of its scheduler. Default: the current client, or this process if there is
        none.
    to : path, optional
        A folder, which all workers see under this path. Each block then writes its labels to a file of its own,
        ``block-00001.txt`` and so on, one label per line; ``index.json`` lists them and is written last. The folder must be
        new, empty, or hold earlier predictions, which are replaced.
    block_rows : int, optional
        Rows in a block, for arrays. Default: about 64 MB.

    Returns
    -------
    ndarray of shape (n_rows,), or Path
        The labels; with `to`, the path of the index.

    Raises
    ------
    BlockError
        If a block cannot be predicted.

    See Also
    --------
    rosenblatt.cluster.evaluate : Measure predictions.

    Examples
    --------
    >>> import numpy as np
    >>> import rosenblatt as rb
    >>> X, y = np.array([[0.0, 0.0], [0.0, 2.0], [2.0, 0.0], [2.0, 2.0]]), np.array(["no", "no", "no", "yes"])
    >>> rb.cluster.predict(rb.SoftMargin().fit(X, y), X, block_rows=3).tolist()
    ['no', 'no', 'no', 'yes']
    """
    predictor = _predictor(model, data)
    folder = None if to is None else Path(os.path.abspath(to))
    if folder is not None:
        prepare_folder(folder)
    with open_engine(client) as engine:
        given = blocks_given(data, block_rows, engine, predictor if isinstance(predictor, Model) else None)
        shared = engine.put(predictor)
        if folder is None:
            labels: list[Array] = engine.gather(start_on_blocks(engine, given, _predict_block, shared))
            return np.concatenate(labels)
        paths = paths_of_blocks(folder, len(given.names))
        rows: list[int] = engine.gather(start_on_blocks(engine, given, _write_block, shared, of_each=[paths]))
    return write_index(folder, given.names, paths, rows)


@dataclass(frozen=True)
class Evaluation:
    """Predictions and probabilities of a model on rows with labels: what `rosenblatt.cluster.evaluate` returns.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
        The classes of the model.
    confusion : Confusion
        The counts of rows by true class and predicted class, with `errors`, `error`, `precision`, `recall` and `f1`.
    probabilities : ProbabilityTest or None
        Log loss, Brier score and reliability; None if the model has no probabilities.

    See Also
    --------
    rosenblatt.cluster.evaluate : Makes it.

    Examples
    --------
    >>> import numpy as np
    >>> import rosenblatt as rb
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array(["no", "no", "yes", "yes"])
    >>> test = rb.cluster.evaluate(rb.SoftMargin().fit(X, y), (X, y))
    >>> test.classes.tolist(), test.confusion.error, test.probabilities is None
    (['no', 'yes'], 0.0, True)
    """

    classes: Array
    confusion: Confusion
    probabilities: ProbabilityTest | None = None


def evaluate(
    model: Fitted,
    data: Any,
    client: Client | str | Engine | None = None,
    *,
    block_rows: int | None = None,
) -> Evaluation:
    """Measure the predictions of a model on blocks of rows with labels.

    Parameters
    ----------
    model : estimator, Model or path
        A fitted estimator, a `Model`, or the path of a model file.
    data : tuple, list or FileBlocks
        Rows and labels, as for `rosenblatt.cluster.fit`. All rows count the same: weights are ignored.
    client : distributed.Client or str, optional
        The client of a Dask cluster, or the address of its scheduler. Default: the current client, or this process if there is
        none.
    block_rows : int, optional
        Rows in a block, for arrays. Default: about 64 MB.

    Returns
    -------
    Evaluation
        The counts of errors, and the quality of the probabilities if the model has some.

    Raises
    ------
    BlockError
        If a block cannot be predicted, has no labels, or has a label that the model does not know.

    See Also
    --------
    rosenblatt.cluster.predict : The predictions themselves.
    rosenblatt.cluster.margin : The margin of the worst row.

    Examples
    --------
    >>> import numpy as np
    >>> import rosenblatt as rb
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 1, 1, 1])
    >>> test = rb.cluster.evaluate(rb.SoftMargin().fit(X, [0, 0, 1, 1]), (X, y), block_rows=2)
    >>> test.confusion.errors, test.confusion.counts.tolist()
    (1, [[1, 0], [1, 2]])
    """
    predictor = _predictor(model, data)
    classes = np.asarray(predictor.classes if isinstance(predictor, Model) else predictor.classes_)
    with open_engine(client) as engine:
        given = blocks_given(data, block_rows, engine, predictor if isinstance(predictor, Model) else None)
        parts = start_on_blocks(engine, given, _evaluate_block, engine.put(predictor), engine.put(classes))
        counts, *sums = engine.gather([submit_tree(engine, [partial(_same, part) for part in parts])])[0]
    confusion = Confusion(counts)
    if not confusion.rows:
        raise ValueError("the blocks have no rows")
    return Evaluation(classes, confusion, ProbabilitySums(*sums).test() if sums else None)


def margin(
    model: Fitted,
    data: Any,
    client: Client | str | Engine | None = None,
    *,
    space: Space = "augmented",
    block_rows: int | None = None,
) -> float:
    """Compute the margin of a hypothesis on rows in blocks: that of its worst row, negative if it misclassifies rows.

    Parameters
    ----------
    model : estimator, Model, tuple or path
        A fitted linear classifier, a `Model`, a pair (coef, intercept), or the path of a model file.
    data : tuple, list or FileBlocks
        Rows and labels, as for `rosenblatt.cluster.fit`.
    client : distributed.Client or str, optional
        The client of a Dask cluster, or the address of its scheduler. Default: the current client, or this process if there is
        none.
    space : {"augmented", "geometric"}, default="augmented"
        Whether the intercept counts in norms, as for `rosenblatt.margin`.
    block_rows : int, optional
        Rows in a block, for arrays. Default: about 64 MB.

    Returns
    -------
    float
        The smallest margin: that of `rosenblatt.margin`, up to rounding.

    Raises
    ------
    ValueError
        If the model is not a linear classifier with one weight vector for each class, or all its weights are zero.

    See Also
    --------
    rosenblatt.margin : The same for rows in memory.
    rosenblatt.cluster.certify : The widest margin of all hypotheses.

    Examples
    --------
    >>> import numpy as np
    >>> import rosenblatt as rb
    >>> X, y = np.array([[0.0, 0.0], [1.0, 0.0], [3.0, 4.0], [4.0, 4.0]]), np.array([0, 0, 1, 1])
    >>> rb.cluster.margin(([0.0, 1.0], -2.0), (X, y), space="geometric", block_rows=2)
    2.0
    """
    check_choice("space", space, SPACES)
    loaded = _for_files(model, data) if isinstance(data, FileBlocks) else _loaded(model)
    steps, found = _features_and_hypothesis(loaded)
    with open_engine(client) as engine:
        given = blocks_given(data, block_rows, engine, loaded if isinstance(loaded, Model) else None)
        if found.classes is None:
            labels = engine.gather(start_on_blocks(engine, given, _labels_of_block))
            present = sorted({label for each in labels for label in each})
            found = replace(found, classes=np.array(list(class_positions(len(found.planes), present))))
        shared = engine.put(steps), engine.put(found)
        return min(map(float, engine.gather(start_on_blocks(engine, given, _margin_of_block, *shared, space))))


# --- models ----------------------------------------------------------------------------------------------------------------


def _loaded(model: Fitted) -> Any:
    return load(model) if isinstance(model, str | os.PathLike) else model


def _for_files(model: Fitted, data: FileBlocks) -> Any:
    """The model with the features of files: those that an estimator was fitted to, and none for rows that are features."""
    model = _loaded(model)
    if isinstance(model, LinearClassifier) and not model.multilabel_:
        width = None if data.recipe is None else data.recipe.width
        model = data.model(model) if width == model.n_features_in_ else model_of(model, running=False)
    if isinstance(model, Model) and data.form.kind == CACHE and model.recipe is not None and model.recipe.kind == "table":
        return replace(model, recipe=None)
    return model


def _predictor(model: Fitted, data: Any) -> Any:
    """What predicts in tasks: a `Model` without the state of its run, or the estimator itself."""
    model = _for_files(model, data) if isinstance(data, FileBlocks) else _loaded(model)
    if isinstance(model, Model):
        return replace(model, more=None)
    if isinstance(model, LinearClassifier) and not model.multilabel_:
        return model_of(model, running=False)
    if not (hasattr(model, "predict") and hasattr(model, "classes_")):
        raise TypeError(f"model must be a fitted classifier, a Model or a path, got {type(model).__name__}")
    return model


def _features_and_hypothesis(model: Fitted) -> tuple[list[Callable[[Any], Any]], Hypothesis]:
    """The functions that make the features of a model, and its weights."""
    if not isinstance(model, Model):
        steps, found = steps_and_hypothesis(model)
        return [step.transform for step in steps], found
    if model.coef is None or model.pairs:
        what = "is a vote of many planes" if model.coef is None else "compares pairs of classes"
        raise ValueError(f"this {model.kind} {what}, but a margin needs one weight vector for each class")
    _, found = steps_and_hypothesis((model.coef, model.intercept))
    scaling = model.parameters.get("intercept_scaling", 1.0) if model.parameters.get("fit_intercept", True) else 1.0
    found = replace(found, x0=float(scaling), classes=model.classes)
    return [partial(_features, replace(model, more=None))], found


def _features(model: Model, X: Any) -> Any:
    return model.features(X if model.recipe is not None else widened(X, model.n_features))


# --- tasks -----------------------------------------------------------------------------------------------------------------


def _rows(rows: BlockRows, predictor: Any) -> Any:
    plain = isinstance(predictor, Model) and predictor.recipe is None
    return widened(rows.X, predictor.n_features) if plain else rows.X


def _predict_block(name: str, rows: BlockRows, predictor: Any) -> Array:
    """A task: the labels of a block."""
    if rows.X is None or not n_rows_of(rows.X):
        classes = predictor.classes if isinstance(predictor, Model) else predictor.classes_
        return np.zeros(0, np.asarray(classes).dtype)
    return np.asarray(predictor.predict(_rows(rows, predictor)))


def _evaluate_block(name: str, rows: BlockRows, predictor: Any, classes: Array) -> tuple[Any, ...]:
    """A task: the confusion matrix of a block, and the sums of the losses of its probabilities."""
    k = len(classes)
    if rows.X is None or not n_rows_of(rows.X):
        probable = (
            predictor.probability_map is not None if isinstance(predictor, Model) else hasattr(predictor, "predict_proba")
        )
        nothing: FloatArray = np.zeros((0, k))
        codes: IntArray = np.zeros(0, np.int64)
        sums = tuple(ProbabilitySums.of(nothing, codes)) if probable else ()
        return (np.zeros((k, k), np.int64), *sums)
    true, X = codes_of_block(name, rows.y, classes), _rows(rows, predictor)
    probabilities: FloatArray | None = None
    if isinstance(predictor, Model):
        scores = predictor.scores(X)
        predicted = predictor.winners(scores)
        if predictor.probability_map is not None:
            probabilities = predictor.probabilities_of(scores)
    else:
        predicted = codes_of_block(name, np.asarray(predictor.predict(X)), classes)
        if hasattr(predictor, "predict_proba"):
            probabilities = predictor.predict_proba(X)
    if len(true) != len(predicted):
        raise BlockError(f"{name} has {len(predicted)} rows, but {len(true)} labels")
    sums = () if probabilities is None else tuple(ProbabilitySums.of(probabilities, true))
    return (Confusion.of(true, predicted, k).counts.astype(np.int64), *sums)


def _labels_of_block(name: str, rows: BlockRows) -> list[Any]:
    """A task: the labels of a block, each once."""
    if rows.y is None:
        raise BlockError(f"{name} has no labels: give pairs (X, y)")
    found: list[Any] = np.unique(np.asarray(rows.y)).tolist()
    return found


def _margin_of_block(name: str, rows: BlockRows, steps: list[Any], found: Hypothesis, space: Space) -> float:
    """A task: the smallest margin of a block; infinite if it has no rows."""
    X, width = rows.X, found.planes.shape[1]
    if X is None or not n_rows_of(X):
        return float("inf")
    for step in steps:
        X = step(X)
    X = widened(X, width)
    matrix = validated_matrix(X.to_scipy() if hasattr(X, "to_scipy") else X)
    if matrix.shape[1] != width:
        raise BlockError(f"{name} has {matrix.shape[1]} features, but the model has weights for {width}")
    if rows.y is None:
        raise BlockError(f"{name} has no labels: give pairs (X, y)")
    if isinstance(rows.y, np.ndarray):
        codes = class_codes(found, rows.y, matrix.shape[0])
    else:
        codes = codes_of_block(name, rows.y, np.asarray(found.classes))
    return float(found.margins(matrix, codes, space).min())


def _same(handle: Handle) -> Handle:
    return handle


def _write_block(name: str, rows: BlockRows, path: Path, predictor: Any) -> int:
    """A task: write the labels of a block; return the number of rows."""
    labels = _predict_block(name, rows, predictor)
    write_labels(path, labels)
    return len(labels)
