"""Where things are printed: results on standard output, everything else on standard error."""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console

    from ..progress import Progress

# A bar appears after so many seconds: what is quicker needs none.
PATIENCE = 1.0
# Columns where standard output is not a terminal.
PIPED = 120


def out() -> Console:
    from rich.console import Console

    return Console(highlight=False, width=None if sys.stdout.isatty() else PIPED)


def print_json(told: Any) -> None:
    click.echo(json.dumps(told, indent=1, ensure_ascii=False, allow_nan=False, default=_plain))


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else str(value)


def note(sentence: str) -> None:
    click.echo(sentence, err=True)


def say(lines: list[tuple[str, str]]) -> None:
    """Names on the left, what is said under them on the right, wrapped to the terminal."""
    left = max(len(name) for name, _ in lines) + 2
    room = max(20, (shutil.get_terminal_size().columns if sys.stdout.isatty() else PIPED) - left)
    for name, value in lines:
        first, *more = textwrap.wrap(value, room, break_on_hyphens=False) or [""]
        click.echo(click.style(name, bold=True) + " " * (left - len(name)) + first)
        for line in more:
            click.echo(" " * left + line)


@contextmanager
def bar(what: str, moved: str = "mistakes") -> Iterator[Any]:
    """A callback for `watching` that draws a bar on standard error, where that is a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    shown = _Bar(what, moved)
    try:
        yield shown.tell
    finally:
        shown.end()


class _Bar:
    def __init__(self, what: str, moved: str) -> None:
        self.what, self.moved, self.started = what, moved, time.monotonic()
        self._bar: Any = None
        self._task: Any = None

    def tell(self, progress: Progress) -> None:
        if self._bar is None:
            if time.monotonic() - self.started < PATIENCE:
                return
            self._open()
        done = progress.passes + (progress.visited / progress.rows if progress.rows else 0.0)
        words = f"pass {progress.passes + (progress.visited > 0)}"
        if progress.updates:
            words += f", {progress.updates:,} updates, {progress.last:,} {self.moved} in this pass"
        if progress.gap is not None:
            words = f"step {progress.passes}, gap {progress.gap:.2g}"
        self._bar.update(self._task, completed=done, total=progress.max_passes, words=progress.text or words)

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[words]}"))
        self._bar = Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=Console(stderr=True), transient=True)
        self._bar.start()
        self._task = self._bar.add_task(self.what, total=None, words="")

    def end(self) -> None:
        if self._bar is not None:
            self._bar.stop()
