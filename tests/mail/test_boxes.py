"""Folders, files, pipes and standard input are read once, in constant memory, and unreadable files are reported."""

from __future__ import annotations

import gzip
import io
import os
import random
import select
import socket
import sys
import threading
import tracemalloc

import pytest

from datasets import data_folder
from rosenblatt.mail import boxes
from rosenblatt.mail.boxes import MAX_MAIL_BYTES, mails
from rosenblatt.mail.identity import digest

POSTMARK = b"From me@a.example Thu Aug 22 12:36:23 2002\n"


def put(path, raw):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(raw)
    return path


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
    assert reasons["gone"] == reasons["no"] == "file or folder not found"
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
        "x3": b" \n subject: x\n\nHi",
        "x4": b"?? what a mail ??\r\nReceived: by a\r\n\r\nHi",
        "x5.eml": b"only text",
        "x6.TXT": b"",
    }
    for name, raw in (others | raws).items():
        put(tmp_path / name, raw)
    found = mails([tmp_path])
    assert [mail.raw for mail in found] == list(raws.values())[:-1]
    reasons = {os.path.basename(source): reason for source, reason in found.skipped}
    assert reasons == dict.fromkeys(others, "not a mail") | {"x6.TXT": "is empty"}
    found = mails([tmp_path / name for name in others])
    assert [mail.raw for mail in found] == list(others.values())  # an explicitly named file is read
    assert found.skipped == []


def test_real_mails_are_read_from_their_folders():
    top = data_folder("mail/spamassassin")
    for folder in (top / "spam-1", top / "easy-ham-1", top.parent / "edge_cases"):
        found = mails([folder], max_bytes=100)
        texts = {folder / "msg_19.txt"}  # has no header
        paths = [str(path) for path in sorted(folder.iterdir()) if path not in texts]
        assert [mail.source.partition(":")[0] for mail in found] == paths
        assert {source for source, _ in found.skipped} <= {str(path) for path in texts}


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
        "file or folder not found", "is no longer a file", "cannot be read: permission is denied",
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
