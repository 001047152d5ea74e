"""Our scores on the scale that users of SpamAssassin know: from 5.0 on it is spam.

The line through (ham_to, 0) and (spam_from, 5): ham is 0.0 or less, unsure lies between, spam is 5.0 or more. One decimal,
since spamc prints one; rounding never carries a mail over a boundary, and the scale never falls where our score rises.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

THRESHOLD = 5.0
MOST = 99.9
NARROWEST = 0.1  # a gap of nothing between ham and spam would make every score endless


class Boundaries(Protocol):
    """The part of a `Calibration` that the scale needs."""

    @property
    def spam_from(self) -> float: ...
    @property
    def ham_to(self) -> float: ...


class Points(NamedTuple):
    score: float
    spam: bool

    def __str__(self) -> str:
        return f"{self.score:.1f} / {THRESHOLD:.1f}"


def points(score: float, label: str, boundaries: Boundaries) -> Points:
    """The points of a mail.

    >>> from rosenblatt.mail.calibration import Calibration
    >>> found = Calibration(spam_from=0.5, ham_to=-0.5)
    >>> [str(points(score, found.label(score), found)) for score in (-0.75, 0.0, 0.499, 0.5, 2.0)]
    ['-1.2 / 5.0', '2.5 / 5.0', '4.9 / 5.0', '5.0 / 5.0', '12.5 / 5.0']
    """
    width = max(boundaries.spam_from - boundaries.ham_to, NARROWEST)
    raw = THRESHOLD + THRESHOLD * (score - boundaries.spam_from) / width
    low, high = {"spam": (THRESHOLD, MOST), "ham": (-MOST, 0.0)}.get(label, (0.1, THRESHOLD - 0.1))
    return Points(min(max(round(raw, 1), low), high) + 0.0, label == "spam")
