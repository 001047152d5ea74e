"""A fresh filter, measured on mail as it comes: what it says of each message, before it learns it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from . import trec
from .features import columns_of
from .message.message import Message
from .store.settings import Settings
from .store.state import Lesson, State

LABELS = ("spam", "unsure", "ham")


class Evaluation(NamedTuple):
    scores: Any
    spam: Any
    verdicts: Any  # positions in LABELS
    figures: trec.Figures  # where a score over 0 is spam

    def table(self) -> dict[str, dict[str, int]]:
        """How many ham and spam got which verdict, with the thresholds that the filter had set itself by then."""
        sides = (("ham", ~self.spam), ("spam", self.spam))
        return {side: {label: int((self.verdicts[of] == k).sum()) for k, label in enumerate(LABELS)} for side, of in sides}


def evaluate(
    messages: Iterable[tuple[Message, bool]],
    *,
    settings: Settings | None = None,
    delay: int = 0,
    train: str = "all",
    band: float = trec.BAND,
    seed: int = 0,
) -> Evaluation:
    """Classify, then learn; see `trec.run` for `delay`, `train` and `band`."""
    judged = _Judged(State(settings or Settings()))
    stream = (((message, columns_of(message, judged.state.settings.bits)), spam) for message, spam in messages)
    scores, spam = trec.run(stream, judged, delay=delay, train=train, band=band)
    return Evaluation(scores, spam, np.array(judged.verdicts, np.int8), trec.figures(scores, spam, seed=seed))


class _Judged:
    """A filter's state as `trec.run` wants it; remembers its verdicts."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.verdicts: list[int] = []

    def score(self, message: Any) -> float:
        score = self.state.learner.score(message[1])
        self.verdicts.append(LABELS.index(self.state.calibration().label(score)))
        return score

    def learn(self, message: Any, spam: bool) -> None:
        lesson = Lesson(self.state.seq + 1, b"", spam, message[0])
        self.state.learn_columns([lesson], np.array([0, len(message[1])]), message[1])
