"""A direction that separates as many pairs as possible, in floats: linear programs over some of the rows.

Problem    vectors q, one for each pair of a row of class l and another class z, with <W, q> = (w_l - w_z).(1, x); the largest
           set of pairs that a W with <W, q> >= 0 for all pairs has strictly on its positive side. The rest is the face.
Update     maximize <W, sum of the q of the face> over <W, q> >= 0 and |W| <= 1, coordinate by coordinate. If the maximum is
           positive, the pairs that W separates leave the face, and the program is solved again; else the multipliers of its
           constraints bring the sum of the face to zero. Each program begins with some pairs; those that W violates are added.
           At the end the sum of absolute weights is minimized, and columns are left out while the others separate.
Guarantee  none: `exact_face.py` makes the result exact, and the checker of certificates decides.
Reference  K. Konis, Linear programming algorithms for detecting separated data in binary logistic regression (2007).
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp
from scipy.optimize import OptimizeResult, linprog

from ..array_types import BoolArray, FloatArray, IntArray, Matrix
from ..certificates.time_limit import OutOfTimeError, check_time
from .exact_margins import column_exponents, scaled

VALUES_PER_BLOCK = 1 << 19
FIRST_PAIRS_PER_WEIGHT, MIN_FIRST_PAIRS = 3, 2000  # pairs of the first program, evenly spread
ADDED_PAIRS = 1000  # violated pairs that are added at a time
SLACK = 1e-9  # a pair is violated if its product, relative to the length of its row, is below minus this
TINY = 1e-7  # a pair is separated if it is above this
MAX_ROUNDS = 200
NEGLIGIBLE = 1e-11  # weights below this share of the largest are noise of the linear program
MAX_DROP_WORK = 60_000_000  # pairs times weights^2 of the programs that leave out columns: about two seconds
INFEASIBLE = 2  # the status of SciPy's `linprog`
TOLERANCES = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


class ClassPairs:
    """The vectors q of all pairs, on demand. The weights of the first class are zero: only differences between classes count.

    Columns are scaled by powers of two and, if they are dense and there is an intercept, centered: `center` is subtracted
    before `exponents` are. With two classes, q is y (1, x).
    """

    def __init__(self, X: Matrix, codes: IntArray, n_classes: int, intercept: bool) -> None:
        self.X, self.codes, self.k, self.intercept = X, np.asarray(codes, np.intp), n_classes, intercept
        self.center: FloatArray = np.zeros(X.shape[1])
        if intercept and isinstance(X, np.ndarray):
            low, high = X.min(axis=0).astype(np.float64), X.max(axis=0).astype(np.float64)
            self.center = low / 2 + high / 2
            self.exponents = np.frexp(np.maximum(high - self.center, self.center - low))[1].astype(np.int64)
        else:
            self.exponents = column_exponents(X)
        self.width = X.shape[1] + intercept
        self.n_weights = (n_classes - 1) * self.width
        self.own = np.zeros((X.shape[0], n_classes), bool)
        self.own[np.arange(X.shape[0]), self.codes] = True
        self.sizes: FloatArray = np.concatenate(
            [np.asarray(abs(block).sum(axis=1)).ravel() + intercept for _, block in self.blocks()]
        )
        self.sizes[self.sizes == 0] = 1.0

    @property
    def all(self) -> BoolArray:
        """The mask of all pairs, by row and class."""
        return ~self.own

    def blocks(self) -> Iterator[tuple[slice, Matrix]]:
        """The centered and scaled rows in blocks, without their ones."""
        for here, block in self.raw_blocks():
            yield here, self._scaled(block)

    def raw_blocks(self) -> Iterator[tuple[slice, Matrix]]:
        """The rows in blocks, without their ones."""
        n_rows = self.X.shape[0]
        n_values = self.X.size if isinstance(self.X, np.ndarray) else self.X.nnz
        step = max(1, VALUES_PER_BLOCK * n_rows // max(1, n_values))
        for start in range(0, n_rows, step):
            check_time()
            here = slice(start, min(n_rows, start + step))
            yield here, self.X[here]

    def _scaled(self, block: Matrix) -> Matrix:
        return scaled(block - self.center if isinstance(block, np.ndarray) else block, -self.exponents)

    def distances(self, W: FloatArray) -> FloatArray:
        """<W, q> over the length of the row, by row and class; infinite for a row's own class."""
        U = W.reshape(self.k - 1, self.width)
        out = np.empty(self.own.shape)
        for here, block in self.blocks():
            scores = np.zeros((block.shape[0], self.k))
            scores[:, 1:] = block @ U[:, self.intercept :].T
            if self.intercept:
                scores[:, 1:] += U[:, 0]
            own = scores[np.arange(len(scores)), self.codes[here]]
            out[here] = (own[:, None] - scores) / self.sizes[here, None]
        out[self.own] = np.inf
        return out

    def total(self, face: BoolArray) -> FloatArray:
        """The sum of q over the pairs of the face."""
        counts = self.counts(face)[:, 1:]
        sums: FloatArray = np.zeros((self.k - 1, self.width))
        for here, block in self.blocks():
            sums[:, self.intercept :] += (block.T @ counts[here]).T
        if self.intercept:
            sums[:, 0] = counts.sum(axis=0)
        return sums.ravel()

    def counts(self, face: BoolArray) -> FloatArray:
        """How often each row is added to each class, in the sum over the face."""
        counts = -face.astype(np.float64)
        counts[np.arange(len(counts)), self.codes] = face.sum(axis=1)
        return counts

    def unit_vectors(self, rows: IntArray, rivals: IntArray) -> sp.csr_array:
        """q over the lengths of the rows, of some pairs."""
        taken = sp.csr_array(self._scaled(self.X[rows]))
        if self.intercept:
            taken = sp.hstack([np.ones((len(rows), 1)), taken], format="csr")
        row_of = np.repeat(np.arange(len(rows)), np.diff(taken.indptr))
        parts = []
        for classes, sign in ((self.codes[rows], 1.0), (rivals, -1.0)):
            at = classes[row_of] - 1
            kept = at >= 0
            parts.append((sign * taken.data[kept], row_of[kept], at[kept] * self.width + taken.indices[kept]))
        values, where, places = (np.concatenate(part) for part in zip(*parts, strict=True))
        found = sp.csr_array((values / self.sizes[rows][where], (where, places)), shape=(len(rows), self.n_weights))
        found.eliminate_zeros()
        return found


class DirectionSearch:
    """The search for the face and for a direction that separates all other pairs, until `deadline` (of `time.monotonic`)."""

    def __init__(self, pairs: ClassPairs, deadline: float) -> None:
        self.pairs, self.deadline = pairs, deadline
        self.face, self.active = pairs.all, pairs.own & False  # active: the pairs of the last programs
        self.direction: FloatArray = np.zeros(pairs.n_weights)
        self.support: tuple[IntArray, IntArray] = (np.zeros(0, np.intp), np.zeros(0, np.intp))

    def run(self) -> None:
        """Find `face`, `direction` and `support`, the pairs of the face whose multipliers are positive."""
        while self.face.any():
            W = self._improve()
            if W is None:
                return
            distances = self.pairs.distances(W)
            separated = self.face & (distances > TINY)
            if not separated.any():
                return
            self._add(W, distances)
            self.face &= ~separated

    def _add(self, W: FloatArray, distances: FloatArray) -> None:
        """Add a share of W to the direction that leaves the pairs separated that it separates."""
        before, outside = self.pairs.distances(self.direction), self.pairs.all & ~self.face
        falling = outside & (distances < 0)
        share = 0.5 * float((before[falling] / -distances[falling]).min(initial=2.0))
        self.direction = self.direction + share * W

    def _improve(self) -> FloatArray | None:
        """The direction on which the sum of the face is largest; None, and `support`, if there is none."""
        goal = self.pairs.total(self.face)
        largest = abs(goal).max()
        if largest == 0:
            return None
        goal /= largest
        active = self._first(self.face)
        for _ in range(MAX_ROUNDS):
            rows, rivals = np.nonzero(active)
            A = self.pairs.unit_vectors(rows, rivals)
            found = self._solve(-goal, A_ub=-A, b_ub=np.zeros(len(rows)), bounds=(-1, 1))
            if found.status == INFEASIBLE:
                raise OutOfTimeError  # by rounding: zero weights satisfy all constraints
            W: FloatArray = found.x
            violated = self._violated(active, self.face, self.pairs.distances(W))
            if violated is not None:
                active |= violated
                continue
            if goal @ W > TINY:
                return W
            weights = -found.ineqlin.marginals
            used = weights > TINY * weights.max(initial=0.0)
            self.support = (rows[used], rivals[used])
            return None
        raise OutOfTimeError

    def minimize_weights(self) -> None:
        """Replace the direction by one with the least sum of absolute weights, if a linear program finds it."""
        outside = self.pairs.all & ~self.face
        self.active = self._first(outside) | self._first(self.face)
        if self.face.any():
            self.active[self.support] = True
        W = self._least_weights(np.ones(self.pairs.width, bool))
        if W is None:
            raise OutOfTimeError
        self.direction = W

    def drop_columns(self) -> None:
        """Leave out columns, those of small weights first, while the others separate: none of the rest can be left out.

        Takes at most half of the time that is left. Of wide rows some columns may stay that could be left out.
        """
        deadline, now, work = self.deadline, time.monotonic(), 0
        self.deadline = now + (deadline - now) / 2
        weights = abs(self.direction.reshape(self.pairs.k - 1, self.pairs.width)).sum(axis=0)
        try:
            for column in np.argsort(weights, kind="stable").tolist():
                used = self._used_columns()
                if column < self.pairs.intercept or not used[column]:
                    continue
                used[column] = False
                work += int(self.active.sum()) * (int(used.sum()) * (self.pairs.k - 1)) ** 2
                if work > MAX_DROP_WORK:
                    return
                W = self._least_weights(used)
                if W is not None:
                    self.direction = W
        except OutOfTimeError:
            pass  # the direction so far separates
        finally:
            self.deadline = deadline

    def _used_columns(self) -> BoolArray:
        """The columns with a weight, and the intercept."""
        weights = abs(self.direction.reshape(self.pairs.k - 1, self.pairs.width)).max(axis=0)
        used: BoolArray = weights > NEGLIGIBLE * weights.max()
        used[: int(self.pairs.intercept)] = True
        return used

    def _least_weights(self, columns: BoolArray) -> FloatArray | None:
        """The direction with the least sum of absolute weights in some columns; None if no direction there separates."""
        if not columns.any():
            return None
        outside, kept = self.pairs.all & ~self.face, np.tile(columns, self.pairs.k - 1)
        costs = np.ones((self.pairs.k - 1, self.pairs.width))
        costs[:, : int(self.pairs.intercept)] = 0.0
        for _ in range(MAX_ROUNDS):
            rows, rivals = np.nonzero(self.active)
            A = self.pairs.unit_vectors(rows, rivals)[:, kept]
            least = outside[rows, rivals].astype(np.float64)
            prices = np.tile(costs.ravel()[kept], 2)
            found = self._solve(prices, A_ub=sp.hstack([-A, A]), b_ub=-least, bounds=(0, None))
            if found.status == INFEASIBLE:
                return None
            W = np.zeros(len(kept))
            W[kept] = found.x[: A.shape[1]] - found.x[A.shape[1] :]
            distances = self.pairs.distances(W)
            distances[outside] -= 1.0 - TINY
            violated = self._violated(self.active, self.pairs.all, distances)
            if violated is None:
                return W
            self.active |= violated
        raise OutOfTimeError

    def _first(self, mask: BoolArray) -> BoolArray:
        """Some pairs of the mask, evenly spread."""
        places = np.flatnonzero(mask)
        n_first = max(MIN_FIRST_PAIRS, FIRST_PAIRS_PER_WEIGHT * self.pairs.n_weights)
        if len(places) > n_first:
            places = places[np.linspace(0, len(places) - 1, n_first).astype(np.intp)]
        out = np.zeros(mask.shape, bool)
        out.flat[places] = True
        return out

    @staticmethod
    def _violated(active: BoolArray, mask: BoolArray, distances: FloatArray) -> BoolArray | None:
        """The pairs of the mask that are violated most and not active; None if there are none."""
        places = np.flatnonzero(mask & ~active & (distances < -SLACK))
        if len(places) == 0:
            return None
        worst = np.argsort(distances.flat[places], kind="stable")[:ADDED_PAIRS]
        out = np.zeros(mask.shape, bool)
        out.flat[places[worst]] = True
        return out

    def _solve(self, costs: FloatArray, **constraints: object) -> OptimizeResult:
        check_time()
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise OutOfTimeError
        options: dict[str, object] = dict(TOLERANCES)
        if left < np.inf:
            options["time_limit"] = left
        found = linprog(costs, method="highs", options=options, **constraints)
        if found.status not in (0, INFEASIBLE):
            raise OutOfTimeError
        return found
