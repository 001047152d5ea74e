"""How long a solver runs, and why it stopped."""

from __future__ import annotations

from dataclasses import dataclass

from ..online.stopping import Stop
from ..progress import Progress, ProgressCallback
from ..reporting.text import plural, short

# max_iter="auto"
AUTO_ITERATIONS = 1000
JOINT_FACTOR = 10  # a joint problem gets more passes, because most rows are skipped in most of them
AUTO_VISITS = 10_000_000
MAX_AUTO_ITERATIONS = 100_000


@dataclass(frozen=True)
class SolverLimits:
    """Tolerance, iteration limit and resources of a solver."""

    tol: float  # the relative gap to reach
    max_iter: int = 1000  # passes or steps
    seed: int = 0
    n_jobs: int = 1
    progress: ProgressCallback | None = None  # receives the passes or steps so far, and the gap

    def report(self, iterations: int, gap: float) -> None:
        """Report the passes or steps made so far, and the gap."""
        if self.progress is not None:
            self.progress(Progress(iterations, max_iter=self.max_iter, gap=gap))

    def stop(self, gap: float, iterations: int) -> Stop:
        """Why a solver stopped after these iterations with this gap."""
        tol = f"tol={short(self.tol, 6)}"
        if gap <= self.tol:
            return Stop("tolerance", f"solved: the relative gap is {short(gap, 2)}, at most {tol}", gap=gap)
        left = f"with a relative gap of {short(gap, 2)}, above {tol}"
        if iterations >= self.max_iter:
            sentence = f"stopped after {plural(self.max_iter, 'iteration')} (the limit) {left}"
            return Stop("steps", sentence, limit=self.max_iter, gap=gap)
        return Stop("rounding", f"stopped by rounding errors {left}", gap=gap)


def iteration_limit(max_iter: int | str, n: int, joint: bool) -> int:
    """The limit of passes or steps on n rows; joint: one problem for all classes."""
    if not isinstance(max_iter, str):
        return int(max_iter)
    least = AUTO_ITERATIONS * (JOINT_FACTOR if joint else 1)
    return max(least, min(AUTO_VISITS // n, MAX_AUTO_ITERATIONS))
