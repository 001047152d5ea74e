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
from ...kernels.linear.zero_one import search_lines
from ...svm.dual_coordinates import Descent as Multipliers
from ...svm.problem import Machine
from .exact_signs import Plane, plane_of
from .space import Space

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
        machine = Machine(rows, signs, np.ones(n), False, float(self.space.free), self.space.free)
        with np.errstate(all="ignore"):
            size = float(machine.lengths().mean())
            machine = Machine(rows, signs, np.full(n, 10.0 / size), False, float(self.space.free), self.space.free)
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
