"""The server of spamd's protocol under slow, many and vanishing clients, and where it listens."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from mail_servers import HAM, SPAM, Plain, all_of, answer_to, connected, request, serving

from effort import in_time, soon
from rosenblatt.mail.server import Limits, protocol
from rosenblatt.mail.server.engine import Engine
from rosenblatt.mail.server.protocol import Inbox
from rosenblatt.serving.sockets import ServeError, listen_at

QUICK = Limits(idle_seconds=0.3, read_seconds=0.8, stop_seconds=1.0, message_bytes=20_000, connections=8)


@pytest.fixture(scope="module")
def plain() -> Any:
    spam_filter = Plain()
    with serving(spam_filter, limits=QUICK) as (addresses, _):
        yield spam_filter, addresses


def test_silent_and_slow_clients_are_disconnected(plain: Any) -> None:
    with connected(plain[1]) as silent, connected(plain[1]) as dripping:
        start = time.monotonic()
        response = b""
        dripping.settimeout(0.1)
        for byte in request("CHECK", SPAM) * 2:
            try:
                dripping.sendall(bytes([byte]))
                response = dripping.recv(1000)
                break
            except TimeoutError:
                continue
        assert response.startswith(b"SPAMD/1.5 79 EX_TIMEOUT: ")
        assert all_of(silent).startswith(b"SPAMD/1.5 79 EX_TIMEOUT: ")
        assert in_time(time.monotonic() - start, 5)


def test_a_client_that_never_reads_blocks_no_other() -> None:
    limits = QUICK._replace(message_bytes=30_000_000, write_seconds=0.3, read_seconds=5.0)
    with serving(Plain(), limits=limits) as (addresses, server), connected(addresses) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.sendall(request("PROCESS", b"\n" + b"x" * 29_000_000))
        assert b"PONG" in answer_to(addresses, b"PING SPAMC/1.5\r\n\r\n")
        server.stop()  # waits for what was begun, and the begun ends by its limit


def test_the_head_of_a_request_has_a_deadline() -> None:
    """However it drips."""
    with serving(Plain(), limits=Limits(idle_seconds=0.5)) as (addresses, _), connected(addresses) as client:
        client.settimeout(0.05)
        response = b""
        client.sendall(b"CHECK SPAMC/1.5\r\n")
        for _ in range(200):
            with contextlib.suppress(TimeoutError):
                client.sendall(b"X-Slow: yes\r\n")
                response = client.recv(100)
                break
        assert response.startswith(b"SPAMD/1.5 79 EX_TIMEOUT")


def test_bytes_after_the_mail_are_an_error_also_if_they_come_late(monkeypatch: pytest.MonkeyPatch) -> None:
    spam_filter, inboxes = Plain(), list[Inbox]()

    class Recorded(Inbox):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            inboxes.append(self)

    monkeypatch.setattr("rosenblatt.mail.server.spamd.Inbox", Recorded)
    spam_filter.go.clear()
    with serving(spam_filter) as (addresses, _), connected(addresses) as client:
        client.sendall(request("PROCESS", SPAM))
        assert spam_filter.begun.acquire(timeout=30)
        client.sendall(b"and more of the mail")
        soon(lambda: inboxes[0].surplus)
        spam_filter.go.set()
        assert all_of(client).startswith(b"SPAMD/1.5 65 EX_DATAERR: the mail has more bytes")


def test_an_answer_that_takes_too_long_is_not_waited_for() -> None:
    spam_filter = Plain()
    spam_filter.go.clear()
    with serving(spam_filter, limits=Limits(handle_seconds=0.1)) as (addresses, _):
        assert answer_to(addresses, request("CHECK", SPAM)) == b"SPAMD/1.5 79 EX_TIMEOUT: the answer took too long\r\n"
        spam_filter.go.set()


def test_mails_that_are_too_much_together_are_refused() -> None:
    limits = Limits(message_bytes=1000, bytes_at_once=1500)
    with serving(Plain(), limits=limits) as (addresses, _), connected(addresses) as half:
        half.sendall(request("CHECK", b"x" * 1000)[:-1])
        soon(lambda: b"75 EX_TEMPFAIL: too many large mails" in answer_to(addresses, request("CHECK", b"x" * 1000)))
        half.sendall(b"x")
        assert b"Spam: False" in all_of(half)
        assert b"Spam: False" in answer_to(addresses, request("CHECK", b"x" * 1000))


def test_many_ordinary_mails_may_come_packed_at_once() -> None:
    text = b"".join(b"%d," % (number * 7919 % 100_003) for number in range(3000))
    packed = zlib.compress(text)
    assert len(packed) > 6000
    limits = Limits(message_bytes=2**20, bytes_at_once=4 * 2**20)
    spam_filter = Plain()
    spam_filter.go.clear()
    with serving(spam_filter, limits=limits, workers=8) as (addresses, _), ThreadPoolExecutor(50) as pool:
        sent = request("CHECK", packed, "Compress: zlib")
        answers = pool.map(lambda _: answer_to(addresses, sent), range(50))
        assert all(spam_filter.begun.acquire(timeout=30) for _ in range(8))
        spam_filter.go.set()
    assert all(b"Spam: False" in response for response in answers)


def test_what_a_packed_mail_makes_is_held() -> None:
    limits = Limits(message_bytes=300_000, bytes_at_once=400_000)
    with serving(Plain(), limits=limits) as (addresses, _), connected(addresses) as half:
        bomb, small = (request("CHECK", zlib.compress(bytes(size)), "Compress: zlib") for size in (300_000, 100_000))
        half.sendall(request("CHECK", b"x" * 200_000)[:-1])
        soon(lambda: b"75 EX_TEMPFAIL: too many large mails" in answer_to(addresses, bomb))
        assert b"Spam: False" in answer_to(addresses, small)
        half.sendall(b"x")
        assert b"Spam: False" in all_of(half)
        assert b"Spam: False" in answer_to(addresses, bomb)
        assert b"65 EX_DATAERR: the mail is larger" in answer_to(
            addresses, request("CHECK", zlib.compress(bytes(300_001)), "Compress: zlib")
        )


def test_slow_work_does_not_stop_others() -> None:
    spam_filter = Plain()
    spam_filter.go.clear()
    with serving(spam_filter) as (addresses, _), connected(addresses) as slow:
        slow.sendall(request("CHECK", SPAM))
        assert spam_filter.begun.acquire(timeout=30)
        assert b"PONG" in answer_to(addresses, b"PING SPAMC/1.5\r\n\r\n")
        spam_filter.go.set()
        assert b"Spam: True" in all_of(slow)


Teach = Callable[..., list[bytes]]


@pytest.fixture
def teach_at_once(monkeypatch: pytest.MonkeyPatch) -> Teach:
    """A function that returns the answers to lessons, the others of which arrive while the first is being learned."""
    engines: list[Engine] = []

    class Recorded(Engine):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            engines.append(self)

    monkeypatch.setattr("rosenblatt.mail.server.server.Engine", Recorded)

    def answers_to(spam_filter: Plain, lessons: list[tuple[bytes, str]], broken: Exception | None = None) -> list[bytes]:
        answers = [b""] * len(lessons)

        def teach(number: int) -> None:
            mail, kind = lessons[number]
            headers = ["Remove: local"] if kind == "forget" else [f"Message-class: {kind}", "Set: local"]
            answers[number] = answer_to(addresses, request("TELL", mail, *headers))

        spam_filter.go.clear()
        with serving(spam_filter) as (addresses, _):
            threads = [threading.Thread(target=teach, args=(number,)) for number in range(len(lessons))]
            for waiting, thread in enumerate(threads):
                thread.start()
                if waiting == 0:
                    assert spam_filter.begun.acquire(timeout=30)
                soon(lambda waiting=waiting: engines[-1]._lessons.qsize() == waiting)
            spam_filter.broken = broken
            spam_filter.go.set()
            for thread in threads:
                thread.join()
        return answers

    return answers_to


def test_lessons_that_come_together_are_committed_together(teach_at_once: Teach) -> None:
    spam_filter = Plain()
    answers = teach_at_once(spam_filter, [(b"Subject: %d\n\n" % (number // 2), "spam") for number in range(20)])
    assert sum(b"DidSet" in response for response in answers) == 10 == len(spam_filter.labels)
    assert spam_filter.transactions == [1, 19]


def test_mails_that_are_forgotten_together_cost_one_replay(teach_at_once: Teach) -> None:
    spam_filter = Plain()
    mails = [b"Subject: %d\n\n" % number for number in range(10)]
    spam_filter.labels = dict.fromkeys(mails, True)
    answers = teach_at_once(spam_filter, [(mail, "forget") for mail in [*mails, mails[-1]]])
    assert [b"DidRemove" in response for response in answers] == [True] * 10 + [False]  # the last was a copy
    assert not spam_filter.labels
    assert spam_filter.replays == [1, 10]


def test_lessons_are_processed_in_their_order(teach_at_once: Teach) -> None:
    spam_filter = Plain()
    kinds = ["spam", "forget", "ham", "forget", "spam", "ham"]
    answers = teach_at_once(spam_filter, [(HAM, "spam"), *((SPAM, kind) for kind in kinds)])
    assert all(b"Did" in response for response in answers)
    assert spam_filter.labels == {HAM: True, SPAM: False}


def test_an_error_reaches_all_clients_of_the_transaction(teach_at_once: Teach) -> None:
    spam_filter = Plain()
    lessons = [(b"Subject: %d\n\n" % number, "spam") for number in range(6)]
    answers = teach_at_once(spam_filter, lessons, OSError("the disk is full"))
    assert {response.partition(b": ")[0] for response in answers} == {b"SPAMD/1.5 75 EX_TEMPFAIL"}
    assert not spam_filter.labels


def test_a_stop_finishes_what_was_begun_and_takes_no_more() -> None:
    spam_filter = Plain()
    spam_filter.go.clear()
    with serving(spam_filter) as (addresses, server), connected(addresses) as begun, connected(addresses) as silent:
        begun.sendall(request("TELL", SPAM, "Message-class: spam", "Set: local"))
        assert spam_filter.begun.acquire(timeout=30)
        server.stop()
        assert all_of(silent) == b""  # while the other is still answered
        spam_filter.go.set()
        assert b"DidSet: local" in all_of(begun)
    with pytest.raises(OSError, match="refused"):
        connected(addresses)


def test_a_stop_waits_for_a_request_for_a_limited_time(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, command_of = threading.Event(), protocol.command_of
    monkeypatch.setattr(protocol, "command_of", lambda line: begun.set() or command_of(line))
    limits = QUICK._replace(read_seconds=60, idle_seconds=60, stop_seconds=0.3)
    with serving(Plain(), limits=limits) as (addresses, server), connected(addresses) as unfinished:
        unfinished.sendall(b"CHECK SPAMC/1.5\r\n")
        assert begun.wait(30)
        start = time.monotonic()
        server.stop()
        assert all_of(unfinished) == b""
        assert in_time(time.monotonic() - start, 5)


def test_a_socket_in_the_file_system_is_private_and_goes_with_the_server(tmp_path: Path) -> None:
    path = tmp_path / "spamd.sock"
    with serving(Plain(), port=None, socket_path=path) as (addresses, _):
        assert addresses == (None, str(path), None, ())
        assert path.stat().st_mode & 0o777 == 0o600
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))
            client.sendall(b"PING SPAMC/1.5\r\n\r\n")
            assert all_of(client) == b"SPAMD/1.5 0 PONG\r\n"
        with pytest.raises(ServeError, match="another server is listening"):
            listen_at(path)
    assert not path.exists()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"host": "0.0.0.0"}, "the spamd protocol has no passwords"),
        ({"port": None}, "nothing to serve"),
        ({"host": "no.such.host.invalid"}, "unknown host"),
        ({"host": "0.0.0.0", "port": None, "http_port": 0}, "needs a token"),
        ({"http_port": 0, "token": "short"}, "16 or more"),
        ({"socket_mode": 0o1777}, "socket_mode must be"),
        ({"limits": Limits(connections=0)}, r"limits\.connections"),
        ({"limits": Limits(bytes_at_once=1000)}, r"limits\.bytes_at_once"),
        ({"limits": Limits(idle_seconds=-1)}, r"limits\.idle_seconds"),
    ],
)
def test_what_is_unsafe_or_senseless_does_not_start(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence), serving(Plain(), **options):
        pass
