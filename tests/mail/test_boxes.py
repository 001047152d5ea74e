"""Every mail of a mailbox is read once, in constant memory, and unreadable files are reported."""

from __future__ import annotations

import gzip
import io
import mailbox
import os
import random
import select
import socket
import sys
import threading
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datasets import data_folder
from rosenblatt.mail import boxes
from rosenblatt.mail.boxes import MAX_MAIL_BYTES, Mail, mails
from rosenblatt.mail.identity import digest
from rosenblatt.mail.message.parse import parse

POSTMARK = b"From me@a.example Thu Aug 22 12:36:23 2002\n"


def quoted(raw: bytes) -> bytes:
    """As an mboxrd holds it."""
    lines = raw.split(b"\n")
    return b"\n".join(b">" + line if line.lstrip(b">").startswith(b"From ") else line for line in lines)


def put(path, raw):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(raw)
    return path


BODY = st.lists(
    st.sampled_from([b"Hi", b"", b"From me", b"From me Mon", b">From you", b">>From us", b"> said", b"a" * 30]), max_size=8
)


@given(
    st.lists(BODY.map(lambda lines: b"Subject: x\n\n" + b"\n".join(lines) + b"\n"), min_size=1, max_size=6),
    st.sampled_from([POSTMARK, b"From \n", b"From - \n", b"From me@a.example\n"]),
    st.integers(1, 60),
    st.booleans(),
)
def test_an_mbox_gives_back_what_was_put_into_it(raws, postmark, chunk, crlf):
    """Whatever the size of the pieces that it is read in."""
    box = b"".join(postmark + quoted(raw) + b"\n" for raw in raws)
    if crlf:
        box, raws = box.replace(b"\n", b"\r\n"), [raw.replace(b"\n", b"\r\n") for raw in raws]

    class Trickle(io.BytesIO):
        def read(self, n=-1):
            return super().read(min(n, chunk))

    found = [mail.raw for mail in boxes._numbered("box", boxes._split(Trickle(box), MAX_MAIL_BYTES))]
    assert found == (raws if len(raws) > 1 else [box])


def test_lines_that_only_begin_with_from_end_no_mail(tmp_path):
    raw = (
        b"Subject: x\nContent-Length: 1\n\nHi\n\nFrom here on it is text, said Mon\n" + POSTMARK + b"no blank line before it\n"
    )
    path = put(tmp_path / "box", POSTMARK + raw + b"\nFrom b  Fri, 23 Aug 2002 01:02:03 +0200\nSubject: y\n\nyou\n")
    assert list(mails([path])) == [Mail(f"{path}:1", raw), Mail(f"{path}:2", b"Subject: y\n\nyou\n")]


@pytest.mark.parametrize(
    "postmark",
    [
        b"From a@b Mon Jan  1 10:00:00 2024",
        b"From - Mon Jan  1 10:00:00 2024",
        b"From root Mon Jan  1 10:00 CET 2024",
        b"From a@b Mon Jan  1 10:00:00 2024 +0100",
        b"From a@b Mon, 1 Jan 2024 10:00:00 +0100",
        b"From a@b 2024-01-01 10:00:00",
        b"From a@b 2024-01-01T10:00:00Z",
    ],
)
@pytest.mark.parametrize("between", [b"", b"\n"])
@pytest.mark.parametrize("before", [b"", b"\n", b"\r\n \n", b"\xef\xbb\xbf", b"\xef\xbb\xbf\n"])
def test_dates_blank_lines_and_marks_do_not_join_mails(tmp_path, postmark, between, before):
    raws = [b"Subject: %d\n\nHi\n" % k for k in range(3)]
    path = put(tmp_path / "box", before + between.join(postmark + b"\n" + raw for raw in raws))
    assert [mail.raw for mail in mails([path])] == raws


@pytest.mark.parametrize(
    "postmark",
    [
        b"From ",
        b"From - ",
        b"From a@b",
        b"From a@b Mo Jan  1 00:00:00 2001",
        b"From a@b lun. 1 janv. 2001 00:00:00 +0100",
        b"From - \xec\x9b\x94 1\xec\x9b\x94  1 00:00:00 KST 2001",
    ],
)
@pytest.mark.parametrize("line_end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("before", [b"", b"\r\n", b"\xef\xbb\xbf"])
def test_postmarks_without_a_date_or_in_any_language_end_mails_after_blank_lines(tmp_path, postmark, line_end, before):
    raws = [b"Subject: %d\n\nHi\nFrom\n" % k for k in range(3)]
    box = b"".join(postmark + b"\n" + raw + b"\n" for raw in raws)
    path = put(tmp_path / "box", before + box.replace(b"\n", line_end))
    assert [mail.raw for mail in mails([path])] == [raw.replace(b"\n", line_end) for raw in raws]
    assert boxes.is_several(path.read_bytes())


def test_thunderbird_goes_on_without_dates_in_boxes_that_had_some(tmp_path):
    path = put(tmp_path / "Inbox", b"From - Mon Jan  1 10:00:00 2024\nSubject: x\n\nHi\n\nFrom \nSubject: y\n\nyou\n")
    assert [mail.raw for mail in mails([path])] == [b"Subject: x\n\nHi\n", b"Subject: y\n\nyou\n"]


@pytest.mark.parametrize("rest", [b"", b"\n", b"\ntext\n"])
def test_a_mail_may_have_no_headers_after_a_complete_postmark(tmp_path, rest):
    path = put(tmp_path / "box", POSTMARK + b"Subject: x\n\nHi\n\n" + POSTMARK + rest)
    assert [mail.raw for mail in mails([path])] == [b"Subject: x\n\nHi\n", rest]


@pytest.mark.parametrize("after", [b"To: you", b">From b", b">From b\nTo: you", b"\n>From b", b""])
def test_a_single_mail_gets_the_same_verdict_with_its_postmark(tmp_path, after):
    """A server that is given it, quotes of a mailbox and all, must come to the same verdict."""
    raw = POSTMARK + after + b"\n\nHi\n>From now on\n\n"
    (mail,) = mails([put(tmp_path / "mail", raw)])
    assert parse(mail.raw) == parse(raw)
    assert digest(mail.raw) == digest(raw)


@pytest.mark.parametrize("before", ["", "\n"])
@pytest.mark.parametrize(
    "line",
    [
        "From now on, the meeting is Tue Jan 3 10:00 in room 5",
        "From now on, the meeting is Tue Jan 3 10:00 in room 5\n",
        "From Monday to Tue, 3 Jan we are closed",
        "From the minutes of 3 January 2024 10:00\nPresent: all",
        "From me\nTo: you",
        "From \nTo: you",
        "From Monday on we meet at 10:00 in 2024\nNote: bring tea",
        "From Mon Jan 1 to Fri Jan 5 2024\nNote: closed",
        "From 2024-01-01 on\nNote: open",
        "From me: see you\nP.S.: soon",
        "From the log of 2024-01-01 10:00:00\nerror: none",
        "> From a@b Mon Jan  1 10:00:00 2024\n> Subject: quoted",
    ],
)
def test_prose_ends_no_mail(tmp_path, line, before):
    raw = f"Subject: x\n\nHi\n{before}{line}\nBye\n".encode()
    path = put(tmp_path / "box", POSTMARK + raw)
    assert list(mails([path])) == [Mail(str(path), POSTMARK + raw)]


@pytest.mark.parametrize("line", ["From me", "From me to\nTo: you", "From a@b\n", "From:\nTo: you", "From\nTo: you"])
def test_prose_ends_no_mail_in_boxes_without_dates(tmp_path, line):
    raw = f"Subject: x\n\nHi\n\n{line}\nBye\n".encode()
    path = put(tmp_path / "box", b"From \n" + raw)
    assert list(mails([path])) == [Mail(str(path), b"From \n" + raw)]


def test_prose_after_a_blank_line_begins_no_mbox(tmp_path):
    path = put(tmp_path / "a.eml", b"\nFrom here on\nit is text\n")
    assert list(mails([path])) == [Mail(str(path), b"\nFrom here on\nit is text\n")]


def test_the_standard_library_reads_the_same_mails(tmp_path):
    folder = data_folder("mail/spamassassin") / "hard-ham-1"
    raws = [path.read_bytes() for path in sorted(folder.iterdir())[:60]]
    box = mailbox.mbox(tmp_path / "box")
    for raw in raws:
        box.add(raw)
    box.close()
    found = mails([tmp_path / "box"])
    assert [digest(mail.raw) for mail in found] == [digest(raw) for raw in raws]
    assert found.skipped == []


def test_the_corpus_is_one_mail_for_each_file():
    folder = data_folder("mail/spamassassin") / "hard-ham-1"
    files = sorted(folder.iterdir())
    found = list(mails([folder]))
    assert [mail.source.removesuffix(":1") for mail in found] == [str(path) for path in files]


def test_folders_are_read_in_order(tmp_path):
    for name in ("10", "9", "b.eml", "a.eml", "sub/x", ".mh_sequences", ",8", "sub/.hidden/x"):
        put(tmp_path / name, b"Subject: " + name.encode())
    names = [mail.source.removeprefix(f"{tmp_path}/") for mail in mails([tmp_path])]
    assert names == ["9", "10", "a.eml", "b.eml", "sub/x"]


def test_of_a_maildir_only_cur_and_new_are_read(tmp_path):
    for name in (
        "Maildir/cur/2:2,S",
        "Maildir/new/1",
        "Maildir/tmp/3",
        "Maildir/.Junk/cur/4",
        "Maildir/dovecot-uidlist",
        "more",
    ):
        put(tmp_path / name, b"Subject: x")
    (tmp_path / "Maildir/.Junk/new").mkdir()
    assert [os.path.basename(mail.source) for mail in mails([tmp_path])] == ["2:2,S", "1", "more"]


def test_stdin_is_an_mbox_or_a_mail(monkeypatch):
    for raw, expected in (
        (POSTMARK + b"A: b\n\n" + POSTMARK + b"A: c\n", [("stdin:1", b"A: b\n"), ("stdin:2", b"A: c\n")]),
        (b"A: b", [("stdin", b"A: b")]),
    ):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))
        assert list(mails(["-"])) == expected


def test_compressed_files_are_unpacked_and_damaged_ones_reported(tmp_path):
    good = gzip.compress(b"Subject: x\n\n" + random.Random(0).randbytes(1000))
    put(tmp_path / "a:2,S", good)
    put(tmp_path / "b.gz", good[:500])
    put(tmp_path / "c.gz", b"Subject: no")
    found = mails([tmp_path])
    assert [mail.raw[:12] for mail in found] == [b"Subject: x\n\n"]
    assert [os.path.basename(source) for source, _ in found.skipped] == ["b.gz", "c.gz"]
    assert "truncated" in found.skipped[0][1]


def test_what_is_no_file_is_not_opened(tmp_path):
    put(tmp_path / "good", b"Subject: x")
    put(tmp_path / "nothing", b"")
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(tmp_path / "socket"))
        (tmp_path / "device").symlink_to("/dev/zero")
        (tmp_path / "gone").symlink_to("no such file")
        (tmp_path / "round").symlink_to("round")
        (tmp_path / "up").symlink_to(tmp_path)
        found = mails([tmp_path, tmp_path / "no", "nul\0"])
        assert [mail.raw for mail in found] == [b"Subject: x"]
    reasons = {os.path.basename(source): reason for source, reason in found.skipped}
    assert reasons["pipe"] == "is a pipe, not a file"
    assert reasons["socket"] == "is a socket, not a file"
    assert reasons["device"] == "is a device, not a file"
    assert reasons["nothing"] == "is empty"
    assert reasons["gone"] == reasons["no"] == "no such file or folder"
    assert "round" in reasons
    assert len(found.skipped) == 8


@pytest.mark.parametrize("empty", [False, True], ids=["written first", "opened first"])
def test_a_pipe_that_was_named_is_read(empty, monkeypatch):
    raw = b"Subject: x\n\n" + b"Hi\n" * 100_000
    reading, writing = os.pipe()
    opened = threading.Event()

    class Pipe(boxes._Pipe):
        def __init__(self, file, first):
            super().__init__(file, first)
            assert (first is None) == empty
            opened.set()

    def write():
        with open(writing, "wb") as file:
            assert not empty or opened.wait(30)
            file.write(2 * (POSTMARK + raw + b"\n"))

    monkeypatch.setattr(boxes, "_Pipe", Pipe)
    writer = threading.Thread(target=write)
    writer.start()
    try:
        assert empty or select.select([reading], [], [], 30)[0]
        assert [mail.raw for mail in mails([f"/dev/fd/{reading}"])] == [raw, raw]
    finally:
        os.close(reading)
        writer.join()


def test_a_pipe_without_a_writer_does_not_block(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    found = mails([tmp_path / "pipe"])
    assert list(found) == []
    assert found.skipped == [(str(tmp_path / "pipe"), "is a pipe without a writer")]


def test_of_a_folder_only_mails_are_read(tmp_path):
    others = {
        "INBOX.msf": b'// <!-- <mdb:mork:z v="1.4"/> -->\n< <(a=c)> // (f=iso-8859-1)\n  (B8=subject)(B9=from)>\n',
        "a.jpg": b"\xff\xd8\xff\xe0\0\x10JFIF\0",
        "b.json": b'{"subject": "x"}\n',
        "c": bytes(100),
        "d.eml": bytes(100),
        "msgFilterRules.dat": b'version="9"\nlogging="no"\nname="x"\n',
        "popstate.dat": b"# POP3 State File\n# This is a generated file!  Do not edit.\n",
    }
    raws = {
        "x1": b"X-Mine: 1\n\nHi",
        "x2": b"\xef\xbb\xbf\nsubject : x\n\nHi",
        "x3": b" \n folded: x\n\nHi",
        "x4": b"?? what a mail ??\r\nReceived: by a\r\n\r\nHi",
        "x5.eml": b"only text",
        "x6.TXT": b"",
    }
    for name, raw in (others | raws).items():
        put(tmp_path / name, raw)
    found = mails([tmp_path])
    assert [mail.raw for mail in found] == list(raws.values())[:-1]
    reasons = {os.path.basename(source): reason for source, reason in found.skipped}
    assert reasons == dict.fromkeys(others, "is not a mail") | {"x6.TXT": "is empty"}
    found = mails([tmp_path / name for name in others])
    assert [mail.raw for mail in found] == list(others.values())  # an explicitly named file is read
    assert found.skipped == []


def test_real_mails_are_read_from_their_folders():
    top = data_folder("mail/spamassassin")
    for folder in (top / "spam-1", top / "easy-ham-1", top.parent / "edge_cases"):
        found = mails([folder], max_bytes=100)
        assert [mail.source.partition(":")[0] for mail in found] == [str(path) for path in sorted(folder.iterdir())]
        assert found.skipped == []


def test_a_file_may_vanish_change_or_be_forbidden(tmp_path, monkeypatch):
    for name in "abcd":
        put(tmp_path / name, b"Subject: " + name.encode())
    really = os.open

    def opened(path, flags):
        if path.endswith("a"):
            os.unlink(path)
        if path.endswith("b"):
            os.unlink(path)
            os.mkfifo(path)
        if path.endswith("c"):
            raise PermissionError(13, "Permission denied")
        return really(path, flags)

    monkeypatch.setattr(boxes.os, "open", opened)
    found = mails([tmp_path])
    assert [mail.raw for mail in found] == [b"Subject: d"]
    assert [reason for _, reason in found.skipped] == [
        "no such file or folder", "is no longer a file", "cannot be read: permission is denied",
    ]  # fmt: skip


def test_an_empty_folder_is_reported(tmp_path):
    (tmp_path / "Maildir/cur").mkdir(parents=True)
    (tmp_path / "Maildir/new").mkdir()
    found = mails([tmp_path, tmp_path / "Maildir"])
    assert list(found) == []
    assert [reason for _, reason in found.skipped] == ["the folder has no mails"] * 2


def test_names_that_are_no_text_can_be_printed(tmp_path):
    path = os.path.join(os.fsencode(tmp_path), b"\xff")
    with open(path, "wb") as file:
        file.write(b"Subject: x")
    (mail,) = mails([tmp_path])
    assert mail.source == f"{tmp_path}/\\xff"


def test_names_do_not_steer_a_terminal(tmp_path):
    put(tmp_path / "ev\x1b[31mil\n.eml", b"Subject: x")
    put(tmp_path / "\u202egnp.exe\x9b", b"")
    found = mails([tmp_path, "\ud800"])
    (mail,) = found
    shown = [mail.source, *(source for source, _ in found.skipped)]
    assert shown == [f"{tmp_path}/ev\\x1b[31mil\\n.eml", f"{tmp_path}/\\u202egnp.exe\\x9b", "\\ud800"]
    assert all(name.isprintable() for name in shown)


def test_folders_may_be_deeper_than_the_stack(tmp_path):
    here, depth = os.getcwd(), 0
    try:
        os.chdir(tmp_path)
        while depth < 1010:
            os.mkdir("d")
            os.chdir("d")
            depth += 1
        with open("mail", "wb") as file:
            file.write(b"Subject: x")
        os.chdir(tmp_path)
        found = mails(["d"])
        assert [mail.raw for mail in found] == [b"Subject: x"]
        assert found.skipped == []
    finally:  # what cleans up after the tests may be less patient
        os.chdir(tmp_path / "/".join("d" * depth))
        os.unlink("mail")
        for _ in range(depth):
            os.chdir("..")
            os.rmdir("d")
        os.chdir(here)


def test_memory_stays_the_same_however_long_a_box_or_a_mail_is(tmp_path):
    line = b"a line of text that goes on and on, and on\n"
    with (tmp_path / "box").open("wb") as file:
        for k in range(40):
            file.write(POSTMARK + b"Subject: %d\n\n" % k + line * 5_000 + b"\n")
        file.write(POSTMARK + b"Subject: last\n\n")
        for _ in range(100):
            file.write(line * 10_000)
    tracemalloc.start()
    try:
        found = [(len(mail.raw), digest(mail.raw)) for mail in mails([tmp_path / "box"])]
        held = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(set(found)) == 41
    assert MAX_MAIL_BYTES - 100 < found[-1][0] <= MAX_MAIL_BYTES
    assert held < 6 * MAX_MAIL_BYTES
    assert found[-1][1] == digest(b"Subject: last\n\n" + line * 1_000_000)
