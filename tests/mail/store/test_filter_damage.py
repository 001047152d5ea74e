"""Logs that are damaged, disks that are full, homes that are none: one sentence that names the home, and nothing lost."""

from __future__ import annotations

import contextlib
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from small_filters import assert_equal, fresh, mail, mails

from rosenblatt.mail.filter import Filter, FilterError, Learned
from rosenblatt.mail.store import connection, snapshot
from rosenblatt.mail.store.filter_state import Settings, State

HERE = Path(__file__).parent


def use(home: Path) -> None:
    """Everything that a person might do."""
    with Filter.open(home) as found:
        found.classify(mail(1))
        found.learn(mails(range(100, 103)))
        found.learn([(mail(2), True)], mix=True)
        found.unlearn(mail(4))
        found.top(3)
        found.stats()
        found.compact(keep=10)


@pytest.mark.parametrize("seed", range(60))
def test_a_damaged_log_is_a_sentence(tmp_path: Path, seed: int, whole: bytes) -> None:
    draw, raw = random.Random(seed), bytearray(whole)
    if seed % 4 == 0:
        del raw[draw.randrange(len(raw)) :]
    elif seed % 4 == 1:
        start = draw.randrange(len(raw))
        raw[start : start + 300] = draw.randbytes(len(raw[start : start + 300]))
    else:
        for _ in range(draw.choice((1, 10, 500))):
            raw[draw.randrange(len(raw))] = draw.randrange(256)
    (tmp_path / "log.sqlite").write_bytes(raw)
    try:
        use(tmp_path)
    except FilterError as error:
        reported = str(error)
        assert reported.startswith(f"{tmp_path}: ")
        assert "\n" not in reported


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    home = tmp_path_factory.mktemp("whole")
    fresh(home, mails(range(60))).close()
    return (home / "log.sqlite").read_bytes()


@pytest.mark.parametrize(
    "damage",
    [
        "spam = 1 - spam",
        "digest = zeroblob(32)",
        "digest = 'text'",
        "seal = seal + 1",
        "spam = NULL",
        "spam = 7",
        "spam = spam + 0.5",
    ],
)
def test_a_label_or_a_digest_that_changed_is_noticed(tmp_path: Path, damage: str) -> None:
    fresh(tmp_path, mails(range(20))).close()
    for path in tmp_path.glob("*.safetensors"):
        path.unlink()  # so that all is replayed
    with contextlib.closing(sqlite3.connect(tmp_path / "log.sqlite")) as db, db:
        if damage == "spam = NULL":
            db.execute("PRAGMA writable_schema = ON")
            db.execute("UPDATE sqlite_schema SET sql = replace(sql, 'spam INTEGER NOT NULL', 'spam INTEGER')")
            db.commit()
            db.execute("PRAGMA writable_schema = RESET")
        db.execute(f"UPDATE messages SET {damage} WHERE seq = 7")
    with pytest.raises(FilterError, match=r"log\.sqlite is damaged"):
        use(tmp_path)


def test_homes_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(FilterError, match="no filter yet; create one"):
        Filter.open(tmp_path / "nowhere")
    (tmp_path / "log.sqlite").touch()
    with pytest.raises(FilterError, match="no filter yet; create one"):
        Filter.open(tmp_path)
    (tmp_path / "log.sqlite").write_bytes(b"From me@example.org\n\nThis is a mailbox.\n" * 100)
    with pytest.raises(FilterError, match=r"log.sqlite is damaged \(file is not a database\)"):
        Filter.open(tmp_path, create=True)
    (tmp_path / "file").touch()
    with pytest.raises(FilterError, match="cannot be created"):
        Filter.open(tmp_path / "file", create=True)
    (tmp_path / "other").mkdir()
    with sqlite3.connect(tmp_path / "other" / "log.sqlite") as db:
        db.execute("CREATE TABLE mine (x)")
    db.close()
    with pytest.raises(FilterError, match="is not the log of a mail filter"):
        Filter.open(tmp_path / "other", create=True)
    fresh(tmp_path / "newer", []).close()
    with sqlite3.connect(tmp_path / "newer" / "log.sqlite") as db:
        db.execute("PRAGMA user_version=99")
    db.close()
    with pytest.raises(FilterError, match="has format version 99"):
        Filter.open(tmp_path / "newer")


def test_a_home_that_is_moved_away_is_not_taught(tmp_path: Path) -> None:
    with fresh(tmp_path / "a", mails(range(10))) as found:
        (tmp_path / "a").rename(tmp_path / "b")
        for learn in (lambda: found.learn(mails(range(10, 12))), lambda: found.unlearn(mail(1))):
            with pytest.raises(FilterError, match="was moved or removed while it was open; nothing was changed"):
                learn()
        assert found.classify(mail(1)).label
        fresh(tmp_path / "a", mails(range(3))).close()
        with pytest.raises(FilterError, match="was moved"):
            found.learn(mails(range(10, 12)))
    with Filter.open(tmp_path / "b") as moved:
        assert moved.stats()["messages"] == 10


def test_what_is_in_its_place_is_left_alone(tmp_path: Path) -> None:
    old = fresh(tmp_path / "a", mails(range(10)))
    (tmp_path / "a").rename(tmp_path / "b")
    with fresh(tmp_path / "a", mails(range(20, 40))) as new:
        new.compact(keep=5)
        before = {path.name: path.read_bytes() for path in (tmp_path / "a").glob("*.safetensors")}
        for write in (old.compact, old.store.save):
            with pytest.raises(FilterError, match="was moved"):
                write()
        old.close()
        assert {path.name: path.read_bytes() for path in (tmp_path / "a").glob("*.safetensors")} == before
    gone = fresh(tmp_path / "c", mails(range(10)))
    gone.learn(mails(range(10, 300)))
    shutil.rmtree(tmp_path / "c")
    (tmp_path / "c").mkdir()
    gone.close()
    assert list((tmp_path / "c").iterdir()) == []


def test_a_home_stays_where_it_is_when_its_user_goes_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with fresh(Path("here"), mails(range(10))) as found:
        (tmp_path / "there").mkdir()
        monkeypatch.chdir(tmp_path / "there")
        found.learn(mails(range(10, 12)))
        found.unlearn(mail(1))
        assert found.stats()["messages"] == 11


def test_no_log_is_made_beside_the_weights_of_another(tmp_path: Path) -> None:
    with fresh(tmp_path / "a", mails(range(60))) as found:
        assert found.created
        found.compact()
    with Filter.open(tmp_path / "a", create=True) as found:
        assert not found.created
    log_file, weights = tmp_path / "a" / "log.sqlite", tmp_path / "a" / "filter.safetensors"
    kept = log_file.read_bytes()
    for there in (True, False):
        log_file.write_bytes(b"") if there else log_file.unlink()
        for create in (False, True):
            with pytest.raises(
                FilterError, match=r"log.sqlite is missing, which .*safetensors belongs to; restore it, or move"
            ):
                Filter.open(tmp_path / "a", create=create)
        assert log_file.exists() == there
    log_file.write_bytes(kept)
    with Filter.open(tmp_path / "a") as found:
        assert found.stats()["messages"] == 60
    for path in (log_file, weights, *(tmp_path / "a").glob("base-*")):
        path.unlink()
    with Filter.open(tmp_path / "a", create=True) as found:
        assert found.created


def test_a_damaged_log_reports_what_to_do(tmp_path: Path) -> None:
    fresh(tmp_path, mails(range(60))).close()
    (tmp_path / "log.sqlite").write_bytes(b"From me@example.org" * 400)
    with pytest.raises(FilterError, match=r"; restore a copy of it, or move the directory of the filter away and learn again$"):
        Filter.open(tmp_path)


def test_another_process_keeps_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "LOCK_TIMEOUT_S", 0.05)
    with fresh(tmp_path, mails(range(5))) as found:
        other = sqlite3.connect(tmp_path / "log.sqlite", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(FilterError, match="another process has locked it"):
            found.learn(mails(range(5, 8)))
        found.classify(mail(3))
        with Filter.open(tmp_path) as second:  # a reader does not wait
            assert second.stats()["messages"] == 5
        other.close()
        assert found.learn(mails(range(8))) == Learned(new=3, known=5)


def test_a_snapshot_that_cannot_be_written_leaves_no_empty_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(snapshot, "write_atomically", full)
    with pytest.raises(OSError, match="No space"):
        snapshot.save(State(Settings(bits=10)), "log", tmp_path / snapshot.SNAPSHOT_NAME)
    assert list(tmp_path.iterdir()) == []


def test_a_mailbox_that_fails_half_way_leaves_whole_batches(tmp_path: Path) -> None:
    def failing() -> object:
        yield from mails(range(450))
        raise OSError("the mailbox is gone")

    with fresh(tmp_path / "a", []) as found:
        with pytest.raises(OSError, match=r"^the mailbox is gone$"):
            found.learn(failing())  # type: ignore[arg-type]
        learned = found.stats()["messages"]
        assert 0 < learned < 450
        with fresh(tmp_path / "b", mails(range(learned))) as other:
            assert_equal(found, other)
        with pytest.raises(OSError, match=r"^the mailbox is gone$"):
            found.learn(failing(), mix=True)  # type: ignore[arg-type]
        assert found.stats()["messages"] == learned


def full(home: str, size: int) -> None:
    """Learn until files may not grow: in a process of its own."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    done = 0
    try:
        with Filter.open(home, create=True, settings={"bits": 16}) as found:
            for number in range(5000):
                found.learn(mails([number]))
                done += 1
    except FilterError as error:
        sys.stdout.write(f"{done} {error}\n")


@pytest.mark.parametrize("size", [100, 9_000, 50_000, 300_000])
def test_a_full_disk_loses_nothing(tmp_path: Path, size: int) -> None:
    called = f"from test_filter_damage import full; full({str(tmp_path / 'a')!r}, {size})"
    child = f"import sys; sys.path[:0] = {[str(HERE), str(HERE.parent)]}; {called}"
    ran = subprocess.run([sys.executable, "-c", child], capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr
    done, reported = ran.stdout.strip().split(" ", 1)
    assert reported.startswith(f"{tmp_path / 'a'}: log.sqlite cannot be ")
    with Filter.open(tmp_path / "a", create=True, settings={"bits": 16}) as found:
        assert found.stats()["messages"] == int(done)
        with fresh(tmp_path / "b", mails(range(int(done))), bits=16) as other:
            assert_equal(found, other)
