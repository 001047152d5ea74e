"""The multiclass SVM of Crammer and Singer, solved by dual coordinate descent.

Problem    min over W, b  1/2 sum_m |w_m|^2 (+ 1/2 sum_m beta_m^2, b_m = x0 beta_m) + sum_i C_i xi_i,
           xi_i = max_m ([m != y_i] - (score_{y_i} - score_m)), score_m = <w_m, x_i> + b_m; the term in beta only if the bias
           is penalized. With k = 2 it is the binary SVM: w_1 = -w_0 = w/2, b_1 = -b_0 = b/2 make xi_i its hinge, and
           1/2 sum_m |w_m|^2 = 1/4 |w|^2, so it is half the objective of the binary SVM with 2 C.
Dual       max over alpha  sum_i alpha_i^{y_i} - 1/2 sum_m |w_m|^2 (- 1/2 sum_m beta_m^2),  w_m = sum_i alpha_i^m x_i,
           beta_m = x0 sum_i alpha_i^m;  sum_m alpha_i^m = 0, alpha_i^m <= 0 for m != y_i, alpha_i^{y_i} <= C_i;
           with a free bias, sum_i alpha_i^m = 0 for every class m.
Update     the multipliers of a row take their best values while all others are fixed; rows and rivals that do not change
           are skipped. A free bias is found by proximal points: the term |b - center|^2 / (2 sigma) makes it the penalized
           problem, and the center follows the bias. The last constraint is then met by scaling (`circulation_scale`).
Guarantee  the gap between primal and dual, each computed on all rows from the multipliers returned, bounds the distance from
           the optimum.
Reference  K. Crammer, Y. Singer, JMLR 2 (2001); S. Keerthi, S. Sundararajan, K.-W. Chang, C.-J. Hsieh, C.-J. Lin, A sequential
           dual method for large scale multi-class linear SVMs, KDD 2008; proximal points: R. T. Rockafellar, Mathematics of
           Operations Research 1 (1976).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from ..array_types import FloatArray, IntArray
from ..data.problem import as_heads, read_only
from ..kernels.linear.crammer_singer import Buffers, Plane, Task, build_weights, compute_slack, improve_multipliers
from ..kernels.linear.row_blocks import lengths, score
from ..kernels.linear.rows import Dense, Rows
from ..progress import Progress, ProgressCallback
from ..reporting.text import short

# A linear program leaves an imbalance of about 1e-7; each round balances the rest of the previous one.
BALANCE_ROUNDS = 4


def circulation_scale(flow: FloatArray) -> FloatArray:
    """Factors that make a flow between classes the largest circulation inside it.

    Problem    max sum g_lm  s.t.  0 <= g <= f,  sum_m g_cm = sum_l g_lc for every class c.
    Use        f_lm is the total multiplier of rival m in rows of class l. Scaled by g/f, the multipliers meet the constraint
               of a free bias: every class gives as much as it takes.

    Returns g/f, k x k, with entries in [0, 1] (0 where f is 0); all 0 if the linear program fails.
    """
    scale = np.zeros_like(flow)
    if len(flow) == 2:
        np.divide(min(flow[0, 1], flow[1, 0]), flow, out=scale, where=flow > 0.0)
        return scale
    giver, taker = np.nonzero(flow)
    left, arcs = flow[giver, taker], np.arange(len(giver))
    ends = (np.repeat([1.0, -1.0], len(arcs)), (np.concatenate([giver, taker]), np.tile(arcs, 2)))
    balance = sp.csr_array(ends, shape=(len(flow), len(arcs)))
    for _ in range(BALANCE_ROUNDS):
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


# The largest number of passes that skip an inactive row or rival. 63 took 2/3 of the time on letter, but more on small data.
MAX_SKIPPED_PASSES = 15
NO_PASS = np.iinfo(np.int64).max  # later than every pass: the row or rival is not visited again
# sigma of a free bias, in squared lengths of the median row. The center follows the bias after every pass: waiting for the
# solution around each center took 2 to 10 times as many passes on dna and letter. 0.03 to 0.3 measured equal.
FREE_BIAS_SIGMA = 0.1


@dataclass(frozen=True)
class CrammerSinger:
    """The solution of a Crammer-Singer problem."""

    W: FloatArray  # k x d
    bias: FloatArray  # k
    multipliers: FloatArray  # n x k: rows sum to 0, the own class is in [0, C_i], rivals are <= 0
    slack: FloatArray  # n
    primal: float
    dual: float
    n_iter: int  # passes
    reached: bool  # the relative gap is at most tol

    @property
    def n_rows(self) -> int:
        return len(self.multipliers)

    @property
    def gap(self) -> float:
        """(primal - dual) / primal"""
        return relative(self.primal, self.dual)


def solve_crammer_singer(
    rows: Rows,
    codes: IntArray,
    k: int,
    C: FloatArray,
    *,
    x0: float,
    free: bool,
    tol: float,
    max_iter: int,
    seed: int,
    start: CrammerSinger | FloatArray | None = None,
    progress: ProgressCallback | None = None,
) -> CrammerSinger:
    """Make passes over the rows until the relative gap is at most `tol`, at most `max_iter` times.

    C: the cost of each row; 0 leaves the row out. x0: the constant before each row; 0: no intercept. start: an earlier solution
    for the same rows, or its multipliers. progress: called after each pass.
    """
    run = _Run(rows, codes, k, C, float(x0), free, start)
    rng, passes, checked, doubt = np.random.default_rng(seed), 0, 0, 1.0
    answer = None
    while passes < max_iter:
        run.sweep(rng, passes)
        passes += 1
        gap, primal = run.estimate()
        if progress is not None:
            progress(Progress(passes, max_iter=max_iter, gap=gap / primal if primal else gap))
        if doubt * gap <= tol * primal and passes >= checked + 1 + checked // 20:
            answer, checked = run.verify(), passes
            if answer.gap <= tol:
                break
            doubt = max(1.0, (answer.primal - answer.dual) / max(gap, 1e-300))
            run.schedule_full_visits(passes)
        doubt = max(1.0, 0.9 * doubt)
        run.recenter()
    if answer is None or checked < passes:
        answer = run.verify()
    return run.result(answer, passes, tol)


def lead_over_rivals(rows: Rows, codes: IntArray, W: FloatArray, bias: FloatArray) -> FloatArray:
    """For every row, the score of its class minus the score of its best rival."""
    every, scores = np.arange(len(codes)), np.empty((len(bias), len(codes)))
    for m, b in enumerate(bias):
        score(rows, every, W[m], float(b), scores[m])
    own = scores[codes, every].copy()
    scores[codes, every] = -np.inf
    lead: FloatArray = own - scores.max(axis=0)
    return lead


def relative(primal: float, dual: float) -> float:
    """The relative gap."""
    return (primal - dual) / primal if primal > 0.0 else 0.0


@dataclass(frozen=True)
class _Answer:
    plane: Plane
    bias: FloatArray
    scale: FloatArray  # k x k: factors of the multipliers, by class of the row and rival
    slack: FloatArray
    primal: float
    dual: float

    @property
    def gap(self) -> float:
        return relative(self.primal, self.dual)


class _Run:
    """The current multipliers and their weights."""

    def __init__(
        self,
        rows: Rows,
        codes: IntArray,
        k: int,
        C: FloatArray,
        x0: float,
        free: bool,
        start: CrammerSinger | FloatArray | None,
    ) -> None:
        n = len(codes)
        self.rows, self.free = rows, free and x0 != 0.0
        C, sqnorms = np.ascontiguousarray(C, dtype=np.float64), np.empty(n)
        lengths(rows, 0.0, sqnorms)
        _check_range(C, sqnorms, x0)
        codes = read_only(np.ascontiguousarray(codes, dtype=np.int32))
        absent = C == 0.0
        schedule = (np.zeros((n, k), np.uint8), absent.astype(np.uint8), np.where(absent, NO_PASS, 0), np.zeros(n, np.int64))
        self.task = Task(codes, read_only(C), sqnorms, np.zeros((n, k)), *schedule)
        vectors, lists = (np.zeros((3, k)), np.zeros((3, k), np.int64))
        self.buffers = Buffers(vectors[0], vectors[1], lists[0], lists[1], vectors[2], lists[2], np.zeros(3))
        self.alike = np.ones((k, k))
        sigma = FREE_BIAS_SIGMA * typical_sqnorm(sqnorms[C > 0.0]) if self.free else x0 * x0
        self.plane = self.empty_plane(np.zeros(k), sigma)
        self.mass = self.earned = 0.0  # sum_i alpha_i^y, and the same minus |W|^2/2
        if start is not None:
            _scaled_start(start, self)

    def empty_plane(self, center: FloatArray, sigma: float) -> Plane:
        """Zero weights around a center of the bias."""
        dense, k = isinstance(self.rows, Dense), len(center)
        d = self.rows.values.shape[1] if isinstance(self.rows, Dense) else self.rows.width
        return Plane(np.zeros((k, d) if dense else (d, k)), np.zeros(k), center, sigma)

    def bias(self) -> FloatArray:
        """The bias of each class."""
        found: FloatArray = self.plane.center + self.plane.sigma * self.plane.sums
        return found

    def schedule_full_visits(self, now: int) -> None:
        """Let pass `now` visit all rows, with all rivals."""
        self.task.next_full_visit[self.task.C > 0.0] = now

    def sweep(self, rng: np.random.Generator, now: int) -> None:
        """Make one pass over the rows that have a full visit or still change."""
        task = self.task
        visited = np.flatnonzero((task.next_full_visit <= now) | (task.skipped == 0))
        if not len(visited):
            self.schedule_full_visits(now)
            visited = np.flatnonzero(task.next_full_visit <= now)
        order = visited[rng.permutation(len(visited))]
        improve_multipliers(self.rows, task, order, now, MAX_SKIPPED_PASSES, self.plane, self.buffers)
        self.earned += float(self.buffers.tally[1])
        self.mass += float(self.buffers.tally[2])

    def estimate(self) -> tuple[float, float]:
        """The gap and the primal objective as estimated row by row in the last pass."""
        gap, sums = float(self.buffers.tally[0]), self.plane.sums
        if not self.free:
            return gap, gap + self.earned - 0.5 * self.plane.sigma * float(np.square(sums).sum())
        # The violation of the constraint will be scaled away, which costs the average gain of the multipliers.
        primal = gap + self.earned
        gap += primal * 0.5 * float(np.abs(sums).sum()) / max(self.mass, 1e-300)
        return gap, primal

    def recenter(self) -> None:
        """Move the center of a free bias to the bias."""
        if self.free:
            self.plane = self.plane._replace(center=self.bias())

    def flow(self) -> FloatArray:
        """The total multiplier of rival m in rows of class l, k x k, with positive sign."""
        k = len(self.alike)
        flow = np.zeros((k, k))
        for label in range(k):
            flow[label] = -self.task.multipliers[self.task.codes == label].sum(axis=0)
        flow[np.diag_indices(k)] = 0.0
        return flow

    def verify(self) -> _Answer:
        """Primal and dual objectives on all rows, from feasible multipliers and their weights."""
        flow = self.flow()
        scale = circulation_scale(flow) if self.free else self.alike
        plane = self.empty_plane(self.plane.center, self.plane.sigma)
        build_weights(self.rows, self.task, scale, plane, self.buffers)
        slack = np.empty(len(self.task.codes))
        norms, bias = 0.5 * float(np.square(plane.w).sum()), self.bias()
        if not self.free:
            self.plane, bias = plane, plane.sigma * plane.sums
            norms += 0.5 * plane.sigma * float(np.square(plane.sums).sum())
        compute_slack(self.rows, self.task.codes, plane.w, bias, self.buffers.G, slack)
        dual = float((flow * scale).sum()) - norms
        return _Answer(plane, bias, scale, slack, norms + float((self.task.C * slack).sum()), dual)

    def result(self, answer: _Answer, passes: int, tol: float) -> CrammerSinger:
        """The solution, with feasible multipliers."""
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


def typical_sqnorm(sqnorms: FloatArray) -> float:
    """The median squared length of the rows; the mean if the median is 0; 1 if both are."""
    return float(np.median(sqnorms) or np.mean(sqnorms) or 1.0) if len(sqnorms) else 1.0


def _check_range(C: FloatArray, sqnorms: FloatArray, x0: float) -> None:
    with np.errstate(over="ignore", invalid="ignore"):
        reach = float(np.square((C * (np.sqrt(sqnorms) + abs(x0) + 1.0)).sum()))
        length, most = float(np.sqrt(sqnorms.max())), float(C.max())
    if not reach < np.inf:
        raise ValueError(
            f"rows of length {short(length)} and C up to {short(most)} exceed the range of float64: scale the features"
        )


def _scaled_start(start: CrammerSinger | FloatArray, run: _Run) -> None:
    """Start with the multiple of earlier multipliers that has the largest dual objective, clipped to C."""
    task, alpha = run.task, run.task.multipliers
    each = np.arange(len(task.codes))
    bias = start.bias if isinstance(start, CrammerSinger) and run.free else 0.0
    np.minimum(start.multipliers if isinstance(start, CrammerSinger) else start, 0.0, out=alpha)
    alpha[each, task.codes] = 0.0
    own = -alpha.sum(axis=1)
    plane = run.plane
    build_weights(run.rows, task, run.alike, plane, run.buffers)
    norms = float(np.square(plane.w).sum() + plane.sigma * np.square(plane.sums).sum())
    caps = np.divide(task.C, own, out=np.full(len(own), np.inf), where=own > 0.0)
    best = own.sum() / norms if norms > 0.0 else 1.0
    factor = np.minimum(caps, max(1.0, min(best, float(caps.min()))))
    alpha *= np.where(np.isfinite(factor), factor, 1.0)[:, None]
    alpha[each, task.codes] = np.minimum(-alpha.sum(axis=1), task.C)
    run.plane = run.empty_plane(plane.center + bias, plane.sigma)
    build_weights(run.rows, task, run.alike, run.plane, run.buffers)
    run.mass = float(run.flow().sum())
    run.earned = run.mass - 0.5 * float(np.square(run.plane.w).sum())
