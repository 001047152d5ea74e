"""Mails and filters for the tests of the store, and when two filters are equal."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np

from rosenblatt.mail.filter import Filter
from rosenblatt.mail.store.filter_state import State

BITS = 12
WORDS = [
    "cheap",
    "pills",
    "free",
    "money",
    "offer",
    "lunch",
    "meeting",
    "report",
    "invoice",
    "train",
    "holiday",
    "family",
    "winner",
    "click",
    "here",
    "agenda",
]


def mail(number: int) -> bytes:
    """A small mail of its own; every third of them sounds like spam."""
    draw = random.Random(number)
    words = WORDS[:6] if number % 3 == 0 else WORDS[5:]
    text = " ".join(draw.choices(words, k=12))
    return f"Subject: {draw.choice(words)} {number}\nMessage-ID: <{number}@example.org>\n\n{text}\n".encode()


def is_spam(number: int) -> bool:
    return number % 3 == 0


def mails(numbers: Any) -> list[tuple[bytes, bool]]:
    return [(mail(number), is_spam(number)) for number in numbers]


def fresh(home: Path, learned: list[tuple[bytes, bool]], **settings: Any) -> Filter:
    found = Filter.open(home, create=True, settings={"bits": BITS} | settings)
    found.learn(learned)
    return found


def arrays_of(state: State) -> dict[str, Any]:
    """All that a state is."""
    (scores, labels), (reported, lengths, columns) = state.recent_scores(), state.rehearsal.to_parts()
    return {
        "weights": state.learner.weights, "variances": state.learner.variances, "scores": scores, "labels": labels,
        "rehearsed": np.array([int(number) for number in reported.values()]), "lengths": lengths, "columns": columns,
    }  # fmt: skip


def assert_equal(one: Filter, other: Filter, queries: Any = range(900, 910)) -> None:
    """Weights, variances, scores, what is rehearsed, calibration and verdicts, bit for bit."""
    mine, theirs = (arrays_of(each.store.state) for each in (one, other))
    for name, array in mine.items():
        assert np.array_equal(array, theirs[name]), name
    a, b = one.store.state, other.store.state
    assert (a.count, a.spam, a.n_warmup, a.calibration()) == (b.count, b.spam, b.n_warmup, b.calibration())
    for number in queries:
        assert one.classify(mail(number)) == other.classify(mail(number))
