"""`Perceptron`, `PassiveAggressive`, `NonlinearMSE` and `AROW` on blocks, row by row: exact runs, and mixed ones."""

from __future__ import annotations

from ..estimators.arow import AROW
from ..estimators.online import OnlineClassifier
from .block_set import BlockSet
from .exact import run_exact
from .learner import prepare_run, store_run
from .options import RunOptions


def fit_online(estimator: OnlineClassifier | AROW, blocks: BlockSet, options: RunOptions) -> None:
    """Run the estimator on the blocks, and set the attributes."""
    if options.mode == "exact" and options.shards is not None:
        raise ValueError(f"shards={options.shards} is for mode='mixed', got mode='exact': leave one of them out")
    if isinstance(estimator, AROW):
        from .second_order import fit_arow

        fit_arow(estimator, blocks, options)
        return
    if options.mode == "mixed":
        from .mixing import fit_mixed

        fit_mixed(estimator, blocks, options)
        return
    learner = prepare_run(estimator, blocks)
    store_run(estimator, blocks, learner, run_exact(blocks, learner))
