"""`rosenblatt mail learn`: learn spam and ham from mailboxes. `mail unlearn` and `mail relearn` use the same output."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...mail.folder_names import CONTENTS, contradicts
from ...reporting.text import count, join_and, plural
from ...safe_text import printable
from ..console import Failure, bar, echo, note, print_json
from ..options import Number, as_json
from .common import Reading, Sides, home, no_mail, opened, report_skipped, sides

if TYPE_CHECKING:
    from ...mail.filter import Filter


@click.command("learn", cls=Sides)
@sides
@home
@click.option(
    "--ham-weight", type=Number(0.01, 100.0),
    help="Cost of a lost ham relative to that of a passed spam.  [default: 1]",
)  # fmt: skip
@click.option(
    "--ham-loss", type=Number(0.0, 0.5), metavar="SHARE",
    help="The share of ham that may be called spam; sets the threshold.  [default: 0.001]",
)  # fmt: skip
@click.option(
    "--in-order", is_flag=True, help="Learn mail in the order given, without shuffling; the last mails then count most."
)
@click.option("--force", is_flag=True, help="Learn also what looks like a mistake; see below.")
@as_json
def command(
    spam: tuple[str, ...], ham: tuple[str, ...], home: str, in_order: bool, force: bool, as_json: bool, **settings: Any
) -> None:
    """Learn spam and ham from mailboxes.

    A mail is recognized by its digest: learning it again changes nothing, and learning it with the other label changes its
    label. Mail is shuffled before it is learned. A command with at least ten new mails also shuffles in, and relearns, the mail
    of earlier commands of that size, so the number of commands and the order of mailboxes do not matter. An interrupted command
    can be repeated; nothing is learned twice.

    What looks like a mistake is reported, and nothing is learned without --force (at a terminal the command asks): more than 10
    mails that would change their label, or that are given as both spam and ham; a mailbox whose name announces the other kind,
    such as --ham Junk; a folder with hardly any mail. In a folder, mailboxes with such names are skipped. A first command that
    learns nothing creates no filter.

    --ham-weight and --ham-loss are stored. Changing --ham-weight relearns all mail. Changing --ham-loss moves the threshold; a
    mail that is more likely ham than spam is never called spam. Exit code 1: some mail kept its old label, because its text was
    dropped (`mail compact`); 2: nothing was learned.

    \b
    Examples:
      rosenblatt mail learn --spam ~/Mail/.Junk --ham ~/Mail/cur ~/archive.mbox
      rosenblatt mail learn --ham - < message.eml
      rosenblatt mail learn --ham-loss 0.0005
    """
    from ..console import INTERRUPTED

    given = {name: value for name, value in settings.items() if value is not None}
    if not (spam or ham or given):
        raise click.UsageError("nothing to learn; give --spam PATH, --ham PATH or both")
    try:
        n_kept = learn(home, given, spam, ham, mix=not in_order, force=force, as_json=as_json)
    except KeyboardInterrupt:
        raise Failure("interrupted; repeat the command to learn the rest (nothing is learned twice)", INTERRUPTED) from None
    if n_kept:
        raise click.exceptions.Exit(1)


TEXT_DROPPED = "cannot be unlearned, because its text was dropped; nothing was changed"
LABELS = {True: "spam", False: "ham", None: None}
MAX_MOVES = 10  # mails that change their label without a question


def at_terminal() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def confirm(doubt: str, force: bool) -> None:
    """Ask at a terminal whether to learn despite a doubt; elsewhere fail."""
    if force:
        return
    if not at_terminal():
        raise Failure(f"{doubt}; nothing was learned or changed (--force does it)")
    if not click.confirm(f"{doubt}. Go on?", err=True):
        raise Failure("nothing was learned or changed")


def _confirm_names(spam: tuple[str, ...], ham: tuple[str, ...], force: bool) -> None:
    for paths, is_spam in ((spam, True), (ham, False)):
        for path in paths:
            kind = contradicts(path, is_spam)
            if kind is not None:
                confirm(f"--{LABELS[is_spam]} {printable(path)}: the name announces {CONTENTS[kind]}", force)


def _checker(readings: list[Reading], stop_bar: Callable[[], None], force: bool) -> Callable[[int, int], None]:
    """What is called with the number of mails that would move, and that were given as both, before any is learned."""

    def check(moved: int, both: int) -> None:
        stop_bar()
        _confirm_folders(readings, force)
        if both > MAX_MOVES:
            confirm(f"{plural(both, 'mail is', 'mails are')} given as both spam and ham", force)
        _confirm_moves(moved, force)

    return check


def _confirm_folders(readings: list[Reading], force: bool) -> None:
    for folder in (folder for reading in readings for folder in reading.sparse):
        others = plural(folder.others, "other file")
        confirm(f"{folder.path}: {plural(folder.mails, 'mail')} among {others}", force)


def _confirm_moves(moved: int, force: bool) -> None:
    if moved > MAX_MOVES:
        confirm(f"{plural(moved, 'mail')} would change from spam to ham or from ham to spam", force)


def learn(
    home: str,
    settings: dict[str, float],
    spam: tuple[str, ...],
    ham: tuple[str, ...],
    mix: bool,
    force: bool,
    as_json: bool,
) -> int:
    """Learn mail; returns the number of mails that kept their old label. No filter is created if there is no mail."""
    from ...mail.store.changes import remove_if_new
    from ...mail.store.connection import LOG_NAME

    _confirm_names(spam, ham, force)
    with bar("learning") as watch:
        sides = [(Reading(paths, watch, is_spam), is_spam) for paths, is_spam in ((spam, True), (ham, False))]
        readings = [reading for reading, _ in sides]

        def labeled() -> Iterator[tuple[bytes, bool]]:
            for reading, is_spam in sides:
                for mail in reading:
                    yield mail.raw, is_spam

        mails = labeled()
        first = list(islice(mails, 1))
        if first or not (spam or ham):
            exists = (Path(home) / LOG_NAME).exists()  # its settings change only if the mails are learned
            check = _checker(readings, lambda: None if watch is None else watch.close(), force)
            with opened(home, create=True, **({} if exists else settings)) as spam_filter:
                try:
                    done = spam_filter.learn(chain(first, mails), mix=mix, check=check)
                except BaseException:
                    remove_if_new(spam_filter.store)
                    raise
                if exists and settings:
                    spam_filter.change(**settings)
                stats = spam_filter.stats()
    if (spam or ham) and not first:
        raise no_mail([*spam, *ham], *readings)
    report_skipped(*readings)
    skipped = sum(len(reading.skipped) for reading in readings)
    if done.unmixed:
        note(f"all mail was learned, but not shuffled with earlier mail ({done.unmixed}); the next large command tries again")
    if as_json:
        print_json({**done._asdict(), "skipped": skipped, "spam": stats["spam"], "ham": stats["ham"]})
        return int(done.kept)
    if done.both:
        note(f"{plural(done.both, 'mail was', 'mails were')} given as both spam and ham; they count as ham")
    parts = [f"learned {plural(done.new, 'mail')}"] if spam or ham else [f"set {join_and(_options(settings))}"]
    if done.moved:
        parts.append(f"changed the label of {count(done.moved)}")
    if done.known:
        parts.append(f"skipped {count(done.known)} known")
    if done.kept:
        parts.append(f"kept the old label of {count(done.kept)} (text dropped)")
    echo(f"{', '.join(parts)}; the filter has {count(stats['spam'])} spam and {count(stats['ham'])} ham")
    return int(done.kept)


def _options(settings: dict[str, float]) -> list[str]:
    return [f"--{name.replace('_', '-')} {value:g}" for name, value in settings.items()]


def unlearn(spam_filter: Filter, paths: tuple[str, ...], as_json: bool) -> int:
    """Unlearn mail; returns the number of mails that were not unlearned."""
    reading, sources, results = Reading(paths), list[str](), []
    for source, (known, exact) in zip(sources, spam_filter.unlearn_many(_raws(reading, sources)), strict=True):
        results.append({"mail": source, "known": known, "unlearned": known and exact})
        if not as_json:
            echo(f"{source}: {'is not in the filter' if not known else 'unlearned' if exact else TEXT_DROPPED}")
    return _end(reading, results, "unlearned", "unlearned", sum(not result["unlearned"] for result in results), as_json)


def relearn(spam_filter: Filter, paths: tuple[str, ...], side: str | None, force: bool, as_json: bool) -> int:
    """Change the labels of mail; returns the number of mails whose label could not be changed."""
    spam, missed = None if side is None else side == "spam", 0
    reading, sources, results = Reading(paths, spam=spam), list[str](), []

    def check(moved: int) -> None:
        if spam is not None:  # else only mail that the filter holds is changed
            _confirm_folders([reading], force)
        _confirm_moves(moved, force)

    for source, change in zip(sources, spam_filter.relearn_many(_raws(reading, sources), spam, check), strict=True):
        was, now = LABELS[change.was], LABELS[change.now]
        moved = now is not None and now != was
        missed += now is None or change.folded
        if now is None:
            outcome = "is not in the filter; use --as spam or --as ham"
        elif change.folded:
            outcome = TEXT_DROPPED
        else:
            outcome = f"is already {now}" if was == now else f"is now {now}"
        results.append({"mail": source, "was": was, "is": now, "moved": moved})
        if not as_json:
            echo(f"{source}: {outcome}")
    return _end(reading, results, "moved", "moved", missed, as_json)


def _raws(reading: Reading, sources: list[str]) -> Iterator[bytes]:
    """Yield the raw mails; append the source of each to `sources`."""
    for mail in reading:
        sources.append(mail.source)
        yield mail.raw


def _end(reading: Reading, results: list[dict[str, Any]], key: str, done: str, missed: int, as_json: bool) -> int:
    """Print the skipped files and a summary; returns the number of failures.

    `key` is the field of a result that counts as success, `done` the word for it, `missed` the number of mails without success.
    """
    report_skipped(reading)
    if as_json:
        print_json(results)
    if not results and not reading.skipped:
        note("no mail found")
    elif len(results) > 1:
        note(f"{count(sum(result[key] for result in results))} of {plural(len(results), 'mail')} {done}")
    return len(reading.skipped) + missed + (not results)
