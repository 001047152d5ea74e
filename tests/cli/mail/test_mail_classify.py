"""`rosenblatt mail classify`: verdicts, exit codes, and mails passed through."""

from __future__ import annotations

import gzip
import json
import shlex
import subprocess
import sys

import pytest
from letters import letter, new

from commands import rosenblatt
from rosenblatt.mail.filter import Filter
from rosenblatt.mail.identity import digest

ROSENBLATT = [sys.executable, "-m", "rosenblatt"]


def test_verdicts_and_their_exit_codes(trained, tmp_path):
    spam, ham = rosenblatt("mail", "classify", new(tmp_path, True)), rosenblatt("mail", "classify", new(tmp_path, False))
    assert (spam.code, spam.out.split()[0]) == (0, "spam")
    assert (ham.code, ham.out.split()[0]) == (1, "ham")
    assert float(spam.out.split()[1]) > 0.9 > 0.1 > float(ham.out.split()[1])
    unsure = rosenblatt("mail", "classify", input=b"Subject: hello\n\nqzxw\n")
    assert (unsure.code, unsure.out.split()[0]) == (2, "unsure")
    assert rosenblatt("mail", "classify", "-e", new(tmp_path, False)).code == 0


def test_several_mails_are_a_line_each(trained, tmp_path):
    found = rosenblatt("mail", "classify", "--json", tmp_path / "spam")
    assert found.code == 0
    lines = [json.loads(line) for line in found.out.splitlines()]
    assert len(lines) == 60
    assert all(line["label"] == "spam" and line["probability"] > 0.5 for line in lines)
    assert [line["mail"] for line in lines] == [str(tmp_path / "spam" / f"{number:04}.eml") for number in range(60)]


@pytest.mark.parametrize("wrong", [["--nonsense"], ["no-such-file"], ["--filter", "--json"], ["--filter", "a", "b"]])
def test_what_is_wrong_is_code_3_and_never_a_verdict(trained, wrong):
    found = rosenblatt("mail", "classify", *wrong)
    assert found.code == 3
    assert len(found.err.splitlines()) <= 2


def test_filter_passes_the_mail_through(trained, tmp_path):
    raw = letter(True, 1000)
    found = subprocess.run([*ROSENBLATT, "mail", "classify", "--filter"], input=raw, capture_output=True, check=False)
    assert found.returncode == 0, found.stderr
    assert b"\r\nX-Rosenblatt: spam; score=" in found.stdout
    assert digest(found.stdout) == digest(raw)
    before, rest = found.stdout.split(b"X-Rosenblatt: ", 1)
    while (rest := rest.split(b"\r\n", 1)[1])[:1] in (b" ", b"\t"):
        pass
    assert before + rest == raw


def test_filter_without_a_filter_passes_the_mail_as_it_came(home, tmp_path):
    path = new(tmp_path, True)
    found = subprocess.run([*ROSENBLATT, "mail", "classify", "--filter", path], capture_output=True, check=False)
    assert found.returncode == 3
    assert found.stdout == path.read_bytes()
    assert len(found.stderr.splitlines()) == 1
    assert b"passed through unchanged" in found.stderr


def test_filter_unpacks_a_file(trained, tmp_path):
    path, packed = new(tmp_path, True), tmp_path / "packed.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    plain, unpacked = (
        subprocess.run([*ROSENBLATT, "mail", "classify", "--filter", each], capture_output=True, check=False)
        for each in (path, packed)
    )
    assert (unpacked.returncode, unpacked.stdout) == (plain.returncode, plain.stdout) == (0, plain.stdout)
    packed.write_bytes(packed.read_bytes()[:50])
    damaged = subprocess.run([*ROSENBLATT, "mail", "classify", "--filter", packed], capture_output=True, check=False)
    assert (damaged.returncode, damaged.stdout) == (3, packed.read_bytes())
    assert b"truncated" in damaged.stderr
    assert len(damaged.stderr.splitlines()) == 1


def test_a_verdict_is_the_same_however_a_mail_comes_in(trained, tmp_path):
    path = tmp_path / "one.mbox"
    path.write_bytes(b"From a@b Mon Jan  1 10:00:00 2024\n" + letter(True, 1000) + b"\n>From now on: cheap pills\n\n")
    line = shlex.join([*ROSENBLATT, "mail", "classify", "--json"])
    ways = (f"{line} {path}", f"{line} < {path}", f"{line} <(cat {path})")
    reported = [subprocess.run(["bash", "-c", way], capture_output=True, text=True, check=False) for way in ways]
    scores = {json.loads(each.stdout)["score"] for each in reported}
    with Filter.open(trained) as piped:
        assert scores == {piped.classify(path.read_bytes()).score}


def test_filter_takes_neither_nothing_nor_several_mails(trained, tmp_path):
    nothing = subprocess.run([*ROSENBLATT, "mail", "classify", "--filter"], input=b"", capture_output=True, check=False)
    assert (nothing.returncode, nothing.stdout) == (3, b"")
    assert nothing.stderr == b"rosenblatt: no mail on standard input\n"
    path, postmark = tmp_path / "two.mbox", b"From a@b Mon Jan  1 10:00:00 2024\n"
    path.write_bytes(2 * (postmark + letter(True, 1000) + b"\n"))
    several = subprocess.run([*ROSENBLATT, "mail", "classify", "--filter", path], capture_output=True, check=False)
    assert (several.returncode, several.stdout) == (3, path.read_bytes())
    assert several.stderr.startswith(b"rosenblatt: --filter takes one mail")
    # From a mail server it is one mail with another one in its text.
    with path.open("rb") as box:
        piped = subprocess.run([*ROSENBLATT, "mail", "classify", "--filter"], stdin=box, capture_output=True, check=False)
    assert piped.returncode == 0
    assert piped.stdout.count(b"X-Rosenblatt: spam") == 1
