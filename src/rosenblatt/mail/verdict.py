"""Verdicts about mails, the reasons for them, and the calibration that turns scores into both.

The calibration uses the scores that messages had just before they were learned.

Probability  P(spam | s) = 1 / (1 + exp(-(slope s + offset))), the maximum of the likelihood with Platt's targets: spam counts
             as (n+ + 1)/(n+ + 2) spam and ham as 1/(n- + 2), so that few messages give no certainty
Spam         with the scores s_1 >= s_2 >= ... >= s_n of the recent ham and j = floor(ham_loss (n + 1)), spam begins right
             above s_j, and not below the score that has the odds `ham_weight`. Recent is the newer half of the ham, and at
             least 1/ham_loss messages: while a filter learns, the scores of ham spread, and old ones would set the threshold
             too low.
Guarantee    if the scores of recent and new ham are exchangeable, a new one lies above s_j with probability
             j/(n + 1) <= ham_loss at most, for any distribution. That they are is an assumption even for shuffled mail, since
             the filter goes on learning. Below 1/ham_loss - 1 messages j is 0 and nothing is guaranteed: the tail is
             extrapolated beyond s_1 as an exponential one, which is long if there are few messages.
Ham          where P(spam | s) <= HAM_PROBABILITY. The other mails are unsure: too likely spam for ham, and at a score that ham
             reaches too often for spam.
Errors       A filter that learns only its errors sees only scores on the wrong side of 0: a sigmoid fitted to them would fall,
             and shares of all ham are unknown. Then the odds are e^(slope s), and with scores whose density rises away from
             0 as e^(slope |s| / 2) an error has the mean size 8 G / (pi slope), G = 0.916 (Catalan's constant), which gives
             the slope. (Evenly spread scores would have half that size, but a filter leaves few scores near 0: measured
             slopes are about twice those of an even spread.) Spam begins at the score that a share of
             ham_loss / ASSUMED_HAM_ERRORS of the errors exceeds. That assumes how rare errors are; nothing is guaranteed. The
             same is done if scores do not separate the classes at all.
Reference    J. Platt, Probabilistic outputs for support vector machines, 1999; H.-T. Lin, C.-J. Lin and R. C. Weng, A note on
             Platt's probabilistic outputs, Machine Learning 68, 2007 (the Newton steps); V. Vovk, A. Gammerman and G. Shafer,
             Algorithmic Learning in a Random World, 2005 (the guarantee).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import ceil, exp, floor, inf, log, pi
from typing import Literal, NamedTuple

import numpy as np

from ..array_types import BoolArray, FloatArray

_UNSAFE = re.compile(r"[^0-9A-Za-z_.@:$%/+\u00a1-\U0010ffff-]+")
MAX_NAME_COLUMNS = 60  # width of a feature's name in a header

HAM_PROBABILITY = 0.05  # the probability of spam up to which a mail is ham
# Before the first message only the margin of the learner is known. The prior is one spam at PRIOR_SCORE, one ham at
# -PRIOR_SCORE, and PRIOR_TAIL_COUNT scores that exceed the others by PRIOR_TAIL_MEAN on average. The tail is the highest of
# TAIL_PART scores. These are chosen by measurement: see `docs/mail-figures.md`.
PRIOR_SCORE = 1.0
PRIOR_TAIL_COUNT, PRIOR_TAIL_MEAN, TAIL_PART = 5.0, 0.1, 5
MAX_SCORE, MIN_STEP = 1e6, 1e-9  # scores are clipped to MAX_SCORE; a threshold is MIN_STEP above a score
# If only errors are learned: the assumed share of errors among ham (1.2 % in SpamAssassin's corpus), and the least excess of
# errors over other messages for that assumption.
ASSUMED_HAM_ERRORS, MIN_EXCESS_ERRORS = 0.01, 10
CATALAN = 0.915965594177219

Label = Literal["spam", "ham", "unsure"]


class Verdict(NamedTuple):
    """The verdict of a filter about one mail.

    Parameters
    ----------
    label : {"spam", "ham", "unsure"}
        The decision.
    score : float
        The score of the learner; positive for spam.
    probability : float
        The calibrated probability of spam.

    See Also
    --------
    Filter.classify : Classify a mail.

    Examples
    --------
    >>> from rosenblatt.mail import Verdict
    >>> Verdict("spam", 1.25, 0.98).label
    'spam'
    """

    label: Label
    score: float
    probability: float


class Reason(NamedTuple):
    """One feature or word of a mail and its contribution to the score.

    Parameters
    ----------
    name : str
        The feature, such as `body: "free"`; names of letter sequences have ~ before the quotes.
    weight : float
        The contribution; a positive one counts for spam.

    See Also
    --------
    Filter.explain : The contributions of the features or words of a mail.

    Examples
    --------
    >>> from rosenblatt.mail import Reason
    >>> Reason('body: "free"', 0.5).weight > 0
    True
    """

    name: str
    weight: float


def symbols(reasons: Sequence[Reason]) -> str:
    """Names of features in the format of SpamAssassin's tests: ASCII without spaces and commas; other letters are escaped.

    >>> symbols([Reason('body: "free money"', 0.5), Reason('subject: "caf\\u00e9, now"', -0.1)])
    'body:free_money,subject:caf\\\\xe9_now'
    """
    names = (_ascii(_UNSAFE.sub("_", reason.name.replace('"', "").replace(": ", ":"))).strip("_") for reason in reasons)
    return ",".join(dict.fromkeys(name for name in names if name and not name.endswith(":")))


def _ascii(name: str) -> str:
    """The first MAX_NAME_COLUMNS columns of an escaped name; no escape is cut."""
    kept = ""
    for letter in name[:MAX_NAME_COLUMNS]:
        kept += letter.encode("ascii", "backslashreplace").decode()
        if len(kept) > MAX_NAME_COLUMNS:
            return kept[: -len(letter.encode("ascii", "backslashreplace"))]
    return kept


def supporting(label: str, reasons: Sequence[Reason]) -> list[Reason]:
    """The reasons that support a verdict; all of them if it is unsure.

    >>> supporting("spam", [Reason('body: "free"', 0.5), Reason('body: "lunch"', -0.1)])
    [Reason(name='body: "free"', weight=0.5)]
    """
    side = {"spam": 1.0, "ham": -1.0}.get(label)
    return [reason for reason in reasons if side is None or side * reason.weight > 0.0]


def header_value(verdict: Verdict, reasons: Sequence[Reason]) -> str:
    """The value of the header `X-Rosenblatt`.

    >>> header_value(Verdict("spam", 1.25, 0.98), [Reason('body: "free"', 0.5)])
    'spam; score=1.2500; probability=0.9800; reasons=body:free'
    """
    label, score, probability = verdict
    return f"{label}; score={score:.4f}; probability={probability:.4f}; reasons={symbols(supporting(label, reasons))}"


# --- calibration ------------------------------------------------------------------------------------------------------------


class Calibration(NamedTuple):
    """The thresholds of a filter, and the probability of spam as a function of the score.

    The defaults are those of a filter that does not know both classes yet: only scores beyond the margins are spam or ham.

    Parameters
    ----------
    slope : float
        P(spam | score) = 1 / (1 + exp(-(slope score + offset))).
    offset : float, default=0.0
        See `slope`.
    spam_from : float
        A mail with this score or a higher one is spam.
    ham_to : float
        A mail with this score or a lower one is ham: its probability of spam is 5 % or less. Between the two it is unsure.
    hams : int, default=0
        The number of ham scores that the calibration is based on.
    from_errors : bool, default=False
        Whether the filter learned only its errors, so that no share of ham is guaranteed.

    See Also
    --------
    Filter.calibration : The calibration of a filter.

    Examples
    --------
    >>> from rosenblatt.mail import Calibration
    >>> Calibration(slope=1.0, spam_from=0.5, ham_to=-0.5).label(0.7)
    'spam'
    >>> Calibration(slope=1.0).probability(0.0)
    0.5
    """

    slope: float = 0.6931471805599453
    offset: float = 0.0
    spam_from: float = 1.75
    ham_to: float = -4.247927513443585
    hams: int = 0
    from_errors: bool = False

    def probability(self, score: float) -> float:
        """The probability of spam.

        Parameters
        ----------
        score : float
            The score of a mail.

        Returns
        -------
        float
            The probability.
        """
        z = min(max(self.slope * score + self.offset, -700.0), 700.0)
        return 1.0 / (1.0 + exp(-z))

    def label(self, score: float) -> Label:
        """The label of a mail.

        Parameters
        ----------
        score : float
            Its score.

        Returns
        -------
        {"spam", "ham", "unsure"}
            The label.
        """
        return "spam" if score >= self.spam_from else "ham" if score <= self.ham_to else "unsure"


def calibrate(scores: FloatArray, spam: BoolArray, ham_loss: float = 0.001, ham_weight: float = 1.0) -> Calibration:
    """Calibrate on the scores that messages had before they were learned, and whether they were spam.

    `ham_loss` is the share of ham that may be called spam. For any share, the odds of spam are at least `ham_weight` for the
    verdict spam. If losing a ham costs `ham_weight` times as much as passing a spam, these odds give both verdicts the same
    expected cost.
    """
    if not 0.0 <= ham_loss <= 1.0:
        raise ValueError(f"ham_loss must be a share from 0 to 1, got {ham_loss}")
    scores, spam = np.asarray(scores, float).ravel(), np.asarray(spam, bool).ravel()
    finite = np.isfinite(scores)
    scores, spam = np.clip(scores[finite], -MAX_SCORE, MAX_SCORE), spam[finite]
    wrong = spam != (scores > 0.0)
    slope, offset = _sigmoid(np.concatenate([scores, [PRIOR_SCORE, -PRIOR_SCORE]]), np.concatenate([spam, [True, False]]))
    from_errors = not slope > 0.0 or 2 * int(wrong.sum()) > len(scores) + MIN_EXCESS_ERRORS
    if from_errors:
        scores, spam = scores[wrong], spam[wrong]
        size = (2.0 * PRIOR_SCORE + float(np.abs(scores).sum())) / (2 + len(scores))
        slope, offset = 8.0 * CATALAN / (pi * size), 0.0
        ham_loss = min(ham_loss / ASSUMED_HAM_ERRORS, 1.0)
    pays = (log(max(ham_weight, 1.0)) - offset) / slope
    spam_from = max(pays, _threshold(scores[~spam], ham_loss))
    ham_to = (log(HAM_PROBABILITY / (1.0 - HAM_PROBABILITY)) - offset) / slope
    return Calibration(slope, offset, spam_from, ham_to, int((~spam).sum()), from_errors)


def hams_needed(ham_loss: float) -> float:
    """The number of hams that the guarantee needs.

    >>> hams_needed(0.001), hams_needed(0.5), hams_needed(0.0)
    (999, 1, inf)
    """
    if not ham_loss > 0.0:
        return inf
    n = ceil(1.0 / ham_loss) - 1
    return n if floor(ham_loss * (n + 1)) else n + 1


def recent_hams(hams: int, ham_loss: float) -> int:
    """The number of the newest hams that set the threshold.

    >>> recent_hams(700, 0.001), recent_hams(1500, 0.001), recent_hams(5000, 0.001)
    (700, 999, 2500)
    """
    return int(min(hams, max(hams_needed(ham_loss), hams // 2)))


def _threshold(scores: FloatArray, share: float) -> float:
    """The least threshold that at most this share of further such scores should reach; the newest scores come last."""
    share = max(share, 1e-9)
    scores = scores[len(scores) - recent_hams(len(scores), share) :]
    n = len(scores)
    rank = min(floor(share * (n + 1)), n)
    if rank:
        return float(np.partition(scores, n - rank)[n - rank]) + MIN_STEP
    tail = np.sort(scores)[n - ceil(n / TAIL_PART) - 1 if n > 1 else 0 :]  # and the next lower score
    beyond = float(np.sum(tail - tail[0])) if n else 0.0
    mean = (PRIOR_TAIL_COUNT * PRIOR_TAIL_MEAN + beyond) / (PRIOR_TAIL_COUNT + max(len(tail) - 1, 0))
    return (float(tail[-1]) if n else 0.0) + mean * -log(share * (n + 1))


def _sigmoid(scores: FloatArray, spam: BoolArray) -> tuple[float, float]:
    """(slope, offset) of the largest likelihood, by Newton's method with backtracking."""
    n_spam = int(spam.sum())
    n_ham = len(spam) - n_spam
    target = np.where(spam, (n_spam + 1.0) / (n_spam + 2.0), 1.0 / (n_ham + 2.0))
    # Scores are scaled to 1, so that the tolerances do not depend on their size.
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


def _loss(z: FloatArray, target: FloatArray) -> float:
    """The negative log likelihood, without overflow."""
    return float(np.sum(np.logaddexp(0.0, z) - target * z))


def _logistic(z: FloatArray) -> FloatArray:
    return 1.0 / (1.0 + np.exp(-np.clip(z, -700.0, 700.0)))
