"""Files that a filter trusts: those that other users can write, and tokens that they can read, are repaired or refused."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from rosenblatt.mail import Filter, FilterError
from rosenblatt.mail.server import ServeError, token_from
from rosenblatt.mail.store.connection import LOG_NAME

SETTINGS = {"bits": 16}
TOKEN = "a-token-of-many-letters"


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def of_another_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)


@pytest.mark.parametrize(
    ("before", "after"), [(0o777, 0o775), (0o1777, 0o1775), (0o707, 0o705), (0o775, 0o775), (0o755, 0o755)]
)
def test_a_home_that_all_users_can_write_is_repaired_with_a_note(tmp_path: Path, before: int, after: int) -> None:
    home = tmp_path / "home"
    home.mkdir()
    home.chmod(before)
    if before == after:
        Filter.open(home, create=True, settings=SETTINGS).close()
    else:
        with pytest.warns(UserWarning, match="could be written by all users; took that permission away"):
            Filter.open(home, create=True, settings=SETTINGS).close()
    assert mode_of(home) == after
    assert mode_of(home / LOG_NAME) == 0o600
    Filter.open(home).close()  # without a note


def test_a_log_that_all_users_can_write_is_repaired(tmp_path: Path) -> None:
    Filter.open(tmp_path, create=True, settings=SETTINGS).close()
    (tmp_path / LOG_NAME).chmod(0o666)
    with pytest.warns(UserWarning, match=LOG_NAME):
        Filter.open(tmp_path).close()
    assert mode_of(tmp_path / LOG_NAME) == 0o664


def test_so_are_the_weights(tmp_path: Path) -> None:
    """Whoever can write them decides what is spam, too."""
    with Filter.open(tmp_path, create=True, settings=SETTINGS) as found:
        found.learn([(b"Subject: pills\n\nbuy", True)])
    weights = tmp_path / "filter.safetensors"
    weights.chmod(0o646)
    with pytest.warns(UserWarning, match=weights.name):
        Filter.open(tmp_path).close()
    assert mode_of(weights) == 0o644
    Filter.open(tmp_path).close()  # without a note


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_files_that_another_user_left_in_a_private_home_are_refused(tmp_path: Path) -> None:
    with Filter.open(tmp_path, create=True, settings=SETTINGS) as found:
        found.learn([(b"Subject: pills\n\nbuy", True)])
    tmp_path.chmod(0o755)
    os.chown(tmp_path / "filter.safetensors", 12345, -1)
    with pytest.raises(FilterError, match=r"filter.safetensors belongs to another user, who can change it"):
        Filter.open(tmp_path)
    tmp_path.chmod(0o775)  # a home that a group shares has files of all its members
    Filter.open(tmp_path).close()


def test_the_command_prints_the_note_and_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from rosenblatt.cli.mail.common import opened

    tmp_path.chmod(0o777)
    opened(str(tmp_path), create=True, bits=16).close()
    assert f"{tmp_path} could be written by all users; took that permission away (chmod o-w)" in capsys.readouterr().err


@pytest.mark.usefixtures("of_another_user")
def test_a_home_of_another_user_that_all_can_write_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    with pytest.raises(FilterError, match=f"not yours: let its owner run chmod o-w {tmp_path}"):
        Filter.open(tmp_path, create=True, settings=SETTINGS)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("before", "after"), [(0o644, 0o640), (0o666, 0o640), (0o660, 0o640), (0o640, 0o640), (0o400, 0o400)])
def test_a_token_that_others_can_read_is_repaired_with_a_note(tmp_path: Path, before: int, after: int) -> None:
    path, notes = tmp_path / "token", list[str]()
    path.write_text(TOKEN)
    path.chmod(before)
    assert token_from(path, warn=notes.append) == TOKEN
    assert mode_of(path) == after
    assert len(notes) == (before != after)
    assert all("took that permission away" in each and "replace it" in each for each in notes)


@pytest.mark.usefixtures("of_another_user")
def test_a_token_of_another_user_that_others_can_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text(TOKEN)
    path.chmod(0o644)
    with pytest.raises(ServeError, match="not yours: let its owner run chmod g-w,o-rwx"):
        token_from(path)
    path.chmod(0o640)
    assert token_from(path) == TOKEN


def test_a_token_may_come_through_a_pipe(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.write(writing, TOKEN.encode())
    os.close(writing)
    notes: list[Any] = []
    try:
        assert token_from(f"/dev/fd/{reading}", warn=notes.append) == TOKEN
    finally:
        os.close(reading)
    assert notes == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_a_token_comes_from_no_named_pipe_device_or_directory(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, kind in ((tmp_path / "pipe", "a pipe"), (Path(os.devnull), "a device"), (tmp_path, "a directory")):
        with pytest.raises(ServeError, match=f"cannot read the token in {path}: it is {kind}, not a regular file"):
            token_from(path)
