"""Scores to probabilities and to a verdict, from what the filter thought of each message before it learnt it."""

from __future__ import annotations

from typing import Any, NamedTuple


class Calibration(NamedTuple):
    slope: float = 2.0
    offset: float = 0.0
    spam_from: float = 0.5  # scores: from here on it is spam,
    ham_to: float = -0.5  # up to here ham, and unsure between

    def probability(self, score: float) -> float:
        from math import exp

        z = self.slope * score + self.offset
        return 1.0 / (1.0 + exp(-z)) if z >= 0 else exp(z) / (1.0 + exp(z))

    def label(self, score: float) -> str:
        return "spam" if score >= self.spam_from else "ham" if score <= self.ham_to else "unsure"


def calibrate(scores: Any, spam: Any, ham_loss: float = 0.001) -> Calibration:
    """From scores that messages had before they were learnt, and whether they were spam; ham_loss: the share of ham that may be
    called spam."""
    return Calibration()
