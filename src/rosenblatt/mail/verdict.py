"""What the filter says about one mail."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import ceil, exp, floor, inf, log, pi
from typing import Any, NamedTuple

import numpy as np

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


# --- Scores to probabilities and to a verdict, from what the filter thought of each message before it learnt it.
#
# Probability  P(spam | s) = 1 / (1 + exp(-(slope s + offset))), the maximum of the likelihood with Platt's targets: spam
#              counts as (n+ + 1)/(n+ + 2) spam and ham as 1/(n- + 2), so that few messages make nobody sure
# Thresholds   with ham scores s_1 >= s_2 >= ... >= s_n and j = floor(ham_loss (n + 1)), spam begins right above s_j
# Guarantee    if old and new ham are exchangeable, a new one lies above s_j with probability j/(n + 1) <= ham_loss at most,
#              whatever the distribution of scores. Below 1/ham_loss - 1 messages j is 0 and nothing is guaranteed: the tail is
#              drawn on beyond s_1 as an exponential one, long where there is little to go by.
# Errors       Whoever teaches a filter its errors only shows it nothing but scores on the wrong side of 0: a sigmoid fit to
#              them would fall, and shares of all ham cannot be had. Then the odds are e^(slope s), and with scores spread
#              evenly about 0 an error has the mean size pi^2 / (12 ln 2 slope): that gives the slope. The thresholds are those
#              that a share of ham_loss / HAM_WRONG of the errors goes beyond. That is a guess at how rare errors are; nothing
#              is guaranteed. The same way is gone where scores do not tell the sides apart at all.
# Reference    J. Platt, Probabilistic outputs for support vector machines, 1999; H.-T. Lin, C.-J. Lin and R. C. Weng, A note on
#              Platt's probabilistic outputs, Machine Learning 68, 2007 (the Newton steps); V. Vovk, A. Gammerman and G. Shafer,
#              Algorithmic Learning in a Random World, 2005 (the guarantee).

SPAM_LOSS = 0.01  # the share of spam that may be called ham
HAM_ODDS = 3.0  # a mail of which nothing is known is as likely the one as the other: that is unsure, not ham
# Before any message the learner's margin is all that is known: as if one spam had scored 1 and one ham -1,
MARGIN = 1.0
# and as if so many had gone beyond the rest by so much on the average.
TAIL_SEEN, TAIL = 5.0, 0.25
HUGE, ABOVE = 1e6, 1e-9  # scores beyond the one are cut off, those nearer than the other are the same
# Where only errors are taught: the shares of ham and of spam that are taken to be errors (SpamAssassin's corpus has 1.2 and 6.8
# %), and how many more errors than other messages there must be.
HAM_WRONG, SPAM_WRONG, DOUBT = 0.01, 0.1, 10


class Calibration(NamedTuple):
    slope: float = 0.6931471805599453
    offset: float = 0.0
    spam_from: float = 1.75  # scores: from here on it is spam,
    ham_to: float = -1.584962500721156  # up to here ham, and unsure between
    hams: int = 0  # that it comes from,
    from_errors: bool = False  # which were errors only, so that nothing is promised

    def probability(self, score: float) -> float:
        """Of spam."""
        z = min(max(self.slope * score + self.offset, -700.0), 700.0)
        return 1.0 / (1.0 + exp(-z))

    def label(self, score: float) -> str:
        return "spam" if score >= self.spam_from else "ham" if score <= self.ham_to else "unsure"


def calibrate(
    scores: Any, spam: Any, ham_loss: float = 0.001, ham_weight: float = 1.0, spam_loss: float = SPAM_LOSS
) -> Calibration:
    """From scores that messages had before they were learnt, and whether they were spam.

    ham_loss: the share of ham that may be called spam; spam_loss: the share of spam that may be called ham. Whatever shares are
    asked for, what is called ham is likelier ham than spam by a factor of HAM_ODDS, and what is called spam likelier spam than
    ham by a factor of ham_weight at least: where a ham lost is so many times as bad as a spam passed, that is when calling it
    spam pays.
    """
    for name, share in (("ham_loss", ham_loss), ("spam_loss", spam_loss)):
        if not 0.0 <= share <= 1.0:
            raise ValueError(f"{name} must be a share from 0 to 1, got {share}")
    scores, spam = np.asarray(scores, float).ravel(), np.asarray(spam, bool).ravel()
    finite = np.isfinite(scores)
    scores, spam = np.clip(scores[finite], -HUGE, HUGE), spam[finite]
    wrong = spam != (scores > 0.0)
    slope, offset = _sigmoid(np.concatenate([scores, [MARGIN, -MARGIN]]), np.concatenate([spam, [True, False]]))
    from_errors = not slope > 0.0 or 2 * int(wrong.sum()) > len(scores) + DOUBT
    if from_errors:
        scores, spam = scores[wrong], spam[wrong]
        size = (2.0 * MARGIN + float(np.abs(scores).sum())) / (2 + len(scores))
        slope, offset = pi**2 / (12.0 * log(2.0) * size), 0.0
        ham_loss, spam_loss = min(ham_loss / HAM_WRONG, 1.0), min(spam_loss / SPAM_WRONG, 1.0)
    likely, pays = (-log(HAM_ODDS) - offset) / slope, (log(max(ham_weight, 1.0)) - offset) / slope
    spam_from = max(pays, _right_above(scores[~spam], ham_loss))
    ham_to = min(likely, -_right_above(-scores[spam], spam_loss))
    return Calibration(slope, offset, spam_from, ham_to, int((~spam).sum()), from_errors)


def hams_for(ham_loss: float) -> float:
    """How many hams the guarantee needs.

    >>> hams_for(0.001), hams_for(0.5), hams_for(0.0)
    (999, 1, inf)
    """
    if not ham_loss > 0.0:
        return inf
    n = ceil(1.0 / ham_loss) - 1
    return n if floor(ham_loss * (n + 1)) else n + 1


def _right_above(scores: Any, share: float) -> float:
    """The least threshold that at most this share of further such scores should reach."""
    n, share = len(scores), max(share, 1e-9)
    rank = min(floor(share * (n + 1)), n)
    if rank:
        return float(np.partition(scores, n - rank)[n - rank]) + ABOVE
    tail = np.sort(scores)[n - (n + 9) // 10 - 1 if n > 1 else 0 :]  # a tenth, and the one that they go beyond
    beyond = float(np.sum(tail - tail[0])) if n else 0.0
    mean = (TAIL_SEEN * TAIL + beyond) / (TAIL_SEEN + max(len(tail) - 1, 0))
    return (float(tail[-1]) if n else 0.0) + mean * -log(share * (n + 1))


def _sigmoid(scores: Any, spam: Any) -> tuple[float, float]:
    """Newton's method with halved steps on the log likelihood of (slope, offset)."""
    n_spam = int(spam.sum())
    n_ham = len(spam) - n_spam
    target = np.where(spam, (n_spam + 1.0) / (n_spam + 2.0), 1.0 / (n_ham + 2.0))
    # Scores in units of their size, so that the steps do not depend on it.
    unit = max(float(np.abs(scores).max()), 1e-300)
    x = scores / unit
    slope, offset = 0.0, log((n_spam + 1.0) / (n_ham + 1.0))
    loss = _loss(slope * x + offset, target)
    for _ in range(100):
        p = _logistic(slope * x + offset)
        error, curvature = p - target, p * (1.0 - p)
        g1, g2 = float(np.sum(error * x)), float(np.sum(error))
        if abs(g1) < 1e-9 * len(x) and abs(g2) < 1e-9 * len(x):
            break
        h11, h12, h22 = (float(np.sum(curvature * v)) for v in (x * x, x, 1.0))
        h11, h22 = h11 + 1e-12, h22 + 1e-12
        determinant = h11 * h22 - h12 * h12
        if not determinant > 0.0:
            break
        d1, d2 = -(h22 * g1 - h12 * g2) / determinant, -(h11 * g2 - h12 * g1) / determinant
        down, step = g1 * d1 + g2 * d2, 1.0
        while step > 1e-10:
            tried = _loss((slope + step * d1) * x + offset + step * d2, target)
            if tried < loss + 1e-4 * step * down:
                break
            step *= 0.5
        else:
            break
        slope, offset, loss = slope + step * d1, offset + step * d2, tried
    return slope / unit, offset


def _loss(z: Any, target: Any) -> float:
    """Negative log likelihood, by the side on which nothing overflows."""
    return float(np.sum(np.logaddexp(0.0, z) - target * z))


def _logistic(z: Any) -> Any:
    return 1.0 / (1.0 + np.exp(-np.clip(z, -700.0, 700.0)))
