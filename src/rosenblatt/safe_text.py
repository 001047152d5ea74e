"""Text from files, mails, labels and paths, as it may be printed: the one place where it is escaped.

Every module may import this one; it imports the standard library alone.
"""

from __future__ import annotations

import re

# Characters that a terminal executes or that hide or reorder others: C0 and C1 controls, line separators, marks of the writing
# direction, and halves of characters, which cannot be encoded.
UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
UNSAFE_IN_LINES = re.compile(UNSAFE.pattern.replace("\x00-\x1f", "\x00-\x08\x0b-\x1f"))


def printable(text: object, *, lines: bool = False) -> str:
    r"""Escape what is unsafe on a terminal, as in a string literal of Python. Text from files, mails and labels is printed so.

    Line feeds and tabs stay with ``lines=True``. Bytes of a file name that are not UTF-8 are escaped as bytes.

    >>> print(printable("ev\x1b]52;c;\x07il\n.eml"), printable("\udcff"))
    ev\x1b]52;c;\x07il\n.eml \xff
    >>> print(printable("two\nlines\r", lines=True))
    two
    lines\r
    """
    return (UNSAFE_IN_LINES if lines else UNSAFE).sub(_escape, str(text))


def _escape(found: re.Match[str]) -> str:
    character = found[0]
    if "\udc80" <= character <= "\udcff":  # a byte that os.fsdecode could not decode
        return f"\\x{ord(character) - 0xDC00:02x}"
    return repr(character)[1:-1]
