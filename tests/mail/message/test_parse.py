"""What the parser finds in mails, shape by shape."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rosenblatt.mail.message.encodings import CODECS, codec_of, to_utf8
from rosenblatt.mail.message.headers import end_of_head, header_span
from rosenblatt.mail.message.message import LIMITS, Message
from rosenblatt.mail.message.parse import parse

HTML = b"Content-Type: text/html\n\n"


def mixed(*parts: bytes, kind: bytes = b"mixed", end: bytes = b"--x--\n") -> bytes:
    return (
        b"Content-Type: multipart/" + kind + b'; boundary="x"\n\n' + b"".join(b"--x\n" + part + b"\n" for part in parts) + end
    )


@pytest.mark.parametrize(
    ("written", "declared", "read"),
    [
        ("gb2312", "GB2312", "发票 Frée"),
        ("utf-8", "GB2312", "发票 Frée"),
        ("gb2312", "utf-16", None),
        ("gb2312", "no-such", None),
        ("gb2312", "", None),
    ],
)
def test_headers_without_a_charset_have_the_bodys(written, declared, read):
    invoice = "发票".encode(written)
    head = b"Subject: " + invoice + b" =?utf-8?q?Fr=C3=A9e?=\nX-Mine: " + invoice + b"\nFrom: " + invoice + b" <a@b>\n"
    found = parse(head + f"Content-Type: text/plain; charset={declared}\n\nHi".encode())
    assert found.sender.endswith(b" <a@b>")
    if read is None:
        assert found.subject.decode().endswith(" Frée")
    else:
        assert found.subject.decode() == read
        assert found.sender.decode() == "发票 <a@b>"
        assert "x-mine: 发票" in found.headers.decode()


def test_fields_of_a_plain_mail() -> None:
    message = parse(
        b"From someone Mon Jan  1 00:00:00 2001\n"
        b"Received: from a.example (helo.example [192.0.2.7]) by b.example (8.9.3)"
        b" with ESMTP id Q.ab for <me@c.example>; Mon\n"
        b"From: Ann <ann@a.example>\nTo: me@c.example\nCc: you@c.example\nReply-To: <r@a.example>\n"
        b"Subject: One\n  two\nX-Mailer: Mutt 1.4\nX-Spam-Status: Yes\n\nHello, see http://a.example/x.\n"
    )
    assert message == Message(
        b"One two",
        b"Ann <ann@a.example>",
        b"<r@a.example>",
        b"me@c.example\nyou@c.example",
        b"a.example helo.example 192.0.2.7 b.example",
        b"received\nfrom\nto\ncc\nreply-to\nsubject\nx-mailer: Mutt 1.4\npart: text/plain",
        b"Hello, see http://a.example/x.",
        b"http://a.example/x",
        b"",
    )


@pytest.mark.parametrize("newline", [b"\n", b"\r\n", b"\r"])
def test_newlines_of_all_kinds_are_the_same(newline: bytes) -> None:
    raw = b"Subject: One\n two\nX-A: b\n\n" + b"text\nmore\n"
    assert parse(raw.replace(b"\n", newline)) == parse(raw)


@pytest.mark.parametrize(
    "added",
    [
        b"X-Spam-Flag: YES", b"X-Rosenblatt: spam; score=2", b"X-Bogosity: Spam", b"Status: RO", b"X-Status: A", b"X-UID: 12",
        b"X-Mozilla-Status: 0001", b"X-Keywords: Junk", b"X-Virus-Scanned: by x", b"x-SPAM-level: ***",
        b"X-Foo-MailScanner-SpamCheck: x",
        b"Delivered-To: me", b"Lines: 12", b"Content-Length: 123", b"X-MS-Exchange-Organization-SCL: 9",
    ],
)  # fmt: skip
def test_what_filters_and_stores_add_changes_nothing(added: bytes) -> None:
    raw = b"From: a@b.example\nSubject: x\n\nbody\n"
    assert parse(added + b"\n" + raw) == parse(raw)


def test_what_is_random_in_headers_is_left_out() -> None:
    one, two = (
        parse(
            b"Message-ID: <%d.QAA%d@a.example>\nDate: Mon, %d Jan 2001 10:%d:00 +0100\nReferences: <%d@x>\n"
            b"DKIM-Signature: v=1; a=rsa-sha256; d=a.example; b=a%d\nContent-Type: text/plain; boundary=a%d\n\nx" % ((n,) * 7)
        )
        for n in (17, 42)
    )
    assert one == two
    assert b"a.example" in one.headers
    assert b"+0100" in one.headers
    assert b"d=a.example" in one.headers


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (b"=?utf-8?q?caf=C3=A9?=", "café"),
        (b"=?ISO-8859-1?Q?caf=E9_au?= lait", "café au lait"),
        (b"=?utf-8?B?Y2Fmw6k=?= \n =?utf-8?B?IGxhaXQ?=", "café lait"),
        (b"=?utf-8?b?Y2Fmww==?= =?utf-8?b?qQ==?=", "café"),
        (b"=?utf-8*en?q?caf=C3=A9?=", "café"),
        (b"=?no-such?q?caf=E9?=", "café"),
        (b"=?idna?q?caf=E9?=", "café"),
        (b"=?utf-8?q?caf=E9?=", "café"),
        (b"=?gb2312?B?xOO6ww==?=", "你好"),
        (b"=?koi8-r?B?8NLJ18XU?=", "Привет"),
        (b"=?iso-2022-jp?B?GyRCJDMkcxsoQg==?=", "こん"),
        (b"caf\xe9", "café"),
        (b"caf\xc3\xa9", "café"),
        (b"a =?utf-8?x?b?= c", "a =?utf-8?x?b?= c"),
        (b"=?utf-8?q?open", "=?utf-8?q?open"),
        (b"=?utf-8?q?one=0Atwo?=", "one two"),
        (b"V\0iagra", "Viagra"),
    ],
)
def test_encoded_words(value: bytes, text: str) -> None:
    assert parse(b"Subject: " + value + b"\n\n").subject.decode() == text


@pytest.mark.parametrize(
    ("charset", "data", "text"),
    [
        (b"iso-8859-1", b"na\xefve \x93x\x94", "naïve “x”"),
        (b"windows-1251", b"\xcf\xf0\xe8\xe2\xe5\xf2", "Привет"),
        (b"US-ASCII", b"na\xefve", "naïve"),
        (b"", b"\x81\x8d\x8f", "\x81\x8d\x8f"),
        (b"utf-8", b"na\xc3\xafve", "naïve"),
        (b"utf-8", b"na\xefve", "naïve"),
        (b"", b"na\xc3\xafve", "naïve"),
        (b"x-unknown", b"na\xefve", "naïve"),
        (b"zlib_codec", b"na\xefve", "naïve"),
        (b"unicode_escape", b"\\x41", "\\x41"),
        (b"utf-16", b"plain", "plain"),
        (b"utf-16", "naïve".encode("utf-16"), "naïve"),
        (b"utf-7", b"na+AO8-ve", "naïve"),
        (b"gb2312", "你好".encode("gb18030"), "你好"),
        (b"Shift_JIS", "こん".encode("cp932"), "こん"),
        (b"ks_c_5601-1987", "안녕".encode("cp949"), "안녕"),
        (b"cp037", "spam".encode("cp037"), "spam"),
        (b"utf-8", "V\u200bi\u00adagra".encode(), "Viagra"),
    ],
)
def test_charsets(charset: bytes, data: bytes, text: str) -> None:
    head = b'Content-Transfer-Encoding: base64\nContent-Type: text/plain; charset="' + charset + b'"\n\n'
    assert parse(head + base64.encodebytes(data)).body.decode() == text


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ("windows-874 dos-874 TIS-620", "สวัสดี"),
        ("iso-8859-8-i ISO-8859-8-E logical visual csiso88598i", "שלום"),
        ("iso-8859-6-i csiso88596e", "مرحبا"),
        ("sun_eu_greek", "γεια"),
        ("csisolatin9", "€ café"),
        ("windows-31j x-sjis ms_kanji", "こんにちは"),
        ("x-euc-jp cseucpkdfmtjapanese", "こんにちは"),
        ("windows-949 ks_c_5601-1989 cseuckr iso-ir-149 csksc56011987", "안녕하세요"),
        ("windows-936 csgb2312 x-gbk GB_2312-80", "你好"),
        ("windows-950 cn-big5 x-x-big5", "你好"),
        ("koi koi8 koi8-ru x-cp1251 x-mac-cyrillic x-mac-ukrainian", "Привет"),
        ("x-cp1250", "zażółć"),
        ("x-cp1252 mac macintosh csmacintosh", "naïve"),
        ("x-cp1253", "γεια"),
        ("x-cp1254", "İstanbul"),
        ("x-cp1255", "שלום"),
        ("x-cp1256", "مرحبا"),
        ("x-cp1257", "ąžuolas"),
        ("x-cp1258", "Đà"),
        ("unicode-1-1-utf-8 unicode11utf8 x-unicode20utf8", "naïve 你好"),
        ("unicode ucs-2 iso-10646-ucs-2 csunicode unicodefeff unicodefffe", "na ïve 你好"),
    ],
)
def test_charsets_have_the_names_that_browsers_know(names: str, text: str) -> None:
    for name in names.split():
        codec = codec_of(name.encode())
        assert codec, name
        assert to_utf8(text.encode(codec), name.encode()).decode() == text


@pytest.mark.parametrize(
    ("encoding", "data", "text"),
    [
        (b"base64", b"aGVsbG8gd29ybGQ=", b"hello world"),
        (b"base64", b"aGVsbG8NCndvcmxkDQo=", b"hello\nworld"),
        (b"BASE64", b"aGVs\nbG8g\n\nd29ybGQ", b"hello world"),
        (b"base64", b"aG!Vs-bG8gd29y?bGQ=", b"hello world"),
        (b"base64", b"aGVsbG8gd29yb", b"hello wor"),
        (b"base64", b"aGVsbG8=\n\n_____\nThe list of lists\n", b"hello\n\n_____\nThe list of lists"),
        (b"quoted-printable", b"hel=6Co wor=\nld=", b"hello world"),
        (b"quoted-printable", b"100=ZZ", b"100=ZZ"),
        (b"x-no-such", b"hello =41", b"hello =41"),
        (b"x-uuencode", b"begin 644 a.txt\n+:&5L;&\\@=V]R;&0 \n`\nend\n", b"hello world"),
        (b"UUE", b"Hi\nbegin 644\n+:&5L;&\\@=V]R;&0 junk\n\xff\xfe\n%:&5L;&\\\nend\nbye", b"Hi\nhello worldhello\nbye"),
        (b"x-uue", b"begin 644 a\n+:&5L;&\\@", b"hello"),
        (b"uuencode", b"Hello, no begin", b"Hello, no begin"),
    ],
)
def test_transfer_encodings(encoding: bytes, data: bytes, text: bytes) -> None:
    assert parse(b"Content-Transfer-Encoding: " + encoding + b"\n\n" + data).body == text


def test_parts_within_parts_in_their_order() -> None:
    inner = mixed(b"\nsecond", b"\nthird").replace(b"x", b"y")
    assert parse(mixed(b"\nfirst", inner, b"\nfourth")).body.split() == [b"first", b"second", b"third", b"fourth"]


@pytest.mark.parametrize(
    "raw",
    [
        mixed(b"\none", b"\ntwo", end=b""),
        mixed(b"\none", b"\ntwo").replace(b"\n--x\n", b"\n--x \t\n"),
        mixed(b"Content-Type: text/plain\n\none", b"Content-Type: text/plain\n\ntwo").replace(b'"x"', b'"y"'),
        mixed(b"Content-Type: text/plain\n\none", b"Content-Type: text/plain\n\ntwo").replace(b'; boundary="x"', b""),
        mixed(b"\none\n--xx", b"\ntwo").replace(b"--xx\n", b""),
        mixed(b"\none", b"\ntwo").replace(b'"x"', b'"x'),
        mixed(b"\none", b"\ntwo").replace(b'boundary="x"', b"BOUNDARY = x ; y=z"),
    ],
)
def test_boundaries_that_are_wrong_lost_or_not_closed(raw: bytes) -> None:
    assert parse(raw).body.split() == [b"one", b"two"]


def test_a_multipart_without_parts_is_text() -> None:
    assert parse(b'Content-Type: multipart/mixed; boundary="x"\n\nno parts here').body == b"no parts here"


def test_a_message_in_a_message_is_read_with_its_subject() -> None:
    forwarded = b"Content-Type: message/rfc822\n\nSubject: =?utf-8?q?inn=65r?=\nContent-Transfer-Encoding: base64\n\naGVsbG8="
    assert parse(mixed(b"\nouter", forwarded)).body.split() == [b"outer", b"inner", b"hello"]
    coded = base64.encodebytes(forwarded.partition(b"\n\n")[2].replace(b"\n", b"\r\n"))
    head = b"Content-Type: message/rfc822\nContent-Transfer-Encoding: base64\n\n"
    assert parse(mixed(b"\nouter", head + coded)) == parse(mixed(b"\nouter", forwarded))


def test_a_plain_alternative_is_dropped_only_if_it_repeats_the_html() -> None:
    html = HTML + b"<p>cheap pills <b>for</b> you"
    same = parse(mixed(b"\ncheap pills for you", html, kind=b"alternative"))
    other = parse(mixed(b"\nminutes of the last meeting", html, kind=b"alternative"))
    assert same.body.split() == [b"cheap", b"pills", b"for", b"you"]
    assert other.body.split() == [*same.body.split(), *b"minutes of the last meeting".split()]


def test_html_is_found_where_it_is_called_plain_and_in_files() -> None:
    assert parse(b"\n<html><body>cheap <b>pills</b>").body.split() == [b"cheap", b"pills"]
    attached = b'Content-Type: application/octet-stream; name="a.HTM"\n\n<a href="http://a.example">pills</a>'
    message = parse(mixed(attached))
    assert message.body.split() == [b"pills"]
    assert message.links == b"http://a.example"
    assert message.attachments == b"application/octet-stream htm a.HTM"


@pytest.mark.parametrize(
    ("headers", "line"),
    [
        (b'Content-Type: application/zip; name="a b.ZIP"', "application/zip zip a b.ZIP"),
        (b"Content-Type: image/gif", "image/gif"),
        (b"Content-Type: image/gif; name=x\nContent-Disposition: attachment; filename=b.exe", "image/gif exe b.exe"),
        (b"Content-Type: a/b\nContent-Disposition: attachment; filename*=utf-8''%e2%82%ac.pdf", "a/b pdf €.pdf"),
        (b'Content-Type: a/b; name*0="in";\n name*1*=voice%2e; name*2=pdf', "a/b pdf invoice.pdf"),
        (b"Content-Type: a/b; name==?iso-8859-1?q?=E9.doc?=", "a/b doc é.doc"),
    ],
)
def test_attachments(headers: bytes, line: str) -> None:
    assert parse(mixed(headers + b"\n\nQUJD")).attachments.decode() == line


def test_uuencoded_files_are_attachments() -> None:
    message = parse(b"\nhello\nbegin 644 cats.exe\nM1234\n`\nend\nbye")
    assert message.body.split() == [b"hello", b"bye"]
    assert message.attachments == b"x-uuencode exe cats.exe"


@pytest.mark.parametrize(
    "raw", [b"", b"\n", b"\n\n", b" ", b"\0", b"\r", b"From ", b"x", b":", b"Subject", b"Subject:", b"\xff\xfe"]
)
def test_next_to_nothing(raw: bytes) -> None:
    message = parse(raw)
    assert message.subject == message.sender == message.links == b""


def test_headers_end_where_a_line_is_none() -> None:
    assert parse(b"Subject: x\nno header here\n\nmore").body == b"no header here\n\nmore"
    assert parse(b"\n\nSubject: x\n\nbody").subject == b"x"
    assert parse(b"\nNo subject: x\n\nbody").body == b"\nNo subject: x\n\nbody"[1:]


@pytest.mark.parametrize("blank", [b" ", b"\t", b" \t "])
def test_a_line_of_white_space_within_headers_does_not_end_them(blank: bytes) -> None:
    message = parse(b"X-A: b\n" + blank + b"\nSubject: pills\nContent-Type: text/html\n\n<p>hello</p>")
    assert (message.subject, message.body) == (b"pills", b"hello")
    assert parse(b"Subject: x\n" + blank + b"\ntext").body == b"text"


@given(
    st.lists(st.sampled_from([b"Subject: x", b"X:", b":", b": y", b" ", b"\t", b" more", b"\tA: b", b"", b"text", b"\xff: z"])),
    st.sampled_from([b"", b"\n"]),
)
def test_headers_end_where_those_of_a_stamped_mail_do(lines: list[bytes], last: bytes) -> None:
    raw = b"\n".join(lines) + last
    stop, body = end_of_head(raw, 0, len(raw))
    assert (0, stop) == header_span(raw)
    assert body == stop + raw.startswith(b"\n", stop)


@pytest.mark.parametrize(
    "filler", [b"X-A: " + b"a" * 70 + b"\n", b"X:\n", b"X-A: b\n" + b" " * 78 + b"\n", b"A" * 200 + b": b\n"]
)
@pytest.mark.parametrize("more", range(0, 12, 3))
def test_what_the_body_needs_is_read_wherever_it_is_in_long_headers(filler: bytes, more: int) -> None:
    head = b"X-Filler: " + b"a" * more + b"\n" + filler * (2 * LIMITS.head // len(filler))
    needed = b"Subject: cheap\n pills\nContent-Type: text/html\nContent-Transfer-Encoding: base64\n"
    body = base64.encodebytes(b"<p>hello</p>")
    for raw in (head + needed, head + needed + head, needed + head):
        message = parse(raw + b"\n" + body)
        assert (message.subject, message.body) == (b"cheap pills", b"hello")
    inner = b"Content-Type: message/rfc822\n\n" + head + needed + b"\n" + body
    assert parse(mixed(inner)).body.split() == [b"cheap", b"pills", b"hello"]


@pytest.mark.parametrize(
    ("text", "links"),
    [
        (b"http://www.a.example/?b=c.", [b"http://www.a.example/?b=c"]),
        (b"(HTTPS://a.example) WWW.b.example", [b"HTTPS://a.example", b"WWW.b.example"]),
        (b"www.a.example, http://b.example, www.a.example", [b"www.a.example", b"http://b.example"]),
        (b"gopher://a.example mail@www.b.example awww.c :// http:// www.", []),
    ],
)
def test_links_of_plain_text(text: bytes, links: list[bytes]) -> None:
    assert parse(b"\n" + text).links.split() == links


def test_what_the_receiver_found_about_the_sender_is_kept() -> None:
    message = parse(
        b"Authentication-Results: mx.example; SPF=fail (x) a=b; dkim=pass header.b=Xy12\nReceived-SPF: softfail (x)\n\n"
    )
    assert message.headers.splitlines()[:2] == [b"authentication-results: spf=fail dkim=pass", b"received-spf: softfail"]


def test_a_codec_that_python_lacks_is_guessed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(CODECS, "gb2312", "no_such_codec")
    assert to_utf8(b"na\xefve", b"GB2312").decode() == "naïve"


def test_only_the_line_of_an_mbox_is_dropped() -> None:
    assert parse(b"From x\nSubject: y\n\nbody").subject == b"y"
    assert parse(b">From x\nSubject: y\n>From z\nTo: a\n\nFrom x\n").body == b"From x"
    assert parse(b"from me to you\n\nbody").body == b"from me to you\n\nbody"


def test_limits_hold_and_hide_nothing() -> None:
    small = LIMITS._replace(parts=3, depth=2, text=100, field=20, links=2, attachments=1)
    many = parse(mixed(*(b"\npart%d" % n for n in range(9))), small).body
    assert all(b"part%d" % n in many for n in range(9))
    deep = b"\ninner"
    for n in range(5):
        deep = mixed(deep).replace(b'"x"', b'"x%d"' % n).replace(b"--x", b"--x%d" % n, 1)
    assert b"inner" in parse(deep, small._replace(text=1000)).body
    long = parse(b"Subject: " + "é".encode() * 50 + b"\n\n" + b"http://a.example/%d " * 50, small)
    assert long.subject.decode() == "é" * 10
    assert 98 <= len(long.body) <= 100
    assert long.links.count(b"\n") <= 1
