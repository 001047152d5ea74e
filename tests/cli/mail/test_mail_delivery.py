"""The recipes of docs/mail.md, as they are printed there, in the delivery programs that they are for.

Every user is new: the home has a recipe, the command `rosenblatt` and, in some cases, the Junk folder.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from letters import letter
from mail_servers import HAM, SPAM, Plain, serving

from effort import amount

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "mail.md"
RECIPES = {"procmail": ".procmailrc", "maildrop": ".mailfilter"}
COMMAND = "rosenblatt mail classify --filter -e"
STAMP = "#!/bin/sh\nprintf 'X-Rosenblatt: spam; score=1.0\\n'\nexec cat\n"  # in place of the command, which takes longer

pytestmark = [
    pytest.mark.skipif(not DOCUMENT.is_file(), reason="no docs/mail.md here"),
    pytest.mark.parametrize(
        "program",
        [
            pytest.param(name, marks=pytest.mark.skipif(not shutil.which(name), reason=f"no {name}: apt-get install {name}"))
            for name in RECIPES
        ],
    ),
]


class User:
    """A new user with the documented recipe; `command` is the program that is called `rosenblatt`."""

    def __init__(self, home: Path, program: str, command: str | None, replaced: str = COMMAND) -> None:
        self.home, self.program = home, program
        name = RECIPES[program]
        recipe = re.search(rf"^```\n# ~/{re.escape(name)}\n(.*?)^```$", DOCUMENT.read_text(), re.S | re.M)[1]
        assert COMMAND in recipe
        home.mkdir(exist_ok=True)
        # Both programs take HOME from the list of users, not from the environment.
        (home / name).write_text(f'HOME="{home}"\n{recipe.replace(COMMAND, replaced)}')
        (home / name).chmod(0o600)
        if command is not None:
            path = home / ".local" / "bin" / "rosenblatt"
            path.parent.mkdir(parents=True)
            path.write_text(command)
            path.chmod(0o755)

    def make_junk(self) -> None:
        for folder in ("", ".Junk/"):
            for part in ("cur", "new", "tmp"):
                (self.home / "Maildir" / f"{folder}{part}").mkdir(parents=True)

    def deliver(self, *mails: bytes) -> None:
        """Deliver mails at once."""
        environment = {"HOME": str(self.home), "PATH": "/usr/bin:/bin", "SHELL": "/usr/sbin/nologin", "LOGNAME": "root"}
        rc = self.home / RECIPES[self.program]
        running = [
            subprocess.Popen(
                [self.program, str(rc)], stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, cwd=self.home
            )
            for _ in mails
        ]
        for process, mail in zip(running, mails, strict=True):
            process.stdin.write(mail)
            process.stdin.close()
            process.stdin = None
        for process in running:
            try:
                err = process.communicate(timeout=120)[1]
            finally:
                process.kill()
            assert process.returncode == 0, err
            assert b"Lock failure" not in err  # after a minute of waiting

    def box(self, folder: str = "") -> list[bytes]:
        return sorted(path.read_bytes() for path in (self.home / "Maildir" / folder / "new").glob("*"))


@pytest.fixture(params=[False, True], ids=["no junk folder", "junk folder"])
def junk(request):
    return request.param


def test_many_spams_at_once_reach_the_junk_folder(program, tmp_path, junk):
    user = User(tmp_path / "user", program, STAMP)
    if junk:
        user.make_junk()
    mails = [letter(True, number).replace(b"\r\n", b"\n") for number in range(amount(8, 60))]
    user.deliver(*mails)
    assert user.box() == []
    found = user.box(".Junk")  # procmail adds a blank line at the end
    assert [mail.partition(b"From: ")[2].rstrip() for mail in found] == sorted(
        mail.partition(b"From: ")[2].rstrip() for mail in mails
    )
    assert all(b"X-Rosenblatt: spam; " in mail for mail in found)
    assert sorted(os.listdir(user.home)) == sorted([RECIPES[program], ".local", "Maildir"])  # no locks, no mbox


@pytest.mark.parametrize("command", [None, "#!/bin/sh\nexit 3\n", "#!/bin/sh\ncat >/dev/null\nexit 1\n"])
def test_without_a_filter_nothing_is_lost(program, tmp_path, command):
    user = User(tmp_path / "user", program, command)
    user.deliver(*[letter(spam, 1) for spam in (True, False)])
    assert len(user.box()) == 2
    assert user.box(".Junk") == []


@pytest.mark.slow
def test_the_filter_parts_spam_from_ham(program, tmp_path, trained, junk):
    line = shlex.join(["env", f"ROSENBLATT_MAIL={trained}", sys.executable, "-m", "rosenblatt"])
    user = User(tmp_path / "user", program, f'#!/bin/sh\nexec {line} "$@"\n')
    if junk:
        user.make_junk()
    numbers = range(1000, 1000 + amount(1, 15))
    user.deliver(*[letter(spam, number) for spam in (True, False) for number in numbers])
    for folder, label, sender in ((".Junk", b"spam", b"deals@shop"), ("", b"ham", b"anna@work")):
        found = user.box(folder)
        assert len(found) == len(numbers)
        assert all(b"X-Rosenblatt: " + label + b"; " in mail and sender in mail for mail in found)


@pytest.mark.skipif(shutil.which("spamc") is None, reason="no spamc: apt-get install spamc")
def test_with_spamc_and_a_server_that_ends(program, tmp_path):
    assert "the filter of both is `spamc -p 7830`" in DOCUMENT.read_text()
    with serving(Plain()) as (addresses, _):
        user = User(tmp_path / "user", program, None, f"spamc -p {addresses.spamd[1]}")
        user.deliver(SPAM.replace(b"\r\n", b"\n"), HAM)
        assert [b"X-Spam-Flag: YES" in mail for mail in (*user.box(".Junk"), *user.box())] == [True, False]
    user = User(tmp_path / "later", program, None, f"spamc -p {addresses.spamd[1]} --connect-retries=1")
    user.deliver(SPAM.replace(b"\r\n", b"\n"))
    assert (len(user.box()), user.box(".Junk")) == (1, [])
