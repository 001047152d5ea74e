"""Whatever goes wrong is one line on standard error and an exit code, never a traceback (ROSENBLATT_DEBUG=1 shows it)."""

from __future__ import annotations

import errno
import os
import sys
import traceback
from typing import IO, Any

import click

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
