"""Progress callbacks for long fits.

Every iterative fit reports to one channel: a callback that `progress_callback` installs for a block of code. Online learners
report after each pass and, during long passes, after each call of the kernel; solvers report after each iteration, and the
mail filter after each mail.
`verbose=1` of an estimator uses the same channel: it adds a callback that writes a line to standard error.

Estimators have no parameter for a callback, because progress does not affect the result and is not part of a model. The
callback applies to all fits in the block, including those inside a pipeline or a search that runs in the same process.
scikit-learn's own callbacks (`sklearn.callback`, scikit-learn 1.9) are set on one estimator with `set_callbacks`, and receive a
context, the data and a fitted copy of the estimator: see `estimators/callbacks.py`. A `Progress` holds numbers only, so it is
cheap to create.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from threading import Lock
from typing import Literal, TypeAlias

from .reporting.text import count, plural, short
from .safe_text import printable


@dataclass(frozen=True)
class Progress:
    """The progress of a fit, as passed to a callback.

    Parameters
    ----------
    passes : int
        Completed passes of an online learner; completed passes or iterations of a solver.
    updates : int, default=0
        Updates made so far, over all binary problems.
    last : int, default=0
        Updates of the last pass, or of the current pass so far.
    heads : tuple of int, default=()
        Positions of the binary problems that are reported, when they are not all solved together.
    visited : int, default=0
        Rows visited in the current pass, or mails read; 0 when a pass has just ended.
    rows : int, default=0
        Rows in a pass; 0 if unknown.
    max_iter : int or None, default=None
        The limit on passes or iterations, if there is one.
    gap : float or None, default=None
        What a solver reduces to its tolerance, if it is known.
    measure : {"gap", "gradient"}, default="gap"
        What `gap` is: a relative duality gap, or the largest partial derivative.
    text : str, default=""
        A short description, if the numbers are not enough.
    work : str, default=""
        Of a fit on blocks, the rows visited a second and what was sent to and from the workers.

    See Also
    --------
    progress_callback : Install a callback that receives these.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> progress = rb.Progress(passes=2, updates=5, last=3)
    >>> print(progress)
    pass 2: 3 updates, 5 in total
    >>> progress.ended_pass
    True
    """

    passes: int
    updates: int = 0
    last: int = 0
    heads: tuple[int, ...] = ()
    visited: int = 0
    rows: int = 0
    max_iter: int | None = None
    gap: float | None = None
    measure: Literal["gap", "gradient"] = "gap"
    text: str = ""
    work: str = ""

    @property
    def ended_pass(self) -> bool:
        """Whether a pass or an iteration has just ended."""
        return self.visited == 0

    def __str__(self) -> str:
        return f"{self._state}; {self.work}" if self.work else self._state

    @property
    def _state(self) -> str:
        heads = ""
        if self.heads:
            first, last = self.heads[0] + 1, self.heads[-1] + 1
            heads = f"problem {first}, " if first == last else f"problems {first} to {last}, "
        if self.gap is not None:
            more = f", {self.text}" if self.text else ""
            return f"{heads}iteration {self.passes}: {self.measure} {short(self.gap)}{more}"
        if self.text:
            return f"{heads}{self.text}"
        current = self.passes if self.ended_pass else self.passes + 1
        return f"{heads}pass {current}: {plural(self.last, 'update')}, {count(self.updates)} in total"


ProgressCallback: TypeAlias = Callable[[Progress], None]
_callback: ContextVar[ProgressCallback | None] = ContextVar("rosenblatt_progress_callback", default=None)


@contextmanager
def progress_callback(callback: ProgressCallback) -> Iterator[None]:
    """Call `callback` with the progress of every fit in a `with` block.

    Worker threads of a fit use the same callback, one thread at a time. An exception raised by the callback ends the fit
    and is raised by `fit`; the estimator stays as it was before.

    Parameters
    ----------
    callback : callable
        Called with one argument, a `Progress`. Its return value is ignored.

    Yields
    ------
    None
        The `with` statement binds nothing.

    See Also
    --------
    Progress : The argument of the callback.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> def show(progress):
    ...     print(progress)
    >>> with rb.progress_callback(show):
    ...     model = rb.Perceptron(order="cyclic", max_iter=2).fit([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1])
    pass 1: 2 updates, 2 in total
    pass 2: 3 updates, 5 in total
    """
    lock = Lock()

    def call(progress: Progress) -> None:
        with lock:
            callback(progress)

    token = _callback.set(call)
    try:
        yield
    finally:
        _callback.reset(token)


def current_callback(verbose: bool = False) -> ProgressCallback | None:
    """The installed callback, or None; with `verbose`, one that also writes a line per pass to standard error."""
    installed = _callback.get()
    if not verbose:
        return installed

    def write(progress: Progress) -> None:
        if progress.ended_pass:
            sys.stderr.write(printable(progress) + "\n")
        if installed is not None:
            installed(progress)

    return write


@contextmanager
def without_callback() -> Iterator[None]:
    """Report nothing in a `with` block: one fit of many, whose caller reports how many are done."""
    token = _callback.set(None)
    try:
        yield
    finally:
        _callback.reset(token)


def problem_callback(callback: ProgressCallback | None, head: int, n_heads: int) -> ProgressCallback | None:
    """A callback for one of several binary problems, which adds its position; `callback` itself if there is only one."""
    if callback is None or n_heads == 1:
        return callback
    return lambda progress: callback(replace(progress, heads=(head,)))


def report_progress(
    iterations: int, gap: float | None = None, text: str = "", verbose: bool = False, total: int | None = None
) -> None:
    """Report progress to the installed callback, if there is one; with `verbose`, also as a line to standard error."""
    callback = current_callback(verbose)
    if callback is not None:
        callback(Progress(iterations, max_iter=total, gap=gap, text=text))
