"""What a search tried and chose, as a sentence and as the lines of a summary."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..estimators.trials import PATH_PARAMETER, Trial, best, describe, effects
from ..reporting.text import count, duration, percent, plural


@dataclass(frozen=True)
class TuningRecord:
    """What a search tried and chose.

    Attributes
    ----------
    trials : tuple of Trial
        What was tried, in the order of the grid.
    candidates : int
        What could have been tried, with more time.
    n_folds : int
        The folds of the search.
    chosen : dict
        The chosen values of the parameters that were varied.
    seconds : float
        The duration of the search.
    in_folds : tuple of dict
        What was chosen in each fold of the test, where the search was repeated.
    weighted : bool
        Whether the errors are weighted by class.
    """

    trials: tuple[Trial, ...]
    candidates: int
    n_folds: int
    chosen: dict[str, Any]
    seconds: float
    in_folds: tuple[dict[str, Any], ...] = ()
    weighted: bool = False

    @property
    def tried(self) -> str:
        done = len(self.trials)
        whole = plural(self.candidates, "candidate")
        return whole if done == self.candidates else f"{count(done)} of {whole}"

    @property
    def _error(self) -> str:
        weighted = " with weighted classes" if self.weighted else ""
        return f"error there{weighted} {percent(best(self.trials).loss)}"

    @property
    def sentence(self) -> str:
        """What was chosen among how many."""
        return (
            f"{describe(self.chosen)} was chosen among {self.tried} by {self.n_folds}-fold cross-validation on the training "
            f"rows ({self._error}, too low as the best of several)."
        )

    def lines(self) -> Iterator[str]:
        """What was tried and chosen, line by line."""
        cut = ""
        if len(self.trials) < self.candidates:
            cut = ", its share of --budget; each fold of the test had as much" if self.in_folds else " (--budget was used up)"
        folds = f"{self.n_folds}-fold cross-validation on the training rows"
        yield f"tried {self.tried} by {folds} in {duration(self.seconds)}{cut}"
        if not self.trials:
            yield f"chosen without a trial: {describe(self.chosen)}"
            return
        how = f"; errors of neighboring {PATH_PARAMETER} were averaged" if PATH_PARAMETER in self.chosen else ""
        yield f"chosen {describe(self.chosen)} ({self._error}, too low as the best of several{how})"
        for line in effects(self.trials):
            name, _, values = line.partition(": ")
            yield f"least error by {name}: {values}"
        if self.in_folds:
            counted = Counter(map(describe, self.in_folds))
            listed = (f"{text} ({number} of {len(self.in_folds)})" for text, number in counted.most_common())
            yield f"chosen again in each fold of the test: {'; '.join(listed)}"

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values; the error of a candidate is None where it could not be fitted."""
        return {
            "candidates": self.candidates,
            "folds": self.n_folds,
            "chosen": self.chosen,
            "chosen_in_folds": list(self.in_folds),
            "seconds": self.seconds,
            "trials": [
                {"parameters": each.parameters, "errors": [None if math.isinf(loss) else loss for loss in each.losses]}
                for each in self.trials
            ],
        }
