"""The losses of a margin: values, derivatives, kinks, and the picture."""

from __future__ import annotations

import builtins

import matplotlib
import numpy as np
import pytest

import rosenblatt as rb
from rosenblatt.kernels.linear.rules import loss as cost
from rosenblatt.kernels.linear.rules import step
from rosenblatt.online.rules.nonlinear_mse import MAX_CURVATURE, MAX_STEP, nonlinear_mse_rule

matplotlib.use("Agg")

LOSSES = (*rb.losses.ALL, rb.losses.SQUARED_HINGE, rb.losses.LOGISTIC_MSE)
every = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
PLACES = np.linspace(-4.0, 4.0, 161)


def textbook(name, m):
    h = {"nonlinear MSE": np.tanh(m), "logistic MSE": 1 / (1 + np.exp(-m))}.get(name)
    return {
        "0-1": float(m <= 0),
        "linear MSE": (1 - m) ** 2,
        "perceptron": max(0.0, -m),
        "hinge": max(0.0, 1 - m),
        "squared hinge": max(0.0, 1 - m) ** 2,
    }.get(name, None if h is None else (1 - h) ** 2)


@every
def test_values_are_the_formulas(loss):
    np.testing.assert_allclose(loss.value(PLACES), [textbook(loss.name, m) for m in PLACES], rtol=1e-9, atol=1e-15)
    assert loss.value(0.25) == loss.value(np.array([0.25]))[0]
    assert loss.value(np.float32(0.25)).dtype == np.float64


@every
def test_derivatives_are_differences_away_from_kinks(loss):
    away = PLACES[np.all([abs(PLACES - kink) > 1e-3 for kink in (*loss.kinks, 99.0)], axis=0)]
    slopes = (loss.value(away + 1e-6) - loss.value(away - 1e-6)) / 2e-6
    np.testing.assert_allclose(loss.derivative(away), slopes, rtol=1e-6, atol=1e-6)


@every
def test_a_kink_has_the_slope_of_its_left_side(loss):
    for kink in loss.kinks:
        assert loss.derivative(kink) == loss.derivative(kink - 1e-9)
        assert loss.value(kink) == pytest.approx(loss.value(kink - 1e-9), abs=1e-8)  # a tie is a mistake
    jumps = abs(np.diff(loss.derivative(np.linspace(-4, 4, 8001)))) > 0.1
    places = np.linspace(-4, 4, 8001)[:-1][jumps]
    assert all(min(abs(place - kink) for kink in loss.kinks) < 2e-3 for place in places)


@every
def test_margins_without_end_give_no_nan(loss):
    ends = np.array([-np.inf, -1e308, -1e200, -1e3, 0.0, 1e3, 1e200, 1e308])
    assert not np.isnan(loss.value(ends)).any()
    assert not np.isnan(loss.derivative(ends)).any()


def test_large_margins_keep_their_digits():
    assert rb.losses.NONLINEAR_MSE.value(20.0) == pytest.approx(4 * np.exp(-80.0), rel=1e-12)
    assert rb.losses.LOGISTIC_MSE.derivative(40.0) == pytest.approx(-2 * np.exp(-80.0), rel=1e-12)


@pytest.mark.parametrize(
    ("activation", "loss"), [("tanh", rb.losses.NONLINEAR_MSE), ("logistic", rb.losses.LOGISTIC_MSE)], ids=["tanh", "logistic"]
)
def test_the_rule_descends_on_half_the_loss(activation, loss):
    rule = nonlinear_mse_rule(activation)
    margins = np.linspace(-30.0, 30.0, 2001)
    taus = np.array([step(rule, m, 1.0, 2.0) for m in margins])
    np.testing.assert_allclose(taus, -loss.derivative(margins), rtol=1e-12)
    np.testing.assert_allclose([cost(rule, m) for m in margins], loss.value(margins) / 2, rtol=1e-12)
    assert taus.max() / 2 == pytest.approx(MAX_STEP[activation], rel=1e-3)
    assert taus.max() / 2 <= MAX_STEP[activation]
    bends = np.diff(loss.derivative(margins) / 2) / np.diff(margins)
    assert abs(bends).max() <= MAX_CURVATURE[activation]
    assert abs(bends).max() == pytest.approx(MAX_CURVATURE[activation], rel=1e-2)
    assert [step(rule, m, 1.0, 1.0) for m in (-1e308, 1e308)] == [0.0, 0.0]


# --- the picture ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def pyplot():
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")


def test_every_curve_has_its_name_beside_it_and_none_covers_another(pyplot):
    ax = rb.losses.plot()
    ax.figure.canvas.draw()
    boxes = {text.get_text(): text.get_window_extent() for text in ax.texts}
    assert {loss.name for loss in rb.losses.ALL} <= set(boxes)
    names = list(boxes)
    for i, one in enumerate(names):
        assert not any(boxes[one].overlaps(boxes[other]) for other in names[i + 1 :]), one
    assert ax.get_xlim() == (-3.0, 3.0)
    assert "t" in ax.get_xlabel()


def test_a_picture_is_drawn_on_given_axes_and_written(pyplot, tmp_path):
    figure, ax = pyplot.subplots()
    assert rb.losses.plot(ax, LOSSES, tmp_path / "losses.png") is ax
    assert (tmp_path / "losses.png").stat().st_size > 10_000
    assert len(ax.get_legend().get_texts()) == 2
    assert pyplot.get_fignums() == [figure.number]


def test_without_matplotlib_the_error_names_what_to_install(monkeypatch):
    def refuse(name, *args, **kwargs):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    real = builtins.__import__
    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(ImportError, match=r"rosenblatt\[plot\]"):
        rb.losses.plot()
