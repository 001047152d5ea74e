"""The reliability diagram: test rows only, the numbers of the test, and a reliable model on the diagonal."""

from __future__ import annotations

import dataclasses
from xml.etree import ElementTree

import numpy as np
import pytest
from small_stories import story

import rosenblatt as rb
from rosenblatt.probabilities.measures import ProbabilityTest
from rosenblatt.reporting.charts import Line
from rosenblatt.reporting.figures.reliability import reliability
from rosenblatt.reporting.page import standalone, write_report
from rosenblatt.reporting.story import Facts, Story


def many(n: int = 20_000) -> Story:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    y = np.where(rng.random(n) < 1 / (1 + np.exp(-2 * X[:, 0])), "yes", "no")
    half = 9 * n // 10
    model = rb.LinearMSE(calibrate="sigmoid").fit(X[:half], y[:half])
    return Story("many", model, X=X[:half], y=y[:half], X_test=X[half:], y_test=y[half:])


def test_the_diagram_of_a_reliable_model_follows_the_diagonal() -> None:
    report = many()
    chart = reliability(Facts(report))
    assert chart is not None
    curve, diagonal, *intervals = [mark for mark in chart.marks if isinstance(mark, Line)]
    assert (list(diagonal.x), list(diagonal.y)) == ([0.0, 1.0], [0.0, 1.0])
    assert np.abs(np.subtract(curve.x, curve.y)).max() < 0.1
    assert sum(low <= x <= high for x, (low, high) in zip(curve.x, [mark.y for mark in intervals], strict=True)) >= 8
    rarer = min(("yes", "no"), key=np.asarray(report.y_test).tolist().count)
    assert chart.x.label == f"probability of {rarer}"
    codes = np.searchsorted(report.estimator.classes_, np.asarray(report.y_test))
    assert report.X_test is not None
    test = ProbabilityTest.of(report.estimator.predict_proba(report.X_test), codes)
    assert chart.caption.startswith("Of 2,000 test rows")
    assert f"log loss {test.log_loss:.4f}, Brier score {test.brier:.4f}" in chart.caption
    ElementTree.fromstring(standalone(chart).encode())
    assert f"<th>probability of {rarer}</th><th>share of {rarer}</th>" in write_report(report)


def test_training_rows_are_never_shown() -> None:
    report = dataclasses.replace(many(400), X_test=None, y_test=None)
    assert reliability(Facts(report)) is None
    assert 'id="reliability"' not in write_report(report)


def test_without_probabilities_there_is_no_diagram() -> None:
    assert reliability(Facts(story())) is None


@pytest.mark.parametrize("keep", ["average", "vote"])
def test_several_classes_are_judged_by_the_most_probable(keep: str) -> None:
    chart = reliability(Facts(story(rb.Perceptron(keep=keep, calibrate="sigmoid", random_state=0, max_iter=4), k=4, n=100)))
    assert chart is not None
    assert chart.x.label == "probability of the most probable class"
    assert chart.y.label == "share where it is right"
