"""Draws margins.png: the widest margin, a margin with slack, and a proof that no margin exists. Needs matplotlib."""

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import rosenblatt as rb

BLUE, ORANGE, GRAY = "#0072b2", "#d55e00", "#7a7a7a"


def make_points(seed: int, shift: float) -> tuple[np.ndarray, np.ndarray]:
    """Return two clouds of 30 points, shifted in opposite directions."""
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], 30)
    return rng.normal(size=(60, 2)) + np.where(y[:, None] == 1, shift, -shift) * [1.0, 0.6], y


def draw_points(axes: plt.Axes, X: np.ndarray, y: np.ndarray) -> None:
    axes.scatter(*X[y == 0].T, s=22, facecolors="white", edgecolors="#333333", zorder=3)
    axes.scatter(*X[y == 1].T, s=22, c="#333333", zorder=3)
    axes.set_aspect("equal", adjustable="datalim")
    axes.set(xticks=[], yticks=[])


def draw_margin(axes: plt.Axes, model: rb.MaxMargin | rb.SoftMargin) -> None:
    """Draw the plane, the band of its margin, and the support vectors."""
    axes.apply_aspect()
    (low, high), w, b = axes.get_xlim(), model.coef_[0], model.intercept_[0]
    limits = axes.get_ylim()
    x = np.array([low, high])
    edges = [(level - b - w[0] * x) / w[1] for level in (-1, 0, 1)]
    axes.fill_between(x, edges[0], edges[2], color=BLUE, alpha=0.12, lw=0)
    axes.plot(x, edges[1], color=BLUE, lw=2)
    axes.scatter(*model.support_vectors_[0].T, s=110, facecolors="none", edgecolors=BLUE, lw=1.6, zorder=4)
    axes.set(xlim=(low, high), ylim=limits)


def main() -> None:
    mpl.rcParams.update({"font.size": 11})
    figure, (hard, soft, none) = plt.subplots(1, 3, figsize=(12, 4.6))
    figure.subplots_adjust(left=0.01, right=0.99, bottom=0.02, top=0.86, wspace=0.04)
    X, y = make_points(4, 2.4)
    draw_points(hard, X, y)
    model = rb.MaxMargin(tol=1e-12).fit(X, y)
    draw_margin(hard, model)
    hard.set_title(f"MaxMargin: margin {model.margin_[0]:.3f},\nrelative gap {model.gap_[0]:.0g}", loc="left")

    X, y = make_points(4, 1.2)
    draw_points(soft, X, y)
    model = rb.SoftMargin(C=0.3, tol=1e-9).fit(X, y)
    draw_margin(soft, model)
    w, slack = model.coef_[0], model.slack_[0]
    for i in np.flatnonzero(slack > 1e-6):
        foot = X[i] + slack[i] * (1 if y[i] else -1) * w / (w @ w)
        soft.plot(*zip(X[i], foot, strict=True), color=ORANGE, lw=1)
    soft.set_title(f"SoftMargin, C = 0.3: objective {model.objective_[0]:.4f},\nrelative gap {model.gap_[0]:.0g}", loc="left")

    draw_points(none, X, y)
    try:
        rb.MaxMargin().fit(X, y)
    except rb.NotSeparable as proof:
        weights = np.array([float(weight) for weight in proof.weights])
        for label in (0, 1):
            mine = y[proof.rows] == label
            hull = X[np.array(proof.rows)[mine]]
            none.fill(*hull.T, color=ORANGE, alpha=0.2, lw=0)
            none.plot(*np.vstack([hull, hull[:1]]).T, color=ORANGE, lw=1.8)
            common = weights[mine] @ hull
        none.scatter(*common, marker="x", s=70, c=ORANGE, zorder=5)
        none.set_title(f"NotSeparable: {len(proof.rows)} rows whose convex hulls\nhave a common point, exactly", loc="left")
    figure.savefig(Path(__file__).with_name("margins.png"), dpi=110, facecolor="white")


if __name__ == "__main__":
    main()
