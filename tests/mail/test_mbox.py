"""An mbox gives back the mails that were put into it: postmarks end mails, prose does not."""

from __future__ import annotations

import io
import mailbox

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
    """The mail in mboxrd format: '>' before each line that starts with 'From ', after any number of '>'."""
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


def test_an_mbox_with_a_strange_first_line_is_split_in_a_folder_too(tmp_path):
    box = b"From nobody on some day\nSubject: 1\n\nHi\n\nFrom a@b Mon Jan  1 10:00:00 2024\nSubject: 2\n\nHo\n"
    (tmp_path / "box").write_bytes(box)
    (tmp_path / "text").write_bytes(b"From time to time\nthis changes.\n")
    found = mails([tmp_path])
    assert [mail.raw.splitlines()[0] for mail in found] == [b"Subject: 1", b"Subject: 2"]
    assert found.skipped == [(str(tmp_path / "text"), "not a mail")]
