"""Cells of text files: how lines are split into cells, and which cells are numbers. The kernels must agree with this module.

Blanks around a cell are ignored. A cell that starts with a quote ends at its closing quote and may contain delimiters, line
ends and doubled quotes; only blanks are allowed between the closing quote and the delimiter. Many tab-separated files do not
quote cells, so there a quote without a closing quote on the same line is an ordinary character. The delimiter b" " stands for
any run of blanks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

QUOTE, NEWLINE = ord('"'), ord("\n")
DELIMITERS = (b";", b",", b"\t", b"|", b" ")  # if several fit equally well, the first of them is used
DEFAULT_DELIMITER = b","
BLANKS = b" \t\r"
# Cells that are missing: WORDS in all columns, and the others where they are not labels, nor in a column of signs, with a +.
WORDS = frozenset(
    (b"", b"?", b"NA", b"N/A", b"n/a", b"n.a.", b"<NA>", b"nan", b"NaN", b"NAN", b"NaT", b"null", b"NULL", b"Null", b"(null)",
     b"None", b"#N/A", b"#DIV/0!", b"#VALUE!", b"#REF!", b"#NAME?", b"#NUM!", b"#NULL!")
)  # fmt: skip
MISSING = WORDS | {b"-", b"--", b".", "\u2013".encode(), "\u2014".encode()}
MAX_SNIFFED_RECORDS = 25
NUMBER_BYTES = b"0123456789+-.eE"  # `float` also accepts nan, inf, 1_000 and digits of other scripts
SHORT_NUMBER = re.compile(
    rb"[+-]?(?:[0-9]{1,300}(?:\.[0-9]{0,300})?|\.[0-9]{1,300})"
)  # a number without exponent, which is finite
UNQUOTED_COMMA = re.compile(rb"(?<![0-9]),|,(?![0-9])")  # of which no decimal comma is one
NON_FINITE = re.compile(rb"[+-]?(nan|inf|infinity)", re.IGNORECASE)
MAX_TOKEN_SHOWN = 40  # characters of a token in a message
ENCODING_OPTION, ENCODING_ADVICE = "--encoding windows-1252", "name its encoding, such as --encoding windows-1252"
SEVERAL_LABELS = (
    "rows with several labels are learned in Python, by fit(X, Y) with a column of 0 and 1 in Y for each label "
    "(docs/algorithms.md, Several labels a row)"
)


class UnclosedError(Exception):
    """A quote that is still open at the end of the text."""

    def __init__(self, at: int) -> None:
        self.at = at


class MisquotedError(Exception):
    """A closing quote followed by something other than a delimiter."""

    def __init__(self, at: int) -> None:
        self.at = at


# --- Records


def split_record(text: bytes, start: int, delimiter: bytes) -> tuple[list[bytes], int]:
    """The cells of the record at `start` and the start of the next record. A blank line has no cells."""
    end = text.index(b"\n", start)
    line = text[start:end]
    blanks = BLANKS if delimiter == b" " else BLANKS.replace(delimiter, b"")
    if b'"' not in line:
        if delimiter == b" ":
            return line.replace(b"\r", b" ").replace(b"\t", b" ").strip(b" ").split(), end + 1
        return ([cell.strip(blanks) for cell in line.split(delimiter)] if line.strip(blanks) else []), end + 1
    cells: list[bytes] = []
    at = start
    while True:
        while text[at] in blanks:
            at += 1
        if delimiter == b" " and text[at] == NEWLINE:  # trailing blanks do not start another cell
            return cells, at + 1
        cell, at = _quoted(text, at, delimiter, blanks) if text[at] == QUOTE else _unquoted(text, at, delimiter, blanks)
        cells.append(cell)
        at += 1
        if text[at - 1] == NEWLINE:
            return cells, at


def _unquoted(text: bytes, at: int, delimiter: bytes, blanks: bytes) -> tuple[bytes, int]:
    """The cell that starts at `at`, and the position of its delimiter or line end."""
    end = text.index(b"\n", at)
    if delimiter == b" ":
        stop = at
        while stop < end and text[stop] not in blanks:
            stop += 1
        return text[at:stop], stop
    stop = text.find(delimiter, at, end)
    end = end if stop < 0 else stop
    return text[at:end].strip(blanks), end


def _quoted(text: bytes, start: int, delimiter: bytes, blanks: bytes) -> tuple[bytes, int]:
    line_end, close = text.index(b"\n", start), start + 1
    limit = line_end if delimiter == b"\t" else len(text)
    while True:
        close = text.find(b'"', close, limit)
        if close < 0:
            if delimiter == b"\t":
                return _unquoted(text, start, delimiter, blanks)
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
                return _unquoted(text, start, delimiter, blanks)
            raise MisquotedError(after)
    return text[start + 1 : close].replace(b'""', b'"'), after


def records(text: bytes, delimiter: bytes, start: int = 0) -> Iterator[tuple[int, list[bytes], int]]:
    """Yield the start, the cells and the end of each record that is not blank."""
    while start < len(text):
        cells, stop = split_record(text, start, delimiter)
        if cells:
            yield start, cells, stop
        start = stop


# --- The delimiter


def sniff(text: bytes, extension: str) -> bytes:
    """Find the delimiter: a tab in .tsv files, else the one that splits the first lines into equal numbers of cells.

    If several do, tabs are preferred, then of ; and , the one that gives more cells; pipes and blanks, which cells contain more
    often, come last.
    """
    if extension in ("tsv", "tab"):
        return b"\t"
    best = max(DELIMITERS, key=lambda delimiter: _score(text, delimiter))
    if best == b"," and (other := _beside_decimal_commas(text)) is not None:
        return other
    return best if _score(text, best)[0] else DEFAULT_DELIMITER


def _beside_decimal_commas(text: bytes) -> bytes | None:
    """The delimiter of a table in which every comma is within a number, if there is one."""
    if UNQUOTED_COMMA.search(text):
        return None
    return next((delimiter for delimiter in (b";", b"\t", b"|") if _score(text, delimiter)[0] == 3), None)


def _score(text: bytes, delimiter: bytes) -> tuple[int, bool, int]:
    """Sort key of a delimiter: a grade, whether it is a tab, and the number of cells.

    The grade is 3 if all lines have the same number of cells, 2 if all but the first do, 1 if the delimiter occurs, else 0.
    """
    counts: list[int] = []
    try:
        for _, cells, _ in records(text, delimiter):
            counts.append(len(cells))
            if len(counts) == MAX_SNIFFED_RECORDS:
                break
    except (UnclosedError, MisquotedError):
        pass
    if not counts or max(counts) < 2:
        return 0, False, 0
    grade = 3 if len(set(counts)) == 1 else 2 if len(counts) > 2 and len(set(counts[1:])) == 1 and counts[1] > 1 else 1
    return grade, delimiter == b"\t", counts[-1] if grade > 1 and delimiter not in (b"|", b" ") else 1


# --- Numbers


def parse_number(token: bytes) -> float | None:
    """The nearest float, possibly infinite; None if the token is not a decimal number.

    >>> parse_number(b"1E-02"), parse_number(b".5"), parse_number(b"nan"), parse_number(b"1_0"), parse_number(b"1e400")
    (0.01, 0.5, None, None, inf)
    """
    if token.translate(None, NUMBER_BYTES):
        return None
    try:
        return float(token)
    except ValueError:
        return None


def quote_token(token: bytes) -> str:
    """A token as shown in messages: quoted, escaped and shortened."""
    text = repr(token[: 4 * MAX_TOKEN_SHOWN].decode("utf-8", "backslashreplace"))
    return text if len(text) <= MAX_TOKEN_SHOWN + 2 else f"{text[: MAX_TOKEN_SHOWN - 2]}...{text[0]}"
