"""exp(-t) and log(1 + q) of kernels: accuracy beside long doubles, and the ends of their ranges."""

from __future__ import annotations

import numpy as np
import pytest

from effort import amount
from rosenblatt.kernels.compile import inlined, kernel, sum_kernel
from rosenblatt.kernels.linear.exponentials import MOST, exp_minus, log_one_plus
from rosenblatt.kernels.linear.margin_losses import logistic_terms


@kernel
def fill(t: object, powers: object, logs: object) -> None:
    for i in range(len(t)):
        powers[i] = exp_minus(t[i])
        logs[i] = log_one_plus(powers[i])


def both(t: object) -> tuple[object, object]:
    t = np.asarray(t, float)
    powers, logs = np.empty(len(t)), np.empty(len(t))
    fill(t, powers, logs)
    return powers, logs


def test_they_err_by_at_most_three_units_in_the_last_place() -> None:
    rng = np.random.default_rng(0)
    n = amount(2000, 200_000)
    t = np.concatenate([rng.exponential(5.0, n), 10.0 ** rng.uniform(-20.0, 2.84, n), np.arange(0.0, 700.0, 0.5 * np.log(2.0))])
    powers, logs = both(t)
    for found, exact in ((powers, np.exp(-t.astype(np.longdouble))), (logs, np.log1p(powers.astype(np.longdouble)))):
        assert (abs(found - exact) <= 3.0 * np.spacing(exact.astype(float))).all()


def test_the_ends_of_the_ranges() -> None:
    powers, logs = both([0.0, MOST, np.nextafter(MOST, 1e3), 1e308, np.inf])
    assert powers.tolist() == [1.0, pytest.approx(np.exp(-MOST)), 0.0, 0.0, 0.0]
    assert logs.tolist() == [np.log(2.0), powers[1], 0.0, 0.0, 0.0]
    assert np.isnan(both([np.nan])).all()


@pytest.mark.parametrize("m", [-800.0, -3.0, -0.0, 0.0, 1e-9, 2.0, 40.0, 800.0])
def test_the_logistic_loss_and_its_derivatives(m: float) -> None:
    """With q = exp(-|m|), written out in long doubles."""
    q = np.exp(-np.longdouble(abs(m)))
    loss, pull, bend = logistic_terms(m, 3.0)
    assert loss == pytest.approx(float(3.0 * (np.log1p(q) + max(-m, 0.0))), rel=1e-15, abs=1e-300)
    assert pull == pytest.approx(float(3.0 * (q if m > 0 else 1.0) / (1.0 + q)), rel=1e-15, abs=1e-300)
    assert bend == pytest.approx(float(3.0 * q / (1.0 + q) ** 2), rel=2e-15, abs=1e-300)


@inlined
def rounded(x: float) -> float:
    return (x + 1e16) - 1e16


@sum_kernel
def sum_of_rounded(x: object) -> float:
    total = 0.0
    for i in range(len(x)):
        total += rounded(x[i])
    return total


def test_a_function_keeps_its_rounding_in_a_sum_that_may_be_reordered() -> None:
    """Also if the sum is compiled first, whose options Numba would hand down."""
    assert sum_of_rounded(np.ones(3)) == 0.0
    assert rounded(1.0) == 0.0
