"""`rosenblatt mail learn`: learn spam and ham from mailboxes. `mail unlearn` and `mail relearn` use the same output."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import click

from ...reporting.text import count, join_and, plural
from ..console import bar, echo, note, print_json
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
@as_json
def command(spam: tuple[str, ...], ham: tuple[str, ...], home: str, in_order: bool, as_json: bool, **settings: Any) -> None:
    """Learn spam and ham from mailboxes.

    A mail is recognized by its digest: learning it again changes nothing, and learning it with the other label changes its
    label. Mail is shuffled before it is learned. A command with at least ten new mails also shuffles in, and relearns, the mail
    of earlier commands of that size, so the number of commands and the order of mailboxes do not matter. An interrupted command
    can be repeated; nothing is learned twice.

    --ham-weight and --ham-loss are stored. Changing --ham-weight relearns all mail. Changing --ham-loss moves the threshold; a
    mail that is more likely ham than spam is never called spam. Exit code 1: some mail kept its old label, because its text was
    dropped (`mail compact`).

    \b
    Examples:
      rosenblatt mail learn --spam ~/Mail/.Junk --ham ~/Mail/cur ~/archive.mbox
      rosenblatt mail learn --ham - < message.eml
      rosenblatt mail learn --ham-loss 0.0005
    """
    from ..console import INTERRUPTED, Failure

    given = {name: value for name, value in settings.items() if value is not None}
    if not (spam or ham or given):
        raise click.UsageError("nothing to learn; give --spam PATH, --ham PATH or both")
    try:
        n_kept = learn(home, given, spam, ham, mix=not in_order, as_json=as_json)
    except KeyboardInterrupt:
        raise Failure("interrupted; repeat the command to learn the rest (nothing is learned twice)", INTERRUPTED) from None
    if n_kept:
        raise click.exceptions.Exit(1)


TEXT_DROPPED = "cannot be unlearned, because its text was dropped; nothing was changed"
LABELS = {True: "spam", False: "ham", None: None}


def learn(home: str, settings: dict[str, float], spam: tuple[str, ...], ham: tuple[str, ...], mix: bool, as_json: bool) -> int:
    """Learn mail; returns the number of mails that kept their old label. No filter is created if there is no mail."""
    with bar("learning") as watch:
        sides = [(Reading(paths, watch, only_mails=True), is_spam) for paths, is_spam in ((spam, True), (ham, False))]

        def labeled() -> Iterator[tuple[bytes, bool]]:
            for reading, is_spam in sides:
                for mail in reading:
                    yield mail.raw, is_spam

        mails = labeled()
        first = list(islice(mails, 1))
        if first or not (spam or ham):
            with opened(home, create=True, **settings) as spam_filter:
                done = spam_filter.learn(chain(first, mails), mix=mix)
                stats = spam_filter.stats()
    readings = [reading for reading, _ in sides]
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
        results.append({"mail": source, "known": known, "taken_back": known and exact})
        if not as_json:
            echo(f"{source}: {'is not in the filter' if not known else 'unlearned' if exact else TEXT_DROPPED}")
    return _end(reading, results, "taken_back", "unlearned", sum(not result["taken_back"] for result in results), as_json)


def relearn(spam_filter: Filter, paths: tuple[str, ...], side: str | None, as_json: bool) -> int:
    """Change the labels of mail; returns the number of mails whose label could not be changed."""
    reading, sources, results = Reading(paths), list[str](), []
    spam, missed = None if side is None else side == "spam", 0
    for source, change in zip(sources, spam_filter.relearn_many(_raws(reading, sources), spam), strict=True):
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
