"""Decoding: bytes in any charset to UTF-8, and transfer encodings to bytes. No input raises an exception.

Only codecs of a fixed list are used. Python also has codecs that are not charsets (zlib, base64), that take quadratic time
(idna, punycode) or are tied to the system (mbcs), and it caches every unknown name that is looked up.
"""

from __future__ import annotations

import binascii
import codecs
import re
from encodings.aliases import aliases

# Charsets that mail programs and browsers decode as a superset (encoding.spec.whatwg.org).
_SUPERSETS = {
    "ascii": "utf_8", "latin_1": "cp1252", "iso8859_1": "cp1252", "iso8859_9": "cp1254", "iso8859_11": "cp874",
    "tis_620": "cp874", "gb2312": "gb18030", "gbk": "gb18030", "shift_jis": "cp932", "euc_kr": "cp949", "big5": "big5hkscs",
    "iso2022_jp": "iso2022_jp_2", "utf_8_sig": "utf_8",
}  # fmt: skip
_NO_CHARSETS = {
    "base64_codec", "bz2_codec", "hex_codec", "quopri_codec", "rot_13", "uu_codec", "zlib_codec", "idna", "punycode",
    "mbcs", "oem", "undefined", "unicode_escape", "raw_unicode_escape", "unicode_internal", "string_escape",
}  # fmt: skip
# Names that Python does not know: those of encoding.spec.whatwg.org, and some of mail programs.
_EXTRA_NAMES = {
    "utf_8": "unicode-1-1-utf-8 unicode11utf8 unicode20utf8 x-unicode20utf8",
    "utf_8_sig": "",
    "utf_16": "csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff",
    "utf_16_be": "unicodefffe",
    "iso8859_6": "csiso88596e csiso88596i iso-8859-6-e iso-8859-6-i",
    "iso8859_7": "sun_eu_greek",
    "iso8859_8": "csiso88598e csiso88598i iso-8859-8-e iso-8859-8-i logical visual",
    "iso8859_15": "csisolatin9",
    "koi8_r": "koi koi8",
    "koi8_t": "",
    "koi8_u": "koi8-ru",
    "mac_roman": "csmacintosh mac x-mac-roman",
    "mac_cyrillic": "x-mac-cyrillic x-mac-ukrainian",
    "cp720": "",
    "cp874": "dos-874 windows-874",
    **{f"cp125{n}": f"x-cp125{n}" for n in range(9)},
    "gb18030": "csgb2312 gb_2312-80 windows-936 x-gbk",
    "big5": "cn-big5 x-x-big5",
    "cp950": "windows-950",
    "euc_jp": "cseucpkdfmtjapanese x-euc-jp",
    "cp932": "windows-31j x-sjis",
    "cp949": "cseuckr csksc56011987 iso-ir-149 ks_c_5601-1987 ks_c_5601-1989 windows-949",
}
_PUNCTUATION = bytes(c for c in range(256) if not chr(c).isalnum() or c > 127)


def _key(name: bytes) -> str:
    return name.translate(None, _PUNCTUATION).lower().decode("ascii")


_NAMES = {name: codec for name, codec in aliases.items() if codec not in _NO_CHARSETS}
_NAMES |= {codec: codec for codec in (*_NAMES.values(), *_EXTRA_NAMES)}
_NAMES |= {name: codec for codec, names in _EXTRA_NAMES.items() for name in names.split()}
CODECS = {_key(name.encode()): _SUPERSETS.get(codec, codec) for name, codec in _NAMES.items()}

# Charsets in which bytes under 128 are not always ASCII.
_SHIFTING = {codec for codec in CODECS.values() if codec.startswith(("utf_7", "utf_16", "utf_32", "iso2022", "hz"))}
_SHIFTING |= {"cp037", "cp273", "cp424", "cp500", "cp875", "cp1026", "cp1140"}
_UTF_16_OR_32 = {codec for codec in _SHIFTING if codec.startswith(("utf_16", "utf_32"))}

# Five bytes are undefined in Windows-1252; they become control characters, as in browsers.
_WINDOWS = "".join(bytes((c,)).decode("cp1252", "ignore") or chr(c) for c in range(256))
_BYTES_FROM_128 = bytes(range(128, 256))
# Invisible characters that hide words from filters: soft hyphen, zero-width spaces, joiners, byte-order mark.
INVISIBLE = tuple(c.encode() for c in "\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff")


def codec_of(charset: bytes) -> str:
    """The Python codec of a charset; "" for an unknown one."""
    return CODECS.get(_key(charset[:40]), "")


def to_utf8(data: bytes, charset: bytes = b"") -> bytes:
    """Decode by the declared charset, else as UTF-8, else as Windows-1252; NULs and invisible characters are removed.

    >>> [to_utf8(*mail).decode() for mail in ((b"\\xefle", b"ISO-8859-1"), (b"\\xefle", b"no-such"), (b"+AO8-le", b"utf-7"))]
    ['ïle', 'ïle', 'ïle']
    """
    codec = codec_of(charset) if charset else ""
    if codec not in _SHIFTING:
        if data.isascii():
            return data.replace(b"\0", b"") if b"\0" in data else data
    elif codec in _UTF_16_OR_32 and b"\0" not in data and data[:2] not in (b"\xff\xfe", b"\xfe\xff"):
        codec = ""  # UTF-16 and UTF-32 have a NUL in every space: the declaration is false
    if codec in ("", "utf_8"):
        text = _guessed(data)
    elif codec == "cp1252":
        text = _windows(data)
    else:
        try:
            text = data.decode(codec, "replace").encode("utf-8", "replace")
        except (LookupError, UnicodeError):  # other versions of Python may lack a codec
            text = _guessed(data)
    return visible(text.replace(b"\0", b""))


def visible(text: bytes) -> bytes:
    """UTF-8 text without invisible characters."""
    if not text.isascii():
        for character in INVISIBLE:
            text = text.replace(character, b"")
    return text


def undeclared(data: bytes, charset: bytes) -> bytes:
    """Decode bytes of a header without charset: as UTF-8 if valid, else by the charset of the body.

    >>> undeclared("发票".encode("gb2312"), b"GB2312").decode(), undeclared("发票".encode(), b"GB2312").decode()
    ('发票', '发票')
    """
    if not charset or data.isascii() or codec_of(charset) in _SHIFTING:
        return to_utf8(data)
    try:
        data.decode()
    except UnicodeDecodeError:
        return to_utf8(data, charset)
    return to_utf8(data)


def _guessed(data: bytes) -> bytes:
    """Decode as UTF-8 if at most few bytes are invalid, else as Windows-1252."""
    text = data.decode("utf-8", "replace")
    wrong = text.count("\ufffd")
    if wrong and 8 * wrong > len(data) - len(data.translate(None, _BYTES_FROM_128)):
        return _windows(data)
    return text.encode()


def _windows(data: bytes) -> bytes:
    return codecs.charmap_decode(data, "strict", _WINDOWS)[0].encode()


def valid(text: bytes) -> bytes:
    """Without invalid UTF-8, such as an incomplete character."""
    return text if text.isascii() else text.decode("utf-8", "ignore").encode()


def cut(text: bytes, limit: int) -> bytes:
    """At most `limit` bytes of UTF-8, without an incomplete character."""
    if len(text) <= limit:
        return text
    while limit > 0 and text[limit] & 0xC0 == 0x80:
        limit -= 1
    return text[: max(limit, 0)]


# --- transfer encodings: base64, quoted-printable and uuencode ----------------------------------------------------------------

_ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="
_NOT_BASE64 = bytes(c for c in range(256) if c not in _ALPHABET)
_BEGIN = re.compile(rb"^begin [0-7]{3,4} ([^\n]{1,200})\n", re.M)
_END = b"\nend"
_BEGIN_TEXT = re.compile(rb"^begin [0-7]{3,4}(?: [^\n]*+)?+\n", re.M)
_LINE = re.compile(rb"^[ -`]++", re.M)
UUENCODED = (b"uu", b"x-uu")  # prefixes of the names of that encoding: uuencode, x-uue, ...


def one_newline(data: bytes) -> bytes:
    """With LF for CRLF and CR."""
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in data else data


def from_base64(data: bytes) -> bytes:
    """Decode up to the first padding; other characters, and an incomplete last byte, are ignored.

    >>> from_base64(b"aGVs!bG8"), from_base64(b"aGVsbG8=c3BhbQ==")
    (b'hello', b'hello')
    """
    letters = data.translate(None, _NOT_BASE64).partition(b"=")[0]
    if len(letters) % 4 == 1:
        letters = letters[:-1]
    return binascii.a2b_base64(letters + b"=" * (-len(letters) % 4))


def from_quoted_printable(data: bytes) -> bytes:
    return binascii.a2b_qp(data)


def from_uuencode(data: bytes) -> bytes:
    """Decode the lines between "begin" and "end", as far as they are valid.

    >>> from_uuencode(b"begin 644 a.txt\\n%:&5L;&\\\\\\n`\\nend\\n").strip()
    b'hello'
    """
    begin = _BEGIN_TEXT.search(data)
    if begin is None:
        return data
    end = data.find(_END, begin.end() - 1)
    end = end if end >= 0 else len(data)
    text = bytearray(data[: begin.start()])
    for found in _LINE.finditer(data, begin.end(), end):
        line = found[0]
        size = line[0] - 32 & 63
        text += binascii.a2b_uu(line[: 1 + (4 * size + 2) // 3])  # longer lines are cut, shorter ones padded with NULs
    return bytes(text) + data[end + len(_END) :]


def from_transfer(data: bytes, encoding: bytes) -> bytes:
    """Decode a body by its Content-Transfer-Encoding; an unknown encoding changes nothing."""
    if encoding.startswith(b"quoted"):
        return from_quoted_printable(data) if b"=" in data else data
    if encoding.startswith(b"base64"):
        data = data.strip()
        blank = data.find(b"\n\n")
        if blank < 0 or b" " not in data[blank : blank + 200]:
            return from_base64(data)
        return from_base64(data[:blank]) + data[blank:]  # a mailing list has appended its own lines
    return from_uuencode(data) if encoding.startswith(UUENCODED) else data


def without_uuencoded(text: bytes, names: list[bytes]) -> bytes:
    """Text without uuencoded files, whose names are appended to `names`."""
    kept, at = [], 0
    while (begin := _BEGIN.search(text, at)) and (end := text.find(_END, begin.end() - 1)) >= 0:
        kept.append(text[at : begin.start()])
        names.append(begin[1])
        at = end + len(_END)
    return b"".join((*kept, text[at:])) if kept else text
