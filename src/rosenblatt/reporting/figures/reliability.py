"""The reliability diagram: probabilities of test rows beside the shares of these rows that have the class.

Training rows are never shown: a model is surer of them than of others.
"""

from __future__ import annotations

import math

import numpy as np

from ...parallel import one_blas_thread
from ...probabilities.measures import ProbabilityTest, ReliabilityBin
from ..charts import Axis, Chart, Line, Mark
from ..story import MAX_VOTE_WORK, Facts, evenly, values_per_row
from ..text import count, cut, fixed, percent, plural

# The bars show this many standard errors of a share: 95 % of them cover the true one.
ERRORS_SHOWN = 1.96
TICKS = tuple((place / 10, f"{10 * place} %") for place in range(0, 11, 2))


def reliability(facts: Facts) -> Chart | None:
    """Draw the diagram; None without test rows, or if the model has no probabilities."""
    test = test_of(facts)
    if test is None:
        return None
    shown = cut(facts.names[test.positive]) if test.positive is not None else "the most probable class"
    marks: list[Mark] = [
        Line(
            [each.predicted for each in test.bins], [each.observed for each in test.bins], "test", dots=True,
            titles=[f"{plural(each.rows, 'row')} at {percent(each.predicted)}: {percent(each.observed)}" for each in test.bins],
        ),
        Line([0.0, 1.0], [0.0, 1.0], "quiet", "reliable", thin=True),
        *(_interval(each) for each in test.bins),
    ]  # fmt: skip
    label = f"share of {shown}" if facts.k == 2 else "share where it is right"
    x = Axis(f"probability of {shown}", 0.0, 1.0, TICKS)
    return Chart("reliability", "Reliability, test rows", _caption(test), tuple(marks), x, Axis(label, 0.0, 1.0, TICKS))


def test_of(facts: Facts) -> ProbabilityTest | None:
    """Measure the probabilities of the test rows; those of a long vote on an even sample."""
    estimator, X = facts.story.estimator, facts.story.X_test
    if not facts.has_test or estimator._probability_map is None or X is None:
        return None
    codes = facts.codes_test
    limit = X.shape[0]
    if facts.votes:
        limit = int(MAX_VOTE_WORK / max(1.0, estimator.n_updates_ * values_per_row(X)))
    some = evenly(X.shape[0], limit)
    some = some[codes[some] >= 0]
    if not len(some):
        return None
    with one_blas_thread():
        return ProbabilityTest.of(estimator.predict_proba(X[some]), np.asarray(codes[some]))


def _interval(each: ReliabilityBin) -> Line:
    """A vertical line: shares that the true share of the bin explains, by Wilson's interval."""
    n, unit = each.rows, ERRORS_SHOWN**2 / each.rows
    middle = (each.observed + unit / 2) / (1 + unit)
    half = ERRORS_SHOWN * math.sqrt(each.observed * (1 - each.observed) / n + unit / (4 * n)) / (1 + unit)
    return Line([each.predicted, each.predicted], [max(0.0, middle - half), min(1.0, middle + half)], "test", thin=True)


def _caption(test: ProbabilityTest) -> str:
    return (
        f"Of {count(test.rows)} test rows, by tenths of the probability. On the diagonal, probabilities are right; vertical "
        f"lines are 95 % intervals. Calibration error {percent(test.calibration_error)}, log loss {fixed(test.log_loss)}, "
        f"Brier score {fixed(test.brier)} (class shares: {fixed(test.log_loss_of_shares)}, {fixed(test.brier_of_shares)})."
    )
