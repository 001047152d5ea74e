"""What the filter says about one mail."""

from __future__ import annotations

from typing import NamedTuple


class Verdict(NamedTuple):
    label: str  # "spam", "ham" or "unsure"
    score: float  # of the learner: over 0 leans to spam
    probability: float  # of spam, calibrated on what the filter thought of messages before it learnt them


class Reason(NamedTuple):
    """One feature of a mail and what it added to the score."""

    name: str
    weight: float  # over 0 speaks for spam
