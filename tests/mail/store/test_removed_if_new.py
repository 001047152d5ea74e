"""A filter that a command created and that learned nothing is removed; no lesson of another process is lost by that."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import pytest
from small_filters import BITS, fresh, mails

from rosenblatt.mail.filter import Filter, FilterError
from rosenblatt.mail.store.changes import remove_if_new
from rosenblatt.mail.store.connection import LOG_NAME


def test_a_new_filter_goes_with_its_folders_and_no_other(tmp_path: Path) -> None:
    with fresh(tmp_path / "a" / "b", []) as found:
        remove_if_new(found.store)
    assert list(tmp_path.iterdir()) == []
    with fresh(tmp_path / "kept", mails(range(3))) as found:
        remove_if_new(found.store)
    with Filter.open(tmp_path / "kept") as found:
        remove_if_new(found.store)  # not created by this process
        assert found.stats()["messages"] == 3


def test_not_if_its_messages_were_unlearned_or_another_process_taught_it(tmp_path: Path) -> None:
    with fresh(tmp_path / "a", []) as found, Filter.open(tmp_path / "a") as other:
        other.learn(mails(range(1)))
        remove_if_new(found.store)
        assert other.unlearn(mails(range(1))[0][0]).known
        remove_if_new(found.store)  # it has a history
    assert (tmp_path / "a" / LOG_NAME).exists()


def test_a_process_that_has_it_open_is_told_and_acknowledges_nothing(tmp_path: Path) -> None:
    with fresh(tmp_path / "a", []) as found, Filter.open(tmp_path / "a") as other:
        remove_if_new(found.store)
        with pytest.raises(FilterError, match="was moved or removed while it was open; nothing was changed"):
            other.learn(mails(range(3)))
    assert not (tmp_path / "a").exists()


def test_a_lesson_that_waits_for_the_removal_is_told_too(tmp_path: Path) -> None:
    """It looks for the log only when the removal has released its lock; before, the log would still have been there."""
    errors = list[BaseException]()

    def learn() -> None:
        with pytest.raises(FilterError, match="was moved or removed") as caught:
            other.learn(mails(range(3)))
        errors.append(caught.value)

    with fresh(tmp_path / "a", []) as found, Filter.open(tmp_path / "a") as other:
        found.store.log.db.execute("BEGIN IMMEDIATE")
        waiting = threading.Thread(target=learn)
        waiting.start()
        waiting.join(0.2)
        (tmp_path / "a" / LOG_NAME).unlink()
        found.store.log.db.execute("COMMIT")
        waiting.join(30)
        assert len(errors) == 1


def test_files_that_a_killed_removal_left_do_no_harm(tmp_path: Path) -> None:
    home, left = tmp_path / "a", tmp_path / "left"
    with fresh(home, []):
        shutil.copytree(home, left)
    assert (left / f"{LOG_NAME}-wal").exists()
    (left / LOG_NAME).unlink()
    with Filter.open(left, create=True, settings={"bits": BITS}) as found:
        assert found.learn(mails(range(5))).new == 5
    with Filter.open(left) as found:
        assert found.stats()["messages"] == 5
