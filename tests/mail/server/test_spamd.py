"""Spamd's protocol, byte by byte: right requests and wrong ones."""

from __future__ import annotations

import asyncio
import contextlib
import random
import socket
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mail_servers import HAM, SPAM, UNSURE, Plain, all_of, answer_to, is_passed_on, request, serving

from rosenblatt.mail.server import Limits, Server
from rosenblatt.mail.server.limits import Budget
from rosenblatt.mail.server.protocol import COMMANDS, FIRST_STEP_BYTES, RequestError, command_of, head_of, inflated
from rosenblatt.serving.sockets import ServeError

QUICK = Limits(idle_seconds=0.3, read_seconds=0.8, stop_seconds=1.0, message_bytes=20_000, connections=8)


@pytest.fixture(scope="module")
def plain() -> Any:
    spam_filter = Plain()
    with serving(spam_filter, limits=QUICK) as (addresses, _):
        yield spam_filter, addresses


@pytest.mark.parametrize(
    ("mail", "response"), [(SPAM, "True ; 14.5 / 5.0"), (HAM, "False ; -4.5 / 5.0"), (UNSURE, "False ; 2.0 / 5.0")]
)
def test_a_check_returns_points_and_the_threshold(plain: Any, mail: bytes, response: str) -> None:
    assert answer_to(plain[1], request("CHECK", mail)) == f"SPAMD/1.5 0 EX_OK\r\nSpam: {response}\r\n\r\n".encode()


@pytest.mark.parametrize("shut", [True, False])
def test_a_client_that_sends_the_length_may_keep_its_side_open(plain: Any, shut: bool) -> None:
    assert b"Spam: True" in answer_to(plain[1], request("CHECK", SPAM), shut)


def test_without_a_length_the_mail_ends_where_the_stream_does(plain: Any) -> None:
    assert b"Spam: True" in answer_to(plain[1], b"CHECK SPAMC/1.2\r\n\r\n" + SPAM)


def test_lines_may_end_plainly_and_unknown_headers_are_passed_over(plain: Any) -> None:
    head = b"CHECK SPAMC/1.3\nX-New: 1\nUser: me\ncontent-LENGTH: %d\n\n" % len(SPAM)
    assert b"Spam: True" in answer_to(plain[1], head + SPAM)


@pytest.mark.parametrize("sent", [b"PING SPAMC/1.5\r\n\r\n", b"PING SPAMC/1.2\r\n"])
def test_a_ping_is_answered(plain: Any, sent: bytes) -> None:
    assert answer_to(plain[1], sent, shut=False) == b"SPAMD/1.5 0 PONG\r\n"


def test_a_skip_and_a_look_at_the_port_get_nothing(plain: Any) -> None:
    assert answer_to(plain[1], b"SKIP SPAMC/1.5\r\n\r\n") == b"" == answer_to(plain[1], b"")


def test_symbols_and_reports(plain: Any) -> None:
    head, _, body = answer_to(plain[1], request("SYMBOLS", SPAM)).partition(b"\r\n\r\n")
    assert body == b"body:pills,body:buy"
    assert f"Content-length: {len(body)}".encode() in head
    assert b'+2.000  body: "pills"' in answer_to(plain[1], request("REPORT", SPAM))
    assert b'+2.000  body: "pills"' in answer_to(plain[1], request("REPORT_IFSPAM", SPAM))
    assert answer_to(plain[1], request("REPORT_IFSPAM", HAM)).endswith(b"Content-length: 0\r\nSpam: False ; -4.5 / 5.0\r\n\r\n")


def test_a_mail_may_come_packed(plain: Any) -> None:
    packed = zlib.compress(SPAM, 3)
    plainly, squeezed = (
        answer_to(plain[1], request("PROCESS", SPAM)),
        answer_to(plain[1], request("PROCESS", packed, "Compress: zlib")),
    )
    assert plainly == squeezed
    assert b"Spam: True" in plainly


@pytest.mark.parametrize("packed", [b"", b"xx", zlib.compress(SPAM)[:-3], zlib.compress(bytes(10_000_000))])
def test_what_is_packed_wrongly_or_unpacks_to_too_much_is_refused(plain: Any, packed: bytes) -> None:
    assert answer_to(plain[1], request("CHECK", packed, "Compress: zlib")).startswith(b"SPAMD/1.5 65 EX_DATAERR: ")


@pytest.mark.parametrize(
    "size",
    [
        0,
        1,
        FIRST_STEP_BYTES - 1,
        FIRST_STEP_BYTES,
        FIRST_STEP_BYTES + 1,
        2 * FIRST_STEP_BYTES,
        4 * FIRST_STEP_BYTES,
        5 * FIRST_STEP_BYTES + 3,
    ],
)
@pytest.mark.parametrize("period", [1, 251])
def test_a_packed_mail_is_unpacked_in_steps_and_held_as_it_is(size: int, period: int) -> None:
    mail, budget = (bytes(range(period)) * (size + 1))[:size], Budget(100 * FIRST_STEP_BYTES)

    async def unpack(most: int) -> tuple[bytes, int]:
        async def at_once(work: Any) -> bytes:
            return bytes(work())

        with budget.share() as share:
            return await inflated(zlib.compress(mail), most, share, at_once), budget.held

    assert asyncio.run(unpack(5 * FIRST_STEP_BYTES + 3)) == asyncio.run(unpack(size)) == (mail, size)
    if size:
        with pytest.raises(RequestError, match="larger than"):
            asyncio.run(unpack(size - 1))
    assert budget.held == 0


def test_tell_learns_relabels_and_unlearns_and_reports_it(plain: Any) -> None:
    spam_filter, addresses = plain
    mail = b"Subject: tell\n\n"

    def tell(*headers: str) -> bytes:
        return answer_to(addresses, request("TELL", mail, *headers))

    done = b"SPAMD/1.5 0 EX_OK\r\nContent-length: 0\r\n%s\r\n"
    assert tell("Message-class: spam", "Set: local") == done % b"DidSet: local\r\n"
    assert spam_filter.labels[mail] is True
    assert tell("Message-class: spam", "Set: local") == done % b""
    assert tell("Message-class: ham", "Set: local", "Remove: remote") == done % b"DidSet: local\r\n"
    assert spam_filter.labels[mail] is False
    assert tell("Remove: local") == done % b"DidRemove: local\r\n"
    assert mail not in spam_filter.labels
    assert tell("Remove: local") == done % b""


def test_a_server_can_refuse_to_learn() -> None:
    with serving(Plain(), tell=False) as (addresses, _):
        response = answer_to(addresses, request("TELL", SPAM, "Message-class: spam", "Set: local"))
    assert response.startswith(b"SPAMD/1.5 69 EX_UNAVAILABLE: this server does not learn from clients over TCP: use its Unix ")


def test_without_leave_only_a_protected_socket_may_teach(tmp_path: Path) -> None:
    tell = request("TELL", SPAM, "Message-class: spam", "Set: local")
    for mode, options, learns in (
        (0o600, {}, (False, True)), (0o660, {}, (False, True)), (0o666, {}, (False, False)),
        (0o600, {"tell": False}, (False, False)), (0o666, {"allow_tell": True}, (True, True)),
    ):  # fmt: skip
        path = tmp_path / "spamd.sock"
        with serving(Plain(), **{"socket_path": path, "socket_mode": mode, "allow_tell": False} | options) as (addresses, _):
            over_tcp = answer_to(addresses, tell)
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(str(path))
                client.sendall(tell)
                client.shutdown(socket.SHUT_WR)
                answers = over_tcp, all_of(client)
        assert (mode, options, tuple(b" EX_OK" in each for each in answers)) == (mode, options, learns)
        assert all(learned or b"EX_UNAVAILABLE" in each for learned, each in zip(learns, answers, strict=True))
    with pytest.raises(ServeError, match="exclude each other"):
        Server(tell=False, allow_tell=True)


def test_a_processed_mail_comes_back_whole(plain: Any) -> None:
    for mail in (SPAM, HAM, UNSURE, b"", b"\n", b"\0\xff\n\n\0", b"no newline"):
        head, _, body = answer_to(plain[1], request("PROCESS", mail)).partition(b"\r\n\r\n")
        assert f"Content-length: {len(body)}\r\n".encode() in head + b"\r\n"
        assert is_passed_on(mail, body)


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        (b"hello\r\n\r\n", 76),
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", 76),
        (b"EXPLODE SPAMC/1.5\r\n\r\n", 76),
        (b"CHECK SPAMC/x\r\n\r\n", 76),
        (b"CHECK SPAMC/1.5", 76),
        (b"CHECK SPAMC/1.5\r\nContent-length: 5\r\n", 76),
        (b"CHECK SPAMC/1.5\r\nnonsense\r\n\r\n", 76),
        (b"CHECK SPAMC/1.5\r\nContent-length: many\r\n\r\n", 76),
        (b"CHECK SPAMC/1.5\r\nContent-length: -1\r\n\r\n", 76),
        (b"CHECK SPAMC/1.5\r\nContent-length: 1\r\nContent-length: 2\r\n\r\nab", 76),
        (b"CHECK SPAMC/1.5\r\nCompress: rar\r\n\r\n", 76),
        (b"CHECK SPAMC/1.5\r\n" + b"A: b\r\n" * 1000 + b"\r\n", 76),
        (b"A" * 100_000, 76),
        (b"CHECK SPAMC/1.5\r\nContent-length: 10\r\n\r\nshort", 65),
        (b"CHECK SPAMC/1.5\r\nContent-length: 2\r\n\r\nlonger", 65),
        (request("CHECK", HAM) + request("CHECK", SPAM), 65),
        (b"CHECK SPAMC/1.5\r\nContent-length: 999999999999\r\n\r\n", 65),
        (request("CHECK", b"x" * 20_001), 65),
        (b"CHECK SPAMC/1.5\r\n\r\n" + b"x" * 200_000, 65),
        (request("TELL", HAM), 76),
        (request("TELL", HAM, "Set: local"), 76),
        (request("TELL", HAM, "Set: local", "Message-class: eggs"), 76),
        (request("TELL", HAM, "Set: moon", "Message-class: ham"), 76),
        (request("TELL", HAM, "Set: local", "Remove: local", "Message-class: ham"), 76),
    ],
)
def test_a_wrong_request_gets_one_line_and_no_more(plain: Any, sent: bytes, code: int) -> None:
    response = answer_to(plain[1], sent)
    assert response.startswith(f"SPAMD/1.5 {code} EX_".encode())
    assert response.endswith(b"\r\n")
    assert response.count(b"\n") == 1  # after an empty line spamc reports success
    assert b"Content-length:" not in response  # and this would cost the mail


def test_an_error_of_the_filter_does_not_quote_the_mail() -> None:
    spam_filter, lines = Plain(), []
    spam_filter.broken = KeyError("Subject: secret")
    with serving(spam_filter, log=lines.append) as (addresses, _):
        assert answer_to(addresses, request("CHECK", SPAM)) == b"SPAMD/1.5 75 EX_TEMPFAIL: the filter failed (KeyError)\r\n"
        assert answer_to(addresses, request("TELL", SPAM, "Remove: local")).startswith(b"SPAMD/1.5 75 ")
        spam_filter.broken = None
        assert b"Spam: True" in answer_to(addresses, request("CHECK", SPAM))
    assert len(lines) == 3
    assert not any(word in line for line in lines for word in ("secret", "pills"))


def test_the_log_has_the_size_of_mails_that_were_read() -> None:
    lines: list[str] = []
    with serving(Plain(), log=lines.append, tell=False) as (addresses, _):
        answer_to(addresses, request("CHECK", SPAM))
        answer_to(addresses, request("CHECK", b""))
        answer_to(addresses, request("TELL", SPAM, "Message-class: spam", "Set: local"))
        answer_to(addresses, b"PING SPAMC/1.5\r\n\r\n")
        answer_to(addresses, b"no command\r\n\r\n")
    read, empty, *unread = lines
    assert f" ms, {len(SPAM)} bytes, spam " in read
    assert " ms, 0 bytes, " in empty
    assert [line.split()[1] for line in unread] == ["TELL", "PING", "bad"]
    assert "bytes" not in "".join(unread)


@given(st.binary(max_size=300))
def test_any_line_is_a_command_or_an_error_of_ours(line: bytes) -> None:
    with contextlib.suppress(RequestError):
        assert command_of(line) in COMMANDS


WORDS = [
    b"content-length",
    b"set",
    b"remove",
    b"message-class",
    b"compress",
    b":",
    b" ",
    b"local",
    b"spam",
    b"zlib",
    b"7",
    b",",
    b"\xff",
]


@given(st.sampled_from(COMMANDS), st.lists(st.lists(st.sampled_from(WORDS), max_size=6).map(b"".join), max_size=5))
def test_any_headers_are_understood_or_an_error_of_ours(command: str, lines: list[bytes]) -> None:
    with contextlib.suppress(RequestError):
        head = head_of(command, lines)
        assert head.length is None or head.length >= 0
        assert (head.tell is not None) == (command == "TELL")


def test_garbage_does_not_kill_the_server(plain: Any) -> None:
    rng = random.Random(0)
    whole = request("PROCESS", SPAM, "User: me", "Compress: zlib")
    for turn in range(300):
        if turn % 2:
            sent = rng.randbytes(rng.randrange(200))
        else:
            mutated = bytearray(whole)
            for _ in range(rng.randrange(1, 6)):
                mutated[rng.randrange(len(mutated))] = rng.randrange(256)
            sent = bytes(mutated[: rng.randrange(len(mutated))])
        answer_to(plain[1], sent)
    assert b"Spam: True" in answer_to(plain[1], request("CHECK", SPAM))
