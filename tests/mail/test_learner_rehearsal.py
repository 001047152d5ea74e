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
from rosenblatt.mail.learner import KEPT_PER_CLASS, RUN_LENGTH, Learner, Rehearsal
from rosenblatt.mail.message.parse import parse
from rosenblatt.mail.store.connection import FilterError
from rosenblatt.mail.store.filter_state import Lesson, Settings, State
from rosenblatt.mail.store.store import Store

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
        kept[spam] = [*kept[spam], columns][-KEPT_PER_CLASS:]
        if run > RUN_LENGTH and kept[not spam]:
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
    labels = [False] * (KEPT_PER_CLASS + 30) + [True] * 25 + [False] * 15
    state = State(Settings(bits=BITS))
    state.learn([lesson(number, spam) for number, spam in enumerate(labels)])
    assert [len(side) for side in state.rehearsal.kept] == [KEPT_PER_CLASS, 25]
    assert state.learner.weights.tobytes() == naive(labels).weights.tobytes()


def test_what_is_rehearsed_is_in_the_file():
    found = Rehearsal()
    spam = np.array([True] * 30 + [False] * 15)
    found.interleave(np.arange(len(spam) + 1), np.arange(len(spam), dtype=np.uint32), spam)
    again = Rehearsal.from_parts(*found.to_parts())
    assert (again.side, again.run, again.turn) == (found.side, found.run, found.turn) == (False, 15, 5)
    assert [[each.tolist() for each in side] for side in again.kept] == [[[k] for k in range(30, 45)], [[k] for k in range(30)]]


@pytest.mark.parametrize(
    "wrong", [{"hams": 46}, {"hams": -1}, {"run": 1.5}, {"turn": True}, {"side": 1}, {"more": 0}, {"hams": KEPT_PER_CLASS + 1}]
)
def test_an_inconsistent_file_is_rejected(wrong):
    reported, lengths, columns = Rehearsal().to_parts()
    with pytest.raises(ValueError, match=r"rehearsed|last label"):
        Rehearsal.from_parts(reported | wrong, lengths, columns)
    with pytest.raises(ValueError, match="sets"):
        Rehearsal.from_parts(reported, np.array([2]), columns)


def like(draw: random.Random, number: int, spam: bool) -> bytes:
    """Half of the words occur in all mails."""
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


def test_the_number_of_commands_does_not_matter(tmp_path: Path):
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


def test_few_mails_come_after_the_batch_in_their_order(tmp_path: Path):
    """And what is known changes nothing, however it comes."""
    few = sorted(mails(range(300, 309)), key=lambda m: digest(m[0]))
    with Filter.open(tmp_path / "a", create=True, settings={"bits": BITS}) as found:
        found.learn(mails(range(300)), mix=True)
        found.learn(few, mix=True)
        found.learn(mails(range(400, 403)))
        before = arrays_of(found.store.state)
        assert found.learn([*mails(range(309)), *mails(range(400, 403))], mix=True).known == 312
        assert all(array is arrays_of(found.store.state)[name] for name, array in before.items() if name == "weights")
        batch = sorted(mails(range(300)), key=lambda m: digest(m[0]))
        with fresh(tmp_path / "b", [*batch, *few, *mails(range(400, 403))]) as other:
            assert_equal(found, other)


@given(st.lists(st.tuples(st.sampled_from(["batch", "few", "back", "fold"]), st.integers(0, 5)), max_size=8))
def test_the_filter_is_the_replay_of_batches_in_one_order_and_then_of_the_others(tmp_path_factory, steps):
    """Lessons that were unlearned leave no trace."""
    home = tmp_path_factory.mktemp("batches")
    batch: dict[bytes, tuple[bytes, bool]] = {}
    order: list[tuple[bytes, bool]] = []
    folded: list[tuple[bytes, bool]] = []
    with Filter.open(home / "a", create=True, settings={"bits": BITS}) as found:
        for number, (step, which) in enumerate(steps):
            some = mails(range(100 * number, 100 * number + (12 if step == "batch" else 3)))
            if step == "batch":
                found.learn(some, mix=True)
                batch |= {digest(raw): (raw, spam) for raw, spam in some}
            elif step == "few":
                found.learn(some)
                order += some
            else:
                there = [*(batch[name] for name in sorted(batch)), *order]
                gone = there[:: which + 2] if step == "back" else there[: which + 1]
                if step == "back":
                    assert all(reported.exact for reported in found.unlearn_many([raw for raw, _ in gone]))
                else:
                    found.compact(len(there) - len(gone))
                    folded += gone
                batch = {name: each for name, each in batch.items() if each not in gone}
                order = [each for each in order if each not in gone]
        with fresh(home / "b", [*folded, *(batch[name] for name in sorted(batch)), *order]) as other:
            assert_equal(found, other)


def test_mail_that_cannot_be_mixed_is_learned_and_reported(tmp_path: Path, monkeypatch):
    spam, ham = ([m for m in mails(range(120)) if m[1] == side] for side in (True, False))
    with Filter.open(tmp_path / "a", create=True, settings={"bits": BITS}) as found:
        found.learn(spam, mix=True)

        def full(self):
            raise FilterError(tmp_path, "log.sqlite cannot be written: the disk is full")

        with monkeypatch.context() as patched:
            patched.setattr(Store, "mix", full)
            reported = found.learn(ham, mix=True)
        assert (reported.new, reported.unmixed) == (len(ham), "log.sqlite cannot be written: the disk is full")
        assert found.stats()["messages"] == 120
        found.learn(mails(range(200, 220)), mix=True)
        with Filter.open(tmp_path / "b", create=True, settings={"bits": BITS}) as other:
            other.learn([*mails(range(120)), *mails(range(200, 220))], mix=True)
            assert_equal(found, other)


def test_the_last_word_in_a_batch_counts(tmp_path: Path):
    with fresh(tmp_path / "a", [(mail(1), False)]) as found:
        assert found.learn([(mail(1), True), (mail(1), False)])._asdict()["moved"] == 2
        assert found.label_of(mail(1)) is False
        found.learn([(mail(1), True), (mail(1), False), (mail(1), True), (mail(2), True), (mail(2), False)])
        assert (found.label_of(mail(1)), found.label_of(mail(2))) == (True, False)


def test_unlearned_mails_are_in_no_file(tmp_path: Path):
    with fresh(tmp_path / "a", [(b"Subject: zanzibar\n\nxylophone\n", True)]):
        pass
    assert b"zanzibar" in (tmp_path / "a" / "filter.safetensors").read_bytes()
    with Filter.open(tmp_path / "a") as found:
        found.unlearn(b"Subject: zanzibar\n\nxylophone\n")
    assert all(b"zanzibar" not in path.read_bytes() for path in (tmp_path / "a").iterdir())


def test_numbers_are_never_used_twice_after_mixing(tmp_path: Path):
    with Filter.open(tmp_path / "a", create=True, settings={"bits": BITS}) as found:
        log, used, before = found.store.log, set[int](), set[int]()
        for number in range(6):
            some = mails(range(100 * number, 100 * number + 20))
            found.learn(some, mix=number % 2 == 0)
            there = {seq for (seq,) in log.db.execute("SELECT seq FROM messages")}
            assert not (there - before) & used
            used |= there
            found.unlearn_many([raw for raw, _ in some[::2]])
            before = {seq for (seq,) in log.db.execute("SELECT seq FROM messages")}
