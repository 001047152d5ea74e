"""`train --stream`: the same as `train`, for files larger than memory.

The file is read twice, in chunks: to learn its recipe and its classes, and to write its rows, as features, into a cache on disk
(`streams/`). Every pass of the learner then goes through the cache, which is mapped into memory a little at a time. The rows
held out are the same as in memory, and so, with --order cyclic, are the bits of the model.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..data.cache import Cache, key_of, reusable
from ..data.cache_writer import CacheWriter, temporary_caches
from ..data.labels import codes_of
from ..data.readers.read import chunks
from ..data.readers.sources import Source
from ..data.table import Data, Sparse, as_text, typed_labels
from ..estimators.arow import AROW
from ..estimators.base import weights_of_classes
from ..estimators.linear_mse import LinearMSE
from ..estimators.nonlinear_mse import NonlinearMSE
from ..estimators.online import OnlineClassifier
from ..estimators.perceptron import Perceptron
from ..preprocessing.recipe import Recipe
from ..progress import Progress
from ..scores import linear_scores, winners
from .metrics import Confusion
from .split import Holdout
from .train import Outcome, Request, check_classes, check_width, heard, labelled, learn_recipe, provenance, reading_for

# --- Learning from a cache, in memory that does not grow with the rows: the same kernels on the same numbers as in memory.
#
# What an estimator learns in cyclic order has the bits of `fit` on the same rows in memory; in other orders, too, where the fit
# in memory keeps no log (log=False). No log is kept here, as it grows with the updates: what needs one is refused.

Estimator = TypeVar("Estimator", bound=Any)
COLUMNS = 3000  # of least squares: their products are kept, and are 72 MB then


def refused(estimator: Any) -> str | None:
    """Why this estimator, with its parameters, does not learn from a cache, in one sentence; None: it does."""
    name = type(estimator).__name__
    if isinstance(estimator, AROW | LinearMSE):
        return None
    if not isinstance(estimator, OnlineClassifier):
        return f"{name} goes back to rows here and there until it is done, so it needs them in memory: leave out --stream"
    if estimator.keep == "pocket":
        return "keep='pocket' looks at all rows again and again: use keep='average', or leave out --stream"
    if estimator.keep == "vote":
        return "keep='vote' keeps all rows that moved the weights: use keep='average', or leave out --stream"
    if getattr(estimator, "order", None) == "mistakes" and getattr(estimator, "update", "online") == "online":
        return "order='mistakes' looks at all rows before each update: use order='cyclic'"
    if isinstance(estimator, Perceptron):
        if estimator.certify:
            return "certify=True proves with exact numbers of all rows at once: use `rosenblatt certify`, or leave out --stream"
        if isinstance(estimator.init, str) and estimator.init == "sum":
            return "init='sum' adds up all rows before the first step, in another order than a stream could: use init='zeros'"
    if isinstance(estimator, NonlinearMSE) and estimator.solver == "minimum":
        return "solver='minimum' keeps numbers for every row from step to step: use solver='online' or 'batch'"
    return None


def fit_from_cache(estimator: Estimator, cache: Cache) -> Estimator:
    """`estimator.fit` on the rows of a cache; what it learns equals, bit for bit, what it learns from them in memory.

    Rows are visited as `order` says: "cyclic" reads the file from first to last; "permuted" and "random" jump about in it,
    which is slower, and slow where the file does not fit into the memory that is free. The log is not kept.
    """
    reason = refused(estimator)
    if reason is not None:
        raise ValueError(reason)
    with estimator._unchanged_on_error():
        estimator._check_parameters()
        estimator._check_two_classes(cache.classes)
        if isinstance(estimator, LinearMSE):
            _check_shape(cache)
        weights = None
        if estimator.class_weight is not None:
            weights = weights_of_classes(estimator.class_weight, cache.classes, cache.counts)
            if not weights.all():
                nothing = cache.classes[weights == 0.0].tolist()[0]
                raise ValueError(f"class_weight gives class {nothing!r} no weight: leave its rows out of the file instead")
        problem = cache.problem(
            multiclass=getattr(estimator, "multiclass", "ovr"),
            x0=float(estimator.intercept_scaling) if estimator.fit_intercept else 0.0,
            order=getattr(estimator, "order", "cyclic"),
            class_weights=weights,
        )
        estimator.__dict__.pop("feature_names_in_", None)
        estimator.n_features_in_ = cache.shape[1]
        estimator._learn(problem, cache.classes, _finite)
    return estimator


def _finite() -> None:
    """Every value was looked at when the cache was written."""


def _check_shape(cache: Cache) -> None:
    rows, columns = cache.shape
    if columns > COLUMNS or rows <= columns:
        raise ValueError(
            f"LinearMSE learns from a stream with more rows than columns, and {COLUMNS:,} columns at most: these are "
            f"{rows:,} rows and {columns:,} columns; leave out --stream"
        )


def confusion_from_cache(predict: Callable[[Any], Any], cache: Cache, labels: Any = None) -> tuple[Any, Any]:
    """(labels, counts): how many rows of each label (down) were given each label (across) by `predict`, chunk by chunk.

    labels : those that `predict` may give; those of the cache are added to them.
    """
    known = cache.classes if labels is None else np.union1d(np.asarray(labels), cache.classes)
    own, k = np.searchsorted(known, cache.classes), len(known)
    counts = np.zeros(k * k, np.int64)
    for start, stop in cache.stretches(part=4):  # scores and what `predict` copies take room, too
        given = np.asarray(predict(cache.chunk(start, stop)))
        places = np.minimum(np.searchsorted(known, given), k - 1)
        strange = given[known[places] != given].tolist()
        if strange:
            raise ValueError(f"labels must have all that are predicted, got {known.tolist()}, and {strange[0]!r} was predicted")
        counts += np.bincount(own[cache.codes[start:stop]] * k + places, minlength=k * k)
        cache.drop(start, stop)
    return known, counts.reshape(k, k)


# ---

# Bytes of the file that are read at a time: their rows take a few times as much.
CHUNK = 1 << 22
IN_ORDER = "Rows were visited in the order of the file: shuffle it before, if it is sorted."
# Rows that a report is drawn from.
SAMPLE, TOGETHER = 5000, 50


class Caches(NamedTuple):
    train: Cache
    test: Cache | None
    recipe: Recipe
    provenance: dict[str, Any]
    notes: tuple[str, ...]


def train_stream(request: Request, kept: str | None = None, watch: Any = None, beside: str = "model") -> Outcome:
    """Learn in constant memory; `kept`: where the cache stays, to be used again; else it is beside the model until the end."""
    started = time.perf_counter()
    in_order = "order" in request.choice.options and "order" not in request.parameters
    if in_order:  # any other order jumps about in the cache
        request = replace(request, parameters={**request.parameters, "order": "cyclic"})
    estimator = request.make()
    _check(request, refused(estimator))
    history: list[tuple[int, int, int]] = []
    with contextlib.ExitStack() as stack:
        caches = _caches(request, kept, beside, watch, stack)
        warned = stack.enter_context(heard(history, watch))
        before = time.perf_counter()
        fit_from_cache(estimator, caches.train)
        seconds = time.perf_counter() - before
        test = None if caches.test is None else _confusion(estimator, caches.test)
        X, y = sample_of(caches.train)
        return Outcome(
            request, caches.recipe, estimator, caches.train.shape[0], _confusion(estimator, caches.train), test,
            history=tuple(history), seconds=seconds, total_seconds=time.perf_counter() - started,
            notes=(*caches.notes, *[IN_ORDER] * in_order, *dict.fromkeys(str(each.message) for each in warned)), sample=(X, y),
            provenance=caches.provenance,
        )  # fmt: skip


def _check(request: Request, reason: str | None) -> None:
    if reason is not None:
        raise ValueError(reason)
    if request.cv is not None:
        raise ValueError("--cv learns from many parts of the rows, and --stream goes by them in order: use --test or --holdout")
    if request.certify:
        raise ValueError("--certify proves with exact numbers of all rows at once: leave out --stream")
    if request.data == "-":
        raise ValueError("--stream reads the file twice, which standard input does not allow: give a file")
    if request.data.startswith("example:"):
        raise ValueError(f"--stream is for files, and {request.data} is made in memory: leave out --stream")


def _caches(request: Request, kept: str | None, beside: str, watch: Any, stack: contextlib.ExitStack) -> Caches:
    tested = request.test is not None or request.share is not None
    said = {**asdict(request.options), "test": request.test and key_of(request.test)}
    key = key_of(request.data, said, request.degree, request.scale, request.share, request.seed, 1)
    if kept is None:
        train, test = stack.enter_context(temporary_caches(beside, 2))
    else:
        train, test = Path(kept), Path(f"{kept}.test")
        found, held = reusable(train, key), reusable(test, key) if tested else None
        if found is not None and (held is not None or not tested):
            return _reopened(found, held)
    return _built(request, train, test if tested else None, key, watch)


def _reopened(train: Cache, test: Cache | None) -> Caches:
    notes = train.notes
    arrays = {name: np.array(values, dtype) for name, (dtype, values) in notes["arrays"].items()}
    recipe = Recipe.from_parts(notes["recipe"], arrays)
    used = f"the cache {train.path} was used again"
    return Caches(train, test, recipe, notes["provenance"], (*notes["notes"], used))


def _built(request: Request, train: Path, test: Path | None, key: str, watch: Any) -> Caches:
    classes: dict[Any, int] = {}
    first_chunk: list[Data] = []
    recipe = learn_recipe(request, _training_rows(request, classes, first_chunk, watch))
    known = np.unique(typed_labels(np.array(list(classes), object)))
    assert first_chunk
    check_classes(first_chunk[0], known)
    sparse, first = None, None
    with contextlib.ExitStack() as stack:
        writers: list[CacheWriter | None] = [None, None]

        def write(which: int, data: Data) -> None:
            nonlocal sparse
            rows = recipe.rows(data)
            sparse = isinstance(rows, Sparse)
            if writers[which] is None:
                path = (train, test)[which]
                assert path is not None
                writers[which] = stack.enter_context(CacheWriter(path, sparse=sparse, key=key))
            writer = writers[which]
            assert writer is not None
            writer.append(rows, codes_of(data, known))

        with Source(request.data) as source:
            for chunk, held in _parts(request, source, watch, "writing"):
                first = first or chunk
                write(0, chunk.take(~held))
                if held.any():
                    write(1, chunk.take(held))
            digest = source.sha256 or ""
        if request.test is not None:
            assert first is not None
            for chunk in chunks(request.test, reading_for(recipe, request.options, first.label_name), CHUNK):
                write(1, labelled(chunk))
        assert first is not None
        told = tuple(sentence for sentence in (first.note, *recipe.notes) if sentence)
        meta, arrays = recipe.to_parts()
        plain = {name: (array.dtype.str, array.tolist()) for name, array in arrays.items()}
        origin = provenance(request, first, digest, writers[0].rows if writers[0] is not None else 0)
        notes = {"recipe": meta, "arrays": plain, "provenance": origin, "notes": list(told)}
        for writer in writers:
            if writer is not None:
                writer.close(known, width=recipe.width if sparse else None, notes=notes)
    tested = None if test is None or writers[1] is None else Cache.open(test)
    return Caches(Cache.open(train), tested, recipe, origin, told)


def _training_rows(request: Request, classes: dict[Any, int], first: list[Data], watch: Any) -> Iterator[Data]:
    with Source(request.data) as source:
        for chunk, held in _parts(request, source, watch, "looking"):
            training = chunk.take(~held)
            for label in np.unique(as_text(training.labels)).tolist():
                classes[str(label)] = 1
            first[:] = first or [training]
            check_width(training, len(classes))
            yield training


def _parts(request: Request, source: Source, watch: Any, doing: str) -> Iterator[tuple[Data, Any]]:
    """Chunks of the file, and which of their rows are held out."""
    holdout = None if request.share is None else Holdout(request.share, request.seed)
    rows = 0
    for chunk in chunks(source, request.options, CHUNK):
        labels = labelled(chunk).labels
        yield chunk, np.zeros(chunk.n_rows, bool) if holdout is None else holdout.mask(labels)
        rows += chunk.n_rows
        if watch is not None:
            share = f", {source.position / source.size:.0%}" if source.size else ""
            watch(Progress(0, text=f"{doing}: {rows:,} rows{share}"))


def _confusion(estimator: Any, cache: Cache) -> Confusion:
    def predict(rows: Any) -> Any:
        # Not the estimator's own, which would validate rows that the cache has checked, and hold copies of them.
        return estimator.classes_[winners(linear_scores(rows, estimator.coef_, estimator.intercept_))]

    return Confusion(confusion_from_cache(predict, cache, estimator.classes_)[1])


def sample_of(cache: Cache) -> tuple[Any, Any]:
    """Rows from all over the cache, and their labels: blocks of neighbours, evenly spread."""
    n = cache.shape[0]
    starts: Iterable[int] = range(0, n, TOGETHER)
    if n > SAMPLE:
        starts = np.linspace(0, n - TOGETHER, SAMPLE // TOGETHER).astype(int).tolist()
    parts = []
    for start in starts:
        parts.append((cache.chunk(start, start + TOGETHER).copy(), cache.codes[start : start + TOGETHER].copy()))
        cache.drop(0, n)  # all: the pages around these are mapped as well
    codes = np.concatenate([codes for _, codes in parts])
    if cache.header.sparse:
        import scipy.sparse as sp

        rows = sp.vstack([rows for rows, _ in parts], format="csr")
    else:
        rows = np.concatenate([rows for rows, _ in parts])
    return rows, cache.classes[codes]
