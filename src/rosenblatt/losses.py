"""Losses as functions of the margin m = t a, with their derivatives.

    0-1             1 if m <= 0, else 0              the training errors
    perceptron      max(0, -m)
    hinge           max(0, 1 - m)                    `SoftMargin`
    squared hinge   max(0, 1 - m)^2
    linear MSE      (1 - m)^2 = (t - a)^2            `LinearMSE`; large positive margins have a loss, too
    nonlinear MSE   (1 - tanh m)^2 = (t - tanh a)^2  `NonlinearMSE`, which minimizes half of it; at most 4
    logistic MSE    (1 - s(m))^2, s(m) = 1/(1 + exp(-m)); at most 1
    logistic        log(1 + exp(-m)), the log loss of the probability s(m)

At a kink the derivative is that from the left: training ties are mistakes, so a row at the kink still triggers an update. The
0-1 loss jumps at 0, where a row is misclassified; its derivative is 0 everywhere.

>>> import rosenblatt as rb
>>> [f"{loss.name}: {float(loss.value(0.0)):g}" for loss in rb.losses.ALL]
['0-1: 1', 'linear MSE: 1', 'nonlinear MSE: 1', 'perceptron: 0', 'hinge: 1']
>>> rb.losses.HINGE.derivative([0.0, 1.0, 2.0]).tolist(), rb.losses.HINGE.kinks
([-1.0, -1.0, 0.0], (1.0,))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from .array_types import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "ALL",
    "HINGE",
    "LINEAR_MSE",
    "LOGISTIC",
    "LOGISTIC_MSE",
    "NONLINEAR_MSE",
    "PERCEPTRON",
    "SQUARED_HINGE",
    "ZERO_ONE",
    "Loss",
    "plot",
]

LossFunction: TypeAlias = Callable[[npt.ArrayLike], FloatArray]


@dataclass(frozen=True)
class Loss:
    """A loss as a function of the margin.

    Parameters
    ----------
    name : str
        The name in tables and figures.
    formula : str
        The loss as a formula in m, the margin.
    value : callable
        The loss of a margin or of an array of margins.
    derivative : callable
        The derivative at a margin or at an array of margins.
    kinks : tuple of float, default=()
        The margins without a derivative; `derivative` is that from the left.
    is_squared_error : bool, default=False
        Whether the loss is the squared distance of an output from its target, and not a price of small margins alone.
    short_formula : str or None, default=None
        The formula with a symbol for the logistic function; None if it has no such function.

    See Also
    --------
    plot : Plot losses over the margin.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> rb.losses.HINGE.formula, rb.losses.HINGE.value([-1.0, 0.0, 1.0]).tolist()
    ('max(0, 1 - m)', [2.0, 1.0, 0.0])
    """

    name: str
    formula: str
    value: LossFunction
    derivative: LossFunction
    kinks: tuple[float, ...] = ()
    is_squared_error: bool = False
    short_formula: str | None = None


@dataclass(frozen=True)
class Objective:
    """The function factor * (sum of the losses of the margins) + penalty * |w|^2, where w does not include the intercept.

    With power 1 it has the sum of all |w_j| in place of |w|^2.
    """

    loss: Loss
    factor: float = 1.0
    penalty: float = 0.0
    power: int = 2


def __dir__() -> list[str]:
    return __all__


def _loss(
    name: str,
    formula: str,
    value: Callable[[FloatArray], FloatArray],
    derivative: Callable[[FloatArray], FloatArray],
    *kinks: float,
    is_squared_error: bool = False,
    short_formula: str | None = None,
) -> Loss:
    def of_floats(function: Callable[[FloatArray], FloatArray]) -> LossFunction:
        def call(margin: npt.ArrayLike) -> FloatArray:
            with np.errstate(over="ignore", under="ignore"):  # a loss that overflows is infinite
                found: FloatArray = function(np.asarray(margin, np.float64))
            return found

        return call

    return Loss(name, formula, of_floats(value), of_floats(derivative), kinks, is_squared_error, short_formula)


def _rest(z: FloatArray) -> FloatArray:
    """1 - s(z), accurate for any z."""
    q = np.exp(-abs(z))
    return np.where(z >= 0.0, q, 1.0) / (1.0 + q)


def _slope(z: FloatArray) -> FloatArray:
    """s(z) (1 - s(z))."""
    q = np.exp(-abs(z))
    return q / np.square(1.0 + q)


ZERO_ONE = _loss("0-1", "1 where m <= 0, else 0", lambda m: np.where(m <= 0.0, 1.0, 0.0), lambda m: 0.0 * np.isfinite(m), 0.0)
LINEAR_MSE = _loss("linear MSE", "(1 - m)^2", lambda m: np.square(1.0 - m), lambda m: 2.0 * (m - 1.0), is_squared_error=True)
NONLINEAR_MSE = _loss(
    "nonlinear MSE",
    "(1 - tanh m)^2",
    lambda m: np.square(2.0 * _rest(2.0 * m)),
    lambda m: -16.0 * _rest(2.0 * m) * _slope(2.0 * m),
    is_squared_error=True,
)
LOGISTIC_MSE = _loss(
    "logistic MSE",
    "(1 - 1/(1 + exp(-m)))^2",
    lambda m: np.square(_rest(m)),
    lambda m: -2.0 * _rest(m) * _slope(m),
    is_squared_error=True,
    short_formula="(1 - \N{GREEK SMALL LETTER SIGMA}(m))^2",
)
LOGISTIC = _loss("logistic", "log(1 + exp(-m))", lambda m: np.logaddexp(0.0, -m), lambda m: -_rest(m))
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

# Okabe and Ito's colors, which color-blind people can distinguish, readable on white and on black. With each the position of
# its label: margin, height, and whether the label follows the slope of the curve.
_STYLES = {
    "0-1": ("#8C8C8C", (-2.9, 1.11, False)),
    "linear MSE": ("#0072B2", (1.98, 1.36, True)),
    "nonlinear MSE": ("#D55E00", (-2.25, 4.02, False)),
    "perceptron": ("#009E73", (-2.23, 2.39, True)),
    "hinge": ("#E69F00", (-1.57, 2.73, True)),
}
_OTHER_COLORS = ("#CC79A7", "#56B4E9", "#8C8C8C")


def plot(ax: Axes | None = None, losses: Sequence[Loss] = ALL, path: str | PathLike[str] | None = None) -> Axes:
    """Plot losses over the margin from -3 to 3, with their names at the curves.

    Parameters
    ----------
    ax : matplotlib Axes or None, default=None
        The axes to draw on; None creates a figure.
    losses : sequence of Loss, default=ALL
        The losses to plot.
    path : str, path-like or None, default=None
        A file to write the figure to; its suffix determines the format.

    Returns
    -------
    matplotlib Axes
        The axes.

    Raises
    ------
    ImportError
        If matplotlib is not installed; the extra `rosenblatt[plot]` installs it.

    See Also
    --------
    Loss : A loss as a function of the margin.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> axes = rb.losses.plot(losses=[rb.losses.HINGE, rb.losses.SQUARED_HINGE])  # doctest: +SKIP
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
    others = [loss for loss in losses if loss.name not in _STYLES]
    for loss in losses:
        color = _STYLES[loss.name][0] if loss.name in _STYLES else _OTHER_COLORS[others.index(loss) % len(_OTHER_COLORS)]
        _draw(ax, loss, color)
    if others:
        ax.legend(frameon=False, loc="upper right")
    figure = ax.get_figure(root=True)
    if path is not None and figure is not None:
        figure.savefig(path)
    return ax


def _draw(ax: Axes, loss: Loss, color: str) -> None:
    """Draw a curve, dots at its kinks, and its name: at the curve if its position is known, else in the legend."""
    places = np.union1d(np.linspace(-3.0, 3.0, 601), [k + shift for k in loss.kinks for shift in (0.0, 1e-9)])
    heights = loss.value(places)
    jumps = np.flatnonzero(abs(np.diff(heights)) > 0.5) + 1
    known = loss.name in _STYLES
    label = None if known else f"{loss.name}: {loss.formula}"
    # A curve with jumps is drawn wide below the others, with which it coincides at zero.
    width, under = (6.0, 1) if len(jumps) else (2.2, 2)
    broken = np.insert(places, jumps, np.nan), np.insert(heights, jumps, np.nan)
    ax.plot(*broken, color=color, linewidth=width, label=label, zorder=under, solid_capstyle="butt")
    for kink in loss.kinks:
        ax.plot(kink, loss.value(kink), "o", color=color, markersize=6, zorder=3)
    if known:
        m, height, follows = _STYLES[loss.name][1]
        angle = float(np.degrees(np.arctan(loss.derivative(m)))) if follows else 0.0
        ax.text(
            m,
            height,
            loss.name,
            color=color,
            rotation=angle,
            rotation_mode="anchor",
            transform_rotates_text=follows,
            fontsize=11,
        )
