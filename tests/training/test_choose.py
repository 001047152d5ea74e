"""What `train` chooses by itself: from the training rows alone, and the same each time."""

from __future__ import annotations

import json

import numpy as np
import pytest

from rosenblatt.catalog import ALGORITHMS
from rosenblatt.cli.train import build_model
from rosenblatt.data.readers import Options
from rosenblatt.estimators.trials import describe
from rosenblatt.reporting.text import percent
from rosenblatt.training import choose as choosing
from rosenblatt.training.record import record_of
from rosenblatt.training.request import Request
from rosenblatt.training.summary import as_dict, summarize
from rosenblatt.training.train import train


def write(path, rows, labels):
    lines = [",".join([*map(str, row), f"c{label}"]) for row, label in zip(rows.round(6).tolist(), labels, strict=True)]
    path.write_text("\n".join([",".join([*(f"x{j}" for j in range(rows.shape[1])), "label"]), *lines]) + "\n")
    return str(path)


@pytest.fixture
def circle(tmp_path):
    """Two classes that a plane cannot part, but products of columns can."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(160, 2)) * [1.0, 50.0]
    return write(tmp_path / "circle.csv", rows, (rows[:, 0] ** 2 + (rows[:, 1] / 50.0) ** 2 > 1.4).astype(int))


@pytest.fixture
def noise(tmp_path):
    rng = np.random.default_rng(1)
    return write(tmp_path / "noise.csv", rng.normal(size=(80, 6)), np.arange(80) % 2)


def test_small_data_gets_a_logistic_regression_with_a_chosen_cost():
    outcome = train(Request("example:iris", algorithm="auto"))
    assert outcome.request.algorithm == "logistic"
    assert outcome.request.parameters["C"] == outcome.estimator.C
    assert any(note.startswith(f"C={outcome.estimator.C:g} was chosen among 12 candidates") for note in outcome.notes)
    assert outcome.test.errors <= 2


def test_large_data_gets_one_pass_after_another(monkeypatch):
    monkeypatch.setattr(choosing, "MAX_SEARCH_WORK", 100)
    outcome = train(Request("example:iris", algorithm="auto"))
    assert (outcome.request.algorithm, outcome.estimator.margin) == ("average", "auto")
    assert train(Request("example:iris", algorithm="auto", parameters={"class_weight": "balanced"}, cv=3)).folds
    of_loss = train(Request("example:iris", algorithm="auto", parameters={"loss": "hinge"}))
    assert (of_loss.request.algorithm, of_loss.estimator.C) == ("soft-margin", 1.0)


@pytest.mark.parametrize(
    ("parameters", "algorithm"),
    [({"C": 2.0}, "logistic"), ({"step": 0.5}, "average"), ({"max_updates": 10}, "average"), ({"tol": 1e-2}, "auto")],
)
def test_parameters_that_are_given_decide(parameters, algorithm):
    assert Request("example:iris", algorithm="auto", parameters=parameters).algorithm == algorithm


def test_a_given_cost_is_not_searched():
    outcome = train(Request("example:iris", algorithm="auto", parameters={"C": 2.0}))
    assert outcome.estimator.C == 2.0
    assert not any("chosen" in note for note in outcome.notes)


@pytest.fixture
def mails(tmp_path):
    """Texts of two classes: each has words of its own, and both have others."""
    rng = np.random.default_rng(2)
    own = {"ham": ["lunch", "meeting", "thanks", "tomorrow"], "spam": ["prize", "winner", "claim", "urgent"]}
    lines = ["label,text,length"]
    for k in range(120):
        label = ("ham", "spam")[k % 2]
        words = [*rng.choice(own[label], 2), *rng.choice(["the", "and", "you", "now", "call"], 4), f"word{k}"]
        lines.append(f"{label},{' '.join(rng.permutation(words))},{int(rng.integers(9))}")
    path = tmp_path / "mails.csv"
    path.write_text("\n".join(lines) + "\n")
    return str(path)


@pytest.mark.parametrize(
    ("ignored", "given", "algorithm"),
    [
        (("length",), {}, "soft-margin"),
        (("length",), {"parameters": {"class_weight": "balanced"}}, "soft-margin"),
        ((), {}, "logistic"),  # with a numeric column
        (("length",), {"threshold": "0.3"}, "logistic"),  # needs probabilities
        (("length",), {"parameters": {"multiclass": "ovr"}}, "logistic"),
        (("length",), {"algorithm": "average"}, "average"),
    ],
)
def test_text_alone_gets_a_linear_svm_without_a_search(mails, ignored, given, algorithm):
    options = Options(label="label", ignore=ignored, missing="auto")
    outcome = train(Request(mails, options=options, **{"algorithm": "auto", **given}))
    assert outcome.request.algorithm == algorithm
    assert (outcome.certificate is None) == bool(ignored)  # rows of words are nearly always separable
    assert outcome.test.errors <= 2
    if algorithm == "soft-margin":
        found = outcome.estimator
        assert (found.loss, found.C, found.penalize_intercept) == ("squared_hinge", 1.0, True)
        assert set(found.solver_) == {"dual-coordinates"}  # matrices of rows take fifteen times as long
        assert not any("chosen" in note for note in outcome.notes)


def test_text_features_of_a_request_are_those_of_its_model(mails):
    options = Options(label="label", ignore=("length",), missing="auto")
    outcome = train(Request(mails, options=options, algorithm="auto", text_features="words-2,chars-3-3:counts", cv=3))
    (text,) = outcome.recipe.strings
    assert [kind.name for kind in text.kinds] == ["words-2", "chars-3-3:counts"]
    with pytest.raises(ValueError, match="text_features must be words, words-2, chars-3-5 or binary"):
        Request(mails, text_features="letters")


def test_held_out_rows_do_not_take_part_in_the_choice(monkeypatch, noise):
    seen = []
    original = choosing.choose
    monkeypatch.setattr(
        "rosenblatt.training.train.choose",
        lambda request, data, *a, **k: (seen.append(data.n_rows), original(request, data, *a, **k))[1],
    )
    outcome = train(Request(noise, algorithm="auto"))
    assert seen == [outcome.rows] == [64]


def test_tuning_is_tested_by_folds_in_which_everything_is_chosen_again(circle):
    outcome = train(Request(circle, algorithm="auto", tune=True, parameters={"loss": "squared_hinge"}))
    assert outcome.request.degree == 2
    assert len(outcome.folds) == 5
    assert sum(fold.rows for fold in outcome.folds) == 160
    assert sum(fold.errors for fold in outcome.folds) / 160 < 0.12


def test_the_error_of_tuning_on_labels_without_pattern_is_that_of_guessing(noise):
    outcome = train(Request(noise, algorithm="auto", tune=True, parameters={"loss": "logistic"}))
    assert sum(fold.errors for fold in outcome.folds) / 80 > 0.38


@pytest.mark.parametrize("algorithm", ["average", "soft-margin", "arow", "ridge"])
def test_tune_varies_what_the_algorithm_and_the_user_leave_open(circle, algorithm):
    outcome = train(Request(circle, algorithm=algorithm, tune=True, scale="standard", holdout=0.2))
    assert outcome.request.algorithm == algorithm
    assert outcome.request.scale == "standard"
    fixed = ALGORITHMS[algorithm].parameters
    assert {name: getattr(outcome.estimator, name) for name in fixed} == fixed
    assert outcome.test is not None


def test_the_widest_margin_of_inseparable_folds_names_the_remedy(noise, circle):
    with pytest.raises(ValueError, match=r"noise.csv: no plane separates .* use --algorithm soft-margin"):
        train(Request(noise, algorithm="max-margin", tune=True, degree=2, parameters={"max_iter": 1000}))
    outcome = train(Request(circle, algorithm="max-margin", tune=True, holdout=0.2))
    assert outcome.request.degree == 2  # products separate
    errors = [trial["errors"] for trial in as_dict(outcome)["tuning"]["trials"] if trial["parameters"]["degree"] == 1]
    assert {error for each in errors for error in each} == {None}
    assert json.loads(json.dumps(errors, allow_nan=False)) == errors


def test_a_budget_that_is_too_short_tries_nothing_and_says_so(circle):
    outcome = train(Request(circle, algorithm="auto", tune=True, budget=1e-6))
    lines = dict(summarize(outcome))
    assert lines["tuning"].startswith("tried 0 of 144 candidates by 5-fold cross-validation on the training rows in ")
    assert lines["tuning"].endswith("its share of --budget; each fold of the test had as much")
    assert outcome.request.algorithm == "logistic"
    assert outcome.estimator.C == 1.0


def test_tuning_prints_and_records_what_was_tried_and_what_was_chosen(circle):
    outcome = train(Request(circle, algorithm="auto", tune=True, holdout=0.25))
    record = outcome.tuning
    assert record.candidates == len(record.trials) == 2 * 2 * 3 * 12
    assert set(record.chosen) == {"scale", "degree", "loss", "C"}
    lines = list(record.lines())
    assert lines[1].startswith(f"chosen {describe(record.chosen)} (error there ")
    least = {name: min(t.loss for t in record.trials if t.parameters["loss"] == name) for name in ("logistic", "hinge")}
    assert any(f"'logistic' {percent(least['logistic'])}, 'hinge' {percent(least['hinge'])}" in line for line in lines)
    assert f"Tuning: {lines[1]}." in record_of(outcome).notes
    assert as_dict(outcome)["tuning"]["chosen"] == record.chosen
    card = build_model(outcome).card()
    assert "Tuning: chosen" in card


def test_the_losses_of_a_search_decide_the_algorithm(noise, monkeypatch):
    """Each loss gives the model that is named after it, and one without probabilities says how to get them."""
    for loss, algorithm in (("logistic", "logistic"), ("hinge", "soft-margin"), ("squared_hinge", "soft-margin")):
        prefer = lambda trials, loss=loss: next(trial for trial in trials if trial.parameters["loss"] == loss)  # noqa: E731
        monkeypatch.setattr(choosing, "best", prefer)
        outcome = train(Request(noise, algorithm="auto", tune=True, holdout=0.2, degree=2, scale="max"))
        assert (outcome.request.algorithm, outcome.estimator.loss) == (algorithm, loss)
        assert any("has no probabilities" in note for note in outcome.notes) == (loss != "logistic")
        assert hasattr(outcome.estimator, "predict_proba") == (loss == "logistic")


def test_a_loss_that_is_given_is_not_searched_and_names_the_algorithm(noise):
    outcome = train(Request(noise, algorithm="auto", parameters={"loss": "hinge"}))
    assert (outcome.request.algorithm, outcome.estimator.loss) == ("soft-margin", "hinge")
    outcome = train(Request(noise, algorithm="logistic", tune=True, holdout=0.2))
    assert {trial.parameters.get("loss") for trial in outcome.tuning.trials} == {None}
    with pytest.raises(ValueError, match="logistic has --loss logistic, not hinge: leave out --loss, or --algorithm"):
        Request(noise, algorithm="logistic", parameters={"loss": "hinge"})


def test_the_same_seed_gives_the_same_model(circle):
    first, second = (train(Request(circle, algorithm="auto", tune=True, holdout=0.25, seed=3, degree=2)) for _ in range(2))
    assert np.array_equal(first.estimator.coef_, second.estimator.coef_)
    assert first.request == second.request


def test_a_class_with_a_single_row(tmp_path):
    path = tmp_path / "single.csv"
    path.write_text("x,label\n" + "".join(f"{i},{'ab'[i % 2]}\n" for i in range(12)) + "3,rare\n")
    outcome = train(Request(str(path), algorithm="auto", holdout=0.0))
    assert any("was chosen among 12 candidates" in note for note in outcome.notes)  # on the rows of the other classes
    with pytest.raises(ValueError, match=r"single.csv: --tune needs at least two rows of every class, and 'rare' has one"):
        train(Request(str(path), algorithm="auto", tune=True, holdout=0.0))


def test_too_few_rows_for_two_folds(tmp_path):
    path = tmp_path / "few.csv"
    path.write_text("x,label\n1,a\n2,b\n3,c\n")
    outcome = train(Request(str(path), algorithm="auto", holdout=0.0))
    assert "Nothing was tuned, because the 3 classes have too few training rows for two folds." in outcome.notes


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"budget": 0.0, "tune": True}, "--budget must be more than 0 seconds, got 0"),
        ({"budget": 5.0}, "--budget limits the time of --tune: add --tune"),
    ],
)
def test_a_bad_budget(given, sentence):
    with pytest.raises(ValueError, match=sentence):
        Request("example:iris", **given)
