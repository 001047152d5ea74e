"""`rb.cluster.fit`: an estimator fitted to rows in blocks, on this machine or on a Dask cluster."""

from __future__ import annotations

import hashlib
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, get_args

import numpy as np

from .. import __version__
from ..array_types import Array, FloatArray
from ..estimators.arow import AROW
from ..estimators.base import LinearClassifier, seed_of
from ..estimators.linear_mse import LinearMSE
from ..estimators.nonlinear_mse import NonlinearMSE
from ..estimators.online import OnlineClassifier
from ..estimators.row_weights import weights_of_classes
from ..estimators.soft_margin import SoftMargin
from ..kernels.compile import digest_of_sources
from ..parallel import one_blas_thread
from ..progress import Progress, current_callback, progress_callback
from ..reporting.text import byte_size, count
from ..validation import check_choice, check_integer
from .block_set import BlockSet, open_blocks
from .blocks import Source
from .checkpoint import JournaledEngine, open_journal
from .engine import Engine, InProcess
from .options import Mode, RunOptions
from .sources import sources_of, with_features

if TYPE_CHECKING:
    from distributed import Client

Estimator = TypeVar("Estimator", bound=LinearClassifier)
Driver: TypeAlias = Callable[[Any, BlockSet, RunOptions], None]


@contextmanager
def open_engine(client: Client | str | Engine | None) -> Iterator[Engine]:
    """The engine for the argument `client`. None is the current Dask client, or this process if there is none."""
    if client is None and "distributed" in sys.modules:
        with suppress(ValueError):
            client = sys.modules["distributed"].default_client()
    if client is None:
        yield InProcess()
    elif isinstance(client, InProcess):
        yield client
    else:
        from .dask_engine import DaskEngine, connected

        with connected(client) as known, DaskEngine(known) as engine:
            yield engine


def fit(
    estimator: Estimator,
    data: Any,
    client: Client | str | Engine | None = None,
    *,
    mode: Mode = "exact",
    shards: int | None = None,
    block_rows: int | None = None,
    checkpoint: str | Path | None = None,
) -> Estimator:
    """Fit an estimator to rows in blocks, on a Dask cluster or in this process.

    The result depends on the blocks and on nothing else: it is the same, to the bit, for any number of workers and threads, and
    whatever workers were lost on the way.

    Parameters
    ----------
    estimator : LinearClassifier
        `SoftMargin`, `LinearMSE`, `NonlinearMSE`, `Perceptron`, `PassiveAggressive` or `AROW`.
    data : tuple, list or FileBlocks
        Rows and labels: a pair (X, y) or triple (X, y, weights) of Dask arrays, Dask data frames or arrays; a list of delayed
        pairs, each of which is a block; or files, by `rosenblatt.cluster.read`. Chunks of Dask collections are the blocks.
    client : distributed.Client or str, optional
        The client of a Dask cluster, or the address of its scheduler. Default: the current client, or this process if there is
        none.
    mode : {"exact", "mixed"}, default="exact"
        How online learners run. "exact": the weights travel through the blocks in order. "mixed": shards of the blocks learn
        side by side, and their weights are averaged after every pass.
    shards : int, optional
        The number of shards of mixed runs; the result depends on it. Default: the number of blocks, at most 8.
    block_rows : int, optional
        Rows in a block, for arrays. Default: about 64 MB.
    checkpoint : path, optional
        A file from which the fit continues, to the same bits, after this process or the scheduler died: call `fit` again with
        the same arguments. It is removed when the fit is complete.

    Returns
    -------
    LinearClassifier
        The estimator, fitted. Attributes with a number for each row are left out.

    Raises
    ------
    ClusterError
        If the cluster cannot run the tasks. The estimator stays as it was.
    BlockError
        If a block cannot be used.

    See Also
    --------
    rosenblatt.cluster.certify : Prove that rows in blocks are separable, or not.

    Examples
    --------
    >>> import numpy as np
    >>> import rosenblatt as rb
    >>> X, y = np.array([[0.0, 0.0], [0.0, 2.0], [2.0, 0.0], [2.0, 2.0]]), np.array([0, 0, 0, 1])
    >>> model = rb.cluster.fit(rb.SoftMargin(tol=1e-9), (X, y), block_rows=2)
    >>> model.predict(X).tolist()
    [0, 0, 0, 1]
    """
    check_choice("mode", mode, get_args(Mode))
    if shards is not None:
        check_integer("shards", shards)
    learner: Any = estimator
    run, options = driver_of(learner), RunOptions(mode, shards)
    learner._check_parameters()
    if learner.calibrate is not None:
        raise ValueError(f"calibrate={learner.calibrate!r} fits copies on folds of the rows: use calibrate=None, or fit")
    sources = sources_of(data, block_rows)
    with ExitStack() as stack:
        stack.enter_context(learner._unchanged_on_error())
        engine = stack.enter_context(open_engine(client))
        if checkpoint is not None:
            engine = stack.enter_context(_with_checkpoint(engine, checkpoint, learner, sources, options))
        stack.enter_context(one_blas_thread())
        stack.enter_context(np.errstate(all="ignore"))

        def class_weights(classes: Array, sums: FloatArray) -> Array | None:
            if not len(classes):
                raise ValueError("every row has weight 0: there is nothing to learn from")
            learner._check_two_classes(classes)
            if learner.get_params(deep=False).get("warm_start") and "classes_" in vars(learner):
                _check_same_classes(learner.classes_, classes)
            return None if learner._class_weight is None else weights_of_classes(learner._class_weight, classes, sums)

        sources = with_features(data, sources, engine)
        blocks = open_blocks(engine, sources, class_weights, any_order=learner._takes_unsorted_columns)
        stack.enter_context(report_work(blocks))
        learner.__dict__.pop("feature_names_in_", None)
        learner.n_features_in_, learner.classes_ = blocks.n_features, blocks.classes
        run(learner, blocks, options)
    return estimator


def _check_same_classes(known: Array, classes: Array) -> None:
    if not np.array_equal(known, classes):
        raise ValueError(f"warm_start continues a fit on classes {known.tolist()}, got classes {classes.tolist()}")


@contextmanager
def _with_checkpoint(
    engine: Engine, path: str | Path, learner: Any, sources: Sequence[Source], options: RunOptions
) -> Iterator[Engine]:
    """The engine with a journal; a seed that is not fixed is taken from it."""
    given = learner.get_params(deep=False).get("random_state", 0)

    def describe(found: dict[str, Any] | None) -> dict[str, Any]:
        if found is not None and not isinstance(given, int | np.integer):
            learner.random_state = found.get("seed")
        elif "random_state" in learner.get_params(deep=False):
            learner.random_state = seed_of(given)
        parameters = {name: value for name, value in learner.get_params(deep=False).items() if name != "random_state"}
        return {
            "estimator": type(learner).__name__,
            "parameters": repr(sorted(parameters.items())),
            "seed": learner.get_params(deep=False).get("random_state", 0),
            "options": repr(options),
            "blocks": hashlib.sha256("\n".join(source.identity for source in sources).encode()).hexdigest(),
            "version": f"{__version__}, kernels {digest_of_sources()[:12]}",
        }

    try:
        with open_journal(path, describe) as (journal, records):
            yield JournaledEngine(engine, journal, records)
    finally:
        if "random_state" in learner.get_params(deep=False):
            learner.random_state = given


@contextmanager
def report_work(blocks: BlockSet) -> Iterator[None]:
    """Add the rows visited a second, and what was sent, to the progress that is reported."""
    callback = current_callback()
    if callback is None:
        yield
        return
    started = time.perf_counter()

    def report(progress: Progress) -> None:
        rate = blocks.work.rows / max(1e-9, time.perf_counter() - started)
        traffic = blocks.engine.traffic
        sent = f", {byte_size(traffic.sent)} sent, {byte_size(traffic.received)} received" if any(traffic) else ""
        callback(replace(progress, work=f"{count(int(rate))} rows/s{sent}"))

    with progress_callback(report):
        yield


def driver_of(estimator: LinearClassifier) -> Driver:
    """The function that fits this estimator to blocks. Each sets the fitted attributes of the estimator."""
    if isinstance(estimator, SoftMargin):
        from .soft_margin import fit_soft_margin

        return fit_soft_margin
    if isinstance(estimator, LinearMSE):
        from .linear_mse import fit_linear_mse

        return fit_linear_mse
    if isinstance(estimator, NonlinearMSE) and estimator.solver == "minimum":
        from .nonlinear_mse import fit_nonlinear_mse

        return fit_nonlinear_mse
    if isinstance(estimator, OnlineClassifier) and estimator._way == "batch":
        from .batch_steps import fit_batch_steps

        return fit_batch_steps
    if isinstance(estimator, OnlineClassifier | AROW):
        from .online import fit_online

        return fit_online
    raise ValueError(f"{type(estimator).__name__} needs all rows in one memory: use fit, or SoftMargin on a cluster")
