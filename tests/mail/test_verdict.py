"""Calibrated probabilities, and thresholds that lose no more ham than allowed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rosenblatt.mail.verdict import Calibration, calibrate

SCORES = st.lists(st.tuples(st.floats(allow_nan=True, allow_infinity=True, width=64), st.booleans()), max_size=40)


def drawn(n: int, seed: int, share: float = 0.3) -> tuple[Any, Any]:
    """Two normal distributions of scores: log odds are linear in the score, so a sigmoid is the truth."""
    random = np.random.default_rng(seed)
    spam = random.random(n) < share
    return random.normal(np.where(spam, 0.6, -0.6), 0.5), spam


@given(SCORES, st.floats(0.0, 1.0))
def test_any_scores_are_borne_and_probabilities_rise_with_scores(scored: list[tuple[float, bool]], ham_loss: float) -> None:
    scores, spam = [s for s, _ in scored], [y for _, y in scored]
    found = calibrate(scores, spam, ham_loss)
    assert all(math.isfinite(x) for x in found[:2])
    assert found.ham_to <= found.spam_from
    assert found == calibrate(scores, spam, ham_loss)
    along = [found.probability(s) for s in (-1e300, -5.0, -0.5, 0.0, 0.5, 5.0, 1e300)]
    assert along == sorted(along)
    assert all(0.0 <= p <= 1.0 for p in along)


@given(st.integers(0, 10_000), st.sampled_from([0.001, 0.01, 0.1, 0.5]))
def test_no_more_ham_is_lost_than_allowed(seed: int, ham_loss: float) -> None:
    scores, spam = drawn(60 + seed % 2000, seed)
    scores = scores.round(1)  # with ties
    found = calibrate(scores, spam, ham_loss, spam_loss=ham_loss)
    ham, junk = scores[~spam], scores[spam]
    assert (ham >= found.spam_from).sum() <= ham_loss * len(ham)
    assert (junk <= found.ham_to).sum() <= ham_loss * len(junk)


def test_nor_of_ham_that_comes_later() -> None:
    """The guarantee is about the mean over all samples: a hundred of them, and many new messages for each."""
    new, _ = drawn(20_000, 10**6, share=0.0)
    for n, ham_loss in ((3000, 0.001), (400, 0.01), (100, 0.05), (300, 0.001)):
        lost = [float(np.mean(new >= calibrate(*drawn(n, seed), ham_loss).spam_from)) for seed in range(100)]
        assert np.mean(lost) <= ham_loss * 1.3  # a hundred samples have some noise


def test_with_few_messages_nearly_everything_is_unsure() -> None:
    nothing = calibrate([], [])
    assert nothing == pytest.approx(Calibration(), rel=0.1, abs=1e-9)
    for found in (nothing, calibrate([0.0, 0.0], [True, False]), calibrate([0.0] * 5, [False] * 5)):
        assert [found.label(s) for s in (-1.0, -0.5, 0.0, 0.5, 1.0)].count("unsure") >= 4
        assert 0.1 < found.probability(0.0) < 0.9
    assert nothing.label(2.0) == "spam"
    assert nothing.label(-2.0) == "ham"


def test_probabilities_come_true() -> None:
    """Of held-out messages that were given about 10 %, about 10 % are spam; and no constant guess is near as good."""
    found = calibrate(*drawn(2000, 1))
    scores, spam = drawn(20_000, 2)
    response = np.array([found.probability(s) for s in scores])
    for low in np.arange(0.0, 1.0, 0.1):
        here = (response >= low) & (response < low + 0.1)
        if here.sum() > 100:
            assert abs(response[here].mean() - spam[here].mean()) < 0.05
    assert np.mean((response - spam) ** 2) < 0.45 * np.mean((spam.mean() - spam) ** 2)


def test_the_sigmoid_is_the_best_one() -> None:
    """No nearby value has a higher likelihood; the two messages that come before all others are counted."""
    scores, spam = drawn(200, 3)
    found = calibrate(scores, spam)
    x, y = np.append(scores, [1.0, -1.0]), np.append(spam, [True, False])
    target = np.where(y, (y.sum() + 1) / (y.sum() + 2), 1 / ((~y).sum() + 2))

    def loss(slope: float, offset: float) -> float:
        z = slope * x + offset
        return float(np.sum(np.logaddexp(0, z) - target * z))

    best = loss(found.slope, found.offset)
    assert all(best <= loss(found.slope + a, found.offset + b) for a in (-1e-3, 0, 1e-3) for b in (-1e-3, 0, 1e-3))


def test_what_is_called_spam_is_likely_spam() -> None:
    """Even where every ham may be lost, and where scores have it the wrong way round."""
    scores, spam = drawn(500, 4)
    for found in (calibrate(scores, spam, 1.0, spam_loss=1.0), calibrate(-scores, spam, 1.0, spam_loss=1.0)):
        assert found.probability(found.spam_from) >= 0.5 - 1e-9
        assert found.probability(found.ham_to) <= 0.5 + 1e-9


def errors_of(n: int, seed: int) -> tuple[Any, Any, Any, Any]:
    """All messages, and those on the wrong side of 0, as they are taught by correcting errors only."""
    random = np.random.default_rng(seed)
    spam = random.random(n) < 0.3
    scores = random.normal(np.where(spam, 0.2, -0.24), 0.11)
    wrong = spam != (scores > 0)
    return scores, spam, scores[wrong], spam[wrong]


def test_a_filter_that_is_taught_its_errors_only_still_calls_spam_spam() -> None:
    for seed in range(20):
        scores, spam, *taught = errors_of(4000, seed)
        found = calibrate(*taught)
        assert found.from_errors
        ham, junk = scores[~spam], scores[spam]
        assert np.mean(ham >= found.spam_from) < 0.005
        assert np.mean(junk >= found.spam_from) > 0.5
        assert np.mean(junk <= found.ham_to) < 0.02
        assert np.mean(ham <= found.ham_to) > 0.7
        assert found.probability(0.3) > 0.9 > 0.5 == found.probability(0.0)
        stricter, laxer = calibrate(*taught, ham_loss=1e-4), calibrate(*taught, ham_loss=0.01)
        assert stricter.spam_from > found.spam_from > laxer.spam_from >= 0.0


def test_the_slope_of_errors_is_that_of_the_odds() -> None:
    """Scores spread evenly about 0, whose odds are e^(7 s): errors alone determine the 7."""
    random = np.random.default_rng(5)
    scores = random.uniform(-3.0, 3.0, 40_000)
    spam = random.random(40_000) < 1.0 / (1.0 + np.exp(-7.0 * scores))
    wrong = spam != (scores > 0)
    assert calibrate(scores[wrong], spam[wrong]).slope == pytest.approx(7.0, rel=0.03)


def test_a_few_first_errors_are_no_reason_to_trust_small_scores() -> None:
    """Every filter begins with some; only many more errors than others mean that nothing else is taught."""
    assert not calibrate([-0.1, 0.1] * 5, [True, False] * 5).from_errors
    assert calibrate([-0.1, 0.1] * 6, [True, False] * 6).from_errors
    assert not calibrate(*drawn(500, 6)).from_errors


def test_with_a_higher_ham_weight_spam_verdicts_are_surer() -> None:
    scores, spam = drawn(500, 4)
    even, found = calibrate(scores, spam, 1.0), calibrate(scores, spam, 1.0, 9.0)
    assert found.probability(found.spam_from) == pytest.approx(0.9)
    assert found._replace(spam_from=even.spam_from) == even


def test_shares_are_checked() -> None:
    with pytest.raises(ValueError, match=r"ham_loss must be a share from 0 to 1, got 2.0"):
        calibrate([], [], 2.0)


def test_scores_of_any_size_leave_a_calibration():
    scores = [-1.0, -2.0, 1.0, 2.0, 1e300, -1e300, np.inf, np.nan]
    found = calibrate(scores, [False, False, True, True, True, False, True, False])
    assert all(np.isfinite(value) for value in found)
    assert found.slope > 0.0
    assert found.label(1e300) == "spam"
    assert found.label(-1e300) == "ham"
