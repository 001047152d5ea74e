"""The bound on the updates of a run: the smallest that is proved, and none where the theorem does not apply."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from training_files import separable_rows

import rosenblatt as rb
from rosenblatt.proofs.margins import bound_of_run
from rosenblatt.training.training_proofs import update_bound

X, Y = separable_rows()
THREE = np.array([[0.0, 0.0], [1.0, 0.0], [8.0, 1.0], [9.0, 0.0], [4.0, 9.0], [5.0, 8.0]]), np.array([0, 0, 1, 1, 2, 2])
PLAIN = {"update_margin": 0.0, "step": 1.0, "fit_intercept": True, "intercept_scaling": 1.0}


def bound_of(model: Any, X: Any = X, y: Any = Y, certificate: Any = None) -> float | None:
    margin = rb.margin(model, X, y, space="geometric") if model.keep != "vote" else None
    return update_bound(model, X, y, certificate, margin)


def fitted(**parameters: Any) -> rb.Perceptron:
    return rb.Perceptron(max_iter=None, random_state=0, **parameters).fit(X, Y)


@pytest.mark.parametrize("rows", [(X, Y), THREE], ids=["two classes", "three classes"])
@pytest.mark.parametrize(("b", "rho"), [(0.0, 1.0), (0.0, 0.3), (2.0, 1.0), (1.0, 0.25)])
@pytest.mark.parametrize("keep", ["last", "average", "vote"])
def test_the_bound_is_that_of_the_widest_margin(rows: Any, b: float, rho: float, keep: Any) -> None:
    X, y = rows
    model = rb.Perceptron(margin=b, step=rho, keep=keep, max_iter=None, random_state=0).fit(X, y)
    bound = bound_of(model, X, y, rb.certify(X, y))
    assert bound == pytest.approx(rb.mistake_bound(X, y, update_margin=b, step=rho).upper, rel=1e-12)
    assert bound is not None
    assert model.n_updates_ <= bound


def test_a_margin_computed_from_the_rows_counts_as_well() -> None:
    model = fitted(margin="auto")
    bound = bound_of(model, certificate=rb.certify(X, Y))
    assert model._margin_used > 0
    assert bound == pytest.approx(rb.mistake_bound(X, Y, update_margin=model._margin_used).upper, rel=1e-12)


def test_without_a_certificate_the_plane_of_the_model_proves_a_bound() -> None:
    model, certificate = fitted(margin=1.0), rb.certify(X, Y)
    alone, both = bound_of(model), bound_of(model, certificate=certificate)
    assert alone == rb.mistake_bound(X, Y, model, update_margin=1.0).upper
    assert alone is not None
    assert both is not None
    assert model.n_updates_ <= both <= alone
    assert update_bound(model, X, Y, None, None) is None
    assert update_bound(model, X, Y, certificate, None) == both


def test_a_certificate_about_other_augmented_rows_is_not_used() -> None:
    model, certificate = fitted(intercept_scaling=2.0), rb.certify(X, Y)
    assert bound_of(model, certificate=certificate) == rb.mistake_bound(X, Y, model).upper
    assert update_bound(model, X, Y, certificate, None) is None
    rows, labels = [[1.0, 0.0], [0.0, 1.0]], [0, 1]
    origin = rb.Perceptron(fit_intercept=False, intercept_scaling=2.0, max_iter=None).fit(rows, labels)
    through_origin = rb.certify(rows, labels, fit_intercept=False)
    assert bound_of(origin, rows, labels, through_origin) == pytest.approx(2.0, rel=1e-12)
    assert update_bound(origin, rows, labels, rb.certify(rows, labels), None) is None  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "changed",
    [{"init": "sum"}, {"update": "batch"}, {"step": lambda k: 1 / k}, {"class_weight": "balanced"}, {"warm_start": True}],
)
def test_there_is_no_bound_for_runs_that_the_theorem_does_not_cover(changed: Any) -> None:
    model = rb.Perceptron(max_iter=50, random_state=0, **changed).fit(X, Y)
    assert bound_of(model, certificate=rb.certify(X, Y)) is None


def test_there_is_no_bound_for_rows_of_different_weight() -> None:
    model = rb.Perceptron(max_iter=50, random_state=0).fit(X, Y, sample_weight=np.linspace(1.0, 2.0, len(Y)))
    assert bound_of(model, certificate=rb.certify(X, Y)) is None


def test_a_plane_that_does_not_separate_proves_nothing_for_several_passes() -> None:
    """For one pass over the rows it would prove the bound of Freund and Schapire, which is at most the number of rows."""
    rows, labels = [[0.0], [1.0], [2.0]], [0, 1, 0]
    plane = ([1.0], -0.5)
    assert rb.mistake_bound(rows, labels, plane).upper <= 3
    assert bound_of_run(rows, labels, None, plane, **PLAIN) is None
    assert bound_of_run(rows, labels, rb.certify(rows, labels), None, **PLAIN) is None
