"""A stamped mail is the mail, byte for byte, and one header of ours that every parser sees."""

from __future__ import annotations

import email
import re
import tracemalloc

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from mail_strategies import ANY, LINES, naively_without, seen_by_any

from datasets import data_folder
from rosenblatt.mail.identity import stamped
from rosenblatt.mail.message.headers import header_span, without_stamps

VALUES = st.one_of(
    st.text(max_size=300),
    st.lists(st.sampled_from(["spam;", "score=1.5", "\u20ac", "a" * 70, "b" * 2000]), max_size=9).map(" ".join),
)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"Subject: x\n\nbody", b"Subject: x\nX-Rosenblatt: ham\n\nbody"),
        (b"Subject: x\r\nTo: y\r\n z\r\n\r\nbody", b"Subject: x\r\nTo: y\r\n z\r\nX-Rosenblatt: ham\r\n\r\nbody"),
        (b"From me\nSubject: x\n\nbody", b"From me\nSubject: x\nX-Rosenblatt: ham\n\nbody"),
        (b"Subject: x\nno blank line", b"Subject: x\nX-Rosenblatt: ham\nno blank line"),
        (b"Subject: x\nTo: y\n cut", b"Subject: x\nX-Rosenblatt: ham\nTo: y\n cut"),
        (b"Subject: cut", b"X-Rosenblatt: ham\nSubject: cut"),
        (b"\nbody", b"X-Rosenblatt: ham\n\nbody"),
        (b"no header\r\n", b"X-Rosenblatt: ham\r\n\r\nno header\r\n"),
        (b"", b"X-Rosenblatt: ham\n\n"),
        (b"From me\nbody", b"From me\nX-Rosenblatt: ham\n\nbody"),
        (b"X-Rosenblatt: forged;\n a=b\nSubject: x\nx-ROSENBLATT :\tforged\n\nbody", b"Subject: x\nX-Rosenblatt: ham\n\nbody"),
        (
            b"Subject: x\ngarbage\nX-Rosenblatt: forged\n\nX-Rosenblatt: body\n",
            b"Subject: x\nX-Rosenblatt: ham\ngarbage\n\nX-Rosenblatt: body\n",
        ),
        (b"X-Rosenblatt-Other: stays\n\n", b"X-Rosenblatt-Other: stays\nX-Rosenblatt: ham\n\n"),
    ],
)
def test_where_it_goes(raw, expected):
    assert stamped(raw, "ham") == expected


def test_a_header_of_many_lines_takes_little_memory() -> None:
    raw = b"A: b" + b"\n " * 500_000
    tracemalloc.start()
    assert len(stamped(raw, "x")) == len(raw) + len(b"X-Rosenblatt: x\n")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * len(raw)


def test_long_values_are_cut_at_commas() -> None:
    value = ",".join(["body:" + "\\u0436" * 9] * 60)
    lines = stamped(b"A: b\n\n", "spam; reasons=" + value).split(b"\n")
    assert all(line.endswith(b",") for line in lines[2:-3])
    assert b"".join(line[1:] for line in lines[2:-2]).decode().endswith(value[-100:])
    assert max(map(len, lines)) <= 998


def test_a_forged_stamp_after_a_postmark_that_ends_in_cr_is_taken_out() -> None:
    raw = b"From me\r\r\nX-Rosenblatt: ham; forged\nSubject: a\n\nbody\n"
    assert b"forged" not in stamped(raw, "spam; score=9")


@given(ANY, VALUES)
def test_the_rest_is_the_mail(raw, value):
    """Taken out again, it leaves the same bytes; a mail without headers keeps the blank line that it got."""
    clean = without_stamps(raw)
    assert without_stamps(clean) == clean
    left = without_stamps(stamped(raw, value))
    start, end = header_span(clean)
    if left != clean:
        assert start == end
        assert left in [clean[:start] + line_end + clean[start:] for line_end in (b"\n", b"\r\n", b"\r")]


OURS = re.compile(rb"x-rosenblatt[ \t]*:", re.I)


@given(LINES, st.sampled_from([b"\n", b"\r\n", b"\r"]))
@example([b"Subject: x", b"", b"X-Rosenblatt: body"], b"\r")
def test_nothing_goes_but_headers_of_our_name_whatever_the_line_ends(lines, line_end):
    raw, kept = line_end.join(lines), naively_without(lines, OURS)
    assert without_stamps(raw).rstrip(line_end) == line_end.join(kept).rstrip(line_end)
    assume(kept)  # else no line is left that shows the line end
    assert stamped(raw + line_end, "x") == stamped(b"\n".join(lines) + b"\n", "x").replace(b"\n", line_end)


@given(ANY)
@example(b"Subject: x\r\rhi\nX-Rosenblatt: ham\n\n")
@example(b"Subject: x\rX-Rosenblatt: a\n\r\nX-Rosenblatt: ham\n\n")
@example(b"Subject: x\r\r\nX-Rosenblatt: a\rX-Rosenblatt: ham\n\n")
@example(b"Subject: x\r\rX-Rosenblatt: a\nX-Rosenblatt: ham\n\n")
def test_no_program_sees_a_stamp_of_others_and_the_body_stays(raw):
    done = stamped(raw, "x")
    assert {line.partition(b"\r")[0] for line in seen_by_any(done) if OURS.match(line)} <= {b"X-Rosenblatt: x"}
    if b"\n\n" in raw:
        assert done.endswith(raw[raw.index(b"\n\n") + 1 :])


@given(ANY, VALUES, VALUES)
def test_the_last_stamp_stays(raw, value, other):
    once = stamped(raw, value)
    assert stamped(once, value) == once
    assert stamped(stamped(raw, other), value) == once


@given(ANY, VALUES)
def test_the_standard_library_sees_it_and_the_same_body(raw, value):
    clean = without_stamps(raw)
    start, end = header_span(clean)
    # The others, which begin with white space or a cut "From " line, it takes for headers and leaves out.
    assume(end > start or not clean[start:].startswith((b" ", b"\t", b"From ")))
    before, after = email.message_from_bytes(clean), email.message_from_bytes(stamped(raw, value))
    found = after.get_all("X-Rosenblatt")
    assert len(found) == 1
    printable = "".join(c if c.isprintable() else " " for c in value).encode("ascii", "backslashreplace").decode()
    assert "".join(str(found[0]).split()) == "".join(printable.split())
    assert [item for item in after.items() if item[0] != "X-Rosenblatt"] == before.items()
    assert after.get_payload() == before.get_payload()


@given(VALUES)
@example("0" * 70 + ": x")
def test_lines_are_short_and_ascii(value):
    lines = stamped(b"\r\n", value).split(b"\r\n")
    assert all(len(line) <= 998 and (len(line) <= 76 or line.count(b" ") <= 2) for line in lines)
    assert all(re.fullmatch(rb"[ -~]*", line) and (line.strip() or not line) for line in lines)


def test_real_mails_keep_their_bytes():
    folder = data_folder("mail/spamassassin")
    for path in (*sorted(folder.glob("*/*"))[::5], *sorted((folder.parent / "edge_cases").iterdir())):
        raw = path.read_bytes()
        start, end = header_span(raw)
        if end > start:
            assert re.sub(rb"X-Rosenblatt: spam; score=1\r?\n", b"", stamped(raw, "spam; score=1"), count=1) == raw
