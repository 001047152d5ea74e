"""Where things are printed: results on standard output, everything else on standard error."""

from __future__ import annotations

import errno
import json
import os
import shutil
import sys
import textwrap
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

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
        self._bar.update(self._task, completed=done, total=progress.max_iter, words=progress.text or words)

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


# --- Whatever goes wrong is one line on standard error and an exit code, never a traceback (ROSENBLATT_DEBUG=1 shows it).

WRONG, OURS, INTERRUPTED = 2, 70, 130


class Failure(click.ClickException):
    def __init__(self, sentence: str, exit_code: int = WRONG) -> None:
        super().__init__(sentence)
        self.exit_code = exit_code  # type: ignore[misc]

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(f"rosenblatt: {self.message}", file=file, err=file is None)


def usage(wrong: click.UsageError, ctx: click.Context) -> click.ClickException:
    """A wrong command line, in one line."""
    if isinstance(wrong, click.exceptions.NoArgsIsHelpError):
        return wrong
    about = (wrong.ctx or ctx).command_path
    return Failure(f"{one_line(click.ClickException(wrong.format_message())).rstrip('.')} ({about} --help has examples)")


def failure(wrong: BaseException) -> click.ClickException | click.exceptions.Exit:
    if os.environ.get("ROSENBLATT_DEBUG"):
        traceback.print_exception(wrong)
    if isinstance(wrong, click.ClickException):  # said already
        return wrong
    if isinstance(wrong, KeyboardInterrupt):
        return Failure("interrupted; what was being written is not there, and what was there before still is", INTERRUPTED)
    if isinstance(wrong, BrokenPipeError) or (isinstance(wrong, OSError) and wrong.errno == errno.EPIPE):
        # Whoever reads our output has enough; closing it would complain once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return click.exceptions.Exit(141)
    if isinstance(wrong, MemoryError):
        return Failure(f"there is not enough memory{_detail(wrong)}; `train --stream` learns from files of any size")
    if isinstance(wrong, FileNotFoundError) and wrong.filename:
        return Failure(f"{wrong.filename}: there is no such file")
    if isinstance(wrong, OSError) and wrong.strerror:
        named = f"{wrong.filename}: " if wrong.filename else ""
        return Failure(f"{named}{wrong.strerror.lower()}")
    if isinstance(wrong, ValueError | TypeError | OSError | ImportError):
        return Failure(one_line(wrong))
    return Failure(f"a fault of ours, please report it: {type(wrong).__name__}: {one_line(wrong)}", OURS)


def _detail(wrong: BaseException) -> str:
    return f" ({one_line(wrong)})" if str(wrong) else ""


def one_line(wrong: BaseException) -> str:
    """The message of an exception as one line."""
    return " ".join(str(wrong).split()) or type(wrong).__name__


# --- Whether what a command will leave can be written: said before the work, not after it.


def check_writable(path: str | None, *inputs: str | None, ending: str = "") -> None:
    """Nor may it replace what it is made from."""
    if path is None:
        return
    if path == "-":
        raise Failure("- is standard output, where the summary goes: name a file")
    if ending and not path.lower().endswith(ending):
        raise Failure(f"{path}: the name of such a file ends with {ending}")
    for given in inputs:
        if given is not None and os.path.exists(path) and os.path.exists(given) and os.path.samefile(path, given):
            raise Failure(f"{path}: this is what is read; name another file to write")
    folder = Path(path).parent
    if not folder.is_dir():
        raise Failure(f"{path}: there is no folder {folder}")
    if Path(path).is_dir():
        raise Failure(f"{path}: this is a folder")
    if not os.access(folder, os.W_OK):
        raise Failure(f"{path}: the folder {folder} cannot be written to")


def check_picture(path: str) -> None:
    from ..reporting.page import EXTENSIONS

    if Path(path).suffix.lower() not in EXTENSIONS:
        raise Failure(f"{path}: a figure is written as {', '.join(EXTENSIONS)}, by the ending of its name")
    if not path.lower().endswith(".svg") and find_spec("matplotlib") is None:
        raise Failure(f"{path}: pictures need matplotlib: pip install 'rosenblatt[plot]'; .svg does not")
