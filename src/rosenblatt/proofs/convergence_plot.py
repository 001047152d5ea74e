"""The picture of a convergence report."""

from __future__ import annotations

from typing import Any

import numpy as np

# Near Okabe and Ito's blue and vermillion, which the colour-blind tell apart; they stand out on white and on black.
RUN, BOUND = "#2E8BC9", "#D55E00"
MOST_POINTS = 2000


def draw(report: Any, ax: Any = None) -> Any:
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("convergence_.plot needs matplotlib: install rosenblatt[plot]") from error
    if ax is None:
        ax = pyplot.subplots(1, 2, figsize=(10.0, 4.2), layout="constrained")[1]
    if np.size(ax) != 2:
        raise ValueError(f"ax must be two matplotlib axes, one for each inequality, got {ax!r:.80}")
    left, right = np.ravel(ax)
    t = np.unique(np.linspace(0, len(report.norms_squared) - 1, MOST_POINTS).round().astype(np.intp))
    every = np.arange(len(report.norms_squared))
    plain = np.allclose(report.norm_bound, every * report.radius**2)  # from zero, with steps of 1 and no update margin
    _pair(left, t, report.norms_squared, report.norm_bound, "$|w_t|^2$", "at most $t R^2$" if plain else "at most")
    left.set_title(f"length: R = {report.radius:.4g}", loc="left")
    if report.alignments is None:
        right.set_axis_off()
        right.text(0.5, 0.5, "no plane separates the rows,\nso there is no $u$", ha="center", va="center", color=RUN)
    else:
        limit = r"at least $t \gamma$" if plain else "at least"
        _pair(right, t, report.alignments, report.alignment_bound, r"$\langle w_t, u \rangle$", limit)
        right.set_title(rf"direction: $\gamma$ = {report.gamma:.4g}", loc="left")
    return ax


def _pair(ax: Any, t: Any, run: Any, bound: Any, name: str, limit: str) -> None:
    ax.plot(t, bound[t], color=BOUND, linewidth=2.0, linestyle=(0, (5, 2)), label=limit)
    ax.plot(t, run[t], color=RUN, linewidth=2.2, label=name)
    ax.spines[["top", "right"]].set_visible(False)
    ax.set(xlabel="updates $t$", xlim=(0, max(1, int(t[-1]))))
    ax.legend(frameon=False, loc="upper left")
