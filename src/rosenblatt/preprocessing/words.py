"""What a word is: a run of two or more letters, digits or underscores, in lower case, as in scikit-learn's vectorizers."""

from __future__ import annotations

import re

_WORD = re.compile(r"\w\w+")
# ASCII text is cut at blanks, twice as fast: letters in lower case, and a blank for what is not of a word.
_LOWER = bytes(code if chr(code).isalnum() or chr(code) == "_" else 32 for code in range(128)).lower() + bytes(128)


def words_of(text: str) -> list[str]:
    """The words of a text.

    >>> words_of("The cat, the CAT: a 2nd one!")
    ['the', 'cat', 'the', 'cat', '2nd', 'one']
    """
    if text.isascii():
        return [word for word in text.encode("ascii").translate(_LOWER).decode("ascii").split() if len(word) > 1]
    return _WORD.findall(text.lower())
