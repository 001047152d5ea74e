"""The loss of a problem and its gradient, in one pass."""

from __future__ import annotations

from typing import Any

from ..compile import kernel
from .rows import axpy, dot
from .rules import loss, step


@kernel
def loss_and_gradient(
    rows: Any, labels: Any, rule: Any, w: Any, bias: Any, x0: float, downhill: Any, lift: Any, margins: Any
) -> float:
    """The sum of c_i loss(m_i), m_i = y_i (<w, x_i> + x_0 bias[0]); margins[i] = m_i.

    Its gradient is subtracted from `downhill` (for w) and from lift[0] (for the bias).

    For `Binary` labels. A margin that is not finite ends the pass with a loss of NaN.
    """
    total = 0.0
    for i in range(margins.shape[0]):
        c = labels.weights[i] if labels.weights.shape[0] > 0 else 1.0
        margin = labels.signs[i] * (dot(rows, i, w) + x0 * bias[0])
        margins[i] = margin
        if not abs(margin) < float("inf"):
            return float("nan")
        if c == 0.0:
            continue
        total += c * loss(rule, margin)
        tau = step(rule, margin, 1.0, c)
        if tau > 0.0:
            axpy(rows, i, labels.signs[i] * tau, downhill)
            lift[0] += labels.signs[i] * tau * x0
    return total
