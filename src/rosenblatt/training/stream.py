"""Train on files larger than memory: `rosenblatt train --stream`.

The file is read twice, in chunks: once to fit the recipe and find the classes, once to write the rows, as features, to a cache
on disk (see `data/cache.py`). Each pass of the estimator then goes through the cache, of which a small part is in memory at a
time. The rows held out are the same as in memory.

The estimator runs the same kernels on the same numbers as in memory. In cyclic order its weights are the same to the last bit;
in other orders, too, if the fit in memory keeps no log (``log=False``). No log is kept here, since it grows with the updates:
parameters that need one are refused.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..array_types import Array, BoolArray, IntArray, Matrix
from ..data.cache import Cache, cache_key, open_if_current
from ..data.cache_header import OutdatedCacheError
from ..data.cache_writer import CacheWriter, temporary_caches
from ..data.csr import CSRMatrix
from ..data.readers import is_example
from ..data.readers.read import chunks, open_source
from ..data.readers.sources import Source
from ..data.table import Data, as_text, codes_of, typed_labels
from ..estimators.base import LinearClassifier, StreamingObstacle
from ..estimators.row_weights import weights_of_classes
from ..preprocessing.recipe import Recipe
from ..progress import Progress, ProgressCallback
from ..reporting.text import percent, plural
from ..scores import linear_scores, winners
from .consultation import about_classes, about_columns
from .metrics import Confusion
from .preparation import (
    check_classes,
    check_weight_count,
    describe_provenance,
    learn_recipe,
    options_for_recipe,
    reason_without_test,
    require_labels,
)
from .request import AUTO, SINGLE_PASS, Request, option_of
from .split import Holdout
from .train import Outcome, PassRecord, messages_of, record_fit, same_file, timed

# Bytes of the file that are parsed at a time; their rows take a few times as much memory.
CHUNK_BYTES = 1 << 22
# Rows that a report is drawn from, in blocks of neighbors.
SAMPLE_ROWS, SAMPLE_BLOCK_ROWS = 5000, 50
FILE_ORDER_NOTE = "Rows were visited in the order of the file. If it is sorted, shuffle it first."


class Caches(NamedTuple):
    """Training rows and test rows on disk, and the recipe that made them."""

    train: Cache
    test: Cache | None
    recipe: Recipe
    provenance: dict[str, Any]
    notes: tuple[str, ...]


def train_stream(
    request: Request, cache_path: str | None = None, watch: ProgressCallback | None = None, beside: str = "model"
) -> Outcome:
    """Train the model of a request in constant memory and test it.

    Parameters
    ----------
    request : Request
    cache_path : str, optional
        Folder in which the cache is kept, to be used again. By default it is a temporary folder.
    watch : callable, optional
        Called with the `Progress` of reading and of the fit.
    beside : str, default="model"
        Path next to which the temporary folder is created.

    Returns
    -------
    Outcome

    See Also
    --------
    rosenblatt.training.train.train : The same in memory.
    """
    started = time.perf_counter()
    if request.algorithm == AUTO:
        request = replace(request, algorithm=SINGLE_PASS)
    choice = request.choice
    in_file_order = "order" in choice.options and "order" not in choice.parameters | dict(request.parameters)
    if in_file_order:  # any other order jumps about in the cache
        request = replace(request, parameters={**request.parameters, "order": "cyclic"})
    estimator = request.make()
    _check_request(request, estimator)
    history: list[PassRecord] = []
    with contextlib.ExitStack() as stack:
        caches = _open_caches(request, cache_path, beside, watch, stack)
        request = request.with_classes(lambda: caches.train.classes)
        if "class_weight" in request.parameters:
            estimator.set_params(class_weight=request.parameters["class_weight"])
        warned = stack.enter_context(record_fit(history, watch))
        with timed() as times:
            fit_from_cache(estimator, caches.train)
        test = None if caches.test is None else _count_errors(estimator, caches.test)
        sample = sample_rows(caches.train)
        classes = about_classes(request, caches.train.classes, caches.train.counts)
        order = [FILE_ORDER_NOTE] if in_file_order else []
        return Outcome(
            request,
            caches.recipe,
            estimator,
            rows=caches.train.shape[0],
            train=_count_errors(estimator, caches.train),
            test=test,
            history=tuple(history),
            seconds=times.fit,
            total_seconds=time.perf_counter() - started,
            compile_seconds=times.compile,
            test_is_training_file=same_file(request, caches.provenance.get("sha256"), caches.provenance.get("test_sha256")),
            notes=(*caches.notes, *order, *classes, *messages_of(warned, estimator.stop_)),
            sample=sample,
            provenance=caches.provenance,
        )


def _check_request(request: Request, estimator: LinearClassifier) -> None:
    if estimator._streaming_obstacle() is not None:
        raise ValueError(_refusal_by_option(request))
    if request.tune:
        raise ValueError("--tune needs the rows in memory: leave out --stream")
    if request.threshold is not None:
        raise ValueError("--threshold needs the rows in memory: leave out --stream")
    if request.cv is not None:
        raise ValueError("--cv needs the rows in memory: with --stream, use --test or --holdout")
    if request.certify:
        raise ValueError("--certify needs all rows in memory: leave out --stream")
    if request.data == "-":
        raise ValueError("--stream reads the file twice, which standard input does not allow: give a file")
    if is_example(request.data):
        raise ValueError(f"--stream is for files, and {request.data} is made in memory: leave out --stream")


def _refusal_by_option(request: Request) -> str:
    """Return why a refused request cannot be streamed, by the option of the command line that is the cause."""
    for name, value in request.parameters.items():
        rest = {other: given for other, given in request.parameters.items() if other != name}
        if replace(request, parameters=rest).make()._streaming_obstacle() is None:
            given = option_of(name) if value is True else f"{option_of(name)} {value}"
            return f"{given} needs all rows in memory: leave out this option or --stream"
    return f"--algorithm {request.algorithm} needs all rows in memory: use --algorithm average, or leave out --stream"


def _open_caches(
    request: Request, cache_path: str | None, beside: str, watch: ProgressCallback | None, stack: contextlib.ExitStack
) -> Caches:
    """Open the caches of a request, or write them if there are none for it."""
    tested = request.test is not None or request.holdout_share is not None
    reading = {**asdict(replace(request.options, max_memory=None)), "test": request.test and cache_key(request.test)}
    made = request.degree, request.scale, request.text_features
    key = cache_key(request.data, reading, *made, request.holdout_share, request.seed, 3)
    rebuilt: tuple[str, ...] = ()
    if cache_path is None:
        train, test = stack.enter_context(temporary_caches(beside, 2))
    else:
        train, test = Path(cache_path), Path(f"{cache_path}.test")
        try:
            found, held_out = open_if_current(train, key), open_if_current(test, key) if tested else None
        except OutdatedCacheError:
            rebuilt, found = (f"the cache {train} was of an earlier format version and was made again",), None
        if found is not None and (held_out is not None or not tested or not found.notes.get("tested", True)):
            return _reopened(found, held_out)
    caches = _build_caches(request, train, test if tested else None, key, watch)
    return caches._replace(notes=(*caches.notes, *rebuilt))


def _reopened(train: Cache, test: Cache | None) -> Caches:
    notes = train.notes
    arrays = {name: np.array(values, dtype) for name, (dtype, values) in notes["arrays"].items()}
    used = f"the cache {train.path} was used again"
    return Caches(train, test, Recipe.from_parts(notes["recipe"], arrays), notes["provenance"], (*notes["notes"], used))


def _build_caches(request: Request, train: Path, test: Path | None, key: str, watch: ProgressCallback | None) -> Caches:
    """Read the file twice: fit the recipe, then write the features of the training rows and of the test rows."""
    labels: set[str] = set()
    heads: list[Data] = []
    recipe = learn_recipe(request, _training_rows(request, labels, heads, watch), in_memory=False)
    classes = np.unique(typed_labels(np.array(sorted(labels), object)))
    check_classes(heads[0], classes)
    with contextlib.ExitStack() as stack:
        training = _FeatureWriter(train, recipe, classes, key, stack)
        testing = None if test is None else _FeatureWriter(test, recipe, classes, key, stack)
        first: Data | None = None
        with Source(request.data) as source:
            for chunk, held in _parts(request, source, watch, "writing"):
                first = first or chunk
                training.write(chunk.take(~held))
                if testing is not None and held.any():
                    testing.write(chunk.take(held))
            digest = source.sha256 or ""
        assert first is not None
        test_digest = None
        if request.test is not None and testing is not None:
            options = options_for_recipe(recipe, request.options, first)
            with open_source(request.test) as file:
                for chunk in chunks(file, options, CHUNK_BYTES):
                    require_labels(chunk)
                    testing.write(chunk)
                test_digest = None if is_example(file) else file.sha256
        untested = reason_without_test(request) if testing is not None and not testing.rows else None
        notes = tuple(note for note in (first.note, *recipe.notes, *about_columns(first), untested) if note)
        provenance = describe_provenance(request, first, digest, training.rows, test_digest)
        meta, arrays = recipe.to_parts()
        plain = {name: (array.dtype.str, array.tolist()) for name, array in arrays.items()}
        stored = {"recipe": meta, "arrays": plain, "provenance": provenance, "notes": list(notes), "tested": untested is None}
        for writer in (training, testing):
            if writer is not None:
                writer.close(stored)
    tested = test is not None and testing is not None and testing.rows > 0
    return Caches(Cache.open(train), Cache.open(test) if tested and test is not None else None, recipe, provenance, notes)


class _FeatureWriter:
    """Writes rows, as features, to a cache that is created with the first of them."""

    def __init__(self, path: Path, recipe: Recipe, classes: Array, key: str, stack: contextlib.ExitStack) -> None:
        self._path, self._recipe, self._classes, self._key, self._stack = path, recipe, classes, key, stack
        self._writer: CacheWriter | None = None
        self._sparse = False

    @property
    def rows(self) -> int:
        return 0 if self._writer is None else self._writer.rows

    def write(self, data: Data) -> None:
        features = self._recipe.rows(data)
        if self._writer is None:
            self._sparse = isinstance(features, CSRMatrix)
            self._writer = self._stack.enter_context(CacheWriter(self._path, sparse=self._sparse, key=self._key))
        self._writer.append(features, codes_of(data, self._classes))

    def close(self, notes: dict[str, Any]) -> None:
        if self._writer is not None:
            self._writer.close(self._classes, width=self._recipe.width if self._sparse else None, notes=notes)


def _training_rows(request: Request, labels: set[str], heads: list[Data], watch: ProgressCallback | None) -> Iterator[Data]:
    """Yield the training rows of the file in chunks; collect their labels, and the first chunk in `heads`."""
    with Source(request.data) as source:
        for chunk, held in _parts(request, source, watch, "scanning"):
            training = chunk.take(~held)
            labels.update(str(label) for label in np.unique(as_text(require_labels(training))).tolist())
            heads[:] = heads or [training]
            check_weight_count(training, len(labels))
            yield training


def _parts(request: Request, source: Source, watch: ProgressCallback | None, stage: str) -> Iterator[tuple[Data, BoolArray]]:
    """Yield the chunks of the file, and which of their rows are held out."""
    share = request.holdout_share
    holdout = None if share is None else Holdout(share, request.seed)
    rows = 0
    waiting: list[tuple[Data, BoolArray]] = []  # until it is known whether rows are held out at all
    for chunk in chunks(source, request.options, CHUNK_BYTES):
        labels = require_labels(chunk)
        waiting.append((chunk, np.zeros(chunk.n_rows, bool) if holdout is None else holdout.mask(labels)))
        if holdout is None or request.holdout is not None or holdout.worthwhile:
            yield from waiting
            waiting.clear()
        rows += chunk.n_rows
        if watch is not None:
            done = f", {percent(source.position / source.size, 0)}" if source.size else ""
            watch(Progress(0, text=f"{stage}: {plural(rows, 'row')}{done}"))
    yield from ((chunk, np.zeros(chunk.n_rows, bool)) for chunk, _ in waiting)


def _count_errors(estimator: LinearClassifier, cache: Cache) -> Confusion:
    def predict(rows: Matrix) -> Array:
        # `estimator.predict` would validate and copy rows that the cache has checked already.
        labels: Array = estimator.classes_[winners(linear_scores(rows, estimator.coef_, estimator.intercept_))]
        return labels

    return Confusion(confusion_from_cache(predict, cache, estimator.classes_)[1])


def sample_rows(cache: Cache) -> tuple[Matrix, Array]:
    """Return some rows of a cache and their labels: blocks of neighbors, evenly spread."""
    n = cache.shape[0]
    starts: Iterable[int] = range(0, n, SAMPLE_BLOCK_ROWS)
    if n > SAMPLE_ROWS:
        starts = np.linspace(0, n - SAMPLE_BLOCK_ROWS, SAMPLE_ROWS // SAMPLE_BLOCK_ROWS).astype(int).tolist()
    parts = []
    for start, stop in ((start, start + SAMPLE_BLOCK_ROWS) for start in starts):
        parts.append((cache.chunk(start, stop).copy(), cache.codes[start:stop].copy()))
        cache.drop(0, n)  # all, since neighboring pages are mapped as well
    codes = np.concatenate([codes for _, codes in parts])
    import scipy.sparse as sp

    blocks = [rows for rows, _ in parts]
    rows: Matrix = sp.vstack(blocks, format="csr") if cache.header.sparse else np.concatenate(blocks)
    return rows, cache.classes[codes]


# --- fits from a cache -----------------------------------------------------------------------------------------------------


Estimator = TypeVar("Estimator", bound=LinearClassifier)


def fit_from_cache(estimator: Estimator, cache: Cache) -> Estimator:
    """Fit an estimator on the rows of a cache, in memory that does not grow with the rows.

    The weights equal, bit for bit, those of ``estimator.fit`` on the same rows in memory (see the module). No log is kept.

    Parameters
    ----------
    estimator : LinearClassifier
        Its `order` decides how rows are visited: "cyclic" reads the cache from first to last; "permuted" and "random" jump
        about in it, which is slow if the cache does not fit in the free memory.
    cache : Cache

    Returns
    -------
    LinearClassifier
        The estimator, fitted.

    Raises
    ------
    ValueError
        If the estimator, with its parameters, needs the rows in memory.
    CacheError
        If a block of the cache does not match its checksum; the estimator stays as it was.
    """
    obstacle = estimator._streaming_obstacle()
    if obstacle is not None:
        raise ValueError(_describe_obstacle(type(estimator).__name__, obstacle))
    learner: Any = estimator
    with learner._unchanged_on_error():
        learner._check_parameters()
        learner._check_two_classes(cache.classes)
        learner._check_streaming_shape(*cache.shape)
        problem = cache.problem(
            multiclass=learner._multiclass,
            x0=learner._x0,
            order=learner._order,
            class_weights=_class_weights(learner, cache),
            check_first=not (learner._checks_rows_as_read and learner._order == "cyclic"),
        )
        learner.__dict__.pop("feature_names_in_", None)
        learner.n_features_in_ = cache.shape[1]
        learner._learn(problem, cache.classes, cache.check_values)
        cache.check()  # what a run that ended early has not read may have been counted in its margin
    return estimator


def _describe_obstacle(estimator: str, obstacle: StreamingObstacle) -> str:
    if obstacle.parameter is None:
        return f"{estimator} {obstacle.reason}: use fit"
    instead = " or ".join(f"{obstacle.parameter}={value!r}" for value in obstacle.instead)
    return f"{obstacle.parameter}={obstacle.value!r} {obstacle.reason}: use {instead}, or fit"


def _class_weights(learner: LinearClassifier, cache: Cache) -> Array | None:
    if learner._class_weight is None:
        return None
    weights: Array = weights_of_classes(learner._class_weight, cache.classes, cache.counts)
    if not weights.all():
        label = cache.classes[weights == 0.0].tolist()[0]
        raise ValueError(f"class_weight gives class {label!r} no weight: leave its rows out of the file instead")
    return weights


def confusion_from_cache(
    predict: Callable[[Matrix], Array], cache: Cache, labels: Array | list[Any] | None = None
) -> tuple[Array, IntArray]:
    """Count how `predict` labels the rows of a cache, chunk by chunk.

    Parameters
    ----------
    predict : callable
        Returns a label for each row of a matrix.
    cache : Cache
    labels : array, optional
        Labels that `predict` may return; those of the cache are added.

    Returns
    -------
    labels : array of shape (n_labels,)
        All labels, sorted.
    counts : array of shape (n_labels, n_labels)
        Rows by true label (down) and predicted label (across).
    """
    known = cache.classes if labels is None else np.union1d(np.asarray(labels), cache.classes)
    own, k = np.searchsorted(known, cache.classes), len(known)
    counts = np.zeros(k * k, np.int64)
    for start, stop in cache.row_ranges(fraction=4):  # a quarter, since scores and copies in `predict` take memory, too
        given = np.asarray(predict(cache.chunk(start, stop)))
        places = np.minimum(np.searchsorted(known, given), k - 1)
        unknown = given[known[places] != given].tolist()
        if unknown:
            raise ValueError(
                f"labels must contain all predicted labels, got {known.tolist()}, and {unknown[0]!r} was predicted"
            )
        counts += np.bincount(own[cache.codes[start:stop]] * k + places, minlength=k * k)
        cache.drop(start, stop)
    return known, counts.reshape(k, k)
