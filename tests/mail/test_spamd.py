"""Spamd's protocol, byte by byte: right requests, wrong ones, slow ones, many."""

from __future__ import annotations

import contextlib
import random
import socket
import threading
import time
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from serving import (
    HAM,
    SPAM,
    UNSURE,
    Plain,
    all_of,
    ask,
    connected,
    data_folder,
    is_passed_on,
    request,
    serving,
    unmarked,
)  # fmt: skip

from rosenblatt.mail.calibration import Calibration
from rosenblatt.mail.identity import digest
from rosenblatt.mail.serve import Limits
from rosenblatt.mail.serve.engine import Judged
from rosenblatt.mail.serve.marks import _without_foreign, head_only, marked, symbols
from rosenblatt.mail.serve.scale import points
from rosenblatt.mail.serve.sockets import ServeError, is_loopback, listen, listen_at
from rosenblatt.mail.serve.wire import COMMANDS, RequestError, command_of, head_of
from rosenblatt.mail.verdict import Reason, Verdict

QUICK = Limits(idle_seconds=0.3, read_seconds=0.8, stop_seconds=1.0, message_bytes=20_000, connections=8)


@pytest.fixture(scope="module")
def plain() -> Any:
    spam_filter = Plain()
    with serving(spam_filter, limits=QUICK) as (addresses, _):
        yield spam_filter, addresses


def judged(spam: bool = True, *names: str) -> Judged:
    score = 2.0 if spam else -2.0
    verdict = Verdict(Calibration().label(score), score, 0.9)
    return Judged(verdict, points(score, verdict.label, Calibration()), [Reason(name, 1.0) for name in names])


# --- the answers ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mail", "said"), [(SPAM, "True ; 14.5 / 5.0"), (HAM, "False ; -4.5 / 5.0"), (UNSURE, "False ; 2.0 / 5.0")]
)
def test_a_check_says_points_and_the_threshold(plain: Any, mail: bytes, said: str) -> None:
    assert ask(plain[1], request("CHECK", mail)) == f"SPAMD/1.5 0 EX_OK\r\nSpam: {said}\r\n\r\n".encode()


@pytest.mark.parametrize("shut", [True, False])
def test_a_client_may_leave_its_side_open_where_it_says_the_length(plain: Any, shut: bool) -> None:
    assert b"Spam: True" in ask(plain[1], request("CHECK", SPAM), shut)


def test_without_a_length_the_mail_ends_where_the_stream_does(plain: Any) -> None:
    assert b"Spam: True" in ask(plain[1], b"CHECK SPAMC/1.2\r\n\r\n" + SPAM)


def test_lines_may_end_plainly_and_unknown_headers_are_passed_over(plain: Any) -> None:
    head = b"CHECK SPAMC/1.3\nX-New: 1\nUser: me\ncontent-LENGTH: %d\n\n" % len(SPAM)
    assert b"Spam: True" in ask(plain[1], head + SPAM)


@pytest.mark.parametrize("sent", [b"PING SPAMC/1.5\r\n\r\n", b"PING SPAMC/1.2\r\n"])
def test_a_ping_is_answered(plain: Any, sent: bytes) -> None:
    assert ask(plain[1], sent, shut=False) == b"SPAMD/1.5 0 PONG\r\n"


def test_a_skip_and_a_look_at_the_port_get_nothing(plain: Any) -> None:
    assert ask(plain[1], b"SKIP SPAMC/1.5\r\n\r\n") == b"" == ask(plain[1], b"")


def test_symbols_and_reports(plain: Any) -> None:
    head, _, body = ask(plain[1], request("SYMBOLS", SPAM)).partition(b"\r\n\r\n")
    assert body == b"body:pills,body:buy"
    assert f"Content-length: {len(body)}".encode() in head
    assert b'+2.000  body: "pills"' in ask(plain[1], request("REPORT", SPAM))
    assert b'+2.000  body: "pills"' in ask(plain[1], request("REPORT_IFSPAM", SPAM))
    assert ask(plain[1], request("REPORT_IFSPAM", HAM)).endswith(b"Content-length: 0\r\nSpam: False ; -4.5 / 5.0\r\n\r\n")


def test_a_mail_may_come_packed(plain: Any) -> None:
    packed = zlib.compress(SPAM, 3)
    plainly, squeezed = ask(plain[1], request("PROCESS", SPAM)), ask(plain[1], request("PROCESS", packed, "Compress: zlib"))
    assert plainly == squeezed
    assert b"Spam: True" in plainly


@pytest.mark.parametrize("packed", [b"", b"xx", zlib.compress(SPAM)[:-3], zlib.compress(bytes(10_000_000))])
def test_what_is_packed_wrongly_or_unpacks_to_too_much_is_refused(plain: Any, packed: bytes) -> None:
    assert ask(plain[1], request("CHECK", packed, "Compress: zlib")).startswith(b"SPAMD/1.5 65 EX_DATAERR: ")


def test_telling_is_learning_moving_and_forgetting_and_says_what_it_did(plain: Any) -> None:
    spam_filter, addresses = plain
    mail = b"Subject: tell\n\n"

    def tell(*headers: str) -> bytes:
        return ask(addresses, request("TELL", mail, *headers))

    done = b"SPAMD/1.5 0 EX_OK\r\nContent-length: 0\r\n%s\r\n"
    assert tell("Message-class: spam", "Set: local") == done % b"DidSet: local\r\n"
    assert spam_filter.labels[mail] is True
    assert tell("Message-class: spam", "Set: local") == done % b""
    assert tell("Message-class: ham", "Set: local", "Remove: remote") == done % b"DidSet: local\r\n"
    assert spam_filter.labels[mail] is False
    assert tell("Remove: local") == done % b"DidRemove: local\r\n"
    assert mail not in spam_filter.labels
    assert tell("Remove: local") == done % b""


def test_a_server_may_be_told_not_to_learn() -> None:
    with serving(Plain(), tell=False) as (addresses, _):
        said = ask(addresses, request("TELL", SPAM, "Message-class: spam", "Set: local"))
    assert said == b"SPAMD/1.5 69 EX_UNAVAILABLE: this server does not learn from its clients\r\n"


# --- mails with marks -------------------------------------------------------------------------------------------------------


def test_a_marked_mail_is_the_mail_and_a_few_lines() -> None:
    done = marked(SPAM, judged(True, "body: free"))
    assert done.decode().split("\r\n") == [
        "X-Spam-Flag: YES",
        "X-Spam-Level: ************",
        "X-Spam-Status: Yes, score=12.5 required=5.0",
        "\ttests=body:free",
        "Subject: pills",
        "From: a@b.example",
        "X-Rosenblatt: spam; score=2.0000; probability=0.9000; reasons=body:free",
        "",
        "buy pills pills pills now",
        "",
    ]
    assert b"X-Spam-Flag" not in marked(HAM, judged(False))


def test_marks_of_others_do_not_stay() -> None:
    assert _without_foreign(b"A: 1\rX-Spam-Flag: YES\n\nx") == b"A: 1\r\n\nx"
    forged = b"A: 1\nX-SPAM-flag : YES\n more\n\tof it\nX-Spam-Level: *****\nX-Rosenblatt: ham\nB: 2\n b\n\nX-Spam-Flag: YES\n"
    assert unmarked(marked(forged, judged(False))) == b"A: 1\nB: 2\n b\n\nX-Spam-Flag: YES\n"


@pytest.mark.parametrize("first", [b"From me@here Mon\n", b"From me\r\n"])
def test_marks_do_not_go_before_what_must_be_first(first: bytes) -> None:
    assert marked(first + b"A: 1\n\nx", judged()).startswith(first + b"X-Spam-Flag: YES\n")


def test_what_continues_nothing_does_not_continue_a_mark() -> None:
    assert marked(b" YES\nA: 1\n\nx", judged(False)).endswith(b" reasons=\n\n YES\nA: 1\n\nx")


PARTS = [b"\n", b"\r\n", b"\r", b"a: b", b" c", b"X-Spam-Flag: YES", b"From x", b"\0", b"\xff"]


@given(st.lists(st.sampled_from(PARTS)).map(b"".join))
def test_nothing_but_marks_is_added_or_taken(raw: bytes) -> None:
    done = marked(raw, judged(False))
    if b"X-Spam-Flag" not in raw:
        assert is_passed_on(raw, done)
    ends = [at + len(mark) for mark in (b"\r\n\r\n", b"\n\n") if (at := raw.find(mark)) >= 0]
    if ends:  # spamc adds its own copy of what follows
        assert head_only(raw, done) + raw[min(ends) :] == done


def test_a_processed_mail_comes_back_whole(plain: Any) -> None:
    for mail in (SPAM, HAM, UNSURE, b"", b"\n", b"\0\xff\n\n\0", b"no newline"):
        head, _, body = ask(plain[1], request("PROCESS", mail)).partition(b"\r\n\r\n")
        assert f"Content-length: {len(body)}\r\n".encode() in head + b"\r\n"
        assert is_passed_on(mail, body)


@pytest.mark.parametrize("line", [b"a:\n", b"X-Spam-Flag: YES\n", b"X-Spam-Flag:\n ", b"\r", b" ", b"X-Rosenblatt: x\n x\n"])
def test_marks_take_no_long_time_on_any_head(line: bytes) -> None:
    start = time.perf_counter()
    marked(b"a: b\n" + line * (4_000_000 // len(line)), judged())
    assert time.perf_counter() - start < 4


def test_a_marked_mail_is_the_same_mail() -> None:
    for path in sorted(data_folder("mail/edge_cases").iterdir()):
        raw = path.read_bytes()
        done = marked(raw, judged(True, "body: free"))
        assert digest(done) == digest(raw), path.name
        assert is_passed_on(raw, done), path.name


def test_names_of_reasons_cannot_break_a_header() -> None:
    assert symbols([Reason("subject: \r\nBcc: x, y\n\x00é", 1.0)]) == "subject:_Bcc:x_y"
    assert all(len(line) < 998 for line in marked(b"", judged(True, *("w" * 300 + str(i) for i in range(8)))).split(b"\n"))


# --- the scale --------------------------------------------------------------------------------------------------------------


@given(st.lists(st.floats(-50, 50), min_size=2, max_size=20), st.floats(-3, 3), st.one_of(st.just(0.0), st.floats(0, 3)))
def test_points_rise_with_the_score_and_agree_with_the_label(scores: list[float], spam_from: float, width: float) -> None:
    calibration = Calibration(spam_from=spam_from, ham_to=spam_from - width)
    found = [points(score, calibration.label(score), calibration) for score in sorted(scores)]
    assert [p.score for p in found] == sorted(p.score for p in found)
    for score, p in zip(sorted(scores), found, strict=True):
        label = calibration.label(score)
        assert p.spam == (label == "spam") == (float(f"{p.score:.1f}") >= 5.0)
        assert (p.score <= 0.0) == (label == "ham")


# --- wrong requests ---------------------------------------------------------------------------------------------------------


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
    said = ask(plain[1], sent)
    assert said.startswith(f"SPAMD/1.5 {code} EX_".encode())
    assert said.endswith(b"\r\n")
    assert said.count(b"\n") == 1  # an empty line would tell spamc of success
    assert b"Content-length:" not in said  # and this would cost the mail


def test_a_filter_that_fails_says_so_without_the_mail() -> None:
    spam_filter, lines = Plain(), []
    spam_filter.broken = KeyError("Subject: secret")
    with serving(spam_filter, log=lines.append) as (addresses, _):
        assert ask(addresses, request("CHECK", SPAM)) == b"SPAMD/1.5 75 EX_TEMPFAIL: the filter failed (KeyError)\r\n"
        assert ask(addresses, request("TELL", SPAM, "Remove: local")).startswith(b"SPAMD/1.5 75 ")
        spam_filter.broken = None
        assert b"Spam: True" in ask(addresses, request("CHECK", SPAM))
    assert len(lines) == 3
    assert not any(word in line for line in lines for word in ("secret", "pills"))


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
        ask(plain[1], sent)
    assert b"Spam: True" in ask(plain[1], request("CHECK", SPAM))


# --- slow, many, gone -------------------------------------------------------------------------------------------------------


def test_who_says_nothing_and_who_drips_is_cut_off(plain: Any) -> None:
    with connected(plain[1]) as silent, connected(plain[1]) as dripping:
        start = time.monotonic()
        said = b""
        dripping.settimeout(0.1)
        for byte in request("CHECK", SPAM) * 2:
            try:
                dripping.sendall(bytes([byte]))
                said = dripping.recv(1000)
                break
            except TimeoutError:
                continue
        assert said.startswith(b"SPAMD/1.5 79 EX_TIMEOUT: ")
        assert all_of(silent).startswith(b"SPAMD/1.5 79 EX_TIMEOUT: ")
        assert time.monotonic() - start < 5


def test_a_client_that_never_reads_holds_nobody_up() -> None:
    limits = QUICK._replace(message_bytes=30_000_000, write_seconds=0.3, read_seconds=5.0)
    with serving(Plain(), limits=limits) as (addresses, server), connected(addresses) as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.sendall(request("PROCESS", b"\n" + b"x" * 29_000_000))
        assert b"PONG" in ask(addresses, b"PING SPAMC/1.5\r\n\r\n")
        server.stop()  # waits for what was begun, and the begun ends by its limit


def test_too_many_at_once_are_refused_politely(plain: Any) -> None:
    waiting = [connected(plain[1]) for _ in range(8)]
    try:
        for each in waiting:
            each.sendall(b"CHECK")
        time.sleep(0.05)
        assert ask(plain[1], request("CHECK", SPAM)) == b"SPAMD/1.5 75 EX_TEMPFAIL: too many connections; try again\r\n"
    finally:
        for each in waiting:
            each.close()
    time.sleep(0.05)
    assert b"Spam: True" in ask(plain[1], request("CHECK", SPAM))


def test_beyond_those_that_are_told_connections_are_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rosenblatt.mail.serve.spamd.TOLD", 1)
    limits = Limits(connections=1, stop_seconds=0.1)
    with serving(Plain(), limits=limits) as (addresses, _), connected(addresses) as begun, connected(addresses) as told:
        begun.sendall(b"CHECK")
        assert told.recv(1000).startswith(b"SPAMD/1.5 75 EX_TEMPFAIL: too many")
        assert ask(addresses, request("CHECK", SPAM)) == b""


def test_what_comes_after_the_mail_is_noticed_late_as_well() -> None:
    spam_filter = Plain()
    spam_filter.delay = 0.2
    with serving(spam_filter) as (addresses, _), connected(addresses) as client:
        client.sendall(request("PROCESS", SPAM))
        time.sleep(0.1)
        client.sendall(b"and more of the mail")
        assert all_of(client).startswith(b"SPAMD/1.5 65 EX_DATAERR: there are more bytes")


def test_an_answer_that_takes_too_long_is_not_waited_for() -> None:
    spam_filter = Plain()
    spam_filter.delay = 0.5
    with serving(spam_filter, limits=Limits(handle_seconds=0.1)) as (addresses, _):
        assert ask(addresses, request("CHECK", SPAM)) == b"SPAMD/1.5 79 EX_TIMEOUT: the answer took too long\r\n"


def test_mails_that_are_too_much_together_are_refused() -> None:
    limits = Limits(message_bytes=1000, bytes_at_once=1500)
    with serving(Plain(), limits=limits) as (addresses, _), connected(addresses) as half:
        half.sendall(request("CHECK", b"x" * 1000)[:-1])
        time.sleep(0.1)
        assert b"75 EX_TEMPFAIL: too many large mails" in ask(addresses, request("CHECK", b"x" * 1000))
        half.sendall(b"x")
        assert b"Spam: False" in all_of(half)
        assert b"Spam: False" in ask(addresses, request("CHECK", b"x" * 1000))


def test_who_leaves_early_leaves_nothing_behind(plain: Any) -> None:
    for cut in (0, 3, 20, 60, len(request("PROCESS", SPAM))):
        with connected(plain[1]) as client:
            client.sendall(request("PROCESS", SPAM)[:cut])
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # a reset, not an end
    assert b"Spam: True" in ask(plain[1], request("CHECK", SPAM))


def test_slow_work_does_not_stop_others() -> None:
    spam_filter = Plain()
    spam_filter.delay = 0.5
    with serving(spam_filter) as (addresses, _), connected(addresses) as slow:
        slow.sendall(request("CHECK", SPAM))
        start = time.monotonic()
        assert b"PONG" in ask(addresses, b"PING SPAMC/1.5\r\n\r\n")
        assert time.monotonic() - start < 0.4
        assert b"Spam: True" in all_of(slow)


def test_lessons_that_come_together_are_committed_together() -> None:
    spam_filter = Plain()
    spam_filter.delay = 0.2
    answers: list[bytes] = []
    with serving(spam_filter) as (addresses, _):

        def teach(number: int) -> None:
            mail = b"Subject: %d\n\n" % (number // 2)
            answers.append(ask(addresses, request("TELL", mail, "Message-class: spam", "Set: local")))

        threads = [threading.Thread(target=teach, args=(number,)) for number in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sum(b"DidSet" in said for said in answers) == 10 == len(spam_filter.labels)
    assert len(answers) == 20 == sum(spam_filter.transactions)
    assert len(spam_filter.transactions) <= 4


def test_an_error_is_told_to_all_whose_lessons_were_in_the_transaction() -> None:
    spam_filter, answers = Plain(), []
    spam_filter.delay = 0.2
    with serving(spam_filter) as (addresses, _):

        def teach(number: int) -> None:
            mail = b"Subject: %d\n\n" % number
            answers.append(ask(addresses, request("TELL", mail, "Message-class: spam", "Set: local")))

        threads = [threading.Thread(target=teach, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
            time.sleep(0.02)
        spam_filter.broken = OSError("the disk is full")
        for thread in threads:
            thread.join()
    assert len(answers) == 6
    assert {said.partition(b": ")[0] for said in answers} == {b"SPAMD/1.5 75 EX_TEMPFAIL"}
    assert not spam_filter.labels


def test_a_stop_finishes_what_was_begun_and_takes_no_more() -> None:
    spam_filter = Plain()
    spam_filter.delay = 0.5
    with serving(spam_filter) as (addresses, server), connected(addresses) as begun, connected(addresses) as silent:
        begun.sendall(request("TELL", SPAM, "Message-class: spam", "Set: local"))
        time.sleep(0.1)
        server.stop()
        start = time.monotonic()
        assert all_of(silent) == b""
        assert time.monotonic() - start < 0.3
        assert b"DidSet: local" in all_of(begun)
    with pytest.raises(OSError, match="refused"):
        connected(addresses)


def test_a_stop_does_not_wait_for_ever() -> None:
    limits = QUICK._replace(read_seconds=60, idle_seconds=60)
    with serving(Plain(), limits=limits) as (addresses, server), connected(addresses) as dripping:
        dripping.sendall(b"CHECK SPAMC/1.5\r\n")
        time.sleep(0.05)
        start = time.monotonic()
        server.stop()
        assert all_of(dripping) == b""
        assert 0.5 < time.monotonic() - start < 5


# --- where it listens -------------------------------------------------------------------------------------------------------


def test_a_socket_in_the_file_system_is_private_and_goes_with_the_server(tmp_path: Path) -> None:
    path = tmp_path / "spamd.sock"
    with serving(Plain(), port=None, socket_path=path) as (addresses, _):
        assert addresses == (None, str(path), None, ())
        assert path.stat().st_mode & 0o777 == 0o600
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))
            client.sendall(b"PING SPAMC/1.5\r\n\r\n")
            assert all_of(client) == b"SPAMD/1.5 0 PONG\r\n"
        with pytest.raises(ServeError, match="another server is there"):
            listen_at(path)
    assert not path.exists()


def test_a_socket_of_a_dead_server_is_replaced_and_a_file_is_not(tmp_path: Path) -> None:
    path = tmp_path / "old.sock"
    listen_at(path).close()
    assert path.exists()
    listen_at(path).close()
    (tmp_path / "file").write_text("precious")
    with pytest.raises(ServeError, match="no socket"):
        listen_at(tmp_path / "file")
    with pytest.raises(ServeError, match="no such file"):
        listen_at(tmp_path / "none" / "x")


@pytest.mark.parametrize(
    ("host", "local"), [("127.0.0.1", True), ("127.8.9.1", True), ("::1", True), ("0.0.0.0", False), ("::", False)]
)
def test_which_hosts_are_this_machine(host: str, local: bool) -> None:
    assert is_loopback(host) is local


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"host": "0.0.0.0"}, "spamd's protocol has no passwords"),
        ({"port": None}, "nothing to serve"),
        ({"host": "no.such.host.invalid"}, "no host"),
        ({"host": "0.0.0.0", "port": None, "http_port": 0}, "needs a token"),
        ({"http_port": 0, "token": "short"}, "16 or more"),
        ({"limits": Limits(connections=0)}, r"limits\.connections"),
        ({"limits": Limits(bytes_at_once=1000)}, r"limits\.bytes_at_once"),
        ({"limits": Limits(idle_seconds=-1)}, r"limits\.idle_seconds"),
    ],
)
def test_what_is_unsafe_or_senseless_does_not_start(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence), serving(Plain(), **options):
        pass


def test_both_addresses_of_this_machine_share_a_port() -> None:
    sockets = listen("localhost", 0)
    assert len({each.getsockname()[1] for each in sockets}) == 1
    for each in sockets:
        each.close()


def test_a_port_that_is_taken_is_told() -> None:
    [taken] = listen("127.0.0.1", 0)
    with taken, pytest.raises(ServeError, match=r"cannot listen on 127\.0\.0\.1 port \d+: address already in use"):
        listen("127.0.0.1", taken.getsockname()[1])
    with pytest.raises(ServeError, match="from 0 to 65535"):
        listen("127.0.0.1", 70_000)
