"""Where servers listen, and how they stop listening."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest

from rosenblatt.serving.sockets import ServeError, close, is_loopback, listen, listen_at


def test_a_socket_of_a_dead_server_is_replaced_and_a_file_is_not(tmp_path: Path) -> None:
    path = tmp_path / "old.sock"
    listen_at(path).close()
    assert path.exists()
    listen_at(path).close()
    (tmp_path / "file").write_text("precious")
    with pytest.raises(ServeError, match="not a socket"):
        listen_at(tmp_path / "file")
    with pytest.raises(ServeError, match="no such file"):
        listen_at(tmp_path / "none" / "x")


@pytest.mark.parametrize(
    ("host", "local"), [("127.0.0.1", True), ("127.8.9.1", True), ("::1", True), ("0.0.0.0", False), ("::", False)]
)
def test_which_hosts_are_this_machine(host: str, local: bool) -> None:
    assert is_loopback(host) is local


def test_both_addresses_of_this_machine_share_a_port() -> None:
    sockets = listen("localhost", 0)
    assert len({each.getsockname()[1] for each in sockets}) == 1
    for each in sockets:
        each.close()


def test_a_taken_port_is_reported() -> None:
    [taken] = listen("127.0.0.1", 0)
    with taken, pytest.raises(ServeError, match=r"cannot listen on 127\.0\.0\.1 port \d+: address already in use"):
        listen("127.0.0.1", taken.getsockname()[1])
    with pytest.raises(ServeError, match="from 0 to 65535"):
        listen("127.0.0.1", 70_000)


def test_small_answers_are_sent_at_once() -> None:
    """asyncio sets TCP_NODELAY on sockets created as TCP only; else a second answer waits 40 ms for the first."""
    for bound in listen("127.0.0.1", 0):
        with bound:
            assert bound.proto == socket.IPPROTO_TCP


class Echo(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.transport.write(data)
        self.transport.close()


def test_clients_in_the_backlog_are_answered_and_later_ones_are_refused() -> None:
    [listening] = listen("127.0.0.1", 0)
    address = listening.getsockname()

    async def stop() -> list[bytes]:
        waiting = [await asyncio.open_connection(*address) for _ in range(3)]  # accepted by the system only
        for number, (_, writer) in enumerate(waiting):
            writer.write(b"%d" % number)
        await close([listening], [], Echo)
        listening.close()
        answers = [await reader.read() for reader, _ in waiting]
        for _, writer in waiting:
            writer.close()
        return answers

    assert asyncio.run(stop()) == [b"0", b"1", b"2"]
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(address, 10)


def test_a_socket_path_has_the_mode_that_is_given(tmp_path: Path) -> None:
    for mode in (0o600, 0o660, 0o666):
        listen_at(tmp_path / oct(mode), mode).close()
        assert (tmp_path / oct(mode)).stat().st_mode & 0o777 == mode
