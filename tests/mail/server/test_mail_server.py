"""The server as a process with a filter on disk: signals, kill -9, and answers equal to those of the filter itself."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from mail_servers import HAM, SPAM, UNSURE, all_of, answer_to, connected, request, serving

from effort import soon
from rosenblatt.mail.filter import Filter
from rosenblatt.mail.server import Addresses
from rosenblatt.mail.server.engine import points

PROCESS = textwrap.dedent(
    """
    import json, sys
    from rosenblatt.mail.filter import Filter
    from rosenblatt.mail.server import Limits, Server, protocol, serve

    def report(what):
        sys.stdout.write(json.dumps(what) + "\\n")
        sys.stdout.flush()

    class Reporting(Server):
        def stop(self):
            super().stop()
            report("stopping")

    def reporting(line, command_of=protocol.command_of):
        report("request")
        return command_of(line)

    protocol.command_of = reporting
    with Filter.open(sys.argv[1], create=True, settings={"bits": 16}) as spam_filter:
        limits = Limits(stop_seconds=float(sys.argv[2]))
        serve(spam_filter, Reporting(port=0, http_port=None, warm=False, allow_tell=True, limits=limits), report)
    """
)


def handle_hangups() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@contextlib.contextmanager
def process(home: Path, stop_seconds: float = 5.0, before: tuple[str, ...] = ()) -> Iterator[tuple[Addresses, Any]]:
    """A server that reports its addresses, then "request" for each request line and "stopping" when a signal stops it."""
    command = [*before, sys.executable, "-c", PROCESS, str(home), str(stop_seconds)]
    # The tests themselves may run under nohup. Unbuffered, so that `select` sees all that was not read.
    with subprocess.Popen(command, stdout=subprocess.PIPE, preexec_fn=handle_hangups, bufsize=0) as running:
        try:
            reported = next_report(running)
            yield Addresses(tuple(reported[0]), *reported[1:]), running
        finally:
            running.kill()


def next_report(running: subprocess.Popen[bytes]) -> Any:
    assert running.stdout is not None
    return json.loads(running.stdout.readline())


def learn(addresses: Addresses, mail: bytes, spam: bool) -> bytes:
    return answer_to(addresses, request("TELL", mail, f"Message-class: {'spam' if spam else 'ham'}", "Set: local"))


def is_refused(addresses: Addresses) -> bool:
    try:
        connected(addresses).close()
    except ConnectionRefusedError:
        return True
    return False


@pytest.mark.parametrize("which", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_it_with_0_after_what_was_begun(tmp_path: Path, which: signal.Signals) -> None:
    with process(tmp_path / "f") as (addresses, running):
        with connected(addresses) as begun:
            whole = request("TELL", SPAM, "Message-class: spam", "Set: local")
            begun.sendall(whole[:-5])
            assert next_report(running) == "request"
            os.kill(running.pid, which)
            soon(lambda: is_refused(addresses))
            begun.sendall(whole[-5:])
            assert b"DidSet: local" in all_of(begun)
        assert running.wait(30) == 0
    with Filter.open(tmp_path / "f") as spam_filter:
        assert spam_filter.label_of(SPAM) is True


def test_a_second_signal_ends_it_at_once(tmp_path: Path) -> None:
    with process(tmp_path / "f", 60.0) as (addresses, running), connected(addresses) as begun:
        begun.sendall(b"CHECK SPAMC/1.5\r\n")
        assert next_report(running) == "request"
        os.kill(running.pid, signal.SIGTERM)
        assert next_report(running) == "stopping"
        assert running.poll() is None
        os.kill(running.pid, signal.SIGTERM)
        assert running.wait(30) == -signal.SIGTERM


def test_a_second_hangup_is_ignored(tmp_path: Path) -> None:
    """A terminal that closes sends two."""
    with process(tmp_path / "f", 0.5) as (addresses, running), connected(addresses) as begun:
        begun.sendall(b"CHECK SPAMC/1.5\r\n")
        assert next_report(running) == "request"
        os.kill(running.pid, signal.SIGHUP)
        assert next_report(running) == "stopping"
        os.kill(running.pid, signal.SIGHUP)
        assert running.wait(30) == 0


def test_it_keeps_running_under_nohup(tmp_path: Path) -> None:
    with process(tmp_path / "f", before=("nohup",)) as (addresses, running):
        os.kill(running.pid, signal.SIGHUP)
        assert b"PONG" in answer_to(addresses, b"PING SPAMC/1.5\r\n\r\n")  # signals are handled before later connections
        assert next_report(running) == "request"
        assert select.select([running.stdout], [], [], 0)[0] == []
        os.kill(running.pid, signal.SIGTERM)
        assert next_report(running) == "stopping"
        assert running.wait(30) == 0


def test_the_deadline_ends_it_with_0(tmp_path: Path) -> None:
    with process(tmp_path / "f", 0.3) as (addresses, running), connected(addresses) as begun:
        begun.sendall(b"CHECK SPAMC/1.5\r\n")
        assert next_report(running) == "request"
        os.kill(running.pid, signal.SIGTERM)
        assert running.wait(30) == 0


@pytest.mark.slow
def test_what_was_acknowledged_survives_kill_9(tmp_path: Path) -> None:
    acknowledged: list[bytes] = []
    sent = 0
    for turn in range(3):
        with process(tmp_path / "f") as (addresses, running):

            def teach(first: int, where: Addresses = addresses) -> None:
                nonlocal sent
                with contextlib.suppress(OSError):
                    for number in range(first, first + 1000):
                        mail = b"Subject: %d\n\nhello %d\n" % (number, number)
                        sent += 1
                        response = learn(where, mail, number % 2 == 0)
                        if b"DidSet: local" not in response:
                            return
                        acknowledged.append(mail)

            threads = [threading.Thread(target=teach, args=(10_000 * turn + 1000 * k,)) for k in range(4)]
            for thread in threads:
                thread.start()
            soon(lambda turn=turn: len(acknowledged) > 5 * (turn + 1))
            os.kill(running.pid, signal.SIGKILL)
            for thread in threads:
                thread.join()
    with Filter.open(tmp_path / "f") as spam_filter:
        assert len(acknowledged) > 10
        assert len(set(acknowledged)) == len(acknowledged)
        for mail in acknowledged:
            assert spam_filter.label_of(mail) is (int(mail.split()[1]) % 2 == 0)
        assert len(acknowledged) <= spam_filter.stats()["messages"] <= sent


def test_answers_are_those_of_the_filter(tmp_path: Path) -> None:
    with Filter.open(tmp_path / "f", create=True, settings={"bits": 16}) as spam_filter:
        spam_filter.learn([(SPAM, True), (HAM, False)])
        with serving(spam_filter, warm=True) as (addresses, _):
            for mail in (SPAM, HAM, UNSURE, b"", b"\0" * 100):
                verdict = spam_filter.classify(mail)
                response = points(verdict.score, verdict.label, spam_filter.calibration)
                assert f"Spam: {response.spam} ; {response}\r\n".encode() in answer_to(addresses, request("CHECK", mail))
                done = answer_to(addresses, request("PROCESS", mail)).partition(b"\r\n\r\n")[2]
                assert spam_filter.classify(done) == verdict  # added headers do not change the verdict
            assert b"DidSet" in learn(addresses, UNSURE, True)
            assert spam_filter.label_of(UNSURE) is True
            assert b"DidSet" in learn(addresses, UNSURE, False)
            assert spam_filter.label_of(UNSURE) is False
            assert b"DidRemove" in answer_to(addresses, request("TELL", UNSURE, "Remove: local"))
            assert spam_filter.label_of(UNSURE) is None


def test_what_others_teach_becomes_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rosenblatt.mail.server.engine.REFRESH_S", 0.05)
    ours = Filter.open(tmp_path / "f", create=True, settings={"bits": 16})
    with ours, Filter.open(tmp_path / "f") as other, serving(ours) as (addresses, _):
        before = answer_to(addresses, request("CHECK", SPAM))
        other.learn([(SPAM, True)])
        soon(lambda: answer_to(addresses, request("CHECK", SPAM)) != before)


def test_what_others_teach_is_known_under_constant_lessons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rosenblatt.mail.server.engine.REFRESH_S", 0.3)
    ours = Filter.open(tmp_path / "f", create=True, settings={"bits": 16})
    with ours, Filter.open(tmp_path / "f") as other, serving(ours) as (addresses, _):
        learn(addresses, HAM, False)
        other.refresh()
        other.learn([(SPAM, True)])

        def is_known_after_a_lesson() -> bool:
            assert b"DidSet" not in learn(addresses, HAM, False)  # learned before
            return bool(ours.stats()["messages"] == 2)

        soon(is_known_after_a_lesson)


def test_a_missing_or_read_only_home_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rosenblatt.mail.server.engine.REFRESH_S", 0.05)
    warnings: list[str] = []
    with Filter.open(tmp_path / "f", create=True, settings={"bits": 16}) as spam_filter:
        with serving(spam_filter, warn=warnings.append) as (addresses, _):
            assert b"DidSet" in learn(addresses, SPAM, True)
            (tmp_path / "f").rename(tmp_path / "elsewhere")
            soon(lambda: warnings)
            assert b"was moved or removed" in learn(addresses, HAM, False)
            (tmp_path / "elsewhere").rename(tmp_path / "f")
        assert [reported for reported in warnings if "was moved" in reported] == warnings[:1]
        spam_filter.store.log.read_only = True
        warnings.clear()
        with serving(spam_filter, warn=warnings.append) as (addresses, _):
            (reported,) = warnings  # before the first request
            assert reported.startswith("cannot be changed")
            assert b"Spam: " in answer_to(addresses, request("CHECK", SPAM))
        spam_filter.store.log.read_only = False


def forget_at_once(addresses: Addresses, mails: list[bytes]) -> list[int]:
    """The exit codes."""

    def code(mail: bytes) -> int:
        return int(answer_to(addresses, request("TELL", mail, "Remove: local")).split()[1])

    with ThreadPoolExecutor(len(mails)) as pool:
        return list(pool.map(code, mails))


def test_a_mail_without_text_cannot_be_forgotten(tmp_path: Path) -> None:
    with Filter.open(tmp_path / "f", create=True, settings={"bits": 16}) as spam_filter:
        spam_filter.learn([(SPAM, True), (HAM, False)])
        spam_filter.compact()
        with serving(spam_filter) as (addresses, _):
            response = answer_to(addresses, request("TELL", SPAM, "Remove: local"))
            assert response.startswith(b"SPAMD/1.5 69 EX_UNAVAILABLE: this message cannot be unlearned")
            spam_filter.learn([(UNSURE, True)])
            assert forget_at_once(addresses, [SPAM, UNSURE, HAM, b"A: b\n\nnew"]) == [69, 0, 69, 0]
            assert spam_filter.label_of(UNSURE) is None
            answers: list[bytes] = []
            mails = [(SPAM, False), (UNSURE, True), (HAM, True), (b"A: b\n\nc", False)]
            threads = [threading.Thread(target=lambda m=mail: answers.append(learn(addresses, *m))) for mail in mails]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert sum(b"DidSet: local" in response for response in answers) == 2
            assert sum(response.startswith(b"SPAMD/1.5 69 ") for response in answers) == 2
