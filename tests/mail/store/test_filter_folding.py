"""Folding: the filter stays the same, its files get smaller, and messages without texts cannot be unlearned."""

from __future__ import annotations

import contextlib
import fcntl
import random
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from small_filters import assert_equal, fresh, mail, mails

from rosenblatt.mail.filter import Filter, FilterError, FoldedError, Learned
from rosenblatt.mail.store import snapshot


def test_folding(tmp_path: Path) -> None:
    with fresh(tmp_path / "a", mails(range(50))) as found, fresh(tmp_path / "b", mails(range(50))) as other:
        assert found.compact(keep=60) == 0
        assert found.compact(keep=20) == 30
        assert_equal(found, other)
        assert found.learn(mails(range(50))) == Learned(known=50)
        with pytest.raises(FoldedError, match="was dropped"):
            found.unlearn(mail(7))
        with pytest.raises(FoldedError, match="was dropped"):
            found.relearn(mail(7), True)
        assert found.learn([(mail(7), True), (mail(51), True)]) == Learned(new=1, kept=1)
        other.learn([(mail(51), True)])
        found.unlearn(mail(40))
        other.unlearn(mail(40))
        assert_equal(found, other)
        assert found.compact(keep=5) == 15
        assert found.compact(keep=4) == 1
        assert found.compact(keep=4) == 0
        assert sorted(path.name for path in (tmp_path / "a").glob("base-*")) == ["base-47.safetensors"]
        assert found.stats()["folded"] == 46
    with Filter.open(tmp_path / "a") as found, Filter.open(tmp_path / "b") as other:
        assert_equal(found, other)
        with pytest.raises(FilterError, match="ham_weight cannot be changed: the texts of 46 messages were dropped"):
            found.change(ham_weight=3.0)
        found.change(ham_loss=0.2)
        other.change(ham_loss=0.2)
        assert_equal(found, other)
    base = tmp_path / "a" / "base-47.safetensors"
    base.write_bytes(base.read_bytes()[:-1])
    with pytest.raises(FilterError, match=r"base-47.safetensors is damaged or missing"):
        Filter.open(tmp_path / "a")


def test_a_compacted_home_is_small(tmp_path: Path) -> None:
    """One file of the model's size under both of its names, and a log of digests."""
    with fresh(tmp_path / "a", mails(range(300))) as found, fresh(tmp_path / "b", mails(range(300))) as other:
        texts = [(b"Subject: %d\n\n" % n + random.Random(n).randbytes(20_000).hex().encode(), n % 2 == 0) for n in range(40)]
        found.learn(texts)
        other.learn(texts)
        before, named = found.stats()["bytes"], found.top(3)
        for _ in range(2):
            found.compact()
            sizes = {path.name: path.stat().st_size for path in (tmp_path / "a").iterdir()}
            assert sizes["log.sqlite"] < 80_000  # 340 digests of 32 bytes, twice
            assert sizes.pop("log.sqlite-wal") == 0
            assert len([name for name in sizes if name.startswith("base-")]) == 1
        assert found.stats()["bytes"] < 500_000 < 800_000 < before  # with the columns that are rehearsed
        assert (tmp_path / "a" / "filter.safetensors").samefile(*(tmp_path / "a").glob("base-*"))
        with Filter.open(tmp_path / "a") as again:  # there are no texts to take names from, but the file has them
            for reported in (found.top(3), again.top(3)):
                assert [[each.weight for each in side] for side in reported] == [
                    [each.weight for each in side] for side in named
                ]
                assert not any(each.name.startswith("column") for side in reported for each in side)
        assert_equal(found, other)
        found.learn(mails(range(300, 350)))
        other.learn(mails(range(300, 350)))
        found.save()
    with Filter.open(tmp_path / "a") as found, Filter.open(tmp_path / "b") as other:
        assert found.store.saved == 390
        assert_equal(found, other)


def test_a_reader_of_a_replaced_base_reads_the_new_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with fresh(tmp_path / "a", mails(range(30))) as found:
        found.compact(keep=20)
        load, bases = snapshot.load, []

        def late(path: Path, *given: Any) -> Any:
            if path.name.startswith("base-"):
                bases.append(path.name)
                if len(bases) == 1:
                    found.compact(keep=10)
            return load(path, *given)

        (tmp_path / "a" / "filter.safetensors").unlink(missing_ok=True)
        monkeypatch.setattr(snapshot, "load", late)
        with Filter.open(tmp_path / "a") as other:
            assert (bases[0], bases[-1]) == ("base-10.safetensors", "base-20.safetensors")
            assert_equal(found, other)


def test_texts_stay_on_disk_while_another_process_reads(tmp_path: Path) -> None:
    with fresh(tmp_path / "a", mails(range(30))) as found:
        with contextlib.closing(sqlite3.connect(tmp_path / "a" / "log.sqlite")) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT * FROM messages").fetchone()
            assert found.compact() == 30
            assert not found.store.shrunk
        found.compact()
        assert found.store.shrunk
        assert not (tmp_path / "a" / "log.sqlite-wal").stat().st_size


def test_a_fold_that_comes_too_late_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with fresh(tmp_path / "a", mails(range(30))) as found, Filter.open(tmp_path / "a") as other:
        save = snapshot.save

        def late(*given: Any) -> None:
            monkeypatch.setattr(snapshot, "save", save)
            other.compact(keep=20)
            save(*given)

        monkeypatch.setattr(snapshot, "save", late)
        assert found.compact(keep=10) == 0
        assert [path.name for path in (tmp_path / "a").glob("base-*")] == ["base-10.safetensors"]


def test_unfinished_bases_of_killed_processes_are_removed(tmp_path: Path) -> None:
    """A writer holds a lock on its temporary file; a killed one does not."""
    with fresh(tmp_path / "a", mails(range(30))) as found:
        killed, living = (tmp_path / "a" / f".base-{n}.safetensors.1-0123456789abcdef.rosenblatt-tmp" for n in (1, 2))
        killed.write_bytes(b"half")
        with living.open("wb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            found.compact(keep=10)
            assert (killed.exists(), living.exists()) == (False, True)


def test_a_long_log_is_folded_automatically(tmp_path: Path) -> None:
    with fresh(tmp_path / "a", mails(range(30)), max_messages=40) as found, fresh(tmp_path / "b", mails(range(60))) as other:
        assert found.stats()["folded"] == 0
        found.learn(mails(range(30, 60)))
        assert found.stats()["folded"] == 30
        assert_equal(found, other)


def test_texts_are_counted_before_they_are_folded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mails that are moved again and again leave numbers that no text has: there is nothing to fold, and nothing is tidied."""
    with fresh(tmp_path / "a", mails(range(30)), max_messages=40) as found:
        folds: list[int] = []
        fold = found.store.fold
        monkeypatch.setattr(found.store, "fold", lambda keep: folds.append(keep) or fold(keep))
        for turn in range(30):
            found.relearn(mail(29), turn % 2 == 0)
        assert found.store.state.seq >= 59
        found.learn(mails(range(29)))
        assert folds == []
        found.learn(mails(range(30, 40)))
        assert folds == []
        found.learn(mails([40]))
        assert folds == [20]
        assert found.stats()["folded"] == 21
        found.unlearn(mail(39))
        found.learn(mails(range(41, 61)))
        assert folds == [20]
        found.learn(mails([39, 61]))
        assert folds == [20, 20]
        assert found.stats()["folded"] == 42
