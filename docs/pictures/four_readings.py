"""Draws four_readings.png: one run of the perceptron on inseparable rows, and its four readings. Needs matplotlib."""

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import rosenblatt as rb

COLORS = {"last": "#d1495b", "pocket": "#e09f3e", "average": "#00798c", "vote": "#6a4c93"}
GRAY = "#7a7a7a"


def main() -> None:
    rng = np.random.default_rng(11)
    y = np.repeat([0, 1], 60)
    X = rng.normal(size=(120, 2)) + np.where(y[:, None] == 1, 1.0, -1.0) * [1.05, 0.75]
    model = rb.Perceptron(order="cyclic", max_iter=6).fit(X, y)
    log = model.log_
    hypotheses = [log.weights_at(t) for t in range(log.n_updates + 1)]
    errors = [int((((X @ w[0] + b) > 0) != y).sum()) for w, b in hypotheses]

    mpl.rcParams.update({"font.size": 11, "axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": GRAY})
    figure, (plane, curve) = plt.subplots(1, 2, figsize=(11, 4.6), width_ratios=[1, 1.25])
    plane.scatter(*X[y == 0].T, s=26, facecolors="none", edgecolors="#333333", label="class 0")
    plane.scatter(*X[y == 1].T, s=26, c="#333333", label="class 1")
    low, high = X.min(0) - 0.3, X.max(0) + 0.3
    for w, b in hypotheses[1::3]:
        _draw_line(plane, w[0], b[0], low, high, color=GRAY, alpha=0.13, lw=0.8)
    for keep in ("last", "pocket", "average"):
        reading = model.reading(keep)
        wrong = int((reading.predict(X) != y).sum())
        _draw_line(
            plane,
            reading.coef_[0],
            reading.intercept_[0],
            low,
            high,
            color=COLORS[keep],
            lw=2.4,
            label=f"{keep}: {wrong} errors",
        )
    vote = model.reading("vote")
    grid = np.stack(np.meshgrid(*np.linspace(low, high, 220).T), -1)
    shares = vote.decision_function(grid.reshape(-1, 2)).reshape(220, 220)
    plane.contour(grid[..., 0], grid[..., 1], shares, levels=[0.0], colors=COLORS["vote"], linestyles="--", linewidths=2)
    plane.plot([], [], "--", color=COLORS["vote"], lw=2, label=f"vote: {int((vote.predict(X) != y).sum())} errors")
    plane.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), xticks=[], yticks=[], title="one run, four readings")
    plane.legend(loc="lower right", fontsize=9, framealpha=0.95)

    best = int(np.argmin(errors))
    curve.step(range(len(errors)), errors, where="post", color=GRAY, lw=1.2)
    curve.plot(best, errors[best], "o", color=COLORS["pocket"], ms=9)
    label = f"pocket: {errors[best]} errors after update {best}"
    curve.text(best - 1, errors[best] - 4.5, label, color=COLORS["pocket"], ha="right")
    curve.plot(len(errors) - 1, errors[-1], "o", color=COLORS["last"], ms=9, clip_on=False)
    for end in log.passes[:-1]:
        curve.axvline(end, color=GRAY, lw=0.6, alpha=0.5)
    curve.set(
        xlabel="updates (lines: passes)",
        ylabel="training errors",
        ylim=(0, max(errors[1:]) + 4),
        title="errors along the update log",
    )
    figure.tight_layout()
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=120)


def _draw_line(axes, w, b, low, high, **style):
    """Draw the line <w, x> + b = 0 across the box."""
    x = np.array([low[0] - 1, high[0] + 1])
    if abs(w[1]) > 1e-9:
        axes.plot(x, -(b + w[0] * x) / w[1], **style)


if __name__ == "__main__":
    main()
