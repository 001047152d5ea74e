"""What `mail learn`, `unlearn` and `relearn` do and say."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from typing import Any

import click

from ...reporting.text import listed, plural
from ..console import bar, note, print_json
from .common import opened
from .reading import Reading, complain, no_mail

GONE = "its text is no longer in the log, so it cannot be taken back; nothing was changed"
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
    complain(*readings)
    skipped = sum(len(reading.skipped) for reading in readings)
    if done.unmixed:
        note(f"all was learnt, but not mixed with earlier mail ({done.unmixed}); the next such command tries again")
    if as_json:
        print_json({**done._asdict(), "skipped": skipped, "spam": has["spam"], "ham": has["ham"]})
        return int(done.kept)
    if done.both:
        note(f"{plural(done.both, 'mail was', 'mails were')} given as spam and as ham; the last counts, which is ham")
    words = [f"learnt {plural(done.new, 'mail')}"] if spam or ham else [f"set {listed(_said(settings))}"]
    if done.moved:
        words.append(f"moved {done.moved:,} to the other side")
    if done.known:
        words.append(f"knew {done.known:,} already")
    if done.kept:
        words.append(f"left {done.kept:,} on the other side, whose texts are no longer in the log")
    click.echo(f"{listed(words)}; the filter has {has['spam']:,} spam and {has['ham']:,} ham")
    return int(done.kept)


def _said(settings: dict[str, Any]) -> list[str]:
    return [f"--{name.replace('_', '-')} {value:g}" for name, value in settings.items()]


def take_back(spam_filter: Any, paths: tuple[str, ...], as_json: bool) -> int:
    """How many were not taken back."""
    reading, sources, told = Reading(paths), list[str](), []
    for source, (known, exact) in zip(sources, spam_filter.unlearn_many(_raws(reading, sources)), strict=True):
        told.append({"mail": source, "known": known, "taken_back": known and exact})
        if not as_json:
            click.echo(f"{source}: {'was never learnt' if not known else 'taken back, exactly' if exact else GONE}")
    return _end(reading, told, "taken_back", sum(not each["taken_back"] for each in told), as_json)


def move(spam_filter: Any, paths: tuple[str, ...], side: str | None, as_json: bool) -> int:
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
            words = GONE
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
    complain(reading)
    if as_json:
        print_json(told)
    if not told and not reading.skipped:
        note("there was no mail")
    elif len(told) > 1:
        note(f"{sum(each[done] for each in told):,} of {plural(len(told), 'mail')} {done.replace('_', ' ')}")
    return len(reading.skipped) + missed + (not told)
