"""Train on files in blocks, on a cluster or in this process: `rosenblatt train --cluster`.

The counterpart of `stream.py` for `rosenblatt.cluster`: workers read the files, learn the features and fit the estimator block
by block; training errors and test errors are counted on the blocks, too. No row passes through the client.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..cluster.features import FeatureChoices
from ..cluster.file_sources import CACHE, FilePart
from ..cluster.fit import driver_of, fit, open_engine
from ..cluster.online import fit_online
from ..cluster.options import Mode
from ..cluster.predictions import evaluate
from ..cluster.read import BLOCK_BYTES, FileBlocks, blocks_of_files
from ..data.readers import is_example
from ..data.readers.forms import FileForm
from ..data.readers.several import Paths
from ..data.table import typed_labels
from ..preprocessing.numeric import Numbers
from ..preprocessing.recipe import Recipe
from ..progress import Progress, ProgressCallback
from ..proofs.doctor.findings import Finding
from ..proofs.doctor.label_findings import label_quantities
from .consultation import about_classes, about_columns, about_scales, about_spellings
from .request import AUTO, SINGLE_PASS, Request, option_of
from .stream import FILE_ORDER_NOTE, refusal_by_option
from .train import Outcome, PassRecord, messages_of, record_fit, timed

if TYPE_CHECKING:
    from distributed import Client

    from ..cluster.engine import Engine

REMEDY = "leave out --cluster"
PARAMETER = re.compile(r"\b(?P<name>[a-z]\w*|C)=(?:'(?P<word>[^']*)'|(?P<value>[\w.]+))")  # in messages
UNTESTED = "No row was held out for testing, because blocks are trained on as a whole: --test FILE tests on other rows."


@dataclass(frozen=True)
class ClusterRun:
    """Where and how a request is trained.

    Parameters
    ----------
    client : Client, str or Engine, optional
        As for `rosenblatt.cluster.fit`.
    mode : {"exact", "mixed"}, default="exact"
        How online learners run.
    shards : int, optional
        The shards of mixed runs.
    checkpoint : path, optional
        A file from which the fit continues.
    block_bytes : int, default=67108864
        The bytes of a file in a block.
    """

    client: Client | str | Engine | None = None
    mode: Mode = "exact"
    shards: int | None = None
    checkpoint: str | Path | None = None
    block_bytes: int = BLOCK_BYTES


def train_on_cluster(request: Request, run: ClusterRun, watch: ProgressCallback | None = None) -> Outcome:
    """Train the model of a request on blocks and test it.

    Without a choice of the algorithm, it is logistic regression, as on one machine: its fit is exact, and all blocks take part
    in it at the same time. With parameters that it lacks, or in mixed mode, it is the averaged perceptron.

    Parameters
    ----------
    request : Request
    run : ClusterRun
    watch : callable, optional
        Called with the `Progress` of reading and of the fit.

    Returns
    -------
    Outcome

    See Also
    --------
    rosenblatt.training.stream.train_stream : The same on one machine.

    Examples
    --------
    >>> outcome = train_on_cluster(Request(("a.csv", "b.csv")), ClusterRun("tcp://10.0.0.1:8786"))  # doctest: +SKIP
    """
    started = time.perf_counter()
    asked, request = request, complete_request(request, run.mode, run.shards)
    estimator: Any = request.make()
    if isinstance(request.parameters.get("class_weight"), dict):
        estimator.set_params(class_weight=_with_typed_labels(request.parameters["class_weight"]))
    data = read_blocks(request.files, request, run.block_bytes)
    test_data = None if request.test is None else read_blocks(request.test, request, run.block_bytes)  # it may be missing
    history: list[PassRecord] = []
    with record_fit(history, watch) as warned, timed() as times, _errors_by_option():
        fit(estimator, data, run.client, mode=run.mode, shards=run.shards, checkpoint=run.checkpoint)
    if watch is not None:
        watch(Progress(0, text="counting errors"))
    model = data.model(estimator)
    train = evaluate(model, data, run.client)
    test = None if test_data is None else evaluate(model, test_data, run.client)
    recipe, rows = recipe_of(data, estimator.n_features_in_), data.n_rows or 0
    classes: Any = estimator.classes_
    findings: tuple[Finding, ...] = (
        *_findings_of_first_rows(data, run),
        *about_spellings(recipe, classes),
        *label_quantities(classes.tolist(), rows, data.label),
        *about_scales(request, recipe),
        *about_classes(request, classes, train.confusion.counts.sum(axis=1)),
    )
    notes = [*data.notes, *map(str, findings)]
    in_file_order = request.parameters.get("order") != asked.parameters.get("order") and driver_of(estimator) is fit_online
    notes += [FILE_ORDER_NOTE] if in_file_order else []
    notes += [UNTESTED] if test is None and request.holdout is None else []
    return Outcome(
        replace(request, holdout=0.0) if test is None else request,
        recipe,
        estimator,
        rows=rows,
        train=train.confusion,
        test=None if test is None else test.confusion,
        probabilities=None if test is None else test.probabilities,
        history=tuple(history),
        seconds=times.fit,
        total_seconds=time.perf_counter() - started,
        compile_seconds=times.compile,
        test_is_training_file=request.test is not None and request.test == request.data,
        notes=(*notes, *messages_of(warned, estimator.stop_)),
        findings=findings,
        provenance=model.provenance,
    )


def read_blocks(paths: Paths, request: Request, block_bytes: int = BLOCK_BYTES) -> FileBlocks:
    """The files as blocks, whose columns become features as `rosenblatt train --stream` makes them."""
    choices = FeatureChoices(request.scale, request.degree, request.text_features)
    return blocks_of_files(paths, request.options, choices, block_bytes, as_streamed=True)


def recipe_of(data: FileBlocks, width: int) -> Recipe:
    """The recipe of files whose features were learned; one that changes nothing for matrices that stay as they are."""
    if data.recipe is not None:
        return data.recipe
    return Recipe("sparse", Numbers(width), first=0 if data.form.options.zero_based else 1)


# --- requests ----------------------------------------------------------------------------------------------------------------


def complete_request(request: Request, mode: Mode = "exact", shards: int | None = None) -> Request:
    """The request with an algorithm and an order of the rows; raises an error for what needs all rows in one memory."""
    _check_request(request)
    if request.algorithm == AUTO:
        request = replace(request, algorithm=SINGLE_PASS if mode == "mixed" else request.searched)
    if "order" in request.choice.options and "order" not in request.choice.parameters | dict(request.parameters):
        request = replace(request, parameters={**request.parameters, "order": "cyclic"})
    estimator = request.make()
    try:
        online = driver_of(estimator) is fit_online
    except ValueError:
        name = request.algorithm
        raise ValueError(f"--algorithm {name} needs all rows in memory: use --algorithm soft-margin, or {REMEDY}") from None
    obstacle = estimator._streaming_obstacle() if online else None
    if obstacle is not None and obstacle.parameter != "init":
        raise ValueError(refusal_by_option(request, REMEDY))
    if mode == "mixed" and not online:
        learners = "average, perceptron, margin, pa-1 or arow"
        raise ValueError(f"--mode mixed is for learners that go row by row: use --algorithm {learners}, or leave out --mode")
    if shards is not None and mode != "mixed":
        raise ValueError(f"--shards {shards} is for --mode mixed: add --mode mixed, or leave out --shards")
    return request


def _check_request(request: Request) -> None:
    for name in ("holdout", "cv"):
        if getattr(request, name):
            raise ValueError(f"--{name} needs the rows on this machine: with --cluster, use --test FILE")
    for name in ("tune", "threshold"):
        if getattr(request, name):
            raise ValueError(f"--{name} needs the rows on this machine: {REMEDY}")
    if request.certify:
        raise ValueError("--certify needs the rows on this machine: use `rosenblatt certify --cluster`")
    for path in request.files:
        if path == "-":
            raise ValueError("--cluster reads files, several times, which standard input does not allow: give files")
        if is_example(path):
            raise ValueError(f"--cluster is for files, and {path} is made in memory: {REMEDY}")


@contextlib.contextmanager
def _errors_by_option() -> Iterator[None]:
    """Let refusals name options of the command line in place of parameters."""
    try:
        yield
    except ValueError as error:
        if type(error) is ValueError:
            raise ValueError(_by_option(str(error))) from None
        raise


def _by_option(sentence: str) -> str:
    """A sentence with options of the command line in place of parameters.

    >>> _by_option("calibrate='sigmoid' fits copies: use calibrate=None, or fit")
    '--calibrate sigmoid fits copies: leave out --calibrate, or leave out --cluster'
    """
    sentence = re.sub(r"\buse (\w+)=(None|False)\b", lambda found: f"leave out {option_of(found[1])}", sentence)
    sentence = PARAMETER.sub(lambda found: f"{option_of(found['name'])} {found['word'] or found['value']}", sentence)
    return re.sub(r", or fit$", f", or {REMEDY}", sentence).replace("cluster.certify", "`rosenblatt certify`")


def _with_typed_labels(weights: dict[str, float]) -> dict[Any, float]:
    """The weights of classes under labels as the files have them: numbers, if all of these are."""
    labels = typed_labels(np.array(list(weights), object))
    return dict(zip(labels.tolist(), weights.values(), strict=True))


def _findings_of_first_rows(data: FileBlocks, run: ClusterRun) -> list[Finding]:
    """What is noticed in single columns of the first rows."""
    if data.form.kind == CACHE:
        return []
    with open_engine(run.client) as engine:
        found: list[list[Finding]] = engine.gather([engine.submit(_examine_first, data.sources[0].part, data.form)])
        return found[0]


def _examine_first(part: FilePart, form: FileForm) -> list[Finding]:
    """A task: findings about the first rows of a block."""
    with part.errors():
        first = next(part.chunks(form), None)
        return [] if first is None else list(about_columns(first, form.options))
