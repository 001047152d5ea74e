"""The search for a plane with few errors: descent along lines, from many starts.

Problem    min over (w, b) of the number of rows with y_i (w.x_i + b) <= 0.
Update     along a line the best step is found exactly (`kernels/linear/zero_one.py`): along columns, random lines and
           misclassified rows. When rounds of such lines no longer help, the plane is perturbed and the descent continues from
           there; a plane that is not worse is kept, occasionally a worse one.
           The rows are signed, centered and scaled to size one. If a copy of them is small, it is also rotated and stretched,
           so that scores change equally along all lines; otherwise rows are read in blocks.
Guarantee  none on the number of errors; the errors of the resulting plane are counted exactly, on the given rows.
Reference  L. Li and H.-T. Lin, Optimizing 0/1 loss for perceptrons by random coordinate descent, IJCNN (2007); iterated local
           search: H. R. Lourenco, O. C. Martin and T. Stuetzle, Handbook of Metaheuristics (2003).
"""

from __future__ import annotations

import time

import numpy as np

from ...array_types import FloatArray, IntArray
from ...data.problem import Problem, dense_array
from ...kernels.linear.rows import Dense
from ...kernels.linear.zero_one import search_lines
from ...svm.dual_coordinates import Descent as Multipliers
from ...svm.problem import BinarySVM
from .exact_signs import BYTES_PER_BLOCK, FloatPlane, plane_with_errors

MIN_COPY_BYTES, COPY_SHARE = 1 << 25, 0.1  # a copy may take the larger of these bytes and this share of the rows
MAX_ROTATION_WORK = 2e8  # rows * columns * min(rows, columns): about 0.1 s
MIN_EXTENT = 1e-13  # directions with a smaller share of the largest extent are dropped
MAX_EXPONENT = 1000  # weights above 2^MAX_EXPONENT are near overflow
IDLE_ROUNDS = 3  # rounds without a better plane before the plane is perturbed
WORSE_PROBABILITY = 0.02  # probability of keeping a worse plane
MAX_LINES = 192  # lines in a round
REACH_EXPONENTS = (-1.0, 0.0)  # range of the log10 of the step length along a line, in mean scores
SECONDS_PER_FIT_WORK = 2.5e-10  # of least squares: rows * columns * min(rows, columns)
START_PASSES = 20  # passes of the soft-margin solver that finds the first plane for many rows


class LineSpace:
    """z_i = y_i ((x_i - center) 2^-exponent, 1), without the last coordinate for planes through the origin.

    A line is a vector v; a step of 1 along it adds z_i . v to the score of row i, or z_i . (back v) if the rows are rotated.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem, self.free = problem, problem.x0 != 0
        self.signs = np.asarray(problem.signs, np.float64)
        self.step = max(1, int(BYTES_PER_BLOCK / (8 * max(1.0, problem.density))))
        self.copy_bytes = int(max(MIN_COPY_BYTES, COPY_SHARE * problem.rows.values.nbytes))
        n, self.width = problem.n_rows, problem.n_features + int(self.free)
        small = 8 * self.width * n <= self.copy_bytes
        rotated = small and n * self.width * min(n, self.width) <= MAX_ROTATION_WORK
        self.center, extent = self._center_and_extent(self.free and (rotated or isinstance(problem.rows, Dense)))
        self.exponent = np.where(extent > 0, np.frexp(extent)[1], 0)
        self.varies = extent > 0
        self.near: FloatArray | None = self._copy() if small else None
        self.back: FloatArray | None = None
        self.along: FloatArray | None = None
        if rotated and self.near is not None:
            self._rotate(self.near)

    def _center_and_extent(self, centered: bool) -> tuple[FloatArray, FloatArray]:
        problem = self.problem
        low, high = np.full(problem.n_features, np.inf), np.full(problem.n_features, -np.inf)
        for start in range(0, problem.n_rows, self.step):
            block = problem.matrix(start, start + self.step)
            least, most = block.min(axis=0), block.max(axis=0)
            if not isinstance(problem.rows, Dense):
                least, most = least.toarray().ravel(), most.toarray().ravel()
            np.minimum(low, least, out=low)
            np.maximum(high, most, out=high)
        center = low / 2 + high / 2 if centered else np.zeros_like(low)
        return center, np.maximum(high - center, center - low)

    def _copy(self) -> FloatArray:
        """The rows z_i as columns x rows, so that a line along a column is contiguous."""
        out = np.ones((self.width, self.problem.n_rows))
        for start in range(0, self.problem.n_rows, self.step):
            block = dense_array(self.problem.matrix(start, start + self.step)).astype(np.float64)
            out[: len(self.center), start : start + self.step] = np.ldexp(block - self.center, -self.exponent).T
        return out * self.signs

    def _rotate(self, near: FloatArray) -> None:
        """Replace `near` by the right factor of its singular value decomposition: orthogonal coordinates of equal length."""
        axes, lengths, rows = np.linalg.svd(near, full_matrices=False)
        if not lengths[0] > 0:
            return
        kept = lengths > MIN_EXTENT * lengths[0]
        stretch, axes = lengths[kept] / np.sqrt(self.problem.n_rows), axes[:, kept]
        self.near, self.back, self.along = rows[kept] * np.sqrt(self.problem.n_rows), axes / stretch, axes * stretch
        self.width = int(kept.sum())

    def columns(self, n_lines: int, rng: np.random.Generator) -> FloatArray:
        """Up to `n_lines` lines, each along a column of the given rows."""
        m = self.width if self.along is None else len(self.along)
        chosen = rng.permutation(m)[:n_lines]
        if self.along is not None:
            return np.asarray(self.along[chosen])
        lines = np.zeros((len(chosen), m))
        lines[np.arange(len(chosen)), chosen] = 1.0
        return lines

    def products(self, lines: FloatArray) -> FloatArray:
        """The change of the signed score of each row by a step of 1 along each line: lines x rows."""
        if self.near is not None:
            return np.ascontiguousarray(lines @ self.near)
        coef, bias = self.weights(lines)
        out = np.empty((len(lines), self.problem.n_rows))
        for start in range(0, self.problem.n_rows, self.step):
            block = self.problem.matrix(start, start + self.step).astype(np.float64, copy=False)
            out[:, start : start + self.step] = (block @ coef.T).T + bias[:, None]
        out *= self.signs
        return out

    def weights(self, lines: FloatArray) -> tuple[FloatArray, FloatArray]:
        """One or more lines as weights and biases for the given rows, up to a common power of two."""
        lines = lines if self.back is None else lines @ self.back.T
        d = len(self.center)
        shift = max(0, int((-self.exponent).max(initial=0)) - MAX_EXPONENT)
        with np.errstate(over="ignore", under="ignore"):
            # Constant columns get no weight: rounding would change the bias by their size.
            slopes = np.where(self.varies, lines[..., :d], 0.0)
            coef = np.ldexp(slopes, -self.exponent - shift)
            if not self.free:
                return coef, np.zeros(lines.shape[:-1])
            bias = lines[..., d] - slopes @ np.where(self.varies, np.ldexp(self.center, -self.exponent), 0.0)
            return coef, np.ldexp(bias, -shift)

    def rows(self, wanted: IntArray) -> FloatArray:
        """The rows z_i at the positions `wanted` as lines; without signs if there is no copy."""
        if self.near is not None:
            return np.asarray(self.near[:, wanted].T)
        rows = np.array([dense_array(self.problem.matrix(i, i + 1))[0] for i in wanted.tolist()], np.float64)
        scaled = np.ldexp(rows - self.center, -self.exponent)
        return np.column_stack([scaled, np.ones(len(rows))]) if self.free else scaled


# --- the search ------------------------------------------------------------------------------------------------------------


class Search:
    """The iterated local search; `best` is the best plane so far."""

    def __init__(self, problem: Problem, seed: int, deadline: float) -> None:
        self.problem, self.deadline = problem, deadline
        self.rng = np.random.default_rng(seed)
        self.space = LineSpace(problem)
        n, m = problem.n_rows, self.space.width
        self.lines = max(1, min(3 * m, MAX_LINES, self.space.copy_bytes // (8 * n)))
        self._keys, self._marks = np.empty(n), np.empty(n, np.int8)
        self._stack, self._seed = np.empty(256, np.int64), self.rng.integers(1, 2**64, 1, np.uint64)
        self.best = self._constant_plane()
        self._current, self._errors = self._start(), n + 1
        self._fresh = True

    def _constant_plane(self) -> FloatPlane:
        """Zero weights and, if there is a bias, all rows on the side of the larger class."""
        d = self.problem.n_features
        bias = float(np.sign(self.space.signs.sum()) or -1.0) if self.space.free else 0.0
        return plane_with_errors(self.problem, np.zeros(d), bias)

    def _start(self) -> FloatArray:
        """The first line: least squares, or for many rows or little time a few passes of a soft-margin solver."""
        if self.space.near is not None and self.space.back is not None:
            return np.asarray(self.space.near.mean(axis=1))  # least squares in orthogonal coordinates
        if self.space.near is not None and self._fits_in_time():
            return np.asarray(np.linalg.lstsq(self.space.near.T, np.ones(self.problem.n_rows), rcond=None)[0])
        rows, signs, n = self.problem.rows, self.problem.signs, self.problem.n_rows
        svm = BinarySVM(rows, signs, np.ones(n), False, float(self.space.free), self.space.free)
        with np.errstate(all="ignore"):
            size = float(svm.lengths().mean())
            svm = BinarySVM(rows, signs, np.full(n, 10.0 / size), False, float(self.space.free), self.space.free)
            run = Multipliers(svm, 0)
            for _ in range(START_PASSES):
                if time.perf_counter() > self.deadline:
                    break
                run.descend(1)
            w, b = run.dual.w, float(run.dual.v[0] * run.dual.x0 + run.dual.b[0])
            line = np.ldexp(w, self.space.exponent)
            if self.space.free:
                line = np.append(line, b + float(w @ self.space.center))
        return line if np.isfinite(line).all() and line.any() else self.rng.standard_normal(self.space.width)

    def _fits_in_time(self) -> bool:
        """Whether least squares, which cannot be interrupted, ends before the deadline."""
        n, m = self.problem.n_rows, self.space.width
        seconds = SECONDS_PER_FIT_WORK * n * m * min(n, m)
        return m <= max(MAX_LINES, n) and time.perf_counter() + seconds < self.deadline

    def run(self, rounds: int, target: int) -> int:
        """Run up to `rounds` rounds, until the deadline or `target` errors; return the number of rounds."""
        for done in range(rounds):
            if self.best.errors <= target or time.perf_counter() > self.deadline:
                return done
            self._round()
        return rounds

    def _round(self) -> None:
        if self._fresh:
            self._trial = self._current if self._errors > len(self.space.signs) else self._perturbed()
            self._least: tuple[int, FloatArray] | None = None
            self._idle, self._fresh = 0, False
        errors, line = self._descend(self._trial)
        self._trial = line
        if self._least is None or errors < self._least[0]:
            self._least, self._idle = (errors, line), 0
            if errors < self.best.errors:
                coef, bias = self.space.weights(line)
                self.offer(plane_with_errors(self.problem, coef, float(bias)))
        else:
            self._idle += 1
        if self._idle >= IDLE_ROUNDS:
            errors, line = self._least
            if errors <= self._errors or self.rng.random() < WORSE_PROBABILITY:
                self._errors, self._current = errors, line
            self._fresh = True

    def offer(self, plane: FloatPlane) -> None:
        """Keep a plane if it is better than the best so far."""
        if plane.errors < self.best.errors and np.isfinite(plane.coef).all() and np.isfinite(plane.bias):
            self.best = plane

    def _perturbed(self) -> FloatArray:
        m, size = self.space.width, float(np.linalg.norm(self._current))
        change = 10.0 ** self.rng.uniform(-2, 0) * size / np.sqrt(m) * self.rng.standard_normal(m)
        return np.asarray(self._current + change)

    def _descend(self, line: FloatArray) -> tuple[int, FloatArray]:
        """One round of lines, in random order: the errors, counted in floats, and the new line."""
        m, k = self.space.width, self.lines
        scores = self.space.products(line[None])[0]
        some, rows = -(-k // 3), np.flatnonzero(scores <= 0)
        if not len(rows) or self.space.back is None:  # misclassified rows do not help if there are many
            rows = np.arange(len(scores))
        others = np.concatenate([self.rng.standard_normal((some, m)), self.space.rows(self.rng.choice(rows, some))])
        lines = np.concatenate([self.space.columns(some, self.rng), others])
        P, steps = self.space.products(lines), np.zeros(len(lines))
        order, reach = self.rng.permutation(len(lines)), 10.0 ** self.rng.uniform(*REACH_EXPONENTS)
        search_lines(P, order, scores, steps, self._keys, self._marks, self._stack, reach, self._seed)
        line = line + steps @ lines
        size = abs(line).max()
        if not (0.0 < size < np.inf):
            line = self.rng.standard_normal(m)
            size = abs(line).max()
        line = line / size
        return int((self.space.products(line[None])[0] <= 0).sum()), line
