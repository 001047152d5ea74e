"""The HTTP API: its answers, its access rules, and its limits."""

from __future__ import annotations

import importlib.util
import json
import re
import select
import socket
import threading
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from mail_servers import HAM, SPAM, Plain, all_of, answer_to, request, serving

from effort import in_time, soon
from rosenblatt.mail.server import Limits, ServeError, token_from
from rosenblatt.mail.store.connection import FilterError
from rosenblatt.serving import sockets

QUICK = Limits(idle_seconds=0.4, read_seconds=0.8, message_bytes=20_000, stop_seconds=1.0)
MAIL = {"Content-Type": "message/rfc822"}
TOKEN = "0123456789abcdef"


@pytest.fixture(scope="module")
def server() -> Any:
    spam_filter = Plain()
    with serving(spam_filter, http_port=0, limits=QUICK) as (addresses, _):
        yield spam_filter, addresses


def call(addresses: Any, method: str, path: str, body: Any = None, headers: Any = None) -> tuple[int, Any, Any]:
    connection = HTTPConnection(*addresses.http, timeout=10)
    try:
        connection.request(method, path, body, MAIL | (headers or {}) if method == "POST" else headers or {})
        response = connection.getresponse()
        read = response.read()
        kind = response.getheader("content-type", "")
        return response.status, json.loads(read) if kind.startswith("application/json") else read, response.headers
    finally:
        connection.close()


def talk(addresses: Any, sent: bytes) -> bytes:
    with socket.create_connection(addresses.http, 10) as client:
        client.sendall(sent)
        return all_of(client)


def test_a_mail_is_classified_with_reasons(server: Any) -> None:
    status, response, _ = call(server[1], "POST", "/v1/classify?reasons=1", SPAM)
    assert status == 200
    assert response == {
        "label": "spam",
        "score": pytest.approx(2.4),
        "probability": pytest.approx(server[0].classify(SPAM).probability),
        "points": 14.5,
        "reasons": [{"name": 'body: "pills"', "weight": 2.0}],
    }
    assert call(server[1], "POST", "/v1/classify", HAM, {"Content-Type": "application/octet-stream"})[1]["label"] == "ham"


def test_a_mail_may_come_in_chunks(server: Any) -> None:
    assert call(server[1], "POST", "/v1/classify", iter([SPAM[:10], SPAM[10:]]))[1]["label"] == "spam"


def test_learning_moving_and_forgetting(server: Any) -> None:
    spam_filter, addresses = server
    for kind, changed, label in [
        ("spam", True, True), ("spam", False, True), ("ham", True, False), ("forget", True, None), ("forget", False, None),
    ]:  # fmt: skip
        assert call(addresses, "POST", f"/v1/learn?as={kind}", HAM)[:2] == (200, {"as": kind, "changed": changed})
        assert spam_filter.labels.get(HAM) is label


def test_health_and_metrics(server: Any) -> None:
    assert call(server[1], "GET", "/healthz")[:2] == (200, {"status": "ok", "verdicts": True, "learning": True})
    call(server[1], "POST", "/v1/classify", SPAM)
    answer_to(server[1], request("CHECK", SPAM))
    status, text, headers = call(server[1], "GET", "/metrics")
    assert status == 200
    assert headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    lines = text.decode().splitlines()
    sample = re.compile(r'[a-z_]+(\{[a-z]+="[^"\\]*"(,[a-z]+="[^"\\]*")*\})? -?\d+(\.\d+)?(e[+-]?\d+)?')
    assert all(sample.fullmatch(line) or line.startswith(("# HELP ", "# TYPE ")) for line in lines)
    found = {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines if not line.startswith("#")}
    assert found['rosenblatt_mail_requests_total{kind="http classify",outcome="200"}'] >= 1
    assert found['rosenblatt_mail_requests_total{kind="CHECK",outcome="ok"}'] >= 1
    assert found['rosenblatt_mail_request_seconds_bucket{le="+Inf"}'] == found["rosenblatt_mail_request_seconds_count"]
    buckets = [value for name, value in found.items() if "_bucket" in name]
    assert buckets == sorted(buckets)
    assert found['rosenblatt_mail_connections{side="http"}'] == 1
    assert found["rosenblatt_mail_filter_bytes"] == 4096
    assert found["rosenblatt_mail_resident_bytes"] > 1e6
    assert found["rosenblatt_mail_held_bytes"] == 0


@pytest.mark.parametrize(
    ("path", "body", "headers", "status", "sentence"),
    [
        ("/v1/classify", b"", {}, 400, "must be a mail"),
        ("/v1/classify?reasons=many", SPAM, {}, 400, "reasons must be"),
        ("/v1/classify?reasons=101", SPAM, {}, 400, "reasons must be"),
        ("/v1/classify", SPAM, {"Content-Type": "text/plain"}, 415, "Content-Type must be"),
        ("/v1/classify", SPAM, {"Content-Encoding": "gzip"}, 415, "Content-Encoding"),
        ("/v1/classify", b"x" * 20_001, {}, 413, "larger than 20,000 bytes"),
        ("/v1/classify", iter([b"x" * 15_000] * 2), {}, 413, "larger than 20,000 bytes"),
        ("/v1/classify", b"x" * 50_000, {}, 413, "larger than 20,000 bytes"),
        ("/v1/learn", SPAM, {}, 400, "as must be"),
        ("/v1/learn?as=eggs", SPAM, {}, 400, "as must be"),
        ("/v1/learn?as=spam&as=ham", SPAM, {}, 400, "as must be"),
        ("/v1/nothing", SPAM, {}, 404, "Not Found"),
        ("/v1/classify/", SPAM, {}, 404, "Not Found"),
        ("/healthz", SPAM, {}, 405, "Method Not Allowed"),
        ("/v1/classify", SPAM, {"Host": "evil.example"}, 403, "only answers as localhost"),
    ],
)
def test_a_wrong_request_gets_the_reason(server: Any, path: str, body: Any, headers: Any, status: int, sentence: str) -> None:
    code, response, _ = call(server[1], "POST", path, body, headers)
    assert code == status
    assert sentence in response["error"]


def test_requests_from_pages_of_other_sites_are_refused(server: Any) -> None:
    queries = {"Origin": "http://evil.example", "Access-Control-Request-Method": "POST"}
    status, _, headers = call(server[1], "OPTIONS", "/v1/learn?as=ham", None, queries)
    assert status == 405
    assert not [name for name in headers if name.lower().startswith("access-control")]


def test_without_the_token_only_health_is_reported() -> None:
    with serving(Plain(), host="0.0.0.0", port=None, http_port=0, token=TOKEN) as (addresses, _):
        there = addresses._replace(http=("127.0.0.1", addresses.http[1] if addresses.http else 0))
        right = {"Authorization": f"Bearer {TOKEN}", "Host": "mail.example"}  # on an open address any name will do
        assert call(there, "POST", "/v1/classify", SPAM, right)[0] == 200
        assert call(there, "GET", "/metrics", None, right)[0] == 200
        assert call(there, "GET", "/healthz")[0] == 200
        assert call(there, "GET", "/metrics", None, {"Authorization": f"bearer {TOKEN}"})[0] == 200  # RFC 9110, 11.1
        for wrong in ("", TOKEN, f"Basic {TOKEN}", f"Bearer {TOKEN}x", "Bearer é"):
            given = {"Authorization": wrong} if wrong else {}
            status, response, headers = call(there, "POST", "/v1/learn?as=spam", SPAM, given)
            assert (status, headers["www-authenticate"]) == (401, "Bearer")
            assert TOKEN not in str(response)
        assert call(there, "GET", "/metrics")[0] == 401


def test_a_token_comes_from_a_file_or_the_environment(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text(f"{TOKEN}\n")
    path.chmod(0o600)
    assert token_from(path) == TOKEN == token_from(None, {"ROSENBLATT_MAIL_TOKEN": TOKEN})
    assert token_from(None, {}) is None
    for text in ("", "short", "with a blank in the middle", "é" * 20):
        path.write_text(text)
        with pytest.raises(ServeError, match=r"must be 16 or more"):
            token_from(path)
    with pytest.raises(ServeError, match=r"cannot read the token in .*none: no such file"):
        token_from(tmp_path / "none")


def test_silent_and_slow_clients_are_cut_off(server: Any) -> None:
    start = time.monotonic()
    head = b"POST /v1/classify HTTP/1.1\r\nHost: localhost\r\nContent-Type: message/rfc822\r\nContent-Length: 50\r\n"
    for sent in (b"", b"POST /v1/cl", head, head + b"\r\nSubject"):
        assert talk(server[1], sent).startswith(b"HTTP/1.1 408 "), sent
    assert in_time(time.monotonic() - start, 6)
    with socket.create_connection(server[1].http, 10) as dripping:
        dripping.settimeout(0.05)
        response = b""
        for byte in head:
            try:
                dripping.sendall(bytes([byte]))
                response = dripping.recv(100)
                break
            except TimeoutError:
                continue
        assert response.startswith(b"HTTP/1.1 408 ")


def test_a_refused_client_cannot_send_forever(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rosenblatt.serving.http.LINGER_S", 0.2)
    with socket.create_connection(server[1].http, 10) as endless:
        endless.sendall(b"POST /v1/nothing HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in range(1000):  # slowly, so that the limit on the size of a mail is not reached
            endless.sendall(b"5\r\nhello\r\n")
            if select.select([endless], [], [], 0.02)[0]:
                break
        assert all_of(endless).startswith(b"HTTP/1.1 404 ")


def test_health_checks_may_leave_the_host_out(server: Any) -> None:
    assert talk(server[1], b"GET /healthz HTTP/1.0\r\n\r\n").startswith(b"HTTP/1.1 200 ")
    assert talk(server[1], b"GET /healthz HTTP/1.0\r\nHost: evil.example\r\n\r\n").startswith(b"HTTP/1.1 403 ")


def test_a_client_that_closes_its_sending_side_gets_its_answer(server: Any) -> None:
    head = b"POST /v1/classify HTTP/1.1\r\nHost: localhost\r\nContent-Type: message/rfc822\r\n"
    whole = head + b"Content-Length: %d\r\n\r\n%s" % (len(SPAM), SPAM)
    for sent, answered in ((whole, True), (whole[:-1], False), (whole[:20], False), (b"", False)):
        start = time.monotonic()
        with socket.create_connection(server[1].http, 10) as client:
            client.sendall(sent)
            client.shutdown(socket.SHUT_WR)
            response = all_of(client)
        assert (b'"label":"spam"' in response) is answered
        assert in_time(time.monotonic() - start, 0.3)  # the client is not kept waiting for a second request


@pytest.mark.parametrize(("length", "kind"), [(20_001, b"message/rfc822"), (5, b"text/plain")])
def test_a_client_that_expects_100_continue_is_refused_before_it_sends(server: Any, length: int, kind: bytes) -> None:
    head = b"POST /v1/classify HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Type: %s\r\n" % kind
    start = time.monotonic()
    response = talk(server[1], head + b"Content-Length: %d\r\n\r\n" % length)
    assert response.startswith((b"HTTP/1.1 413 ", b"HTTP/1.1 415 "))
    assert in_time(time.monotonic() - start, 0.3)


def test_a_second_request_on_a_connection_has_its_own_time(server: Any) -> None:
    connection = HTTPConnection(*server[1].http, timeout=10)
    connection.request("POST", "/v1/classify", SPAM, MAIL)
    assert connection.getresponse().read()
    assert talk(server[1], b"").startswith(b"HTTP/1.1 408 ")  # the time of a connection that was made later is over
    connection.request("POST", "/v1/classify", SPAM, MAIL)
    assert connection.getresponse().read()
    connection.close()


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"\0\xff" * 100 + b"\r\n\r\n", b"400"),
        (b"PING SPAMC/1.5\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 9000, b"431"),
    ],
)
def test_garbage_is_refused_with_a_reason(server: Any, sent: bytes, status: bytes) -> None:
    head, _, body = talk(server[1], sent).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 " + status + b" ")
    assert list(json.loads(body)) == ["error"]
    assert call(server[1], "GET", "/healthz")[0] == 200


def test_too_many_connections_are_refused_politely() -> None:
    spam_filter = Plain()
    spam_filter.go.clear()
    with serving(spam_filter, http_port=0, workers=2, limits=Limits(connections=2)) as (addresses, _):
        busy = [threading.Thread(target=call, args=(addresses, "POST", "/v1/classify", SPAM)) for _ in range(2)]
        for each in busy:
            each.start()
            assert spam_filter.begun.acquire(timeout=10)  # both are admitted before a third client comes
        refused = (503, {"error": "too many connections; try again"})
        soon(lambda: call(addresses, "GET", "/healthz")[:2] == refused)
        spam_filter.go.set()
        for each in busy:
            each.join(10)
        soon(lambda: call(addresses, "GET", "/healthz")[0] == 200)


def test_mails_that_are_too_much_together_are_refused() -> None:
    head = b"POST /v1/classify HTTP/1.1\r\nHost: localhost\r\nContent-Type: message/rfc822\r\nContent-Length: 20000\r\n\r\n"
    limits = Limits(message_bytes=20_000, bytes_at_once=40_000)
    with serving(Plain(), http_port=0, limits=limits) as (addresses, _):
        waiting = [socket.create_connection(addresses.http or ("", 0), 10) for _ in range(2)]
        for each in waiting:
            each.sendall(head + b"x" * 19_000)
        soon(lambda: call(addresses, "POST", "/v1/classify", b"x" * 20_000)[0] == 503)
        status, response, headers = call(addresses, "POST", "/v1/classify", b"x" * 20_000)
        assert (status, headers["retry-after"]) == (503, "1")
        assert "try again" in response["error"]
        for each in waiting:
            each.close()
        soon(lambda: call(addresses, "POST", "/v1/classify", b"x" * 20_000)[0] == 200)


def test_errors_of_the_filter_do_not_quote_the_mail() -> None:
    spam_filter, lines = Plain(), []
    limits = Limits(handle_seconds=0.3)
    with serving(spam_filter, http_port=0, limits=limits, log=lines.append) as (addresses, _):
        spam_filter.broken = KeyError("pills")
        assert call(addresses, "POST", "/v1/classify", SPAM)[:2] == (503, {"error": "the filter failed (KeyError)"})
        spam_filter.broken = None
        spam_filter.go.clear()
        assert call(addresses, "POST", "/v1/classify", SPAM)[:2] == (503, {"error": "the answer took too long"})
        spam_filter.go.set()
    assert len(lines) == 2
    assert "pills" not in "".join(lines)


def test_errors_are_logged_once_a_minute_and_in_health() -> None:
    spam_filter, warnings = Plain(), list[str]()
    with serving(spam_filter, http_port=0, warn=warnings.append) as (addresses, _):
        spam_filter.broken = FilterError("home", "the disk is full")
        for _ in range(3):
            assert call(addresses, "POST", "/v1/learn?as=spam", SPAM)[:2] == (503, {"error": "the disk is full"})
            assert b"EX_TEMPFAIL: the disk is full" in answer_to(addresses, request("CHECK", SPAM))
        assert warnings == ["the disk is full"]
        reported = {"status": "ok", "verdicts": True, "learning": False, "reason": "the disk is full"}
        assert call(addresses, "GET", "/healthz")[:2] == (200, reported)
        assert b"rosenblatt_mail_learning 0\n" in call(addresses, "GET", "/metrics")[1]
        spam_filter.broken = None
        assert call(addresses, "POST", "/v1/learn?as=spam", SPAM)[0] == 200
        assert call(addresses, "GET", "/healthz")[1] == {"status": "ok", "verdicts": True, "learning": True}
        for wrong in ("/v1/nothing", "/v1/learn?as=eggs"):
            call(addresses, "POST", wrong, SPAM)
    assert warnings == ["the disk is full", "learning is possible again"]


def test_metrics_are_served_without_numbers_of_the_filter(monkeypatch: pytest.MonkeyPatch) -> None:
    spam_filter, answered = Plain(), threading.Event()
    with serving(spam_filter, http_port=0) as (addresses, _):
        monkeypatch.setattr("rosenblatt.mail.server.http.STATS_TIMEOUT_S", 0.1)
        for trouble in (lambda: answered.wait(30), lambda: 1 / 0):
            monkeypatch.setattr(spam_filter, "stats", trouble)
            status, text, _ = call(addresses, "GET", "/metrics")
            assert status == 200
            assert b"rosenblatt_mail_learning 1\n" in text
            assert b"rosenblatt_mail_filter_" not in text
            answered.set()


def test_the_log_has_the_size_of_mails_that_were_read() -> None:
    lines: list[str] = []
    with serving(Plain(), http_port=0, log=lines.append) as (addresses, _):
        assert call(addresses, "POST", "/v1/classify", SPAM)[0] == 200
        assert lines.pop().endswith(f" ms, {len(SPAM)} bytes")
        refused = [
            ("/v1/classify?reasons=x", {}, ", reasons must be a whole number from 0 to 100"),
            ("/v1/classify", {"Host": "evil.example"}, ", but the Host header has another name"),
            ("/v1/nothing", {}, ", Not Found"),
        ]
        for path, headers, why in refused:
            call(addresses, "POST", path, SPAM, headers)
            assert lines[-1].endswith(why)
            assert " bytes" not in lines.pop()
        call(addresses, "GET", "/healthz")
        assert lines.pop().endswith(" ms")
        assert not lines


def test_a_log_that_cannot_be_written_fails_no_request() -> None:
    def full(line: str) -> None:
        raise OSError(28, "No space left on device")

    spam_filter = Plain()
    with serving(spam_filter, http_port=0, log=full) as (addresses, _):
        assert call(addresses, "POST", "/v1/learn?as=spam", SPAM)[:2] == (200, {"as": "spam", "changed": True})
        assert call(addresses, "GET", "/nothing")[0] == 404
        assert b"Spam: True" in answer_to(addresses, request("CHECK", SPAM))
    assert spam_filter.labels == {SPAM: True}


def test_a_stop_finishes_what_was_begun() -> None:
    spam_filter = Plain()
    spam_filter.go.clear()
    with serving(spam_filter, http_port=0) as (addresses, server):
        connection = HTTPConnection(*(addresses.http or ("", 0)), timeout=10)
        connection.request("POST", "/v1/learn?as=spam", SPAM, MAIL)
        assert spam_filter.begun.acquire(timeout=30)
        server.stop()
        spam_filter.go.set()
        assert json.loads(connection.getresponse().read()) == {"as": "spam", "changed": True}
        connection.close()
    assert spam_filter.labels == {SPAM: True}


def test_clients_that_connect_after_the_server_stopped_listening_are_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    head = b"POST /v1/classify HTTP/1.1\r\nHost: localhost\r\nContent-Type: message/rfc822\r\nConnection: close\r\n"
    requests = [request("CHECK", SPAM), head + b"Content-Length: %d\r\n\r\n%s" % (len(SPAM), SPAM)]
    late: dict[bytes, socket.socket] = {}

    def accept_after_connecting(listening: socket.socket) -> Iterator[socket.socket]:
        """Runs when the server does not accept connections itself any more, and the system still does."""
        sent = requests[listening.getsockname() == addresses.http]
        late[sent] = socket.create_connection(listening.getsockname(), 10)
        late[sent].sendall(sent)
        yield from accept_waiting(listening)

    accept_waiting = sockets._accept_waiting
    monkeypatch.setattr(sockets, "_accept_waiting", accept_after_connecting)
    with serving(Plain(), http_port=0) as (addresses, server):
        server.stop()
        soon(lambda: len(late) == 2)
        for sent, spam in zip(requests, (b"Spam: True", b'"label":"spam"'), strict=True):
            with late[sent] as client:
                assert spam in all_of(client)


def test_without_starlette_the_other_side_still_works(monkeypatch: pytest.MonkeyPatch) -> None:
    there = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name == "starlette" else there(name, *rest))
    with serving(Plain(), http_port=0) as (addresses, _):
        assert addresses.http is None
        assert addresses.notes == ("HTTP is off: starlette and uvicorn are not installed (pip install 'rosenblatt[serve]')",)
        assert b"PONG" in answer_to(addresses, b"PING SPAMC/1.5\r\n\r\n")
