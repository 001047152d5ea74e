"""Margins and radii compared with the definition row by row, in every container; bounds compared with runs."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from separable_rows import apart
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.linear_model import Perceptron as SklearnPerceptron
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

import rosenblatt as rb

IRIS, SPECIES = load_iris(return_X_y=True)
MODELS = {
    "LinearSVC": LinearSVC(random_state=0, intercept_scaling=3.0, max_iter=20_000),
    "LogisticRegression": LogisticRegression(max_iter=2000),
    "SGDClassifier": SGDClassifier(random_state=0),
    "sklearn Perceptron": SklearnPerceptron(random_state=0),
    "RidgeClassifier": RidgeClassifier(),
    "Perceptron": rb.Perceptron(random_state=0, intercept_scaling=0.5),
    "ovr": rb.Perceptron(keep="average", multiclass="ovr", random_state=0),
    "no intercept": rb.Perceptron(random_state=0, fit_intercept=False, intercept_scaling=7.0),
    "PassiveAggressive": rb.PassiveAggressive(random_state=0),
    "SoftMargin": rb.SoftMargin(),
    "LinearMSE": rb.LinearMSE(),
}


def oracle(coef: Any, intercept: Any, x0: float, classes: list[Any], X: Any, y: Any, space: str) -> list[float]:
    """The definition, row by row, in fractions up to the root."""
    W = [[Fraction(float(c)) for c in row] for row in np.atleast_2d(coef)]
    b = [Fraction(float(c)) for c in np.broadcast_to(np.ravel(intercept), len(W))]
    counted = [*(c for row in W for c in row), *((c / Fraction(x0) for c in b) if space == "augmented" else ())]
    length = sum(c * c for c in counted)
    out = []
    for row, label in zip(np.asarray(X), list(y), strict=True):
        scores = [sum(c * Fraction(float(v)) for c, v in zip(w, row, strict=True)) + s for w, s in zip(W, b, strict=True)]
        own = classes.index(label)
        if len(W) == 1:
            least, square = scores[0] * (1 if own else -1), length
        else:
            least, square = min(scores[own] - scores[z] for z in range(len(W)) if z != own), 2 * length
        ratio = Decimal((least * least / square).numerator) / Decimal((least * least / square).denominator)
        out.append(math.copysign(float(ratio.sqrt()), 1 if least >= 0 else -1))
    return out


@pytest.mark.parametrize("space", ["augmented", "geometric"])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", MODELS)
def test_margins_are_those_of_the_definition(name: str, classes: int, space: str) -> None:
    few = np.flatnonzero(classes > SPECIES)[::4]
    X, y = IRIS[few], np.array(["setosa", "versicolor", "virginica"])[SPECIES[few]]
    model = MODELS[name].fit(X, y)
    x0 = getattr(model, "intercept_scaling", 1.0)
    expected = oracle(model.coef_, model.intercept_, x0, model.classes_.tolist(), X, y, space)
    for rows in (X, X.tolist(), np.asfortranarray(X), sp.csr_array(X), sp.coo_matrix(X)):
        margins = rb.margin(model, rows, y, space=space, each=True)
        np.testing.assert_allclose(margins, expected, rtol=1e-12, atol=1e-13)
        assert rb.margin(model, rows, y, space=space) == margins.min()
    assert ((np.array(expected) > 0) <= (model.predict(X) == y)).all()
    single = rb.margin(model, X.astype(np.float32), y, space=space, each=True)
    np.testing.assert_allclose(single, expected, rtol=1e-5, atol=1e-5)


def test_a_subset_of_the_classes_has_margins_too() -> None:
    model = rb.Perceptron(random_state=0).fit(IRIS, SPECIES)
    whole = rb.margin(model, IRIS, SPECIES, each=True)
    one = SPECIES == 2
    assert rb.margin(model, IRIS[one], SPECIES[one], each=True).tolist() == whole[one].tolist()


@pytest.mark.parametrize("size", [1e-300, 1e-160, 1.0, 1e160, 1e300])
@pytest.mark.parametrize("weight", [1e-300, 1.0, 1e300])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_margins_and_radii_of_huge_and_tiny_numbers(size: float, weight: float, container: Any) -> None:
    X, y = np.array([[3.0, 4.0], [-1.0, 0.0], [1.0, 1.0]]) * size, [1, -1, -1]
    for intercept in (0.0, -2.0 * weight):
        coef = np.array([2.0, -1.0]) * weight
        for space in ("augmented", "geometric"):
            expected = oracle(coef, intercept, 1.0, [-1, 1], X, y, space)
            found = rb.margin((coef, intercept), container(X), y, space=space, each=True)
            np.testing.assert_allclose(found, expected, rtol=1e-14, atol=1e-15 * max(size, intercept != 0.0))
    assert rb.radius(container(X), space="geometric") == pytest.approx(5.0 * size, rel=1e-15)
    assert rb.radius(container(X), intercept_scaling=size * 12.0) == pytest.approx(13.0 * size, rel=1e-15)


def test_rows_of_all_sizes_at_once_keep_their_margins() -> None:
    X = np.array([[10.0**e] for e in range(-300, 301, 50)])
    found = rb.margin(([1.0], 0.0), X, np.ones(len(X)), each=True)
    np.testing.assert_allclose(found, X[:, 0], rtol=1e-15)
    assert rb.radius(np.full((1, 9), 1.7e308)) == np.inf


def test_two_weight_vectors_for_two_classes_are_their_difference() -> None:
    X, y = [[0.0, 1.0], [2.0, 0.0]], ["a", "b"]
    two = rb.margin(([[0.0, 1.0], [3.0, 0.0]], [0.5, 0.0]), X, y)
    assert two == rb.margin(([3.0, -1.0], -0.5), X, y)


def test_pipelines_and_searches_are_seen_through() -> None:
    y = (SPECIES == 0).astype(int)
    pipe = make_pipeline(StandardScaler(), rb.Perceptron(random_state=0)).fit(IRIS, y)
    inside = rb.margin(pipe[-1], pipe[0].transform(IRIS), y)
    assert rb.margin(pipe, IRIS, y) == inside > 0
    assert rb.margin(make_pipeline(pipe[-1]), pipe[0].transform(IRIS), y) == inside
    search = GridSearchCV(pipe, {"perceptron__margin": [0.0]}, cv=2).fit(IRIS, y)
    assert rb.margin(search, IRIS, y) == rb.margin(search.best_estimator_, IRIS, y)


def test_margins_of_certificates_planes_are_what_they_state() -> None:
    for y in ((SPECIES == 0).astype(int), np.where(SPECIES == 2, 1, SPECIES)):
        certificate = rb.certify(IRIS, y)
        assert isinstance(certificate, rb.Separable)
        assert rb.radius(IRIS) == pytest.approx(certificate.radius, rel=1e-15)
        for space in ("augmented", "geometric"):
            stated = getattr(certificate, space)
            plane = stated.planes[0]
            found = rb.margin((plane.coef(4), float(plane.intercept)), IRIS, y, space=space)
            assert found == pytest.approx(stated.lower, rel=1e-12)


@pytest.mark.parametrize(
    ("model", "y", "words"),
    [
        (([0.0, 0.0], 0.0), [0, 1], "all weights are zero"),
        (([1.0, 0.0], 0.0), [0, 5, 7], "labels"),
        (([1.0], 0.0), [0, 1], "2 features.*weights for 1"),
        (([1.0, np.inf], 0.0), [0, 1], "not finite"),
        (([1.0, 0.0], [0.0, 0.0, 0.0]), [0, 1], "3 intercepts for 1"),
        (([1.0, 0.0], 0.0, 0.0), [0, 1], "got 3 items"),
        ((np.ones((2, 2, 2)), 0.0), [0, 1], "shape"),
        ((np.ones((4, 2)), 0.0), ["a", "b"], "4 weight vectors are for 4 classes, but y has 2"),
        (DecisionTreeClassifier(), [0, 1], "DecisionTreeClassifier has no coef_"),
        (rb.Perceptron(), [0, 1], "Perceptron has no coef_"),
    ],
)
def test_models_without_a_margin_are_rejected(model: Any, y: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        rb.margin(model, [[0.0, 1.0], [1.0, 0.0]], y)


def test_models_without_a_plane_for_each_class_are_refused() -> None:
    with pytest.raises(ValueError, match="pairs of classes"):
        rb.margin(SVC(kernel="linear").fit(IRIS, SPECIES), IRIS, SPECIES)  # 3 classes: as many pairs as classes
    with pytest.raises(ValueError, match="has no coef_"):
        rb.margin(SVC().fit(IRIS, SPECIES), IRIS, SPECIES)
    with pytest.raises(ValueError, match=r"reading\('average'\)"):
        rb.margin(rb.Perceptron(keep="vote").fit(IRIS, SPECIES), IRIS, SPECIES)
    with pytest.raises(ValueError, match="not a fitted linear classifier"):
        rb.margin(rb.Perceptron(keep="vote"), IRIS, SPECIES)
    with pytest.raises(ValueError, match=r"unknown to the model: 3, 'x'; its classes are \[0, 1, 2\]"):
        rb.margin(rb.Perceptron().fit(IRIS, SPECIES), IRIS[:3], np.array([0, 3, "x"], object))
    binary = rb.Perceptron().fit(IRIS, SPECIES == 0)
    assert rb.margin(SVC(kernel="linear").fit(IRIS, SPECIES == 0), IRIS, SPECIES == 0) > 0
    for wrong in ({"space": "flat"}, {"each": "yes"}):
        with pytest.raises((ValueError, TypeError), match=next(iter(wrong))):
            rb.margin(binary, IRIS, SPECIES == 0, **wrong)


# --- bounds ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(("b", "rho"), [(0.0, 1.0), (0.0, 0.3), (2.0, 1.0), (1.0, 0.25)])
def test_no_run_makes_more_updates_than_the_bound(classes: int, b: float, rho: float) -> None:
    X, y = apart(60, 3, classes, 0.4, 1)
    bound = rb.mistake_bound(X, y, update_margin=b, step=rho)
    assert bound.lower <= bound.upper < bound.lower * (1 + 1e-8)
    most = 0
    for seed, order in enumerate(["cyclic", "permuted", "random", "mistakes"]):
        model = rb.Perceptron(margin=b, step=rho, order=order, max_iter=None, random_state=seed).fit(X, y)
        most = max(most, model.n_updates_)
        by_model = rb.mistake_bound(X, y, model, update_margin=b, step=rho)
        assert bound.lower <= by_model.upper
    assert most <= bound.upper


def test_without_an_intercept_the_bound_is_of_rows_as_they_are() -> None:
    X, y = [[1.0, 0.0], [0.0, 1.0]], [0, 1]
    assert rb.mistake_bound(X, y, fit_intercept=False).upper == pytest.approx(2.0, rel=1e-14)
    assert rb.mistake_bound(X, y, ([-1.0, 1.0], 0.0), fit_intercept=False).upper == pytest.approx(2.0, rel=1e-12)
    with pytest.raises(ValueError, match="through the origin"):
        rb.mistake_bound(X, y, ([-1.0, 1.0], 0.5), fit_intercept=False)


def test_the_bound_scales_with_intercept_scaling_of_the_model() -> None:
    X, y = apart(60, 3, 2, 0.4, 2)
    model = rb.Perceptron(intercept_scaling=0.2, max_iter=None, random_state=0).fit(X, y)
    bound = rb.mistake_bound(X, y, model)
    expected = (rb.radius(X, intercept_scaling=0.2) / rb.margin(model, X, y)) ** 2
    assert bound.upper == pytest.approx(expected, rel=1e-10)
    assert model.n_updates_ <= bound.upper


def test_inseparable_rows_have_no_bound_and_the_clash_is_reported() -> None:
    with pytest.raises(ValueError, match="row 2 lies on the segment between rows 1 and 3"):
        rb.mistake_bound([[0], [1], [2]], [0, 1, 0])


def test_a_time_limit_that_ran_out_leaves_an_open_interval() -> None:
    X, y = apart(3000, 40, 2, 1e-4, 3)
    bound = rb.mistake_bound(X, y, time_limit=1e-9)
    assert 0 <= bound.lower <= bound.upper


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("b", [0.0, 0.5])
def test_one_pass_over_inseparable_rows_keeps_freund_and_schapires_bound(classes: int, b: float) -> None:
    rng = np.random.default_rng(4)
    X, y = apart(300, 4, classes, 0.5, 4)
    y = np.where(rng.random(len(y)) < 0.03, (y + 1) % classes, y)
    teacher = rb.LinearMSE().fit(X, y)
    assert rb.margin(teacher, X, y) < 0
    bound = rb.mistake_bound(X, y, teacher, update_margin=b)
    runs = [rb.Perceptron(margin=b, max_iter=1, random_state=seed).fit(X, y) for seed in range(5)]
    assert max(model.n_updates_ for model in runs) <= bound.upper < len(y)
    # The best gamma of a grid is not better than ours.
    R = math.hypot(rb.radius(X), math.sqrt(b * (2 if classes == 2 else 1)))
    m = rb.margin(teacher, X, y, each=True)
    grid = [((R + np.linalg.norm(np.maximum(0, g - m))) / g) ** 2 for g in np.geomspace(1e-3, 1e3, 2000)]
    assert bound.upper <= min(grid) * (1 + 1e-9)


def test_a_hopeless_plane_bounds_one_pass_by_the_number_of_rows() -> None:
    X, y = apart(50, 3, 2, 0.4, 5)
    model = rb.Perceptron(max_iter=None).fit(X, y)
    assert rb.mistake_bound(X, y, (-model.coef_, -model.intercept_)) == (0.0, 50.0)


@pytest.mark.parametrize(
    "wrong", [{"update_margin": -1.0}, {"step": 0.0}, {"fit_intercept": "no"}, {"time_limit": 0}, {"step": "big"}]
)
def test_bad_parameters_are_named(wrong: dict[str, Any]) -> None:
    with pytest.raises((ValueError, TypeError), match=next(iter(wrong))):
        rb.mistake_bound([[0], [1]], [0, 1], **wrong)
