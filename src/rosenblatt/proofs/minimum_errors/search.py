"""A plane with few errors: descent along lines, from many starts.

Problem    min over (w, b) of the number of rows with y_i (w.x_i + b) <= 0.
Update     along a line the best step is found exactly (`kernels/lines.py`): along columns, random lines and wrong rows.
           When rounds of such lines no longer help, the plane is shaken and the descent goes on from there; a plane that is no
           worse is kept, now and then a worse one.
Guarantee  none but what is counted: the errors of the plane that comes out are exact, on the rows as they came.
Reference  L. Li and H.-T. Lin, Optimizing 0/1 loss for perceptrons by random coordinate descent, IJCNN (2007); iterated local
           search: H. R. Lourenco, O. C. Martin and T. Stuetzle, Handbook of Metaheuristics (2003).
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from ...data.problem import Problem
from ...kernels.linear.rows import Dense
from ...kernels.linear.zero_one import search_lines
from ...svm.dual_coordinates import Descent as Multipliers
from ...svm.problem import BinarySVM
from .exact_signs import BLOCK, Plane, plane_of

# --- Rows as a search for planes sees them: signed, centred, of size one. Where a copy of them is small, it is also turned and
# stretched so that scores change as much along one line as along another; else rows are looked at in blocks.

ROOM = 1 << 25  # bytes, or a tenth of the rows
TURNED = 2e8  # rows x columns x the fewer of them: so much work to turn them takes a tenth of a second
FLAT = 1e-13  # directions in which rows extend less than so much of the longest are left out
FAR = 1000  # as a power of two: weights beyond it are near the end of what floats hold


class Space:
    """z_i = y_i ((x_i - centre) 2^-exponent, 1), without the last where planes go through the origin.

    A line is a vector v; a step of 1 along it adds (z_i . `back` v) to the score of row i, if there is `back`, else z_i . v.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem, self.free = problem, problem.x0 != 0
        self.signs = np.asarray(problem.labels.signs, np.float64)
        self.step = max(1, int(BLOCK / (8 * max(1.0, problem.density))))
        self.room = int(max(ROOM, 0.1 * problem.rows.values.nbytes))
        n, self.width = problem.n_rows, problem.n_features + int(self.free)
        small = 8 * self.width * n <= self.room
        turned = small and n * self.width * min(n, self.width) <= TURNED
        self.centre, extent = self._extent(self.free and (turned or isinstance(problem.rows, Dense)))
        self.exponent = np.where(extent > 0, np.frexp(extent)[1], 0)
        self.varies = extent > 0
        self.near: Any = self._copy() if small else None
        self.back: Any = None
        self.along: Any = None
        if turned:
            self._turn()

    def _extent(self, centred: bool) -> tuple[Any, Any]:
        problem = self.problem
        low, high = np.full(problem.n_features, np.inf), np.full(problem.n_features, -np.inf)
        for start in range(0, problem.n_rows, self.step):
            block = problem.matrix(start, start + self.step)
            least, most = block.min(axis=0), block.max(axis=0)
            if not isinstance(problem.rows, Dense):
                least, most = least.toarray().ravel(), most.toarray().ravel()
            np.minimum(low, least, out=low)
            np.maximum(high, most, out=high)
        centre = low / 2 + high / 2 if centred else np.zeros_like(low)
        return centre, np.maximum(high - centre, centre - low)

    def _copy(self) -> Any:
        """Columns first, so that a line along a column is a row of it."""
        out = np.ones((self.width, self.problem.n_rows))
        for start in range(0, self.problem.n_rows, self.step):
            block = self.problem.matrix(start, start + self.step).astype(np.float64)
            block = block if isinstance(self.problem.rows, Dense) else block.toarray()
            out[: len(self.centre), start : start + self.step] = np.ldexp(block - self.centre, -self.exponent).T
        return out * self.signs

    def _turn(self) -> None:
        """near = axes lengths rows: the rows of the last are orthogonal and of one length, and take the place of `near`."""
        axes, lengths, rows = np.linalg.svd(self.near, full_matrices=False)
        if not lengths[0] > 0:
            return
        kept = lengths > FLAT * lengths[0]
        stretch, axes = lengths[kept] / np.sqrt(self.problem.n_rows), axes[:, kept]
        self.near, self.back, self.along = rows[kept] * np.sqrt(self.problem.n_rows), axes / stretch, axes * stretch
        self.width = int(kept.sum())

    def columns(self, some: int, rng: Any) -> Any:
        """So many lines at most, each along a column as it came."""
        m = self.width if self.along is None else len(self.along)
        chosen = rng.permutation(m)[:some]
        if self.along is not None:
            return self.along[chosen]
        lines = np.zeros((len(chosen), m))
        lines[np.arange(len(chosen)), chosen] = 1.0
        return lines

    def products(self, lines: Any) -> Any:
        """What a step of 1 along each line adds to the signed score of each row: lines x rows."""
        if self.near is not None:
            return np.ascontiguousarray(lines @ self.near)
        coef, bias = self.weights(lines)
        out = np.empty((len(lines), self.problem.n_rows))
        for start in range(0, self.problem.n_rows, self.step):
            block = self.problem.matrix(start, start + self.step).astype(np.float64, copy=False)
            out[:, start : start + self.step] = (block @ coef.T).T + bias[:, None]
        out *= self.signs
        return out

    def weights(self, lines: Any) -> tuple[Any, Any]:
        """Lines, or one, as weights and biases of the rows as they came, but for a common power of two."""
        lines = lines if self.back is None else lines @ self.back.T
        d = len(self.centre)
        shift = max(0, int((-self.exponent).max(initial=0)) - FAR)
        with np.errstate(over="ignore", under="ignore"):
            slopes = np.where(self.varies, lines[..., :d], 0.0)  # rounding must not move a bias by a constant's size
            coef = np.ldexp(slopes, -self.exponent - shift)
            if not self.free:
                return coef, np.zeros(lines.shape[:-1])
            bias = lines[..., d] - slopes @ np.where(self.varies, np.ldexp(self.centre, -self.exponent), 0.0)
            return coef, np.ldexp(bias, -shift)

    def rows(self, wanted: Any) -> Any:
        """Some rows z_i, with or without their signs, as lines."""
        if self.near is not None:
            return self.near[:, wanted].T
        parts = [self.problem.matrix(i, i + 1) for i in wanted.tolist()]
        rows = np.array([(part if isinstance(self.problem.rows, Dense) else part.toarray())[0] for part in parts], np.float64)
        scaled = np.ldexp(rows - self.centre, -self.exponent)
        return np.column_stack([scaled, np.ones(len(rows))]) if self.free else scaled


# ---

PATIENCE = 3  # rounds without a better plane before it is shaken
WORSE = 0.02  # how often a worse plane is kept
LINES = 192  # in a round at most
REACH = (-1.0, 0.0)  # powers of ten: how far to look along a line, in mean scores
PASSES = 20  # over many rows, for a soft margin to begin from


class Search:
    """Planes on their way down; `best` is the best one so far."""

    def __init__(self, problem: Problem, seed: int, deadline: float) -> None:
        self.problem, self.deadline = problem, deadline
        self.rng = np.random.default_rng(seed)
        self.space = Space(problem)
        n, m = problem.n_rows, self.space.width
        self.lines = max(1, min(3 * m, LINES, self.space.room // (8 * n)))
        self._keys, self._marks = np.empty(n), np.empty(n, np.int8)
        self._stack, self._seed = np.empty(256, np.int64), self.rng.integers(1, 2**64, 1, np.uint64)
        self.best = self._one_label()
        self._current, self._errors = self._start(), n + 1
        self._fresh = True

    def _one_label(self) -> Plane:
        """All rows on the side of the larger class; without a bias, wherever that leads."""
        d = self.problem.n_features
        bias = float(np.sign(self.space.signs.sum()) or -1.0) if self.space.free else 0.0
        return plane_of(self.problem, np.zeros(d), bias)

    def _start(self) -> Any:
        """Least squares, or for many rows a soft margin in a few passes."""
        if self.space.back is not None:
            return self.space.near.mean(axis=1)  # least squares, where the rows' coordinates are orthogonal
        if self.space.near is not None and self.space.width <= max(LINES, self.problem.n_rows):
            return np.linalg.lstsq(self.space.near.T, np.ones(self.problem.n_rows), rcond=None)[0]
        rows, signs, n = self.problem.rows, self.problem.labels.signs, self.problem.n_rows
        machine = BinarySVM(rows, signs, np.ones(n), False, float(self.space.free), self.space.free)
        with np.errstate(all="ignore"):
            size = float(machine.lengths().mean())
            machine = BinarySVM(rows, signs, np.full(n, 10.0 / size), False, float(self.space.free), self.space.free)
            run = Multipliers(machine, 0)
            for _ in range(PASSES):
                if time.perf_counter() > self.deadline:
                    break
                run.descend(1)
            w, b = run.dual.w, float(run.dual.v[0] * run.dual.x0 + run.dual.b[0])
            line = np.ldexp(w, self.space.exponent)
            if self.space.free:
                line = np.append(line, b + float(w @ self.space.centre))
        return line if np.isfinite(line).all() and line.any() else self.rng.standard_normal(self.space.width)

    def run(self, rounds: int, target: int) -> int:
        """So many rounds, unless time is out or `target` errors are reached; how many there were."""
        for done in range(rounds):
            if self.best.errors <= target or time.perf_counter() > self.deadline:
                return done
            self._round()
        return rounds

    def _round(self) -> None:
        if self._fresh:
            self._trial, self._least, self._idle = (
                self._current if self._errors > len(self.space.signs) else self._shaken(),
                None,
                0,
            )
            self._fresh = False
        errors, line = self._descend(self._trial)
        self._trial = line
        if self._least is None or errors < self._least[0]:
            self._least, self._idle = (errors, line), 0
            if errors < self.best.errors:
                self.offer(plane_of(self.problem, *self.space.weights(line)))
        else:
            self._idle += 1
        if self._idle >= PATIENCE:
            errors, line = self._least
            if errors <= self._errors or self.rng.random() < WORSE:
                self._errors, self._current = errors, line
            self._fresh = True

    def offer(self, plane: Plane) -> None:
        if plane.errors < self.best.errors and np.isfinite(plane.coef).all() and np.isfinite(plane.bias):
            self.best = plane

    def _shaken(self) -> Any:
        m, size = self.space.width, float(np.linalg.norm(self._current))
        return self._current + 10.0 ** self.rng.uniform(-2, 0) * size / np.sqrt(m) * self.rng.standard_normal(m)

    def _descend(self, line: Any) -> tuple[int, Any]:
        """One round of lines, in random order; the errors as floats count them, and where it ends."""
        m, k = self.space.width, self.lines
        scores = self.space.products(line[None])[0]
        some, rows = -(-k // 3), np.flatnonzero(scores <= 0)
        if not len(rows) or self.space.back is None:  # where errors are many, wrong rows lead nowhere
            rows = np.arange(len(scores))
        others = np.concatenate([self.rng.standard_normal((some, m)), self.space.rows(self.rng.choice(rows, some))])
        lines = np.concatenate([self.space.columns(some, self.rng), others])
        P, steps = self.space.products(lines), np.zeros(len(lines))
        order, reach = self.rng.permutation(len(lines)), 10.0 ** self.rng.uniform(*REACH)
        search_lines(P, order, scores, steps, self._keys, self._marks, self._stack, reach, self._seed)
        line = line + steps @ lines
        size = abs(line).max()
        if not (0.0 < size < np.inf):
            line = self.rng.standard_normal(m)
            size = abs(line).max()
        line = line / size
        return int((self.space.products(line[None])[0] <= 0).sum()), line
