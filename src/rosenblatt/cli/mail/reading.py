"""Mail from paths, with a bar while it is read, and what was skipped told at the end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ...mail.boxes import mails, printable
from ...report.words import listed, plural
from ...watching import Progress
from ..console import note
from ..failing import Failure

SHOWN = 20  # of the files that were skipped


class Reading:
    """The mails of some paths; `seen` counts them, `skipped` says which files were, and why."""

    def __init__(self, paths: Iterable[str], watch: Any = None) -> None:
        self.paths, self.watch = list(paths), watch
        self.seen = 0
        self.skipped: list[tuple[str, str]] = []

    def __iter__(self) -> Iterator[Any]:
        found = mails(self.paths)
        for mail in found:
            self.seen += 1
            if self.watch is not None and self.seen % 100 == 0:
                self.watch(Progress(0, text=plural(self.seen, "mail")))
            yield mail
        self.skipped += found.skipped

    def complain(self) -> None:
        for source, reason in self.skipped[:SHOWN]:
            note(f"skipped {source}: {reason}")
        if len(self.skipped) > SHOWN:
            note(f"skipped {len(self.skipped) - SHOWN:,} more")
        if len(self.skipped) > 1:
            note(f"skipped {plural(len(self.skipped), 'file')} in all")


def no_mail(paths: Iterable[str], *readings: Reading) -> Failure:
    """That there was none, in one line where one thing is the cause."""
    skipped = [each for reading in readings for each in reading.skipped]
    if len(skipped) == 1:
        source, reason = skipped[0]
        return Failure(f"{source}: {reason}")
    for reading in readings:
        reading.complain()
    return Failure(f"there is no mail in {listed([printable(path) for path in paths])}")
