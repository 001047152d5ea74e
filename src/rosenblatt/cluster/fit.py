"""`rb.cluster.fit`: an estimator fitted to rows in blocks, on this machine or on a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, get_args

import numpy as np

from ..array_types import Array, IntArray
from ..estimators.arow import AROW
from ..estimators.base import LinearClassifier
from ..estimators.linear_mse import LinearMSE
from ..estimators.nonlinear_mse import NonlinearMSE
from ..estimators.online import OnlineClassifier
from ..estimators.row_weights import weights_of_classes
from ..estimators.soft_margin import SoftMargin
from ..parallel import one_blas_thread
from ..validation import check_choice, check_integer
from .block_set import BlockSet, open_blocks
from .engine import Engine, InProcess
from .options import Mode, RunOptions
from .sources import sources_of

if TYPE_CHECKING:
    from distributed import Client

Estimator = TypeVar("Estimator", bound=LinearClassifier)
Driver: TypeAlias = Callable[[Any, BlockSet, RunOptions], None]


@contextmanager
def open_engine(client: Client | Engine | None) -> Iterator[Engine]:
    """The engine for the argument `client`."""
    if client is None or isinstance(client, InProcess):
        yield client or InProcess()
        return
    from .dask_engine import DaskEngine

    with DaskEngine(client) as engine:
        yield engine


def fit(
    estimator: Estimator,
    data: Any,
    client: Client | Engine | None = None,
    *,
    mode: Mode = "exact",
    shards: int | None = None,
    block_rows: int | None = None,
) -> Estimator:
    """Fit an estimator to rows in blocks."""
    check_choice("mode", mode, get_args(Mode))
    if shards is not None:
        check_integer("shards", shards)
    learner: Any = estimator
    run = driver_of(learner)
    with learner._unchanged_on_error(), open_engine(client) as engine, one_blas_thread(), np.errstate(all="ignore"):
        learner._check_parameters()

        def class_weights(classes: Array, counts: IntArray) -> Array | None:
            learner._check_two_classes(classes)
            return None if learner._class_weight is None else weights_of_classes(learner._class_weight, classes, counts)

        blocks = open_blocks(engine, sources_of(data, block_rows), class_weights, any_order=learner._takes_unsorted_columns)
        learner.__dict__.pop("feature_names_in_", None)
        learner.n_features_in_, learner.classes_ = blocks.n_features, blocks.classes
        run(learner, blocks, RunOptions(mode, shards))
    return estimator


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
