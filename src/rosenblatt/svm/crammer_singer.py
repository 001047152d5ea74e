"""The multiclass machine of Crammer and Singer, by its multipliers.

Problem    min over W, b  1/2 sum_m |w_m|^2 (+ 1/2 sum_m beta_m^2, b_m = x0 beta_m) + sum_i C_i xi_i,
           xi_i = max_m ([m != y_i] - (score_{y_i} - score_m)), score_m = <w_m, x_i> + b_m; the term in beta only where the
           bias is penalized. With k = 2 it is the binary machine: w_1 = -w_0 = w/2, b_1 = -b_0 = b/2 make xi_i its hinge, and
           1/2 sum_m |w_m|^2 = 1/4 |w|^2, so that it is half the objective of the binary machine with 2 C.
Dual       max over alpha  sum_i alpha_i^{y_i} - 1/2 sum_m |w_m|^2 (- 1/2 sum_m beta_m^2),  w_m = sum_i alpha_i^m x_i,
           beta_m = x0 sum_i alpha_i^m;  sum_m alpha_i^m = 0, alpha_i^m <= 0 for m != y_i, alpha_i^{y_i} <= C_i;
           with a free bias, sum_i alpha_i^m = 0 for every class m.
Update     a row's multipliers take their best values while all others stand still; rows and rivals that ask for nothing rest.
           A free bias is found by proximal points: the term |b - centre|^2 / (2 sigma) makes it the penalized problem, and the
           centre follows it. What then still misses the last constraint is scaled away (`circulation.py`).
Guarantee  the gap between primal and dual, each computed on all rows from the multipliers returned, bounds the distance from
           the best objective.
Reference  K. Crammer, Y. Singer, JMLR 2 (2001); S. Keerthi, S. Sundararajan, K.-W. Chang, C.-J. Hsieh, C.-J. Lin, A sequential
           dual method for large scale multi-class linear SVMs, KDD 2008; proximal points: R. T. Rockafellar, Mathematics of
           Operations Research 1 (1976).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from ..data.problem import Rows, as_heads, read_only
from ..kernels.linear.blocks import lengths, score
from ..kernels.linear.crammer_singer import Plane, Room, Task, build, improve, measure
from ..kernels.linear.rows import Dense
from ..progress import told

# --- The largest circulation inside a flow between classes.
#
# Problem    max sum g_lm  s.t.  0 <= g <= f,  sum_m g_cm = sum_l g_lc for every class c.
# Use        f_lm is what rows of class l give to rival m. Scaled by g/f, they give every class as much as they take from it,
#            which a free bias asks of a feasible point of the dual.

ROUNDS = 4  # a linear program leaves about 1e-7 of what it has to balance; each round balances what the last one left


def circulation_scale(flow: Any) -> Any:
    """g/f, k x k, entries in [0, 1] (0 where nothing flows); all 0 where the linear program finds no answer."""
    scale = np.zeros_like(flow)
    if len(flow) == 2:
        return np.divide(min(flow[0, 1], flow[1, 0]), flow, out=scale, where=flow > 0.0)
    giver, taker = np.nonzero(flow)
    left, arcs = flow[giver, taker], np.arange(len(giver))
    ends = (np.repeat([1.0, -1.0], len(arcs)), (np.concatenate([giver, taker]), np.tile(arcs, 2)))
    balance = sp.csr_array(ends, shape=(len(flow), len(arcs)))
    for _ in range(ROUNDS):
        excess = balance @ left
        most = float(np.abs(excess).max(initial=0.0))
        if most <= 1e-16 * left.sum():
            break
        bounds = np.column_stack([np.zeros(len(arcs)), left / most])
        removed = linprog(np.ones(len(arcs)), A_eq=balance, b_eq=excess / most, bounds=bounds, method="highs-ds").x
        if removed is None:
            return scale
        left = np.maximum(left - most * removed, 0.0)
    scale[giver, taker] = left / flow[giver, taker]
    return scale


# ---

LONGEST = 15  # passes between two looks at what rests; 63 was faster on letter (2/3 of the time) and slower on small noisy data
NEVER = np.iinfo(np.int64).max
# sigma of a free bias, in squared lengths of the median row. The centre follows after every pass, without waiting for the
# solution around it: that took a half to a tenth of the passes on dna and letter, and 0.03 to 0.3 measured alike.
REACH = 0.1

Watch = Callable[[int, Any, Any], Any]


@dataclass(frozen=True)
class CrammerSinger:
    W: Any  # k x d
    bias: Any  # k
    multipliers: Any  # n x k: rows sum to 0, the own class is in [0, C_i], rivals are <= 0
    slack: Any  # n
    primal: float
    dual: float
    n_iter: int  # passes
    reached: bool  # the relative gap is at most tol

    @property
    def gap(self) -> float:
        """(primal - dual) / primal"""
        return relative(self.primal, self.dual)


def solve_crammer_singer(
    rows: Rows,
    codes: Any,
    k: int,
    C: Any,
    *,
    x0: float,
    free: bool,
    tol: float,
    max_iter: int,
    seed: int,
    start: Any = None,
    watch: Watch | None = None,
) -> CrammerSinger:
    """Pass over the rows until the relative gap is at most `tol`, or `max_iter` times.

    C: one for each row, 0 leaves the row out. x0: the constant before each row, 0: no intercept. start: an earlier answer for
    the same rows, or its multipliers. watch: called after each pass with their number, the weights and the bias on their way;
    the run ends where it returns True.
    """
    run = _Run(rows, codes, k, C, float(x0), free, start)
    rng, passes, checked, doubt = np.random.default_rng(seed), 0, 0, 1.0
    answer = None
    while passes < max_iter:
        run.sweep(rng, passes)
        passes += 1
        if watch is not None and watch(passes, as_heads(run.plane.w, rows), run.bias()):
            break
        gap, primal = run.likely()
        told(passes, gap / primal if primal else gap)
        if doubt * gap <= tol * primal and passes >= checked + 1 + checked // 20:
            answer, checked = run.verify(), passes
            if answer.gap <= tol:
                break
            doubt = max(1.0, (answer.primal - answer.dual) / max(gap, 1e-300))
            run.wake(passes)
        doubt = max(1.0, 0.9 * doubt)
        run.recentre()
    if answer is None or checked < passes:
        answer = run.verify()
    return run.result(answer, passes, tol)


def lead_over_rivals(rows: Rows, codes: Any, W: Any, bias: Any) -> Any:
    """The row's own score less that of its best rival, for every row."""
    every, scores = np.arange(len(codes)), np.empty((len(bias), len(codes)))
    for m, b in enumerate(bias):
        score(rows, every, W[m], float(b), scores[m])
    own = scores[codes, every].copy()
    scores[codes, every] = -np.inf
    return own - scores.max(axis=0)


def relative(primal: float, dual: float) -> float:
    return (primal - dual) / primal if primal > 0.0 else 0.0


@dataclass(frozen=True)
class _Answer:
    plane: Plane
    bias: Any
    scale: Any  # k x k: what the multipliers that rows of one class give to another are to be scaled by
    slack: Any
    primal: float
    dual: float

    @property
    def gap(self) -> float:
        return relative(self.primal, self.dual)


class _Run:
    """The multipliers on their way, and the weights they make."""

    def __init__(self, rows: Rows, codes: Any, k: int, C: Any, x0: float, free: bool, start: Any) -> None:
        n = len(codes)
        self.rows, self.free = rows, free and x0 != 0.0
        C, sqnorms = np.ascontiguousarray(C, dtype=np.float64), np.empty(n)
        lengths(rows, 0.0, sqnorms)
        _check_range(C, sqnorms, x0)
        codes = read_only(np.ascontiguousarray(codes, dtype=np.int32))
        absent = C == 0.0
        looks = (np.zeros((n, k), np.uint8), absent.astype(np.uint8), np.where(absent, NEVER, 0), np.zeros(n, np.int64))
        self.task = Task(codes, read_only(C), sqnorms, np.zeros((n, k)), *looks)
        vectors, lists = (np.zeros((3, k)), np.zeros((3, k), np.int64))
        self.room = Room(vectors[0], vectors[1], lists[0], lists[1], vectors[2], lists[2], np.zeros(3))
        self.alike = np.ones((k, k))
        sigma = REACH * typical(sqnorms[C > 0.0]) if self.free else x0 * x0
        self.plane = self.empty_plane(np.zeros(k), sigma)
        self.mass = self.earned = 0.0  # sum_i alpha_i^y, and the same less |W|^2/2
        if start is not None:
            _scaled_start(start, self)

    def empty_plane(self, centre: Any, sigma: float) -> Plane:
        dense, k = isinstance(self.rows, Dense), len(centre)
        d = self.rows.values.shape[1] if isinstance(self.rows, Dense) else self.rows.width
        return Plane(np.zeros((k, d) if dense else (d, k)), np.zeros(k), centre, sigma)

    def bias(self) -> Any:
        return self.plane.centre + self.plane.sigma * self.plane.sums

    def wake(self, now: int) -> None:
        self.task.due[self.task.C > 0.0] = now

    def sweep(self, rng: np.random.Generator, now: int) -> None:
        task = self.task
        awake = np.flatnonzero((task.due <= now) | (task.still == 0))
        if not len(awake):
            self.wake(now)
            awake = np.flatnonzero(task.due <= now)
        improve(self.rows, task, awake[rng.permutation(len(awake))], now, LONGEST, self.plane, self.room)
        self.earned += float(self.room.tally[1])
        self.mass += float(self.room.tally[2])

    def likely(self) -> tuple[float, float]:
        """The gap as the last pass found it, row by row, and the primal that goes with it."""
        gap, sums = float(self.room.tally[0]), self.plane.sums
        if not self.free:
            return gap, gap + self.earned - 0.5 * self.plane.sigma * float(np.square(sums).sum())
        # What the sums miss the constraint by is taken back, and costs what multipliers earn on average.
        primal = gap + self.earned
        gap += primal * 0.5 * float(np.abs(sums).sum()) / max(self.mass, 1e-300)
        return gap, primal

    def recentre(self) -> None:
        if self.free:
            self.plane = self.plane._replace(centre=self.bias())

    def flow(self) -> Any:
        """What rows of class l give to rival m, k x k."""
        k = len(self.alike)
        flow = np.zeros((k, k))
        for label in range(k):
            flow[label] = -self.task.multipliers[self.task.codes == label].sum(axis=0)
        flow[np.diag_indices(k)] = 0.0
        return flow

    def verify(self) -> _Answer:
        """Primal and dual on all rows, from feasible multipliers and the weights they make."""
        flow = self.flow()
        scale = circulation_scale(flow) if self.free else self.alike
        plane = self.empty_plane(self.plane.centre, self.plane.sigma)
        build(self.rows, self.task, scale, plane, self.room)
        slack = np.empty(len(self.task.codes))
        norms, bias = 0.5 * float(np.square(plane.w).sum()), self.bias()
        if not self.free:
            self.plane, bias = plane, plane.sigma * plane.sums
            norms += 0.5 * plane.sigma * float(np.square(plane.sums).sum())
        measure(self.rows, self.task.codes, plane.w, bias, self.room.G, slack)
        dual = float((flow * scale).sum()) - norms
        return _Answer(plane, bias, scale, slack, norms + float((self.task.C * slack).sum()), dual)

    def result(self, answer: _Answer, passes: int, tol: float) -> CrammerSinger:
        codes, alpha = self.task.codes, self.task.multipliers
        each = np.arange(len(codes))
        alpha[each, codes] = 0.0
        if self.free:
            for label in range(len(self.alike)):
                alpha[codes == label] *= answer.scale[label]
        alpha[each, codes] = np.minimum(-alpha.sum(axis=1), self.task.C)
        W = np.ascontiguousarray(as_heads(answer.plane.w, self.rows))
        numbers = (answer.slack, answer.primal, answer.dual, passes, answer.gap <= tol)
        return CrammerSinger(W, answer.bias, alpha, *numbers)


def typical(sqnorms: Any) -> float:
    """The median squared length of the rows, or the mean where that is 0, or 1."""
    return float(np.median(sqnorms) or np.mean(sqnorms) or 1.0) if len(sqnorms) else 1.0


def _check_range(C: Any, sqnorms: Any, x0: float) -> None:
    with np.errstate(over="ignore", invalid="ignore"):
        reach = float(np.square((C * (np.sqrt(sqnorms) + abs(x0) + 1.0)).sum()))
        length, most = float(np.sqrt(sqnorms.max())), float(C.max())
    if not reach < np.inf:
        raise ValueError(f"rows of length {length:.3g} and C up to {most:.3g} leave the range of float64: scale the features")


def _scaled_start(start: Any, run: _Run) -> None:
    """Begin with the multiple of an earlier fit's multipliers that has the largest dual, cut down to C where it is above."""
    task, alpha = run.task, run.task.multipliers
    each, bias = np.arange(len(task.codes)), 0.0
    if isinstance(start, CrammerSinger):
        start, bias = start.multipliers, start.bias if run.free else 0.0
    np.minimum(start, 0.0, out=alpha)
    alpha[each, task.codes] = 0.0
    own = -alpha.sum(axis=1)
    plane = run.plane
    build(run.rows, task, run.alike, plane, run.room)
    norms = float(np.square(plane.w).sum() + plane.sigma * np.square(plane.sums).sum())
    caps = np.divide(task.C, own, out=np.full(len(own), np.inf), where=own > 0.0)
    best = own.sum() / norms if norms > 0.0 else 1.0
    factor = np.minimum(caps, max(1.0, min(best, float(caps.min()))))
    alpha *= np.where(np.isfinite(factor), factor, 1.0)[:, None]
    alpha[each, task.codes] = np.minimum(-alpha.sum(axis=1), task.C)
    run.plane = run.empty_plane(plane.centre + bias, plane.sigma)
    build(run.rows, task, run.alike, run.plane, run.room)
    run.mass = float(run.flow().sum())
    run.earned = run.mass - 0.5 * float(np.square(run.plane.w).sum())
