"""One side at a time ruins no filter: it rehearses the other side, and a bulk of mail is mixed however it was given."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_filters import BITS, WORDS, arrays_of, assert_equal, fresh, mail, mails

from rosenblatt.mail.features import columns_of
from rosenblatt.mail.filter import Filter
from rosenblatt.mail.identity import digest
from rosenblatt.mail.learner import Learner
from rosenblatt.mail.parse import parse
from rosenblatt.mail.rehearsal import KEPT, RUN, Rehearsal
from rosenblatt.mail.settings import Settings
from rosenblatt.mail.spool import is_one_sided
from rosenblatt.mail.state import Lesson, State

COLUMNS = [columns_of(parse(mail(number)), BITS) for number in range(40)]


def lesson(number: int, spam: bool) -> Lesson:
    return Lesson(number + 1, b"%d" % number, spam, parse(mail(number % 40)))


def naive(labels: list[bool]) -> Learner:
    """The definition, one message after the other."""
    learner, kept, run, turn = Learner(BITS), {True: [], False: []}, 0, 0
    for number, spam in enumerate(labels):
        columns = COLUMNS[number % 40]
        learner.learn(columns, spam)
        run = run + 1 if number and labels[number - 1] == spam else 1
        kept[spam] = [*kept[spam], columns][-KEPT:]
        if run > RUN and kept[not spam]:
            turn += 1
            learner.learn(kept[not spam][turn % len(kept[not spam])], not spam)
    return learner


@given(st.lists(st.tuples(st.integers(1, 40), st.booleans()), max_size=8), st.integers(1, 60))
def test_a_state_learns_what_the_definition_learns_however_its_messages_came(stretches, together):
    labels = [spam for length, spam in stretches for _ in range(length)]
    state = State(Settings(bits=BITS))
    lessons = [lesson(number, spam) for number, spam in enumerate(labels)]
    for start in range(0, len(lessons), together):
        state.learn(lessons[start : start + together])
    expected = naive(labels)
    assert state.learner.weights.tobytes() == expected.weights.tobytes()
    assert state.learner.variances.tobytes() == expected.variances.tobytes()


def test_more_messages_than_are_kept():
    labels = [False] * (KEPT + 30) + [True] * 25 + [False] * 15
    state = State(Settings(bits=BITS))
    state.learn([lesson(number, spam) for number, spam in enumerate(labels)])
    assert [len(side) for side in state.rehearsal.kept] == [KEPT, 25]
    assert state.learner.weights.tobytes() == naive(labels).weights.tobytes()


def test_what_is_rehearsed_is_in_the_file():
    found = Rehearsal()
    spam = np.array([True] * 30 + [False] * 15)
    found.woven(np.arange(len(spam) + 1), np.arange(len(spam), dtype=np.uint32), spam)
    again = Rehearsal.unpacked(*found.packed())
    assert (again.side, again.run, again.turn) == (found.side, found.run, found.turn) == (False, 15, 5)
    assert [[each.tolist() for each in side] for side in again.kept] == [[[k] for k in range(30, 45)], [[k] for k in range(30)]]


@pytest.mark.parametrize(
    "wrong", [{"hams": 46}, {"hams": -1}, {"run": 1.5}, {"turn": True}, {"side": 1}, {"more": 0}, {"hams": KEPT + 1}]
)
def test_a_file_that_tells_otherwise_is_not_believed(wrong):
    told, lengths, columns = Rehearsal().packed()
    with pytest.raises(ValueError, match=r"rehearsed|learnt last"):
        Rehearsal.unpacked(told | wrong, lengths, columns)
    with pytest.raises(ValueError, match="sets"):
        Rehearsal.unpacked(told, np.array([2]), columns)


def like(draw: random.Random, number: int, spam: bool) -> bytes:
    """Half of the words are everybody's."""
    words = WORDS[:8] if spam else WORDS[8:]
    both = [f"word{draw.randrange(300)}" for _ in range(20)]
    return f"Subject: {number}\n\n{' '.join(both + draw.choices(words, k=20))}\n".encode()


@pytest.mark.parametrize("first", [True, False])
def test_taught_one_side_after_the_other_a_filter_still_knows_the_first(tmp_path: Path, first):
    """One by one, as reports of users come, where nothing can be mixed."""
    draw = random.Random(0)
    with Filter.open(tmp_path / "a", create=True, settings={"bits": 16}) as found:
        for number in range(300):
            spam = first if number < 200 else not first
            found.learn([(like(draw, number, spam), spam)])
        for spam in (True, False):
            right = sum((found.classify(like(draw, 1000 + k, spam)).score > 0) == spam for k in range(100))
            assert right >= 95


def test_in_how_many_commands_mail_is_learnt_does_not_matter(tmp_path: Path):
    every = mails(range(300))
    spam, ham = [m for m in every if m[1]], [m for m in every if not m[1]]
    with Filter.open(tmp_path / "one", create=True, settings={"bits": BITS}) as one:
        one.learn(every, mix=True)
        for name, commands in (("ham", (ham, spam)), ("spam", (spam, ham)), ("three", (spam[:40], ham, spam[40:]))):
            with Filter.open(tmp_path / name, create=True, settings={"bits": BITS}) as other:
                for given_ in commands:
                    other.learn(given_, mix=True)
                assert_equal(one, other)
                raw = ham[7][0]
                other.unlearn(raw)
            with Filter.open(tmp_path / f"{name}, without", create=True, settings={"bits": BITS}) as without:
                without.learn([m for m in every if m[0] != raw], mix=True)
                with Filter.open(tmp_path / name) as again:
                    assert_equal(without, again)


def test_mail_that_is_mixed_already_stays_in_its_order(tmp_path: Path):
    with fresh(tmp_path / "a", mails(range(300))) as found, fresh(tmp_path / "b", mails(range(300))) as other:
        found.learn(mails(range(300, 330)), mix=True)
        before = arrays_of(found.store.state)
        assert found.learn(mails(range(330)), mix=True).known == 330
        assert all(array is arrays_of(found.store.state)[name] for name, array in before.items() if name == "weights")
        other.learn(sorted(mails(range(300, 330)), key=lambda m: digest(m[0])))
        assert_equal(found, other)


def test_numbers_are_never_used_twice_after_mixing(tmp_path: Path):
    with Filter.open(tmp_path / "a", create=True, settings={"bits": BITS}) as found:
        for side in (True, False):
            found.learn([m for m in mails(range(90)) if m[1] == side], mix=True)
        log = found.store.log
        last = log.last()
        newest = next(log.db.execute("SELECT digest FROM messages ORDER BY seq DESC LIMIT 1"))[0]
        found.unlearn(next(raw for raw, _ in mails(range(90)) if digest(raw) == newest))
        found.learn(mails([100]))
        assert log.last() > last


@given(st.integers(0, 200), st.integers(0, 200), st.integers(0, 1 << 30))
def test_chance_is_not_one_sided(spam, ham, seed):
    labels = [True] * spam + [False] * ham
    if min(spam, ham) >= 30:
        assert is_one_sided(labels)
    random.Random(seed).shuffle(labels)
    assert not is_one_sided(labels)
