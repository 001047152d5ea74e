"""Naive oracles: each algorithm as its textbook states it, in plain NumPy, sharing nothing with the library.

P holds the augmented rows (`augment`), y signs of -1 and +1, `codes` classes 0..k-1, c row weights. `passes` is the order of
the visits, one line per pass. Every learner returns its whole history; the readings are computed from that by definition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Rho = Callable[[int], float]


@dataclass
class History:
    hypotheses: list[Any]  # w_0, ..., w_T; w is (d,) or (k, d)
    times: list[int] = field(default_factory=list)  # how many rows were visited (batch: looks taken) before each update
    rows: list[int] = field(default_factory=list)
    visits: int = 0
    separated: bool = False

    @property
    def last(self) -> Any:
        return self.hypotheses[-1]

    def move(self, w: Any, row: int) -> None:
        self.hypotheses.append(w)
        self.times.append(self.visits)
        self.rows.append(row)


def augment(X: Any, x0: float | None = 1.0) -> Any:
    """Rows (x_0, x); None: rows as they are."""
    return np.asarray(X, float) if x0 is None else np.column_stack([np.full(len(X), x0), X])


def cyclic(n: int, passes: int) -> Any:
    return np.tile(np.arange(n), (passes, 1))


def one(k: int) -> float:
    return 1.0


# --- learners ----------------------------------------------------------------------------------------------------------


def perceptron(P: Any, y: Any, passes: Any, *, margin: float = 0.0, rho: Rho = one, c: Any = None, w0: Any = None) -> History:
    """Rosenblatt: w += rho_k c_i y_i p_i where y_i <w, p_i> <= margin; ends when all rows are beyond it after a clean pass."""
    c = np.ones(len(P)) if c is None else c
    w = np.zeros(P.shape[1]) if w0 is None else np.array(w0, float)
    run = History([w])
    for order in passes:
        before = len(run.rows)
        for i in order:
            if y[i] * (w @ P[i]) <= margin:
                w = w + rho(len(run.hypotheses)) * c[i] * y[i] * P[i]
                run.move(w, i)
            run.visits += 1
        if len(run.rows) == before and (y * (P @ w) > margin).all():
            run.separated = True
            break
    return run


def batch(
    P: Any, y: Any, looks: int, *, mean: bool = False, margin: float = 0.0, rho: Rho = one, c: Any = None, w0: Any = None
) -> History:
    """All rows at or under the margin at once: w += rho_k sum_i c_i y_i p_i, or that over sum_i c_i of all rows."""
    c = np.ones(len(P)) if c is None else c
    w = np.zeros(P.shape[1]) if w0 is None else np.array(w0, float)
    run = History([w])
    for k in range(1, looks + 1):
        violating = y * (P @ w) <= margin
        if not violating.any():
            run.visits, run.separated = k, True
            break
        step = (c[violating] * y[violating]) @ P[violating]
        w = w + rho(k) * (step / c.sum() if mean else step)
        run.move(w, -1)
        run.visits = k
    return run


def rival_of(scores: Any, label: int) -> int:
    """The best of the other classes, the smallest label among equals."""
    others = scores.copy()
    others[label] = -np.inf
    return int(np.argmax(others))


def argmax_perceptron(
    P: Any, codes: Any, k: int, passes: Any, *, margin: float = 0.0, rho: Rho = one, c: Any = None, w0: Any = None
) -> History:
    """One joint run of k weight vectors: w_l += tau p and w_z -= tau p where <w_l, p> - <w_z, p> <= margin."""
    c = np.ones(len(P)) if c is None else c
    W = np.zeros((k, P.shape[1])) if w0 is None else np.array(w0, float)
    run = History([W])
    for order in passes:
        before = len(run.rows)
        for i in order:
            scores, label = W @ P[i], codes[i]
            rival = rival_of(scores, label)
            if scores[label] - scores[rival] <= margin:
                tau, W = rho(len(run.hypotheses)) * c[i], W.copy()
                W[label] += tau * P[i]
                W[rival] -= tau * P[i]
                run.move(W, i)
            run.visits += 1
        if len(run.rows) == before and all(gap(W, P[i], codes[i]) > margin for i in range(len(P))):
            run.separated = True
            break
    return run


def argmax_batch(P: Any, codes: Any, k: int, looks: int, *, mean: bool = False, margin: float = 0.0) -> History:
    """The joint step of all rows at or under the margin."""
    W = np.zeros((k, P.shape[1]))
    run = History([W])
    for look in range(1, looks + 1):
        step = np.zeros_like(W)
        violating = [i for i in range(len(P)) if gap(W, P[i], codes[i]) <= margin]
        for i in violating:
            step[codes[i]] += P[i]
            step[rival_of(W @ P[i], codes[i])] -= P[i]
        run.visits = look
        if not violating:
            run.separated = True
            break
        W = W + (step / len(P) if mean else step)
        run.times.append(look - 1)
        run.hypotheses.append(W)
    return run


def gap(W: Any, p: Any, label: int) -> float:
    scores = W @ p
    return float(scores[label] - scores[rival_of(scores, label)])


def one_vs_rest(learner: Callable[..., History], P: Any, codes: Any, k: int, *args: Any, **options: Any) -> list[History]:
    """k binary runs that know nothing of each other."""
    return [learner(P, np.where(codes == h, 1, -1), *args, **options) for h in range(k)]


def aggression(variant: str, C: float, loss: float, square: float, c: float = 1.0) -> float:
    """tau of figure 1 of Crammer et al. (2006); `square` is the squared length of the move with tau = 1.

    A weight c scales C; PA has no C, and goes the part c of its way where c < 1.
    """
    if variant == "PA":
        return min(c, 1.0) * loss / square
    return min(c * C, loss / square) if variant == "PA-I" else loss / (square + 1 / (2 * c * C))


def passive_aggressive(P: Any, y: Any, passes: Any, *, variant: str, C: float = 1.0, c: Any = None) -> History:
    """w += tau y_i p_i where the loss 1 - y_i <w, p_i> is positive."""
    c, w = np.ones(len(P)) if c is None else c, np.zeros(P.shape[1])
    run = History([w])
    for order in passes:
        before = len(run.rows)
        for i in order:
            loss = 1 - y[i] * (w @ P[i])
            if loss > 0:
                w = w + aggression(variant, C, loss, P[i] @ P[i], c[i]) * y[i] * P[i]
                run.move(w, i)
            run.visits += 1
        if len(run.rows) == before:
            break
    return run


def passive_aggressive_argmax(P: Any, codes: Any, k: int, passes: Any, *, variant: str, C: float = 1.0) -> History:
    """The same against the best rival; the move of two weight vectors is sqrt(2) |p| tau long."""
    W = np.zeros((k, P.shape[1]))
    run = History([W])
    for order in passes:
        before = len(run.rows)
        for i in order:
            scores, label = W @ P[i], codes[i]
            rival = rival_of(scores, label)
            loss = 1 - (scores[label] - scores[rival])
            if loss > 0:
                tau, W = aggression(variant, C, loss, 2 * P[i] @ P[i]), W.copy()
                W[label] += tau * P[i]
                W[rival] -= tau * P[i]
                run.move(W, i)
            run.visits += 1
        if len(run.rows) == before:
            break
    return run


def arow(P: Any, y: Any, passes: Any, *, r: float = 1.0, c: Any = None, full: bool = False) -> tuple[Any, Any, Any, list[Any]]:
    """(w, S, mistakes and other updates, rows that moved): figure 1 of Crammer et al. (2009), S a matrix, kept diagonal unless
    `full`. A weight c divides r."""
    w, S, made, moved = np.zeros(P.shape[1]), np.eye(P.shape[1]), [0, 0], []
    for order in passes:
        before = len(moved)
        for i in order:
            x, m = P[i], y[i] * (w @ P[i])
            if m < 1:
                beta = 1 / (x @ S @ x + r / (1.0 if c is None else c[i]))
                w = w + (1 - m) * beta * y[i] * (S @ x)
                S = S - beta * np.outer(S @ x, S @ x)
                S = S if full else np.diag(np.diag(S))
                made[int(m > 0)] += 1
                moved.append(i)
        if len(moved) == before:
            break
    return w, S, made, moved


def arow_argmax(P: Any, codes: Any, k: int, passes: Any, *, r: float = 1.0) -> tuple[Any, Any, int]:
    """(W, S, updates): the diagonal rule on the row's differences, +x at its class and -x at its best rival."""
    d, updates = P.shape[1], 0
    W, S = np.zeros((k, d)), np.ones((k, d))
    for order in passes:
        for i in order:
            x, scores, label = P[i], W @ P[i], codes[i]
            rival = rival_of(scores, label)
            m = scores[label] - scores[rival]
            if m < 1:
                z = np.zeros((k, d))
                z[label], z[rival] = x, -x
                beta = 1 / ((S * z * z).sum() + r)
                W, S = W + (1 - m) * beta * S * z, S - beta * (S * z) ** 2
                updates += 1
    return W, S, updates


# --- readings ----------------------------------------------------------------------------------------------------------


def average(run: History) -> Any:
    """The mean of the weights after each visited row."""
    total = np.zeros_like(run.last)
    for visit in range(run.visits):
        total = total + run.hypotheses[sum(time <= visit for time in run.times)]
    return total / run.visits


def errors(w: Any, P: Any, labels: Any, c: Any = None) -> float:
    """The total weight of the misclassified rows, ties included. Labels are signs for one weight vector, codes for several."""
    c = np.ones(len(P)) if c is None else c
    right = (
        labels * (P @ w) > 0 if w.ndim == 1 else np.array([gap(w, p, label) > 0 for p, label in zip(P, labels, strict=True)])
    )
    return float(c[~right].sum())


def pocket(run: History, P: Any, labels: Any, c: Any = None) -> tuple[Any, float, int]:
    """The hypothesis with the fewest errors, the first of equals; its errors; after which update it came."""
    counts = [errors(w, P, labels, c) for w in run.hypotheses]
    best = counts.index(min(counts))
    return run.hypotheses[best], counts[best], best


def vote_counts(run: History, count: str = "lifetime") -> list[int]:
    """The number of rows visited while each hypothesis was current; "survivals" leaves out the row that created it."""
    ends = [*run.times, run.visits]
    lives = [ends[0]] + [end - start for start, end in zip(run.times, ends[1:], strict=True)]
    return lives if count == "lifetime" else [lives[0]] + [life - 1 for life in lives[1:]]


def vote(run: History, P: Any, count: str = "lifetime") -> Any:
    """Shares of the votes: in -1..1, a score of 0 voting for -1; or one share per class, the first of equals."""
    c = vote_counts(run, count)
    total = max(1, sum(c))
    if run.last.ndim == 1:
        return sum(n * np.where(P @ w > 0, 1, -1) for n, w in zip(c, run.hypotheses, strict=True)) / total
    shares = np.zeros((len(P), len(run.last)))
    for n, W in zip(c, run.hypotheses, strict=True):
        shares[np.arange(len(P)), (P @ W.T).argmax(axis=1)] += n
    return shares / total


# --- data --------------------------------------------------------------------------------------------------------------


def noisy(n: int, d: int, k: int, seed: int) -> tuple[Any, Any]:
    """Small integers, so that every score is exact and ties are ties; labels that lean on the features but cannot be met."""
    rng = np.random.default_rng(seed)
    X, codes = rng.integers(-3, 4, (n, d)).astype(float), rng.integers(0, k, n)
    codes[:k] = np.arange(k)
    X[np.arange(n), codes % d] += 1.0 + codes // d
    return X, codes


def separable(n: int, d: int, gamma: float, seed: int) -> tuple[Any, Any, Any]:
    """X, y and a unit vector u over augmented rows with y <u, (1, x)> >= gamma on every row."""
    rng = np.random.default_rng(seed)
    u = rng.normal(size=d + 1)
    u /= np.linalg.norm(u)
    rows: Iterable[Any] = (rng.uniform(-1, 1, d) for _ in range(10**6))
    X = np.array([x for x, _ in zip((x for x in rows if abs(u[0] + u[1:] @ x) >= gamma), range(n), strict=False)])
    y = np.where(augment(X) @ u > 0, 1, -1)
    y[0], X[0] = -y[0], X[0] - 2 * (u[0] + u[1:] @ X[0]) * u[1:] / (u[1:] @ u[1:])  # both classes: one row mirrored
    return X, y, u
