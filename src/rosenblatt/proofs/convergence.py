"""The perceptron convergence proof, along one run.

Problem    did this run keep what the proof promises, and how close did it come?
Guarantee  with R the longest row, u a unit vector that separates the rows with margin gamma, steps tau_s, update margin b, and
           G the steps that were made at once (one, or those of a batch step):
               |w_t|^2  <=  |w_0|^2 + R^2 sum_G (sum of its tau)^2 + 2 b sum of tau     (t R^2 from zero with steps of 1)
               <w_t, u> >=  <w_0, u> + gamma sum of tau                                 (t gamma)
           and <w_t, u> <= |w_t| bounds t. With k > 2 classes |W|^2/2, <W, U>/sqrt(2) and b/2 stand for |w|^2, <w, u> and b,
           so that bounds read the same.
Reference  A. Novikoff, Symp. Math. Theory of Automata (1962); a margin: W. Krauth and M. Mezard, J. Physics A 20 (1987).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..certificates.statements import Certificate, Interval, Separable
from ..data.problem import Problem, as_heads, copy_state, rows_as_matrix, take_rows
from ..kernels.linear.rows import Dense
from ..kernels.linear.schemes import Binary, State
from ..online.update_log import UpdateLog
from ..parallel import one_blas_thread
from .margins import Hypothesis, lengths
from .run_proofs import certificate_for

# --- The weights of a run against a fixed direction, and their length, update by update.
#
# Problem    |w_t|^2 and <w_t, u> for t = 0..T, from the log, without a row for each w_t.
# Update     w_{t+1} = w_t + tau v with v = y p (with k classes, v has p at the row's class and -p at the rival):
#            |w_{t+1}|^2 = |w_t|^2 + 2 tau <w_t, v> + tau^2 |v|^2,   <w_{t+1}, u> = <w_t, u> + tau <v, u>.
#            Within a block of updates <w_t, v> comes from the weights before the block and the products of its rows.

BLOCK = 128  # updates whose rows are multiplied with each other
NARROW = 1024  # columns up to which sparse rows of a block are multiplied as dense ones, which is faster


@dataclass(frozen=True)
class Trajectory:
    norms_squared: Any
    alignments: Any | None


def trajectory(log: UpdateLog, direction: tuple[Any, Any] | None) -> Trajectory:
    """Along a binary or joint log, after each update; `direction`: (heads x features, weight 0 of each head)."""
    state = copy_state(log._start)
    norms = np.empty(log.n_updates + 1)
    with one_blas_thread(), np.errstate(over="ignore", under="ignore", invalid="ignore"):
        norms[0] = _squared(state)
        if log._grouped:
            _step_by_step(log, state, norms)
        else:
            _block_by_block(log, state, norms)
        return Trajectory(norms, None if direction is None else _along(log, direction))


def _squared(state: State) -> float:
    w = state.w.astype(np.float64, copy=False).ravel()
    return float(w @ w + state.bias @ state.bias)


def _step_by_step(log: UpdateLog, state: State, norms: Any) -> None:
    """A batch step has many rows, and is no shorter to take than to measure."""
    edges = log._edges
    for t in range(1, len(norms)):
        log._advance(state, edges[t - 1 : t + 1])
        norms[t] = _squared(state)


def _block_by_block(log: UpdateLog, state: State, norms: Any) -> None:
    for start in range(0, len(log), BLOCK):
        here = slice(start, min(start + BLOCK, len(log)))
        rows, columns = _rows(log, here)
        heads, signs = as_heads(state.w, log._problem.rows), _signs(log, here)
        heads = (heads if columns is None else heads[:, columns]).astype(np.float64, copy=False)
        scores = rows @ heads.T + state.x0 * state.bias
        products = rows @ rows.T
        products = (products.toarray() if sp.issparse(products) else products) + state.x0**2
        moves = (signs @ signs.T) * products  # <v_s, v_r>
        taus = np.asarray(log.steps[here])
        margins = (scores * signs).sum(axis=1) + np.tril(moves, -1) @ taus
        gains = 2.0 * taus * margins + taus**2 * np.diagonal(moves)
        norms[here.start + 1 : here.stop + 1] = norms[here.start] + np.cumsum(gains)
        log._replay(state, here)


def _along(log: UpdateLog, direction: tuple[Any, Any]) -> Any:
    planes, weights_0 = direction
    start = log._start
    first = float((as_heads(start.w, log._problem.rows) * planes).sum() + start.bias @ weights_0)
    gains = np.empty(len(log))
    for begin in range(0, len(log), 16 * BLOCK):
        here = slice(begin, min(begin + 16 * BLOCK, len(log)))
        rows, columns = _rows(log, here)
        scores = rows @ (planes if columns is None else planes[:, columns]).T + start.x0 * weights_0
        gains[here] = log.steps[here] * (scores * _signs(log, here)).sum(axis=1)
    return first + np.concatenate([[0.0], np.cumsum(gains)])[log._edges]


def _rows(log: UpdateLog, here: slice) -> tuple[Any, Any | None]:
    """The rows of some entries in float64; sparse ones with the columns that they have, in place of all."""
    taken = take_rows(log._problem.rows, log._local_rows[here])
    if isinstance(taken, Dense):
        return taken.values.astype(np.float64, copy=False), None
    few = rows_as_matrix(taken, 0, len(taken.indptr) - 1)
    columns, places = np.unique(few.indices, return_inverse=True)
    values = few.data.astype(np.float64, copy=False)
    rows = sp.csr_array((values, places, few.indptr), shape=(few.shape[0], len(columns)))
    return (rows.toarray() if len(columns) <= NARROW else rows), columns


def _signs(log: UpdateLog, here: slice) -> Any:
    """Entries x heads: +1 for the row's own head, -1 for its rival; with one head, y."""
    labels, rows = log._problem.labels, log._local_rows[here]
    if isinstance(labels, Binary):
        return labels.signs[rows].astype(np.float64)[:, None]
    out, each = np.zeros((len(rows), len(log._start.bias))), np.arange(len(rows))
    out[each, labels.codes[rows]] = 1.0
    out[each, log._others[here]] = -1.0
    return out


# ---

UNKNOWN: Any = object()  # no certificate was made yet; None: there is nothing to certify
SLACK = 1e-9


@dataclass(frozen=True)
class Convergence:
    """Both sides of the two inequalities of the convergence proof, for t = 0..T updates of a run.

    norms_squared, norm_bound : |w_t|^2, and what it can be at most.
    alignments, alignment_bound : <w_t, u>, and what it is at least; None where no u separates the rows.
    mistakes : rows that moved the weights, each time counted. Batch steps have many: then t counts steps, this counts rows.
    mistake_bound : how many there can be in any run from the same start with the same constant step, as an interval: proved,
        or (0, upper) where w_0 is not zero or gamma is not the widest; None where steps differ or no u separates the rows.
    radius, gamma : R and the margin of u, in the space of this run's rows (x_0, x).
    widest : whether u has the widest margin there is, but for rounding.
    certificate : what is proved about the rows.
    """

    norms_squared: Any = field(repr=False)
    norm_bound: Any = field(repr=False)
    alignments: Any | None = field(repr=False)
    alignment_bound: Any | None = field(repr=False)
    mistakes: int
    mistake_bound: Interval | None
    radius: float
    gamma: float | None
    widest: bool
    certificate: Certificate | None = field(repr=False)
    rounding: float = field(default=float(np.finfo(np.float64).eps), repr=False)  # of one update

    @property
    def holds(self) -> bool:
        """Whether both inequalities hold at every t, but for rounding."""
        slack = SLACK + self.rounding * np.arange(len(self.norms_squared))
        kept = not (self.norms_squared > self.norm_bound * (1.0 + slack)).any()  # what overflowed refutes nothing
        if self.alignments is None:
            return kept
        least: Any = self.alignment_bound
        size = np.maximum(np.sqrt(np.maximum(self.norms_squared, 0.0)), abs(least))
        return kept and not (self.alignments < least - slack * size).any()

    def __str__(self) -> str:
        end, most = float(self.norms_squared[-1]), float(self.norm_bound[-1])
        told = f"The run made {self.mistakes} mistakes"
        if self.mistake_bound is not None:
            told += f"; no run like it can make more than {self.mistake_bound.upper:.6g}"
        told += f". |w|^2 grew to {end:.6g}, the proof allows {most:.6g}"
        if self.alignments is None or self.alignment_bound is None:
            told += ". No u separates the rows, so that nothing bounds the mistakes."
            return told + ("" if self.holds else " THE INEQUALITY DOES NOT HOLD.")
        along, least = float(self.alignments[-1]), float(self.alignment_bound[-1])
        told += f"; <w, u> grew to {along:.6g}, the proof asks for {least:.6g}."
        return told + (" Both inequalities hold at every update." if self.holds else " AN INEQUALITY DOES NOT HOLD.")

    def plot(self, ax: Any = None) -> Any:
        """Draw both inequalities over t; `ax`: two matplotlib axes, or None for a new figure. Gives the axes back."""
        # DROP  # only here, since matplotlib is an extra

        return draw(self, ax)


def convergence(log: UpdateLog, classes: Any, b: float, certificate: Any = UNKNOWN) -> Convergence:
    """The report of a binary or joint run with update margin b; a certificate of its rows is made where none is given."""
    problem, half = log._problem, 1.0 if isinstance(log._problem.labels, Binary) else 0.5
    if log.is_compact and not _same_space(log, classes, certificate):
        raise AttributeError(
            "convergence_ needs all rows, and a pickled log has only those that moved the weights: ask for it before pickling"
        )
    certificate = certificate_for(problem, classes) if certificate is UNKNOWN else certificate
    direction, gamma, widest = (None, None, False)
    if isinstance(certificate, Separable):
        direction, gamma, widest = _widest(log, classes, certificate)
    longest = certificate.radius if widest else float(lengths(_visited(problem, problem.matrix()), problem.x0).max())
    found = trajectory(log, direction)
    edges, sums = log._edges, np.concatenate([[0.0], np.cumsum(log.steps)])
    with np.errstate(over="ignore", invalid="ignore"):
        steps = np.add.reduceat(log.steps, edges[:-1]) if log._grouped and len(log) else log.steps
        squares = np.concatenate([[0.0], np.cumsum(np.square(steps))])
        bound = found.norms_squared[0] * half + longest * longest * squares + 2.0 * half * b * sums[edges]
    root = math.sqrt(half)
    alignments = None if found.alignments is None else found.alignments * root
    least = None if alignments is None or gamma is None else alignments[0] + gamma * sums[edges]
    rounding = float(np.finfo(log._start.w.dtype).eps)
    start = (found.norms_squared[0] * half, None if alignments is None else float(alignments[0]))
    most = _bound(log, certificate, gamma, widest, longest, half * b, start)
    return Convergence(
        found.norms_squared * half, bound, alignments, least, len(log), most, longest, gamma, widest, certificate, rounding
    )


def _same_space(log: UpdateLog, classes: Any, certificate: Any) -> bool:
    """Whether a certificate speaks of all that the run had before it: rows (1, x) or x, and every class."""
    separable = isinstance(certificate, Separable)
    return separable and log._problem.x0 in (0.0, 1.0) and len(certificate.about.classes) == len(classes)


def _visited(problem: Problem, what: Any) -> Any:
    return what if problem.visited is None else what[problem.visited]


def _widest(log: UpdateLog, classes: Any, certificate: Separable) -> tuple[Any, float, bool]:
    """((planes, weights 0), gamma, whether it is the widest) of a unit vector in the space of the run."""
    d, x0, exact = log._problem.n_features, log._problem.x0, _same_space(log, classes, certificate)
    best: tuple[Any, float] | None = None
    for margin in (certificate.augmented,) if exact else (certificate.augmented, certificate.geometric):
        planes = np.array([plane.coef(d) for plane in margin.planes])
        weights_0 = np.array([float(plane.intercept) for plane in margin.planes]) / (x0 or 1.0)
        if len(classes) > 2:
            planes, weights_0 = _for_all(log, planes, weights_0)
        scale = 2.0 ** -float(np.frexp(max(abs(planes).max(), abs(weights_0).max()))[1])
        norm = float(np.linalg.norm(np.append(planes * scale, weights_0 * scale)))
        planes, weights_0 = planes * scale / norm, weights_0 * scale / norm
        gamma = margin.lower if exact else _measured(log, planes, weights_0)
        if best is None or gamma > best[1]:
            best = ((planes, weights_0), gamma)
    assert best is not None
    return *best, exact


def _for_all(log: UpdateLog, planes: Any, weights_0: Any) -> tuple[Any, Any]:
    """Weight vectors for every class of a joint run: one none of whose rows weighs anything gets the mean of the others."""
    k = len(log._start.bias)
    if len(planes) == k:
        return planes, weights_0
    present = np.unique(_visited(log._problem, log._problem.labels.codes))
    if len(planes) == 1:
        planes, weights_0 = np.concatenate([-planes, planes]), np.concatenate([-weights_0, weights_0])
    every, every_0 = np.tile(planes.mean(axis=0), (k, 1)), np.full(k, weights_0.mean())
    every[present], every_0[present] = planes, weights_0
    return every, every_0


def _measured(log: UpdateLog, planes: Any, weights_0: Any) -> float:
    problem, labels = log._problem, log._problem.labels
    codes = (labels.signs > 0).astype(np.intp) if isinstance(labels, Binary) else labels.codes.astype(np.intp)
    rows, codes, x0 = _visited(problem, problem.matrix()), _visited(problem, codes), problem.x0 or 1.0
    return float(Hypothesis(planes, weights_0 * x0, x0, None).margins(rows, codes, "augmented").min())


def _bound(
    log: UpdateLog, certificate: Any, gamma: Any, widest: bool, longest: float, b: float, start: tuple[float, float | None]
) -> Interval | None:
    """Of all mistakes: T <= [p + sqrt(p^2 + 4 (c^2 - a^2))]/2, p = (G R^2 + 2b/tau)/gamma^2 - 2a, with G rows at once at most,
    a = <w_0, u>/(tau gamma) and c = |w_0|/(tau gamma)."""
    taus, weights = np.unique(log.steps), log._problem.labels.weights
    weights = _visited(log._problem, weights) if weights.size else np.ones(1)
    if (weights != weights[0]).any():
        return None
    if gamma is None or start[1] is None or gamma <= 0.0 or len(taus) != 1:
        return None
    tau, at_once = float(taus[0]), certificate.about.n_rows if log._grouped else 1
    if widest and start[0] == 0.0 and at_once == 1 and b == 0.0:
        return Interval(*certificate.mistake_bound)
    ratio, a = longest / gamma, start[1] / tau / gamma
    p = at_once * ratio * ratio + 2.0 * b / tau / gamma / gamma - 2.0 * a
    upper = (p + math.sqrt(p * p + 4.0 * max(0.0, start[0] / tau / tau / gamma / gamma - a * a))) / 2.0
    return Interval(0.0, upper * (1.0 + 1e-9))


# --- The picture of a convergence report.

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
