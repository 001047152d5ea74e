"""Mail from paths, with a bar while it is read, and what was skipped told at the end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ...mail.boxes import mails, printable
from ...progress import Progress
from ...reporting.text import listed, plural
from ..console import note
from ..failing import Failure

SHOWN = 20  # of the files that were skipped


class Reading:
    """The mails of some paths; `seen` counts them, `skipped` says which files were, and why.

    only_mails : a file that was named may also be none, and is skipped then.
    """

    def __init__(self, paths: Iterable[str], watch: Any = None, only_mails: bool = False) -> None:
        self.paths, self.watch, self.only_mails = list(paths), watch, only_mails
        self.seen = 0
        self.skipped: list[tuple[str, str]] = []

    def __iter__(self) -> Iterator[Any]:
        found = mails(self.paths, only_mails=self.only_mails)
        for mail in found:
            self.seen += 1
            if self.watch is not None and self.seen % 100 == 0:
                self.watch(Progress(0, text=plural(self.seen, "mail")))
            yield mail
        self.skipped += found.skipped


def complain(*readings: Reading) -> None:
    """What all of them skipped."""
    skipped = _skipped(readings)
    for source, reason in skipped[:SHOWN]:
        note(f"skipped {source}: {reason}")
    if len(skipped) > SHOWN:
        note(f"skipped {len(skipped) - SHOWN:,} more")
    if len(skipped) > 1:
        note(f"skipped {plural(len(skipped), 'file')} in all")


def _skipped(readings: Iterable[Reading]) -> list[tuple[str, str]]:
    return [each for reading in readings for each in reading.skipped]


def no_mail(paths: Iterable[str], *readings: Reading) -> Failure:
    """That there was none, in one line where one thing is the cause."""
    skipped = _skipped(readings)
    if len(skipped) == 1:
        source, reason = skipped[0]
        return Failure(f"{source}: {reason}")
    complain(*readings)
    return Failure(f"there is no mail in {listed([printable(path) for path in paths])}")
