"""Draws proofs.png: a margin and its proof, a clash, and the two inequalities along a run. Needs matplotlib."""

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import rosenblatt as rb
from margins import BLUE, GRAY, ORANGE, draw_points, make_points


def draw_certified_margin(axes: plt.Axes, X: np.ndarray, y: np.ndarray) -> rb.Separable:
    """Draw the plane of the widest margin and the nearest points of the two hulls, which prove that none is wider."""
    certificate = rb.certify(X, y)
    margin = certificate.geometric
    w, b = np.array(certificate.coef[0]), certificate.intercept[0]
    axes.apply_aspect()
    (low, high), limits = axes.get_xlim(), axes.get_ylim()
    x, half = np.array([low, high]), margin.lower * np.linalg.norm(w)
    edges = [(level - b - w[0] * x) / w[1] for level in (-half, 0.0, half)]
    axes.fill_between(x, edges[0], edges[2], color=BLUE, alpha=0.12, lw=0)
    axes.plot(x, edges[1], color=BLUE, lw=2)
    nearest = [2 * sum(float(p.weight) * X[p.row] for p in margin.pairs if y[p.row] == label) for label in (0, 1)]
    axes.plot(*np.array(nearest).T, color=ORANGE, lw=1.6, marker="o", ms=4, zorder=5)
    for label in (0, 1):
        ends = X[[p.row for p in margin.pairs if y[p.row] == label]]
        axes.plot(*ends.T, color=ORANGE, lw=1.2, ls=":")
    axes.set(xlim=(low, high), ylim=limits)
    return certificate


def draw_clash(axes: plt.Axes, X: np.ndarray, y: np.ndarray) -> rb.Inseparable:
    """Draw the two hulls that have a common point, and the weights that prove it."""
    certificate = rb.certify(X, y)
    for label in (0, 1):
        mine = [pair for pair in certificate.clash if y[pair.row] == label]
        hull = X[[pair.row for pair in mine]]
        axes.plot(*np.vstack([hull, hull[:1]]).T, color=ORANGE, lw=1.8)
        axes.fill(*hull.T, color=ORANGE, alpha=0.2, lw=0)
        for pair in mine:
            axes.annotate(str(pair.weight), X[pair.row], (4, 4), textcoords="offset points", fontsize=8)
        common = sum(2 * float(pair.weight) * X[pair.row] for pair in mine)
    axes.scatter(*common, marker="x", s=70, c=ORANGE, zorder=5)
    return certificate


def draw_run(axes: plt.Axes, X: np.ndarray, y: np.ndarray) -> rb.Perceptron:
    """Draw |w| <= R sqrt(t) and w.u >= gamma t. Since w.u <= |w|, the run ends where the gray curves cross, at the latest."""
    model = rb.Perceptron(order="cyclic", max_iter=None).fit(X, y)
    (report,) = model.convergence_
    t, ahead = np.arange(len(report.alignments)), np.array([1.0, 2.0 * report.mistake_bound.upper])
    axes.plot(ahead, report.radius * np.sqrt(ahead), color=GRAY, ls="--", label="R $\\sqrt{t}$")
    axes.plot(ahead, report.gamma * ahead, color=GRAY, ls=":", lw=2, label="$\\gamma\\,t$")
    axes.plot(t[1:], np.sqrt(report.norms_squared[1:]), color=BLUE, lw=2, label="|w|")
    axes.plot(t[1:], report.alignments[1:], color=ORANGE, lw=2, label="w.u")
    axes.scatter(report.mistake_bound.upper, report.gamma * report.mistake_bound.upper, c=GRAY, zorder=5)
    axes.set(xscale="log", yscale="log", xlabel="updates t")
    axes.tick_params(axis="y", which="both", left=False, labelleft=False)
    axes.legend(frameon=False, loc="lower right")
    return model


def main() -> None:
    mpl.rcParams.update({"font.size": 11})
    figure, (wide, none, bound) = plt.subplots(1, 3, figsize=(12, 4.6))
    figure.subplots_adjust(left=0.01, right=0.985, bottom=0.13, top=0.86, wspace=0.06)
    X, y = make_points(3, 1.6)
    X, y = X[abs(X @ [1.0, 0.6]) > 0.35], y[abs(X @ [1.0, 0.6]) > 0.35]
    y = (X @ [1.0, 0.6] > 0).astype(int)
    draw_points(wide, X, y)
    certificate = draw_certified_margin(wide, X, y)
    square = certificate.geometric.lower_squared
    wide.set_title(f"Separable: the margin is {float(square) ** 0.5:.6f},\nexactly the root of a fraction", loc="left")

    grid = np.array([[0, 0], [5, 1], [1, 4], [5, 5], [0, 6], [6, 2], [3, 1], [2, 6], [6, 4], [3, 5]], float)
    labels = np.array([0, 0, 0, 1, 1, 1, 1, 1, 1, 1])
    draw_points(none, grid, labels)
    clash = draw_clash(none, grid, labels)
    none.set_title(f"Inseparable: {len(clash.rows)} rows whose hulls have\na common point, with these weights", loc="left")

    model = draw_run(bound, X + 2.0, y)
    most = model.convergence_[0].mistake_bound.upper
    bound.set_title(f"The run made {model.n_updates_} updates;\nat most {most:.0f} are possible", loc="left")
    figure.savefig(Path(__file__).with_name("proofs.png"), dpi=110, facecolor="white")


if __name__ == "__main__":
    main()
