"""What `mail evaluate` does and prints."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from math import isfinite
from typing import Any, NamedTuple

import click

from ...mail.evaluation import LABELS, Evaluation, evaluate
from ...mail.message.message import FIELDS, Message
from ...mail.message.parse import parse
from ...mail.order import chronological, read_index
from ...mail.store.settings import Settings
from ...mail.store.store import expect
from ...mail.trec import BAND
from ...reporting.text import percent, plural
from ..console import bar, note, out, print_json
from ..failing import Failure
from ..writing import check_picture, check_writable
from .common import opened
from .reading import Reading, complain

TRAIN = {"everything": "all", "errors": "error", "near": "near"}
# What can be left out, and which fields of a message that is.
PARTS: dict[str, tuple[str, ...]] = {name: (field,) for name, field in zip(FIELDS, Message._fields, strict=True)}
PARTS["other-headers"] = PARTS.pop("headers")
PARTS["all-headers"] = Message._fields[: FIELDS.index("headers") + 1]


class _Measured(NamedTuple):
    messages: list[tuple[Message, bool]]
    settings: Settings = Settings()
    folded: int = 0  # messages that the filter has learnt, but whose texts are gone


def run(
    spam: tuple[str, ...], ham: tuple[str, ...], index: str | None, order: str | None, delay: int, train: str,
    band: float | None, without: tuple[str, ...], ham_weight: float | None, ham_loss: float | None, plot: str | None,
    seed: int, home: str, as_json: bool,
) -> None:  # fmt: skip
    left_out = _fields(without)
    if band is not None and train != "near":
        raise click.UsageError("--band is for --train near")
    if band is not None and not isfinite(band):
        raise click.UsageError(f"--band must be a number over 0, got {band}")
    if plot is not None:
        check_picture(plot)
        check_writable(plot)
    with bar("reading") as watch:
        messages, settings, folded = _measured(spam, ham, index, order, seed, home, watch)
    if folded:
        note(f"the texts of {plural(folded, 'message')} were dropped from the filter's log: only the rest is measured")
    asked = {"ham_weight": ham_weight, "ham_loss": ham_loss}
    settings = settings.changed({name: value for name, value in asked.items() if value is not None})
    if not any(is_spam for _, is_spam in messages) or all(is_spam for _, is_spam in messages):
        raise Failure("there must be mail of both kinds, spam and ham")
    bare = ((message._replace(**left_out), is_spam) for message, is_spam in messages)
    found = evaluate(bare, settings=settings, delay=delay, train=TRAIN[train], band=band or BAND, seed=seed)
    if as_json:
        print_json(_told(found) | {"settings": {name: getattr(settings, name) for name in asked}, "folded": folded})
    else:
        _print(found)
        if train == "errors":
            click.echo("\nA filter that is taught its errors only guesses its thresholds: no share of ham is promised.")
    if plot is not None:
        _draw(found, plot)


def _fields(without: tuple[str, ...]) -> dict[str, bytes]:
    names = [name.strip().lower().replace("_", "-") for each in without for name in each.split(",")]
    for name in names:
        if name not in PARTS:
            raise click.UsageError(f"there is no field {name!r}; there are {', '.join(PARTS)}")
    return {field: b"" for name in names for field in PARTS[name]}


def _measured(
    spam: tuple[str, ...], ham: tuple[str, ...], index: str | None, order: str | None, seed: int, home: str, watch: Any
) -> _Measured:
    if index is not None and (spam or ham):
        raise click.UsageError("give --index or --spam and --ham, not both")
    if not (spam or ham or index):
        if order == "time":
            raise click.UsageError("--order time needs --spam, --ham or --index: the filter in --home does not keep dates")
        with opened(home) as spam_filter:
            has = spam_filter.stats()
            expect(has["messages"])
            messages = list(spam_filter.messages())
            if order == "shuffled":
                random.Random(seed).shuffle(messages)
            return _Measured(messages, spam_filter.settings, has["folded"])
    mails = list(_read_index(index, watch) if index is not None else _read(((spam, True), (ham, False)), watch))
    if order in (None, "time"):
        mails = chronological(mails)
    elif order == "shuffled":
        random.Random(seed).shuffle(mails)
    expect(len(mails))
    return _Measured([(parse(raw), is_spam) for _, raw, is_spam in mails])


def _read(sides: Iterable[tuple[Iterable[str], bool]], watch: Any) -> Iterator[tuple[str, bytes, bool]]:
    readings = []
    for paths, is_spam in sides:
        readings.append(Reading(paths, watch, only_mails=True))
        for mail in readings[-1]:
            yield mail.source, mail.raw, is_spam
    complain(*readings)


def _read_index(index: str, watch: Any) -> Iterator[tuple[str, bytes, bool]]:
    return _read((([str(path)], is_spam) for path, is_spam in read_index(index)), watch)


def _told(found: Evaluation) -> dict[str, Any]:
    figures = found.figures
    shares = {name: getattr(figures, name)._asdict() for name in ("hm", "sm", "lam", "auc")}
    shares["one_minus_auc"] = shares.pop("auc")
    return {"ham": figures.ham, "spam": figures.spam, "percent": shares, "verdicts": found.table()}


def _print(found: Evaluation) -> None:
    from rich.table import Table

    figures, verdicts = found.figures, found.table()
    click.echo(f"{figures.spam:,} spam and {figures.ham:,} ham, each classified before it was learnt\n")
    shares = Table("where a score over 0 is spam", "%", "95 % interval", box=None, header_style="bold", padding=(0, 2, 0, 0))
    rows = (
        ("ham called spam (hm)", figures.hm),
        ("spam called ham (sm)", figures.sm),
        ("their logistic average (lam)", figures.lam),
        ("pairs in wrong order (1-AUC)", figures.auc),
    )
    for column in shares.columns[1:]:
        column.justify = "right"
    for name, share in rows:
        shares.add_row(name, f"{share.value:.3f}", f"{share.low:.3f} to {share.high:.3f}")
    out().print(shares)
    click.echo()
    counts = Table("by the filter's own thresholds", *LABELS, box=None, header_style="bold", padding=(0, 2, 0, 0))
    for column in counts.columns[1:]:
        column.justify = "right"
    for side, row in verdicts.items():
        counts.add_row(side, *(f"{row[label]:,} ({percent(row[label] / max(1, sum(row.values())))})" for label in LABELS))
    out().print(counts)


def _draw(found: Evaluation, path: str) -> None:
    from ...mail.trec import curve
    from ...reporting.figures.mail_curve import mail_curve
    from ...reporting.save import save_chart

    save_chart(mail_curve(curve(found.scores, found.spam)), path)
    note(f"the learning curve is in {path}")
