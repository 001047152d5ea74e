"""The filter on SpamAssassin's corpus, by TREC's protocol: what it must reach, and what its thresholds promise."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import numpy as np
import pytest

from data import data_file
from rosenblatt.mail.calibration import calibrate
from rosenblatt.mail.features import BITS, columns_of_many
from rosenblatt.mail.learner import Learner
from rosenblatt.mail.message import Message
from rosenblatt.mail.parse import parse
from rosenblatt.mail.trec import figures

pytestmark = pytest.mark.slow


@cache
def corpus() -> tuple[list[Message], Any]:
    folder = data_file("mail/spamassassin/NOTICE").parent
    paths = [path for name in ("spam-1", "easy-ham-1", "hard-ham-1") for path in sorted((folder / name).iterdir())]
    random.Random(0).shuffle(paths)
    return [parse(path.read_bytes()) for path in paths], np.array([path.parent.name == "spam-1" for path in paths])


def scored(messages: list[Message], spam: Any) -> Any:
    """Every score from before the message was learnt."""
    return Learner(BITS, 0.1).learn_many(*columns_of_many(messages), spam)


def test_a_ham_seldom_scores_above_a_spam() -> None:
    messages, spam = corpus()
    scores = scored(messages, spam)
    assert figures(scores, spam, resamples=0).auc.value <= 0.15
    # Nor does it hang on headers, once a thousand messages have come: body and subject alone.
    bare = scored([Message(subject=m.subject, body=m.body, links=m.links) for m in messages], spam)
    assert figures(bare[1000:], spam[1000:], resamples=0).auc.value <= 0.3


def test_thresholds_keep_their_promise_and_probabilities_come_true() -> None:
    messages, spam = corpus()
    scores = scored(messages, spam)
    found, new, truth = calibrate(scores[:1500], spam[:1500]), scores[1500:], spam[1500:]
    labels = np.array([found.label(score) for score in new])
    assert np.sum(labels[~truth] == "spam") <= 4  # 0.1 % of about 1,480, and Poisson's luck
    assert np.mean(labels[truth] == "spam") >= 0.7
    assert np.mean(labels[truth] == "ham") <= 0.03
    assert np.mean(labels == "unsure") <= 0.1
    said = np.array([found.probability(score) for score in new])
    assert np.mean((said - truth) ** 2) <= 0.01  # 0.13 for anybody who knows no more than the shares
