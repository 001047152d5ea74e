"""Right and wrong parameters for type checkers; never run.

`mypy` checks this module with the package. A line that stops being an error makes its `type: ignore` unused, which is one.
"""

from __future__ import annotations

import rosenblatt as rb


def right() -> None:
    rb.Perceptron(keep="average", multiclass="ovr", order="cyclic", max_iter=None, margin="auto")
    rb.PassiveAggressive(variant="PA-II", keep="last")
    rb.SoftMargin(C=1.0, loss="squared_hinge", multiclass="crammer_singer", penalize_intercept=True)


def wrong() -> None:
    rb.Perceptron(keep="avg")  # type: ignore[arg-type]
    rb.Perceptron(multiclass="argmax")  # type: ignore[arg-type]
    rb.PassiveAggressive(variant="PA-III")  # type: ignore[arg-type]
    rb.SoftMargin(loss="squared-hinge")  # type: ignore[arg-type]
    rb.Perceptron("average")  # type: ignore[call-arg]
    rb.LinearMSE(ridge=1.0)  # type: ignore[call-arg]
