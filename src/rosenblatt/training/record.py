"""What a model file keeps of an outcome: how the model was tested, with which result, and what was noticed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..data.readers.sources import display_name
from ..models.card.record import (
    FILE,
    FOLDS,
    HELD_OUT,
    MAX_CLASSES,
    MAX_CONFUSION,
    Baseline,
    Counts,
    Probabilities,
    Record,
    RecordedTest,
)
from ..models.state import model_of
from .metrics import Confusion
from .summary import judge, pool, proof_of

if TYPE_CHECKING:
    from ..models.model import Model
    from ..probabilities.measures import ProbabilityTest
    from .train import Outcome


def record_of(outcome: Outcome) -> Record:
    """The record of an outcome for its model file.

    Notes that the recipe of the model keeps are left out.

    >>> from rosenblatt.training.request import Request
    >>> from rosenblatt.training.train import train
    >>> record = record_of(train(Request("example:iris", cv=5)))
    >>> record.test.by, record.test.counts.rows, len(record.test.folds), record.baseline.error == 100 / 150
    ('folds', 150, 5, True)
    """
    judgment, own = judge(outcome), set(outcome.recipe.notes)
    return Record(
        algorithm=outcome.request.choice.title,
        training=_counts(outcome.train),
        baseline=Baseline(judgment.names[judgment.guess], judgment.baseline_errors, judgment.baseline),
        test=_test(outcome),
        probabilities=None if outcome.probabilities is None else _probabilities(outcome.probabilities),
        proof=proof_of(outcome) or None,
        warnings=judge(outcome).warnings,
        notes=(*(note for note in outcome.notes if note not in own), *_tuning(outcome)),
    )


def _tuning(outcome: Outcome) -> list[str]:
    return [] if outcome.tuning is None else [f"Tuning: {line}." for line in outcome.tuning.lines()]


def model_of_outcome(outcome: Outcome, **origin: str) -> Model:
    """The trained model with its recipe, its provenance and the record of its test; `origin` is added to the provenance."""
    provenance = {name: value for name, value in outcome.provenance.items() if value is not None}
    return model_of(
        outcome.estimator,
        recipe=outcome.recipe,
        provenance=provenance | origin | {"training": record_of(outcome).to_json()},
        running=outcome.request.threshold is None,
    )


def _test(outcome: Outcome) -> RecordedTest | None:
    request = outcome.request
    if outcome.folds:
        folds = tuple((fold.rows, fold.errors) for fold in outcome.folds)
        return RecordedTest(FOLDS, _counts(pool(outcome.folds)), seed=request.seed, folds=folds)
    if outcome.test is None:
        return None
    if request.test is not None:
        return RecordedTest(FILE, _counts(outcome.test), display_name(request.test), outcome.test_is_training_file)
    return RecordedTest(HELD_OUT, _counts(outcome.test), share=request.holdout_share, seed=request.seed)


def _counts(confusion: Confusion) -> Counts:
    matrix, k = confusion.counts, len(confusion.counts)
    columns = (matrix.sum(axis=1).tolist(), matrix.sum(axis=0).tolist(), matrix.diagonal().tolist())
    classes = tuple(zip(*columns, strict=True)) if k <= MAX_CLASSES else None
    pairs = tuple(map(tuple, matrix.tolist())) if k <= MAX_CONFUSION else None
    return Counts(confusion.rows, confusion.errors, confusion.interval, classes, pairs)


def _probabilities(test: ProbabilityTest) -> Probabilities:
    return Probabilities(test.log_loss, test.brier, test.log_loss_of_shares, test.brier_of_shares, test.calibration_error)
