"""Figures against their definitions, the protocol against a learner that records its calls, and filters with their settings."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rosenblatt.mail.evaluation import chronological, curve, evaluate, figures, read_index, run, sent
from rosenblatt.mail.message.message import Message
from rosenblatt.mail.store.filter_state import Settings

SCORED = st.lists(st.tuples(st.integers(-3, 3), st.booleans()), min_size=2, max_size=40)


def naive(scores: list[float], spam: list[bool], threshold: float) -> tuple[float, float, float, float]:
    ham_scores = [s for s, y in zip(scores, spam, strict=True) if not y]
    spam_scores = [s for s, y in zip(scores, spam, strict=True) if y]
    lost, passed = sum(s > threshold for s in ham_scores), sum(s <= threshold for s in spam_scores)
    wrong = sum(1.0 if h > s else 0.5 if h == s else 0.0 for h in ham_scores for s in spam_scores)
    logits = []
    for errors, n in ((lost, len(ham_scores)), (passed, len(spam_scores))):
        share = min(max(errors, 0.5), n - 0.5) / n
        logits.append(math.log(share / (1 - share)))
    lam = 1 / (1 + math.exp(-sum(logits) / 2))
    pairs = len(ham_scores) * len(spam_scores)
    return 100 * lost / len(ham_scores), 100 * passed / len(spam_scores), 100 * lam, 100 * wrong / pairs


@given(SCORED, st.integers(-2, 2))
def test_figures_are_what_they_are_defined_to_be(scored: list[tuple[int, bool]], threshold: int) -> None:
    scores, spam = [float(s) for s, _ in scored], [y for _, y in scored]
    found = figures(scores, spam, threshold=threshold, resamples=5)
    assert (found.ham, found.spam) == (spam.count(False), spam.count(True))
    if found.ham and found.spam:
        assert [x.value for x in found[2:]] == pytest.approx(naive(scores, spam, threshold), abs=1e-9)
    else:
        assert math.isnan(found.auc.value)
        assert math.isnan(found.lam.value)


def test_intervals_hold_the_value_and_have_their_coverage() -> None:
    """Scores of two normal distributions, whose true AUC is known; 95 % intervals should hold it about that often."""
    random, truth, held = np.random.default_rng(5), 100 * 0.5 * math.erfc(2.0 / 2.0), 0
    for _ in range(60):
        spam = np.arange(400) < 150
        found = figures(random.normal(np.where(spam, 2.0, 0.0)), spam, threshold=1.0, resamples=200)
        for each in found[2:]:
            assert each.low <= each.value <= each.high
        held += found.auc.low <= truth <= found.auc.high
    assert 50 <= held <= 60


def test_no_errors_seen_is_not_no_errors() -> None:
    found = figures([-1.0] * 300 + [1.0] * 5, [False] * 300 + [True] * 5)
    assert found.hm.value == found.hm.low == 0.0
    assert found.hm.high == pytest.approx(1.0, rel=0.01)  # three in three hundred
    assert (1 - found.hm.high / 100) ** 300 == pytest.approx(0.05)
    assert found.auc[:2] == (0.0, 0.0)
    assert (1 - found.auc.high / 100) ** 5 == pytest.approx(0.05)  # of the five spam
    assert found.lam.low == pytest.approx(found.lam.value)
    assert found.lam.high == pytest.approx(logit_mean(found.hm.high, found.sm.high))


def test_nothing_but_errors_is_not_that_all_must_be() -> None:
    found = figures([1.0] * 4 + [-1.0] * 7, [False] * 4 + [True] * 7)
    for share, of in ((found.hm, 4), (found.sm, 7), (found.auc, 4)):
        assert (share.value, share.high) == (100.0, 100.0)
        assert (share.low / 100) ** of == pytest.approx(0.05)
    assert found.lam.low == pytest.approx(logit_mean(found.hm.low, found.sm.low))
    assert found.lam.high == pytest.approx(found.lam.value)


def test_one_side_without_errors_does_not_narrow_the_average() -> None:
    found = figures([-1.0] * 50 + [-1.0] * 10 + [1.0] * 20, [False] * 50 + [True] * 30)
    assert found.sm.low < found.sm.value < found.sm.high
    assert found.lam.low == pytest.approx(logit_mean(100 * 0.5 / 50, found.sm.low))
    assert found.lam.high == pytest.approx(logit_mean(found.hm.high, found.sm.high))


def logit_mean(hm: float, sm: float) -> float:
    """The mean of two percentages on the logit scale, in percent."""
    return 100 / (1 + math.exp(-sum(math.log(share / (100 - share)) for share in (hm, sm)) / 2))


@given(SCORED)
def test_ends_hold_the_value_however_few_messages_there_are(scored: list[tuple[int, bool]]) -> None:
    found = figures([float(s) for s, _ in scored], [y for _, y in scored], resamples=200)
    if found.ham and found.spam:
        for each in found[2:4]:
            assert 0.0 <= each.low <= each.high <= 100.0
            assert each.low < each.high
            if each.value in (0.0, 100.0):
                assert each.low <= each.value <= each.high


def test_same_seed_same_intervals() -> None:
    random = np.random.default_rng(1)
    scores, spam = random.normal(size=50), random.random(50) < 0.5
    assert figures(scores, spam) == figures(scores, spam)
    assert figures(scores, spam) != figures(scores, spam, seed=1)


class Diary:
    """Scores 0.4 for unknown messages, 2 for learned spam and -2 for learned ham."""

    def __init__(self) -> None:
        self.queries: list[Any] = []
        self.reported: list[Any] = []

    def score(self, message: Any) -> float:
        self.queries.append((message, len(self.reported)))
        return 0.4

    def learn(self, message: Any, spam: bool) -> None:
        self.reported.append((message, spam))


@given(st.lists(st.booleans(), max_size=12), st.integers(0, 14))
def test_every_message_is_classified_before_it_is_learned(truth: list[bool], delay: int) -> None:
    diary = Diary()
    scores, spam = run(enumerate(truth), diary, delay=delay)
    assert spam.tolist() == truth
    assert len(scores) == len(truth)
    assert diary.queries == [(i, max(0, i - delay)) for i in range(len(truth))]
    assert diary.reported == list(enumerate(truth))


def test_training_on_errors_and_near_errors_only() -> None:
    truth = [True, False, True]  # all have the score 0.4: ham is wrong, spam is right by 0.4
    for train, band, learned in (("error", 1.0, [1]), ("near", 0.3, [1]), ("near", 0.5, [0, 1, 2]), ("all", 0.0, [0, 1, 2])):
        diary = Diary()
        run(enumerate(truth), diary, train=train, band=band)
        assert [message for message, _ in diary.reported] == learned
    diary = Diary()
    run(enumerate(truth), diary, train="error", threshold=0.5)
    assert [message for message, _ in diary.reported] == [0, 2]


def test_what_cannot_be_run_is_named() -> None:
    with pytest.raises(ValueError, match="train must be one of all, error, near, got 'none'"):
        run([], Diary(), train="none")
    with pytest.raises(ValueError, match="delay must be 0 or more messages, got -1"):
        run([], Diary(), delay=-1)


def test_a_curve_ends_at_the_figures() -> None:
    random = np.random.default_rng(2)
    scores, spam = random.normal(size=500), random.random(500) < 0.4
    points, found = curve(scores, spam), figures(scores, spam, resamples=0)
    assert points[-1] == (500, found.hm.value, found.sm.value, found.auc.value)
    assert [p.messages for p in points] == sorted({p.messages for p in points})
    assert points[0].messages == 10
    assert curve([], []) == []


def test_an_index_of_trec(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    index = tmp_path / "full" / "index"
    index.write_text("spam ../data/inmail.1\nHAM ../data/in mail.2\n\n")
    assert read_index(index) == [(tmp_path / "full/../data/inmail.1", True), (tmp_path / "full/../data/in mail.2", False)]
    index.write_text("spam ../data/inmail.1\nperhaps x\n")
    with pytest.raises(ValueError, match=r"index: line 2 must be `spam PATH` or `ham PATH`, got 'perhaps x'"):
        read_index(index)


def test_messages_in_the_order_in_which_they_came() -> None:
    first = b"Received: from a by b\n\tfor c; Mon, 01 Jul 2002 10:00:00 +0200\nDate: Fri, 1 Jan 2038 00:00:00 +0000\n\n"
    second = b"Subject: x\r\nDate: Mon, 1 Jul 2002 08:00:01 GMT\r\n\r\nDate: Sat, 1 Jan 2000 00:00:00 +0000"
    undated = b"Date: soon\n\n"
    names = [m[0] for m in chronological([("d", undated, True), ("c", second, True), ("b", first, True), ("a", first, False)])]
    assert names == ["a", "b", "c", "d"]


@given(st.binary(max_size=60))
def test_any_date_is_borne(date: bytes) -> None:
    assert isinstance(sent(b"Date: " + date), float)
    assert isinstance(sent(b"Received: by x; " + date + b"\n" + b"Date: 99 Jan 99999999999 77:77:77 +99999999"), float)


# --- filters with their settings --------------------------------------------------------------------------------------------

WORDS = [f"w{k:03d}" for k in range(300)]


def mail(n: int, seed: int = 0) -> Iterator[tuple[Message, bool]]:
    """Words that are likelier in the one kind at the one end of the list, and in the other at the other."""
    random = np.random.default_rng(seed)
    tilt = np.linspace(0.2, 1.8, len(WORDS)) / len(WORDS)
    for spam in random.random(n) < 0.3:
        words = random.choice(WORDS, 60, p=tilt if spam else tilt[::-1])
        yield Message(body=" ".join(words).encode()), bool(spam)


def test_taught_its_errors_only_a_filter_still_gives_verdicts() -> None:
    table = evaluate(mail(1500), settings=Settings(bits=16), train="error").table()
    ham, spam = (sum(row.values()) for row in (table["ham"], table["spam"]))
    assert table["ham"]["spam"] < 0.01 * ham
    assert table["spam"]["spam"] > 0.4 * spam
    assert table["ham"]["ham"] > 0.4 * ham


def test_the_choice_of_learned_messages_matters() -> None:
    ways: list[dict[str, Any]] = [{"train": "all"}, {"train": "near"}, {"train": "near", "band": 0.1}, {"train": "error"}]
    scores = [evaluate(mail(400), settings=Settings(bits=12), **way).scores.tobytes() for way in ways]
    assert len(set(scores)) == len(ways)


def test_settings_are_those_of_the_filter() -> None:
    weighed = (Settings(bits=12, ham_weight=weight) for weight in (0.1, 1.0, 100.0))
    lost = [evaluate(mail(300), settings=each).figures.hm.value for each in weighed]
    assert lost[0] > lost[1] > lost[2]
    strict, lax = (evaluate(mail(300), settings=Settings(bits=12, ham_loss=loss)).table() for loss in (0.001, 0.05))
    assert strict["ham"]["spam"] <= lax["ham"]["spam"]
    assert strict["spam"]["spam"] < lax["spam"]["spam"]
