"""The server of spamd's protocol under more clients than it has places for, and clients that vanish."""

from __future__ import annotations

import contextlib
import gc
import logging
import socket
import struct
import time
from pathlib import Path
from typing import Any

import pytest
from mail_servers import SPAM, Plain, all_of, answer_to, connected, request, serving

from effort import soon
from rosenblatt.mail.server import Limits
from rosenblatt.mail.server.places import client_of

PLACES = "rosenblatt.mail.server.places"
HALF_HEAD = b"CHECK SPAMC/1.5\r\nContent-len"
HALF_MAIL = b"CHECK SPAMC/1.5\r\nContent-length: 500\r\n\r\nSubject: "
REFUSED = b"SPAMD/1.5 75 EX_TEMPFAIL: too many connections; try again\r\n"


def reset(client: socket.socket) -> None:
    """Close a connection by a reset."""
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()


def unexpected(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What asyncio has reported; tasks whose errors no one has looked at are reported when they are collected."""
    gc.collect()
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


def opened(stack: contextlib.ExitStack, addresses: Any, sent: bytes, number: int) -> list[socket.socket]:
    clients = [stack.enter_context(connected(addresses)) for _ in range(number)]
    for each in clients:
        with contextlib.suppress(OSError):  # closed already
            each.sendall(sent)
    return clients


def test_too_many_at_once_are_refused_politely(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{PLACES}.WAIT_FOR_PLACE_S", 0.1)
    spam_filter = Plain()
    spam_filter.go.clear()
    with serving(spam_filter, limits=Limits(connections=2)) as (addresses, _):
        with connected(addresses) as first, connected(addresses) as second:
            for each in (first, second):
                each.sendall(request("CHECK", SPAM))
            assert all(spam_filter.begun.acquire(timeout=30) for _ in range(2))
            assert answer_to(addresses, request("CHECK", SPAM)) == REFUSED
            spam_filter.go.set()
            for each in (first, second):
                assert b"Spam: True" in all_of(each)
        soon(lambda: b"Spam: True" in answer_to(addresses, request("CHECK", SPAM)))


def test_a_client_without_a_place_waits_for_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{PLACES}.WAIT_FOR_PLACE_S", 30.0)
    spam_filter = Plain()
    spam_filter.go.clear()
    with serving(spam_filter, limits=Limits(connections=1)) as (addresses, _), contextlib.ExitStack() as stack:
        first, second = opened(stack, addresses, request("CHECK", SPAM), 2)
        assert spam_filter.begun.acquire(timeout=30)
        second.settimeout(0.3)
        with pytest.raises(TimeoutError):
            second.recv(100)
        second.settimeout(30)
        spam_filter.go.set()
        assert b"Spam: True" in all_of(first)
        assert b"Spam: True" in all_of(second)


def test_connections_far_over_the_limit_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{PLACES}.EXTRA_CONNECTIONS", 1)
    monkeypatch.setattr(f"{PLACES}.KEEPS_PLACE_IDLE_S", 60.0)
    monkeypatch.setattr(f"{PLACES}.WAIT_FOR_PLACE_S", 0.0)
    limits, spam_filter = Limits(connections=1, stop_seconds=0.1), Plain()
    spam_filter.go.clear()
    with serving(spam_filter, limits=limits) as (addresses, _), connected(addresses) as begun:
        begun.sendall(request("CHECK", SPAM))
        assert spam_filter.begun.acquire(timeout=30)
        with connected(addresses) as reported:
            assert reported.recv(1000) == REFUSED
            assert answer_to(addresses, request("CHECK", SPAM)) == b""
        spam_filter.go.set()


def test_a_refused_client_that_does_not_close_makes_room_for_another_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{PLACES}.EXTRA_CONNECTIONS", 1)
    monkeypatch.setattr(f"{PLACES}.KEEPS_PLACE_IDLE_S", 0.0)
    monkeypatch.setattr(f"{PLACES}.WAIT_FOR_PLACE_S", 0.0)
    limits, spam_filter = Limits(connections=1, stop_seconds=0.1), Plain()
    spam_filter.go.clear()
    with serving(spam_filter, limits=limits) as (addresses, _), connected(addresses) as begun:
        begun.sendall(request("CHECK", SPAM))
        assert spam_filter.begun.acquire(timeout=30)
        with connected(addresses) as reported:
            assert reported.recv(1000) == REFUSED
            soon(lambda: answer_to(addresses, request("CHECK", SPAM)) == REFUSED)
        spam_filter.go.set()


@pytest.mark.parametrize("begun", [HALF_HEAD, HALF_MAIL])
def test_clients_that_keep_the_server_waiting_make_room(monkeypatch: pytest.MonkeyPatch, begun: bytes) -> None:
    monkeypatch.setattr(f"{PLACES}.KEEPS_PLACE_S", 0.05)
    monkeypatch.setattr(f"{PLACES}.KEEPS_PLACE_IDLE_S", 0.05)
    with serving(Plain(), limits=Limits(connections=20)) as (addresses, _), contextlib.ExitStack() as stack:
        waiting = opened(stack, addresses, begun, 20)
        time.sleep(0.1)
        for _ in range(3):
            assert b"Spam: True" in answer_to(addresses, request("CHECK", SPAM))
        assert all_of(waiting[0]) == b""  # the oldest


@pytest.mark.parametrize("begun", [HALF_HEAD, HALF_MAIL])
@pytest.mark.parametrize("number", [24, 60])  # fewer and more than wait for a place
def test_half_open_requests_over_the_limit_do_not_shut_others_out(
    monkeypatch: pytest.MonkeyPatch, begun: bytes, number: int
) -> None:
    """Not even for the time of their refusals, and without a second attempt."""
    monkeypatch.setattr(f"{PLACES}.EXTRA_CONNECTIONS", 8)
    monkeypatch.setattr(f"{PLACES}.WAIT_FOR_PLACE_S", 30.0)
    with serving(Plain(), limits=Limits(connections=16)) as (addresses, _), contextlib.ExitStack() as stack:
        opened(stack, addresses, begun, number)
        # A mail is late after a second. Before that, the clients that wait are as many as may.
        soon(lambda: b"Spam: True" in answer_to(addresses, request("CHECK", SPAM)))
        for _ in range(3):
            assert b"Spam: True" in answer_to(addresses, request("CHECK", SPAM))


def test_one_client_leaves_places_to_others(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(f"{PLACES}.WAIT_FOR_PLACE_S", 0.1)
    spam_filter, path = Plain(), tmp_path / "spamd.sock"
    spam_filter.go.clear()
    with (
        serving(spam_filter, limits=Limits(connections=2), socket_path=path, workers=4) as (addresses, _),
        contextlib.ExitStack() as stack,
    ):
        full = opened(stack, addresses, request("CHECK", SPAM), 2)
        assert all(spam_filter.begun.acquire(timeout=30) for _ in range(2))
        assert answer_to(addresses, request("CHECK", SPAM)) == REFUSED
        with socket.socket(socket.AF_UNIX) as other:
            other.connect(str(path))
            other.sendall(request("CHECK", SPAM))
            assert spam_filter.begun.acquire(timeout=30)
            spam_filter.go.set()
            assert b"Spam: True" in all_of(other)
        assert all(b"Spam: True" in all_of(each) for each in full)


class Peer:
    """A connection as its address shows it."""

    def __init__(self, family: int, address: str) -> None:
        self.family, self._address = family, address

    def get_extra_info(self, name: str) -> Any:
        return self if name == "socket" else (self._address, 4711)


def test_clients_are_told_apart_where_they_can_be() -> None:
    def client(family: int, address: str) -> str:
        writer: Any = Peer(family, address)
        return client_of(writer)

    assert client(socket.AF_INET, "192.0.2.1") != client(socket.AF_INET, "192.0.2.2")
    assert {client(socket.AF_INET, f"127.0.0.{n}") for n in (1, 2)} == {client(socket.AF_INET6, "::1")}
    assert client(socket.AF_INET6, "2001:db8::1") == client(socket.AF_INET6, "2001:db8::2:3%eth0")
    assert client(socket.AF_INET6, "2001:db8::1") != client(socket.AF_INET6, "2001:db8:0:1::1")


@pytest.mark.parametrize("cut", [0, 3, 20, 60, len(request("PROCESS", SPAM))])
def test_a_reset_is_an_ordinary_end(cut: int, caplog: pytest.LogCaptureFixture) -> None:
    warnings: list[str] = []
    with serving(Plain(), warn=warnings.append) as (addresses, _), caplog.at_level(logging.DEBUG, "asyncio"):
        for _ in range(3):
            client = connected(addresses)
            client.sendall(request("PROCESS", SPAM)[:cut])
            reset(client)
        assert b"Spam: True" in answer_to(addresses, request("CHECK", SPAM))
    assert not warnings
    assert unexpected(caplog) == []


def test_resets_by_refused_and_displaced_clients_are_not_reported(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(f"{PLACES}.WAIT_FOR_PLACE_S", 0.0)
    spam_filter = Plain()
    spam_filter.go.clear()
    with serving(spam_filter, limits=Limits(connections=2)) as (addresses, _), contextlib.ExitStack() as stack:
        opened(stack, addresses, request("CHECK", SPAM), 2)
        assert all(spam_filter.begun.acquire(timeout=30) for _ in range(2))
        refused = opened(stack, addresses, HALF_HEAD, 30)
        assert all(each.recv(1000) == REFUSED for each in refused)
        for each in refused[:15]:
            reset(each)
        monkeypatch.setattr(f"{PLACES}.EXTRA_CONNECTIONS", 1)  # new clients displace those that do not close
        monkeypatch.setattr(f"{PLACES}.KEEPS_PLACE_IDLE_S", 0.0)
        time.sleep(0.3)
        opened(stack, addresses, HALF_HEAD, 30)
        for each in refused[15:]:
            reset(each)
        spam_filter.go.set()
    assert unexpected(caplog) == []


@pytest.mark.parametrize("sent", [b"POST /v1/cl", b"POST /v1/classify HTTP/1.1\r\n", b"half", b"whole"])
def test_a_reset_of_an_http_connection_is_an_ordinary_end(sent: bytes, caplog: pytest.LogCaptureFixture) -> None:
    pytest.importorskip("uvicorn")
    head = b"POST /v1/classify HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: message/rfc822\r\nContent-Length: %d\r\n\r\n"
    whole = head % len(SPAM) + SPAM
    warnings: list[str] = []
    with serving(Plain(), http_port=0, warn=warnings.append) as (addresses, _):
        for _ in range(3):
            client = socket.create_connection(addresses.http, 10)
            client.sendall({b"half": whole[:-5], b"whole": whole}.get(sent, sent))
            reset(client)
        with socket.create_connection(addresses.http, 10) as client:
            client.sendall(whole.replace(b"Host", b"Connection: close\r\nHost"))
            assert all_of(client).startswith(b"HTTP/1.1 200")
    assert not warnings
    assert unexpected(caplog) == []


@pytest.mark.parametrize(
    ("headers", "sentence"),
    [
        (b"X-A: " + b"a" * 20_000 + b"\r\n", "a line of the request is longer than 16,384 bytes"),
        (b"X-A: " + b"a" * 20_000, "a line of the request is longer than 16,384 bytes"),
        ((b"X-A: " + b"a" * 5000 + b"\r\n") * 4, "the header lines of the request are longer than 16,384 bytes together"),
        (b"X-A: a\r\n" * 65, "the request has more than 64 header lines"),
        (
            b"Content-length: 0\r\nTransfer-Encoding: chunked\r\n",
            "the protocol has no Transfer-Encoding; send Content-length alone",
        ),
    ],
)
def test_a_head_that_is_too_large_or_ambiguous_is_named(headers: bytes, sentence: str) -> None:
    with serving(Plain()) as (addresses, _):
        answer = answer_to(addresses, b"CHECK SPAMC/1.5\r\n" + headers + b"\r\n")
    assert answer.decode() == f"SPAMD/1.5 76 EX_PROTOCOL: {sentence}\r\n"
