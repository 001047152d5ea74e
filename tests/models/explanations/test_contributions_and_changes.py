"""Contributions sum to the score, and every change that is listed changes the prediction, none nearer does."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import rosenblatt as rb
from rosenblatt.data.csr import CSRMatrix
from rosenblatt.data.table import Data, Table, as_data
from rosenblatt.models.explanations.changes import rounded_beyond, without_words
from rosenblatt.models.model import Model
from rosenblatt.models.state import model_of
from rosenblatt.preprocessing.recipe import Recipe
from rosenblatt.training.preparation import as_matrix

ESTIMATORS = {
    "binary": (2, lambda: rb.Perceptron(keep="average", random_state=0)),
    "joint": (3, lambda: rb.Perceptron(random_state=0)),
    "ovr": (4, lambda: rb.SoftMargin(loss="squared_hinge", multiclass="ovr")),
    "pairs": (4, lambda: rb.SoftMargin(loss="squared_hinge", multiclass="ovo")),
    "tanh": (2, lambda: rb.NonlinearMSE(random_state=0)),
}


def rows_of(kind: str, n: int = 90, seed: int = 0) -> Any:
    """Rows as a table with all kinds of columns, an array, or sparse rows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) * [1.0, 500.0, 0.01] + [0.0, 3000.0, 0.5]
    if kind == "dense":
        return X
    if kind == "sparse":
        return sp.csr_array(X * (rng.random(X.shape) < 0.6))
    X[::9, 0] = np.nan
    city = np.array(["rome", "paris", "bonn", None], object)[rng.integers(0, 4, n)]
    words = np.array(["free money", "hello there", "lunch free today", "", "call me there now"], object)
    return Table(("x", "income", "rate", "city", "text"), (*X.T, city, words[rng.integers(0, 5, n)]))


def model_for(name: str, kind: str, degree: int = 1, scale: str = "none", seed: int = 0) -> tuple[Model, Any]:
    k, make = ESTIMATORS[name]
    X = rows_of(kind, seed=seed)
    if kind == "table":
        recipe = Recipe.learn([X], degree=degree, scale=scale, text=("text",))
    else:
        recipe = Recipe.learn([X], degree=degree, scale=scale)
    features: Any = as_matrix(recipe.rows(X))
    rng = np.random.default_rng(seed + 1)
    dense = np.asarray(features.toarray() if sp.issparse(features) else features)
    signal = dense @ (rng.normal(size=dense.shape[1]) / (1e-9 + abs(dense).max(axis=0)))
    y = np.searchsorted(np.quantile(signal, np.arange(1, k) / k), signal + 0.1 * signal.std() * rng.normal(size=len(signal)))
    return model_of(make().fit(features, np.array(["a", "b", "c", "d"])[y]), recipe=recipe), X


CASES = [
    (name, kind, degree, scale)
    for name in ESTIMATORS
    for kind, degree, scale in [
        ("table", 1, "standard"), ("table", 2, "max"), ("table", 3, "standard"), ("dense", 1, "none"), ("dense", 2, "standard"),
        ("sparse", 1, "none"), ("sparse", 2, "max"),
    ]
]  # fmt: skip


@pytest.mark.parametrize(("name", "kind", "degree", "scale"), CASES)
def test_contributions_sum_to_the_score(name: str, kind: str, degree: int, scale: str) -> None:
    model, X = model_for(name, kind, degree, scale)
    data = as_data(X)
    labels, scores = model.predict(data), model.scores(data)
    for row in range(0, 40, 8):
        found = model.explain(X, row=row)
        assert found.label == labels[row]
        ends = [found.intercept, *(part.amount for part in found.features)]
        size = sum(map(abs, ends)) + 1e-300
        assert abs(math.fsum(ends) - found.score) <= 1e-12 * size
        assert abs(math.fsum([found.intercept, *(part.amount for part in found.columns)]) - found.score) <= 1e-12 * size
        if len(model.classes) == 2:
            assert (found.favored, found.score) == ("b", pytest.approx(scores[row, 0]))
            assert (found.score > 0) == (found.label == found.favored)
        elif not model.pairs:
            ranked = np.sort(scores[row])
            assert found.favored == found.label
            assert found.score == pytest.approx(ranked[-1] - ranked[-2], abs=1e-9 * size)


def replaced(X: Any, row: int, column: str, cells: Any) -> Any:
    """Copies of a row with other cells in a column."""
    data = as_data(X)
    one = data.take(np.arange(data.n_rows) == row)
    n, features = len(cells), one.features
    if isinstance(features, Table):
        columns = [np.repeat(old, n) for old in features.columns]
        columns[features.names.index(column)] = np.array(cells, object if isinstance(cells[0], str) else float)
        return Table(features.names, tuple(columns))
    sparse = isinstance(features, CSRMatrix)
    dense = np.repeat(features.toarray() if isinstance(features, CSRMatrix) else features, n, axis=0)
    dense[:, int(column) - sparse] = cells
    return sp.csr_array(dense) if sparse else dense


@pytest.mark.parametrize(("name", "kind", "degree", "scale"), CASES)
def test_the_listed_change_of_a_number_is_the_nearest(name: str, kind: str, degree: int, scale: str) -> None:
    model, X = model_for(name, kind, degree, scale)
    listed = 0
    for row in (1, 9, 17, 30):
        found = model.explain(X, row=row)
        for change in found.changes:
            if not isinstance(change.new, float):
                continue
            listed += 1
            threshold, filled = change.threshold, 0.0 if change.old is None else change.old
            assert threshold is not None
            assert isinstance(filled, float)
            if change.old is None:
                filled = float(model.recipe.numbers.fill[0])  # type: ignore[union-attr]
            assert model.predict(replaced(X, row, change.column, [change.new])).tolist() == [change.label]
            assert change.label != found.label
            assert abs(change.new - filled) <= 1.011 * abs(threshold - filled) + 1e-6 * max(1.0, abs(filled)) or (
                change.inside is not None and change.new.is_integer()
            )
            between = filled + (threshold - filled) * np.linspace(0.0, 1.0 - 1e-7, 400)
            assert set(model.predict(replaced(X, row, change.column, between)).tolist()) == {found.label}
    assert listed


@pytest.mark.parametrize(("name", "scale"), [("binary", "none"), ("binary", "standard"), ("ovr", "max"), ("joint", "standard")])
def test_the_joint_change_is_the_shortest(name: str, scale: str) -> None:
    model, X = model_for(name, "dense", 1, scale)
    divide = model.recipe.numbers.divide  # type: ignore[union-attr]
    units = divide if divide is not None else X.max(axis=0) - X.min(axis=0)
    rng = np.random.default_rng(3)
    for row in (0, 5, 11):
        found = model.explain(X, row=row)
        joint = found.joint_change
        assert joint is not None
        moved = X[row].copy()
        for column, old, new in joint.columns:
            assert old == X[row, int(column)]
            moved[int(column)] = new
        assert model.predict([moved]).tolist() == [joint.label] != [found.label]
        assert np.linalg.norm((moved - X[row]) / units) == pytest.approx(joint.distance, rel=1e-5)
        steps = rng.normal(size=(2000, 3))
        steps *= 0.999 * joint.distance / np.linalg.norm(steps, axis=1, keepdims=True)
        assert set(model.predict(X[row] + steps * units).tolist()) == {found.label}
    for other in (model_for("pairs", "dense"), model_for("binary", "dense", 2)):
        assert other[0].explain(other[1]).joint_change is None


def test_the_listed_category_changes_the_score_least() -> None:
    listed = 0
    for name in ("binary", "joint", "pairs"):
        model, X = model_for(name, "table", 1, "standard")
        for row in range(30):
            found = model.explain(X, row=row)
            change = next((each for each in found.changes if each.column == "city"), None)
            others = [city for city in ("bonn", "paris", "rome") if city != X.columns[3][row]]
            flips = [city for city in others if model.predict(replaced(X, row, "city", [city]))[0] != found.label]
            assert (change is None) == (not flips)
            if change is not None:
                listed += 1
                assert (change.new in flips, change.others, change.old) == (True, len(flips) - 1, X.columns[3][row])
                assert model.predict(replaced(X, row, "city", [change.new])).tolist() == [change.label]
    assert listed > 3


def test_words_are_left_out_until_the_prediction_changes() -> None:
    texts = ["free money now", "win money free", "free win", "lunch today", "see you today", "lunch you see"] * 5
    table = Table(("text",), (np.array(texts, object),))
    recipe = Recipe.learn([table], text=("text",))
    y = ["spam", "spam", "spam", "ham", "ham", "ham"] * 5
    model = model_of(rb.Perceptron(keep="average").fit(as_matrix(recipe.rows(table)), y), recipe=recipe)
    mixed = Table(("text",), (np.array(["Free lunch, see you: FREE money"], object),))
    found = model.explain(mixed)
    (change,) = found.changes
    assert isinstance(change.new, str)
    rest = without_words("Free lunch, see you: FREE money", set(change.new.split()))
    assert change.is_text
    assert model.predict(Table(("text",), (np.array([rest], object),))).tolist() == [change.label] != [found.label]
    assert found.text == ("text",)
    assert {part.name for part in found.features} == {"text:free", "text:lunch", "text:money", "text:see", "text:you"}
    assert [part.name for part in found.columns] == ["text"]


def test_products_are_shared_by_their_factors() -> None:
    X = rows_of("dense")
    recipe = Recipe.learn([X], degree=3)
    model = model_of(rb.LinearMSE().fit(recipe.rows(X), np.arange(90) % 2), recipe=recipe)
    found = model.explain(X, row=4)
    shares = dict.fromkeys("012", 0.0)
    for part in found.features:
        factors = [name for term in part.name.split() for name in term[0] * int(term[2:] or 1)]
        for name in factors:
            shares[name] += part.amount / len(factors)
    assert {part.name: part.amount for part in found.columns} == pytest.approx(shares)
    assert not found.exact


def test_a_wide_sparse_row_lists_its_stored_values() -> None:
    X = sp.random_array((60, 20_000), density=0.001, rng=np.random.default_rng(0), format="csr")
    y = np.arange(60) % 3
    model = model_of(rb.Perceptron().fit(X, y))
    found = model.explain(X, row=7)
    assert {part.name for part in found.columns} <= {str(j) for j in X[[7]].indices}
    assert found.changes
    for change in found.changes:
        changed = X[[7]].toarray()
        changed[0, int(change.column)] = change.new
        assert model.predict(changed).tolist() == [change.label]


def test_whole_numbers_stay_whole() -> None:
    X = np.array([[20.0], [30.0], [41.0], [60.0]])
    recipe = Recipe.learn([X])
    model = model_of(rb.MaxMargin().fit(recipe.rows(X), [0, 0, 1, 1]), recipe=recipe)
    (change,) = model.explain(X).changes
    assert (change.old, change.new, change.threshold, change.inside) == (20.0, 36.0, pytest.approx(35.5), True)


@pytest.mark.parametrize(("old", "step"), [(31200.0, 17213.4), (0.5, -0.12345), (-3e8, 1e-3), (1e-12, -3e-15), (5.0, 0.0)])
def test_numbers_are_rounded_away_from_the_row(old: float, step: float) -> None:
    new = rounded_beyond(old, step, 3)
    assert abs(new - old) >= abs(step) * (1 - 1e-4)
    assert abs(new - old) <= 1.011 * abs(step) + 0.0011 * max(1.0, abs(old)) * (step == 0.0)


# --- what cannot be explained


def test_a_vote_has_its_own_sentence() -> None:
    X = rows_of("dense")
    model = model_of(rb.Perceptron(keep="vote", random_state=0).fit(X, np.arange(90) % 2))
    with pytest.raises(ValueError, match=r"a vote cannot be explained: its [\d,]+ hypotheses .* --algorithm average"):
        model.explain(X)


def test_bad_rows() -> None:
    model, X = model_for("binary", "dense")
    with pytest.raises(IndexError, match="row must be from 0 to 89, got 90"):
        model.explain(X, row=90)
    with pytest.raises(ValueError, match="rows have 2 columns, but the model requires 3"):
        model.explain(X[:, :2])
    with pytest.raises(ValueError, match="the value is infinite"):
        model.explain([[math.inf, 0.0, 1.0]])
    plain = model_of(rb.Perceptron().fit(X, np.arange(90) % 2))
    with pytest.raises(ValueError, match=r"X has 2 columns, but the model was trained on 3"):
        plain.explain(X[:, :2])
    assert plain.explain(Data("X", X, None)).label == plain.predict(X[:1])[0]
    with pytest.raises(ValueError, match="too large to explain"):
        plain.explain([[1e307, 1e307, 1e307]])


def test_an_explanation_is_printed_as_text():
    """All contributions that are printed, with the intercept and the sum of the others, add up to the printed score."""
    trained = rb.train("example:breast-cancer")
    lines = str(trained.model.explain("example:breast-cancer", row=2)).splitlines()
    assert lines[0] == "prediction  malignant"
    start = lines.index("for malignant (+) or benign (-)") + 1
    amounts = [float(line.split()[-1]) for line in lines[start : lines.index("", start)]]
    assert len(amounts) == 12
    assert sum(amounts) == pytest.approx(float(lines[1].split()[1]), abs=0.01)
    assert "Each of these changes alone changes the prediction:" in lines
