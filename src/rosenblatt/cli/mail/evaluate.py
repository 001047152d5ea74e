"""`rosenblatt mail evaluate`: measure a filter in the protocol of TREC."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ...mail.message.message import FIELDS, Message
from ...mail.store.filter_state import Settings
from ...reporting.text import count, fixed, percent, plural
from ..console import Failure, bar, check_picture, check_writable, echo, note, out, print_json
from ..options import Number, WholeNumber, as_json, seed
from .common import Reading, Sides, Watch, home, opened, report_skipped, sides

if TYPE_CHECKING:
    from ...mail.evaluation import Evaluation


@click.command("evaluate", cls=Sides)
@sides
@click.option("--index", metavar="FILE", help="A TREC index instead: lines `spam PATH` or `ham PATH`, in order.")
@click.option(
    "--order", type=click.Choice(["time", "given", "shuffled"]),
    help="By date, as given, or shuffled.  [default: time; for the filter in --home: as learned]",
)  # fmt: skip
@click.option(
    "--delay",
    type=WholeNumber(0),
    default=0,
    show_default=True,
    help="Number of mails that arrive before the label of a mail is known.",
)
@click.option(
    "--train", type=click.Choice(["everything", "errors", "near"]), default="everything", show_default=True,
    help="Mails to learn: all, errors only, or errors and mails near the threshold.",
)  # fmt: skip
@click.option(
    "--band",
    type=Number(0.0, min_open=True),
    metavar="SCORE",
    help="Distance from the threshold, for --train near.  [default: 0.5]",
)
@click.option(
    "--without", multiple=True, metavar="FIELD,...",
    help="Ignore parts of the mails: subject, from, reply-to, to, received, other-headers (these six are all-headers), "
    "body, links, attachments.",
)  # fmt: skip
@click.option("--ham-weight", type=Number(0.01, 100.0), help="As for learn.  [default: that of the filter in --home, or 1]")
@click.option(
    "--ham-loss", type=Number(0.0, 0.5), metavar="SHARE",
    help="As for learn.  [default: that of the filter in --home, or 0.001]",
)  # fmt: skip
@click.option("--plot", metavar="FILE", help="Draw the learning curve: .svg, .png or .pdf.")
@seed
@home
@as_json
def command(**given: Any) -> None:
    """Evaluate a new filter as in TREC's spam track: each mail is classified, then learned, in the order of arrival.

    The filter in --home is not changed. Without --spam, --ham and --index, the mails are those that it has learned, in that
    order (or shuffled) and with its settings. Reported with 95 % bootstrap intervals: ham called spam (hm %), spam called ham
    (sm %), their logistic average (lam %), and (1-AUC) %, the share of pairs of a spam and a ham in wrong order.

    \b
    Examples:
      rosenblatt mail evaluate --spam spam/ --ham ham/ --plot curve.svg
      rosenblatt mail evaluate --index trec06p/full/index --order given --delay 1000
      rosenblatt mail evaluate --ham-weight 10
      rosenblatt mail evaluate --without all-headers,links
    """

    run(**given)


TRAIN = {"everything": "all", "errors": "error", "near": "near"}
# The parts that --without can name, and their fields of a message.
PARTS: dict[str, tuple[str, ...]] = {name: (field,) for name, field in zip(FIELDS, Message._fields, strict=True)}
PARTS["other-headers"] = PARTS.pop("headers")
PARTS["all-headers"] = Message._fields[: FIELDS.index("headers") + 1]


class _Corpus(NamedTuple):
    messages: list[tuple[Message, bool]]
    settings: Settings = Settings()
    folded: int = 0  # messages whose texts were dropped


def run(
    spam: tuple[str, ...], ham: tuple[str, ...], index: str | None, order: str | None, delay: int, train: str,
    band: float | None, without: tuple[str, ...], ham_weight: float | None, ham_loss: float | None, plot: str | None,
    seed: int, home: str, as_json: bool,
) -> None:  # fmt: skip
    from ...mail.evaluation import BAND, evaluate

    left_out = _fields(without)
    if band is not None and train != "near":
        raise click.UsageError("--band is for --train near")
    if band is not None and not isfinite(band):
        raise click.UsageError(f"--band must be finite, got {band}")
    if plot is not None:
        check_picture(plot)
        check_writable(plot)
    with bar("reading") as watch:
        messages, settings, folded = _corpus(spam, ham, index, order, seed, home, watch)
    if folded:
        note(f"the texts of {plural(folded, 'mail')} were dropped from the log; only the others are evaluated")
    given = {"ham_weight": ham_weight, "ham_loss": ham_loss}
    settings = settings.changed({name: value for name, value in given.items() if value is not None})
    if not any(is_spam for _, is_spam in messages) or all(is_spam for _, is_spam in messages):
        raise Failure("evaluation needs both spam and ham; give --spam PATH and --ham PATH")
    bare = ((message._replace(**left_out), is_spam) for message, is_spam in messages)
    found = evaluate(bare, settings=settings, delay=delay, train=TRAIN[train], band=band or BAND, seed=seed)
    if as_json:
        print_json(_as_json(found) | {"settings": {name: getattr(settings, name) for name in given}, "folded": folded})
    else:
        _print(found)
        if train == "errors":
            echo("\nA filter that learns only its errors estimates its thresholds: no share of ham is guaranteed.")
    if plot is not None:
        _draw(found, plot)


def _fields(without: tuple[str, ...]) -> dict[str, bytes]:
    names = [name.strip().lower().replace("_", "-") for each in without for name in each.split(",")]
    for name in names:
        if name not in PARTS:
            raise click.UsageError(f"unknown field {name!r}; the fields are {', '.join(PARTS)}")
    return {field: b"" for name in names for field in PARTS[name]}


def _corpus(
    spam: tuple[str, ...], ham: tuple[str, ...], index: str | None, order: str | None, seed: int, home: str, watch: Watch
) -> _Corpus:
    from ...mail.evaluation import chronological
    from ...mail.message.parse import parse
    from ...mail.store.store import load_numba_for

    if index is not None and (spam or ham):
        raise click.UsageError("--index cannot be combined with --spam or --ham")
    if not (spam or ham or index):
        if order == "time":
            raise click.UsageError(
                "--order time needs --spam, --ham or --index, because the filter in --home does not store dates"
            )
        with opened(home) as spam_filter:
            has = spam_filter.stats()
            load_numba_for(has["messages"])
            messages = list(spam_filter.messages())
            if order == "shuffled":
                random.Random(seed).shuffle(messages)
            return _Corpus(messages, spam_filter.settings, has["folded"])
    mails = list(_read_index(index, watch) if index is not None else _read(((spam, True), (ham, False)), watch))
    if order in (None, "time"):
        mails = chronological(mails)
    elif order == "shuffled":
        random.Random(seed).shuffle(mails)
    load_numba_for(len(mails))
    return _Corpus([(parse(raw), is_spam) for _, raw, is_spam in mails])


def _read(sides: Iterable[tuple[Iterable[str], bool]], watch: Watch) -> Iterator[tuple[str, bytes, bool]]:
    readings = []
    for paths, is_spam in sides:
        readings.append(Reading(paths, watch, spam=is_spam))
        for mail in readings[-1]:
            yield mail.source, mail.raw, is_spam
    report_skipped(*readings)


def _read_index(index: str, watch: Watch) -> Iterator[tuple[str, bytes, bool]]:
    from ...mail.evaluation import read_index

    return _read((([str(path)], is_spam) for path, is_spam in read_index(index)), watch)


def _as_json(evaluation: Evaluation) -> dict[str, Any]:
    figures = evaluation.figures
    shares = {name: getattr(figures, name)._asdict() for name in ("hm", "sm", "lam", "auc")}
    shares["one_minus_auc"] = shares.pop("auc")
    return {"ham": figures.ham, "spam": figures.spam, "percent": shares, "verdicts": evaluation.table()}


def _print(evaluation: Evaluation) -> None:
    from rich.table import Table

    from ...mail.evaluation import LABELS

    figures, verdicts = evaluation.figures, evaluation.table()
    echo(f"{count(figures.spam)} spam and {count(figures.ham)} ham, each classified before it was learned\n")
    shares = Table("with the threshold 0", "%", "95 % interval", box=None, header_style="bold", padding=(0, 2, 0, 0))
    rows = (
        ("ham called spam (hm)", figures.hm),
        ("spam called ham (sm)", figures.sm),
        ("their logistic average (lam)", figures.lam),
        ("pairs in wrong order (1-AUC)", figures.auc),
    )
    for column in shares.columns[1:]:
        column.justify = "right"
    for name, share in rows:
        shares.add_row(name, fixed(share.value, 3), f"{fixed(share.low, 3)} to {fixed(share.high, 3)}")
    out().print(shares)
    echo()
    counts = Table("with the thresholds of the filter", *LABELS, box=None, header_style="bold", padding=(0, 2, 0, 0))
    for column in counts.columns[1:]:
        column.justify = "right"
    for side, row in verdicts.items():
        counts.add_row(side, *(f"{count(row[label])} ({percent(row[label] / max(1, sum(row.values())))})" for label in LABELS))
    out().print(counts)


def _draw(evaluation: Evaluation, path: str) -> None:
    from ...mail.evaluation import curve
    from ...reporting.figures.curves import mail_curve
    from ...reporting.page import save_chart

    save_chart(mail_curve(curve(evaluation.scores, evaluation.spam)), path)
    note(f"learning curve written to {path}")
