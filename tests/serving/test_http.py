"""HTTP of both servers: limits on headers, bodies and connections, and the names of this machine."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

pytest.importorskip("uvicorn")
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse

from rosenblatt.serving.admission import check_sender, is_local
from rosenblatt.serving.http import Bodies, Web
from rosenblatt.serving.sockets import listen


@pytest.mark.parametrize(
    ("host", "local"),
    [
        ("localhost", True), ("LOCALHOST:80", True), ("127.0.0.1:7831", True), ("[::1]:7831", True), ("[::1]", True),
        ("", False), ("localhost.evil.example", False), ("127.0.0.1.evil.example", False), ("10.0.0.1", False),
        ("127.evil.evil.evil", False), ("127.0.0.53", True), ("127.999.1.1", False), ("127.1.1.256:80", False),
    ],
)  # fmt: skip
def test_names_of_this_machine(host: str, local: bool) -> None:
    assert is_local(host) is local


@pytest.mark.parametrize(("host", "local"), [("localhost:81", True), ("localhost:80", False), ("localhost", False)])
def test_a_port_must_match_if_one_is_given(host: str, local: bool) -> None:
    assert is_local(host, 81) is local


@pytest.mark.parametrize("name", ["origin", "sec-fetch-site"])
def test_each_of_two_equal_headers_counts(name: str) -> None:
    own, other = {"origin": (b"http://localhost", b"http://evil.example"), "sec-fetch-site": (b"none", b"cross-site")}[name]
    for values in ([own], [own, own], [own, other], [other, own]):
        pairs = [(b"host", b"localhost"), *((name.encode(), value) for value in values)]
        request = Request({"type": "http", "method": "POST", "path": "/", "headers": pairs})
        if other in values:
            with pytest.raises(HTTPException):
                check_sender(request)
        else:
            check_sender(request)


# --- bodies ------------------------------------------------------------------------------------------------------------


class Sent:
    """A request whose body comes in these chunks; `read` counts them. After the last one the client is silent."""

    def __init__(self, chunks: list[bytes], end: bool = True, **headers: str) -> None:
        self.chunks, self.end, self.read = list(chunks), end, 0
        pairs = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
        self.request = Request({"type": "http", "method": "POST", "path": "/", "headers": pairs}, self.receive)

    async def receive(self) -> dict[str, Any]:
        await asyncio.sleep(0)
        if self.read == len(self.chunks):
            await asyncio.Event().wait()
        self.read += 1
        more = not self.end or self.read < len(self.chunks)
        return {"type": "http.request", "body": self.chunks[self.read - 1], "more_body": more}


def read(sent: Sent, max_bytes: int = 10, hold: Callable[[int], None] | None = None, **times: float) -> bytes:
    bodies = Bodies("mail", **{"idle_seconds": 30.0, "read_seconds": 30.0} | times)
    return asyncio.run(bodies.read(sent.request, max_bytes, hold))


def error_of(sent: Sent, **options: Any) -> HTTPException:
    with pytest.raises(HTTPException) as caught:
        read(sent, **options)
    return caught.value


def test_a_body_is_joined_and_its_known_size_is_held_before_each_chunk() -> None:
    held: list[int] = []
    assert read(Sent([b"abc", b"", b"defg", b"hij"]), hold=held.append) == b"abcdefghij"
    assert held == [0, 3, 7, 10]
    held.clear()
    assert read(Sent([b"abc", b"de"], content_length="5"), hold=held.append) == b"abcde"
    assert held == [5, 5, 5]


def test_a_body_that_is_too_large_is_refused_as_soon_as_that_is_known() -> None:
    declared = Sent([b"x" * 11], content_length="11")
    error = error_of(declared)
    assert (error.status_code, error.detail) == (413, "the mail is larger than 10 bytes")
    assert declared.read == 0
    chunked = Sent([b"x" * 6] * 5)
    assert error_of(chunked).status_code == 413
    assert chunked.read == 2
    assert read(Sent([b"x" * 10], content_length="10")) == b"x" * 10


def test_a_compressed_body_is_refused() -> None:
    error = error_of(Sent([b"x"], content_encoding="gzip"))
    assert (error.status_code, error.detail) == (415, "Content-Encoding is not supported: send the mail uncompressed")
    assert read(Sent([b"x"], content_encoding="Identity")) == b"x"


@pytest.mark.parametrize("times", [{"idle_seconds": 0.01}, {"read_seconds": 0.01}])
def test_a_body_that_does_not_end_times_out(times: dict[str, float]) -> None:
    error = error_of(Sent([b"x"], end=False), **times)
    assert (error.status_code, error.detail) == (408, "the mail arrived too slowly")


def refused(sent: Sent, status: int, max_bytes: int = 10) -> Any:
    return asyncio.run(Bodies("mail", 0.01, 30.0).refuse(sent.request, HTTPException(status, "no"), max_bytes))


def test_the_rest_of_a_refused_body_is_read_up_to_the_limit() -> None:
    sent = Sent([b"x" * 4] * 100)
    response = refused(sent, 413)
    assert (response.status_code, response.body, response.headers["connection"]) == (413, b'{"error":"no"}', "close")
    assert sent.read == 3


@pytest.mark.parametrize(("status", "headers"), [(408, {}), (413, {"expect": "100-continue"})])
def test_a_client_that_was_too_slow_or_waits_for_an_invitation_is_not_read(status: int, headers: dict[str, str]) -> None:
    sent = Sent([b"x" * 4] * 100, **headers)
    assert refused(sent, status).status_code == status
    assert sent.read == 0


# --- the server --------------------------------------------------------------------------------------------------------


async def application(scope: Any, receive: Any, send: Any) -> None:
    await PlainTextResponse(scope["path"])(scope, receive, send)


def with_web(talk: Callable[[Any], Awaitable[None]], **limits: Any) -> list[int]:
    """The changes of the number of connections while `talk` ran with the address of a server."""
    changes: list[int] = []

    async def main() -> None:
        sockets = listen("127.0.0.1", 0)
        given = {"idle_seconds": 30.0, "stop_seconds": 1.0, "header_bytes": 500, "connections": 10} | limits
        web = Web(application, counted=changes.append, **given)
        serving = asyncio.create_task(web.serve(sockets))
        while not web.started:
            await asyncio.sleep(0)
        await talk(sockets[0].getsockname())
        web.stop()
        await serving

    asyncio.run(main())
    return changes


async def answer(address: Any, sent: bytes, shut: bool = False) -> bytes:
    reader, writer = await asyncio.open_connection(*address)
    writer.write(sent)
    if shut:
        writer.write_eof()
    try:
        return await reader.read()
    except ConnectionError:
        return b""
    finally:
        writer.close()


GET = b"GET /path HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%s\r\n"


def test_limits_of_headers_and_time() -> None:
    async def talk(address: Any) -> None:
        assert (await answer(address, GET % b"")).endswith(b"\r\n\r\n/path")
        assert (await answer(address, GET % b"", shut=True)).endswith(b"\r\n\r\n/path")
        assert (await answer(address, GET % (b"A: %s\r\n" % (b"b" * 500)))).startswith(b"HTTP/1.1 431 ")
        assert (await answer(address, b"GET / HT")).startswith(b"HTTP/1.1 408 ")
        assert (await answer(address, b"")).startswith(b"HTTP/1.1 408 ")
        assert (await answer(address, b"HELLO\r\n\r\n")).startswith(b"HTTP/1.1 400 ")

    changes = with_web(talk, idle_seconds=0.05)
    assert changes == [1, -1] * 6


def test_connections_over_the_limit_are_closed() -> None:
    async def talk(address: Any) -> None:
        reader, writer = await asyncio.open_connection(*address)
        writer.write(b"GET /first HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert await reader.readuntil(b"/first")  # still open
        assert await answer(address, GET % b"") == b""
        writer.write(GET % b"")
        assert (await reader.read()).endswith(b"/path")
        writer.close()

    with_web(talk, connections=1)


@pytest.mark.parametrize("begun", [b"", b"GET /first HT", b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50\r\n\r\nx"])
def test_connections_that_keep_the_server_waiting_make_room(monkeypatch: pytest.MonkeyPatch, begun: bytes) -> None:
    monkeypatch.setattr("rosenblatt.serving.http.KEEPS_PLACE_S", 0.05)
    monkeypatch.setattr("rosenblatt.serving.http.KEEPS_PLACE_SILENT_S", 0.05)

    async def talk(address: Any) -> None:
        waiting = [await asyncio.open_connection(*address) for _ in range(5)]
        for _, writer in waiting:
            writer.write(begun)
        await asyncio.sleep(0.1)
        for _ in range(2):
            assert (await answer(address, GET % b"")).endswith(b"/path")
        for _, writer in waiting:
            writer.close()

    with_web(talk, connections=5)


@pytest.mark.parametrize(
    ("begun", "answered"), [(b"GET /first HT", True), (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n", False)]
)
def test_a_connection_without_a_complete_head_makes_room_sooner(
    monkeypatch: pytest.MonkeyPatch, begun: bytes, answered: bool
) -> None:
    """A client that opens hundreds of them a second must not keep others out."""
    monkeypatch.setattr("rosenblatt.serving.http.KEEPS_PLACE_S", 60.0)
    monkeypatch.setattr("rosenblatt.serving.http.KEEPS_PLACE_SILENT_S", 0.02)

    async def talk(address: Any) -> None:
        _, writer = await asyncio.open_connection(*address)
        writer.write(begun)
        await asyncio.sleep(0.2)
        assert (await answer(address, GET % b"")).endswith(b"/path") is answered
        writer.close()

    with_web(talk, connections=1)


def test_all_connections_over_the_limit_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many that come at once displace none of each other; the next one must not find the server full for long."""
    monkeypatch.setattr("rosenblatt.serving.http.KEEPS_PLACE_SILENT_S", 0.05)

    async def displaced(reader: asyncio.StreamReader) -> bool:
        try:
            return await asyncio.wait_for(reader.read(), 0.1) == b""
        except TimeoutError:
            return False
        except ConnectionError:
            return True

    async def talk(address: Any) -> None:
        waiting = [await asyncio.open_connection(*address) for _ in range(9)]
        await asyncio.sleep(0.1)
        assert (await answer(address, GET % b"")).endswith(b"/path")
        assert sum([await displaced(reader) for reader, _ in waiting]) == 5
        for _, writer in waiting:
            writer.close()

    with_web(talk, connections=5, extra_connections=4)


@pytest.mark.parametrize(
    "sent",
    [
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.0\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxy",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: +1\r\n\r\nx",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip\r\n\r\nx",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX: a\0b\r\n\r\n",
        b"GET /\0 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost : localhost\r\n\r\n",
        b"GET / HTTP/2.0\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX: a\r\n b\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nX: a\r\n Transfer-Encoding: chunked\r\n\r\nx",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding:\r\n\tchunked\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\ncontent-length: 1\r\n\r\nx",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1, 1\r\n\r\nx",
        b"GET / HTTP/1.1\nHost: localhost\n\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX: a\nY: b\r\n\r\n",
    ],
)
def test_a_request_that_can_be_read_in_two_ways_is_refused_and_the_connection_closed(sent: bytes) -> None:
    async def talk(address: Any) -> None:
        second = b"GET /smuggled HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        response = await answer(address, sent + second)
        assert response.startswith(b"HTTP/1.1 400 "), response
        assert b"/smuggled" not in response

    with_web(talk)


def test_so_is_one_that_follows_another_in_the_same_packet() -> None:
    async def talk(address: Any) -> None:
        first = b"GET /first HTTP/1.1\r\nHost: localhost\r\n\r\n"
        response = await answer(address, first + b"GET /second HTTP/1.1\r\nHost: localhost\r\nX: a\r\n b\r\n\r\n")
        assert b"/first" in response
        assert b"/second" not in response
        assert b"HTTP/1.1 400 " in response

    with_web(talk)


def test_valid_requests_of_rare_forms_are_answered() -> None:
    async def talk(address: Any) -> None:
        chunked = b"POST /c HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
        assert (await answer(address, chunked + b"2;name=value\r\nab\r\n0\r\n\r\n")).endswith(b"/c")
        assert (await answer(address, b"GET /old HTTP/1.0\r\n\r\n")).endswith(b"/old")
        piped = await answer(address, b"GET /1 HTTP/1.1\r\nHost: localhost\r\n\r\n" + GET % b"")
        assert piped.index(b"/1") < piped.index(b"/path")

    with_web(talk)
