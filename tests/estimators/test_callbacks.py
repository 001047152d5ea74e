"""scikit-learn's callbacks: set on an estimator, or passed on by a pipeline or a search."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.callback import ProgressBar, ScoringMonitor
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rosenblatt as rb
from rosenblatt.catalog import ESTIMATORS


class Recorder:
    """A callback that writes down its calls."""

    def __init__(self, broken=None):
        self.calls, self.broken = [], broken

    def setup(self, estimator, context):
        self.calls.append("setup")

    def teardown(self, estimator, context):
        self.calls.append("teardown")

    def on_fit_task_begin(self, estimator, context, *, X=None, y=None, metadata=None):
        self.calls.append(("begin", context.task_name, len(X), metadata))

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, fitted_estimator=None):
        if context.task_name == self.broken:
            raise RuntimeError("enough")
        self.calls.append(("end", context.task_name, None if fitted_estimator is None else fitted_estimator.score(X, y)))


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_estimator_calls_its_callbacks(name):
    X, y = load_iris(return_X_y=True)
    X, y, recorder = X[:100], y[:100], Recorder()
    model = getattr(rb, name)().set_callbacks(recorder).fit(X, y)
    plain = getattr(rb, name)().fit(X, y)
    assert recorder.calls[:2] == ["setup", ("begin", "fit", 100, None)]
    assert recorder.calls[-2:] == [("end", "fit", 1.0), "teardown"]
    assert {call[1] for call in recorder.calls[2:-2]} <= {"pass"}
    assert model.score(X, y) == plain.score(X, y) == 1.0


def test_each_pass_is_a_task():
    X, y = load_iris(return_X_y=True)
    recorder, weights = Recorder(), np.ones(150)
    rb.Perceptron(max_iter=3).set_callbacks(recorder).fit(X, y, sample_weight=weights)
    names = [call[:2] for call in recorder.calls[2:-2]]
    assert names == [("begin", "pass"), ("end", "pass")] * 3
    assert recorder.calls[1][3]["sample_weight"] is weights


def test_callbacks_are_called_once_for_all_labels_and_folds():
    X, y = load_iris(return_X_y=True)
    recorder = Recorder()
    rb.SoftMargin(calibrate="sigmoid").set_callbacks(recorder).fit(X, np.column_stack([y == 0, y == 1]))
    assert [call for call in recorder.calls if "fit" in call[:2]] == [
        ("begin", "fit", 150, None),
        ("end", "fit", pytest.approx(0.7, abs=0.3)),
    ]
    assert (recorder.calls.count("setup"), recorder.calls.count("teardown")) == (1, 1)


@pytest.mark.parametrize("broken", ["pass", "data"])
def test_callbacks_are_torn_down_after_an_error(broken):
    X, y = load_iris(return_X_y=True)
    recorder = Recorder(broken)
    model = rb.Perceptron(max_iter=3).fit(X, y)
    before = model.coef_
    with pytest.raises((RuntimeError, ValueError)):
        model.set_callbacks(recorder).fit(X, y if broken == "pass" else y[:10])
    assert recorder.calls[-1] == "teardown"
    assert model.coef_ is before
    assert "_callback_fit_ctx" not in vars(model)


def test_a_progress_callback_is_called_beside_them():
    X, y = load_iris(return_X_y=True)
    seen = []
    with rb.progress_callback(seen.append):
        rb.Perceptron(max_iter=3).set_callbacks(recorder := Recorder()).fit(X, y)
    assert sum(progress.ended_pass for progress in seen) == sum(call[:2] == ("end", "pass") for call in recorder.calls) == 3


def test_a_search_over_a_pipeline_passes_its_callbacks_on(capsys):
    X, y = load_iris(return_X_y=True)
    steps = make_pipeline(StandardScaler(), rb.SoftMargin())
    search = GridSearchCV(steps, {"softmargin__C": [0.1, 1.0]}, cv=2).set_callbacks(ProgressBar(max_propagation_depth=None))
    search.fit(X, y)
    assert "SoftMargin - fit" in capsys.readouterr().out
    assert search.best_score_ > 0.9


def test_the_scoring_monitor_scores_the_fitted_estimator():
    X, y = load_iris(return_X_y=True)
    monitor = ScoringMonitor(scoring="accuracy")
    model = rb.SoftMargin().set_callbacks(monitor).fit(X, y)
    assert monitor.get_logs().data[-1]["accuracy"] == model.score(X, y)
