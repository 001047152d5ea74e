"""The studio over real sockets: slow clients, many clients, long runs, and shutdown."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from studio_serving import Studio, all_of, is_refused, studio

from effort import in_time, soon
from rosenblatt.serving.http import _LimitedProtocol
from rosenblatt.studio import answers


def test_silent_and_slow_studio_clients_are_cut_off(there: Studio) -> None:
    start = time.monotonic()
    head = f"POST /api/run HTTP/1.1\r\nHost: localhost:{there.port}\r\nContent-Type: application/json\r\nContent-Length: 50\r\n"
    for sent in (b"", b"POST /ap", head.encode(), head.encode() + b'\r\n{"points'):
        assert there.talk(sent).startswith(b"HTTP/1.1 408 "), sent
    assert in_time(time.monotonic() - start, 6)


def test_a_body_that_drips_is_cut_off(there: Studio) -> None:
    with socket.create_connection(("127.0.0.1", there.port), 10) as dripping:
        head = f"POST /api/run HTTP/1.1\r\nHost: localhost:{there.port}\r\nContent-Type: application/json\r\n"
        dripping.sendall(f"{head}Content-Length: 5000\r\n\r\n".encode())
        dripping.settimeout(0.1)
        response = b""
        for _ in range(100):
            with contextlib.suppress(TimeoutError):
                dripping.sendall(b" ")
                response = dripping.recv(100)
                break
        assert response.startswith(b"HTTP/1.1 408 ")


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Runs that wait until they are let go."""
    begun, go = threading.Semaphore(0), threading.Event()
    calls: list[Any] = []

    def wait(request: dict[str, Any]) -> dict[str, Any]:
        calls.append(request["number"])
        begun.release()
        assert go.wait(20)
        return {"number": request["number"]}

    monkeypatch.setitem(answers.HANDLERS, "/api/run", wait)
    yield begun, go, calls
    go.set()


def test_two_runs_at_a_time_a_few_wait_and_more_are_refused(slow: Any) -> None:
    begun, go, calls = slow
    with studio(workers=2, queue=2) as there:
        found: list[Any] = []
        clients = [threading.Thread(target=lambda n=n: found.append(there.post("/api/run", {"number": n}))) for n in range(4)]
        for thread in clients:
            thread.start()
        assert all(begun.acquire(timeout=10) for _ in range(2))
        soon(lambda: there.server.app.pool.n_pending == 4)
        refused = there.post("/api/run", {"number": 9})
        assert (refused.status, refused.headers["retry-after"]) == (503, "1")
        assert there.call("GET", "/").status == 200  # the page is served all the while
        assert len(calls) == 2
        go.set()
        for thread in clients:
            thread.join(10)
        assert sorted(each.body["number"] for each in found if each.status == 200) == [0, 1, 2, 3]


def test_a_request_whose_client_left_is_not_computed(slow: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go, calls = slow
    left = threading.Event()

    def report(protocol: _LimitedProtocol, error: Any, connection_lost: Any = _LimitedProtocol.connection_lost) -> None:
        connection_lost(protocol, error)
        left.set()

    monkeypatch.setattr(_LimitedProtocol, "connection_lost", report)
    with studio(workers=1, queue=4) as there:
        first = threading.Thread(target=there.post, args=("/api/run", {"number": 0}))
        first.start()
        assert begun.acquire(timeout=10)
        body = b'{"number": 1}'
        head = f"POST /api/run HTTP/1.1\r\nHost: localhost:{there.port}\r\nContent-Type: application/json\r\n"
        with socket.create_connection(("127.0.0.1", there.port), 10) as leaving:
            leaving.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
            soon(lambda: there.server.app.pool.n_pending == 2)
            leaving.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        assert left.wait(30)
        go.set()
        first.join(10)
        assert there.post("/api/run", {"number": 2}).body == {"number": 2}
        assert calls == [0, 2]


def test_a_run_that_takes_too_long_is_given_up_and_keeps_its_place_until_it_ends(slow: Any) -> None:
    _, go, _ = slow
    with studio(workers=1, queue=1, handle_seconds=0.3) as there:
        for number in range(2):
            status, answer, _ = there.post("/api/run", {"number": number})
            assert (status, answer["error"]) == (503, "the run took longer than 0.3 seconds")
        go.set()
        soon(lambda: there.post("/api/run", {"number": 3}).status == 200)


def test_an_internal_error_is_answered_and_logged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(answers.HANDLERS, "/api/run", lambda request: {"x": request["none"]})
    monkeypatch.setitem(answers.HANDLERS, "/api/proof", lambda request: {"x": float("nan")})
    with studio() as there:
        assert there.post("/api/run", {})[:2] == (500, {"error": "internal error: KeyError: 'none'"})
        assert there.post("/api/proof", {}).status == 500
        assert len(there.faults) == 2
        assert there.faults[0].startswith("Traceback")
        assert there.call("GET", "/").status == 200


def test_a_stop_finishes_what_was_begun(slow: Any) -> None:
    begun, go, _ = slow
    with studio() as there:
        found: list[Any] = []
        clients = threading.Thread(target=lambda: found.append(there.post("/api/run", {"number": 1})))
        clients.start()
        assert begun.acquire(timeout=10)
        there.server.stop()
        soon(lambda: is_refused(there.port))
        go.set()
        clients.join(10)
        assert found[0].body == {"number": 1}


def test_a_stop_does_not_wait_for_idle_clients() -> None:
    with studio() as there, socket.create_connection(("127.0.0.1", there.port), 10) as idle:
        idle.sendall(f"GET /main.js HTTP/1.1\r\nHost: localhost:{there.port}\r\n\r\n".encode())
        assert idle.recv(10)
        start = time.monotonic()
        there.server.stop()
        all_of(idle)
        assert in_time(time.monotonic() - start, 2.5)
