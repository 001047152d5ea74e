"""The perceptron convergence proof, checked along one run.

Problem    did this run satisfy the inequalities of the proof, and how close did it come to them?
Update     |w_t|^2 and <w_t, u> for t = 0..T follow from the log, without storing every w_t: w_{t+1} = w_t + tau v with v = y p
           (with k classes, v has p at the row's class and -p at the rival), so that
               |w_{t+1}|^2 = |w_t|^2 + 2 tau <w_t, v> + tau^2 |v|^2,   <w_{t+1}, u> = <w_t, u> + tau <v, u>.
           Within a block of updates <w_t, v> follows from the weights before the block and the Gram matrix of its rows.
Guarantee  with R the longest row, u a unit vector that separates the rows with margin gamma, steps tau_s, update margin b, and
           G the steps that were made at once (one, or those of a batch step):
               |w_t|^2  <=  |w_0|^2 + R^2 sum_G (sum of its tau)^2 + 2 b sum of tau     (t R^2 from zero with steps of 1)
               <w_t, u> >=  <w_0, u> + gamma sum of tau                                 (t gamma)
           and <w_t, u> <= |w_t| bounds t. With k > 2 classes |W|^2/2, <W, U>/sqrt(2) and b/2 stand for |w|^2, <w, u> and b,
           so that the bounds have the same form.
Reference  A. Novikoff, Symp. Math. Theory of Automata (1962); a margin: W. Krauth and M. Mezard, J. Physics A 20 (1987).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ..array_types import Array, FloatArray, IntArray, Matrix
from ..certificates.exact_numbers import Interval
from ..certificates.statements import Certificate, Separable, Undecided
from ..data.problem import Problem, as_heads, copy_state, take_rows
from ..kernels.linear.rows import Dense
from ..kernels.linear.schemes import Binary, Joint, State
from ..online.training_rows import MissingRowsError
from ..online.update_log import UpdateLog
from ..parallel import one_blas_thread
from ..reporting.text import plural, short
from .hypothesis import Hypothesis, row_lengths
from .run_proofs import certificate_for

if TYPE_CHECKING:
    from matplotlib.axes import Axes

UNKNOWN: Any = object()  # no certificate was computed yet; None: the rows are of one class
RELATIVE_TOL = 1e-9
# Close to Okabe and Ito's blue and vermillion: distinguishable by color-blind readers, visible on white and on black.
RUN_COLOR, BOUND_COLOR = "#2E8BC9", "#D55E00"
MAX_PLOT_POINTS = 2000

TwoAxes: TypeAlias = "npt.NDArray[np.object_]"
UPDATES_PER_BLOCK = 128  # updates that share one Gram matrix
MAX_DENSE_COLUMNS = 1024  # up to this width the sparse rows of a block are multiplied as a dense array, which is faster
Direction = tuple[FloatArray, FloatArray]  # heads x features, and weight 0 of each head


@dataclass(frozen=True)
class Convergence:
    """Both sides of the two inequalities of the convergence proof, after t = 0..T updates of a run.

    Parameters
    ----------
    norms_squared : array of shape (T + 1,)
        |w_t|^2.
    norm_bound : array of shape (T + 1,)
        The upper bound on |w_t|^2.
    alignments : array of shape (T + 1,) or None
        <w_t, u>; None if no separating u is known.
    alignment_bound : array of shape (T + 1,) or None
        The lower bound on <w_t, u>; None if no separating u is known.
    mistakes : int
        The number of row updates. A batch step updates with many rows: then t counts steps, and this counts rows.
    mistake_bound : Interval or None
        The bound on the mistakes of any run with the same start and the same constant step: proved, or (0, upper) if w_0 is not
        zero or gamma is not the widest margin. None if steps differ or no separating u is known.
    radius : float
        R, in the space of this run's rows (x_0, x).
    gamma : float or None
        The margin of u in that space.
    widest : bool
        Whether u has the widest margin, up to rounding.
    certificate : Separable, Inseparable, Undecided or None
        The certificate of the rows; None if they are of one class.
    rounding : float, default=2.2e-16
        The relative rounding error of one update.

    Attributes
    ----------
    holds : bool
        Whether both inequalities hold at every t, up to rounding.

    See Also
    --------
    rosenblatt.Perceptron : The attribute `convergence_` of a fitted perceptron is a list of such reports.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> model = rb.Perceptron(order="cyclic").fit([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1])
    >>> (report,) = model.convergence_
    >>> report.holds, report.mistakes <= report.mistake_bound.upper
    (True, True)
    """

    norms_squared: FloatArray = field(repr=False)
    norm_bound: FloatArray = field(repr=False)
    alignments: FloatArray | None = field(repr=False)
    alignment_bound: FloatArray | None = field(repr=False)
    mistakes: int
    mistake_bound: Interval | None
    radius: float
    gamma: float | None
    widest: bool
    certificate: Certificate | None = field(repr=False)
    rounding: float = field(default=float(np.finfo(np.float64).eps), repr=False)

    @property
    def holds(self) -> bool:
        """Whether both inequalities hold at every t, up to rounding."""
        tolerance = RELATIVE_TOL + self.rounding * np.arange(len(self.norms_squared))
        holds = not (self.norms_squared > self.norm_bound * (1.0 + tolerance)).any()  # NaN after an overflow refutes nothing
        if self.alignments is None or self.alignment_bound is None:
            return holds
        least = self.alignment_bound
        size = np.maximum(np.sqrt(np.maximum(self.norms_squared, 0.0)), abs(least))
        return holds and not (self.alignments < least - tolerance * size).any()

    def __str__(self) -> str:
        mistakes = f"The run made {plural(self.mistakes, 'mistake')}"
        if self.mistake_bound is not None:
            mistakes += f"; at most {short(self.mistake_bound.upper, 6)} are possible"
        norm = f"|w|^2 reached {short(self.norms_squared[-1], 6)} (upper bound {short(self.norm_bound[-1], 6)})"
        if self.alignments is None or self.alignment_bound is None:
            known = "No separating u is known" if isinstance(self.certificate, Undecided) else "No u separates the rows"
            failed = "" if self.holds else " The inequality is VIOLATED."
            return f"{mistakes}. {norm}. {known}, so the number of mistakes is not bounded.{failed}"
        alignment = f"<w, u> reached {short(self.alignments[-1], 6)} (lower bound {short(self.alignment_bound[-1], 6)})"
        holds = "Both inequalities hold at every update." if self.holds else "An inequality is VIOLATED."
        return f"{mistakes}. {norm}, and {alignment}. {holds}"

    def plot(self, ax: TwoAxes | None = None) -> TwoAxes:
        """Plot both inequalities over t.

        Parameters
        ----------
        ax : array of two matplotlib axes or None, default=None
            The axes for the two inequalities. None: a new figure.

        Returns
        -------
        array of two matplotlib axes
            The axes.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        return plot_convergence(self, ax)


def convergence(
    log: UpdateLog, classes: Array, b: float, certificate: Certificate | None = UNKNOWN, step: float | None = None
) -> Convergence:
    """The report of a binary or joint run with update margin b; the certificate of its rows is computed if none is given.
    `step` is the constant step for rows of weight 1, which a run without updates does not show."""
    try:
        log = log._whole()
    except MissingRowsError:
        if not (log.is_compact and _same_space(log, classes, certificate)):
            raise
    record = log._record
    problem, half = record.problem, 1.0 if isinstance(record.labels, Binary) else 0.5
    certificate = certificate_for(problem, classes) if certificate is UNKNOWN else certificate
    separable = certificate if isinstance(certificate, Separable) else None
    direction, gamma, widest = (None, None, False) if separable is None else _separator(log, classes, separable)
    longest = (
        separable.radius
        if separable is not None and widest
        else float(row_lengths(_visited(problem, problem.matrix()), problem.x0).max())
    )
    found = trajectory(log, direction)
    edges, sums = record.edges, np.concatenate([[0.0], np.cumsum(log.steps)])
    with np.errstate(over="ignore", invalid="ignore"):
        steps = np.add.reduceat(log.steps, edges[:-1]) if record.grouped and len(log) else log.steps
        squares = np.concatenate([[0.0], np.cumsum(np.square(steps))])
        bound = found.norms_squared[0] * half + longest * longest * squares + 2.0 * half * b * sums[edges]
    root = math.sqrt(half)
    alignments = None if found.alignments is None else found.alignments * root
    least = None if alignments is None or gamma is None else alignments[0] + gamma * sums[edges]
    rounding = float(np.finfo(record.start.w.dtype).eps)
    start = (found.norms_squared[0] * half, None if alignments is None else float(alignments[0]))
    most = _bound(log, separable, gamma, widest, longest, half * b, start, step)
    return Convergence(
        found.norms_squared * half, bound, alignments, least, len(log), most, longest, gamma, widest, certificate, rounding
    )


def _same_space(log: UpdateLog, classes: Array, certificate: Certificate | None) -> bool:
    """Whether a certificate is about the rows of the run, (1, x) or x, and all its classes."""
    x0 = log._record.rows_source.x0
    return isinstance(certificate, Separable) and x0 in (0.0, 1.0) and len(certificate.about.classes) == len(classes)


def _visited(problem: Problem, values: Any) -> Any:
    """The values of the rows with positive weight."""
    return values if problem.visited is None else values[problem.visited]


def _separator(log: UpdateLog, classes: Array, certificate: Separable) -> tuple[Direction, float, bool]:
    """A unit vector that separates in the space of the run, its margin, and whether this is the widest."""
    d, x0, exact = log._record.problem.n_features, log._record.problem.x0, _same_space(log, classes, certificate)
    best: tuple[Direction, float] | None = None
    for margin in (certificate.augmented,) if exact else (certificate.augmented, certificate.geometric):
        planes: FloatArray = np.array([plane.coef(d) for plane in margin.planes])
        weights_0: FloatArray = np.array([float(plane.intercept) for plane in margin.planes]) / (x0 or 1.0)
        if len(classes) > 2:
            planes, weights_0 = _for_all_classes(log, planes, weights_0)
        scale = 2.0 ** -float(np.frexp(max(abs(planes).max(), abs(weights_0).max()))[1])
        norm = float(np.linalg.norm(np.append(planes * scale, weights_0 * scale)))
        planes, weights_0 = planes * scale / norm, weights_0 * scale / norm
        gamma = margin.lower if exact else _margin_on_run(log, planes, weights_0)
        if best is None or gamma > best[1]:
            best = ((planes, weights_0), gamma)
    assert best is not None
    return *best, exact


def _for_all_classes(log: UpdateLog, planes: FloatArray, weights_0: FloatArray) -> Direction:
    """Weight vectors for every class of a joint run; a class without rows of positive weight gets the mean of the others."""
    record = log._record
    k = record.n_heads
    if len(planes) == k:
        return planes, weights_0
    assert isinstance(record.problem.labels, Joint)
    present = np.unique(_visited(record.problem, record.problem.labels.codes))
    if len(planes) == 1:
        planes, weights_0 = np.concatenate([-planes, planes]), np.concatenate([-weights_0, weights_0])
    every, every_0 = np.tile(planes.mean(axis=0), (k, 1)), np.full(k, weights_0.mean())
    every[present], every_0[present] = planes, weights_0
    return every, every_0


def _margin_on_run(log: UpdateLog, planes: FloatArray, weights_0: FloatArray) -> float:
    problem, labels = log._record.problem, log._record.problem.labels
    codes = (labels.signs > 0).astype(np.intp) if isinstance(labels, Binary) else labels.codes.astype(np.intp)
    rows, codes, x0 = _visited(problem, problem.matrix()), _visited(problem, codes), problem.x0 or 1.0
    return float(Hypothesis(planes, weights_0 * x0, x0, None).margins(rows, codes, "augmented").min())


def _bound(
    log: UpdateLog, certificate: Separable | None, gamma: float | None, widest: bool, longest: float, b: float,
    start: tuple[float, float | None], step: float | None,
) -> Interval | None:  # fmt: skip
    """Of all mistakes: T <= [p + sqrt(p^2 + 4 (c^2 - a^2))]/2, p = (G R^2 + 2b/tau)/gamma^2 - 2a, with G rows at once at most,
    a = <w_0, u>/(tau gamma) and c = |w_0|/(tau gamma)."""
    record = log._record
    taus, weights = np.unique(log.steps), record.problem.labels.weights
    weights = _visited(record.problem, weights) if weights.size else np.ones(1)
    taus = step * weights[:1] if step is not None and not len(taus) else taus
    if certificate is None or gamma is None or start[1] is None or gamma <= 0.0:
        return None
    if len(taus) != 1 or (weights != weights[0]).any():
        return None
    tau, at_once = float(taus[0]), certificate.about.n_rows if record.grouped else 1
    if widest and start[0] == 0.0 and at_once == 1 and b == 0.0:
        return Interval(*certificate.mistake_bound)
    ratio, a = longest / gamma, start[1] / tau / gamma
    p = at_once * ratio * ratio + 2.0 * b / tau / gamma / gamma - 2.0 * a
    upper = (p + math.sqrt(p * p + 4.0 * max(0.0, start[0] / tau / tau / gamma / gamma - a * a))) / 2.0
    return Interval(0.0, upper * (1.0 + 1e-9))


# --- norms and alignments along the run ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Trajectory:
    """|w_t|^2 and, if there is a direction u, <w_t, u>, for t = 0..T."""

    norms_squared: FloatArray
    alignments: FloatArray | None


def trajectory(log: UpdateLog, direction: Direction | None) -> Trajectory:
    """The trajectory of a binary or joint run."""
    state = copy_state(log._record.start)
    norms = np.empty(log.n_updates + 1)
    with one_blas_thread(), np.errstate(over="ignore", under="ignore", invalid="ignore"):
        norms[0] = _squared_norm(state)
        if log._record.grouped:
            _fill_norms_by_steps(log, state, norms)
        else:
            _fill_norms_by_blocks(log, state, norms)
        return Trajectory(norms, None if direction is None else _alignments(log, direction))


def _squared_norm(state: State) -> float:
    w = state.w.astype(np.float64, copy=False).ravel()
    return float(w @ w + state.bias @ state.bias)


def _fill_norms_by_steps(log: UpdateLog, state: State, norms: FloatArray) -> None:
    """Replay every batch step: it has many rows, so that the Gram matrix would save nothing."""
    edges = log._record.edges
    for t in range(1, len(norms)):
        log._record.advance(state, edges[t - 1 : t + 1])
        norms[t] = _squared_norm(state)


def _fill_norms_by_blocks(log: UpdateLog, state: State, norms: FloatArray) -> None:
    for start in range(0, len(log), UPDATES_PER_BLOCK):
        here = slice(start, min(start + UPDATES_PER_BLOCK, len(log)))
        rows, columns = _rows(log, here)
        heads, signs = as_heads(state.w, log._record.problem.rows), _signs(log, here)
        heads = (heads if columns is None else heads[:, columns]).astype(np.float64, copy=False)
        scores = rows @ heads.T + state.x0 * state.bias
        products = rows @ rows.T
        products = (products if isinstance(products, np.ndarray) else products.toarray()) + state.x0**2
        gram = (signs @ signs.T) * products  # <v_s, v_r>
        taus = np.asarray(log.steps[here])
        margins = (scores * signs).sum(axis=1) + np.tril(gram, -1) @ taus
        gains = 2.0 * taus * margins + taus**2 * np.diagonal(gram)
        norms[here.start + 1 : here.stop + 1] = norms[here.start] + np.cumsum(gains)
        log._record.apply(state, here)


def _alignments(log: UpdateLog, direction: Direction) -> FloatArray:
    record = log._record
    planes, weights_0 = direction
    start, step = record.start, 16 * UPDATES_PER_BLOCK
    first = float((as_heads(start.w, record.problem.rows) * planes).sum() + start.bias @ weights_0)
    gains = np.empty(len(log))
    for begin in range(0, len(log), step):
        here = slice(begin, min(begin + step, len(log)))
        rows, columns = _rows(log, here)
        scores = rows @ (planes if columns is None else planes[:, columns]).T + start.x0 * weights_0
        gains[here] = log.steps[here] * (scores * _signs(log, here)).sum(axis=1)
    return np.asarray(first + np.concatenate([[0.0], np.cumsum(gains)])[record.edges])


def _rows(log: UpdateLog, entries: slice) -> tuple[Matrix, IntArray | None]:
    """The rows of some entries in float64; of sparse rows only the columns with stored values, and which these are."""
    taken = take_rows(log._record.problem.rows, log._record.local_rows[entries])
    if isinstance(taken, Dense):
        return taken.values.astype(np.float64, copy=False), None
    columns, places = np.unique(taken.indices, return_inverse=True)
    values = taken.values.astype(np.float64, copy=False)
    rows = sp.csr_array((values, places, taken.indptr), shape=(len(taken.indptr) - 1, len(columns)))
    return (rows.toarray() if len(columns) <= MAX_DENSE_COLUMNS else rows), columns


def _signs(log: UpdateLog, entries: slice) -> FloatArray:
    """Entries x heads: +1 for the row's own head, -1 for its rival; with one head, y."""
    record = log._record
    labels, rows = record.problem.labels, record.local_rows[entries]
    if isinstance(labels, Binary):
        found: FloatArray = labels.signs[rows].astype(np.float64)[:, None]
        return found
    out, each = np.zeros((len(rows), record.n_heads)), np.arange(len(rows))
    out[each, labels.codes[rows]] = 1.0
    out[each, record.others[entries]] = -1.0
    return out


# --- plot ------------------------------------------------------------------------------------------------------------------


def plot_convergence(report: Convergence, ax: TwoAxes | None = None) -> TwoAxes:
    """Plot both inequalities of a report."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("convergence_.plot needs matplotlib: install rosenblatt[plot]") from error
    if ax is None:
        ax = pyplot.subplots(1, 2, figsize=(10.0, 4.2), layout="constrained")[1]
    if np.size(ax) != 2:
        raise ValueError(f"ax must be two matplotlib axes, one for each inequality, got {ax!r:.80}")
    left, right = np.ravel(ax)
    t = np.unique(np.linspace(0, len(report.norms_squared) - 1, MAX_PLOT_POINTS).round().astype(np.intp))
    every = np.arange(len(report.norms_squared))
    textbook = np.allclose(report.norm_bound, every * report.radius**2)  # from zero, with steps of 1 and no update margin
    limit = "at most $t R^2$" if textbook else "at most"
    _plot_inequality(left, t, report.norms_squared, report.norm_bound, "$|w_t|^2$", limit)
    left.set_title(f"length: R = {short(report.radius, 4)}", loc="left")
    if report.alignments is None or report.alignment_bound is None or report.gamma is None:
        right.set_axis_off()
        right.text(0.5, 0.5, "no plane separates the rows,\nso there is no $u$", ha="center", va="center", color=RUN_COLOR)
    else:
        limit = r"at least $t \gamma$" if textbook else "at least"
        _plot_inequality(right, t, report.alignments, report.alignment_bound, r"$\langle w_t, u \rangle$", limit)
        right.set_title(rf"direction: $\gamma$ = {short(report.gamma, 4)}", loc="left")
    return ax


def _plot_inequality(ax: Axes, t: IntArray, run: FloatArray, bound: FloatArray, name: str, limit: str) -> None:
    ax.plot(t, bound[t], color=BOUND_COLOR, linewidth=2.0, linestyle=(0, (5, 2)), label=limit)
    ax.plot(t, run[t], color=RUN_COLOR, linewidth=2.2, label=name)
    ax.spines[["top", "right"]].set_visible(False)
    ax.set(xlabel="updates $t$", xlim=(0, max(1, int(t[-1]))))
    ax.legend(frameon=False, loc="upper left")
