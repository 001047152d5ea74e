"""Mixed requests, malformed ones and clients that leave, for spamd and HTTP: the server answers on, and memory stays flat."""

from __future__ import annotations

import contextlib
import random
import socket
from typing import Any

import pytest
from mail_servers import SPAM, Plain, all_of, request, serving
from test_mail_http import call

from effort import amount
from resident_memory import resident_mb

pytest.importorskip("uvicorn")
POST = b"POST /v1/classify HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: message/rfc822\r\n"
WHOLE = {"spamd": request("CHECK", SPAM), "http": POST + b"Content-Length: %d\r\n\r\n" % len(SPAM) + SPAM}
WRONG = {
    "spamd": [b"CHECK SPAMC/1.5\r\nContent-length: x\r\n\r\n", b"\0" * 100 + b"\r\n", request("CHECK", SPAM)[:-5]],
    "http": [
        POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"\0\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
    ],
}


def send(address: Any, sent: bytes, waits: bool) -> bytes:
    with socket.create_connection(address, 30) as client, contextlib.suppress(ConnectionError):
        client.sendall(sent)
        if waits:
            client.shutdown(socket.SHUT_WR)
            return all_of(client)
    return b""


@pytest.mark.parametrize("side", ["spamd", "http"])
def test_many_requests_leave_the_server_as_it_was(side: str) -> None:
    draw = random.Random(4)
    with serving(Plain(), http_port=0) as (addresses, _):
        address = getattr(addresses, side)

        def send_many(count: int) -> list[bytes]:
            whole = WHOLE[side]
            kinds = [
                (whole, True),
                (whole, False),
                (whole[: draw.randrange(len(whole))], False),
                (draw.choice(WRONG[side]), True),
            ]
            return [send(address, *kinds[number % 4]) for number in range(count)]

        send_many(40)
        before = resident_mb()
        answers = send_many(amount(400, 5000))
        assert resident_mb() - before < 15.0
        right = b"Spam: True" if side == "spamd" else b'"label":"spam"'
        assert sum(right in answer for answer in answers) == len(answers) // 4
        assert call(addresses, "GET", "/healthz")[0] == 200
