"""Mixed requests, malformed ones and clients that leave: every worker is free again, and memory of all processes stays flat."""

from __future__ import annotations

import contextlib
import json
import random
import socket

import pytest
from studio_serving import REQUEST, Studio, all_of, studio

from effort import amount, soon
from resident_memory import family_mb


def send(there: Studio, sent: bytes, waits: bool = True) -> bytes:
    with socket.create_connection(("127.0.0.1", there.port), 60) as client, contextlib.suppress(ConnectionError):
        client.sendall(sent)
        return all_of(client) if waits else b""
    return b""


def send_one(there: Studio, draw: random.Random, number: int) -> bytes:
    points = [[draw.randint(-9, 9) * 1e6, draw.randint(-9, 9)] for _ in range(12)]
    request = REQUEST | {"points": points, "labels": [0, 1] * 6, "algorithm": draw.choice(("perceptron", "vote"))}
    body = json.dumps(request | {"seed": number % 20, "knobs": {"max_updates": 50}}).encode()
    path = draw.choice((b"/api/run", b"/api/proof"))
    head = b"POST %s HTTP/1.1\r\nHost: localhost:%d\r\nConnection: close\r\nContent-Type: application/json\r\n" % (
        path,
        there.port,
    )
    whole = head + b"Content-Length: %d\r\n\r\n" % len(body) + body
    match number % 6:
        case 0:
            return send(there, whole[: draw.randrange(len(whole))], waits=False)
        case 1:
            return send(there, whole, waits=False)
        case 2:
            return send(there, head + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
        case 3:
            return send(there, b"GET / HTTP/1.1\r\nX: " + draw.randbytes(30).hex().encode() * 1000 + b"\r\n\r\n")
    return send(there, whole)


@pytest.mark.slow
def test_many_requests_leave_the_server_as_it_was() -> None:
    draw = random.Random(3)
    with studio() as there:
        answers = [send_one(there, draw, number)[:13] for number in range(30)]
        before = family_mb()
        answers += [send_one(there, draw, number)[:13] for number in range(amount(90, 5000))]
        soon(lambda: there.server.app.pool.n_pending == 0)
        assert family_mb() - before < 20.0  # the workers included
        assert {*answers} <= {b"", b"HTTP/1.1 200 ", b"HTTP/1.1 400 ", b"HTTP/1.1 431 "}
        assert answers.count(b"HTTP/1.1 200 ") >= 30
        assert there.faults == []
        assert there.post("/api/run", REQUEST).status == 200
