"""Similar training rows: the support vectors make the score, the nearest come first, and other rows are refused."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris

import rosenblatt as rb
from commands import rosenblatt
from rosenblatt.models.explanations import similar
from rosenblatt.models.state import model_of

X, Y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[Y]
MACHINES = [
    rb.SoftMargin(multiclass="ovo"),
    rb.SoftMargin(multiclass="ovr"),
    rb.SoftMargin(multiclass="crammer_singer"),
    rb.SoftMargin(loss="squared_hinge", class_weight="balanced"),
    rb.SoftMarginCV(Cs=[0.1, 1.0]),
    rb.MaxMargin(inseparable="soft"),
]


@pytest.mark.parametrize("machine", MACHINES, ids=lambda each: f"{type(each).__name__}-{each.multiclass}")
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("sparse", [False, True])
def test_support_vectors_make_the_score(machine: Any, classes: int, sparse: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = slice(50, None) if classes == 2 else slice(None)
    rows_of, y = X[rows] - X[rows].mean(axis=0), NAMES[rows]
    monkeypatch.setattr(similar, "MAX_LISTED", 1000)
    A = sp.csr_array(rows_of) if sparse else rows_of
    model = model_of(machine.fit(A, y))
    for row in (0, 30, 70):
        found = model.explain(A, row=row, training=(A, y))
        total = math.fsum([found.intercept, *(each.amount for each in found.similar)])
        assert total == pytest.approx(found.score, abs=1e-5 * (1.0 + sum(abs(each.amount) for each in found.similar)))
        distances = [np.linalg.norm(rows_of[each.row] - rows_of[row]) for each in found.similar]
        np.testing.assert_allclose([each.distance for each in found.similar], distances, atol=1e-12)
        assert (np.diff(distances) >= -1e-9).all()
        assert [each.label for each in found.similar] == [y[each.row] for each in found.similar]
        assert [each.amount for each in found.similar] == pytest.approx(
            [each.multiplier * (rows_of[each.row] @ rows_of[row]) for each in found.similar]
        )


def test_other_rows_are_refused() -> None:
    model = model_of(rb.SoftMargin().fit(X, Y))
    wrong = "these are not the rows that the model was trained on, in their order"
    with pytest.raises(ValueError, match=f"{wrong}: there are only 60"):
        model.explain(X, row=60, training=(X[:60], Y[:60]))
    with pytest.raises(ValueError, match=f"{wrong}: their multipliers do not add up to its weights"):
        model.explain(X, row=60, training=(X[::-1], Y[::-1]))
    with pytest.raises(ValueError, match=wrong):
        model.explain(X, row=60, training=(X, NAMES))
    for other in (rb.SoftMargin(loss="logistic"), rb.Perceptron(keep="average")):
        with pytest.raises(ValueError, match="the model has no multipliers of training rows"):
            model_of(other.fit(X, Y)).explain(X, training=(X, Y))


def test_estimators_explain_like_their_models() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["a", "b", "c", "d"])
    for estimator in (rb.Perceptron(keep="average", random_state=0), rb.SoftMargin(), rb.LinearMSE()):
        fitted = estimator.fit(frame, NAMES)
        found = fitted.explain(frame, row=70)
        assert found == model_of(fitted).explain(X, row=70)
        assert {each.name for each in found.columns} <= set(frame.columns)
        assert found.label == fitted.predict(frame)[70]
        for change in found.changes:
            moved = frame.iloc[[70]].copy()
            moved[change.column] = change.new
            assert fitted.predict(moved).tolist() == [change.label] != [found.label]
    with pytest.raises(ValueError, match="a vote cannot be explained"):
        rb.Perceptron(keep="vote", random_state=0).fit(X, Y).explain(X)
    with pytest.raises(ValueError, match="not fitted"):
        rb.Perceptron().explain(X)


def test_the_command_lists_rows_of_the_training_file(tmp_path: Path) -> None:
    lines = [",".join([*map(str, row), label]) for row, label in zip(X.tolist(), NAMES.tolist(), strict=True)]
    data, model = tmp_path / "iris.csv", tmp_path / "m.safetensors"
    data.write_text("\n".join(["a,b,c,d,label", *lines]) + "\n")
    assert rosenblatt("train", data, "-a", "soft-margin", "--scale", "none", "-o", model).code == 0
    found = rosenblatt("explain", model, data, "--row", 60, "--training", data, "--json").json
    assert found["similar"]
    for each in found["similar"]:
        assert each["label"] == NAMES[each["row"]]
        assert each["distance"] == pytest.approx(np.linalg.norm(X[each["row"]] - X[59]))
    text = rosenblatt("explain", model, data, "--row", 60, "--training", data).out
    nearest = found["similar"][0]
    assert "Nearest training rows with a multiplier" in text
    assert f"\n{nearest['row'] + 1:>3}  {nearest['label']}" in text
    (tmp_path / "other.csv").write_text("\n".join(["a,b,c,d,label", *lines[::-1]]) + "\n")
    refused = rosenblatt("explain", model, data, "--row", 60, "--training", tmp_path / "other.csv")
    assert refused.code == 2
    assert refused.err.startswith(f"rosenblatt: {tmp_path / 'other.csv'}: these are not the rows")
