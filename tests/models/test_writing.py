"""Atomic writes: after any failure either the old file or the new one is there."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import rosenblatt as rb
from effort import amount
from rosenblatt.atomic_file import TEMPORARY_SUFFIX, WriteError, remove_abandoned, write_atomically
from rosenblatt.models.model import Model
from rosenblatt.safe_text import printable

HERE = Path(__file__).parent
ROOT = os.getuid() == 0 if hasattr(os, "getuid") else False


def small(value: float = 1.0, width: int = 3) -> Model:
    return Model("Perceptron", {}, np.array([0, 1]), np.full((1, width), value), np.zeros(1))


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def python(code: str, *arguments: object, before: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    command = [*before, sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_bytes_buffers_and_functions_are_written(tmp_path):
    path = tmp_path / "file"
    for what in (b"abc", bytearray(b"abc"), [b"a", memoryview(b"bc")], lambda file: file.write(b"abc")):
        path.unlink(missing_ok=True)
        write_atomically(path, what)
        assert path.read_bytes() == b"abc"
    write_atomically(str(path), b"")
    assert path.read_bytes() == b""
    assert names(tmp_path) == ["file"]


def test_a_new_file_has_the_permissions_of_any_new_file(tmp_path):
    before = os.umask(0o027)
    try:
        write_atomically(tmp_path / "file", b"abc")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o640


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o664, 0o755])
def test_the_permissions_of_an_existing_file_are_kept(mode, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(mode)
    write_atomically(path, b"new")
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"new", mode)


def test_a_link_is_followed(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to(Path("there") / "file")
    for text in (b"old", b"new"):  # dangling first, then not
        write_atomically(tmp_path / "link", text)
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "there" / "file").read_bytes() == text


def test_long_and_strange_names_are_written(tmp_path):
    for name in ("x" * 255, "\N{SNOWMAN}" * 80, "a b\nc", "-", ".hidden"):
        write_atomically(tmp_path / name, b"abc")
        assert (tmp_path / name).read_bytes() == b"abc"
    assert len(names(tmp_path)) == 5


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (".", "is a directory"),
        ("missing/file", "there is no folder"),
        ("file/below", "there is no folder"),
        ("loop", "the link refers to itself"),
        ("x" * 256, "name is too long"),
        ("a\0b", "cannot be written"),
    ],
)
def test_the_message_names_the_path_and_the_cause(name, words, tmp_path):
    (tmp_path / "file").write_bytes(b"old")
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(WriteError, match=words) as caught:
        write_atomically(tmp_path / name, b"new")
    assert str(caught.value).startswith(f"{printable(tmp_path / name)}: ")
    assert names(tmp_path) == ["file", "loop"]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EPERM, errno.EDQUOT])
@pytest.mark.parametrize("call", ["fsync", "fchmod"])
def test_a_disk_that_fails_leaves_the_old_file_and_no_other(number, call, tmp_path, monkeypatch):
    path = tmp_path / "model"
    rb.save(small(1.0), path)

    def fail(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(WriteError, match=r"cannot be written: .*; the existing file is unchanged") as caught:
        rb.save(small(2.0), path)
    monkeypatch.undo()
    assert caught.value.errno == number
    assert "\n" not in str(caught.value)
    assert (rb.load(path).coef == 1.0).all()
    assert names(tmp_path) == ["model"]


def test_a_folder_that_cannot_be_synced_is_no_failure_and_one_that_fails_is(tmp_path, monkeypatch):
    real, numbers = os.fsync, {"now": errno.EINVAL}

    def fail_on_folders(handle):
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(numbers["now"], os.strerror(numbers["now"]))
        real(handle)

    monkeypatch.setattr(os, "fsync", fail_on_folders)
    write_atomically(tmp_path / "file", b"abc")
    assert (tmp_path / "file").read_bytes() == b"abc"
    numbers["now"] = errno.EIO
    with pytest.raises(WriteError, match="written, but a power failure may lose it: the disk failed"):
        write_atomically(tmp_path / "file", b"def")
    assert (tmp_path / "file").read_bytes() == b"def"


def test_the_owner_of_an_existing_file_stays(tmp_path):
    if not ROOT:
        pytest.skip("only root may give files away")
    path = tmp_path / "file"
    path.write_bytes(b"old")
    os.chown(path, 1234, 1235)
    write_atomically(path, b"new")
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 1235)


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_a_write_that_is_given_up_leaves_nothing(error, tmp_path):
    def write(file):
        file.write(b"half")
        raise error

    (tmp_path / "file").write_bytes(b"old")
    for name in ("file", "other"):
        with pytest.raises(error):
            write_atomically(tmp_path / name, write)
    assert names(tmp_path) == ["file"]
    assert (tmp_path / "file").read_bytes() == b"old"


def test_a_read_only_file_is_not_replaced(tmp_path):
    if ROOT:
        pytest.skip("root may write everywhere")
    (tmp_path / "file").write_bytes(b"old")
    (tmp_path / "file").chmod(0o444)
    with pytest.raises(WriteError, match="read-only"):
        write_atomically(tmp_path / "file", b"new")


def test_devices_are_written_to_and_not_replaced():
    write_atomically(os.devnull, b"abc")
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)
    if Path("/dev/full").exists():
        with pytest.raises(WriteError, match="the disk is full"):
            write_atomically("/dev/full", b"abc")


def test_temporaries_of_killed_processes_are_removed_at_once(tmp_path):
    """The writer holds a lock on its temporary file, so that the next write need not wait or guess."""
    code = """
import sys, time
from rosenblatt.atomic_file import write_atomically

def write(file):
    file.write(b"half")
    file.flush()
    sys.stdout.write("writing")
    sys.stdout.flush()
    time.sleep(100)

write_atomically(sys.argv[1], write)
"""
    path = tmp_path / "file"
    with subprocess.Popen([sys.executable, "-c", code, path], stdout=subprocess.PIPE) as writer:
        assert writer.stdout.read(7) == b"writing"
        (temporary,) = names(tmp_path)
        write_atomically(path, b"while another process writes")
        assert names(tmp_path) == sorted([temporary, "file"])
        writer.kill()
    write_atomically(path, b"after it was killed")
    assert names(tmp_path) == ["file"]
    assert path.read_bytes() == b"after it was killed"


def test_two_writers_do_not_remove_each_others_temporaries(tmp_path):
    """One finds the file of the other in the moment before it is locked."""
    real, found = os.open, []

    def open_and_look(path, flags, *more):
        handle = real(path, flags, *more)
        if flags & os.O_EXCL and len(found) < 3:
            found.append(path)
            remove_abandoned(path)
        return handle

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "open", open_and_look)
        write_atomically(tmp_path / "file", b"new")
    assert (len(found), names(tmp_path)) == (3, ["file"])


def test_stale_temporaries_are_removed_and_others_are_not(tmp_path):
    """Those of earlier versions, with shorter names, were not locked: their age and process id decide."""
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    old, older = time.time() - 3600, time.time() - 100_000
    cases = {
        f".model.{gone.pid}-0123abcd{TEMPORARY_SUFFIX}": (old, False),  # of a dead process
        f".model.{gone.pid}-0123abce{TEMPORARY_SUFFIX}": (None, True),  # too young to be sure
        f".model.{os.getpid()}-0123abcd{TEMPORARY_SUFFIX}": (old, True),  # of a living one
        f".model.{os.getpid()}-0123abce{TEMPORARY_SUFFIX}": (older, False),  # which cannot be the same
        f".other.{gone.pid}-0123abcd{TEMPORARY_SUFFIX}": (old, True),  # of another file
        f".model.{gone.pid}-0123abcd.backup": (old, True),
    }
    for name, (when, _) in cases.items():
        (tmp_path / name).touch()
        if when is not None:
            os.utime(tmp_path / name, (when, when))
    rb.save(small(), tmp_path / "model")
    assert names(tmp_path) == sorted(["model", *(name for name, (_, stays) in cases.items() if stays)])


@pytest.mark.slow
def test_killed_many_times_the_old_or_the_new_model_is_there(tmp_path):
    if not hasattr(os, "fork"):
        pytest.skip("no fork here")
    kills = amount(50, 200)
    command = [sys.executable, str(HERE / "killed_while_saving.py"), str(tmp_path), str(kills)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    assert len(lines) == kills
    assert {line[0] for line in lines} == {"1", "2"}
    assert sum(int(line[1]) for line in lines) > kills // 10, "too few kills hit a save"
    assert max(int(line[1]) for line in lines) == 1, "the next save removes the temporary file"
    rb.save(small(), tmp_path / "model.safetensors")
    assert names(tmp_path) == ["model.safetensors"]


SAVE_LARGER = """
import sys
import numpy as np
from rosenblatt.models.files import load, save
from rosenblatt.models.model import Model
model = Model("Perceptron", {}, np.array([0, 1]), np.full((1, 100_000), 2.0), np.zeros(1))
try:
    save(model, sys.argv[1])
except OSError as error:
    sys.stdout.write(str(error))
assert (load(sys.argv[1]).coef == 1.0).all()
"""


def test_a_limit_on_file_sizes_is_reported_and_the_old_model_kept(tmp_path):
    path = tmp_path / "model"
    rb.save(small(1.0), path)
    limited = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))\n"
    done = python(limited + SAVE_LARGER, path)
    assert done.returncode == 0, done.stderr
    assert "the file would exceed the size limit; the existing file is unchanged" in done.stdout
    assert names(tmp_path) == ["model"]


def test_a_full_disk_is_reported_and_the_old_model_kept(tmp_path):
    """On a disk of 64 KB, mounted for this process alone."""
    if shutil.which("unshare") is None or shutil.which("mount") is None:
        pytest.skip("needs unshare and mount")
    disk = tmp_path / "disk"
    disk.mkdir()
    rb.save(small(1.0), tmp_path / "model")
    script = 'mount -t tmpfs -o size=64k tmpfs "$1" || exit 77; cp "$2" "$1/model"; "$3" -c "$4" "$1/model" && ls -A "$1"'
    command = ["unshare", *([] if ROOT else ["-r"]), "-m", "sh", "-c", script, "sh", disk, tmp_path / "model", sys.executable]
    done = subprocess.run([*map(str, command), SAVE_LARGER], capture_output=True, text=True, check=False)
    if done.returncode == 77 or "unshare" in done.stderr:
        pytest.skip(f"no mounts here: {done.stderr.strip()[:80]}")
    assert done.returncode == 0, done.stderr
    message, left = done.stdout.split("unchanged")
    assert message.endswith("the disk is full; the existing file is ")
    assert left.split() == ["model"]
