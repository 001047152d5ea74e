"""A home where nobody may write, a disk that is read-only or a filter of somebody else: it answers, and learns nothing."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from small_filters import assert_equal, fresh, mail, mails

from rosenblatt.mail import log
from rosenblatt.mail.filter import Filter, FilterError

TOLD = "nothing can be learnt or changed here: permission is denied, or the disk is read-only"


@pytest.fixture(params=[5, 100])
def shut(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """With and without a snapshot; for root, who may write everywhere, the disk seems to be read-only."""
    home = tmp_path / "a"
    fresh(home, mails(range(request.param))).close()
    if os.geteuid() == 0:
        connect = log.Log._connect

        def refused(self: log.Log, way: str, settings: Any) -> None:
            assert way.startswith("mode=ro")
            if "immutable" not in way:
                raise sqlite3.OperationalError("unable to open database file")
            connect(self, way, settings)

        monkeypatch.setattr(log.os, "access", lambda *_: False)
        monkeypatch.setattr(log.Log, "_connect", refused)
        yield home, request.param
        monkeypatch.undo()
    else:
        home.chmod(0o500)
        yield home, request.param
        home.chmod(0o700)


def test_who_may_only_read_changes_nothing(shut: tuple[Path, int]) -> None:
    home, count = shut
    before = {path.name: path.stat().st_mtime_ns for path in home.iterdir()}
    with Filter.open(home) as found:
        assert found.stats()["messages"] == count == len(list(found.messages()))
        assert found.explain(mail(3), 2)
        assert found.top(3)[0]
        assert not found.refresh()
        assert found.label_of(mail(3)) is True
        for work in (
            lambda: found.learn(mails(range(200))),
            lambda: found.unlearn(mail(1)),
            lambda: found.relearn_many([mail(1)]),
            lambda: found.change(ham_loss=0.2),
            lambda: found.compact(),
        ):
            with pytest.raises(FilterError, match=TOLD):
                work()
    with Filter.open(home, create=True) as found:  # as a server does
        assert not found.created
    with pytest.raises(FilterError, match=TOLD):
        Filter.open(home, settings={"ham_weight": 3.0})
    assert {path.name: path.stat().st_mtime_ns for path in home.iterdir()} == before
    if os.geteuid() == 0:
        (home / "log.sqlite-wal").write_bytes(b"learnt by somebody, but not in the log yet")
        with pytest.raises(FilterError, match=r"log.sqlite cannot be opened"):
            Filter.open(home)


def test_the_verdicts_are_the_same(shut: tuple[Path, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, count = shut
    with Filter.open(home) as found:
        monkeypatch.undo()
        with fresh(tmp_path / "b", mails(range(count))) as other:
            assert_equal(found, other)
