"""The summary of an outcome: every line, the facts of the report, and the keys of the JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from training_files import noisy_rows, separable_rows, write_csv

from rosenblatt.training.metrics import Confusion
from rosenblatt.training.request import Request
from rosenblatt.training.summary import as_dict, list_facts, pool, summarize
from rosenblatt.training.train import Outcome, PassRecord, train


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    path = write_csv(tmp_path_factory.mktemp("files") / "rows.csv", *noisy_rows(200, 3))
    return train(Request(path))


def confusion(errors: int, rows: int) -> Confusion:
    return Confusion(np.array([[rows - errors, errors, 0], [0, 0, 0], [0, 0, 0]]))


def test_lines_come_in_the_order_of_the_work(outcome: Outcome) -> None:
    names = [name for name, _ in summarize(outcome) if name]
    assert names == ["data", "algorithm", "fit", "work", "training", "test", "baseline", "recall", "margin", "proof", "time"]
    assert [text for name, text in summarize(outcome) if not name] == list(outcome.notes)


def test_errors_are_given_with_counts_and_interval(outcome: Outcome) -> None:
    made, interval = replace(outcome, test=confusion(2_402, 16_281)), "95 % interval 14.22 to 15.31 %"
    assert dict(summarize(made))["test"] == f"error 14.75 % (2,402 of 16,281 held-out rows wrong), {interval}"
    with_file = replace(made, request=replace(outcome.request, test="other.csv"))
    assert dict(summarize(with_file))["test"] == f"error 14.75 % (2,402 of 16,281 wrong), {interval}"
    wrong, rows = outcome.train.errors, outcome.train.rows
    assert dict(summarize(outcome))["training"] == f"error {100 * wrong / rows:.2f} % ({wrong} of {rows} wrong)"


@pytest.mark.parametrize(("algorithm", "model"), [("average", "the average"), ("vote", "the vote")])
def test_the_last_weights_separate_and_the_model_does_not(tmp_path: Path, algorithm: str, model: str) -> None:
    X, y = np.array([[1.0, 2.0], [2.0, 1.0]]), ["x", "y"]
    if algorithm == "vote":
        X, y = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), ["no", "no", "no", "yes"]
    path = write_csv(tmp_path / "rows.csv", X, y)
    outcome = train(Request(path, algorithm=algorithm, scale="none"))
    end = f"; the last weights separate, but the model is {model} of all weights of the run, which misclassifies 1 row"
    for fields in (summarize(outcome), list_facts(outcome)):
        assert dict(fields)["fit"] == f"{outcome.estimator.stop_}{end}"
    last = train(Request(path, algorithm="perceptron"))
    assert (dict(summarize(last))["fit"], last.train.errors) == (str(last.estimator.stop_), 0)


def test_folds_are_pooled(outcome: Outcome) -> None:
    made = replace(outcome, test=None, folds=(confusion(1, 10), confusion(3, 10), confusion(0, 5)))
    assert pool(made.folds).to_dict() == confusion(4, 25).to_dict()
    line = dict(summarize(made))["3 folds"]
    assert line == "error 16.00 % (4 of 25 wrong), 95 % interval 6.40 to 34.65 %; single folds 0.00 to 30.00 %"


@pytest.mark.parametrize(
    ("margin", "errors", "text"),
    [
        (0.01234567, 0, "0.0123457 (distance of the nearest row from the plane)"),
        (-0.6811, 58, "none (58 rows misclassified, the worst by 0.681)"),
        (-0.2, 1, "none (1 row misclassified, the worst by 0.2)"),
        (0.0, 0, "none (a row lies on the plane)"),
    ],
)
def test_the_margin(outcome: Outcome, margin: float, errors: int, text: str) -> None:
    counts = np.diag([100, 50, 0])
    counts[0, 1] = errors
    made = replace(outcome, margin=margin, train=Confusion(counts))
    assert dict(summarize(made))["margin"] == text
    assert "margin" not in dict(summarize(replace(outcome, margin=None)))


def test_work_names_passes_updates_and_the_bound(outcome: Outcome) -> None:
    passes, updates = outcome.estimator.n_iter_, outcome.estimator.n_updates_  # type: ignore[attr-defined]
    start = f"{passes} passes, {updates:,} updates"
    for passes, words in ((40, "per pass"), (41, "over the passes")):  # one bar for each of 40 passes
        made = replace(outcome, history=tuple(PassRecord(n, n, n) for n in range(1, passes + 1)))
        assert dict(summarize(made))["work"].startswith(f"{start}; {words} ")
    few = replace(outcome, history=(PassRecord(1, 5, 5),))
    assert dict(summarize(few))["work"] == start
    assert dict(summarize(replace(few, bound=97.9)))["work"] == f"{start} (at most 97 are possible: R^2/gamma^2)"
    assert "(at most about 2.5e12 are" in dict(summarize(replace(few, bound=2.5e12)))["work"]


def test_many_classes_are_not_all_listed(outcome: Outcome, tmp_path: Path) -> None:
    data = dict(summarize(outcome))["data"]
    sizes = outcome.train.counts.sum(axis=1)
    assert data == f"160 training rows, 3 features, 3 classes: ash ({sizes[0]}), birch ({sizes[1]}), cedar ({sizes[2]})"
    X = np.arange(48.0).reshape(24, 2)
    many = train(Request(write_csv(tmp_path / "rows.csv", X, [f"c{i % 8}" for i in range(24)]), holdout=0.0))
    assert dict(summarize(many))["data"].endswith("c4 (3), c5 (3) and 2 more")


def test_facts_of_the_report_are_short(outcome: Outcome) -> None:
    facts = dict(list_facts(outcome))
    assert facts["rows"] == "160"
    assert facts["test error"] == f"{100 * outcome.test.error:.2f} %"  # type: ignore[union-attr]
    assert facts["margin"] == "none"
    folds = dict(list_facts(replace(outcome, test=None, folds=(confusion(1, 10), confusion(3, 10)))))
    assert folds["error in 2 folds"] == "20.00 %"
    assert all(facts.values())


KEYS = [
    "data", "classes", "notes", "tuning", "findings", "preparation", "algorithm", "estimator", "parameters", "features_used",
    "stop", "n_iter", "updates", "updates_possible", "updates_per_pass", "training", "test", "folds", "probabilities",
    "baseline", "recall", "never_predicted", "tested_on_training_rows", "warnings", "margin", "proof", "proof_rows",
    "verdict", "seconds",
]  # fmt: skip


def test_the_keys_of_the_json(outcome: Outcome) -> None:
    found: dict[str, Any] = json.loads(json.dumps(as_dict(outcome)))
    assert list(found) == KEYS
    assert list(found["data"]) == ["source", "rows", "columns"]
    assert list(found["stop"]) == ["reason", "sentence"]
    assert list(found["training"]) == list(found["test"]) == ["rows", "errors", "error", "interval"]
    assert list(found["seconds"]) == ["learning", "compiling", "all"]
    assert found["updates"] == sum(found["updates_per_pass"])
    assert (found["classes"], found["folds"]) == (["ash", "birch", "cedar"], [])
    assert (found["verdict"], found["training"]["rows"]) == ("inseparable", outcome.rows)


@pytest.mark.parametrize("algorithm", ["linear-mse", "soft-margin", "vote", "arow", "nonlinear-mse"])
def test_every_kind_of_estimator_has_a_summary(tmp_path: Path, algorithm: str) -> None:
    made = train(Request(write_csv(tmp_path / "rows.csv", *separable_rows()), algorithm=algorithm, certify=False))
    lines = dict(summarize(made))
    assert lines["algorithm"].endswith(")")
    assert json.loads(json.dumps(as_dict(made)))["algorithm"] == algorithm
    facts = dict(list_facts(made))
    assert facts["training error"].endswith(" %")
    online = algorithm in ("vote", "arow")
    assert ("passes" in facts, "iterations" in facts) == (online, not online)
