"""A read-only filter classifies, and learns nothing."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from small_filters import assert_equal, fresh, mail, mails

from rosenblatt.mail.filter import Filter, FilterError

REFUSED = "cannot be changed: permission is denied, or the disk is read-only"
NOBODY = 65534
ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
by_root = pytest.mark.skipif(not ROOT, reason="only root can become another user")
pytestmark = pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")


@contextlib.contextmanager
def unprivileged() -> Iterator[None]:
    """Root may write everywhere, so the test drops its privileges."""
    if not ROOT:
        yield
        return
    os.setresgid(NOBODY, NOBODY, 0)
    os.setresuid(NOBODY, NOBODY, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)
        os.setresgid(0, 0, 0)


@pytest.fixture
def home() -> Iterator[Path]:
    """In a folder that all users may read; those of pytest are private."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder / "a"
    (folder / "a").chmod(0o700)
    shutil.rmtree(folder)


def shut(home: Path, owner: bool) -> None:
    """Read-only for its owner, or readable for other users."""
    for path in home.iterdir():
        path.chmod(0o600 if owner else 0o644)
    home.chmod(0o500 if owner else 0o755)
    if owner and ROOT:
        for path in (*home.iterdir(), home):
            os.chown(path, NOBODY, NOBODY)


class Other:
    """Another process that has opened a filter."""

    def __init__(self, home: Path) -> None:
        lines = [
            f"import sys; sys.path.insert(0, {os.fspath(Path(__file__).parent)!r})",
            "from small_filters import *",
            f"found = Filter.open({os.fspath(home)!r})",
            "for line in sys.stdin: exec(line); print(flush=True)",
        ]
        command = [sys.executable, "-c", "\n".join(lines)]
        self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def does(self, work: str) -> None:
        self.child.stdin.write(f"{work}\n")
        self.child.stdin.flush()
        assert self.child.stdout.readline() == "\n"

    def __enter__(self) -> Other:
        return self

    def __exit__(self, *_: object) -> None:
        self.child.kill()
        self.child.communicate()


@pytest.mark.parametrize("count", [5, 100])  # without and with a snapshot
@pytest.mark.parametrize("owner", [True, pytest.param(False, marks=by_root)])
def test_a_reader_without_write_permission_changes_nothing(home: Path, tmp_path: Path, count: int, owner: bool) -> None:
    fresh(home, mails(range(count))).close()
    shut(home, owner)
    before = {path.name: path.stat().st_mtime_ns for path in home.iterdir()}
    other = fresh(tmp_path / "b", mails(range(count)))
    with other, unprivileged(), Filter.open(home) as found:
        assert_equal(found, other)
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
            with pytest.raises(FilterError, match=REFUSED):
                work()
        with Filter.open(home, create=True) as again:  # as a server does
            assert not again.created
        with pytest.raises(FilterError, match=REFUSED):
            Filter.open(home, settings={"ham_weight": 3.0})
    assert {path.name: path.stat().st_mtime_ns for path in home.iterdir()} == before


def queries(found: Filter, other: Filter) -> None:
    """Lessons of another process are taken in once."""
    with unprivileged():
        assert found.label_of(mail(other.store.state.count - 1)) is not None
        assert found.refresh()
        assert not found.refresh()
        assert_equal(found, other)


@by_root
def test_a_reader_sees_what_another_user_teaches(home: Path, tmp_path: Path) -> None:
    fresh(home, mails(range(60))).close()
    shut(home, owner=False)
    with fresh(tmp_path / "b", mails(range(60))) as other:
        with unprivileged():
            found: Any = Filter.open(home)
        with found:
            with Other(home) as taught:
                for first in (60, 70):
                    taught.does(f"found.learn(mails(range({first}, {first + 10})))")
                    other.learn(mails(range(first, first + 10)))
                    queries(found, other)
                taught.does(
                    "found.learn(mails(range(80, 90))); found.unlearn(mail(65)); found.learn(mails([65])); found.close()"
                )
                other.learn(mails(range(80, 90)))
                other.unlearn(mail(65))
                other.learn(mails([65]))
                queries(found, other)
            with unprivileged(), Filter.open(home) as again:
                assert_equal(again, other)
        fresh(home, mails(range(90, 100))).close()
        other.learn(mails(range(90, 100)))
        with unprivileged(), Filter.open(home) as again:
            assert_equal(again, other)


@by_root
def test_lessons_of_a_killed_process(home: Path, tmp_path: Path) -> None:
    fresh(home, mails(range(60))).close()
    shut(home, owner=False)
    with Other(home) as taught:
        taught.does("found.learn(mails(range(60, 70)))")
    with fresh(tmp_path / "b", mails(range(70))) as other, unprivileged(), Filter.open(home) as found:
        assert_equal(found, other)
    (home / "log.sqlite-shm").unlink()  # a backup may lack it: what is not in the log itself cannot be read then
    with unprivileged(), pytest.raises(FilterError, match=r"log.sqlite cannot be opened: permission is denied"):
        Filter.open(home)


def test_a_log_that_is_written_while_it_is_read_is_read_again(home: Path) -> None:
    """There is no lock where SQLite may make no files."""
    fresh(home, mails(range(60))).close()
    shut(home, owner=True)
    with unprivileged(), Filter.open(home) as found:
        log = found.store.log
        before = found.classify(mail(900))
        with pytest.raises(FilterError, match="was written while it was read"), log.reading():
            os.utime(log.path, ns=(1, 1))
        found.refresh()  # opens it again
        assert not found.refresh()
        assert found.classify(mail(900)) == before
