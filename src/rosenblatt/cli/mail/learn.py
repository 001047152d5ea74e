"""`rosenblatt mail learn`: what is spam and what is not, from boxes of mail."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from typing import Any

import click

from ...reporting.text import join_and, plural
from ..console import bar, note, print_json
from ..options import as_json
from .common import Reading, Sides, home, no_mail, opened, report_skipped, sides


@click.command("learn", cls=Sides)
@sides
@home
@click.option(
    "--ham-weight", type=click.FloatRange(0.01, 100.0),
    help="How many times as bad a ham lost is as a spam passed.  [default: 1]",
)  # fmt: skip
@click.option(
    "--ham-loss", type=click.FloatRange(0.0, 0.5), metavar="SHARE",
    help="The share of ham that may be called spam; sets the threshold.  [default: 0.001]",
)  # fmt: skip
@click.option(
    "--in-order", is_flag=True, help="Learn mail in the order given, not mixed: an online learner forgets what came first."
)
@as_json
def command(spam: tuple[str, ...], ham: tuple[str, ...], home: str, in_order: bool, as_json: bool, **settings: Any) -> None:
    """Learn from mail whether it is spam.

    What was learnt before is known by its digest, and learning it again changes nothing; learning it on the other side moves
    it. Mail is mixed before it is learnt; ten mails or more with those of such commands before, which are then learnt anew: in
    how many commands and in which order mailboxes are given does not matter. An interrupted command can be given again;
    nothing is learnt twice.

    --ham-weight and --ham-loss are kept: changing the first learns all mail anew, changing the second moves the threshold,
    though never to where a mail is more likely ham than spam. Exit code 1: some mail stayed on the other side, since its text
    is no longer in the log (`mail compact`).

    \b
    Examples:
      rosenblatt mail learn --spam ~/Mail/.Junk --ham ~/Mail/cur ~/archive.mbox
      rosenblatt mail learn --ham - < message.eml
      rosenblatt mail learn --ham-loss 0.0005
    """
    from ..console import INTERRUPTED, Failure

    given = {name: value for name, value in settings.items() if value is not None}
    if not (spam or ham or given):
        raise click.UsageError("nothing to learn: give --spam PATH, --ham PATH or both")
    try:
        left = learn(home, given, spam, ham, mix=not in_order, as_json=as_json)
    except KeyboardInterrupt:
        raise Failure(
            "interrupted; give the command again for what is not on disk yet: nothing is learnt twice", INTERRUPTED
        ) from None
    if left:
        raise click.exceptions.Exit(1)


# --- What `mail learn`, `unlearn` and `relearn` do and say.

TEXT_DROPPED = "its text is no longer in the log, so it cannot be taken back; nothing was changed"
SIDES = {True: "spam", False: "ham", None: None}


def learn(home: str, settings: dict[str, Any], spam: tuple[str, ...], ham: tuple[str, ...], mix: bool, as_json: bool) -> int:
    """How many were left on the other side. Where there is no mail no filter is made."""
    with bar("learning") as watch:
        sides = [(Reading(paths, watch, only_mails=True), is_spam) for paths, is_spam in ((spam, True), (ham, False))]

        def labelled() -> Iterator[tuple[bytes, bool]]:
            for reading, is_spam in sides:
                for mail in reading:
                    yield mail.raw, is_spam

        mails = labelled()
        first = list(islice(mails, 1))
        if first or not (spam or ham):
            with opened(home, create=True, **settings) as spam_filter:
                done = spam_filter.learn(chain(first, mails), mix=mix)
                has = spam_filter.stats()
    readings = [reading for reading, _ in sides]
    if (spam or ham) and not first:
        raise no_mail([*spam, *ham], *readings)
    report_skipped(*readings)
    skipped = sum(len(reading.skipped) for reading in readings)
    if done.unmixed:
        note(f"all was learnt, but not mixed with earlier mail ({done.unmixed}); the next such command tries again")
    if as_json:
        print_json({**done._asdict(), "skipped": skipped, "spam": has["spam"], "ham": has["ham"]})
        return int(done.kept)
    if done.both:
        note(f"{plural(done.both, 'mail was', 'mails were')} given as spam and as ham; the last counts, which is ham")
    words = [f"learnt {plural(done.new, 'mail')}"] if spam or ham else [f"set {join_and(_said(settings))}"]
    if done.moved:
        words.append(f"moved {done.moved:,} to the other side")
    if done.known:
        words.append(f"knew {done.known:,} already")
    if done.kept:
        words.append(f"left {done.kept:,} on the other side, whose texts are no longer in the log")
    click.echo(f"{join_and(words)}; the filter has {has['spam']:,} spam and {has['ham']:,} ham")
    return int(done.kept)


def _said(settings: dict[str, Any]) -> list[str]:
    return [f"--{name.replace('_', '-')} {value:g}" for name, value in settings.items()]


def unlearn(spam_filter: Any, paths: tuple[str, ...], as_json: bool) -> int:
    """How many were not taken back."""
    reading, sources, told = Reading(paths), list[str](), []
    for source, (known, exact) in zip(sources, spam_filter.unlearn_many(_raws(reading, sources)), strict=True):
        told.append({"mail": source, "known": known, "taken_back": known and exact})
        if not as_json:
            click.echo(f"{source}: {'was never learnt' if not known else 'taken back, exactly' if exact else TEXT_DROPPED}")
    return _end(reading, told, "taken_back", sum(not each["taken_back"] for each in told), as_json)


def relearn(spam_filter: Any, paths: tuple[str, ...], side: str | None, as_json: bool) -> int:
    """How many were not moved."""
    reading, sources, told = Reading(paths), list[str](), []
    spam, missed = None if side is None else side == "spam", 0
    for source, found in zip(sources, spam_filter.relearn_many(_raws(reading, sources), spam), strict=True):
        was, now = SIDES[found.was], SIDES[found.now]
        moved = now is not None and now != was
        missed += now is None or found.folded
        if now is None:
            words = "was never learnt: say --as spam or --as ham"
        elif found.folded:
            words = TEXT_DROPPED
        else:
            words = f"is {now} already" if was == now else f"is {now} now"
        told.append({"mail": source, "was": was, "is": now, "moved": moved})
        if not as_json:
            click.echo(f"{source}: {words}")
    return _end(reading, told, "moved", missed, as_json)


def _raws(reading: Reading, sources: list[str]) -> Iterator[bytes]:
    """The mails, with where each was found beside them."""
    for mail in reading:
        sources.append(mail.source)
        yield mail.raw


def _end(reading: Reading, told: list[dict[str, Any]], done: str, missed: int, as_json: bool) -> int:
    report_skipped(reading)
    if as_json:
        print_json(told)
    if not told and not reading.skipped:
        note("there was no mail")
    elif len(told) > 1:
        note(f"{sum(each[done] for each in told):,} of {plural(len(told), 'mail')} {done.replace('_', ' ')}")
    return len(reading.skipped) + missed + (not told)
