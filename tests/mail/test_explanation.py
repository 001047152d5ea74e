"""Contributions of words: every feature counts once."""

# ruff: noqa: RUF001 - letters that look like others are what it is about

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rosenblatt.mail import features
from rosenblatt.mail.explanation import distinct, extremes, words_of
from rosenblatt.mail.features import WORD, FeatureName, columns_of, folded, kinds_of
from rosenblatt.mail.message.message import FIELDS, Message

BITS = 20
TEXT = st.text(st.sampled_from("ab $.'-\n:é“—\u00a0"), max_size=40).map(str.encode)
LINE = st.tuples(st.sampled_from([b"date", b"part", b"x-a"]), TEXT.map(lambda text: text.replace(b"\n", b" ")))
MESSAGE = st.builds(
    lambda texts, lines: Message(*texts[:5], b"\n".join(b": ".join(line) for line in lines), *texts[5:]),
    st.lists(TEXT, min_size=8, max_size=8),
    st.lists(LINE, max_size=4),
)


def weights_of(columns):
    """A weight for each column, whatever else is in the mail."""
    return (((columns.astype(np.uint64) * 2654435761) % 1000).astype(np.float32) - 499.5) / 500


@given(MESSAGE)
def test_all_words_add_up_to_the_score(message):
    columns = columns_of(message, BITS)
    weights = weights_of(columns)
    reported = words_of(message, columns, weights, BITS, None)
    score = float(weights.astype(float).sum()) / sqrt(max(1, len(columns)))
    assert sum(reason.weight for reason in reported) == pytest.approx(score, abs=1e-6)
    assert len({reason.name for reason in reported}) <= len(reported)
    assert [abs(reason.weight) for reason in reported] == sorted((abs(reason.weight) for reason in reported), reverse=True)


def test_a_word_has_its_own_weight_and_its_part_of_what_touches_it():
    """By hand: " ab cd " has five grams of five letters; the pair and the grams that overlap both words count half for each."""
    message = Message(subject=b"ab cd")
    columns = columns_of(message, BITS)
    weights = weights_of(columns)
    words, pairs, grams = kinds_of(message)
    of = {int(c): float(w) for c, w in zip(columns, weights, strict=True)}
    ab, cd = (of[int(h) & (1 << BITS) - 1] for h in words.hashes)
    both = [of[int(h) & (1 << BITS) - 1] for h in (*pairs.hashes, *grams.hashes)]  # " ab c", "ab cd", "b cd " touch both
    assert len(columns) == 2 + len(both) == 6
    reported = {reason.name: reason.weight * sqrt(6) for reason in words_of(message, columns, weights, BITS, None)}
    assert reported == pytest.approx({'subject: "ab"': ab + sum(both) / 2, 'subject: "cd"': cd + sum(both) / 2})


def test_what_touches_no_word_stands_for_itself():
    message = Message(body=b"*" * 40, headers=b"x-empty\ndate: \nmessage-id: 9\npart: text/html")
    columns = columns_of(message, BITS)
    names = {reason.name for reason in words_of(message, columns, weights_of(columns), BITS, None)}
    assert {'header: "x-empty"', 'header: "date: "', 'header: "message-id" like "9"', 'part: "html"', 'part: "text"'} <= names
    assert any(name.startswith('body: ~"') for name in names)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("СКИДКИ скидки", {"скидки"}),
        ("“free” free… ‘free’", {"free", "free..."}),
        ("free\u00a0money", {"free", "money"}),
        ("free—money", {"free", "money"}),
        ("𝐅𝐑𝐄𝐄 ＦＲＥＥ Free", {"free"}),
        ("ﬁne FINE", {"fine"}),
    ],
)
def test_case_signs_and_fancy_letters_hide_nothing(text, words):
    assert {word.decode() for word in WORD.findall(folded(text.encode()))} <= words


@pytest.mark.parametrize("field", range(len(FIELDS)))
def test_letters_that_grow_when_they_are_folded_stay_in_their_room(field):
    """U+FDFA is three bytes, and 33 in plain letters; cut anywhere, whole characters or not."""
    for size in (900, 2000, 2001, 30_000):
        message = Message(*(("\ufdfa" * 10_000).encode()[:size] if f == field else b"" for f in range(len(FIELDS))))
        plain = features._columns(message, BITS)
        assert len(plain)
        assert plain.tolist() == features._compiled([message], BITS)[1].tolist()


@given(st.lists(st.integers(-3, 3), max_size=12), st.integers(0, 8))
def test_the_heaviest_weights_of_each_side_are_those_of_sorting(values, n):
    """Few different weights make many ties, of which the first columns come first."""
    weights = np.array(values, np.float32)
    for found, sign in zip(extremes(weights, n), (1, -1), strict=True):
        in_order = sorted(range(len(values)), key=lambda column: (-sign * values[column], column))
        assert found.tolist() == [column for column in in_order if sign * values[column] > 0][:n]


def test_features_that_repeat_a_heavier_one_are_left_out():
    """A header line that looks like the name of a gram is no gram, and columns without a name repeat nothing."""
    gram = FeatureName("body", "free ", is_gram=True)
    word, pair = FeatureName("body", "free"), FeatureName("body", "free money")
    line = FeatureName("header", 'x-a: ~"free "')
    named = [(gram, 0.5), (word, -0.45), (pair, 0.4), (None, 0.3), (line, 0.28), (None, 0.1)]
    assert distinct(named, 10) == [1, 3, 4, 5]
    assert distinct(named, 2) == [1, 3]
    assert distinct([(gram, 0.6), (word, 0.45)], 10) == [0]  # a gram that is much heavier is kept
    assert distinct([(line, 0.9), (gram, 1.0)], 1) == [0]  # words are preferred to grams
