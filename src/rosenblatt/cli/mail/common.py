"""Options and input of the mail commands: --home, --spam and --ham, and mails from paths."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...mail.boxes import Mail, Sparse, mails
from ...progress import Progress
from ...reporting.text import count, join_and, plural
from ..console import Failure, note
from ..options import Command

if TYPE_CHECKING:
    from ...mail.filter import Filter

Watch = Callable[[Progress], object] | None
MAX_SKIPPED_LINES = 20  # skipped files that are listed


def default_home() -> str:
    """The default directory of the filter."""
    data = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return str(Path(data) / "rosenblatt" / "mail")


def _named(_: click.Context, __: click.Parameter, value: str) -> str:
    if not value.strip():
        raise click.BadParameter(f"must be a directory, got {value!r}")
    return value


home = click.option(
    "--home", metavar="DIR", envvar="ROSENBLATT_MAIL", default=default_home, callback=_named,
    help="The directory of the filter.  [default: ROSENBLATT_MAIL or ~/.local/share/rosenblatt/mail]",
)  # fmt: skip


def opened(home: str, create: bool = False, **settings: Any) -> Filter:
    """Open the filter in `home`; print what was repaired of its permissions."""
    from ...mail.filter import Filter
    from ...mail.store.permissions import repair_home

    repaired = repair_home(home)
    if repaired is not None:
        note(repaired)
    return Filter.open(home, create=create, settings=settings or None)


def opened_taught(home: str) -> Filter:
    """Open a filter that has learned something; only such a filter can give a verdict."""
    from ...mail.filter import FilterError
    from ...mail.store.log import UNTAUGHT

    spam_filter = opened(home)
    if spam_filter.taught:
        return spam_filter
    spam_filter.close()
    raise FilterError(home, UNTAUGHT)


# --- mails from paths ---------------------------------------------------------------------------------------------------------


class Reading:
    """The mails of some paths; `seen` is their number, `skipped` has the files that were not read, with reasons.

    Explicitly named files that do not look like mails are skipped, too. `sparse` has the folders with hardly any mail.

    spam : the label of the mails, if it is known; mailboxes in folders whose names contradict it are skipped.
    """

    def __init__(self, paths: Iterable[str], watch: Watch = None, spam: bool | None = None) -> None:
        self.paths, self.watch, self.spam = list(paths), watch, spam
        self.seen = 0
        self.skipped: list[tuple[str, str]] = []
        self.sparse: list[Sparse] = []

    def __iter__(self) -> Iterator[Mail]:
        found = mails(self.paths, only_mails=True, spam=self.spam)
        for mail in found:
            self.seen += 1
            if self.watch is not None and self.seen % 100 == 0:
                self.watch(Progress(0, text=plural(self.seen, "mail")))
            yield mail
        self.skipped += found.skipped
        self.sparse += found.sparse


def report_skipped(*readings: Reading) -> None:
    """Print the files that were skipped."""
    skipped = _skipped(readings)
    for source, reason in skipped[:MAX_SKIPPED_LINES]:
        note(f"skipped {source}: {reason}")
    if len(skipped) > MAX_SKIPPED_LINES:
        note(f"skipped {count(len(skipped) - MAX_SKIPPED_LINES)} more")
    if len(skipped) > 1:
        note(f"skipped {plural(len(skipped), 'file')} in total")


def _skipped(readings: Iterable[Reading]) -> list[tuple[str, str]]:
    return [each for reading in readings for each in reading.skipped]


def no_mail(paths: Iterable[str], *readings: Reading) -> Failure:
    """The error for paths without mail; the reason, if there is a single one."""
    skipped = _skipped(readings)
    if len(skipped) == 1:
        source, reason = skipped[0]
        return Failure(f"{source}: {reason}")
    report_skipped(*readings)
    return Failure(f"no mail in {join_and(list(paths))}")


# --- the options --spam and --ham ------------------------------------------------------------


class Sides(click.Command):
    """A command whose options --spam and --ham take all paths up to the next option; click's options take one value."""

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
        ctx.allow_extra_args = True
        super().parse_args(ctx, repeated)
        if ctx.args and not ctx.resilient_parsing:
            raise click.UsageError(f"say which kind it is: mail {ctx.info_name} --spam PATH or --ham PATH", ctx)
        return ctx.args


def sides(command: Command) -> Command:
    """The options --spam and --ham."""
    command = click.option("--ham", multiple=True, metavar="PATH...", help="Wanted mail.")(command)
    return click.option("--spam", multiple=True, metavar="PATH...", help="Unwanted mail.")(command)
