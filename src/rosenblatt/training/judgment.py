"""What a test says about a model beside its error: the baseline, the recall of each class, and warnings in plain sentences.

The baseline always predicts the class that has the most training rows. A model whose error is not below that of the baseline
has learned nothing that helps, however small the error looks: of a class with 0.1 % of the rows, never predicting it is 0.1 %
wrong. With class weights the errors of each class count alike: the mean over the classes is compared with guessing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from ..array_types import IntArray
from ..reporting.text import comma_list, count, join_and, percent, plural
from .metrics import Confusion

# Classes are uneven if the largest has at least this many times the rows of the smallest.
UNEVEN_RATIO = 2.0
NORMAL_QUANTILE = 1.96  # of an interval of 95 %
# Classes that a line or a sentence names.
LISTED_CLASSES = 6


@dataclass(frozen=True)
class Judgment:
    """A test of a model, beside the baseline.

    Parameters
    ----------
    confusion : Confusion
        The counts of the test.
    names : sequence of str
        The classes.
    class_rows : ndarray of int, optional
        Training rows of each class; by default, those of the test.
    noun : str, default="test row"
        What a row of the test is called.
    no_test : str, default=""
        Why these rows are no test, if the model was trained on them, as the first part of a sentence.
    for_errors : bool, default=True
        Whether the model shall make few errors, so that the baseline is a measure; its threshold may have another goal.
    weighted : bool, default=False
        Whether the model was trained with class weights, so that its balanced error is compared, and not its error.
    missed_goal : str, default=""
        A sentence about the goal of the threshold, if the test does not reach it.

    Examples
    --------
    >>> test = Judgment(Confusion(np.array([[95, 0], [5, 0]])), ["no", "yes"])
    >>> test.baseline_text
    "always 'no': error 5.00 % (5 of 100 wrong)"
    >>> for sentence in test.warnings: print(sentence)
    The model never predicts 'yes' (5 of 100 test rows).
    The model is no better than always predicting 'no'.
    """

    confusion: Confusion
    names: Sequence[str]
    class_rows: IntArray | None = None
    noun: str = "test row"
    no_test: str = ""
    for_errors: bool = True
    weighted: bool = False
    missed_goal: str = ""

    @cached_property
    def sizes(self) -> IntArray:
        """Rows of each class in the test."""
        sizes: IntArray = self.confusion.counts.sum(axis=1)
        return sizes

    @cached_property
    def guess(self) -> int:
        """The class that the baseline predicts."""
        return int(np.argmax(self.sizes if self.class_rows is None else self.class_rows))

    @property
    def baseline_errors(self) -> int:
        return int(self.sizes.sum() - self.sizes[self.guess])

    @property
    def baseline(self) -> float:
        """The error of the baseline; 0 if there are no rows."""
        return self.baseline_errors / self.confusion.rows if self.confusion.rows else 0.0

    @property
    def baseline_text(self) -> str:
        wrong = f"{count(self.baseline_errors)} of {count(self.confusion.rows)} wrong"
        return f"always {self._name(self.guess)}: error {percent(self.baseline, 2)} ({wrong})"

    @cached_property
    def balanced_error(self) -> float:
        """The mean of the errors of the classes that have rows in the test; 0 if there are none."""
        present = self.sizes > 0
        return 1.0 - float(self.confusion.recall[present].mean()) if present.any() else 0.0

    @property
    def balanced_baseline(self) -> float:
        """The balanced error of a constant prediction, and of guessing."""
        return 1.0 - 1.0 / max(1, int((self.sizes > 0).sum()))

    @property
    def balanced_text(self) -> str:
        return (
            f"error {percent(self.balanced_error, 2)} (the mean of the classes), guessing: {percent(self.balanced_baseline, 2)}"
        )

    @property
    def uneven(self) -> bool:
        """Whether the classes have so different numbers of rows that the error hides how the small ones fare."""
        sizes = (self.sizes if self.class_rows is None else self.class_rows)[self.sizes > 0]
        return len(sizes) > 1 and bool(sizes.max() >= UNEVEN_RATIO * sizes.min())

    @property
    def recall_text(self) -> str:
        """The share of each class that is predicted as it; of many classes the lowest."""
        recall, present = self.confusion.recall, np.flatnonzero(self.sizes)
        order = present if len(present) <= LISTED_CLASSES else present[np.argsort(recall[present], kind="stable")]
        listed = [f"{self.names[k]}: {percent(recall[k])} of {count(int(self.sizes[k]))}" for k in order.tolist()]
        return ("" if len(present) <= LISTED_CLASSES else "lowest: ") + comma_list(listed, LISTED_CLASSES)

    @property
    def never_predicted(self) -> list[int]:
        """Classes that have rows in the test but are predicted for no row."""
        found: list[int] = np.flatnonzero((self.confusion.counts.sum(axis=0) == 0) & (self.sizes > 0)).tolist()
        return found

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is wrong with the model or with its test, in sentences."""
        found = []
        if self.no_test:
            found.append(f"{self.no_test}: this error says little about new rows.")
        if never := self.never_predicted:
            names = join_and([self._name(k) for k in never], LISTED_CLASSES)
            rows = f"{count(int(self.sizes[never].sum()))} of {plural(self.confusion.rows, self.noun)}"
            found.append(f"The model never predicts {names} ({rows}).")
        if self.missed_goal:
            found.append(self.missed_goal)
        if self.only_class is not None:
            rows, name = plural(self.confusion.rows, self.noun), self._name(self.only_class)
            found.append(f"All {rows} are {name}: they do not show whether other classes are recognized.")
        elif self.weighted and self.standing in ("no better", "unclear"):
            no_more = "is" if self.standing == "no better" else "may be"
            shares = f"{percent(self.balanced_error, 1)}, and that of guessing {percent(self.balanced_baseline, 1)}"
            found.append(
                f"The model {no_more} no better than guessing: its balanced error, the mean of the classes, is {shares}."
            )
        elif self.standing == "no better":
            found.append(f"The model is no better than always predicting {self._name(self.guess)}.")
        elif self.standing == "unclear":
            guess = self._name(self.guess)
            found.append(f"The interval covers the baseline: the model may be no better than always predicting {guess}.")
        return tuple(found)

    @property
    def only_class(self) -> int | None:
        """The class of all rows of the test, if they have one class."""
        present = np.flatnonzero(self.sizes).tolist()
        return present[0] if len(present) == 1 and len(self.names) > 1 else None

    @property
    def standing(self) -> Literal["better", "unclear", "no better"] | None:
        """How the model compares with the baseline; None if its threshold has another goal, or without rows."""
        if not self.for_errors or not self.confusion.rows:
            return None
        if self.weighted:
            if self.balanced_error >= self.balanced_baseline:
                return "no better"
            within = self.balanced_error + self._balanced_chance >= self.balanced_baseline
            return "unclear" if within and not self.no_test else "better"
        if self.confusion.errors >= self.baseline_errors:
            return "no better"
        unclear = not self.no_test and self.baseline <= self.confusion.interval[1]
        return "unclear" if unclear else "better"

    @property
    def _balanced_chance(self) -> float:
        """Half the 95 % interval of the balanced error; a row of each kind more keeps it from being 0 in small classes."""
        sizes = self.sizes[self.sizes > 0]
        shares = (self.confusion.recall[self.sizes > 0] * sizes + 1.0) / (sizes + 2.0)
        return NORMAL_QUANTILE * math.sqrt(float((shares * (1.0 - shares) / sizes).sum())) / len(sizes)

    def to_dict(self) -> dict[str, Any]:
        """The baseline, the recall and the warnings as plain values."""
        baseline = {
            "label": self.names[self.guess], "errors": self.baseline_errors, "error": self.baseline, "model": self.standing,
        }  # fmt: skip
        if self.weighted:
            baseline |= {"compared": "balanced error", "balanced_error": self.balanced_baseline}
        shares = zip(self.names, self.sizes.tolist(), self.confusion.recall.tolist(), strict=True)
        recall = {name: share for name, rows, share in shares if rows}
        never = [self.names[k] for k in self.never_predicted]
        facts: dict[str, Any] = {"never_predicted": never, "tested_on_training_rows": bool(self.no_test)}
        if self.weighted:
            facts["balanced_error"] = self.balanced_error
        return {"baseline": baseline, "recall": recall, **facts, "warnings": list(self.warnings)}

    def _name(self, code: int) -> str:
        return repr(self.names[code])
