"""A mail keeps its digest on its way through filters and stores, and no two mails share one."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mail_strategies import ANY, MAIL

from datasets import data_folder
from effort import in_time
from rosenblatt.mail.identity import digest, stamped
from rosenblatt.mail.message.parse import parse


def naive(raw: bytes) -> tuple[list[bytes], list[bytes]]:
    """For mails of plain shape: the headers that count, and the lines of the body, as the digest sees them."""
    lines = raw.replace(b"\r\n", b"\n").rstrip(b"\n").split(b"\n")
    if lines[0].startswith(b"From "):
        lines.pop(0)
    gone, end = False, lines.index(b"") if b"" in lines else len(lines)
    head = []
    for line in lines[:end]:
        if line[:1] not in b" \t":
            name = line.split(b":")[0].lower()
            gone = name in (b"status", b"received", b"return-path") or name.startswith((b"x-spam-", b"x-rosenblatt"))
        if not gone:
            head.append(line)
    body = [line.lstrip(b">") if line.lstrip(b">").startswith(b"From ") else line for line in lines[end + 1 :]]
    return head, body


HEADER = st.sampled_from(
    [
        b"Subject: x",
        b"To: y\n more",
        b"Status: RO",
        b"X-Spam-Flag: YES\n\tno",
        b"Received: a",
        b"Return-Path: <>",
        b"X-Rosenblatt: z",
    ]
)
BODY = st.sampled_from([b"a", b"From me", b">From me", b">>From me", b"> From me", b" From", b"", b"Status: RO"])
PLAIN = st.tuples(
    st.sampled_from([b"", b"From a\n"]), st.lists(HEADER, min_size=1, max_size=4), st.lists(BODY, max_size=4)
).map(lambda drawn: drawn[0] + b"".join(line + b"\n" for line in drawn[1]) + b"\n" + b"\n".join(drawn[2]))


@given(PLAIN, PLAIN, st.booleans())
def test_mails_are_the_same_where_what_counts_is(one, other, crlf):
    other = other.replace(b"\n", b"\r\n") if crlf else other
    assert (digest(one) == digest(other)) == (naive(one) == naive(other))


@given(ANY, st.text(max_size=100))
def test_a_stamp_does_not_change_it_and_nothing_raises(raw, value):
    assert len(digest(raw)) == 32
    assert digest(stamped(raw, value)) == digest(raw)


@given(MAIL)
def test_line_ends_do_not_change_it(raw):
    plain = raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    assert digest(plain) == digest(plain.replace(b"\n", b"\r\n")) == digest(plain + b"\n\n")


@pytest.mark.parametrize(
    "moved",
    [
        b"From me@a.example Mon Jan  1 00:00:00 2001\nSubject: x\n\nHi\n>From you\n",
        b"Subject: x\nStatus: RO\nX-Status: A\nX-UID: 7\nX-Keywords:  \nContent-Length: 12\nLines: 2\n\nHi\nFrom you\n",
        b"Return-Path: <me@a.example>\nDelivered-To: you\nReceived: from a\n\tby b\nSubject: x\n\nHi\n>>From you\n\n\n",
        b"X-Mozilla-Status: 0001\nSubject: x\nX-IMAPbase: 1 2\nX-Bogosity: Spam\nX-Spam-Status: Yes,\n\t9\n\nHi\nFrom you",
        b"Subject: x\r\nX-Rosenblatt: spam\r\n\r\nHi\r\nFrom you\r\n",
    ],
)
def test_what_filters_and_stores_add_does_not_count(moved):
    assert digest(moved) == digest(b"Subject: x\n\nHi\nFrom you\n")


FOREIGN = [
    "ARC-Message-Signature",
    "ARC-Seal",
    "Authentication-Results",
    "DKIM-Filter",
    "Keywords",
    "Old-Return-Path",
    "Received-SPF",
    "Return-Path",
    "SpamDiagnosticMetadata",
    "SpamDiagnosticOutput",
    "X-Account-Key",
    "X-Amavis-Alert",
    "X-Antivirus",
    "X-AOL-Global-Disposition",
    "X-ASSP-Score",
    "X-Bogosity",
    "X-Claws-Account-Id",
    "X-CMAE-Score",
    "X-Company-MailScanner",
    "X-Declude-Scan",
    "X-Delivered-To",
    "X-Dovecot-Keywords",
    "X-Envelope-From",
    "X-EOPAttributedMessage",
    "X-EsetResult",
    "X-Evolution-Source",
    "X-Folder",
    "X-GBUdb-Analysis",
    "X-GM-THRID",
    "X-Gmail-Labels",
    "X-Google-Smtp-Source",
    "X-hMailServer-LoopCount",
    "X-IncomingHeaderCount",
    "X-Junk-Score",
    "X-Keywords",
    "X-KMail-EncryptionState",
    "X-Label",
    "X-MailScanner",
    "X-MailScanner-SpamCheck",
    "X-MDAV-Processed",
    "X-ME-VSScore",
    "X-MessageSniffer-Scan-Result",
    "X-Microsoft-Antispam",
    "X-Mimecast-Originator",
    "X-Mozilla-Keys",
    "X-MS-Office365-Filtering-Correlation-Id",
    "X-OfflineIMAP",
    "X-Original-To",
    "X-pstn-levels",
    "X-Rspamd-Queue-Id",
    "X-Rspamd-Server",
    "X-SA-Exim-Scanned",
    "X-Seen",
    "X-Sieve",
    "X-SMX-Message-Score",
    "X-Spam",
    "X-Spamd-Bar",
    "X-Spamd-Result",
    "X-Sylpheed-Account-Id",
    "X-TM-AS-Result",
    "X-TUID",
    "X-UI-Filterresults",
    "X-UI-Out-Filterresults",
    "X-UIDL",
    "X-Virus-Scanned",
    "X-VM-v5-Data",
    "X-YahooFilteredBulk",
    "Xref",
]


@pytest.mark.parametrize("name", FOREIGN)
def test_no_header_of_a_filter_or_store_makes_another_mail_of_it(name):
    added = f"{name}: one\n\ttwo\n".encode()
    assert digest(added + b"Subject: x\n" + added.upper() + b"\nHi\n") == digest(b"Subject: x\n\nHi\n")


@pytest.mark.parametrize(
    "name", ["X-Mailer", "X-Message-Flag", "X-Mailing-List", "X-MS-Has-Attach", "X-Sender", "DKIM-Signature"]
)
def test_headers_of_senders_count(name):
    assert digest(f"{name}: one\nSubject: x\n\nHi\n".encode()) != digest(b"Subject: x\n\nHi\n")


@given(st.from_regex(rb"(?i)(x-)?(spam|rspamd|virus|gm-|status|arc-|date|from|foo){1,2}", fullmatch=True))
def test_what_features_leave_out_does_not_count(name):
    """Else the copy in a mailbox could neither be recognized nor unlearned."""
    bare, added = b"Subject: x\n\nHi\n", name + b": one\nSubject: x\n\nHi\n"
    if parse(added) == parse(bare):
        assert digest(added) == digest(bare)


@pytest.mark.parametrize(
    "other", [b"Subject: y\n\nHi\n", b"Subject: x\n\nHi \n", b"Subject: x\nTo: z\n\nHi\n", b"Subject: x\n\nStatus: a\nHi\n"]
)
def test_what_is_written_counts(other):
    assert digest(other) != digest(b"Subject: x\n\nHi\n")


@pytest.mark.parametrize(
    "shape",
    [
        b"A: b\n",
        b" x\n",
        b"A: b\r",
        b">From x\n",
        b">",
        b"X-Rosenblatt: x\n",
        b"X-Rosenblatt: x\r",
        b"Status: x\n",
        b"x",
        b":",
        b"\n",
        b"\n ",
    ],
)
def test_hostile_shapes_are_linear(shape):
    for start in (b"", b"A: b", b"A: b\n", b"A: b\n\n", b"X-Rosenblatt "):
        raw = start + shape * (200_000 // len(shape))
        began = time.process_time()
        assert digest(stamped(raw, "x")) == digest(raw)
        assert in_time(time.process_time() - began, 2)


def test_real_mails_differ_from_each_other():
    folder = data_folder("mail/spamassassin")
    found = [digest(path.read_bytes()) for path in sorted(folder.glob("*/*"))]
    assert len(set(found)) == len(found) > 3000
