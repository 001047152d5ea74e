"""Lines of delimited text to cells: the definition, which the kernel must agree with.

Blanks around a cell do not count. A cell that begins with a quote ends at its closing quote, and may hold delimiters, line
ends and, doubled, quotes; anything but blanks between that and the delimiter is an error. Where tabs separate cells, a quote
that is not such a pair on one line is a character like others: many such files quote nothing. A delimiter of b" " stands for
any run of blanks.
"""

from __future__ import annotations

from collections.abc import Iterator

QUOTE, NEWLINE = ord('"'), ord("\n")
DELIMITERS = (b";", b",", b"\t", b" ")  # the first of those that look as good; b"," where none does
BLANKS = b" \t\r"
MISSING = frozenset((b"", b"?", b"NA", b"N/A", b"nan", b"NaN", b"null", b"None"))
SNIFFED = 25  # lines that say what the delimiter is


class UnclosedError(Exception):
    """A quote that is still open where the text ends."""

    def __init__(self, at: int) -> None:
        self.at = at


class MisquotedError(Exception):
    """Something other than a delimiter after a closing quote."""

    def __init__(self, at: int) -> None:
        self.at = at


def blanks_of(delimiter: bytes) -> bytes:
    return BLANKS.replace(delimiter, b"")


def split_record(text: bytes, start: int, delimiter: bytes) -> tuple[list[bytes], int]:
    """The cells of the record that starts at `start`, none where its line is blank, and where the next record starts."""
    end = text.index(b"\n", start)
    line = text[start:end]
    blanks = BLANKS if delimiter == b" " else blanks_of(delimiter)
    if b'"' not in line:
        if delimiter == b" ":
            return line.replace(b"\r", b" ").replace(b"\t", b" ").strip(b" ").split(), end + 1
        return ([cell.strip(blanks) for cell in line.split(delimiter)] if line.strip(blanks) else []), end + 1
    cells: list[bytes] = []
    at = start
    while True:
        while text[at] in blanks:
            at += 1
        if delimiter == b" " and text[at] == NEWLINE:  # blanks at the end of a line separate nothing
            return cells, at + 1
        cell, at = _quoted(text, at, delimiter, blanks) if text[at] == QUOTE else _bare(text, at, delimiter, blanks)
        cells.append(cell)
        at += 1
        if text[at - 1] == NEWLINE:
            return cells, at


def _bare(text: bytes, at: int, delimiter: bytes, blanks: bytes) -> tuple[bytes, int]:
    """The cell that starts at `at`, and where its delimiter or line end is."""
    end = text.index(b"\n", at)
    if delimiter == b" ":
        found = at
        while found < end and text[found] not in blanks:
            found += 1
        return text[at:found], found
    found = text.find(delimiter, at, end)
    end = end if found < 0 else found
    return text[at:end].strip(blanks), end


def _quoted(text: bytes, start: int, delimiter: bytes, blanks: bytes) -> tuple[bytes, int]:
    line_end, close = text.index(b"\n", start), start + 1
    limit = line_end if delimiter == b"\t" else len(text)
    while True:
        close = text.find(b'"', close, limit)
        if close < 0:
            if delimiter == b"\t":
                return _bare(text, start, delimiter, blanks)
            raise UnclosedError(start)
        if text[close + 1] != QUOTE:
            break
        close += 2
    after = close + 1
    if delimiter == b" ":
        if text[after] not in blanks and text[after] != NEWLINE:
            raise MisquotedError(after)
    else:
        while text[after] in blanks:
            after += 1
        if text[after] != NEWLINE and text[after] != delimiter[0]:
            if delimiter == b"\t":
                return _bare(text, start, delimiter, blanks)
            raise MisquotedError(after)
    return text[start + 1 : close].replace(b'""', b'"'), after


def records(text: bytes, delimiter: bytes, start: int = 0) -> Iterator[tuple[int, list[bytes], int]]:
    """Where each record that is not blank starts, its cells, and where it stops."""
    while start < len(text):
        cells, stop = split_record(text, start, delimiter)
        if cells:
            yield start, cells, stop
        start = stop


def sniff(text: bytes, extension: str) -> bytes:
    """The delimiter: a tab in .tsv files; else what cuts the first lines alike, tabs before others, most cells before few."""
    if extension in ("tsv", "tab"):
        return b"\t"
    best = max(DELIMITERS, key=lambda delimiter: _cut(text, delimiter))
    return best if _cut(text, best)[0] else b","


def _cut(text: bytes, delimiter: bytes) -> tuple[int, bool, int]:
    """How good a delimiter looks: 3 where it cuts all lines alike, 2 where all but the first, 1 where some, 0 where none."""
    counts: list[int] = []
    try:
        for _, cells, _ in records(text, delimiter):
            counts.append(len(cells))
            if len(counts) == SNIFFED:
                break
    except (UnclosedError, MisquotedError):
        pass
    if not counts or max(counts) < 2:
        return 0, False, 0
    alike = 3 if len(set(counts)) == 1 else 2 if len(counts) > 2 and len(set(counts[1:])) == 1 and counts[1] > 1 else 1
    return alike, delimiter == b"\t", counts[-1] if alike > 1 and delimiter != b" " else 1
