"""What `SoftMargin` refuses, in which words; and odd rows that it does not refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from test_soft_margin import LOSSES, noisy, objective

import rosenblatt as rb


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"C": 0}, "C must be greater than 0, got 0"),
        ({"C": -1.0}, "C must be greater than 0, got -1.0"),
        ({"C": np.nan}, "C must be greater than 0, got nan"),
        ({"C": "1"}, "C must be a number, got '1'"),
        ({"tol": 0.0}, "tol must be greater than 0 and finite, got 0.0"),
        ({"tol": -1e-3}, "tol must be greater than 0 and finite, got -0.001"),
        ({"tol": np.nan}, "tol must be greater than 0 and finite, got nan"),
        ({"loss": "log"}, "loss must be one of 'hinge', 'squared_hinge', 'logistic', got 'log'"),
        ({"loss": "log_loss"}, "got 'log_loss': did you mean 'logistic'"),
        ({"loss": "Logistic"}, "got 'Logistic': did you mean 'logistic'"),
        ({"penalty": "L1"}, "got 'L1': did you mean 'l1'"),
        ({"penalty": None}, "penalty must be one of 'l2', 'l1', got None: C=inf is without a penalty"),
        ({"penalize_intercept": "yes"}, "penalize_intercept must be"),
        ({"multiclass": "all"}, "multiclass must be one of 'auto', 'ovr', 'ovo', 'crammer_singer', 'multinomial', got 'all'"),
        ({"solver": "newton"}, "solver='newton' does not solve loss='hinge'"),
        ({"max_iter": 0}, "max_iter must be at least 1, got 0"),
        ({"max_iter": "many"}, "max_iter must be 'auto' or a whole number, got 'many'"),
        ({"intercept_scaling": 0.0}, "intercept_scaling must be greater than 0"),
        ({"C": np.inf, "penalize_intercept": True}, "C=inf is the hard margin"),
        ({"multiclass": "crammer_singer", "loss": "squared_hinge"}, "needs loss='hinge', got loss='squared_hinge'"),
        ({"n_jobs": 0}, "n_jobs must be None or a whole number other than 0, got 0"),
        ({"random_state": "x"}, "random_state must be None"),
    ],
)
def test_bad_parameters_are_named(parameters: dict[str, Any], message: str) -> None:
    X, y = noisy()
    with pytest.raises((ValueError, TypeError), match=message):
        rb.SoftMargin(**parameters).fit(X, y)


@pytest.mark.parametrize("pack", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_nan_and_infinity_are_refused_and_nothing_is_lost(pack: Any, value: float, word: str) -> None:
    X, y = noisy()
    model = rb.SoftMargin().fit(X, y)
    before = model.coef_.copy()
    X[5, 1] = value
    with pytest.raises(ValueError, match=f"(?i)X contains {word}"):
        model.fit(pack(X), y)
    assert np.array_equal(model.coef_, before)


def test_weights_that_leave_one_class_are_refused() -> None:
    X, y = noisy()
    with pytest.raises(ValueError, match="every row of class 1 has weight 0"):
        rb.SoftMargin().fit(X, y, sample_weight=(y == 0).astype(float))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("solver", ["auto", "dual-coordinates"])
def test_numbers_too_large_to_square_are_refused_at_once(loss: str, solver: str) -> None:
    with pytest.raises(ValueError, match="squared length of a row exceeds the range of float64"):
        rb.SoftMargin(loss=loss, solver=solver).fit([[1e200, 1.0], [1.0, -1e200], [3.0, 4.0]], [0, 1, 0])


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("solver", ["auto", "dual-coordinates"])
@pytest.mark.parametrize(
    ("X", "y"),
    [
        ([[0.0], [0.0], [1.0], [1.0]], [0, 1, 0, 1]),  # the same points with opposite labels
        ([[1.0, 0.0], [2.0, 0.0], [3.0, 0.0]], [0, 0, 1]),  # a column of zeros
        ([[0.0, 0.0], [0.0, 0.0]], [0, 1]),  # nothing but zeros
        ([[1.0], [2.0], [3.0], [4.0]], [0, 1, 0, 1]),  # one feature
        (np.eye(3, 50), [0, 1, 1]),  # fewer rows than columns
        ([[1e100, 1.0], [-1e100, 1.0], [1e99, 2.0]], [0, 1, 0]),  # large, but squares are finite
        ([[1e-200, 0.0], [-1e-200, 1e-200]], [0, 1]),
        (np.ones((40, 3)), np.arange(40) % 2),  # one point, many times
    ],
    ids=["twins", "zero column", "zeros", "one feature", "wide", "large", "tiny", "one point"],
)
@pytest.mark.filterwarnings("ignore:tol=.*was not reached", "ignore:the plane is zero")
def test_odd_rows_give_a_finite_plane_and_a_true_gap(X: Any, y: Any, loss: str, solver: str) -> None:
    model = rb.SoftMargin(loss=loss, solver=solver, max_iter=1000).fit(X, y)
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.intercept_).all()
    assert 0.0 <= model.gap_ <= 1.0
    best = min(objective(model, np.asarray(X, float), np.asarray(y), np.zeros(np.shape(X)[1]), b) for b in (-1.0, 0.0, 1.0))
    assert model.objective_ <= best * (1 + model.tol)
