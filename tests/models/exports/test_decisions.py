"""Rows that are proved keep their label in every export; the errors are bounds, checked with rational arithmetic."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from export_runners import LANGUAGES, score_rows

import rosenblatt as rb
from commands import rosenblatt
from rosenblatt.data.table import Data, Table
from rosenblatt.models.exports.decisions import DecisionCheck, _Limits, _planes, check_decisions, decided
from rosenblatt.models.exports.reduction import reduce
from rosenblatt.preprocessing.recipe import Recipe
from rosenblatt.scores import votes_of_pairs, winners

pytestmark = pytest.mark.once


def table(X: Any) -> Data:
    return Data("rows", Table(tuple(f"c{j}" for j in range(X.shape[1])), tuple(X.T.copy())), None)


def a_model(X: Any, *, degree: int = 1, heads: int = 1, pairs: bool = False) -> rb.Model:
    recipe = Recipe.learn([table(X)], degree=degree, scale="standard")
    rng = np.random.default_rng(0)
    classes = np.arange(2 if heads == 1 else 3)
    return rb.Model("Perceptron", {}, classes, rng.normal(size=(heads, recipe.width)), rng.normal(size=heads) / 9, pairs,
                    recipe=recipe)  # fmt: skip


def exact_planes(model: rb.Model, row: list[float]) -> list[Fraction]:
    """The scores in rational arithmetic."""
    recipe: Any = model.recipe
    numbers = recipe.numbers
    x = [Fraction(cell) for cell in row]
    features = []
    for j in range(numbers.polynomial.width):
        product = Fraction(1)
        for factor in numbers.polynomial.factors(j):
            product *= x[factor]
        shift = Fraction(0) if numbers.shift is None else Fraction(numbers.shift[j])
        features.append((product - shift) / (1 if numbers.divide is None else Fraction(numbers.divide[j])))
    planes = zip(np.asarray(model.coef).tolist(), np.asarray(model.intercept).tolist(), strict=True)
    return [Fraction(b) + sum(Fraction(w) * f for w, f in zip(weights, features, strict=True)) for weights, b in planes]


@pytest.mark.parametrize(("degree", "offset"), [(1, 0.0), (1, 1e9), (2, 1e4), (3, 0.0)])
def test_the_error_of_a_score_is_within_its_bound(degree: int, offset: float) -> None:
    """Also where large means cancel."""
    rng = np.random.default_rng(degree)
    X = rng.normal(size=(30, 3)) * [1.0, 100.0, 1e-3] + offset
    model = a_model(X, degree=degree, heads=2)
    features = model.features(table(X))
    bounds, planes = _Limits.of(model).errors(features), _planes(features, model)
    used = 0.0
    for row, plane, bound in zip(X.tolist(), planes, bounds, strict=True):
        for found, exact, most in zip(plane, exact_planes(model, row), bound, strict=True):
            error = abs(float(Fraction(found) - exact))
            assert error <= most / 2  # half for the export, half for this computation
            used = max(used, error / most)
    assert used > 1e-5  # the bound is not vacuous


@pytest.mark.parametrize("heads", [1, 3])
@pytest.mark.parametrize("pairs", [False, True])
def test_proved_rows_keep_their_label_for_all_scores_within_the_errors(heads: int, pairs: bool) -> None:
    if heads == 1 and pairs:
        return
    rng = np.random.default_rng(heads)
    k = 2 if heads == 1 else 3
    planes = rng.integers(-3, 4, size=(400, heads)) * 1.0  # many ties
    errors = rng.choice([0.0, 0.4, 1.0, 2.0], size=planes.shape)
    found = decided(planes, errors, k, pairs)
    proved = 0
    for plane, error, code in zip(planes, errors, found, strict=True):
        if code < 0:
            continue
        proved += 1
        corners = np.array(list(itertools.product(*((p - e, p, p + e) for p, e in zip(plane, error, strict=True)))))
        scores = votes_of_pairs(corners, k) if pairs else corners
        assert (winners(scores) == code).all(), (plane, error)
    assert proved > 40
    assert (decided(np.full((2, heads), np.nan), np.zeros((2, heads)), k, pairs) == -1).all()
    assert (decided(np.full((2, heads), np.inf), np.zeros((2, heads)), k, pairs) == -1).all()


@pytest.mark.parametrize("options", [{}, {"heads": 3}, {"heads": 3, "pairs": True}, {"degree": 2}])
@pytest.mark.parametrize("reduction", [{"prune": 0.2}, {"float16": True}, {"prune": 2, "float16": True}])
def test_proved_rows_have_the_label_of_the_model_in_every_export(options: Any, reduction: Any, tmp_path: Any) -> None:
    """Many rows lie next to the plane of the export: those that lie nearer than rounding are not proved."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(200, 3))
    model = a_model(X, **options)
    smaller = reduce(model, "JSON", reduction.get("prune"), reduction.get("float16", False))
    for step in (1.0, 1e-3, 1e-9, 1e-17):  # move rows toward the plane of the smaller model by bisection
        low, high = X[:100], X[100:]
        near = towards(smaller.model(model), low, high, step)
        found = check_decisions(model, [table(near)], **reduction)
        codes = model.winners(model.scores(table(near)))
        certain = certain_codes(model, near, reduction)
        assert found.proved == (certain == codes).sum()
        assert found.changed <= found.rows - found.proved
        for language in set(LANGUAGES) - ({"sql"} if reduction.get("float16") else set()) if step < 1e-8 else ["json"]:
            labels = score_rows(language, model, table(near), tmp_path, smaller).labels
            for label, code in zip(labels, certain, strict=True):
                assert code < 0 or label == str(code)


@pytest.mark.parametrize("heads", [1, 3])
def test_proved_rows_of_dates_have_the_label_of_the_model_in_every_export(heads: int, tmp_path: Any) -> None:
    """Next to the plane, on both sides: the sine of an angle of many turns would have larger errors than the proof allows."""
    rng = np.random.default_rng(heads)
    day, x = 20_000 + rng.integers(0, 900, 80) + rng.integers(0, 1440, 80) / 1440, rng.normal(size=80)

    def rows(x: Any) -> Data:
        return Data("rows", Table(("day", "x"), (day, x)), None, dates={"day": "datetime"})

    recipe = Recipe.learn([rows(x)])
    model = rb.Model("Perceptron", {}, np.arange(2 if heads == 1 else 3), rng.normal(size=(heads, recipe.width)) * 9,
                     rng.normal(size=heads), recipe=recipe)  # fmt: skip
    smaller = reduce(model, "JSON", None, True)
    first, low, high = smaller.model(model).predict(rows(x)), x, x + rng.choice([-99.0, 99.0], 80)
    for _ in range(80):
        middle = (low + high) / 2
        same = smaller.model(model).predict(rows(middle)) == first
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    proved = 0
    for far in (1e-16, 1e-13, 1e-12, 1e-11):
        for near in (rows(low - far * np.sign(high - low)), rows(high + far * np.sign(high - low))):
            features, small = model.features(near), smaller.model(model)
            certain = decided(_planes(features, small), _Limits.of(small).errors(features), len(model.classes), False)
            proved += int((certain >= 0).sum())
            for language in set(LANGUAGES) - {"sql"}:
                labels = score_rows(language, model, near, tmp_path, smaller).labels
                assert all(code < 0 or label == str(code) for label, code in zip(labels, certain, strict=True)), language
    assert 100 < proved < 8 * 80


def towards(model: rb.Model, low: Any, high: Any, step: float) -> Any:
    """Points on the lines between rows, where the label of the model changes within `step` of the line."""
    first = model.predict(table(low))
    a, b = np.zeros(len(low)), np.ones(len(low))
    while (b - a).max() > max(step, 2e-16):
        middle = (a + b) / 2
        same = model.predict(table(low + middle[:, None] * (high - low))) == first
        a, b = np.where(same, middle, a), np.where(same, b, middle)
        if step < 1e-16 and (middle == (a + b) / 2).all():
            break
    return low + a[:, None] * (high - low)


def certain_codes(model: rb.Model, X: Any, reduction: Any) -> Any:
    smaller = reduce(model, "JSON", reduction.get("prune"), reduction.get("float16", False)).model(model)
    features = model.features(table(X))
    return decided(_planes(features, smaller), _Limits.of(smaller).errors(features), len(model.classes), model.pairs)


def test_rows_on_the_plane_are_not_proved() -> None:
    model = rb.Model("Perceptron", {}, np.array(["a", "b"]), np.array([[1.0, -1.0]]), np.zeros(1))
    X = np.array([[1.0, 1.0], [1.0, 1.0 + 1e-15], [1.0, 0.5], [1e308, -1e308]])
    found = check_decisions(model, [X[:2], X[2:]])
    assert (found.rows, found.proved, found.changed) == (4, 1, 0)
    assert str(found).startswith("proved unchanged for 1 of 4 rows; at most 3 can differ, 0 did")


def test_sparse_rows_without_a_recipe() -> None:
    from scipy.sparse import csr_array

    X = np.array([[0.0, 2.0], [3.0, 0.0], [0.5, 0.0]])
    model = rb.Model("Perceptron", {}, np.array(["a", "b"]), np.array([[1.0, -1.0]]), np.zeros(1))
    assert check_decisions(model, [csr_array(X)], float16=True).proved == check_decisions(model, [X], float16=True).proved == 3
    assert check_decisions(model, [csr_array(X)], prune=1) == DecisionCheck(3, 2, 0, pytest.approx(2.0))  # the first score is 0


def test_the_command_reports_the_check(tmp_path: Any) -> None:
    model, out, rows = tmp_path / "m.safetensors", tmp_path / "m.mjs", tmp_path / "rows.csv"
    assert rosenblatt("train", "example:iris", "-o", model, "--algorithm", "average").code == 0
    assert rosenblatt("convert", "example:iris", rows).code == 0
    done = rosenblatt("export", model, "-o", out, "--prune", "2", "--float16", "--check", rows)
    assert done.code == 0, done.err
    lines = done.err.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["features", f"decisions on {rows}", "size", str(out)]
    assert lines[0].startswith(
        "features: 2 of 4 are kept; within the ranges of the training rows, the others change no score by"
    )
    assert "proved unchanged for" in lines[1]
    before = rosenblatt("export", model, "--js").out
    assert f"in place of {len(before):,} bytes" in lines[2]
    silent = rosenblatt("export", model, "--c", "--float16")
    assert "nothing was proved about the labels of the smaller export: give rows with --check DATA" in silent.err
    plain = rosenblatt("export", model, "--c", "--check", rows)
    assert plain.err.startswith(f"decisions on {rows}: proved unchanged for all 150 rows; no score changes by more than")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--prune", "1.5"], "--prune must be the number of features to keep, such as 100, or the share of the weight"),
        (["--prune", "few"], "'few' is not a number"),
        (["--check", "nothing.csv"], "nothing.csv"),
        (["--check", "iris-without.csv"], "petal width"),
    ],
)
def test_bad_input_is_one_sentence_and_writes_nothing(options: list[str], sentence: str, tmp_path: Any) -> None:
    model, out = tmp_path / "m.safetensors", tmp_path / "m.json"
    assert rosenblatt("train", "example:iris", "-o", model, "--algorithm", "average").code == 0
    (tmp_path / "iris-without.csv").write_text("a,b\n1,2\n3,4\n")
    options = [str(tmp_path / each) if each.endswith(".csv") else each for each in options]
    done = rosenblatt("export", model, "-o", out, *options)
    assert done.code == 2
    assert sentence in done.err
    assert not out.exists()
