"""Where the filter lives."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click

from ...mail.boxes import mails, printable
from ...progress import Progress
from ...reporting.text import join_and, plural
from ..console import Failure, note


def default_home() -> str:
    data = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return str(Path(data) / "rosenblatt" / "mail")


def _named(_: click.Context, __: click.Parameter, value: str) -> str:
    if not value.strip():
        raise click.BadParameter(f"it must name a directory, got {value!r}")
    return value


home = click.option(
    "--home", metavar="DIR", envvar="ROSENBLATT_MAIL", default=default_home, callback=_named,
    help="Where the filter lives.  [default: ROSENBLATT_MAIL or ~/.local/share/rosenblatt/mail]",
)  # fmt: skip


def opened(home: str, create: bool = False, **settings: Any) -> Any:
    from ...mail.filter import Filter

    return Filter.open(home, create=create, settings=settings or None)


# --- Mail from paths, with a bar while it is read, and what was skipped told at the end.

MAX_SKIPPED_LINES = 20  # of the files that were skipped


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


def report_skipped(*readings: Reading) -> None:
    """What all of them skipped."""
    skipped = _skipped(readings)
    for source, reason in skipped[:MAX_SKIPPED_LINES]:
        note(f"skipped {source}: {reason}")
    if len(skipped) > MAX_SKIPPED_LINES:
        note(f"skipped {len(skipped) - MAX_SKIPPED_LINES:,} more")
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
    report_skipped(*readings)
    return Failure(f"there is no mail in {join_and([printable(path) for path in paths])}")


# --- `--spam PATH... --ham PATH...`: each takes all paths up to the next option.


class Sides(click.Command):
    """click has options of one value; here one name stands before many."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        repeated: list[str] = []
        side: str | None = None
        options = True
        for argument in args:
            if options and argument == "--":
                options = False
            elif options and argument in ("--spam", "--ham"):
                side = argument
            elif options and argument.startswith("-") and argument != "-":
                side = None
                repeated.append(argument)
            elif side is None:
                repeated.append(argument)
            else:
                repeated += [side, argument]
        return super().parse_args(ctx, repeated)


def sides(command: Any) -> Any:
    command = click.option("--ham", multiple=True, metavar="PATH...", help="Wanted mail.")(command)
    return click.option("--spam", multiple=True, metavar="PATH...", help="Unwanted mail.")(command)
