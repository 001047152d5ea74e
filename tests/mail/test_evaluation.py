"""A filter measured as it would be used: with its settings, and by the verdicts that it would have given."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from rosenblatt.mail.evaluation import evaluate
from rosenblatt.mail.message.message import Message
from rosenblatt.mail.store.filter_state import Settings

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
