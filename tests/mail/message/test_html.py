"""HTML to text: what a reader sees, the same by the plain way and the compiled one, and in linear time whatever the bytes."""

from __future__ import annotations

import html as standard
import re
import subprocess
import sys
import time
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from datasets import data_folder
from effort import in_time
from rosenblatt.mail.message.html import MAX_ADDRESS_BYTES, compiled, decoded, names, plain, strip

SCRAPS = [
    *b"""< <a <b> </b> </ </> <p> </p> <br/> <td> <script> </script> </scriptx </SCRIPT <style> </style <!-- --> <!--> --!>
    <title> </title> </title/ <textarea> </textarea <xmp> </xmp> <iframe> </iframe> <noembed> </noembed> <noframes> </noframes>
    <plaintext> </plaintext> <!---> <!----!> <!doctype <![CDATA[ ]]> <?xml ?> & &# &#x &amp; &amp &lt; &notit; &copy=1 &nLt;
    &#65 &#x41; &#0; &#128; &#xD800; &#99999999999; &#x110000; &nbsp; &shy; &ZeroWidthSpace; &NewLine;
    &CounterClockwiseContourIntegral; href= src= alt= data= content= <meta <img url= 0;url=
    = == " ' > / // word Word x=y 1 ; -- - ! ?""".split(),
    *(c.encode() for c in "\u00e9\u200b\u200f\u00a0\u2060\ufeff\u2061\U0001f600"),
    *(b"\xc2", b"\xe2\x80", b"\xff", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xf0\x9f\x98"),
    *(bytes([c]) for c in b"\0\x01\x7f \n\t\r\v\f"),
]
SOUP = st.lists(st.sampled_from(SCRAPS), max_size=25).map(b"".join)


@pytest.mark.parametrize(
    ("html", "text"),
    [
        (b"V<b></b>iagra", b"Viagra"),
        (b"V<!-- x -->iag<unknown>r<!bogus>a", b"Viagra"),
        (b"V\0i\xe2\x80\x8ba&shy;g&#8203;ra", b"Viagra"),
        (b"a<p>b<br/>c</p> <div> d", b"a\nb\nc\nd"),
        (b"<td>a</td><td>b</td>", b"a b"),
        (b"  a \r\n\t b&nbsp;&#10;\xc2\xa0c ", b"a b c"),
        (b"<title>Hi</title><style>p{}</style><script>if (a<b) '<p>'</script>there", b"Hi\nthere"),
        (b"<script>a</scripts></SCRIPT\n>b", b"b"),
        (b"<script>a</script", b""),
        (b"<title><style></title><p>BUY", b"<style>\nBUY"),
        (b"<TITLE><!--</title\n>BUY", b"<!--\nBUY"),
        (b"<title><a href='</titles></title/>BUY", b"<a href='</titles>\nBUY"),
        (b"<title>a &lt;b&gt; &amp", b"a <b> &"),
        (b"<title>a</title", b"a</title"),
        (b"a</title><style>b</style>c", b"a\nc"),
        (b"<textarea>  <script>\n&lt; </textarea>BUY", b"<script> < BUY"),
        (b"a<xmp><b>&amp;\0 \xc2\xa0b</xmpx></xmp>c&amp;", b"a\n<b>&amp; b</xmpx>\nc&"),
        (b"V<iframe><p>a</iframe><noembed>b</noembed><noframes>c</noframes>iagra", b"Viagra"),
        (b"a<noframes>b", b"a"),
        (b"a<plaintext>b<p>c</plaintext>&amp;d", b"a\nb<p>c</plaintext>&amp;d"),
        (b"a<xmp b", b"a"),
        (b"1 < 2 <3 a<=b </", b"1 < 2 <3 a<=b </"),
        (b"a</>b</ x>c<?php d ?>e<![CDATA[f]]>g", b"abceg"),
        (b"a<!-->b<!--->c<!---->d<!-- --!>e<!-- -- >f", b"abcde"),
        (b'a<b title="x > y">c', b"ac"),
        (b"a<b title='unclosed > quote", b"a"),
        (b"a<b unclosed", b"a"),
        (b"a<img alt='Buy &amp; win' src=x>b", b"a Buy & win b"),
        (b"V<img alt=''>iagra", b"Viagra"),
        (b"&lt;p&gt; &amp;amp; &#65&#x42; &notit; &unknown; & &# &#x;", b"<p> &amp; AB \xc2\xacit; &unknown; & &# &#x;"),
        (b"&#0;&#xD800;&#x110000;&#99999999999999999999;", "\ufffd".encode() * 4),
        (b"&#128;&#147;", "\u20ac\u201c".encode()),
        (b"\xff\xc3", "\ufffd\ufffd".encode()),
    ],
)
def test_the_text_is_what_a_reader_sees(html, text):
    assert plain(html)[0] == compiled(html)[0] == strip(html)[0] == text


@pytest.mark.parametrize(
    ("html", "addresses"),
    [
        (b"<a href=http://a.example/>", [b"http://a.example/"]),
        (b"<A HREF = ' http://a\n/ '><img Src=\"b\"/><form action=c><body background=d>", [b"http://a/", b"b", b"c", b"d"]),
        (b"<a href=?a=1&copy=2&amp;b&lt;&copy>", [b"?a=1&copy=2&b<\xc2\xa9"]),
        (b"<meta http-equiv=refresh content='0; URL = \"http://e/\"x'>", [b"http://e/"]),
        (b"<meta content='see url=http://no/'><a content='0;url=no' title=href></a href=no><a href=' '>", []),
        (b"<a href='cut off", [b"cutoff"]),
        (b"<!-- <a href=no> --><script src=s>'<a href=no>'</script>", [b"s"]),
        (b"<title><a href=no></title><xmp><a href=no></xmp><iframe src=i><a href=no></iframe><a href=yes>", [b"i", b"yes"]),
        (b"<object data=o></object>", [b"o"]),
        (b"<a href=" + "\u00e9".encode() * 2000 + b">", ["\u00e9".encode() * (MAX_ADDRESS_BYTES // 2)]),
    ],
)  # fmt: skip
def test_addresses_are_found(html, addresses):
    assert plain(html)[1] == compiled(html)[1] == addresses


@given(st.one_of(st.binary(max_size=60), SOUP))
@example(b"<!--a--!b--!>c")
@example(b"\xe2\x80")
def test_both_ways_give_the_same_bytes(html):
    found = plain(html)
    assert compiled(html) == found
    text, addresses = found
    b"\n".join((text, *addresses)).decode()
    assert text == b"\n".join(b" ".join(line.split()) for line in text.split(b"\n") if line.strip())
    assert not any(re.search(rb"[\x00-\x20\x7f]", address) or not address for address in addresses)


@given(SOUP)
def test_long_pages_are_read_like_short_ones(html):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rosenblatt.mail.message.html.BYTES_PER_STEP", 0)
        patch.setattr("rosenblatt.mail.message.html.BYTES_PER_STEP", 3)
        found = plain(html)
    assert found == plain(html)


@given(SOUP)
def test_what_is_written_as_text_comes_back(html):
    """Text that is escaped has no tags and no references."""
    words = [word.decode("utf-8", "ignore") for word in html.split() if word.isalnum()]
    text = " ".join(words).encode()
    assert strip(standard.escape(text.decode()).encode())[0] == text


def test_references_are_those_of_the_standard_library():
    for name, value in names().items():
        raw = b"x&" + name
        blank = b"x " if not value.strip() else b"x" + value
        assert decoded(raw) == blank
        assert compiled(raw)[0] == plain(raw)[0]
        assert compiled(b"<a href='%s'>" % raw) == plain(b"<a href='%s'>" % raw)
        assert compiled(raw[:-1])[0] == plain(raw[:-1])[0]
    for number in (*range(1, 70000, 13), 0x10FFFF):
        raw = b"&#%d" % number
        expected = standard.unescape(raw.decode()).encode("utf-8", "replace")
        if expected.strip() and len(expected) > 0 and number > 31 and number != 0x7F:
            assert decoded(raw) == expected


def test_a_small_page_imports_nothing_large():
    """So that a single mail is classified at once; the same for what else every mail goes through."""
    code = """if True:
        import sys
        from rosenblatt.mail.boxes import mails
        from rosenblatt.mail.message.html import strip
        from rosenblatt.mail.identity import digest
        from rosenblatt.mail.identity import stamped
        assert strip(b"<p>a &amp; b &eacute;" * 100)[0]
        (mail,) = mails(["-"])
        assert digest(mail.raw) == digest(stamped(mail.raw, "ham"))
        print(*{"numba", "scipy", "sklearn", "rich", "email", "pyarrow"} & set(sys.modules))
    """
    done = subprocess.run([sys.executable, "-c", code], input=b"Subject: x", capture_output=True, check=True)
    assert done.stdout.split() == []


SHAPES = {
    "<": b"<", "<a ": b"<a ", "nested": b"<div>", "unclosed quotes": b"<a b='<a c=\"", "<!--": b"<!--", "<!-- -->": b"<!-- -->",
    "&": b"&", "&#": b"&#", "&a": b"&a", "&lt": b"&lt", "<script>": b"<script>", "</script": b"</script", "</": b"</",
    "attributes": b" a", "quotes": b"\"'", "CDATA": b"<![CDATA[", "blanks": b" ", "invisible": b"\xe2\x80\x8b", "--": b"--",
    "a=": b"a=", "href": b"<a href=x>", "url": b"url ", "bad": b"\xff",
    "<title>": b"<title>", "titles": b"<title></title>", "</title": b"</title", "<textarea>": b"<textarea></textare",
    "<xmp>": b"<xmp></xm", "<iframe>": b"<iframe></iframe>", "<plaintext>": b"<plaintext>", "</plaintext>": b"</plaintext>",
}  # fmt: skip
STARTS = (b"", b"<a ", b"<!--", b"<script>", b"<title>", b"<xmp>", b"<a href='", b"<meta content='0;", b"&#", b"&a")


@pytest.mark.once
@pytest.mark.parametrize("shape", SHAPES)
def test_hostile_shapes_are_linear(shape):
    strip(b"<p>" * 100)
    for start in STARTS:
        html = start + SHAPES[shape] * (1_000_000 // len(SHAPES[shape]))
        began = time.process_time()
        compiled(html)
        assert in_time(time.process_time() - began, 0.25)  # ten times what it takes
        began = time.process_time()
        plain(html[:20_000])
        assert in_time(time.process_time() - began, 0.5)


class _Reference(HTMLParser):
    """The words outside of scripts and style sheets, by the standard library."""

    def __init__(self):
        super().__init__()
        self.words, self.inside = [], 0

    def handle_starttag(self, tag, attrs):
        self.inside += tag in ("script", "style")
        self.words += [f" {value} " for name, value in attrs if name == "alt" and value]

    def handle_endtag(self, tag):
        self.inside -= tag in ("script", "style") and self.inside > 0

    def handle_data(self, data):
        if not self.inside:
            self.words.append(data)


def test_real_pages_agree_with_the_standard_library():
    folder = data_folder("mail/spamassassin")
    files = sorted(path for kind in ("spam-1", "hard-ham-1") for path in Path(folder, kind).iterdir())[::3]
    agreed = pages = 0
    for path in files:
        raw = path.read_bytes()
        start = raw.lower().find(b"<html")
        if start < 0 or b"=3D" in raw or b"<!-" in raw:
            continue
        page = raw[start:].decode("latin-1")
        parser = _Reference()
        parser.feed(page)
        parser.close()
        html = page.encode()
        assert plain(html) == compiled(html)
        theirs = re.sub(r"[\s\xa0\xad\x00-\x1f]+", "", "".join(parser.words))
        ours = re.sub(r"\s+", "", strip(html)[0].decode())
        pages += 1
        agreed += ours == theirs
    assert pages > 20
    assert agreed >= 0.9 * pages
