"""The bodies of answers: headers and reports, and points on the scale of SpamAssassin."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from mail_servers import CALIBRATION, HAM, SPAM, is_passed_on, unmarked
from mail_strategies import ANY, LINES, naively_without, seen_by_any

from datasets import data_folder
from effort import in_time
from rosenblatt.mail.identity import digest
from rosenblatt.mail.message.headers import STAMP, without_headers
from rosenblatt.mail.server.engine import Judgment, points
from rosenblatt.mail.server.spamd import SPAM_HEADERS, head_only, marked
from rosenblatt.mail.verdict import Calibration, Reason, Verdict, symbols


def judged(spam: bool = True, *names: str) -> Judgment:
    score = 2.0 if spam else -2.0
    verdict = Verdict(CALIBRATION.label(score), score, 0.9)
    return Judgment(verdict, points(score, verdict.label, CALIBRATION), [Reason(name, 1.0) for name in names])


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
    assert without_headers(b"A: 1\rX-Spam-Flag: YES\n\nx", SPAM_HEADERS) == b"A: 1\r\n\nx"
    forged = b"A: 1\nX-SPAM-flag : YES\n more\n\tof it\nX-Spam-Level: *****\nX-Rosenblatt: ham\nB: 2\n b\n\nX-Spam-Flag: YES\n"
    assert unmarked(marked(forged, judged(False))) == b"A: 1\nB: 2\n b\n\nX-Spam-Flag: YES\n"


@pytest.mark.parametrize("first", [b"From me@here Mon\n", b"From me\r\n"])
def test_marks_do_not_go_before_what_must_be_first(first: bytes) -> None:
    assert marked(first + b"A: 1\n\nx", judged()).startswith(first + b"X-Spam-Flag: YES\n")


def test_what_continues_nothing_does_not_continue_a_mark() -> None:
    assert marked(b" YES\nA: 1\n\nx", judged(False)).endswith(b" reasons=\n\n YES\nA: 1\n\nx")


FOREIGN = re.compile(rb"(?:x-spam-(?:flag|level|status)|x-rosenblatt)[ \t]*:", re.I)


@given(LINES, st.sampled_from([b"\n", b"\r\n", b"\r"]))
@example([b"Subject: x", b"", b"X-Spam-Status: body"], b"\r")
def test_nothing_goes_but_headers_of_these_names_whatever_the_line_ends(lines: list[bytes], line_end: bytes) -> None:
    raw, kept = line_end.join(lines), naively_without(lines, FOREIGN)
    assert without_headers(raw, (*SPAM_HEADERS, STAMP)).rstrip(line_end) == line_end.join(kept).rstrip(line_end)
    assume(kept)  # else no line is left that shows the line end
    assert marked(raw + line_end, judged()) == marked(b"\n".join(lines) + b"\n", judged()).replace(b"\n", line_end)


@given(ANY)
@example(b"Subject: x\r\rhi\nX-Spam-Flag: a\rX-Rosenblatt: ham\n\n")
def test_no_program_sees_marks_of_others_and_the_body_stays(raw: bytes) -> None:
    done = marked(raw, judged(False))
    ours = {
        b"X-Spam-Level: ",
        b"X-Spam-Status: No, score=-7.5 required=5.0",
        b"X-Rosenblatt: ham; score=-2.0000; probability=0.9000; reasons=",
    }
    assert {line.partition(b"\r")[0] for line in seen_by_any(done) if FOREIGN.match(line)} <= ours
    if b"\n\n" in raw:
        assert done.endswith(raw[raw.index(b"\n\n") + 1 :])


PARTS = [b"\n", b"\r\n", b"\r", b"a: b", b" c", b"X-Spam-Flag: YES", b"From x", b"\0", b"\xff"]


@given(st.lists(st.sampled_from(PARTS)).map(b"".join))
def test_nothing_but_marks_is_added_or_taken(raw: bytes) -> None:
    done = marked(raw, judged(False))
    if b"X-Spam-Flag" not in raw:
        assert is_passed_on(raw, done)
    ends = [at + len(mark) for mark in (b"\r\n\r\n", b"\n\n") if (at := raw.find(mark)) >= 0]
    if ends:  # spamc adds its own copy of what follows
        assert head_only(raw, done) + raw[min(ends) :] == done


@pytest.mark.parametrize("line", [b"a:\n", b"X-Spam-Flag: YES\n", b"X-Spam-Flag:\n ", b"\r", b" ", b"X-Rosenblatt: x\n x\n"])
def test_marks_take_no_long_time_on_any_head(line: bytes) -> None:
    start = time.perf_counter()
    marked(b"a: b\n" + line * (4_000_000 // len(line)), judged())
    assert in_time(time.perf_counter() - start, 4)


def test_a_marked_mail_is_the_same_mail() -> None:
    for path in sorted(data_folder("mail/edge_cases").iterdir()):
        raw = path.read_bytes()
        done = marked(raw, judged(True, "body: free"))
        assert digest(done) == digest(raw), path.name
        assert is_passed_on(raw, done), path.name


def test_names_of_reasons_are_short_in_any_letters() -> None:
    names = symbols([Reason(f'body: "{letter * 50}"', 1.0) for letter in ("x", "\u0436", "\U0001f600", "\u0928\u094d")]).split(
        ","
    )
    assert [len(name) for name in names] == [55, 59, 55, 59]
    assert all(re.fullmatch(r"body:(x|\\u[0-9a-f]{4}|\\U[0-9a-f]{8})+", name) for name in names)


def test_names_of_reasons_cannot_break_a_header() -> None:
    assert symbols([Reason("subject: \r\nBcc: x, y\n\x00é", 1.0)]) == r"subject:_Bcc:x_y_\xe9"
    assert all(len(line) < 998 for line in marked(b"", judged(True, *("w" * 300 + str(i) for i in range(8)))).split(b"\n"))


@given(st.lists(st.floats(-50, 50), min_size=2, max_size=20), st.floats(-3, 3), st.one_of(st.just(0.0), st.floats(0, 3)))
def test_points_rise_with_the_score_and_agree_with_the_label(scores: list[float], spam_from: float, width: float) -> None:
    calibration = Calibration(spam_from=spam_from, ham_to=spam_from - width)
    found = [points(score, calibration.label(score), calibration) for score in sorted(scores)]
    assert [p.score for p in found] == sorted(p.score for p in found)
    for score, p in zip(sorted(scores), found, strict=True):
        label = calibration.label(score)
        assert p.spam == (label == "spam") == (float(f"{p.score:.1f}") >= 5.0)
        assert (p.score <= 0.0) == (label == "ham")
