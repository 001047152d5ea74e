"""The losses of a margin m = t a side by side: what a row at m costs, and how steeply.

    0-1             1 where m <= 0, else 0           what counts in the end
    perceptron      max(0, -m)
    hinge           max(0, 1 - m)                    support vectors
    squared hinge   max(0, 1 - m)^2
    linear MSE      (1 - m)^2 = (t - a)^2            `LinearMSE`: being right by far costs, too
    nonlinear MSE   (1 - tanh m)^2 = (t - tanh a)^2  `NonlinearMSE`, which minimises half of it; no row costs over 4
    logistic MSE    (1 - s(m))^2, s(m) = 1/(1 + exp(-m)); no row costs over 1

At a kink the derivative is the one from the left: training ties are mistakes, so that a row at the kink still asks for a step.
The 0-1 loss jumps at 0, where a row counts as wrong; its derivative is 0 everywhere, and no help.

>>> import rosenblatt as rb
>>> [f"{loss.name}: {float(loss.value(0.0)):g}" for loss in rb.losses.ALL]
['0-1: 1', 'linear MSE: 1', 'nonlinear MSE: 1', 'perceptron: 0', 'hinge: 1']
>>> rb.losses.HINGE.derivative([0.0, 1.0, 2.0]).tolist(), rb.losses.HINGE.kinks
([-1.0, -1.0, 0.0], (1.0,))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Loss:
    """A loss of the margin: `value` and `derivative` take numbers or arrays; `kinks`: the margins where it has no slope."""

    name: str
    formula: str
    value: Callable[[Any], Any]
    derivative: Callable[[Any], Any]
    kinks: tuple[float, ...] = ()


def _loss(name: str, formula: str, value: Callable[[Any], Any], derivative: Callable[[Any], Any], *kinks: float) -> Loss:
    def of_floats(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def call(margin: Any) -> Any:
            with np.errstate(over="ignore", under="ignore"):  # too large a loss is infinite
                return function(np.asarray(margin, np.float64))

        return call

    return Loss(name, formula, of_floats(value), of_floats(derivative), kinks)


def _rest(z: Any) -> Any:
    """1 - s(z) to the last digit, however large z is."""
    q = np.exp(-abs(z))
    return np.where(z >= 0.0, q, 1.0) / (1.0 + q)


def _hill(z: Any) -> Any:
    """s(z) (1 - s(z))."""
    q = np.exp(-abs(z))
    return q / np.square(1.0 + q)


ZERO_ONE = _loss("0-1", "1 where m <= 0, else 0", lambda m: np.where(m <= 0.0, 1.0, 0.0), lambda m: 0.0 * np.isfinite(m), 0.0)
LINEAR_MSE = _loss("linear MSE", "(1 - m)^2", lambda m: np.square(1.0 - m), lambda m: 2.0 * (m - 1.0))
NONLINEAR_MSE = _loss(
    "nonlinear MSE",
    "(1 - tanh m)^2",
    lambda m: np.square(2.0 * _rest(2.0 * m)),
    lambda m: -16.0 * _rest(2.0 * m) * _hill(2.0 * m),
)
LOGISTIC_MSE = _loss(
    "logistic MSE", "(1 - 1/(1 + exp(-m)))^2", lambda m: np.square(_rest(m)), lambda m: -2.0 * _rest(m) * _hill(m)
)
PERCEPTRON = _loss(
    "perceptron", "max(0, -m)", lambda m: np.maximum(-m, 0.0) + 0.0, lambda m: np.where(m <= 0.0, -1.0, 0.0), 0.0
)
HINGE = _loss("hinge", "max(0, 1 - m)", lambda m: np.maximum(0.0, 1.0 - m), lambda m: np.where(m <= 1.0, -1.0, 0.0), 1.0)
SQUARED_HINGE = _loss(
    "squared hinge",
    "max(0, 1 - m)^2",
    lambda m: np.square(np.maximum(0.0, 1.0 - m)),
    lambda m: -2.0 * np.maximum(0.0, 1.0 - m),
)

ALL = (ZERO_ONE, LINEAR_MSE, NONLINEAR_MSE, PERCEPTRON, HINGE)

# Okabe and Ito's colours, which the colour-blind tell apart; they stand out on white and on black. With each, where the name
# goes: the margin, the height, and whether it leans with its curve.
_LOOKS = {
    "0-1": ("#8C8C8C", (-2.9, 1.11, False)),
    "linear MSE": ("#0072B2", (1.98, 1.36, True)),
    "nonlinear MSE": ("#D55E00", (-2.25, 4.02, False)),
    "perceptron": ("#009E73", (-2.23, 2.39, True)),
    "hinge": ("#E69F00", (-1.57, 2.73, True)),
}
_OTHERS = ("#CC79A7", "#56B4E9", "#8C8C8C")


def plot(ax: Any = None, losses: Sequence[Loss] = ALL, path: Any = None) -> Any:
    """Draw losses over the margin t a from -3 to 3, each with its name at the curve; give back the axes.

    ax : matplotlib axes to draw on; None: a new figure. path : also write the picture there, its kind by its ending.
    """
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("rosenblatt.losses.plot needs matplotlib: install rosenblatt[plot]") from error
    if ax is None:
        ax = pyplot.subplots(figsize=(8.0, 5.6), layout="constrained")[1]
    ax.set(xlim=(-3.0, 3.0), ylim=(-0.1, 5.0), xlabel="margin  $m = t\\,a$", ylabel="loss of the row")
    ax.spines[["top", "right"]].set_visible(False)
    ax.axvline(0.0, color="#8C8C8C", linewidth=0.8, linestyle=(0, (2, 3)), zorder=0)
    ax.text(-0.06, 4.97, "wrong", ha="right", va="top", color="#8C8C8C")
    ax.text(0.06, 4.97, "right", ha="left", va="top", color="#8C8C8C")
    others = [loss for loss in losses if loss.name not in _LOOKS]
    for loss in losses:
        color = _LOOKS[loss.name][0] if loss.name in _LOOKS else _OTHERS[others.index(loss) % len(_OTHERS)]
        _draw(ax, loss, color)
    if others:
        ax.legend(frameon=False, loc="upper right")
    if path is not None:
        ax.figure.savefig(path)
    return ax


def _draw(ax: Any, loss: Loss, color: str) -> None:
    """One curve, dots at its kinks, and its name beside it (in a legend, where no place is known)."""
    places = np.union1d(np.linspace(-3.0, 3.0, 601), [k + shift for k in loss.kinks for shift in (0.0, 1e-9)])
    heights = loss.value(places)
    jumps = np.flatnonzero(abs(np.diff(heights)) > 0.5) + 1
    known = loss.name in _LOOKS
    label = None if known else f"{loss.name}: {loss.formula}"
    # What jumps lies broad under the others, with which it is zero.
    width, under = (6.0, 1) if len(jumps) else (2.2, 2)
    broken = np.insert(places, jumps, np.nan), np.insert(heights, jumps, np.nan)
    ax.plot(*broken, color=color, linewidth=width, label=label, zorder=under, solid_capstyle="butt")
    for kink in loss.kinks:
        ax.plot(kink, loss.value(kink), "o", color=color, markersize=6, zorder=3)
    if known:
        m, height, leans = _LOOKS[loss.name][1]
        angle = float(np.degrees(np.arctan(loss.derivative(m)))) if leans else 0.0
        ax.text(
            m, height, loss.name, color=color, rotation=angle, rotation_mode="anchor", transform_rotates_text=leans, fontsize=11
        )
