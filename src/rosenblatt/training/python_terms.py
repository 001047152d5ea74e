"""Sentences about options of the command line, with the parameters of `rb.train` in their place."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

# Parameters that are lists of columns.
LISTS = ("ignore", "text", "categorical")
# Values that options have, where nothing else shows that a word is a value; and what stands for a value.
WORDS = "auto|mean|median|none|balanced|sigmoid|csv|soft-margin|average|logistic"
PLACEHOLDERS = "FILE|NAME|COLUMN"
# An option, perhaps with a value: quoted, at the end of a clause, a number, or one of the words.
OPTION = re.compile(
    r"--(?P<name>[a-zA-Z]+(?:-[a-z]+)*)(?: (?:'(?P<quoted>[^']*)'"
    rf"|(?P<word>[\w.,-]+(?=\))|[0-9.]*[0-9]|{WORDS})|(?:{PLACEHOLDERS})))?"
)


@contextlib.contextmanager
def errors_in_python() -> Iterator[None]:
    """Let the errors inside name parameters in place of options of the command line."""
    try:
        yield
    except ValueError as error:
        error.args = tuple(in_python(each) if isinstance(each, str) else each for each in error.args)
        raise


def in_python(sentence: str) -> str:
    """A sentence with parameters in place of options of the command line.

    >>> in_python("exclude it (--ignore 'Exit fee'), or use --missing auto to fill missing cells")
    "exclude it (ignore=['Exit fee']), or use missing='auto' to fill missing cells"
    >>> in_python("name the label column with --label; --holdout must be less than 1, --cv 5 tests on all rows")
    'name the label column with label; holdout must be less than 1, cv=5 tests on all rows'
    """
    return OPTION.sub(_parameter, sentence)


def _parameter(found: re.Match[str]) -> str:
    name, quoted, word = found["name"].replace("-", "_"), found["quoted"], found["word"]
    if quoted is None and word is None:
        return name
    value = quoted if quoted is not None else word
    if name in LISTS:
        return f"{name}={value.split(',')}"
    return f"{name}={value}" if value.replace(".", "", 1).isdigit() else f"{name}={value!r}"
