"""What is wrong with a filter, in one sentence that names its home."""

from __future__ import annotations

import os


class FilterError(ValueError):
    """A filter that cannot be used, or cannot do what was asked; what it had learnt is as it was."""

    def __init__(self, home: str | os.PathLike[str], sentence: str) -> None:
        super().__init__(f"{os.fspath(home)}: {sentence}")
        self.home, self.sentence = os.fspath(home), sentence


class FoldedError(FilterError):
    """The text of a message is no longer in the log, so that nothing can be replayed without it."""


class BaseGoneError(FilterError):
    """The file that holds the oldest messages is not there, or another process has just replaced it."""

    def __init__(self, home: str | os.PathLike[str], sentence: str, name: str) -> None:
        super().__init__(home, sentence)
        self.name = name
