"""No threshold serves a goal better on the scores it is chosen from, and the shifted plane is the same model everywhere."""

from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import fbeta_score, precision_score, recall_score
from training_files import write_csv

import rosenblatt as rb
from rosenblatt.cli import main
from rosenblatt.cli.train import build_model
from rosenblatt.training.request import Request
from rosenblatt.training.summary import summarize
from rosenblatt.training.threshold import Goal, best_threshold
from rosenblatt.training.train import train

GOALS = ["cost=10:1", "cost=3", "f1", "f0.5", "f2", "precision=0.7", "recall=0.8"]


def rates(predicted, positive):
    return precision_score(positive, predicted, zero_division=0.0), recall_score(positive, predicted)


def value(goal, predicted, positive):
    """How well predictions serve a goal, in the measures of scikit-learn."""
    name, _, number = goal.partition("=")
    if name == "cost":
        missed, _, alarm = number.partition(":")
        return -(float(missed) * (positive & ~predicted).sum() + float(alarm or 1) * (predicted & ~positive).sum())
    if name.startswith("f"):
        return fbeta_score(positive, predicted, beta=float(name[1:]), zero_division=0.0)
    bounded, other = rates(predicted, positive)[:: 1 if name == "precision" else -1]
    # Within reach of the bound, more of the other measure is better; out of reach, more of the bounded one.
    return 2.0 + other if bounded >= float(number) else bounded


def best_value(goal, scores, positive):
    """The best value that any threshold reaches: each number between two scores, and beyond the last ones, is tried."""
    distinct = np.unique(scores)
    return max(value(goal, scores > bound, positive) for bound in (distinct[0] - 1, *distinct))


@given(st.lists(st.tuples(st.integers(-5, 5), st.booleans()), min_size=2, max_size=30), st.sampled_from(GOALS))
def test_no_threshold_is_better_on_these_scores(rows, goal):
    scores, positive = np.array([float(score) for score, _ in rows]), np.array([label for _, label in rows])
    if not positive.any():
        positive[0] = True
    threshold, reached = best_threshold(Goal.parse(goal), scores, positive)
    assert value(goal, scores > threshold, positive) == pytest.approx(best_value(goal, scores, positive))
    assert ("out of reach" in reached) == (goal[0] in "pr" and best_value(goal, scores, positive) < 1.0)


@pytest.mark.parametrize("goal", GOALS)
def test_one_positive_row_in_a_hundred(goal):
    rng = np.random.default_rng(0)
    positive = np.arange(600) % 100 == 0
    scores = np.round(rng.normal(size=600) + 2.0 * positive, 2)
    threshold, _ = best_threshold(Goal.parse(goal), scores, positive)
    assert value(goal, scores > threshold, positive) == pytest.approx(best_value(goal, scores, positive))


def test_scores_that_are_neighbors_are_told_apart():
    scores = np.array([1.0, np.nextafter(1.0, 2.0), 1e308, -1e308])
    threshold, _ = best_threshold(Goal.parse("f1"), scores, np.array([False, True, True, False]))
    assert (scores > threshold).tolist() == [False, True, True, False]


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
    fine, found = cheap.test.counts.sum(axis=1)
    line = f"{cost(cheap)} on {fine + found} test rows (always '0': {10 * found}, always '1': {fine})"
    assert dict(summarize(cheap))["cost"].replace(",", "") == line.replace(",", "")
    assert run(rare, "recall=0.9").test.recall[1] > 0.75
    assert dict(summarize(cheap))["positive"].startswith("1: precision ")


def test_a_goal_that_the_test_misses_is_a_warning():
    goal = Goal.parse("precision=0.9")
    assert goal.missed(0, 5, 10) == 0.0
    assert goal.missed(0, 0, 10) is None  # the class is never predicted, which is another warning
    assert goal.missed(5, 1, 10) is None  # 83 % of six rows may be chance
    assert Goal.parse("recall=0.9").missed(50, 0, 100) == 0.5
    assert Goal.parse("f1").missed(0, 5, 10) is None


def test_probabilities_stay_and_the_threshold_is_where_it_was_asked(rare):
    plain, moved = run(rare, None), run(rare, "0.2")
    X = plain.prepared.X_test
    probabilities = plain.estimator.predict_proba(X)
    np.testing.assert_allclose(moved.estimator.predict_proba(X), probabilities, atol=1e-12)
    assert np.array_equal(moved.estimator.predict(X) == moved.classes[1], probabilities[:, 1] >= 0.2)


@pytest.mark.parametrize(("threshold", "share"), [("0", 1.0), ("1", 0.0)])
def test_the_thresholds_0_and_1_leave_the_probabilities(rare, threshold, share):
    plain, moved = run(rare, None), run(rare, threshold)
    X = plain.prepared.X_test
    assert (moved.estimator.predict(X) == moved.classes[1]).mean() == share
    np.testing.assert_allclose(moved.estimator.predict_proba(X), plain.estimator.predict_proba(X), atol=1e-8)


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


# --- one positive row in a hundred -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def scarce(tmp_path_factory):
    """1 % of the rows are positive, and most of them can be found."""
    rng = np.random.default_rng(1)
    labels = np.where(np.arange(4000) % 100 == 0, "fraud", "fine")
    rows = rng.normal(size=(4000, 4)) + 1.2 * (labels == "fraud")[:, None]
    return write_csv(tmp_path_factory.mktemp("files") / "scarce.csv", rows, labels)


@pytest.mark.slow
def test_goals_on_scarce_positives_hold_on_new_rows_and_in_files(scarce, tmp_path):
    plain, cost, recall = run(scarce, None), run(scarce, "cost=50:1"), run(scarce, "recall=0.8")
    fraud = plain.classes.tolist().index("fraud")

    def spent(outcome):
        counts = outcome.test.counts
        return 50 * counts[fraud, 1 - fraud] + counts[1 - fraud, fraud]

    assert spent(cost) < 0.75 * spent(plain)
    assert recall.test.recall[fraud] > 0.55 > 0.3 > plain.test.recall[fraud]
    rb.save(build_model(cost), tmp_path / "m.safetensors")
    model = rb.load(tmp_path / "m.safetensors")
    X = cost.prepared.X_test
    assert np.array_equal(
        model.winners((X @ model.coef.T) + model.intercept), (cost.estimator.decision_function(X) > 0).astype(int)
    )


def test_weights_of_classes_by_label_on_the_command_line(scarce, tmp_path):
    given = ["train", str(scarce), "--algorithm", "logistic", "--holdout", "0", "--no-certify"]
    coefs = []
    for weights in ("fraud=99", "fraud=99,fine=1", "fraud=198,fine=2"):
        arguments = [*given, "--class-weight", weights, "-o", str(tmp_path / "m.safetensors")]
        assert CliRunner().invoke(main, arguments).exit_code == 0
        coefs.append(rb.load(tmp_path / "m.safetensors").coef)
    assert np.array_equal(coefs[0], coefs[1])
    assert not np.array_equal(coefs[0], coefs[2])


@pytest.mark.parametrize("stream", [[], ["--stream"]])
def test_weights_of_classes_that_are_numbers(rare, stream, tmp_path):
    more = ["--algorithm", "average", "--order", "cyclic", "--holdout", "0", "--no-certify", *stream]
    arguments = ["train", str(rare), "--class-weight", "1=9", "-o", str(tmp_path / "m.safetensors"), *more]
    found = CliRunner().invoke(main, arguments)
    assert found.exit_code == 0, found.output
    assert rb.load(tmp_path / "m.safetensors").parameters["class_weight"] == {1: 9.0}


@pytest.mark.parametrize(
    ("weights", "sentence"),
    [
        ("fraud", "must be balanced, or weights of labels such as spam=5,ham=1, got 'fraud'"),
        ("fraud=", "'' is not a number"),
        ("fraud=x", "'x' is not a number"),
        ("fraud=-1", "the weight of label 'fraud' must be 0 or more, got -1"),
        ("fraud=nan", "the weight of label 'fraud' must be 0 or more, got nan"),
        ("fraud=1,fraud=2", "label 'fraud' has two weights"),
        ("froud=9", "class_weight has a weight for 'froud', which is not a class, and none for class 'fine'"),
    ],
)
def test_bad_weights_of_classes(scarce, weights, sentence):
    found = CliRunner().invoke(main, ["train", str(scarce), "--algorithm", "logistic", "--class-weight", weights])
    assert found.exit_code != 0
    assert sentence in " ".join(found.output.split())
