"""What the filter says about one mail."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

_UNSAFE = re.compile(r"[^0-9A-Za-z_.@:$%/+\u00a1-\U0010ffff-]+")
MOST_NAME = 60  # columns


class Verdict(NamedTuple):
    label: str  # "spam", "ham" or "unsure"
    score: float  # of the learner: over 0 leans to spam
    probability: float  # of spam, calibrated on what the filter thought of messages before it learnt them


class Reason(NamedTuple):
    """One feature of a mail and what it added to the score."""

    name: str
    weight: float  # over 0 speaks for spam


def symbols(reasons: Sequence[Reason]) -> str:
    """Names of features as SpamAssassin writes names of tests: no blanks, no commas; ASCII, with other letters escaped
    as in Python.

    >>> symbols([Reason('body: "free money"', 0.5), Reason('subject: "caf\\u00e9, now"', -0.1)])
    'body:free_money,subject:caf\\\\xe9_now'
    """
    names = (_ascii(_UNSAFE.sub("_", reason.name.replace('"', "").replace(": ", ":"))).strip("_") for reason in reasons)
    return ",".join(dict.fromkeys(name for name in names if name and not name.endswith(":")))


def _ascii(name: str) -> str:
    """The beginning of it that has room, no letter of it in part."""
    kept = ""
    for letter in name[:MOST_NAME]:
        kept += letter.encode("ascii", "backslashreplace").decode()
        if len(kept) > MOST_NAME:
            return kept[: -len(letter.encode("ascii", "backslashreplace"))]
    return kept


def supporting(label: str, reasons: Sequence[Reason]) -> list[Reason]:
    """Those that speak for a verdict; all, where it is unsure.

    >>> supporting("spam", [Reason('body: "free"', 0.5), Reason('body: "lunch"', -0.1)])
    [Reason(name='body: "free"', weight=0.5)]
    """
    side = {"spam": 1.0, "ham": -1.0}.get(label)
    return [reason for reason in reasons if side is None or side * reason.weight > 0.0]


def header_value(verdict: Verdict, reasons: Sequence[Reason]) -> str:
    """What `X-Rosenblatt` says.

    >>> header_value(Verdict("spam", 1.25, 0.98), [Reason('body: "free"', 0.5)])
    'spam; score=1.2500; probability=0.9800; reasons=body:free'
    """
    label, score, probability = verdict
    return f"{label}; score={score:.4f}; probability={probability:.4f}; reasons={symbols(supporting(label, reasons))}"
