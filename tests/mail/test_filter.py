"""Learning, unlearning and classifying; the state is the replay of the log, bit for bit."""

from __future__ import annotations

import random
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_filters import BITS, assert_equal, fresh, is_spam, mail, mails

import rosenblatt as rb
from commands import rosenblatt
from rosenblatt.mail import features
from rosenblatt.mail.filter import Filter, FilterError, FoldedError, Learned, Relearned, Settings, Unlearned
from rosenblatt.mail.store import filter_state, snapshot, store
from rosenblatt.mail.verdict import Calibration


def remaining(steps: list[tuple[str, int]]) -> list[tuple[bytes, bool]]:
    """What is left of a sequence of steps, the plain way: a list of numbers and labels."""
    left: dict[int, bool] = {}
    for step, number in steps:
        if step == "unlearn":
            left.pop(number, None)
        else:
            spam = is_spam(number) if step == "learn" else not is_spam(number)
            if left.get(number) != spam:
                left.pop(number, None)  # one that moves goes to the end
                left[number] = spam
    return [(mail(number), spam) for number, spam in left.items()]


STEPS = st.lists(
    st.tuples(st.sampled_from(["learn", "learn", "learn", "other", "unlearn", "open", "save"]), st.integers(0, 12))
)


@settings(max_examples=20)
@given(STEPS)
def test_unlearning_leaves_the_filter_that_never_saw_the_message(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int]]
) -> None:
    folder = tmp_path_factory.mktemp("filter")
    found = fresh(folder / "a", [])
    try:
        for step, number in steps:
            if step == "unlearn":
                found.unlearn(mail(number))
            elif step == "learn":
                found.learn([(mail(number), is_spam(number))])
            elif step == "other":
                found.relearn(mail(number), not is_spam(number))
            elif step == "save":
                found.save()
            else:
                found.close()
                found = Filter.open(folder / "a")
        left = remaining([(step, number) for step, number in steps if step not in ("open", "save")])
        with fresh(folder / "b", left) as other:
            assert_equal(found, other)
    finally:
        found.close()


@settings(max_examples=15)
@given(
    st.lists(st.integers(0, 15), max_size=12),
    st.lists(st.integers(0, 15), max_size=8),
    st.sampled_from([None, True, False]),
)
def test_many_at_once_are_as_one_after_the_other(
    tmp_path_factory: pytest.TempPathFactory, gone: list[int], moved: list[int], side: bool | None
) -> None:
    folder = tmp_path_factory.mktemp("many")
    with (
        pytest.MonkeyPatch.context() as patch,
        fresh(folder / "a", mails(range(12))) as found,
        fresh(folder / "b", mails(range(12))) as plain,
    ):
        for each in (found, plain):
            each.compact(keep=9)
        replays, catch_up = [], found.store.catch_up
        patch.setattr(found.store, "catch_up", lambda: replays.append(1) or catch_up())
        taken = found.unlearn_many(mail(number) for number in gone)
        relearnt = found.relearn_many((mail(number) for number in moved), side)
        assert len(replays) <= 2
        once = dict(zip(gone, taken, strict=True))
        assert taken == [once[number] for number in gone]
        for number, reported in once.items():
            try:
                assert plain.unlearn(mail(number)) == reported
            except FoldedError:
                assert reported == Unlearned(known=True, exact=False)
        sides = {number: plain.label_of(mail(number)) for number in moved}
        for number, reported in zip(moved, relearnt, strict=True):
            was, before = plain.label_of(mail(number)), sides[number]
            to = side if side is not None else None if before is None else not before
            try:
                if to is not None:
                    plain.relearn(mail(number), to)
                assert reported == Relearned(was, to)
            except FoldedError:
                assert reported == Relearned(was, was, folded=True)
        assert_equal(found, plain)


def test_the_calibration_depends_on_the_log_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def measured(scores: Any, spam: Any, ham_loss: float, ham_weight: float) -> Calibration:
        return Calibration(float((scores * np.arange(1, 1 + len(scores))).sum()), float(spam.sum()), len(scores), ham_loss)

    for module in (filter_state, snapshot):
        monkeypatch.setattr(module, "SCORES_KEPT", 40)
    monkeypatch.setattr(filter_state, "LARGEST_STEP", 8)
    monkeypatch.setattr(filter_state, "WINDOW", 32)
    monkeypatch.setattr(filter_state, "calibrate", measured)
    assert [filter_state.calibrated_at(count) for count in (0, 1, 127, 128, 129, 511, 512, 519, 521)] == [
        0,
        1,
        127,
        128,
        128,
        508,
        512,
        512,
        520,
    ]
    draw, learned = random.Random(3), 0
    found = fresh(tmp_path / "a", [])
    with fresh(tmp_path / "b", []) as other:
        for _ in range(12):
            more = mails(range(learned, learned + draw.randrange(1, 16)))
            learned += len(more)
            for each in more:
                found.learn([each])
                if draw.random() < 0.3:
                    found.classify(mail(1))
            if draw.random() < 0.5:
                found.save()
            if draw.random() < 0.5:
                found.close()
                found = Filter.open(tmp_path / "a")
            other.learn(more)
            assert_equal(found, other)
        assert other.calibration.spam_from == 32  # scores of the window
    found.close()


def test_learning_twice_changes_nothing_and_another_label_moves(tmp_path: Path) -> None:
    with fresh(tmp_path / "a", mails(range(10))) as found:
        assert found.learn(mails(range(12))) == Learned(new=2, known=10)
        assert found.learn([(mail(3), False), (mail(4), False)]) == Learned(known=1, moved=1)
        assert found.unlearn(mail(50)) == Unlearned(known=False)
        assert found.unlearn(mail(4)) == Unlearned(known=True, exact=True)
        left = [pair for number, pair in enumerate(mails(range(12))) if number not in (3, 4)]
        with fresh(tmp_path / "b", [*left, (mail(3), False)]) as other:
            assert_equal(found, other)
        reported = found.stats()
        assert (reported["messages"], reported["spam"], reported["ham"], reported["folded"]) == (11, 3, 8, 0)


def test_a_batch_may_hold_a_mail_twice(tmp_path: Path) -> None:
    for mix in (False, True):
        with fresh(tmp_path / str(mix), []) as found:
            learned = found.learn([(mail(1), True), (mail(2), False), (mail(1), True), (mail(1), False)], mix=mix)
            assert learned == (Learned(new=2, known=1, both=1) if mix else Learned(new=2, known=1, moved=1))
            assert (found.stats()["spam"], found.stats()["ham"]) == (0, 2)


def test_a_mail_that_is_there_twice_is_relabeled_or_unlearned_once(tmp_path: Path) -> None:
    with fresh(tmp_path / "a", [(mail(1), True), (mail(2), False)]) as found:
        assert found.relearn_many([mail(1), mail(2), mail(1)]) == [
            Relearned(was=True, now=False),
            Relearned(was=False, now=True),
            Relearned(was=False, now=False),
        ]
        assert (found.label_of(mail(1)), found.label_of(mail(2))) == (False, True)
        assert found.unlearn_many([mail(1), mail(3), mail(1)]) == [Unlearned(True), Unlearned(False), Unlearned(True)]
        assert found.label_of(mail(1)) is None


def test_mixed_learning_does_not_depend_on_the_order_given(tmp_path: Path) -> None:
    given = mails(range(0, 60, 3)) + mails(n for n in range(60) if n % 3)
    seen: list[rb.Progress] = []
    with fresh(tmp_path / "a", []) as one, fresh(tmp_path / "b", []) as other:
        with rb.progress_callback(seen.append):
            assert one.learn(iter(given), mix=True) == Learned(new=60)
        assert other.learn(reversed(given), mix=True) == Learned(new=60)
        assert_equal(one, other)
        labels = one.store.state.recent_scores()[1]
        assert 3 < labels[:30].sum() < 17  # 20 spam of 60: some in either half
        assert one.learn(given, mix=True) == Learned(known=60)
    assert [progress.visited for progress in seen] == list(range(1, 61))
    assert str(seen[-1]) == "60 mails"


def test_a_filter_comes_back_from_its_files_and_without_them(tmp_path: Path) -> None:
    with fresh(tmp_path / "a", mails(range(200))) as found, fresh(tmp_path / "b", mails(range(200))) as other:
        assert_equal(found, other)
    snapshot = tmp_path / "a" / "filter.safetensors"
    assert snapshot.is_file()  # more than a few messages
    with Filter.open(tmp_path / "a") as found, Filter.open(tmp_path / "b") as other:
        assert found.store.saved == 200
        assert_equal(found, other)
    for damaged in (b"", b"\0" * 100, snapshot.read_bytes()[:-1], snapshot.read_bytes()[:-9] + bytes(9)):
        snapshot.write_bytes(damaged)
        with Filter.open(tmp_path / "a") as found, Filter.open(tmp_path / "b") as other:
            assert_equal(found, other)
    snapshot.unlink()
    with Filter.open(tmp_path / "a") as found, Filter.open(tmp_path / "b") as other:
        assert_equal(found, other)


def test_a_snapshot_of_another_or_a_later_log_is_not_used(tmp_path: Path) -> None:
    fresh(tmp_path / "a", mails(range(100))).close()
    fresh(tmp_path / "b", mails(range(100, 200))).close()
    (tmp_path / "b" / "filter.safetensors").replace(tmp_path / "a" / "filter.safetensors")
    with Filter.open(tmp_path / "a") as found, fresh(tmp_path / "c", mails(range(100))) as other:
        assert_equal(found, other)
    old = (tmp_path / "a" / "log.sqlite").read_bytes()
    with Filter.open(tmp_path / "a") as found:
        found.learn(mails(range(200, 300)))
    (tmp_path / "a" / "log.sqlite").write_bytes(old)  # from a backup
    with Filter.open(tmp_path / "a") as found, fresh(tmp_path / "d", mails(range(100))) as other:
        assert_equal(found, other)
        found.learn(mails(range(300, 400)))
        found.close()
        with Filter.open(tmp_path / "a") as again:
            other.learn(mails(range(300, 400)))
            assert_equal(again, other)


def test_a_snapshot_is_there_from_the_first_and_never_far_behind(tmp_path: Path) -> None:
    with fresh(tmp_path / "a", mails(range(store.MAX_UNSAVED_MESSAGES))):
        assert not (tmp_path / "a" / "filter.safetensors").exists()
    assert (tmp_path / "a" / "filter.safetensors").exists()
    with fresh(tmp_path / "a", mails(range(100))) as found:
        assert found.store.saved == 100
        found.learn(mails(range(100, 130)))
    with Filter.open(tmp_path / "a") as found:
        assert (found.store.saved, found.store.state.count) == (100, 130)
        found.unlearn(mail(125))  # behind the snapshot, which stays right
        assert (found.store.saved, found.store.state.count) == (100, 129)
        found.unlearn(mail(5))
        with fresh(tmp_path / "b", mails(n for n in range(130) if n not in (5, 125))) as other:
            assert_equal(found, other)


def test_recent_messages_are_unlearned_without_a_full_replay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "MESSAGES_PER_CHECKPOINT", 10)
    with fresh(tmp_path / "a", mails(range(10))) as found:
        for number in range(10, 45):
            found.learn(mails([number]))
        assert [state.count for state in found.store.earlier] == [30, 40]
        replayed: list[int] = []
        replay = found.store.log.replay
        monkeypatch.setattr(found.store.log, "replay", lambda after, upto=None: replayed.append(after) or replay(after, upto))
        for number in (42, 33, 3):
            found.unlearn(mail(number))
        assert replayed == [40, 33, 0]  # the second from the snapshot
        found.learn(mails(range(45, 60)))
        assert [state.count for state in found.store.earlier] == [40, 57]
        found.unlearn(mail(58))
        with fresh(tmp_path / "b", mails(n for n in range(60) if n not in (42, 33, 3, 58))) as other:
            assert_equal(found, other)


def test_settings_hold_from_the_beginning(tmp_path: Path) -> None:
    with fresh(tmp_path / "a", mails(range(40))) as found, fresh(tmp_path / "b", mails(range(40)), ham_weight=4.0) as other:
        found.change(ham_weight=4.0)
        assert found.settings == other.settings == Settings(bits=BITS, ham_weight=4.0)
        assert_equal(found, other)
    with (
        Filter.open(tmp_path / "a", settings={"bits": 10, "ham_loss": 0.25}) as found,
        fresh(tmp_path / "c", mails(range(40)), bits=10, ham_weight=4.0, ham_loss=0.25) as other,
    ):
        assert_equal(found, other)
    with Filter.open(tmp_path / "a") as found:
        assert found.settings == Settings(bits=10, ham_weight=4.0, ham_loss=0.25)


@pytest.mark.parametrize(
    ("queries", "sentence"),
    [
        ({"bits": 7}, "bits must be from 8 to 26, got 7"),
        ({"bits": "22"}, "bits must be a number of type int, got '22'"),
        ({"r": 0.0}, "r must be from 1e-6 to 1e6, got 0.0"),
        ({"ham_weight": float("nan")}, "ham_weight must be from 1e-6 to 1e6, got nan"),
        ({"ham_loss": 1.0}, "ham_loss must be a share from 0 to below 1, got 1.0"),
        ({"max_messages": 0}, "max_messages must be 2 or more, got 0"),
        ({"color": 1}, "a filter has no setting 'color'; the settings are bits, "),
        ({"features": 1}, "a filter has no setting 'features'; the settings are bits, "),
    ],
)
def test_settings_that_cannot_be(tmp_path: Path, queries: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=f"^{sentence}"):
        Filter.open(tmp_path / "a", create=True, settings=queries)
    assert not (tmp_path / "a").exists()
    with fresh(tmp_path / "a", []) as found, pytest.raises(ValueError, match=f"^{sentence}"):
        found.change(**queries)


def test_newer_features_are_replayed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fresh(tmp_path / "a", mails(range(100))).close()
    with fresh(tmp_path / "b", mails(range(100))) as found:
        found.compact(keep=50)
    monkeypatch.setattr(store, "FEATURES_VERSION", store.FEATURES_VERSION + 1)
    with Filter.open(tmp_path / "a") as found:
        assert found.settings.features == store.FEATURES_VERSION
        assert found.store.state.count == 100
    with pytest.raises(FilterError, match="the texts of 50 messages were dropped"):
        Filter.open(tmp_path / "b")
    monkeypatch.undo()
    with pytest.raises(FilterError, match="was used by a newer version of Rosenblatt"):
        Filter.open(tmp_path / "a")


def test_what_is_acknowledged_is_on_disk(tmp_path: Path) -> None:
    with fresh(tmp_path / "a", []) as found, Filter.open(tmp_path / "a") as other:
        for each in (found, other):
            reported = [each.store.log.db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")]
            assert reported == ["wal", 2]  # 2: FULL, so that every commit is synced
        assert found.learn([(mail(1), True)]).new == 1
        rows = other.store.log.db.execute("SELECT spam, typeof(digest), length(fields) > 0 FROM messages").fetchall()
        assert rows == [(1, "blob", 1)]
        assert (found.label_of(mail(1)), other.label_of(mail(1)), found.label_of(mail(2))) == (True, True, None)


def test_only_the_owner_reads(tmp_path: Path) -> None:
    with fresh(tmp_path / "new" / "a", mails(range(100))) as found:
        found.compact(keep=3)
        for entry in (tmp_path / "new" / "a").iterdir():
            assert stat.S_IMODE(entry.stat().st_mode) == 0o600, entry.name
    assert stat.S_IMODE((tmp_path / "new" / "a").stat().st_mode) == 0o700


def test_reasons_add_up_to_the_score(tmp_path: Path) -> None:
    with fresh(tmp_path / "a", mails(range(60))) as found:
        reasons = found.explain(mail(66))
        assert sum(reason.weight for reason in reasons) == pytest.approx(found.classify(mail(66)).score, rel=1e-9)
        sizes = [abs(reason.weight) for reason in reasons]
        assert sizes == sorted(sizes, reverse=True)
        assert found.explain(mail(66), 5) == reasons[:5]
        assert sum(reason.weight for reason in found.explain(b"")) == pytest.approx(found.classify(b"").score)
        words = found.explain(mail(66), by="words")
        assert sum(word.weight for word in words) == pytest.approx(found.classify(mail(66)).score, rel=1e-9)
        with pytest.raises(ValueError, match="by must be one of 'features', 'words', got 'lines'"):
            found.explain(mail(66), by="lines")  # type: ignore[arg-type]
        spammy, hammy = found.top(8)
        weights = np.sort(found.store.state.learner.weights)
        assert [reason.weight for reason in spammy] == weights[::-1][:8].tolist()
        assert [reason.weight for reason in hammy] == weights[:8].tolist()
        assert len(found.top(10**6)[0]) == (weights > 0).sum()
    with fresh(tmp_path / "b", []) as found:
        assert found.top(5) == ([], [])


def test_a_snapshot_is_a_model_of_the_library(tmp_path: Path) -> None:
    with fresh(tmp_path / "a", mails(range(100))) as found:
        model = rb.load(tmp_path / "a" / "filter.safetensors")
        queries = [mail(number) for number in range(900, 930)]
        scores = [found.classify(raw).score for raw in queries]
        assert model.scores(queries)[:, 0] == pytest.approx(scores, rel=1e-12)
        assert model.predict(queries).tolist() == ["spam" if score > 0 else "ham" for score in scores]
        assert model.predict([queries[0].decode()]).tolist() == model.predict(queries[0]).tolist()
        with pytest.raises(ValueError, match="X must be raw mails, as bytes or text, got int"):
            model.predict([3])
        with pytest.raises(ValueError, match="saved for prediction only"):
            model.estimator()
        from rosenblatt.models.exports.formula import ExportError, formula_of

        with pytest.raises(ExportError, match="SQL export does not support mail filters"):
            formula_of(model, "SQL")
        named = {reason.name: reason.weight for side in found.top(5) for reason in side}
        from rosenblatt.models.description import heaviest

        assert all(named.get(each["feature"]) == each["weight"] for each in heaviest(model, 3))
        rb.save(model, tmp_path / "again.safetensors")
        assert rb.load(tmp_path / "again.safetensors").predict(queries).tolist() == model.predict(queries).tolist()
    refused = rosenblatt("predict", tmp_path / "again.safetensors", "example:iris")
    assert refused.code != 0
    assert "the model is a mail filter, which has no columns; use `rosenblatt mail classify`" in refused.err


def test_a_file_of_other_features_is_no_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its weights are those of other columns: it would predict, and all of it would be wrong."""
    with fresh(tmp_path / "a", mails(range(40))) as found:
        found.save()
    path = tmp_path / "a" / "filter.safetensors"
    written = features.VERSION
    assert rb.load(path).recipe.features == written
    for other in (written + 98, written - 1):
        monkeypatch.setattr(features, "VERSION", other)
        sentence = f"cannot be used: its features have version {written}, and this version of Rosenblatt has {other}"
        with pytest.raises(rb.ModelError, match=f"^{path}: {sentence}"):
            rb.load(path)
