"""No threshold serves a goal better on the scores it is chosen from, and the shifted plane is the same model everywhere."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from training_files import write_csv

import rosenblatt as rb
from rosenblatt.cli.train import build_model
from rosenblatt.training.request import Request
from rosenblatt.training.summary import summarize
from rosenblatt.training.threshold import Goal, best_threshold
from rosenblatt.training.train import train

GOALS = ["cost=10:1", "cost=3", "f1", "f0.5", "f2", "precision=0.7", "recall=0.8"]


def value(goal: Goal, predicted, positive):
    hits, alarms = float((predicted & positive).sum()), float((predicted & ~positive).sum())
    return float(goal.values(np.array([hits]), np.array([alarms]), float(positive.sum()))[0])


@given(st.lists(st.tuples(st.integers(-5, 5), st.booleans()), min_size=2, max_size=30), st.sampled_from(GOALS))
def test_no_threshold_is_better_on_these_scores(rows, goal):
    scores, positive = np.array([float(score) for score, _ in rows]), np.array([label for _, label in rows])
    if not positive.any():
        positive[0] = True
    threshold, _ = best_threshold(Goal.parse(goal), scores, positive)
    reached = value(Goal.parse(goal), scores > threshold, positive)
    others = [value(Goal.parse(goal), scores > other, positive) for other in np.arange(-6.5, 7.0, 1.0)]
    assert reached == pytest.approx(max(others))


@pytest.fixture(scope="module")
def rare(tmp_path_factory):
    """A rare class that overlaps the other."""
    rng = np.random.default_rng(0)
    labels = (np.arange(600) % 10 == 0).astype(int)
    rows = rng.normal(size=(600, 3)) + labels[:, None] * 1.1
    return write_csv(tmp_path_factory.mktemp("files") / "rare.csv", rows, labels)


def run(rare, threshold, **more):
    return train(Request(rare, **({"algorithm": "logistic", "threshold": threshold, "certify": False, "holdout": 0.5} | more)))


def test_a_goal_is_served_on_rows_that_were_held_out(rare):
    plain, cheap = run(rare, None), run(rare, "cost=10:1")

    def cost(outcome):
        counts = outcome.test.counts
        return 10 * counts[1, 0] + counts[0, 1]

    assert cost(cheap) < 0.85 * cost(plain)
    assert run(rare, "recall=0.9").test.recall[1] > 0.75
    assert dict(summarize(cheap))["positive"].startswith("1: precision ")


def test_probabilities_stay_and_the_threshold_is_where_it_was_asked(rare):
    plain, moved = run(rare, None), run(rare, "0.2")
    X = plain.prepared.X_test
    probabilities = plain.estimator.predict_proba(X)
    np.testing.assert_allclose(moved.estimator.predict_proba(X), probabilities, atol=1e-12)
    assert np.array_equal(moved.estimator.predict(X) == moved.classes[1], probabilities[:, 1] >= 0.2)


@pytest.mark.parametrize("calibrate", ["sigmoid", "isotonic", "temperature"])
def test_calibrated_models_and_their_files(rare, calibrate, tmp_path):
    parameters = {"calibrate": calibrate}
    plain = run(rare, None, algorithm="average", parameters=parameters)
    moved = run(rare, "f1", algorithm="average", parameters=parameters)
    rb.save(build_model(moved), tmp_path / "m.safetensors")
    model = rb.load(tmp_path / "m.safetensors")
    X = plain.prepared.X_test
    np.testing.assert_allclose(moved.estimator.predict_proba(X), plain.estimator.predict_proba(X), atol=1e-12)
    scores = X @ model.coef[0] + model.intercept[0]
    assert np.array_equal(moved.estimator.predict(X) == moved.classes[1], scores > 0)


def test_the_positive_class_is_the_rarer_one_or_the_one_that_is_named(rare):
    rarer, other = run(rare, "precision=0.9"), run(rare, "recall=1", positive="0")
    assert any("'1' is predicted from probability" in note for note in rarer.notes)
    assert other.test.recall[0] > 0.98


@pytest.mark.parametrize(
    ("goal", "sentence"),
    [
        ("1.5", "--threshold: a threshold must be from 0 to 1, got 1.5"),
        ("-0.1", "--threshold: a threshold must be from 0 to 1"),
        ("nan", "--threshold: a threshold must be from 0 to 1"),
        ("recall=2", "--threshold: a recall must be from 0 to 1"),
        ("cost=0:1", "--threshold: a cost must be more than 0"),
        ("f0", "--threshold: the beta of an F-measure must be more than 0"),
        ("best", "--threshold must be a probability such as 0.3, cost=10:1, f1"),
        ("cost=a:b", "--threshold must be a probability such as 0.3"),
    ],
)
def test_bad_goals(goal, sentence):
    with pytest.raises(ValueError, match=sentence):
        Goal.parse(goal)


def test_what_cannot_have_a_threshold(rare):
    with pytest.raises(ValueError, match="--threshold needs two classes, and the file has 3: 'setosa'"):
        train(Request("example:iris", threshold="f1"))
    with pytest.raises(ValueError, match="--positive must be '0' or '1', got 'spam'"):
        run(rare, "f1", positive="spam")
    with pytest.raises(ValueError, match="a vote does not have: use --algorithm average"):
        run(rare, "f1", algorithm="vote")
    with pytest.raises(ValueError, match="needs probabilities: add --calibrate sigmoid, or use --algorithm logistic"):
        run(rare, "0.3", algorithm="average")
    with pytest.raises(ValueError, match="--positive names the class of --threshold: add --threshold"):
        Request(rare, positive="1")
