"""Train on files larger than memory: `rosenblatt train --stream`.

The file, or several files as one, is read twice, in chunks: once to fit the recipe and find the classes, once to write the
rows, as features, to a cache on disk (see `data/cache.py`). Each pass of the estimator then goes through the cache, of which a
small part is in memory at a time. The rows held out are the same as in memory.

The estimator runs the same kernels on the same numbers as in memory. In cyclic order its weights are the same to the last bit;
in other orders, too, if the fit in memory keeps no log (``log=False``). No log is kept here, since it grows with the updates:
parameters that need one are refused.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..array_types import Array, BoolArray, Matrix
from ..data.cache import Cache, cache_key, open_if_current
from ..data.cache_header import OutdatedCacheError
from ..data.cache_writer import CacheWriter, temporary_caches
from ..data.csr import CSRMatrix
from ..data.readers import is_example
from ..data.readers.several import Files, expand
from ..data.readers.sources import name_of
from ..data.table import Data, as_text, codes_of, typed_labels
from ..estimators.base import LinearClassifier
from ..preprocessing.recipe import Recipe
from ..progress import Progress, ProgressCallback
from ..proofs.doctor.findings import Finding
from ..proofs.doctor.label_findings import label_quantities
from ..reporting.text import percent, plural
from ..scores import linear_scores, winners
from .cached_fits import confusion_from_cache, fit_from_cache
from .consultation import about_classes, about_columns, about_rows, about_scales, about_spellings, few_possible_rows
from .metrics import Confusion
from .preparation import (
    as_matrix,
    check_classes,
    check_weight_count,
    describe_provenance,
    learn_recipe,
    options_for_recipe,
    reason_without_test,
    require_labels,
    untested_classes,
)
from .request import AUTO, SINGLE_PASS, Request, option_of
from .row_copies import RowSample
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
    findings: tuple[Finding, ...] = ()


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
        findings = (*caches.findings, *about_classes(request, caches.train.classes, caches.train.counts))
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
            test_is_training_file=same_file(request, caches.provenance),
            notes=(*caches.notes, *map(str, findings), *order, *messages_of(warned, estimator.stop_)),
            findings=findings,
            sample=sample,
            provenance=caches.provenance,
        )


def _check_request(request: Request, estimator: LinearClassifier) -> None:
    if estimator._streaming_obstacle() is not None:
        raise ValueError(refusal_by_option(request, _remedy(request)))
    remedy = _remedy(request)
    if request.tune:
        raise ValueError(f"--tune needs the rows in memory: {remedy}")
    if request.threshold is not None:
        raise ValueError(f"--threshold needs the rows in memory: {remedy}")
    if request.cv is not None:
        streamed = "several files" if len(request.files) > 1 else "--stream"
        raise ValueError(f"--cv needs the rows in memory: with {streamed}, use --test or --holdout")
    if request.certify:
        raise ValueError(f"--certify needs all rows in memory: {remedy}")
    if "-" in request.files:
        raise ValueError("--stream reads the file twice, which standard input does not allow: give a file")
    made = next(filter(is_example, request.files), None)
    if made is not None:
        raise ValueError(f"--stream is for files, and {made} is made in memory: leave out --stream")


def _remedy(request: Request) -> str:
    """How a request is not streamed."""
    return "join the files to one" if len(request.files) > 1 else "leave out --stream"


def refusal_by_option(request: Request, remedy: str) -> str:
    """Return why a refused request needs all rows in memory, by the option of the command line that is the cause."""
    for name, value in request.parameters.items():
        rest = {other: given for other, given in request.parameters.items() if other != name}
        if replace(request, parameters=rest).make()._streaming_obstacle() is None:
            given = option_of(name) if value is True else f"{option_of(name)} {value}"
            return f"{given} needs all rows in memory: leave out this option or {remedy.removeprefix('leave out ')}"
    return f"--algorithm {request.algorithm} needs all rows in memory: use --algorithm average, or {remedy}"


def _open_caches(
    request: Request, cache_path: str | None, beside: str, watch: ProgressCallback | None, stack: contextlib.ExitStack
) -> Caches:
    """Open the caches of a request, or write them if there are none for it."""
    tested = request.test is not None or request.holdout_share is not None
    tests = None if request.test is None else [cache_key(path) for path in expand(request.test)]
    reading = {**asdict(replace(request.options, max_memory=None)), "test": tests}
    made = request.degree, request.scale, request.text_features
    others = [cache_key(path) for path in request.files[1:]]
    key = cache_key(request.files[0], reading, *made, request.holdout_share, request.seed, 4, *others)
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
    notes, recipe = train.notes, recipe_of_cache(train.notes)
    assert recipe is not None
    used = f"the cache {train.path} was used again"
    findings = tuple(Finding(**each) for each in notes["findings"])
    return Caches(train, test, recipe, notes["provenance"], (*notes["notes"], used), findings)


def recipe_of_cache(notes: Mapping[str, Any]) -> Recipe | None:
    """Return the recipe that made the rows of a cache, by its notes; None if they are not those of a stream."""
    if "recipe" not in notes:
        return None
    arrays = {name: np.array(values, dtype) for name, (dtype, values) in notes["arrays"].items()}
    return Recipe.from_parts(notes["recipe"], arrays)


def _build_caches(request: Request, train: Path, test: Path | None, key: str, watch: ProgressCallback | None) -> Caches:
    """Read the file twice: fit the recipe, then write the features of the training rows and of the test rows."""
    scan = _Scan()
    recipe = learn_recipe(request, _training_rows(request, scan, watch), in_memory=False)
    classes = np.unique(typed_labels(np.array(sorted(scan.labels), object)))
    check_classes(name_of(request.files), classes, scan.rows)
    with contextlib.ExitStack() as stack:
        training = _FeatureWriter(train, recipe, classes, key, stack)
        testing = None if test is None else _FeatureWriter(test, recipe, classes, key, stack)
        first: Data | None = None
        with Files(request.files) as files:
            for chunk, held in _parts(request, files, watch, "writing"):
                first = first or chunk
                training.write(chunk.take(~held))
                if testing is not None and held.any():
                    testing.write(chunk.take(held))
            digest = files.digest()
        assert first is not None
        test_digest = None
        if request.test is not None and testing is not None:
            options = options_for_recipe(recipe, request.options, first)
            with Files(expand(request.test)) as tests:
                for chunk in tests.chunks(options, CHUNK_BYTES):
                    require_labels(chunk)
                    testing.write(chunk)
                test_digest = tests.digest()
        untested = reason_without_test(request) if testing is not None and not testing.rows else None
        notes = tuple(note for note in (first.note, *recipe.notes, untested) if note)
        if request.holdout_share is not None and testing is not None and testing.rows:
            notes += untested_classes(classes, testing.counts)
        provenance = describe_provenance(request, first, digest, training.rows, test_digest)
        test_sample = None if testing is None or not testing.rows else testing.sample
        tested = test_sample is not None and not same_file(request, provenance) and not few_possible_rows(first, recipe)
        findings = (
            *about_columns(first, request.options),
            *about_spellings(recipe, classes),
            *about_rows(training.sample, test_sample, tested),
            *label_quantities(classes.tolist(), training.rows, first.label_name),
            *about_scales(request, recipe),
        )
        meta, arrays = recipe.to_parts()
        plain = {name: (array.dtype.str, array.tolist()) for name, array in arrays.items()}
        stored: dict[str, Any] = {
            "recipe": meta,
            "arrays": plain,
            "provenance": provenance,
            "notes": list(notes),
            "tested": untested is None,
        }
        stored["findings"] = [finding.to_dict() for finding in findings]
        for writer in (training, testing):
            if writer is not None:
                writer.close(stored)
    test_cache = None if test is None or testing is None or not testing.rows else Cache.open(test)
    return Caches(Cache.open(train), test_cache, recipe, provenance, notes, findings)


class _FeatureWriter:
    """Writes rows, as features, to a cache that is created with the first of them."""

    def __init__(self, path: Path, recipe: Recipe, classes: Array, key: str, stack: contextlib.ExitStack) -> None:
        self._path, self._recipe, self._classes, self._key, self._stack = path, recipe, classes, key, stack
        self._writer: CacheWriter | None = None
        self._sparse = False
        self.sample, self.counts = RowSample(), np.zeros(len(classes), np.int64)

    @property
    def rows(self) -> int:
        return 0 if self._writer is None else self._writer.rows

    def write(self, data: Data) -> None:
        features = self._recipe.rows(data)
        if self._writer is None:
            self._sparse = isinstance(features, CSRMatrix)
            self._writer = self._stack.enter_context(CacheWriter(self._path, sparse=self._sparse, key=self._key))
        codes = codes_of(data, self._classes)
        self._writer.append(features, codes)
        self.sample.add(as_matrix(features), codes)
        self.counts += np.bincount(codes, minlength=len(self._classes))

    def close(self, notes: dict[str, Any]) -> None:
        if self._writer is not None:
            self._writer.close(self._classes, width=self._recipe.width if self._sparse else None, notes=notes)


@dataclass
class _Scan:
    """What the first reading of the file has found: the labels of the training rows, and the rows of the file."""

    labels: set[str] = field(default_factory=set)
    rows: int = 0


def _training_rows(request: Request, scan: _Scan, watch: ProgressCallback | None) -> Iterator[Data]:
    """Yield the training rows of the file in chunks; collect their labels."""
    with Files(request.files) as files:
        for chunk, held in _parts(request, files, watch, "scanning"):
            training = chunk.take(~held)
            scan.rows += chunk.n_rows
            scan.labels.update(str(label) for label in np.unique(as_text(require_labels(training))).tolist())
            check_weight_count(training, len(scan.labels))
            yield training


def _parts(request: Request, files: Files, watch: ProgressCallback | None, stage: str) -> Iterator[tuple[Data, BoolArray]]:
    """Yield the chunks of the files, and which of their rows are held out."""
    share = request.holdout_share
    holdout = None if share is None else Holdout(share, request.seed)
    rows = 0
    waiting: list[tuple[Data, BoolArray]] = []  # until it is known whether rows are held out at all
    for chunk in files.chunks(request.options, CHUNK_BYTES):
        labels = require_labels(chunk)
        waiting.append((chunk, np.zeros(chunk.n_rows, bool) if holdout is None else holdout.mask(labels)))
        if holdout is None or request.holdout is not None or holdout.worthwhile:
            yield from waiting
            waiting.clear()
        rows += chunk.n_rows
        if watch is not None:
            done = f", {percent(files.position / files.size, 0)}" if files.size else ""
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
