"""What `mail learn`, `unlearn` and `relearn` do and say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from ...mail.errors import FoldedError
from ...report.words import listed, plural
from ..console import bar, note, print_json
from ..failing import Failure
from .reading import Reading

GONE = "its text is no longer in the log, so it cannot be taken back; nothing was changed"


def learn(spam_filter: Any, spam: tuple[str, ...], ham: tuple[str, ...], mix: bool, as_json: bool) -> None:
    with bar("learning") as watch:
        sides = [(Reading(spam, watch), True), (Reading(ham, watch), False)]

        def labelled() -> Iterator[tuple[bytes, bool]]:
            for reading, is_spam in sides:
                for mail in reading:
                    yield mail.raw, is_spam

        done = spam_filter.learn(labelled(), mix=mix)
    for reading, _ in sides:
        reading.complain()
    skipped = sum(len(reading.skipped) for reading, _ in sides)
    seen = sum(reading.seen for reading, _ in sides)
    if (spam or ham) and not seen:
        raise Failure(f"there is no mail in {listed([*spam, *ham])}")
    has = spam_filter.stats()
    if as_json:
        print_json({**done._asdict(), "skipped": skipped, "spam": has["spam"], "ham": has["ham"]})
        return
    words = [f"learnt {plural(done.new, 'mail')}"]
    if done.moved:
        words.append(f"moved {done.moved:,} to the other side")
    if done.known:
        words.append(f"knew {done.known:,} already")
    if done.kept:
        words.append(f"left {done.kept:,} on the other side, whose texts are no longer in the log")
    click.echo(f"{listed(words)}; the filter has {has['spam']:,} spam and {has['ham']:,} ham")


def take_back(spam_filter: Any, paths: tuple[str, ...], as_json: bool) -> int:
    """How many were not taken back."""
    reading, told = Reading(paths), []
    for mail in reading:
        try:
            known = spam_filter.unlearn(mail.raw).known
            done, words = known, "taken back, exactly" if known else "was never learnt"
        except FoldedError:
            known, done, words = True, False, GONE
        told.append({"mail": mail.source, "known": known, "taken_back": done})
        if not as_json:
            click.echo(f"{mail.source}: {words}")
    return _end(reading, told, "taken_back", as_json)


def move(spam_filter: Any, paths: tuple[str, ...], side: str | None, as_json: bool) -> int:
    """How many were not moved."""
    reading, told = Reading(paths), []
    for mail in reading:
        was = {True: "spam", False: "ham", None: None}[spam_filter.label_of(mail.raw)]
        to = side or {"spam": "ham", "ham": "spam", None: None}[was]
        if to is None:
            words, moved = "was never learnt: say --as spam or --as ham", False
        elif was == to:
            words, moved = f"is {to} already", True
        else:
            try:
                spam_filter.relearn(mail.raw, to == "spam")
                words, moved = f"is {to} now", True
            except FoldedError:
                words, moved = GONE, False
        told.append({"mail": mail.source, "was": was, "is": to if moved else was, "moved": moved})
        if not as_json:
            click.echo(f"{mail.source}: {words}")
    return _end(reading, told, "moved", as_json)


def _end(reading: Reading, told: list[dict[str, Any]], done: str, as_json: bool) -> int:
    reading.complain()
    if as_json:
        print_json(told)
    if not told:
        note("there was no mail")
    return len(reading.skipped) + sum(not each[done] for each in told) + (not told)
