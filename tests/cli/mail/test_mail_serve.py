"""`rosenblatt mail serve` as a process: spamc, HTTP, and signals."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import urllib.request

import pytest
from letters import folder, letter

from commands import rosenblatt

ROSENBLATT = [sys.executable, "-m", "rosenblatt"]


@pytest.fixture
def server(tmp_path):
    spam, ham = folder(tmp_path / "spam", True, range(40)), folder(tmp_path / "ham", False, range(60))
    assert rosenblatt("mail", "learn", "--home", tmp_path / "home", "--spam", spam, "--ham", ham).code == 0
    command = [*ROSENBLATT, "mail", "serve", "--home", tmp_path / "home", "--port", "0", "--http-port", "0", "--allow-tell"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with process:
        spamd, http = process.stdout.readline(), process.stdout.readline()
        yield process, re.search(r"-p (\d+)", spamd)[1], re.search(r"(http://[^/]+)/", http)[1]
        process.kill()


def test_it_answers_learns_and_stops(server):
    process, port, http = server
    request = urllib.request.Request(f"{http}/v1/classify", letter(True, 999), {"Content-Type": "message/rfc822"})
    with urllib.request.urlopen(request, timeout=20) as answer:
        assert json.load(answer)["label"] == "spam"
    if shutil.which("spamc"):
        spamc = ["spamc", "-d", "127.0.0.1", "-p", port]
        assert subprocess.run([*spamc, "-c"], input=letter(True, 999), capture_output=True, check=False).returncode == 1
        assert subprocess.run([*spamc, "-c"], input=letter(False, 999), capture_output=True, check=False).returncode == 0
        learned = subprocess.run([*spamc, "-L", "ham"], input=letter(False, 999), capture_output=True, check=True)
        assert b"successfully" in learned.stdout
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 0
    assert "stopped" in process.stderr.read()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_standard_error_that_cannot_be_written_changes_nothing(tmp_path):
    command = [*ROSENBLATT, "mail", "serve", "--home", tmp_path / "home", "--port", "0", "--http-port", "0", "-v"]
    with open("/dev/full", "w") as full, subprocess.Popen(command, stdout=subprocess.PIPE, stderr=full, text=True) as process:
        http = re.search(r"(http://[^/]+)/", process.stdout.readline() + process.stdout.readline())[1]
        for number in range(200):  # more than any buffer keeps
            with urllib.request.urlopen(f"{http}/healthz?{number}", timeout=20) as answer:
                assert answer.status == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0


def test_elsewhere_than_on_loopback_it_wants_leave(tmp_path):
    found = rosenblatt("mail", "serve", "--home", tmp_path / "home", "--host", "0.0.0.0", "--port", "0")
    assert found.code == 2
    assert "no passwords" in found.err
    short = tmp_path / "token"
    short.write_text("abc")
    short.chmod(0o600)
    found = rosenblatt("mail", "serve", "--home", tmp_path / "home", "--token-file", short)
    assert (found.code, len(found.err.splitlines())) == (2, 1)


@pytest.mark.parametrize(
    "wrong",
    [
        ["--host", "0.0.0.0"],
        ["--host", "no.such.host.invalid"],
        ["--no-spamd", "--no-http"],
        ["--port", "65536"],
        ["--token-file", "no-such-file"],
        ["--max-size", "0"],
        ["--socket", "s", "--socket-mode", "888"],
        ["--socket", "s", "--socket-mode", "1777"],
    ],
)
def test_what_is_refused_makes_no_filter(tmp_path, wrong, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert rosenblatt("mail", "serve", "--home", tmp_path / "home", *wrong).code == 2
    assert not (tmp_path / "home").exists()


def test_a_port_that_is_taken_makes_no_filter(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        found = rosenblatt("mail", "serve", "--home", tmp_path / "home", "--port", port, "--http-port", "0")
    assert (found.code, len(found.err.splitlines())) == (2, 1)
    assert "address already in use" in found.err
    assert not (tmp_path / "home").exists()


def test_the_socket_has_its_mode_and_mails_may_be_large(tmp_path):
    place = tmp_path / "spamd.sock"
    options = ["--no-spamd", "--no-http", "--socket", place, "--socket-mode", "0660", "--max-size", "1000"]
    command = [*ROSENBLATT, "mail", "serve", "--home", tmp_path / "home", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert str(place) in process.stdout.readline()
            assert place.stat().st_mode & 0o777 == 0o660
            process.send_signal(signal.SIGTERM)
            assert process.wait(20) == 0
        finally:
            process.kill()
    assert not place.exists()
