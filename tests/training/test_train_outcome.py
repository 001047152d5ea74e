"""A training outcome: test rows stay out of the fit, and every figure agrees with its definition."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from training_files import noisy_rows, separable_rows, write_csv, write_svmlight

import rosenblatt as rb
from rosenblatt.certificates.statements import Inseparable
from rosenblatt.data.table import DataError
from rosenblatt.estimators.base import StopWarning
from rosenblatt.online.stopping import Stop
from rosenblatt.training import training_proofs
from rosenblatt.training.metrics import Confusion
from rosenblatt.training.request import DEFAULT_HOLDOUT, Request
from rosenblatt.training.split import Holdout, assign_folds
from rosenblatt.training.summary import as_dict, summarize
from rosenblatt.training.train import messages_of, train


@pytest.fixture
def file(tmp_path: Path) -> tuple[str, Any, Any]:
    X, y = noisy_rows()
    return write_csv(tmp_path / "rows.csv", X, y), X, y


def assert_same_model(a: Any, b: Any) -> None:
    np.testing.assert_array_equal(a.coef_, b.coef_)
    np.testing.assert_array_equal(a.intercept_, b.intercept_)
    np.testing.assert_array_equal(a.classes_, b.classes_)


# --- Rows of the file


@pytest.mark.parametrize("test", [{"holdout": 0.3}, {"cv": 3}, {"holdout": 0.0}], ids=str)
def test_a_proof_names_the_rows_of_the_file(file: Any, test: Any) -> None:
    path, X, y = file
    with pytest.raises(DataError, match=r"rows\.csv: no plane separates .*; use --algorithm soft-margin$") as error:
        train(Request(path, algorithm="max-margin", scale="none", seed=2, **test))
    listed = [int(row) - 1 for row in re.findall(r"\d+", error.value.sentence.rpartition(":")[2])]
    assert rb.certify(X[listed], y[listed]).verdict == "inseparable"
    proof = error.value.__cause__
    assert isinstance(proof, rb.NotSeparable)
    assert len(proof.rows) == len(listed)


# --- Hold-out


@pytest.mark.parametrize("scale", ["auto", "max", "standard"])
def test_rows_held_out_change_neither_the_recipe_nor_the_model(tmp_path: Path, file: Any, scale: str) -> None:
    path, X, y = file
    held = Holdout(DEFAULT_HOLDOUT, 3).mask(y.astype(object))
    assert 0 < held.sum() < len(y) / 3
    strange = np.where(held[:, None], 1e6 * X + 7.0, X)
    other = write_csv(tmp_path / "strange.csv", strange, y)
    first, second = (train(Request(data, scale=scale, seed=3)) for data in (path, other))
    assert first.rows == second.rows == (~held).sum()
    assert_same_model(first.estimator, second.estimator)
    assert first.train.to_dict() == second.train.to_dict()
    assert first.margin == second.margin
    assert first.test is not None
    assert first.test.rows == held.sum()


def test_training_rows_are_those_of_the_file_that_are_not_held_out(file: Any) -> None:
    path, X, y = file
    prepared = train(Request(path, scale="none", holdout=0.3, seed=2)).prepared
    held = Holdout(0.3, 2).mask(y.astype(object))
    assert prepared is not None
    np.testing.assert_array_equal(prepared.positions, np.flatnonzero(~held))
    np.testing.assert_array_equal(prepared.X, X[~held])
    np.testing.assert_array_equal(prepared.X_test, X[held])
    np.testing.assert_array_equal(prepared.y, y[~held])
    np.testing.assert_array_equal(prepared.classes[prepared.codes_test], y[held])


def test_the_seed_decides_which_rows_are_held_out(file: Any) -> None:
    path, *_ = file
    outcomes = [train(Request(path, seed=seed, certify=False)) for seed in (1, 1, 2)]
    positions = [outcome.prepared.positions.tolist() for outcome in outcomes if outcome.prepared is not None]
    assert positions[0] == positions[1] != positions[2]
    assert_same_model(outcomes[0].estimator, outcomes[1].estimator)


def test_without_a_test_the_model_is_that_of_the_library(file: Any) -> None:
    path, X, y = file
    outcome = train(Request(path, holdout=0.0, scale="none", seed=4))
    model = rb.Perceptron(keep="average", random_state=4).fit(X, y)
    assert_same_model(outcome.estimator, model)
    assert (outcome.test, outcome.folds, outcome.rows) == (None, (), len(y))
    assert outcome.train.errors == int((model.predict(X) != y).sum())


def test_a_class_with_one_row_is_trained_on(tmp_path: Path) -> None:
    X, y = noisy_rows(60)
    y = y.astype(object)
    y[31] = "oak"
    for seed in range(5):
        outcome = train(Request(write_csv(tmp_path / "rows.csv", X, y), holdout=0.5, seed=seed, certify=False))
        assert "oak" in outcome.classes


def test_nothing_to_hold_out_is_noted(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "rows.csv", np.array([[0.0, 1.0], [1.0, 0.5]]), ["a", "b"])
    outcome = train(Request(path, holdout=0.2))
    assert outcome.test is None
    assert "No row was held out for testing: every class has too few rows." in outcome.notes


def test_rows_are_held_out_only_if_they_are_enough_for_a_test(tmp_path: Path) -> None:
    remedies = "`train --cv 5` tests on all rows, --test FILE on others."
    note = f"No row was held out for testing, because fewer than 10 would be: {remedies}"
    X, y = noisy_rows(50)
    y = np.resize(["a", "b"], 50)
    few = train(Request(write_csv(tmp_path / "few.csv", X[:45], y[:45])))
    assert (few.test, few.rows, note in few.notes) == (None, 45, True)
    enough = train(Request(write_csv(tmp_path / "enough.csv", X, y)))
    assert enough.test is not None
    assert (enough.test.rows, enough.rows, note in enough.notes) == (10, 40, False)
    requested = train(Request(str(tmp_path / "few.csv"), holdout=0.1))
    assert requested.test is not None
    assert (requested.test.rows, requested.rows) == (4, 41)


def test_xor_is_trained_on_whole_and_proved_not_separable(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "xor.csv", np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]]), ["0", "1", "1", "0"])
    outcome = train(Request(path, algorithm="perceptron"))
    assert outcome.rows == 4
    assert outcome.certificate is not None
    assert outcome.certificate.verdict == "inseparable"
    held = train(Request(path, algorithm="perceptron", holdout=0.3))
    assert held.rows == 3
    line = "separable: a plane separates all 3 training rows (checked row by row)."
    assert dict(summarize(held))["proof"] == line
    assert as_dict(held)["proof"].startswith(f"{line}\n  widest margin")
    whole = train(Request(path, algorithm="perceptron", holdout=0.0, degree=2))
    assert dict(summarize(whole))["proof"] == "separable: a plane separates all 4 rows (checked row by row)."


# --- Test files and folds


def test_a_test_file_is_read_by_column_names(tmp_path: Path, file: Any) -> None:
    path, X, y = file
    other = tmp_path / "other.csv"
    rows = [f"{label},{c!r},{a!r},{b!r}" for (a, b, c), label in zip(X[:30].tolist(), y[:30], strict=True)]
    other.write_text("\n".join(["label,x2,x0,x1", *rows]) + "\n")
    outcome = train(Request(path, test=str(other)))
    assert outcome.rows == len(y)
    assert outcome.test is not None
    predicted = outcome.estimator.predict(outcome.prepared.X)  # type: ignore[union-attr]
    assert outcome.test.errors == int((predicted[:30] != y[:30]).sum())


def test_a_class_that_was_never_trained_on_is_refused(tmp_path: Path, file: Any) -> None:
    path, X, _ = file
    other = write_csv(tmp_path / "other.csv", X[:3], ["ash", "birch", "willow"])
    with pytest.raises(DataError, match="willow"):
        train(Request(path, test=other))


@pytest.mark.parametrize("k", [2, 3])
def test_each_fold_is_predicted_by_a_model_of_the_other_folds(tmp_path: Path, k: int) -> None:
    X, y = noisy_rows(90, k)
    path = write_csv(tmp_path / "rows.csv", X, y)
    outcome = train(Request(path, cv=4, scale="none", seed=6, certify=False))
    classes, codes = np.unique(y, return_inverse=True)
    fold = assign_folds(codes, 4, 6)
    assert outcome.rows == len(y)
    assert outcome.test is None
    assert sum(each.rows for each in outcome.folds) == len(y)
    for number, found in enumerate(outcome.folds):
        mine = fold == number
        model = rb.Perceptron(keep="average", random_state=6).fit(X[~mine], y[~mine])
        expected = Confusion.of(codes[mine], np.searchsorted(classes, model.predict(X[mine])), k)
        np.testing.assert_array_equal(found.counts, expected.counts)


def test_each_fold_has_its_own_scaling(tmp_path: Path) -> None:
    X, y = noisy_rows(60)
    X[7] *= 1e5
    path = write_csv(tmp_path / "rows.csv", X, y)
    codes = np.unique(y, return_inverse=True)[1]
    fold = assign_folds(codes, 3, 0)
    outcome = train(Request(path, cv=3, scale="max", certify=False))
    mine = fold == fold[7]
    largest = abs(X[~mine]).max(axis=0)
    model = rb.Perceptron(keep="average", random_state=0).fit(X[~mine] / largest, y[~mine])
    errors = int((model.predict(X[mine] / largest) != y[mine]).sum())
    assert outcome.folds[fold[7]].errors == errors


# --- Parameters and weights


def test_class_weights_reach_the_estimator(file: Any) -> None:
    path, X, y = file
    weights = {"ash": 0.25, "birch": 2.0}
    request = Request(path, holdout=0.0, scale="none", parameters={"class_weight": weights, "order": "cyclic"})
    outcome = train(request)
    model = rb.Perceptron(keep="average", order="cyclic", random_state=0, class_weight=weights).fit(X, y)
    assert_same_model(outcome.estimator, model)
    plain = rb.Perceptron(keep="average", order="cyclic", random_state=0).fit(X, y)
    assert not np.array_equal(plain.coef_, model.coef_)
    assert outcome.bound is None, "the bound is for rows of equal weight"


def test_sparse_files_are_fitted_sparse(tmp_path: Path) -> None:
    X, y = noisy_rows()
    X[abs(X) < 0.4] = 0.0
    codes = np.where(y == "ash", -1, 1)
    outcome = train(Request(write_svmlight(tmp_path / "rows.svm", X, codes), holdout=0.0, scale="none"))
    assert outcome.prepared is not None
    np.testing.assert_array_equal(outcome.prepared.X.toarray(), X)  # type: ignore[union-attr]
    assert outcome.classes.tolist() == [-1, 1]


# --- Margin, proof, bound, history


def test_margin_proof_and_bound_of_separable_rows(tmp_path: Path) -> None:
    X, y = separable_rows()
    path = write_csv(tmp_path / "rows.csv", X, y)
    outcome = train(Request(path, algorithm="perceptron", holdout=0.0, scale="none", parameters={"order": "cyclic"}))
    assert outcome.certificate is not None
    assert outcome.certificate.verdict == "separable"
    assert outcome.bound is not None
    assert outcome.estimator.n_updates_ <= outcome.bound  # type: ignore[attr-defined]
    margin = rb.margin(outcome.estimator, X, y, space="geometric")
    assert outcome.margin == pytest.approx(float(margin))
    assert (outcome.margin > 0.0) == (outcome.train.errors == 0)


@pytest.mark.parametrize("algorithm", ["batch", "pa-1", "soft-margin"])
def test_no_bound_is_given_for_other_algorithms(tmp_path: Path, algorithm: str) -> None:
    X, y = separable_rows()
    assert train(Request(write_csv(tmp_path / "rows.csv", X, y), algorithm=algorithm)).bound is None


def test_models_without_one_plane_have_no_margin(file: Any) -> None:
    path, *_ = file
    assert train(Request(path, algorithm="vote", certify=False)).margin is None
    assert train(Request(path, algorithm="perceptron", certify=False)).margin is not None


def test_the_rows_of_a_clash_are_those_of_the_file(tmp_path: Path) -> None:
    X, y = noisy_rows()
    path = write_csv(tmp_path / "rows.csv", X, y)
    outcome = train(Request(path, holdout=0.4, scale="none", certify=True))
    assert isinstance(outcome.certificate, Inseparable)
    assert outcome.prepared is not None
    clash = {pair.row for pair in outcome.certificate.clash}
    assert clash <= set(outcome.prepared.positions.tolist())  # type: ignore[union-attr]
    assert any(outcome.prepared.positions[row] != row for row in range(outcome.rows))  # type: ignore[index]
    rows = sorted(clash)
    assert rb.certify(X[rows], y[rows]).verdict == "inseparable"


def test_a_proof_is_tried_if_it_is_quick_or_requested(file: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    path, *_ = file
    assert train(Request(path)).certificate is not None
    assert train(Request(path, certify=False)).certificate is None
    monkeypatch.setattr(training_proofs, "QUICK_PROOF_VALUES", 10)
    assert train(Request(path)).certificate is None
    assert train(Request(path, certify=True)).certificate is not None


@pytest.mark.parametrize("algorithm", ["perceptron", "average", "pa-1"])
def test_the_history_adds_up_to_all_updates(file: Any, algorithm: str) -> None:
    path, *_ = file
    seen = []
    outcome = train(Request(path, algorithm=algorithm, certify=False), seen.append)
    updates = outcome.estimator.n_updates_  # type: ignore[attr-defined]
    assert [each.number for each in outcome.history] == list(range(1, outcome.estimator.n_iter_ + 1))  # type: ignore[attr-defined]
    assert sum(each.new_updates for each in outcome.history) == outcome.history[-1].updates == updates
    assert len(seen) >= len(outcome.history)


def test_warnings_are_collected_once_each_as_sentences() -> None:
    stop, other = Stop("updates", "Stopped"), Stop("updates", "Other")
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        for message in ("one", "Two.", "one", StopWarning("not separated", stop), StopWarning("not separated", other)):
            warnings.warn(message, stacklevel=1)  # type: ignore[call-overload]
    assert messages_of(warned, stop) == ("One.", "Two.", "Not separated.", "Not separated: Other.")


def test_provenance_names_the_file_its_digest_and_how_it_is_read(file: Any) -> None:
    import hashlib

    path, _, y = file
    outcome = train(Request(path))
    digest = hashlib.sha256(Path(path).read_bytes()).hexdigest()
    assert (outcome.provenance["data"], outcome.provenance["sha256"]) == (path, digest)
    assert (outcome.provenance["rows"], outcome.provenance["columns"]) == (outcome.rows, 3)
    assert outcome.provenance["reading"]["label"] == "label"
    assert outcome.rows < len(y)
    assert train(Request("example:iris")).provenance["sha256"] is None


# --- Data that cannot be used


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["a"] * 60, "all rows have the label 'a'; at least two classes are needed"),
        ([f"{i + 0.5}" for i in range(60)], "60 distinct values: these are quantities, not classes"),
    ],
)
def test_labels_that_are_no_classes_are_refused(tmp_path: Path, labels: list[str], message: str) -> None:
    path = write_csv(tmp_path / "rows.csv", np.arange(120.0).reshape(60, 2), labels)
    with pytest.raises(DataError, match=message):
        train(Request(path, holdout=0.0))


def test_a_class_in_one_fold_only_is_refused(tmp_path: Path) -> None:
    X, y = noisy_rows(30)
    y = y.astype(object)
    y[4] = "oak"
    with pytest.raises(ValueError, match="at least two rows of every class"):
        train(Request(write_csv(tmp_path / "rows.csv", X, y), cv=3))


# --- Requests


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"algorithm": "percepton"}, "unknown algorithm 'percepton'; the algorithms are perceptron, pocket, "),
        ({"parameters": {"C": 1.0}}, "--C is not a parameter of average, which has .*--class-weight"),
        ({"test": "a", "cv": 3}, "--test and --cv exclude each other: give one of them"),
        ({"holdout": 0.1, "cv": 3}, "--holdout and --cv exclude each other"),
        ({"data": "-", "test": "-"}, "DATA and --test cannot both be standard input"),
    ],
)
def test_requests_that_contradict_themselves(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Request(**{"data": "rows.csv"} | given)


def test_a_request_makes_other_algorithms_with_the_parameters_they_have() -> None:
    request = Request("rows.csv", parameters={"step": 0.5, "order": "cyclic"}, seed=7)
    assert request.make().get_params()["step"] == 0.5
    assert request.make().get_params()["random_state"] == 7
    other = request.make("soft-margin").get_params()
    assert "step" not in other
    assert [Request("-", holdout=share).holdout_share for share in (None, 0.0, 0.5)] == [DEFAULT_HOLDOUT, None, 0.5]
    assert Request("-", cv=3).holdout_share is None
